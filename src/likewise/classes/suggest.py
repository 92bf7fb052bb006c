"""Suggest a class of hypotheses for some people: one that can be both right and fair.

Three ways in: a table of people (``suggest``), a data set (``suggest_for``), arrays (``suggest_scores``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from likewise.classes import recipe
from likewise.classes.anchors import Anchors, centres_as_anchors, people_as_anchors
from likewise.classes.reads import Reads, view_from
from likewise.classes.recipe import Fit, Fitter, Sample
from likewise.classes.scores import one_thread
from likewise.classes.suggestion import Part, Suggestion, with_cuts
from likewise.datasets import Comparison, Dataset, Encoder
from likewise.errors import require, require_whole
from likewise.hypotheses.base import columns_of
from likewise.protocol import Floats

CUTS, CUTS_WITHOUT_VIEW = 24, 16
FEW = 200
"""With fewer people than this, what is fitted is rough."""
FITS = {"full": 22, "small": 17, "unknown": 16}

Progress = Callable[[int], None]


def suggest(
    people: Any,
    y: Any,
    *,
    compare_by: Sequence[str] | None = None,
    units: Mapping[str, float] | None = None,
    categories: Sequence[str] = (),
    **options: Any,
) -> Suggestion:
    """A class for a table of people, with the encoder that turns people like these into what it needs.

    Parameters
    ----------
    people
        A pandas or polars dataframe, or a pyarrow table, without the label.
    y
        Their labels: 0, 1, or NaN where it isn't known.
    compare_by
        The columns that reviewers compare people by; None if nobody knows.
    units, categories
        As ``likewise.datasets.Comparison.fit`` takes them.
    options
        As ``suggest_scores`` takes them.

    Examples
    --------
    >>> import likewise as lw
    >>> data = lw.datasets.synthetic()
    >>> few = data.people.iloc[:300]
    >>> suggestion = lw.classes.suggest(few, data.y[:300], compare_by=data.compare_by)
    >>> [part.name for part in suggestion.parts]
    ['all columns', 'people alike', 'gentle policies', 'smooth labels', 'single columns']
    >>> suggestion.encode(few).shape[0]
    300
    """
    encoder = Encoder.fit(people, categories=categories)
    compared = [name for name in categories if name in (compare_by or ())]
    viewer = Comparison.fit(people, compare_by, units=units, categories=compared) if compare_by else None
    return _encoded(people, y, encoder, viewer, options)


def suggest_for(data: Dataset, positions: Any = None, **options: Any) -> Suggestion:
    """A class for a data set, fitted on the people at ``positions`` (everybody, if None).

    A data set with a distance of its own gets the default ``likewise.datasets.Comparison`` by its columns as a guess.

    Examples
    --------
    >>> import likewise as lw
    >>> lw.classes.suggest_for(lw.datasets.synthetic(), range(300), small=True).hypotheses.size > 100
    True
    """
    chosen = np.arange(len(data)) if positions is None else np.asarray(positions)
    viewer = data.viewer if isinstance(data.viewer, Comparison) else Comparison.fit(data.people, data.compare_by)
    return _encoded(data.people.iloc[chosen], data.y[chosen], data.encoder, viewer, options)


def _encoded(people: Any, y: Any, encoder: Encoder, viewer: Comparison | None, options: dict[str, Any]) -> Suggestion:
    view = None if viewer is None else view_from(encoder, viewer)
    named: dict[str, Any] = {"names": encoder.names, "encoder": encoder}
    return suggest_scores(encoder.transform(people), y, view, **named | options)


def suggest_scores(
    features: Any,
    y: Any,
    view: Any = None,
    *,
    small: bool = False,
    cuts: int | None = None,
    anchors: str = "people",
    names: Sequence[str] | None = None,
    encoder: Encoder | None = None,
    seed: int = 0,
    jobs: int | None = None,
    progress: Progress | None = None,
) -> Suggestion:
    """A class for arrays: cut-offs on scores that make fair *and* accurate mixtures possible.

    Parameters
    ----------
    features
        All columns as numbers, one row per person, numbers on a common scale (as ``likewise.datasets.Encoder`` gives
        them).
    y
        Labels 0 or 1; people with NaN are left out.
    view
        What reviewers compare by: numbers scaled so that the cityblock distance of two rows is the distance of two
        people (as ``likewise.datasets.Comparison`` gives them), or ``Reads``, how they follow from the features. None
        if nobody knows. For an array the class takes ``stacked(features, view)``, otherwise the features.
    small
        Only what a fair policy needs, without the insurance against reviewers who compare differently: about 340
        hypotheses instead of 800. Without a view it changes nothing.
    cuts
        Cut-offs on each score: 24 by default, 16 without a view.
    anchors
        ``"people"``: the class holds the view of up to 2,000 of these people. ``"centres"``: it holds averages of at
        least five people instead, and gains a little less.
    names
        The features' names.
    encoder
        Kept with the suggestion.
    seed
        The same seed gives the same class, bit by bit on one machine.
    jobs
        Models fitted at the same time, each on one thread; as many as there are processors by default.
    progress
        Called with the number of models fitted so far, of ``models_to_fit(view is not None, small)`` at most.

    Examples
    --------
    >>> import likewise as lw
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 4))
    >>> y = (X[:, 0] + X[:, 1] + rng.normal(size=300) > 0).astype(float)
    >>> suggestion = lw.classes.suggest_scores(X, y, view=X[:, :1] / 4)
    >>> lw.classes.stacked(X, X[:, :1] / 4).shape
    (300, 5)
    >>> suggestion.hypotheses.encode(lw.classes.stacked(X, X[:, :1] / 4)).shape[1] == len(suggestion.hypotheses.cuts)
    True
    """
    sample = _sample(features, y, view, names, seed)
    require(anchors in ("people", "centres"), "anchors", 'be "people" or "centres"', anchors)
    known = sample.view is not None
    cuts = (CUTS if known else CUTS_WITHOUT_VIEW) if cuts is None else cuts
    require_whole(cuts, "cuts")
    with one_thread():
        groups, s = _groups(sample, small, anchors == "centres", _fitter(jobs, progress))
        scores = [score for _, _, members in groups for score in members]
        F = with_cuts(scores, sample.X, {} if s is None else {0: s}, cuts)
    holds = _holds(sample, anchors == "centres", known and s is not None)
    return Suggestion(F, _parts(groups), encoder, len(sample.y), _notes(sample, view), holds)


def stacked(features: Any, view: Any = None) -> Floats:
    """``X`` of a suggested class: the features, and the view's columns beside them."""
    values = np.asarray(features, dtype=float)
    return values if view is None else np.hstack([values, np.asarray(view, dtype=float)])


