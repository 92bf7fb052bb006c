"""Two pasts of one log, and a change of the key in one of them: one file proves it; an old key signs nothing more."""

from __future__ import annotations

import json
import shutil

import pytest
from forging import write
from serving import STREAM, people, running

from likewise.client import Client
from likewise.service.configuration import Configuration
from likewise.service.log.signing import Signer
from likewise.service.log.tree import leaves
from likewise.service.proof.replay import verify
from likewise.service.proof.standalone import check, main, read_lines
from likewise.service.run.rotation import heard, rotate
from likewise.transparency.kept import Kept, LogContradicted, LogNotTrusted
from likewise.transparency.merkle import consistency_proof, frontier_of, inclusion_proof, nodes_of
from likewise.transparency.notes import Proof, hashes

OLD, NEW = Signer.generate(), Signer.generate()
ORIGIN = OLD.origin("loans")
ROTATION = str(OLD.sign(f"likewise key 1\n{ORIGIN}\n{NEW.public_key}\n", "loans"))


def proves(evidence, path, key=None):
    """Whether a file proves cheating to anybody."""
    path.write_text(json.dumps(evidence))
    return main(["--cheating", str(path), *([] if key is None else ["--key", key])]) == 1


class TestInAnExport:
    @pytest.fixture
    def fork(self, tmp_path):
        """A function that lets a copy of one service live on by itself, and gives its export."""
        files = {"database": "log.db", "key": "key", "checkpoints": "checkpoints"}
        first = {name: str(tmp_path / "first" / file) for name, file in files.items()}
        (tmp_path / "first").mkdir()
        with running(**first) as service:
            service.admin.post("/v1/streams", json=STREAM)

        def live_on(name, *, rotations):
            shutil.copytree(tmp_path / "first", tmp_path / name)
            beside = {what: str(tmp_path / name / file) for what, file in files.items()}
            for _ in range(rotations):
                rotate(Configuration(**beside))
                heard(Configuration(**beside))
            with running(**beside) as service:
                for t in range(3):
                    service.admin.post("/v1/streams/loans/rounds", json={"people": people(t)})
                exported = tmp_path / f"{name}.jsonl"
                exported.write_bytes(service.admin.get("/v1/streams/loans/export").content)
            return exported

        return live_on

    @pytest.mark.parametrize(("ours", "theirs"), [(0, 1), (1, 0), (1, 1), (0, 2)])
    def test_the_file_proves_it_whichever_side_changed_the_key(self, fork, tmp_path, ours, theirs):
        kept, export = fork("ours", rotations=ours), fork("theirs", rotations=theirs)
        report = verify(export, checkpoints=kept, replay=False)
        assert report.first is not None
        assert proves(report.findings.evidence, tmp_path / "proof.json")
        assert check(read_lines(str(export)), read_lines(str(kept))).evidence == report.findings.evidence
        first = report.findings.evidence["key"]
        assert proves(report.findings.evidence, tmp_path / "proof.json", first)

    def test_a_checkpoint_alone_is_enough_if_the_export_has_the_change(self, fork, tmp_path):
        kept = list(read_lines(str(fork("ours", rotations=0))))[-1:]
        export = fork("theirs", rotations=1)
        evidence = check(read_lines(str(export)), kept).evidence
        assert len(evidence["rotations"]) == 1
        assert proves(evidence, tmp_path / "proof.json")
        assert not proves(evidence | {"rotations": []}, tmp_path / "proof.json")
        stranger = Signer.generate().sign(f"likewise key 1\n{ORIGIN}\n{NEW.public_key}\n", "loans")
        assert not proves(evidence | {"rotations": [str(stranger)]}, tmp_path / "proof.json")

    def test_one_past_with_a_change_of_the_key_is_no_cheating(self, fork, tmp_path):
        export = fork("ours", rotations=2)
        report = verify(export, checkpoints=write(tmp_path / "kept.jsonl", read_lines(str(export))), replay=False)
        assert (report.first, report.findings.evidence) == (None, None)


