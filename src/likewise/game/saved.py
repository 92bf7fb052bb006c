"""A transcript on disk: one npz file with JSON inside, no pickle.

Format 2 keeps any number of reports in a round. Format 1, with one at most, is not read: play again, the seed is kept.
"""

from __future__ import annotations

import json
from collections import namedtuple
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from likewise import hypotheses as classes
from likewise.errors import InvalidParameter
from likewise.facts import PlayFacts
from likewise.game.transcript import LOTS, REVIEWS, Transcript
from likewise.policies import AveragePolicy

FORMAT = 2
ARRAYS = (
    "rows", "y", "shown", "starts", "report_rounds", "pairs", "violates", "false", "reviewed", "penalties",
)  # fmt: skip
SOMETIMES = ("person", "weight", "compared", "stated", *LOTS, *REVIEWS)
"""Arrays that not every transcript has."""
PARTIAL = ("first_pass", "late")
"""Averages over some of the rounds, where a transcript has them."""


def write(transcript: Transcript, path: str | Path) -> None:
    """Everything that a transcript holds, to one file."""
    t, state, average = transcript, dict(transcript.state._asdict()), transcript.average_policy.total
    meta = {
        "format": FORMAT,
        "facts": t.facts.to_dict(),
        "hypotheses": t.hypotheses.to_dict(),
        "state": list(state),
        "columns": list(t.view.columns) if hasattr(t.view, "columns") else None,
    }
    arrays = {name: getattr(t, name) for name in ARRAYS}
    arrays |= {f"state/{name}": np.asarray(value) for name, value in state.items()}
    arrays |= _view_arrays(t.view)
    arrays |= {name: part for name in SOMETIMES if (part := getattr(t, name)) is not None}
    for name in PARTIAL:
        part = getattr(t, name)
        if part is not None and part.total is not None:
            arrays[name], meta[name], meta[f"{name} floors"] = part.total, part.rounds, part.floors
    if average is not None:
        arrays["average"], meta["floors"] = average, t.average_policy.floors
    with open(path, "wb") as file:
        np.savez_compressed(file, meta=np.array(json.dumps(meta)), **arrays)


def read(path: str | Path, *, models: Any = None, hypotheses: Any = None) -> Transcript:
    """The transcript; ``models`` or ``hypotheses`` for a class that is built on fitted models."""
    with np.load(path, allow_pickle=False) as file:
        meta = json.loads(str(file["meta"]))
        number = meta["format"]
        if number != FORMAT:
            raise InvalidParameter(f"`path` must hold a transcript of format {FORMAT}, got one of format {number}.")
        F = classes.from_dict(meta["hypotheses"], models) if hypotheses is None else hypotheses
        arrays: Any = {name: file[name] for name in ARRAYS}
        arrays |= {
            name: AveragePolicy.of(F, file[name], meta[name], meta.get(f"{name} floors", 0.0))
            for name in PARTIAL
            if name in meta
        }
        arrays |= {name: file.get(name) for name in SOMETIMES}
        return Transcript(
            **arrays,
            view=_view(file, meta["columns"]),
            average_policy=AveragePolicy.of(F, file.get("average"), len(file["penalties"]), meta.get("floors", 0.0)),
            hypotheses=F,
            state=_state(file, meta["state"]),
            facts=PlayFacts.from_dict(meta["facts"]),
        )


def _view_arrays(view: Any) -> dict[str, NDArray[Any]]:
    """The view as arrays that need no pickle: numbers as they are, anything else as text."""
    columns = {f"view/{name}": np.asarray(view[name]) for name in view.columns} if hasattr(view, "columns") else None
    arrays = {"view": np.asarray(view)} if columns is None else columns
    return {name: a.astype(str) if a.dtype.hasobject else a for name, a in arrays.items()}


def _view(file: Any, columns: list[Any] | None) -> Any:
    if columns is None:
        return file["view"]
    import pandas as pd

    return pd.DataFrame({name: file[f"view/{name}"] for name in columns})


def _state(file: Any, names: list[str]) -> Any:
    """The saved state under its field names; ``play`` turns it into the learner's own type again."""
    kind: Any = namedtuple("State", names)  # type: ignore[misc]  # the fields are known only to the file
    return kind(*(_plain(file[f"state/{name}"]) for name in names))


def _plain(value: NDArray[Any]) -> Any:
    return value.item() if value.ndim == 0 else value
