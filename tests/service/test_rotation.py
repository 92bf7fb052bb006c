"""Another key: the old one signs it in every log, all checkers follow, and a killed change can be finished."""

from __future__ import annotations

import pytest
from forging import write
from serving import STREAM, people, running

import likewise as lw
from likewise.cli import main
from likewise.errors import InvalidParameter
from likewise.service.configuration import Configuration
from likewise.service.cosigning import Cosigning, WitnessAddress
from likewise.service.engine import Engine
from likewise.service.log import Idempotency
from likewise.service.log.keys import next_key
from likewise.service.log.signing import Signer
from likewise.service.proof.replay import verify
from likewise.service.proof.standalone import check, read_lines
from likewise.service.run import rotation
from likewise.service.run.rotation import heard, rotate
from likewise.transparency.kept import LogNotTrusted


@pytest.fixture
def beside(tmp_path):
    files = {"database": str(tmp_path / "log.db"), "key": tmp_path / "key", "checkpoints": tmp_path / "checkpoints"}
    with running(**files) as service:
        for name in ("loans", "other"):
            service.admin.post("/v1/streams", json=STREAM | {"name": name})
        service.admin.post("/v1/streams/loans/rounds", json={"people": people(1)})
    return files


def exported(beside, path, client=None):
    with running(**beside) as service:
        service.admin.post("/v1/streams/loans/rounds", json={"people": people(2)})
        path.write_bytes(service.admin.get("/v1/streams/loans/export").content)
        return service.engine.signer.public_key


def test_checkers_follow_from_any_key_and_old_receipts_still_count(beside, tmp_path):
    with running(**beside) as service:
        answer = service.admin.post("/v1/streams/loans/rounds", json={"people": people(3)}).json()
    kept = write(tmp_path / "kept.jsonl", [answer["receipt"]])
    keys = [answer["receipt"]["key"]]
    for _ in range(2):
        done = rotate(Configuration(**beside))
        heard(Configuration(**beside))
        assert (done.old, done.streams) == (keys[-1], ["loans", "other"])
        keys.append(exported(beside, tmp_path / "export.jsonl"))
        assert keys[-1] == done.new
    for key in (*keys, None):
        assert verify(tmp_path / "export.jsonl", key=key, checkpoints=kept).first is None
        assert check(read_lines(str(tmp_path / "export.jsonl")), read_lines(str(kept)), key).problems == []
    other = verify(tmp_path / "export.jsonl", key=Signer.generate().public_key, replay=False)
    assert "names the public key" in other.first[1]


def test_nobody_changes_a_key_that_is_not_theirs(beside, tmp_path):
    rotate(Configuration(**beside))
    exported(beside, tmp_path / "export.jsonl")
    lines = list(read_lines(str(tmp_path / "export.jsonl")))
    rotated = next(line for line in lines if line.get("kind") == "key_rotated")
    forger, origin = Signer.generate(), lines[0]["origin"]
    note = forger.sign(f"likewise key 1\n{origin}\n{rotated['data']['new']}\n", "loans")
    rotated["data"]["note"] = str(note)
    assert any("the key before it did not sign that" in sentence for _, sentence in check(lines).problems)


def test_a_request_that_is_sent_again_after_a_change_of_the_key_is_not_decided_twice(beside):
    """Whether it is the same request can't be told any more: its hash was keyed with the old key."""
    asked = {"json": {"people": people(4)}, "headers": {"Idempotency-Key": "four"}}
    key = Idempotency("me", "five", "a hash that somebody else made")
    with running(**beside) as service:
        token = service.tokens["decider"]
        assert service.decider.post("/v1/streams/loans/rounds", **asked).status_code == 201
        first = service.engine.decide("loans", people(5), "me", key)
    rotate(Configuration(**beside))
    with running(**beside) as again:
        decided = again.engine.stream("loans")
        refused = again.connect(token).post("/v1/streams/loans/rounds", **asked)
        assert (refused.status_code, refused.json()["title"]) == (422, "Idempotency key reused")
        assert again.engine.decide("loans", people(5), "me", key) == first
        assert again.engine.stream("loans") == decided


