"""Forgers who know what they are doing: one has the database and the export, the other has the service's key."""

from __future__ import annotations

import json
import re
from copy import deepcopy

import numpy as np
import pytest
from forging import SIGNER, checkpoint, events, lived, often_written_down, receipt, renumbered, write
from loans import loans, people
from sqlalchemy import text

from likewise.errors import InvalidParameter
from likewise.service.engine import Engine
from likewise.service.log import Store
from likewise.service.log.checkpoints import CheckpointFile, point
from likewise.service.proof.replay import sentences, verify
from likewise.service.proof.spelling import commitment, event_hash
from likewise.service.proof.standalone import main
from likewise.service.refusals import BrokenLog
from likewise.service.stream.events import stamp
from likewise.service.stream.learner import KNOWN_VERSIONS, LEARNER_VERSION
from likewise.service.stream.learner_checkpoint import packed, unpacked

X = np.random.default_rng(2).random((3, 2))


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    """The lines of an honest export, after somebody in an open round was erased; and its checkpoints."""
    folder = tmp_path_factory.mktemp("honest")
    with often_written_down():
        engine = lived(folder)
        engine.erase("loans", "11.1", "root")
    lines = list(engine.export("loans"))
    engine.close()
    return lines, folder / "checkpoints.jsonl"


def plain(exported):
    """The same lines to be bent, without checkpoints."""
    return deepcopy([line for line in exported[0] if line["line"] != "checkpoint"])


def first(lines, kind, **data):
    """The place of the first event of a kind that holds these data."""
    return next(i for i in events(lines) if lines[i]["kind"] == kind and data.items() <= lines[i]["data"].items())


