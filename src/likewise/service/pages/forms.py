"""Forms from declarations: a setting becomes a field with its title and sentence, and errors speak of that title."""

from __future__ import annotations

import re
from collections.abc import Sequence
from types import UnionType
from typing import Any, Literal, NamedTuple, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from likewise.errors import InvalidParameter


class Entry(NamedTuple):
    """A setting that can change, as a form shows it: a choice, yes or no, or a number that may be left empty."""

    name: str
    label: str
    hint: str
    choices: Sequence[str]
    optional: bool
    switch: bool = False


def entries_of(model: type[BaseModel]) -> list[Entry]:
    """The form of some settings, from their declaration."""
    return [
        Entry(name, str(field.title), str(field.description), _choices(field), field.default is None, _switch(field))
        for name, field in model.model_fields.items()
    ]


def _choices(field: FieldInfo) -> Sequence[str]:
    return get_args(field.annotation) if get_origin(field.annotation) is Literal else ()


def _switch(field: FieldInfo) -> bool:
    return isinstance(field.default, bool) and get_origin(field.annotation) not in (Union, UnionType)


def sent_value(text: Any, entry: Entry) -> Any:
    """What was sent for a setting: a choice, yes or no, a number, or nothing."""
    if entry.choices:
        return text
    if entry.switch:
        return text == "yes"
    if not str(text).strip() and entry.optional:
        return None
    try:
        return float(text)
    except ValueError:
        raise InvalidParameter(f"`{entry.name}` must be a number.") from None


def labelled(error: str, entries: Sequence[Entry]) -> str:
    """An error in the words of the form.

    Examples
    --------
    >>> labelled("`grace` must be in [0, ∞), got -1.", [Entry("grace", "Grace time", "", (), False)])
    '“Grace time” must be at least 0, got -1.'
    """
    for entry in entries:
        error = error.replace(f"`{entry.name}`", f"“{entry.label}”")
    return plainly(error)


def plainly(error: str) -> str:
    """A refusal without the marks of a program: names as words, texts in quotes as people write them.

    Examples
    --------
    >>> plainly("`days_valid` must be in (0, 36500], got -3.0."), plainly("There is no stream named 'loans'.")
    ('“days valid” must be above 0 and at most 36500, got -3.', 'There is no stream named “loans”.')
    >>> plainly("`role` must be one of ['admin', 'viewer'], got None.")
    '“role” must be one of admin, viewer, got nothing.'
    """
    error = re.sub(r"`([^`]*)`", lambda found: f"“{found[1].replace('_', ' ')}”", error)
    error = re.sub(r"\[('[^\]]*')\]", lambda found: found[1].replace("'", ""), error)
    error = re.sub(r"(?<![\w])'([^']*)'(?![\w])", r"“\1”", error)
    error = re.sub(r"\bbe in ([(\[])([^,()\[\]]+), ([^,()\[\]]+)([)\]])", _range, error)
    error = re.sub(r"\bgot (-?\d+)\.0\.$", r"got \1.", error)
    return re.sub(r"\bNone\b", "nothing", error)


def _range(found: re.Match[str]) -> str:
    """An interval in words: [0, 1] is from 0 to 1."""
    opens, low, high, closes = found.groups()
    if opens == "[" and closes == "]":
        return f"be from {low} to {high}"
    least = f"be {'at least' if opens == '[' else 'above'} {low}"
    return least if high == "∞" else f"{least} and {'at most' if closes == ']' else 'below'} {high}"
