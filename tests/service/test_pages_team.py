"""What a team does on its pages: a review plan, own reviews, corrections, filters, tokens, the log in words."""

from __future__ import annotations

import html
import re

import pytest
from visitors import service_on

from likewise.service.pages.log_words import WORDS
from likewise.service.projections.follower import Follower
from likewise.service.stream.events import KINDS

LOANS = {
    "name": "loans",
    "features": [{"name": "score"}, {"name": "town", "kind": "category", "levels": ["North", "South"]}],
    "cuts": {"score": [0.2, 0.4, 0.6, 0.8]},
    "alpha": 0.05,
    "review": {"ask_all": True},
    "k": 8,
    "waits": {"grace": 0},
}
on_both = pytest.mark.parametrize("service", ["sqlite", "postgresql"], indirect=True)


@pytest.fixture
def service(request, tmp_path, new_database):
    with service_on(new_database(getattr(request, "param", "sqlite")), tmp_path, LOANS) as service:
        yield service


def learned(service, rounds=12, by="the auditor"):
    """Rounds that were reviewed by somebody, of which some hold a report; which ones."""
    engine, reported = service.engine, []
    for t in range(1, rounds + 1):
        asked = [
            {
                "id": f"{t}-{i}",
                "features": {"score": (0.05 + 0.23 * i + 0.01 * t) % 1, "town": ("North", "South")[i % 2]},
            }
            for i in range(4)
        ]
        opened = engine.decide("loans", asked, "decider")["decisions"]
        engine.label("loans", t, {p["id"]: int(p["features"]["score"] > 0.5) for p in asked}, "decider")
        ranked = sorted(opened, key=lambda person: -person["probability"])
        wide = ranked[0]["probability"] - ranked[-1]["probability"] > 0.05
        if wide and len(reported) < 3:
            pair = [ranked[0]["id"], ranked[-1]["id"]]
            engine.audit("loans", t, "pair", by, pair=pair, reason="same qualifications", note=f"odd {t}")
            reported.append(t)
        else:
            engine.audit("loans", t, "none", by if t % 2 else "somebody else")
    Follower(engine).follow("loans")
    return reported


def text(answer):
    return html.unescape(answer.text)


# The plan -------------------------------------------------------------------------------------------------------------


@on_both
def test_the_plan_says_in_advance_what_a_budget_buys_and_administrators_change_it(service, enter):
    learned(service)
    viewer, admin = enter("viewer"), enter("admin")
    page = text(viewer.get("/streams/loans/plan?rounds_a_day=1000"))
    assert "if nothing is found, you can claim with 95% confidence" in page
    budgets = re.search(r'aria-label="Other budgets".*?</table>', page, re.S)[0]
    claims = [int(n.replace(",", "")) for n in re.findall(r"at most ([\d,]+) of", budgets)]
    assert '<th scope="row">120</th>' in budgets
    assert claims == sorted(claims, reverse=True)  # more reviews, sharper claims
    assert claims[-1] < 500
    assert '<button class="primary">Change' not in page
    assert viewer.post("/streams/loans/plan", share="0.1").status_code == 403
    fields = {"share": "0.25", "budget": "", "choose": "gap", "second": "0", "rule": "adjudicated"}
    fields |= {"gold": "0", "ask_all": "no"}
    done = admin.post("/streams/loans/plan", **fields)
    assert done.status_code == 303, done.text
    assert "Saved" in admin.get(done.headers["location"]).text
    assert service.engine.stream("loans")["settings"]["review"]["share"] == 0.25
    wrong = admin.post("/streams/loans/plan", **fields | {"share": "a third"})
    assert wrong.status_code == 422
    assert "“Share of rounds reviewed” must be a number." in wrong.text
    assert 'value="a third"' in wrong.text  # what was typed is still there


