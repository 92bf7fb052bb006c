"""Check the log of a Likewise stream without trusting, or installing, anything: Python's standard library is enough.

    python verify_standalone.py export.jsonl [--key PUBLIC_KEY] [--checkpoints checkpoints.jsonl] [--witness KEY]
    python verify_standalone.py first.archive second.archive …
    python verify_standalone.py --cheating proof.json

It checks that no event was changed, removed, swapped, inserted or cut off the end; that every signed checkpoint is
genuine, and its root that of the Merkle tree over these very events; and that every person shown is the one the log
committed to. Where each round has one lot, it draws every decision again from the nonce that was committed to one round
before; and it checks that whoever came again got their first answer, where the stream says so. It computes again with
which probability each round was drawn for review, and draws it again. It doesn't run the learner again: ``likewise
verify`` does.
Only a checkpoint or a receipt shows that a chain was recomputed from the start, and only a public key that you did
*not* get from the same file shows that a checkpoint is genuine. Whoever has the service's own key can sign another
chain: only a checkpoint or a receipt that you kept yourself, or a witness, shows that, up to its event.

It shares no code with the service but a table that takes little memory: JSON is spelt here a second time, as RFC 8785
says, and so are the hashes.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from likewise.service.proof.certificates import check_certificate
from likewise.service.proof.commitments import Commitments, Promise
from likewise.service.proof.drawn import Lots
from likewise.service.proof.person import check_person
from likewise.service.proof.reviews import Reviews
from likewise.service.proof.signed_log import (
    Note,
    Tree,
    cheating,
    checkpoint_of,
    following_keys,
    included,
    leaf_hash,
    note_text,
    read_note,
    read_proof,
    read_verifier_key,
    signed_by,
    unbase64,
    witnessed_by,
)
from likewise.service.proof.spelling import canonical, cut_content, cut_hash, event_hash, parsed, read, unhex

FORMAT = 3
"""Of exports."""
GENESIS = "0" * 64
"""What the first event of a stream carries for the hash of the one before."""
HEADER = {"format", "stream", "origin", "public_key", "events", "people"}
"""What the first line holds, and nothing else;"""
CONTINUES = "continues"
"""but for what a part of a log goes on from, where its first event is in another part."""


@dataclass
class Findings:
    """What was checked, and everything that is wrong, as (event, sentence); event 0 is the file itself.

    ``evidence`` is a proof of cheating: a checkpoint kept elsewhere and one of the export, both signed, of two logs.
    """

    stream: str | None = None
    events: int = 0
    head: str = GENESIS
    checkpoints: int = 0
    asides: int = 0
    erased: int = 0
    problems: list[tuple[int, str]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    evidence: dict[str, Any] | None = None

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

    def __init__(self, key: str | None = None, witnesses: Iterable[str] = ()) -> None:
        self.findings = Findings()
        self.refused = ""
        """Why nothing of this export can be checked; nothing while it can."""
        self.content = b""
        """The one spelling of what the last line showed, where it could be cut from that of the line."""
        self._key = key
        self._witnesses = [read_verifier_key(witness) for witness in witnesses]
        self._keys: list[tuple[int, str]] = []
        """Every key of the service, the oldest first, and the event from which it counts."""
        self._rotations: list[str] = []
        """How the service changed its key, as this log and those kept elsewhere say."""
        self._lines = 0
        self._header: dict[str, Any] = {}
        self._tree = Tree()
        self._commitments = Commitments(self._wrong)
        self._ids: dict[str, str] = {}
        self._checkpoints: list[Note] = []
        self._lots: Lots | None = None
        self._reviews: Reviews | None = None

    def take(self, line: dict[str, Any], text: bytes = b"") -> None:
        """Look at one line; ``text`` is its one spelling, where that is known."""
        if self.refused:
            return
        rest = line.copy()
        self._lines += 1
        try:
            what = rest.pop("line")
            if (what == "header") != (self._lines == 1):
                self._wrong(0, f"Line {self._lines} is wrong: the first line, and no other, must be a header.")
            if what == "event":
                self._take_event(rest, text)
            elif what == "aside":
                self._take_aside(rest, text)
            elif what == "checkpoint":
                if set(rest) != {"note"}:
                    self._wrong(0, f"Line {self._lines} says something that is not signed.")
                self._checkpoints.append(read_note(rest["note"]))
            elif what == "header":
                self._take_header(rest)
            else:
                self._wrong(0, f"{what}.")
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            self._wrong(self.findings.events + 1, f"A line after event {self.findings.events} is malformed: {error!r}.")

    def next_part(self) -> None:
        """What comes now is the next part of the same log, a file of its own."""
        if self._header and not self.refused:
            try:
                self._end_part()
            except (KeyError, TypeError, ValueError, AttributeError) as error:
                self._wrong(0, f"The header of a part is malformed: {error!r}.")
        self._lines = 0

    def finish(self, elsewhere: Iterable[dict[str, Any]] | None = None) -> Findings:
        """The findings; ``elsewhere`` are checkpoints or receipts that were kept apart from the export."""
        if self.refused:
            self._wrong(0, self.refused)
            return self.findings
        if not self._header:
            self._wrong(0, "There is no header: this is not an export of a stream, or its first line was removed.")
            return self.findings
        try:
            self._end_part()
            self._check_asides()
            self.findings.problems += () if self._lots is None else self._lots.unlike(self._ids)
            self._check_known_key()
            kept = None if elsewhere is None else self._kept(elsewhere)
            self._check_checkpoints(list({str(note): note for note in [*self._checkpoints, *(kept or ())]}.values()))
            self._say_how_far(kept)
            self.findings.evidence = next(filter(None, map(self._contradiction, kept or ())), None)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            self._wrong(0, f"The lines after the events are malformed: {error!r}.")
        return self.findings

    def _wrong(self, seq: int, sentence: str) -> None:
        self.findings.problems.append((seq, sentence))

    def _take_header(self, header: dict[str, Any]) -> None:
        before, self._header = self._header, header
        self.findings.stream = before.get("stream", header["stream"])
        if header["format"] != FORMAT:  # spelt and hashed in another way: whatever else is said of it would be wrong
            self.refused = (
                f"The export has format {header['format']!r}, but only format {FORMAT} can be read. "
                "Check it with the release of Likewise that wrote it."
            )
            return
        if set(header) - {CONTINUES} != HEADER or not header["origin"].endswith(f"/{header['stream']}"):
            self._wrong(0, f"The header does not have the fields of format {FORMAT}.")
        self._commitments.begin(int(header.get("events", -1)), header.get("people") is True)
        if before:
            self._go_on(before, header)
        elif CONTINUES in header:
            self._begin_later(header[CONTINUES])

    def _begin_later(self, start: dict[str, Any]) -> None:
        """The events before these are in another part. The last checkpoint shows that this is where that one ends."""
        after = start["after"]
        self._tree = Tree((), after, [unbase64(node) for node in start["edge"]])
        self.findings.events, self.findings.head = after, start["prev"]
        for rotation in start["rotations"]:
            self._take_rotation(after, rotation)
        self.findings.notes.append(
            f"Events up to {after} are in another part: no lot was drawn again, and what was erased of them was not "
            "looked up. Give all parts to check that too."
        )

    def _go_on(self, before: dict[str, Any], header: dict[str, Any]) -> None:
        """A part must begin where the one before it ended, and be made alike."""
        start, last = header.get(CONTINUES, {}), self.findings.events
        here = {
            "after": last,
            "prev": self.findings.head,
            "edge": [base64.b64encode(n).decode() for n in self._tree.edge()],
        }
        if {name: start.get(name) for name in here} != here:
            self._wrong(last + 1, f"The next part does not go on from event {last}.")
        same = all(before[name] == header[name] for name in ("stream", "origin", "people"))
        key = start.get("rotations", [])[-1:]
        if not same or (self._keys[-1][1] if self._keys else None) != (key[0]["new"] if key else None):
            self._wrong(last + 1, "The next part is of another log, or was made in another way.")

    def _end_part(self) -> None:
        """What the header of a part says is true of it."""
        whole, last, named = self._header.get("events", -1), self.findings.events, self._header["public_key"]
        if not 0 <= whole <= last:  # more, if people were erased while it was written
            self._wrong(last + 1, f"The header announces {whole} events, but the export has {last}.")
        if self._keys and self._keys[-1][1] != named:
            self._wrong(0, f"The export names the public key {named}, but its last key is {self._keys[-1][1]}.")

    def _take_event(self, event: dict[str, Any], text: bytes) -> None:
        """The next link: the right number, the right stream, the hash of the one before, and its own hash."""
        seq, kind, data, findings = event["seq"], event["kind"], event["data"], self.findings
        if event["stream"] != findings.stream:
            self._wrong(seq, f"Event {seq} belongs to the stream {event['stream']!r}, not to {findings.stream!r}.")
        if seq != findings.events + 1:
            self._wrong(findings.events + 1, f"Event {findings.events + 1} is missing: event {seq} is in its place.")
        if event["prev"] != findings.head:
            self._wrong(seq, f"Event {seq} does not carry the hash of the event before it.")
        if (cut_hash(event, text) or event_hash(event)) != event["hash"]:
            self._wrong(seq, f"Event {seq} ({kind}) was changed: its content does not match its hash.")
        findings.events, findings.head = seq, event["hash"]
        self._tree.add(leaf_hash(unhex(event["hash"])))
        for person in data.get("people", ()):
            if person:
                self._take_promise(seq, data, person, "person")
        if data.get("remark"):
            self._take_promise(seq, data, data["remark"], "remark")
        if kind == "person_erased":
            self._commitments.erase(seq, data["erased"], data["rounds"], unknown=self._tree.after > 0)
        if kind == "key_rotated":
            self._take_rotation(seq, data)
        if kind == "stream_created":
            self._take_creation(seq, data)
            self._lots, self._reviews = Lots(data), Reviews(data)
        elif kind == "round_opened" and self._lots is not None and (wrong := self._lots.wrong(seq, data)):
            self._wrong(seq, f"Event {seq} {wrong}.")
        if self._reviews is not None and (wrong := self._reviews.wrong(kind, event["at"], data)):
            self._wrong(seq, f"Event {seq} {wrong}.")

    def _take_promise(self, seq: int, data: dict[str, Any], promise: dict[str, Any], what: str) -> None:
        self._commitments.promise(promise["ref"], Promise(seq, data.get("t", 0), what, promise["commitment"]))

    def _take_creation(self, seq: int, data: dict[str, Any]) -> None:
        """The stream is this one, and the scores of its class, where it has some, are those that the settings name."""
        name = data["settings"]["name"]
        if name != self.findings.stream:
            self._wrong(seq, f"Event {seq} creates the stream {name!r}, not {self.findings.stream!r}.")
        scores = data.get("scores")
        held = None if scores is None else hashlib.sha256(canonical(scores)).hexdigest()
        if held != data["settings"].get("scores"):
            self._wrong(seq, f"Event {seq} holds scores that don't match the hash in its settings.")

    def _take_rotation(self, seq: int, data: dict[str, Any]) -> None:
        """The service changed its key: the old one signed the new one."""
        note, origin = read_note(data["note"]), self._header["origin"]
        before = self._keys[-1][1] if self._keys else data["old"]
        told = note[0] == f"likewise key 1\n{origin}\n{data['new']}\n"
        if data["old"] != before or not told or not signed_by(note, origin, unhex(data["old"])):
            self._wrong(seq, f"Event {seq} changes the key, but the key before it did not sign that.")
        self._keys = [*(self._keys or [(0, data["old"])]), (seq, data["new"])]
        self._rotations.append(data["note"])

    def _check_known_key(self) -> None:
        """The key that is known is one of the service's own, each of which the one before it has signed."""
        named = self._header["public_key"]
        self._keys = self._keys or [(0, named)]
        keys = [key for _, key in self._keys]
        if self._key is None:
            self.findings.notes.append(
                "The public key came with the export itself. To be sure, give the key that you know."
            )
        elif self._key not in keys:
            self._wrong(0, f"The export names the public key {named}, not {self._key}.")

    def _key_at(self, size: int) -> str:
        return [key for seq, key in self._keys if seq <= size][-1]

    def _take_aside(self, aside: dict[str, Any], text: bytes) -> None:
        """What is shown is what was committed to."""
        self.content = b""
        self.content = cut_content(aside, text)
        content = self.content or canonical(aside["content"])
        awaited = self._commitments.show(aside, content, self.findings.events)
        if awaited and self._lots is not None and self._lots.record and aside["kind"] == "person":
            self._ids[aside["ref"]] = aside["content"]["id"]

    def _check_asides(self) -> None:
        """Whoever isn't shown was erased by an event."""
        self.findings.asides, self.findings.erased = self._commitments.opened, self._commitments.erased
        if self._header.get("people") is not True:
            self.findings.notes.append("The export was made without people: no commitment could be opened.")
            return
        for seq in self._commitments.neither():
            self._wrong(seq, f"Event {seq} commits to something that is neither shown nor erased.")

    def _check_checkpoints(self, checkpoints: list[Note]) -> None:
        witnessed: dict[str, tuple[int, int]] = {}
        for note in checkpoints:
            origin, size, root = checkpoint_of(note)
            if size < self._tree.after:
                self.findings.notes.append(f"The checkpoint of event {size} is about another part; it was not checked.")
                continue
            key = self._key_at(size)
            if origin != self._header["origin"]:
                self._wrong(size, f"A checkpoint belongs to the log {origin!r}, not to {self._header['origin']!r}.")
            elif not signed_by(note, origin, unhex(key)):
                self._wrong(size, f"The checkpoint of event {size} is not signed with the key {key}.")
            elif size > self._tree.size:
                self._wrong(size, f"Event {size} was signed, but the log ends at event {self.findings.events}.")
            elif self._tree.root(size) != root:
                self._wrong(size, f"Event {size} or one before it is not the one that was signed.")
            else:
                seen = [(name, at) for name, public in self._witnesses if (at := witnessed_by(note, name, public))]
                witnessed |= {name: max(witnessed.get(name, (0, 0)), (size, at)) for name, at in seen}
            self.findings.checkpoints += 1
        for name, _ in self._witnesses:
            size, at = witnessed.get(name, (0, 0))
            told = f"cosigned the log up to event {size}, {at} seconds after 1970" if at else "has not cosigned the log"
            self.findings.notes.append(f"The witness {name} {told}.")
        if not checkpoints:
            self.findings.notes.append(
                "There is no checkpoint, so nobody would notice a chain that was recomputed from its start."
            )

    def _contradiction(self, kept: Note) -> dict[str, Any] | None:
        """Two logs that the service signed: one that was kept, and the export's own."""
        origin, old, root = checkpoint_of(kept)
        if not self._tree.after <= old <= self._tree.size:
            return None
        if self._tree.root(old) == root or self._signed(origin, kept) is None:
            return None
        for note in self._checkpoints:
            _, new, new_root = checkpoint_of(note)
            if old <= new <= self._tree.size and self._tree.root(new) == new_root:
                proof = [base64.b64encode(part).decode() for part in self._tree.consistency(old, new)]
                told = {"root": base64.b64encode(self._tree.root(old)).decode(), "proof": proof}
                if (signed := self._signed(origin, kept, note)) is not None:
                    return signed | {"older": note_text(kept), "newer": note_text(note)} | told
        return None

    def _signed(self, origin: str, *notes: Note) -> dict[str, Any] | None:
        """One key that signed some checkpoints; or the first of several, and how the service changed it."""
        keys = following_keys(unhex(self._keys[0][1]), origin, self._rotations)
        for rotations in ([], self._rotations):
            for first in reversed(keys):
                followed = following_keys(first, origin, rotations)
                if all(any(signed_by(note, origin, key) for key in followed) for note in notes):
                    return {"key": first.hex(), "rotations": rotations}
        return None

    def _kept(self, elsewhere: Iterable[dict[str, Any]]) -> list[Note]:
        """Those of this stream. Of what can't be read it is only said: a power cut may have left half a line.

        The file may be an export or an archive: its checkpoints count.
        """
        kept = []
        for point in elsewhere:
            if point.get("line") in ("header", "event", "aside"):
                self._rotations += [point["data"]["note"]] if point.get("kind") == "key_rotated" else []
                continue
            if "note" not in point and "proof" not in point:
                what = point.get("line", "A line kept elsewhere is neither a checkpoint nor a receipt")
                self.findings.notes.append(f"{what}; it is not used as a checkpoint.")
                continue
            note = self._receipt(point) if "proof" in point else read_note(point["note"])
            if checkpoint_of(note)[0] == self._header["origin"]:
                kept.append(note)
        return kept

    def _receipt(self, receipt: dict[str, Any]) -> Note:
        """The checkpoint that a receipt leads to; its event must be in the log, where the receipt says."""
        index, path, note = read_proof(receipt["proof"])
        origin, size, root = checkpoint_of(note)
        seq, leaf = receipt["seq"], leaf_hash(unhex(receipt["hash"]))
        if index != seq - 1 or not included(leaf, index, size, root, path):
            self._wrong(seq, f"The receipt of event {seq} does not prove that it is in the log.")
        elif origin == self._header["origin"] and self._not_in_log(index, leaf):
            self._wrong(seq, f"Event {seq} is not the one that the receipt is for.")
        return note

    def _not_in_log(self, index: int, leaf: bytes) -> bool:
        """Whether another event is known at this place."""
        return self._tree.after <= index < self._tree.size and self._tree.leaf(index) != leaf

    def _say_how_far(self, kept: list[Note] | None) -> None:
        """Up to where the log can't have been rewritten by somebody who has the service's key."""
        if kept is None:
            self.findings.notes.append(
                "No checkpoint kept elsewhere was given: "
                "whoever has the service's key could have rewritten the whole log."
            )
        elif not kept:
            self._wrong(0, f"None of the checkpoints kept elsewhere belongs to the stream {self.findings.stream!r}.")
        elif (newest := max(checkpoint_of(note)[1] for note in kept)) < self.findings.events:
            self.findings.notes.append(
                f"The newest checkpoint kept elsewhere is for event {newest}. Whoever has the service's key could have "
                f"rewritten everything after it, up to event {self.findings.events}."
            )


