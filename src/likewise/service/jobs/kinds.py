"""The kinds of jobs: compute the certificate, verify the log, and fill in what happened before the service looked."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from likewise.service.engine import Engine
from likewise.service.jobs.process import OnProgress, Subprocesses, Work
from likewise.service.jobs.runner import Job, Jobs
from likewise.service.projections import history
from likewise.service.proof.replay import sentences, verify


def begin(jobs: Jobs, kind: str, subprocesses: Subprocesses, stream: str) -> Job:
    """Begin a job of a kind about a stream; a short one is done when this returns, as a rule."""
    wait = 0.0 if subprocesses.is_long(stream) else None
    head = subprocesses.head(stream)
    return jobs.begin(stream, kind, head, lambda progress: subprocesses.run(KINDS[kind], stream, progress), wait)


def letter(engine: Engine, stream: str, progress: OnProgress) -> str:
    """The letter of a stream's certificate."""
    return str(engine.certificate(stream, progress=progress)["letter"])


def check(engine: Engine, stream: str, progress: OnProgress) -> dict[str, Any]:
    """Export the log, follow its chain, and run the learner again, as an outsider would."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "log.jsonl"
        with path.open("w", encoding="utf-8") as file:
            for number, line in enumerate(engine.export_text(stream)):
                if number % 500 == 0:
                    progress(0.0)  # writing it is the small part
                file.write(line)
        verification = verify(path, key=engine.signer.public_key, progress=progress)
    return {"said": sentences(verification), "wrong": verification.first is not None}


def fill_history(engine: Engine, stream: str, progress: OnProgress) -> int:
    """Run the learner again over what happened before the service first looked."""
    return history.fill_in(engine, stream, progress)


KINDS: dict[str, Work] = {"certificate": letter, "verify": check, "history": fill_history}
