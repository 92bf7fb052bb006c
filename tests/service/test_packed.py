"""Tables and records in little memory hold what a dict would hold."""

from __future__ import annotations

import hashlib
import random
import sys
import tempfile

import pytest

from likewise.service.packed import PER_ROW, Packed, Records


def key(number: int) -> bytes:
    return hashlib.sha256(str(number).encode()).digest()[:16]


class TestPacked:
    def test_it_holds_what_a_dict_holds_through_many_splits(self):
        rng, table, plain = random.Random(1), Packed("<IB"), {}
        for step in range(100 * PER_ROW):
            number = rng.randrange(60 * PER_ROW)
            table[key(number)] = plain[key(number)] = step, number % 7
            assert len(table) == len(plain)
        for number in range(60 * PER_ROW):
            assert table.get(key(number)) == plain.get(key(number))

    def test_a_key_that_stands_across_two_entries_or_among_numbers_is_not_there(self):
        table = Packed("<QQ")
        table[bytes(16)] = 0, 0  # whose numbers look like its key
        table[bytes(range(16))] = 1, 2
        assert table.get(bytes(16)) == (0, 0)
        assert table.get(bytes(8) + bytes(range(8))) is None
        table[bytes(8) + bytes(range(8))] = 3, 4  # as it stands from the numbers of the first to the key of the second
        assert table.get(bytes(8) + bytes(range(8))) == (3, 4)
        assert len(table) == 3

    def test_keys_have_sixteen_bytes(self):
        with pytest.raises(ValueError, match="16 bytes, not 3"):
            Packed("<I")[b"abc"] = (1,)

    def test_an_entry_takes_little_more_than_its_bytes(self):
        table, entries = Packed("<dd"), 20_000
        for number in range(entries):
            table[key(number)] = number, -number
        taken = sum(map(sys.getsizeof, table._rows)) + sys.getsizeof(table._rows)
        assert taken / entries < 1.3 * (16 + 16)


@pytest.mark.parametrize("in_a_file", [False, True])
def test_records_are_found_in_any_order_and_the_last_one_of_a_number_counts(in_a_file):
    rng, plain = random.Random(2), {}
    with tempfile.TemporaryFile() as file:
        records = Records(file if in_a_file else None)
        for step in range(500):
            number = rng.randrange(200)
            records[number] = plain[number] = rng.randbytes(step % 40)
            other = rng.randrange(200)
            assert (other in records) == (other in plain)
            assert other not in plain or records[other] == plain[other]
        with pytest.raises(KeyError):
            records[200]
        assert -1 not in records
