"""likewise.Client: every route, retries that are safe, and errors that carry the problem."""

from __future__ import annotations

import json
import subprocess
import sys

import httpx
import numpy as np
import pytest
from serving import STREAM, operation_of, people

import likewise as lw
from likewise.client import Client, ServiceRefused, ServiceUnreachable
from likewise.errors import InvalidParameter
from likewise.service.log.tree import leaves
from likewise.service.proof import signed_log
from likewise.service.proof.replay import verify
from likewise.service.proof.standalone import main
from likewise.transparency.kept import LogContradicted, LogNotTrusted
from likewise.transparency.merkle import Frontier
from likewise.transparency.notes import checkpoint_of, read_note, read_proof
from likewise.transparency.notes import hashes as spelt

ONE = [{"id": "x", "features": {"score": 0.5, "age": 40}}]


class Between(httpx.BaseTransport):
    """What lies between a client and the service: it may answer itself, or lose the answer on its way back."""

    def __init__(self, *happenings):
        self.happenings, self.seen = list(happenings), []
        self.inner = httpx.HTTPTransport()

    def handle_request(self, request):
        self.seen.append(request)
        happening = self.happenings.pop(0) if self.happenings else "pass"
        if isinstance(happening, httpx.Response):
            return happening
        if happening == "refuse":
            raise httpx.ConnectError("refused")
        answer = self.inner.handle_request(request)
        if happening == "lose":
            answer.read()
            answer.close()
            raise httpx.ReadError("lost")
        return answer

    def close(self):
        self.inner.close()


@pytest.fixture
def service(serve, tmp_path):
    found = serve(tmp_path / "log.db")
    found.admin.post("/v1/streams", json=STREAM)
    return found


@pytest.fixture
def waits(monkeypatch):
    """The waits of the client, which pass at once."""
    found = []
    monkeypatch.setattr("likewise.client.time.sleep", found.append)
    return found


def test_a_whole_stream_through_the_client(service, tmp_path):
    """The example of a team that has only the client."""
    asked = Between()
    with lw.Client(service.url, service.tokens["admin"], transport=asked) as client:
        assert client.ready()
        key = client.create_stream(**STREAM | {"name": "small"})["receipt"]["key"]
        assert list(client.streams()) == ["loans", "small"]
        client.change_waits("small", grace=600)
        opened = client.decide("small", people(1))
        t, ids = opened["t"], [one["id"] for one in opened["decisions"]]
        assert client.label("small", t, {ids[0]: 1})["disposition"] == "pending"
        assert client.claim("small")["t"] == t
        assert client.renew("small", t)["t"] == t
        client.release("small", t)
        client.audit("small", t, "none", note="fine")
        client.retract("small", t)
        client.change_waits("small", grace=0)
        assert client.change_plan("small", rule="any")["review"]["rule"] == "any"
        assert client.brief("small")["version"] == 0
        told = client.change_brief("small", alike="Same debts.", reasons=["debts"])
        assert client.brief("small") == {name: told[name] for name in ("stream", "version", "brief")}
        assert (told["version"], told["brief"]["alike"], told["brief"]["pairs"]) == (1, "Same debts.", "")
        with pytest.raises(ServiceRefused, match="`reasons` must be at most 4 and all different"):
            client.change_brief("small", reasons=["debts", "debts"])
        with pytest.raises(ServiceRefused, match="Nobody asks you"):
            client.judge_pair("small", t, ids[:2], True)
        with pytest.raises(ServiceRefused, match="still open"):
            client.mark_known("small", t, "gold")
        assert client.practice("small") is None
        with pytest.raises(ServiceRefused, match="not a practice round"):
            client.practise("small", t, "none")
        assert client.reviewers("small")["reviewers"] == []
        assert "reviews a week" in client.plan("small", rounds_a_day=10)["sentence"]
        client.audit("small", t, "skip")
        assert client.label("small", t, dict.fromkeys(ids[1:], 0))["disposition"] == "joined"
        assert client.correct("small", t, "none")["verdict"] == "cleared"
        assert client.claim("small") is None
        assert client.round("small", t)["status"] == "learned"
        assert client.stream("small")["learned"] == 1
        assert client.person("small", ids[0])["rounds"][0]["label"] == 1
        assert client.notice("small", ids[0], t)["about"] == ids[0]
        assert client.receipt("small", ids[0], t)["content"]["id"] == ids[0]
        head = service.engine.store.head("small")[0]
        assert [one["seq"] for one in client.events("small", page=2)] == list(range(1, head + 1))
        assert "letter" in client.certificate("small")
        assert client.stop("small", "enough")["stopped"] == "enough"
        assert client.erase_reasons("small")["erased"] == 1
        receipt = client.resume("small")["receipt"]
        assert client.proof("small", receipt["seq"])["hash"] == receipt["hash"]
        assert client.check("small")["key"] == key
        client.export("small", tmp_path / "export.jsonl")
        assert client.erase("small", ids[0])["rounds"] == [t]
    assert verify(tmp_path / "export.jsonl", key=key).first is None
    document = service.app.openapi()
    reached = {operation_of(request, document)["operationId"] for request in asked.seen}
    assert reached == {
        one["operationId"]
        for path, operations in document["paths"].items()
        if path.startswith("/v1") or path == "/readyz"
        for one in operations.values()
    }


