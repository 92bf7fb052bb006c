"""The public conformance suite: what a class, a learner, an auditor or an environment promises, checked on yours.

Everything in Likewise is run through these checks in our own tests; run them on what you bring:

>>> import likewise as lw, numpy as np
>>> X = np.random.default_rng(0).normal(size=(60, 2))
>>> F = lw.Thresholds.quantiles(X, cuts=4)
>>> lw.checks.check_hypothesis_class(F, X)
['encode', 'losses', 'predictions', 'probability', 'mix gap', 'shrunk', 'minimisers', 'contrast', 'constants',
 'separator', 'to_dict']

Each check raises ``likewise.errors.CheckFailed`` with one sentence. The names of those that ran and passed come back. A
check that finds nothing to check (no separator, a class too large to list, no report) is not among them.
"""

from likewise.checks.auditor_promises import check_auditor
from likewise.checks.class_promises import check_hypothesis_class
from likewise.checks.environment_promises import check_environment
from likewise.checks.learner_promises import check_learner

__all__ = ["check_auditor", "check_environment", "check_hypothesis_class", "check_learner"]
