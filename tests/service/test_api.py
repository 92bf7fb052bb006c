"""The service over HTTP. Every answer in these tests is held against the OpenAPI document (see serving.documented)."""

from __future__ import annotations

import itertools
import json
import threading
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest
from serving import STREAM, people, running, until

from likewise.service.accounts.rates import Rates
from likewise.service.engine import Engine
from likewise.service.proof import replay as verify
from likewise.service.refusals import Unavailable

LOANS = "/v1/streams/loans"
ROUNDS = LOANS + "/rounds"
JSON = {"Content-Type": "application/json"}


@pytest.fixture
def service(serve, tmp_path):
    """A service on SQLite with a stream of loans."""
    found = serve(tmp_path / "log.db")
    assert found.admin.post("/v1/streams", json=STREAM).status_code == 201
    return found


def play(service, t, verdict="none", pair=()):
    """A whole round: decisions, labels, an audit."""
    opened = service.decider.post(ROUNDS, json={"people": people(t)}).json()
    labels = {one["id"]: int(one["features"]["score"] > 0.5) for one in people(t)}
    assert service.decider.put(f"{ROUNDS}/{opened['t']}/labels", json={"labels": labels}).is_success
    said = {"verdict": verdict, "pair": pair}
    assert service.auditor.post(f"{LOANS}/audits/claim").json()["t"] == opened["t"]
    assert service.auditor.put(f"{ROUNDS}/{opened['t']}/audit", json=said).is_success
    return opened


# The life of a stream ---------------------------------------------------------------------------------------------


def test_a_round_from_its_opening_to_its_lesson(serve, database, tmp_path):
    service = serve(database)
    created = service.admin.post("/v1/streams", json=STREAM)
    assert created.status_code == 201
    opened = service.decider.post(ROUNDS, json={"people": people(1)})
    assert opened.status_code == 201
    assert [one["id"] for one in opened.json()["decisions"]] == ["1-0", "1-1", "1-2"]
    assert all(0 <= one["probability"] <= 1 and one["decision"] in (0, 1) for one in opened.json()["decisions"])
    claimed = service.auditor.post(f"{LOANS}/audits/claim").json()
    assert claimed["t"] == 1
    assert [set(one) for one in claimed["people"]] == [{"id", "features", "probability"}] * 3
    assert [set(one["features"]) for one in claimed["people"]] == [{"score"}] * 3
    first = service.decider.put(f"{ROUNDS}/1/labels", json={"labels": {"1-0": 1}})
    again = service.decider.put(f"{ROUNDS}/1/labels", json={"labels": {"1-0": 1}})
    other = service.decider.put(f"{ROUNDS}/1/labels", json={"labels": {"1-0": 0}})
    whole = service.decider.put(f"{ROUNDS}/1/labels", json={"labels": {"1-1": 0, "1-2": 1}})
    assert [a.json().get("disposition") for a in (first, again, whole)] == ["pending", "duplicate", "joined"]
    assert other.status_code == 409
    verdict = service.auditor.put(f"{ROUNDS}/1/audit", json={"verdict": "none", "note": "fine"})
    assert verdict.json()["verdict"] == "cleared"
    until(lambda: service.viewer.get(f"{ROUNDS}/1").json()["status"] == "learned")
    assert service.decider.get(LOANS).json()["learned"] == 1
    assert service.decider.post(ROUNDS, json={"people": people(2)}).json()["version"] == 1
    assert service.viewer.get(f"{LOANS}/certificate").json()["stream"] == "loans"
    assert service.decider.get(f"{LOANS}/people/1-0").json()["rounds"][0]["label"] == 1
    exported = tmp_path / "export.jsonl"
    exported.write_bytes(service.admin.get(f"{LOANS}/export").content)
    assert verify.verify(exported, key=created.json()["receipt"]["key"]).first is None


