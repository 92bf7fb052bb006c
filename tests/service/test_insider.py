"""Somebody with the database but without the key: nothing that they change is shown, decided or certified."""

from __future__ import annotations

import json
from contextlib import closing

import numpy as np
import pytest
from forging import SIGNER, lived, rechained, write
from loans import drawn
from serving import STREAM, people, running
from sqlalchemy import text
from visitors import Browser

from likewise.cli import main
from likewise.service.canonical import digest
from likewise.service.jobs.runner import Jobs
from likewise.service.proof import standalone
from likewise.service.proof.replay import verify
from likewise.service.proof.spelling import canonical, event_hash
from likewise.service.refusals import BrokenLog
from likewise.transparency.notes import read_note


@pytest.fixture
def engine(tmp_path):
    engine = lived(tmp_path)
    engine.resume("loans", "root")
    for trigger in ("events_follow", "events_stay", "events_last", "events_once"):
        engine.store.write(lambda connection, name=trigger: connection.execute(text(f"DROP TRIGGER {name}")))
    yield engine
    engine.store.close()


def do(engine, statement, **values):
    engine.store.write(lambda connection: connection.execute(text(statement), values) and None)


def asked(engine):
    rng = np.random.default_rng(9)
    people = drawn(rng, k=3, prefix="new.")
    return engine.decide("loans", [p | {"features": p["features"] | {"sex": 0.0}} for p in people], "decider")["t"]


def cleared(engine):
    """The first cleared verdict: its line in the log."""
    lines = engine.events("loans", 0, 10_000)
    return next(line for line in lines if line["kind"] == "audited" and line["data"]["verdict"] == "cleared")


def forge(engine, line, *, rehash):
    """Change an event, with its hash or under the old one."""
    line = json.loads(json.dumps(line))
    line["data"]["verdict"] = "skipped"
    hash = event_hash(line) if rehash else line["hash"]
    data = canonical(line["data"]).decode()
    do(engine, "UPDATE events SET data = :data, hash = :hash WHERE seq = :seq", data=data, hash=hash, seq=line["seq"])


@pytest.mark.parametrize("rehash", [False, True])
def test_an_event_that_is_changed_for_a_moment_leads_to_no_certificate_and_no_page(engine, rehash):
    honest = engine.certificate("loans")
    line = cleared(engine)
    t = line["data"]["t"]
    forge(engine, line, rehash=rehash)
    for look in (lambda: engine.certificate("loans"), lambda: engine.round("loans", t)):
        with pytest.raises(BrokenLog):
            look()
    with pytest.raises(BrokenLog):
        engine.correct("loans", t, "none", "ann")
    do(engine, "UPDATE events SET data = :data, hash = :hash WHERE seq = :seq",
       data=canonical(line["data"]).decode(), hash=line["hash"], seq=line["seq"])  # fmt: skip
    assert engine.certificate("loans")["letter"] == honest["letter"], "once it is put back, all is as it was"


def test_an_event_can_not_be_hidden_from_a_certificate(engine):
    """Events are found by a column that no hash covers."""
    line = cleared(engine)
    do(engine, "UPDATE events SET round = NULL WHERE seq = :seq", seq=line["seq"])
    with pytest.raises(BrokenLog, match="is filed under round None"):
        engine.certificate("loans")
    do(engine, "UPDATE events SET kind = 'resumed' WHERE seq = :seq", seq=line["seq"])
    with pytest.raises(BrokenLog):
        engine.certificate("loans")


def test_a_person_who_is_changed_is_not_shown_to_a_reviewer_nor_decided_about(engine):
    t = asked(engine)
    do(engine, "UPDATE asides SET content = replace(content, :old, :new)", old='"score":0', new='"score":1')
    for look in (lambda: engine.claim("loans", "ann"), lambda: engine.round("loans", t)):
        with pytest.raises(BrokenLog, match="is not what event"):
            look()


def test_a_verdict_says_what_was_shown(engine):
    t = asked(engine)
    claimed = engine.claim("loans", "ann")
    while claimed["t"] != t:
        engine.audit("loans", claimed["t"], "skip", "ann")
        claimed = engine.claim("loans", "ann")
    engine.audit("loans", t, "none", "ann")
    events = engine.store.events("loans", round=t)
    opened, audited = (next(e.event for e in events if e.event.kind == kind) for kind in ("round_opened", "audited"))
    assert audited.shown == claimed["shown"]
    people = [[person.ref, person.probability] for person in opened.people]
    assert audited.shown == digest([t, ["score", "age"], people]), "sensitive features are not shown"


