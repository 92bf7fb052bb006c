"""The parts of a suggested class: which scores, fitted how.

    all columns       the probability of the label 1 from everything that is known, cross-fitted
    people alike      the same, averaged over people who look alike: a regression of it on the view
    gentle policies   the best policies of the view that change slowly (``anchors``), for three levels and three slopes
    smooth labels     the labels themselves, smoothed over the view
    single columns    the columns that go with the label most

Where d has the triangle inequality, a policy is fair iff it is a gentle policy of the view plus α times anything. So
the first and the third part are what a fair policy needs. The others are an insurance for reviewers who compare in
another way than the public guess of their distance.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np

from likewise.classes.anchors import Anchors, Lipschitz
from likewise.classes.reads import Reads
from likewise.classes.scores import Additive, Average, Column, Score, Smoother
from likewise.hindsight import best_lipschitz
from likewise.protocol import Floats

FOLDS = 5
NO_FOLDS_BELOW = 50
SLOPES_AND_LEVELS = ((1.0, 0.4), (1.0, 0.5), (1.0, 0.6), (0.5, 0.5), (2.0, 0.5))
SINGLE_COLUMNS = 10
COMPONENTS = 150
NEIGHBOURS_FROM = 2000
"""People among whom nearest neighbours are looked for, at most."""


@dataclass(frozen=True, eq=False)
class Sample:
    """The people that a class is fitted on.

    Attributes
    ----------
    X, y
        Encoded columns, and labels 0 and 1.
    features, view
        All columns; and the columns of the view that differ between people, None if there are none.
    names
        The features' names.
    seed
        Of every random number.
    """

    X: Floats
    y: Floats
    features: Reads
    view: Reads | None
    names: tuple[str, ...]
    seed: int

    @cached_property
    def F(self) -> Floats:
        """The features."""
        return self.features.of(self.X)

    @cached_property
    def V(self) -> Floats:
        """The view."""
        return self.looks.of(self.X)

    @property
    def looks(self) -> Reads:
        """How the view is read."""
        assert self.view is not None
        return self.view

    @property
    def folds(self) -> int:
        """Into how many parts the people are split for cross-fitting; 0 for no splitting."""
        rarer = int(min(self.y.sum(), len(self.y) - self.y.sum()))
        return 0 if len(self.y) < NO_FOLDS_BELOW or rarer < 2 else min(FOLDS, rarer)


Fit = Callable[[], Any]
Fitter = Callable[[Sequence[Fit]], list[Any]]
"""Runs some fits, in parallel where that pays, and gives what they return, in order."""


# All columns ----------------------------------------------------------------------------------------------------


def all_columns(sample: Sample, fitted: Fitter) -> tuple[Average, Floats]:
    """The score of everything that is known; and what it says of each person, by models that didn't see them."""
    splits = list(_splits(sample))
    fits = [partial(_fit, make(sample.seed), sample.F[train], sample.y[train])
            for train, _ in splits for make in _classifiers(sample)]  # fmt: skip
    models = fitted(fits)
    kinds = len(models) // len(splits)
    s = np.zeros(len(sample.y))
    for i, (_, test) in enumerate(splits):
        for model in models[kinds * i : kinds * (i + 1)]:
            s[test] += model.predict_proba(sample.F[test])[:, 1] / kinds
    return Average("all columns", "model of everything that is known", sample.features, tuple(models)), s


def _splits(sample: Sample) -> Iterator[tuple[Any, Any]]:
    from sklearn.model_selection import StratifiedKFold

    if not sample.folds:
        everybody = np.arange(len(sample.y))
        return iter([(everybody, everybody)])
    folds = StratifiedKFold(sample.folds, shuffle=True, random_state=sample.seed)
    return iter(folds.split(sample.F, sample.y))


def _classifiers(sample: Sample) -> list[Callable[[int], Any]]:
    """A logistic regression and boosted trees; the latter only if nobody is scored by a model that saw them."""
    return [_logistic, _boosted] if sample.folds else [_logistic]


def _logistic(seed: int, C: float = 1.0) -> Any:
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(C=C, max_iter=500, solver="newton-cholesky")


def _boosted(seed: int) -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier

    return HistGradientBoostingClassifier(
        max_iter=60, max_leaf_nodes=15, l2_regularization=1.0, early_stopping=False, random_state=seed
    )


def _fit(model: Any, X: Floats, y: Floats) -> Any:
    return model.fit(X, y)


# Averages over people who look alike ----------------------------------------------------------------------------


def people_alike(sample: Sample, s: Floats, anchors: Anchors, fitted: Fitter) -> Average:
    """E[s | view]: the mean of four regressions of the score on the view."""
    from sklearn.ensemble import HistGradientBoostingRegressor

    trees = HistGradientBoostingRegressor(
        max_iter=80, max_leaf_nodes=15, min_samples_leaf=20, early_stopping=False, random_state=sample.seed
    )
    V = sample.V
    models = fitted(
        [
            partial(_nystroem, V, s, 4.0, 0.3, sample.seed, anchors),
            partial(_nystroem, V, s, 0.25, 0.3, sample.seed, anchors),
            partial(_kernel, V, s, anchors, 0.2),
            partial(_fit, trees, V, s),
        ]
    )
    words = "average over people who are alike in what reviewers compare by"
    return Average("people alike", words, sample.looks, tuple(models))


