"""One spelling of JSON (RFC 8785) and the hashes taken of it, for the standalone checker; the service has its own."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Callable
from decimal import Decimal
from json.encoder import encode_basestring
from typing import Any

from likewise.service.proof.signed_log import leaf_hash, root_of

MOST = 2**53 - 1
"""The largest whole number for which every JSON reader has an exact double."""
ALIKE = bytes.maketrans(b"123456789[,", b"000000000::")
LONG = (b":" + b"0" * 16, b":-" + b"0" * 16)
"""Where a whole number may begin that is no exact double, once all digits and what stands before numbers look alike."""
UNLIKE = re.compile(r"([:\[,])(-?[0-9]+(?:\.0|(?:\.[0-9]+)?e[+-][0-9]+))(?=[,\]}])")
"""Such a number, which JavaScript spells otherwise, after what stands before it; or text that looks like one."""
WORDS = {None: "null", True: "true", False: "false"}
CONTENT = b'{"content":'
PEOPLE = b'"people":['
PERSON = re.compile(rb'\{"commitment":"[0-9a-f]*","decision":[01],"probability":[0-9.]+,"ref":"[0-9a-f]*"\}')
"""A person of a round, spelt as they mostly are."""


def _encoder() -> Callable[[Any], str]:
    """Python's encoder, which is compiled, made once for all lines; ``json.dumps`` makes one for each value."""
    make: Any = getattr(json.encoder, "c_make_encoder", None)
    if make is None:
        return json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode
    parts = make(None, None, encode_basestring, None, ":", ",", True, False, False)
    return lambda value: "".join(parts(value, 0))


_encode = _encoder()
_decode = json.JSONDecoder().raw_decode


def canonical(value: Any) -> bytes:
    """The one spelling of a JSON value, by RFC 8785: names sorted, no spaces, numbers as in JavaScript, UTF-8.

    >>> canonical({"b": 0.1, "a": [1.0, None]})
    b'{"a":[1,null],"b":0.1}'
    """
    if isinstance(value, (dict, list, tuple)):
        # Python's encoder is compiled; where no number and no name could be spelt in another way, it spells the same.
        plain = _encode(value)
        text = plain.encode()
        if text.isascii() and not _long(text) and not (_signs(plain) and UNLIKE.search(plain)):
            return text
    return _spelt(value).encode()


def _long(text: bytes) -> bool:
    """Whether a whole number in a text may be no exact double."""
    alike = text.translate(ALIKE)
    return LONG[0] in alike or LONG[1] in alike


def _signs(plain: str) -> bool:
    """Whether a text may hold a number that Python spelt with an exponent, or a whole float."""
    if "e-" in plain or "e+" in plain:
        return True
    return ".0" in plain and (".0," in plain or ".0]" in plain or ".0}" in plain)


def _spelt(value: Any) -> str:
    if isinstance(value, str):
        return encode_basestring(value)
    if value is None or isinstance(value, bool):
        return WORDS[value]
    if isinstance(value, (int, float)):
        return _number(value)
    if isinstance(value, (list, tuple)):
        return "[" + ",".join(map(_spelt, value)) + "]"
    names = sorted(value, key=lambda name: name.encode("utf-16-be"))
    return "{" + ",".join([f"{encode_basestring(name)}:{_spelt(value[name])}" for name in names]) + "}"


def _number(value: float) -> str:
    """A number as ECMAScript spells it (Number::toString): the shortest digits that read back as the same double.

    >>> [_number(x) for x in (5.0, -0.0, 1e16, 1e21, 1.5e-5, 1e-7)]
    ['5', '0', '10000000000000000', '1e+21', '0.000015', '1e-7']
    """
    if isinstance(value, int) and abs(value) > MOST:
        raise ValueError(f"{value} is not a double")
    if not math.isfinite(value):
        raise ValueError(f"{value} is not JSON")
    if value == 0:
        return "0"  # -0.0 as well
    if "e" not in repr(value):  # Python's digits are the shortest too; only where it sets an exponent does it differ
        return repr(value).removesuffix(".0")
    sign, shortest, exponent = Decimal(repr(value)).normalize().as_tuple()
    digits, minus = "".join(map(str, shortest)), "-" * sign
    point = len(digits) + int(exponent)  # the value is 0.digits times 10 to this
    if len(digits) <= point <= 21:
        return minus + digits.ljust(point, "0")
    if 0 < point <= 21:
        return f"{minus}{digits[:point]}.{digits[point:]}"
    if -6 < point <= 0:
        return f"{minus}0.{'0' * -point}{digits}"
    rest = f".{digits[1:]}" if len(digits) > 1 else ""
    return f"{minus}{digits[0]}{rest}e{point - 1:+d}"