def test_whatever_is_said_later_of_a_round_says_what_was_shown_without_whoever_was_erased(engine, tmp_path):
    t = cleared(engine)["data"]["t"]
    engine.audit("loans", t, "skip", "ben")
    engine.correct("loans", t, "skip", "root")
    gone = engine.round("loans", t)["people"][1]["id"]
    engine.erase("loans", gone, "root")
    engine.audit("loans", t, "skip", "cyd")
    engine.correct("loans", t, "none", "root")
    events = [each.event for each in engine.store.events("loans", round=t)]
    people = [[person.ref, person.probability] for person in events[0].people]
    whole, rest = (digest([t, ["score", "age"], some]) for some in (people, [people[0], people[2]]))
    said = [(event.kind, event.shown) for event in events if event.kind in ("verdict_late", "audit_corrected")]
    assert said == [
        ("verdict_late", whole), ("audit_corrected", whole), ("verdict_late", rest), ("audit_corrected", rest),
    ]  # fmt: skip
    lines = [line for line in engine.export("loans") if line["line"] != "checkpoint"]
    assert verify(write(tmp_path / "export.jsonl", lines)).first is None
    for i in [i for i, line in enumerate(lines) if line.get("kind") in dict(said)]:
        forged = json.loads(json.dumps(lines))
        forged[i]["data"]["shown"] = "ab" * 32
        found = verify(write(tmp_path / "forged.jsonl", rechained(forged)))
        event = f"Event {lines[i]['seq']} ({lines[i]['kind']})"
        assert found.first == (lines[i]["seq"], f"{event} is about a round that was not shown so.")
        del forged[i]["data"]["shown"]
        old = verify(write(tmp_path / "old.jsonl", rechained(forged)))
        assert old.first is None, "logs of earlier releases lack it"


def test_a_result_on_a_page_is_what_the_job_found(engine):
    jobs = Jobs(engine.store)
    jobs.begin("loans", "verify", 3, lambda progress: {"said": ["Something is wrong."], "wrong": True}, wait=10)
    assert jobs.find("loans", "verify").result["wrong"] is True
    for forged in ('{"said": ["All is well."], "wrong": false}', '{"value": "{}", "seal": "ab"}', "3"):
        do(engine, "UPDATE jobs SET result = :result", result=forged)
        assert jobs.find("loans", "verify").result is None
    other = Jobs(engine.store)
    other.begin("loans", "certificate", 3, lambda progress: "a letter", wait=10)
    do(engine, "UPDATE jobs SET result = (SELECT result FROM jobs WHERE kind = 'certificate') WHERE kind = 'verify'")
    assert jobs.find("loans", "verify").result is None, "the result of another job is none of this one"


def test_a_certificate_names_the_head_that_it_rests_on_and_is_signed(engine):
    certificate = json.loads(json.dumps(engine.certificate("loans")))
    head = engine.streams.get("loans").durable
    assert (certificate["head"]["seq"], certificate["head"]["hash"]) == (head.seq, head.hash)
    note = read_note(certificate["note"])
    assert note.signed_by("likewise/loans", bytes.fromhex(SIGNER.public_key))
    rest = {name: value for name, value in certificate.items() if name not in ("key", "note")}
    assert note.text == f"likewise certificate 1\nlikewise/loans\n{digest(rest)}\n"
    assert digest(rest | {"erased": 7}) not in note.text


