"""A finished policy as a scikit-learn classifier, for the tools that people already have."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin

from likewise.errors import require_number
from likewise.protocol import Floats
from likewise.scoring.finished import FinishedPolicy


class PolicyClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """Gives ``predict_proba`` of a policy that has finished learning.

    ``fit`` changes nothing and a clone holds the same policy, as with scikit-learn's ``FrozenEstimator``: in
    ``cross_val_score`` the same policy is evaluated on every fold.

    Parameters
    ----------
    policy
        The policy.
    threshold
        ``predict`` says 1 from this probability on. That is not how the policy was meant to decide: it treats two
        people on either side of the threshold as differently as can be. ``policy.decide(X, ids, secret)`` keeps the
        probabilities.

    Examples
    --------
    >>> from likewise import Mixture, Thresholds
    >>> policy = FinishedPolicy(Mixture(Thresholds([[0.5]]), np.array([0.0, 0.25, 0.75, 0.0])))
    >>> policy.classifier().predict_proba([[0.4], [0.6]]).tolist()
    [[0.75, 0.25], [0.0, 1.0]]
    """

    def __init__(self, policy: FinishedPolicy, threshold: float = 0.5) -> None:
        self.policy = policy
        self.threshold = threshold

    @property
    def classes_(self) -> NDArray[np.int64]:
        """0 and 1."""
        return np.array([0, 1])

    @property
    def n_features_in_(self) -> int:
        """How many columns a table of people has."""
        columns = self.policy.columns
        if columns is None:
            raise AttributeError("This policy does not know how many columns a table of people has.")
        return len(columns)

    @property
    def feature_names_in_(self) -> NDArray[Any]:
        """Their names."""
        columns = self.policy.columns
        if columns is None:
            raise AttributeError("This policy does not know the columns of a table of people.")
        return np.array(columns, dtype=object)

    def fit(self, X: Any, y: Any = None) -> PolicyClassifier:
        """Nothing: the policy has finished learning."""
        return self

    def predict_proba(self, X: Any) -> Floats:
        """(people, 2): the probabilities of 0 and of 1."""
        probabilities = self.policy.probability(X)
        return np.column_stack([1.0 - probabilities, probabilities])

    def predict(self, X: Any) -> NDArray[np.int64]:
        """1 where the probability reaches the threshold."""
        require_number(self.threshold, "threshold", 0, 1)
        return (self.policy.probability(X) >= self.threshold).astype(np.int64)

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def __sklearn_clone__(self) -> PolicyClassifier:
        return PolicyClassifier(self.policy, self.threshold)
