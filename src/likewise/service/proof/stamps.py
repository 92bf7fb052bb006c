"""What an authority stamped of a log: by when it had so many events, whatever the service's own clock said.

The checkpoints that were stamped are checked like all others; here it is checked that the stamps are of them, by
somebody who is trusted, and that no event they cover says that it happened later.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

from likewise.errors import InvalidParameter
from likewise.service.proof.standalone import read_lines
from likewise.transparency.notes import checkpoint_of, read_note
from likewise.transparency.timestamps import certificates, stamped_at
from likewise.wording import plural

SLACK = timedelta(minutes=1)
"""By how much two good clocks may differ."""
EVENT = re.compile(rb'^\{"at":"([^"]+)".*"line":"event","prev":"[0-9a-f]+","seq":([0-9]+),"stream":', re.DOTALL)


class Stamps(NamedTuple):
    """What was stamped: pairs of how many events and when, in order; and what is wrong, in sentences."""

    at: list[tuple[int, datetime]]
    wrong: list[str]

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return {"stamped": [{"events": size, "at": at.isoformat()} for size, at in self.at], "stamps_wrong": self.wrong}

    def sentences(self) -> list[str]:
        """All of it in words."""
        if not self.at and not self.wrong:
            return ["No checkpoint of this log has a timestamp."]
        said = [
            f"{plural(len(self.at), 'checkpoint')} stamped by the authority: the log had {size:,} events by "
            f"{at:%Y-%m-%d %H:%M:%S} UTC."
            for size, at in self.at[-1:]
        ]
        return said + self.wrong


def stamps(exports: Sequence[Path], checkpoints: Path, authority: Path) -> Stamps:
    """Check the timestamps in a file of checkpoints, of the log in an export."""
    trusted, origin = certificates(authority), next(read_lines(str(exports[0])), {}).get("origin")
    found, wrong = [], []
    for line in read_lines(str(checkpoints), spelling=False):
        if "timestamp" not in line or checkpoint_of(note := read_note(line.get("note", ""))).origin != origin:
            continue
        size = checkpoint_of(note).size
        try:
            answer = base64.b64decode(line["timestamp"], validate=True)
            found.append((size, stamped_at(note.text, answer, trusted).astimezone(UTC)))
        except (InvalidParameter, binascii.Error, TypeError) as error:
            wrong.append(f"Of the checkpoint of event {size}: {error}")
    times = dict(_times(exports, {size for size, _ in found}))
    wrong += [
        f"Event {size} says that it happened at {times[size]}, but it was stamped before, at {at}."
        for size, at in found
        if size in times and times[size] > at + SLACK
    ]
    return Stamps(sorted(found), wrong)


def _times(exports: Sequence[Path], wanted: set[int]) -> Iterator[tuple[int, datetime]]:
    """When some events happened, as they say; lines are read by their ends, as most are of no interest."""
    for path in exports:
        with path.open("rb") as file:
            for line in file:
                event = EVENT.match(line)
                if event is not None and int(event[2]) in wanted:
                    yield int(event[2]), datetime.fromisoformat(event[1].decode())
