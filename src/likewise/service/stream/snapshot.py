"""A state as plain JSON values, and again: what the next event needs, bit by bit."""

from __future__ import annotations

from typing import Any

import numpy as np

from likewise.service.stream.learner import Model
from likewise.service.stream.settings import Settings
from likewise.service.stream.state import OpenRound, OpenRounds, State, Totals, Verdict

FORMAT = 2
"""Of the layout below; snapshots in another one are ignored."""


def dump(state: State) -> dict[str, Any]:
    """The state of a stream that exists and knows its learner."""
    model = state.stream
    return {
        "settings": model.settings.to_dict(),
        "learner": model.dump(state.learner),
        "opened": state.opened,
        "rounds": [_dump_round(one) for one in state.rounds.values()],
        "average": None if state.average is None else state.average.tolist(),
        "stopped": state.stopped,
        "totals": state.totals._asdict(),
    }


def load(data: dict[str, Any]) -> State:
    """The state again."""
    model = Model(Settings.from_dict(data["settings"]))
    learner = model.load(data["learner"])
    rounds = OpenRounds()
    for one in data["rounds"]:
        rounds = rounds.put(_load_round(one, model))
    return State(
        model=model,
        learner=learner,
        policy=model.deploy(learner),
        opened=data["opened"],
        rounds=rounds,
        average=None if data["average"] is None else np.array(data["average"], dtype=float),
        stopped=data["stopped"],
        totals=Totals(**data["totals"]),
    )


def _dump_round(one: OpenRound) -> dict[str, Any]:
    return {
        "t": one.t,
        "opened_at": one.opened_at,
        "version": one.version,
        "refs": one.refs,
        "ids": one.ids,
        "rows": one.rows.tolist(),
        "probabilities": one.probabilities.tolist(),
        "labels": [None if np.isnan(label) else int(label) for label in one.labels],
        "late": one.late,
        "verdict": one.verdict,
        "retracted_at": one.retracted_at if np.isfinite(one.retracted_at) else None,
        "labels_expired": one.labels_expired,
        "closed": one.closed,
        "erased": sorted(one.erased),
        "lost": sorted(one.lost),
    }


def _load_round(data: dict[str, Any], model: Model) -> OpenRound:
    verdict = data["verdict"]
    if verdict is not None:
        outcome, at, by, pair = verdict
        verdict = Verdict(outcome, at, by, None if pair is None else (pair[0], pair[1]))
    arrays = {
        "rows": np.array(data["rows"], dtype=model.neutral(0).dtype),
        "probabilities": np.array(data["probabilities"], dtype=float),
        "labels": np.array([np.nan if label is None else label for label in data["labels"]], dtype=float),
    }
    late = tuple((position, label) for position, label in data["late"])
    sets = {name: frozenset(data[name]) for name in ("erased", "lost")}
    names = {"refs": tuple(data["refs"]), "ids": tuple(data["ids"])}
    retracted = -np.inf if data["retracted_at"] is None else data["retracted_at"]
    rest = {"late": late, "verdict": verdict, "retracted_at": retracted}
    return OpenRound(**data | arrays | sets | names | rest)
