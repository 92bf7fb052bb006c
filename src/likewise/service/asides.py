"""Asides of a request: what somebody sent that may have to be erased one day, checked, under a fresh reference.

A reference says when it was made, to the millisecond, and 80 random bits: the log, which holds it, says when anyway. So
references that are made one after the other stand side by side in the database's indexes; if they were all random, each
person would cost a page of its own on the way to the disk.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from typing import Any

from likewise.errors import require
from likewise.service.stream.declared import person_id
from likewise.service.stream.events import Aside
from likewise.service.stream.settings import Settings

NOTE_LIMIT = 2000
"""The longest reason or note of an auditor."""
RANDOM = 10 + 32
"""Random bytes of an aside: of its reference, and its salt."""


def people_asides(people: Sequence[Any], settings: Settings, t: int) -> list[Aside]:
    """People, each {id, features}, of round t."""
    # Asked for once: the system's random numbers are a call that other threads may come between.
    digits, each = os.urandom(RANDOM * len(people)).hex(), 2 * RANDOM
    asides = []
    for i, sent in enumerate(people):
        content = _person(sent, settings)
        ref, salt = _names(digits[each * i : each * (i + 1)])
        asides.append(Aside.read(ref, "person", t, salt, settings.spelt_person(content), content))
    return asides


def _person(sent: Any, settings: Settings) -> dict[str, Any]:
    if type(sent) is not dict:
        require(isinstance(sent, Mapping), "people", "be objects with id and features", type(sent).__name__)
    return {"id": _id(sent), "features": settings.person(sent.get("features"))}


def remark_aside(t: int, reason: str, note: str) -> Aside | None:
    """What an auditor says about a round, if anything."""
    words = {"reason": free_text(reason, "reason"), "note": free_text(note, "note")}
    return _aside("remark", t, words) if any(words.values()) else None


def reason_aside(reason: str) -> Aside:
    """Why a stream is stopped."""
    return _aside("remark", 0, {"reason": free_text(reason, "reason") or "no reason was given"})


def free_text(text: Any, name: str) -> str:
    """Words without NUL, which PostgreSQL refuses, and without half characters, which UTF-8 does."""
    short = isinstance(text, str) and len(text) <= NOTE_LIMIT
    require(short, name, f"be a text of at most {NOTE_LIMIT} characters", type(text).__name__)
    half = any("\ud800" <= letter <= "\udfff" for letter in text)
    require("\0" not in text and not half, name, "hold no NUL and no half of a surrogate pair", text[:40])
    return str(text).strip()


def _aside(kind: str, t: int, content: dict[str, Any]) -> Aside:
    ref, salt = _names(os.urandom(RANDOM).hex())
    return Aside(ref, kind, t, salt, content)


def _names(digits: str) -> tuple[str, str]:
    """A reference and a salt, made of random digits."""
    return f"{int(1000 * time.time()):012x}{digits[:20]}", digits[20:]


def _id(sent: Mapping[str, Any]) -> str:
    name = person_id(sent.get("id"), "id")
    # Whoever sends an address takes these for steps up the path: such a person could be neither read nor erased.
    if name in (".", ".."):
        require(False, "id", "be something other than . and .., which no address can hold", name)
    return name
