"""What every request passes first: hosts, HEAD on pages, HSTS; cookies that end, and ids with one spelling."""

from __future__ import annotations

import unicodedata
from contextlib import closing

import numpy as np
import pytest
from loans import drawn, loans
from serving import STREAM, people, running, until
from visitors import Browser

from likewise.errors import InvalidParameter, ReportRefused
from likewise.service.pages.visits import COOKIE


@pytest.fixture
def beside(tmp_path):
    return {"database": str(tmp_path / "log.db"), "key": tmp_path / "key", "checkpoints": tmp_path / "checkpoints"}


def test_head_on_a_page_is_answered_like_get_without_a_body(beside):
    with running(**beside) as service:
        for path in ("/login", "/favicon.ico"):
            got, head = service.anybody.get(path), service.anybody.head(path)
            assert (head.status_code, head.content) == (200, b"")
            assert head.headers["content-length"] == str(len(got.content))
        refused = service.anybody.put("/login")
        assert refused.status_code == 405
        assert "POST" in refused.headers["allow"]


@pytest.mark.parametrize(("behind", "told"), [(False, None), (True, "max-age=31536000")])
def test_hsts_is_said_behind_tls_and_nowhere_else(beside, behind, told):
    with running(**beside, behind_proxy=behind) as service:
        for path in ("/login", "/livez", "/v1/streams"):
            assert service.anybody.get(path).headers.get("strict-transport-security") == told


def test_only_the_hosts_that_were_named_are_answered_for_but_for_probes(beside):
    with running(**beside, hosts="loans.example, 127.0.0.1") as service:
        ask = service.anybody.get
        assert ask("/login").status_code == 200
        assert ask("/login", headers={"Host": "Loans.Example:8321"}).status_code == 200
        forged = ask("/login", headers={"Host": "evil.example"})
        assert (forged.status_code, forged.json()["status"]) == (400, 400)
        assert ask("/livez", headers={"Host": "10.0.0.7:8321"}).status_code == 200


def test_a_cookie_is_worth_nothing_after_logging_out_and_other_sessions_go_on(beside):
    with running(**beside) as service:
        service.admin.post("/v1/streams", json=STREAM)
        sessions = service.service.sessions
        first, second = (sessions.login(service.tokens["viewer"]) for _ in range(2))
        form = sessions.csrf(sessions.find(first))

        def visit(cookie):
            return service.anybody.get("/streams/loans", headers={"Cookie": f"{COOKIE}={cookie}"}).status_code

        assert (visit(first), visit(second)) == (200, 200)
        out = service.anybody.post("/logout", data={"csrf": form}, headers={"Cookie": f"{COOKIE}={first}"})
        assert out.status_code == 303
        assert (visit(first), visit(second)) == (303, 200)
        sessions.end("forged")
        assert sessions.find(second) is not None


def test_an_id_in_two_spellings_is_not_two_people(beside):
    composed, apart = (unicodedata.normalize(form, "Zoë") for form in ("NFC", "NFD"))
    assert composed != apart
    with running(**beside) as service:
        service.admin.post("/v1/streams", json=STREAM)
        rounds = [{"people": [people(1)[0] | {"id": id}]} for id in (composed, apart)]
        answers = [service.admin.post("/v1/streams/loans/rounds", json=round_) for round_ in rounds]
        assert [answer.status_code for answer in answers] == [201, 422]
        assert "normal form NFC" in answers[1].json()["detail"]


def test_a_refusal_does_not_tell_how_far_apart_two_people_are(new_database, start):
    engine = start(new_database("sqlite"))
    engine.create(loans(alpha=0.9), "root")
    rng = np.random.default_rng(0)
    for _ in range(3):
        asked = drawn(rng)
        answer = engine.decide("loans", asked, "decider")
        engine.audit("loans", answer["t"], "none", "ann")
        engine.label("loans", answer["t"], {p["id"]: int(p["features"]["score"] > 0.5) for p in asked}, "decider")
    answer = engine.decide("loans", drawn(rng), "decider")
    p = [person["probability"] for person in answer["decisions"]]
    ids = [person["id"] for person in answer["decisions"]]
    high, low = int(np.argmax(p)), int(np.argmin(p))
    assert p[high] > p[low]
    with pytest.raises(ReportRefused) as refused:
        engine.audit("loans", answer["t"], "pair", "ann", pair=[ids[high], ids[low]])
    assert f"{p[high] - p[low]:.4g}" not in str(refused.value)
    with pytest.raises(InvalidParameter):
        engine.audit("loans", answer["t"], "pair", "ann", pair=["nobody", ids[low]])


def test_no_door_takes_a_verdict_of_an_auditor_who_never_had_the_round_open_or_closed(beside):
    rounds, stranger = "/v1/streams/loans/rounds", {"verdict": "none"}
    with running(**beside) as service:
        service.admin.post("/v1/streams", json=STREAM | {"waits": {"grace": 0, "label": 0}})
        for t in (1, 2):
            service.admin.post(rounds, json={"people": people(t)})
        assert service.auditor.post("/v1/streams/loans/audits/claim").json()["t"] == 1
        service.auditor.put(f"{rounds}/1/audit", json={"verdict": "none"})
        until(lambda: service.viewer.get(f"{rounds}/1").json()["status"] == "learned")
        until(lambda: service.viewer.get(f"{rounds}/2").json()["labels"] == "expired")  # nothing else is due
        before = service.engine.store.head("loans")
        token, _ = service.service.tokens.add("eve", "auditor")
        eve = service.connect(token)
        cookie = service.service.sessions.login(token)
        csrf = service.service.sessions.csrf(service.service.sessions.find(cookie))
        with closing(Browser(service, cookie, csrf)) as page:
            refused = [page.ask("/streams/loans/review/verdict", t=t, verdict="none") for t in (1, 2)]
        refused += [eve.put(f"{rounds}/{t}/audit", json=stranger) for t in (1, 2)]
        refused.append(eve.post(f"{rounds}/1/audit/correct", json=stranger))
        assert [(answer.status_code, "have not claimed" in answer.text) for answer in refused] == [(409, True)] * 5
        assert service.engine.store.head("loans") == before
        assert eve.put(f"{rounds}/3/audit", json=stranger).status_code == 404
        service.engine.leases.sweep(service.engine.clock() + 86_400)  # whose verdict it is stays known
        assert service.auditor.post(f"{rounds}/1/audit/correct", json={"verdict": "skip"}).status_code == 200
