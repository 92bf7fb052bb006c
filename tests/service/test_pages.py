"""The pages without a browser: who gets in, who sees what, what is inert, and what stands on them."""

from __future__ import annotations

import html
import json
import re
import time
from contextlib import ExitStack, closing

import httpx
import pytest
from payloads import PAYLOADS, allowed
from serving import running
from visitors import Browser, service_on

from likewise.service.accounts.access import ACCESS, PUBLIC_PAGES
from likewise.service.accounts.rates import Rates
from likewise.service.accounts.sessions import SESSION
from likewise.service.log.signing import Signer
from likewise.service.pages.rendering import POLICY
from likewise.service.pages.round_to_review import round_to_review
from likewise.service.refusals import Conflict
from likewise.service.stream.settings import Settings, Waits

PAGES = {row: roles for row, roles in ACCESS.items() if not row[1].startswith("/v1")}
"""The rows of the table for people; test_roles has those for programs."""
LOANS = {
    "name": "loans",
    "features": [
        {"name": "score"},
        {"name": "town", "kind": "category", "levels": ["North", "South"], "compare": True},
        {"name": "group", "shown": True, "sensitive": True},
        {"name": "hidden", "shown": False},
    ],
    "cuts": {"score": [0.2, 0.4, 0.6, 0.8]},
    "alpha": 0.1,
    "review": {"ask_all": True},
    "k": 8,
    "waits": {"grace": 30},
}
ROLES = ("admin", "decider", "auditor", "viewer")
JSON = {"Content-Type": "application/json"}


def somebody(t, i, **features):
    plain = {"score": (0.1 + 0.37 * (t + i)) % 1, "town": "North", "group": 1.0, "hidden": 7.0}
    return {"id": f"{t}-{i}", "features": plain | features}


def until(ask, wanted):
    """What is asked for again until it says something."""
    deadline = time.monotonic() + 300
    while wanted not in (found := ask()):
        assert time.monotonic() < deadline, found
        time.sleep(0.05)
    return found


def open_rounds(engine, count, k=4, first=1):
    for t in range(first, first + count):
        engine.decide("loans", [somebody(t, i) for i in range(k)], "decider")


on_both = pytest.mark.parametrize("service", ["sqlite", "postgresql"], indirect=True)
"""For what the pages ask of the database: in a file, and of a real PostgreSQL server."""


@pytest.fixture
def service(request, tmp_path, new_database):
    with service_on(new_database(getattr(request, "param", "sqlite")), tmp_path, LOANS) as service:
        yield service


@pytest.fixture
def browse():
    """A function that opens a browser on a service, closed when the test ends."""
    with ExitStack() as opened:
        yield lambda *given: opened.enter_context(closing(Browser(*given)))


@pytest.fixture
def enter(service, browse):
    """A function that logs a role in; the same connection as a browser would have."""

    def make(role, token=None):
        sessions = service.app.state.service.sessions
        cookie = sessions.login(token or service.tokens[role])
        return browse(service, cookie, sessions.csrf(sessions.find(cookie)))

    return make


# Getting in and out ------------------------------------------------------------------------------------------------


@on_both
def test_a_login_link_works_once_and_only_when_its_button_is_pressed(service, browse):
    code = service.app.state.service.sessions.link("the auditor")
    browser = browse(service)
    for _ in range(3):  # a preview of the link uses nothing up
        assert "Continue as the auditor" in browser.get(f"/login/{code}").text
    first = browser.post("/login", code=code)
    assert first.status_code == 303
    cookie = first.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "samesite=lax" in cookie.lower()
    assert f"Max-Age={int(SESSION)}" in cookie
    assert browser.get("/").headers["location"] == "/streams/loans/review"
    assert browse(service).post("/login", code=code).status_code == 403
    assert "used already" in browse(service).get(f"/login/{code}").text


@on_both
def test_two_who_use_a_link_at_once_don_t_both_get_in(service):
    sessions = service.app.state.service.sessions
    code = sessions.link("the viewer")
    assert [sessions.redeem(code) is None, sessions.redeem(code) is None] == [False, True]


@on_both
def test_logging_out_everywhere_ends_every_session_of_a_name_and_no_other(service, enter):
    here, there, other = enter("viewer"), enter("viewer"), enter("decider")
    assert there.get("/streams/loans").status_code == 200
    assert here.post("/logout/everywhere").status_code == 303
    assert there.get("/streams/loans").headers["location"] == "/login"
    assert other.get("/streams/loans").status_code == 200
    assert enter("viewer").get("/streams/loans").status_code == 200


