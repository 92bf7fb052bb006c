"""A class of hypotheses from a sample of people with labels, for a stream that begins.

The class is the one that ``likewise.classes.suggest`` would suggest, with two differences that a log asks for: nothing
in it is a row of anybody (``anchors="centres"``), and it is written down as plain numbers. Of the sample nothing else
is kept. Sensitive features are not read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from likewise.classes.reads import Reads, view_from
from likewise.classes.suggest import suggest_scores
from likewise.classes.writing import written
from likewise.datasets import Comparison, Encoder
from likewise.datasets.comparison import ByCategory, ByNumber, middle_range
from likewise.datasets.encoder import Category, Number
from likewise.errors import require
from likewise.protocol import Floats
from likewise.service.canonical import digest, dumps, loads
from likewise.service.stream.declared import short
from likewise.service.stream.settings import Choices, Feature, Settings

FEWEST, EACH = 50, 5
"""People that scores can be fitted to, in all and with each label: fewer could not be held out from each other."""
MOST_COLUMNS = 1000
"""Numbers, and levels of categories; a fit takes time with the square of them."""
KNOTS = "quantiles of single columns, of which the smallest and the largest are somebody's own value."
"""What curves hold of the people to whom they are fitted."""


class Sample(NamedTuple):
    """People with labels, checked: by each feature that isn't sensitive, in the order of the features."""

    features: tuple[Feature, ...]
    values: dict[str, list[Any]]
    labels: Floats

    @property
    def varied(self) -> list[Feature]:
        """The features in which people differ."""
        return [feature for feature in self.features if len(set(self.values[feature.name])) > 1]


def compared(features: Sequence[Feature], compare_by: Sequence[str] | None) -> tuple[Feature, ...]:
    """The features, with those named in ``compare_by`` marked as compared."""
    wanted, seen = list(compare_by or ()), [feature.name for feature in features if feature.visible]
    stray = [name for name in wanted if name not in seen]
    require(not stray, "compare_by", f"name features that reviewers see, which are {short(seen)}", short(stray))
    return tuple(
        Feature(**feature.model_dump() | {"compare": feature.compare or feature.name in wanted}) for feature in features
    )


def labelled(features: Sequence[Feature], sample: Sequence[Mapping[str, Any]], label: str) -> Sample:
    """A sample of people, each a mapping of features and the label; a sentence if scores can't be fitted to it."""
    require(label not in {feature.name for feature in features}, "label", "not be the name of a feature", label)
    require(len(sample) >= FEWEST, "sample", f"hold at least {FEWEST} people, as scores are fitted to it", len(sample))
    read = tuple(feature for feature in features if not feature.sensitive)
    for name in [*(feature.name for feature in read), label]:
        missing = sum(name not in person for person in sample)
        require(not missing, "sample", f"give {name!r} for everybody", f"{missing} people without it")
    labels = [person[label] for person in sample]
    stray = next((value for value in labels if type(value) not in (int, float) or value not in (0, 1)), None)
    require(stray is None, "sample", f"give 0 or 1 for {label!r}", short(stray))
    counts = {value: labels.count(value) for value in (0, 1)}
    require(min(counts.values()) >= EACH, "sample", f"hold at least {EACH} people with each label, 0 and 1", counts)
    values = {feature.name: [feature.value(person[feature.name]) for person in sample] for feature in read}
    checked = Sample(read, values, np.array(labels, dtype=float))
    require(len(checked.varied) > 0, "sample", "have a feature in which people differ", "none")
    width = sum(1 if f.kind == "number" else len(set(values[f.name])) for f in checked.varied)
    require(width <= MOST_COLUMNS, "sample", f"have at most {MOST_COLUMNS} numbers and levels", width)
    return checked


