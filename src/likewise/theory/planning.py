"""Before the first round: how long, how strict, how many pairs to look at."""

from __future__ import annotations

import math
from typing import NamedTuple

from likewise.errors import InvalidParameter, require_number
from likewise.theory.generalisation import holdout
from likewise.theory.ranges import two_hypotheses, within
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
        What the theorem promises then, its error regret at most the trivial k·T.
    """

    T: int
    penalty: float
    growth: float
    bound: Bound


LONGEST = 10**12


def plan(
    alpha: float,
    k: float,
    N: int,
    *,
    target_violations: float | None = None,
    target_error: float | None = None,
    epsilon: float = 0.0,
    kappa: float | None = None,
) -> Plan:
    """The shortest play, within 0.1 % over a grid of penalties, for which AdaHedge is promised the targets.

    Parameters
    ----------
    alpha, k, N
        The level of violations, people a round (times the larger cost of an error), hypotheses.
    target_violations
        At most this share of rounds with a violation; any share if left out.
    target_error
        At most this much error per person beyond the best policy of Q_{α−ε}; any if left out. One of the two must be
        given.
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
    within(alpha=alpha, k=k)
    two_hypotheses(N)
    targets = {"target_violations": target_violations, "target_error": target_error}
    wanted = {name: target for name, target in targets.items() if target is not None}
    for name, target in wanted.items():
        require_number(target, name, 0, 1, open_at="low")
    if not wanted:
        raise InvalidParameter("`target_violations` or `target_error` must be given, got neither.")
    require_number(epsilon, "epsilon", 0, alpha)
    constant = k / 2 if kappa is None else kappa
    within(kappa=constant)

    def best(T: int) -> Plan | None:
        most_violations, most_error = wanted.get("target_violations", 1.0) * T, wanted.get("target_error", 1.0) * k * T
        options = [
            option
            for option in _options(T, alpha, k, N, epsilon, constant)
            if option.bound.violations <= most_violations and option.bound.error_regret <= most_error
        ]
        return min(options, key=lambda option: option.bound.violations) if options else None

    T = 1
    while best(T) is None:
        T *= 2
        if T > LONGEST:
            raise InvalidParameter(f"The targets can't be promised within {LONGEST:.0e} rounds; loosen one of them.")
    low = T // 2
    while T - low > max(1, T // 1000):
        middle = (low + T) // 2
        low, T = (low, middle) if best(middle) is not None else (middle, T)
    shortest = best(T)
    assert shortest is not None
    return shortest


def _options(T: int, alpha: float, k: float, N: int, epsilon: float, kappa: float) -> list[Plan]:
    """Fixed penalties k·T^x, and scheduled ones from T^x where the slack allows, on a grid of x from −1 to 1."""
    options = []
    for step in range(-40, 41):
        first = math.pow(T, step / 40)
        options.append(Plan(T, k * first, 0.0, adahedge_fixed(T, k, k * first, N, alpha, kappa)))
        if epsilon > 0:
            for share in (0.25, 0.5, 0.75):
                c = share * epsilon
                growth = scheduled_growth(c, N)
                bound = scheduled(T, k, first, growth, N, alpha, kappa, z=0.999 * min(epsilon - c, alpha - c))
                options.append(Plan(T, first, growth, bound))
    return [option._replace(bound=_capped(option.bound, k * T)) for option in options]


def _capped(bound: Bound, most: float) -> Bound:
    return bound._replace(error_regret=min(bound.error_regret, most))


def pairs_needed(beta: float, delta: float = 0.05, flagged: int = 0) -> int:
    """How many independent random pairs must be reviewed, with at most ``flagged`` of them unfair, to certify β.

    Examples
    --------
    >>> pairs_needed(0.01), pairs_needed(0.01, flagged=3)
    (299, 773)
    """
    require_number(beta, "beta", 0, 1, open_at="low high")
    within(flagged=flagged, delta=delta)
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