def test_whoever_was_handed_a_certificate_can_check_its_signature(engine, tmp_path, capsys):
    certificate = json.loads(json.dumps(engine.certificate("loans")))
    (tmp_path / "certificate.json").write_text(json.dumps(certificate))
    known = ["--certificate", str(tmp_path / "certificate.json"), "--key", SIGNER.public_key]
    assert standalone.main(known) == 0
    assert certificate["head"]["hash"] in capsys.readouterr().out
    assert standalone.main([*known[:3], "ab" * 32]) == 1
    assert "not signed with the key" in capsys.readouterr().out
    for change in ({"erased": 7}, {"head": certificate["head"] | {"seq": 1}}, {"origin": "likewise/other"}):
        (tmp_path / "certificate.json").write_text(json.dumps(certificate | change))
        assert standalone.main(known) == 1
        assert "not those that were signed" in capsys.readouterr().out
    with pytest.raises(SystemExit, match=r"^1$"):
        main(["verify", *known])
    (tmp_path / "certificate.json").write_text('{"claims": 1}')
    assert standalone.main(known) == 1
    assert "The file has no 'origin'." in capsys.readouterr().out


def test_the_secret_behind_decisions_is_not_changed_together_with_the_event_that_commits_to_it(engine):
    line = engine.events("loans", 0, 1)[0]
    secret = bytes(32)
    line["data"]["secret"] = "66687aadf862bd776c8fc18b8e9f8e20089714856ee233b3902a591d0d5f2925"
    do(engine, "UPDATE streams SET secret = :secret", secret=secret.hex())
    do(engine, "UPDATE events SET data = :data, hash = :hash WHERE seq = 1",
       data=canonical(line["data"]).decode(), hash=event_hash(line))  # fmt: skip
    engine.reads.secrets.clear()
    with pytest.raises(BrokenLog):
        asked(engine)


@pytest.mark.parametrize(
    "change",
    [
        'UPDATE events SET data = replace(data, \'"by":"ann"\', \'"by":"eve"\') WHERE kind = \'audited\'',
        "UPDATE events SET at = '2020-01-01T00:00:00.000000+00:00' WHERE seq = 3",
        "DELETE FROM events WHERE seq = 3",
        "DELETE FROM events WHERE seq > 7",
    ],
)
def test_no_forged_log_is_shown_over_http_nor_on_its_page(tmp_path, change):
    with running(database=str(tmp_path / "log.db"), tick=3600) as service:
        service.admin.post("/v1/streams", json=STREAM)
        for t in range(1, 5):
            service.admin.post("/v1/streams/loans/rounds", json={"people": people(t)})
            service.engine.audit("loans", t, "none", "ann")
        shown = service.admin.get("/v1/streams/loans/events").json()["events"]
        exported = [line for line in service.engine.export("loans") if line["line"] == "event"]
        assert [{"line": "event"} | event for event in shown] == exported
        with closing(Browser(service, service.service.sessions.login(service.tokens["admin"]))) as admin:
            pages = ["/streams/loans/log", "/streams/loans/log?kind=audited", "/streams/loans"]
            assert "ann" in admin.get(pages[0]).text
            assert [admin.get(page).status_code for page in pages] == [200, 200, 200]
            for trigger in ("events_follow", "events_stay", "events_last", "events_once"):
                do(service.engine, f"DROP TRIGGER {trigger}")
            do(service.engine, change)
            assert service.admin.get("/v1/streams/loans/events").status_code == 500
            assert admin.get(pages[0]).status_code == 500
            if "ann" in change:
                assert [admin.get(page).status_code for page in pages] == [500, 500, 500]


def test_an_erasure_takes_what_the_log_promises_wherever_it_is_filed(engine):
    t = asked(engine)
    engine.audit("loans", t, "none", "ann", note="alike, I think")
    remark, reason = (engine.store.remarks("loans", [round])[0].ref for round in (t, 0))
    move = "UPDATE asides SET round = :to WHERE ref = :ref"
    do(engine, move, ref=remark, to=0)
    with pytest.raises(BrokenLog, match="no event has erased"):
        engine.erase("loans", "new.1", "root")
    do(engine, move, ref=remark, to=t - 1)
    with pytest.raises(BrokenLog, match="no event has erased"):
        engine.erase("loans", "new.1", "root")
    do(engine, move, ref=remark, to=t)
    do(engine, move, ref=reason, to=t)
    engine.erase("loans", "new.1", "root")
    assert [aside.ref for aside in engine.store.remarks("loans", [t])] == [reason]
    with pytest.raises(BrokenLog, match="is filed as a remark of round"):
        engine.erase_reasons("loans", "root")
    do(engine, move, ref=reason, to=0)
    assert engine.erase_reasons("loans", "root")["erased"] == 1
