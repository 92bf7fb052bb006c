"""What a batchwise program compares people by: a distance that is written down, one from few answers, or a learned one.

Each is frozen parameters with a memory of its own, a flat array that the learner keeps in its state:

    Known(d)          the distance itself: Dwork et al. (2012)
    Submetric(d, m)   max over m representatives r of |d(r, x) − d(r, x')|: Ilvento (2020)
    Learned(form)     a Mahalanobis form, corrected by every report: Gillen et al. (2018), Mukherjee et al. (2020)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from likewise.auditors import as_points, named_metric
from likewise.errors import require, require_whole
from likewise.protocol import Distance, Floats, Round


class Source(Protocol):
    """Where distances come from."""

    @property
    def knows(self) -> str:
        """What it is told, in words."""
        ...

    def between(self, memory: Floats, view: Any) -> Floats:
        """(k, k) distances of some people."""
        ...

    def after(self, memory: Floats, round: Round, alpha: float) -> Floats:
        """The memory after a round."""
        ...

    def answers(self, rounds: int, people: int) -> int | None:
        """How many answers people gave; None where the distance itself is written down."""
        ...


def _compare(distance: Distance | str, view: Any) -> Floats:
    measure = named_metric(distance) if isinstance(distance, str) else distance
    return np.asarray(measure(view), dtype=float)


@dataclass(frozen=True)
class Known:
    """The distance itself, written down by somebody.

    Examples
    --------
    >>> Known("cityblock").between(np.empty(0), [[0.0], [0.5]]).tolist()
    [[0.0, 0.5], [0.5, 0.0]]
    """

    distance: Distance | str

    @property
    def knows(self) -> str:
        """The distance."""
        return "the distance"

    def between(self, memory: Floats, view: Any) -> Floats:
        """As it is written."""
        return _compare(self.distance, view)

    def after(self, memory: Floats, round: Round, alpha: float) -> Floats:
        """There is nothing to learn."""
        return memory

    def answers(self, rounds: int, people: int) -> None:
        """None: it holds the distance itself."""


@dataclass(frozen=True)
class Submetric:
    """d'(x, x') = max over representatives r of |d(r, x) − d(r, x')|; a person is compared with those few only.

    If d has the triangle inequality, d' ≤ d, so a policy that is fair by d' is fair by d. If it doesn't, nothing
    follows. The first people who come are the representatives.

    Parameters
    ----------
    distance
        What people answer when asked about a person and a representative: a distance, or the name of a SciPy metric.
    representatives
        How many.

    Examples
    --------
    >>> source = Submetric("cityblock", representatives=1)
    >>> source.between(np.array([0.0]), [[1.0], [3.0]]).tolist()
    [[0.0, 2.0], [2.0, 0.0]]
    """

    distance: Distance | str
    representatives: int = 8

    def __post_init__(self) -> None:
        require_whole(self.representatives, "representatives")

    @property
    def knows(self) -> str:
        """A few distances for each person."""
        return f"{self.representatives} distances a person"

    def between(self, memory: Floats, view: Any) -> Floats:
        """From the answers about each person and each representative."""
        people = as_points(view)
        chosen = self._chosen(memory, people)
        apart = _compare(self.distance, np.concatenate([chosen, people]))[: len(chosen), len(chosen) :]
        return np.asarray(np.abs(apart[:, :, None] - apart[:, None, :]).max(axis=0))

    def after(self, memory: Floats, round: Round, alpha: float) -> Floats:
        """More representatives, while there are too few."""
        return self._chosen(memory, as_points(round.batch.view)).ravel()

    def answers(self, rounds: int, people: int) -> int:
        """One for each person and representative."""
        return self.representatives * people

    def _chosen(self, memory: Floats, people: Floats) -> Floats:
        """The representatives: those remembered, and, while they are too few, people of this batch in a fixed order."""
        chosen = memory.reshape(-1, people.shape[1])
        missing = self.representatives - len(chosen)
        if missing <= 0:
            return chosen
        return np.concatenate([chosen, people[np.lexsort(people.T)][:missing]])


FORMS = ("diagonal", "full")
PROJECTIONS = 20
"""Times that a form is moved to what a report says and back to what is positive, in turn."""


@dataclass(frozen=True)
class Learned:
    """A Mahalanobis distance √((x − x')ᵀ M (x − x')) whose form M is corrected by every report.

    M starts lenient: one standard deviation of the first batch in every column is a distance of 1. A report of a gap
    says that the distance is below gap − α. M then moves, as little as possible, to where that pair's distance is
    ``shrink`` of it, and on to the nearest form that is positive. No answer ever makes M more lenient again.

    Parameters
    ----------
    form
        ``"diagonal"``: a weight for each column; or ``"full"``.
    shrink
        Where in [0, gap − α] the distance of a reported pair is put.

    Examples
    --------
    >>> Learned().between(np.empty(0), [[0.0], [2.0]]).tolist()
    [[0.0, 2.0], [2.0, 0.0]]
    """

    form: str = "diagonal"
    shrink: float = 0.5

    def __post_init__(self) -> None:
        require(self.form in FORMS, "form", f"be one of {FORMS}", self.form)
        require(0 <= self.shrink < 1, "shrink", "be in [0, 1)", self.shrink)

    @property
    def knows(self) -> str:
        """The pairs that are reported."""
        return "pairs"

    def between(self, memory: Floats, view: Any) -> Floats:
        """By the form so far."""
        people = as_points(view)
        scales, form = self._form(memory, people)
        apart = (people[:, None] - people) / scales
        return np.asarray(np.sqrt(np.maximum(0.0, np.einsum("ija,ab,ijb->ij", apart, form, apart))))

    def after(self, memory: Floats, round: Round, alpha: float) -> Floats:
        """The form after the round's reports, each learned from the same start; their mean."""
        people = as_points(round.batch.view)
        scales, form = self._form(memory, people)
        if round.reports:
            forms = [self._corrected(form, people / scales, round, report[:2], alpha) for report in round.reports]
            form = np.mean(sorted(forms, key=lambda matrix: matrix.tolist()), axis=0)
        return np.concatenate([scales, form.ravel()])

    def answers(self, rounds: int, people: int) -> int:
        """A verdict a round."""
        return rounds

    def _form(self, memory: Floats, people: Floats) -> tuple[Floats, Floats]:
        """The scale of each column, and M in those scales; before the first round, from the first batch."""
        width = people.shape[1]
        if len(memory):
            return memory[:width], memory[width:].reshape(width, width)
        spread = people.std(axis=0)
        usual = spread[spread > 0].mean() if (spread > 0).any() else 1.0
        return np.where(spread > 0, spread, usual), np.eye(width) / width

    def _corrected(self, form: Floats, people: Floats, round: Round, pair: tuple[int, int], alpha: float) -> Floats:
        favoured, disfavoured = pair
        apart = people[favoured] - people[disfavoured]
        gap = float(round.probabilities[favoured] - round.probabilities[disfavoured])
        wanted = (self.shrink * max(0.0, gap - alpha)) ** 2
        direction = np.diag(apart**2) if self.form == "diagonal" else np.outer(apart, apart)
        size = float((direction**2).sum())
        for _ in range(PROJECTIONS):
            beyond = float(apart @ form @ apart) - wanted
            if beyond <= 0 or size == 0.0:
                return form
            form = _positive(form - beyond / size * direction)
        return form * min(1.0, wanted / max(float(apart @ form @ apart), 1e-300))  # the little that is left


def _positive(form: Floats) -> Floats:
    """The nearest form that is nowhere negative."""
    values, vectors = np.linalg.eigh(form)
    return np.asarray(vectors * np.maximum(values, 0.0) @ vectors.T)
