"""Witnesses: they cosign what is consistent and nothing else, in the statuses of C2SP's tlog-witness."""

from __future__ import annotations

import hashlib
import json
import threading

import anyio
import httpx
import pytest
from forging import lived, write
from serving import STREAM, people, running, until

from likewise.cli import main as command
from likewise.cli.witness import _log
from likewise.errors import InvalidParameter
from likewise.service.cosigning import Cosigning, witnesses_of
from likewise.service.log.signing import Signer
from likewise.service.proof.replay import verify
from likewise.service.proof.standalone import main
from likewise.service.run.witness import Witness, witness_app
from likewise.service.stream.events import stamp
from likewise.transparency.merkle import Frontier, leaf_hash
from likewise.transparency.notes import Note, checkpoint_of, hashes, read_note, read_signature

LOG, OTHER = Signer.generate("bank.example"), Signer.generate("bank.example")
LEAVES = [leaf_hash(bytes([i])) for i in range(9)]


def tree(size, first=0):
    return Frontier().add_all([leaf_hash(bytes([first, 7])), *LEAVES[1:size]] if first else LEAVES[:size])


def request(old, note, proof=()):
    return f"old {old}\n" + "".join(f"{part}\n" for part in hashes(proof)) + f"\n{note}"


@pytest.fixture
def witness(tmp_path):
    signer = Signer.at(tmp_path / "witness" / "key")
    return Witness(signer, "w.example", {"bank.example/": LOG.public_key}, tmp_path / "witness", lambda: 1700.0)


@pytest.fixture
def client(witness):
    """Asks the witness over HTTP: a method, a path and a body."""
    app = witness_app(witness)

    def ask(method, path, body=""):
        async def asked():
            transport = httpx.ASGITransport(app=app)
            async with httpx.AsyncClient(transport=transport, base_url="http://w.example") as client:
                return await client.request(method, path, content=body.encode())

        return anyio.run(asked)

    return ask


def test_it_cosigns_a_log_as_it_grows_and_shows_what_it_cosigned(witness, client):
    for old, new in ((0, 3), (3, 8), (8, 8)):
        note = LOG.checkpoint("loans", tree(new))
        proof = consistency(old, new)
        answer = client("POST", "/add-checkpoint", request(old, note, proof))
        assert answer.status_code == 200, answer.text
        signed = Note(note.text, (read_signature(answer.text.rstrip("\n")),))
        assert signed.witnessed_by("w.example", bytes.fromhex(witness._signer.public_key)) == 1700
    digest = hashlib.sha256(b"bank.example/loans").hexdigest()
    kept = read_note(client("GET", f"/{digest}/checkpoint").text)
    assert checkpoint_of(kept).size == 8
    assert [name for name, _ in kept.signatures] == ["bank.example/loans", "w.example"]
    assert client("GET", f"/{'0' * 64}/checkpoint").status_code == 404
    assert client("GET", "/key/checkpoint").status_code == 400
    assert client("POST", "/add-checkpoint", "x" * 200_000).status_code == 413


def consistency(old, new):
    from likewise.service.proof.signed_log import Tree

    return Tree(LEAVES[:new]).consistency(old, new)


def test_whatever_is_not_so_is_refused_with_the_status_of_the_protocol(witness, tmp_path):
    assert witness.add(request(0, LOG.checkpoint("loans", tree(3)))).status == 200
    five = LOG.checkpoint("loans", tree(5))
    refused = [
        (request(0, five), 409),
        (request(3, five), 422),
        (request(3, five, consistency(3, 6)), 422),
        (request(3, OTHER.checkpoint("loans", tree(5)), consistency(3, 5)), 403),
        (request(3, Signer.generate("else").checkpoint("loans", tree(5)), consistency(3, 5)), 404),
        (request(6, five), 400),
        (request(3, LOG.checkpoint("loans", tree(3, first=1))), 422),
        ("nothing", 400),
        (request("03", five), 400),
        (request(3, LOG.sign("likewise/x\n", "loans")), 400),
        (request(3, five, [bytes(32)] * 64), 400),
        (request(0, LOG.checkpoint("empty", Frontier(0, (bytes(32),)))), 422),
    ]
    assert [witness.add(body).status for body, _ in refused] == [status for _, status in refused]
    assert witness.add(request(0, five)).text == "3\n"
    (proof,) = (tmp_path / "witness").glob("cheating-*.json")
    assert main(["--cheating", str(proof), "--key", LOG.public_key]) == 1
    assert witness.add(request(3, five, consistency(3, 5))).status == 200


def test_a_service_collects_cosignatures_and_checkers_say_how_far_they_reach(witness, client, tmp_path):
    engine = lived(tmp_path)
    own = Witness(
        Signer.at(tmp_path / "w" / "key"), "own.example", {"likewise/loans": engine.signer.public_key}, tmp_path / "w"
    )
    asked = []

    def post(url, body):
        asked.append(body)
        return own.add(body)[:2] if url == "http://own.example/add-checkpoint" else (503, "")

    setting = f"http://own.example {own.key}, http://away.example/ {witness.key}"
    cosigning = Cosigning(engine, witnesses_of(setting), post)
    live = engine.streams.get("loans")
    for one in witnesses_of(setting):
        cosigning.ask(one, [live])
    first = checkpoint_of(read_note(engine.proofs.checkpoint("loans")["cosigned"])).size
    assert first == live.durable.seq
    engine.resume("loans", "root")
    again = Cosigning(engine, witnesses_of(setting), post)  # as after a restart: it asks how far the witness is
    for one in witnesses_of(setting):
        again.ask(one, [live])
    assert [body.partition("\n")[0] for body in asked] == [
        "old 0", "old 0", "old 0", f"old {first}", "old 0",
    ]  # fmt: skip
    export = write(tmp_path / "export.jsonl", engine.export("loans"))
    found = verify(export, key=engine.signer.public_key, witnesses=[own.key, witness.key], replay=False)
    assert found.first is None
    assert any(f"own.example cosigned the log up to event {first + 1}" in note for note in found.findings.notes)
    assert any("w.example has not cosigned" in note for note in found.findings.notes)
    engine.close()


