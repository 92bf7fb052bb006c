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
