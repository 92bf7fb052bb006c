"""What follows from what was observed, whoever plays the three roles: in numbers, or in arrays after each round."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

Amount = TypeVar("Amount", float, NDArray[np.float64])


def constant_error(zeros: Amount, ones: Amount, costs: tuple[float, float], constants: Sequence[int]) -> Amount:
    """min over the constant hypotheses of a class of Σ Err: saying 0 errs on every 1, saying 1 on every 0.

    Examples
    --------
    >>> float(constant_error(30, 70, (1.0, 1.0), constants=(0, 1))), float(constant_error(30, 70, (1.0, 1.0), (0,)))
    (30.0, 70.0)
    """
    false_positive, false_negative = costs
    errors = {0: false_negative * ones, 1: false_positive * zeros}
    least: Amount = np.min([errors[value] for value in constants], axis=0)
    return least


def violations_limit(regret: Amount, constant: Amount, error: Amount, level: float, weight: Amount) -> Amount:
    """The most rounds with a report: level · Σ C ≤ Σ C · gap ≤ LagrangianRegret + Err(best constant) − Err.

    Every constant hypothesis treats all people alike, so no report charges it anything; and each reported gap, or the
    mean gap of a round with several, is above ``level``. ``weight`` is what the reports of a round weighed on average.

    Examples
    --------
    >>> float(violations_limit(regret=50.0, constant=120.0, error=90.0, level=0.1, weight=20.0))
    40.0
    """
    most: Amount = np.maximum(0.0, regret + constant - error) / (level * weight)
    return most
