"""Check the log of a Likewise stream without trusting, or installing, anything: Python's standard library is enough.

    python verify_standalone.py export.jsonl [--key PUBLIC_KEY] [--checkpoints checkpoints.jsonl]

It checks that no event was changed, removed, swapped, inserted or cut off the end; that every signed checkpoint is
genuine and stands on this very chain; and that every person shown is the one the log committed to. Where each round has
one lot, it draws every decision again from the nonce that was committed to one round before; and it checks that whoever
came again got their first answer, where the stream says so. It draws again which rounds are reviewed. It doesn't run
the learner again: ``likewise verify`` does.
Only a checkpoint or a receipt shows that a chain was recomputed from the start, and only a public key that you did
*not* get from the same file shows that a checkpoint is genuine. Whoever has the service's own key can sign another
chain: only a checkpoint or a receipt that you kept yourself shows that, up to its event.

It shares no code with the service: JSON is spelt here a second time, as RFC 8785 says, and so are the hashes.
"""

from __future__ import annotations

import argparse
import hashlib
import hmac
import json
import math
import os
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from json.encoder import encode_basestring
from typing import Any

FORMAT = 2
"""Of exports."""
GENESIS = "0" * 64
"""What the first event of a stream carries for the hash of the one before."""
PURPOSE = b"likewise checkpoint 1\n"
"""Signed together with every checkpoint, so that a signature can't be passed off as one of something else."""
MOST = 2**53 - 1
"""The largest whole number for which every JSON reader has an exact double."""
WORDS = {None: "null", True: "true", False: "false"}
SALT = 32
"""Bytes of a salt. Of a fixed length, so that no byte can be moved between it and what it salts."""
CHECKPOINT = {"stream", "seq", "hash", "at", "key", "signature"}
"""What a checkpoint holds, and nothing else: what isn't signed says nothing."""


def canonical(value: Any) -> bytes:
    """The one spelling of a JSON value, by RFC 8785: names sorted, no spaces, numbers as in JavaScript, UTF-8.

    >>> canonical({"b": 0.1, "a": [1.0, None]})
    b'{"a":[1,null],"b":0.1}'
    """
    return _spelt(value).encode()


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
    return json.loads(line.decode(), parse_int=_whole)


def unhex(text: str) -> bytes:
    """The bytes that hexadecimal digits stand for, in their one spelling; none at all if they are spelt otherwise."""
    try:
        data = bytes.fromhex(text)
    except ValueError:
        return b""
    return data if data.hex() == text else b""


def event_hash(event: dict[str, Any]) -> str:
    """SHA-256 of an event as exported, with the hash of the one before it and without its own."""
    return hashlib.sha256(canonical({name: value for name, value in event.items() if name != "hash"})).hexdigest()


def commitment(salt: str, content: dict[str, Any]) -> str:
    """SHA-256 of a secret salt and the content: binds to the content, and says nothing once the salt is gone."""
    return hashlib.sha256(unhex(salt) + canonical(content)).hexdigest()


def signed_bytes(checkpoint: dict[str, Any]) -> bytes:
    """What the signature of a checkpoint is a signature of."""
    return PURPOSE + canonical({name: checkpoint[name] for name in ("stream", "seq", "hash", "at")})


def lot(nonce: bytes, stream: str, t: int, probabilities: Iterable[float], purpose: str = "decide") -> float:
    """The number of a round in [0, 1): whoever is new in it gets a yes if their probability is larger.

    >>> 0 <= lot(bytes(32), "loans", 1, [0.5, 0.25]) < 1
    True
    """
    people = hashlib.sha256(canonical(sorted(probabilities))).hexdigest()
    digest = hmac.digest(nonce, canonical([purpose, stream, t, people]), "sha256")
    return (int.from_bytes(digest[:8], "big") >> 11) / 2.0**53


