"""What a reviewer is told after an answer and can do next: Enter after a click, phones, the last verdict, two tabs."""

from __future__ import annotations

import pytest
from office import all_sent, current, fetched, in_front, intercept, next_round, pass_time, report

pytestmark = pytest.mark.browser
PHONE = {"has_touch": True, "is_mobile": True, "viewport": {"width": 375, "height": 740}}


def recorded(page):
    page.wait_for_function("() => document.getElementById('status').textContent.includes('recorded')")
    return page.inner_text("#status")


def in_sight(page, selector):
    """Whether all of an element is within the window, and nothing covers its middle."""
    return page.evaluate(
        """selector => {
            const found = document.querySelector(selector), box = found.getBoundingClientRect();
            const top = document.elementFromPoint((box.left + box.right) / 2, (box.top + box.bottom) / 2);
            return box.height > 0 && box.top >= 0 && box.bottom <= innerHeight && found.contains(top);
        }""",
        selector,
    )


@pytest.mark.parametrize("between", [None, "#hints-switch", "#help-open"])
def test_enter_reports_the_pair_of_a_hint_that_was_clicked(office, between):
    office.stream()
    t = office.open(1)[0]
    page = office.review()
    page.locator(".chip").first.click()
    if between:
        page.locator(between).click()
    if between == "#help-open":
        page.keyboard.press("Enter")  # closes it
        page.wait_for_selector("#help", state="hidden")
        assert page.locator("article.round").count() == 1  # a verdict would have taken it away at once
        assert page.inner_text("#status") == ""
    page.keyboard.press("Enter")
    next_round(page, t)
    all_sent(page)
    assert office.audits(since=office.first - 1) == [(t, "reported", "ann")]


def test_enter_chooses_a_hint_reached_by_keyboard_and_then_reports_it(office):
    office.stream()
    t = office.open(1)[0]
    page = office.review()
    page.keyboard.press("1")
    page.keyboard.press("5")
    other = page.locator(".chip:not([data-first='1'][data-second='5'])").first
    other.focus()
    page.keyboard.press("Enter")  # chooses; the pair that was selected before isn't reported
    pair = [other.get_attribute("data-first"), other.get_attribute("data-second")]
    assert [row.get_attribute("data-number") for row in page.locator("tr.chosen").all()] == pair
    ids = [row.get_attribute("data-id") for row in page.locator("tr.chosen").all()]
    assert office.audits(since=office.first - 1) == []
    page.keyboard.press("Enter")
    next_round(page, t)
    all_sent(page)
    found = office.engine.round("loans", t)
    assert sorted(found["audit"]["pair"]) == sorted(ids)


def test_enter_after_a_verdict_by_mouse_reports_and_doesn_t_repeat_the_verdict(office):
    office.stream()
    first, second = office.open(2)
    page = office.review()
    page.locator("#none").click()
    next_round(page, first)
    page.wait_for_selector("article.round")
    for key in ("1", "5", "Enter"):
        page.keyboard.press(key)
    next_round(page, second)
    all_sent(page)
    assert office.audits(since=office.first - 1) == [(first, "cleared", "ann"), (second, "reported", "ann")]


def test_on_a_phone_the_next_round_begins_at_its_top_and_the_confirmation_stays_in_sight(office):
    office.stream()
    first, *_ = office.open(3, k=12)
    page = office.review(**PHONE)
    fetched(page, 2)
    page.evaluate("scrollTo(0, document.body.scrollHeight)")
    assert page.evaluate("scrollY") > 500
    page.locator("#none").tap()
    next_round(page, first)
    recorded(page)
    assert page.evaluate("scrollY") == 0
    assert in_sight(page, "#status")
    assert in_sight(page, "#undo")
    page.evaluate("scrollTo(0, 900)")
    page.wait_for_function("() => scrollY > 800")
    assert in_sight(page, "#status")