@on_both
def test_revoking_a_token_ends_its_sessions(service, enter):
    viewer = enter("viewer")
    service.service.tokens.revoke("the viewer")
    assert viewer.get("/streams/loans").headers["location"] == "/login"


def test_logging_in_is_rate_limited(service, browse):
    service.app.state.login_rates = Rates(lambda: 0.0)  # however long it takes to ask, no time passes
    browser = browse(service)
    answers = [browser.post("/login", token="lw_wrong").status_code for _ in range(12)]
    assert answers == [403] * 10 + [429] * 2


# Who sees what -----------------------------------------------------------------------------------------------------


def pages_of(service):
    """Every route that isn't the API's, as the application has them."""

    def routes(router):
        for route in router.routes:
            inner = getattr(route, "original_router", None)
            yield from routes(inner) if inner is not None else [route]

    kept = ("/v1", "/livez", "/readyz", "/metrics", "/openapi.json")
    return {
        (m, r.path) for r in routes(service.app.router) for m in r.methods - {"HEAD"} if not r.path.startswith(kept)
    }


def test_every_page_stands_in_the_table_and_every_role_sees_only_its_pages(service, enter, browse):
    found = {(method, path) for method, path in pages_of(service) if path not in PUBLIC_PAGES}
    assert found == set(PAGES)
    open_rounds(service.engine, 2)
    fill = {"stream": "loans", "t": "1", "position": "0", "name": "log.jsonl"}
    for (method, path), roles in PAGES.items():
        address = path.format(**fill)
        for role in ROLES:
            browser = enter(role)
            answer = browser.get(address) if method == "GET" else browser.post(address)
            assert (answer.status_code == 403) == (role not in roles), (method, path, role, answer.status_code)
            assert answer.status_code < 500
        nobody = browse(service).client.request(method, address)
        assert nobody.headers["location"] == "/login", path


def test_a_token_for_one_stream_sees_no_other(service, enter):
    token, _ = service.service.tokens.add("guest", "viewer", ["elsewhere"])
    guest = enter("viewer", token)
    for stream in ("loans", "nowhere"):
        assert guest.get(f"/streams/{stream}").status_code == 403
    assert "loans" not in guest.get("/").text


def test_links_to_pages_are_there_only_for_those_who_may_see_them(service, enter):
    open_rounds(service.engine, 1)
    for role, path in (
        ("viewer", "/streams/loans"),
        ("decider", "/streams/loans"),
        ("auditor", "/streams/loans/review"),
    ):
        browser = enter(role)
        addresses = set(re.findall(r'href="(/(?!static)[^"?]*)"', browser.get(path).text))
        assert addresses, role
        for address in addresses:
            assert browser.get(address).status_code in (200, 303), (role, address)


def test_nothing_is_posted_without_the_session_s_own_token(service, enter):
    browser, other = enter("admin"), enter("admin").csrf
    before = service.service.store.head("loans")
    for path in sorted({path for method, path in PAGES if method == "POST"}):
        address = path.format(stream="loans", t=1)
        for wrong in ("", "0" * 64, other):
            browser.csrf = wrong
            assert browser.post(address, name="x", role="admin", reason="x").status_code == 403
            assert browser.ask(address, t=1, verdict="none").status_code == 403
    assert service.service.store.head("loans") == before
    assert len(service.service.tokens.list()) == len(ROLES)


def test_every_page_says_what_browsers_may_do_with_it(service, enter, browse):
    for answer in (
        browse(service).get("/login"),
        enter("viewer").get("/streams/loans"),
        enter("viewer").get("/users"),
    ):
        assert answer.headers["content-security-policy"] == POLICY
        assert answer.headers["cache-control"] == "no-store"
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "no-referrer"
        # Nothing from elsewhere, no script or style in the page itself.
        assert not re.search(r"(src|href)=\"(https?:)?//", answer.text)
        assert not re.search(r"<script(?! src)|<style|\son\w+=|\sstyle=|javascript:", answer.text)
    assert "unsafe" not in POLICY


# Reviewing ---------------------------------------------------------------------------------------------------------


def claimed(answer):
    """What a claimed round shows: its number, and its people's ids by probability."""
    assert answer.status_code == 200
    ids = [html.unescape(one) for one in re.findall(r'data-id="([^"]*)"', answer.text)]
    return int(re.search(r'data-round="(\d+)"', answer.text)[1]), ids


