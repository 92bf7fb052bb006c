"""Long work in a process of its own, so that no decision and no page has to wait for it.

    python -m likewise.service.jobs.process likewise.service.engine:Engine.certificate loans '{"delta": 0.05}'

The child finds the service's configuration in its environment, and writes a JSON object per line: the share that is
done, and at last the result or the reason why there is none. A short log is not worth a process.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pkgutil import resolve_name
from typing import Any

from likewise.errors import LikewiseError
from likewise.kernels import lean
from likewise.service.configuration import Configuration
from likewise.service.engine import Engine
from likewise.service.log import Store
from likewise.service.log.checkpoints import CheckpointFile
from likewise.service.log.keys import signer_at
from likewise.service.refusals import Unavailable
from likewise.service.stream.settings import Feature

SHORT = 5000
"""The most events of a log that is worked on in this process."""
FITTING = "likewise.service.jobs.fitting"
"""The module of the child that fits scores to a sample."""
OnProgress = Callable[[float], None]
"""Is called with the share of the work that is done, from 0 to 1."""
Work = Callable[..., Any]
"""From an engine, a stream, ``progress`` and other named JSON values to a JSON value; a child finds it by its name."""


class Subprocesses:
    """Runs work on whole logs, in another process where they are long.

    Parameters
    ----------
    engine
        Its streams are worked on.
    configuration
        For a child that makes an engine of its own.
    """

    def __init__(self, engine: Engine, configuration: Configuration) -> None:
        self._engine, self._configuration = engine, configuration
        self._children: set[subprocess.Popen[str]] = set()
        self._lock = threading.Lock()
        self._stopped = False

    def is_long(self, stream: str) -> bool:
        """Whether the log of a stream is worth a process."""
        return self.head(stream) > SHORT

    def head(self, stream: str) -> int:
        """The number of the last event of a stream."""
        return self._engine.store.head(stream)[0]

    def run(
        self,
        work: Work,
        stream: str,
        progress: OnProgress = lambda share: None,
        *,
        apart: bool = False,
        **arguments: Any,
    ) -> Any:
        """The result of ``work``; an error if there is none, or if the service is stopped before.

        A long log is read in another process; ``apart`` asks for one in any case.
        """
        if not apart and not self.is_long(stream):
            return work(self._engine, stream, progress=progress, **arguments)
        return self._answer([sys.executable, "-m", __name__, _named(work), stream, json.dumps(arguments)], progress)

    def fit(self, features: Sequence[Feature], sample: Sequence[Mapping[str, Any]], label: str) -> Any:
        """Scores fitted to a sample (``likewise.service.stream.sample``), in another process: it takes seconds."""
        plain = {"features": [feature.model_dump() for feature in features], "sample": list(sample), "label": label}
        return self._answer([sys.executable, "-m", FITTING], lambda share: None, json.dumps(plain))

    def _answer(self, command: list[str], progress: OnProgress, given: str | None = None) -> Any:
        """What a child says at last; ``given`` is written to it, and nowhere else: it may be about people."""
        with self._child(command) as child:
            try:
                assert child.stdin is not None
                assert child.stdout is not None
                with suppress(BrokenPipeError), child.stdin as pipe:  # it may have been stopped already
                    pipe.write(given or "")
                for line in child.stdout:
                    message = json.loads(line)
                    if "result" in message:
                        return message["result"]
                    if "error" in message:
                        raise resolve_name(message["error"])(message["words"])
                    progress(message["share"])
            finally:
                child.terminate()
                with self._lock:
                    self._children.discard(child)
        what = "service was stopped" if self._stopped else "process that worked on this ended"
        raise Unavailable(f"The {what} before it was done; try again.")

    def _child(self, command: list[str]) -> subprocess.Popen[str]:
        environment = {**os.environ, **self._configuration.environment()}
        with self._lock:
            if self._stopped:
                raise Unavailable("The service is stopping; try again.")
            child = subprocess.Popen(
                command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8"
            )
            self._children.add(child)
        return child

    def stop(self) -> None:
        """End the processes that still run."""
        with self._lock:
            self._stopped = True
            for child in self._children:
                child.terminate()


def main(name: str, stream: str, arguments: str) -> None:
    """What the child does."""
    os.nice(10)
    lean.when_needed()  # somebody waits, and a certificate needs no kernel unless there are rounds after the snapshot
    configuration = Configuration()
    checkpoints = CheckpointFile(configuration.checkpoint_file)
    with Store(configuration.database) as store:
        signer = signer_at(configuration.key_file, checkpoints, **configuration.key_source)
        engine = Engine(store, signer, checkpoints)
        try:
            work: Work = resolve_name(name)
            say(result=work(engine, stream, progress=lambda share: say(share=share), **json.loads(arguments)))
        except LikewiseError as error:
            say_refused(error)


def _named(what: Any) -> str:
    """What another process resolves to the same function or class."""
    return f"{what.__module__}:{what.__qualname__}"


def say_refused(error: LikewiseError) -> None:
    """Why there is no result, for the process that waits for it."""
    say(error=_named(type(error)), words=str(error))


def say(**what: Any) -> None:
    """A line for the process that waits for the result."""
    sys.stdout.write(json.dumps(what, allow_nan=False) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
