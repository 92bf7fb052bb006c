"""A reviewer's own work: which stream it is, what they are told first, how long it takes, and what they said before."""

from __future__ import annotations

import pytest
from office import all_sent, fetched, fits, in_front, problems, report

pytestmark = pytest.mark.browser


def test_the_page_names_its_stream_and_begins_with_the_brief_on_a_first_visit(desk):
    desk.engine.change_brief(desk.name, {"decided": "A loan of 1,000.", "alike": "Equal debts."}, "root")
    desk.open(1, desk.name)
    page = desk.page(helped=False)
    brief = page.locator("#help[open] #brief")
    for _ in range(2):  # who loads the page again before they have closed it has not seen it
        page.goto(f"{desk.url}/streams/{desk.name}/review")
        brief.get_by_text("A loan of 1,000.").wait_for()
    assert brief.get_by_text("Equal debts.").is_visible()
    assert problems(page) == []
    page.keyboard.press("Enter")
    page.wait_for_selector("article.round")
    assert page.get_by_role("heading", level=1).inner_text() == f"Review {desk.name}"
    assert desk.name in page.title()
    page.reload()
    page.wait_for_selector("article.round")
    assert not brief.is_visible()


def test_an_answer_that_was_overtaken_does_not_say_how_many_rounds_wait(desk):
    rounds = desk.open(5, desk.name)
    page = desk.review(stream=desk.name)
    fetched(page, 2)
    page.evaluate("""() => {
        const real = window.fetch, claimed = new Promise(done => { window.claimed = done; });
        const kept = new Promise(done => { window.deliver = done; });
        window.fetch = async (...asked) => {
            const path = String(asked[0]);
            if (path.endsWith("/verdict")) await claimed;
            const answer = await real(...asked);
            if (path.endsWith("/claim")) { window.claimed(); await kept; }
            return answer;
        };
    }""")
    in_front(page, rounds[0])
    page.keyboard.press("n")
    all_sent(page)
    page.evaluate("() => window.deliver()")
    fetched(page, 3)
    page.wait_for_function("() => document.querySelector('#waiting').textContent === '4'")
    in_front(page, rounds[1])
    page.keyboard.press("n")
    page.wait_for_function("() => document.querySelector('#waiting').textContent === '3'")


def test_the_time_to_finish_is_that_of_the_rounds_that_wait_at_one_s_own_pace(desk, keep):
    rounds = desk.open(7, desk.name)
    page = desk.review(stream=desk.name)
    page.evaluate("""() => {
        const start = performance.now();  // time stands still but for what is added: a slow machine is no slow reviewer
        window.later = 0;
        performance.now = () => start + 1000 * window.later;
    }""")
    for t, seconds in zip(rounds, (10, 200, 45), strict=False):
        assert page.inner_text("#left") == ""  # two verdicts are no pace
        in_front(page, t)
        page.evaluate("seconds => { window.later += seconds; }", seconds)
        page.keyboard.press("n")
        all_sent(page)
    page.locator("#left", has_text="about 3 min left").wait_for()  # four rounds at 45 s: the median, not the mean
    assert page.inner_text("#waiting") == "4"
    keep(page, "time-to-finish")
    page.reload()
    page.locator("#left", has_text="about 3 min left").wait_for()


def test_my_reviews_are_searched_and_corrected_and_say_what_became_of_them(desk, keep):
    first, second, _ = desk.open(3, desk.name)
    page = desk.review(stream=desk.name, viewport={"width": 320, "height": 640})
    report(page, "q", "twins, nearly")
    in_front(page, second)
    page.keyboard.press("n")
    all_sent(page)
    desk.engine.change_waits(desk.name, {"grace": 0}, "root")
    desk.engine.tick()
    page.get_by_role("link", name="My reviews").click()
    rows = page.locator("tbody tr")
    assert [row.locator("th").inner_text() for row in rows.all()] == [str(second), str(first)]
    assert "apart today" in rows.nth(1).inner_text()
    keep(page, "mine-phone", full_page=True)
    assert fits(page)
    assert problems(page) == []
    page.get_by_label("Search").fill("TWINS")
    page.get_by_role("button", name="Search").click()
    page.wait_for_function("() => document.querySelectorAll('tbody tr').length === 1")
    assert "twins, nearly" in rows.first.inner_text()
    assert "TWINS" not in page.url
    page.get_by_role("link", name=f"Correct the verdict on round {first}").click()
    assert page.get_by_text(f"Until now: pair reported, {first}-4 over {first}-0.").is_visible()
    page.get_by_label("It should have been").select_option("no violation")
    page.get_by_label("Note").fill("a second look")
    keep(page, "mine-correct-phone", full_page=True)
    assert fits(page)
    assert problems(page) == []
    page.get_by_role("button", name="Record the correction").click()
    page.get_by_text("you corrected it: no violation").wait_for()
    corrected = desk.engine.round(desk.name, first)["corrections"]
    assert [(each["verdict"], each["by"]) for each in corrected] == [("cleared", "ann")]
