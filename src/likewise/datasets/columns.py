"""Columns of any dataframe: what kind each is, and its values as numbers or as codes of levels.

pandas, polars and pyarrow tables are opened through narwhals, and every column is read as one Arrow array, so that
a person is encoded the same whatever holds them. Kinds:

    number      whole numbers, decimals, true and false
    category    text with few different values; what is missing is a level of its own
    unusable    free text and ids, dates, columns that never change or are always missing; each with a reason in words
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from likewise.errors import InvalidParameter, NotSupported, require
from likewise.protocol import Floats
from likewise.reading.decimals import brief

if TYPE_CHECKING:
    import narwhals as nw

MANY = 200
"""Text with more different values than this is free text or an id, not a category."""
FEW = 20
"""Text with at most this many different values is a category, even if every row has a different one."""
SHOWN = 6
"""How many levels of a category are shown."""
MISSING, UNSEEN = -1, -2
"""Codes of values that are missing, and of levels that were not there when the levels were learned."""

ID_NAME = re.compile(r"(^|[_\W])(id|uuid|index|key|number|nr|no)$", re.IGNORECASE)
_MONTH = "(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*"
_DATE = re.compile(
    rf"\d{{4}}[-/.]\d{{1,2}}[-/.]\d{{1,2}}([T ].*)?|\d{{1,2}}[-/.]\d{{1,2}}[-/.](\d{{2}}|\d{{4}})( .*)?|"
    rf"\d{{1,2}}[ -]{_MONTH}[ -]\d{{2,4}}|{_MONTH}\.? \d{{1,2}},? \d{{4}}",
    re.IGNORECASE,
)
_FIGURES = re.compile(r"[-+(]?\s*[$€£¥]?\s*\d[\d\s.,'’]*\s*[$€£¥%]?\)?")


def needs(package: str) -> Any:
    """Import a package of the extra ``data``, or say in one sentence how to get it."""
    import importlib

    try:
        return importlib.import_module(package)
    except ImportError:
        raise NotSupported(
            f"Data frames need {package}, which is not installed: pip install pandas pyarrow narwhals."
        ) from None


def opened(frame: Any, name: str = "frame") -> nw.DataFrame[Any]:
    """A dataframe of any kind, as narwhals sees it; its columns have different names, as text."""
    narwhals = needs("narwhals")
    needs("pyarrow")
    repeated = _repeated(frame)
    require(not repeated, name, "have different names for its columns", repeated)
    try:
        table: nw.DataFrame[Any] = narwhals.from_native(frame, eager_only=True)
    except TypeError:
        must, got = "be a pandas or polars dataframe or a pyarrow table", type(frame)
        raise InvalidParameter(f"`{name}` must {must}, got {got.__module__.split('.')[0]}.{got.__name__}.") from None
    columns = table.columns
    require(all(isinstance(column, str) for column in columns), name, "name its columns with text", columns)
    return table


def _repeated(frame: Any) -> list[str]:
    """Names that several columns of a pandas dataframe or a pyarrow table have; polars has none."""
    names = getattr(frame, "column_names", None) or getattr(frame, "columns", []) if hasattr(frame, "shape") else []
    return sorted({str(name) for name, times in Counter(names).items() if times > 1})


def require_columns(table: nw.DataFrame[Any], columns: Sequence[str], name: str = "frame") -> None:
    """Raise unless the table has all these columns."""
    absent = [column for column in columns if column not in table.columns]
    if absent:
        raise InvalidParameter(f"`{name}` must have the columns {list(columns)}, got no {absent}.")


def arrow(table: nw.DataFrame[Any], name: str) -> Any:
    """One column as an Arrow array, categories as text; a column of mixed kinds as text."""
    import pyarrow as pa

    column = table.get_column(name)
    try:
        values = column.to_arrow()
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        values = pa.array([None if value is None or value != value else _text(value) for value in column])
    if isinstance(values, pa.ChunkedArray):
        values = values.combine_chunks()
    if pa.types.is_dictionary(values.type):
        values = values.dictionary_decode()
    return values.cast(pa.large_string()) if _is_text(values.type) else values


def _text(value: Any) -> str:
    return f"{value:.15g}" if isinstance(value, (int, float)) and not isinstance(value, bool) else str(value)


def _is_text(type_: Any) -> bool:
    from pyarrow import types

    return bool(types.is_string(type_) or types.is_large_string(type_) or types.is_string_view(type_))


def _is_number(type_: Any) -> bool:
    from pyarrow import types

    counted = types.is_boolean(type_) or types.is_integer(type_)
    return bool(counted or types.is_floating(type_) or types.is_decimal(type_))


def numbers(values: Any, name: str) -> Floats:
    """A column's values as floats, NaN where missing; text that isn't a number is named."""
    import pyarrow as pa

    try:
        floats = values.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        # Arrow speaks of types; the reader knows the column and what it holds.
        raise InvalidParameter(f"`{name}` must be a column of numbers, got {_odd(values)}.") from None
    require(not np.isinf(floats).any(), name, "be a column of finite numbers", "an infinite one")
    return np.asarray(floats, dtype=float)


def infinite(values: Any) -> NDArray[np.intp]:
    """The rows of a column of numbers that hold no finite one; none of any other column."""
    import pyarrow as pa

    if not _is_number(values.type):
        return np.empty(0, dtype=np.intp)
    return np.flatnonzero(np.isinf(values.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)))


def _odd(values: Any) -> str:
    """The first value that is not a number, or what the column holds."""
    if not _is_text(values.type):
        return str(values.type)
    return next((repr(text) for text in values.to_pylist() if text is not None and not _is_float(text)), "text")


def _is_float(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def texts(values: Any, name: str = "column") -> Any:
    """A column's values as Arrow text, null where missing; 1, 1.0 and "1" are the same level."""
    import pyarrow as pa

    if _is_text(values.type):
        return values
    if pa.types.is_boolean(values.type) or not _is_number(values.type):
        return values.cast(pa.large_string())
    different, which = np.unique(numbers(values, name), return_inverse=True)
    single = pa.types.is_float32(values.type)  # 10.4 in single precision is 10.3999996 in double
    labels = pa.array(
        [None if value != value else _text(float(str(np.float32(value)) if single else value)) for value in different],
        pa.large_string(),
    )
    return labels.take(pa.array(which.ravel()))


