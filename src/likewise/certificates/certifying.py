"""How a certificate is made: what is proved of a play, from what was observed.

Nothing here knows the distance. Against every policy of Q_{α−ε}, for all ε at once,

    error regret ≤ Err − LP(ε) ≤ LagrangianRegret − ε S,

where LP(ε) is the least error of any policy that keeps what the truthful reports prove (a reported pair proves
d + α_r < its gap) and S the sum of the penalties of the rounds with a report. Where a round has several pairs, each of
them is a row of LP and the regret charges their mean gap; pricing each row at C_t/|P_t| shows LP's side of the chain.
Fairness of the average policy follows from the number of rounds with a report.

Claims about new people rest on people who came once: in a stream, or in the first pass over a file. Draws with
replacement from n rows prove the same of another draw from these rows, and nothing of anybody else.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from likewise import theory
from likewise.certificates.accounts import Accounts, hidden
from likewise.certificates.assumptions import (
    ABOUT_NEW_PEOPLE,
    ONCE,
    Assumption,
    Claim,
    Status,
    assumptions_of,
    both_ways,
    drawn_from,
    fixed_horizon,
    new_rounds,
)
from likewise.certificates.brackets import brackets
from likewise.certificates.certificate import Certificate, Generalisation, Redraw, Regret
from likewise.certificates.reviews import reviews
from likewise.certificates.reviews import sum_of_betas as sum_of_betas_by_lot
from likewise.errors import require, require_number
from likewise.game import Transcript
from likewise.hindsight import FairProgram, Losses, Pairs
from likewise.hypotheses import EnumerableClass
from likewise.learners.kept import regret_limit

if TYPE_CHECKING:
    from likewise.certificates.choice import Choice

EPSILONS = 11
"""Levels of slack ε = 0 … α at which the regret is computed."""


def certify(
    transcript: Transcript,
    alpha: float | None = None,
    delta: float = 0.05,
    *,
    choice: Choice | None = None,
    gold: theory.Gold | None = None,
    overlap: theory.Overlap | None = None,
    review_count: theory.ReviewCount | None = None,
    waiting: int = 0,
) -> Certificate:
    """What is proved of a play, from what was observed, without knowing the distance.

    Parameters
    ----------
    transcript
        The play.
    alpha
        The level of fairness that the play is compared at; the auditor's by default.
    delta
        One minus the confidence of each claim about new people.
    choice
        What to deploy, chosen on people who were held out (``certificates.choose``): the letter then claims what they
        prove.
    gold, overlap
        How good the reviewers are, by rounds with a known answer or by rounds that two judged blindly (upheld reports
        only): the limit of violating rounds is corrected for it. Known rounds come first.
    review_count, waiting
        The rounds drawn for review, where they were counted elsewhere, up to the first that still waits for an answer;
        and how many rounds wait. By default the transcript's own.

    Examples
    --------
    >>> import likewise as lw, numpy as np
    >>> X, y = np.array([[0.0], [1.0]]), np.array([0, 1])
    >>> learner = lw.AdaHedge(lw.Thresholds([[0.5]]), k=2, alpha=0.1, T=50)
    >>> t = lw.play(learner, lw.IID(X, y, k=2), lw.MetricAuditor("cityblock", alpha=0.1))
    >>> certificate = lw.certify(t, alpha=0.1, delta=0.05)
    >>> certificate.violations, [str(a.status) for a in certificate.assumptions][:2]
    (0, ['kept', 'kept'])
    """
    require(isinstance(transcript, Transcript), "transcript", "be what `play` returns", type(transcript).__name__)
    t = transcript
    alpha = t.alpha if alpha is None else alpha
    require_number(alpha, "alpha", 0, 1)
    require_number(delta, "delta", 0, 1, open_at="low high")
    # Rounds that nobody reviewed, or with one person, prove nothing: count them as if each held a violation.
    unseen = ~t.reviewed | (t.sizes < 2)
    known = brackets(t)
    measured = "gold" if gold is not None else "overlap" if overlap is not None else None
    assumptions = assumptions_of(t, sum(bracket.contradicts for bracket in known), measured)
    broken = _broken(assumptions)
    accounts = Accounts(t)
    labelled = accounts.counted
    regret = _regret(accounts, alpha)
    return Certificate(
        alpha=float(alpha),
        audited_alpha=t.alpha,
        level=t.level,
        delta=float(delta),
        rounds=t.rounds,
        draws=int(labelled.sum()),
        people=int(labelled.sum() if t.person is None else len(np.unique(t.person[labelled]))),
        error=accounts.error,
        constant_error=min(accounts.constants),
        costs=t.costs,
        reports=int(t.reported.sum()),
        violations=int(t.violations.sum()),
        late_violations=int(t.violations[3 * t.rounds // 4 :].sum()),
        unseen=int(np.count_nonzero(unseen)),
        hypotheses=t.hypotheses.size,
        regret=regret,
        behind_constant=accounts.behind_constant,
        fairness=() if Claim.FAIRNESS in broken else _fairness(t, new_rounds(t), delta),
        error_on_new_people=None if Claim.ERRORS in broken else _error(t, new_rounds(t), delta),
        rounds_once=t.rounds_once,
        redraw=_redraw(t, assumptions, delta),
        brackets=known,
        assumptions=assumptions,
        choice=choice,
        estimated=accounts.estimated,
        refused=accounts.refused,
        unknown=accounts.unknown,
        regret_likely=_likely(accounts, regret[0].best, delta),
        hidden=hidden(t, delta),
        reviews=reviews(t, delta, gold, overlap, review_count, waiting),
    )


def _likely(accounts: Accounts, regret: float, delta: float) -> float | None:
    """A limit of the true error regret with confidence 1 − δ, from one of the estimated regret."""
    deviation = accounts.deviation(delta)
    return None if deviation is None or not math.isfinite(regret) else regret + deviation


def _regret(accounts: Accounts, alpha: float) -> tuple[Regret, ...]:
    """Limits for a grid of ε; a limit at ε also holds for any stricter comparison."""
    epsilons, t = np.linspace(0.0, alpha, EPSILONS), accounts.t
    uncounted = accounts.one_sided and not accounts.estimated
    if not isinstance(t.hypotheses, EnumerableClass) or _lies_unmarked(t) or uncounted:
        return tuple(Regret(float(epsilon), None, None) for epsilon in epsilons)
    if accounts.estimated:
        error, losses = accounts.paid, Losses(t.rows, accounts.weights, 0.0, t.starts, t.first, t.shown)
        lagrangian = accounts.lagrangian_regret
    else:
        error, losses, lagrangian = float(t.errors.sum()), Losses.of(t), t.lagrangian_regret
    paid_alone = error - (0.0 if accounts.estimated else t.base_error)
    margin = alpha - t.level
    # A false report may push the learner away from a fair policy, by at most its penalty times 1 − gap.
    lies = float((t.pair_penalties * np.maximum(0.0, 1.0 - t.pair_gaps))[t.false].sum())
    paid = float(t.pair_penalties[~t.false].sum())
    program = FairProgram(t.hypotheses, losses, _proved(t)) if t.hypotheses.constants else None
    regrets = []
    for epsilon in epsilons:
        by_lagrangian = lagrangian + lies - (float(epsilon) - margin) * paid
        by_reports = None if program is None else error - program.solve(margin - float(epsilon)).lower
        by_prices = _by_prices(t, paid_alone, float(epsilon) - margin)
        regrets.append(Regret(float(epsilon), by_reports, by_lagrangian, by_prices))
    return tuple(regrets)


def _by_prices(t: Transcript, paid: float, epsilon: float) -> float | None:
    """Weak duality with the prices of kept reports; None if none were kept, or if they belong to other rounds too.

    ``paid`` is the error less that of always saying no.
    """
    if not hasattr(t.state, "terms") or t.first > 1 or t.state.rounds != t.rounds or t.false.any():
        return None
    return regret_limit(t.hypotheses, t.state, paid, epsilon)


def _proved(t: Transcript) -> Pairs:
    """What the true reports prove: any policy of Q_{α−ε} keeps each reported pair within gap + margin − ε."""
    first, second = t.pair_people[~t.false].T
    gaps = t.pair_gaps[~t.false]
    return Pairs(first, second, gaps, gaps if both_ways(t) else np.full(len(gaps), np.inf))


def _lies_unmarked(t: Transcript) -> bool:
    """Whether the auditor is known to report what is not true, and nobody knows where."""
    auditor = t.facts.auditor
    return auditor.truthful is False and not auditor.marks_false and not t.false.any()


def _broken(assumptions: tuple[Assumption, ...]) -> set[Claim]:
    return {claim for a in assumptions if a.status == Status.BROKEN for claim in a.needed_for}


def _fairness(t: Transcript, T: int, delta: float) -> tuple[Generalisation, ...]:
    """All limits of the first T rounds at once: each at a third of delta, so that picking the best is no cheating.

    Where rounds were drawn for review by lot there is one, at delta.
    """
    third, level, fixed = delta / 3, t.level, fixed_horizon(t, T)
    # Rounds that nobody reviewed, or with one person, prove nothing: count them as if each held a violation.
    counted = int(np.count_nonzero((t.reported | ~t.reviewed | (t.sizes < 2))[:T]))
    noticed = _noticed(t)
    limits = [("at any time", theory.sum_of_betas_anytime(counted, third), True, True)]
    by_lot = sum_of_betas_by_lot(t, T, delta)
    if by_lot is not None:
        limits = [("drawn by lot, at any time", by_lot, True, True)]
    elif fixed is not False:
        limits.append(("T fixed in advance, sharpened", theory.sum_of_betas(counted, T, third), True, False))
        limits.append(("T fixed in advance, the paper's", theory.sum_of_betas_paper(counted, T, third), False, False))
    fairness = []
    for theorem, reported, sharp, anytime in limits:
        total = reported / noticed
        q, best = theory.best_interpolation(total, level, T, sharp=sharp)
        fairness.append(Generalisation(theorem, total, q, best.alpha, best.beta, sharp, anytime, T))
    return tuple(sorted(fairness, key=lambda g: max(g.alpha - level, g.beta)))


def _noticed(t: Transcript) -> float:
    """The least probability that a violation is reported: 1, or for an auditor of decisions the least gap of one."""
    if t.facts.auditor.sees != "decisions":
        return 1.0
    return t.level * float(t.facts.auditor.details.get("persistence", 1.0))


def _error(t: Transcript, T: int, delta: float) -> float:
    """The mean over T rounds of the batch's error, plus its deviation; at any time unless the horizon was fixed."""
    worst = max(t.costs)
    means = np.minimum(1.0, (t.errors / t.sizes)[:T] / worst)
    if fixed_horizon(t, T):
        return worst * theory.first_pass_error(means, float(t.sizes.max()), delta)
    return worst * theory.accuracy_observed(float(means.mean()), T, delta, anytime=True)


