"""Playing a run: part by part onto the disk, so that it can be stopped at any moment, continued, and repeated.

A play in parts of fixed length gives the same numbers wherever it was stopped: the state that a part starts from is the
state that the part before it wrote, random numbers are named by their round, and sums are formed part by part.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from likewise.auditors import AskAuditor
from likewise.auditors.asked import Silent
from likewise.errors import InvalidParameter, LikewiseError
from likewise.experiments.runs.classes import Progress
from likewise.experiments.runs.folder import RunFolder
from likewise.experiments.runs.population import file_digest
from likewise.experiments.runs.settings import FORMAT, Settings, versions
from likewise.experiments.runs.setup import Setup, prepare
from likewise.game import Transcript, play
from likewise.hypotheses import EnumerableClass, save_models
from likewise.protocol import Answer, Auditor, Batch, Floats, Key
from likewise.scoring.scored_columns import SCORERS


class Stopped(LikewiseError):
    """The person who is asked has had enough for now."""


class Remembered:
    """Another auditor, whose answers are kept on disk and who is never asked twice."""

    def __init__(self, auditor: Auditor, folder: RunFolder) -> None:
        self.alpha, self.margin, self.facts = auditor.alpha, auditor.margin, auditor.facts
        self._auditor, self._folder, self._answers = auditor, folder, folder.answers()

    def audit(self, batch: Batch, probabilities: Floats, key: Key) -> Answer:
        """The answer on disk, or the other auditor's, kept before anything follows from it."""
        if key.t not in self._answers:
            # Nobody is bothered with people whose probabilities are so close that no report could be true.
            close = float(np.ptp(probabilities)) <= self.alpha - self.margin
            answer = None if close else self._auditor.audit(batch, probabilities, key)
            self._folder.add_answer(key.t, answer)
            self._answers[key.t] = answer
        return self._answers[key.t]


@dataclass(frozen=True)
class Run:
    """A run: its folder, and the roles that play it."""

    folder: RunFolder
    setup: Setup
    auditor: Auditor

    @classmethod
    def start(
        cls, settings: Settings, out: Path, person: Auditor | None = None, progress: Progress | None = None
    ) -> Run:
        """A new run; its folder appears only if everything can be built.

        ``person`` answers if the settings say that one is asked; ``progress`` hears of models that are fitted.
        """
        RunFolder.require_new(out)
        setup = prepare(settings, progress)
        folder = RunFolder.create(out)
        if setup.scorers is not None:
            folder.write(SCORERS, partial(save_models, list(setup.scorers.models.values())))
        folder.write_json("settings.json", noted(setup))
        return cls._of(folder, setup, person)

    @classmethod
    def resume(
        cls, path: Path, person: Auditor | None = None, source: str | None = None, progress: Progress | None = None
    ) -> Run:
        """A run that was stopped, on the same people; ``source`` says where their file is now."""
        folder = RunFolder.open(path)
        settings = stored_settings(folder, source)
        setup = prepare(settings, progress)
        _require_same(setup, folder)
        folder.mend()
        return cls._of(folder, setup, person)

    @classmethod
    def _of(cls, folder: RunFolder, setup: Setup, person: Auditor | None) -> Run:
        if not setup.settings.ask:
            return cls(folder, setup, setup.simulated())
        return cls(folder, setup, setup.by_lot(Remembered(person or _nobody(setup.settings), folder)))

    @classmethod
    def again(cls, path: Path, out: Path, source: str | None = None, progress: Progress | None = None) -> Run:
        """The same run once more in a folder of its own; a person's answers are taken from the first one."""
        folder = RunFolder.open(path)
        settings = stored_settings(folder, source)
        if not (settings.ask or folder.transcript_file.exists()):
            raise InvalidParameter(
                f"`again` must be a run that has finished, got {path}; likewise play --resume {path} continues it."
            )
        run = cls.start(settings, out, progress=progress)
        if not settings.ask:
            return run
        if folder.answers_file.exists():
            shutil.copyfile(folder.answers_file, run.folder.answers_file)
        return cls._of(run.folder, run.setup, None)

    def play(
        self, *, stop: Callable[[], bool] = lambda: False, progress: Callable[[int], None] = lambda played: None
    ) -> bool:
        """Play what is left, or until ``stop`` says so between two parts; whether the run has finished."""
        if self.folder.transcript_file.exists():
            return True
        s = self.setup.settings
        last = self.folder.last_part(self.setup.hypotheses)
        played = 0 if last is None else _rounds_up_to(last)
        progress(played)
        while played < s.T:
            if stop():
                return False
            last = self._played(last, min(s.part, s.T - played))
            self.folder.add_part(last)
            played = _rounds_up_to(last)
            progress(played)
        self.folder.keep_whole(joined(self.folder.parts(self.setup.hypotheses)))
        return True

    def _played(self, last: Transcript | None, rounds: int) -> Transcript:
        return played(self.setup, self.auditor, last, rounds)

    def transcript(self) -> Transcript | None:
        """All rounds so far, with those that a person answered since the last part; None before the first one."""
        F = self.setup.hypotheses
        if self.folder.transcript_file.exists():
            return Transcript.load(self.folder.transcript_file, hypotheses=F)
        parts = self.folder.parts(F)
        last = parts[-1] if parts else None
        answered = max(self.folder.answers(), default=0) - (0 if last is None else _rounds_up_to(last))
        if answered > 0:
            parts = [*parts, self._played(last, answered)]
        return joined(parts) if parts else None