def test_a_running_service_asks_its_witness_without_being_told(tmp_path):
    files = {"database": str(tmp_path / "log.db"), "key": tmp_path / "key", "checkpoints": tmp_path / "points"}
    own = Witness(Signer.generate(), "own.example", {"bank/": Signer.at(tmp_path / "key").public_key}, tmp_path / "w")
    with running(**files, origin="bank", witnesses=f"http://127.0.0.1:9 {own.key}") as service:
        (cosigning,) = (work for work in service.service.each_tick if isinstance(work, Cosigning))
        cosigning._post = lambda url, body: own.add(body)[:2]
        service.admin.post("/v1/streams", json=STREAM)
        service.admin.post("/v1/streams/loans/rounds", json={"people": people(1)})
        cosigning()
        cosigning.wait(300)
        told = service.admin.get("/v1/streams/loans/checkpoint").json()
        assert read_note(told["cosigned"]).text.startswith("bank/loans\n")


def test_a_witness_that_never_answers_delays_neither_timers_nor_the_other_witness(tmp_path):
    files = {"database": str(tmp_path / "log.db"), "key": tmp_path / "key", "checkpoints": tmp_path / "points"}
    logs = {"bank/": Signer.at(tmp_path / "key").public_key}
    own, mute = (Witness(Signer.generate(), f"{name}.example", logs, tmp_path / name) for name in ("own", "mute"))
    asked, over = threading.Event(), threading.Event()

    def post(url, body):
        if "mute" in url:
            asked.set()
            over.wait(600)
            raise httpx.ReadTimeout("it never answered")
        return own.add(body)[:2]

    both = f"http://mute.example {mute.key}, http://own.example {own.key}"
    with running(**files, origin="bank", witnesses=both, tick=0.05) as service:
        (cosigning,) = (work for work in service.service.each_tick if isinstance(work, Cosigning))
        cosigning._post = post
        service.admin.post("/v1/streams", json=STREAM)
        assert asked.wait(300)
        for name in ("loans", "cars"):
            service.admin.post("/v1/streams", json=STREAM | {"name": name, "waits": {"audit": 0.01, "label": 0.01}})
            service.admin.post(f"/v1/streams/{name}/rounds", json={"people": people(1)})
        until(lambda: service.admin.get("/v1/streams/cars").json()["learned"] == 1)
        cosigned = service.service.engine.proofs.cosigned
        until(lambda: "cars" in cosigned and "own.example" in cosigned["cars"])
        assert service.service._clock.succeeded.age() < 300
        assert not over.is_set(), "the witness was on its way to answer all the while"
        over.set()


def test_what_two_witnesses_signed_of_one_checkpoint_stands_in_one_note_and_outlives_plain_ones(tmp_path):
    engine = lived(tmp_path)
    key = {"likewise/loans": engine.signer.public_key}
    two = [Witness(Signer.generate(), f"{name}.example", key, tmp_path / name) for name in ("a", "b")]
    by_url = {f"http://{one.name}/add-checkpoint": one for one in two}
    setting = ", ".join(f"http://{one.name} {one.key}" for one in two)
    cosigning = Cosigning(engine, witnesses_of(setting), lambda url, body: by_url[url].add(body)[:2])
    cosigning()
    cosigning.wait(300)
    note = read_note(engine.proofs.cosigned["loans"])
    assert note.signatures[0][0] == "likewise/loans"
    assert {name for name, _ in note.signatures} == {"likewise/loans", "a.example", "b.example"}
    plain = str(engine.signer.checkpoint("loans", engine.streams.get("loans").durable.tree))
    file, at = engine.checkpoints, engine.clock()
    file.write({"stream": "loans", "at": stamp(at + i), "key": "k", "note": plain} for i in range(1, 300))
    file._thin(at + 40 * 86_400)
    assert any("b.example" in fact["note"] for fact in file.read("loans"))
    assert len(list(file.read("loans"))) <= 6
    engine.close()


def test_what_is_set_wrong_is_refused_in_a_sentence(tmp_path, capsys):
    with pytest.raises(InvalidParameter, match="`key` must be a verifier key"):
        witnesses_of("http://w.example key")
    with pytest.raises(InvalidParameter, match="`log` must be the name of a log"):
        _log("bank.example")
    assert _log("bank/=" + "ab" * 32) == ("bank/", "ab" * 32)
    with pytest.raises(InvalidParameter, match="`name` must be without spaces"):
        Witness(LOG, "w w", {}, tmp_path)
    with pytest.raises(SystemExit, match="2"):
        command(["witness", "--name", "w", "--log", "bank", "--folder", str(tmp_path / "f")])
    assert "`--log` must be" in capsys.readouterr().err


def test_the_file_of_evidence_is_json(witness, tmp_path):
    witness.add(request(0, LOG.checkpoint("loans", tree(3))))
    witness.add(request(3, LOG.checkpoint("loans", tree(3, first=1))))
    (proof,) = (tmp_path / "witness").glob("cheating-*.json")
    assert json.loads(proof.read_text())["key"] == LOG.public_key
