"""What the reviewer's page promises: the pair in sight, nothing lost, no blind answer, own keys, why when asked.

All tests share a service, in which a lease lasts ten minutes. Nobody waits for them: pages and the service are told
that they have passed.
"""

from __future__ import annotations

import re
import time

import pytest
from office import (
    COVERED,
    MODES,
    SIZES,
    all_sent,
    current,
    drawn,
    fetched,
    fits,
    in_front,
    intercept,
    next_round,
    pass_time,
    problems,
)

from likewise.service.pages import review

pytestmark = pytest.mark.browser


def opened(desk, count=2, k=5, **options):
    """A reviewer's page with rounds that wait; their numbers."""
    rounds = desk.open(count, desk.name, k)
    return desk.review(stream=desk.name, reduced_motion="reduce", **options), rounds


def chosen(page):
    return [row.get_attribute("data-number") for row in page.locator("tr.chosen").all()]


def press(page, *keys):
    for key in keys:
        page.keyboard.press(key)


def said(page, text, where="#status"):
    page.locator(where, has_text=text).wait_for()


WITHIN = """selector => {
    const box = document.querySelector(selector).getBoundingClientRect();
    return box.height > 0 && box.width > 0 && box.top >= -1 && box.bottom <= innerHeight + 1
        && box.left >= -1 && box.right <= innerWidth + 1;
}"""


# In sight -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("size", "mode"),
    [
        pytest.param(
            size, mode, marks=[] if mode == "light" or (size, mode) == ("laptop", "forced") else pytest.mark.slow
        )
        for size in SIZES
        for mode in MODES
    ],
)
def test_the_chosen_pair_and_how_it_differs_stay_in_sight_and_nothing_is_covered(desk, keep, size, mode):
    width, height = SIZES[size]
    page, _ = opened(desk, 1, k=9, viewport={"width": width, "height": height}, **MODES[mode])
    press(page, "1", "9")
    for place in (0, 0.5, 1):
        page.evaluate("share => scrollTo(0, share * document.body.scrollHeight)", place)
        drawn(page)
        assert page.evaluate(WITHIN, "#pair-said"), place
        assert page.evaluate(WITHIN, "#differences div.differs"), place
    page.evaluate("scrollTo(0, 0)")
    if width >= 1280:
        for selector in ("#differences", "#report", "#none", "#skip", "#undo", "#reasons", "#note"):
            assert page.evaluate(WITHIN, selector), selector
    keep(page, f"promises-{size}-{mode}")
    assert page.evaluate(COVERED) == []
    assert fits(page)
    assert problems(page) == []


@pytest.mark.parametrize("size", ["laptop", "desktop"])
def test_nothing_moves_when_a_verdict_is_recorded_and_reasons_and_note_stay_on_screen(desk, keep, size):
    width, height = SIZES[size]
    page, (first, second, *_) = opened(desk, 5, viewport={"width": width, "height": height})
    place = (
        "() => ['#round', '#verdict', '#none'].map((one) => document.querySelector(one).getBoundingClientRect().top)"
    )
    before = page.evaluate(place)
    for t, keys in ((first, ["1", "5", "n"]), (second, ["1", "5", "q", "Enter"])):
        in_front(page, t)
        press(page, *keys)
        said(page, f"Round {t}:")
        said(page, "recorded as #")
        page.locator("#in-log", has_text="your verdicts are in the log").wait_for()
        page.wait_for_selector("article.round")
        press(page, "1", "5")
        keep(page, f"recorded-{size}")
        assert page.evaluate(place) == before
        for selector in ("#differences", "#report", "#none", "#skip", "#undo", "#reasons", "#note", "#status"):
            assert page.evaluate(WITHIN, selector), selector
        press(page, "Escape")


def test_forced_colours_show_who_is_selected(desk):
    page, _ = opened(desk, 1, forced_colors="active")
    style = "row => { const s = getComputedStyle(row); return [s.outlineStyle, s.outlineWidth]; }"
    before = page.locator("tbody tr").first.evaluate(style)
    press(page, "1")
    assert page.locator("tbody tr").first.evaluate(style) == ["solid", "3px"] != before
    fills = "dots => dots.map((dot) => getComputedStyle(dot.firstElementChild).fill)"
    shown = page.locator(".dot").evaluate_all(fills)
    assert len(set(shown[1:])) == 1
    assert shown[0] != shown[1]


