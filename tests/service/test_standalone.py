"""Every kind of change to a log or its export is found, and the first event that differs is named."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest
import typer
from forging import (
    FORGER,
    SIGNER,
    checkpoint,
    events,
    last_checkpoint,
    lived,
    often_written_down,
    rechained,
    write,
)
from sqlalchemy import text
from typer.testing import CliRunner

from likewise.cli.verify import verify as command
from likewise.errors import InvalidParameter
from likewise.service.proof.replay import sentences, verify
from likewise.service.stream.learner_checkpoint import packed, unpacked

PAIR = {"favoured": 0, "disfavoured": 1, "gap": 0.9}


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    """The lines of an export, and the file of checkpoints kept elsewhere."""
    folder = tmp_path_factory.mktemp("honest")
    engine = lived(folder)
    lines = list(engine.export("loans"))
    engine.close()
    return lines, folder / "checkpoints.jsonl"


@pytest.fixture
def check(exported, tmp_path):
    """A function that verifies lines, with the key and the checkpoints that an outsider has."""

    def run(lines, **options):
        path = write(tmp_path / "export.jsonl", lines)
        return verify(path, **{"key": SIGNER.public_key, "checkpoints": exported[1]} | options)

    return run


class TestHonest:
    def test_nothing_is_wrong_with_what_nobody_touched(self, exported, check):
        found = check(exported[0])
        assert found.first is None
        assert found.findings.notes == []
        assert found.findings.checkpoints > 5
        assert found.replay.rounds >= 10
        assert (found.replay.lost, found.replay.inexact) == ([], 0)
        assert sentences(found)[-1] == "Nothing wrong was found."

    def test_the_log_has_every_part_that_could_be_forged(self, exported):
        kinds = {line.get("kind") for line in exported[0]}
        wanted = {"stream_created", "round_opened", "labels_received", "audited", "round_closed", "learned", "stopped"}
        assert wanted | {"labels_expired", "person", "remark"} <= kinds

    def test_without_people_the_chain_can_still_be_checked(self, tmp_path):
        engine = lived(tmp_path)
        found = verify(write(tmp_path / "export.jsonl", engine.export("loans", people=False)))
        engine.close()
        assert found.first is None
        assert found.replay is None
        assert any("without people" in note for note in found.findings.notes)
        assert any("give the key that you know" in note for note in found.findings.notes)


class TestTampering:
    def test_any_byte_that_is_changed_is_found(self, exported, tmp_path):
        """A sample of all bytes, each bent in a way that a forger might: to its neighbour."""
        path = write(tmp_path / "export.jsonl", last_checkpoint(exported[0]))
        honest, rng = path.read_bytes(), np.random.default_rng(1)
        for at in rng.choice(len(honest), size=120, replace=False):
            changed = bytearray(honest)
            changed[at] ^= 1
            path.write_bytes(changed)
            found = verify(path, key=SIGNER.public_key)
            assert found.first is not None, honest[at - 30 : at + 30]

    def test_a_line_whose_kind_was_bent_is_found(self, exported, check):
        for i, kind in ((0, "header"), (1, "event"), (-1, "checkpoint")):
            assert exported[0][i]["line"] == kind
            bent = {"lime" if name == "line" else name: value for name, value in exported[0][i].items()}
            lines = list(exported[0])
            lines[i] = bent
            assert check(lines).first is not None

    def test_every_field_of_every_kind_of_event_is_covered(self, exported, check):
        lines, seen = last_checkpoint(exported[0]), set()
        for i in events(lines):
            line = lines[i]
            for name in ("stream", "seq", "prev", "kind", "version", "at", "data", "hash"):
                if (line["kind"], name) in seen:
                    continue
                seen.add((line["kind"], name))
                bent = {"bent": 1} if name == "data" else 10**6 if name in ("seq", "version") else "f" * 64
                changed = [*lines[:i], line | {name: bent}, *lines[i + 1 :]]
                found = check(changed, checkpoints=None, replay=False)
                assert found.first is not None, (line["kind"], name)
                assert found.first[0] == line["seq"], (line["kind"], name)
        assert len({kind for kind, _ in seen}) > 5

    def test_an_event_that_was_removed_is_named(self, exported, check):
        lines = exported[0]
        for i in events(lines)[:-1:9]:
            found = check(lines[:i] + lines[i + 1 :], replay=False)
            assert found.first == (
                lines[i]["seq"],
                f"Event {lines[i]['seq']} is missing: event {lines[i]['seq'] + 1} is in its place.",
            )

    def test_two_events_that_were_swapped_are_named(self, exported, check):
        lines = exported[0]
        i = events(lines)[20]
        found = check([*lines[:i], lines[i + 1], lines[i], *lines[i + 2 :]], replay=False)
        assert found.first[0] == lines[i]["seq"]

    def test_an_event_that_was_inserted_is_named(self, exported, check):
        lines = exported[0]
        i = events(lines)[20]
        for other in (lines[i], lines[i] | {"seq": lines[i]["seq"] + 1}):
            assert check([*lines[: i + 1], other, *lines[i + 1 :]], replay=False).first is not None

    @pytest.mark.parametrize("cut", [1, 5, 30])
    def test_a_tail_that_was_cut_off_is_found(self, exported, check, cut):
        """Even by who also cuts the checkpoints and corrects the header."""
        lines = exported[0]
        last = events(lines)[-1]
        kept = [line for i, line in enumerate(lines) if i <= last - cut or line["line"] == "aside"]
        here = lines[last - cut]["seq"]
        kept[0] = kept[0] | {"events": here, "people": False}
        found = check([line for line in kept if line["line"] != "aside"], replay=False)
        assert found.first is not None
        assert found.first[0] > here
        assert "was signed, but the log ends" in found.first[1]

    def test_a_chain_recomputed_as_a_whole_is_found_against_the_last_checkpoint(self, exported, check):
        lines = [line for line in exported[0] if line["line"] != "checkpoint"]
        i = next(i for i in events(lines) if lines[i]["kind"] == "audited")
        forged = lines[i] | {"data": lines[i]["data"] | {"by": "mallory"}}
        whole = rechained([*lines[:i], forged, *lines[i + 1 :]])
        assert check(whole, checkpoints=None).first is None
        found = check(whole)
        assert "is not the one that was signed" in found.first[1]

    def test_a_chain_recomputed_and_signed_by_somebody_else_is_found_by_the_key(self, exported, check):
        lines = [line for line in exported[0] if line["line"] != "checkpoint"]
        i = next(i for i in events(lines) if lines[i]["kind"] == "audited")
        whole = rechained([*lines[:i], lines[i] | {"at": lines[i + 1]["at"]}, *lines[i + 1 :]])
        whole[0] = whole[0] | {"public_key": FORGER.public_key}
        whole.append(checkpoint(whole, signer=FORGER))
        assert check(whole, key=None, checkpoints=None, replay=False).first is None
        assert "names the public key" in check(whole, checkpoints=None, replay=False).first[1]

    def test_a_receipt_is_a_checkpoint_too(self, exported, tmp_path, check):
        engine = lived(tmp_path)
        receipt = engine.resume("loans", "root")["receipt"]
        honest = list(engine.export("loans"))
        engine.close()
        path = write(tmp_path / "receipt.jsonl", [receipt])
        assert check(honest, checkpoints=path).first is None
        assert check(exported[0], checkpoints=path, replay=False).first is not None

    def test_a_person_who_was_changed_or_left_out_is_found(self, exported, check):
        lines = exported[0]
        i = next(i for i, line in enumerate(lines) if line["line"] == "aside")
        content = lines[i]["content"]
        for bent in (
            {"content": content | {"id": "mallory"}},
            {"salt": "00" * 32},
            {"salt": lines[i]["salt"].upper()},
            {"salt": lines[i]["salt"] + " "},
            {"t": 3},
            {"kind": "remark"},
            {"ref": "0" * 32},
        ):
            found = check([*lines[:i], lines[i] | bent, *lines[i + 1 :]], replay=False)
            assert found.first is not None, bent
        assert "neither shown nor erased" in check([*lines[:i], *lines[i + 1 :]], replay=False).first[1]

    def test_lines_that_mean_nothing_are_found(self, exported, check, tmp_path):
        assert check([*exported[0], {"line": "surprise"}], replay=False).first is not None
        assert check([{"line": "event"}, *exported[0]], replay=False).first is not None
        path = tmp_path / "broken.jsonl"
        path.write_bytes(b"not json\n" + write(tmp_path / "x.jsonl", exported[0]).read_bytes())
        assert "Line 1" in verify(path, replay=False).first[1]


class TestReplayFindsLies:
    """A service that lies from the start chains and signs its lies well; running the learner again shows them."""

    @pytest.fixture
    def lie(self, exported, check):
        def run(kind, change, number=0):
            lines = [line for line in exported[0] if line["line"] != "checkpoint"]
            i = [i for i in events(lines) if lines[i]["kind"] == kind][number]
            data = json.loads(json.dumps(lines[i]["data"]))
            change(data)
            whole = rechained([*lines[:i], lines[i] | {"data": data}, *lines[i + 1 :]])
            return lines[i]["seq"], check(whole, checkpoints=None).first

        return run

    @pytest.mark.parametrize("by", [1e-6, 0.3])
    def test_probabilities_that_were_not_the_policys(self, lie, by):
        seq, found = lie("round_opened", lambda data: data["people"][0].update(probability=0.5 + by), number=0)
        assert found[0] == seq
        assert "probabilities that differ" in found[1]

    def test_labels_that_were_learned_differently(self, lie):
        seq, found = lie("labels_received", lambda data: data["labels"][0].__setitem__(1, 1 - data["labels"][0][1]))
        assert found[0] > seq
        assert "probabilities that differ" in found[1] or "penalty" in found[1]

    @pytest.mark.parametrize("name", ["version", "delay", "outstanding", "penalty"])
    def test_what_is_said_of_a_round_that_was_learned(self, lie, name):
        seq, found = lie("learned", lambda data: data.__setitem__(name, data[name] + 1), number=2)
        assert found[0] == seq
        assert f"should have {name}" in found[1]

    def test_a_gap_that_was_another(self, lie, exported):
        seq, found = lie("audited", lambda data: data.update(verdict="reported", reports=[PAIR]))
        assert found[0] == seq
        assert "reports a gap" in found[1]

    def test_a_round_closed_otherwise_than_it_ended(self, lie):
        seq, found = lie("round_closed", lambda data: data.update(audit="cleared", labels="partial"))
        assert found[0] == seq

    def test_an_event_that_makes_no_sense_is_named_not_raised(self, lie):
        seq, found = lie("labels_received", lambda data: data.update(t=99))
        assert found[0] == seq
        assert "does not follow" in found[1]


class TestErasure:
    def test_the_log_still_verifies_and_names_what_can_not_be_replayed(self, tmp_path):
        engine = lived(tmp_path, erase=True)
        lines = list(engine.export("loans"))
        assert '"4.1"' not in json.dumps(lines)
        found = verify(write(tmp_path / "export.jsonl", lines), key=SIGNER.public_key)
        engine.close()
        assert found.first is None
        assert found.findings.erased >= 1
        assert found.replay.lost[0] == 5  # and those after it, which rest on what was learned there
        learned = sum(line.get("kind") == "learned" for line in lines)
        assert found.replay.rounds + len(found.replay.lost) == learned
        assert any("can't be learned again, because people were erased: " in sentence for sentence in sentences(found))
        lost = f"{len(found.replay.lost)} of {learned} rounds could not be replayed"
        share = f"{100 * (1 - len(found.replay.lost) / learned):.1f} % of them could"
        assert sentences(found)[-1] == f"Nothing wrong was found; {lost}, {share}."
        assert found.exit_code == 3

    def test_a_false_checkpoint_of_the_learner_is_found(self, tmp_path):
        with often_written_down():
            engine = lived(tmp_path)
        lines = [line for line in engine.export("loans") if line["line"] != "checkpoint"]
        engine.close()
        i = next(i for i in events(lines) if lines[i]["kind"] == "learner_checkpointed")
        data = json.loads(json.dumps(lines[i]["data"]))
        losses = unpacked(data["learner"]["losses"], np.empty(0))
        data["learner"]["losses"] = packed(losses + 0.5 * (np.arange(len(losses)) == 3))
        whole = rechained([*lines[:i], lines[i] | {"data": data}, *lines[i + 1 :]])
        found = verify(write(tmp_path / "export.jsonl", whole))
        assert found.first[0] == lines[i]["seq"]

    def test_a_person_is_not_hidden_without_an_erasure_that_says_so(self, exported, check):
        lines = [line for line in exported[0] if line.get("content", {}).get("id") != "4.1"]
        assert "neither shown nor erased" in check(lines, replay=False).first[1]


class TestDatabase:
    """Somebody with the database in their hands, past the triggers."""

    @pytest.mark.parametrize(
        "statement",
        [
            'UPDATE events SET data = replace(data, \'"verdict":"cleared"\', \'"verdict":"skipped"\')',
            "UPDATE events SET at = '2020-01-01T00:00:00.000000+00:00' WHERE seq = 5",
            "DELETE FROM events WHERE seq = 7",
            "DELETE FROM events WHERE seq > 30",
            "UPDATE events SET seq = CASE seq WHEN 8 THEN 1000 ELSE seq END",
            "UPDATE asides SET content = replace(content, 'score', 'sc0re')",
            "DELETE FROM asides WHERE kind = 'remark'",
        ],
    )
    def test_what_they_change_is_found_against_the_checkpoints(self, tmp_path, statement):
        engine = lived(tmp_path)
        for trigger in ("events_follow", "events_stay", "events_last"):
            engine.store.write(lambda connection, name=trigger: connection.execute(text(f"DROP TRIGGER {name}")))
        engine.store.write(lambda connection: connection.execute(text(statement)))
        path = write(tmp_path / "export.jsonl", engine.export("loans"))
        engine.store.close()
        found = verify(path, key=SIGNER.public_key, checkpoints=tmp_path / "checkpoints.jsonl", replay=False)
        assert found.first is not None


class TestCommand:
    def run(self, *arguments):
        app = typer.Typer()
        app.command()(command)
        return CliRunner().invoke(app, [str(argument) for argument in arguments])

    def test_it_says_what_was_checked(self, exported, tmp_path):
        path = write(tmp_path / "export.jsonl", exported[0])
        said = self.run(path, "--key", SIGNER.public_key, "--checkpoints", exported[1])
        assert said.exit_code == 0
        assert "Nothing wrong was found." in said.output

    def test_it_names_the_first_event_that_differs(self, exported, tmp_path):
        lines = exported[0]
        i = events(lines)[9]
        path = write(tmp_path / "export.jsonl", [*lines[:i], lines[i] | {"at": "x"}, *lines[i + 1 :]])
        said = self.run(path, "--json")
        assert said.exit_code == 1
        assert json.loads(said.output)["first_difference"]["event"] == 10

    def test_it_prints_the_stand_alone_file_which_finds_the_same(self, exported, tmp_path):
        script = tmp_path / "check.py"
        script.write_text(self.run("--script").output, encoding="utf-8")
        for change, code in (({}, 0), ({"at": "x"}, 1)):
            lines = exported[0]
            i = events(lines)[9]
            path = write(tmp_path / "export.jsonl", [*lines[:i], lines[i] | change, *lines[i + 1 :]])
            arguments = [path, "--key", SIGNER.public_key, "--checkpoints", exported[1]]
            said = subprocess.run([sys.executable, "-I", script, *arguments], capture_output=True, text=True)
            assert said.returncode == code, said.stdout + said.stderr
        assert "Event 10" in said.stdout

    def test_a_file_that_is_not_there_is_said(self):
        with pytest.raises(InvalidParameter, match="be a file"):
            verify("nowhere.jsonl")