def test_a_report_is_ordered_by_the_recorded_probabilities_and_one_that_cannot_be_is_refused(service):
    for t in range(1, 4):
        play(service, t)
    opened = service.decider.post(ROUNDS, json={"people": people(7, k=8)}).json()
    by_probability = sorted(opened["decisions"], key=lambda one: one["probability"])
    low, high = by_probability[0]["id"], by_probability[-1]["id"]
    same = next(
        [a["id"], b["id"]] for a, b in itertools.pairwise(by_probability) if a["probability"] == b["probability"]
    )
    where = f"{ROUNDS}/{opened['t']}/audit"
    unclaimed = service.auditor.put(where, json={"verdict": "pair", "pair": same})
    assert (unclaimed.status_code, "have not claimed" in unclaimed.json()["detail"]) == (409, True)
    assert service.auditor.post(f"{LOANS}/audits/claim").json()["t"] == opened["t"]
    refused = service.auditor.put(where, json={"verdict": "pair", "pair": same})
    assert refused.status_code == 422
    assert "0.1" in refused.json()["detail"]
    assert service.auditor.put(where, json={"verdict": "pair", "pair": [low, high]}).json()["pair"] == [high, low]
    assert service.auditor.put(where, json={"verdict": "none"}).json()["disposition"] == "late"


def test_a_verdict_is_retracted_within_its_grace_and_corrected_after_it(service):
    service.admin.patch(LOANS, json={"waits": {"grace": 600}})
    play(service, 1)
    assert service.auditor.post(f"{ROUNDS}/1/audit/retract").json()["t"] == 1
    assert service.viewer.get(f"{ROUNDS}/1").json()["audit"] is None
    service.admin.patch(LOANS, json={"waits": {"grace": 0}})
    took = {"verdict": "skip", "hints": False, "seconds": 2}
    assert service.auditor.put(f"{ROUNDS}/1/audit", json=took | {"seconds": -2}).status_code == 422
    assert service.auditor.put(f"{ROUNDS}/1/audit", json=took).is_success
    given = service.viewer.get(f"{ROUNDS}/1").json()["audit"]
    assert (given["hints"], given["seconds"]) == (False, 2.0)
    until(lambda: service.viewer.get(f"{ROUNDS}/1").json()["status"] == "learned")
    assert service.auditor.post(f"{ROUNDS}/1/audit/retract").status_code == 409
    assert service.auditor.post(f"{ROUNDS}/1/audit/correct", json={"verdict": "none"}).status_code == 200
    assert service.auditor.post(f"{ROUNDS}/1/audit/correct", json=took).status_code == 422, "nobody measures those"
    assert service.viewer.get(f"{ROUNDS}/1").json()["corrections"][0]["verdict"] == "cleared"


def test_no_round_is_in_front_of_two_auditors(service):
    other = service.connect(service.service.tokens.add("bob", "auditor")[0])
    service.decider.post(ROUNDS, json={"people": people(1)})
    assert service.auditor.post(f"{LOANS}/audits/claim").json()["t"] == 1
    assert other.post(f"{LOANS}/audits/claim").status_code == 204
    assert "Somebody else is auditing" in other.post(f"{ROUNDS}/1/audit/renew").json()["detail"]
    assert service.auditor.post(f"{ROUNDS}/1/audit/renew").status_code == 200
    assert service.auditor.post(f"{ROUNDS}/1/audit/release").status_code == 204
    assert other.post(f"{LOANS}/audits/claim").json()["t"] == 1


def test_only_a_round_that_was_claimed_can_be_kept(service):
    for t in (1, 2):
        service.decider.post(ROUNDS, json={"people": people(t)})
    never = service.auditor.post(f"{ROUNDS}/2/audit/renew")
    assert never.status_code == 409
    assert "claim" in never.json()["detail"]
    assert service.auditor.post(f"{LOANS}/audits/claim").json()["t"] == 1
    assert service.auditor.post(f"{ROUNDS}/3/audit/renew").status_code == 404


def test_a_stopped_stream_says_why_and_decides_again_when_resumed(service):
    service.decider.post(f"{LOANS}/stop", json={"reason": "a broken sensor"})
    refused = service.decider.post(ROUNDS, json={"people": people(1)})
    assert refused.status_code == 503
    assert "a broken sensor" in refused.json()["detail"]
    assert service.viewer.get(LOANS).json()["stopped"] == "a broken sensor"
    assert service.admin.post(f"{LOANS}/resume").json()["stopped"] is None
    assert service.decider.post(ROUNDS, json={"people": people(1)}).status_code == 201


def test_an_erased_person_is_gone_and_the_log_still_verifies(service, tmp_path):
    play(service, 1)
    assert service.admin.delete(f"{LOANS}/people/1-0").json()["rounds"] == [1]
    assert service.admin.get(f"{LOANS}/people/1-0").status_code == 404
    exported = tmp_path / "export.jsonl"
    exported.write_bytes(service.admin.get(f"{LOANS}/export").content)
    assert b"1-0" not in exported.read_bytes()
    assert verify.verify(exported).first is None