def _redraw(t: Transcript, assumptions: tuple[Assumption, ...], delta: float) -> Redraw | None:
    """What is proved of another draw from the rows of a file that a play drew from with replacement."""
    environment = t.facts.environment
    once = any(a.name == ONCE and a.status == Status.KEPT for a in assumptions)
    if drawn_from(t) != "again" or environment.population is None or once:
        return None
    broken = _broken(tuple(a for a in assumptions if a.name not in ABOUT_NEW_PEOPLE))
    fairness = () if Claim.FAIRNESS in broken else _fairness(t, t.rounds, delta)
    if Claim.ERRORS in broken:
        return Redraw(environment.population, fairness, None, False)
    exact = _error_on_all_rows(t)
    error = _error(t, t.rounds, delta) if exact is None else exact
    return Redraw(environment.population, fairness, error, exact is not None)


def _error_on_all_rows(t: Transcript) -> float | None:
    """The average policy's cost of errors on each row once; None unless every row was drawn at least once."""
    if t.person is None or t.average_policy.lost:
        return None
    firsts = np.unique(t.person, return_index=True)[1]
    if not len(firsts) == t.facts.environment.population == t.facts.environment.people:
        return None
    given, y = t.average_policy.at(np.asarray(t.rows)[firsts]), t.y[firsts]
    return float(np.where(y == 1, t.costs[1] * (1 - given), t.costs[0] * given).mean())