@on_both
def test_an_auditor_sees_no_sensitive_or_hidden_feature_no_decision_and_no_label(service, enter):
    open_rounds(service.engine, 1)
    service.engine.label("loans", 1, {"1-0": 1}, "decider")
    text = enter("auditor").ask("/streams/loans/review/claim", beside=[]).text
    heads = re.findall(r"<th role=\"columnheader\"[^>]*>(?:<span[^>]*>[^<]*</span>)?([^<]*)", text)
    assert heads == ["Person", "Probability", "town", "score"]  # those to compare by first
    assert "decision" not in text
    assert "label=" not in text.replace("data-label=", "").replace("aria-label=", "")


@on_both
def test_two_auditors_never_get_the_same_round_and_keep_theirs(service, enter):
    open_rounds(service.engine, 4)
    ann = enter("auditor")
    bob = enter("auditor", service.service.tokens.add("bob", "auditor")[0])
    path = "/streams/loans/review/claim"
    first, _ = claimed(ann.ask(path, beside=[]))
    second, _ = claimed(bob.ask(path, beside=[]))
    third, _ = claimed(ann.ask(path, beside=[first]))
    fourth, _ = claimed(bob.ask(path, beside=[second]))
    assert sorted([first, second, third, fourth]) == [1, 2, 3, 4]
    assert ann.ask(path, beside=[first, third]).status_code == 204
    assert claimed(ann.ask(path, beside=[third]))[0] == first
    ann.post("/streams/loans/review/release", rounds=f"{first},{third}")
    assert claimed(bob.ask(path, beside=[second, fourth]))[0] in (first, third)


@on_both
def test_a_verdict_is_numbered_by_its_event_and_sent_twice_counts_once(service, enter):
    open_rounds(service.engine, 1)
    auditor = enter("auditor")
    t, _ = claimed(auditor.ask("/streams/loans/review/claim", beside=[]))
    body = {"t": t, "verdict": "none", "note": "all fine", "hints": True, "seconds": 4.2}
    first = auditor.ask("/streams/loans/review/verdict", "k" * 16, **body)
    again = auditor.ask("/streams/loans/review/verdict", "k" * 16, **body)
    seq = service.service.store.head("loans")[0]
    assert first.json() == again.json() == {"t": t, "event": seq, "late": False, "proved": True}
    assert [e["kind"] for e in service.engine.events("loans")].count("audited") == 1
    seen = service.engine.round("loans", t)["audit"]
    assert (seen["note"], seen["hints"], seen["seconds"]) == ("all fine", True, 4.2)
    said_before = auditor.ask("/streams/loans/review/verdict", "l" * 16, **body)
    assert said_before.json() == {"t": t, "event": None, "late": False, "proved": None}
    assert '<strong id="today">1</strong>' in auditor.get("/streams/loans/review").text


def other_proof(receipt):
    """A receipt whose proof is of another event."""
    return receipt | {"seq": receipt["seq"] - 1}


def other_signature(receipt):
    """A receipt that this service's key did not sign."""
    stranger = Signer.generate()
    proof, note = receipt["proof"].split("\n\n", 1)
    text = note[: note.index("\n\n") + 1]
    return receipt | {"proof": f"{proof}\n\n{stranger.sign(text, receipt['stream'])}"}


def no_proof(receipt):
    return {name: value for name, value in receipt.items() if name != "proof"}


@pytest.mark.parametrize("forge", [other_proof, other_signature, no_proof])
@pytest.mark.parametrize("which", ["receipt", "newest"])
def test_a_verdict_is_said_to_be_in_the_log_only_if_that_is_proved(service, enter, monkeypatch, forge, which):
    open_rounds(service.engine, 1)
    auditor = enter("auditor")
    auditor.ask("/streams/loans/review/claim", beside=[])
    store, proofs = service.engine.store, service.engine.proofs
    receipts, inclusion = store.receipts, proofs.inclusion
    with monkeypatch.context() as patch:
        if which == "receipt":
            patch.setattr(store, "receipts", lambda *about: [forge(each) for each in receipts(*about)])
        else:
            patch.setattr(proofs, "inclusion", lambda *about: forge(inclusion(*about)))
        taken = auditor.ask("/streams/loans/review/verdict", "v" * 16, t=1, verdict="none")
    assert (taken.status_code, taken.json()["proved"]) == (200, False)
    back = auditor.ask("/streams/loans/review/retract", "w" * 16, t=1)
    assert (back.status_code, back.json()["proved"]) == (200, True)


