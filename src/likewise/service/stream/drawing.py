"""Which rounds are reviewed: what is remembered of rounds so far, and the probability with which the next is drawn.

What is drawn is fixed before anything of a round's outcome is known. People and probabilities stand in the event that
opens it; the probability of a review follows from them and from earlier rounds; then the lot is opened. ``likewise
verify`` computes all of it again.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from likewise.service.stream.settings import Review
from likewise.theory import daily_share, review_floor, review_probability
from likewise.theory.review_shares import WINDOW

DAY = 24
"""Hours that a budget is for."""


class Drawing(NamedTuple):
    """What the next lot of a review needs to know.

    Attributes
    ----------
    next
        The commitment to the nonce of the next lot; None in a stream that can't draw any.
    lots
        How many lots were drawn.
    gaps
        The largest gaps of the last rounds that were not cleared by arithmetic.
    hours
        (hour since 1970, rounds not cleared) of the past day.
    floor
        The least probability of a review that was planned when the first round was drawn with a probability below 1:
        bets on the number of violations are placed there, once. None before.
    """

    next: str | None = None
    lots: int = 0
    gaps: tuple[float, ...] = ()
    hours: tuple[tuple[int, int], ...] = ()
    floor: float | None = None

    def opened(self, gap: float, at: float) -> Drawing:
        """The same after a round with this largest gap, which arithmetic doesn't clear, was opened at this time."""
        hour = int(at // 3600)
        gaps = (*self.gaps, gap)[-WINDOW:]
        if self.hours and self.hours[-1][0] == hour:  # what is a day old was left out when this hour began
            return self._replace(gaps=gaps, hours=(*self.hours[:-1], (hour, self.hours[-1][1] + 1)))
        past = [(past, rounds) for past, rounds in self.hours if past > hour - DAY]
        now = sum(rounds for past, rounds in past if past == hour)
        hours = (*((past, rounds) for past, rounds in past if past != hour), (hour, now + 1))
        return self._replace(gaps=gaps, hours=hours)

    def share(self, review: Review) -> float:
        """The share of rounds that the plan affords now."""
        if review.budget is None:
            return review.share
        return daily_share(review.budget, sum(rounds for _, rounds in self.hours))

    def probability(self, review: Review) -> float:
        """The probability of a review of the round that was opened last, and is not cleared.

        Examples
        --------
        >>> two = Drawing().opened(0.4, 0.0).opened(0.2, 60.0)
        >>> round(two.probability(Review(share=0.3)), 6), two.probability(Review())
        (0.2, 1.0)
        """
        return review_probability(self.gaps[-1], self.gaps[:-1], self.share(review), review.choose)

    def drew(self, review: Review, probability: float, commitment: str) -> Drawing:
        """The same after a lot was drawn."""
        floor = self.floor
        if floor is None and probability < 1:
            floor = review_floor(self.share(review), review.choose)
        return self._replace(next=commitment, lots=self.lots + 1, floor=floor)

    @classmethod
    def load(cls, data: list[Any]) -> Drawing:
        """From plain JSON values."""
        following, lots, gaps, hours, floor = data
        return cls(following, lots, tuple(map(float, gaps)), tuple((hour, rounds) for hour, rounds in hours), floor)
