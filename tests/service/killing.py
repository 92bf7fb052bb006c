"""A service's whole life, killed at any point at which something becomes durable, and lived on by the next process.

    python killing.py FOLDER TRIALS SEED [DATABASE OTHER]      prints what failed, then a summary, as JSON lines

A life is a list of steps: decisions, labels, verdicts, a stop, an erasure, retention, archives, a change of the key, a
backup and a restore. Whatever is acknowledged is written to a journal, which stands for the clients. A trial forks a
process that kills itself (SIGKILL) before or after its n-th commit, fsync, link or rename; the next process does every
step again that nobody had acknowledged, with the same idempotency keys; then everything is checked. If there are as
many trials as points, every point is taken once and the others are random; otherwise all are. The databases are SQLite
files unless two others are named.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import sys
import time
import traceback
from collections import Counter
from contextlib import suppress
from pathlib import Path

from loans import loans, people
from numpy.random import default_rng
from sqlalchemy import create_engine, text
from sqlalchemy.engine.default import DefaultDialect

from likewise.service.configuration import Configuration
from likewise.service.engine import Engine
from likewise.service.log import Idempotency, Store
from likewise.service.log.checkpoints import CheckpointFile
from likewise.service.log.connections import address
from likewise.service.log.erasure import ErasureFile
from likewise.service.log.keys import signer_at
from likewise.service.proof.replay import verify
from likewise.service.refusals import Conflict, Unknown
from likewise.service.run.archive import archive
from likewise.service.run.backup import backup, restore
from likewise.service.run.rotation import rotate
from likewise.service.stream.settings import Waits

DAY = 86_400.0
NOW = time.time() - 60 * DAY
X = default_rng(4).random((40, 2))


class Points:
    """Counts what becomes durable, and kills this process at one of them."""

    def __init__(self, kill_at=None):
        self.count, self.kill_at, self.names = 0, kill_at, []
        self._wrap(DefaultDialect, "do_commit")
        for name in ("fsync", "link", "replace"):
            self._wrap(os, name)

    def _wrap(self, owner, name):
        plain = getattr(owner, name)

        def wrapped(*given, **named):
            self._point(f"before {name}")
            result = plain(*given, **named)
            self._point(f"after {name}")
            return result

        setattr(owner, name, wrapped)

    def _point(self, name):
        self.count += 1
        self.names.append(name)
        if self.count == self.kill_at:
            os.kill(os.getpid(), signal.SIGKILL)


class Life:
    """The steps of a service in a folder, from where its journal ends."""

    def __init__(self, folder, databases):
        self.folder, self.journal = folder, folder / "journal"
        self.here, self.there = (
            Configuration(
                database=database,
                key=folder / f"{name}.key",
                checkpoints=folder / f"{name}.points",
                erasures=folder / "erasures",
            )
            for name, database in zip(("here", "there"), databases, strict=True)
        )
        self.now = NOW

    def steps(self):
        yield "create", lambda engine, key: engine.create(loans(k=2, waits=Waits(grace=0, keep=10)), "root", key)
        for i in range(3):
            yield from self.round(i)
        yield "stop", lambda engine, key: engine.stop("loans", "Zebulon was rude", "root", key)
        yield "resume", lambda engine, key: engine.resume("loans", "root", key)
        yield "erase", lambda engine, key: engine.erase("loans", "1.0", "root", key)
        yield "reasons", lambda engine, key: engine.erase_reasons("loans", "root", key)
        yield "archive 1", lambda: archive(self.here, "loans", self.folder / "1.archive")
        yield from self.round(3)
        yield "retain", self.retain
        yield "rotate", lambda: rotate(self.here)
        yield from self.round(4)
        yield (
            "archive 2",
            lambda: archive(self.here, "loans", self.folder / "2.archive", self.folder / "1.archive", people=True),
        )
        yield "backup", lambda: backup(self.here, self.folder / "backup")
        yield "erase again", lambda engine, key: engine.erase("loans", "4.0", "root", key)
        yield "restore", lambda: restore(self.there, self.folder / "backup")

    def round(self, i):
        asked = people(X[2 * i : 2 * i + 2], prefix=f"{i}.")
        yield f"decide {i}", lambda engine, key: engine.decide("loans", asked, "decider", key)
        yield f"label {i}", lambda engine, key: engine.label("loans", i + 1, {f"{i}.0": 1, f"{i}.1": 0}, "decider", key)
        yield f"audit {i}", lambda engine, key: engine.audit("loans", i + 1, "none", "ann", note="fine", key=key)

    def retain(self, engine, key):
        engine.sign_heads(always=True)
        self.now = NOW + 30 * DAY  # the first four rounds were kept for ten days by then
        engine.retain()
        return {"receipt": None}

    def live(self):
        """Do what nobody has acknowledged, step by step."""
        done = [json.loads(line)["step"] for line in self.journal.open()] if self.journal.exists() else []
        engine = None
        for i, (name, step) in enumerate(self.steps()):
            if name in done:
                continue
            self.now = NOW + i * 3600.0
            offline = step.__code__.co_argcount == 0
            if offline and engine is not None:
                engine = engine.close()
            if offline:
                answer = self.offline(name, step)
            else:
                engine = engine or self.started(self.here)
                answer = self.asked(engine, name, step)
                engine.tick()
            with self.journal.open("a") as file:
                file.write(json.dumps({"step": name, "receipt": (answer or {}).get("receipt")}) + "\n")
        if engine is not None:
            engine.close()

    def asked(self, engine, name, step):
        try:
            return step(engine, Idempotency("test", name, name))
        except (Unknown, Conflict):
            if not name.startswith(("erase", "reasons")):  # what was answered goes with what was erased
                raise
            return None

    def offline(self, name, step):
        for path in {"archive 1": "1.archive", "archive 2": "2.archive", "backup": "backup"}.items():
            if name == path[0] and (self.folder / path[1]).exists():
                return  # it was done, and nobody had heard of it
        if name == "restore" and self.restored():
            return
        step()
        return

    def restored(self):
        with suppress(Exception), Store(self.there.database) as store:
            store.migrate()
            return store.streams() == ["loans"]
        return False

    def started(self, configuration):
        if (self.folder / f"{configuration.key_file.name}.next").exists():
            rotate(configuration)
        points = CheckpointFile(configuration.checkpoint_file)
        signer = signer_at(configuration.key_file, points, **configuration.key_source)
        store = Store(configuration.database)
        store.migrate()
        erasures = ErasureFile(configuration.erasure_file)
        engine = Engine(store, signer, points, lambda: self.now, erasures)
        engine.start()
        return engine

    def check(self):
        """Nothing that was acknowledged is lost, nothing is doubled, nobody is back, and all files verify."""
        facts = [json.loads(line) for line in self.journal.open()]
        assert [fact["step"] for fact in facts] == [name for name, _ in self.steps()]
        key = None
        for configuration in (self.here, self.there):
            engine = self.started(configuration)
            lines = {line["seq"]: line for line in engine.events("loans", 0, 10_000)}
            if configuration is self.here:
                receipts = [fact["receipt"] for fact in facts if fact["receipt"] is not None]
                key = receipts[0]["key"]
                assert all(lines[receipt["seq"]]["hash"] == receipt["hash"] for receipt in receipts)
            kinds = Counter(line["kind"] for line in lines.values())
            assert (kinds["round_opened"], kinds["audited"], kinds["labels_received"]) == (5, 5, 5), kinds
            assert (kinds["stopped"], kinds["learned"]) == (1, 5), kinds
            assert kinds["key_rotated"] == 1, kinds
            left = Counter(aside.person for t in range(6) for aside in engine.store.asides("loans", round=t))
            assert left == {"4.1": 1}, left
            export = self.folder / "export.jsonl"
            export.write_text("".join(engine.export_text("loans")))
            found = verify(export, key=key, checkpoints=configuration.checkpoint_file)
            assert found.first is None, found.first
            engine.close()
        parts = [self.folder / "1.archive", self.folder / "2.archive"]
        for some in (parts[:1], parts[1:]):
            assert verify(*some, key=key).first is None
        while list(self.folder.glob(".likewise-*")):  # a process of its own removes them
            time.sleep(0.01)


def forked(work):
    """Run something in a process of its own; its exit code, or minus the signal that ended it."""
    pid = os.fork()
    if pid == 0:
        try:
            work()
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def emptied(databases):
    """Databases without anything in them."""
    for database in databases:
        if not database.startswith("postgresql"):
            continue
        engine = create_engine(address(database), isolation_level="AUTOCOMMIT")
        with engine.connect() as connection:
            schema = connection.scalar(text("SHOW search_path"))
            connection.execute(text(f"DROP SCHEMA IF EXISTS {schema} CASCADE"))
            connection.execute(text(f"CREATE SCHEMA {schema}"))
        engine.dispose()


def trial(folder, databases, kill_at):
    """A life that is killed at a point, and the life after it; whether it was killed, and all was well."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    emptied(databases)
    os.environ["TMPDIR"] = str(folder)

    def killed():
        Points(kill_at)
        Life(folder, databases).live()

    def lives_on():
        Life(folder, databases).live()
        Life(folder, databases).check()

    ended = forked(killed)
    return ended == -signal.SIGKILL, forked(lives_on) == 0


def whole(folder, databases):
    """How many points a life has."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    emptied(databases)

    def count():
        points = Points()
        Life(folder, databases).live()
        (folder / "points").write_text(str(points.count))

    assert forked(count) == 0
    return int((folder / "points").read_text())


def main(folder, trials, seed, *databases):
    folder, trials, rng = Path(folder), int(trials), random.Random(int(seed))
    databases = databases or [str(folder / "life" / f"{name}.db") for name in ("here", "there")]
    points = whole(folder / "life", databases)
    every = list(range(1, points + 1)) if trials >= points else []
    chosen = every + rng.choices(range(1, points + 1), k=trials - len(every))
    kills = failed = 0
    for kill_at in chosen:
        killed, well = trial(folder / "life", databases, kill_at)
        kills += killed
        if not well:
            failed += 1
            sys.stdout.write(json.dumps({"kill_at": kill_at, "killed": killed, "well": well}) + "\n")
    told = {"points": points, "trials": len(chosen), "kills": kills, "failed": failed, "seed": int(seed)}
    sys.stdout.write(json.dumps(told) + "\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