@on_both
def test_administrators_brief_reviewers_in_words_that_stay_in_the_log(service, enter):
    admin, auditor, viewer = enter("admin"), enter("auditor"), enter("viewer")
    form = admin.get("/streams/loans/settings").text
    assert "<strong>No names.</strong> Every version stays in the log for good" in form
    assert 'id="brief"' not in auditor.get("/streams/loans/review").text
    asked = {"alike": "Same <income>.\r\nSame debts.", "reasons": "the same debts\r\n\r\n the town alone "}
    assert viewer.post("/streams/loans/brief", **asked).status_code == 403
    assert "changed=yes" in admin.post("/streams/loans/brief", **asked).headers["location"]
    assert "changed=no" in admin.post("/streams/loans/brief", **asked).headers["location"]
    told = service.engine.brief("loans")
    assert (told["version"], told["brief"]["alike"]) == (1, "Same <income>.\nSame debts.")
    assert told["brief"]["reasons"] == ["the same debts", "the town alone"]
    page = auditor.get("/streams/loans/review").text
    assert 'data-brief="1"' in page
    assert "Same &lt;income&gt;.\nSame debts.</p>" in page
    assert re.findall(r'name="reason" value="([^"]+)"', page) == ["the same debts", "the town alone"]
    assert "same qualifications" not in page
    wrong = admin.post("/streams/loans/brief", decided="x" * 2001, alike="Kept.")
    assert wrong.status_code == 422
    assert "`decided` must be at most 2000 printable characters" in text(wrong)
    assert "Kept.</textarea>" in wrong.text
    assert service.engine.brief("loans")["version"] == 1


def test_rounds_come_to_reviewers_in_random_order_and_none_twice(service, enter):
    for t in range(1, 31):
        asked = [{"id": f"{t}-{i}", "features": {"score": i / 4, "town": "North"}} for i in range(4)]
        service.engine.decide("loans", asked, "decider")
    auditor, seen = enter("auditor"), []
    for _ in range(30):
        page = auditor.ask("/streams/loans/review/claim", beside=seen)
        seen.append(int(re.search(r'data-round="(\d+)"', page.text)[1]))
    assert sorted(seen) == list(range(1, 31))
    assert seen != sorted(seen)
    assert auditor.ask("/streams/loans/review/claim", beside=seen).status_code == 204
    again = auditor.ask("/streams/loans/review/claim", beside=seen[:9], begun=[seen[20]]).text
    assert f'data-round="{seen[20]}"' in again  # what was begun comes first


# My reviews -----------------------------------------------------------------------------------------------------------


@on_both
def test_my_reviews_are_my_own_with_search_and_what_became_of_reports(service, enter):
    reported = learned(service)
    auditor = enter("auditor")
    page = text(auditor.get("/streams/loans/review/mine"))
    rounds = [int(t) for t in re.findall(r'scope="row">(\d+)</th>', page)]
    mine = [t for t in range(1, 13) if t % 2 or t in reported]
    assert rounds == mine[::-1]
    assert "somebody else" not in page
    assert len(re.findall(r"\d\.\d\d apart today|turned round", page)) == len(reported)
    found = text(auditor.post("/streams/loans/review/mine", text=f"ODD {reported[0]}"))
    assert re.findall(r'scope="row">(\d+)</th>', found) == [str(reported[0])]
    assert auditor.get("/streams/loans/review/mine/2").status_code == (200 if 2 in mine else 404)


@on_both
def test_a_reviewer_corrects_their_own_verdict_and_an_administrator_any(service, enter):
    first, *_ = learned(service)
    auditor, admin = enter("auditor"), enter("admin")
    address = f"/streams/loans/review/mine/{first}"
    wrong = auditor.post(address, verdict="pair", first=f"{first}-0", second=f"{first}-0", note="kept")
    assert wrong.status_code == 422
    assert "kept</textarea>" in wrong.text
    assert not re.search(r"`|\['|None", html.unescape(re.search(r'class="alert"[^>]*>([^<]*)', wrong.text)[1]))
    assert auditor.post(address, verdict="none", reason="data error").status_code == 303
    record = service.engine.round("loans", first)
    assert [(each["verdict"], each["by"]) for each in record["corrections"]] == [("cleared", "the auditor")]
    other = next(t for t in range(1, 13) if service.engine.round("loans", t)["audit"]["by"] == "somebody else")
    assert auditor.post(f"/streams/loans/review/mine/{other}", verdict="skip").status_code == 404
    assert auditor.post(f"/streams/loans/rounds/{other}/correct", verdict="skip").status_code == 403
    assert f"/rounds/{other}/correct" in admin.get(f"/streams/loans/rounds/{other}").text
    assert admin.post(f"/streams/loans/rounds/{other}/correct", verdict="skip").status_code == 303
    assert "Correction" in admin.get(f"/streams/loans/rounds/{other}").text


