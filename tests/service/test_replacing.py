"""A copy with some fields changed is that of ``dataclasses``, only faster."""

from __future__ import annotations

import dataclasses
from dataclasses import fields

import numpy as np
import pytest

from likewise.service.stream.replacing import replace
from likewise.service.stream.state import OpenRound, State

ROUND = OpenRound(1, 0.0, 0, ("r",), ("ada",), np.zeros((1, 1)), np.array([0.5]), (1,), np.array([np.nan]))


@pytest.mark.parametrize("changes", [{}, {"opened": 3}, {"stopped": "lunch", "floors": 0.5}])
def test_a_copy_has_what_was_changed_and_the_very_rest(changes):
    state = State(key="k")
    ours, theirs = replace(state, **changes), dataclasses.replace(state, **changes)
    assert type(ours) is State
    assert all(getattr(ours, each.name) is getattr(theirs, each.name) for each in fields(State))
    assert state == State(key="k", rounds=state.rounds)


def test_rounds_are_copied_in_the_same_way():
    ours, theirs = replace(ROUND, closed=True), dataclasses.replace(ROUND, closed=True)
    assert ours.__dict__.keys() == theirs.__dict__.keys()
    assert all(ours.__dict__[name] is theirs.__dict__[name] for name in ours.__dict__)


def test_a_field_that_there_is_not_is_refused():
    with pytest.raises(TypeError, match="colour"):
        replace(State(), colour="red")


@pytest.mark.parametrize("kind", [State, OpenRound])
def test_nothing_is_left_out_that_init_would_do(kind):
    assert not hasattr(kind, "__post_init__")
    assert not hasattr(kind, "__slots__")