def test_ids_with_slashes_and_signs_can_be_asked_for(service):
    person = "a/b c?d=é"
    service.decider.post(ROUNDS, json={"people": [{"id": person, "features": {"score": 0.5, "age": 40}}]})
    assert service.decider.get(f"{LOANS}/people/a%2Fb%20c%3Fd%3D%C3%A9").json()["id"] == person


def test_cuts_come_from_a_sample_that_is_not_kept(service):
    sample = [{"score": i / 10, "age": 30} for i in range(11)]
    body = {**STREAM, "name": "sampled", "cuts": {"score": 4}, "sample": sample}
    settings = service.admin.post("/v1/streams", json=body).json()["settings"]
    assert len(settings["cuts"]["score"]) == 4
    assert "sample" not in settings


# Once, and in pages -----------------------------------------------------------------------------------------------


def test_a_post_sent_five_times_at_once_is_one_event(serve, database):
    service = serve(database)
    service.admin.post("/v1/streams", json=STREAM)
    before = service.engine.store.head("loans")[0]

    def send(i):
        return service.decider.post(ROUNDS, json={"people": people(1)}, headers={"Idempotency-Key": "one"})

    with ThreadPoolExecutor(5) as pool:
        answers = list(pool.map(send, range(5)))
    assert {a.status_code for a in answers} == {201}
    assert all(a.json() == answers[0].json() for a in answers)
    assert service.engine.store.head("loans")[0] == before + 1


def test_a_key_with_another_request_is_refused(service):
    key = {"Idempotency-Key": "one"}
    assert service.decider.post(ROUNDS, json={"people": people(1)}, headers=key).status_code == 201
    assert service.decider.post(ROUNDS, json={"people": people(2)}, headers=key).status_code == 422
    mine = service.admin.post(ROUNDS, json={"people": people(2)}, headers=key)
    assert mine.status_code == 201, "somebody else's key is another key"


def test_events_and_streams_are_read_in_pages(service):
    for t in range(1, 4):
        play(service, t)
    for name in ("b", "a", "c"):
        service.admin.post("/v1/streams", json={**STREAM, "name": name})
    found, after = [], 0
    while after is not None:
        page = service.viewer.get(f"{LOANS}/events", params={"after": after, "limit": 2}).json()
        found, after = found + page["events"], page["next"]
    assert [one["seq"] for one in found] == list(range(1, service.engine.store.head("loans")[0] + 1))
    first = service.viewer.get("/v1/streams", params={"limit": 3}).json()
    rest = service.viewer.get("/v1/streams", params={"after": first["next"]}).json()
    assert [first["streams"], rest["streams"], rest["next"]] == [["a", "b", "c"], ["loans"], None]


# Refusals ---------------------------------------------------------------------------------------------------------

ONE = {"id": "x", "features": {"score": 0.5, "age": 40}}
BAD_ROUNDS = {
    "NaN": (b'{"people": [{"id": "x", "features": {"score": NaN, "age": 1}}]}', 400, "NaN"),
    "an infinity": (b'{"people": [{"id": "x", "features": {"score": -Infinity, "age": 1}}]}', 400, "Infinity"),
    "a float without end": (b'{"people": [{"id": "x", "features": {"score": 1e999, "age": 1}}]}', 400, "1e999"),
    "a huge integer": (b'{"people": [{"id": "x", "features": {"score": 1%s, "age": 1}}]}' % (b"0" * 350), 422, "score"),
    "an endless integer": (b'{"people": [{"id": "x", "features": {"score": %s}}]}' % (b"9" * 9000), 400, "digits"),
    "wrong UTF-8": (b'{"people": [{"id": "\xff"}]}', 400, "UTF-8"),
    "half a character": (b'{"people": [{"id": "\\ud800", "features": {}}]}', 400, "surrogate"),
    "NUL in an id": (b'{"people": [{"id": "\\u0000", "features": {"score": 0.5, "age": 1}}]}', 422, "id"),
    "a name twice": (b'{"people": [], "people": []}', 400, "twice"),
    "a deep nest": (b"[" * 100_000, 400, "nested"),
    "no JSON": (b"people", 400, "JSON"),
    "nothing": (b"", 400, "JSON"),
    "a list": ([], 422, "body"),
    "no people": ({"people": []}, 422, "/people"),
    "too many people": ({"people": [{**ONE, "id": str(i)} for i in range(9)]}, 422, "8"),
    "the same person twice": ({"people": [ONE, ONE]}, 422, "x"),
    "no id": ({"people": [{"features": {}}]}, 422, "/people/0/id"),
    "an id that is a number": ({"people": [{**ONE, "id": 5}]}, 422, "/people/0/id"),
    "a missing feature": ({"people": [{"id": "x", "features": {"score": 0.5}}]}, 422, "age"),
    "an unknown feature": ({"people": [{"id": "x", "features": {**ONE["features"], "zip": 1}}]}, 422, "zip"),
    "ragged features": ({"people": [ONE, {"id": "y", "features": {"score": [0.5], "age": 1}}]}, 422, "/people/1"),
    "a text for a number": ({"people": [{"id": "x", "features": {"score": "high", "age": 1}}]}, 422, "score"),
    "a truth for a number": ({"people": [{"id": "x", "features": {"score": True, "age": 1}}]}, 422, "score"),
    "an unknown field": ({"people": [ONE], "persons": []}, 422, "/persons"),
    "an id that means a place": ({"people": [{**ONE, "id": ".."}]}, 422, "id"),
}


