"""The settings of a stream: what people look like, what may be learned, and how long anybody waits.

Everything is fixed when the stream is created, except the waits, which an event may change. Settings are plain values:
they stand in the log, and ``likewise.service.stream.learner`` builds the class and the learner from them.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from numbers import Integral
from typing import Any

from likewise.errors import require, require_number, require_whole

NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,62}")
TEXT_LIMIT = 200
"""The longest name of a feature, level or person."""
ENDS = ("learn", "discard")
LEARNERS = ("adahedge", "hedge")
MOST = 1e12
"""The largest cost, penalty and horizon; with larger ones, sums over rounds would leave what a float can hold."""
LONGEST = 1e9
"""Seconds of the longest wait, some thirty years; a calendar has an end, and the log writes dates."""
CLASSES = ("thresholds", "cells")


@dataclass(frozen=True)
class Feature:
    """One thing known of every person.

    Parameters
    ----------
    name
        Its name.
    kind
        "number" or "category".
    levels
        The values that a category can take.
    shown
        Whether auditors see it, unless it is sensitive.
    sensitive
        Whether it must not justify a difference: auditors never see it, and a class uses it only if its cuts are given
        by name.
    compare
        Whether auditors should compare people by it: they see it before the others.
    """

    name: str
    kind: str = "number"
    levels: tuple[str, ...] = ()
    shown: bool = True
    sensitive: bool = False
    compare: bool = False

    def __post_init__(self) -> None:
        plain_text(self.name, "features.name")
        require(self.kind in ("number", "category"), "kind", "be 'number' or 'category'", self.kind)
        object.__setattr__(self, "levels", tuple(self.levels))
        for level in self.levels:
            plain_text(level, "levels")
        several = len(self.levels) == len(set(self.levels)) >= 1
        fits = several if self.kind == "category" else not self.levels
        require(fits, "levels", "be different texts for a category, and none for a number", list(self.levels))
        for name in ("shown", "sensitive", "compare"):
            require(isinstance(getattr(self, name), bool), name, "be true or false", getattr(self, name))

    @property
    def visible(self) -> bool:
        """Whether auditors see it: shown, and not sensitive.

        Examples
        --------
        >>> Feature("score").visible, Feature("sex", shown=True, sensitive=True).visible
        (True, False)
        """
        return self.shown and not self.sensitive

    def value(self, given: Any) -> float | str:
        """A value of this feature, checked."""
        if self.kind == "category":
            if not (isinstance(given, str) and given in self.levels):
                require(False, self.name, f"be one of {list(self.levels)}", _short(given))
            return str(given)
        number = isinstance(given, (int, float)) and not isinstance(given, bool)
        # A huge integer has no float, and comparing it with infinity would raise instead of refusing.
        if number and isinstance(given, int):
            number = abs(given) <= 2**1023
        if not (number and math.isfinite(given)):
            require(False, self.name, "be a finite number", _short(given))
        if float(given) != given:
            require(False, self.name, "be a number that a 64-bit float holds exactly", _short(given))
        return float(given)


@dataclass(frozen=True)
class Waits:
    """How long a round waits, and what happens then.

    Parameters
    ----------
    audit, label
        Seconds from the opening of a round until its audit, or the labels still missing, count as expired; None waits
        for ever.
    audit_end, label_end
        What becomes of a round whose wait ended: "learn" from what there is (an expired audit is *not* a cleared one),
        or "discard" the round, which then counts as not reviewed for ever.
    grace
        Seconds after a verdict before the round may close, so that a slip can be taken back.
    """

    audit: float | None = None
    label: float | None = None
    audit_end: str = "learn"
    label_end: str = "learn"
    grace: float = 10.0

    def __post_init__(self) -> None:
        for name in ("audit", "label"):
            if getattr(self, name) is not None:
                require_number(getattr(self, name), name, 0, LONGEST)
        require_number(self.grace, "grace", 0, LONGEST)
        for name in ("audit_end", "label_end"):
            require(getattr(self, name) in ENDS, name, f"be one of {list(ENDS)}", getattr(self, name))

    def changed(self, changes: Mapping[str, Any]) -> Waits:
        """These waits with some of them changed."""
        known = [one.name for one in dataclasses.fields(self)]
        unknown = sorted(set(changes) - set(known))
        require(not unknown, "changes", f"name some of {known}", unknown)
        return dataclasses.replace(self, **changes)


@dataclass(frozen=True)
class Settings:
    """Everything that is fixed about a stream, and its waits.

    Parameters
    ----------
    name
        The name of the stream, as in its address: small letters, digits, "-" and "_".
    features
        What is known of every person.
    kind
        The class of hypotheses: "thresholds" or "cells".
    cuts
        For each feature that the class uses, ascending numbers; for a category None, which gives every level its own
        hypothesis or cell. ``with_sample`` finds cuts from a sample of people.
    learner
        "adahedge" or "hedge".
    penalty
        What a report weighs: a number; {"first": …, "growth": …} (scheduled); {"c": …, "floor": …} (tilted); None
        for the learner's default.
    horizon
        How many rounds there will be, where that is known; neither learner needs it.
    alpha, margin
        Violations count beyond ``alpha``; pairs are reported beyond ``alpha - margin``.
    costs
        What a false positive and a false negative cost.
    largest_batch
        k, the most people in a round.
    waits
        How long a round waits.
    seed
        Names every random number of the learner.

    Examples
    --------
    >>> loans = Settings("loans", features=(Feature("score"),), cuts={"score": (0.3, 0.6)}, alpha=0.2)
    >>> Settings.from_dict(loans.to_dict()) == loans
    True
    """

    name: str
    features: tuple[Feature, ...]
    cuts: Mapping[str, tuple[float, ...] | None]
    alpha: float
    kind: str = "thresholds"
    learner: str = "adahedge"
    penalty: float | Mapping[str, float] | None = None
    horizon: int | None = None
    margin: float = 0.0
    costs: tuple[float, float] = (1.0, 1.0)
    largest_batch: int = 32
    waits: Waits = field(default_factory=Waits)
    seed: int = 0

    def __post_init__(self) -> None:
        named = isinstance(self.name, str) and NAME.fullmatch(self.name) is not None
        require(named, "name", "be up to 63 small letters, digits, '-' or '_'", _short(self.name))
        names = [feature.name for feature in self.features]
        require(len(names) == len(set(names)) >= 1, "features", "have different names, at least one", names)
        require(self.kind in CLASSES, "kind", f"be one of {list(CLASSES)}", self.kind)
        require(self.learner in LEARNERS, "learner", f"be one of {list(LEARNERS)}", self.learner)
        require_number(self.alpha, "alpha", 0, 1, open_at="low")
        require_number(self.margin, "margin", 0, self.alpha, open_at="high")
        require_whole(self.largest_batch, "largest_batch")
        self._check_sizes()
        seeded = isinstance(self.seed, Integral) and not isinstance(self.seed, bool) and 0 <= self.seed < 2**63
        require(seeded, "seed", "be a whole number in [0, 2^63)", _short(self.seed))
        self._check_cuts()

    def _check_sizes(self) -> None:
        """Numbers that are summed over rounds are neither too large nor all too small for a float."""
        if self.horizon is not None:
            require_whole(self.horizon, "horizon")
            require_number(self.horizon, "horizon", 1, MOST)
        for cost in self.costs:
            require_number(cost, "costs", 0, MOST)
        require(max(self.costs) >= 1 / MOST, "costs", f"not both be below {1 / MOST:g}", self.costs)
        weighed = self.penalty.values() if isinstance(self.penalty, Mapping) else (self.penalty,)
        for weight in weighed:
            if weight is not None:
                require_number(weight, "penalty", 0, MOST)

    def _check_cuts(self) -> None:
        unknown = sorted(set(self.cuts) - set(self.by_name))
        require(not unknown, "cuts", f"be for features of the stream {sorted(self.by_name)}", unknown)
        require(len(self.cuts) > 0, "cuts", "be there for at least one feature", dict(self.cuts))
        for name, column in self.cuts.items():
            fits = (column is None) == (self.by_name[name].kind == "category")
            require(fits, "cuts", "be numbers for a number and null for a category", {name: column})
            if column is not None:
                listed = isinstance(column, tuple) and len(column) > 0
                numbers = listed and all(isinstance(c, float) and math.isfinite(c) for c in column)
                rising = numbers and all(a < b for a, b in itertools.pairwise(column))
                require(rising, "cuts", "be finite and strictly ascending", {name: column})

    @cached_property
    def by_name(self) -> dict[str, Feature]:
        """The features by their names."""
        return {feature.name: feature for feature in self.features}

    @property
    def level(self) -> float:
        """α − margin: a gap up to this can't be a violation."""
        return self.alpha - self.margin

    def person(self, features: Any) -> dict[str, float | str]:
        """The features of one person, checked: all of them, no others, each of its kind."""
        require(isinstance(features, Mapping), "features", "map names to values", type(features).__name__)
        if features.keys() != self.by_name.keys():
            missing, extra = self.by_name.keys() - features.keys(), features.keys() - self.by_name.keys()
            require(not missing, "features", f"hold all of {list(self.by_name)}", _short(sorted(map(str, features))))
            require(not extra, "features", f"hold only {list(self.by_name)}", _short(sorted(map(str, extra))))
        return {feature.name: feature.value(features[feature.name]) for feature in self.features}

    def with_waits(self, changes: Mapping[str, Any]) -> Settings:
        """The same stream with some waits changed."""
        return dataclasses.replace(self, waits=self.waits.changed(changes))

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        data = dataclasses.asdict(self)
        data["features"] = [f | {"levels": list(f["levels"])} for f in data["features"]]
        data["cuts"] = {name: None if column is None else list(column) for name, column in self.cuts.items()}
        penalty = dict(self.penalty) if isinstance(self.penalty, Mapping) else self.penalty
        return data | {"costs": list(self.costs), "penalty": penalty}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Settings:
        """Settings from plain JSON values; an unknown name is refused."""
        fields = known_fields(cls, data, "settings")
        features = fields.get("features", ())
        require(_listed(features), "features", "be a list of features", type(features).__name__)
        fields["features"] = tuple(Feature(**known_fields(Feature, one, "features")) for one in features)
        if "waits" in fields:
            fields["waits"] = Waits(**known_fields(Waits, fields["waits"], "waits"))
        cuts = fields.get("cuts", {})
        require(isinstance(cuts, Mapping), "cuts", "map features to ascending numbers", type(cuts).__name__)
        fields["cuts"] = {name: _column(column) for name, column in cuts.items()}
        if "costs" in fields:
            costs = fields["costs"]
            require(_listed(costs) and len(costs) == 2, "costs", "be two numbers", costs)
            fields["costs"] = (costs[0], costs[1])
        return cls(**fields)


