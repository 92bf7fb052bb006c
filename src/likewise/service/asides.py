"""Asides of a request: what somebody sent that may have to be erased one day, checked, under a fresh reference."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from typing import Any

from likewise.errors import require
from likewise.service.stream.declared import person_id
from likewise.service.stream.events import Aside
from likewise.service.stream.settings import Settings

NOTE_LIMIT = 2000
"""The longest reason or note of an auditor."""


def person_aside(sent: Any, settings: Settings) -> Aside:
    """A person, {id, features}. Which round they are in is known when their command's turn comes: 0 until then."""
    require(isinstance(sent, Mapping), "people", "be objects with id and features", type(sent).__name__)
    return _aside("person", 0, {"id": _id(sent), "features": settings.person(sent.get("features"))})


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
    return Aside(secrets.token_hex(16), kind, t, secrets.token_hex(32), content)


def _id(sent: Mapping[str, Any]) -> str:
    name = person_id(sent.get("id"), "id")
    # Whoever sends an address takes these for steps up the path: such a person could be neither read nor erased.
    if name in (".", ".."):
        require(False, "id", "be something other than . and .., which no address can hold", name)
    return name