def check(
    lines: Iterable[dict[str, Any]],
    elsewhere: Iterable[dict[str, Any]] | None = None,
    key: str | None = None,
    witnesses: Iterable[str] = (),
) -> Findings:
    """Check the lines of an export; ``elsewhere`` are checkpoints or receipts kept apart, ``key`` the public key."""
    checker = Checker(key, witnesses)
    for line in lines:
        checker.take(line)
    return checker.finish(elsewhere)


def read_lines(path: str, *, spelling: bool = True) -> Iterator[dict[str, Any]]:
    """The JSON objects of a file, one per line; a line that is none, or is spelt differently, says so.

    A receipt that somebody kept may be spelt in any way: it is signed, and holds nothing else.
    """
    return (value for value, _ in read_texts(path, spelling=spelling))


def read_texts(path: str, *, spelling: bool = True) -> Iterator[tuple[dict[str, Any], bytes]]:
    """The same, each with its text if that is the one spelling of it."""
    with open(path, "rb") as file:
        for number, line in enumerate(file, 1):
            text = line.removesuffix(b"\n")
            try:
                value = read(text) if spelling else parsed(text)
                spelt = isinstance(value, dict) and (not spelling or line[-1:] == b"\n")
            except (ValueError, RecursionError):
                value, spelt = None, False
            if spelt:
                yield value, text if spelling else b""
            else:
                yield {"line": f"Line {number} of {path} is not JSON as the service writes it"}, line