def _whole(digits: str) -> float:
    """A number without a point; from 2^53 on it is a double, whose digits beyond the shortest are all 0."""
    number = float(digits)
    return int(number) if abs(number) <= MOST else number


def parsed(line: bytes) -> Any:
    """The JSON value of a line of UTF-8."""
    plain = line[:1] in (b"{", b"[") and not _long(line)
    return json.loads(line.decode(), parse_int=None if plain else _whole)


def read(line: bytes) -> Any:
    """The JSON value of a line that is the one spelling of it; ValueError for any other line.

    >>> read(b'{"a":0.00001}')
    {'a': 1e-05}
    """
    if not line.isascii() or _long(line):
        value = parsed(line)
        same = canonical(value) == line
    else:
        text = line.decode()
        value, _ = _decode(text)
        plain = _encode(value)
        # Where this changes what only looks like a number, it is not what the value was read from.
        like = UNLIKE.sub(lambda found: found[1] + _number(float(found[2])), plain) if _signs(plain) else plain
        same = like == text or canonical(value) == line
    if not same:
        raise ValueError("the line is spelt differently")
    return value


def unhex(text: str) -> bytes:
    """The bytes that hexadecimal digits stand for, in their one spelling; none at all if they are spelt otherwise."""
    try:
        data = bytes.fromhex(text)
    except ValueError:
        return b""
    return data if data.hex() == text else b""


def event_hash(event: dict[str, Any]) -> str:
    """SHA-256 of an event as exported, with the hash of the one before it and without its own.

    In place of the people of a round stands the root of a tree of them, so that one can be shown without the others.
    """
    line = {name: value for name, value in event.items() if name != "hash"}
    people = line["data"].get("people") if isinstance(line["data"], dict) else None
    if isinstance(people, list):
        line["data"] = line["data"] | {"people": _people_root(list(map(canonical, people)))}
    return hashlib.sha256(canonical(line)).hexdigest()


def _people_root(people: list[bytes]) -> dict[str, Any]:
    return {"root": root_of(list(map(leaf_hash, people))).hex(), "size": len(people)}


def cut_hash(event: dict[str, Any], text: bytes) -> str:
    """The same from the one spelling of an exported event; nothing where that can't be cut to fit.

    All names but ``at`` and ``data`` stand at its end, so ``hash`` and ``line`` can be left out of it.
    """
    if "people" in event["data"]:
        text = _cut_people(event["data"]["people"], text)
    if not text:
        return ""
    kind, prev, place = event["kind"], event["prev"], f'"seq":{event["seq"]},"stream":"{event["stream"]}"'
    end = f'"prev":"{prev}",{place},"version":{event["version"]}}}'
    whole = f',"hash":"{event["hash"]}","kind":"{kind}","line":"event",{end}'.encode()
    if not text.endswith(whole):
        return ""
    return hashlib.sha256(text[: -len(whole)] + f',"kind":"{kind}",{end}'.encode()).hexdigest()


def _cut_people(people: Any, text: bytes) -> bytes:
    """The one spelling of an event with the root of a tree in place of its people; nothing where that doesn't fit."""
    before, _, rest = text.partition(PEOPLE)
    spelt = PERSON.findall(rest)
    whole = b",".join(spelt) + b"]"
    if not isinstance(people, list) or PEOPLE in rest or not rest.startswith(whole):
        return b""
    return before + b'"people":' + canonical(_people_root(spelt)) + rest[len(whole) :]


def cut_content(aside: dict[str, Any], text: bytes) -> bytes:
    """The one spelling of what an exported line shows, cut from that of the line; nothing where it doesn't fit."""
    place = f'"ref":"{aside["ref"]}","salt":"{aside["salt"]}","t":{aside["t"]}'
    end = f',"kind":"{aside["kind"]}","line":"aside",{place}}}'.encode()
    return text[len(CONTENT) : -len(end)] if text.startswith(CONTENT) and text.endswith(end) else b""


def commitment(salt: str, content: dict[str, Any]) -> str:
    """SHA-256 of a secret salt and the content: binds to the content, and says nothing once the salt is gone."""
    return hashlib.sha256(unhex(salt) + canonical(content)).hexdigest()
