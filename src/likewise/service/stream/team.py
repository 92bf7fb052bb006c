"""The reviewers of a stream: what each answered, how they agree with the others, and how long they look.

Counted when a round leaves the state, so a verdict that was taken back is nobody's. It grows with reviewers, not with
rounds. Nobody is ranked by seconds: they are a reason to talk to somebody, and enter no claim.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from likewise.service.stream.panel import Panel
from likewise.service.stream.verdict import Verdict
from likewise.theory import Overlap, Pace, pace, seconds_cusum
from likewise.theory.detection import BASELINE

NEWEST = 100
"""The newest looks whose seconds are remembered, and the newest rounds by which it is said how reviewers agree now."""
MOST = 1000
"""Reviewers that are told apart, at most; a stream has a few."""


class Reviewer(NamedTuple):
    """What one reviewer answered in rounds that are over.

    Attributes
    ----------
    reported, cleared, skipped
        Verdicts, by what they were.
    overlap, hinted, upheld
        Rounds that a lot gave to two, this reviewer first: all; those in which one of the two had asked why; and all
        with reports that counted in the end.
    seconds
        Of the newest looks.
    early
        (seconds, pairs that could be reported) of the first looks, until there are enough to tell a pace.
    pace, level
        That pace, and Page's sum of how much faster they have become since.
    """

    reported: int = 0
    cleared: int = 0
    skipped: int = 0
    overlap: Overlap = Overlap()
    hinted: Overlap = Overlap()
    upheld: Overlap = Overlap()
    seconds: tuple[float, ...] = ()
    early: tuple[tuple[float, int], ...] = ()
    pace: Pace | None = None
    level: float = 0.0

    @property
    def verdicts(self) -> int:
        """All of them."""
        return self.reported + self.cleared + self.skipped

    def with_verdict(self, verdict: Verdict, candidates: int) -> Reviewer:
        """One more, on a round with so many pairs that could be reported.

        Examples
        --------
        >>> Reviewer().with_verdict(Verdict("cleared", 0.0, "ann", seconds=8.0), 3).seconds
        (8.0,)
        """
        after = self._replace(**{verdict.outcome: getattr(self, verdict.outcome) + 1})
        return after if not verdict.seconds else after._timed(verdict.seconds, candidates)

    def _timed(self, seconds: float, candidates: int) -> Reviewer:
        after = self._replace(seconds=(*self.seconds, seconds)[-NEWEST:])
        if self.pace is not None:
            return after._replace(level=seconds_cusum(self.level, self.pace.standardised(seconds, candidates)))
        early = (*self.early, (seconds, candidates))
        if len(early) < BASELINE:
            return after._replace(early=early)
        return after._replace(early=(), pace=pace(*zip(*early, strict=True)))

    def with_overlap(self, panel: Panel, by: str) -> Reviewer:
        """One more round that a lot gave to two."""
        named, upheld = panel.overlap(upheld=False, of=by), panel.overlap(upheld=True, of=by)
        hinted = added(self.hinted, named) if panel.hinted else self.hinted
        return self._replace(overlap=added(self.overlap, named), upheld=added(self.upheld, upheld), hinted=hinted)


class Team(NamedTuple):
    """The reviewers of a stream by name, and whether both reported in the newest rounds that one of two reported.

    Examples
    --------
    >>> ann, ben = Verdict("cleared", 0.0, "ann"), Verdict("cleared", 0.0, "ben")
    >>> team = Team().with_round(Panel(said=(ann, ben), wanted=2, rule="any"), 1)
    >>> team.reviewers["ann"].cleared, team.reviewers["ben"].overlap.neither
    (1, 1)
    """

    reviewers: Mapping[str, Reviewer] = {}
    lately: tuple[bool, ...] = ()

    def with_round(self, panel: Panel, candidates: int) -> Team:
        """One more round that is over."""
        if not panel.said:
            return self
        after = dict(self.reviewers)
        for verdict in panel.said:
            if verdict.by in after or len(after) < MOST:
                after[verdict.by] = after.get(verdict.by, NOBODY).with_verdict(verdict, candidates)
        if not panel.twice:
            return self._replace(reviewers=after)
        for by in {verdict.by for verdict in panel.said if verdict.reviewed} & after.keys():
            after[by] = after[by].with_overlap(panel, by)
        named = panel.overlap(upheld=False)
        lately = (*self.lately, named.both > 0)[-NEWEST:] if named.reported else self.lately
        return Team(after, lately)

    def dump(self) -> list[Any]:
        """Plain JSON values."""
        return [{name: list(each) for name, each in self.reviewers.items()}, list(self.lately)]

    @classmethod
    def load(cls, data: list[Any]) -> Team:
        """From plain JSON values."""
        reviewers, lately = data
        return cls({name: _load(each) for name, each in reviewers.items()}, tuple(lately))


NOBODY = Reviewer()


def added(one: Overlap, other: Overlap) -> Overlap:
    """Rounds of both."""
    return Overlap(*(a + b for a, b in zip(one, other, strict=True)))


def _load(data: list[Any]) -> Reviewer:
    reported, cleared, skipped, overlap, hinted, upheld, seconds, early, paced, level = data
    return Reviewer(
        reported,
        cleared,
        skipped,
        Overlap(*overlap),
        Overlap(*hinted),
        Overlap(*upheld),
        tuple(map(float, seconds)),
        tuple((float(took), pairs) for took, pairs in early),
        None if paced is None else Pace(*map(float, paced)),
        float(level),
    )
