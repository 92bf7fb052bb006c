"""Experiment 4: from T^¾ to log T. Five rules for the penalty C, on two games, over horizons up to a million.

the paper's      exponential weights, C = ⌈max(T^¼, k)⌉            violations T^¾
fixed T^⅓        AdaHedge, Theorem A                               T^⅔
fixed ∝ √T       AdaHedge, C = ck√(T/Λ)                            √T
scheduled        AdaHedge, C_j = C_1 exp(g (j − 1)), Theorem 1     Λ/c² per ln T
tilted           AdaHedge, C_t = cΔ/ln N, Theorem 2, anytime       2 ln N/c² per ln T
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from likewise import kernels, theory
from likewise.auditors import MetricAuditor
from likewise.drawing import COLOURS, canvas
from likewise.experiments.games import Pairs, alike, two_people, two_people_class
from likewise.experiments.reproduce.measure import FEWEST, MARKERS, STYLES, draw_positive, mathtext, outside_legend
from likewise.experiments.reproduce.result import Check, Experiment, Picture, Table, assumed, check
from likewise.experiments.reproduce.work import Workers, exponent, per_log, power
from likewise.game import play
from likewise.hypotheses import FiniteClass
from likewise.learners import AdaHedge, ExponentialWeights, Scheduled, Tilted
from likewise.protocol import Floats
from likewise.theory import Bound

TITLE = "From T^¾ to log T"
ALPHA, SLACK = 0.5, 0.25
"""α, and c: the theorems of growing penalties compare with Q_{α−c}, which is Q_{α/2}."""
K = 2
TWO, PAIRS = "two people", "16 pairs, adversary that sees p^t"
PAPER, THIRD, ROOT, SCHEDULED, TILTED = "the paper's tuning", "fixed C = T^⅓", "fixed C ∝ √T", "scheduled", "tilted"
RULES = (PAPER, THIRD, ROOT, SCHEDULED, TILTED)


@dataclass(frozen=True)
class Size:
    """Horizons, and for how many rounds the compiled loop is compared with ``play``."""

    horizons: tuple[int, ...]
    compared: int


LARGEST = {"quick": 10**5, "full": 10**6}
"""The largest horizon of each mode."""


def _ladder(largest: int) -> tuple[int, ...]:
    """10³, 3162, 10⁴, … up to the largest."""
    steps = round(2 * (math.log10(largest) - 3))
    return tuple(round(10 ** (3 + step / 2)) for step in range(steps + 1))


SIZES = {
    "tiny": Size((100, 300, 1000), 200),
    "quick": Size(_ladder(LARGEST["quick"]), 2000),
    "full": Size(_ladder(LARGEST["full"]), 10_000),
}


class Point(NamedTuple):
    """A rule in a game at one horizon: violations, and error regret against Q_α and Q_{α/2}."""

    game: str
    rule: str
    T: int
    violations: int
    against_alpha: float
    against_half: float
    bound: Bound


class Twin(NamedTuple):
    """Violations and error of one play, by ``play`` and by the compiled loop."""

    violations: int
    fused: int
    error: float
    fused_error: float


LOOP = (
    "The plays of this experiment run in a compiled loop made of the library's kernels, as a million rounds against an "
    "adversary that sees p^t take minutes in Python; the last check compares that loop with likewise.play."
)


def run(size: Size, workers: Workers) -> Experiment:
    """Play; one play of the tilted rule, which needs no horizon, gives all of them."""
    calls: list[tuple[str, str, tuple[int, ...]]] = []
    for game in (PAIRS, TWO):
        calls += [(game, TILTED, size.horizons)]
        calls += [(game, rule, (T,)) for rule in RULES[:-1] for T in size.horizons]
    calls.sort(key=lambda call: -max(call[2]))
    points = [point for block in workers.map(one_play, calls) for point in block]
    twins = workers.map(compared, [(game, rule, size.compared) for game in (PAIRS, TWO) for rule in RULES])
    return Experiment(
        number=4,
        title=TITLE,
        question=(
            "The paper's goal is a small error regret against policies that are a little fairer than α. There, "
            f"penalties that grow need exponentially fewer violations. Measured at α = {ALPHA}, c = {SLACK}, on two "
            "adversarial games, over horizons up to "
            f"{size.horizons[-1]:,}. In both a policy with gap g on the pair shown errs 1 − g, so the best of Q_a "
            "errs exactly (1 − a)T: here the error regret is taken against that closed form, not a linear program."
        ),
        pictures=[_violations(points), _logarithms(points), _regrets(points)],
        tables=[_fits(points), _points(points)],
        bounds=[assumed(_at(points, TWO, rule)[-1].bound, rule) for rule in RULES],
        checks=[*_checks(points), same(twins, size.compared)],
        notes=[_note(points), LOOP],
    )


def one_play(game: str, rule: str, horizons: tuple[int, ...]) -> list[Point]:
    """One play of the longest horizon, read off at each of them."""
    F = _class(game)
    gaps = _gaps(game, rule, max(horizons))
    return [_point(game, rule, gaps[:T], _learner(F, rule, T).bound(ALPHA)) for T in horizons]


def compared(game: str, rule: str, T: int) -> Twin:
    """The same play by ``likewise.play`` and by the compiled loop."""
    F, gaps = _class(game), _gaps(game, rule, T)
    people = two_people(F) if game == TWO else Pairs().tempter()
    t = play(_learner(F, rule, T), people, MetricAuditor(alike, ALPHA), T)
    counts = int(t.violations.sum()), int((np.abs(gaps) > ALPHA).sum())
    return Twin(*counts, float(t.errors.sum()), float(T - gaps.sum()))


def same(twins: list[Twin], T: int) -> Check:
    """The compiled loop has the violations of ``play``, and its error, but for rounding that breaks a tie."""
    pairs = [(float(abs(t.violations - t.fused)), 0.01 * t.violations) for t in twins]
    pairs += [(abs(t.error - t.fused_error), 1e-3 * T) for t in twins]
    off = max(abs(t.violations - t.fused) for t in twins)
    claim = f"the compiled loop plays as likewise.play does, {T:,} rounds (violations off by at most {off})"
    return check(claim, pairs, "violations within 1%, error within 0.001 a round: rounding may break a tie")


def _class(game: str) -> FiniteClass:
    return two_people_class() if game == TWO else Pairs().hypotheses


def _gaps(game: str, rule: str, T: int) -> Floats:
    """π(first) − π(second) of the pair shown, for every round."""
    from likewise.experiments.reproduce.worst_pairs import (
        play_pairs,  # loads numba, which the other experiments may not need
    )

    F = _class(game)
    people = np.array([[1.0], [0.0]]) if game == TWO else np.arange(2.0 * Pairs().pairs)[:, None]
    rows = F.encode(people).astype(float)
    kind, knobs = _learner(F, rule, T).compiled()
    gaps = np.empty(T)
    first, second = np.ascontiguousarray(rows[0::2]), np.ascontiguousarray(rows[1::2])
    play_pairs(getattr(kernels, kind), np.array(knobs, dtype=float), F.log_size, first, second, ALPHA, T, gaps)
    return gaps


def _learner(F: Any, rule: str, T: int) -> Any:
    stretched = theory.stretched_log(F.size)
    if rule == PAPER:
        return ExponentialWeights(F, T=T, k=K)
    first = SLACK * K * math.sqrt(T / stretched)
    penalty = {
        THIRD: max(K, T ** (1 / 3)),
        ROOT: first,
        SCHEDULED: Scheduled(first / 2, theory.scheduled_growth(SLACK, F.size)),
        TILTED: Tilted(SLACK),
    }[rule]
    return AdaHedge(F, T=T, k=K, penalty=penalty)


def _point(game: str, rule: str, gaps: Floats, bound: Bound | None) -> Point:
    assert bound is not None
    T = len(gaps)
    error = float(T - gaps.sum())
    # In both games a policy with gap g on the pair that is shown errs 1 − g, so Q_a errs 1 − a a round.
    regret = [error - (1 - a) * T for a in (ALPHA, ALPHA - SLACK)]
    return Point(game, rule, T, int((np.abs(gaps) > ALPHA).sum()), regret[0], regret[1], bound)


def predicted(rule: str, game: str) -> tuple[str, float]:
    """What the theorem predicts for the growth of violations, in words and as a number."""
    N = 3 if game == TWO else Pairs().size
    per = {SCHEDULED: theory.stretched_log(N) / SLACK**2, TILTED: 2 * theory.log_size(N) / SLACK**2}
    if rule in per:
        return ("Λ/c² per ln T" if rule == SCHEDULED else "2 ln N/c² per ln T"), per[rule]
    powers = {PAPER: ("T^¾", 3 / 4), THIRD: ("T^⅔", 2 / 3), ROOT: ("T^½", 1 / 2)}
    return powers[rule]


def _at(points: list[Point], game: str, rule: str) -> list[Point]:
    return sorted((p for p in points if (p.game, p.rule) == (game, rule)), key=lambda p: p.T)


def fitted(points: list[Point], game: str, rule: str) -> float:
    """The growth of violations as measured: an exponent of T, or violations per ln T for the logarithmic rules."""
    of_rule = _at(points, game, rule)[-3:]  # the start is neither a power nor a logarithm
    T, V = [p.T for p in of_rule], [float(p.violations) for p in of_rule]
    return per_log(T, V) if rule in (SCHEDULED, TILTED) else exponent(T, V, FEWEST)


REGRETS = {
    PAPER: ("T^¾", 3 / 4),
    THIRD: ("T^⅔", 2 / 3),
    ROOT: ("T^¾", 3 / 4),
    SCHEDULED: ("T", 1.0),
    TILTED: ("T", 1.0),
}
"""How fast the error regret against Q_α may grow: the theorems for fixed C; the growing ones promise nothing there."""


def fitted_regret(points: list[Point], game: str, rule: str) -> tuple[float, float]:
    """The exponent of the error regret against Q_α, and the slope of that against Q_{α/2}, a round."""
    of_rule = _at(points, game, rule)[-3:]
    T = [p.T for p in of_rule]
    slope = float(np.polyfit(T, [p.against_half for p in of_rule], 1)[0])
    return exponent(T, [p.against_alpha for p in of_rule], FEWEST), slope


def _fits(points: list[Point]) -> Table:
    columns = ("game", "rule", "growth of violations", "predicted", "fitted", "violations at the largest T",
               "error regret against Q_α at most", "predicted exponent", "fitted exponent", "at the largest T",
               "against Q_{α/2}, fitted slope a round", "against Q_{α/2} at the largest T")  # fmt: skip
    rows = []
    for game in (TWO, PAIRS):
        for rule in RULES:
            last = _at(points, game, rule)[-1]
            growth = (*predicted(rule, game), fitted(points, game, rule))
            power, slope = fitted_regret(points, game, rule)
            regret = (*REGRETS[rule], power, last.against_alpha, slope, last.against_half)
            rows.append((game, rule, *growth, last.violations, *regret))
    return Table(
        "slopes", "Fitted growth beside the predicted one (a dash: negative, or too few to fit)", columns, rows
    )


def _points(points: list[Point]) -> Table:
    columns = ("game", "rule", "T", "violations", "limit", "error regret against Q_α", "against Q_{α/2}",
               "limit of the error regret", "which is against")  # fmt: skip
    rows = []
    for game in (TWO, PAIRS):
        for p in (p for rule in RULES for p in _at(points, game, rule)):
            against = f"Q_{{{ALPHA - p.bound.epsilon:.3g}}}"
            rows.append((p.game, p.rule, p.T, p.violations, p.bound.violations, p.against_alpha, p.against_half,
                         p.bound.error_regret, against))  # fmt: skip
    return Table("penalties", "Every horizon", columns, rows)


def _regret_at(p: Point) -> float:
    """The error regret against Q_{α−ε} with the ε of the rule's own theorem: Q_a errs 1 − a a round."""
    return p.against_alpha - p.bound.epsilon * p.T


