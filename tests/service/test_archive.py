"""Archives: a part of a log in one file that verifies by itself, and together with its neighbours as the whole log."""

from __future__ import annotations

import json
import subprocess
import sys
from copy import deepcopy

import numpy as np
import pytest
from forging import FORGER, SIGNER, lived, write
from loans import Clock, drawn, loans
from test_erasure import begun, configured
from typer.testing import CliRunner

from likewise.cli import app
from likewise.errors import InvalidParameter
from likewise.service.configuration import Configuration
from likewise.service.proof import signed_log
from likewise.service.proof.replay import sentences, verify
from likewise.service.proof.script import script
from likewise.service.proof.standalone import read_lines
from likewise.service.refusals import BrokenLog, Unknown
from likewise.service.run.archive import archive
from likewise.service.run.rotation import rotate
from likewise.transparency.merkle import Frontier, leaf_hash

KEY = SIGNER.public_key


@pytest.mark.parametrize("after", range(20))
def test_a_tree_that_begins_later_has_the_roots_and_proofs_of_the_whole(after):
    leaves = [leaf_hash(bytes([i])) for i in range(40)]
    whole = signed_log.Tree(leaves)
    later = signed_log.Tree(leaves[after:], after, Frontier().add_all(leaves[:after]).nodes)
    assert later.edge() == whole.edge() == list(Frontier().add_all(leaves).nodes)
    for size in range(after, 41):
        assert later.root(size) == whole.root(size)
        for old in range(max(1, after), size):
            assert later.consistency(old, size) == whole.consistency(old, size)
    assert [later.leaf(i) for i in range(after, 40)] == leaves[after:]


class Archives:
    """A service with three archives in a row; before the second, somebody in the first was erased."""

    def __init__(self, folder, *, people):
        self.folder, self.people = folder, people
        self.engine = lived(folder)
        (folder / "log.key").write_bytes(SIGNER.pem())
        self.configuration = Configuration(database=str(folder / "log.db"), checkpoints=folder / "checkpoints.jsonl")
        self.paths = [folder / f"{number}.archive" for number in (1, 2, 3)]
        self.made = [self.make(self.paths[0])]
        self.engine.erase("loans", "4.1", "root")
        self.engine.resume("loans", "root")
        self.more("a")
        self.made.append(self.make(self.paths[1], self.paths[0]))
        self.more("b")
        self.made.append(self.make(self.paths[2], self.paths[1]))

    def more(self, prefix):
        asked = drawn(np.random.default_rng(7), k=2, prefix=prefix)
        asked = [person | {"features": person["features"] | {"sex": 0.0}} for person in asked]
        t = self.engine.decide("loans", asked, "decider")["t"]
        self.engine.audit("loans", t, "skip", "ann", note="no time")

    def make(self, path, earlier=None):
        return archive(self.configuration, "loans", path, earlier, people=self.people)


@pytest.fixture(scope="module", params=[False, True], ids=["without people", "with people"])
def archives(request, tmp_path_factory):
    made = Archives(tmp_path_factory.mktemp("archives"), people=request.param)
    yield made
    made.engine.store.close()


def test_every_part_verifies_by_itself(archives):
    for path, made in zip(archives.paths, archives.made, strict=True):
        found = verify(path, key=KEY)
        assert found.first is None, found.first
        assert found.findings.events == made.last
        assert found.findings.checkpoints > 0
        assert path.stat().st_mode & 0o077 == 0
    assert [made.first for made in archives.made] == [1, archives.made[0].last + 1, archives.made[1].last + 1]


def test_a_later_part_says_what_was_not_checked(archives):
    found = verify(archives.paths[1], key=KEY)
    assert found.replay is None
    assert any(f"Events up to {archives.made[0].last} are in another part" in note for note in found.findings.notes)
    assert "The learner was not run again." in sentences(found)


def test_parts_in_a_row_are_the_whole_log(archives):
    found = verify(*archives.paths, key=KEY)
    assert found.first is None, found.first
    assert found.findings.events == archives.made[-1].last
    assert not any("another part" in note for note in found.findings.notes)
    if archives.people:
        assert found.replay.rounds == archives.engine.stream("loans")["learned"]
        assert found.replay.lost == [], "the first part still shows whoever was erased later"
    else:
        assert found.findings.asides == 0


def test_the_checker_of_outsiders_takes_parts_too(archives, tmp_path):
    checker = tmp_path / "checker.py"
    checker.write_text(script(), encoding="utf-8")
    for paths in ([archives.paths[1]], archives.paths):
        ran = subprocess.run(
            [sys.executable, "-I", checker, *paths, "--key", KEY], capture_output=True, text=True, check=False
        )
        assert (ran.returncode, ran.stdout.splitlines()[-1]) == (0, "Nothing wrong was found.")
    ran = subprocess.run([sys.executable, "-I", checker, *archives.paths[::-1]], capture_output=True, text=True)
    assert ran.returncode == 1


