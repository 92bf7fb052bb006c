"""One play, measured: violations, error regret against the exact best fair policy, and the theorem's promises."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from likewise.drawing import COLOURS
from likewise.experiments.reproduce.result import Check, Table, check
from likewise.experiments.reproduce.work import exponent, power
from likewise.game import Transcript, play
from likewise.hindsight import best_in_hindsight
from likewise.protocol import Auditor, Environment, Learner
from likewise.theory import Bound

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MARKERS = ("o", "s", "^", "D", "v", "P")
STYLES = ("-", "--", "-.", (0, (5, 1, 1, 1)), (0, (3, 1, 1, 1, 1, 1)), (0, (8, 2)))
"""Of measured lines, which have marks; dotted lines without marks are limits."""
FEWEST = 30
"""No exponent is fitted where even the largest number of violations, or regret, is below this."""


class Outcome(NamedTuple):
    """What one play reached, beside what was promised.

    Attributes
    ----------
    game, learner, T, k, seed
        Which play.
    violations, error_regret, lagrangian_regret
        Measured; the error regret is against the exact best policy of Q_α in hindsight.
    comparator
        Error regret against Q_{α−ε} with the ε of the learner's own theorem; NaN where that is empty.
    error
        Per person.
    bound
        The learner's theorem, or None.
    observed
        The limit of the Lagrangian regret that the play itself proved, or infinity.
    """

    game: str
    learner: str
    T: int
    k: int
    seed: int
    violations: int
    error_regret: float
    lagrangian_regret: float
    comparator: float
    error: float
    bound: Bound | None
    observed: float


def outcome(
    names: tuple[str, str], learner: Learner, people: Environment, auditor: Auditor, seed: int,
    distance: Callable[..., Any], drifting: bool = False,
) -> Outcome:  # fmt: skip
    """Play the learner's own horizon and measure."""
    assert learner.T is not None
    assert learner.k is not None
    t = play(learner, people, auditor, learner.T, seed=seed)
    bound, alpha = learner.bound(auditor.alpha), auditor.alpha
    regret = _regret(t, distance, alpha, drifting)
    epsilon = 0.0 if bound is None else bound.epsilon
    # A theorem with ε > α compares with no policy at all; there is nothing to measure then.
    stricter = _regret(t, distance, alpha - epsilon, drifting) if 0 < epsilon <= alpha else math.nan
    slack = regret if epsilon == 0 else stricter
    observed = learner.observed_bound(t.state)
    return Outcome(
        *names, learner.T, learner.k, seed, int(t.violations.sum()), regret, t.lagrangian_regret, slack,
        t.error_per_person, bound, math.inf if observed is None else observed,
    )  # fmt: skip


def _regret(t: Transcript, distance: Callable[..., Any], alpha: float, drifting: bool) -> float:
    return float(t.errors.sum()) - best_in_hindsight(t, distance, alpha, drifting=drifting).error


class Curve(NamedTuple):
    """A learner in a game over growing horizons, averaged over seeds."""

    game: str
    learner: str
    T: list[int]
    violations: list[float]
    regret: list[float]
    bounds: list[Bound | None]

    @property
    def exponents(self) -> tuple[float, float]:
        """Exponents of violations and error regret, fitted over the last three horizons: the start is not a power law.

        NaN where the largest is below ``FEWEST``: a few rounds that happened to go one way say nothing of growth.
        """
        violations, regret = self.violations[-3:], self.regret[-3:]
        return exponent(self.T[-3:], violations, FEWEST), exponent(self.T[-3:], regret, FEWEST)

    @property
    def fit(self) -> str:
        """The fitted growth of violations and how many violations it rests on, in words."""
        counts = ", ".join(f"{value:,.0f}" for value in self.violations[-3:])
        grown = power(self.exponents[0])
        return f"{grown if grown != '–' else 'too few to fit'} (from {counts} violations)"


def curves(outcomes: Iterable[Outcome]) -> list[Curve]:
    """Outcomes grouped by game and learner, in order of first appearance."""
    ordered = list(outcomes)
    groups = dict.fromkeys((o.game, o.learner) for o in ordered)
    by_game = []
    for game, learner in groups:
        same = sorted((o for o in ordered if (o.game, o.learner) == (game, learner)), key=lambda o: o.T)
        by_T = [list(group) for _, group in groupby(same, key=lambda o: o.T)]
        violations = [float(np.mean([o.violations for o in group])) for group in by_T]
        regret = [float(np.mean([o.error_regret for o in group])) for group in by_T]
        bounds = [group[0].bound for group in by_T]
        by_game.append(Curve(game, learner, [group[0].T for group in by_T], violations, regret, bounds))
    return by_game


def theorem_checks(outcomes: Sequence[Outcome]) -> list[Check]:
    """Every play against its own theorem."""
    bounded = [o for o in outcomes if o.bound is not None]
    promised = [(o, o.bound) for o in bounded if o.bound is not None]
    compared = [(o.comparator, b.error_regret) for o, b in promised if math.isfinite(o.comparator)]
    truthful = "as in the table of bounds; the auditor is simulated and truthful"
    return [
        check("violations ≤ the theorem's limit", [(o.violations, b.violations) for o, b in promised], truthful),
        check("error regret ≤ the theorem's limit", compared, truthful),
        check("error regret against Q_α ≤ observed Lagrangian regret",
              [(o.error_regret, o.lagrangian_regret) for o in outcomes], "truthful reports, any learner"),
        check("Lagrangian regret ≤ the limit proved by the play itself",
              [(o.lagrangian_regret, o.observed) for o in outcomes], "none: it holds for every sequence"),
    ]  # fmt: skip


