"""Timestamps by an authority outside: kept beside the checkpoint, and checked against certificates that are trusted."""

from __future__ import annotations

import base64
import json
import sys
from datetime import UTC, datetime, timedelta

import httpx
import pytest
from authority import Authority
from forging import FORGER, SIGNER, lived, write
from serving import STREAM, running, until
from typer.testing import CliRunner

from likewise.cli import app
from likewise.errors import InvalidParameter, NotSupported
from likewise.service import timestamping
from likewise.service.log.checkpoints import CheckpointFile, point
from likewise.service.proof.stamps import stamps
from likewise.service.timestamping import Timestamping
from likewise.transparency.timestamps import Question, stamped_at


@pytest.fixture(scope="module")
def past(tmp_path_factory):
    """An engine whose log was stamped, its folder, the authority, and the line with the stamp."""
    folder = tmp_path_factory.mktemp("stamps")
    engine = lived(folder)
    at = datetime.fromtimestamp(engine.clock(), UTC) + timedelta(seconds=5)
    authority = Authority(lambda: at)
    authority.pem(folder / "roots.pem")
    stamping = Timestamping(engine, "http://authority.example", authority.answer)
    stamping.ask(engine.streams.loaded())
    write(folder / "export.jsonl", engine.export("loans"))
    (line,) = [line for line in engine.checkpoints.read() if "timestamp" in line]
    yield engine, folder, authority, line
    engine.store.close()


def verified(folder, *more):
    words = ["verify", folder / "export.jsonl", "--no-replay", "--checkpoints", folder / "checkpoints.jsonl", *more]
    return CliRunner().invoke(app, [str(word) for word in words])


def test_whoever_trusts_the_authority_learns_by_when_the_log_was_there(past):
    engine, folder, authority, _ = past
    done = verified(folder, "--authority", folder / "roots.pem")
    assert done.exit_code == 0, done.output
    size, at = engine.streams.get("loans").durable.seq, authority.clock()
    assert (
        f"1 checkpoint stamped by the authority: the log had {size} events by {at:%Y-%m-%d %H:%M:%S} UTC."
        in done.output
    )
    told = json.loads(verified(folder, "--authority", folder / "roots.pem", "--json").output)
    assert told["stamped"] == [{"events": size, "at": at.replace(microsecond=0).isoformat()}]
    assert "stamped" not in verified(folder).output


@pytest.mark.parametrize("what", ["another root", "another checkpoint", "another time", "no stamp", "a refusal"])
def test_a_stamp_that_does_not_hold_is_found(past, what, tmp_path):
    engine, folder, _, line = past
    roots, answer = folder / "roots.pem", base64.b64decode(line["timestamp"])
    if what == "another root":
        roots = Authority().pem(tmp_path / "roots.pem")
    elif what == "another checkpoint":
        line = line | {"note": str(SIGNER.checkpoint("loans", engine.streams.get("loans").tree.frontier(7)))}
    elif what == "another time":
        at = answer.index(b"Z\x02") - 1
        answer = answer[:at] + bytes([answer[at] ^ 1]) + answer[at + 1 :]
    elif what == "no stamp":
        answer = b"nothing"
    else:
        answer = bytes.fromhex("30053003020102")
    CheckpointFile(tmp_path / "points").write([line | {"timestamp": base64.b64encode(answer).decode()}])
    found = stamps([folder / "export.jsonl"], tmp_path / "points", roots)
    assert found.at == []
    assert len(found.wrong) == 1, found