def played(setup: Setup, auditor: Auditor, last: Transcript | None, rounds: int) -> Transcript:
    """The next rounds of a run."""
    return play(setup.learner, setup.people, auditor, rounds, seed=setup.settings.seed, state=last)


def played_in_memory(setup: Setup, auditor: Auditor) -> Transcript:
    """All rounds, part by part as on the disk, so that the numbers are the same to the last bit."""
    s, parts = setup.settings, list[Transcript]()
    for start in range(0, s.T, s.part):
        parts.append(played(setup, auditor, parts[-1] if parts else None, min(s.part, s.T - start)))
    return joined(parts)


def _nobody(settings: Settings) -> AskAuditor:
    """Stands in for a person where only the answers on disk may be used."""

    def ask(prompt: str) -> str:
        raise Stopped("Nobody is there to answer.")

    return AskAuditor(settings.alpha, settings.margin, ask=ask, console=Silent())


def _rounds_up_to(part: Transcript) -> int:
    return part.first - 1 + part.rounds


def noted(setup: Setup) -> dict[str, Any]:
    """What ``settings.json`` holds."""
    return {
        "format": FORMAT,
        "settings": setup.settings.to_dict(),
        "people": {"rows": len(setup.data), "sha256": setup.digest},
        "class": {
            "name": type(setup.hypotheses).__name__,
            "size": str(setup.hypotheses.size),
            "sha256": class_digest(setup.built.deployed),
        },
        "learner": setup.learner.parameters(),
        "versions": versions(),
    }


def class_digest(hypotheses: EnumerableClass) -> str:
    """Of the class: its cuts, and the fingerprints of its models."""
    return hashlib.sha256(json.dumps(hypotheses.to_dict(), sort_keys=True).encode()).hexdigest()


def _require_same(setup: Setup, folder: RunFolder) -> None:
    """Raise unless the people, the class and the learner are the same as when the run was started."""
    before, now = folder.read_json("settings.json"), json.loads(json.dumps(noted(setup)))
    for part in ("people", "class", "learner"):
        if now[part] != before[part]:
            raise InvalidParameter(
                f"`folder` must be continued with the {part} that it was started with, but {setup.settings.source} "
                f"does not give the same {part} here, got "
                f"{'; '.join(changed_versions(folder)) or 'the same versions of everything'}."
            )


def stored_settings(folder: RunFolder, source: str | None = None) -> Settings:
    """The settings of a run, checked against the file that they name; ``source`` says where that file is now."""
    settings = Settings.from_dict(folder.read_json("settings.json").get("settings", {}))
    if not settings.sha256:
        return settings
    path = Path(settings.source if source is None else source).absolute()
    if not path.is_file():
        raise InvalidParameter(
            f"`source` must be the file that the run was started with, got nothing at {path}; if it has moved, "
            f"name it: likewise play NEW_PLACE --resume {folder.path} (or --again)."
        )
    if file_digest(path) != settings.sha256:
        raise InvalidParameter(
            f"`source` must be the same file as when the run was started, got {path} with other content "
            f"(its SHA-256 is not {settings.sha256[:12]}…)."
        )
    return dataclasses.replace(settings, source=str(path))


def changed_versions(folder: RunFolder) -> list[str]:
    """What is installed in another version than when a run was started."""
    recorded, installed = folder.read_json("settings.json")["versions"], versions()
    return [
        f"{name} {recorded[name]} then, {installed[name]} now"
        for name in installed
        if recorded.get(name) != installed[name]
    ]


def joined(parts: list[Transcript]) -> Transcript:
    """Parts as one transcript, neighbours first, so that no round is copied more often than log₂ of the parts."""
    while len(parts) > 1:
        pairs = [parts[i : i + 2] for i in range(0, len(parts), 2)]
        parts = [pair[0] + pair[1] if len(pair) == 2 else pair[0] for pair in pairs]
    return parts[0]