def say_cheating(path: str, key: str | None = None) -> int:
    """Print what a file proves; 1 if it is a proof of cheating, 0 if it proves nothing."""
    with open(path, "rb") as file:
        content = file.read()
    try:
        evidence = json.loads(content)
        sentence, proved = cheating(evidence), True
        if key not in (None, evidence["key"]):
            sentence, proved = f"The checkpoints are signed with the key {evidence['key']}, not with {key}.", False
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        sentence, proved = f"This proves nothing. {error}", False
    sys.stdout.write(sentence + "\n")
    return 1 if proved else 0


def say_person(path: str, key: str | None = None) -> int:
    """Print what a person's receipt proves; 0 if it proves their decision, 1 if it proves nothing."""
    return _say(check_person, path, key)


def say_certificate(path: str, key: str | None = None) -> int:
    """Print what the signature of a certificate proves; 0 if it is what was signed, 1 if it proves nothing."""
    return _say(check_certificate, path, key)


def _say(check: Callable[[dict[str, Any], str | None], list[str]], path: str, key: str | None) -> int:
    with open(path, "rb") as file:
        content = file.read()
    try:
        sentences, proved = check(parsed(content), key), True
    except (ValueError, KeyError, TypeError, AttributeError, IndexError) as error:
        why = f"The file has no {error}." if isinstance(error, KeyError) else str(error)
        sentences, proved = [f"This proves nothing. {why}"], False
    if key is None:
        sentences.append("The public key came with the file itself. To be sure, give the key that you know.")
    sys.stdout.write("\n".join(sentences) + "\n")
    return 0 if proved else 1