def with_sample(data: Mapping[str, Any], sample: Sequence[Mapping[str, Any]], cuts: int = 16) -> Settings:
    """Settings whose cuts are quantiles of a sample of people; the sample itself is not kept.

    ``data["cuts"]`` may be missing (every feature that isn't sensitive gets ``cuts``), or hold for a feature a whole
    number in place of its cuts.

    Examples
    --------
    >>> people = [{"score": 0.0}, {"score": 1.0}, {"score": 2.0}, {"score": 3.0}]
    >>> with_sample({"name": "loans", "features": [{"name": "score"}], "alpha": 0.1}, people, cuts=3).cuts
    {'score': (1.0, 2.0, 3.0)}
    """
    import numpy as np

    from likewise.hypotheses.base import quantile_cuts

    features = [Feature(**known_fields(Feature, one, "features")) for one in data.get("features", ())]
    usable = {one.name: cuts if one.kind == "number" else None for one in features if not one.sensitive}
    wanted: dict[str, Any] = dict(data.get("cuts") or usable)
    for feature in features:
        count = wanted.get(feature.name)
        if feature.kind == "number" and isinstance(count, Integral) and not isinstance(count, bool):
            require_whole(count, "cuts")
            require(len(sample) > 0, "sample", "hold at least one person, as cuts are taken from it", len(sample))
            column = [feature.value(person.get(feature.name)) for person in sample]
            wanted[feature.name] = quantile_cuts(np.array(column, dtype=float), int(count)).tolist()
            found = len(wanted[feature.name])
            require(found > 0, "sample", f"have more than one value of {feature.name!r}", found)
    return Settings.from_dict(dict(data) | {"cuts": wanted})


