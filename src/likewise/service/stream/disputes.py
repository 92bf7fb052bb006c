"""Rounds that were closed while a pair was still in dispute: what was learned of them, and what is decided later.

When the wait for a review ends before a third has spoken, every pair named and not dropped by two is learned. The
question stays: whoever has not judged the round is asked about the pair once nothing else waits. If the answer says
otherwise than what was learned, the log records that as a correction by itself. Nothing is unlearned.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from likewise.service.stream.panel import Panel
from likewise.service.stream.verdict import Verdict
from likewise.verdicts import Question

Positions = tuple[int, int]
MOST = 500
"""Disputes that are remembered, the newest."""


class Dispute(NamedTuple):
    """A closed round with a question left.

    Attributes
    ----------
    t
        Its number.
    panel
        What was said of it.
    learned
        The pairs that it was closed with.

    Examples
    --------
    >>> from likewise.service.stream.verdict import Pair
    >>> said = (Verdict("reported", 0.0, "ann", (Pair(0, 1, 0.5),)), Verdict("cleared", 0.0, "ben"))
    >>> dispute = Dispute(7, Panel(said, wanted=2, rule="adjudicated"), ((0, 1),))
    >>> dispute.panel.asks("cyd").pair, dispute.settled
    ((0, 1), None)
    """

    t: int
    panel: Panel
    learned: tuple[Positions, ...]

    @property
    def settled(self) -> Verdict | None:
        """What everything said comes to; None while the question is open."""
        return self.panel.settled()

    @property
    def overturned(self) -> Verdict | None:
        """The same, if it is not what was learned."""
        settled = self.settled
        if settled is None or {pair.positions for pair in settled.pairs} == set(self.learned):
            return None
        return settled

    def question(self, by: str, pair: Positions) -> Question | None:
        """The question about a pair, if somebody is asked it."""
        asked = (one for one in self.panel.questions if one.pair == pair)
        return next((one for one in asked if one.of == by or (one.of is None and by not in one.but)), None)

    def dump(self) -> list[Any]:
        """Plain JSON values."""
        return [self.t, self.panel.dump(), self.learned]

    @classmethod
    def load(cls, data: list[Any]) -> Dispute:
        """From plain JSON values."""
        t, panel, learned = data
        return cls(t, Panel.load(panel), tuple((favoured, disfavoured) for favoured, disfavoured in learned))


def disputed(t: int, panel: Panel, verdict: Verdict | None) -> Dispute | None:
    """A round that closes with a question about a pair left; None if it has none."""
    if verdict is None or not verdict.final or not panel.said:
        return None
    questions = panel.questions
    if not questions or any(question.pair is None for question in questions):
        return None
    return Dispute(t, panel, tuple(pair.positions for pair in verdict.pairs))
