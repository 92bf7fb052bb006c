"""The one spelling of a JSON value (RFC 8785, JCS), and the hashes that are taken of it.

RFC 8785 spells numbers as JavaScript does, sorts names by their UTF-16 code units and writes UTF-8, so that a log can
be checked in any language; ``docs/service.md`` has the whole format. The standalone checker
(``likewise.service.proof.standalone``) has its own copy of these few functions, so that an outsider needs nothing of
ours; a test holds the two together.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import rfc8785

from likewise.errors import InvalidParameter
from likewise.transparency.merkle import leaf_hash, root_of

EXPORT_FORMAT = 3
"""Of exports. Format 1 spelt numbers as Python does; format 2 had no Merkle tree."""
GENESIS = "0" * 64
"""What the first event of a stream carries for the hash of the one before."""
MOST = 2**53 - 1
"""The largest whole number for which every JSON reader has an exact double."""
SMALL = re.compile(r"([:\[,]-?)([0-9])\.?([0-9]*)e-([0-9]+)(?=[,\]}])")
"""A number below 1e-4 as Python spells it in a list or an object; or text that looks like one."""


def canonical(value: Any) -> bytes:
    """The one spelling of a JSON value; a whole number beyond 2^53 − 1 must be a float, or is refused.

    Every event and every person is spelt on the way to the log, and ``rfc8785`` is plain Python. So Python's encoder,
    which is compiled, spells what it spells in the same way (nearly everything, once whole floats are ints), and
    ``rfc8785`` the rest; a test holds that nobody can tell which of the two it was.

    Examples
    --------
    >>> canonical({"b": 0.1, "a": [1.0, None]})
    b'{"a":[1,null],"b":0.1}'
    """
    try:
        common = _common(value)
        text = _sorted(common)
        return (_with_small(text, common) if "e-" in text else text).encode()
    except _Uncommon:
        pass
    try:
        return rfc8785.dumps(value)
    except rfc8785.IntegerDomainError as error:
        raise InvalidParameter(f"`value` must hold whole numbers beyond 2^53 - 1 only as floats: {error}.") from None


_quoted: Callable[[str], str] = json.encoder.encode_basestring


def _encoder(*, sort_names: bool) -> Callable[[Any], str]:
    """Python's encoder without blanks, made once: ``json.dumps`` makes it again for every value."""
    make: Any = json.encoder.c_make_encoder  # type: ignore[attr-defined]  # not in the stubs
    if make is None:  # a Python without its compiled part
        return json.JSONEncoder(
            ensure_ascii=False, allow_nan=False, sort_keys=sort_names, separators=(",", ":")
        ).encode  # fmt: skip
    parts = make(None, _no_json, _quoted, None, ":", ",", sort_names, False, False)
    return lambda value: "".join(parts(value, 0))


def _no_json(value: Any) -> Any:
    raise TypeError(f"{type(value).__name__} is no JSON value")


_sorted = _encoder(sort_names=True)
spelt = _encoder(sort_names=False)
"""JSON that is not hashed: names stay in their order, and whole floats are floats. NaN is a ``ValueError``."""


class Answer(dict[str, Any]):
    """JSON values that are spelt once, though they are kept and sent. Whoever has one changes nothing in it.

    Examples
    --------
    >>> answer = Answer(t=1)
    >>> answer.text, answer.text is answer.text
    ('{"t":1}', True)
    """

    __slots__ = ("_text",)

    @property
    def text(self) -> str:
        """What ``spelt`` makes of it."""
        try:
            return self._text
        except AttributeError:
            self._text: str = spelt(self)
            return self._text


class _Uncommon(Exception):
    """A value that Python's encoder spells differently, or not at all."""


def _common(value: Any) -> Any:
    """The same value with whole floats as ints; refused where Python's encoder would still spell it differently."""
    kind = type(value)
    if kind is str or value is None or kind is bool:
        return value
    if kind is float:
        return _common_float(value)
    if kind is dict:
        # Sorted by code points, ASCII names stand as if by UTF-16 units; joining refuses names that aren't text.
        if not "".join(value).isascii():
            raise _Uncommon
        return {name: _common(part) for name, part in value.items()}
    if kind is list or kind is tuple:
        return [_common(part) for part in value]
    if kind is int and -MOST <= value <= MOST:
        return value
    raise _Uncommon