def test_the_person_stays_in_sight_when_the_table_is_scrolled_to_the_side(desk):
    page, _ = opened(desk, 1, viewport={"width": 1000, "height": 720})
    page.evaluate("document.querySelectorAll('tbody td').forEach((cell) => { cell.textContent = 'w'.repeat(60); })")
    before = page.locator("tbody th").first.bounding_box()["x"]
    page.evaluate("document.querySelector('.people').parentElement.scrollLeft = 400")
    assert page.evaluate("document.querySelector('.people').parentElement.scrollLeft") == 400
    assert page.locator("tbody th").first.bounding_box()["x"] == pytest.approx(before, abs=1)


def test_many_people_at_one_probability_share_a_mark(desk):
    name = f"{desk.name}-flat"
    desk.stream(name, taught=0)
    desk.open(1, name, k=14)  # nothing was learned, so everybody has the same probability
    page = desk.review(stream=name)
    assert page.locator(".dot").count() == 1
    assert page.locator(".dot").text_content() == "1–14"
    assert page.locator(".axis svg").first.bounding_box()["height"] < 100
    page.locator(".dot rect").click()
    assert page.evaluate("document.activeElement.closest('tr').dataset.number") == "1"
    press(page, "3")
    assert "chosen" in page.locator(".dot").get_attribute("class")


# Nothing lost ---------------------------------------------------------------------------------------------------------


def test_what_was_begun_is_there_again_after_a_reload_and_in_another_tab(desk):
    page, (_, second, third) = opened(desk, 3)
    press(page, "s")
    in_front(page, second)
    press(page, "2", "5", "i", "t")
    page.keyboard.type("looks odd")
    page.reload()
    in_front(page, second)
    for tab in (page, page.context.new_page()):
        if tab is not page:
            tab.goto(page.url)
            in_front(tab, second)
        assert chosen(tab) == ["2", "5"]
        assert tab.locator("#reasons input:checked").get_attribute("value") == "irrelevant attribute"
        assert tab.locator("#note").input_value() == "looks odd"
    tab.keyboard.press("Escape")  # also told to the first tab
    page.wait_for_function("() => !document.querySelector('tr.chosen')")
    press(tab, "1", "5", "Enter")
    in_front(tab, third)
    in_front(page, third)
    said(page, "you answered it in another tab")
    all_sent(tab)
    page.reload()
    page.wait_for_selector("article.round")
    assert page.locator("#note").input_value() == ""


def test_verdicts_of_two_tabs_that_wait_are_all_sent_once_by_whoever_is_left(desk):
    page, rounds = opened(desk, 4)
    other = page.context.new_page()
    other.goto(page.url)
    other.wait_for_selector("article.round")
    for tab in (page, other):
        fetched(tab, 2)
        intercept(tab, "**/review/verdict", lambda route: route.abort())
    given = []
    for tab in (page, other):
        given.append(current(tab))
        tab.keyboard.press("n")
        tab.locator("#trouble", has_text="kept here").wait_for()
        next_round(other, given[0])  # a tab hears what another has answered
    assert len(set(given)) == 2, "the second tab went on when the first had answered"
    other.close()
    page.unroute("**/review/verdict")
    page.reload()
    all_sent(page)
    assert sorted(t for t, _, _ in desk.audits(desk.name, since=rounds[0] - 1)) == sorted(given)


def test_undo_reaches_every_verdict_whose_grace_time_still_runs(desk):
    page, (first, second, third) = opened(desk, 3)
    for t in (first, second):
        in_front(page, t)
        press(page, "n")
        said(page, f"Round {t}: no violation; recorded")
    in_front(page, third)
    assert page.inner_text("#undo").startswith(f"Undo round {second}")
    press(page, "u")
    in_front(page, second)
    said(page, "taken back")
    assert page.inner_text("#undo").startswith(f"Undo round {first}")
    page.locator("#undo").click()
    in_front(page, first)
    assert page.locator("#undo").get_attribute("aria-disabled") == "true"
    assert [desk.engine.round(desk.name, t)["audit"] for t in (first, second)] == [None, None]


def test_a_lease_that_is_about_to_end_says_so_and_activity_renews_it(desk):
    page, _ = opened(desk, 1)
    renewals = []
    page.on("request", lambda asked: renewals.append(asked.url) if asked.url.endswith("/renew") else None)
    pass_time(page, 545)  # nobody touches anything
    page.wait_for_selector("#lease:not([hidden])")
    assert re.search(r"goes back to the others in \d+ seconds?\. Press any key", page.inner_text("#lease"))
    assert problems(page) == []
    before = len(renewals)
    page.mouse.move(300, 300)
    page.wait_for_function("() => document.querySelector('#lease').hidden === true")
    assert len(renewals) > before