def levels(values: Any, name: str = "column") -> tuple[str, ...]:
    """The different values of a column, as text in order; what is missing is not among them."""
    import pyarrow.compute as pc

    return tuple(sorted(pc.unique(texts(values, name)).drop_null().to_pylist()))


def codes(values: Any, distinct: Sequence[str]) -> NDArray[np.int64]:
    """Each value's place among the known levels; ``MISSING`` or ``UNSEEN`` where it has none."""
    import pyarrow as pa
    import pyarrow.compute as pc

    labels = texts(values)
    place = pc.index_in(labels, value_set=pa.array(distinct, pa.large_string())).fill_null(UNSEEN)
    positions: NDArray[np.int64] = place.to_numpy(zero_copy_only=False).astype(np.int64)
    if labels.null_count:
        positions[labels.is_null().to_numpy(zero_copy_only=False)] = MISSING
    return positions


# Kinds -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Column:
    """What a column holds, as far as its values tell.

    Attributes
    ----------
    kind
        ``"number"``, ``"category"`` or ``"unusable"``.
    missing
        How many values are missing.
    different
        How many different values there are.
    values
        The first levels of a category, or the smallest and the largest number. Never those of an unusable column, as
        they may be names.
    reason
        Why it is unusable; empty otherwise.
    """

    name: str
    kind: str
    missing: int
    different: int
    values: tuple[str, ...] = ()
    reason: str = ""

    def to_dict(self) -> dict[str, Any]:
        """The column as plain JSON values."""
        return asdict(self) | {"values": list(self.values)}


