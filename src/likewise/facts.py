"""What is known of the roles of a play: True, False, or None for unknown. It decides what a certificate may claim.

Where a play continued with other people or another auditor, only what is known of both is known of the whole.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from likewise.errors import require


def all_known(values: Sequence[bool | None]) -> bool | None:
    """Whether something holds for all: False if it fails for one, None if it isn't known for one."""
    if False in values:
        return False
    return None if None in values else True


@dataclass(frozen=True)
class LearnerFacts:
    """What a learner was.

    Attributes
    ----------
    name
        What it is called.
    T
        Its horizon; None if it needs none.
    costs
        What a false positive and a false negative cost.
    parameters
        Every parameter, as plain JSON values.
    """

    name: str
    T: int | None
    costs: tuple[float, float]
    parameters: Mapping[str, Any]


@dataclass(frozen=True)
class EnvironmentFacts:
    """What is known of an environment.

    Attributes
    ----------
    name
        What it is called.
    iid
        Its people are independent draws from one population.
    sees_policy
        It looks at π^t before it chooses the batch.
    population
        How many rows it draws from.
    people
        How many distinct people they are.
    drawn
        How people may come again: ``"once"`` (nobody does), ``"again"`` (draws with replacement), ``"passes"``
        (everybody once in a random order, then everybody in a new one); None for unknown.
    """

    name: str
    iid: bool | None = None
    sees_policy: bool | None = None
    population: int | None = None
    people: int | None = None
    drawn: str | None = None

    def then(self, later: EnvironmentFacts) -> EnvironmentFacts:
        """What is known of this environment followed by another."""
        if self == later:
            return self
        # Two populations are not one.
        several = self.population is not None or later.population is not None
        iid = False if several else all_known([self.iid, later.iid])
        sees = [self.sees_policy, later.sees_policy]
        return EnvironmentFacts(_both(self.name, later.name), iid, None if None in sees else any(sees))


@dataclass(frozen=True)
class AuditorFacts:
    """What is known of an auditor.

    Attributes
    ----------
    name
        What it is called.
    truthful
        Its reports are true.
    exhaustive
        It reports whenever it can.
    fixed
        It judges by one distance, which stays the same.
    marks_false
        Reports of its that are not true are marked (``Report.false``).
    sees
        ``"probabilities"``, or ``"decisions"``: only who got a yes and who a no.
    review_floor
        Where rounds are drawn for review by lot: the least probability of a review that was planned for a round that
        is not cleared. None where every round was to be reviewed.
    details
        What else it says of itself, as plain JSON values.

    Examples
    --------
    >>> strict, person = AuditorFacts("metric", True, True, True), AuditorFacts("a person")
    >>> strict.then(person).truthful is None
    True
    """

    name: str
    truthful: bool | None = None
    exhaustive: bool | None = None
    fixed: bool | None = None
    details: Mapping[str, Any] = field(default_factory=dict)
    marks_false: bool = False
    sees: str = "probabilities"
    review_floor: float | None = None

    def then(self, later: AuditorFacts) -> AuditorFacts:
        """What is known of this auditor followed by another; the two need not agree on who is alike."""
        if self == later:
            return self
        truthful, exhaustive = (
            all_known([getattr(self, name), getattr(later, name)]) for name in ("truthful", "exhaustive")
        )
        # Who marks nothing may still have nothing to mark.
        marks = all(facts.marks_false or facts.truthful is True for facts in (self, later))
        sees = "decisions" if "decisions" in (self.sees, later.sees) else self.sees
        floor = later.review_floor if self.review_floor is None else self.review_floor  # of the first round by lot
        name = _both(self.name, later.name)
        return AuditorFacts(name, truthful, exhaustive, marks_false=marks, sees=sees, review_floor=floor)


def _both(first: str, second: str) -> str:
    return f"{first}, then {second}"


@dataclass(frozen=True)
class PlayFacts:
    """What is known of a play besides its rounds.

    Attributes
    ----------
    learner, environment, auditor
        The three roles.
    alpha, margin
        Violations are counted at ``alpha``, and pairs are reported from ``alpha - margin`` on.
    seed
        Determines every random number of the play.
    first
        The number of its first round: 1, or more for the later part of a play.
    lot
        How decisions were drawn: ``"round"`` or ``"person"``; None if nobody drew.
    labels
        Whose labels were seen: ``"all"`` or ``"accepted"``.
    returning
        Whether every visit was a new person, or people were served from a ``"record"``.
    """

    learner: LearnerFacts
    environment: EnvironmentFacts
    auditor: AuditorFacts
    alpha: float
    margin: float = 0.0
    seed: int = 0
    first: int = 1
    lot: str | None = None
    labels: str = "all"
    returning: str = "new"

    def then(self, later: PlayFacts) -> PlayFacts:
        """What is known of this play together with its continuation."""
        names = ("learner", "alpha", "margin", "seed", "lot", "labels", "returning")
        changed = [name for name in names if getattr(self, name) != getattr(later, name)]
        require(not changed, "later", "continue the same play", changed)
        return replace(
            self, environment=self.environment.then(later.environment), auditor=self.auditor.then(later.auditor)
        )

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain JSON values."""
        data = asdict(self)
        return data | {"learner": data["learner"] | {"costs": list(self.learner.costs)}}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> PlayFacts:
        """The facts, from ``to_dict``."""
        learner = data["learner"]
        roles = {
            "learner": LearnerFacts(**{**learner, "costs": tuple(learner["costs"])}),
            "environment": EnvironmentFacts(**data["environment"]),
            "auditor": AuditorFacts(**data["auditor"]),
        }
        return cls(**{**data, **roles})