@pytest.fixture(scope="module")
def strict(tmp_path_factory):
    """A service that is only ever asked for what it refuses."""
    with running(database=str(tmp_path_factory.mktemp("strict") / "log.db"), tick=60, max_body=200_000) as found:
        assert found.admin.post("/v1/streams", json=STREAM).status_code == 201
        yield found


def refused(service, method, path, status, word="", **request):
    """A request that is refused with a word, and leaves no trace."""
    before = service.engine.store.head("loans"), service.engine.store.streams()
    answer = service.admin.request(method, path, **request)
    assert answer.status_code == status, answer.text
    assert word in answer.json()["detail"], answer.text
    assert (service.engine.store.head("loans"), service.engine.store.streams()) == before
    return answer


@pytest.mark.parametrize("what", BAD_ROUNDS)
def test_a_bad_batch_is_refused_in_a_sentence_that_says_what_to_fix(strict, what):
    body, status, word = BAD_ROUNDS[what]
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    refused(strict, "POST", ROUNDS, status, word, content=content, headers=JSON)


BAD_STREAMS = {
    "a name with spaces": ({"name": "Big Loans"}, "name"),
    "alpha beyond one": ({"alpha": 1.5}, "alpha"),
    "cuts that fall": ({"cuts": {"score": [0.6, 0.4]}}, "cuts"),
    "cuts for nobody": ({"cuts": {"zip": [1]}}, "cuts"),
    "no features": ({"features": []}, "features"),
    "a feature twice": ({"features": [{"name": "score"}, {"name": "score"}]}, "features"),
    "too many features": ({"features": [{"name": f"f{i}"} for i in range(201)]}, "200"),
    "a batch beyond the limit": ({"k": 10_000}, "256"),
    "more cells than memory": (
        {"features": [{"name": f"f{i}"} for i in range(30)], "hypotheses": "cells",
         "cuts": {f"f{i}": [1, 2, 3] for i in range(30)}},
        "100000",
    ),
    "an unknown learner": ({"learner": "oracle"}, "learner"),
    "a wait below zero": ({"waits": {"grace": -1}}, "grace"),
    "a wait beyond the calendar": ({"waits": {"grace": 1e12}}, "grace"),
    "an alpha that no float holds": ({"alpha": 10**399}, "alpha"),
    "a T that no float holds": ({"T": 10**399}, "`T`"),
    "costs that no sum holds": ({"costs": [1e308, 1e308]}, "costs"),
    "a penalty that no sum holds": ({"penalty": 1e308}, "penalty"),
    "a count of cuts for a category": (
        {"features": [{"name": "town", "kind": "category", "levels": ["n", "s"]}], "cuts": {"town": 4},
         "sample": [{"town": "n"}]},
        "cuts",
    ),
    "a count of cuts without a sample": ({"cuts": {"score": 4}}, "sample"),
    "more cuts than memory": ({"cuts": {"score": 10**12}, "sample": [{"score": 0.1}]}, "cuts"),
    "a setting that there is not": ({"seed": 1}, "`seed` must be left out"),
}  # fmt: skip


@pytest.mark.parametrize("what", BAD_STREAMS)
def test_a_bad_stream_is_refused_in_a_sentence_that_says_what_to_fix(strict, what):
    changes, word = BAD_STREAMS[what]
    refused(strict, "POST", "/v1/streams", 422, word, json={**STREAM, "name": "other", **changes})