class Lots:
    """Draws the decisions of a stream again, round by round, and remembers who was in which."""

    def __init__(self, created: dict[str, Any]) -> None:
        settings = created["settings"]
        self._stream, self._next = settings["name"], created.get("lot")
        self._one = settings.get("lot") == "round"
        accepted, decisions = settings.get("labels") == "accepted", settings.get("audits") == "decisions"
        self._record = self._one or accepted or decisions
        self._visits: list[tuple[int, str, tuple[float, int], bool]] = []

    def wrong(self, seq: int, opened: dict[str, Any]) -> str:
        """What is wrong with the decisions of a round; nothing if they follow from its nonce."""
        returning, people = set(opened.get("returning", ())), opened["people"]
        if self._record:
            for i, person in enumerate(people):
                answer = person["probability"], person["decision"]
                self._visits.append((seq, person["ref"], answer, i in returning))
        elif returning:
            return "serves people from a record that the stream does not keep"
        return self._drawn(opened, [person for i, person in enumerate(people) if i not in returning])

    def _drawn(self, opened: dict[str, Any], new: list[dict[str, Any]]) -> str:
        if not self._one:
            return "has a lot, but the stream's rounds have none" if "lot" in opened else ""
        nonce, committed = unhex(opened["lot"]["nonce"]), self._next
        self._next = opened["lot"]["next"]
        if hashlib.sha256(nonce).hexdigest() != committed:
            return "opens a nonce that is not the one committed to"
        number = lot(nonce, self._stream, opened["t"], [person["probability"] for person in new])
        follow = all(person["decision"] == int(number < person["probability"]) for person in new)
        return "" if follow else f"has a decision that does not follow from its lot, {number}"

    def unlike(self, ids: dict[str, str]) -> Iterator[tuple[int, str]]:
        """Events in which somebody who came again did not get their first answer; ``ids`` are those known, by ref."""
        first: dict[str, tuple[float, int]] = {}
        for seq, ref, answer, returning in self._visits:
            if ref not in ids:
                continue
            if (ids[ref] in first) != returning:
                yield seq, f"Event {seq} says of {ref} that they {'came' if returning else 'did not come'} before."
            elif first.setdefault(ids[ref], answer) != answer:
                yield seq, f"Event {seq} gives {ref}, who came before, another answer."


class Reviews:
    """Draws again which rounds are reviewed. With which probability, ``likewise verify`` computes."""

    def __init__(self, created: dict[str, Any]) -> None:
        self._stream, self._next = created["settings"]["name"], created.get("review")
        self._second = created["settings"].get("review", {}).get("second", 0.0)
        self._opened: dict[str, Any] = {"t": 0}

    def wrong(self, kind: str, data: dict[str, Any]) -> str:
        """What is wrong with an event; nothing if no lot was drawn in it, or if it follows from its nonce."""
        if kind == "plan_changed":
            self._second = data["changes"].get("second", self._second)
        elif kind == "round_opened":
            self._opened = data
        return self._drawn(data) if kind == "review_drawn" else ""

    def _drawn(self, data: dict[str, Any]) -> str:
        nonce, committed, t = unhex(data["lot"]["nonce"]), self._next, data["t"]
        self._next = data["lot"]["next"]
        if t != self._opened["t"] or hashlib.sha256(nonce).hexdigest() != committed:
            return "draws a round that was not just opened, or with a nonce that is not the one committed to"
        shown = [person["probability"] for person in self._opened["people"]]
        drawn = lot(nonce, self._stream, t, shown, "review") < data["probability"]
        second = drawn and lot(nonce, self._stream, t, shown, "second") < self._second
        follows = (data["drawn"], data["second"]) == (drawn, second)
        return "" if follows else "says of a review what does not follow from its lot"


@dataclass(frozen=True)
class Promise:
    """What an event says of something that is kept beside the log."""

    seq: int
    t: int
    kind: str
    commitment: str


