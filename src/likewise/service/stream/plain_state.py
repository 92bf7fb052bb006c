"""The state of a stream as plain JSON values, bit by bit: what snapshots hold."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np

from likewise.protocol import Estimate
from likewise.service.stream.brief import Brief
from likewise.service.stream.counting import load as load_count
from likewise.service.stream.disputes import Dispute
from likewise.service.stream.drawing import Drawing
from likewise.service.stream.known import Known
from likewise.service.stream.learner import Model, score_program
from likewise.service.stream.learner_checkpoint import KeptPair, LastCheckpoint
from likewise.service.stream.panel import Panel
from likewise.service.stream.settings import Settings
from likewise.service.stream.state import OpenRound, OpenRounds, Pair, State, Totals, Verdict
from likewise.service.stream.team import Team
from likewise.theory import Overlap

SNAPSHOT_FORMAT = 15
"""Of the layout below; snapshots in another one are ignored."""


def dump_state(state: State) -> dict[str, Any]:
    """The state of a stream that exists and knows its learner."""
    model = state.stream
    return {
        "settings": model.settings.to_dict(),
        "learner_version": model.version,
        "scores": None if model.program is None else model.program.data,
        "learner": model.dump(state.learner),
        "opened": state.opened,
        "rounds": [_dump_round(round_) for round_ in state.rounds.values()],
        "average": None if state.average is None else state.average.tolist(),
        "floors": state.floors,
        "lot": state.lot,
        "stopped": state.stopped,
        "stop_ref": state.stop_ref,
        "totals": state.totals._asdict(),
        "drawing": state.drawing,
        "counted_rounds": state.counted_rounds,
        "overlap": state.overlap,
        "upheld": state.upheld,
        "hinted": state.hinted,
        "pairs": state.pairs,
        "checkpoint": state.checkpoint,
        "key": state.key,
        "brief": state.brief.model_dump(mode="json"),
        "brief_version": state.brief_version,
        "known": state.known,
        "team": state.team.dump(),
        "disputes": [dispute.dump() for dispute in state.disputes],
    }


def load_state(data: dict[str, Any]) -> State:
    """The state again."""
    settings = Settings.from_dict(data["settings"])
    model = Model(settings, data["learner_version"], score_program(settings, data["scores"]))
    learner = model.load(data["learner"])
    rounds = OpenRounds()
    for round_ in data["rounds"]:
        rounds = rounds.put(_load_round(round_, model))
    return State(
        model=model,
        learner=learner,
        policy=model.deploy(learner),
        opened=data["opened"],
        rounds=rounds,
        average=None if data["average"] is None else np.array(data["average"], dtype=float),
        floors=data["floors"],
        lot=data["lot"],
        stopped=data["stopped"],
        stop_ref=data["stop_ref"],
        totals=Totals(**data["totals"]),
        drawing=Drawing.load(data["drawing"]),
        counted_rounds=load_count(data["counted_rounds"]),
        overlap=Overlap(*data["overlap"]),
        upheld=Overlap(*data["upheld"]),
        hinted=Overlap(*data["hinted"]),
        pairs=tuple(KeptPair(made, row, tuple(people), tuple(refs)) for made, row, people, refs in data["pairs"]),
        checkpoint=LastCheckpoint(*data["checkpoint"]),
        key=data["key"],
        brief=Brief(**data["brief"]),
        brief_version=data["brief_version"],
        known=Known.load(data["known"]),
        team=Team.load(data["team"]),
        disputes=tuple(map(Dispute.load, data["disputes"])),
    )


def _dump_round(round_: OpenRound) -> dict[str, Any]:
    verdict = round_.verdict
    return {
        "t": round_.t,
        "opened_at": round_.opened_at,
        "version": round_.version,
        "refs": round_.refs,
        "ids": round_.ids,
        "rows": round_.rows.tolist(),
        "probabilities": round_.probabilities.tolist(),
        "decisions": round_.decisions,
        "returning": sorted(round_.returning),
        "estimate": round_.estimate,
        "drawn": round_.drawn,
        "labels": [None if np.isnan(label) else int(label) for label in round_.labels],
        "late": round_.late,
        "verdict": None if verdict is None else [*verdict[:3], [asdict(pair) for pair in verdict.pairs], *verdict[4:]],
        "retracted_at": round_.retracted_at if np.isfinite(round_.retracted_at) else None,
        "retractions": round_.retractions,
        "labels_expired": round_.labels_expired,
        "closed": round_.closed,
        "correction": round_.correction,
        "erased": sorted(round_.erased),
        "lost": sorted(round_.lost),
        "q": round_.q,
        "since": round_.since,
        "panel": round_.panel.dump(),
    }


def _load_round(data: dict[str, Any], model: Model) -> OpenRound:
    return OpenRound(
        **data
        | {
            "refs": tuple(data["refs"]),
            "ids": tuple(data["ids"]),
            "rows": np.array(data["rows"], dtype=model.neutral(0).dtype),
            "probabilities": np.array(data["probabilities"], dtype=float),
            "labels": np.array([np.nan if label is None else label for label in data["labels"]], dtype=float),
            "decisions": tuple(data["decisions"]),
            "returning": frozenset(data["returning"]),
            "estimate": None if data["estimate"] is None else Estimate(*data["estimate"]),
            "late": tuple((position, label) for position, label in data["late"]),
            "verdict": _load_verdict(data["verdict"]),
            "retracted_at": -np.inf if data["retracted_at"] is None else data["retracted_at"],
            "erased": frozenset(data["erased"]),
            "lost": frozenset(data["lost"]),
            "q": float(data["q"]),
            "since": load_count(data["since"]),
            "panel": Panel.load(data["panel"]),
        }
    )


def _load_verdict(data: list[Any] | None) -> Verdict | None:
    if data is None:
        return None
    outcome, at, by, pairs, *how = data
    return Verdict(outcome, at, by, tuple(Pair(**pair) for pair in pairs), *how)
