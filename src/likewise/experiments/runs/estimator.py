"""``likewise.fit`` in the form of a scikit-learn classifier, for pipelines, searches and cross-validation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_is_fitted, validate_data

from likewise.certificates import Certificate
from likewise.datasets import SHARES
from likewise.errors import InvalidParameter, require
from likewise.experiments.runs.fit import fit
from likewise.experiments.runs.settings import ROUNDS
from likewise.protocol import Floats

LABEL = "label of the classifier"
"""The column that labels are put into; nobody else's column is called so."""


class LikewiseClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """Learns who is decided how from labels, and from a reviewer who minds people alike being treated differently.

    ``fit`` splits people in three, as ``likewise.fit`` does: to make a class of hypotheses, to play, and to hold out.
    On those held out it chooses what to deploy: what was learned only if it is shown there to err less than one answer
    for everybody. Below about a hundred held-out people that is hardly ever so, and everybody gets the same answer.

    Parameters
    ----------
    compare_by
        The columns that may justify a difference, by name, or by position in an array; None for all.
    sensitive
        The columns that must not.
    alpha, rounds, k, split, hypotheses, cuts, costs, delta
        As ``likewise.fit`` takes them. Fewer people play in a round where there are not enough.
    deploy
        "chosen" on held-out people, or "learned": the average of all rounds, of which nothing is claimed.
    random_state
        A whole number: the seed of every random number.

    Attributes
    ----------
    run_
        Everything that ``likewise.fit`` gives: the transcript, the scoreboard, reasons, ``save`` and ``report``.
    classes_
        The two labels; the second is the yes.

    Examples
    --------
    >>> import likewise as lw
    >>> data = lw.datasets.synthetic(600)
    >>> model = lw.LikewiseClassifier(compare_by=["skill"], rounds=50, hypotheses="thresholds")
    >>> model.fit(data.people, data.y).predict_proba(data.people[:2]).shape
    (2, 2)
    """

    def __init__(
        self,
        compare_by: Sequence[Any] | None = None,
        *,
        sensitive: Sequence[Any] = (),
        alpha: float = 0.1,
        rounds: int = ROUNDS,
        k: int = 6,
        split: Sequence[float] = SHARES,
        hypotheses: str = "suggested",
        cuts: int | None = None,
        costs: tuple[float, float] = (1.0, 1.0),
        delta: float = 0.05,
        deploy: str = "chosen",
        random_state: int = 0,
    ) -> None:
        self.compare_by = compare_by
        self.sensitive = sensitive
        self.alpha = alpha
        self.rounds = rounds
        self.k = k
        self.split = split
        self.hypotheses = hypotheses
        self.cuts = cuts
        self.costs = costs
        self.delta = delta
        self.deploy = deploy
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> LikewiseClassifier:
        """Play, and choose what to deploy."""
        require(self.deploy in ("chosen", "learned"), "deploy", "be chosen or learned", self.deploy)
        people, y = self._people(X, y=y)
        labels = self._labels(y)
        names = list(people.columns)
        by = names if self.compare_by is None else [self._name(column, names) for column in self.compare_by]
        self.run_ = fit(
            people.assign(**{LABEL: labels}), label=LABEL, compare_by=by,
            sensitive=[self._name(column, names) for column in self.sensitive], ids="each-row", alpha=self.alpha,
            rounds=self.rounds, k=self._in_a_round(len(people)), split=self.split, hypotheses=self.hypotheses,
            cuts=self.cuts, costs=self.costs, seed=0 if self.random_state is None else self.random_state,
            delta=self.delta,
        )  # fmt: skip
        return self

    @property
    def certificate_(self) -> Certificate:
        """What is proved, with its assumptions; ``print`` it."""
        check_is_fitted(self)
        certificate: Certificate = self.run_.certificate
        return certificate

    def predict_proba(self, X: Any) -> Floats:
        """(people, 2): the probabilities of the two classes."""
        check_is_fitted(self)
        people, _ = self._people(X)
        if self.deploy == "chosen":
            return np.asarray(self.run_.predict_proba(people))
        ones = self.run_.learned.probability(people)
        return np.column_stack([1.0 - ones, ones])

    def predict(self, X: Any) -> NDArray[Any]:
        """The class with the larger probability: not how a policy was meant to decide, ``run_.decide`` draws."""
        check_is_fitted(self)
        return np.asarray(self.classes_[(self.predict_proba(X)[:, 1] >= 0.5).astype(int)])

    def _people(self, X: Any, **given: Any) -> tuple[Any, Any]:
        """A dataframe of people and their labels, if they are given, checked as scikit-learn checks them."""
        import pandas as pd

        table, new = hasattr(X, "columns"), "y" not in given
        how = {"skip_check_array": True} if table else {"ensure_all_finite": "allow-nan", "dtype": "numeric"}
        checked = validate_data(self, X, **given, **how, reset=not new)
        X, y = (checked, None) if new else checked
        if not table:
            return pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])]), y
        people = X if isinstance(X, pd.DataFrame) else X.to_pandas()
        return people.set_axis([str(name) for name in people.columns], axis="columns"), y

    def _labels(self, y: Any) -> NDArray[np.int64]:
        """Labels as 0 and 1; their two values become the classes."""
        target = type_of_target(y, input_name="y", raise_unknown=True)
        check_classification_targets(y)
        if target != "binary":
            raise InvalidParameter(f"Only binary classification is supported. The type of the target is {target}.")
        self.classes_ = np.unique(y)
        if len(self.classes_) < 2:
            raise InvalidParameter(f"`y` must have two classes, got one class: {self.classes_.tolist()}.")
        return np.asarray(np.asarray(y) == self.classes_[1], dtype=np.int64)

    def _name(self, column: Any, names: list[str]) -> str:
        if isinstance(column, (int, np.integer)) and str(column) not in names:
            require(bool(-len(names) <= column < len(names)), "compare_by", f"hold columns of {len(names)}", column)
            return names[int(column)]
        return str(column)

    def _in_a_round(self, people: int) -> int:
        """k, or fewer where not so many people play; two at least, as a pair needs them."""
        return max(2, min(self.k, int(people * self.split[1] / sum(self.split))))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags.allow_nan = True
        return tags
