"""The reviewer's page where reviewers see decisions: yes and no, no probability, only pairs that can be accepted."""

from __future__ import annotations

import json
import re

import pytest
from office import LOANS, all_sent, current, fetched, people

from likewise.service.refusals import Conflict
from likewise.service.stream.settings import Settings
from service.serving import same_lots

pytestmark = pytest.mark.browser
NAME = "bank"
WITHOUT_FEATURES = """() => {
  const article = document.querySelector("article").cloneNode(true);
  article.removeAttribute("data-until");
  article.querySelectorAll("td[data-value]").forEach((cell) => cell.remove());
  return article.outerHTML;
}"""


@pytest.fixture
def bank(office):
    """A stream of a bank with rounds that wait, in which something can be reported."""
    plain = LOANS | {"labels": "accepted", "lot": "round", "audits": "decisions", "penalty": "growing", "alpha": 0.05}
    with same_lots():
        office.engine.create(Settings.from_dict(plain | {"name": NAME, "waits": {"grace": 60, "label": 1e9}}), "root")
    while sum(round_.verdict is None for round_ in state(office).rounds.values()) < 3:
        t = state(office).opened + 1
        assert t < 200
        asked = people(t)
        opened = office.engine.decide(NAME, asked, "decider")
        labels = {
            person["id"]: int(person["features"]["score"] > 0.5)
            for person, answer in zip(asked, opened["decisions"], strict=True)
            if answer["decision"]
        }
        if labels:
            office.engine.label(NAME, t, labels, "decider")
    return office


def state(office):
    return office.engine.streams.get(NAME).current()


def shows(number, text):
    """Whether a number begins somewhere, whole or to four digits; not as the end of a time, as in 12:34:50.571896."""
    return any(re.search(rf"(?<!\d){re.escape(spelt)}", text) for spelt in (repr(float(number)), f"{number:.4g}"))


@pytest.mark.parametrize("text", ['{"p": 0.571}', "0.5712345", "[0.57128]", "<td>0.5713</td>"])
def test_a_number_is_found_however_it_is_spelt(text):
    assert shows(0.57128 if "28" in text or "13" in text else 0.571, text)


def test_a_number_is_not_found_in_a_time():
    assert not shows(0.571, "2026-11-19T23:34:50.571896+00:00")


def test_a_page_of_decisions_shows_no_probability_and_reports_a_pair_that_can_be_accepted(bank, keep):
    page = bank.review(stream=NAME)
    fetched(page, 2)
    heard = []
    page.on("response", lambda answer: heard.append(answer))
    page.reload()
    page.wait_for_selector("article.round")
    t = current(page)
    round_ = state(bank).rounds[t]
    text = page.content() + "".join(answer.text() for answer in heard if "claim" in answer.url and answer.status == 200)
    gaps = [abs(p - q) for p in round_.probabilities for q in round_.probabilities if p != q]
    for number in [*round_.probabilities, *gaps]:
        assert not shows(number, text)
    assert "data-probability" not in text
    assert page.locator("article svg").count() == 0
    beside = page.evaluate(WITHOUT_FEATURES)
    assert "yes" in beside
    assert not re.search(r"\d\.\d", beside), "no number but those of people and of the round"
    shown = {row.get_attribute("data-id"): row.get_attribute("data-decision") for row in page.locator("tbody tr").all()}
    assert shown == dict(zip(round_.ids, ("yes" if d else "no" for d in round_.decisions), strict=True))
    keep(page, "review-decisions")
    pairs = page.locator("article").get_attribute("data-pairs").split()
    assert len(pairs) == len(round_.reportable(0.05))
    yes = [number for number, decision in enumerate(shown.values(), 1) if decision == "yes"]
    if len(yes) > 1:
        page.keyboard.press(str(yes[0]))
        page.keyboard.press(str(yes[1]))
        assert "both got a yes" in page.locator("#pair-said").text_content()
        assert page.locator("#report").is_disabled()
        page.keyboard.press("Escape")
    for number in pairs[0].split("-"):
        page.keyboard.press(number)
    assert "one got a yes, the other a no" in page.locator("#pair-said").text_content()
    page.keyboard.press("w")  # why would tell probabilities
    assert not page.locator("#why-open").is_visible()
    with pytest.raises(Conflict, match="decisions only"):
        bank.engine.explain(NAME, t, "ann", [list(shown)[int(number) - 1] for number in pairs[0].split("-")])
    page.keyboard.press("Enter")
    all_sent(page)
    said = bank.engine.round(NAME, t)["audit"]
    ids = list(shown)
    assert said["pair"] == [ids[int(number) - 1] for number in pairs[0].split("-")]
    assert [shown[id] for id in said["pair"]] == ["yes", "no"]


def test_no_answer_that_such_a_reviewer_can_get_holds_a_probability_of_an_open_round(bank):
    """Over HTTP too, with the token of a reviewer, from every address that they may ask."""
    token, _ = bank.service.service.tokens.add("eve", "auditor")
    client = bank.service.connect(token)
    claimed = client.post(f"/v1/streams/{NAME}/audits/claim").json()
    round_ = state(bank).rounds[claimed["t"]]
    read = [claimed, client.get(f"/v1/streams/{NAME}").json()]
    yes, no = claimed["pairs"][0]
    same = [person["id"] for person in claimed["people"] if person["decision"] == 1 and person["id"] != yes][:1]
    address = f"/v1/streams/{NAME}/rounds/{claimed['t']}/audit"
    if same:
        read.append(client.put(address, json={"verdict": "pair", "pair": [yes, *same]}).json())
    read.append(client.put(address, json={"verdict": "pair", "pair": [yes, no]}).json())
    assert read[-1]["gap"] is None
    text = json.dumps(read)
    for number in round_.probabilities:
        assert not shows(number, text)
    for path in ("rounds/1", "events", "certificate", "export", "people/1-0"):
        assert client.get(f"/v1/streams/{NAME}/{path}").status_code == 403