class TestWithoutTheKey:
    """What isn't signed or chained must still be what it was."""

    @pytest.fixture
    def found(self, exported, tmp_path):
        def run(lines):
            path = write(tmp_path / "export.jsonl", lines)
            return verify(path, key=SIGNER.public_key, checkpoints=exported[1], replay=False).first

        assert run(exported[0]) is None
        return run

    def test_a_person_shown_twice_is_not_shown_as_somebody_else(self, exported, found):
        lines = deepcopy(exported[0])
        i = next(i for i, line in enumerate(lines) if line["line"] == "aside")
        other = lines[i] | {"content": {"id": "mallory", "features": {}}}
        assert "twice" in found([*lines[: i + 1], other, *lines[i + 1 :]])[1]
        assert "not what event 2 committed to" in found([*lines[:i], other, *lines[i:]])[1]

    def test_people_can_not_be_hidden_behind_a_header_that_says_there_are_none(self, exported, found):
        lines = deepcopy(exported[0])
        lines[0]["people"] = False
        without = [line for line in lines if line.get("content", {}).get("id") != "4.1"]
        assert "without people, but it shows some" in found(without)[1]
        lines[0]["people"] = True
        assert "header" in found([*without, lines[0] | {"people": False}])[1]

    def test_a_checkpoint_says_nothing_that_is_not_signed(self, exported, found):
        lines = deepcopy(exported[0])
        lines[-1]["reviewed_by"] = "the authority"
        assert "not signed" in found(lines)[1]

    def test_whoever_was_erased_is_not_shown(self, tmp_path):
        engine = lived(tmp_path)
        gone = next(line for line in engine.export("loans") if line.get("content", {}).get("id") == "4.1")
        engine.erase("loans", "4.1", "root")
        lines = list(engine.export("loans"))
        engine.close()
        seen = verify(write(tmp_path / "export.jsonl", [*lines, gone]), key=SIGNER.public_key, replay=False).first
        assert "still shown" in seen[1]

    def test_checkpoints_of_another_stream_do_not_pass_for_a_check(self, exported, tmp_path):
        other = write(tmp_path / "other.jsonl", [checkpoint(exported[0], stream="other")])
        path = write(tmp_path / "export.jsonl", exported[0])
        assert "belongs to the stream 'loans'" in verify(path, checkpoints=other, replay=False).first[1]

    @pytest.mark.parametrize(
        "statement",
        [
            "UPDATE events SET round = 2 WHERE kind = 'audited' AND round = 1",
            "UPDATE asides SET person = 'nobody' WHERE person = '4.1'",
            "UPDATE asides SET stream = 'elsewhere' WHERE person = '4.1'",
        ],
    )
    def test_nothing_is_filed_where_it_would_not_be_found(self, tmp_path, statement):
        """Columns by which rounds and people are looked up, and which no hash covers."""
        engine = changed(lived(tmp_path), statement)
        with pytest.raises(BrokenLog):
            list(engine.export("loans"))
        engine.store.close()

    def test_decisions_come_from_the_secret_that_the_log_commits_to(self, tmp_path):
        engine = changed(lived(tmp_path), f"UPDATE streams SET secret = '{'ab' * 32}'")
        engine.resume("loans", "root")
        engine.reads.secrets.clear()  # as in another process
        asked = [{"id": "ann", "features": {"score": 0.5, "age": 0.5, "sex": 0.0}}]
        with pytest.raises(BrokenLog, match="secret"):
            engine.decide("loans", asked, "decider")
        engine.store.close()

    def test_a_snapshot_is_the_services_own(self, tmp_path):
        """A forged one would give the stream another past: fewer reports, other weights."""
        engine = lived(tmp_path)
        honest = engine.stream("loans")
        engine.close()
        with Store(tmp_path / "log.db") as store, store.read() as connection:
            (kept,) = connection.scalars(text("SELECT state FROM snapshots"))
            forged = json.loads(kept)
            state = json.loads(forged["state"])
            state["totals"]["errors"] = 0.0
            forged["state"] = json.dumps(state, sort_keys=True, separators=(",", ":"))
            put = text("UPDATE snapshots SET state = :state")
            store.write(lambda connection: connection.execute(put, {"state": json.dumps(forged)}) and None)
            again = Engine(store, SIGNER)
            again.start()
            assert again.stream("loans") == honest

    def test_a_service_does_not_go_on_from_a_log_that_is_not_what_it_signed(self, tmp_path):
        engine = lived(tmp_path)
        head = engine.store.head("loans")[0]
        changed(engine, f"DELETE FROM events WHERE seq = {head}").store.close()
        with Store(tmp_path / "log.db") as store:
            again = Engine(store, SIGNER, CheckpointFile(tmp_path / "checkpoints.jsonl"))
            again.start()
            assert "loans" in again.broken
            with pytest.raises(BrokenLog, match=f"Event {head} of 'loans' is not the one that was signed"):
                again.stop("loans", "is anybody there?", "root")
            assert again.streams.loaded() == []

    @pytest.mark.parametrize(
        ("data", "sentence"),
        [
            ("json_remove(data, '$.learner_version')", "does not say which version of the learner it began with"),
            (
                f"json_set(data, '$.learner_version', {LEARNER_VERSION + 1})",
                re.escape(f"`learner_version` must be one of {KNOWN_VERSIONS}, the versions of the learners"),
            ),
        ],
    )
    def test_a_log_of_another_learner_is_refused_in_a_sentence_when_the_service_starts(self, tmp_path, data, sentence):
        engine = changed(lived(tmp_path), f"UPDATE events SET data = {data} WHERE kind = 'stream_created'")
        (row,) = engine.store.exported("loans", 0, 1)
        first = {name: value for name, value in json.loads(row.text).items() if name != "line"}
        for statement in ("DELETE FROM events WHERE seq > 1", f"UPDATE events SET hash = '{event_hash(first)}'"):
            engine.store.write(lambda connection, statement=statement: connection.execute(text(statement)))
        engine.store.close()
        with Store(tmp_path / "log.db") as store:
            again = Engine(store, SIGNER)
            again.start()
            assert "loans" in again.broken
            with pytest.raises((BrokenLog, InvalidParameter), match=sentence):
                again.stream("loans")


def changed(engine, statement):
    """Somebody with the database in their hands, past the triggers."""
    for trigger in ("events_follow", "events_stay", "events_last"):
        engine.store.write(lambda connection, name=trigger: connection.execute(text(f"DROP TRIGGER {name}")))
    engine.store.write(lambda connection: connection.execute(text(statement)))
    return engine


