"""Lots: the random numbers that turn probabilities into decisions, d_i = 1[lot < π̃_i].

One lot for a whole round means that two people of the round get different answers with probability exactly their gap,
the least that is possible, and that equal people always get the same answer. Own lots are independent. Either way
the probability of a yes is π̃. Lots are drawn by a role of their own: no other draw changes with them.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from likewise.errors import InvalidParameter, require
from likewise.protocol import Floats, Key, Role

KINDS = ("round", "person")
BLOCK = 256
"""Rounds whose lots are drawn together, as making a generator costs more than using it."""


class Lots:
    """The lots of a play.

    Parameters
    ----------
    seed
        The play's.
    kind
        ``"round"``: one number for the whole batch. ``"person"``: one for each.

    Examples
    --------
    >>> Lots(0, "round").of(t=7, people=3).tolist() == Lots(0, "round").of(t=7, people=1).tolist() * 3
    True
    >>> len(set(Lots(0, "person").of(t=7, people=3).tolist()))
    3
    """

    def __init__(self, seed: int, kind: str) -> None:
        require(kind in KINDS, "lot", f"be one of {KINDS}", kind)
        self.seed, self.kind = seed, kind
        self._block: tuple[int, Floats] | None = None

    def of(self, t: int, people: int) -> Floats:
        """A number in [0, 1) for each of the people of round t."""
        if self.kind == "person":
            return Key(self.seed, Role.LOT, t).stream(1).random(people)
        number, place = divmod(t - 1, BLOCK)
        if self._block is None or self._block[0] != number:
            self._block = number, self._drawn(number)
        return np.full(people, self._block[1][place])

    def _drawn(self, block: int) -> Floats:
        """The lots of BLOCK rounds."""
        return Key(self.seed, Role.LOT, block).generator().random(BLOCK)

    def many(self, first: int, rounds: int, people: int) -> Floats:
        """(rounds, people): the lots of rounds ``first``, ``first + 1``, …"""
        if self.kind == "person":
            return np.array([self.of(t, people) for t in range(first, first + rounds)]).reshape(rounds, people)
        block, start = divmod(first - 1, BLOCK)
        blocks = range(block, (first + rounds - 2) // BLOCK + 1)
        drawn = np.concatenate([self._drawn(number) for number in blocks])[start : start + rounds]
        return np.repeat(drawn[:, None], people, axis=1)


class Record:
    """The first decision of everybody: people who return are served from it, and left out of learning and audits.

    A lot of their own that lasts is independent of a round's batch only the first time that somebody comes. So a
    decision that is repeated must teach nothing (the learner would take it for a fresh draw).

    Examples
    --------
    >>> record, once = Record(), np.array([4, 9])
    >>> record.returning(once).tolist()
    [False, False]
    >>> record.keep(once, np.array([0.3, 0.8]), np.array([False, True]))
    >>> record.returning(np.array([9, 1])).tolist(), record.served(np.array([9]))
    ([True, False], (array([0.8]), array([ True])))
    """

    def __init__(self) -> None:
        self._of: dict[int, tuple[float, bool]] = {}

    def returning(self, person: NDArray[np.intp] | None) -> NDArray[np.bool_]:
        """Who has been here before; who comes twice in one batch counts as new the first time only."""
        if person is None:
            raise InvalidParameter('`returning` must be "new" where nobody keeps count of people, got "record".')
        known, flags = set(self._of), []
        for number in person.tolist():
            flags.append(number in known)
            known.add(number)
        return np.array(flags, dtype=bool)

    def served(self, person: NDArray[np.intp]) -> tuple[Floats, NDArray[np.bool_]]:
        """Probabilities and decisions of people who have been here before."""
        kept = [self._of[number] for number in person.tolist()]
        return np.array([p for p, _ in kept]), np.array([d for _, d in kept], dtype=bool)

    def keep(self, person: NDArray[np.intp], probabilities: Floats, decisions: NDArray[np.bool_]) -> None:
        """Write down what new people got."""
        for number, p, decision in zip(person.tolist(), probabilities.tolist(), decisions.tolist(), strict=True):
            self._of.setdefault(number, (p, decision))