def _checks(points: list[Point]) -> list[Any]:
    return [
        check("violations ≤ the theorem's limit", [(p.violations, p.bound.violations) for p in points],
              "reports have a gap above α; any environment"),
        check("error regret ≤ the theorem's limit", [(_regret_at(p), p.bound.error_regret) for p in points],
              "truthful reports; against Q_{α−ε} with the ε of each theorem"),
    ]  # fmt: skip


def _note(points: list[Point]) -> str:
    largest = max(p.T for p in points)
    V = {rule: _at(points, TWO, rule)[-1].violations for rule in RULES}
    idle = sum(p.bound.violations >= p.T for p in points)
    return (
        f"Two people at T = {largest:,}: {V[PAPER]:,} violations with the paper's tuning, {V[THIRD]:,} with C = T^⅓, "
        f"{V[ROOT]:,} with C ∝ √T, {V[SCHEDULED]:,} scheduled, {V[TILTED]:,} tilted. {idle} of {len(points)} limits on "
        "violations are the trivial T. Against Q_α itself no rule can have both few violations and small regret "
        "(V · regret² = Ω(T² ln N) for rich classes), so the growing penalties pay there, linearly in T: that is what "
        "the slack buys off."
    )


def _violations(points: list[Point]) -> Picture:
    with canvas(10, 4.8) as figure:
        axes = figure.subplots(1, 2, sharey=True)
        for ax, game in zip(axes, (TWO, PAIRS), strict=True):
            for i, rule in enumerate(RULES):
                of_rule = _at(points, game, rule)
                _line(ax, i, [p.T for p in of_rule], [p.violations for p in of_rule], rule)
            ax.set(xscale="log", yscale="log", xlabel="rounds T", title=mathtext(f"Violations: {game}"))
        outside_legend(figure, axes[0], columns=5)
    fits = "; ".join(
        f"{rule} {power(fitted(points, TWO, rule))} and {power(fitted(points, PAIRS, rule))}" for rule in RULES[:3]
    )
    caption = (
        f"Violations grow as powers of T for fixed penalties ({fits}); the scheduled and tilted ones, which grow, "
        "are drawn again against ln T below."
    )
    return Picture("violations", figure, caption)


