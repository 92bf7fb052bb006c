"""Pages about reviewers: their figures for leads, known rounds, practice, and what a reviewer sees of their own."""

from __future__ import annotations

import re

import pytest
from test_pages_team import LOANS, text
from visitors import service_on

PLAN = {"second": 1.0, "gold": 1.0}


@pytest.fixture
def service(tmp_path, new_database):
    with service_on(new_database("sqlite"), tmp_path, LOANS | {"review": PLAN}) as service:
        yield service


def opened(service, judged=True):
    """One more round of two very different people, and what ann and ben say of it; its number, and the pair."""
    engine = service.engine
    t = engine.streams.get("loans").current().opened + 1
    asked = [{"id": f"{t}-{i}", "features": {"score": s, "town": "North"}} for i, s in enumerate((0.05, 0.95))]
    decided = engine.decide("loans", asked, "decider")["decisions"]
    engine.label("loans", t, {f"{t}-0": 0, f"{t}-1": 1}, "decider")
    pair = [person["id"] for person in sorted(decided, key=lambda person: -person["probability"])]
    round_ = engine.streams.get("loans").current().rounds.get(t)
    if judged and round_ is not None and round_.verdict is None:
        for by in ("ann", "ben"):
            engine.audit("loans", t, "pair" if judged == "reported" else "none", by,
                         pair=pair if judged == "reported" else (), seconds=9.0)  # fmt: skip
    return t, pair


@pytest.fixture
def known(service):
    """The numbers of a gold round and a practice round, each with its pair, beside a round that waits."""
    for _ in range(10):
        opened(service)
    gold, practice = opened(service, "reported"), opened(service, "reported")
    service.engine.mark_known("loans", practice[0], "practice", "root")
    return gold, practice


def test_leads_see_figures_and_mark_known_rounds(service, enter, known):
    (t, _), (practice, _) = known
    viewer, admin, auditor = enter("viewer"), enter("admin"), enter("auditor")
    page = text(viewer.get("/streams/loans/reviewers"))
    assert re.search(r"<th role=\"rowheader\"[^>]*>ann", page)
    assert "too few to say" in page
    assert f'href="/streams/loans/rounds/{practice}"' in page
    assert 'action="/streams/loans/reviewers"' not in page, "viewers look"
    assert viewer.post("/streams/loans/reviewers", t=str(t), use="gold").status_code == 403
    assert auditor.get("/streams/loans/reviewers").status_code == 403
    assert admin.post("/streams/loans/reviewers", t=str(t), use="gold").status_code == 303
    assert service.engine.round("loans", t)["known"] == "gold"
    assert "shown again, for gold" in text(admin.get(f"/streams/loans/rounds/{t}"))
    wrong = admin.post("/streams/loans/reviewers", t="999", use="gold")
    assert wrong.status_code == 404
    assert "There is no round 999" in text(wrong)
    assert 'value="999"' in wrong.text
    assert admin.post("/streams/loans/reviewers", t="x", use="gold").status_code == 422
    assert "marked the round as known, for gold" in text(admin.get("/streams/loans/log"))


def test_a_reviewer_answers_a_gold_round_like_any_other_and_finds_it_among_their_own(service, enter, known):
    (t, pair), _ = known
    service.engine.mark_known("loans", t, "gold", "root")
    while not service.engine.streams.get("loans").current().known.due:  # arithmetic may clear some after a report
        opened(service)
    waiting, _ = opened(service, judged=False)
    while service.engine.round("loans", waiting)["audit"] is not None:
        waiting, _ = opened(service, judged=False)
    auditor = enter("auditor")
    shown = auditor.ask("/streams/loans/review/claim", beside=[], begun=[]).text
    number = int(re.search(r'data-round="(\d+)"', shown)[1])
    assert number not in (t, waiting)
    assert pair[0] in shown
    again = auditor.ask("/streams/loans/review/claim", beside=[number], begun=[]).text
    assert f'data-round="{waiting}"' in again, "the next one while this is looked at"
    renewed = auditor.ask("/streams/loans/review/renew", t=number)
    assert renewed.json()["people"] == 2
    why = auditor.ask("/streams/loans/review/why", t=number, pair=pair)
    assert why.status_code == 200
    said = auditor.ask("/streams/loans/review/verdict", t=number, verdict="pair", pair=pair, reason="same", seconds=3.0)
    assert said.json()["t"] == number
    assert said.json()["proved"]
    mine = text(auditor.get("/streams/loans/review/mine"))
    assert f'<th role="rowheader" scope="row">{number}</th>' in mine
    assert "How you agree with others" in mine
    form = text(auditor.get(f"/streams/loans/review/mine/{number}"))
    assert pair[0] in form
    done = auditor.post(f"/streams/loans/review/mine/{number}", verdict="none", first="", second="", reason="", note="")
    assert done.status_code == 303
    assert service.engine.streams.get("loans").current().known.gold("the auditor").found == 1


def test_practice_tells_the_answer_afterwards(service, enter, known):
    _, (t, pair) = known
    auditor = enter("auditor")
    assert "Practise with 1 round" in text(auditor.get("/streams/loans/review/mine"))
    page = text(auditor.get("/streams/loans/review/practice"))
    assert f"Round {t}" in page
    assert "1 round left" in page
    wrong = auditor.post("/streams/loans/review/practice", t=str(t), verdict="pair", first=pair[0], second="")
    assert wrong.status_code == 422
    done = auditor.post("/streams/loans/review/practice", t=str(t), verdict="none", first="", second="")
    assert done.status_code == 303
    told = text(auditor.get(done.headers["location"]))
    assert "the known answer is another one" in told
    assert f"{pair[0]} and {pair[1]}" in told
    assert "That was the last one" in told
    assert auditor.get("/streams/loans/review/practice?answered=1").status_code == 404