def main(arguments: list[str] | None = None) -> int:
    """Print what was found; 0 if that is nothing wrong, 1 otherwise."""
    parser = argparse.ArgumentParser(description="Check the log of a Likewise stream.")
    parser.add_argument("export", nargs="*", help="the export, one JSON object per line; or its parts, in order")
    parser.add_argument("--key", help="the service's public key, 64 hexadecimal digits")
    parser.add_argument("--checkpoints", help="a file of signed checkpoints or receipts, kept elsewhere")
    parser.add_argument("--witness", action="append", default=[], help="a witness's key, name+id+key")
    parser.add_argument("--evidence", help="where to write a proof of cheating, if the checkpoints are one")
    parser.add_argument("--person", help="a person's receipt to check instead of an export")
    parser.add_argument("--certificate", help="a certificate to check instead of an export")
    parser.add_argument("--cheating", help="a proof of cheating to check instead of an export")
    given = parser.parse_args(arguments)
    alone = (given.cheating, given.person, given.certificate)
    if not given.export and alone == (None, None, None):
        parser.error("Give the export to check.")
    for file in (*given.export, given.checkpoints, *alone):
        if file is not None and not os.path.isfile(file):
            parser.error(f"There is no file {file}.")
    if given.cheating is not None:
        return say_cheating(given.cheating, given.key)
    if given.person is not None:
        return say_person(given.person, given.key)
    if given.certificate is not None:
        return say_certificate(given.certificate, given.key)
    kept = read_lines(given.checkpoints, spelling=False) if given.checkpoints else None
    checker = Checker(given.key, given.witness)
    for path in given.export:
        checker.next_part()
        for line, text in read_texts(path):
            checker.take(line, text)
    findings = checker.finish(kept)
    if given.evidence is not None and findings.evidence is not None:
        with open(given.evidence, "w", encoding="utf-8") as file:
            json.dump(findings.evidence, file, indent=2)
    write = sys.stdout.write
    for sentence in [str(findings), *findings.notes, *(sentence for _, sentence in sorted(findings.problems))]:
        write(sentence + "\n")
    write("Something is wrong.\n" if findings.problems else "Nothing wrong was found.\n")
    return 1 if findings.problems else 0


if __name__ == "__main__":
    raise SystemExit(main())