def _line(ax: Any, i: int, T: list[int], values: Any, label: str) -> None:
    draw_positive(ax, T, values, mathtext(label), MARKERS[i], STYLES[i], color=COLOURS[i])


def _logarithms(points: list[Point]) -> Picture:
    """The two logarithmic rules against ln T, beside lines of the predicted slope through their last point."""
    slopes = []
    with canvas(10, 4.4) as figure:
        axes = figure.subplots(1, 2)
        for ax, game in zip(axes, (TWO, PAIRS), strict=True):
            for i, rule in ((3, SCHEDULED), (4, TILTED)):
                of_rule = _at(points, game, rule)
                T, V = [p.T for p in of_rule], [p.violations for p in of_rule]
                slope = predicted(rule, game)[1]
                _line(ax, i, T, V, rule)
                ax.plot(T, [V[-1] + slope * math.log(t / T[-1]) for t in T], "-", color="#333333", linewidth=1,
                        label="predicted slope" if rule == TILTED else None)  # fmt: skip
                slopes.append(f"{rule} {fitted(points, game, rule):.1f} (predicted {slope:.1f})")
            ax.set(xscale="log", xlabel="rounds T", title=mathtext(f"Violations: {game}"), ylim=(0, None))
        outside_legend(figure, axes[0])
    caption = (
        f"Against ln T, beside thin lines of the predicted slope, the fitted violations per ln T are, with two "
        f"people: {slopes[0]}, {slopes[1]}; with sixteen pairs: {slopes[2]}, {slopes[3]}."
    )
    return Picture("logarithms", figure, caption)


