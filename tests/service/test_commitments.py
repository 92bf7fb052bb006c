"""Whatever a log commits to is shown or erased, once, as it was committed to."""

from __future__ import annotations

import hashlib

import pytest

from likewise.service.proof.commitments import Commitments, Promise

SALT = "ab" * 32


def ref(number: int) -> str:
    return f"{number:032x}"


def promise(seq: int, t: int, content: bytes = b"{}") -> Promise:
    return Promise(seq, t, "person", hashlib.sha256(bytes.fromhex(SALT) + content).hexdigest())


def aside(number: int, t: int) -> dict[str, object]:
    return {"ref": ref(number), "kind": "person", "t": t, "salt": SALT, "content": {}}


@pytest.fixture
def wrong():
    return []


@pytest.fixture
def kept(wrong):
    """Of a log with ten events, which has committed to one person in each of four rounds."""
    kept = Commitments(lambda seq, sentence: wrong.append((seq, sentence)))
    kept.begin(10, people=True)
    for number in (1, 2, 3, 4):
        kept.promise(ref(number), promise(number, t=number))
    return kept


def test_nothing_is_wrong_where_everybody_is_shown_or_erased(kept, wrong):
    assert kept.show(aside(1, t=1), b"{}", after=4)
    kept.erase(5, [ref(2), ref(3)], [2, 3], unknown=False)
    assert kept.neither() == [4]
    assert kept.show(aside(4, t=4), b"{}", after=5)
    assert (kept.neither(), kept.opened, kept.erased, wrong) == ([], 2, 2, [])


def test_what_is_shown_must_be_what_was_committed_to(kept, wrong):
    kept.show(aside(1, t=1), b'{"id":"another"}', after=4)
    kept.show(aside(2, t=3), b"{}", after=4)
    assert [seq for seq, _ in wrong] == [1, 2]


def test_nobody_is_shown_twice_or_unasked(kept, wrong):
    kept.show(aside(1, t=1), b"{}", after=4)
    assert not kept.show(aside(1, t=1), b"{}", after=4)
    assert not kept.show(aside(9, t=1), b"{}", after=4)
    assert [sentence.split(" ", 3)[3] for _, sentence in wrong] == ["is shown twice.", "belongs to no event before it."]


def test_nobody_is_shown_who_was_erased_before_the_export_was_made(kept, wrong):
    kept.show(aside(1, t=1), b"{}", after=4)
    kept.erase(5, [ref(1)], [1], unknown=False)
    kept.erase(6, [ref(2)], [2], unknown=False)
    kept.show(aside(2, t=2), b"{}", after=6)
    assert wrong == [(seq, f"Event {seq} erased {ref(n)}, which is still shown.") for seq, n in ((5, 1), (6, 2))]


def test_whoever_is_erased_while_it_is_written_or_in_a_later_part_may_have_been_shown(kept, wrong):
    kept.show(aside(1, t=1), b"{}", after=4)
    kept.show(aside(2, t=2), b"{}", after=4)
    kept.erase(11, [ref(1)], [1], unknown=False)  # the header announced ten events
    kept.begin(20, people=True)
    kept.erase(12, [ref(2)], [2], unknown=False)
    assert wrong == []


@pytest.mark.parametrize("rounds", [[2], [1, 2], [], [2**32 - 1]])
def test_an_erasure_names_what_was_committed_to_and_its_rounds(kept, wrong, rounds):
    kept.erase(5, [ref(1) if rounds else ref(7)], rounds, unknown=False)
    kept.erase(6, [ref(7)], [2**32 - 1], unknown=False)
    assert [seq for seq, _ in wrong] == [5, 6]


def test_of_what_another_part_committed_to_nothing_is_known(kept, wrong):
    kept.erase(5, [ref(1), ref(7)], [1, 99], unknown=True)
    assert wrong == []
    kept.erase(6, [ref(2), ref(8)], [99], unknown=True)
    assert [seq for seq, _ in wrong] == [6]


def test_nothing_is_committed_to_twice(kept, wrong):
    kept.show(aside(1, t=1), b"{}", after=4)
    for number in (1, 2):
        kept.promise(ref(number), promise(5, t=5))
    assert [seq for seq, _ in wrong] == [5, 5]


def test_without_people_little_is_kept_and_nobody_may_be_shown(wrong):
    kept = Commitments(lambda seq, sentence: wrong.append((seq, sentence)))
    kept.begin(10, people=False)
    kept.promise(ref(1), promise(1, t=1))
    kept.promise("spelt differently", promise(2, t=2))
    kept.erase(3, [ref(1), "spelt differently"], [1, 2], unknown=False)
    assert (kept.neither(), wrong) == ([], [])
    kept.show(aside(1, t=1), b"{}", after=3)
    assert wrong == [(0, "The export says that it was made without people, but it shows some.")]


@pytest.mark.parametrize("t", [-1, 2**33, "1", 1.5])
def test_a_round_must_have_a_number(kept, t):
    kept.promise(ref(5), promise(5, t=t))
    with pytest.raises(ValueError, match="not the number of a round"):
        kept.erase(6, [ref(5)], [1], unknown=False)
