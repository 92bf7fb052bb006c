"""Features and view together: what a class needs that looks at both what is known and what reviewers compare by."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from likewise.datasets.comparison import ByCategory, ByNumber, Comparison
from likewise.datasets.encoder import Category, Encoder, Number
from likewise.errors import InvalidParameter, require
from likewise.protocol import Floats


@dataclass(frozen=True)
class JointEncoder:
    """Turns people into the columns of an encoder with those of a comparison beside them.

    Examples
    --------
    >>> import pandas as pd
    >>> people = pd.DataFrame({"income": [30.0, 50.0], "home": ["rent", "own"]})
    >>> joint = JointEncoder(Encoder.fit(people), Comparison.fit(people, ["income"], units={"income": 40}))
    >>> joint.names
    ('income', 'home = own', 'home = rent', 'income (compared)')
    >>> joint.transform(people).tolist()
    [[-1.0, 0.0, 1.0, 0.75], [1.0, 1.0, 0.0, 1.25]]
    """

    encoder: Encoder
    viewer: Comparison

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that people must have."""
        return tuple(dict.fromkeys([*self.encoder.columns, *self.viewer.columns]))

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the encoded columns; those of the view are marked as compared."""
        return (
            *self.encoder.names,
            *(f"{part.name} (compared)" for part in self.viewer.parts for _ in range(part.width)),
        )

    @property
    def numbers(self) -> tuple[Number | ByNumber, ...]:
        """The columns of numbers, each once."""
        compared = [part for part in self.viewer.parts if isinstance(part, ByNumber)]
        return (*self.encoder.numbers, *(part for part in compared if part.name not in self.encoder.columns))

    @property
    def categories(self) -> tuple[Category | ByCategory, ...]:
        """The columns of categories, each once."""
        compared = [part for part in self.viewer.parts if isinstance(part, ByCategory)]
        return (*self.encoder.categories, *(part for part in compared if part.name not in self.encoder.columns))

    def transform(self, frame: Any) -> Floats:
        """People as numbers, one row each: their features, then their view."""
        return np.hstack([self.encoder.transform(frame), self.viewer.transform(frame)])

    def to_dict(self) -> dict[str, Any]:
        """Both as plain JSON values."""
        return {"kind": "JointEncoder", "encoder": self.encoder.to_dict(), "viewer": self.viewer.to_dict()}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> JointEncoder:
        """The pair from ``to_dict``, the same to the last bit."""
        try:
            require(data["kind"] == "JointEncoder", "data", "be a joint encoder", data["kind"])
            return cls(Encoder.from_dict(data["encoder"]), Comparison.from_dict(data["viewer"]))
        except (KeyError, TypeError):
            raise InvalidParameter("`data` must be what `JointEncoder.to_dict` gave, got something else.") from None


def encoder_from(data: dict[str, Any]) -> Encoder | JointEncoder:
    """The encoder of either kind, from its ``to_dict``."""
    return JointEncoder.from_dict(data) if data.get("kind") == "JointEncoder" else Encoder.from_dict(data)