def after(lines, i, kind, **data):
    """One more event after the one at ``i``, at the same time; its place."""
    lines.insert(i + 1, lines[i] | {"kind": kind, "data": data})
    return i + 1


NOTHING = {"reports": [], "remark": None}
"""What an answer without pair and words holds."""


def second_verdict(lines):
    i = first(lines, "audited")
    return after(lines, i, "audited", t=lines[i]["data"]["t"], verdict="skipped", by="ann", **NOTHING)


def changed_label(lines):
    i = first(lines, "labels_received")
    position, label = lines[i]["data"]["labels"][0]
    data = lines[i]["data"] | {"labels": [[position, 1 - label]]}
    return after(lines, i, "labels_received", **data)


def lesson_discarded(lines):
    i = first(lines, "round_closed")
    lines[i]["data"]["learns"] = False
    del lines[i + 1]
    return i


def lesson_left_out(lines):
    i = first(lines, "learned")
    del lines[i]
    return i


def new_beginning(lines):
    i = first(lines, "learned")
    return after(lines, i, "stream_created", **lines[1]["data"])


def audit_ended_early(lines):
    return after(lines, first(lines, "round_opened"), "audited", t=1, verdict="expired", by="clock", **NOTHING)


def labels_ended_early(lines):
    return after(lines, first(lines, "round_opened"), "labels_expired", t=1, outcome="expired", missing=3)


def decided_while_stopped(lines):
    i = first(lines, "round_opened", t=4)
    lines.insert(i, lines[i] | {"kind": "stopped", "data": {"reason": "lunch", "by": "root"}})
    return i + 1


def policy_by_another_name(lines):
    versions = [(lines[i]["data"]["version"], i) for i in events(lines) if lines[i]["kind"] == "round_opened"]
    i = next(i for place, (version, i) in enumerate(versions) if version in [v for v, _ in versions[:place]])
    lines[i]["data"]["policy"] = "f" * 64
    return i


def another_average(lines):
    i = first(lines, "learner_checkpointed")
    average = unpacked(lines[i]["data"]["average"], np.empty(0))
    lines[i]["data"]["average"] = packed(average + (np.arange(len(average)) == 0))
    return i


def pairs_of_nobody(lines):
    """A learner that nobody can read, as it is said to keep a report about somebody who isn't there."""
    i = first(lines, "learner_checkpointed")
    lines[i]["data"]["pairs"].append(["f" * 32, "e" * 32])
    return i


def report_forgotten(lines):
    """The learner keeps a report, but is written down without it."""
    i = next(i for i in events(lines) if lines[i]["kind"] == "learner_checkpointed" and lines[i]["data"]["pairs"])
    learner, frozen = lines[i]["data"]["learner"], lines[i]["data"]["pairs"].pop(0)
    assert frozen
    widths = {"terms": 5, "gaps": 1, "passed": 1, "repeats": 1, "made": 1}
    kinds = dict.fromkeys(("repeats", "made"), np.int64)
    rows = {
        name: unpacked(learner[name], np.empty((0, width), kinds.get(name, float))) for name, width in widths.items()
    }
    paid = unpacked(learner["frozen"], np.empty(0)) + rows["terms"][0, 0] * np.array([1.0, rows["gaps"][0, 0]])
    learner |= {"frozen": packed(paid)} | {name: packed(values[1:]) for name, values in rows.items()}
    return i


def another_learner(lines):
    i = first(lines, "stream_created")
    lines[i]["data"]["learner_version"] += 1
    return i


def another_rule(lines):
    """Release 1's, under which a report weighs something else; before the first lesson both give everybody one half."""
    lines[1]["data"]["settings"]["penalty"] = "growing"
    return first(lines, "learned")


def another_erasure(lines):
    i = first(lines, "person_erased")
    lines[i]["data"]["rounds"] = [1]
    return i


def retracted_nothing(lines):
    return after(lines, first(lines, "round_opened"), "audit_retracted", t=1, by="ann")


