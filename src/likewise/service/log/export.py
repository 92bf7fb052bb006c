"""An export: everything an outsider needs to check a stream, one JSON object per line, in the one spelling.

First a header with the public key; then every event, in order, some at a time, and after them what is kept beside the
log for them, so that commitments can be opened and whoever checks need not keep everything in memory; then the signed
checkpoints, the last one at the head. Without people, the log can still be checked, but its commitments can't be opened
and the learner can't be run again.

An export may begin later: its header then says what it goes on from, so that it can be checked by itself as far as it
goes, and together with the part before it as if they were one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from likewise.service.canonical import EXPORT_FORMAT, dumps
from likewise.service.log import Store
from likewise.service.log.checkpoints import CheckpointFile
from likewise.service.log.signing import Signer
from likewise.transparency.merkle import Frontier
from likewise.transparency.notes import Note, checkpoint_of, hashes, read_note

PAGE = 1000
"""Events read at once."""
BLOCK = 2**18
"""Characters that are sent together."""


class Start(NamedTuple):
    """Where a part of a log begins: after the events of a tree, the last of which has the hash ``prev``.

    ``rotations`` are the changes of the key before: whoever knows an older key can follow them.
    """

    tree: Frontier
    prev: str
    rotations: Sequence[Mapping[str, str]]

    def to_dict(self) -> dict[str, Any]:
        """As the header of the part has it."""
        return {
            "after": self.tree.size,
            "prev": self.prev,
            "edge": hashes(self.tree.nodes),
            "rotations": list(self.rotations),
        }


def export(
    store: Store,
    stream: str,
    head: Callable[[], Frontier],
    signer: Signer,
    checkpoints: CheckpointFile | None,
    *,
    people: bool = True,
    start: Start | None = None,
) -> Iterator[str]:
    """The lines of an export, as the log stands at its first line; later, if people are erased while it is written.

    ``head`` is the tree up to the log's last event, as the service knows it: what only a database says is not signed.
    With a ``start`` it is the part of the log from there on.
    """
    tree = head()
    last = tree.size
    header: dict[str, Any] = {
        "format": EXPORT_FORMAT,
        "stream": stream,
        "origin": signer.origin(stream),
        "public_key": signer.public_key,
        "events": last,
        "people": people,
    }
    if start is not None:
        header["continues"] = start.to_dict()
    yield dumps({"line": "header"} | header) + "\n"
    after = first = 0 if start is None else start.tree.size
    gone: set[str] = set()  # committed to, neither shown nor erased by an event so far
    while after < last:
        beside: list[str] = []
        page = store.exported(stream, after, min(PAGE, last - after))
        if not page:  # somebody cut the log: the checkpoint below will show it
            break
        for line in page:
            yield line.text
            beside += committed(line.data)
            gone -= set(line.data.get("erased", ()))
        after = page[-1].seq
        gone |= set(beside)
        for ref, text in store.exported_asides(beside, stream) if people else ():
            gone.discard(ref)
            yield text
        if after == last and people and gone:
            tree = head()  # with the events that say why they are not there any more
            last = tree.size
    for checkpoint in checkpoints.read(stream) if checkpoints is not None else ():
        note = read_note(checkpoint["note"])
        if first <= checkpoint_of(note).size <= last:
            yield _signed(note)
    if last:
        yield _signed(signer.checkpoint(stream, tree))


def _signed(note: Note) -> str:
    return dumps({"line": "checkpoint", "note": str(note)}) + "\n"


def committed(data: Mapping[str, Any]) -> list[str]:
    """The references that an event commits to, read from the log as it stands, whatever that may be."""
    promises = [*(data.get("people") or ()), *filter(None, [data.get("remark")])]
    return [promise["ref"] for promise in promises]


def in_blocks(lines: Iterable[str], size: int = BLOCK) -> Iterator[str]:
    """The same text in larger pieces: whoever sends each line by itself waits longer than for the database.

    Examples
    --------
    >>> list(in_blocks(["a", "b", "c"], size=2))
    ['ab', 'c']
    """
    block: list[str] = []
    length = 0
    for line in lines:
        block.append(line)
        length += len(line)
        if length >= size:
            yield "".join(block)
            block, length = [], 0
    if block:
        yield "".join(block)
