"""The certificate of a stream: what ``likewise.certify`` proves of its rounds, with the delay beside it.

The transcript holds every round that was opened, by its number. A round that is not learned yet, or was discarded,
stands there with the labels that came, which are facts whatever becomes of it, but as not reviewed: for fairness to new
people it counts as a violation. Of a round that holds somebody who was erased since, nothing counts but that.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable
from typing import Any, cast

import numpy as np

from likewise.certificates import Certificate, certify
from likewise.certificates.letter import WIDTH
from likewise.errors import require
from likewise.game import Transcript
from likewise.policies import AveragePolicy
from likewise.protocol import Batch, Report, Round
from likewise.service.stream.answers import StreamCertificate
from likewise.service.stream.events import Event
from likewise.service.stream.learner import SEED
from likewise.service.stream.rounds import evolve, seen
from likewise.service.stream.settings import Settings
from likewise.service.stream.state import OpenRound, State
from likewise.service.stream.status import delay, regret


def certificate(events: Iterable[Event], state: State, delta: float = 0.05) -> StreamCertificate:
    """The certificate of a stream with its letter, its delay and what stands of its bounds.

    ``events`` are those that led to ``state``, with their asides.
    """
    found = certify(transcript(events, state), delta=delta)
    facts = {
        "stream": state.stream.settings.name,
        "outstanding": state.outstanding,
        "discarded": state.totals.discarded,
        "corrected": state.totals.corrected,
        "erased": state.totals.erased,
        "delay": delay(state),
        "lagrangian_regret": regret(state),
        "letter": letter(found, state),
    }
    return cast(StreamCertificate, found.to_dict() | facts)


def letter(found: Certificate, state: State) -> str:
    """The certificate's letter, and what is particular about a live stream."""
    totals = state.totals
    facts = [f"Delay and bounds. {regret(state)['sentence']}"]
    facts += [
        f"{what}: {count}."
        for count, what in (
            (totals.discarded, "Rounds discarded when their waits ended, which count as not reviewed"),
            (totals.corrected, "Audits corrected after their rounds were learned; nothing was unlearned"),
            (totals.late, "Labels that came too late and were not learned"),
            (totals.erased, "People erased, whose rounds count as not reviewed"),
        )
        if count
    ]
    return "\n".join([str(found), "", *(textwrap.fill(fact, WIDTH) for fact in facts)])


def transcript(events: Iterable[Event], state: State) -> Transcript:
    """Every round that was opened by the events that led to ``state``, by its number."""
    settings, model = state.stream.settings, state.stream
    require(state.opened > 0, "stream", "have opened a round", state.opened)
    rounds, penalties = _rounds(events, state)
    batches = [one.batch for one in rounds]
    pairs = [(-1, -1) if one.report is None else one.report[:2] for one in rounds]
    return Transcript(
        rows=np.concatenate([batch.rows for batch in batches]),
        y=np.concatenate([batch.y for batch in batches]),
        view=np.concatenate([batch.view for batch in batches]),
        chances=np.concatenate([one.probabilities for one in rounds]),
        starts=np.cumsum([0] + [len(batch.y) for batch in batches]),
        pairs=np.array(pairs, dtype=np.intp).reshape(-1, 2),
        violates=np.full(len(rounds), -1, dtype=np.int8),
        false=np.zeros(len(rounds), dtype=bool),
        reviewed=np.array([one.reviewed for one in rounds], dtype=bool),
        penalties=np.array(penalties, dtype=float),
        average_policy=AveragePolicy.of(model.hypotheses, state.average, state.opened),
        hypotheses=model.hypotheses,
        state=state.learner,
        facts={
            "learner": model.learner.parameters(),
            "alpha": float(settings.alpha),
            "margin": float(settings.margin),
            "costs": [float(cost) for cost in settings.costs],
            "environment": {"name": "live stream", "iid": None, "sees_policy": None},
            "auditor": {"name": "people", "truthful": None, "exhaustive": None, "fixed": None},
            "seed": SEED,
            "first": 1,
        },
    )


def _rounds(events: Iterable[Event], until: State) -> tuple[list[Round], list[float]]:
    """Every round as it was seen, and its penalty; the log is read without running the learner."""
    opened = until.opened
    state = State(model=until.model)
    found: dict[int, Round] = {}
    penalties = dict.fromkeys(range(1, opened + 1), 0.0)
    views: dict[int, Any] = {}
    for event in events:
        if event.kind == "learned":
            one = state.rounds[event.data["round"]]
            found[one.t] = _unseen(one) if one.lost else seen(one)
            penalties[one.t] = event.data["penalty"]
        elif event.kind == "round_closed" and not event.data["learns"]:
            one = state.rounds[event.data["round"]]
            found[one.t] = _unseen(one)
        if event.kind == "round_opened":
            views[event.data["round"]] = _view(event, until.stream.settings)
        if event.kind not in ("stream_created", "learner_checkpointed"):
            state = evolve(state, event)
    found |= {t: _unseen(one) for t, one in state.rounds.items()}
    rounds = [found[t]._replace(batch=found[t].batch._replace(view=views[t])) for t in range(1, opened + 1)]
    return rounds, list(penalties.values())


def _unseen(one: OpenRound) -> Round:
    """A round that was opened and is not known to be fair: labels count, unless a person of theirs is gone."""
    nothing: Report | None = None
    labels = np.full(len(one.labels), np.nan) if one.lost else np.asarray(one.known, dtype=float)
    return Round(Batch(one.rows, labels, None), one.probabilities, nothing, reviewed=False)


def _view(event: Event, settings: Settings) -> Any:
    """What the auditor saw, as numbers: a category by the place of its level, an erased person as NaN."""
    shown = [feature for feature in settings.features if feature.visible]
    contents = {aside.ref: aside.content["features"] for aside in event.asides}
    table = np.full((len(event.data["people"]), max(1, len(shown))), np.nan)
    for i, person in enumerate(event.data["people"]):
        for j, feature in enumerate(shown if person["ref"] in contents else ()):
            value = contents[person["ref"]][feature.name]
            table[i, j] = feature.levels.index(value) if feature.kind == "category" else value
    return table