def test_a_round_that_nobody_has_seen_can_t_be_answered(desk, monkeypatch):
    monkeypatch.setattr(review, "LEAST", 60.0)
    page, (first, second) = opened(desk)
    fetched(page, 2)
    for keys in (["n"], ["s"], ["1", "5", "Enter"]):
        press(page, *keys)
        said(page, f"Round {first} has only just come up")
    assert current(page) == first
    page.evaluate("() => { const now = performance.now.bind(performance); performance.now = () => now() + 61_000; }")
    press(page, "n", "n")  # the second one is about a round that came up a moment ago
    in_front(page, second)
    all_sent(page)
    assert desk.audits(desk.name, since=first - 1) == [(first, "cleared", "ann")]
    assert current(page) == second


def test_an_ended_session_says_one_thing_and_offers_the_login(desk, keep):
    page, (first, *_) = opened(desk)
    press(page, "1", "5")
    desk.sessions.end_all("ann")
    press(page, "Enter")
    page.get_by_role("alert").filter(has_text="Your session has ended").wait_for()
    assert page.get_by_role("alert").count() == 1
    assert page.evaluate("document.activeElement.id") == "ended-login"
    assert not page.locator("article.round").is_visible()
    keep(page, "ended")
    assert problems(page) == []
    press(page, "Enter")
    page.wait_for_url("**/login**")
    page.go_back()
    desk.login(page, "ann")
    page.goto(f"{desk.url}/streams/{desk.name}/review")
    all_sent(page)
    assert desk.audits(desk.name, since=first - 1) == [(first, "reported", "ann")]


def test_somebody_who_is_erased_in_mid_review_goes_without_their_id_being_said(desk, keep):
    page, (first, *_) = opened(desk)
    fetched(page, 2)
    press(page, "1", "5")
    gone = page.locator("tbody tr").nth(4).get_attribute("data-id")
    desk.engine.erase(desk.name, gone, "root")
    intercept(page, "**/review/renew", lambda route: route.abort())
    press(page, "Enter")
    said(page, "was erased", "#trouble")
    assert gone not in page.locator("#trouble").inner_text()
    keep(page, "erased-answered")
    page.unroute("**/review/renew")
    page.goto(page.url)
    in_front(page, first)
    assert page.locator("tbody tr").count() == 4
    other = page.locator("tbody tr").nth(3).get_attribute("data-id")
    press(page, "1", "4")
    desk.engine.erase(desk.name, other, "root")
    pass_time(page, 300)
    press(page, "ArrowDown")  # whoever works renews the lease, and hears of it
    said(page, "somebody in it was erased")
    keep(page, "erased")
    assert page.locator("tbody tr").count() == 3
    assert chosen(page) == ["1"]
    assert other not in page.content()


# Keys, announcements, focus -------------------------------------------------------------------------------------------


def test_letters_can_be_switched_off_and_changed_and_the_page_shows_it(desk):
    page, (first, second) = opened(desk)
    press(page, "?")
    page.locator("#keys input[name=none]").fill("x")
    page.keyboard.press("Tab")
    page.locator("#keys input[name=skip]").fill("x")
    page.keyboard.press("Tab")
    assert "only one thing" in page.inner_text("#keys-problem")
    page.locator("#keys input[name=skip]").fill("s")
    page.keyboard.press("Tab")
    assert page.inner_text("#keys-problem") == ""
    assert problems(page) == []
    press(page, "Escape")
    assert page.evaluate("document.activeElement.closest('dialog')") is None  # the next key is about the round
    assert page.locator("#none kbd").inner_text() == "x"
    press(page, "n")
    assert current(page) == first
    press(page, "x")
    in_front(page, second)
    page.reload()
    in_front(page, second)
    assert page.locator("#none kbd").inner_text() == "x"
    press(page, "?")
    page.get_by_label("Letters and digits are keys").uncheck()
    press(page, "Escape", "x", "1", "s")
    assert current(page) == second
    assert chosen(page) == []
    assert not page.locator("#none kbd").is_visible()
    page.locator(".person").first.focus()
    press(page, "Space", "ArrowDown", "ArrowDown", "ArrowDown", "ArrowDown", "Space", "Enter")
    all_sent(page)
    audits = desk.audits(desk.name, since=first - 1)
    assert [verdict for _, verdict, _ in audits] == ["cleared", "reported"]


