"""The picture of a certificate."""

from __future__ import annotations

from typing import TYPE_CHECKING

from likewise.certificates import Certificate
from likewise.drawing import captioned

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def certificate_curve(certificate: Certificate) -> Figure:
    """What is proved of a play: left against stricter and stricter policies, right for people not yet seen.

    Left, a value below 0 says that every policy as strict as that made more errors than the play did. Right, a point
    (α', β) says that two random people differ by more than their distance plus α' with a chance of at most β; a
    dot marks where both are smallest together.
    """
    return captioned(certificate.plot(), _caption(certificate))


def _caption(c: Certificate) -> str:
    first, last = c.regret[0].best, c.regret[-1].best
    if c.regret[0].by_lagrangian is None:
        left = "Left, nothing can be proved of the errors, as the class is reached only by fitting."
    else:
        left = (
            "Left, how many errors a fixed policy could have saved at most, from one as lenient as the reviewer (ε = 0:"
            f" {first:,.1f}) to one that keeps every pair within its distance (ε = {c.alpha:g}: {last:,.1f}); below 0, "
            "it would have made more."
        )
    if not c.fairness:
        return f"{left} Right, nothing can be claimed about new people, as an assumption is broken."
    best = c.fairness[0]
    return (
        f"{left} Right, for the average policy and two new people, the chance of being more than α' beyond their "
        f"distance; the dot of the sharpest limit is at α' = {best.alpha:.3f}, {min(1.0, best.beta):.1%}."
    )