def closed_too_soon(lines):
    lines[1]["data"]["settings"]["waits"]["grace"] = 1000.0
    return first(lines, "round_closed", audit="cleared")


def cleared_with_a_pair(lines):
    i = first(lines, "audited", verdict="cleared")
    lines[i]["data"]["reports"] = [{"favoured": 0, "disfavoured": 1, "gap": 0.5}]
    return i


def another_wait(lines):
    i = first(lines, "learned")
    lines[i]["data"]["waited"] += 1.0
    return i


def a_report_that_was_not_dropped(lines):
    i = first(lines, "learned")
    lines[i]["data"]["dropped"] = True
    return i


def resumed_while_running(lines):
    return after(lines, first(lines, "round_opened"), "resumed", by="root")


def late_before_its_time(lines):
    i = first(lines, "round_opened")
    return after(lines, i, "labels_late", t=1, labels=[[0, 1]], by="decider")


def a_round_too_large(lines):
    lines[1]["data"]["settings"]["k"] = 2
    return first(lines, "round_opened")


def decided_against_all_odds(lines):
    i = first(lines, "round_opened")
    lines[i]["data"]["people"][0]["decision"] = 2
    return i


def a_salt_of_another_length(lines):
    """Without a fixed length, bytes could be moved between the salt and what it salts."""
    i = first(lines, "round_opened")
    one = lines[i]["data"]["people"][0]
    aside = next(line for line in lines if line.get("ref") == one["ref"])
    aside["salt"] = "ab" * 31
    one["commitment"] = commitment(aside["salt"], aside["content"])
    return i


FORGERIES = [
    second_verdict, changed_label, lesson_discarded, lesson_left_out, new_beginning, audit_ended_early,
    labels_ended_early, decided_while_stopped, policy_by_another_name, another_average, another_erasure,
    retracted_nothing, closed_too_soon, cleared_with_a_pair, another_wait, a_report_that_was_not_dropped,
    pairs_of_nobody, report_forgotten, another_learner, another_rule,
    resumed_while_running, late_before_its_time, a_round_too_large, decided_against_all_odds, a_salt_of_another_length,
]  # fmt: skip


def signed(lines):
    """A whole chain of their own, well signed."""
    whole = renumbered(lines)
    return [*whole, checkpoint(whole)]


class TestWithTheKey:
    """They chain and sign what they like; what can't have happened is found all the same."""

    def test_an_honest_log_passes(self, exported, tmp_path):
        found = verify(write(tmp_path / "export.jsonl", signed(plain(exported))), key=SIGNER.public_key)
        assert found.first is None

    @pytest.mark.parametrize("forge", FORGERIES, ids=lambda forge: forge.__name__)
    def test_what_can_not_have_happened_is_named(self, exported, tmp_path, forge):
        lines = plain(exported)
        place = forge(lines)
        path = write(tmp_path / "export.jsonl", signed(lines))
        found = verify(path, key=SIGNER.public_key)
        assert found.first is not None
        assert found.first[0] == events(lines).index(place) + 1
        assert "must hold" not in found.first[1], (
            "every event has the fields of its kind: it is refused for what it says"
        )

    @pytest.mark.parametrize("forge", [second_verdict, lesson_left_out, new_beginning])
    def test_also_where_nobody_is_shown(self, exported, tmp_path, forge):
        lines = [line for line in plain(exported) if line["line"] != "aside"]
        lines[0]["people"] = False
        assert verify(write(tmp_path / "export.jsonl", signed(lines)), key=SIGNER.public_key).first is None
        forge(lines)
        assert verify(write(tmp_path / "export.jsonl", signed(lines)), key=SIGNER.public_key).first is not None

    def test_nobody_is_decided_about_otherwise_than_before(self, start, tmp_path):
        """The same person at the same probability: the secret that decides is one for each of them."""
        engine = start(tmp_path / "log.db")
        engine.create(loans(), "root")
        for _ in range(2):
            engine.decide("loans", people(X), "decider")
        lines = [line for line in engine.export("loans") if line["line"] != "checkpoint"]
        assert verify(write(tmp_path / "export.jsonl", lines)).first is None
        one = lines[first(lines, "round_opened", t=2)]["data"]["people"][0]
        assert 0 < one["probability"] < 1
        one["decision"] = 1 - one["decision"]
        found = verify(write(tmp_path / "export.jsonl", renumbered(lines))).first
        assert "decides differently about a person" in found[1]

    def test_another_past_is_found_against_a_checkpoint_that_was_kept(self, exported, tmp_path):
        """Nothing in it is impossible: somebody else made a verdict."""
        lines = plain(exported)
        lines[first(lines, "audited", by="ann")]["data"]["by"] = "mallory"
        path = write(tmp_path / "export.jsonl", signed(lines))
        alone = verify(path, key=SIGNER.public_key)
        assert alone.first is None
        assert any("could have rewritten the whole log" in note for note in alone.findings.notes)
        assert "is not the one that was signed" in verify(path, checkpoints=exported[1]).first[1]

    def test_it_is_said_up_to_where_a_kept_checkpoint_reaches(self, exported, tmp_path):
        lines = exported[0]
        kept = write(tmp_path / "kept.jsonl", [checkpoint(lines, 20)])
        found = verify(write(tmp_path / "export.jsonl", lines), key=SIGNER.public_key, checkpoints=kept, replay=False)
        assert found.first is None
        assert any("kept elsewhere is for event 20" in note for note in found.findings.notes)


