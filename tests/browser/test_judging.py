"""``review.html`` of an audit, in a real browser, from a file: what is judged there comes back as the answers."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import likewise as lw
from likewise.file_review import Assignment, read_answers, read_verdicts
from likewise.file_review.page import audit_page, review_page

pytestmark = pytest.mark.browser


@pytest.fixture
def review():
    rng = np.random.default_rng(0)
    people = pd.DataFrame({"income": rng.random(40).round(3), "home": rng.choice(["own", "rent"], 40)})
    people["score"] = rng.random(40).round(3)
    return lw.audit(people, "score", ["income", "home"], pairs=6)


def opened(chromium, path, text):
    path.write_text(text, encoding="utf-8")
    page = chromium.new_context(viewport={"width": 1280, "height": 900}).new_page()
    page.wrong = []
    page.on("pageerror", lambda error: page.wrong.append(str(error)))
    page.on("request", lambda sent: sent.url.startswith("http") and page.wrong.append(sent.url))
    page.goto(path.as_uri())
    return page


def test_answers_are_saved_as_the_audit_reads_them(chromium, review, tmp_path):
    page = opened(chromium, tmp_path / "review.html", review_page(review, "Pairs to judge"))
    cards = page.locator("section.card")
    assert cards.count() == len(review.drawn.pairs) > 3
    cards.nth(0).get_by_label("too different").check()
    cards.nth(1).get_by_label("fine").check()
    cards.nth(1).get_by_label("too different").check()  # changed their mind
    cards.nth(2).get_by_label("fine").check()
    assert page.locator("#done").inner_text() == "3"
    with page.expect_download() as saving:
        page.get_by_role("button", name="Save the answers").click()
    saving.value.save_as(tmp_path / "answers.csv")
    answers = read_answers(tmp_path / "answers.csv", review.people, review.drawn, review.seed)
    expected = [True, True, False, *[None] * (len(review.drawn.pairs) - 3)]
    assert [answers[pair] for pair in review.drawn.pairs] == expected
    assert page.wrong == []
    page.context.close()


def test_a_reviewers_own_page_has_their_pairs_and_saves_their_name(chromium, review, tmp_path):
    asked = Assignment.by_lot(review.drawn, ["ann", "bob b"], second=0)
    pairs = asked.of("bob b")
    page = opened(chromium, tmp_path / "review.html", review_page(review, "Pairs to judge", pairs, "bob b"))
    cards = page.locator("section.card")
    assert cards.count() == len(pairs) < len(review.drawn.pairs)
    for card in cards.all():
        card.get_by_label("too different").check()
    with page.expect_download() as saving:
        page.get_by_role("button", name="Save the answers").click()
    assert saving.value.suggested_filename == "answers-bob b.csv"
    saving.value.save_as(tmp_path / "answers.csv")
    verdicts = read_verdicts(tmp_path / "answers.csv", review.people, review.drawn, review.seed, asked.names)
    assert verdicts == {"bob b": dict.fromkeys(pairs, True)}
    assert page.wrong == []
    page.context.close()


def test_the_page_of_an_audit_asks_for_nothing_from_elsewhere(chromium, review, tmp_path):
    page = opened(chromium, tmp_path / "audit.html", audit_page(review, "Audit"))
    assert page.get_by_role("heading", name="Compared to whom?").is_visible()
    assert page.wrong == []
    page.context.close()
