"""Everybody who judged a round: what was said, what that comes to, and what is still to be asked, and of whom.

``likewise.verdicts`` has the rules; here they are applied to rounds of a log. A round of a team (``rule`` is known) may
be drawn for a second verdict, and a skip goes to one colleague. Otherwise one answer settles a round, a skip too.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from likewise.service.stream.answers import Outcome
from likewise.service.stream.verdict import CLOCK, Pair, Verdict
from likewise.theory import Overlap
from likewise.verdicts import Opinion, Question, close, overlap, settle
from likewise.verdicts import Verdict as Blind

Late = tuple[str, str, tuple[Pair, ...]]
"""Who said what of a round that did not wait for it."""


class Panel(NamedTuple):
    """What was said of a round.

    Attributes
    ----------
    said
        Blind verdicts that were asked for, in their order, without those that were taken back.
    opinions
        Answers about pairs that others named.
    late
        Verdicts that nobody waited for: the round had been settled.
    wanted
        How many verdicts the round was drawn for.
    rule
        What counts where several judge; None where one person does.

    Examples
    --------
    >>> ann = Verdict("reported", 0.0, "ann", (Pair(0, 1, 0.5),))
    >>> Panel(said=(ann,)).settled().outcome, Panel(said=(ann,), wanted=2, rule="any").settled()
    ('reported', None)
    """

    said: tuple[Verdict, ...] = ()
    opinions: tuple[Opinion, ...] = ()
    late: tuple[Late, ...] = ()
    wanted: int = 1
    rule: str | None = None

    def with_verdict(self, verdict: Verdict) -> Panel:
        """One more verdict."""
        return self._replace(said=(*self.said, verdict))

    def without(self, by: str) -> Panel:
        """Without what somebody said, who took it back."""
        return self._replace(said=tuple(verdict for verdict in self.said if verdict.by != by))

    def of(self, by: str) -> Verdict | None:
        """What somebody said, if they were asked."""
        return next((verdict for verdict in self.said if verdict.by == by), None)

    def knows(self, by: str, outcome: str, pairs: tuple[Pair, ...]) -> bool:
        """Whether somebody said this very thing before."""
        before = [(verdict.by, verdict.outcome, verdict.pairs) for verdict in self.said]
        return (by, outcome, pairs) in [*before, *self.late]

    @property
    def questions(self) -> tuple[Question, ...]:
        """What is still to be asked."""
        if not self.said:
            return (Question("verdict"),) * self.wanted
        if self.rule is None or self._given_up:
            return ()
        return settle(self._blind, self.opinions, wanted=self._wanted, rule=self.rule).questions

    def asks(self, by: str, gone: frozenset[int] = frozenset()) -> Question | None:
        """What somebody in particular may be asked: nothing about a pair with one of those who are gone."""
        theirs = (one for one in self.questions if one.of == by or (one.of is None and by not in one.but))
        return next((one for one in theirs if one.pair is None or gone.isdisjoint(one.pair)), None)

    def settled(self) -> Verdict | None:
        """What all of it comes to; None while something is still to be asked."""
        return None if self.questions else self._outcome(accepted=None)

    def ended(self, at: float) -> Verdict:
        """The same when the wait is over: every pair named and not dropped by two; expired if nobody judged."""
        if not any(verdict.reviewed for verdict in self.said):
            return Verdict("expired", at, CLOCK)
        return self._outcome(close(self._blind, self.opinions))._replace(at=at, by=CLOCK)

    def _outcome(self, accepted: Any) -> Verdict:
        last = self.said[-1]
        if self.rule is None:
            return last
        given = [verdict for verdict in self.said if verdict.reviewed]
        if not given:
            return last
        if accepted is None:
            accepted = settle(self._blind, self.opinions, wanted=self._wanted, rule=self.rule).accepted
        named = {pair.positions: pair for verdict in given for pair in verdict.pairs}
        pairs = tuple(named[pair] for pair in accepted)
        outcome: Outcome = "reported" if pairs else "cleared"
        return Verdict(outcome, last.at, ", ".join(verdict.by for verdict in given), pairs)

    def overlap(self, *, upheld: bool, of: str | None = None) -> Overlap:
        """How its two blind verdicts compare, if it was drawn for two; with ``upheld``, of reports that counted.

        ``of`` somebody: only if they are one of the two, and they come first.
        """
        return overlap([(self._blind, self.opinions)], upheld=upheld, of=of) if self.wanted == 2 else Overlap()

    @property
    def twice(self) -> bool:
        """Whether a lot asked two people who didn't know of each other, and both judged."""
        return self.wanted == 2 and sum(verdict.reviewed for verdict in self.said) >= 2

    @property
    def everybody(self) -> tuple[str, ...]:
        """Whoever said something of it, by name."""
        named = (*(one.by for one in self.said), *(one.by for one in self.opinions), *(by for by, _, _ in self.late))
        return tuple(sorted(set(named)))

    def agreed(self, verdict: Verdict | None) -> tuple[tuple[int, int], ...] | None:
        """The answer that at least two people stand behind: pairs, or none of them; None if there is no such answer.

        Examples
        --------
        >>> ann, ben = (Verdict("cleared", 0.0, by) for by in ("ann", "ben"))
        >>> Panel(said=(ann,)).agreed(ann), Panel(said=(ann, ben)).agreed(ben)
        (None, ())
        """
        if verdict is None or not verdict.reviewed:
            return None
        if not verdict.pairs:
            against = {one.by for one in self.said if one.outcome == "cleared"}
            against |= {opinion.by for opinion in self.opinions if opinion.objects is False}
            return () if len(against) >= 2 and not any(pairs for _, _, pairs in self.late) else None
        upheld = tuple(pair.positions for pair in verdict.pairs if len(self._behind(pair)) >= 2)
        return upheld if len(upheld) == len(verdict.pairs) else None

    def _behind(self, pair: Pair) -> set[str]:
        named = {one.by for one in self.said if pair.positions in [each.positions for each in one.pairs]}
        return named | {one.by for one in self.opinions if one.objects and one.pair == pair.positions}

    @property
    def hinted(self) -> bool:
        """Whether somebody who judged it had asked why people got their probabilities."""
        return any(verdict.hints for verdict in self.said if verdict.reviewed)

    @property
    def _given_up(self) -> bool:
        """Whether two people skipped it, and nobody judged: there is no third skip to wait for."""
        return len(self.said) >= 2 and not any(verdict.reviewed for verdict in self.said)

    @property
    def _wanted(self) -> int:
        """A skip is made up for by one colleague; more may not exist."""
        given = sum(verdict.reviewed for verdict in self.said)
        return 1 if len(self.said) > given >= 1 else self.wanted

    @property
    def _blind(self) -> list[Blind]:
        return [
            Blind(verdict.by, verdict.pairs[0].positions if verdict.pairs else None, not verdict.reviewed)
            for verdict in self.said
        ]

    def dump(self) -> list[Any]:
        """Plain JSON values."""
        said = [[*verdict[:3], [list(pair.plain) for pair in verdict.pairs], *verdict[4:]] for verdict in self.said]
        late = [[by, outcome, [list(pair.plain) for pair in pairs]] for by, outcome, pairs in self.late]
        return [said, self.opinions, late, self.wanted, self.rule]

    @classmethod
    def load(cls, data: list[Any]) -> Panel:
        """From plain JSON values."""
        said, opinions, late, wanted, rule = data
        return cls(
            tuple(Verdict(outcome, at, by, _pairs(pairs), *how) for outcome, at, by, pairs, *how in said),
            tuple(Opinion(by, tuple(pair), objects) for by, pair, objects in opinions),
            tuple((by, outcome, _pairs(pairs)) for by, outcome, pairs in late),
            wanted,
            rule,
        )


def _pairs(data: list[Any]) -> tuple[Pair, ...]:
    return tuple(Pair(favoured, disfavoured, float(gap)) for favoured, disfavoured, gap in data)