def _regrets(points: list[Point]) -> Picture:
    with canvas(10, 7.6) as figure:
        grid = figure.subplots(2, 2, sharex=True)
        for axes, game in zip(grid, (TWO, PAIRS), strict=True):
            for ax, name, title in zip(axes, ("against_alpha", "against_half"), ("Q_α", "Q_{α/2}"), strict=True):
                for i, rule in enumerate(RULES):
                    of_rule = _at(points, game, rule)
                    ax.plot([p.T for p in of_rule], [getattr(p, name) / p.T for p in of_rule], linestyle=STYLES[i],
                            marker=MARKERS[i], color=COLOURS[i], label=mathtext(rule))  # fmt: skip
                ax.axhline(0, color="#555555", linewidth=1)
                ax.set(xscale="log", title=mathtext(f"{game.split(',')[0]}: against {title}"))
        for ax in grid[1]:
            ax.set(xlabel="rounds T")
        for ax in grid[:, 0]:
            ax.set(ylabel="error regret a round")
        outside_legend(figure, grid[0, 0], columns=5)
    last = {rule: _at(points, TWO, rule)[-1] for rule in RULES}
    fits = "; ".join(
        f"{rule} {' and '.join(power(fitted_regret(points, game, rule)[0]) for game in (TWO, PAIRS))}" for rule in RULES
    )
    worst = max(p.against_half / p.T for p in points if p.T == last[TILTED].T)
    tilted = last[TILTED]
    caption = (
        f"Error regret a round in both games; fitted growth against Q_α, two people and sixteen pairs: {fits} (a dash: "
        f"negative, or too small to fit). At T = {tilted.T:,} two people cost the tilted rule "
        f"{tilted.against_alpha / tilted.T:.4f} a round against Q_α (½cα(1−α) = {SLACK * ALPHA * (1 - ALPHA) / 2:.4f} "
        f"is predicted), and against Q_{{α/2}} every rule in both games has at most {worst:.3f}."
    )
    return Picture("regrets", figure, caption)