def smooth_labels(sample: Sample, anchors: Anchors, centres: Anchors, fitted: Fitter) -> list[Score]:
    """The labels, smoothed over the view in three ways. The first one rests on centres, so it holds nobody's label."""
    V, y = sample.V, sample.y
    models = fitted(
        [
            partial(_kernel, V, y, centres, 0.4),
            partial(_nystroem, V, y, 1.0, 1.0, sample.seed, anchors),
            partial(Additive.fit, V, y),
        ]
    )
    kinds = ("labels of nearby people", "labels along a smooth surface", "labels along a curve per column")
    return [Average(name, name, sample.looks, (model,)) for name, model in zip(kinds, models, strict=True)]


def _kernel(V: Floats, values: Floats, anchors: Anchors, bandwidth: float) -> Smoother:
    """Everybody counts at their nearest anchor."""
    place = anchors.nearest(V)
    counts = np.bincount(place, minlength=len(anchors)).astype(float)
    sums = np.bincount(place, values, len(anchors))
    used = counts > 0
    return Smoother(anchors.points[used], counts[used], sums[used] / counts[used], bandwidth)


def _nystroem(V: Floats, values: Floats, gamma: float, penalty: float, seed: int, anchors: Anchors | None) -> Any:
    """A ridge regression on the radial functions around some anchors (or around some people, without them)."""
    from sklearn.kernel_approximation import Nystroem
    from sklearn.linear_model import Ridge
    from sklearn.pipeline import make_pipeline

    points = V if anchors is None else anchors.points
    radial = Nystroem(gamma=gamma, n_components=min(COMPONENTS, len(points)), random_state=seed).fit(points)
    return make_pipeline(radial, Ridge(penalty).fit(radial.transform(V), values))


# Gentle policies ------------------------------------------------------------------------------------------------


def gentle_policies(
    sample: Sample, eta: Floats, anchors: Anchors, fitted: Fitter, small: bool = False
) -> list[Lipschitz]:
    """For each slope and level the best policy of the view, with both of its extensions to other people.

    ``eta`` is each person's probability of the label 1. A policy gains where it is above the level.
    """
    from scipy.spatial.distance import cdist

    place, apart = anchors.nearest(sample.V), cdist(anchors.points, anchors.points, "cityblock")
    wanted = [pair for pair in SLOPES_AND_LEVELS if pair[0] == 1.0 or not small]
    costs = [np.bincount(place, level - eta, len(anchors)) for _, level in wanted]
    solved = fitted([partial(best_lipschitz, c, apart, slope) for c, (slope, _) in zip(costs, wanted, strict=True)])
    return [
        Lipschitz(
            f"gentle policy, slope {slope:g}, from {level:g}, {'high' if upper else 'low'}",
            f"{'generous' if upper else 'cautious'} gentle policy (slope {slope:g}, from {level:g})",
            sample.looks,
            anchors,
            values,
            slope,
            upper,
        )
        for (slope, level), values in zip(wanted, solved, strict=True)
        for upper in (False, True)
    ]


# Columns --------------------------------------------------------------------------------------------------------


def single_columns(sample: Sample) -> list[Column]:
    """The columns that go with the label most, by their correlation."""
    centred, y = sample.F - sample.F.mean(axis=0), sample.y - sample.y.mean()
    spread = np.sqrt((centred**2).sum(axis=0) * (y**2).sum())
    strength = np.divide(np.abs(y @ centred), spread, out=np.zeros(len(spread)), where=spread > 0)
    varied = np.ptp(sample.F, axis=0) > 0
    order = [int(j) for j in np.argsort(-strength, kind="stable") if varied[j]][:SINGLE_COLUMNS]
    return [Column(sample.names[j], f"column {sample.names[j]}", Reads((sample.features.columns[j],))) for j in order]


def smooth_features(sample: Sample, fitted: Fitter, centres: Anchors | None = None) -> list[Score]:
    """Without a view: the labels, smoothed over all columns. With centres, no score holds a row of anybody."""
    F, y, seed = sample.F, sample.y, sample.seed
    few = np.random.default_rng(seed).permutation(len(y))[:NEIGHBOURS_FROM]
    fits: dict[str, Fit] = {
        f"all columns, shrunk to {C:g}": partial(_fit, _logistic(seed, C), F, y) for C in (0.001, 0.01)
    }
    for width in (16, 64):
        fits[f"a smooth surface 1/{width}"] = partial(_nystroem, F, y, 1 / width, 3.0, seed, centres)
    for count in (100, 300) if centres is None else ():
        fits[f"the nearest {count}"] = partial(_neighbours, F[few], y[few], count)
    models = fitted(list(fits.values()))
    return [
        Average(name, f"labels of similar people ({name})", sample.features, (model,))
        for name, model in zip(fits, models, strict=True)
    ]


def _neighbours(F: Floats, y: Floats, count: int) -> Any:
    from sklearn.neighbors import KNeighborsRegressor

    return KNeighborsRegressor(max(1, min(count, len(y) // 3))).fit(F, y)
