"""AdaHedge, our default: learns its own rate, so it needs neither the scale of losses nor the horizon.

    Δ_0 = 0 (without T: k),   η_t = ρ / Δ_{t−1},   p^t ∝ w exp(−η_t L_{t−1})
    δ_t = p^t·ℓ_t − m_t,   m_t = φ_{η_t}(L_t) − φ_{η_t}(L_{t−1}),   Δ_t = Δ_{t−1} + δ_t

w is the prior and ρ = ln(1/min w), which is ln N where w is uniform. Every step of the proof is pathwise: the
environment may see p^t, penalties may change by round, and regret ≤ 2Δ_T is an *observed* number (Lemma 1; de Rooij et
al. 2014). By default w starts fair (Theorem F) and reports are kept, with prices that may be revised (Theorem C1).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from likewise import kernels, theory
from likewise.errors import InvalidParameter, require, require_number, require_whole
from likewise.hypotheses import Cube, enumerable
from likewise.hypotheses.kept import SWEEPS, settled
from likewise.hypotheses.priors import PRIORS, Prior, fair_prior, given_prior, prior_weights
from likewise.learners.base import BaseLearner, fixed_penalty
from likewise.learners.kept import MIRRORED, KeptReports, KeptState, in_order, regret_limit, who
from likewise.learners.penalties import Cuts, Scheduled, Tilted
from likewise.policies import Mixture
from likewise.protocol import Floats, Key, Report, Round
from likewise.reduction import penalised
from likewise.theory.elementary import log1p

FORGET = 0.01
"""The share of the prior that the default learner mixes in over a whole play."""
MOST_SLACK = 0.05
"""By default reports are cut α/2 below the gap that was shown, but never by more than this: where α is large, fewer
violations are left to be saved, and more slack costs error."""
TOLERANCE = 0.1
"""Prices are set until no gap is off by more than this part of ε."""
UPKEEP, DRIFT = 4, 2.0
"""Prices are set in every round with a report, and besides every so many rounds: as long as no gap can have moved by
more than the second part of ε, and every fourth round at least.

In between weights follow the losses at the prices of before, which every theorem allows: a price that stays as it is
never lowers the dual value. At low rates a round then costs hardly more than one that keeps no reports.
"""
SHARED = 10
"""A share of the prior is mixed in every so many rounds, for all of them: each time it takes a logarithm of every
weight."""


class AdaHedgeState(NamedTuple):
    """Cumulative losses in the class's coordinates, Δ, and the weights they give: p ∝ w exp(−η L), η = ρ/Δ."""

    rounds: int
    reports: int
    losses: Floats
    delta: float
    weights: Floats


