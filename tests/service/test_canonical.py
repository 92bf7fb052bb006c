"""One spelling per JSON value: the service's, the outsider's copy and the library of RFC 8785 are the same."""

from __future__ import annotations

import json
import math
import struct

import numpy as np
import pytest
import rfc8785
from hypothesis import given, settings
from hypothesis import strategies as st

from likewise.errors import InvalidParameter
from likewise.service.canonical import _encoder, atom, canonical, digest, dumps, loads, spelt
from likewise.service.proof import spelling as theirs
from likewise.service.stream.memory import PastRound
from likewise.service.stream.settings import Feature, Settings
from likewise.service.stream.state import shown_hash

MOST = 2**53 - 1
# Appendix B of RFC 8785: the bits of a double, and how it is spelt.
SAMPLES = {
    0x0000000000000000: "0",
    0x8000000000000000: "0",
    0x0000000000000001: "5e-324",
    0x8000000000000001: "-5e-324",
    0x7FEFFFFFFFFFFFFF: "1.7976931348623157e+308",
    0xFFEFFFFFFFFFFFFF: "-1.7976931348623157e+308",
    0x4340000000000000: "9007199254740992",
    0xC340000000000000: "-9007199254740992",
    0x4430000000000000: "295147905179352830000",
    0x44B52D02C7E14AF5: "9.999999999999997e+22",
    0x44B52D02C7E14AF6: "1e+23",
    0x44B52D02C7E14AF7: "1.0000000000000001e+23",
    0x444B1AE4D6E2EF4E: "999999999999999700000",
    0x444B1AE4D6E2EF4F: "999999999999999900000",
    0x444B1AE4D6E2EF50: "1e+21",
    0x3EB0C6F7A0B5ED8C: "9.999999999999997e-7",
    0x3EB0C6F7A0B5ED8D: "0.000001",
    0x41B3DE4355555553: "333333333.3333332",
    0x41B3DE4355555554: "333333333.33333325",
    0x41B3DE4355555555: "333333333.3333333",
    0xBECBF647612F3696: "-0.0000033333333333333333",
    0x43143FF3C1CB0959: "1424953923781206.2",
}


def double(bits):
    return struct.unpack(">d", struct.pack(">Q", bits))[0]


def doubles():
    """A hundred thousand: random bits (all exponents), subnormals, and the neighbours of whatever changes the form."""
    rng = np.random.default_rng(8785)
    bits = rng.integers(0, 2**64, 50_000, dtype=np.uint64)
    subnormal = rng.integers(0, 2**52, 10_000, dtype=np.uint64)
    usual = np.concatenate([rng.random(10_000), rng.normal(0, 1e4, 5000).round(2), 10 ** rng.uniform(-9, 23, 10_000)])
    edges = [10.0**n for n in range(-323, 309)] + [2.0**n for n in range(-1074, 1024)]
    edges += [float(2**53 + n) for n in range(-2000, 2000)] + [1e-4, 1e-5, 1e-6, 1e-7, 1e15, 1e16, 1e21]
    near = [math.nextafter(x, way) for x in edges for way in (0.0, math.inf)]
    values = [*bits.view(float).tolist(), *subnormal.view(float).tolist(), *usual.tolist(), *edges, *near, 0.0, -0.0]
    return [value for value in values if math.isfinite(value)]


@pytest.mark.parametrize("spell", [canonical, theirs.canonical])
def test_doubles_are_spelt_as_the_standard_prints_them(spell):
    assert {bits: spell(double(bits)).decode() for bits in SAMPLES} == SAMPLES


def test_three_implementations_agree_on_a_hundred_thousand_doubles_and_each_reads_back_bit_by_bit():
    values = doubles()
    assert len(values) > 100_000
    spelt = [rfc8785.dumps(value) for value in values]
    assert [canonical(value) for value in values] == spelt
    assert [theirs.canonical(value) for value in values] == spelt
    read = [loads(spelling) for spelling in spelt]
    # Adding 0.0 changes -0.0 alone, which JSON numbers don't tell from 0.
    assert np.array(read, dtype=float).tobytes() == (np.array(values) + 0.0).tobytes()
    assert [theirs.parsed(spelling) for spelling in spelt] == read


def test_a_list_of_numbers_is_spelt_alike_however_its_neighbours_are_spelt():
    values = doubles()[::97]
    assert canonical(values) == rfc8785.dumps(values) == theirs.canonical(values)


@pytest.mark.parametrize("value", [0.1, 1e-5, 9.5e-7, 1e-300, -2.5e-5, 1.0, 0.0, 1e21, 3, "a e-5", '\u00e9"'])
def test_a_part_is_spelt_alike_alone_and_in_a_list(value):
    assert atom(value) == dumps(value) == dumps([value])[1:-1]


def test_what_an_auditor_saw_is_hashed_as_its_one_spelling():
    features = (Feature(name='score \u00e9"'), Feature(name="age"), Feature(name="hidden", shown=False))
    probabilities = np.array([1e-5, 0.25, 1.0, 0.5])
    past = PastRound(probabilities, np.zeros(4), ("a", "b", "c", "d"), (0, 0, 1, 1), returning=frozenset({3}))
    for audits, numbers in (("probabilities", probabilities.tolist()), ("decisions", [0, 0, 1, 1])):
        settings_ = Settings(name="loans", features=features, cuts={"age": (0.5,)}, alpha=0.1, k=4, audits=audits)
        pairs = [[ref, number] for ref, number in zip("abc", numbers[:3], strict=True)]
        assert shown_hash(7, past, settings_) == digest([7, [features[0].name, "age"], pairs])


