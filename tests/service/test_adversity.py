"""What goes wrong around a service: restarts between two tries, backups in the middle, and two servers on one log."""

from __future__ import annotations

import itertools
import sqlite3
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import httpx
from serving import STREAM, Process, people, running, until

from likewise.client import Client
from likewise.service.configuration import Configuration
from likewise.service.log.checkpoints import CheckpointFile
from likewise.service.proof.replay import verify
from likewise.service.run.backup import backup, restore

ROUNDS = "/v1/streams/loans/rounds"


def send(server, token, key, t, path=ROUNDS):
    """Ask for decisions under a key."""
    headers = {"Authorization": f"Bearer {token}", "Idempotency-Key": key}
    return httpx.post(server.url + path, json={"people": people(t)}, headers=headers, timeout=300)


def test_a_key_is_remembered_over_a_restart_however_the_service_was_ended(tmp_path):
    """It ends by itself, then its process is killed; each time another one takes over."""
    with running(database=str(tmp_path / "log.db")) as service:
        token = service.tokens["admin"]
        service.admin.post("/v1/streams", json=STREAM)
        sent = {("ended", 1): send(service, token, "ended", 1)}
    server = Process(tmp_path / "log.db")
    try:
        server.wait()
        remembers(server, token, sent)
        sent["killed", 2] = send(server, token, "killed", 2)
    finally:
        server.end("kill")
    with running(database=str(tmp_path / "log.db")) as service:
        remembers(service, token, sent)


def remembers(server, token, sent):
    """The same key gets the same answer, for the same request only, and nobody is decided about twice."""
    for (key, t), first in sent.items():
        again = send(server, token, key, t)
        assert first.status_code == again.status_code == 201
        assert again.json() == first.json()
        other = send(server, token, key, 9)
        assert other.status_code == 422
        assert "different request" in other.json()["detail"]
        elsewhere = send(server, token, key, t, path="/v1/streams/none/rounds")
        assert elsewhere.status_code in (404, 422), "the same body for another stream is another request"
    with Client(server.url, token) as client:
        assert client.stream("loans")["rounds"] == len(sent)


class Writers:
    """Eight threads that decide and label without pause."""

    def __init__(self, service):
        self.service, self.receipts, self.failures = service, [], []
        self.stopping = threading.Event()
        self.threads = [threading.Thread(target=self.run, args=(i,)) for i in range(8)]

    def run(self, i):
        try:
            with Client(self.service.url, self.service.tokens["decider"]) as client:
                for t in itertools.count():
                    if self.stopping.is_set():
                        return
                    batch = [one | {"id": f"{i}.{t}.{j}"} for j, one in enumerate(people(t))]
                    opened = client.decide("loans", batch)
                    labelled = client.label("loans", opened["t"], {batch[0]["id"]: t % 2})
                    self.receipts += [opened["receipt"], labelled["receipt"]]
        except Exception as error:
            self.failures.append(error)

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.stopping.set()
        for thread in self.threads:
            thread.join()

    def written(self, more):
        """Wait until so many more writes were acknowledged; all so far."""
        enough = len(self.receipts) + more
        while len(self.receipts) < enough:
            assert not self.failures, self.failures
            self.stopping.wait(0.01)
        return list(self.receipts)


def test_a_backup_in_the_middle_of_eight_writers_is_whole_and_can_be_written_to_again(serve, database, tmp_path):
    service = serve(database)
    service.admin.post("/v1/streams", json=STREAM)
    with Writers(service) as writers:
        before = writers.written(40)
        backup(service.service.configuration, tmp_path / "backup")
        writers.written(20)
    assert writers.failures == []
    files = {"key": tmp_path / "there.key", "checkpoints": tmp_path / "there.points"}
    there = Configuration(database=str(tmp_path / "there.db"), **files)
    restore(there, tmp_path / "backup")
    other = serve(there.database, **files)
    key = other.engine.signer.public_key

    def verified():
        other.engine.sign_heads()
        (tmp_path / "export.jsonl").write_bytes(other.admin.get("/v1/streams/loans/export").content)
        return verify(tmp_path / "export.jsonl", key=key, checkpoints=there.checkpoint_file).first

    assert verified() is None
    kept = {one["seq"]: one["hash"] for one in other.engine.events("loans", limit=10**6)}
    assert all(kept[one["seq"]] == one["hash"] for one in before), "whatever was acknowledged before is in it"
    with Writers(other) as writers:
        writers.written(40)
    assert writers.failures == []
    assert verified() is None


def test_two_servers_on_one_log_answer_a_key_once(new_database, tmp_path):
    """Every request reaches both of them at the same time."""
    database = new_database("postgresql")
    beside = {"key": tmp_path / "k", "checkpoints": tmp_path / "c", "erasures": tmp_path / "e", "max_rate": 1e9}
    servers = [Process(database, **beside), Process(database, **beside)]
    try:
        token = servers[0].token
        for server in servers:
            server.wait()
        with Client(servers[0].url, token) as client:
            client.create_stream(**STREAM)
        asked = [(server, key) for key in range(12) for server in servers]
        with ThreadPoolExecutor(8) as pool:
            answers = list(pool.map(lambda one: send(one[0], token, f"key-{one[1]}", one[1]), asked))
        assert {one.status_code for one in answers} == {201}, [one.text for one in answers if one.is_error][:1]
        pairs = list(zip(answers[::2], answers[1::2], strict=True))
        assert all(one.json() == other.json() for one, other in pairs)
        assert sorted(one.json()["t"] for one, _ in pairs) == list(range(1, 13))
        with Client(servers[1].url, token) as client:
            assert client.stream("loans")["rounds"] == 12
            client.export("loans", tmp_path / "export.jsonl")
        until(lambda: list(CheckpointFile(tmp_path / "c").read("loans")))
        assert verify(tmp_path / "export.jsonl", checkpoints=tmp_path / "c").first is None
    finally:
        for server in servers:
            server.end()


def test_a_log_that_was_cut_behind_the_service_s_back_is_neither_added_to_nor_signed(tmp_path):
    beside = {"database": str(tmp_path / "log.db"), "key": tmp_path / "key", "checkpoints": tmp_path / "checkpoints"}
    with running(**beside) as service:
        service.admin.post("/v1/streams", json=STREAM)
        for t in range(3):
            service.admin.post("/v1/streams/loans/rounds", json={"people": people(t)})
    signed = beside["checkpoints"].read_bytes()
    with closing(sqlite3.connect(beside["database"])) as database, database:
        for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            database.execute(f"DROP TRIGGER {name}")
        database.execute("DELETE FROM snapshots")
        database.execute("DELETE FROM events WHERE seq = 4")
    with running(**beside) as service:
        answer = service.admin.post("/v1/streams/loans/rounds", json={"people": people(9)})
        assert answer.status_code == 500
        assert service.anybody.get("/readyz").status_code == 503
    assert beside["checkpoints"].read_bytes() == signed