class Log:
    """What a service answers about a log of so many events, which goes its own way after ``shared`` of them."""

    def __init__(self, size, shared=99, signer=NEW, rotations=(ROTATION,)):
        self.hashes = [f"{i if i <= shared else 1000 * size + i:064x}" for i in range(1, size + 1)]
        self.nodes, self.signer, self.rotations = nodes_of(leaves(self.hashes)), signer, list(rotations)

    def note(self, size=None, signer=None):
        return (signer or self.signer).checkpoint("loans", frontier_of(self.nodes, size or len(self.hashes)))

    def receipt(self, size, signer):
        proof = Proof(size - 1, tuple(inclusion_proof(self.nodes, size - 1, size)), self.note(size, signer))
        return {"seq": size, "hash": self.hashes[size - 1], "key": signer.public_key, "proof": str(proof)}

    def __call__(self, method, path, body=None, params=None, **_):
        if path.endswith("/consistency"):
            old, new = params["old"], params["new"]
            root, proof = frontier_of(self.nodes, old).root, consistency_proof(self.nodes, old, new)
            key = self.signer.public_key
            return {"root": hashes([root])[0], "note": str(self.note(new)), "proof": hashes(proof), "key": key}
        note = str(self.note())
        return {"key": self.signer.public_key, "note": note, "cosigned": None, "rotations": self.rotations}


@pytest.fixture
def client():
    with Client("http://likewise.test", "lw_token") as made:
        yield made


def knows(client, log, size=None, signer=None):
    key = (signer or log.signer).public_key
    client._kept.keep(client._log("loans"), Kept(key, log.note(size, signer)))


class TestInAClient:
    @pytest.mark.parametrize("more", [0, 1, 4])
    def test_two_pasts_are_proved_also_where_their_sizes_are_equal_and_their_keys_are_not(self, client, tmp_path, more):
        knows(client, Log(5, signer=OLD))
        client._ask = Log(5 + more, shared=3)
        with pytest.raises(LogContradicted) as found:
            client.check("loans")
        assert found.value.evidence["key"] == OLD.public_key
        assert proves(found.value.evidence, tmp_path / "proof.json", OLD.public_key)

    def test_two_pasts_are_proved_where_the_newer_key_signed_the_smaller_log(self, client, tmp_path):
        ours, theirs = Log(9, signer=OLD), Log(6, shared=3)
        knows(client, ours)
        client._ask = lambda method, path, **asked: (ours if "consistency" in path else theirs)(method, path, **asked)
        with pytest.raises(LogContradicted) as found:
            client.check("loans")
        assert found.value.evidence["key"] == OLD.public_key
        assert proves(found.value.evidence, tmp_path / "proof.json")

    @pytest.mark.parametrize("size", [8, 9, 20])
    @pytest.mark.parametrize("kept", [True, False], ids=["kept", "only the key"])
    def test_a_key_that_was_changed_signs_nothing_more(self, client, size, kept):
        log = Log(8)
        client._ask, client._key, client._check_every = log, NEW.public_key, 1e9
        if kept:
            knows(client, log)
        stolen = Log(size).receipt(size, OLD)
        with pytest.raises(LogNotTrusted, match=f"signed a log of {size} events, but it was changed before that"):
            client._follow("loans", stolen)
        client._follow("loans", log.receipt(8, NEW))

    @pytest.mark.parametrize("kept", [True, False], ids=["kept", "only the key"])
    def test_what_it_signed_before_counts_if_it_is_the_beginning_of_what_its_successor_signed(self, client, kept):
        log = Log(8)
        client._ask, client._key, client._check_every = log, NEW.public_key, 1e9
        if kept:
            knows(client, log)
        honest, forged = log.receipt(4, OLD), Log(4, shared=2).receipt(4, OLD)
        client._follow("loans", honest)
        with pytest.raises(LogContradicted):
            client._follow("loans", forged)
        assert client._kept.find(client._log("loans")).key == NEW.public_key

    def test_a_newest_checkpoint_by_a_key_that_was_changed_is_refused(self, client):
        knows(client, Log(8))
        client._ask = Log(9, signer=OLD)
        with pytest.raises(LogNotTrusted, match="which was changed"):
            client.check("loans")
