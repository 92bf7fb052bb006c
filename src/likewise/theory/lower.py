"""What no learner can do."""

from __future__ import annotations

import math

from likewise.errors import require, require_number
from likewise.theory.ranges import two_hypotheses, within
from likewise.theory.regret import log_size


def _level(alpha: float) -> None:
    require_number(alpha, "alpha", 0, 0.25, open_at="low")


def _rich(N: int, epsilon: float) -> None:
    least = -12 * math.log(epsilon)
    require(log_size(N) >= least, "N", f"be at least epsilon^-12 = e^{least:.1f} (epsilon = {epsilon:.3g})", N)


def violations_needed(N: int, epsilon: float, alpha: float) -> float:
    """Theorem 4: any learner with o(T) error regret against Q_{α−ε} suffers V ≥ ⌊ln N/(67ε²)⌋/17 violations.

    For every learner there is an adversary (k = 4, sees p^t, the distance changes by round) with error regret
    ≥ (ε/2)(T − n), n = ⌊ln N/(67ε²)⌋, or at least n/17 violations. Needs α ≤ ¼, ε ≤ α/3 and N ≥ ε^−12.
    """
    within(N=N)
    _level(alpha)
    require_number(epsilon, "epsilon", 0, alpha / 3, open_at="low")
    _rich(N, epsilon)
    return math.floor(log_size(N) / (67 * epsilon**2)) / 17


def error_regret_needed(violations: float, T: int, N: int, alpha: float) -> float:
    """Corollary of Theorem 4: a learner that never has more than V violations has at least this error regret.

    Against Q_α, with some adversary of the theorem (k = 4). Take the largest ε with ⌊ln N/(67ε²)⌋ > 17V, that is
    ε = min(α/3, √(ln N/(67m))) with m = ⌊17V⌋ + 1: then V < n/17 leaves only error regret ≥ (ε/2)(T − n), against
    Q_{α−ε} and so against the larger Q_α. For 1 ≪ V ≪ T this reads V · regret² ≥ T² ln N/4556: T^⅔ for both is optimal
    up to logarithms. Needs α ≤ ¼ and N ≥ ε^−12, so N at least polynomial in V; it is 0 where T ≤ n.

    Examples
    --------
    >>> needed = error_regret_needed(1000, T=10**6, N=10**30, alpha=0.25)
    >>> round(needed), round(1000 * needed**2 / (1e12 * math.log(10**30) / 4556), 2)
    (3828, 0.97)
    """
    within(violations=violations, T=T)
    two_hypotheses(N)
    _level(alpha)
    fewest = math.floor(17 * violations) + 1
    epsilon = alpha / 3
    if log_size(N) < 67 * fewest * epsilon**2:
        epsilon = math.sqrt(log_size(N) / (67 * fewest))
    _rich(N, epsilon)
    n = max(fewest, math.floor(log_size(N) / (67 * epsilon**2)))
    return max(0.0, epsilon / 2 * (T - n))
