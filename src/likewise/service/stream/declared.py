"""Values that are declared once: their types, limits and sentences serve Python, the API, the pages and the docs.

A declared value is a frozen pydantic model. Whatever is wrong with it is said in one sentence that names the field,
what it must be, and what it got; over HTTP the same sentence comes with a pointer to its place in the body.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BaseModel, ConfigDict, GetCoreSchemaHandler, GetJsonSchemaHandler, ValidationError
from pydantic_core import CoreSchema, core_schema

from likewise.errors import InvalidParameter, LikewiseError, require, require_number, require_whole

TEXT_LIMIT = 200
"""The longest name of a feature, level or person."""
LARGEST = 2**1023
"""Numbers beyond this may have no float. Computed once: Python would do so again at every check."""


class Declared(BaseModel):
    """A frozen value with named fields and no others.

    Examples
    --------
    >>> class Level(Declared):
    ...     alpha: Annotated[float, number(0, 1, open_at="low")]
    >>> Level(alpha=1.7)
    Traceback (most recent call last):
    ...
    likewise.errors.InvalidParameter: `alpha` must be in (0, 1], got 1.7.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    if not TYPE_CHECKING:  # which would hide the fields' types from whoever constructs one

        def __init__(self, /, **given: Any) -> None:
            try:
                super().__init__(**given)
            except ValidationError as error:
                raise refusal(error) from None

        # Within another value pydantic then doesn't come by here, so that it can say where in the whole an error is.
        __init__.__pydantic_base_init__ = True


def refusal(error: ValidationError) -> InvalidParameter:
    """The first thing that is wrong, as our own error."""
    return InvalidParameter(sentence(error.errors()[0]))


def sentence(wrong: Mapping[str, Any]) -> str:
    """One thing that pydantic found wrong, in the form of all our refusals.

    Examples
    --------
    >>> sentence({"type": "string_type", "loc": ("id",), "msg": "Input should be a valid string", "input": 3})
    '`id` must be a valid string, got 3.'
    """
    cause = wrong.get("ctx", {}).get("error")
    if isinstance(cause, LikewiseError):
        return str(cause)
    name = next((part for part in reversed(wrong["loc"]) if isinstance(part, str)), "the value")
    if wrong["type"] == "missing":
        place = wrong["loc"][-1]
        return f"`{name}` must {'be given' if place == name else f'hold more than {place}'}, got nothing."
    if wrong["type"] == "extra_forbidden":
        return f"`{name}` must be left out, as there is no such field, got {short(wrong['input'])!r}."
    # In JSON, and in our sentences, a tuple is a list.
    must = (wrong["msg"].partition(" should ")[2] or wrong["msg"]).replace("tuple", "list")
    return f"`{name}` must {must}, got {short(wrong['input'])!r}."


def short(value: Any) -> Any:
    """A value that fits into a sentence."""
    text = repr(value)
    return value if len(text) <= 80 else text[:77] + "…"


@dataclass(frozen=True, eq=False)  # typing hashes metadata, and a mapping has no hash
class Checked:
    """Metadata of a field: a check with a sentence of our own, and what JSON Schema says of it.

    Attributes
    ----------
    check
        From a value and the name of its field to the value to keep; raises otherwise.
    schema
        The limits as an OpenAPI document shows them.
    """

    check: Callable[[Any, str], Any]
    schema: Mapping[str, Any]

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """The check alone: what pydantic would convert, like a text to a number, is refused."""
        check, name = self.check, handler.field_name or "value"
        return core_schema.no_info_plain_validator_function(lambda value: check(value, name))

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        """The limits."""
        return dict(self.schema)


def number(low: float, high: float = math.inf, *, open_at: str = "") -> Checked:
    """A finite number from ``low`` to ``high``; ``open_at`` leaves out "low", "high" or both."""

    def check(value: Any, name: str) -> float:
        require_number(value, name, low, high, open_at=open_at)
        return float(value)

    limits = {"exclusiveMinimum" if "low" in open_at else "minimum": low}
    if math.isfinite(high):
        limits["exclusiveMaximum" if "high" in open_at else "maximum"] = high
    return Checked(check, {"type": "number"} | limits)


def whole(low: int, high: int | None = None) -> Checked:
    """A whole number from ``low`` to ``high``."""

    def check(value: Any, name: str) -> int:
        require_whole(value, name, low)
        if high is not None:
            require(value <= high, name, f"be at most {high:g}", short(value))
        return int(value)

    return Checked(check, {"type": "integer", "minimum": low} | ({} if high is None else {"maximum": high}))


def plain_text(value: Any, name: str) -> str:
    """A short text without control characters or halves of characters, which some database would refuse."""
    if not (isinstance(value, str) and 0 < len(value) <= TEXT_LIMIT and value.isprintable()):
        require(False, name, f"be 1 to {TEXT_LIMIT} printable characters", short(value))
    return str(value)


def person_id(value: Any, name: str) -> str:
    """A short text in one spelling: what looks the same to people is the same person."""
    text = plain_text(value, name)
    if not unicodedata.is_normalized("NFC", text):
        require(False, name, "be in the normal form NFC of Unicode, as one name must have one spelling", short(value))
    return text


def finite(value: Any, name: str) -> float:
    """A number that a float holds."""
    listed = isinstance(value, (int, float)) and not isinstance(value, bool)
    require(listed and abs(value) <= LARGEST, name, "be finite numbers", short(value))
    return float(value)


Text = Annotated[str, Checked(plain_text, {"type": "string", "minLength": 1, "maxLength": TEXT_LIMIT})]
Finite = Annotated[float, Checked(finite, {"type": "number"})]
