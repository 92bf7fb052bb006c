"""A learner's state goes into the log and comes back bit by bit, though the log has no floats that are whole."""

from __future__ import annotations

import base64
import re
import zlib

import numpy as np
import pytest

from likewise.errors import InvalidParameter
from likewise.learners.kept import KeptState
from likewise.protocol import Batch, Report, Round
from likewise.service.canonical import dumps, loads
from likewise.service.stream.learner import KNOWN_VERSIONS, LEARNER_VERSION, Model, person_number
from likewise.service.stream.learner_checkpoint import read, unpacked, written
from likewise.service.stream.settings import Settings

PLAYED = {
    "adahedge": {},
    "adahedge with a horizon": {"T": 40},
    "adahedge of release 1": {"penalty": "growing"},
    "tilted, where Δ begins at k": {"penalty": {"c": 0.1}},
    "hedge without a horizon": {"learner": "hedge", "penalty": 6.0},
    "hedge": {"learner": "hedge", "T": 100},
    "cells": {"hypotheses": "cells"},
    "cells of release 1": {"hypotheses": "cells", "penalty": "growing"},
}
KEEP_REPORTS = ("adahedge", "adahedge with a horizon", "cells")
PEOPLE = {person_number(id): id for id in ("ada", "bob", "cleo", "dan")}


def states(model, rounds=40):
    """The learner's states along a play, from the first one on."""
    rng = np.random.default_rng(5)
    state = model.learner.init()
    yield state
    for t in range(rounds):
        rows = model.encode([{"score": score} for score in rng.random(4)])
        shown = model.probabilities(model.deploy(state), rows)
        pair = Report(int(shown.argmax()), int(shown.argmin()))
        reports = (pair,) if np.ptp(shown) > 0.2 and t % 3 else ()
        labels = (shown.argsort().argsort() > 1).astype(float) if t % 5 else rng.integers(0, 2, 4).astype(float)
        state = model.learner.update(state, Round(Batch(rows, labels, None, np.array(list(PEOPLE))), shown, reports))
        yield state


def built(name):
    base = {"name": "loans", "features": [{"name": "score"}], "cuts": {"score": [0.2, 0.5, 0.8]}, "alpha": 0.2}
    return Model(Settings.from_dict(base | {"k": 4} | PLAYED[name]))


@pytest.mark.parametrize("name", PLAYED)
def test_a_state_that_was_in_the_log_is_the_same_state(name):
    model = built(name)
    for state in states(model):
        again = model.load(loads(dumps(model.dump(state))))
        assert type(again) is type(state)
        for part, value in state._asdict().items():
            read = getattr(again, part)
            assert type(read) is type(value), part
            if isinstance(value, np.ndarray):
                assert (read.dtype, read.shape) == (value.dtype, value.shape), part
            assert np.asarray(read).tobytes() == np.asarray(value).tobytes(), part
        assert model.deploy(again).hash == model.deploy(state).hash
    assert state.reports > 0
    assert isinstance(state, KeptState) == (name in KEEP_REPORTS)


@pytest.mark.parametrize("name", KEEP_REPORTS)
def test_the_next_state_is_the_same_from_a_state_that_was_in_the_log(name):
    """Types count: a price is set by what the kernels read."""
    model = built(name)
    rows, y = model.encode([{"score": score} for score in (0.1, 0.3, 0.6, 0.9)]), np.array([0.0, 0.0, 1.0, 1.0])
    compared = 0
    for state in states(model):
        shown = model.probabilities(model.deploy(state), rows)
        reports = (Report(int(shown.argmax()), int(shown.argmin())),) if np.ptp(shown) > 0.2 else ()
        round_ = Round(Batch(rows, y, None), shown, reports)
        again = model.load(loads(dumps(model.dump(state))))
        one, other = (model.dump(model.learner.update(before, round_)) for before in (state, again))
        assert dumps(one) == dumps(other)
        compared += len(state.gaps) > 0
    assert compared > 5


@pytest.mark.parametrize("name", PLAYED)
def test_a_state_that_was_packed_is_the_same_state(name):
    model = built(name)
    for state in states(model):
        kept = isinstance(state, KeptState)
        rows = list(state.contrasts) if kept else []
        ids = [[PEOPLE[number] for number in pair] for pair in state.people.tolist()] if kept else []
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(type(model.hypotheses), "contrast", lambda F, row: row)  # what the log doesn't hold
            again = read(model, loads(dumps(written(model, state))), rows, ids)
        assert model.dump(again) == model.dump(state)
        assert model.deploy(again).hash == model.deploy(state).hash
        for part, value in state._asdict().items():
            assert np.asarray(getattr(again, part)).dtype == np.asarray(value).dtype, part


def test_a_packed_part_that_never_ends_is_refused():
    bomb = base64.b64encode(zlib.compress(bytes(2**20))).decode()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("likewise.service.stream.learner_checkpoint.MOST", 2**19)
        with pytest.raises(InvalidParameter, match="at most 524288 bytes"):
            unpacked(bomb, np.empty(0))


@pytest.mark.parametrize("name", KEEP_REPORTS)
def test_frozen_reports_leave_the_policy_as_it_was_and_tell_of_nobody(name):
    model = built(name)
    *_, state = states(model)
    assert state.contrasts.size > 0
    without = model.frozen(state, np.ones(len(state.made), dtype=bool))
    assert model.deploy(without).hash == model.deploy(state).hash
    assert sum(part.size for part in without.kept) == 0
    some = model.frozen(state, np.arange(len(state.made)) == 0)
    assert some.made.tolist() == state.made.tolist()[1:]
    np.testing.assert_allclose(some.frozen, state.frozen + state.kept.prices[0] * np.array([1.0, state.gaps[0]]))
    for error in (0.0, 17.0):
        limits = [model.learner.regret_limit(one, error) for one in (without, state)]
        assert limits[0] == pytest.approx(limits[1], abs=1e-9)


@pytest.mark.parametrize("version", [KNOWN_VERSIONS[0] - 1, LEARNER_VERSION + 1, True, str(LEARNER_VERSION), None])
def test_a_learner_of_another_version_is_refused_in_a_sentence(version):
    settings = built("adahedge").settings
    sentence = f"`learner_version` must be one of {KNOWN_VERSIONS}, the versions"
    with pytest.raises(InvalidParameter, match=re.escape(sentence)):
        Model(settings, version)


@pytest.mark.parametrize("name", ["adahedge", "adahedge with a horizon", "cells"])
def test_a_stream_of_before_keeps_the_slack_that_it_was_created_with(name):
    settings = built(name).settings.model_copy(update={"alpha": 0.4})
    slack = [Model(settings, version).inside.rule.epsilon for version in KNOWN_VERSIONS]
    assert slack == [settings.level / 2, 0.05]
