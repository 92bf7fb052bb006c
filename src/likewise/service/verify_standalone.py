"""Check the log of a Likewise stream without trusting, or installing, anything: Python's standard library is enough.

    python verify_standalone.py export.jsonl [--key PUBLIC_KEY] [--checkpoints checkpoints.jsonl]

It checks that no event was changed, removed, swapped, inserted or cut off the end; that every signed checkpoint is
genuine and stands on this very chain; and that every person shown is the one the log committed to. It doesn't run the
learner again: ``likewise verify`` does. A chain that was recomputed from the start is told from the true one only by a
checkpoint or a receipt, and those only by a public key that you did *not* get from the same file.

The service itself writes its log with the functions of this file, so what an outsider reads here is what it does.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

GENESIS = "0" * 64
"""What the first event of a stream carries for the hash of the one before."""
PURPOSE = b"likewise checkpoint 1\n"
"""Signed together with every checkpoint, so that a signature can't be passed off as one of something else."""


def canonical(value: Any) -> bytes:
    """The one spelling of a JSON value: keys sorted, no spaces, ASCII, no NaN; floats as Python's shortest repr.

    >>> canonical({"b": 0.1, "a": [1, None]})
    b'{"a":[1,null],"b":0.1}'
    """
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False).encode()


def event_hash(event: dict[str, Any]) -> str:
    """SHA-256 of an event as exported, with the hash of the one before it and without its own."""
    return hashlib.sha256(canonical({name: value for name, value in event.items() if name != "hash"})).hexdigest()


def commitment(salt: str, content: dict[str, Any]) -> str:
    """SHA-256 of a secret salt and the content: binds to the content, and says nothing once the salt is gone."""
    return hashlib.sha256(bytes.fromhex(salt) + canonical(content)).hexdigest()


def signed_bytes(checkpoint: dict[str, Any]) -> bytes:
    """What the signature of a checkpoint is a signature of."""
    return PURPOSE + canonical({name: checkpoint[name] for name in ("stream", "seq", "hash", "at")})


