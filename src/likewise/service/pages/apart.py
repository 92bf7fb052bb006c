"""Long work in a process of its own, so that nobody who asks for a decision or a page waits for it.

    python -m likewise.service.pages.apart certificate loans

The child finds the service's configuration in its environment, and writes a JSON object per line: the share that is
done, and at last the result or the reason why there is none. A short log is not worth a process.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from likewise.errors import LikewiseError
from likewise.service.configuration import Configuration
from likewise.service.engine import Engine
from likewise.service.events import dumps
from likewise.service.pages import history
from likewise.service.pages.jobs import Job, Jobs, Progress
from likewise.service.problems import Unavailable
from likewise.service.verify import sentences, verify

if TYPE_CHECKING:
    from likewise.service.http.service import Service

SHORT = 5000
"""Events of a log that is worked on here and now."""
Told = Callable[[float], None]


def begin(jobs: Jobs, kind: str, service: Service, stream: str) -> Job:
    """Begin a job of a kind about a stream, here or in another process, by the length of its log."""
    engine, configuration = service.engine, service.configuration
    head, _ = engine.store.head(stream)

    def work(progress: Progress) -> Any:
        if head <= SHORT:
            return KINDS[kind](engine, stream, progress)
        return _elsewhere(kind, stream, configuration, progress)

    return jobs.begin(stream, kind, head, work, None if head <= SHORT else 0.0)


def certificate(engine: Engine, stream: str, told: Told) -> str:
    """The letter of a stream's certificate."""
    return str(engine.certificate(stream, progress=told)["letter"])


def check(engine: Engine, stream: str, told: Told) -> dict[str, Any]:
    """Export the log, follow its chain, and run the learner again, as an outsider would."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "log.jsonl"
        with path.open("w", encoding="utf-8") as file:
            for number, line in enumerate(engine.export(stream)):
                if number % 500 == 0:
                    told(0.0)  # writing it is the small part
                file.write(dumps(line) + "\n")
        found = verify(path, key=engine.signer.public_key, progress=told)
    return {"said": sentences(found), "wrong": found.first is not None}


def past(engine: Engine, stream: str, told: Told) -> int:
    """Run the learner again over what happened before the service first looked."""
    return history.tell(engine.store, stream, told)


KINDS: dict[str, Callable[[Engine, str, Told], Any]] = {"certificate": certificate, "verify": check, "history": past}


def _elsewhere(kind: str, stream: str, configuration: Configuration, progress: Progress) -> Any:
    """Run the work in a child, and pass on what it says."""
    command = [sys.executable, "-m", __name__, kind, stream]
    environment = {**os.environ, **configuration.environment()}
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as child:
        progress.at_stop(child.terminate)
        assert child.stdout is not None
        try:
            for line in child.stdout:
                said = json.loads(line)
                if "result" in said:
                    return said["result"]
                if "failed" in said:
                    raise LikewiseError(said["failed"])
                progress(said["share"])
        finally:
            child.terminate()
    progress(0.0)  # raises if it was ended because the service is stopped
    raise Unavailable("The process that worked on this ended before it was done; ask again.")


def main(kind: str, stream: str) -> None:
    """What the child does."""
    from likewise.service.chain import CheckpointFile, Signer
    from likewise.service.store import Store

    os.nice(10)
    configuration = Configuration()
    with Store(configuration.database) as store:
        signer, checkpoints = Signer.at(configuration.key_file), CheckpointFile(configuration.checkpoint_file)
        try:
            found = KINDS[kind](Engine(store, signer, checkpoints), stream, lambda share: _say(share=share))
            _say(result=found)
        except LikewiseError as error:
            _say(failed=str(error))


def _say(**what: Any) -> None:
    sys.stdout.write(dumps(what) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
