"""The settings of a stream: what people look like, what may be learned, and how long rounds wait.

Each setting is declared here once. Its type, limits, default, title and sentence are those of the API, of the page of
settings and of docs/service.md. All are fixed when the stream is created, except the waits and the review plan, which
an event may change.
Settings are plain values: they are part of the log, and ``likewise.service.stream.learner`` builds the class and the
learner from them.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from typing import Annotated, Any, Literal

from pydantic import Field, StrictBool, ValidationError, ValidationInfo, field_validator

from likewise.errors import require, require_number, require_whole
from likewise.service.canonical import atom
from likewise.service.stream.declared import LARGEST, Checked, Declared, Finite, Text, number, refusal, short, whole
from likewise.theory import LEAST_ALPHA

NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,62}")
DIGEST = re.compile(r"[0-9a-f]{64}")
MOST = 10**12
"""The largest cost, penalty and number of rounds; sums of larger ones would leave what a float can hold."""
LONGEST_KEPT = 36_500
"""Days for which people are kept, at most, if not for ever."""
LONGEST = 10**9
"""Seconds of the longest wait, some thirty years; a calendar has an end, and the log writes dates."""
CUTS = 16
"""Taken from a sample for each number, unless somebody asks for more or fewer."""

Seconds = Annotated[float, number(0, LONGEST)]
End = Literal["learn", "discard"]
Cuts = dict[Text, tuple[Finite, ...] | None]


def _stream_name(value: Any, name: str) -> str:
    named = isinstance(value, str) and NAME.fullmatch(value) is not None
    require(named, name, "be up to 63 lowercase letters, digits, '-' or '_'", short(value))
    return str(value)


GROWING = "growing"
"""Names the penalties of release 1, which grow with every report and are never revised."""


def _penalty(value: Any, name: str) -> Any:
    if value is None:
        return None
    if isinstance(value, str):
        require(value == GROWING, name, f'be a number, an object or "{GROWING}"', short(value))
        return value
    weights = value if isinstance(value, Mapping) else {"": value}
    for weight in weights.values():
        require_number(weight, name, 0, MOST)
    return {str(part): float(weight) for part, weight in weights.items()} if weights is value else float(value)


_WEIGHT = {"type": "number", "minimum": 0, "maximum": MOST}
Penalty = Annotated[
    float | dict[str, float] | str | None,
    Checked(
        _penalty,
        {
            "anyOf": [
                _WEIGHT,
                {"type": "object", "additionalProperties": _WEIGHT},
                {"type": "string", "enum": [GROWING]},
                {"type": "null"},
            ]
        },
    ),
]
StreamName = Annotated[str, Checked(_stream_name, {"type": "string", "pattern": f"^{NAME.pattern}$"})]


def _digest(value: Any, name: str) -> str:
    spelt = isinstance(value, str) and DIGEST.fullmatch(value) is not None
    require(spelt, name, "be a SHA-256 in 64 hexadecimal digits", short(value))
    return str(value)


Digest = Annotated[str, Checked(_digest, {"type": "string", "pattern": f"^{DIGEST.pattern}$"})]


class Feature(Declared):
    """One thing that is known about every person."""

    name: Text = Field(title="Feature", description="Its name.")
    kind: Literal["number", "category"] = Field(
        default="number", title="Kind", description="A number, or a category with a fixed list of levels."
    )
    levels: tuple[Text, ...] = Field(
        default=(), validate_default=True, title="Levels", description="The values that a category can have."
    )
    shown: StrictBool = Field(
        default=True, title="Shown", description="Whether reviewers see it. They never see a sensitive feature."
    )
    sensitive: StrictBool = Field(
        default=False,
        title="Sensitive",
        description="Whether it must not justify a difference. Reviewers never see it, and policies use it only if its "
        "cuts are given.",
    )
    compare: StrictBool = Field(
        default=False, title="Compared", description="Whether reviewers should compare people by it. They see it first."
    )

    @field_validator("levels")
    @classmethod
    def _fit_the_kind(cls, levels: tuple[str, ...], info: ValidationInfo) -> tuple[str, ...]:
        several = len(levels) == len(set(levels)) >= 1
        fits = several if info.data.get("kind") == "category" else not levels
        require(fits, "levels", "be different texts for a category, and none for a number", short(list(levels)))
        return levels

    @property
    def visible(self) -> bool:
        """Whether reviewers see it: shown, and not sensitive.

        Examples
        --------
        >>> Feature(name="score").visible, Feature(name="sex", sensitive=True).visible
        (True, False)
        """
        return self.shown and not self.sensitive

    @cached_property
    def value(self) -> Callable[[Any], float | str]:
        """From a value that was given for this feature to the checked one."""
        # Made once: reading the fields of a model again for each person of each round would take longer than the check.
        if self.kind == "category":
            return partial(_level, self.name, {level: level for level in self.levels})
        return partial(_number, self.name)


def _level(name: str, levels: Mapping[str, str], given: Any) -> str:
    if type(given) is not str or given not in levels:
        require(False, name, f"be one of {list(levels)}", short(given))
    return levels[given]


def _number(name: str, given: Any) -> float:
    if type(given) is float:
        if not math.isfinite(given):
            require(False, name, "be a finite number", given)
        return given
    real = isinstance(given, (int, float)) and not isinstance(given, bool)
    # A huge integer has no float, and comparing it with infinity would raise instead of refusing.
    if not (real and abs(given) <= LARGEST):
        require(False, name, "be a finite number", short(given))
    if float(given) != given:
        require(False, name, "be a number that a 64-bit float holds exactly", short(given))
    return float(given)


class Waits(Declared):
    """How long a round waits, what happens then, and how long its people are kept. These settings can change later."""

    audit: Seconds | None = Field(
        default=None,
        title="Wait for a review (seconds)",
        description="Seconds after which a round counts as not reviewed. If empty, it waits for ever.",
    )
    label: Seconds | None = Field(
        default=None,
        title="Wait for labels (seconds)",
        description="Seconds after which labels count as missing. If empty, the round waits for ever.",
    )
    grace: Seconds = Field(
        default=10.0,
        title="Time to take a verdict back (seconds)",
        description="Seconds in which a verdict can be taken back. Only then does the learner learn from the round.",
    )
    audit_end: End = Field(
        default="learn",
        title="If no review comes",
        description="What happens then: learn from the round without a verdict, or discard it.",
    )
    label_end: End = Field(
        default="learn",
        title="If labels are missing",
        description="What happens then: learn from the labels that came, or discard the round.",
    )
    keep: Annotated[float, number(1, LONGEST_KEPT)] | None = Field(
        default=None,
        title="Keep people for (days)",
        description="Days after which people of closed rounds are erased: ids, features and remarks. If empty, they "
        "are kept.",
    )

    def changed(self, changes: Mapping[str, Any]) -> Waits:
        """These waits with some of them changed."""
        return Waits(**self.model_dump() | dict(changes))


class Review(Declared):
    """Which rounds are reviewed, and by how many people. It can change later, for rounds that are opened from then on.

    Rounds whose largest gap is within the level are cleared by arithmetic and need nobody; "rounds" below are others.

    Examples
    --------
    >>> Review().by_lot, Review(share=0.1).by_lot
    (False, True)
    """

    share: Annotated[float, number(0, 1, open_at="low")] = Field(
        default=1.0,
        title="Share of rounds reviewed",
        description="Which share of the rounds is drawn by lot for review; 1 for every round.",
    )
    budget: Annotated[float, number(0, MOST, open_at="low")] | None = Field(
        default=None,
        title="Reviews a day",
        description="In place of a share: how many rounds a day are drawn, on average. The share is this number "
        "divided by the rounds of the past day.",
    )
    choose: Literal["gap", "largest", "equal"] = Field(
        default="gap",
        title="Which rounds",
        description="How the probability of a review depends on the round: gap, in proportion to its largest gap, and "
        "never below a third of the share; largest, a round among the largest gaps of the last 300 for sure and the "
        "others a third of the share; equal, the same for all. With largest, the share is kept while gaps stay as they "
        "are: as they grow, more rounds are drawn, as they shrink, fewer.",
    )
    second: Annotated[float, number(0, 1)] = Field(
        default=0.0,
        title="Share reviewed twice",
        description="Which share of the reviewed rounds is drawn by lot for a second verdict, by somebody else who "
        "does not know the first.",
    )
    rule: Literal["adjudicated", "any"] = Field(
        default="adjudicated",
        title="Which reports count",
        description="Where two people judged a round: adjudicated, pairs that a second or third person upholds; any, "
        "every pair that somebody names.",
    )

    gold: Annotated[float, number(0, 1)] = Field(
        default=0.0,
        title="Known rounds",
        description="For which share of the reviewed rounds a known round is shown beside them, hidden among the "
        "others, to find out how much reviewers find. Leads mark such rounds; 0.05 is one in twenty.",
    )
    ask_all: StrictBool = Field(
        default=False,
        title="Ask about every round",
        description="Whether somebody is asked about rounds that arithmetic clears, too, where every round is "
        "reviewed. They are clean either way.",
    )

    @field_validator("ask_all")
    @classmethod
    def _fits_the_share(cls, ask_all: bool, info: ValidationInfo) -> bool:
        fits = not ask_all or (info.data.get("share", 1.0) == 1.0 and info.data.get("budget") is None)
        require(fits, "ask_all", "be false where rounds are drawn by lot", ask_all)
        return ask_all

    @field_validator("budget")
    @classmethod
    def _replaces_the_share(cls, budget: float | None, info: ValidationInfo) -> float | None:
        alone = budget is None or info.data.get("share", 1.0) == 1.0
        require(alone, "budget", "be left out where a share is given", budget)
        return budget

    @property
    def by_lot(self) -> bool:
        """Whether a lot is drawn for each round that is not cleared."""
        return self.share < 1 or self.budget is not None or self.second > 0 or self.gold > 0

    def changed(self, changes: Mapping[str, Any]) -> Review:
        """This plan with some of it changed."""
        return Review(**self.model_dump() | dict(changes))


class Choices(Declared):
    """Everything that is chosen for a stream except its cuts, which may also be taken from a sample of people."""

    name: StreamName = Field(
        title="Name", description="The stream's name in addresses: up to 63 lowercase letters, digits, - and _."
    )
    features: tuple[Feature, ...] = Field(
        min_length=1, title="Features", description="What is known about every person."
    )
    alpha: Annotated[float, number(0, 1, open_at="low")] = Field(
        title="Largest difference allowed (α)",
        description="The largest difference in probability that two equal people may have.",
    )
    margin: Annotated[float, number(0, 1, open_at="high")] = Field(
        default=0.0,
        title="Margin",
        description="Reviewers can report a pair if its difference is larger than alpha minus this margin. Violations "
        "are counted above alpha.",
    )
    hypotheses: Literal["thresholds", "cells"] = Field(
        default="thresholds",
        title="Class of hypotheses",
        description="What policies are mixed from: thresholds on single features or scores, or the cells of a grid.",
    )
    learner: Literal["adahedge", "hedge", "none"] = Field(
        default="adahedge",
        title="Learner",
        description="What learns the policy: adahedge finds its learning rate by itself, hedge computes it in advance. "
        "none learns nothing, to have a score reviewed as it is: the probability is the share of cuts at or below it.",
    )
    penalty: Penalty = Field(
        default=None,
        title="Penalty of a report",
        description="How much a report weighs against errors. Without a value, adahedge keeps reports and sets their "
        "prices again as gaps move; hedge chooses a number, if T is given. Otherwise a number; {first, growth} if it "
        "grows with every report; {c, floor} if it rises while the learning rate falls; growing for adahedge's choice "
        "in release 1.",
    )
    T: Annotated[int, whole(1, MOST)] | None = Field(
        default=None, title="Planned rounds (T)", description="How many rounds there will be, if that is known."
    )
    costs: tuple[Annotated[float, number(0, MOST)], Annotated[float, number(0, MOST)]] = Field(
        default=(1.0, 1.0), title="Costs of errors", description="What a wrong yes costs, and what a wrong no costs."
    )
    k: Annotated[int, whole(1)] = Field(
        default=32, title="Largest batch (k)", description="The largest number of people in one round."
    )
    labels: Literal["all", "accepted"] = Field(
        default="all",
        title="Labels",
        description="Whose labels come to light: everybody's, or only those of accepted people (who got a yes).",
    )
    lot: Literal["person", "round"] = Field(
        default="person",
        title="Lot",
        description="What decisions are drawn by: a lasting secret number of each person, or one number for everybody "
        "in a round, which the log opens. With the latter, people who come again get their first answer.",
    )
    audits: Literal["probabilities", "decisions"] = Field(
        default="probabilities",
        title="Reviewers see",
        description="What reviewers see: the probabilities, or only who got a yes and who a no.",
    )
    safe: StrictBool = Field(
        default=False,
        title="Good until proved bad",
        description="Only with the labels of accepted people: everybody counts as good until proved bad. For labels "
        "that come late, or only as bad news; it errs more at first.",
    )
    waits: Waits = Field(default=Waits(), title="Waits", description="How long a round waits, and what happens then.")
    review: Review = Field(
        default=Review(), title="Review plan", description="Which rounds are reviewed, and by how many people."
    )

    @field_validator("audits")
    @classmethod
    def _fit_the_margin(cls, audits: str, info: ValidationInfo) -> str:
        fits = audits != "decisions" or not info.data.get("margin")
        must = 'be "probabilities" with a margin: who sees decisions reports above alpha or not at all'
        require(fits, "audits", must, audits)
        return audits

    @field_validator("safe")
    @classmethod
    def _fits_the_labels(cls, safe: bool, info: ValidationInfo) -> bool:
        fits = not safe or info.data.get("labels", "accepted") == "accepted"
        require(fits, "safe", 'be false unless labels are "accepted": nobody is in doubt where all labels come', safe)
        return safe

    @field_validator("features")
    @classmethod
    def _have_different_names(cls, features: tuple[Feature, ...]) -> tuple[Feature, ...]:
        names = [feature.name for feature in features]
        require(len(names) == len(set(names)), "features", "have different names", short(names))
        return features

    @field_validator("alpha")
    @classmethod
    def _is_more_than_rounding(cls, alpha: float) -> float:
        require(alpha >= LEAST_ALPHA, "alpha", f"be at least {LEAST_ALPHA:g}", alpha)
        return alpha

    @field_validator("margin")
    @classmethod
    def _stays_below_alpha(cls, margin: float, info: ValidationInfo) -> float:
        alpha = info.data.get("alpha", 1.0)
        require_number(margin, "margin", 0, alpha, open_at="high")
        require(alpha - margin >= LEAST_ALPHA, "margin", f"be below alpha by at least {LEAST_ALPHA:g}", margin)
        return margin

    @field_validator("costs")
    @classmethod
    def _are_not_both_tiny(cls, costs: tuple[float, float]) -> tuple[float, float]:
        require(max(costs) >= 1 / MOST, "costs", f"not both be below {1 / MOST:g}", costs)
        return costs


class Settings(Choices):
    """Everything that is fixed about a stream, and its waits."""

    scores: Digest | None = Field(
        default=None,
        title="Scores (SHA-256)",
        description="The hash of the scores that policies cut, if they were fitted to a sample. The event that created "
        "the stream holds them. Without scores, policies cut the features themselves.",
    )
    cuts: Cuts = Field(
        title="Cuts",
        description="For each feature that policies use: the numbers at which it is cut, in ascending order; null for "
        "a category, each of whose levels counts by itself. Empty if policies cut scores.",
    )

    @field_validator("cuts")
    @classmethod
    def _fit_the_features(cls, cuts: Cuts, info: ValidationInfo) -> Cuts:
        if info.data.get("scores") is not None:
            require(not cuts, "cuts", "be left out, as policies cut scores", short(cuts))
            thresholds = info.data.get("hypotheses", "thresholds") == "thresholds"
            require(thresholds, "hypotheses", "be thresholds, as policies cut scores", "cells")
            return cuts
        require(len(cuts) > 0, "cuts", "be given for at least one feature", cuts)
        kinds = {feature.name: feature.kind for feature in info.data.get("features", ())}
        for name, column in cuts.items() if kinds else ():
            require(name in kinds, "cuts", f"be for features of the stream {sorted(kinds)}", short(name))
            fits = (column is None) == (kinds[name] == "category")
            require(fits, "cuts", "be numbers for a number and null for a category", short({name: column}))
            rising = column is None or (column and all(a < b for a, b in itertools.pairwise(column)))
            require(bool(rising), "cuts", "be one or more numbers in strictly ascending order", short({name: column}))
        return cuts

    @cached_property
    def by_name(self) -> dict[str, Feature]:
        """The features by their names."""
        return {feature.name: feature for feature in self.features}

    @property
    def level(self) -> float:
        """α − margin: a gap up to this can't be a violation."""
        return self.alpha - self.margin

    @property
    def keeps_record(self) -> bool:
        """Whether people who come again get their first answer, and are left out of learning and audits.

        What is learned or reported from decisions needs a lot that is fresh, and a repeated answer isn't.
        """
        return self.lot == "round" or self.labels == "accepted" or self.audits == "decisions"

    @cached_property
    def _checks(self) -> tuple[tuple[str, Callable[[Any], float | str]], ...]:
        return tuple((feature.name, feature.value) for feature in self.features)

    def person(self, features: Any) -> dict[str, float | str]:
        """The features of one person, checked: all of them, no others, each of its kind."""
        names = self.by_name
        if type(features) is not dict:
            require(isinstance(features, Mapping), "features", "map names to values", type(features).__name__)
        if features.keys() != names.keys():
            missing, extra = names.keys() - features.keys(), features.keys() - names.keys()
            require(not missing, "features", f"hold all of {list(names)}", short(sorted(map(str, features))))
            require(not extra, "features", f"hold only {list(names)}", short(sorted(map(str, extra))))
        return {name: check(features[name]) for name, check in self._checks}

    @cached_property
    def _spelt_names(self) -> list[tuple[str, str]]:
        """Every feature and how it is spelt, in the order of canonical JSON."""
        names = sorted(self.by_name, key=lambda name: name.encode("utf-16-be"))
        return [(name, atom(name)) for name in names]

    def spelt_person(self, person: Mapping[str, Any]) -> str:
        """Canonical JSON of {id, features}, which are checked. Spelt by hand, as nothing else is spelt as often."""
        features = person["features"]
        spelt = [f"{quoted}:{atom(features[name])}" for name, quoted in self._spelt_names]
        return f'{{"features":{{{",".join(spelt)}}},"id":{atom(person["id"])}}}'

    def with_waits(self, changes: Mapping[str, Any]) -> Settings:
        """The same stream with some waits changed."""
        return self.model_copy(update={"waits": self.waits.changed(changes)})

    def with_review(self, changes: Mapping[str, Any]) -> Settings:
        """The same stream with another review plan."""
        return self.model_copy(update={"review": self.review.changed(changes)})

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return self.model_dump(mode="json")

    @classmethod
    def from_dict(cls, data: Any) -> Settings:
        """Settings from plain JSON values; an unknown name is refused.

        Examples
        --------
        >>> plain = {"name": "loans", "features": [{"name": "score"}], "cuts": {"score": [0.3, 0.6]}, "alpha": 0.2}
        >>> loans = Settings.from_dict(plain)
        >>> Settings.from_dict(loans.to_dict()) == loans
        True
        """
        try:
            return cls.model_validate(data)
        except ValidationError as error:
            raise refusal(error) from None