def test_the_live_log_goes_on_from_an_archive(archives, tmp_path):
    """An archive is a checkpoint that was kept: of the export, and of the part that follows it."""
    live = write(tmp_path / "export.jsonl", archives.engine.export("loans"))
    for path in archives.paths:
        assert verify(live, key=KEY, checkpoints=path, replay=False).first is None
    assert verify(archives.paths[1], key=KEY, checkpoints=archives.paths[0]).first is None
    lines = [line for line in read_lines(str(live)) if line["line"] != "checkpoint"]
    cut = write(tmp_path / "cut.jsonl", [lines[0] | {"events": 5, "people": False}, *lines[1:6]])
    assert verify(cut, key=KEY, replay=False).first is None
    assert "was signed, but the log ends" in verify(cut, key=KEY, checkpoints=archives.paths[0], replay=False).first[1]


def test_nothing_is_removed_from_the_database(archives):
    assert archives.engine.round("loans", 1)["t"] == 1
    assert archives.engine.proofs.inclusion("loans", 1)["seq"] == 1
    assert archives.engine.certificate("loans")["letter"]


@pytest.mark.parametrize("which", [[0, 2], [1, 0], [0, 0], [0, 1, 1]])
def test_parts_that_do_not_follow_each_other_are_named(archives, which):
    found = verify(*(archives.paths[i] for i in which), key=KEY, replay=False)
    assert found.first is not None
    assert "The next part" in " ".join(said for _, said in found.findings.problems)


def change(**continues):
    return lambda header: header["continues"].update(continues)


@pytest.mark.parametrize(
    "bend",
    [
        change(after=3, edge=["A" * 43 + "="] * 2),
        change(prev="0" * 64),
        lambda header: header["continues"]["edge"].reverse(),
        lambda header: header["continues"]["edge"].pop(),
        lambda header: header.pop("continues"),
        lambda header: header.update(continues=None),
        change(rotations=[{"old": KEY, "new": FORGER.public_key, "note": "none"}]),
        lambda header: header.update(more=1),
        lambda header: header.update(events=1000),
        lambda header: header.update(people=None),
    ],
)
def test_a_header_that_was_bent_is_found(archives, tmp_path, bend):
    lines = [deepcopy(line) for line in read_lines(str(archives.paths[1]))]
    bend(lines[0])
    bent = write(tmp_path / "bent.archive", lines)
    if lines[0].get("people") is None and not archives.people:
        lines[0]["people"] = True  # says that everybody is shown
        bent = write(tmp_path / "bent.archive", lines)
    assert verify(bent, key=KEY, replay=False).first is not None


def test_a_part_whose_earlier_key_is_known_is_followed(tmp_path):
    here = configured(tmp_path, tmp_path / "log.db", "here")
    engine = begun(here, Clock())
    old = engine.signer.public_key
    engine.create(loans(), "root")
    engine.close()
    archive(here, "loans", tmp_path / "1")
    new = rotate(here).new
    archive(here, "loans", tmp_path / "2", tmp_path / "1")
    again = begun(here, Clock())
    again.stop("loans", "lunch", "root")
    again.close()
    made = archive(here, "loans", tmp_path / "3", tmp_path / "2")
    assert made.key == new != old
    for key in (old, new):
        assert verify(tmp_path / "3", key=key).first is None
        assert verify(tmp_path / "1", tmp_path / "2", tmp_path / "3", key=key).first is None
    assert "names the public key" in verify(tmp_path / "3", key=FORGER.public_key).first[1]


def test_what_is_no_beginning_of_the_log_is_refused(archives, tmp_path):
    other = lived(tmp_path, lot="round")
    theirs = write(tmp_path / "theirs", other.export("loans"))
    other.store.close()
    for path, match in ((theirs, "not the beginning"), (archives.configuration.checkpoint_file, "not an archive")):
        with pytest.raises(InvalidParameter, match=match):
            archives.make(tmp_path / "new", path)
    with pytest.raises(InvalidParameter, match="nothing is new"):
        archives.make(tmp_path / "new", archives.paths[2])
    with pytest.raises(InvalidParameter, match="does not exist yet"):
        archives.make(archives.paths[0])
    with pytest.raises(Unknown):
        archive(archives.configuration, "nothing", tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_a_log_that_would_not_verify_is_not_archived(tmp_path, monkeypatch):
    made = Archives(tmp_path, people=False)
    store = type(made.engine.store)
    exported = store.exported

    def bent(self, *given):
        return [line._replace(text=line.text.replace('"ann"', '"eve"')) for line in exported(self, *given)]

    monkeypatch.setattr(store, "exported", bent)
    with pytest.raises(BrokenLog, match="No archive was written"):
        made.make(tmp_path / "new")
    assert not (tmp_path / "new").exists()
    assert list(tmp_path.glob(".likewise-*")) == []
    made.engine.store.close()


def test_the_command(archives, tmp_path):
    settings = ["--database", archives.configuration.database, "--checkpoints", archives.configuration.checkpoint_file]

    def run(*words):
        return CliRunner().invoke(app, list(map(str, words)))

    made = run("archive", tmp_path / "one", "--stream", "loans", *settings)
    assert made.exit_code == 0, made.output
    assert f"Events 1 to {archives.made[-1].last} of 'loans' are in" in " ".join(made.output.split())
    checked = run("verify", *archives.paths, "--json")
    assert json.loads(checked.output)["events"] == archives.made[-1].last
    again = run("archive", tmp_path / "one", "--stream", "loans", *settings, "--json")
    assert isinstance(again.exception, InvalidParameter)