@pytest.mark.parametrize("options", [{}, PHONE], ids=["desk", "phone"])
def test_the_last_verdict_can_be_taken_back_with_a_button_as_long_as_the_grace_time(office, options):
    office.stream()
    t = office.open(1)[0]
    page = office.review(**options)
    page.locator("#skip").click()
    recorded(page)
    page.get_by_text("No round is waiting for review").wait_for()
    assert in_sight(page, "#undo")
    assert not page.locator("#none").is_visible()
    page.locator("#undo").click()
    page.wait_for_selector("article.round")
    assert current(page) == t
    assert page.locator("#none").is_visible()
    page.locator("#skip").click()
    assert "Undo" in recorded(page)
    pass_time(page, 61)
    page.wait_for_selector("#undo", state="hidden")
    page.wait_for_function("() => !document.getElementById('status').textContent.includes('Undo')")
    assert "recorded" in page.inner_text("#status")


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        (["5", "1", "Enter"], "you reported 1 and 5"),
        (["n"], "no violation"),
        (["s"], "skipped"),
        (["5", "1", "n"], "no violation, 1 and 5 not reported"),
        (["1", "5", "s"], "skipped, 1 and 5 not reported"),
    ],
)
def test_the_confirmation_says_what_was_recorded_also_after_a_reload(office, keys, words):
    office.stream()
    first, second, *_ = office.open(4)
    page = office.review()
    for key in keys:
        page.keyboard.press(key)
    said = recorded(page)
    seq = [e["seq"] for e in office.engine.events("loans", limit=100_000) if e["kind"] == "audited"][-1]
    assert said == f"Round {first}: {words}; recorded as #{seq}. Undo (u) for 60 s."
    assert "1 answered today" in page.inner_text(".progress")
    in_front(page, second)
    intercept(page, "**/review/verdict", lambda route: route.abort())
    for key in keys:
        page.keyboard.press(key)
    page.wait_for_selector("#trouble:not([hidden])")
    page.reload()
    page.unroute("**/review/verdict")  # not before: it might be sent before the page goes
    assert recorded(page).startswith(f"Round {second}: {words}; recorded as #")


def test_undo_brings_back_the_pair_the_reason_and_the_note(office):
    office.stream()
    first, second, *_ = office.open(3)
    page = office.review()
    report(page, "i", "the same town")
    recorded(page)
    page.wait_for_selector("article.round")
    assert page.locator("#note").input_value() == ""
    page.keyboard.press("2")  # begun on the next round
    page.keyboard.press("u")
    page.wait_for_function(f"() => document.querySelector('article.round')?.dataset.round === '{first}'")
    assert [row.get_attribute("data-number") for row in page.locator("tr.chosen").all()] == ["1", "5"]
    assert page.locator("#reasons input:checked").get_attribute("value") == "irrelevant attribute"
    assert page.locator("#note").input_value() == "the same town"
    assert page.locator("#report").is_enabled()
    page.keyboard.press("n")
    next_round(page, first)
    assert current(page) == second
    assert [row.get_attribute("data-number") for row in page.locator("tr.chosen").all()] == ["2"]
    assert page.locator("#note").input_value() == ""


def test_the_differences_are_in_sight_on_a_small_laptop(office, keep):
    office.stream()
    office.open(1, k=6)
    page = office.review(viewport={"width": 1280, "height": 800})
    page.keyboard.press("1")
    page.keyboard.press("6")
    assert in_sight(page, "#differences")
    below = page.locator("#differences").bounding_box()
    assert below["y"] + below["height"] <= page.locator("#reasons").bounding_box()["y"]
    tops = {chip.bounding_box()["y"] for chip in page.locator(".chip").all()}
    assert len(tops) == 1
    ends = [box["x"] + box["width"] for box in (one.bounding_box() for one in page.locator(".hints, .chip").all())]
    assert max(ends[1:]) <= ends[0]  # none is cut
    keep(page, "review-laptop")


def test_nothing_moves_when_people_are_selected(office):
    office.stream()
    office.open(1, k=12)
    page = office.review()
    places = """() => [...document.querySelectorAll("thead th, tbody tr, #report, #none, #skip")].map(one => {
        const box = one.getBoundingClientRect(); return [box.left, box.top, box.width, box.height]; })"""
    before = page.evaluate(places)
    page.keyboard.press("1")
    assert page.locator("tr.near .close").first.is_visible()
    assert page.evaluate(places) == before
    for other in ("2", "9"):  # too close, and far enough
        page.keyboard.press(other)
        assert page.locator("td.differs").count() > 0
        assert page.evaluate(places) == before
        page.keyboard.press(other)