# Filters and the log --------------------------------------------------------------------------------------------------


@on_both
def test_rounds_and_the_log_are_filtered_by_reviewer_reason_date_and_person(service, enter):
    reported = learned(service)
    viewer = enter("viewer")

    def rounds(**fields):
        page = viewer.post("/streams/loans/rounds", **fields).text
        return [int(t) for t in re.findall(r'/rounds/(\d+)"', page)]

    everything = list(range(12, 0, -1))
    assert rounds() == everything
    assert rounds(reviewer="somebody else") == [t for t in everything if t % 2 == 0 and t not in reported]
    assert rounds(reason="same qual") == reported[::-1]
    assert rounds(reason=f"odd {reported[1]}") == [reported[1]]
    assert rounds(person="7-2") == [7]
    assert rounds(since="2000-01-01", until="2100-01-01") == everything
    assert rounds(since="2100-01-01") == rounds(until="2000-01-01") == rounds(until="yesterday") == []
    log = viewer.post("/streams/loans/log", reviewer="somebody else").text
    assert log.count("somebody else found no violation.") == len(rounds(reviewer="somebody else"))
    assert "decider asked" not in log
    assert "No such event" in viewer.post("/streams/loans/log", since="2100-01-01").text
    assert viewer.post("/streams/loans/log", person="7-2", kind="learned").text.count("gives policy") == 1


def test_the_log_is_in_people_s_words(service, enter):
    reported = learned(service)
    page = text(enter("viewer").get("/streams/loans/log"))
    assert "root created the stream." in page
    assert "the auditor reported a pair: the people at places" in page
    assert re.search(r"decider asked about 4 people: \d got a yes, under policy \d+\.", page)
    assert "The learner learned from the round, which gives policy 12." in page
    said = re.findall(r'class="what">([^<]*)<', page)
    assert len(said) > 50
    assert not [line for line in said if re.search(r"[{}\[\]_]|None|True|False", line)]
    assert len(reported) == page.count("reported a pair")
    assert set(WORDS) == set(KINDS)


# Tokens ---------------------------------------------------------------------------------------------------------------


@on_both
def test_tokens_have_names_of_their_own_streams_that_exist_and_messages_that_people_read(service, enter):
    admin = enter("admin")
    first = admin.post("/users", name="cleo", role="auditor", streams="loans").text
    assert "lw_" in first
    again = admin.post("/users", name="cleo", role="auditor", streams="loans")  # as a reload would send it
    assert again.status_code == 422
    assert "cleo has a token already" in again.text
    assert not re.search(r"lw_[0-9a-f]{64}", again.text)
    assert [row["name"] for row in service.service.tokens.list()].count("cleo") == 1
    stray = admin.post("/users", name="dora", role="viewer", streams="loans, nowhere", days="7")
    assert "There is no stream named nowhere." in stray.text
    for typed in ('value="dora"', 'value="loans, nowhere"', 'value="7"', "<option selected>viewer"):
        assert typed in stray.text, typed
    for fields in ({"days": "soon"}, {"role": "king"}, {"name": ""}, {"days": "-1"}):
        wrong = admin.post("/users", **{"name": "eve", "role": "viewer"} | fields)
        said = html.unescape(re.search(r'class="alert"[^>]*>([^<]*)', wrong.text)[1])
        assert wrong.status_code == 422
        assert not re.search(r"`|\['|\bNone\b|float|could not convert", said), said
    assert [row["name"] for row in service.service.tokens.list()].count("eve") == 0
