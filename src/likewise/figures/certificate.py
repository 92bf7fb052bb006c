"""The picture of a certificate."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from likewise.certificates import Certificate, Generalisation
from likewise.drawing import captioned
from likewise.wording import at_most

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def certificate_curve(certificate: Certificate) -> Figure:
    """What is proved of a play: left against stricter and stricter policies, right for people not yet seen.

    Left, a value below 0 says that every policy as strict as that made more errors than the play did. Right, a point
    (α', β) says that two random people differ by more than their distance plus α' with a probability of at most β; a
    dot marks where both are smallest together.
    """
    return captioned(certificate.plot(), _caption(certificate))


def _caption(c: Certificate) -> str:
    left = "Left, nothing can be proved of the errors, as the class is reached only by fitting."
    if math.isfinite(c.regret[0].best):
        left = (
            "Left, the most that a fixed policy could have saved, in errors: "
            f"{_signed(c.regret[0].best)} for one that is as lenient as the reviewer (ε = 0), and "
            f"{_signed(c.regret[-1].best)} for one that keeps every pair within its distance (ε = {c.alpha:g}); below "
            "0, it would have made more."
        )
    if not c.fairness and c.redraw is not None and c.redraw.fairness:
        return (
            f"{left} Right, nothing about new people, but about another draw from these {c.redraw.rows:,} rows: "
            f"{_right(c.redraw.fairness[0], 'draws')}"
        )
    if not c.fairness:
        return f"{left} Right, nothing can be claimed about new people, as an assumption is broken."
    return f"{left} Right, {_right(c.fairness[0], 'new people')}"


def _right(best: Generalisation, who: str) -> str:
    return (
        f"the probability that the average policy puts two {who} further apart than their distance plus α', at most: "
        f"{at_most(100 * min(1.0, best.beta), 1)}% at α' = {at_most(best.alpha, 3)} by the sharpest limit (its dot)."
    )


def _signed(regret: float) -> str:
    return at_most(regret, 1).replace("-", "−")
