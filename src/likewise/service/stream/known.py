"""Known rounds: closed rounds whose answer two people agreed on, shown again to see how much reviewers find.

*Gold* rounds are hidden among others, when a lot says so, under the number of a round that waits for nobody.
*Practice* rounds are open, and their answer is told afterwards. Neither is a round of the stream: nothing is learned
from an answer, and it counts in no claim but that of detection, practice not even there. A reviewer meets a known round
once, and never one that they judged before.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Literal, NamedTuple

from likewise.service.stream.answers import Outcome
from likewise.theory import Gold

Positions = tuple[int, int]
Use = Literal["gold", "practice"]
USES: tuple[Use, ...] = ("gold", "practice")
MOST_DUE = 2
"""Gold rounds that wait for a reviewer to whom they are new, at most; what lots ask for beyond is forgotten."""


class KnownRound(NamedTuple):
    """A round whose answer is known.

    Attributes
    ----------
    t
        Its number.
    use
        "gold" or "practice".
    pairs
        Those that were upheld, the favoured person first; none if it holds no violation.
    judged
        Who judged it, or marked it: they are never shown it again.
    """

    t: int
    use: Use
    pairs: tuple[Positions, ...]
    judged: tuple[str, ...]


class Look(NamedTuple):
    """A known round as one reviewer met it.

    Attributes
    ----------
    t, number
        The known round, and the number under which it was shown.
    by
        Who looks.
    use
        "gold" or "practice".
    pairs
        The known answer; None if it doesn't count any more, as it was overturned or somebody was erased.
    outcome, found, at
        What they said and when (seconds), None before; whether a pair that they named is one of the known ones.
    """

    t: int
    number: int
    by: str
    use: Use
    pairs: tuple[Positions, ...] | None
    outcome: Outcome | None = None
    found: bool = False
    at: float = 0.0

    @property
    def counts(self) -> bool:
        """Whether it says something of the reviewer: it was answered, and not skipped."""
        return self.pairs is not None and self.outcome in ("reported", "cleared")

    @property
    def violating(self) -> bool:
        """Whether there is something to find."""
        return bool(self.pairs)

    @property
    def right(self) -> bool:
        """Whether the answer is the known one: another pair than an upheld one is not."""
        return self.found if self.violating else self.outcome == "cleared"


class Known(NamedTuple):
    """The known rounds of a stream, who met them, and how many gold rounds lots have asked for.

    It grows with what leads mark, times the reviewers, and not with rounds.

    Examples
    --------
    >>> known = Known().marked(KnownRound(3, "gold", ((0, 1),), ("ann", "ben"))).drawn()
    >>> known.due, [round.t for round in known.for_("ben")], [round.t for round in known.for_("cyd")]
    (1, [], [3])
    >>> known = known.shown(3, 9, "cyd").answered(3, "cyd", "cleared", (), at=1.0)
    >>> known.gold("cyd"), known.due
    (Gold(found=0, missed=1, clean=0, false=0), 0)
    """

    rounds: tuple[KnownRound, ...] = ()
    looks: tuple[Look, ...] = ()
    due: int = 0

    def marked(self, round_: KnownRound) -> Known:
        """The same with a round marked, or marked for another use."""
        return self._replace(rounds=(*(each for each in self.rounds if each.t != round_.t), round_))

    def unmarked(self, t: int) -> Known:
        """The same without a round; who met it has met it."""
        rounds = tuple(each for each in self.rounds if each.t != t)
        return self._replace(rounds=rounds, due=min(self.due, _gold_rounds(rounds)))

    def overturned(self, t: int) -> Known:
        """The same after the answer of a round is not known any more: nobody is held against it."""
        if self.mark(t) is None and not any(look.t == t for look in self.looks):
            return self
        looks = (look._replace(pairs=None, found=False) if look.t == t else look for look in self.looks)
        return self.unmarked(t)._replace(looks=tuple(looks))

    def erased(self, numbers: Collection[int]) -> Known:
        """The same after somebody of some rounds was erased: what was answered before stands, the rest can't."""
        known = self
        for t in (each.t for each in self.rounds if each.t in numbers):
            known = known.unmarked(t)
        if not any(look.t in numbers for look in self.looks):
            return known
        looks = (
            look._replace(pairs=None) if look.t in numbers and look.outcome is None else look for look in self.looks
        )
        return known._replace(looks=tuple(looks))

    def mark(self, t: int) -> KnownRound | None:
        """A round, if it is marked."""
        return next((each for each in self.rounds if each.t == t), None)

    def drawn(self) -> Known:
        """The same after a lot asked for one more gold round; few wait, so that nobody gets many in a row."""
        return self._replace(due=min(self.due + 1, MOST_DUE, _gold_rounds(self.rounds)))

    def for_(self, by: str, use: Use = "gold") -> list[KnownRound]:
        """The rounds that somebody can still be shown."""
        met = {look.t for look in self.looks if look.by == by}
        return [each for each in self.rounds if each.use == use and by not in each.judged and each.t not in met]

    def shown(self, t: int, number: int, by: str) -> Known:
        """The same after a gold round was shown to somebody under a number."""
        round_ = self.mark(t)
        pairs = None if round_ is None else round_.pairs
        return self._replace(looks=(*self.looks, Look(t, number, by, "gold", pairs)), due=max(0, self.due - 1))

    def practised(self, t: int, by: str) -> Known:
        """The same with somebody who is about to answer a practice round, which has its own number."""
        round_ = self.mark(t)
        if self.look(t, by) is not None or round_ is None:
            return self
        return self._replace(looks=(*self.looks, Look(t, t, by, "practice", round_.pairs)))

    def look(self, t: int, by: str) -> Look | None:
        """How somebody met a known round, if they did."""
        return next((look for look in self.looks if (look.t, look.by) == (t, by)), None)

    def under(self, number: int, by: str) -> Look | None:
        """The gold round that somebody was shown under a number, if there is one."""
        return next((each for each in self.looks if (each.number, each.by, each.use) == (number, by, "gold")), None)

    def waiting(self, by: str) -> list[Look]:
        """Gold rounds that somebody was shown and has not answered."""
        return [each for each in self.looks if (each.by, each.use, each.outcome) == (by, "gold", None)]

    def answered(self, t: int, by: str, outcome: Outcome, named: tuple[Positions, ...], at: float) -> Known:
        """The same after an answer; only the first one counts."""
        look = self.look(t, by)
        if look is None or look.outcome is not None:
            return self
        found = bool(set(named) & set(look.pairs or ()))
        return self._with(look, look._replace(outcome=outcome, found=found, at=at))

    def retracted(self, t: int, by: str) -> Known:
        """The same after an answer was taken back."""
        look = self.look(t, by)
        return self if look is None else self._with(look, look._replace(outcome=None, found=False, at=0.0))

    def _with(self, before: Look, after: Look) -> Known:
        return self._replace(looks=tuple(after if look is before else look for look in self.looks))

    def gold(self, by: str | None = None) -> Gold:
        """How gold rounds were answered, by somebody or by all."""
        count = Gold()
        for look in self.looks:
            if look.counts and look.use == "gold" and by in (None, look.by):
                count = count.add(look.violating, look.found if look.violating else look.outcome == "reported")
        return count

    def misses(self, by: str) -> list[bool]:
        """Of the gold rounds with a violation that somebody answered, in their order: whether they missed it."""
        looks = [look for look in self.looks if look.by == by and look.use == "gold"]
        return [not look.found for look in looks if look.counts and look.violating]

    @classmethod
    def load(cls, data: list[Any]) -> Known:
        """From plain JSON values."""
        rounds, looks, due = data
        return cls(
            tuple(KnownRound(t, use, _pairs(pairs), tuple(judged)) for t, use, pairs, judged in rounds),
            tuple(
                Look(t, number, by, use, None if pairs is None else _pairs(pairs), outcome, found, at)
                for t, number, by, use, pairs, outcome, found, at in looks
            ),
            due,
        )


def _gold_rounds(rounds: Collection[KnownRound]) -> int:
    return sum(each.use == "gold" for each in rounds)


def _pairs(data: list[Any]) -> tuple[Positions, ...]:
    return tuple((favoured, disfavoured) for favoured, disfavoured in data)
