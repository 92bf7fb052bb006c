"""An export: everything an outsider needs to check a stream, one JSON object per line.

First a header with the public key; then every event, in order; then what is kept beside the log, so that commitments
can be opened; then the signed checkpoints, the last one at the head. Without people, the log can still be checked, but
its commitments can't be opened and the learner can't be run again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from likewise.service.canonical import EXPORT_FORMAT, dumps
from likewise.service.log import Store
from likewise.service.log.checkpoints import CheckpointFile
from likewise.service.log.signing import Signer
from likewise.service.stream.events import Aside
from likewise.transparency.merkle import Frontier
from likewise.transparency.notes import Note, checkpoint_of, read_note

PAGE = 1000
"""Events read at once."""


def export(
    store: Store,
    stream: str,
    head: Callable[[], Frontier],
    signer: Signer,
    checkpoints: CheckpointFile | None,
    *,
    people: bool = True,
) -> Iterator[dict[str, Any]]:
    """The lines of an export, as the log stands at its first line; later, if people are erased while it is written.

    ``head`` is the tree up to the log's last event, as the service knows it: what only a database says is not signed.
    """
    tree = head()
    last = tree.size
    header = {
        "format": EXPORT_FORMAT,
        "stream": stream,
        "origin": signer.origin(stream),
        "public_key": signer.public_key,
        "events": last,
        "people": people,
    }
    yield {"line": "header"} | header
    after = 0
    gone: set[str] = set()  # committed to, neither shown nor erased by an event so far
    while after < last:
        beside: list[str] = []
        erased: set[str] = set()
        while after < last:
            page = store.lines(stream, after, min(PAGE, last - after))
            if not page:  # somebody cut the log: the checkpoint below will show it
                after = last
                break
            for line in page:
                yield {"line": "event"} | line
                beside += committed(line["data"])
                erased |= set(line["data"].get("erased", ()))
            after = page[-1]["seq"]
        gone = (gone | set(beside)) - erased
        for aside in store.asides_of(beside, stream) if people else ():
            gone.discard(aside.ref)
            yield _line(aside)
        if people and gone:
            tree = head()  # with the events that say why they are not there any more
            last = tree.size
    for checkpoint in checkpoints.read(stream) if checkpoints is not None else ():
        note = read_note(checkpoint["note"])
        if checkpoint_of(note).size <= last:
            yield _signed(note)
    if last:
        yield _signed(signer.checkpoint(stream, tree))


def _signed(note: Note) -> dict[str, Any]:
    return {"line": "checkpoint", "note": str(note)}


def committed(data: Mapping[str, Any]) -> list[str]:
    """The references that an event commits to, read from the log as it stands, whatever that may be."""
    promises = [*(data.get("people") or ()), *filter(None, [data.get("remark")])]
    return [promise["ref"] for promise in promises]


def export_text(lines: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """The lines of an export as text; canonical, as the checker compares bytes."""
    return (dumps(line) + "\n" for line in lines)


def _line(aside: Aside) -> dict[str, Any]:
    return {
        "line": "aside",
        "ref": aside.ref,
        "kind": aside.kind,
        "t": aside.t,
        "salt": aside.salt,
        "content": aside.content,
    }
