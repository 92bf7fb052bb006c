"""A run's folder: what was asked, what was played, and what resulted, on disk so that nothing is lost.

    settings.json     every parameter, and the versions that it was played with
    answers.jsonl     what a person at the terminal answered, one line each, written before the learner learns it
    parts/            the rounds played so far, a part each, until the whole transcript is written
    transcript.npz    all rounds
    certificate.json, certificate.txt, figures/, report.html
    policy.json       what was chosen on the people held out
    models.zip        the fitted models that the policy needs, if it needs some
    model-card.md, model-card.json, datasheet.md
                      the same for people who know other forms
    class.txt         what a suggested class is made of, what it holds of whom, and what each part brings
    result.json       the result of the run; written last

Files appear whole or not at all: each is written beside its place, flushed to the disk and renamed.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from likewise.errors import InvalidParameter, require
from likewise.experiments.runs.settings import FORMAT
from likewise.game import Transcript
from likewise.protocol import SKIPPED, Answer, Report, reports_of
from likewise.storage import DRAFT, append_lines, json_lines, whole_file


@dataclass(frozen=True)
class RunFolder:
    """Where a run lives."""

    path: Path

    @staticmethod
    def require_new(path: Path, name: str = "out") -> None:
        """Raise unless a run may begin here; ``name`` is what the caller calls the folder."""
        occupied = path.exists() and (not path.is_dir() or any(path.iterdir()))
        if occupied and (path / "settings.json").exists():
            raise InvalidParameter(
                f"`{name}` must be a new folder, got {path}, which holds a run; continue it with "
                f"`likewise play --resume {path}`, or choose another folder."
            )
        require(not occupied, name, "be a new or an empty folder", str(path))

    @classmethod
    def create(cls, path: Path, name: str = "out") -> RunFolder:
        """A new run's folder."""
        cls.require_new(path, name)
        try:
            path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            must = f"`{name}` must be a folder that can be written"
            raise InvalidParameter(f"{must}, got {path}: {error.strerror}.") from None
        return cls(path)

    @classmethod
    def open(cls, path: Path) -> RunFolder:
        """A folder that holds a run."""
        folder = cls(path)
        if not folder.settings_file.is_file():
            raise InvalidParameter(f"`folder` must be the folder of a run, got {path}, which has no settings.json.")
        written = folder.read_json("settings.json").get("format")
        if written != FORMAT:
            older = " (an older run, which held nobody out: play it again)" if written in range(1, FORMAT) else ""
            must = f"hold a run of format {FORMAT}"
            raise InvalidParameter(f"`folder` must {must}, got {path} of format {written}{older}.")
        return folder

    @property
    def settings_file(self) -> Path:
        """Every parameter of the run."""
        return self.path / "settings.json"

    @property
    def transcript_file(self) -> Path:
        """All rounds; there when the last one has been played."""
        return self.path / "transcript.npz"

    @property
    def result_file(self) -> Path:
        """The result of the run; there when everything has been written."""
        return self.path / "result.json"

    def write(self, name: str, content: Callable[[Path], object]) -> Path:
        """A file of the run, whole or not at all; ``content`` writes it to the path that it is given."""
        with whole_file(self.path / name) as draft:
            content(draft)
        return self.path / name

    def write_text(self, name: str, text: str) -> Path:
        """A file of text of the run."""
        return self.write(name, lambda path: path.write_text(text, encoding="utf-8"))

    def write_json(self, name: str, content: dict[str, Any]) -> Path:
        """A JSON file of the run."""
        return self.write_text(name, json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n")

    def read_json(self, name: str) -> dict[str, Any]:
        """A JSON file of the run."""
        try:
            return dict(json.loads((self.path / name).read_text(encoding="utf-8")))
        except (OSError, ValueError, TypeError) as error:
            raise InvalidParameter(f"`folder` must hold a readable {name}, got {self.path}: {error}.") from None

    # Rounds -----------------------------------------------------------------------------------------------------

    def add_part(self, part: Transcript) -> None:
        """Keep some more rounds."""
        self.write(f"parts/{part.first:09}.npz", part.save)

    def parts(self, hypotheses: Any) -> list[Transcript]:
        """The rounds kept so far, in order."""
        return [Transcript.load(path, hypotheses=hypotheses) for path in self._part_files()]

    def last_part(self, hypotheses: Any) -> Transcript | None:
        """Where the play stopped."""
        files = self._part_files()
        return Transcript.load(files[-1], hypotheses=hypotheses) if files else None

    def rounds_kept(self) -> int:
        """How many rounds a stop, however sudden, leaves untouched."""
        settings, files = self.read_json("settings.json")["settings"], self._part_files()
        if self.transcript_file.exists():
            return int(settings["T"])
        in_parts = min(settings["T"], int(files[-1].stem) - 1 + settings["part"]) if files else 0
        return max(in_parts, *self.answers(), 0)

    def _part_files(self) -> list[Path]:
        return sorted((self.path / "parts").glob("[0-9]*.npz"))

    def keep_whole(self, transcript: Transcript) -> None:
        """The whole transcript, in place of its parts."""
        self.write("transcript.npz", transcript.save)
        shutil.rmtree(self.path / "parts", ignore_errors=True)

    # Answers of a person ----------------------------------------------------------------------------------------

    @property
    def answers_file(self) -> Path:
        """A person's answers, in the order in which they were given."""
        return self.path / "answers.jsonl"

    def add_answer(self, t: int, answer: Answer) -> None:
        """Keep one answer, on the disk before anything follows from it."""
        pairs = [[report.favoured, report.disfavoured] for report in reports_of(answer)]
        stored: Any = "skipped" if answer is SKIPPED else pairs[0] if len(pairs) == 1 else pairs or None
        append_lines(self.answers_file, [json.dumps({"round": t, "answer": stored})])

    def answers(self) -> dict[int, Answer]:
        """All answers so far, by round. A last line that a crash cut off is not an answer."""
        lines = [line for _, line in json_lines(self.answers_file) if line is not None]
        return {line["round"]: _answer(line["answer"]) for line in lines}

    def mend(self) -> None:
        """Remove what a crash left unfinished: drafts of files."""
        for draft in self.path.rglob(f"{DRAFT}*"):
            draft.unlink(missing_ok=True)


def _answer(stored: Any) -> Answer:
    if stored == "skipped":
        return SKIPPED
    if stored is None:
        return None
    return tuple(Report(*pair) for pair in stored) if isinstance(stored[0], list) else Report(*stored)
