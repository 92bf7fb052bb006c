"""What somebody remembers of a log, and what they make of what they are told next.

Whoever keeps the newest checkpoint of a log notices if they are shown another past. If the service signed both, the two
checkpoints prove it, and anybody can check the proof (``likewise verify --cheating``).
"""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from likewise.errors import InvalidParameter, LikewiseError
from likewise.storage import write_whole
from likewise.transparency.merkle import consistent
from likewise.transparency.notes import Checkpoint, Note, checkpoint_of, hashes, read_hashes, read_note, read_proof


class LogNotTrusted(LikewiseError):
    """What the service sent doesn't follow from what it signed before, or is not signed at all."""


class LogContradicted(LogNotTrusted):
    """The service signed two pasts of one log; ``evidence`` proves it to anybody."""

    def __init__(self, evidence: dict[str, Any]) -> None:
        super().__init__(
            "The service has signed two logs that contradict each other. Keep `evidence` of this error in a file: "
            "`likewise verify --cheating FILE` proves it to anybody."
        )
        self.evidence = evidence


class Kept(NamedTuple):
    """The newest checkpoint of a log that was found to be consistent, and the key that signed it."""

    key: str
    note: Note

    @property
    def checkpoint(self) -> Checkpoint:
        """What it says."""
        return checkpoint_of(self.note)


class KeptCheckpoints:
    """The newest checkpoint of each log, in memory, and in a file if there is one. Any thread may ask.

    Parameters
    ----------
    path
        A file of JSON, made if it isn't there; without one, what is kept ends with the process.

    Examples
    --------
    >>> kept = KeptCheckpoints()
    >>> kept.find("loans") is None
    True
    """

    def __init__(self, path: str | Path | None = None) -> None:
        self._path = None if path is None else Path(path)
        self._lock = threading.Lock()
        self._kept: dict[str, Kept] = {}
        if self._path is not None and self._path.exists():
            self._kept = _read(self._path)

    def find(self, log: str) -> Kept | None:
        """What is kept of a log."""
        return self._kept.get(log)

    def keep(self, log: str, kept: Kept) -> None:
        """Keep a checkpoint in place of the one before, unless that is of a larger log."""
        with self._lock:
            before = self._kept.get(log)
            if before is not None and before.checkpoint.size > kept.checkpoint.size:
                return
            self._kept = {**self._kept, log: kept}
            if self._path is not None:
                plain = {name: {"key": entry.key, "note": str(entry.note)} for name, entry in self._kept.items()}
                write_whole(self._path, json.dumps(plain, indent=2, ensure_ascii=False) + "\n")


def _read(path: Path) -> dict[str, Kept]:
    try:
        plain = json.loads(path.read_text(encoding="utf-8"))
        return {name: Kept(entry["key"], read_note(entry["note"])) for name, entry in plain.items()}
    except (ValueError, KeyError, TypeError, AttributeError, InvalidParameter):
        raise InvalidParameter(f"`kept` must be a file of checkpoints that a client kept, got {path}.") from None


def following_keys(key: str, origin: str, rotations: Sequence[str]) -> list[str]:
    """A key of a log, and those that it was changed to, each signed with one before."""
    keys = [key]
    for text in rotations:
        note = read_note(text)
        head, name, new, *rest = note.text.split("\n")
        told = (head, name, rest) == ("likewise key 1", origin, [""])
        if told and any(note.signed_by(origin, bytes.fromhex(each)) for each in keys):
            keys.append(new)
    return keys


def require_receipt(receipt: Mapping[str, Any], key: str) -> Note:
    """The checkpoint of a receipt, if the receipt proves what it says and this key signed it."""
    try:
        proof = read_proof(receipt["proof"])
        holds = proof.index == receipt["seq"] - 1 and proof.holds(bytes.fromhex(receipt["hash"]))
    except (KeyError, TypeError, ValueError, AttributeError, InvalidParameter):
        raise LogNotTrusted("What came as a receipt is none.") from None
    if not holds or not proof.note.signed_by(checkpoint_of(proof.note).origin, bytes.fromhex(key)):
        raise LogNotTrusted(f"The receipt of event {receipt['seq']} does not prove that it is in the log.")
    return proof.note


def require_consistent(older: Kept, newer: Kept, answer: Mapping[str, Any], rotations: Sequence[str] = ()) -> None:
    """Refuse two checkpoints that are not of one log; ``answer`` is what the service says to show that they are.

    Where two keys signed them, ``rotations`` say how one was changed to the other.
    """
    old, new, proved = older.checkpoint, newer.checkpoint, checkpoint_of(read_note(answer["note"]))
    proof, (root,) = read_hashes(answer["proof"]), read_hashes([answer["root"]])
    if old.origin != new.origin:
        raise LogNotTrusted(f"This is another log than before: {new.origin!r}, not {old.origin!r}.")
    if proved != new:
        if proved.size == new.size and read_note(answer["note"]).signed_by(new.origin, bytes.fromhex(newer.key)):
            raise LogContradicted(evidence(newer, Kept(newer.key, read_note(answer["note"])), proved.root, []))
        raise LogNotTrusted("The service does not show how its log went on.")
    if consistent(old.size, new.size, old.root, new.root, proof):
        return
    if consistent(old.size, new.size, root, new.root, proof):
        raise LogContradicted(evidence(older, newer, root, proof, rotations))
    raise LogNotTrusted("The service does not show how its log went on.")


def evidence(
    older: Kept, newer: Kept, root: bytes, proof: Sequence[bytes], rotations: Sequence[str] = ()
) -> dict[str, Any]:
    """A proof of cheating: two signed checkpoints, and what the newer tree says of the older one.

    Where two keys signed them, ``rotations`` say how one was changed to the other; the first of them is named.
    """
    first = older if newer.key in following_keys(older.key, older.checkpoint.origin, rotations) else newer
    return {
        "key": first.key,
        "older": str(older.note),
        "newer": str(newer.note),
        "root": hashes([root])[0],
        "proof": hashes(proof),
        "rotations": list(rotations),
    }