def _common_float(value: float) -> float:
    """Python and JavaScript both write the shortest digits that read back, but not with the same exponents.

    From 1e-4 up to 2^53 neither uses one; below that ``_with_small`` changes them.
    """
    if value.is_integer() and -MOST <= value <= MOST:
        return int(value)
    if abs(value) < MOST:
        return value
    raise _Uncommon


def _with_small(text: str, common: Any) -> str:
    """A text with its numbers below 1e-4 spelt as JavaScript does; refused where a string in it looks like one."""
    changed, count = SMALL.subn(_small, text)
    if (count and json.loads(changed) != common) or not isinstance(common, dict | list):
        raise _Uncommon
    return changed


def _small(found: re.Match[str]) -> str:
    before, first, rest, exponent = found[1], found[2], found[3], int(found[4])
    if exponent <= 6:
        return f"{before}0.{'0' * (exponent - 1)}{first}{rest}"
    return f"{before}{first}{'.' if rest else ''}{rest}e-{exponent}"


def dumps(value: Any) -> str:
    """Canonical JSON, as text."""
    return canonical(value).decode()


def atom(value: Any) -> str:
    """Canonical JSON of one text or number; ``dumps`` gives the same, but takes a while to find out what it has.

    Examples
    --------
    >>> atom("a"), atom(0.5), atom(2.0)
    ('"a"', '0.5', '2')
    """
    kind = type(value)
    if kind is str:
        return _quoted(value)
    if kind is float and 1e-4 <= abs(value) < MOST and not value.is_integer():
        return repr(value)
    return dumps([value])[1:-1]  # in a list, as Python's encoder spells a small number only there


def loads(text: str | bytes) -> Any:
    """JSON values from text that ``dumps`` wrote: floats come back bit by bit, but whole ones as ints, and -0.0 as 0.

    Examples
    --------
    >>> loads(dumps([0.1, 3.0, 2.0**60]))
    [0.1, 3, 1.152921504606847e+18]
    """
    text = text if isinstance(text, str) else text.decode()
    value, end = _DECODER.raw_decode(text)  # `decode` looks for blanks around it, which takes as long as reading it
    return value if end == len(text) else _DECODER.decode(text)


def _whole(digits: str) -> int | float:
    """A number without a point. From 2^53 on its digits are a double's shortest, which are not those of an int."""
    number = float(digits)
    return int(number) if abs(number) <= MOST else number


_DECODER = json.JSONDecoder(parse_int=_whole)


def digest(value: Any) -> str:
    """SHA-256 of the one spelling of a value.

    Examples
    --------
    >>> digest({"a": 1.0}) == digest({"a": 1})
    True
    """
    return hashlib.sha256(canonical(value)).hexdigest()


def people_root(people: Sequence[str]) -> dict[str, Any]:
    """What stands for the people of a round, each spelt, when its event is hashed: the root of a tree, and how many.

    So one of them can be shown without the others.
    """
    return {"root": root_of(leaf_hash(person.encode()) for person in people).hex(), "size": len(people)}


def in_place_of_people(root: Mapping[str, Any]) -> str:
    """How that stands in the data of the event. No text in them looks like this: its quotation marks are escaped."""
    return f'"people":{{"root":"{root["root"]}","size":{root["size"]}}}'


def event_hash(event: Mapping[str, Any]) -> str:
    """SHA-256 of an event as exported, with the hash of the one before it and without its own."""
    line = {name: value for name, value in event.items() if name != "hash"}
    data = line["data"]
    if isinstance(data, dict) and isinstance(data.get("people"), list):
        line["data"] = {**data, "people": people_root(list(map(dumps, data["people"])))}
    return hashlib.sha256(canonical(line)).hexdigest()


def commitment(salt: str, content: str) -> str:
    """SHA-256 of a secret salt and canonical JSON: binds to the content, and says nothing once the salt is gone."""
    return hashlib.sha256(bytes.fromhex(salt) + content.encode()).hexdigest()