def test_an_answer_that_is_lost_is_asked_for_again_and_happens_once(service, waits):
    between = Between("refuse", "lose", "lose")
    with Client(service.url, service.tokens["decider"], transport=between) as client:
        assert client.decide("loans", ONE)["t"] == 1
    assert service.engine.stream("loans")["rounds"] == 1
    assert len({request.headers["idempotency-key"] for request in between.seen}) == 1
    assert len(waits) == 3
    assert waits[0] < waits[1] < waits[2]
    with Client(service.url, service.tokens["decider"]) as client:
        assert client.decide("loans", ONE)["t"] == 2, "another call has another key"


def test_it_waits_as_long_as_the_service_asks_for(service, waits):
    busy = [httpx.Response(429, headers={"Retry-After": "7"}), httpx.Response(503, text="a proxy's own words")]
    with Client(service.url, service.tokens["decider"], transport=Between(*busy)) as client:
        assert client.decide("loans", ONE)["t"] == 1
    assert waits[0] == 7
    assert 0 < waits[1] < 1


def test_a_refusal_is_an_error_with_the_problem_and_is_not_tried_again(service, waits):
    with Client(service.url, service.tokens["decider"]) as client:
        with pytest.raises(ServiceRefused, match="age") as refused:
            client.decide("loans", [{"id": "x", "features": {"score": 0.5}}])
        assert refused.value.status == 422
        assert refused.value.problem["instance"] == "/v1/streams/loans/rounds"
        client.stop("loans", "lunch")
        with pytest.raises(ServiceRefused, match="lunch"):
            client.decide("loans", ONE)
        with pytest.raises(ServiceRefused) as refused:
            client.export("loans", "nowhere")
        assert refused.value.status == 403
    assert waits == []


def test_numbers_of_numpy_are_numbers_and_what_is_none_is_not_sent(service):
    with Client(service.url, service.tokens["admin"]) as client:
        one = {"id": "x", "features": {"score": np.float32(0.5), "age": np.int64(40)}}
        t = client.decide("loans", [one])["t"]
        assert client.label("loans", t, {"x": np.int64(1)})["disposition"] == "joined"
        for wrong in (float("nan"), {1, 2}):
            with pytest.raises(InvalidParameter, match="What is sent must be plain text and finite numbers"):
                client.decide("loans", [{"id": "y", "features": {"score": wrong, "age": 40}}])


def test_an_answer_of_somebody_else_and_an_export_from_nobody_are_said_to_be_that(tmp_path):
    page = httpx.MockTransport(lambda request: httpx.Response(200, text="<html>"))
    with Client("http://here", "lw_x", transport=page) as client, pytest.raises(ServiceUnreachable, match="other than"):
        client.stream("loans")

    def nobody(request):
        raise httpx.ConnectError("refused")

    client = Client("http://here", "lw_x", transport=httpx.MockTransport(nobody))
    with client, pytest.raises(ServiceUnreachable, match="Nobody answers at http://here: refused"):
        client.export("loans", tmp_path / "export.jsonl")


@pytest.mark.parametrize("name", ["", ".", ".."])
def test_a_name_that_would_lead_elsewhere_is_not_sent(name):
    sent = []
    with Client("http://here", "lw_x", transport=httpx.MockTransport(sent.append)) as client:
        for ask in (client.person, client.erase):
            with pytest.raises(InvalidParameter, match="address"):
                ask("loans", name)
    assert sent == []


def test_when_nobody_answers_it_says_so(waits):
    with Client("http://127.0.0.1:9", "lw_x", retries=2) as client:
        assert not client.ready()
        with pytest.raises(ServiceUnreachable, match=r"127\.0\.0\.1:9"):
            client.stream("loans")
    assert len(waits) == 2
    with pytest.raises(InvalidParameter, match="token"):
        Client("http://127.0.0.1:9", "")
    with pytest.raises(InvalidParameter, match="token") as refused:
        Client("http://127.0.0.1:9", "lw_secret\n")
    assert "secret" not in str(refused.value)


def test_the_client_is_loaded_only_when_it_is_asked_for():
    code = "import likewise, sys; assert 'httpx' not in sys.modules; likewise.Client; assert 'httpx' in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
    with pytest.raises(AttributeError, match="Clint"):
        _ = lw.Clint


