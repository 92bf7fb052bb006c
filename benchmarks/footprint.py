"""What rounds cost on disk and in memory: ``python benchmarks/footprint.py 2000`` prints it for a SQLite database."""

from __future__ import annotations

import resource
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from likewise.service.configuration import Configuration
from likewise.service.engine import Engine
from likewise.service.log import Store
from likewise.service.log.checkpoints import CheckpointFile
from likewise.service.log.signing import Signer
from likewise.service.run.backup import backup, restore
from likewise.service.stream.settings import Settings
from service import STREAM, K


def main(rounds: int) -> None:
    """Open, label and learn so many rounds; then measure the files, a backup, a restore and a start."""
    with tempfile.TemporaryDirectory(prefix="lw") as folder:
        configuration = Configuration(database=f"{folder}/log.db")
        _filled(configuration, rounds)
        size = sum(path.stat().st_size for path in Path(folder).glob("log.db*"))
        print(f"{rounds} rounds of {K} people: {size / rounds:,.0f} bytes a round in the database")  # noqa: T201
        began = time.process_time()
        backup(configuration, f"{folder}/backup")
        taken = time.process_time() - began
        print(f"a backup of them: {Path(folder, 'backup').stat().st_size / size:.2f} of that size, "  # noqa: T201
              f"{taken / rounds * 1e6:,.0f} µs of processor a round")  # fmt: skip
        (Path(folder) / "new").mkdir()
        began = time.process_time()
        restore(Configuration(database=f"{folder}/new/log.db"), f"{folder}/backup")
        print(f"a restore: {(time.process_time() - began) / rounds * 1e6:,.0f} µs of processor a round")  # noqa: T201
        began = time.process_time()
        _engine(Configuration(database=f"{folder}/new/log.db")).close()
        print(f"a start after it: {time.process_time() - began:.2f} s of processor")  # noqa: T201
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(f"memory of this process, at most: {peak:,.0f} MiB")  # noqa: T201


def _engine(configuration: Configuration) -> Engine:
    store = Store(configuration.database)
    store.migrate()
    files = Signer.at(configuration.key_file), CheckpointFile(configuration.checkpoint_file)
    engine = Engine(store, *files)
    engine.start()
    return engine


def _filled(configuration: Configuration, rounds: int) -> None:
    engine, rng = _engine(configuration), np.random.default_rng(0)
    engine.create(Settings(**STREAM, waits={"grace": 0}), "root")  # type: ignore[arg-type]  # pydantic reads them
    for t in range(1, rounds + 1):
        people: list[dict[str, Any]] = [
            {"id": f"{t}-{i}", "features": dict(zip(("score", "age"), rng.random(2).tolist(), strict=True))}
            for i in range(K)
        ]
        opened = engine.decide("loans", people, "bank")
        if t in engine.streams.get("loans").current().rounds and engine.claim("loans", "ann") is not None:
            engine.audit("loans", t, "none", "ann")
        engine.label("loans", opened["t"], {person["id"]: int(rng.random() < 0.5) for person in people}, "bank")
        engine.tick()
    engine.close()


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 2000)
