"""Any online classifier as a learner: the reduction turns a round into examples, and the classifier learns them.

    s_i > 0 asks for a 0, s_i < 0 for a 1, with weight |s_i|    or, as the paper writes it, R_C with C copies of people
    π^t(x) = what the classifier says of x after the rounds before t

The paper proves: if a classifier has regret at most R on the reduced rounds, so has the play in the Lagrangian. R is
the classifier's own, and nobody here can vouch for it. So there is no bound before the play; the regret that happened
is measured, against a class of hypotheses that can be searched exactly, and certificates are about that.
"""

from __future__ import annotations

import copy
import inspect
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, NamedTuple

import numpy as np

from likewise.errors import InvalidParameter, NotSupported, require
from likewise.hypotheses import enumerable
from likewise.hypotheses.with_features import WithFeatures
from likewise.learners.base import BaseLearner, fixed_penalty
from likewise.policies import AveragePolicy, DeployablePolicy
from likewise.protocol import Floats, Key, Report, Round, Rows
from likewise.reduction import literal


class Lessons(NamedTuple):
    """State of ``OnlineClassifier``: the examples that its classifier learned, one round after another. It grows.

    Attributes
    ----------
    rows
        Features of all examples in one row.
    y, w
        The label that each asks for, and its weight.
    ends
        How many examples there were after each round.
    """

    rounds: int
    reports: int
    rows: Floats
    y: Floats
    w: Floats
    ends: Floats


class Adapter(ABC):
    """How to speak with classifiers of one library."""

    @abstractmethod
    def weighs(self, model: Any) -> bool:
        """Whether examples may have weights."""

    @abstractmethod
    def fresh(self, model: Any) -> Any:
        """An unfitted copy that draws nothing by chance."""

    @abstractmethod
    def learn(self, model: Any, X: Floats, y: Floats, w: Floats | None) -> None:
        """Learn some examples."""

    @abstractmethod
    def probability(self, model: Any, X: Floats) -> Floats:
        """π of each person by a model that has learned something."""


class PartialFit(Adapter):
    """Classifiers of scikit-learn with ``partial_fit``."""

    def weighs(self, model: Any) -> bool:
        """Whether ``partial_fit`` takes weights."""
        return "sample_weight" in inspect.signature(model.partial_fit).parameters

    def fresh(self, model: Any) -> Any:
        """A clone, which draws from the seed 0 if it was given none."""
        from sklearn.base import clone

        model = clone(model)
        unseeded = [
            name for name, value in model.get_params().items() if name.endswith("random_state") and value is None
        ]
        return model.set_params(**dict.fromkeys(unseeded, 0))

    def learn(self, model: Any, X: Floats, y: Floats, w: Floats | None) -> None:
        """One call for all examples of a round."""
        weights = {} if w is None else {"sample_weight": w}
        model.partial_fit(X, y.astype(int), classes=np.array([0, 1]), **weights)

    def probability(self, model: Any, X: Floats) -> Floats:
        """The probability of 1; the answer, 0 or 1, of a classifier that gives no probabilities."""
        given = model.predict_proba(X)[:, 1] if hasattr(model, "predict_proba") else model.predict(X)
        return np.asarray(given, dtype=float)


class River(Adapter):
    """Classifiers of river, which learn one example after another; features are named "0", "1", …"""

    def weighs(self, model: Any) -> bool:
        """Whether ``learn_one`` takes weights; in a pipeline, that of its last step."""
        last = list(model.steps.values())[-1] if hasattr(model, "steps") else model
        return "w" in inspect.signature(last.learn_one).parameters

    def fresh(self, model: Any) -> Any:
        """A clone."""
        return model.clone()

    def learn(self, model: Any, X: Floats, y: Floats, w: Floats | None) -> None:
        """One call for each example."""
        for i, person in enumerate(_named(X)):
            weights = {} if w is None else {"w": float(w[i])}
            model.learn_one(person, bool(y[i]), **weights)

    def probability(self, model: Any, X: Floats) -> Floats:
        """The probability of a yes; a half where the model has no opinion yet."""
        return np.array([self._one(model, person) for person in _named(X)], dtype=float)

    @staticmethod
    def _one(model: Any, person: dict[str, float]) -> float:
        try:
            given = model.predict_proba_one(person)
        except NotImplementedError:  # it only answers
            answer = model.predict_one(person)
            return 0.5 if answer is None else float(answer)
        return float(given[True]) if True in given else 1.0 - float(given[False]) if False in given else 0.5


def _named(X: Floats) -> list[dict[str, float]]:
    return [{str(j): value for j, value in enumerate(row)} for row in X.tolist()]


