"""Much in little memory: a table of many short keys, and records that stand in a file.

Whoever checks a long log keeps a few numbers of everybody who was ever in it. Here they stand as bytes, one after
another, in rows of about thirty; a key's hash says in which row it is looked for. As entries come, one row after
another is split in two (linear hashing), so that no entry costs more than the first ones. It takes about a fifth of the
memory of a dict. Python's standard library is enough.
"""

from __future__ import annotations

import struct
from array import array
from collections.abc import Callable
from io import BytesIO
from typing import Any, BinaryIO

KEY = 16
"""Bytes of a key."""
PER_ROW = 32
"""Entries in a row on average, beyond which one more row is made."""
LENGTH = 4
"""Bytes in which the length of a record is written."""


class Packed:
    """Keys of 16 bytes, and a few numbers for each.

    Parameters
    ----------
    numbers
        How the numbers of an entry are written, as ``struct`` has it.

    Examples
    --------
    >>> table = Packed("<dB")
    >>> table[bytes(16)] = 0.5, 1
    >>> len(table), table.get(bytes(16)), table.get(b"somebody else's.")
    (1, (0.5, 1), None)
    """

    def __init__(self, numbers: str) -> None:
        self._numbers = struct.Struct(numbers)
        self._width = KEY + self._numbers.size
        self._entry = struct.Struct(f"{KEY}s{self._numbers.size}s")
        self._rows = [bytearray()]
        self._mask = 0
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def get(self, key: bytes) -> tuple[Any, ...] | None:
        """The numbers of a key; None if it isn't there."""
        row, at = self._find(key)
        return None if at < 0 else self._numbers.unpack_from(row, at + KEY)

    def __setitem__(self, key: bytes, numbers: tuple[Any, ...]) -> None:
        row, at = self._find(key)
        self._put(row, at, key, numbers)

    def change(self, key: bytes, to: Callable[[tuple[Any, ...] | None], tuple[Any, ...]]) -> tuple[Any, ...]:
        """Set the numbers of a key to what ``to`` makes of those of before, None if there were none; returns them."""
        row, at = self._find(key)
        numbers = to(None if at < 0 else self._numbers.unpack_from(row, at + KEY))
        self._put(row, at, key, numbers)
        return numbers

    def _put(self, row: bytearray, at: int, key: bytes, numbers: tuple[Any, ...]) -> None:
        if at >= 0:
            self._numbers.pack_into(row, at + KEY, *numbers)
            return
        if len(key) != KEY:
            raise ValueError(f"a key must have {KEY} bytes, not {len(key)}")
        row += key + self._numbers.pack(*numbers)
        self._size += 1
        if self._size > PER_ROW * len(self._rows):
            self._split()

    def _find(self, key: bytes) -> tuple[bytearray, int]:
        """The row of a key, and where its entry begins there; -1 if it isn't there."""
        row = self._rows[self._number(key)]
        at = row.find(key)
        while at > 0 and at % self._width:  # within the numbers of an entry, or across two
            at = row.find(key, at + 1)
        return row, at

    def _number(self, key: bytes) -> int:
        number = hash(key) & self._mask
        return number if number < len(self._rows) else number & (self._mask >> 1)

    def _split(self) -> None:
        """One more row, with about half the entries of the one whose turn it is."""
        new = len(self._rows)
        self._mask = (1 << new.bit_length()) - 1
        old = new & (self._mask >> 1)
        entries = list(self._entry.iter_unpack(self._rows[old]))
        moves = [hash(key) & self._mask == new for key, _ in entries]
        self._rows[old] = bytearray().join(
            [key + rest for (key, rest), gone in zip(entries, moves, strict=True) if not gone]
        )
        self._rows.append(
            bytearray().join([key + rest for (key, rest), gone in zip(entries, moves, strict=True) if gone])
        )


class Records:
    """Bytes by number, one record after another in a file. A record that changes is written once more.

    Parameters
    ----------
    file
        Empty, and open to read and write; it is never closed here. In memory, if there is none.

    Examples
    --------
    >>> records = Records()
    >>> records[2] = b"the second"
    >>> 1 in records, records[2]
    (False, b'the second')
    """

    def __init__(self, file: BinaryIO | None = None) -> None:
        self._file = BytesIO() if file is None else file
        self._places = array("Q")
        """Where each record begins, counted from 1; 0 if it isn't there."""
        self._end, self._at_end = 0, True

    def __contains__(self, number: int) -> bool:
        return 0 <= number < len(self._places) and self._places[number] > 0

    def __getitem__(self, number: int) -> bytes:
        if number not in self:
            raise KeyError(number)
        self._file.seek(self._places[number] - 1)
        self._at_end = False
        return self._file.read(int.from_bytes(self._file.read(LENGTH), "big"))

    def __setitem__(self, number: int, record: bytes) -> None:
        self._places.extend([0] * (number + 1 - len(self._places)))
        if not self._at_end:
            self._file.seek(self._end)
            self._at_end = True
        self._places[number] = self._end + 1
        self._end += self._file.write(len(record).to_bytes(LENGTH, "big") + record)