def models_to_fit(view: bool, small: bool = False) -> int:
    """How many models a suggestion fits at most, for a progress bar."""
    return FITS["unknown"] if not view else FITS["small"] if small else FITS["full"]


# Inside -----------------------------------------------------------------------------------------------------------


def _sample(features: Any, y: Any, view: Any, names: Sequence[str] | None, seed: int) -> Sample:
    """The labelled people, and which of their columns differ between them."""
    values, own_names = columns_of(features)
    labels = np.asarray(y, dtype=float)
    require(labels.shape == (len(values),), "y", f"hold a label for each of {len(values)} people", labels.shape)
    known = np.isfinite(labels)
    require(bool(np.isin(labels[known], (0, 1)).all()), "y", "hold labels 0 and 1, or NaN", "others")
    require(bool(known.any()), "y", "hold at least one label", "none")
    titles = [str(name) for name in (own_names if names is None else names)]
    require(len(titles) == values.shape[1], "names", f"name {values.shape[1]} columns", len(titles))
    X, looks = _with_view(values, view)
    features = Reads(tuple(range(values.shape[1])))
    return Sample(X[known], labels[known], features, _varied(looks, X[known]), tuple(titles), seed)


def _with_view(features: Floats, view: Any) -> tuple[Floats, Reads | None]:
    """``X``, and how the view is read from it."""
    if view is None or isinstance(view, Reads):
        return features, view
    seen = columns_of(view)[0]
    require(len(seen) == len(features), "view", f"have a row for each of {len(features)} people", len(seen))
    width = features.shape[1]
    return stacked(features, seen), Reads(tuple(range(width, width + seen.shape[1])))


def _varied(looks: Reads | None, X: Floats) -> Reads | None:
    """The columns of the view in which people differ; None if there are none."""
    if looks is None:
        return None
    kept = np.flatnonzero(np.ptp(looks.of(X), axis=0) > 0).tolist()
    return looks.only(kept) if kept else None


Group = tuple[str, str, list[Any]]


