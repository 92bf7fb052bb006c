"""The key of a service: never replaced in silence where something was signed."""

from __future__ import annotations

import json

import numpy as np
import pytest
from serving import STREAM, running, until

from likewise.cli import main
from likewise.errors import InvalidParameter
from likewise.service.log.checkpoints import DAY, HOUR, SMALL, CheckpointFile, LineFile, point
from likewise.service.log.keys import new_key, signer_at
from likewise.service.log.signing import Signer
from likewise.service.proof.replay import verify
from likewise.service.stream.events import seconds, stamp
from likewise.transparency.merkle import Frontier
from likewise.transparency.notes import checkpoint_of


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


def test_no_key_is_made_beside_a_database_with_streams_unless_somebody_says_so(beside, capsys):
    """Key and checkpoints may be on a disk of their own, and lost together."""
    for name in ("key", "checkpoints"):
        beside[name].unlink()
    with pytest.raises(InvalidParameter, match="has streams, whose receipts were signed"), running(**beside):
        pass
    assert not beside["key"].exists()
    arguments = [part for name, path in beside.items() for part in (f"--{name}", str(path))]
    with pytest.raises(SystemExit, match=r"^0$"):
        main(["key", "new", *arguments, "--json"])
    made = json.loads(capsys.readouterr().out)["new"]
    with running(**beside) as service:
        assert service.engine.signer.public_key == made
        assert service.admin.get("/v1/streams/loans").status_code == 200


@pytest.mark.parametrize(("gone", "sentence"), [((), "put that key back"), (("checkpoints",), "isn't there yet")])
def test_no_key_takes_the_place_of_another(beside, gone, sentence):
    for name in gone:
        beside[name].unlink()
    before = beside["key"].read_bytes()
    with pytest.raises(InvalidParameter, match=sentence):
        new_key(beside["key"], CheckpointFile(beside["checkpoints"]))
    assert beside["key"].read_bytes() == before


def test_a_key_is_made_where_nothing_was_signed_also_beside_half_a_line(tmp_path):
    (tmp_path / "points").write_text('{"at":"2026')
    made = signer_at(tmp_path / "key", CheckpointFile(tmp_path / "points"))
    assert made.public_key == Signer.at(tmp_path / "key").public_key


def test_the_newest_checkpoint_of_every_stream_is_found_however_far_back(tmp_path):
    signer, other, file = Signer.generate(), Signer.generate(), CheckpointFile(tmp_path / "points")
    file.write([written(signer, "old", 1), written(other, "theirs", 1)])
    LineFile.write(file, (written(signer, "busy", size) for size in range(1, 2001)))  # past the thinning
    assert file.path.stat().st_size > 500_000
    assert sizes(file, signer) == {"old": 1, "busy": 2000}
    assert file.last_key() == signer.public_key
    with file.path.open("a") as half:
        half.write('{"at":"now","key":"' + signer.public_key)
    assert sizes(file, signer) == {"old": 1, "busy": 2000}


def test_the_file_of_a_busy_year_stays_small_and_keeps_the_newest_of_every_stream(tmp_path):
    signer, file = Signer.generate(), CheckpointFile(tmp_path / "points")
    times = np.unique(np.r_[np.arange(0, 365 * DAY, 6 * HOUR), 365 * DAY - np.arange(0, 2 * DAY, 100)])
    file.write([written(signer, "quiet", 7, at=0)])
    for size, at in enumerate(times, 1):
        file.write([written(signer, "busy", size, at=float(at))])
    assert file.path.stat().st_size < 2 * SMALL
    assert sizes(file, signer) == {"quiet": 7, "busy": len(times)}
    kept = [seconds(fact["at"]) for fact in file.read("busy")]
    assert kept == sorted(kept)
    for age, width in ((HOUR, 100), (DAY, HOUR), (30 * DAY, DAY), (365 * DAY, 30 * DAY)):
        recent = [at for at in [*kept, times[-1]] if at >= times[-1] - age]
        assert max(np.diff(recent)) <= 2 * width, "some remain of every stretch of time"


def test_checkpoints_of_an_earlier_format_are_refused_in_one_sentence(tmp_path):
    (tmp_path / "points").write_text('{"at":"2026","hash":"ab","key":"cd","seq":1,"signature":"ef","stream":"loans"}\n')
    with pytest.raises(InvalidParameter, match=r"in a format that this release can't read: .*\.$"):
        signer_at(tmp_path / "key", CheckpointFile(tmp_path / "points"))


def test_every_purpose_has_a_key_of_its_own(tmp_path):
    signer, other = Signer.generate(), Signer.generate()
    keys = {each.derived(purpose) for each in (signer, other) for purpose in ("cookies", "caches", "requests")}
    assert len(keys) == 6
    assert signer.keyed_hash(b"x") != signer.request_hash(b"x")
    again = Signer.read(signer.pem())
    assert (again.derived("cookies"), again.keyed_hash(b"x")) == (signer.derived("cookies"), signer.keyed_hash(b"x"))


def written(signer, stream, size, at=0.0):
    """A checkpoint as its file holds it; nobody looks at the tree."""
    return point(stream, stamp(at), signer.public_key, signer.checkpoint(stream, Frontier(size, (bytes(32),))))


def sizes(file, signer):
    return {name: checkpoint_of(note).size for name, note in file.newest(signer.public_key).items()}


def test_a_key_may_be_a_setting_or_what_a_command_prints_and_no_file_is_made(tmp_path):
    made, points = Signer.at(tmp_path / "secret"), CheckpointFile(tmp_path / "points")
    pem = (tmp_path / "secret").read_text()
    printing = f"cat '{tmp_path / 'secret'}'"
    for source in ({"pem": pem}, {"command": printing}):
        assert signer_at(tmp_path / "key", points, **source).public_key == made.public_key
    assert not (tmp_path / "key").exists()
    points.write([written(Signer.generate(), "loans", 1)])
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