def inspect(table: nw.DataFrame[Any], name: str, *, category: bool = False) -> Column:
    """The kind of a column; ``category`` says that it is one, whatever it looks like."""
    values = arrow(table, name)
    if _is_number(values.type) and not category:
        return _number(values, name)
    if not (_is_text(values.type) or _is_number(values.type)):
        return _other(values, name)
    distinct, missing = levels(values), int(texts(values).null_count)
    reason = _no_category(distinct, len(values) - missing, forced=category)
    if reason:
        return Column(name, "unusable", missing, len(distinct), reason=reason)
    return Column(name, "category", missing, len(distinct), distinct[:SHOWN])


def _number(values: Any, name: str) -> Column:
    try:
        floats = numbers(values, name)
    except InvalidParameter:
        return Column(name, "unusable", int(values.null_count), 0, reason="it holds infinite numbers")
    present = floats[~np.isnan(floats)]
    missing, different = len(floats) - len(present), len(np.unique(present))
    integers = bool((present == np.floor(present)).all())
    unique = integers and different == len(floats) > FEW
    reason = ""
    if different == 0:
        reason = "it is always missing"
    elif different == 1 and len(floats) > 1 and not missing:
        reason = "it is the same for everybody"
    elif unique and (present.max() - present.min() == different - 1 or ID_NAME.search(name)):
        reason = "it is an id, a different number in every row"
    if reason:
        return Column(name, "unusable", missing, different, reason=reason)
    ends = (present.min(), present.max())
    # Of two values each may be named as the label's yes, so they stay as they are read.
    shown = tuple(f"{end:.0f}" if integers and different == 2 else _end(end) for end in ends)
    return Column(name, "number", missing, different, shown)


def _end(value: float) -> str:
    """The smallest or largest number of a column; of a large one no digit before the point is rounded."""
    return brief(value) if abs(value) < 1e5 else f"{value:,.0f}"


def _no_category(distinct: tuple[str, ...], rows: int, *, forced: bool) -> str:
    """Why these levels are no category."""
    if not distinct:
        return "it is always missing"
    if forced:
        return ""
    if are_dates(distinct):
        return "it holds dates; turn them into numbers (an age, a number of days) to use them"
    if len(distinct) > MANY or (len(distinct) > FEW and len(distinct) > rows / 2):
        odd = [level for level in distinct if not _is_float(level)]
        if len(odd) < len(distinct) / 10:
            return f"it holds numbers as text, and {odd[0]!r} among them" if odd else "it holds numbers as text"
        if sum(_FIGURES.fullmatch(level) is not None for level in distinct) > len(distinct) * 0.9:
            return "it holds numbers with commas, signs or spaces in them; write them plainly, like 3713.5, to use them"
        counts = f"with {len(distinct):,} different values in {rows:,} rows"
        return f"it is free text or an id, {counts}; if it is a category all the same, name it in `categories`"
    return "it is the same for everybody" if len(distinct) == 1 and rows > 1 else ""


def are_dates(distinct: Sequence[str]) -> bool:
    """Whether texts are dates, in one form or in several.

    Examples
    --------
    >>> are_dates(["2019-02-28", "28.2.2019", "02/28/2019 14:30", "28-Feb-2019"]), are_dates(["2019"]), are_dates([])
    (True, False, False)
    """
    return bool(distinct) and all(_DATE.fullmatch(text.strip()) for text in distinct)


def _other(values: Any, name: str) -> Column:
    import pyarrow as pa

    if pa.types.is_null(values.type):
        reason = "it is always missing"
    elif pa.types.is_temporal(values.type):
        reason = "it holds dates; turn them into numbers (an age, a number of days) to use them"
    else:
        reason = f"it holds {values.type}, neither numbers nor text"
    return Column(name, "unusable", int(values.null_count), 0, reason=reason)