def test_every_other_refusal_has_the_same_shape(strict):
    refused(strict, "GET", "/nowhere", 404, "/openapi.json")
    refused(strict, "GET", "/v1/streams/none", 404, "none")
    refused(strict, "GET", "/v1/streams/%00", 404)
    refused(strict, "GET", f"{ROUNDS}/99", 404, "99")
    refused(strict, "GET", f"{ROUNDS}/one", 422, "t")
    refused(strict, "PUT", f"{ROUNDS}/{10**30}/labels", 422, "t", json={"labels": {"x": 1}})
    refused(strict, "DELETE", "/v1/streams", 405, "Allow")
    refused(strict, "POST", ROUNDS, 415, "application/json", content=b"{}", headers={"Content-Type": "text/plain"})
    refused(strict, "POST", ROUNDS, 422, "Idempotency-Key", json={"people": [ONE]}, headers={"Idempotency-Key": "a b"})
    refused(strict, "PUT", f"{ROUNDS}/1/labels", 404, "1", json={"labels": {"x": 1}})
    refused(strict, "GET", f"{LOANS}/events?limit=1001", 422, "1000")
    refused(strict, "POST", "/v1/streams", 409, "loans", json=STREAM)


def test_a_wrong_value_is_named_by_its_place_in_the_body(strict):
    wrong = {"people": [ONE, {"id": "y", "features": {"score": [0.5], "age": 1}}]}
    answer = refused(strict, "POST", ROUNDS, 422, "/people/1/features/score: ", json=wrong)
    assert {one["where"] for one in answer.json()["errors"]} == {"/people/1/features/score"}
    wrong = {**STREAM, "alpha": "much", "cuts": {"score": [0.1, True]}}
    answer = refused(strict, "POST", "/v1/streams", 422, "/alpha: ", json=wrong)
    assert {"/alpha", "/cuts/score/1"} <= {one["where"] for one in answer.json()["errors"]}
    refused(strict, "PUT", f"{ROUNDS}/1/labels", 422, "/labels: ", json={"label": {"x": 1}})


def test_a_refused_method_is_told_every_method_there_is(strict):
    assert refused(strict, "PUT", LOANS, 405).headers["Allow"] == "GET, PATCH"
    assert refused(strict, "DELETE", "/v1/streams", 405).headers["Allow"] == "GET, POST"
    assert refused(strict, "POST", f"{LOANS}/people/x", 405).headers["Allow"] == "DELETE, GET"


def test_words_that_no_database_holds_are_refused_by_what_is_wrong_with_them(strict):
    answer = refused(strict, "POST", f"{LOANS}/stop", 422, "reason", json={"reason": "for\0ever"})
    assert "NUL" in answer.json()["detail"]


def test_a_penalty_that_grows_beyond_its_theorem_is_promised_nothing(service):
    body = {**STREAM, "name": "growing", "penalty": {"first": 10, "growth": 0.1}}
    assert service.admin.post("/v1/streams", json=body).status_code == 201
    service.decider.post("/v1/streams/growing/rounds", json={"people": people(1)})
    service.auditor.post("/v1/streams/growing/audits/claim")
    service.auditor.put("/v1/streams/growing/rounds/1/audit", json={"verdict": "none"})
    labels = {one["id"]: 1 for one in people(1)}
    service.decider.put("/v1/streams/growing/rounds/1/labels", json={"labels": labels})
    regret = service.viewer.get("/v1/streams/growing").json()["regret"]
    assert regret["promised"]["error_regret"] is None
    assert regret["promised"]["violations"] > 0
    assert service.viewer.get("/v1/streams/growing/certificate").json()["regret_limits"] == regret


def test_a_long_body_is_refused_whether_it_says_so_or_not(strict):
    refused(strict, "POST", ROUNDS, 413, "200,000", content=b" " * 200_001, headers=JSON)
    pieces = (b" " * 1000 for _ in range(300))
    refused(strict, "POST", ROUNDS, 413, "200,000", content=pieces, headers=JSON)


def test_who_asks_too_often_is_told_when_to_come_back(serve, tmp_path):
    service = serve(tmp_path / "log.db", max_rate=60, max_anonymous_rate=12)
    service.service.gate.rates = Rates(lambda: 0.0)  # however long it takes to ask, no time passes
    answers = [service.viewer.get("/v1/streams") for _ in range(12)]
    assert [a.status_code for a in answers] == [200] * 10 + [429] * 2
    assert int(answers[-1].headers["Retry-After"]) >= 1
    assert [service.anybody.get("/v1/streams").status_code for _ in range(3)] == [401, 401, 429]
    assert service.admin.get("/v1/streams").status_code == 200, "one user's haste is not another's"