def commitments_of(event: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """(reference, commitment) of everything that an event keeps outside the log."""
    found = [*event["data"].get("people", ()), event["data"].get("remark")]
    return ((one["ref"], one["commitment"]) for one in found if isinstance(one, dict) and "commitment" in one)


@dataclass
class Findings:
    """What was checked, and everything that is wrong; the first problem is the one nearest the start."""

    stream: str | None = None
    events: int = 0
    head: str = GENESIS
    checkpoints: int = 0
    people: int = 0
    erased: int = 0
    problems: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def check(lines: Iterable[dict[str, Any]], more: Iterable[dict[str, Any]] = (), key: str | None = None) -> Findings:
    """Check the lines of an export; ``more`` are checkpoints or receipts kept elsewhere, ``key`` the public key."""
    found = Findings()
    promised: dict[str, tuple[str, int]] = {}
    gone: set[str] = set()
    hashes: dict[int, str] = {}
    asides: list[dict[str, Any]] = []
    checkpoints: list[dict[str, Any]] = []
    for line in lines:
        kind = line.get("line")
        if kind == "event":
            event = {name: value for name, value in line.items() if name != "line"}
            _check_event(event, found)
            hashes[event["seq"]] = event["hash"]
            promised |= {ref: (digest, event["seq"]) for ref, digest in commitments_of(event)}
            gone |= set(event["data"].get("refs", ())) if event["kind"] == "person_erased" else set()
        elif kind == "aside":
            asides.append(line)
        elif kind == "checkpoint":
            checkpoints.append(line)
        elif kind == "header":
            key = _known_key(line, key, found)
        else:
            found.problems.append(f"A line of unknown kind {kind!r}.")
    _check_asides(asides, promised, gone, found)
    mine = [point for point in more if point.get("stream") == found.stream]
    _check_checkpoints([*checkpoints, *mine], hashes, key, found)
    return found


def _known_key(header: dict[str, Any], key: str | None, found: Findings) -> str | None:
    offered = header.get("public_key")
    if key is None:
        found.notes.append("The public key was taken from the export itself: give the one you know with --key.")
        return offered
    if offered is not None and offered != key:
        found.problems.append(f"The export names the public key {offered}, not {key}.")
    return key


def _check_event(event: dict[str, Any], found: Findings) -> None:
    """The next link: the right number, the right stream, the hash of the one before, and its own hash."""
    seq, expected = event.get("seq"), found.events + 1
    if found.stream is None:
        found.stream = event.get("stream")
    if event.get("stream") != found.stream:
        found.problems.append(f"Event {seq} belongs to stream {event.get('stream')!r}, not {found.stream!r}.")
    if seq != expected:
        found.problems.append(f"Event {expected} is missing: event {seq} stands in its place.")
    if event.get("prev") != found.head:
        found.problems.append(f"Event {seq} does not carry the hash of the event before it.")
    if event_hash(event) != event.get("hash"):
        found.problems.append(f"Event {seq} ({event.get('kind')}) does not have the hash it claims: it was changed.")
    found.events, found.head = seq if isinstance(seq, int) else expected, str(event.get("hash"))


def _check_asides(
    asides: list[dict[str, Any]], promised: dict[str, tuple[str, int]], gone: set[str], found: Findings
) -> None:
    """Every person shown is the one committed to, and whoever isn't shown was erased by an event."""
    shown = set()
    for aside in asides:
        digest, seq = promised.get(aside["ref"], (None, 0))
        if digest is None:
            found.problems.append(f"Reference {aside['ref']} is in no event.")
        elif commitment(aside["salt"], aside["content"]) != digest:
            found.problems.append(f"What is shown for {aside['ref']} is not what event {seq} committed to.")
        shown.add(aside["ref"])
    found.people, found.erased = len(shown), len(gone)
    missing = sorted(seq for ref, (_, seq) in promised.items() if ref not in shown and ref not in gone)
    if missing and asides:
        found.problems.append(f"Event {missing[0]} names a person who is neither shown nor erased.")
    elif missing:
        found.notes.append("The export was made without people: their commitments were not checked.")


def _check_checkpoints(
    checkpoints: list[dict[str, Any]], hashes: dict[int, str], key: str | None, found: Findings
) -> None:
    for point in checkpoints:
        seq = point["seq"]
        if key is None:
            found.problems.append("There are checkpoints but no public key to check them with.")
            return
        if not verify_signature(bytes.fromhex(key), bytes.fromhex(point["signature"]), signed_bytes(point)):
            found.problems.append(f"The checkpoint of event {seq} is not signed with the key {key[:16]}….")
        elif seq not in hashes:
            found.problems.append(f"Event {seq} has a signed checkpoint, but the log ends at event {found.events}.")
        elif hashes[seq] != point["hash"]:
            found.problems.append(f"Event {seq} is not the one that its signed checkpoint saw.")
        found.checkpoints += 1
    if not checkpoints:
        found.notes.append("No checkpoint was given: a chain recomputed from the start would not be noticed.")


# Ed25519 (RFC 8032), verification only, in plain integers -----------------------------------------------------

P = 2**255 - 19
ORDER = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, -1, P) % P
ROOT = pow(2, (P - 1) // 4, P)
Point = tuple[int, int, int, int]
NEUTRAL: Point = (0, 1, 1, 0)


def _add(a: Point, b: Point) -> Point:
    """The sum of two points of the curve in extended coordinates."""
    A, B = (a[1] - a[0]) * (b[1] - b[0]) % P, (a[1] + a[0]) * (b[1] + b[0]) % P
    C, E = 2 * a[3] * b[3] * D % P, 2 * a[2] * b[2] % P
    e, f, g, h = B - A, E - C, E + C, B + A
    return e * f % P, g * h % P, f * g % P, e * h % P


def _times(scalar: int, point: Point) -> Point:
    total = NEUTRAL
    while scalar:
        if scalar & 1:
            total = _add(total, point)
        point, scalar = _add(point, point), scalar >> 1
    return total


def _point(data: bytes) -> Point | None:
    """The point that 32 bytes stand for, or None if they stand for none."""
    number = int.from_bytes(data, "little")
    y, sign = number & (2**255 - 1), number >> 255
    if y >= P:
        return None
    square = (y * y - 1) * pow(D * y * y + 1, -1, P) % P
    x = pow(square, (P + 3) // 8, P)
    if (x * x - square) % P:
        x = x * ROOT % P
    if (x * x - square) % P or (x == 0 and sign):
        return None
    x = P - x if x & 1 != sign else x
    return x, y, 1, x * y % P


BASE = _point((4 * pow(5, -1, P) % P).to_bytes(32, "little"))


def verify_signature(key: bytes, signature: bytes, message: bytes) -> bool:
    """Whether an Ed25519 signature is one of this message by this key."""
    if len(key) != 32 or len(signature) != 64 or BASE is None:
        return False
    A, R, s = _point(key), _point(signature[:32]), int.from_bytes(signature[32:], "little")
    if A is None or R is None or s >= ORDER:
        return False
    h = int.from_bytes(hashlib.sha512(signature[:32] + key + message).digest(), "little") % ORDER
    left, right = _times(s, BASE), _add(R, _times(h, A))
    return (left[0] * right[2] - right[0] * left[2]) % P == 0 and (left[1] * right[2] - right[1] * left[2]) % P == 0


def read_lines(path: str) -> Iterator[dict[str, Any]]:
    """The JSON objects of a file, one per line."""
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            try:
                value = json.loads(line)
            except ValueError as error:
                raise SystemExit(f"Line {number} of {path} is not JSON: {error}.") from None
            if not isinstance(value, dict):
                raise SystemExit(f"Line {number} of {path} is not a JSON object.")
            yield value


def main(arguments: list[str] | None = None) -> int:
    """Print what was found; 0 if nothing is wrong, 1 otherwise."""
    parser = argparse.ArgumentParser(description="Check the log of a Likewise stream.")
    parser.add_argument("export", help="the export, one JSON object per line")
    parser.add_argument("--key", help="the service's public key, 64 hexadecimal digits")
    parser.add_argument("--checkpoints", help="a file of signed checkpoints or receipts, kept elsewhere")
    given = parser.parse_args(arguments)
    found = check(read_lines(given.export), read_lines(given.checkpoints) if given.checkpoints else (), given.key)
    say = sys.stdout.write
    say(f"Stream {found.stream}: {found.events} events, {found.checkpoints} checkpoints, ")
    say(f"{found.people} commitments opened, {found.erased} erased.\n")
    for sentence in [*found.notes, *found.problems]:
        say(sentence + "\n")
    say("Something is wrong.\n" if found.problems else "Nothing is wrong.\n")
    return 1 if found.problems else 0


if __name__ == "__main__":
    raise SystemExit(main())
