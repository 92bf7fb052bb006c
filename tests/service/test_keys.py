"""The key of a service: never replaced in silence where something was signed."""

from __future__ import annotations

import pytest
from serving import STREAM, running, until

from likewise.errors import InvalidParameter
from likewise.service.log.checkpoints import CheckpointFile
from likewise.service.log.keys import signer_at
from likewise.service.log.signing import Signer
from likewise.service.proof.replay import verify


@pytest.fixture
def beside(tmp_path):
    """Where a service lives that has signed a stream, and is stopped."""
    files = {"database": str(tmp_path / "log.db"), "key": tmp_path / "key", "checkpoints": tmp_path / "checkpoints"}
    with running(**files) as service:
        service.admin.post("/v1/streams", json=STREAM)
        until(lambda: list(service.engine.checkpoints.read("loans")))
    return files


def test_a_missing_key_is_refused_beside_checkpoints_and_the_export_verifies_once_it_is_back(beside, tmp_path):
    key = beside["key"].read_bytes()
    beside["key"].unlink()
    signed = beside["checkpoints"].read_bytes()
    with pytest.raises(InvalidParameter, match="put the key back"), running(**beside):
        pass
    assert not beside["key"].exists()
    assert beside["checkpoints"].read_bytes() == signed
    beside["key"].write_bytes(key)
    with running(**beside) as service:
        public = service.engine.signer.public_key
        (tmp_path / "export.jsonl").write_bytes(service.admin.get("/v1/streams/loans/export").content)
    assert verify(tmp_path / "export.jsonl", key=public, checkpoints=beside["checkpoints"]).first is None


def test_another_key_is_refused_beside_checkpoints_and_accepted_once_they_are_moved_away(beside):
    beside["key"].unlink()
    other = Signer.at(beside["key"]).public_key
    with pytest.raises(InvalidParameter, match="is not the one that signed") as refused, running(**beside):
        pass
    points = CheckpointFile(beside["checkpoints"])
    assert points.last_key() in str(refused.value)
    beside["checkpoints"].rename(beside["checkpoints"].with_suffix(".old"))
    assert signer_at(beside["key"], points).public_key == other


def test_a_key_is_made_where_nothing_was_signed_also_beside_half_a_line(tmp_path):
    (tmp_path / "points").write_text('{"at":"2026')
    made = signer_at(tmp_path / "key", CheckpointFile(tmp_path / "points"))
    assert made.public_key == Signer.at(tmp_path / "key").public_key


def test_the_newest_checkpoint_of_every_stream_is_found_however_far_back(tmp_path):
    signer, other, file = Signer.generate(), Signer.generate(), CheckpointFile(tmp_path / "points")
    file.write([signer.sign("old", 1, "aa", "then"), other.sign("theirs", 1, "bb", "then")])
    file.write(signer.sign("busy", seq, "cc", "now") for seq in range(1, 2001))
    assert file.path.stat().st_size > 500_000
    assert {name: point["seq"] for name, point in file.newest(signer.public_key).items()} == {"old": 1, "busy": 2000}
    assert file.last_key() == signer.public_key
    with file.path.open("a") as half:
        half.write('{"at":"now","hash":"cc","key":"' + signer.public_key)
    assert file.newest(signer.public_key)["busy"]["seq"] == 2000


def test_a_key_may_be_a_setting_or_what_a_command_prints_and_no_file_is_made(tmp_path):
    made, points = Signer.at(tmp_path / "secret"), CheckpointFile(tmp_path / "points")
    pem = (tmp_path / "secret").read_text()
    printing = f"cat '{tmp_path / 'secret'}'"
    for source in ({"pem": pem}, {"command": printing}):
        assert signer_at(tmp_path / "key", points, **source).public_key == made.public_key
    assert not (tmp_path / "key").exists()
    points.write([Signer.generate().sign("loans", 1, "aa", "then")])
    with pytest.raises(InvalidParameter, match="key in `key_pem` is not the one that signed"):
        signer_at(tmp_path / "key", points, pem=pem)


@pytest.mark.parametrize("command", ["false", "echo garbage", "no-such-program-here", "cat 'open"])
def test_a_command_that_prints_no_key_is_refused_in_one_sentence(tmp_path, command):
    with pytest.raises(InvalidParameter, match=r"`key_command` must .*\.$"):
        signer_at(tmp_path / "key", CheckpointFile(tmp_path / "points"), command=command)
    assert not (tmp_path / "key").exists()


def test_a_service_runs_with_a_key_from_its_environment(tmp_path):
    made = Signer.at(tmp_path / "secret")
    files = {"database": str(tmp_path / "log.db"), "checkpoints": tmp_path / "checkpoints"}
    with running(**files, key_pem=(tmp_path / "secret").read_text()) as service:
        assert service.engine.signer.public_key == made.public_key
        assert "PRIVATE" not in repr(service.service.configuration)
    assert not (tmp_path / "log.key").exists()
