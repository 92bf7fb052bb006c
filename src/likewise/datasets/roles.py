"""Columns that are about a person but no features: who each row is, and what is decided today."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from likewise.datasets.columns import codes, levels, numbers
from likewise.errors import InvalidParameter, require
from likewise.protocol import Floats

if TYPE_CHECKING:
    import pandas as pd

EACH_ROW = "each-row"
"""In place of a column of ids: every row is a person of its own, also one that equals another."""
OBVIOUS = (("0", "1"), ("false", "true"), ("no", "yes"), ("n", "y"))
"""Two values that say by themselves which of them is a yes."""


def persons(rows: pd.DataFrame, ids: str | None) -> tuple[NDArray[np.intp], bool]:
    """A number for each row, the same for the same person; and whether anybody knows that they are.

    Without ids, rows that are the same in every column get the same number: they may be one person, or not.

    Examples
    --------
    >>> import pandas as pd
    >>> rows = pd.DataFrame({"who": ["ann", "bob", "ann"], "income": [3, 3, 4]})
    >>> [persons(rows, ids)[0].tolist() for ids in ("who", None)]
    [[0, 1, 0], [0, 1, 2]]
    """
    import pandas as pd

    if ids is not None and ids in rows.columns:
        numbered = pd.factorize(rows[ids])[0].astype(np.intp)
        missing = int((numbered < 0).sum())
        require(missing == 0, "id", f"be a column without gaps, {ids!r} is not", f"{missing} missing")
        return numbered, True
    require(ids in (None, EACH_ROW), "id", f"be one of the columns {list(rows.columns)}, or {EACH_ROW}", ids)
    if ids is not None:
        return np.arange(len(rows)), True
    same = pd.util.hash_pandas_object(rows.astype(str), index=False)
    numbered = pd.factorize(same)[0].astype(np.intp)
    return numbered, len(rows) == int(numbered.max(initial=-1)) + 1


def decided_today(values: Any, name: str, positive: Any = None) -> Floats:
    """What today's rule or model gives everybody: a column of yes and no, or of probabilities, as numbers in [0, 1].

    Examples
    --------
    >>> import pyarrow as pa
    >>> decided_today(pa.array(["yes", "no"]).cast(pa.large_string()), "today").tolist()
    [1.0, 0.0]
    >>> decided_today(pa.array([0.25, 1.0]), "score").tolist()
    [0.25, 1.0]
    """
    import pyarrow as pa

    missing = int(values.null_count)
    require(missing == 0, "today", f"be a column without gaps, {name!r} is not", f"{missing} missing")
    if not pa.types.is_large_string(values.type):
        given = numbers(values, name)
        fine = bool(((given >= 0) & (given <= 1)).all())
        require(fine, "today", f"hold yes and no, or numbers from 0 to 1; {name!r} does not", _ends(given))
        return given
    distinct = levels(values)
    return np.asarray(codes(values, distinct) == distinct.index(_yes(distinct, name, positive)), dtype=float)


def _yes(distinct: tuple[str, ...], name: str, positive: Any) -> str:
    """The value that counts as a yes: the label's own, or the obvious one."""
    if positive is not None and str(positive) in distinct:
        return str(positive)
    by_lower = {level.strip().lower(): level for level in distinct}
    for no, yes in OBVIOUS:
        if set(by_lower) <= {no, yes} and yes in by_lower:
            return by_lower[yes]
    raise InvalidParameter(
        f"`today` must be a column of yes and no, of the label's own values, or of probabilities, got {name!r} with "
        f"{', '.join(distinct[:4])}{', …' if len(distinct) > 4 else ''}."
    )


def _ends(given: Floats) -> str:
    return f"{given.min():g} to {given.max():g}"