def _groups(sample: Sample, small: bool, centred: bool, fitted: Fitter) -> tuple[list[Group], Floats | None]:
    """The scores by purpose, and the held-out values of the first one."""
    columns: Group = (
        "single columns", "The columns that go with the label most.", list(recipe.single_columns(sample))
    )  # fmt: skip
    if len(np.unique(sample.y)) < 2:
        return [columns], None
    full, s = recipe.all_columns(sample, fitted)
    groups: list[Group] = [("all columns", "What everything known says about the label.", [full])]
    if sample.view is None:
        points = centres_as_anchors(sample.F, sample.features, sample.seed) if centred else None
        rough = recipe.smooth_features(sample, fitted, points)
        return [*groups, ("similar columns", "Labels of people with similar columns.", rough), columns], s
    points, centres = _anchors(sample, centred)
    alike = recipe.people_alike(sample, s, points, fitted)
    gentle = recipe.gentle_policies(sample, (s + alike(sample.X)) / 2, points, fitted, small)
    best = ("gentle policies", "The best policies of what reviewers compare by that change slowly.", gentle)
    if small:
        return [*groups, best], s
    smooth = recipe.smooth_labels(sample, points, centres, fitted)
    return [
        *groups,
        ("people alike", "The same, averaged over people who look alike to reviewers.", [alike]),
        best,
        ("smooth labels", "Labels of people who look alike to reviewers.", smooth),
        columns,
    ], s


def _anchors(sample: Sample, centred: bool) -> tuple[Anchors, Anchors]:
    centres = centres_as_anchors(sample.V, sample.looks, sample.seed)
    return (centres if centred else people_as_anchors(sample.V, sample.looks, sample.seed)), centres


def _fitter(jobs: int | None, progress: Progress | None) -> Fitter:
    """Runs fits side by side, each on one thread (BLAS by the caller): the same bits however many run at once."""
    from joblib import Parallel, delayed

    if jobs is not None:
        require_whole(jobs, "jobs")
    count = 0

    def fitted(fits: Sequence[Fit]) -> list[Any]:
        nonlocal count
        results = []
        for result in Parallel(jobs or -1, prefer="threads", return_as="generator")(delayed(_alone)(f) for f in fits):
            results.append(result)
            count += 1
            if progress is not None:
                progress(count)
        return results

    return fitted


def _alone(fit: Fit) -> Any:
    with one_thread():  # in the worker: OpenMP counts threads for each thread that starts some
        return fit()


def _parts(groups: list[Group]) -> tuple[Part, ...]:
    parts, first = [], 0
    for name, described, members in groups:
        parts.append(Part(name, described, tuple(range(first, first + len(members)))))
        first += len(members)
    return tuple(parts)


def _notes(sample: Sample, view: Any) -> tuple[str, ...]:
    notes = list(_rough(sample))
    if view is not None and sample.view is None:
        notes.append("Everybody looks the same in what reviewers compare by, so the class ignores it.")
    if view is None:
        notes.append("Nobody said what reviewers compare by: the class has no policies made for their comparison.")
    return tuple(notes)


def _rough(sample: Sample) -> Iterator[str]:
    """What is rougher than with more people, and why."""
    people = len(sample.y)
    if len(np.unique(sample.y)) < 2:
        yield "Everybody here has the same label, so no model was fitted: the class has single columns only."
        return
    if not sample.folds:
        rougher = "people's own labels went into their own scores, so the cuts are rougher than they look"
        yield f"{_why_not_held_out(sample)}: {rougher}."
    if recipe.NO_FOLDS_BELOW <= people < FEW:
        yield f"{people:,} people are few: anchors are sparse, and the scores are rough."


def _why_not_held_out(sample: Sample) -> str:
    people = len(sample.y)
    if people < recipe.NO_FOLDS_BELOW:
        return f"{people:,} people are too few to hold some out"
    rarer = int(sample.y.mean() < 0.5)
    return f"Of {people:,} people only one has the label {rarer}, and a model without that person knows no such label"


def _holds(sample: Sample, centred: bool, known: bool) -> tuple[str, ...]:
    if centred and known:
        held = "the view of no single person: averages over five people or more stand in for them."
        return (held, "no label of any single person.")
    if known:
        view = "the view (the columns that reviewers compare by) of up to 2,000 people, as anchors."
        return (view, "no label of any single person: values at anchors solve a program over everybody.")
    if len(np.unique(sample.y)) < 2 or centred:
        return ("no row of any single person: cuts are at quantiles, and models hold coefficients and trees.",)
    return (f"all columns and the label of up to {recipe.NEIGHBOURS_FROM:,} people, for nearest neighbours.",)
