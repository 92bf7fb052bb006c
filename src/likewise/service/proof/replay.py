"""``likewise verify``: check an export, and run the learner again over it.

The chain, the checkpoints and the commitments are checked by ``likewise.service.proof.standalone``. Then the events
are folded again. ``likewise.service.stream.objections`` says whether each may follow those before it; every number that
the learner gives (probabilities shown, policies deployed, penalties) is compared there with what was logged. On the
machine that wrote the log they agree bit by bit, on another one within 1e-9.
"""

from __future__ import annotations

import bisect
import weakref
import zlib
from array import array
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from likewise.errors import InvalidParameter, require
from likewise.service.log.chain import unsealed
from likewise.service.packed import Records
from likewise.service.proof.spelling import cut_content, parsed
from likewise.service.proof.standalone import CONTINUES, Checker, Findings, read_lines, read_texts
from likewise.service.stream.events import Aside, Event, LabelsBooked, Learned, LearnerCheckpointed, RoundOpened
from likewise.service.stream.events.rounds import TOLERANCE
from likewise.service.stream.memory import Memory, PastRounds
from likewise.service.stream.objections import Rules
from likewise.service.stream.state import State

PROGRESS_EVERY = 500
"""Lines between two reports of progress."""
MOST_WAITING = 5000
"""Events that wait for their people; an export shows them after a thousand events at most."""


@dataclass
class Replay:
    """What running the learner again showed.

    Attributes
    ----------
    rounds
        Rounds that were learned again.
    lost
        Rounds that can't be: somebody in them was erased since. The learner goes on from its next checkpoint.
    inexact
        Policies that agree within the tolerance but not bit by bit: the log was written on another machine.
    difference
        The first event that differs from what follows from those before it, and how; None if there is none.
    """

    rounds: int = 0
    lost: list[int] = field(default_factory=list)
    inexact: int = 0
    difference: tuple[int, str] | None = None

    @property
    def share(self) -> float:
        """The share of the rounds learned that could be learned again; 1 if there are none."""
        whole = self.rounds + len(self.lost)
        return self.rounds / whole if whole else 1.0

    def note(self, state: State, event: Event) -> None:
        """Count what an event lets be compared, before it changes the state."""
        if type(event) is RoundOpened and state.policy is not None:
            self.inexact += event.policy != state.policy.hash
        elif type(event) is Learned:
            if state.policy is None or event.round(state).lost:
                self.lost.append(event.t)
            else:
                self.rounds += 1


@dataclass(frozen=True)
class Verification:
    """What an export showed: its findings without the learner, and the replay."""

    findings: Findings
    replay: Replay | None

    @property
    def first(self) -> tuple[int, str] | None:
        """The first event that differs, and how; None if nothing is wrong."""
        replayed = self.replay.difference if self.replay is not None else None
        wrong = [difference for difference in (self.findings.first, replayed) if difference is not None]
        return min(wrong, default=None)

    @property
    def exit_code(self) -> int:
        """0 if everything was checked and nothing is wrong, 1 if something is, 3 if some rounds can't be replayed."""
        if self.first is not None:
            return 1
        return 3 if self.replay is not None and self.replay.lost else 0

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        findings, replay = self.findings, self.replay
        return {
            "stream": findings.stream,
            "events": findings.events,
            "checkpoints": findings.checkpoints,
            "commitments_opened": findings.asides,
            "erased": findings.erased,
            "replayed_rounds": None if replay is None else replay.rounds,
            "lost_rounds": None if replay is None else replay.lost,
            "replayable_share": None if replay is None else replay.share,
            "inexact_policies": None if replay is None else replay.inexact,
            "notes": findings.notes,
            "first_difference": None if self.first is None else {"event": self.first[0], "said": self.first[1]},
        }


def sentences(verification: Verification) -> list[str]:
    """What was found, in words; the last sentence is the verdict."""
    plain, replay = verification.findings, verification.replay
    lines = [str(plain), *plain.notes]
    if replay is None:
        lines.append("The learner was not run again.")
    else:
        lines.append(f"Rounds that were learned again: {replay.rounds:,}.")
        if replay.lost:
            lines.append(f"Rounds that can't be learned again, because people were erased: {ranges(replay.lost)}.")
        if replay.inexact:
            lines.append(
                f"Policies that agree within {TOLERANCE:g}, but not bit by bit: {replay.inexact:,}. "
                "The log was written on another machine."
            )
    return [*lines, _verdict(verification)]


