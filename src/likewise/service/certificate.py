"""The certificate of a stream: what ``likewise.certify`` proves of its rounds, with the delay beside it.

The transcript holds every round that was opened, by its number. A round that is not learned yet, or was discarded,
stands there with the labels that came, which are facts whatever becomes of it, but as not reviewed: for fairness to new
people it counts as a violation. Of a round that holds somebody who was erased since, nothing counts but that.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from typing import Any

import numpy as np

from likewise.certificates import Certificate, certify
from likewise.certificates.letter import WIDTH
from likewise.errors import require
from likewise.facts import AuditorFacts, EnvironmentFacts, PlayFacts
from likewise.game import Recorder, Transcript, learner_facts
from likewise.policies import AveragePolicy
from likewise.protocol import Batch, Round
from likewise.service.events import Event
from likewise.service.rounds import evolve, seen
from likewise.service.settings import Settings
from likewise.service.standing import delay, regret
from likewise.service.state import OpenRound, State
from likewise.service.store import Store

PAGE = 1000
"""Events read at once."""


def certificate(
    store: Store, state: State, seq: int, delta: float = 0.05, progress: Callable[[float], None] | None = None
) -> dict[str, Any]:
    """The certificate of a stream at event ``seq``, where it has ``state``, as plain JSON values.

    With its letter, its delay and what stands of its bounds. ``progress`` hears which share of the log was read.
    """
    found = certify(transcript(store, state, seq, progress), delta=delta)
    return found.to_dict() | {
        "stream": state.stream.settings.name,
        "outstanding": state.outstanding,
        "discarded": state.totals.discarded,
        "corrected": state.totals.corrected,
        "erased": state.totals.erased,
        "delay": delay(state),
        "lagrangian_regret": regret(state),
        "letter": letter(found, state),
    }


def letter(found: Certificate, state: State) -> str:
    """The certificate's letter, and what is particular about a live stream."""
    totals = state.totals
    facts = [f"Delay and bounds. {regret(state)['said']}"]
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


def transcript(store: Store, state: State, seq: int, progress: Callable[[float], None] | None = None) -> Transcript:
    """Every round opened up to event ``seq``, where the stream has ``state``, by its number."""
    settings, model = state.stream.settings, state.stream
    require(state.opened > 0, "stream", "have opened a round", state.opened)
    people, reviewers = EnvironmentFacts("live stream"), AuditorFacts("people")
    alpha, margin = float(settings.alpha), float(settings.margin)
    facts = PlayFacts(learner_facts(model.learner), people, reviewers, alpha, margin, settings.seed)
    record = Recorder(model.hypotheses, facts)
    for round_, penalty in zip(*_rounds(store, state, seq, progress), strict=True):
        record.add(round_, penalty)
    return record.transcript(state.learner, AveragePolicy.of(model.hypotheses, state.average, state.opened))


def _rounds(
    store: Store, until: State, seq: int, progress: Callable[[float], None] | None
) -> tuple[list[Round], list[float]]:
    """Every round as it was seen, and its penalty; the log is read without running the learner."""
    name, opened = until.stream.settings.name, until.opened
    state = State(model=until.model)
    found: dict[int, Round] = {}
    penalties = dict.fromkeys(range(1, opened + 1), 0.0)
    views: dict[int, Any] = {}
    after = 0
    while after < seq:
        page = store.events(name, after, min(PAGE, seq - after), asides=True)
        for event in (sealed.event for sealed in page):
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
        after = page[-1].seq
        if progress is not None:
            progress(after / seq)
    found |= {t: _unseen(one) for t, one in state.rounds.items()}
    rounds = [found[t]._replace(batch=found[t].batch._replace(view=views[t])) for t in range(1, opened + 1)]
    return rounds, list(penalties.values())


def _unseen(one: OpenRound) -> Round:
    """A round that was opened and is not known to be fair: labels count, unless a person of theirs is gone."""
    labels = np.full(len(one.labels), np.nan) if one.lost else np.asarray(one.known, dtype=float)
    return Round(Batch(one.rows, labels, None), one.probabilities, reviewed=False)


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