@on_both
def test_an_auditor_takes_back_only_their_own_verdict(service, enter):
    open_rounds(service.engine, 1)
    ann, bob = enter("auditor"), enter("auditor", service.service.tokens.add("bob", "auditor")[0])
    ann.ask("/streams/loans/review/claim", beside=[])
    ann.ask("/streams/loans/review/verdict", "v" * 16, t=1, verdict="none")
    assert bob.ask("/streams/loans/review/retract", "w" * 16, t=1).status_code == 409
    assert ann.ask("/streams/loans/review/retract", "x" * 16, t=1).status_code == 200
    assert ann.ask("/streams/loans/review/retract", "x" * 16, t=1).status_code == 200  # the answer was lost
    assert '<strong id="today">0</strong>' in ann.get("/streams/loans/review").text


def test_an_auditor_learns_nothing_of_what_others_said(service, enter):
    open_rounds(service.engine, 1)
    token, _ = service.service.tokens.add("zoë the first", "auditor")
    zoe, bob = enter("auditor", token), enter("auditor", service.service.tokens.add("bob", "auditor")[0])
    _, ids = claimed(zoe.ask("/streams/loans/review/claim", beside=[]))
    said = {"verdict": "pair", "pair": [ids[0], ids[-1]], "reason": "data error", "note": "my own words"}
    assert zoe.ask("/streams/loans/review/verdict", "a" * 16, t=1, **said).status_code in (200, 422)
    zoe.ask("/streams/loans/review/verdict", "b" * 16, t=1, verdict="none", note="my own words")
    assert zoe.ask("/streams/loans/review/retract", "c" * 16, t=1).status_code == 200
    zoe.post("/streams/loans/review/release", rounds="1")
    service.engine.label("loans", 1, {"1-0": 1}, "decider")
    page = bob.ask("/streams/loans/review/claim", beside=[])
    assert claimed(page)[0] == 1
    for text in (page.text, bob.get("/streams/loans/review").text):
        for word in ("zoë", "my own words", "cleared", "retracted", "decider", "1.0"):
            # Times have digits of every kind.
            shown = re.sub(r"\d{4}-\d\d-\d\dT[\d:.]+", "", html.unescape(text).partition("<dialog")[0])
            assert word not in shown, word


def test_hints_are_reportable_pairs_and_the_most_alike_come_first():
    settings = Settings.from_dict(LOANS)
    chances = {"a": 0.9, "b": 0.85, "c": 0.5, "d": 0.1}
    towns = {"a": "North", "b": "South", "c": "North", "d": "South"}
    people = [{"id": i, "features": {"score": 0.5, "town": towns[i]}, "probability": p} for i, p in chances.items()]
    found = round_to_review({"t": 1, "opened_at": "", "until": "", "level": 0.1, "people": people}, settings)
    assert [person.id for person in found.people] == ["a", "b", "c", "d"]
    pairs = [(hint.first, hint.second, hint.why) for hint in found.hints]
    assert pairs[:2] == [(2, 4, "alike"), (1, 3, "alike")]  # same town, wider gap first
    assert (1, 4, "gap") in pairs
    assert (1, 2) not in [pair[:2] for pair in pairs]  # 0.05 apart: can't be a violation


def test_a_round_without_a_possible_pair_says_so(service, enter):
    service.engine.decide("loans", [somebody(1, 0), somebody(1, 0, hidden=3.0) | {"id": "twin"}], "decider")
    text = enter("auditor").ask("/streams/loans/review/claim", beside=[]).text
    assert "no pair can be a violation" in text
    assert 'class="hints"' not in text


# Inert -------------------------------------------------------------------------------------------------------------


def dangerous(page):
    """What a page holds that our templates don't: tags and attributes that came out of a value."""
    from html.parser import HTMLParser

    found = []

    class Reader(HTMLParser):
        def handle_starttag(self, tag, attributes):
            names = {name for name, _ in attributes}
            if tag in ("script", "img", "iframe", "style", "base", "math", "b", "link", "form", "details", "a"):
                value = dict(attributes)
                ours = (value.get("src") or value.get("href") or value.get("action") or "/").startswith(("/", "#"))
                known = tag in ("script", "link", "form", "details", "a") and ours
                found.extend([] if known and not any(n.startswith("on") for n in names) else [(tag, attributes)])
            found.extend((tag, name) for name in names if name.startswith("on") or name in ("style", "srcdoc"))
            addresses = [value for name, value in attributes if value and name in ("href", "src", "action")]
            found.extend((tag, value) for value in addresses if value.strip().lower().startswith("javascript:"))

    Reader(convert_charrefs=True).feed(page)
    return found