def _verdict(verification: Verification) -> str:
    """What is wrong, or that nothing was found; and how many rounds could not be replayed."""
    if verification.first is not None:
        return f"The first event that differs: {verification.first[1]}"
    lost = len(verification.replay.lost) if verification.replay is not None else 0
    if verification.replay is None or not lost:
        return "Nothing wrong was found."
    whole = verification.replay.rounds + lost
    share = f"{100 * verification.replay.share:.1f} % of them could"
    return f"Nothing wrong was found; {lost:,} of {whole:,} rounds could not be replayed, {share}."


def ranges(numbers: Iterable[int]) -> str:
    """Numbers in few words.

    Examples
    --------
    >>> ranges([1, 2, 3, 7, 9, 10])
    '1-3, 7, 9-10'
    """
    runs: list[list[int]] = []
    for number in sorted(numbers):
        if runs and number == runs[-1][-1] + 1:
            runs[-1][1:] = [number]
        else:
            runs.append([number])
    return ", ".join("-".join(map(str, run)) for run in runs)


def verify(
    *paths: str | Path,
    key: str | None = None,
    checkpoints: str | Path | None = None,
    witnesses: Sequence[str] = (),
    replay: bool = True,
    progress: Callable[[float], None] | None = None,
) -> Verification:
    """Check an export.

    Parameters
    ----------
    paths
        The file that was exported; or archives in a row, which are checked as one.
    key
        The public key that the service is known by.
    checkpoints
        A file of checkpoints or receipts that was kept apart from the export.
    witnesses
        The keys of witnesses, as name+id+key: it is said up to where each has cosigned the log.
    replay
        Whether to run the learner again.
    progress
        Is called now and then with the share of the work that is done: by the bytes that were read.
    """
    for name, file in (*(("export", path) for path in paths), ("checkpoints", checkpoints)):
        require(file is None or Path(file).is_file(), name, "be a file", str(file))
    checker, report = Checker(key, witnesses), progress or (lambda share: None)
    sizes = [Path(path).stat().st_size for path in paths]
    again = Again(paths) if replay and _from_the_start(paths[0]) else None
    for part, path in enumerate(paths):
        checker.next_part()
        offset = sum(sizes[:part])
        for number, (line, text) in enumerate(read_texts(str(path))):
            if number % PROGRESS_EVERY == 0:
                report(offset / (sum(sizes) or 1))
            checker.take(line, text)
            if checker.refused:
                raise InvalidParameter(checker.refused)
            if again is not None:
                again.take(line, checker.content, offset)
            offset += len(text) + 1
    findings = checker.finish(None if checkpoints is None else read_lines(str(checkpoints), spelling=False))
    if again is None:
        return Verification(findings, None)
    found = again.finish()
    if again.people:
        return Verification(findings, found)
    if found.difference is not None:  # without people no learner can be run, but what may follow what is known
        findings.problems.append(found.difference)
    return Verification(findings, None)


def _from_the_start(path: str | Path) -> bool:
    """Whether a file begins with the first event of a log: only then is it known what its events follow."""
    header = next(read_lines(str(path)), {})
    return CONTINUES not in header


class Shown(NamedTuple):
    """A line that shows somebody, or a remark, and the spelling of what was committed to, where it is known."""

    line: dict[str, Any]
    content: bytes

    def aside(self) -> Aside:
        """What it shows."""
        line, content = self.line, self.content
        parts = line["ref"], line["kind"], line["t"], line["salt"]
        return Aside.read(*parts, content.decode(), line["content"]) if content else Aside(*parts, line["content"])


