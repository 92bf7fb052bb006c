"""Before the first round: how long, how strict, how many pairs to look at."""

from __future__ import annotations

import math
from typing import NamedTuple

from likewise.errors import InvalidParameter, require
from likewise.theory.generalisation import holdout
from likewise.theory.regret import Bound, adahedge_fixed, scheduled, scheduled_growth


class Plan(NamedTuple):
    """A horizon and a first penalty with which the theorems keep the targets.

    Attributes
    ----------
    T
        Rounds.
    penalty
        C, or the first penalty C_1 if ``growth`` is positive.
    growth
        0 for a fixed penalty (``AdaHedge(penalty=C)``), g for ``Scheduled(C_1, g)``.
    bound
        What the theorem promises then.
    """

    T: int
    penalty: float
    growth: float
    bound: Bound


LONGEST = 10**12


def plan(
    alpha: float,
    k: int,
    N: int,
    *,
    target_violations: float = 1.0,
    target_error: float = 1.0,
    epsilon: float = 0.0,
    kappa: float | None = None,
) -> Plan:
    """The shortest play for which AdaHedge is promised both targets.

    Parameters
    ----------
    alpha, k, N
        The level of violations, people a round, hypotheses.
    target_violations
        At most this share of rounds with a violation.
    target_error
        At most this much error per person beyond the best policy of Q_{α−ε}.
    epsilon
        With slack ε > 0, growing penalties (Theorem 1) may be planned beside fixed ones (Theorem A).
    kappa
        What a constant policy loses in a round; k/2 by default (both constants).

    Examples
    --------
    >>> p = plan(0.1, k=6, N=146, target_violations=0.05, target_error=0.05)
    >>> p.bound.violations <= 0.05 * p.T, p.bound.error_regret <= 0.05 * 6 * p.T
    (True, True)
    """
    require(0 < alpha <= 1, "alpha", "be in (0, 1]", alpha)
    require(0 < target_violations <= 1, "target_violations", "be in (0, 1]", target_violations)
    require(0 < target_error <= 1, "target_error", "be in (0, 1]", target_error)
    require(0 <= epsilon <= alpha, "epsilon", f"be in [0, alpha] = [0, {alpha:g}]", epsilon)
    require(k >= 1 and N >= 2, "k and N", "be at least 1 and 2", (k, N))
    constant = k / 2 if kappa is None else kappa

    def best(T: int) -> Plan | None:
        options = [
            p for p in _options(T, alpha, k, N, epsilon, constant) if _kept(p, k, target_violations, target_error)
        ]
        return min(options, key=lambda p: p.bound.violations) if options else None

    T = 1
    while best(T) is None:
        T *= 2
        if T > LONGEST:
            raise InvalidParameter(f"The targets can't be promised within {LONGEST:.0e} rounds; loosen one of them.")
    low = T // 2
    while T - low > max(1, T // 1000):
        middle = (low + T) // 2
        low, T = (low, middle) if best(middle) is not None else (middle, T)
    found = best(T)
    assert found is not None
    return found


def _kept(p: Plan, k: int, violations: float, error: float) -> bool:
    return p.bound.violations <= violations * p.T and p.bound.error_regret <= error * k * p.T


def _options(T: int, alpha: float, k: int, N: int, epsilon: float, kappa: float) -> list[Plan]:
    """Fixed penalties T^c, and scheduled ones where the slack allows, on a grid of c."""
    options = []
    for step in range(-40, 41):
        C = k * math.pow(T, step / 40)
        options.append(Plan(T, C, 0.0, adahedge_fixed(T, k, C, N, alpha, kappa)))
        if epsilon > 0:
            for share in (0.25, 0.5, 0.75):
                c = share * epsilon
                growth = scheduled_growth(c, N)
                bound = scheduled(T, k, C / k, growth, N, alpha, kappa, z=0.999 * min(epsilon - c, alpha - c))
                options.append(Plan(T, C / k, growth, bound))
    return options


def pairs_needed(beta: float, delta: float = 0.05, flagged: int = 0) -> int:
    """How many independent random pairs must be judged, with at most ``flagged`` of them unfair, to certify β.

    Examples
    --------
    >>> pairs_needed(0.01), pairs_needed(0.01, flagged=3)
    (299, 773)
    """
    require(0 < beta < 1, "beta", "be in (0, 1)", beta)
    require(flagged >= 0, "flagged", "be at least 0", flagged)
    high = flagged + 1
    while holdout(flagged, high, delta) > beta:
        high *= 2
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        if middle > flagged and holdout(flagged, middle, delta) <= beta:
            high = middle
        else:
            low = middle
    return high