def plain_text(value: Any, name: str) -> str:
    """A short text without control characters or halves of characters, which some database would refuse."""
    if not (isinstance(value, str) and 0 < len(value) <= TEXT_LIMIT and value.isprintable()):
        require(False, name, f"be 1 to {TEXT_LIMIT} printable characters", _short(value))
    return str(value)


def known_fields(kind: Any, data: Any, name: str) -> dict[str, Any]:
    """The fields of a dataclass in ``data``; anything else is refused by name."""
    require(isinstance(data, Mapping), name, "map names to values", type(data).__name__)
    known = [one.name for one in dataclasses.fields(kind)]
    unknown = sorted(str(key) for key in set(data) - set(known))
    require(not unknown, name, f"hold only {known}", _short(unknown))
    missing = [
        one.name
        for one in dataclasses.fields(kind)
        if one.default is dataclasses.MISSING and one.default_factory is dataclasses.MISSING and one.name not in data
    ]
    require(not missing, name, f"hold {missing}", sorted(str(key) for key in data))
    return dict(data)


def _column(column: Any) -> Any:
    if not _listed(column):
        return column
    numbers = all(isinstance(c, (int, float)) and not isinstance(c, bool) and abs(c) <= 2**1023 for c in column)
    return tuple(float(c) for c in column) if numbers else tuple(column)


def _listed(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, (str, bytes))


def _short(value: Any) -> Any:
    """A value that fits into a sentence."""
    text = repr(value)
    return value if len(text) <= 80 else text[:77] + "…"