class Again:
    """Folds the events of an export again, comparing what was logged with what follows.

    People stand in an export after the events that they belong to, a page of events at a time; so events wait here
    until their people have come. Somebody who is needed again, for a report that the learner keeps or for a label that
    comes late, is read from the file a second time.
    """

    def __init__(self, paths: Sequence[str | Path]) -> None:
        sizes = [Path(path).stat().st_size for path in paths]
        self._starts = [sum(sizes[:i]) for i in range(len(sizes))]
        self._files = [Path(path).open("rb") for path in paths]  # noqa: SIM115 - as long as the fold lasts
        scratch = _scratch()
        for file in (*self._files, scratch):
            weakref.finalize(self, file.close)  # also where an export is refused before its end
        self._waiting: list[dict[str, Any]] = []
        self._asides: dict[str, Shown] = {}
        self._kept: dict[str, Shown] = {}
        self._keys, self._offsets = array("I"), array("Q")
        self._state, self._replay, self._rules = State(), Replay(), Rules(Memory(rounds=PastRounds(Records(scratch))))

    @property
    def people(self) -> int:
        """How many people, and remarks, were shown."""
        return len(self._keys)

    def take(self, line: dict[str, Any], content: bytes, offset: int) -> None:
        """The next line, the spelling of what it shows, and where it begins in the files, one after another."""
        if line.get("line") == "event":
            if self._asides or len(self._waiting) >= MOST_WAITING:
                self._fold()
            self._waiting.append(line)
        elif line.get("line") == "aside" and isinstance(line.get("ref"), str):
            self._asides[line["ref"]] = Shown(line, content)
            self._keys.append(_key(line["ref"]))
            self._offsets.append(offset)

    def finish(self) -> Replay:
        """What the whole export showed."""
        self._fold()
        for file in self._files:
            file.close()
        return self._replay

    def _fold(self) -> None:
        waiting, self._waiting = self._waiting, []
        for line in waiting:
            if self._replay.difference is None:
                self._fold_one(line)
        self._asides = {}

    def _fold_one(self, line: dict[str, Any]) -> None:
        try:
            sealed = unsealed(line)
            people = self._people_of(sealed.event)
            event = sealed.beside(people).event if people else sealed.event
            wrong = self._rules.objection(self._state, event)
            if not wrong:
                self._replay.note(self._state, event)
                self._state = self._rules.after(self._state, event)
        except Exception as error:  # whatever a forged event makes of the code that reads it, it is named
            wrong = f"does not follow from the events before it ({type(error).__name__}: {error})"
        if wrong:
            said = f"Event {line.get('seq')} ({line.get('kind')}) {wrong}."
            self._replay.difference = int(line.get("seq", 0)), said

    def _people_of(self, event: Event) -> dict[str, Aside]:
        """Everybody whom an event rests on, as far as they are there."""
        refs = event.refs
        if not refs and type(event) is not LearnerCheckpointed:
            return {}  # most events rest on nobody
        asides = self._asides
        found = {ref: asides[ref] for ref in refs if ref in asides}
        if len(found) < len(refs):
            found = {ref: shown for ref in refs if (shown := self._find(ref, event)) is not None}
        if type(event) is LearnerCheckpointed:
            self._kept = found
        return {ref: shown.aside() for ref, shown in found.items()}

    def _find(self, ref: str, event: Event) -> Shown | None:
        shown = self._asides.get(ref) or self._kept.get(ref)
        if shown is not None or not isinstance(event, LearnerCheckpointed | LabelsBooked):
            return shown
        keys = np.frombuffer(self._keys, dtype=np.uint32)
        for place in np.flatnonzero(keys == _key(ref)).tolist():
            text = self._line_at(self._offsets[place]).removesuffix(b"\n")
            line = parsed(text)
            if line["ref"] == ref:
                return Shown(line, cut_content(line, text))
        return None

    def _line_at(self, offset: int) -> bytes:
        part = bisect.bisect_right(self._starts, offset) - 1
        self._files[part].seek(offset - self._starts[part])
        return self._files[part].readline()


def _scratch() -> BinaryIO:
    """A file without a name, which is gone with the process; in memory where there is no place for one."""
    try:
        return TemporaryFile()
    except OSError:
        return BytesIO()


def _key(ref: str) -> int:
    """A number that finds a reference; it may find others, too."""
    return zlib.crc32(ref.encode())