def fitted_scores(
    features: Sequence[Feature], sample: Sequence[Mapping[str, Any]], label: str, jobs: int | None = None
) -> dict[str, Any]:
    """The scores of a suggested class as plain JSON values, as they stand in the log; takes seconds.

    Examples
    --------
    >>> from likewise.classes.program import ScoreProgram
    >>> sample = [{"score": i / 60, "repaid": int(i % 7 > 2 or i > 40)} for i in range(60)]
    >>> scores = fitted_scores([Feature(name="score", compare=True)], sample, "repaid")
    >>> [part.name for part in ScoreProgram(scores).made_of()]
    ['all columns', 'people alike', 'gentle policies', 'smooth labels', 'single columns']
    """
    people = labelled(features, sample, label)
    encoder = _encoder(people)
    X = np.column_stack([_encoded(part, people.values[part.name]) for part in encoder.parts])
    compare_by = [feature.name for feature in people.features if feature.compare and feature.visible]
    view = _view(people, encoder, compare_by)
    suggestion = suggest_scores(X, people.labels, view, anchors="centres", names=encoder.names, jobs=jobs)
    plain = written(suggestion, _columns(encoder), compare_by) | {"ones": float(people.labels.mean())}
    if any(feature.kind == "number" for feature in people.varied if feature.compare):
        plain["holds"].append(KNOTS)
    kept: dict[str, Any] = loads(dumps(plain))
    return kept


def with_scores(choices: Choices, scores: Mapping[str, Any]) -> Settings:
    """The settings of a stream whose policies cut these scores."""
    chosen = {name: getattr(choices, name) for name in Choices.model_fields}
    return Settings(**chosen, scores=digest(scores), cuts={})


def _encoder(people: Sample) -> Encoder:
    numbers = tuple(_number(f.name, people.values[f.name]) for f in people.varied if f.kind == "number")
    categories = tuple(
        Category(f.name, _levels(f, people.values[f.name]), False) for f in people.varied if f.kind == "category"
    )
    return Encoder(numbers, categories)


def _number(name: str, given: Sequence[float]) -> Number:
    values = np.array(given)
    with np.errstate(over="ignore", invalid="ignore"):
        centre, spread = float(values.mean()), float(values.std())
    finite = bool(np.isfinite([centre, spread]).all()) and spread > 0
    require(finite, "sample", f"have values of {name!r} whose mean and spread a float can hold", short(spread))
    return Number(name, centre, spread, float(np.median(values)), False)


def _levels(feature: Feature, given: Sequence[str]) -> tuple[str, ...]:
    """Those that somebody has. Nothing is known of the others: they are zero in all columns, as new levels are."""
    there = set(given)
    return tuple(level for level in feature.levels if level in there)


def _encoded(part: Number | Category, given: Sequence[Any]) -> Floats:
    if isinstance(part, Number):
        return np.asarray((np.array(given)[:, None] - part.centre) / part.spread)
    return np.array([[float(value == level) for level in part.levels] for value in given])


def _columns(encoder: Encoder) -> list[dict[str, Any]]:
    """What each encoded column is."""
    scaled = [{"feature": part.name, "centre": part.centre, "spread": part.spread} for part in encoder.numbers]
    return scaled + [{"feature": part.name, "level": level} for part in encoder.categories for level in part.levels]


def _view(people: Sample, encoder: Encoder, compare_by: Sequence[str]) -> Reads | None:
    """What reviewers compare by, each feature with the same weight, as it follows from the encoded columns."""
    by_name = {feature.name: feature for feature in people.features}
    parts = tuple(
        _compared(by_name[name], people.values[name], 1 / len(compare_by))
        for name in compare_by
    )  # fmt: skip
    return view_from(encoder, Comparison(parts)) if parts else None


def _compared(feature: Feature, given: Sequence[Any], weight: float) -> ByNumber | ByCategory:
    if feature.kind == "category":
        return ByCategory(feature.name, weight, _levels(feature, given))
    values = np.array(given)
    return ByNumber(feature.name, weight, middle_range(values), float(np.median(values)), False)