class ClassifierPolicy(DeployablePolicy):
    """What an online classifier says after some rounds; a half of everybody before the first."""

    def __init__(self, hypotheses: WithFeatures, model: Any, adapter: Adapter) -> None:
        self.hypotheses: WithFeatures = hypotheses
        self.model, self.adapter = model, adapter

    def _described(self) -> list[str]:
        return ["a half for everybody" if self.model is None else type(self.model).__name__]

    def at(self, rows: Rows) -> Floats:
        """π at encoded people."""
        if self.model is None:
            return np.full(len(rows), 0.5)
        given = self.adapter.probability(self.model, self.hypotheses.features(rows))
        if not np.isfinite(given).all():
            raise InvalidParameter(
                f"`classifier` must give finite probabilities, got {given[~np.isfinite(given)][:3]}."
            )
        return np.clip(given, 0.0, 1.0)


@dataclass(frozen=True)
class OnlineClassifier(BaseLearner):
    """A classifier that learns round by round, of scikit-learn (``partial_fit``) or river, in the place of a learner.

    What is kept of a play is what the classifier was taught, not the classifier: it learns it again when a play is
    continued or a saved state is loaded, so nothing is pickled. The order of people in a round teaches nothing: their
    examples are sorted. A state grows with its rounds.

    No theorem is ours to claim. The paper's needs a classifier with small regret on the reduced rounds; whether this
    one had it, ``t.lagrangian_regret`` says exactly, against the class of hypotheses given here.

    Parameters
    ----------
    hypotheses
        The class that the play is compared with; the classifier doesn't use it.
    classifier
        An unfitted classifier of scikit-learn with ``partial_fit``, or of river.
    penalty
        C, what a report weighs; max(k, T^⅓) by default, or k without T; with copies, rounded up to a whole number.
    copies
        Teach C copies of each reported person instead of weighing people, as R_C does literally; for classifiers
        that take no weights. By default only for those.

    Examples
    --------
    >>> import likewise as lw
    >>> from sklearn.linear_model import SGDClassifier
    >>> data = lw.datasets.synthetic(500)
    >>> F = lw.Thresholds.quantiles(data.features, cuts=8)
    >>> learner = lw.OnlineClassifier(F, classifier=SGDClassifier(loss="log_loss"), k=4)
    >>> people = lw.IID(data.features, data.y, k=4, view=data.view)
    >>> t = lw.play(learner, people, lw.MetricAuditor(data.distance, alpha=0.1), T=50)
    >>> t.rounds, learner.bound(0.1) is None, t.lagrangian_regret > 0
    (50, True, True)
    """

    _: KW_ONLY
    classifier: Any = None
    penalty: float | None = None
    copies: bool | None = None
    _last: dict[str, Any] = field(default_factory=dict, init=False, repr=False, compare=False)
    """The last state that was asked for, and its classifier: only so that nothing is learned twice."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if hasattr(self.hypotheses, "partial_fit") or hasattr(self.hypotheses, "learn_one"):
            raise InvalidParameter(
                "`hypotheses` must be the class that the play is compared with, such as lw.Thresholds.quantiles(X), "
                f"got {type(self.hypotheses).__name__}; name it as `classifier=`."
            )
        if not isinstance(self.hypotheses, WithFeatures):
            enumerable(self.hypotheses, "OnlineClassifier")
            object.__setattr__(self, "hypotheses", WithFeatures(self.hypotheses))
        weighs = self.adapter.weighs(self.classifier)
        object.__setattr__(self, "copies", not weighs if self.copies is None else self.copies)
        require(weighs or bool(self.copies), "copies", "be True for a classifier that takes no weights", self.copies)
        if self.copies and self.costs != (1.0, 1.0):
            raise NotSupported("`costs` must be (1, 1) with copies: a copy of a person can't cost more than another.")
        fixed_penalty(self.C)
        if self.copies:
            require(self.C.is_integer(), "penalty", "be a whole number of copies", self.penalty)

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_last": {}}

    @property
    def adapter(self) -> Adapter:
        """How to speak with the classifier."""
        if hasattr(self.classifier, "partial_fit"):
            return PartialFit()
        fits = hasattr(self.classifier, "learn_one") and hasattr(self.classifier, "predict_one")
        require(fits, "classifier", "have partial_fit, or be a classifier of river", type(self.classifier).__name__)
        return River()

    @property
    def C(self) -> float:
        """What the reports of a round weigh together."""
        if self.penalty is not None:
            return float(self.penalty)
        usual = max(self.weight, (self.T or 1) ** (1 / 3))
        return float(np.ceil(usual)) if self.copies else float(usual)

    def init(self) -> Lessons:
        """Nothing learned yet."""
        return Lessons(0, 0, np.empty(0), np.empty(0), np.empty(0), np.empty(0))

    def act(self, state: Lessons, key: Key) -> ClassifierPolicy:
        """The classifier after these lessons."""
        return ClassifierPolicy(self.hypotheses, self._learned(state), self.adapter)

    def update(self, state: Lessons, round: Round) -> Lessons:
        """Keep what the round asks for."""
        rows, y, w = self._examples(round)
        order = np.lexsort((w, y, *rows.T))
        return Lessons(
            state.rounds + 1,
            state.reports + bool(round.reports),
            np.concatenate([state.rows, rows[order].ravel()]),
            np.concatenate([state.y, y[order]]),
            np.concatenate([state.w, w[order]]),
            np.append(state.ends, float(len(state.y) + len(y))),
        )

    def _examples(self, round: Round) -> tuple[Floats, Floats, Floats]:
        """Features, labels and weights that the round asks for."""
        rows = self.hypotheses.features(round.batch.rows)
        if self.copies:
            require(round.batch.weight is None, "weight", "be left out with copies of people", round.batch.weight)
            rows, y = _copied(rows, round.batch.y, round.reports, int(self.C))
            return rows, y, np.ones(len(y))
        s = self._signed(round, self.C)
        used = s != 0.0
        return rows[used], (s[used] < 0).astype(float), np.abs(s[used])

    def _learned(self, state: Lessons) -> Any:
        """The classifier after these lessons, None before the first; it goes on from the last one that was asked for.

        A classifier that was handed out is never taught again: a policy must not change.
        """
        known, model = self._last.get("known", (None, None))
        start = known.rounds if known is not None and _continues(known, state) else 0
        model = copy.deepcopy(model) if start else None
        ends = np.concatenate([[0.0], state.ends]).astype(int)
        rows = state.rows.reshape(len(state.y), -1) if len(state.y) else np.empty((0, 0))
        for first, last in zip(ends[start:-1].tolist(), ends[start + 1 :].tolist(), strict=True):
            if last > first:
                model = self.adapter.fresh(self.classifier) if model is None else model
                weights = None if self.copies else state.w[first:last]
                self.adapter.learn(model, rows[first:last], state.y[first:last], weights)
        self._last["known"] = (state, model)
        return model

    def average_policy(self, state: Lessons) -> AveragePolicy:
        """(1/T) Σ_t π^t over the rounds of a state. A saved transcript doesn't hold it, as it holds no classifier."""
        average = AveragePolicy()
        for t in range(state.rounds):
            average.include(ClassifierPolicy(self.hypotheses, self._learned(_first(state, t)), self.adapter))
        return average

    def penalty_at(self, state: Lessons) -> float:
        """C, the same in every round."""
        return self.C

    def bound(self, alpha: float, T: int | None = None) -> None:
        """None: the regret is the classifier's own."""

    def parameters(self) -> dict[str, Any]:
        """Every parameter, C, and the classifier with its parameters in words."""
        named = {name: value for name, value in super().parameters().items() if name != "_last"}
        words = " ".join(repr(self.classifier).split())
        return named | {"classifier": words, "copies": bool(self.copies), "C": self.C, "black_box": True}


