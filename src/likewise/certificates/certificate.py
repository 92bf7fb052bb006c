"""The certificate of a play: what it reached and what is proved of it, from what was observed, with the assumptions.

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

import json
import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from likewise import theory
from likewise.certificates.accounts import Accounts, Hidden, hidden
from likewise.certificates.assumptions import (
    ABOUT_NEW_PEOPLE,
    BLACK_BOX,
    ONCE,
    UNCLEAR,
    Assumption,
    Claim,
    Status,
    assumptions_of,
    drawn_from,
    fixed_horizon,
    new_rounds,
)
from likewise.certificates.brackets import Bracket, brackets
from likewise.certificates.held_out_people import counted
from likewise.certificates.reviews import Reviews, reviews
from likewise.certificates.reviews import sum_of_betas as sum_of_betas_by_lot
from likewise.displays import short, text_html
from likewise.drawing import COLOURS, LINES, canvas
from likewise.errors import require, require_number
from likewise.game import Transcript
from likewise.hindsight import FairProgram, Losses, Pairs
from likewise.hypotheses import EnumerableClass
from likewise.learners.kept import regret_limit
from likewise.protocol import Floats
from likewise.wording import plural

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from likewise.certificates.choice import Choice
    from likewise.certificates.shown import ShownPeople

EPSILONS = 11
"""Levels of slack ε = 0 … α at which the regret is computed."""


class Regret(NamedTuple):
    """The most by which the play's errors exceed those of any policy of Q_{α−ε} over the class.

    Attributes
    ----------
    epsilon
        The slack; the comparison holds for every ε of the curve at once.
    by_reports
        From the linear program of the reports alone; None where the class can't be searched exactly.
    by_lagrangian
        From the observed Lagrangian regret.
    by_prices
        From the prices that a learner gave the reports it kept, by weak duality: sharper than ``by_lagrangian`` for
        such a learner, and it needs no program. None for any other.
    """

    epsilon: float
    by_reports: float | None
    by_lagrangian: float | None
    by_prices: float | None = None

    @property
    def best(self) -> float:
        """The smallest of them."""
        limits = [value for value in (self.by_reports, self.by_lagrangian, self.by_prices) if value is not None]
        return min(limits) if limits else math.inf


class Generalisation(NamedTuple):
    """Fairness of the average policy on new people, by one theorem.

    Attributes
    ----------
    theorem
        Which one.
    sum_of_betas
        The limit of Σ_t β^t that it gives.
    q
        The integer of the interpolation lemma that makes α' − α and β smallest together.
    alpha, beta
        At that q, π^avg is (alpha, beta)-fair.
    sharp
        Whether it uses the sharper threshold of the interpolation lemma.
    anytime
        Whether it holds for a play that may stop at any time.
    rounds
        The rounds that it is about: the policy is their average.
    """

    theorem: str
    sum_of_betas: float
    q: int
    alpha: float
    beta: float
    sharp: bool
    anytime: bool
    rounds: int


class Redraw(NamedTuple):
    """What draws with replacement prove: about another draw from the same rows, and nobody else.

    Attributes
    ----------
    rows
        How many rows there are.
    fairness
        Limits for two draws from these rows, the sharpest first.
    error
        The average policy's expected cost of errors on a draw from these rows, or a limit of it; None if labels are
        missing.
    exact
        Whether ``error`` was computed on all of the rows, so that it is no limit but the number itself.
    """

    rows: int
    fairness: tuple[Generalisation, ...]
    error: float | None
    exact: bool


@dataclass(frozen=True, eq=False, repr=False)
class Certificate:
    """What a play reached, and what is proved of it. A claim whose assumptions are broken is left out.

    ``str(certificate)`` is a letter of at most 200 words, ``appendix()`` has the rest, ``to_dict()`` is JSON, and
    ``plot()`` a picture.

    Attributes
    ----------
    alpha, audited_alpha, level, delta
        The level of the comparison, the one at which the auditor counted violations, the one at which they reported
        (``audited_alpha`` less the margin), and one minus the confidence of each claim about new people.
    error, costs, draws, people, rounds, reports, violations, late_violations, unseen
        What was observed; ``draws`` counts everybody with a known label, in every round that they came, and ``people``
        those who are distinct; errors are weighed by ``costs``, ``reports`` and ``violations`` count rounds with one,
        ``late_violations`` are those of the last quarter, and ``unseen`` counts rounds that nobody reviewed or that
        held one person.
    constant_error
        What one answer for everybody would have cost on the same people: the better of the two.
    hypotheses
        How many hypotheses the class holds: the comparison is with their mixtures.
    regret
        Limits of the error regret for ε from 0 to α.
    behind_constant
        The most by which the play, at the end of any of its rounds, had erred more than the best single answer for
        everybody would have until then; below 0 if it was ahead all the time. Counted, not estimated, and true whatever
        the auditor did; ``learner.behind_constant`` is the limit that was proved before. None if the class holds no
        constant.
    fairness
        Limits for the average policy, the sharpest first. They hold together: each is taken at a third of ``delta``.
        Of a play in passes it is the average policy of the first pass.
    error_on_new_people
        The same policy's expected cost of errors on a new person is at most this.
    rounds_once
        The rounds of the first pass over a file, which these claims are about; None if people don't come in passes.
    redraw
        Where people were drawn with replacement: what is proved of another draw from the same rows, which is all.
    brackets
        What the reports say about the hidden distance.
    assumptions
        What all of this rests on.
    choice
        What to deploy, chosen on people who were held out; None if none were.
    estimated
        Whether errors are estimated from accepted people, as no others' labels were seen: ``error``,
        ``constant_error``, ``regret`` and ``behind_constant`` are then right on average over the lots, for a policy
        that was fixed before the play.
    refused, unknown
        People whose labels are unseen because they were refused, and others without a label.
    regret_likely
        Where everybody counted as good until proved bad: a limit of the true error regret against every policy of Q_α
        at once, with confidence 1 − ``delta``. None otherwise.
    hidden
        Where the auditor saw decisions only: rounds with a pair that could have been reported, seen or not.
    reviews
        Where rounds were drawn for review by lot, or where detection was measured: how many of all rounds violate.
    """

    alpha: float
    audited_alpha: float
    level: float
    delta: float
    rounds: int
    draws: int
    people: int
    error: float
    constant_error: float
    costs: tuple[float, float]
    reports: int
    violations: int
    late_violations: int
    unseen: int
    hypotheses: int | None
    regret: tuple[Regret, ...]
    behind_constant: float | None
    fairness: tuple[Generalisation, ...]
    error_on_new_people: float | None
    rounds_once: int | None
    redraw: Redraw | None
    brackets: tuple[Bracket, ...]
    assumptions: tuple[Assumption, ...]
    choice: Choice | None = None
    estimated: bool = False
    refused: int = 0
    unknown: int = 0
    regret_likely: float | None = None
    hidden: Hidden | None = None
    reviews: Reviews | None = None

    @property
    def counts_errors(self) -> bool:
        """Whether an error costs 1, so that costs are numbers of errors."""
        return self.costs == (1.0, 1.0)

    @property
    def per(self) -> str:
        """What errors are counted per: a person, or a draw where the same people were drawn again."""
        return "person" if self.draws <= self.people else "draw"

    @property
    def counted(self) -> str:
        """Whose labels are known, in words: draws of distinct people, or of rows that may be one person."""
        unclear = any(assumption.detail == UNCLEAR for assumption in self.assumptions)
        if self.draws > self.people:
            return f"{self.draws:,} draws of {counted(self.people, unclear)}"
        return counted(self.people, unclear)

    @property
    def black_box(self) -> bool:
        """Whether an online classifier decided, and not a mixture of the hypotheses that it is compared with."""
        return any(assumption.name == BLACK_BOX for assumption in self.assumptions)

    @property
    def contradictions(self) -> tuple[Bracket, ...]:
        """Reported pairs that a clear round contradicts."""
        return tuple(bracket for bracket in self.brackets if bracket.contradicts)

    def rests_on(self, claim: Claim, status: Status) -> list[Assumption]:
        """The assumptions of one claim that have this status."""
        return [a for a in self.assumptions if claim in a.needed_for and a.status == status]

    def curve(self, generalisation: Generalisation) -> tuple[Floats, Floats]:
        """(α', β) of the average policy for q = 1 … T."""
        return theory.interpolation_curve(
            generalisation.sum_of_betas, self.level, generalisation.rounds, sharp=generalisation.sharp
        )

    def with_choice(self, choice: Choice) -> Certificate:
        """The same certificate, whose letter says what to deploy and what held-out people prove of it."""
        return replace(self, choice=choice)

    def __repr__(self) -> str:
        chosen = "" if self.choice is None else f"recommends {self.choice.recommended}"
        violations = f"{self.violations:,} of them with a violation"
        return short("Certificate", plural(self.rounds, "round"), violations, chosen, "print it to read the letter")

    def _repr_html_(self) -> str:
        return text_html(str(self))

    def __str__(self) -> str:
        from likewise.certificates.letter import letter

        return letter(self)

    def appendix(self, people: ShownPeople | None = None) -> str:
        """Every limit and assumption behind the letter; with ``people``, also who was reported, side by side."""
        from likewise.certificates.appendix import appendix

        return appendix(self, people)

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain JSON values; numbers that are not finite become None."""
        data: dict[str, Any] = dict(vars(self))
        data |= {
            "regret": [r._asdict() for r in self.regret],
            "fairness": [f._asdict() for f in self.fairness],
            "redraw": None
            if self.redraw is None
            else self.redraw._asdict() | {"fairness": [f._asdict() for f in self.redraw.fairness]},
            "brackets": [b._asdict() | {"contradicts": b.contradicts} for b in self.brackets],
            "assumptions": [a._asdict() for a in self.assumptions],
            "choice": None if self.choice is None else self.choice.to_dict(),
            "hidden": None if self.hidden is None else self.hidden._asdict(),
            "reviews": None if self.reviews is None else self.reviews.to_dict(),
        }
        return dict(json.loads(json.dumps(data), parse_constant=lambda _: None))

    def plot(self) -> Figure:
        """Left, the limit of the error regret against ever stricter policies; right, fairness on new people."""
        with canvas(8, 4.9) as figure:
            left, right = figure.subplots(1, 2)
            epsilon = [r.epsilon for r in self.regret]
            lines = {"by the reports": "by_reports", "by the Lagrangian regret": "by_lagrangian"}
            lines |= {"by the prices of kept reports": "by_prices"}
            for (label, name), colour, line in zip(lines.items(), COLOURS, LINES, strict=False):
                values = [getattr(r, name) for r in self.regret]
                if None not in values:
                    left.plot(epsilon, values, color=colour, linestyle=line, label=label)
            left.axhline(0, color="#555555", linewidth=1)
            left.set(xlabel="ε: against policies fair at α − ε", title="Errors above the best, at most")
            redrawn = () if self.redraw is None else self.redraw.fairness
            for f, colour, line in zip(self.fairness or redrawn, COLOURS, LINES, strict=False):
                right.plot(*self.curve(f), color=colour, linestyle=line, label=f.theorem)
                right.plot(f.alpha, f.beta, "o", color=colour)
            who = "" if self.fairness or self.redraw is None else f", of these {self.redraw.rows:,} rows"
            title = f"Pairs beyond it, at most{who}"
            right.set(xlabel="α': allowed beyond the distance", title=title, ylim=(0, 1.02))
            for axes in (left, right):
                if axes.get_legend_handles_labels()[0]:
                    axes.legend(loc="upper left", bbox_to_anchor=(-0.1, -0.2), fontsize=11)  # below, over no line
                else:
                    axes.text(0.5, 0.5, "nothing can be claimed", ha="center", transform=axes.transAxes)
                    axes.set(xticks=[], yticks=[])
        return figure


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
    return Pairs(first, second, gaps, np.full(len(gaps), np.inf))


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
