"""From the body of a new stream to its settings, within the service's limits."""

from __future__ import annotations

import math

from likewise.errors import require
from likewise.service.api.models import StreamBody
from likewise.service.configuration import Configuration
from likewise.service.stream.settings import Settings, with_sample


def settings_of(body: StreamBody, limits: Configuration) -> Settings:
    """The settings that a body asks for; cuts that aren't given come from its sample, which isn't kept."""
    for name, most in (("features", limits.max_features), ("sample", limits.max_sample)):
        found = len(getattr(body, name))
        require(found <= most, name, f"be at most {most}", found)
    require(body.largest_batch <= limits.max_batch, "largest_batch", f"be at most {limits.max_batch}",
            body.largest_batch)  # fmt: skip
    counts = [count for count in (body.cuts or {}).values() if isinstance(count, int)]
    most = max(counts, default=0)
    require(most <= limits.max_size, "cuts", f"be at most {limits.max_size}", most)
    settings = with_sample(body.model_dump(exclude={"sample"}), body.sample)
    require(size(settings) <= limits.max_size, "cuts", f"give at most {limits.max_size} cuts or cells", size(settings))
    return settings


def size(settings: Settings) -> int:
    """How large the class is: cuts and levels for thresholds, cells for a grid; what memory and time grow with.

    Examples
    --------
    >>> from likewise.service.stream.settings import Feature
    >>> two = (Feature("score"), Feature("age"))
    >>> cuts = {"score": (0.3, 0.6), "age": (30.0,)}
    >>> size(Settings("loans", two, cuts, 0.2)), size(Settings("loans", two, cuts, 0.2, kind="cells"))
    (3, 6)
    """
    counts = [
        len(settings.by_name[name].levels) - 1 if column is None else len(column)
        for name, column in settings.cuts.items()
    ]
    return math.prod(count + 1 for count in counts) if settings.kind == "cells" else sum(counts)