@dataclass
class Findings:
    """What was checked, and everything that is wrong, as (event, sentence); event 0 is the file itself."""

    stream: str | None = None
    events: int = 0
    head: str = GENESIS
    checkpoints: int = 0
    asides: int = 0
    erased: int = 0
    problems: list[tuple[int, str]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def first(self) -> tuple[int, str] | None:
        """The problem nearest the start of the log."""
        return min(self.problems, default=None)

    def __str__(self) -> str:
        counts = {"events": self.events, "checkpoints": self.checkpoints, "commitments opened": self.asides}
        counted = ", ".join(f"{what}: {count:,}" for what, count in (counts | {"erased": self.erased}).items())
        return f"Stream {self.stream}; {counted}."


class Checker:
    """Takes the lines of an export one by one, then says what is wrong with them."""

    def __init__(self, key: str | None = None) -> None:
        self.findings = Findings()
        self.refused = ""
        """Why nothing of this export can be checked; nothing while it can."""
        self._key = key
        self._lines = 0
        self._header: dict[str, Any] = {}
        self._hashes: dict[int, str] = {}
        self._promises: dict[str, Promise] = {}
        self._erased: dict[str, int] = {}
        self._asides: dict[str, dict[str, Any]] = {}
        self._checkpoints: list[dict[str, Any]] = []
        self._lots: Lots | None = None
        self._reviews: Reviews | None = None

    def take(self, line: dict[str, Any]) -> None:
        """Look at one line."""
        if self.refused:
            return
        rest = {name: value for name, value in line.items() if name != "line"}
        self._lines += 1
        try:
            if (line["line"] == "header") != (self._lines == 1):
                self._wrong(0, f"Line {self._lines} is wrong: the first line, and no other, must be a header.")
            if line["line"] == "event":
                self._take_event(rest)
            elif line["line"] == "aside":
                self._take_aside(rest)
            elif line["line"] == "checkpoint":
                self._checkpoints.append(rest)
            elif line["line"] == "header":
                self._take_header(rest)
            else:
                self._wrong(0, f"{line['line']}.")
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            self._wrong(self.findings.events + 1, f"A line after event {self.findings.events} is malformed: {error!r}.")

    def finish(self, elsewhere: Iterable[dict[str, Any]] | None = None) -> Findings:
        """The findings; ``elsewhere`` are checkpoints or receipts that were kept apart from the export."""
        if self.refused:
            self._wrong(0, self.refused)
            return self.findings
        if not self._header:
            self._wrong(0, "There is no header: this is not an export of a stream, or its first line was removed.")
            return self.findings
        try:
            self._check_asides()
            ids = {ref: aside["content"]["id"] for ref, aside in self._asides.items() if aside["kind"] == "person"}
            self.findings.problems += () if self._lots is None else self._lots.unlike(ids)
            kept = None if elsewhere is None else self._kept(elsewhere)
            checkpoints = [*self._checkpoints, *(kept or ())]
            self._check_checkpoints(list({canonical(point): point for point in checkpoints}.values()))
            self._say_how_far(kept)
            whole = self._header.get("events", -1)
            if not 0 <= whole <= self.findings.events:  # more, if people were erased while it was written
                last = self.findings.events
                self._wrong(last + 1, f"The header announces {whole} events, but the export has {last}.")
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            self._wrong(0, f"The lines after the events are malformed: {error!r}.")
        return self.findings

    def _wrong(self, seq: int, sentence: str) -> None:
        self.findings.problems.append((seq, sentence))

    def _take_header(self, header: dict[str, Any]) -> None:
        self._header = header
        self.findings.stream = header["stream"]
        if header["format"] != FORMAT:  # spelt and hashed in another way: whatever else is said of it would be wrong
            self.refused = (
                f"The export has format {header['format']!r}, but only format {FORMAT} can be read. "
                "Check it with the release of Likewise that wrote it."
            )
            return
        if set(header) != {"format", "stream", "public_key", "events", "people"}:
            self._wrong(0, f"The header does not have the fields of format {FORMAT}.")
        if self._key is None:
            self._key = header["public_key"]
            self.findings.notes.append(
                "The public key came with the export itself. To be sure, give the key that you know."
            )
        elif header["public_key"] != self._key:
            self._wrong(0, f"The export names the public key {header['public_key']}, not {self._key}.")

    def _take_event(self, event: dict[str, Any]) -> None:
        """The next link: the right number, the right stream, the hash of the one before, and its own hash."""
        seq, kind, data, findings = event["seq"], event["kind"], event["data"], self.findings
        if event["stream"] != findings.stream:
            self._wrong(seq, f"Event {seq} belongs to the stream {event['stream']!r}, not to {findings.stream!r}.")
        if seq != findings.events + 1:
            self._wrong(findings.events + 1, f"Event {findings.events + 1} is missing: event {seq} is in its place.")
        if event["prev"] != findings.head:
            self._wrong(seq, f"Event {seq} does not carry the hash of the event before it.")
        if event_hash(event) != event["hash"]:
            self._wrong(seq, f"Event {seq} ({kind}) was changed: its content does not match its hash.")
        findings.events, findings.head = seq, event["hash"]
        self._hashes[seq] = event["hash"]
        promises = [(person, "person") for person in data.get("people", ())] + [(data.get("remark"), "remark")]
        for promise, what in promises:
            if promise:
                if promise["ref"] in self._promises:
                    self._wrong(seq, f"Event {seq} commits to {promise['ref']} a second time.")
                self._promises[promise["ref"]] = Promise(seq, data["t"], what, promise["commitment"])
        if kind == "person_erased":
            self._take_erasure(seq, data)
        if kind == "stream_created":
            self._take_creation(seq, data)
            self._lots, self._reviews = Lots(data), Reviews(data)
        elif kind == "round_opened" and self._lots is not None and (wrong := self._lots.wrong(seq, data)):
            self._wrong(seq, f"Event {seq} {wrong}.")
        if self._reviews is not None and (wrong := self._reviews.wrong(kind, data)):
            self._wrong(seq, f"Event {seq} {wrong}.")

    def _take_creation(self, seq: int, data: dict[str, Any]) -> None:
        """The stream is this one, and the scores of its class, where it has some, are those that the settings name."""
        name = data["settings"]["name"]
        if name != self.findings.stream:
            self._wrong(seq, f"Event {seq} creates the stream {name!r}, not {self.findings.stream!r}.")
        scores = data.get("scores")
        held = None if scores is None else hashlib.sha256(canonical(scores)).hexdigest()
        if held != data["settings"].get("scores"):
            self._wrong(seq, f"Event {seq} holds scores that don't match the hash in its settings.")

    def _take_erasure(self, seq: int, data: dict[str, Any]) -> None:
        """What is erased was committed to before, in the very rounds that the event names."""
        known = [self._promises[ref].t for ref in data["erased"] if ref in self._promises]
        if len(known) != len(data["erased"]) or sorted(set(known)) != data["rounds"]:
            self._wrong(seq, f"Event {seq} erases something that no earlier event committed to in the rounds it names.")
        self._erased |= dict.fromkeys(data["erased"], seq)

    def _take_aside(self, aside: dict[str, Any]) -> None:
        if aside["ref"] in self._asides:
            self._wrong(self.findings.events + 1, f"The reference {aside['ref']} is shown twice.")
        self._asides[aside["ref"]] = aside

    def _check_asides(self) -> None:
        """Every person shown is the one committed to, and whoever isn't shown was erased by an event."""
        for ref, aside in self._asides.items():
            promise = self._promises.get(ref)
            if promise is None:
                self._wrong(self.findings.events + 1, f"The reference {ref} belongs to no event.")
                continue
            same = set(aside) == {"ref", "kind", "t", "salt", "content"}
            same = same and (aside["kind"], aside["t"]) == (promise.kind, promise.t)
            same = same and len(unhex(aside["salt"])) == SALT
            if not same or commitment(aside["salt"], aside["content"]) != promise.commitment:
                self._wrong(promise.seq, f"What is shown for {ref} is not what event {promise.seq} committed to.")
            # Whoever is erased while an export is written may stand in it already.
            if self._erased.get(ref, math.inf) <= self._header.get("events", 0):
                self._wrong(self._erased[ref], f"Event {self._erased[ref]} erased {ref}, which is still shown.")
        self.findings.asides, self.findings.erased = len(self._asides), len(self._erased)
        if self._header.get("people") is not True:
            if self._asides:
                self._wrong(0, "The export says that it was made without people, but it shows some.")
            self.findings.notes.append("The export was made without people: no commitment could be opened.")
            return
        hidden = {ref: promise.seq for ref, promise in self._promises.items() if ref not in self._asides}
        for seq in sorted({seq for ref, seq in hidden.items() if ref not in self._erased}):
            self._wrong(seq, f"Event {seq} commits to something that is neither shown nor erased.")

    def _check_checkpoints(self, checkpoints: list[dict[str, Any]]) -> None:
        for point in checkpoints:
            seq, key = point["seq"], str(self._key)
            signed = verify_signature(unhex(key), unhex(point["signature"]), signed_bytes(point))
            if point["key"] != key or not signed or set(point) != CHECKPOINT:
                self._wrong(seq, f"The checkpoint of event {seq} is not signed with the key {key}.")
            elif point["stream"] != self.findings.stream:
                self._wrong(
                    seq, f"A checkpoint belongs to the stream {point['stream']!r}, not to {self.findings.stream!r}."
                )
            elif seq not in self._hashes:
                self._wrong(seq, f"Event {seq} was signed, but the log ends at event {self.findings.events}.")
            elif self._hashes[seq] != point["hash"]:
                self._wrong(seq, f"Event {seq} is not the one that was signed.")
            self.findings.checkpoints += 1
        if not checkpoints:
            self.findings.notes.append(
                "There is no checkpoint, so nobody would notice a chain that was recomputed from its start."
            )

    def _kept(self, elsewhere: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
        """Those of this stream. Of what can't be read it is only said: a power cut may have left half a line."""
        kept = []
        for point in elsewhere:
            if "stream" not in point:
                what = point.get("line", "A line kept elsewhere does not name its stream")
                self.findings.notes.append(f"{what}; it is not used as a checkpoint.")
            elif point["stream"] == self.findings.stream:
                kept.append(point)
        return kept

    def _say_how_far(self, kept: list[dict[str, Any]] | None) -> None:
        """Up to where the log can't have been rewritten by somebody who has the service's key."""
        if kept is None:
            self.findings.notes.append(
                "No checkpoint kept elsewhere was given: "
                "whoever has the service's key could have rewritten the whole log."
            )
        elif not kept:
            self._wrong(0, f"None of the checkpoints kept elsewhere belongs to the stream {self.findings.stream!r}.")
        elif (newest := max(point["seq"] for point in kept)) < self.findings.events:
            self.findings.notes.append(
                f"The newest checkpoint kept elsewhere is for event {newest}. Whoever has the service's key could have "
                f"rewritten everything after it, up to event {self.findings.events}."
            )


def check(
    lines: Iterable[dict[str, Any]], elsewhere: Iterable[dict[str, Any]] | None = None, key: str | None = None
) -> Findings:
    """Check the lines of an export; ``elsewhere`` are checkpoints or receipts kept apart, ``key`` the public key."""
    checker = Checker(key)
    for line in lines:
        checker.take(line)
    return checker.finish(elsewhere)


def read_lines(path: str, *, spelling: bool = True) -> Iterator[dict[str, Any]]:
    """The JSON objects of a file, one per line; a line that is none, or is spelt differently, says so.

    A receipt that somebody kept may be spelt in any way: it is signed, and holds nothing else.
    """
    with open(path, "rb") as file:
        for number, line in enumerate(file, 1):
            try:
                value = parsed(line)
                spelt = isinstance(value, dict) and (not spelling or canonical(value) + b"\n" == line)
            except (ValueError, RecursionError):
                value, spelt = None, False
            yield value if spelt else {"line": f"Line {number} of {path} is not JSON as the service writes it"}


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


def main(arguments: list[str] | None = None) -> int:
    """Print what was found; 0 if that is nothing wrong, 1 otherwise."""
    parser = argparse.ArgumentParser(description="Check the log of a Likewise stream.")
    parser.add_argument("export", help="the export, one JSON object per line")
    parser.add_argument("--key", help="the service's public key, 64 hexadecimal digits")
    parser.add_argument("--checkpoints", help="a file of signed checkpoints or receipts, kept elsewhere")
    given = parser.parse_args(arguments)
    for file in (given.export, given.checkpoints):
        if file is not None and not os.path.isfile(file):
            parser.error(f"There is no file {file}.")
    kept = read_lines(given.checkpoints, spelling=False) if given.checkpoints else None
    findings = check(read_lines(given.export), kept, given.key)
    write = sys.stdout.write
    for sentence in [str(findings), *findings.notes, *(sentence for _, sentence in sorted(findings.problems))]:
        write(sentence + "\n")
    write("Something is wrong.\n" if findings.problems else "Nothing wrong was found.\n")
    return 1 if findings.problems else 0


if __name__ == "__main__":
    raise SystemExit(main())
