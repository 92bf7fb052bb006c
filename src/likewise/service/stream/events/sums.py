"""What a round that is learned, or a label that comes late, adds to the sums of a stream.

Where only the labels of accepted people come, errors are estimated: somebody who was accepted with the probability π̃
and has a label stands for 1/π̃ people (Horvitz and Thompson). The charges are of the losses that the learner was fed.
"""

from __future__ import annotations

import numpy as np

from likewise.protocol import Estimate, Floats, Round
from likewise.reduction import base_error, estimated_weights, label_weights, penalised


def sums(seen: Round, penalty: float, costs: tuple[float, float]) -> dict[str, float]:
    """Errors, charges and weighed labels of a round."""
    y, p, weight = seen.batch.y, seen.probabilities, seen.batch.weight
    if seen.estimate is None:
        labels = label_weights(y, costs, weight)  # for `error` and `signed_weights` alike
        errors = base_error(y, costs, weight) + float(labels @ p)
        return {"errors": errors, "charged": float(penalised(labels, seen.reports, penalty) @ p)}
    labels = estimated_weights(y, np.asarray(seen.decisions), p, seen.estimate, costs, weight)
    charged = float(penalised(labels, seen.reports, penalty) @ seen.own)
    return {"charged": charged, "estimated": float(labels @ seen.own)} | _weighed(y, p, costs)


def late_sums(y: Floats, p: Floats, estimate: Estimate, costs: tuple[float, float]) -> dict[str, float]:
    """The same of labels that came late, of people who were accepted with probabilities ``p``."""
    own = (p - estimate.floor) / (1.0 - estimate.floor)
    labels = (label_weights(y, costs) - estimate.doubt) / (p + estimate.slack)
    charged = float(labels @ own)
    return {"charged": charged, "estimated": charged} | _weighed(y, p, costs)


def _weighed(y: Floats, p: Floats, costs: tuple[float, float]) -> dict[str, float]:
    """Estimated errors, and how many people with each label there are, by those that were seen."""
    known = y == y
    y, p = y[known], p[known]
    wrong = np.where(y == 1.0, costs[1] * (1.0 - p), costs[0] * p)
    return {
        "errors": float((wrong / p).sum()),
        "zeros_weighed": float((1.0 / p[y == 0.0]).sum()),
        "ones_weighed": float((1.0 / p[y == 1.0]).sum()),
    }
