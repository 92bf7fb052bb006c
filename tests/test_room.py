"""Memory of large arrays that is handed out again: never while anybody still looks at it."""

from __future__ import annotations

import gc
import pickle

import numpy as np

from likewise.hypotheses.room import LARGE, SPARE, room


def address(array: np.ndarray) -> int:
    return int(array.__array_interface__["data"][0])


def test_room_that_nobody_holds_is_handed_out_again() -> None:
    array = room(LARGE)
    place = address(array)
    del array
    assert address(room(LARGE)) == place


def test_a_slice_keeps_its_numbers_after_the_array_is_gone() -> None:
    array = room(LARGE)
    array[:] = 7.0
    parts = [array[10:20], array.reshape(2, -1)[1], array.view()[::2]]
    del array
    gc.collect()
    for _ in range(2 * SPARE):
        room(LARGE)[:] = 0.0
    assert all((part == 7.0).all() for part in parts)


def test_another_size_gets_an_array_of_that_size() -> None:
    room(LARGE)
    assert room(LARGE + 1).shape == (LARGE + 1,)
    assert room(5).shape == (5,)


def test_it_is_an_array_like_any_other() -> None:
    array = room(LARGE)
    array[:] = np.arange(LARGE)
    assert array.flags.writeable
    assert array.flags.c_contiguous
    assert array.dtype == float
    assert np.array_equal(pickle.loads(pickle.dumps(array)), array)


def test_nothing_is_handed_out_twice() -> None:
    arrays = [room(LARGE) for _ in range(3 * SPARE)]
    arrays.clear()
    again = [room(LARGE) for _ in range(3 * SPARE)]
    assert len({address(array) for array in again}) == len(again)