def test_five_hundred_payloads_in_names_values_and_notes_are_inert_on_every_page(tmp_path, browse):
    assert len(set(PAYLOADS)) >= 490
    levels = [one for one in dict.fromkeys(map(allowed, PAYLOADS[:200])) if one]
    columns = [one for one in dict.fromkeys(map(allowed, PAYLOADS[200:216])) if one]
    names = [one for one in dict.fromkeys(map(allowed, PAYLOADS[216:])) if one]
    features = [{"name": "score"}, {"name": "value", "kind": "category", "levels": levels, "compare": True}]
    features += [{"name": name} for name in columns]
    settings = LOANS | {"features": features, "k": 32, "waits": {"grace": 0}}
    with running(database=str(tmp_path / "log.db")) as service:
        service.engine.create(Settings.from_dict(settings), "root")
        token, _ = service.service.tokens.add(allowed(PAYLOADS[5]), "admin")
        sessions = service.app.state.service.sessions
        cookie = sessions.login(token)
        browser = browse(service, cookie, sessions.csrf(sessions.find(cookie)))
        seen = ""
        for t, start in enumerate(range(0, len(names), 30), 1):
            people = [
                {
                    "id": name,
                    "features": {"score": i / 30, "value": levels[(start + i) % len(levels)]}
                    | dict.fromkeys(columns, 1.0),
                }
                for i, name in enumerate(names[start : start + 30])
            ]
            service.engine.decide("loans", people, "decider")
            page = browser.ask("/streams/loans/review/claim", beside=[]).text
            assert dangerous(page) == []
            seen += page
            note = "\n".join(PAYLOADS[start : start + 12])[:1900]
            done = browser.ask(
                "/streams/loans/review/verdict", f"{t:016}", t=t, verdict="none", reason=PAYLOADS[t], note=note
            )
            assert done.status_code == 200, done.text
            page = browser.get(f"/streams/loans/rounds/{t}").text
            assert dangerous(page) == []
            seen += page
            page = browser.post("/streams/loans/people", id=names[start]).text
            assert dangerous(page) == []
            seen += page
        service.engine.stop("loans", PAYLOADS[1], "root")
        for path in ("", "/review", "/rounds", "/log", "/settings", "/export", "/log?kind=<script>&round=<script>"):
            page = browser.get(f"/streams/loans{path}").text
            assert dangerous(page) == [], path
            seen += page
        page = browser.get("/users").text + browser.post("/users", name=allowed(PAYLOADS[7]), role="viewer").text
        assert dangerous(page) == []
        # They are all there, as text: what isn't shown can't have been escaped.
        plain = html.unescape(seen + page)
        assert sum(text in plain for text in [*levels, *columns, *names]) == len({*levels, *columns, *names})


def test_no_feature_and_no_id_stands_in_an_address(service, enter):
    service.engine.decide("loans", [somebody(1, i) | {"id": f"secret-{i}"} for i in range(3)], "decider")
    admin = enter("admin")
    paths = (
        "",
        "/rounds",
        "/rounds/1",
        "/rounds/1/people/0",
        "/rounds/1/people/0/notice",
        "/people",
        "/log",
        "/settings",
        "/export",
        "/review",
    )
    for path in paths:
        for address in re.findall(r'(?:href|src|action)="([^"]*)"', admin.get(f"/streams/loans{path}").text):
            assert "secret" not in address
            assert "score" not in address
    assert "secret-0" in admin.get("/streams/loans/rounds/1/people/0").text


# Records -----------------------------------------------------------------------------------------------------------


@on_both
def test_a_person_s_record_tells_what_was_known_decided_audited_and_corrected(service, enter):
    engine = service.engine
    engine.change_waits("loans", {"grace": 0}, "root")
    engine.decide("loans", [somebody(1, i) for i in range(3)], "decider")
    engine.label("loans", 1, {"1-0": 1, "1-1": 0, "1-2": 1}, "decider")
    engine.audit("loans", 1, "none", "ann")
    engine.correct("loans", 1, "skip", "ann", reason="looked at the wrong round")
    text = enter("decider").post("/streams/loans/people", id="1-0").text
    whole = engine.round("loans", 1)
    for told in (
        "1-0",
        f"{whole['people'][0]['probability']:.4f}",
        whole["policy"],
        "yes (1)",
        "cleared",
        "looked at the wrong round",
        "North",
    ):
        assert html.escape(told) in text, told
    assert ("<strong>yes</strong>" in text) == bool(whole["people"][0]["decision"])
    assert "1-1" not in text  # nothing about anybody else


def test_a_mistyped_id_stays_in_the_form_and_a_refusal_speaks_plainly(service, enter):
    admin = enter("admin")
    page = admin.post("/streams/loans/people", id='no"body')
    assert page.status_code == 404
    assert 'value="no&#34;body"' in page.text
    for path, status, title in (
        ("/streams/loans/rounds/99", 404, "Not found"),
        ("/streams/x/rounds/a", 422, "Not possible"),
    ):
        page = admin.get(path)
        assert (page.status_code, f"<h1>{title}</h1>" in page.text) == (status, True), path