@dataclass(frozen=True)
class AdaHedge(BaseLearner):
    """Hedge that tunes itself, starts fair and keeps every report.

    Parameters
    ----------
    alpha
        The level at which the auditor reports (α less the margin); the default needs it. Reports of a gap of at most
        ``alpha`` teach a learner that keeps reports nothing.
    penalty
        ``Cuts`` keeps reports, with prices that may be revised (Theorem C1): by default with ε = α/2, but at
        most .05, and penalties that grow as ``Scheduled((k/3)√(T/ρ), …)`` when T is given and
        ``Tilted(ε/2, floor=0.7)`` when it isn't.
        "growing" is release 1's default: ``Scheduled((k/3)√(T/ln N), α²/(8Λ))`` with T, ``Tilted(α/2, floor=1/2)``
        without, a uniform prior and no forgetting. Or a rule of one's own: a number (fixed C, Theorem A), ``Scheduled``
        (Theorem 1), ``Tilted`` (Theorem 2) or ``Cuts``.
    prior
        "fair" (Theorem F, the default with ``Cuts``), "uniform" (the default with other rules), "mostly 0"
        and "mostly 1" (a fair start that leans to one answer, where you know what most labels are), "even" (half of the
        weight on the two constants: for one-sided labels), or a weight for each hypothesis; for cells, each one's
        probability of saying 1. Cells start with ½ for everybody, which is fair.
    forget
        With ``Cuts``: the share of the prior that is mixed into the weights over a whole play, ``forget``/T for each
        round, or ``forget``/t without T, in every tenth round for all ten. A rule that was given up can come back. 0
        forgets nothing.
    rows_last
        With ``Cuts``: halve the cap of every kept report after so many rounds, again and again, for reviewers who
        become more lenient. No bound is promised then. By default caps stay.

    Examples
    --------
    >>> import likewise as lw
    >>> F = lw.Thresholds([[0.2, 0.5, 0.8]])
    >>> lw.AdaHedge(F, k=4, alpha=0.1, T=1000).rule
    Cuts(epsilon=0.05, penalty=Scheduled(first=19.374..., growth=6.598...e-05), cap=3.0, rows=200, both_ways=False)
    >>> lw.AdaHedge(F, k=4, alpha=0.1).rule
    Cuts(epsilon=0.05, penalty=Tilted(c=0.025, floor=0.7), cap=3.0, rows=200, both_ways=False)
    >>> lw.AdaHedge(F, k=4, alpha=0.1, T=1000, penalty="growing").rule
    Scheduled(first=29.239..., growth=0.000277...)
    """

    _: KW_ONLY
    alpha: float | None = None
    penalty: float | Scheduled | Tilted | Cuts | str | None = None
    prior: str | Sequence[float] | None = None
    forget: float | None = None
    rows_last: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        enumerable(self.hypotheses, type(self).__name__)
        if self.alpha is not None:
            require_number(self.alpha, "alpha", 0, 1, open_at="low")
            require_number(self.alpha, "alpha", theory.LEAST_ALPHA, 1)
        if self.prior is not None and not isinstance(self.prior, str):
            object.__setattr__(self, "prior", tuple(float(weight) for weight in self.prior))
        if isinstance(self.penalty, str):
            require(self.penalty == "growing", "penalty", 'be a number, a rule or "growing"', self.penalty)
        if not isinstance(self.rule, (Scheduled, Tilted, Cuts)):
            fixed_penalty(self.rule)
        if self._horizonless:
            require(self.k is not None, "k", "be given without T, as Δ then starts from k", self.k)
        self._require_fitting(self.rule)
        require(self.start.rho >= 0, "prior", "be a prior", self.prior)

    def _require_fitting(self, rule: Any) -> None:
        """Whether α, the rule and what only kept reports have fit together."""
        if isinstance(rule, Tilted):
            fits = self.alpha is None or rule.c < self.alpha
            require(fits, "penalty", f"tilt by less than alpha = {self.alpha}", rule)
        if isinstance(rule, Cuts):
            require(self.alpha is not None, "alpha", "be given to a learner that keeps reports", self.alpha)
            require(rule.epsilon < (self.alpha or 0), "epsilon", f"be below alpha = {self.alpha}", rule.epsilon)
        elif self.hypotheses.size > 1:
            require(not self.forget, "forget", "be 0 unless reports are kept (`penalty` is Cuts)", self.forget)
            require(self.rows_last is None, "rows_last", "be None unless reports are kept", self.rows_last)
        if self.forget is not None:
            require_number(self.forget, "forget", 0, 1, open_at="high")
        if self.rows_last is not None:
            require_whole(self.rows_last, "rows_last")

    def leaning(self, ones: float) -> AdaHedge:
        """The same learner with a start that leans to the constant that errs less where this share of labels is 1.

        For whoever has seen labels before the play, of the people that the class was fitted on for example: the first
        rounds then err less. A prior that was chosen stays, and so does a learner that doesn't start fair.

        Examples
        --------
        >>> import likewise as lw
        >>> learner = lw.AdaHedge(lw.Thresholds([[0.2, 0.8]]), k=4, alpha=0.1)
        >>> learner.leaning(0.7).prior, learner.leaning(0.2).prior
        ('mostly 1', 'mostly 0')
        """
        require_number(ones, "ones", 0, 1)
        false_positive, false_negative = self.costs
        ahead = false_negative * ones - false_positive * (1.0 - ones)
        if self.prior is not None or not isinstance(self.rule, Cuts) or ahead == 0:
            return self
        return replace(self, prior="mostly 1" if ahead > 0 else "mostly 0")

    def with_slack(self, epsilon: float) -> AdaHedge:
        """The same learner, keeping reports with this ε and the default's penalties for it.

        Examples
        --------
        >>> import likewise as lw
        >>> learner = lw.AdaHedge(lw.Thresholds([[0.2, 0.8]]), k=4, alpha=0.4)
        >>> learner.rule.epsilon, learner.with_slack(0.2).rule.epsilon
        (0.05, 0.2)
        """
        if self.alpha is None:
            raise InvalidParameter("`alpha` must be given to AdaHedge to keep reports, got None.")
        require_number(epsilon, "epsilon", 0, self.alpha, open_at="low high")
        return replace(self, penalty=self._cuts(epsilon))

    @cached_property
    def start(self) -> Prior:
        """The prior that the learner starts from."""
        F, prior = self.hypotheses, self.prior
        if prior is None:
            prior = "fair" if isinstance(self.rule, Cuts) else "uniform"
        if not isinstance(prior, str):
            return given_prior(F, prior)
        known = f"be {', '.join(map(repr, PRIORS))} or a weight for each"
        require(prior in PRIORS, "prior", known.replace("'", '"'), prior)
        if self.alpha is None and prior in ("fair", "mostly 0", "mostly 1"):
            raise InvalidParameter("`alpha` must be given to AdaHedge for a fair start, got None.")
        return PRIORS[prior](F, self.alpha or 0.0)

    @cached_property
    def rule(self) -> float | Scheduled | Tilted | Cuts:
        """How much a report weighs: the penalty given, or the default."""
        if self.penalty is not None and not isinstance(self.penalty, str):
            return self.penalty
        if self.alpha is None:
            raise InvalidParameter("`alpha` must be given to AdaHedge unless `penalty` is, got None.")
        if self.hypotheses.size == 1:
            return 0.0
        return self._cuts(min(self.alpha / 2, MOST_SLACK)) if self.penalty is None else self._growing(self.alpha)

    def _growing(self, alpha: float) -> Scheduled | Tilted:
        """Release 1's default."""
        if self.T is None:
            return Tilted(alpha / 2, floor=0.5)
        N = self.hypotheses.size
        return Scheduled(theory.scheduled_first(self.T, self.weight, N), theory.scheduled_growth(alpha / 2, N))

    def _cuts(self, epsilon: float) -> Cuts:
        """With c = ε/2, and what the theorem lets c absorb; measured in docs/choosing.md."""
        if self.T is None:
            return Cuts(epsilon, Tilted(epsilon / 2, floor=0.7))
        rho = self._prior_of_default(self.alpha or 0.0).rho
        first = self.weight / 3 * math.sqrt(self.T / rho)
        return Cuts(epsilon, Scheduled(first, (epsilon / 2) ** 2 / (2 * theory.stretched(rho))))

    def _prior_of_default(self, alpha: float) -> Prior:
        """The prior, where the rule is not known yet."""
        if isinstance(self.prior, tuple):
            return given_prior(self.hypotheses, self.prior)
        return PRIORS.get(str(self.prior), fair_prior)(self.hypotheses, alpha)

    @property
    def least_gap(self) -> float:
        """A report of a gap that is not above this teaches nothing."""
        return float(self.alpha or 0.0) if isinstance(self.rule, Cuts) else 0.0

    @property
    def _horizonless(self) -> bool:
        """Whether Δ starts from k."""
        return isinstance(self.rule, Tilted) or (isinstance(self.rule, Cuts) and self.rule.horizonless)

    @cached_property
    def _rho(self) -> float:
        return self.start.rho

    @cached_property
    def forgets(self) -> float:
        """The share of the prior that is mixed in over a whole play."""
        return 0.0 if not isinstance(self.rule, Cuts) else FORGET if self.forget is None else float(self.forget)

    def share(self, t: int) -> float:
        """σ_t, the share that is mixed in after round t: in every tenth round, for all ten."""
        return SHARED * self.forgets / (t if self.T is None else self.T) if t % SHARED == 0 else 0.0

    def init(self) -> AdaHedgeState | KeptState:
        """No losses; Δ_0 = 0, or k for penalties that need no horizon."""
        blank, start = self.blank(), self._start
        return blank._replace(delta=start, weights=self._weights(blank.losses, start))

    def blank(self) -> AdaHedgeState | KeptState:
        """No losses and no weights: the types and lengths of a state's parts, without any work."""
        losses, weights = np.zeros(self.hypotheses.geometry.dim), np.zeros(self.hypotheses.geometry.dim)
        if not isinstance(self.rule, Cuts):
            return AdaHedgeState(0, 0, losses, 0.0, weights)
        none = KeptReports.none(self.hypotheses)
        return KeptState(0, 0, losses, 0.0, weights, 0.0, 0.0, np.zeros(2), *none)

    def act(self, state: AdaHedgeState | KeptState, key: Key) -> Mixture:
        """The weights of the state."""
        return Mixture(self.hypotheses, state.weights)

    def update(self, state: Any, round: Round) -> Any:
        """Add the round's losses, and its mix gap to Δ; set the prices of kept reports; then the next weights."""
        return self.learn(state, round, self._labels(round))

    def learn(self, state: Any, round: Round, labels: Floats) -> Any:
        """As ``update``, with the label part of the signed weights given: that of the labels, or an estimate of it."""
        rule = self.rule
        if isinstance(rule, Cuts):
            return self._updated(rule, state, round, labels)
        reported = bool(round.reports)
        s = penalised(labels, round.reports, self.penalty_at(state) if reported else 0.0)
        losses = self.hypotheses.added(state.losses, round.batch.rows, s)
        delta = self._charged(state, round, s, losses)
        if reported and isinstance(rule, Tilted) and self._rho > 0:
            delta = max(delta, rule.raised(state.delta, self._rho))
        return AdaHedgeState(state.rounds + 1, state.reports + reported, losses, delta, self._weights(losses, delta))

    def _charged(self, state: Any, round: Round, s: Floats, after: Floats) -> float:
        """Δ with the mix gap of a round whose people weigh s."""
        if self._rho == 0:
            return float(state.delta)
        F, rows, p = self.hypotheses, round.batch.rows, round.own
        prior = () if self.start.uniform else (self.start.offset,)
        return float(
            state.delta + F.mix_gap(state.weights, state.losses, after, rows, s, p, self._rate(state.delta), *prior)
        )

    def _updated(self, rule: Cuts, state: KeptState, round: Round, labels: Floats) -> KeptState:
        """Charge Δ for errors and penalties, keep the reports, set the prices, forget a little: in this order."""
        F, t, rows = self.hypotheses, state.rounds + 1, round.batch.rows
        reports = self._accepted(round) if round.reports else []
        C = self.penalty_at(state) if reports else 0.0
        s = penalised(labels, reports, C)
        losses = F.added(state.losses, rows, s)
        delta = self._charged(state, round, s, losses)
        if reports:
            delta = max(delta, rule.raised(state.delta, self._rho))
            losses = F.added(state.losses, rows, labels)
        kept = self._kept(rule, state, round, reports, C)
        frozen = state.frozen
        fresh = len(kept.gaps) - len(state.gaps)
        if reports:
            kept, more = kept.shortened(rule.rows, fresh)
            frozen = frozen + more
        losses, terms = self._faded(kept, losses, t)
        eta = self._rate(delta)
        share = self.share(t) if delta > 0 else 0.0
        sweeps = SWEEPS if reports else 1 if t % self._upkeep(eta) == 0 else 0
        tolerance = TOLERANCE * rule.epsilon
        after = settled(F, self.start, losses, eta, kept.contrasts, terms, fresh, sweeps, tolerance, share)
        shared = state.shared - log1p(-share) * self._copies / eta if share > 0 else state.shared
        kept = kept if after.terms is kept.terms else kept._replace(terms=after.terms)
        return KeptState(
            t, state.reports + bool(reports), after.losses, delta, after.weights, state.ground + after.ground, shared,
            frozen, *kept,
        )  # fmt: skip

    @cached_property
    def _still(self) -> float:
        """m η for the most rounds m in which no gap can move by more than ``DRIFT`` ε.

        A round of losses ℓ moves p·D by −η Cov_p(ℓ, D); ℓ has a range of at most k, and D one of 2: η k/2 a round.
        """
        rule = self.rule
        return 2 * DRIFT * rule.epsilon / self.weight if isinstance(rule, Cuts) and self.k is not None else 0.0

    def _upkeep(self, eta: float) -> int:
        """Prices are set every so many rounds."""
        return max(1, int(min(UPKEEP, self._still / eta)))

    def _accepted(self, round: Round) -> list[Report]:
        """Reports of a gap above alpha: any other could exclude the constants, and proves nothing."""
        p, level = round.probabilities, self.least_gap
        return [report for report in round.reports if p[report.favoured] - p[report.disfavoured] > level]

    def _kept(self, rule: Cuts, state: KeptState, round: Round, reports: list[Report], C: float) -> KeptReports:
        """The rows, with those of this round at the end; one that contradicts earlier answers gets no cut."""
        kept, p = state.kept.seen_fine(round, both_ways=rule.both_ways), round.probabilities
        if not reports:
            return kept
        for contrast, report in in_order(self.hypotheses, round, reports):
            gap, people = float(p[report.favoured] - p[report.disfavoured]), who(round, report)
            slope, steep = C / len(reports), gap - rule.epsilon
            cap = rule.ceiling(slope, state.delta / len(reports), self._rho, kept.repeated(contrast))
            contradicted = kept.contradicted(people, gap, both_ways=rule.both_ways)
            terms = (0.0, slope, slope if contradicted else cap, min(self.alpha or 0.0, steep), steep)
            kept = kept.joined(contrast, people, gap, terms, state.rounds + 1)
            if rule.both_ways and not contradicted:
                back = self.hypotheses.contrast(round.batch.rows[[report.disfavoured, report.favoured]])
                kept = kept.joined(back, people[::-1], gap, (0.0, 0.0, cap, steep, steep), state.rounds + 1, MIRRORED)
        return kept

    def _faded(self, kept: KeptReports, losses: Floats, t: int) -> tuple[Floats, Floats]:
        """Losses and terms after the caps of old rows were halved, if rows don't last."""
        if self.rows_last is None or len(kept.gaps) == 0:
            return losses, kept.terms
        terms = kept.terms.copy()
        due = np.flatnonzero((t > kept.made) & ((t - kept.made) % self.rows_last == 0))
        terms[due, 2] /= 2
        terms[due, 1] = np.minimum(terms[due, 1], terms[due, 2])
        for j in due[terms[due, 0] > terms[due, 2]]:
            losses = self.hypotheses.tilted(losses, kept.contrasts[j], float(terms[j, 2] - terms[j, 0]))
            terms[j, 0] = terms[j, 2]
        return losses, terms

    @cached_property
    def _copies(self) -> int:
        """How often a share is paid for: cells have one each."""
        geometry = self.hypotheses.geometry
        return geometry.dim if isinstance(geometry, Cube) else 1

    def _rate(self, delta: float) -> float:
        """η = ρ/Δ; infinite while Δ = 0, when everything is tied."""
        return self._rho / delta if delta > 0 else math.inf

    def _weights(self, losses: Floats, delta: float) -> Floats:
        """p ∝ w exp(−(ρ/Δ) L); while Δ = 0 everything is tied and the leaders share the weight."""
        return prior_weights(self.hypotheses, self.start, losses, self._rate(delta))

    def compiled(self) -> tuple[Any, ...] | None:
        """Which compiled loop plays this learner, and its parameters; None where only the readable loop does."""
        rule = self.rule
        if isinstance(rule, Cuts):
            readable_only = self.rows_last is not None or rule.both_ways
            return None if readable_only else ("KEPT", self._knobs(rule), self.start)
        if not self.start.uniform:
            return None
        if isinstance(rule, Scheduled):
            return "ADAHEDGE_SCHEDULED", (rule.first, rule.growth)
        if isinstance(rule, Tilted):
            return "ADAHEDGE_TILTED", (rule.c, rule.floor, self.weight)
        return "ADAHEDGE_FIXED", (float(rule),)

    def _knobs(self, rule: Cuts) -> tuple[float, ...]:
        """The parameters in the order of ``likewise.kernels.kept``."""
        penalty, weight = rule.penalty, self.weight if rule.horizonless else 0.0
        if isinstance(penalty, Scheduled):
            grows = (kernels.CUTS_SCHEDULED, penalty.first, penalty.growth)
        elif isinstance(penalty, Tilted):
            grows = (kernels.CUTS_TILTED, penalty.c, penalty.floor)
        else:
            grows = (kernels.CUTS_ALONE, rule.epsilon / math.sqrt(2), 0.0)
        rest = (
            self.alpha or 0.0,
            self.forgets,
            self.T or 0,
            self._rho,
            TOLERANCE * rule.epsilon,
            SWEEPS,
            UPKEEP,
            SHARED,
        )
        return *grows, weight, rule.epsilon, rule.cap, rule.rows, *rest, self._still

    def penalty_at(self, state: AdaHedgeState | KeptState) -> float:
        """C_t, from the number of reports (scheduled) or from Δ (tilted)."""
        rule = self.rule
        if isinstance(rule, Scheduled):
            return rule.at(state.reports)
        if isinstance(rule, (Tilted, Cuts)) and self._rho == 0:
            return 0.0
        if isinstance(rule, Tilted):
            return rule.at(state.rounds + 1, state.delta, self.weight, self._rho)
        if isinstance(rule, Cuts):
            weight = self.weight if rule.horizonless else 0.0
            return rule.at(state.reports, state.rounds + 1, state.delta, weight, self._rho)
        return float(rule)

    @property
    def bound_survives_delay(self) -> bool:
        """True, unless reports are kept: 2Δ_T − Δ_0 counts what was deployed, whenever it is learned.

        The mix losses m_t are those of the weights in the order of learning, so Σ m_t ≤ min_f L_f + Δ_{T−1} whatever
        was deployed. Δ grows in each round by at least h_t − m_t, with h_t = Σ_i s_i π^t(x_i) of the policy that *was*
        deployed. Adding up, Σ h_t − min_f L_f ≤ 2Δ_T − Δ_0. How large Δ becomes under delay, nobody promises. For kept
        reports ``regret_limit`` stands instead.
        """
        return not isinstance(self.rule, Cuts)

    def bound(self, alpha: float, T: int | None = None) -> theory.Bound | None:
        """Theorem A, 1, 2, C1 or C2, by the rule. They hold at every number of rounds; k must be known."""
        require_number(alpha, "alpha", 0, 1, open_at="low")
        if (alone := self._bound_alone()) is not None:
            return alone
        T = self._rounds(T)
        if isinstance(self.rule, Cuts):
            return self._bound_kept(self.rule, alpha, T)
        return self._bound_growing(self.rule, alpha, T) if self.start.uniform else None

    def _bound_growing(self, rule: float | Scheduled | Tilted, alpha: float, T: int) -> theory.Bound:
        k, N = self.weight, self.hypotheses.size
        if isinstance(rule, Scheduled):
            return theory.scheduled(T, k, rule.first, rule.growth, N, alpha, self.kappa)
        if isinstance(rule, Tilted):
            return theory.tilted(T, k, rule.c, rule.floor, N, alpha, self.kappa)
        return theory.adahedge_fixed(T, k, rule, N, alpha, self.kappa)

    def _bound_kept(self, rule: Cuts, alpha: float, T: int) -> theory.Bound | None:
        """Theorem C1 or C2. Reports below the learner's own alpha are not kept, so none limits violations there."""
        if self.rows_last is not None:
            return None
        horizon = T if self.T is None else self.T
        forgotten = self._copies * theory.forgotten_share(horizon, self.forgets, known=self.T is not None)
        k, rho, epsilon, penalty = self.weight, self._rho, rule.epsilon, rule.penalty
        if isinstance(penalty, Scheduled):
            bound = theory.cuts_scheduled(T, k, penalty.first, penalty.growth, rho, epsilon, self.kappa, forgotten)
        elif isinstance(penalty, Tilted):
            bound = theory.cuts_tilted(T, k, penalty.c, penalty.floor, rho, epsilon, self.kappa, forgotten)
        else:
            bound = theory.cuts_alone(T, k, self._start, rho, epsilon, self.kappa, forgotten)
        return bound if alpha >= (self.alpha or 0) else bound._replace(violations=float(T))

    def observed_bound(self, state: AdaHedgeState | KeptState) -> float | None:
        """2Δ_T − Δ_0: proved for every play, whatever the other roles do.

        None where reports are kept: their prices change, so that no sum of fixed penalties is what this learner keeps
        small. ``regret_limit`` and ``behind_constant`` say what is proved.
        """
        return None if isinstance(self.rule, Cuts) else 2 * state.delta - self._start

    def regret_limit(self, state: KeptState, error: float) -> float:
        """The most by which an error exceeds that of any policy of Q_{α−ε}, from what was observed (Lemma 3).

        ``error`` is Σ_t Σ_i s_i π^t(x_i) with the label weights s of every round learned, for the probabilities that
        were shown: errors less those of always saying 0. Assumes truthful reports; survives delay.
        """
        rule = self.rule
        if not isinstance(rule, Cuts):
            raise InvalidParameter(f"`penalty` must be Cuts for a limit from kept reports, got {rule!r}.")
        return regret_limit(self.hypotheses, state, error, rule.epsilon)

    def behind_constant(self, state: AdaHedgeState | KeptState) -> float | None:
        """The most by which the play errs more than the best constant, whatever the auditor does; None if unproved.

        The safety corollary for kept reports. Rounds must be learned in time: with delay it is not proved.
        """
        entropy = self.start.constants
        if not isinstance(state, KeptState) or entropy is None or self.rows_last is not None or self._rho == 0:
            return None
        return theory.behind_constant(state.delta, self._start, self._rho, entropy, state.shared)

    @property
    def _start(self) -> float:
        """Δ_0."""
        return self.weight if self._horizonless else 0.0


@dataclass(frozen=True)
class Unconstrained(AdaHedge):
    """AdaHedge with C = 0: learns from labels alone and never hears the auditor. The baseline.

    Examples
    --------
    >>> import likewise as lw
    >>> lw.Unconstrained(lw.Thresholds([[0.5]])).rule
    0.0
    """

    _: KW_ONLY
    penalty: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        require(self.penalty == 0, "penalty", "be 0: this learner never hears the auditor", self.penalty)