def test_a_service_that_runs_meanwhile_signs_nothing_more(beside):
    with running(**beside) as service:
        rotate(Configuration(**beside))
        refused = service.admin.post("/v1/streams/loans/rounds", json={"people": people(4)})
        assert refused.status_code == 503
        assert "start the service again" in refused.json()["detail"]
        for path in ("checkpoint", "events/1/proof", "consistency?old=1", "certificate", "export"):
            assert service.admin.get(f"/v1/streams/loans/{path}").status_code == 503, path
        before = beside["checkpoints"].read_bytes()
        service.engine.tick()
        asked, witness = [], WitnessAddress("http://witness.test", "witness", bytes(32))
        cosigning = Cosigning(service.engine, [witness], lambda url, body: asked.append(url) or (200, ""))
        cosigning()
        cosigning.wait(10)
        assert asked == []
    assert beside["checkpoints"].read_bytes() == before
    with running(**beside) as again:
        assert again.admin.post("/v1/streams/loans/rounds", json={"people": people(4)}).status_code == 201


@pytest.mark.parametrize("killed_at", ["events", "checkpoints", "key"])
def test_a_change_that_was_killed_is_refused_at_start_and_can_be_run_again(beside, tmp_path, monkeypatch, killed_at):
    class Killed(BaseException):
        pass

    def kill(*_, **__):
        raise Killed

    with monkeypatch.context() as patch:
        if killed_at == "events":
            first = Engine.rotate_key

            def one_only(self, stream, new, by):
                first(self, stream, new, by) if stream == "loans" else kill()

            patch.setattr(Engine, "rotate_key", one_only)
        elif killed_at == "checkpoints":
            patch.setattr(rotation.CheckpointFile, "write", kill)
        else:
            patch.setattr(rotation, "write_whole", kill)
        with pytest.raises(Killed):
            rotate(Configuration(**beside))
    with pytest.raises(InvalidParameter, match="run `likewise key rotate` again"), running(**beside):
        pass
    new = Signer.at(next_key(beside["key"])).public_key
    assert rotate(Configuration(**beside)).new == new
    assert next_key(beside["key"]).read_bytes() == beside["key"].read_bytes(), "until somebody has heard of it"
    assert exported(beside, tmp_path / "export.jsonl") == new
    assert verify(tmp_path / "export.jsonl", key=new, checkpoints=beside["checkpoints"]).first is None
    kinds = [line.get("kind") for line in read_lines(str(tmp_path / "export.jsonl"))]
    assert kinds.count("key_rotated") == 1


def test_whoever_was_killed_when_all_was_done_gets_the_same_answer_and_another_key_only_after_that(beside, capsys):
    first = rotate(Configuration(**beside))  # and killed before anybody heard of it
    with running(**beside) as service:
        assert service.admin.post("/v1/streams/loans/rounds", json={"people": people(4)}).status_code == 201
    assert rotate(Configuration(**beside)) == first._replace(before=True)
    arguments = ["--database", beside["database"], "--checkpoints", str(beside["checkpoints"])]
    for known in (True, False):
        with pytest.raises(SystemExit, match="0"):
            main(["key", "rotate", *arguments, "--key", str(beside["key"])])
        assert ("done before" in capsys.readouterr().out) == known
        assert (Signer.at(beside["key"]).public_key == first.new) == known
        assert not next_key(beside["key"]).exists()


def test_a_client_follows_the_key_that_it_knows_to_the_new_one_and_to_no_other(beside, tmp_path):
    kept = tmp_path / "kept.json"
    with running(**beside) as service, lw.Client(service.url, service.tokens["admin"], kept=kept) as client:
        client.decide("loans", people(5))
    rotate(Configuration(**beside))
    with running(**beside) as service:
        with lw.Client(service.url, service.tokens["admin"], kept=kept, check_every=0) as client:
            client.decide("loans", people(6))
            client.check("loans")
        stranger = Signer.generate().public_key
        with (
            lw.Client(service.url, service.tokens["admin"], key=stranger) as client,
            pytest.raises(LogNotTrusted, match="is known by"),
        ):
            client.decide("loans", people(7))


def test_the_command_says_what_it_did_and_a_key_elsewhere_needs_a_place(beside, tmp_path, capsys):
    arguments = ["--database", beside["database"], "--checkpoints", str(beside["checkpoints"])]
    with pytest.raises(SystemExit, match="0"):
        main(["key", "rotate", *arguments, "--key", str(beside["key"])])
    told = capsys.readouterr().out
    assert Signer.at(beside["key"]).public_key in told
    assert "Start the service again." in told
    pem = beside["key"].read_text()
    with pytest.raises(InvalidParameter, match="`to` must be given if, and only if"):
        rotate(Configuration(**beside, key_pem=pem))
    done = rotate(Configuration(**beside, key_pem=pem), tmp_path / "new.pem")
    assert Signer.at(tmp_path / "new.pem").public_key == done.new
    assert beside["key"].read_text() == pem