def test_a_person_s_record_says_what_the_policy_used_how_it_was_drawn_and_how_it_turned_out(service, enter):
    open_rounds(service.engine, 1)
    service.engine.label("loans", 1, {"1-0": 0}, "decider")
    text = enter("decider").post("/streams/loans/people", id="1-0").text
    used, _, kept = text.partition("What the policy used")[2].partition("Kept, but not used for the decision")
    assert re.findall("<dt>([^<]*)</dt>", used) == ["score"]
    assert re.findall("<dt>([^<]*)</dt>", kept) == ["town", "group", "hidden"]
    whole = service.engine.round("loans", 1)
    p = whole["people"][0]["probability"]
    assert f"at a probability of {p:.2f}, about {100 * p:.0f} of 100 such people get a yes" in text
    assert "<dd>no (0)</dd>" in text
    assert kept.count(whole["policy"]) == text.count(whole["policy"]) == 1  # at the end


# Erasing -----------------------------------------------------------------------------------------------------------


@on_both
def test_a_person_is_erased_in_two_steps_and_only_by_an_administrator(service, enter):
    open_rounds(service.engine, 2)
    admin, before = enter("admin"), service.service.store.head("loans")
    assert "Erase this person…" in admin.post("/streams/loans/people", id="1-0").text
    assert "Erase this person…" not in enter("decider").post("/streams/loans/people", id="1-0").text
    asked = admin.post("/streams/loans/people/erase", id="1-0").text
    assert "can no longer be replayed" in asked
    assert 'name="sure"' in asked
    assert service.service.store.head("loans") == before
    assert enter("decider").post("/streams/loans/people/erase", id="1-0", sure="yes").status_code == 403
    assert "1-0 was erased from 1 round." in admin.post("/streams/loans/people/erase", id="1-0", sure="yes").text
    assert [one["id"] for one in service.engine.round("loans", 1)["people"]] == [None, "1-1", "1-2", "1-3"]
    erased = [one for one in service.engine.events("loans") if one["kind"] == "person_erased"]
    assert [one["data"]["by"] for one in erased] == ["the admin"]


def test_somebody_who_isn_t_there_is_said_above_the_form(service, enter):
    open_rounds(service.engine, 1)
    admin = enter("admin")
    for path, fields in (("", {}), ("/erase", {}), ("/erase", {"sure": "yes"})):
        answer = admin.post(f"/streams/loans/people{path}", id="nobody", **fields)
        assert answer.status_code == 404
        assert 'role="alert"' in answer.text
        assert 'id="id" name="id"' in answer.text
    assert admin.post("/streams/loans/people", id="").status_code == 422


def test_the_record_has_a_button_that_prints_from_a_script_of_its_own(service, enter):
    open_rounds(service.engine, 1)
    text = enter("decider").post("/streams/loans/people", id="1-0").text
    assert re.search(r'<button class="no-print" data-print hidden>', text)
    script = re.search(r'<script src="(/static/print\.js[^"]*)"', text)[1]
    assert "window.print()" in enter("decider").get(script).text


def test_a_round_s_page_says_whether_the_report_helped(service, enter):
    engine = service.engine
    engine.change_waits("loans", {"grace": 0}, "root")
    t = 0
    reported = None
    while reported is None:
        t += 1
        asked = [somebody(t, i) for i in range(4)]
        decided = {one["id"]: one["probability"] for one in engine.decide("loans", asked, "decider")["decisions"]}
        engine.label("loans", t, {p["id"]: int(p["features"]["score"] > 0.5) for p in asked}, "decider")
        first, last = max(decided, key=decided.get), min(decided, key=decided.get)
        if t > 5 and decided[first] - decided[last] > 0.1:
            reported = engine.audit("loans", t, "pair", "ann", pair=[first, last])
        else:
            engine.audit("loans", t, "none", "ann")
    text = enter("viewer").get(f"/streams/loans/rounds/{t}").text
    state = engine.streams.get("loans").current()
    features = {p["id"]: p["features"] for p in engine.round("loans", t)["people"]}
    rows = state.stream.encode([features[first], features[last]])
    now = state.stream.probabilities(state.policy, rows)
    assert f"Their gap under the current policy is {abs(now[0] - now[1]):.2f}" in text


