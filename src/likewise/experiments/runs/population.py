"""The people of a run: somebody's own file, or a built-in data set. A wrong name gets a suggestion."""

from __future__ import annotations

import dataclasses
import difflib
import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from likewise import datasets
from likewise.datasets import Dataset, Encoder
from likewise.datasets.columns import arrow, levels, opened
from likewise.datasets.roles import OBVIOUS
from likewise.errors import DataUnavailable, InvalidParameter, require
from likewise.experiments.runs.settings import Settings
from likewise.hypotheses import OnnxModel, open_models
from likewise.protocol import Distance
from likewise.scoring.scored_columns import ScoredColumns

FRAME = "a dataframe"
"""The source of a run on people who were given in memory; nothing keeps them."""


def located(source: str) -> dict[str, str]:
    """Where the people are, and the digest of their file: a file, or else a built-in data set by name."""
    path = Path(source)
    if path.is_file():
        return {"source": str(path.absolute()), "sha256": file_digest(path)}
    if source in datasets.NAMES:
        return {"source": source, "sha256": ""}
    raise InvalidParameter(
        f"`source` must be a file of people or one of {', '.join(datasets.NAMES)}, got {source!r}, which is neither."
    )


def file_digest(path: Path) -> str:
    """The SHA-256 of a file."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise DataUnavailable(f"`source` must be a file that can be read, got {path}: {error.strerror}.") from None


def read(s: Settings) -> tuple[Settings, Dataset, ScoredColumns | None]:
    """The settings, with columns named exactly as in the file; everybody, as they say; and models that fill columns."""
    if s.source == FRAME:
        raise InvalidParameter(
            "`source` must be a file, got a run on a dataframe, which is not kept: call lw.fit again."
        )
    if not s.sha256:
        return s, _built_in(s), None
    frame = datasets.read_people(s.source, encoding=s.encoding)
    scorers = scorers_of({name: _model(path) for name, path in s.models.items()}, frame, s) if s.models else None
    frame = frame if scorers is None else scorers.added(frame)
    s = _named(s, [str(column) for column in frame.columns])
    return s, of_frame(frame, s, name=Path(s.source).stem), scorers


def _model(path: str) -> Any:
    """The one model of a file."""
    if path.endswith(".onnx"):
        return OnnxModel(path)
    models = open_models(path)
    require(len(models) == 1, "models", "be files of one model each", f"{path} with {len(models)}")
    return models[0]


def scorers_of(models: Mapping[str, Any], frame: Any, s: Settings) -> ScoredColumns:
    """Columns that models fill, from the columns of a dataframe that have no role of their own."""
    roles = {s.label, s.today, *([s.id] if s.id != datasets.EACH_ROW else [])}
    return ScoredColumns.of(models, [name for name in opened(frame).columns if name not in roles])


def of_frame(frame: Any, s: Settings, *, name: str, distance: Distance | None = None) -> Dataset:
    """Everybody in a dataframe, with the roles of columns that the settings name."""
    return datasets.from_frame(
        frame,
        label=str(s.label),
        positive=_positive(frame, str(s.label)) if s.positive is None else s.positive,
        compare_by=list(s.compare_by),
        sensitive=list(s.sensitive),
        drop=list(s.drop),
        categories=list(s.categories),
        units=s.units or None,
        ids=s.id,
        today=s.today,
        name=name,
        distance=distance,
    )


def compared_with(s: Settings) -> Any:
    """The people whom reasons of a run's policy are told against: held out, or else those of the play."""
    data, split = read(s)[1].parted(s.split, s.seed)
    return data.people.iloc[split.held_out if len(split.held_out) else split.play]


def _named(s: Settings, columns: Sequence[str]) -> Settings:
    """The settings with columns as the file names them: spaces around a name in its first line don't matter."""
    if s.label is None:
        raise InvalidParameter(
            f"`label` must name the column that holds the right answer, got none; the columns are {_some(columns)}."
        )
    exact = {column.strip(): column for column in columns} | {column: column for column in columns}

    def exact_name(role: str, name: str) -> str:
        if name not in exact:
            raise InvalidParameter(
                f"`{role.replace('_', '-')}` must be a column of {Path(s.source).name}, got {name!r}; "
                f"{_suggestion(name, columns)}"
            )
        return exact[name]

    label = exact_name("label", s.label)
    require(len(s.compare_by) > 0, "compare-by", "name the columns that may justify a difference", "none")
    lists = ("compare_by", "sensitive", "drop", "categories", "features", "show")
    changes: dict[str, Any] = {role: tuple(exact_name(role, name) for name in getattr(s, role)) for role in lists}
    changes["units"] = {exact_name("units", name): unit for name, unit in s.units.items()}
    changes["id"] = s.id if s.id in (None, datasets.EACH_ROW) else exact_name("id", str(s.id))
    changes["today"] = None if s.today is None else exact_name("today", s.today)
    return dataclasses.replace(s, label=label, **changes)


def _suggestion(name: str, columns: Sequence[str]) -> str:
    by_lower = {column.strip().lower(): column for column in columns}
    close = difflib.get_close_matches(name.lower(), by_lower, n=1)
    if any("," in column for column in columns):
        return f"the columns are {' | '.join(columns)}; a name with a comma goes in double quotes."
    return f"did you mean {by_lower[close[0]]!r}?" if close else f"the columns are {_some(columns)}."


def _some(columns: Sequence[str], most: int = 15) -> str:
    return ", ".join(columns[:most]) + (", …" if len(columns) > most else "")


def _positive(frame: Any, label: str) -> str | None:
    """The value that obviously means a yes, if there is one (of 0 and 1, false and true everybody knows)."""
    table = opened(frame)
    distinct = levels(arrow(table, label), label) if label in table.columns else ()
    by_lower = {level.strip().lower(): level for level in distinct}
    return next((by_lower[yes] for no, yes in OBVIOUS if set(by_lower) == {no, yes}), None)


def _built_in(s: Settings) -> Dataset:
    """A data set that brings its own label and comparison; columns may still be taken from the class."""
    own = ("encoding", "label", "positive", "compare_by", "sensitive", "categories", "units", "models", "id", "today")
    for name in own:
        value = getattr(s, name)
        require(not value, name.replace("_", "-"), "be left out with a built-in data set, which has its own", value)
    data = datasets.load(s.source)
    needed = [name for name in s.drop if name in data.compare_by]
    require(not needed, "drop", "not hold columns to compare by", needed)
    return dataclasses.replace(data, encoder=Encoder.fit(data.people, drop=s.drop)) if s.drop else data