def _copied(rows: Floats, y: Floats, reports: Sequence[Report], C: int) -> tuple[Floats, Floats]:
    """R_C of a round without its padding, which cancels in a linear loss and in no other; unknown labels teach nothing.

    A round whose pairs can't share the copies evenly is taught as many times as it has pairs.
    """
    times = len(reports) if reports and C % len(reports) else 1
    again, labels = np.tile(rows, (times - 1, 1)), np.tile(y, times - 1)
    X, y = literal(rows, y, reports, C * times if reports else 0, filler=rows[0])
    X, y = np.concatenate([X, again]), np.concatenate([y, labels])
    return X[~np.isnan(y)], y[~np.isnan(y)]


def _first(state: Lessons, t: int) -> Lessons:
    """The state after t rounds; only its lessons count."""
    examples = int(state.ends[t - 1]) if t else 0
    width = len(state.rows) // len(state.y) if len(state.y) else 0
    return Lessons(
        t, 0, state.rows[: examples * width], state.y[:examples], state.w[:examples], state.ends[:t]
    )  # fmt: skip


def _continues(known: Lessons, state: Lessons) -> bool:
    """Whether a state begins with all lessons of another."""
    if known.rounds > state.rounds:
        return False
    pairs = zip(known[2:], state[2:], strict=True)
    return all(np.array_equal(before, after[: len(before)]) for before, after in pairs)