@on_both
def test_the_log_is_filtered_by_kind_and_round(service, enter):
    open_rounds(service.engine, 3)
    viewer = enter("viewer")
    count = lambda query: viewer.get(f"/streams/loans/log{query}").text.count('scope="row"')  # noqa: E731
    assert count("") == 4
    assert count("?kind=round_opened") == 3
    assert count("?kind=round_opened&round=2") == 1
    assert count("?kind=nonsense") == 4
    assert count("?round=%202") == 1
    assert count("?round=two") == 0  # rather than everything
    assert [count(f"?before={seq}") for seq in (1, 3, 1000)] == [0, 2, 4]
    assert viewer.post("/streams/loans/log", before="0").text.count('scope="row"') == 0


@on_both
def test_an_export_is_downloaded_and_verifies(service, enter, tmp_path):
    open_rounds(service.engine, 2)
    admin = enter("admin")
    lines = admin.get("/streams/loans/export/log.jsonl").text.splitlines()
    assert json.loads(lines[0])["events"] == 3
    assert admin.post("/streams/loans/verify").headers["location"] == "/streams/loans/export"
    found = until(lambda: admin.get("/streams/loans/export").text, "Nothing wrong was found.")
    assert "Checked" in found
    assert "data-busy" not in found
    assert "aside" not in admin.get("/streams/loans/export/log-without-people.jsonl").text


def test_a_link_at_the_top_leads_those_who_may_to_the_form_that_stops(service, enter):
    page = enter("decider").get("/streams/loans").text
    assert 'href="#stop"' in page
    assert 'id="stop"' in page
    assert "#stop" not in enter("viewer").get("/streams/loans").text


def test_stopping_says_why_and_only_an_administrator_lets_decisions_go_on(service, enter):
    enter("decider").post("/streams/loans/stop", reason="something is odd")
    assert "something is odd" in enter("viewer").get("/streams/loans").text
    assert "Resume decisions" in enter("admin").get("/streams/loans").text
    assert service.engine.stream("loans")["stopped"] == "something is odd"
    assert enter("decider").post("/streams/loans/resume").status_code == 403
    enter("admin").post("/streams/loans/resume")
    assert service.engine.stream("loans")["stopped"] is None


@on_both
def test_waits_are_changed_and_bad_ones_are_refused_in_a_sentence(service, enter):
    admin = enter("admin")
    fields = {"audit": "60", "label": "", "grace": "5", "audit_end": "discard", "label_end": "learn"}
    assert admin.post("/streams/loans/settings", **fields).status_code == 303
    waits = service.engine.stream("loans")["settings"]["waits"]
    assert (waits["audit"], waits["label"], waits["grace"], waits["audit_end"]) == (60, None, 5, "discard")
    wrong = admin.post("/streams/loans/settings", **fields | {"grace": "soon"})
    assert wrong.status_code == 422
    assert "“Time to take a verdict back (seconds)” must be a number" in wrong.text
    negative = admin.post("/streams/loans/settings", **fields | {"audit": "-1"})
    assert "“Wait for a review (seconds)” must be" in negative.text


def test_the_settings_say_whether_something_was_changed_and_their_labels_are_words(service, enter):
    admin = enter("admin")
    fields = {"audit": "60", "label": "", "grace": "5", "audit_end": "discard", "label_end": "learn"}
    said = "Saved, and recorded in the log."
    page = html.unescape(admin.get("/streams/loans/settings").text)
    assert said not in page
    for label in ("Wait for a review (seconds)", "Wait for labels (seconds)", "If labels are missing"):
        assert f">{label}</label>" in page
    assert said in admin.get(admin.post("/streams/loans/settings", **fields).headers["location"]).text
    again = admin.get(admin.post("/streams/loans/settings", **fields).headers["location"]).text
    assert "Nothing changed" in again
    assert said not in again
    assert [one["kind"] for one in service.engine.events("loans")].count("settings_changed") == 1


@on_both
def test_users_are_added_linked_and_revoked(service, enter):
    admin = enter("admin")
    token = re.search(r"lw_[0-9a-f]{64}", admin.post("/users", name="cleo", role="auditor").text)[0]
    alias = service.service.tokens.staff.find("cleo")
    assert service.service.tokens.find(token, time.time()).name == alias
    assert token not in admin.get("/users").text
    start = next(one["token"] for one in service.service.tokens.list() if one["name"] == "cleo")
    page = admin.post("/users/link", token=start).text
    assert "A link that logs cleo in, once" in page
    code = re.search(r"/login/([\w-]+)", page)[1]
    sessions = service.app.state.service.sessions
    assert sessions.known(code) == alias
    assert "cleo" in admin.get(f"/login/{code}").text
    assert alias not in admin.get(f"/login/{code}").text
    cookie = sessions.login(token)
    assert sessions.find(cookie) is not None
    assert "cleo is logged out everywhere." in admin.post("/users/logout", name="cleo").text
    assert sessions.find(cookie) is None
    asked = admin.post("/users/revoke", token=start)
    assert "Revoke the token of cleo?" in asked.text
    assert service.service.tokens.find(token, time.time()) is not None
    admin.post("/users/revoke", token=start, sure="yes")
    assert service.service.tokens.find(token, time.time()) is None
    assert service.app.state.service.sessions.known(code) is None
    assert "must be" in admin.post("/users", name="", role="auditor").text