def test_an_export_that_is_written_while_somebody_is_erased_still_verifies(start, tmp_path):
    engine = start(tmp_path / "log.db")
    engine.create(loans(), "root")
    engine.decide("loans", people(X), "decider")
    lines = engine.export("loans")
    seen = [next(lines) for _ in range(3)]  # the header and both events; nobody yet
    engine.erase("loans", "1", "root")
    engine.decide("loans", people(X), "decider")
    found = verify(write(tmp_path / "export.jsonl", [*seen, *lines]), key=engine.signer.public_key)
    assert found.first is None
    assert found.findings.erased == 1


def test_both_checkers_close_with_the_same_words(exported, tmp_path, capsys):
    export = write(tmp_path / "export.jsonl", exported[0])
    assert main([str(export), "--key", SIGNER.public_key, "--checkpoints", str(exported[1])]) == 0
    assert capsys.readouterr().out.endswith("\nNothing wrong was found.\n")
    without = verify(export, key=SIGNER.public_key, checkpoints=exported[1], replay=False)
    assert sentences(without)[-1] == "Nothing wrong was found."


def test_a_receipt_is_good_however_it_was_written_down_and_half_a_line_beside_it_is_only_said(exported, tmp_path):
    lines = exported[0]
    kept_receipt = receipt(lines, 20)
    export, kept = write(tmp_path / "export.jsonl", lines), tmp_path / "kept.jsonl"
    kept.write_text('{"stream":"lo\n' + json.dumps(dict(reversed(kept_receipt.items()))))
    found = verify(export, key=SIGNER.public_key, checkpoints=kept, replay=False)
    assert found.first is None
    assert any("kept elsewhere is for event 20" in note for note in found.findings.notes)
    assert any("Line 1 of" in note and "not used as a checkpoint" in note for note in found.findings.notes)
    kept.write_text(json.dumps(kept_receipt | {"hash": "0" * 64}))
    assert verify(export, key=SIGNER.public_key, checkpoints=kept, replay=False).first is not None


def test_half_a_line_that_a_power_cut_left_spoils_no_checkpoint(tmp_path):
    file = CheckpointFile(tmp_path / "checkpoints.jsonl")
    one, two = (point("loans", stamp(seq), SIGNER.public_key, SIGNER.sign("text\n", "loans")) for seq in (1, 2))
    file.write([one])
    with open(file.path, "a") as torn:
        torn.write('{"stream":"lo')
    assert list(file.read()) == [one]
    file.write([two])
    assert list(file.read()) == [one, two]
    assert list(file.read(last=len(json.dumps(two)))) == [two]