def test_a_round_without_a_possible_violation_says_so_and_offers_to_go_on(office):
    office.stream(taught=0)
    t = office.open(1)[0]
    page = office.review()
    words = "No pair here can be a violation: all are within 0.1 of each other. Press n to go on."
    assert page.inner_text("#pair-said") == words
    primary = page.locator("#verdict button.primary")
    assert primary.count() == 1
    assert primary.get_attribute("id") == "none"
    page.keyboard.press("n")
    next_round(page, t)
    all_sent(page)
    page.get_by_text("You answered 1 round today. Thank you; you can close this page.").wait_for()


def test_a_possible_violation_has_its_report_as_the_primary_button_and_a_caption_of_what_will_be_shaded(office):
    office.stream()
    office.open(1)
    page = office.review()
    assert page.locator("#verdict button.primary").get_attribute("id") == "report"
    assert page.inner_text("figcaption") == (
        "Probability of a yes. Select somebody: people within 0.1 of them are shaded, and can't be reported with them."
    )


def test_a_gap_near_what_is_allowed_has_a_digit_more(office):
    office.stream()
    office.open(1)
    page = office.review()
    for chance, said in ((0.397, "0.103 apart."), (0.402, "0.098 apart, too close"), (0.25, "0.25 apart.")):
        page.keyboard.press("Escape")
        page.evaluate(
            "low => document.querySelectorAll('tbody tr').forEach((row, i) => "
            "{ row.dataset.probability = i ? low : 0.5; })",
            chance,
        )
        page.keyboard.press("1")
        page.keyboard.press("2")
        assert said in page.inner_text("#pair-said")


@pytest.mark.parametrize("how", ["n is held down", "Enter is held down on the button", "a double click"])
def test_a_hand_that_slips_answers_one_round_only(office, how):
    office.stream()
    first, second, *_ = office.open(4)
    page = office.review()
    fetched(page, 2)  # the next round, too
    if how == "a double click":
        page.locator("#none").dblclick()
    else:
        if "Enter" in how:
            page.locator("#none").focus()
        for _ in range(5):  # from the second on it is a repeated key
            page.keyboard.down("Enter" if "Enter" in how else "n")
    recorded(page)
    all_sent(page)
    assert office.audits(since=office.first - 1) == [(first, "cleared", "ann")]
    assert current(page) == second


def test_caps_lock_changes_no_key(office):
    office.stream()
    t = office.open(1)[0]
    page = office.review()
    for key in ("1", "5", "Q"):
        page.keyboard.press(key)
    assert page.locator("#reasons input:checked").get_attribute("value") == "same qualifications"
    page.keyboard.press("N")
    next_round(page, t)
    assert "no violation" in recorded(page)


def test_a_second_verdict_of_the_same_person_is_recorded_and_said_to_be_late(office):
    office.stream()
    t = office.open(1)[0]
    page = office.review()
    office.engine.audit("loans", t, "skip", "ann")  # as from another browser
    page.keyboard.press("n")
    assert "too late to be learned" in recorded(page)
    record = office.engine.round("loans", t)
    assert record["audit"]["verdict"] == "skipped"
    assert [(late["verdict"], late["by"]) for late in record["late_verdicts"]] == [("cleared", "ann")]


def test_on_a_phone_cells_to_compare_by_are_marked_and_help_speaks_of_taps_from_its_top(office, keep):
    office.stream()
    office.open(1)
    page = office.review(helped=False, **PHONE)
    assert page.locator(".by-touch").inner_text() == "Tap two people, then Report this pair."
    assert not page.locator(".keys").is_visible()
    assert in_sight(page, "#help-title")
    assert page.locator("#help-close").inner_text() == "Begin"
    page.locator("#help-close").tap()
    page.evaluate("for (const one of ['today', 'waiting']) document.getElementById(one).textContent = '1234'")
    middles = [page.locator(one).bounding_box() for one in (".progress", "#hints-switch", "#help-open")]
    assert len({round(box["y"] + box["height"] / 2) for box in middles}) == 1
    assert not page.locator("#reasons kbd").first.is_visible()  # no keys to press
    label = "cell => getComputedStyle(cell, '::before').content"
    marked = [cell.evaluate(label) for cell in page.locator("tbody tr").first.locator("td[data-value]").all()]
    assert [("compare" in said) for said in marked] == [True, True, False]
    page.locator("#help-open").tap()
    assert page.locator("#help-close").inner_text() == "Back to the round"
    keep(page, "help-phone")