def test_a_body_that_is_nested_deeply_is_refused_without_failing(service):
    for path in ("/logout", "/users", "/streams/loans/review/claim"):
        for body in (b"[" * 200_000, b'{"a":' * 100_000, b"[]", b"\xff"):
            answer = httpx.post(service.url + path, content=body, headers=JSON, timeout=300)
            assert 400 <= answer.status_code < 500, (path, body[:5])


def test_the_users_keep_the_tabs_of_the_stream_that_one_comes_from(service, enter):
    admin, tab = enter("admin"), '<a href="/streams/loans/rounds">'
    assert 'href="/users?stream=loans"' in admin.get("/streams/loans").text
    assert tab in admin.get("/users?stream=loans").text
    assert tab in admin.post("/users", name="cleo", role="auditor", stream="loans").text
    assert tab in admin.post("/users/logout", name="cleo", stream="loans").text
    assert admin.post("/users/logout", name="the admin", stream="loans").headers["location"] == "/login"
    admin = enter("admin")
    for address in ("/users", "/users?stream=elsewhere"):
        assert tab not in admin.get(address).text


def test_an_address_where_nothing_is_answers_browsers_with_a_page_and_programs_as_ever(service, browse):
    client = browse(service).client
    page = client.get("/nonsense", headers={"Accept": "text/html,*/*;q=0.8"})
    assert page.status_code == 404
    assert "There is nothing at this address." in page.text
    assert page.headers["content-security-policy"] == POLICY
    for accept in ("application/json", "*/*"):
        assert client.get("/nonsense", headers={"Accept": accept}).headers["content-type"] == "application/problem+json"
    there = client.get("/v1/streams", headers={"Accept": "text/html"})
    assert (there.status_code, there.headers["content-type"]) == (401, "application/problem+json")


@on_both
def test_the_last_administrator_can_t_be_revoked(service, enter):
    admin, tokens = enter("admin"), service.service.tokens
    start = next(one["token"] for one in tokens.list() if one["role"] == "admin")
    tokens.add("gone", "admin", days=1e-9)  # has expired: no administrator any more
    refused = admin.post("/users/revoke", token=start, sure="yes")
    assert refused.status_code == 422
    assert "This is the last administrator. Add another one first." in refused.text
    for who in (start, "the admin"):
        with pytest.raises(Conflict, match="last administrator"):
            tokens.revoke(who)
    assert admin.get("/users").status_code == 200
    tokens.add("root", "admin")
    assert admin.post("/users/revoke", token=start, sure="yes").status_code == 303
    assert admin.get("/users").headers["location"] == "/login"


def test_revoking_one_s_own_token_is_asked_about_once_more(service, enter):
    admin, tokens = enter("admin"), service.service.tokens
    tokens.add("root", "admin")
    start = next(one["token"] for one in tokens.list() if one["name"] == "the admin")
    asked = admin.post("/users/revoke", token=start)
    assert "Revoke your own token?" in asked.text
    assert f'name="token" value="{start}"' in asked.text
    assert admin.get("/users").status_code == 200
    assert admin.post("/users/revoke", token=start, sure="yes").status_code == 303
    assert tokens.find(service.tokens["admin"], time.time()) is None


def test_the_page_of_settings_says_what_is_declared_of_each(service, enter):
    page = html.unescape(enter("viewer").get("/streams/loans/settings").text)
    fields = Waits.model_fields | {
        name: Settings.model_fields[name] for name in ("alpha", "hypotheses", "k", "T", "penalty")
    }
    for name, field in fields.items():
        assert field.title in page, name
        assert field.description in page, name


def test_a_penalty_that_grows_is_shown_with_its_numbers(service, enter):
    service.engine.create(Settings.from_dict(LOANS | {"name": "grows", "penalty": {"c": 0.01, "floor": 0.5}}), "root")
    assert "<td>c 0.01, floor 0.5</td>" in enter("viewer").get("/streams/grows/settings").text
