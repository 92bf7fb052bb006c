"""The bodies of requests. They say what JSON must look like.

What it must mean (which features there are, which pair can be a violation) is checked by the engine, whose sentences
know the stream.
"""

from __future__ import annotations

import math
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictFloat, StrictInt, StrictStr

from likewise.errors import require
from likewise.service.configuration import Configuration
from likewise.service.stream.declared import TEXT_LIMIT, Finite, Text, short, whole
from likewise.service.stream.sample import compared, labelled
from likewise.service.stream.settings import Choices, Review, Seconds, Settings, Waits, sampled_cuts

Value = Annotated[StrictFloat | StrictInt | StrictStr, Field(description="A number, or a level of a category.")]
Id = Annotated[StrictStr, Field(min_length=1, max_length=TEXT_LIMIT)]
Words = Annotated[StrictStr, Field(max_length=2000)]
Count = Annotated[int, whole(1)]


class Body(BaseModel):
    """A request body: nothing that isn't named here."""

    model_config = ConfigDict(extra="forbid")


class StreamBody(Choices):
    """A new stream: its settings, whose cuts, or whose whole class, may be taken from a sample of people."""

    cuts: dict[Text, tuple[Finite, ...] | Count | None] | None = Field(
        default=None,
        title="Cuts",
        description="For each feature that policies use: ascending numbers, or how many cuts to take from the sample; "
        "null for a category. Without this, all features that are not sensitive are cut by the sample.",
    )
    sample: tuple[dict[str, Value], ...] = Field(
        default=(),
        title="Sample",
        description="People whose features show where to cut; or, with a label, people to whom the scores that "
        "policies cut are fitted. The sample is not kept.",
    )
    label: Text | None = Field(
        default=None,
        title="Label",
        description="The name under which the sample gives everybody's label, 0 or 1. The class is then fitted to the "
        "sample, and cuts are left out.",
    )
    compare_by: tuple[Text, ...] = Field(
        default=(),
        title="Compare by",
        description="The features that reviewers should compare people by: a short way to mark them with `compare`.",
    )

    def choices(self, limits: Configuration) -> Choices:
        """What is chosen except the class, within the service's limits."""
        counts = [count for count in (self.cuts or {}).values() if isinstance(count, int)]
        for name, size, most in (
            ("features", len(self.features), limits.max_features),
            ("sample", len(self.sample), limits.max_sample),
            ("k", self.k, limits.max_batch),
            ("cuts", max(counts, default=0), limits.max_size),
        ):
            require(size <= most, name, f"be at most {most}", size)
        chosen = {name: getattr(self, name) for name in Choices.model_fields}
        return Choices(**chosen | {"features": compared(self.features, self.compare_by)})

    def to_fit(self, limits: Configuration) -> tuple[Choices, str]:
        """What is chosen, and the name of the label, where scores are to be fitted; refused if that can't be."""
        choices, label = self.choices(limits), self.label
        require(label is not None, "label", "be given", label)
        require(self.cuts is None, "cuts", "be left out, as the class is fitted to the sample", short(self.cuts))
        thresholds = self.hypotheses == "thresholds"
        require(thresholds, "hypotheses", "be thresholds, as the class is fitted to the sample", self.hypotheses)
        labelled(choices.features, self.sample, str(label))
        return choices, str(label)

    def settings(self, limits: Configuration) -> Settings:
        """The settings that are asked for, within the service's limits, with cuts on features."""
        choices = self.choices(limits)
        chosen = {name: getattr(choices, name) for name in Choices.model_fields}
        settings = Settings(**chosen, cuts=sampled_cuts(self.features, self.cuts, self.sample))
        most = limits.max_size
        require(class_size(settings) <= most, "cuts", f"give at most {most} cuts or cells", class_size(settings))
        return settings


def class_size(settings: Settings) -> int:
    """What memory and time grow with: the cuts and levels of thresholds, the cells of a grid.

    Examples
    --------
    >>> plain = {"name": "loans", "features": [{"name": "score"}, {"name": "age"}], "alpha": 0.2}
    >>> plain["cuts"] = {"score": [0.3, 0.6], "age": [30]}
    >>> [class_size(Settings.from_dict(plain | {"hypotheses": name})) for name in ("thresholds", "cells")]
    [3, 6]
    """
    counts = [
        len(settings.by_name[name].levels) - 1 if column is None else len(column)
        for name, column in settings.cuts.items()
    ]
    return math.prod(count + 1 for count in counts) if settings.hypotheses == "cells" else sum(counts)


class StreamChange(Body):
    """Waits that are different from now on; those that are not named stay."""

    waits: Waits


class PlanChange(Body):
    """Parts of the review plan that are different from now on; those that are not named stay."""

    review: Review


class PersonBody(Body):
    """A person to decide about."""

    id: Id
    features: dict[str, Value]


class RoundBody(Body):
    """A batch of people to decide about."""

    people: list[PersonBody] = Field(min_length=1)


class LabelsBody(Body):
    """Labels by the ids of people: 1 if it turned out well, 0 if not."""

    labels: dict[str, StrictInt] = Field(min_length=1)


class VerdictBody(Body):
    """An auditor's verdict on a round."""

    verdict: Literal["pair", "none", "skip"] = Field(
        description="pair: these two should have been treated more alike. none: no such pair. skip: not looked at."
    )
    pair: list[Id] = Field(default=[], description="The ids of the two, in any order, if the verdict is pair.")
    reason: Words = ""
    note: Words = ""


class AuditBody(VerdictBody):
    """An auditor's verdict on a round, and how it came about."""

    hints: StrictBool | None = Field(default=None, description="Whether they had asked why; null if nobody knows.")
    seconds: Seconds | None = Field(default=None, description="For which they looked at it; null if nobody knows.")


class OpinionBody(Body):
    """An auditor's answer about a pair that somebody else named."""

    pair: list[Id] = Field(description="The ids of the two, in any order.", min_length=2, max_length=2)
    objects: bool | None = Field(description="Whether they were treated too differently; null to skip.")
    hints: StrictBool | None = Field(default=None, description="Whether they had asked why; null if nobody knows.")
    seconds: Seconds | None = Field(default=None, description="For which they looked at it; null if nobody knows.")


class KnownBody(Body):
    """What a round with a known answer is shown again for."""

    use: Literal["gold", "practice"] | None = Field(
        description="gold: hidden among others, to find out how much reviewers find. practice: open, with the answer "
        "afterwards. null: it isn't used any more."
    )


class PracticeBody(Body):
    """An answer to a practice round."""

    verdict: Literal["pair", "none", "skip"] = Field(description="As in a verdict.")
    pair: list[Id] = Field(default=[], description="The ids of the two, in any order, if the verdict is pair.")


class StopBody(Body):
    """Why a stream is stopped."""

    reason: Words = Field(
        default="",
        description="Shown to everybody who asks for a decision. It is kept outside the log and can be erased.",
    )