def test_every_character_is_spelt_alike_as_a_text_and_as_a_name():
    characters = [chr(code) for code in range(0x110000) if not 0xD800 <= code < 0xE000]
    everything = "".join(characters)
    assert canonical(everything) == rfc8785.dumps(everything) == theirs.canonical(everything)
    names = dict.fromkeys(characters[:0x300] + characters[0x300::997], 1)
    assert canonical(names) == rfc8785.dumps(names) == theirs.canonical(names)


def test_names_are_sorted_by_utf_16_units_as_the_standard_prints_them():
    names = {"\u20ac": 5, "\r": 1, "\ufb33": 7, "1": 2, "\U0001f600": 6, "\u0080": 3, "\u00f6": 4}
    for spell in (canonical, theirs.canonical):
        assert list(json.loads(spell(names)).values()) == [1, 2, 3, 4, 5, 6, 7]


values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-MOST, MOST)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), inner),
)


@settings(max_examples=100, deadline=None)
@given(values)
def test_three_implementations_agree_on_any_value_and_on_what_is_read_back(value):
    spelling = rfc8785.dumps(value)
    assert canonical(value) == spelling == theirs.canonical(value)
    assert canonical(loads(spelling)) == spelling == theirs.canonical(theirs.parsed(spelling))


@pytest.mark.parametrize("spell", [canonical, theirs.canonical])
@pytest.mark.parametrize(
    "value", [math.nan, math.inf, -math.inf, 2**53, -(2**53), 10**400, "\ud800", {"\udfff": 1}, [{"a": [2**60]}]]
)
def test_what_has_no_spelling_is_refused(spell, value):
    with pytest.raises(ValueError):
        spell(value)


def test_a_whole_number_without_an_exact_double_is_refused_in_one_sentence():
    with pytest.raises(InvalidParameter, match=r"^`value` must hold whole numbers beyond .*9007199254740993"):
        dumps({"seed": 2**53 + 1})


def test_names_that_are_no_text_are_refused_not_turned_into_text():
    with pytest.raises((TypeError, ValueError)):
        canonical({1: "a"})


@pytest.mark.parametrize(
    "text", [b"[1.0]", b"[-0]", b"[1e3]", b"[9007199254740993]", b"[1e-07]", b'["\\u00e9"]', b"[1, 2]"]
)
def test_an_outsider_sees_that_a_line_is_spelt_otherwise(text):
    assert theirs.canonical(theirs.parsed(text)) != text


def test_hashes_and_commitments_of_the_two_copies_agree():
    from likewise.service import canonical as ours

    event = {"seq": 3, "data": {"probability": 1.0, "by": "Zoë"}, "hash": "left out"}
    people = {"seq": 3, "data": {"people": [{"probability": 1.0}, {"probability": 0.5}], "by": "Zoë"}}
    assert ours.event_hash(people) == theirs.event_hash(people)
    assert len({ours.event_hash(people | {"data": {"people": some}}) for some in ([], [1], [1, 1], [[1], 1])}) == 4
    assert ours.event_hash(event) == theirs.event_hash(event) != theirs.event_hash(event | {"seq": 4})
    assert ours.commitment("ab" * 32, ours.dumps(event)) == theirs.commitment("ab" * 32, event)


@pytest.mark.parametrize("value", [{"b": 1.0, "a": [True, None, -0.0]}, 'ö\n"\u2028', 10**30, []])
def test_what_is_not_hashed_is_spelt_as_python_does(value):
    assert spelt(value) == json.dumps(value, ensure_ascii=False, separators=(",", ":"))


@pytest.mark.parametrize("value", [math.nan, [math.inf], {"a": object()}, {1j: 1}])
def test_what_is_no_json_value_is_not_spelt(value):
    with pytest.raises((ValueError, TypeError)):
        spelt(value)


def test_a_python_without_compiled_parts_spells_the_same(monkeypatch):
    value = {"b": 0.25, "ä": ["\t", False], "a": 3}
    compiled = _encoder(sort_names=True)(value)
    monkeypatch.setattr(json.encoder, "c_make_encoder", None)
    assert _encoder(sort_names=True)(value) == compiled == canonical(value).decode()


LINES = [b'{"a":0.00001}', b'{"a":[1e-7,0.5,-0.000001,12345678901234567000,1e+21],"b":":1e-05,"}']


@pytest.mark.parametrize("line", LINES)
def test_the_standalone_checker_reads_a_line_in_its_one_spelling_and_no_other(line):
    value = loads(line)
    assert theirs.read(line) == value
    assert canonical(value) == line
    longer = (line + b" ", line.replace(b":", b": ", 1), line.replace(b"01", b"010"), line.replace(b"1e-7", b"1e-07"))
    for other in {*longer, json.dumps(value).encode()} - {line}:
        with pytest.raises(ValueError, match="spelt"):
            theirs.read(other)


@pytest.mark.parametrize("text", [":1e-05,", "[2.5e-06]", ":-3e-10}", "e-", ":0.5,"])
def test_a_text_that_looks_like_a_small_number_stays_as_it_is(text):
    for value in (text, [text], {"a": text, "b": 1.5e-6}, [text, 2e-7], {text: 1e-5}):
        assert canonical(value) == rfc8785.dumps(value) == theirs.canonical(value)
        assert json.loads(canonical(value)) == value