def sampled_cuts(
    features: Sequence[Feature],
    asked: Mapping[str, Sequence[float] | int | None] | None,
    sample: Sequence[Mapping[str, Any]],
    count: int = CUTS,
) -> dict[str, Any]:
    """Cuts in which every count is replaced by so many quantiles of a sample of people.

    Without ``asked``, every feature that isn't sensitive gets ``count`` cuts, or one for each level.

    Examples
    --------
    >>> people = [{"score": 0.0}, {"score": 1.0}, {"score": 2.0}, {"score": 3.0}]
    >>> sampled_cuts([Feature(name="score")], None, people, 3)
    {'score': [1.0, 2.0, 3.0]}
    """
    everything = {
        feature.name: count if feature.kind == "number" else None for feature in features if not feature.sensitive
    }
    by_name = {feature.name: feature for feature in features}
    return {
        name: _quantiles(by_name[name], column, sample) if isinstance(column, int) and name in by_name else column
        for name, column in (asked or everything).items()
    }


def _quantiles(feature: Feature, count: int, sample: Sequence[Mapping[str, Any]]) -> list[float]:
    import numpy as np

    from likewise.hypotheses.base import quantile_cuts

    require(feature.kind == "number", "cuts", "be null for a category", {feature.name: count})
    require_whole(count, "cuts")
    require(len(sample) > 0, "sample", "hold at least one person, as cuts are taken from it", len(sample))
    values = [feature.value(person.get(feature.name)) for person in sample]
    cuts: list[float] = quantile_cuts(np.array(values, dtype=float), count).tolist()
    require(len(cuts) > 0, "sample", f"have more than one value of {feature.name!r}", len(cuts))
    return cuts