def curve_table(name: str, title: str, all_curves: Sequence[Curve]) -> Table:
    """Measured beside promised, one line per game, learner and horizon, with the fitted exponents."""
    columns = (
        "game", "learner", "T", "violations", "limit", "error regret against Q_α", "limit of the error regret",
        "which is against", "T-exponent of violations", "T-exponent of regret",
    )  # fmt: skip
    rows = []
    for curve in all_curves:
        fits = curve.exponents
        for i, T in enumerate(curve.T):
            bound = curve.bounds[i]
            limits = (math.nan, math.nan) if bound is None else (bound.violations, bound.error_regret)
            last = fits if i == len(curve.T) - 1 else ("", "")
            measured = (curve.game, curve.learner, T, curve.violations[i], limits[0], curve.regret[i], limits[1])
            rows.append((*measured, "" if bound is None else against(bound), *last))
    return Table(name, title, columns, rows)


def against(bound: Bound) -> str:
    """Which policies the error regret of a theorem is against."""
    return "Q_α" if bound.epsilon == 0 else f"Q_{{α−{bound.epsilon:.3g}}}"


def draw_curves(axes: Any, all_curves: Sequence[Curve], label: Callable[[Curve], str]) -> None:
    """Violations on the left axes and error regret on the right, measured solid, theorem's lines dotted."""
    left, right = axes
    for i, curve in enumerate(all_curves):
        for ax, values, name in ((left, curve.violations, "violations"), (right, curve.regret, "error_regret")):
            style = {"color": COLOURS[i % len(COLOURS)]}
            draw_positive(
                ax, curve.T, values, label(curve), MARKERS[i % len(MARKERS)], STYLES[i % len(STYLES)], **style
            )
            promised = [b for b in curve.bounds if b is not None]
            # A limit against stricter policies than Q_α says nothing about the regret that is drawn here.
            if promised and (name == "violations" or promised[0].epsilon == 0):
                ax.plot(curve.T, [getattr(b, name) for b in promised], linestyle=":", linewidth=1.3, **style)
    for ax in axes:
        ax.set(xscale="log", yscale="log", xlabel="rounds T")
        plain_ticks(ax, sorted({T for curve in all_curves for T in curve.T}))


def mathtext(text: str) -> str:
    """Indices and powers as matplotlib typesets them.

    Examples
    --------
    >>> mathtext("error regret against Q_{α/2}"), mathtext("fixed C = T^⅓")
    ('error regret against $Q_{α/2}$', 'fixed C = $T^{1/3}$')
    """
    return re.sub(r"(Q_α|Q_\{[^}]*\}|[πp]\^t|T\^\{[^}]*\})", r"$\1$", text.replace("T^⅓", "T^{1/3}"))


def plain_ticks(ax: Any, T: Sequence[int]) -> None:
    """Ticks at the horizons that were played (every other one if they are many), in plain numbers."""
    ticks = T if len(T) <= 4 else T[::-1][::2][::-1]
    ax.set_xticks(ticks, [f"{t:,}" for t in ticks])
    ax.set_xticks([], minor=True)


def outside_legend(figure: Figure, ax: Any, columns: int = 3) -> None:
    """One legend under all panels, where it hides nothing."""
    figure.legend(*ax.get_legend_handles_labels(), loc="outside lower center", ncols=columns)


def draw_positive(ax: Any, T: Sequence[int], values: Sequence[float], label: str, marker: str, line: Any,
                  color: str) -> None:  # fmt: skip
    """A measured line on a logarithmic axis; values below 1, negative ones too, are hollow marks at 1."""
    high = np.maximum(1.0, values)
    ax.plot(T, high, linestyle=line, marker=marker, color=color, label=label)
    low = np.asarray(values) < 1.0
    ax.scatter(np.asarray(T)[low], high[low], c="white", edgecolors=color, marker=marker, zorder=3, s=36)


def idle_limits(all_curves: Sequence[Curve], k: int) -> str:
    """Which of the theorem's limits say nothing, in words for a caption."""
    promised = [(T, b) for c in all_curves for T, b in zip(c.T, c.bounds, strict=True) if b is not None]
    idle = sum(b.violations >= T for T, b in promised)
    wide = sum(b.error_regret >= k * T for T, b in promised)
    if not idle and not wide:
        return "no limit is above its trivial value"
    return (
        f"{idle} of {len(promised)} limits on violations are the trivial T, and {wide} of {len(promised)} limits on "
        "the error regret are above the trivial kT: they say nothing there"
    )


def not_drawn(all_curves: Sequence[Curve]) -> str:
    """What the axes can't show, for a caption: values below 1, and limits of another regret."""
    count = sum(value < 1 for c in all_curves for value in (*c.regret, *c.violations))
    stricter = sum(b is not None and b.epsilon > 0 for b in (c.bounds[-1] for c in all_curves))
    marks = f"; {count} hollow marks stand for values below 1, negative ones too" if count else ""
    left_out = "; limits of the error regret against stricter policies than Q_α are in the table only"
    return marks + (left_out if stricter else "")