def test_an_event_that_says_it_happened_after_it_was_stamped_is_found(past, tmp_path):
    engine, folder, _, line = past
    early = Authority(lambda: datetime.fromtimestamp(engine.clock(), UTC) - timedelta(hours=2))
    note = SIGNER.checkpoint("loans", engine.streams.get("loans").durable.tree)
    question = Question(note.text)
    answer = base64.b64encode(early.answer("", question.to_bytes())).decode()
    fact = point("loans", line["at"], SIGNER.public_key, note) | {"timestamp": answer}
    CheckpointFile(tmp_path / "points").write([fact])
    found = stamps([folder / "export.jsonl"], tmp_path / "points", early.pem(tmp_path / "roots.pem"))
    assert len(found.at) == 1
    (wrong,) = found.wrong
    assert "but it was stamped before" in wrong
    words = ["verify", folder / "export.jsonl", "--no-replay", "--checkpoints", tmp_path / "points"]
    done = CliRunner().invoke(app, [*map(str, words), "--authority", str(tmp_path / "roots.pem")])
    assert done.exit_code == 1


def test_only_what_was_asked_is_kept_and_an_authority_that_is_away_stops_nothing(past, tmp_path):
    engine, _, authority, _ = past
    before = engine.checkpoints.path.read_bytes()
    old = authority.answer("", Question("another text").to_bytes())

    def away(url, question):
        raise httpx.ConnectError("away")

    for post in (lambda url, question: old, lambda url, question: b"nothing", away):
        Timestamping(engine, "http://authority.example", post).ask(engine.streams.loaded())
    assert engine.checkpoints.path.read_bytes() == before
    question = Question("a text")
    question.require_answered(authority.answer("", question.to_bytes()))
    with pytest.raises(InvalidParameter, match="stamped something else"):
        Question("a text").require_answered(authority.answer("", question.to_bytes()))


def test_a_running_service_asks_by_itself_and_again_only_once_an_hour(tmp_path, monkeypatch):
    authority = Authority()
    monkeypatch.setattr(timestamping, "_post", authority.answer)
    with running(database=str(tmp_path / "log.db"), timestamps="http://authority.example") as service:
        service.admin.post("/v1/streams", json=STREAM)
        points = service.engine.checkpoints
        until(lambda: any("timestamp" in line for line in points.read("loans")))
        (line,) = [line for line in points.read("loans") if "timestamp" in line]
        service.admin.post("/v1/streams/loans/stop", json={"reason": "lunch"})
        seen = service.engine.streams.get("loans")
        until(lambda: any(f"\n{seen.durable.seq}\n" in line["note"] for line in points.read("loans")))
    note = line["note"].partition("\n\n")[0] + "\n"
    assert stamped_at(note, base64.b64decode(line["timestamp"]), [authority.root]) <= datetime.now(UTC)
    assert authority.asked == 1


def test_a_stamped_checkpoint_is_not_thinned_away_for_one_without(tmp_path, past):
    engine, _, _, line = past
    file = CheckpointFile(tmp_path / "points")
    tree = engine.streams.get("loans").durable.tree
    many = [point("loans", line["at"], SIGNER.public_key, SIGNER.checkpoint("loans", tree)) for _ in range(400)]
    file.write([line, *many])
    file._thin(engine.clock() + 86_400 * 90)
    assert [("timestamp" in each) for each in file.read()] == [True, False]


def test_without_the_extra_one_sentence_says_what_to_install(past, monkeypatch):
    monkeypatch.setitem(sys.modules, "rfc3161_client", None)
    with pytest.raises(NotSupported, match=r"Timestamps need rfc3161_client, .*\[service,timestamps\]"):
        Timestamping(past[0], "http://authority.example")
    Timestamping(past[0], "")()


def test_certificates_and_checkpoints_must_be_there(past, tmp_path):
    _, folder, _, _ = past
    (tmp_path / "none").write_text(FORGER.public_key)
    for wrong in (tmp_path / "none", tmp_path / "missing"):
        done = verified(folder, "--authority", wrong)
        assert "must be a file of certificates in PEM" in done.output + str(done.exception)
    done = CliRunner().invoke(app, ["verify", str(folder / "export.jsonl"), "--authority", str(folder / "roots.pem")])
    assert "must be given with `authority`" in done.output + str(done.exception)
