"""Fitted models and rules as columns: each person's scores stand beside what is known of them.

A policy on such columns brings its models along. Whoever gives it people as they come gets them scored first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from likewise.datasets.columns import opened
from likewise.errors import ModelMismatch, require
from likewise.hypotheses.fingerprint import check_models, fingerprint
from likewise.hypotheses.thresholds import score

SCORERS = "columns.zip"
"""The file of these models, beside a policy in the folder of a run."""


@dataclass(frozen=True, eq=False)
class ScoredColumns:
    """Models that fill columns.

    Attributes
    ----------
    models
        By the name of the column: anything with ``predict_proba``, ``decision_function`` or ``predict``, or a function
        from a dataframe to one number a person.
    takes
        The columns that each takes, in order.

    Examples
    --------
    >>> import pandas as pd
    >>> people = pd.DataFrame({"income": [3.0, 5.0], "debt": [1.0, 4.0]})
    >>> rule = ScoredColumns.of({"left": lambda frame: frame["income"] - frame["debt"]}, list(people.columns))
    >>> rule.added(people)["left"].tolist(), rule.inputs
    ([2.0, 1.0], ['income', 'debt'])
    """

    models: Mapping[str, Any]
    takes: Mapping[str, tuple[str, ...]]

    @classmethod
    def of(cls, models: Mapping[str, Any], columns: Sequence[str]) -> ScoredColumns:
        """Each model takes the columns that it was fitted with, as it names them; all of these if it names none."""
        require(
            isinstance(models, Mapping), "models", "be models by the names of their columns, {'risk': model}", models
        )
        taken = [name for name in models if name in columns]
        require(not taken, "models", "be called other than the columns of the frame", taken)
        takes = {name: tuple(map(str, getattr(model, "feature_names_in_", columns))) for name, model in models.items()}
        for name, wanted in takes.items():
            absent = [column for column in wanted if column not in columns]
            require(
                not absent, "models", f"take columns of the frame that are no label and no id; {name!r} wants", absent
            )
        return cls(dict(models), takes)

    @property
    def inputs(self) -> list[str]:
        """The columns that people must have."""
        return list(dict.fromkeys(column for wanted in self.takes.values() for column in wanted))

    def added(self, people: Any) -> Any:
        """A pandas dataframe of people with these columns; one that is there already is left as it is."""
        table = opened(people, "X").to_pandas()
        for name, model in self.models.items():
            if name not in table.columns:
                wanted = list(self.takes[name])
                absent = [column for column in wanted if column not in table.columns]
                require(not absent, "X", f"have the columns that {name!r} is scored from", f"no {absent}")
                table = table.assign(**{name: score(model, table[wanted])})
        return table

    def to_dict(self) -> dict[str, Any]:
        """What is kept beside the models: plain JSON values."""
        return {
            name: {"takes": list(self.takes[name]), "model": fingerprint(model)} for name, model in self.models.items()
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], models: Sequence[Any]) -> ScoredColumns:
        """The columns again, with their models in order."""
        if not models:
            raise ModelMismatch(f"`scorers` must be the models of the columns {list(data)}, got none.")
        check_models(models, [entry["model"] for entry in data.values()])
        return cls(dict(zip(data, models, strict=True)), {name: tuple(entry["takes"]) for name, entry in data.items()})