class TestTheLog:
    """A client that keeps what the service signed, and notices if it is shown another past."""

    def test_the_newest_checkpoint_is_kept_in_a_file_and_used_by_the_next_client(self, service, tmp_path):
        kept = tmp_path / "kept.json"
        for _ in range(2):
            with Client(service.url, service.tokens["admin"], kept=kept) as client:
                client.decide("loans", ONE)
                seq = client.decide("loans", ONE)["receipt"]["seq"]
                told = client.check("loans")
                assert checkpoint_of(read_note(told["note"])).size >= seq
        assert told["note"].splitlines()[:3] == json.loads(kept.read_text()).popitem()[1]["note"].splitlines()[:3]
        (tmp_path / "other.json").write_text("[]")
        with pytest.raises(InvalidParameter, match="`kept` must be a file of checkpoints"):
            Client(service.url, "lw_x", kept=tmp_path / "other.json")

    def test_consistency_is_asked_for_now_and_then(self, service):
        asked = Between()
        with Client(service.url, service.tokens["admin"], transport=asked) as client:
            for _ in range(4):
                client.decide("loans", ONE)
            assert [request.url.path.rpartition("/")[2] for request in asked.seen].count("consistency") == 0
        asked = Between()
        with Client(service.url, service.tokens["admin"], transport=asked, check_every=0) as client:
            for _ in range(4):
                client.decide("loans", ONE)
            assert [request.url.path.rpartition("/")[2] for request in asked.seen].count("consistency") == 3

    def test_an_event_can_be_proved_later(self, service):
        with Client(service.url, service.tokens["admin"]) as client:
            receipt = client.decide("loans", ONE)["receipt"]
            client.decide("loans", ONE)
            later = client.proof("loans", receipt["seq"])
            assert later["hash"] == receipt["hash"]
            assert checkpoint_of(read_proof(later["proof"]).note).size > receipt["seq"]
            with pytest.raises(ServiceRefused, match="There is no event 99"):
                client.proof("loans", 99)
            with pytest.raises(ServiceRefused, match="`new` must be at most"):
                client._ask("GET", "/v1/streams/loans/consistency", params={"old": 1, "new": 99})
            with pytest.raises(ServiceRefused, match="`old` must be at most"):
                client._ask("GET", "/v1/streams/loans/consistency", params={"old": 2, "new": 1})

    @pytest.mark.parametrize("field", ["hash", "seq", "proof"])
    def test_a_receipt_that_proves_nothing_is_noticed(self, service, field, monkeypatch):
        with Client(service.url, service.tokens["admin"]) as client:
            ask = client._ask

            def bent(*arguments, **named):
                answer = ask(*arguments, **named)
                change = {"hash": "ab" * 32, "seq": 1, "proof": "nothing"}
                answer["receipt"][field] = change[field]
                return answer

            monkeypatch.setattr(client, "_ask", bent)
            with pytest.raises(LogNotTrusted):
                client.decide("loans", ONE)

    @pytest.mark.parametrize("rounds", [1, 2, 3, 4, 7])
    def test_two_pasts_are_a_proof_of_cheating_in_one_file(self, serve, service, tmp_path, rounds, capsys):
        """The operator puts an old copy of the database back, with the key, and goes on differently."""
        copy = tmp_path / "copy"
        copy.mkdir()
        with Client(service.url, service.tokens["admin"], kept=tmp_path / "kept.json") as client:
            for _ in range(rounds):
                client.decide("loans", ONE)
            client.check("loans")
            kept = json.loads((tmp_path / "kept.json").read_text())
        forked = forked_log(service, rounds + 3)
        with Client(service.url, service.tokens["admin"], kept=tmp_path / "kept.json") as client:
            client._ask = lambda method, path, **_: forked(path, **_)
            with pytest.raises(LogContradicted) as found:
                client.check("loans")
        proof = tmp_path / "proof.json"
        proof.write_text(json.dumps(found.value.evidence))
        assert main(["--cheating", str(proof)]) == 1
        assert "No honest log can have both." in capsys.readouterr().out
        assert main(["--cheating", str(proof), "--key", "ab" * 32]) == 0
        (only,) = kept.values()
        honest = found.value.evidence | {"newer": only["note"], "proof": []}
        proof.write_text(json.dumps(honest))
        assert main(["--cheating", str(proof)]) == 0
        assert "This proves nothing" in capsys.readouterr().out


def forked_log(service, size):
    """What a service answers that signs another past with the same key."""
    signer = service.engine.signer
    hashes = [f"{i:064x}" for i in range(1, size + 1)]
    tree = signed_log.Tree(signed_log.leaf_hash(bytes.fromhex(hash)) for hash in hashes)
    note = signer.checkpoint("loans", Frontier().add_all(leaves(hashes)))

    def answer(path, params=None, **_):
        if path.endswith("/checkpoint"):
            return {"key": signer.public_key, "note": str(note), "cosigned": None, "rotations": []}
        old = params["old"]
        parts = tree.consistency(old, size)
        return {"root": spelt([tree.root(old)])[0], "note": str(note), "proof": spelt(parts), "key": signer.public_key}

    return answer