def test_every_new_round_is_announced_and_the_focus_stays(desk):
    page, (first, second, _) = opened(desk, 3)
    assert re.fullmatch(
        rf"Round {first}: 5 people, with probabilities from 0\.\d\d to \d\.\d\d\.",
        page.locator("#announce[aria-live=polite]").text_content(),
    )
    page.locator("#none").focus()
    press(page, "Enter")
    in_front(page, second)
    assert page.locator("#announce").text_content().startswith(f"Round {second}: 5 people")
    page.wait_for_function("() => document.activeElement.id === 'none'")
    page.locator(".person").nth(2).focus()
    press(page, "n")
    next_round(page, second)
    page.wait_for_function("() => document.activeElement.closest('tr')?.dataset.number === '3'")
    press(page, "1", "5")
    page.locator("#report").focus()
    press(page, "Enter")
    page.locator("#round").get_by_text("No round is waiting").wait_for()
    assert page.evaluate("document.activeElement.id") == "report" or not page.locator("#report").is_visible()
    all_sent(page)


@pytest.mark.parametrize(("focus", "back"), [("#none", "activeElement.id === 'none'"),
    (".person >> nth=2", "activeElement.closest('tr')?.dataset.number === '3'")])  # fmt: skip
def test_the_focus_comes_back_with_the_next_round_if_the_desk_was_empty_in_between(desk, focus, back):
    page, _ = opened(desk, 1)
    page.locator(focus).focus()
    press(page, "Enter" if focus == "#none" else "n")
    page.locator("#round").get_by_text("No round is waiting").wait_for()
    (second,) = desk.open(1, desk.name, 5)
    in_front(page, second)
    page.wait_for_function(f"() => document.{back}")


# Why ------------------------------------------------------------------------------------------------------------------


def test_why_comes_only_for_a_pair_and_only_when_asked_and_is_sent_with_the_verdict(desk):
    page, (first, *_) = opened(desk)
    bodies = []
    page.on(
        "request", lambda asked: bodies.append(asked.post_data_json) if asked.url.endswith("/review/verdict") else None
    )
    press(page, "w")
    said(page, "Select two people first")
    press(page, "1", "5")
    assert page.inner_text("#why") == ""
    press(page, "w")
    said(page, "apart afterwards", "#why")
    words = page.inner_text("#why")
    gap = float(re.search(r"([\d.]+) apart", page.inner_text("#pair-said"))[1])
    assert float(re.search(r"score puts 1 ahead by ([\d.]+)", words)[1]) == pytest.approx(gap, abs=0.011)
    assert problems(page) == []
    press(page, "4")  # another pair: asked again, or not at all
    assert page.inner_text("#why") == ""
    press(page, "1", "5", "Enter")
    press(page, "n")
    all_sent(page)
    assert [body["hints"] for body in bodies] == [True, False]
    assert 0 < bodies[0]["seconds"] < 600
    assert desk.engine.round(desk.name, first)["audit"]["verdict"] == "reported"


def test_why_is_in_sight_when_it_comes_also_below_many_differences(desk):
    page, _ = opened(desk)
    page.set_viewport_size({"width": 1280, "height": 560})
    press(page, "1", "5", "w")
    said(page, "apart afterwards", "#why")
    box, why = (page.locator(name).bounding_box() for name in ("#compared", "#why"))
    assert page.evaluate(
        "() => { const box = document.querySelector('#compared'); return box.scrollHeight > box.clientHeight }"
    )
    assert box["y"] - 1 <= why["y"] < box["y"] + box["height"] / 2


# Several reviewers ----------------------------------------------------------------------------------------------------


def disagreed(desk):
    """Two reviewers' pages, and a round in which they named different pairs: each is asked about the other's."""
    desk.engine.change_plan(desk.name, {"second": 1.0, "ask_all": False}, "root")
    page, (t, *_) = opened(desk, 1)
    press(page, "1", "5", "Enter")
    all_sent(page)
    page.get_by_text("No round is waiting").wait_for()
    assert page.inner_text("#waiting") == "0"  # it waits for a colleague
    other = desk.review("bob", stream=desk.name, reduced_motion="reduce")
    in_front(other, t)
    assert other.locator("article .notice").count() == 0  # blind: nothing tells of the first verdict
    press(other, "1", "4", "Enter")
    all_sent(other)
    return page, other, t


def test_two_who_name_different_pairs_are_each_asked_about_the_other_s_yes_or_no(desk):
    page, other, t = disagreed(desk)
    asked = {}
    for tab in (page, other):
        tab.wait_for_selector("article[data-asked]")
        asked[tab] = tab.locator("article").get_attribute("data-asked")
        assert "You are asked about this pair only." in tab.inner_text("article .notice")
        assert chosen(tab) == asked[tab].split("-")
        press(tab, "2", "Escape")
        assert chosen(tab) == asked[tab].split("-")  # the pair stands
        assert tab.inner_text("#report").startswith("Too different")
        assert problems(tab) == []
    for tab in (page, other):
        press(tab, "Enter" if tab is page else "n")
        all_sent(tab)
        said(tab, "recorded as #")
    assert asked == {page: "1-4", other: "1-5"}
    opinions = desk.engine.round(desk.name, t)["opinions"]
    assert {(each["by"], each["objects"]) for each in opinions} == {("ann", True), ("bob", False)}