def test_a_token_that_was_revoked_or_expired_is_worth_nothing(service):
    tokens = service.service.tokens
    short = service.connect(tokens.add("short", "viewer", days=1e-9)[0])
    gone = service.connect(tokens.add("gone", "viewer")[0])
    assert short.get(LOANS).status_code == 401
    assert gone.get(LOANS).status_code == 200
    assert tokens.revoke("gone") == 1
    until(lambda: gone.get(LOANS).status_code == 401)
    with service.engine.store.read() as connection:
        kept = str(connection.exec_driver_sql("SELECT * FROM tokens").all())
    assert not any(token in kept or token[3:] in kept for token in service.tokens.values())


# Health -----------------------------------------------------------------------------------------------------------


def test_a_service_is_alive_at_once_and_ready_when_it_has_read_its_logs(serve, tmp_path, monkeypatch):
    gate, start = threading.Event(), Engine.start
    monkeypatch.setattr(Engine, "start", lambda engine: gate.wait(300) and start(engine))
    service = serve(tmp_path / "log.db")
    assert service.anybody.get("/livez").status_code == 200
    assert service.anybody.get("/readyz").status_code == 503
    gate.set()
    until(lambda: service.anybody.get("/readyz").status_code == 200)


def test_a_failure_inside_is_a_problem_too_and_is_counted(service, monkeypatch, caplog):
    monkeypatch.setattr(Engine, "stream", lambda *_: 1 / 0)
    answer = service.viewer.get(LOANS)
    assert answer.status_code == 500
    assert "ZeroDivisionError" not in answer.text
    assert "ZeroDivisionError" in caplog.text

    def away(*_):
        raise Unavailable("The database is away.")

    monkeypatch.setattr(Engine, "tick", away)
    until(lambda: "likewise_clock_failures_total 0.0" not in service.anybody.get("/metrics").text)
    monkeypatch.undo()
    play(service, 1)
    until(lambda: service.viewer.get(LOANS).json()["learned"] == 1)


def test_metrics_count_requests_by_route_and_name_nobody(service):
    play(service, 1)
    service.decider.get(f"{LOANS}/people/1-0")
    said = service.anybody.get("/metrics").text
    assert 'likewise_requests_total{method="POST",route="/v1/streams/{stream}/rounds",status="201"} 1.0' in said
    assert "likewise_streams 1.0" in said
    assert "loans" not in said
    assert "1-0" not in said


def test_the_openapi_document_is_served_and_documents_the_problems(service):
    document = service.anybody.get("/openapi.json").json()
    operations = [
        one for path, methods in document["paths"].items() if path.startswith("/v1") for one in methods.values()
    ]
    assert len(operations) > 15
    assert all("application/problem+json" in one["responses"]["422"]["content"] for one in operations)
    assert all(one["security"] for one in operations)
    changing = [
        path
        for path, methods in document["paths"].items()
        for one in methods.values()
        if any(parameter["name"] == "Idempotency-Key" for parameter in one.get("parameters", ()))
    ]
    leases = ("claim", "renew", "release")  # say the same however often they are asked
    posts = [path for path, methods in document["paths"].items() if "post" in methods and not path.endswith(leases)]
    assert set(posts) <= set(changing)
    others = (
        "and PUT of labels, an audit, an opinion, a brief, a known round and practice, PATCH of a stream and of its "
        "plan, DELETE of a person and of reasons"
    )
    assert len(changing) == len(posts) + 10, others


def test_the_openapi_document_says_what_every_setting_of_a_stream_means(service):
    parts = service.anybody.get("/openapi.json").json()["components"]["schemas"]
    for part in ("StreamBody", "Settings", "Waits", "Feature"):
        assert [name for name, field in parts[part]["properties"].items() if not field.get("description")] == []
    alpha = parts["StreamBody"]["properties"]["alpha"]
    assert (alpha["exclusiveMinimum"], alpha["maximum"]) == (0, 1)
    assert alpha["description"] == "The largest difference in probability that two equal people may have."


def test_a_body_is_not_even_read_for_somebody_who_may_not_send_it(service):
    answer = httpx.post(service.url + ROUNDS, content=b"not JSON", headers=JSON, timeout=300)
    assert answer.status_code == 401
