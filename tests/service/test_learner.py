"""A learner's state goes into the log and comes back bit by bit, though the log has no floats that are whole."""

from __future__ import annotations

import numpy as np
import pytest

from likewise.protocol import Batch, Report, Round
from likewise.service.canonical import dumps, loads
from likewise.service.stream.learner import Model
from likewise.service.stream.settings import Settings

PLAYED = {
    "adahedge": {},
    "tilted, where Δ begins at k": {"penalty": {"c": 0.1}},
    "hedge without a horizon": {"learner": "hedge", "penalty": 6.0},
    "hedge": {"learner": "hedge", "T": 100},
    "cells": {"hypotheses": "cells"},
}


def states(model, rounds=40):
    """The learner's states along a play, from the first one on."""
    rng = np.random.default_rng(5)
    state = model.learner.init()
    yield state
    for t in range(rounds):
        rows = model.encode([{"score": score} for score in rng.random(4)])
        shown = model.probabilities(model.deploy(state), rows)
        pair = Report(int(shown.argmax()), int(shown.argmin()))
        reports = (pair,) if t % 3 == 0 and np.ptp(shown) > 0.2 else ()
        labels = rng.integers(0, 2, 4).astype(float)
        state = model.learner.update(state, Round(Batch(rows, labels, None), shown, reports))
        yield state


@pytest.mark.parametrize("changes", PLAYED.values(), ids=PLAYED)
def test_a_state_that_was_in_the_log_is_the_same_state(changes):
    base = {"name": "loans", "features": [{"name": "score"}], "cuts": {"score": [0.2, 0.5, 0.8]}, "alpha": 0.2}
    model = Model(Settings.from_dict(base | {"k": 4} | changes))
    for state in states(model):
        again = model.load(loads(dumps(model.dump(state))))
        assert type(again) is type(state)
        for name, value in state._asdict().items():
            read = getattr(again, name)
            assert np.float64(read).tobytes() == np.float64(value).tobytes(), name
            assert isinstance(read, int) == (name in ("rounds", "reports")), name
        assert model.deploy(again).hash == model.deploy(state).hash