def idle(desk, pages, monkeypatch, hours):
    """Let an hour pass for pages that nobody touches, so that it is so many hours later for the service."""
    monkeypatch.setattr(desk.engine, "clock", lambda: time.time() + 3600 * hours)
    for page in pages:
        pass_time(page, 3600)


def test_a_question_that_comes_to_a_page_that_nobody_touches_stays_there(desk, monkeypatch):
    tabs = page, other, t = disagreed(desk)
    idle(desk, tabs[:2], monkeypatch, 1)  # both pages ask every three seconds, and are asked
    for tab in (page, other):
        tab.wait_for_selector("article[data-asked]")
    idle(desk, tabs[:2], monkeypatch, 2)
    for tab in (page, other):
        with tab.expect_response("**/review/renew") as renewed:
            tab.mouse.move(300, 300)
        assert renewed.value.ok
        assert not tab.locator("#lease").is_visible()  # it goes to nobody else, so nothing is about to end
        assert not tab.locator("#trouble").is_visible()
        in_front(tab, t)
        press(tab, "n")
        all_sent(tab)
        said(tab, "recorded as #")
    assert len(desk.engine.round(desk.name, t)["opinions"]) == 2


def test_a_question_answered_in_another_tab_goes_from_this_one(desk):
    page, _, t = disagreed(desk)
    tab = page.context.new_page()
    tab.goto(page.url)
    for one in (page, tab):
        one.wait_for_selector("article[data-asked]")
    press(tab, "n")
    page.get_by_text("No round is waiting").wait_for()
    said(page, f"Round {t}: you answered it in another tab")
    all_sent(tab)


def test_a_round_that_comes_to_a_page_that_nobody_touches_says_when_it_goes_and_is_kept_by_any_key(desk, monkeypatch):
    page = desk.page("ann")
    page.goto(f"{desk.url}/streams/{desk.name}/review")
    page.get_by_text("No round is waiting").wait_for()
    idle(desk, [page], monkeypatch, 1)
    t = desk.open(1, desk.name)[0]
    in_front(page, t)
    pass_time(page, 545)
    said(page, f"Round {t} goes back to the others in", "#lease:not([hidden])")
    idle(desk, [page], monkeypatch, 2)
    said(page, f"Round {t} may have gone to somebody else", "#lease:not([hidden])")
    press(page, "1")
    page.wait_for_selector("#lease", state="hidden")
    assert not page.locator("#trouble").is_visible()
    assert current(page) == t
    assert desk.engine.claim(desk.name, "bob") is None
    idle(desk, [page], monkeypatch, 3)
    assert desk.engine.claim(desk.name, "bob")["t"] == t
    press(page, "5")
    said(page, f"Round {t} has gone to another reviewer.", "#trouble")
    assert page.locator("article.round").count() == 0


def test_a_verdict_taken_back_can_be_given_again_also_where_a_colleague_could_have_been_asked(desk):
    desk.engine.change_plan(desk.name, {"second": 1.0, "ask_all": False}, "root")
    page, (t, *_) = opened(desk, 1)
    press(page, "n")
    said(page, "recorded as #")
    with page.expect_response("**/review/renew") as renewed:
        press(page, "u")
        in_front(page, t)
    assert renewed.value.ok
    assert desk.engine.claim(desk.name, "bob") is None
    press(page, "1", "5", "Enter")
    said(page, "you reported 1 and 5; recorded as #")
    assert not page.locator("#trouble").is_visible()


# The brief ------------------------------------------------------------------------------------------------------------


def test_a_brief_is_shown_until_its_version_was_seen_and_under_help_and_its_reasons_have_keys(desk):
    page, _ = opened(desk)
    assert page.locator("#help[open]").count() == 0
    desk.engine.change_brief(desk.name, {"alike": "Same debts.", "reasons": ["the same debts"]}, "root")
    page.reload()
    said(page, "Same debts.", "#help[open] #brief")
    assert problems(page) == []
    page.click("#help-close")
    page.reload()
    page.locator("#round article").first.wait_for()
    assert page.locator("#help[open]").count() == 0, "it was seen"
    press(page, "q")
    assert page.locator("#reasons input:checked").get_attribute("value") == "the same debts"
    press(page, "?")
    said(page, "Same debts.", "#help[open] #brief")
