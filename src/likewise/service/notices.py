"""A person's notice, from the log alone: why they had their probability, and what would have changed it.

It asks the policy that decided, which is found by reading the log again if it is no longer the current one; its hash
must be the one in the record. Reasons are told against people who came shortly before. Nothing is written.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from likewise.protocol import Estimate, Floats
from likewise.reading import Change
from likewise.reading.shapley import over_orders
from likewise.report.notice import Notice, Reason
from likewise.service.engine import Engine
from likewise.service.refusals import BrokenLog, Conflict, Unknown
from likewise.service.stream.answers import PersonRound
from likewise.service.stream.events import RoundOpened
from likewise.service.stream.learner import Deployed, Model
from likewise.service.stream.settings import Feature
from likewise.service.stream.state import State
from likewise.wording import number

COMPARED = 40
"""People whose mean a notice is told against, at most: those who came last before."""
BY = 0.05
"""By how much a change must raise the probability to be told."""
TOP = 4
Features = Mapping[str, Any]
Run = Callable[..., Any]


def notice(
    engine: Engine, stream: str, person: str, t: int | None = None, contact: str = "", run: Run | None = None
) -> Notice:
    """What somebody may be told about their decision in round ``t``, or in the newest one.

    ``run`` does long work elsewhere (``Subprocesses.run``): finding the policy of long ago, which names no person.
    """
    theirs = _round(engine.person(stream, person)["rounds"], stream, t)
    features = theirs["features"]
    if features is None:
        raise Conflict("The features of this person were erased, so nobody can say why they got their decision.")
    asked = _Asked(engine.streams.get(stream).latest.state.stream, _policy(engine, stream, theirs, run))
    others = _others(engine, stream, theirs["t"], person)
    reasons, base, estimated = asked.reasons(features, others)
    return Notice(
        about=person,
        probability=theirs["probability"],
        decision=bool(theirs["decision"]),
        lot=None,
        base=base,
        compared_with=len(others),
        reasons=reasons,
        estimated=estimated,
        changes=asked.changes(features, others),
        unexplained="" if others else "Nobody came before to compare with, so no reasons can be given.",
        contact=contact,
        policy=f"Version {theirs['version']} of the policy of the stream {stream}, {theirs['policy']}.",
        decided_at=f"Round {theirs['t']}, opened at {theirs['opened_at']}.",
    )


def _round(rounds: Sequence[PersonRound], stream: str, t: int | None) -> PersonRound:
    """The round that decided: a person who returned got the answer of their first one."""
    asked = [theirs for theirs in rounds if t is None or theirs["t"] == t]
    if not asked:
        raise Unknown(f"This person is not in round {t} of the stream {stream!r}.")
    theirs = asked[-1]
    return rounds[0] if theirs.get("returning") else theirs


def _policy(engine: Engine, stream: str, theirs: PersonRound, run: Run | None) -> Deployed:
    """The policy that decided, checked against the hash that was logged with the decision."""
    policy = engine.streams.get(stream).current().policy
    if policy is None or policy.hash != theirs["policy"]:
        t = theirs["t"]
        deployed = deployed_for(engine, stream, t=t) if run is None else run(deployed_for, stream, t=t)
        estimate = None if deployed["estimate"] is None else Estimate(*deployed["estimate"])
        policy = Deployed(deployed["version"], np.array(deployed["weights"]), deployed["hash"], estimate)
    if policy.hash != theirs["policy"]:
        raise BrokenLog(f"The policy of round {theirs['t']} of {stream!r} is not the one that was logged.")
    return policy


def deployed_for(engine: Engine, stream: str, *, t: int, **progress: Any) -> dict[str, Any]:
    """The policy that was deployed for a round, from the events before it, as plain JSON values."""
    live = engine.streams.get(stream)
    live.current()
    seq = live.durable[1]
    state = State()
    for page in engine.store.pages(stream, seq):
        for sealed in page:
            if isinstance(sealed.event, RoundOpened) and sealed.event.t == t:
                if state.policy is None:
                    raise Conflict(f"Somebody was erased since, so nobody knows the policy of round {t} any more.")
                version, weights, hash, estimate = state.policy
                plain = {"version": version, "weights": weights.tolist(), "hash": hash}
                return plain | {"estimate": None if estimate is None else list(estimate)}
            state = sealed.event.evolve(state)
    raise Unknown(f"There is no round {t} in the stream {stream!r}.")


def _others(engine: Engine, stream: str, t: int, person: str) -> list[Features]:
    """People of this round and those before it, without the person."""
    others: list[Features] = []
    while t >= 1 and len(others) < COMPARED:
        people = [aside for aside in engine.reads.people_of(stream, t) if aside.person != person]
        others += [aside.content["features"] for aside in people]
        t -= 1
    return others[:COMPARED]


class _Asked:
    """A policy that is asked about people: each feature that it uses is one number, of a category the level's place."""

    def __init__(self, model: Model, policy: Deployed) -> None:
        self.model, self.policy = model, policy
        self.features: list[Feature] = [f for f in model.settings.features if f.name in model.used]
        self.additive = model.program is None and model.settings.hypotheses == "thresholds"

    def probability(self, rows: Floats) -> Floats:
        """π at people given as numbers."""
        people = [{f.name: _value(f, x) for f, x in zip(self.features, row, strict=True)} for row in rows.tolist()]
        return self.model.probabilities(self.policy, self.model.encode(people))

    def row(self, features: Features) -> list[float]:
        """A person as numbers."""
        return [_number(feature, features[feature.name]) for feature in self.features]

    def reasons(self, features: Features, others: Sequence[Features]) -> tuple[tuple[Reason, ...], float, bool]:
        """Shapley values against others: exact where the policy is a sum over features, otherwise estimated."""
        if not others or not self.features:
            return (), 0.0, False
        own_row, other_rows = np.array(self.row(features)), np.array([self.row(other) for other in others])
        own, given = float(self.probability(own_row[None])[0]), self.probability(other_rows)
        owner: NDArray[np.intp] = np.arange(len(self.features))
        amounts = over_orders(self.probability, owner, own_row, other_rows, own, given)
        reasons = [
            Reason(f.name, number(features[f.name]), float(a)) for f, a in zip(self.features, amounts, strict=True)
        ]
        mattering = [reason for reason in reasons if abs(reason.amount) > 1e-12]
        exact = self.additive or len(self.features) == 1
        return tuple(sorted(mattering, key=lambda reason: reason.amount)), float(given.mean()), not exact

    def changes(self, features: Features, others: Sequence[Features]) -> tuple[Change, ...]:
        """For each feature the nearest number, or the level, that raises the probability enough."""
        own_row = np.array(self.row(features))
        now = float(self.probability(own_row[None])[0])
        possible = (self._raised(j, feature, own_row, now, others) for j, feature in enumerate(self.features))
        changes = [change for change in possible if change is not None]
        return tuple(sorted(changes, key=lambda change: -change.difference)[:TOP])

    def _raised(
        self, j: int, feature: Feature, own_row: Floats, now: float, others: Sequence[Features]
    ) -> Change | None:
        options = self._options(j, feature, own_row, others)
        if not options:
            return None
        rows = np.tile(own_row, (len(options), 1))
        rows[:, j] = options
        given = self.probability(rows)
        enough = np.flatnonzero(given - now >= BY - 1e-12)
        if not len(enough):
            return None
        best = enough[0] if feature.kind == "number" else enough[int(given[enough].argmax())]
        value, then = _value(feature, options[best]), float(given[best])
        was = number(_value(feature, float(own_row[j])))
        return Change(feature.name, was, number(value), value, then, then - now, feature.kind != "number")

    def _options(self, j: int, feature: Feature, own_row: Floats, others: Sequence[Features]) -> list[float]:
        """Values to try: levels; of a number the cuts and what others have, the nearest first."""
        if feature.kind == "category":
            return [float(place) for place in range(len(feature.levels)) if place != own_row[j]]
        values = {float(other[feature.name]) for other in others} | set(
            self.model.settings.cuts.get(feature.name) or ()
        )
        return sorted(values - {float(own_row[j])}, key=lambda value: abs(value - float(own_row[j])))


def _number(feature: Feature, value: Any) -> float:
    return float(value) if feature.kind == "number" else float(feature.levels.index(value))


def _value(feature: Feature, x: float) -> Any:
    return x if feature.kind == "number" else feature.levels[int(x)]
