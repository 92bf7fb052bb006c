"""The reviewer's page in a real Chromium: by keyboard, by mouse, by two at once, offline, and taken back."""

from __future__ import annotations

import re
import time

import numpy as np
import pytest
from office import all_sent, current, fetched, held, in_front, intercept, next_round, pass_time
from sqlalchemy import select

from likewise.service.log.tables import leases
from service.serving import until

pytestmark = pytest.mark.browser


MANY = pytest.mark.parametrize("count", [24, pytest.param(100, marks=pytest.mark.slow)])
"""Some rounds on every change, a hundred in ``make test-all``."""


@MANY
def test_many_rounds_by_keyboard_alone(office, keep, count):
    office.stream()
    wanted = office.open(count)
    page = office.review()
    for i, t in enumerate(wanted):
        assert current(page) == t  # oldest first
        if i % 3 == 0:
            page.keyboard.press("1")
            page.keyboard.press("5")
            page.keyboard.press("qido"[i // 3 % 4])
            page.keyboard.press("Enter")
        else:
            page.keyboard.press("n" if i % 3 == 1 else "s")
        next_round(page, t)
    all_sent(page)
    page.wait_for_function(f"() => document.getElementById('today').textContent === '{count}'")
    page.wait_for_function("() => document.getElementById('waiting').textContent === '0'")
    told = [verdict for _, verdict, _ in office.audits(since=office.first - 1)]
    assert told == [("reported", "cleared", "skipped")[i % 3] for i in range(count)]
    whole = office.engine.round("loans", wanted[0])
    chances = {p["id"]: p["probability"] for p in whole["people"]}
    assert whole["audit"]["reason"] == "same qualifications"
    assert whole["audit"]["pair"] == [max(chances, key=chances.get), min(chances, key=chances.get)]
    page.locator("#round").get_by_text("No round is waiting for review").wait_for()
    keep(page, "nothing-waits")


@MANY
def test_many_rounds_by_mouse(office, count):
    office.stream()
    wanted = office.open(count)
    page = office.review()
    for i, t in enumerate(wanted):
        if i % 3 == 0:
            page.locator("tbody tr").nth(0).click()
            page.locator(".dot").nth(4).click()
            if i % 2:
                page.locator("#reasons").get_by_label("irrelevant attribute").check()
            page.locator("#report").click()
        elif i % 3 == 1:
            page.locator("#none").click()
        else:
            page.locator("#skip").click()
        next_round(page, t)
    all_sent(page)
    told = [verdict for _, verdict, _ in office.audits(since=office.first - 1)]
    assert told == [("reported", "cleared", "skipped")[i % 3] for i in range(count)]


@pytest.mark.parametrize("count", [12, pytest.param(30, marks=pytest.mark.slow)])
def test_two_auditors_at_once_never_get_the_same_round(office, count):
    office.stream()
    wanted = office.open(count)
    ann, bob = office.review("ann"), office.review("bob")
    seen = []
    while len(seen) < len(wanted):
        for page in (ann, bob):
            if page.locator("article.round").count():
                seen.append(current(page))
                page.keyboard.press("n")
                next_round(page, seen[-1])
            else:
                page.wait_for_timeout(50)
    assert sorted(seen) == list(wanted)
    all_sent(ann)
    all_sent(bob)
    told = office.audits(since=office.first - 1)
    assert sorted(t for t, _, _ in told) == list(wanted)
    assert {by for _, _, by in told} == {"ann", "bob"}


def test_the_next_round_shows_before_the_verdict_is_answered_and_the_number_only_after(office):
    office.stream()
    first, second, *_ = office.open(3)
    page = office.review()
    verdicts = []
    fetched(page, 2)
    intercept(page, "**/review/verdict", lambda route: verdicts.append(route))
    page.keyboard.press("n")
    assert current(page) == second
    held(page, verdicts)
    assert "recorded" not in page.inner_text("#status")
    assert office.audits(since=office.first - 1) == []
    verdicts[0].continue_()
    page.wait_for_function("() => document.getElementById('status').textContent.includes('recorded')")
    last = next(e for e in reversed(office.engine.events("loans")) if e["kind"] == "audited")
    assert page.inner_text("#status") == f"Round {first}: no violation; recorded as #{last['seq']}. Undo (u) for 60 s."
    assert page.inner_text("#in-log") == "your verdicts are in the log"


def test_the_page_says_so_if_the_log_does_not_prove_a_verdict(office):
    office.stream()
    office.open(3)
    page = office.review()
    fetched(page, 2)

    def unproved(route):
        answer = route.fetch()
        route.fulfill(response=answer, json=answer.json() | {"proved": False})

    intercept(page, "**/review/verdict", unproved)
    page.keyboard.press("n")
    page.wait_for_function("() => document.getElementById('status').textContent.includes('recorded')")
    assert "does not prove" in page.inner_text("#trouble")
    assert page.inner_text("#in-log") == ""


WATCH = """
window.took = [];
let began = null;
for (const kind of ["keydown", "click"])
  addEventListener(kind, (event) => { if (event.isTrusted) began = performance.now(); }, true);
addEventListener("DOMContentLoaded", () => new MutationObserver((changes) => {
  for (const change of changes) for (const node of change.addedNodes)
    if (node.matches && node.matches("article.round") && began !== null) {
      const here = { round: Number(node.dataset.round), inserted: performance.now() - began };
      const start = began;
      began = null;
      requestAnimationFrame(() => { here.painted = performance.now() - start; window.took.push(here); });
    }
}).observe(document.body, { childList: true, subtree: true }));
"""
"""Notes how long it took from a key or a click until another round is in the page, and in the next frame."""


def test_the_next_round_shows_within_50_ms_of_a_verdict_while_every_request_hangs(office, note):
    office.stream()
    wanted = list(office.open(31))
    page = office.review(script=WATCH)
    verdicts, claims = [], []
    fetched(page, 2)
    intercept(page, "**/review/verdict", lambda route: verdicts.append(route))
    intercept(page, "**/review/claim", lambda route: claims.append(route))
    for i, t in enumerate(wanted[:30]):
        assert current(page) == t
        if i % 3 == 0:
            page.keyboard.press("n")
        elif i % 3 == 1:
            page.locator("#skip").click()
        else:
            page.keyboard.press("1")
            page.keyboard.press("5")
            page.keyboard.press("Enter")
        next_round(page, t)  # nothing was answered: neither the verdict nor the claim of the round after
        page.wait_for_function(f"() => window.took.length === {i + 1}")
        assert office.audits(since=office.first - 1) == []
        held(page, claims)
        if i < 29:
            claims.pop().continue_()
            fetched(page, i + 3)
    took = page.evaluate("window.took")
    assert [one["round"] for one in took] == wanted[1:]
    for name in ("inserted", "painted"):
        times = [one[name] for one in took]
        figures = {"verdicts": len(times), "median ms": float(np.median(times)), "longest ms": max(times)}
        note(f"next-round-{name}", figures)
        assert figures["median ms"] <= 50
    page.unroute_all()  # what was held goes on
    all_sent(page)
    assert [t for t, _, _ in office.audits(since=office.first - 1)] == wanted[:30]


def test_undo_leaves_the_policy_as_if_the_pair_had_never_been_reported(office):
    for name in ("loans", "plain"):
        office.stream(name)
        office.open(2, name)
    page, t = office.review(), office.first
    page.keyboard.press("1")
    page.keyboard.press("5")
    page.keyboard.press("Enter")
    next_round(page, t)
    page.wait_for_function("() => document.getElementById('status').textContent.includes('recorded')")
    page.keyboard.press("u")
    page.wait_for_function(f"() => document.querySelector('article.round')?.dataset.round === '{t}'")
    assert "taken back" in page.inner_text("#status")
    assert office.engine.round("loans", t)["audit"] is None
    for round in (t, t + 1):
        in_front(page, round)
        page.keyboard.press("n")
        next_round(page, round)
        office.engine.audit("plain", round, "none", "ann")
    all_sent(page)
    for name in ("loans", "plain"):
        office.engine.change_waits(name, {"grace": 0}, "root")
    undone, never = (learned(office, name, t + 1) for name in ("loans", "plain"))
    assert undone.policy.hash == never.policy.hash
    assert all(np.array_equal(a, b) for a, b in zip(undone.learner, never.learner, strict=True))


def learned(office, stream, rounds):
    """The state of a stream once its clock has learned so many rounds."""
    current = office.engine.streams.get(stream).current
    until(lambda: current().totals.learned >= rounds)
    assert current().totals.learned == rounds
    return current()


def test_undo_is_offered_only_within_the_grace_time(office):
    office.stream()
    office.open(2)
    page = office.review()
    page.keyboard.press("n")
    page.wait_for_function("() => document.getElementById('status').textContent.includes('recorded')")
    assert page.locator("#undo").is_enabled()
    pass_time(page, 61)
    page.wait_for_function("() => document.getElementById('undo').ariaDisabled === 'true'")
    page.keyboard.press("u")
    assert "nothing left to take back" in page.inner_text("#status")
    assert office.engine.round("loans", office.first)["retracted"] == 0


@pytest.mark.parametrize("seconds", [2, pytest.param(10, marks=pytest.mark.slow)])
def test_offline_for_a_while_loses_nothing_and_doubles_nothing(office, keep, seconds):
    office.stream()
    first, second, third, *_ = office.open(5)
    page = office.review()
    fetched(page, 2)
    page.context.set_offline(True)
    began = time.monotonic()
    page.keyboard.press("n")
    assert current(page) == second
    page.keyboard.press("1")
    page.keyboard.press("5")
    page.keyboard.press("Enter")
    page.locator("#trouble", has_text="Your 2 verdicts are kept here").wait_for()
    page.wait_for_timeout(max(0, 1000 * (seconds - time.monotonic() + began)))
    keep(page, "offline")
    assert office.audits(since=office.first - 1) == []
    page.context.set_offline(False)
    all_sent(page)
    assert office.audits(since=office.first - 1) == [(first, "cleared", "ann"), (second, "reported", "ann")]
    page.wait_for_selector("#trouble", state="hidden")
    page.wait_for_selector("article.round")
    assert current(page) == third


def test_an_answer_that_is_lost_on_the_way_is_asked_for_again_and_counts_once(office):
    office.stream()
    first, *_ = office.open(3)
    page = office.review()
    lost = []

    def lose(route):
        lost.append(route.request.headers["idempotency-key"])
        if len(lost) < 3:
            route.fetch()  # the service gets it, the page hears nothing
            route.abort()
        else:
            route.continue_()

    intercept(page, "**/review/verdict", lose)
    page.keyboard.press("n")
    page.wait_for_function("() => document.getElementById('status').textContent.includes('recorded')")
    assert len(lost) == 3
    assert len(set(lost)) == 1
    assert office.audits(since=office.first - 1) == [(first, "cleared", "ann")]


def test_a_verdict_is_kept_over_a_reload(office):
    office.stream()
    first, *_ = office.open(3)
    page = office.review()
    intercept(page, "**/review/verdict", lambda route: route.abort())
    page.keyboard.press("n")
    page.wait_for_selector("#trouble:not([hidden])")
    page.reload()
    page.unroute("**/review/verdict")  # not before: it might be sent before the page goes
    all_sent(page)
    assert office.audits(since=office.first - 1) == [(first, "cleared", "ann")]


@pytest.mark.parametrize("how", ["goes elsewhere", "closes the tab"])
def test_leaving_a_round_returns_its_lease(office, how):
    office.stream()
    first, *_ = office.open(2)
    page = office.review("ann")
    fetched(page, 2)  # a page can't give back what it doesn't know of yet
    leased = lambda: office.engine.leases.current("loans", time.time())  # noqa: E731
    assert [lease.holder for lease in leased().values()] == ["ann", "ann"]
    if how == "goes elsewhere":
        page.goto(f"{office.url}/login")
    else:
        page.close(run_before_unload=True)
    until(lambda: not leased())
    with office.service.service.store.read() as connection:
        assert connection.execute(select(leases)).all() == []
    assert current(office.review("bob")) == first


def test_a_page_that_is_loaded_anew_keeps_its_round_even_if_the_old_one_says_goodbye_late(office):
    office.stream()
    first, *_ = office.open(2)
    late = "navigator.sendBeacon = (url, body) => { sessionStorage.setItem('late', String(body)); return true; };"
    page = office.review("ann", script=late)
    page.reload()
    page.wait_for_selector("article.round")
    assert current(page) == first
    body = page.evaluate("sessionStorage.getItem('late')")
    assert f"rounds={first}%40" in body
    sent = page.evaluate(
        "async (body) => (await fetch('/streams/loans/review/release', {method: 'POST', "
        "body: new URLSearchParams(body)})).status",
        body,
    )
    assert sent == 204
    assert first in office.engine.leases.current("loans", time.time())


def test_everything_works_by_touch(office):
    office.stream()
    t = office.open(1)[0]
    page = office.review(has_touch=True, is_mobile=True, viewport={"width": 375, "height": 740})
    page.locator("tbody tr").nth(0).tap()
    page.locator(".dot").nth(4).tap()
    page.locator("#reasons").get_by_label("same qualifications").tap()
    page.locator("#note").fill("by thumb")
    page.locator("#report").tap()
    all_sent(page)
    found = office.engine.round("loans", t)["audit"]
    assert (found["verdict"], found["reason"], found["note"]) == ("reported", "same qualifications", "by thumb")


def test_every_key_stands_on_what_it_does(office):
    office.stream()
    office.open(1)
    page = office.review()
    on = lambda selector: page.locator(f"{selector} kbd").first.inner_text()  # noqa: E731
    buttons = {"#report": "Enter", "#none": "n", "#skip": "s", "#undo": "u", "#help-open": "?", "#hints-switch": "h"}
    assert {selector: on(selector) for selector in buttons} == buttons
    assert [row.inner_text() for row in page.locator(".person kbd").all()] == list("12345")
    for label in page.locator("#reasons label").all():
        key = label.locator("kbd").inner_text()
        page.keyboard.press(key)
        assert label.locator("input").is_checked(), key
    assert page.locator('label[for="note"] kbd').inner_text() == "t"


def test_a_screen_reader_hears_who_is_selected_what_is_recorded_and_what_went_wrong(office):
    office.stream()
    first, second = office.open(2)
    page = office.review()
    page.keyboard.press("2")
    person = page.get_by_role("button", name="Person 2,", pressed=True)
    assert person.count() == 1
    assert page.locator("#pair-said[aria-live=polite]").inner_text().startswith("Person 2 is selected")
    page.keyboard.press("n")
    page.get_by_role("status").filter(has_text=f"Round {first}: no violation; recorded as #").wait_for()
    in_front(page, second)
    intercept(page, "**/review/verdict", lambda route: route.abort())
    page.keyboard.press("n")
    page.get_by_role("alert").filter(has_text="No connection").wait_for()
    page.unroute("**/review/verdict")
    all_sent(page)


def test_keys_do_nothing_while_a_note_is_typed(office):
    office.stream()
    first, *_ = office.open(2)
    page = office.review()
    page.keyboard.press("t")
    page.keyboard.type("1 n s u ? h q i d o 25")
    page.keyboard.press("Enter")
    page.keyboard.type("no!")
    assert page.locator("#note").input_value() == "1 n s u ? h q i d o 25\nno!"
    assert current(page) == first
    assert page.locator("tr.chosen").count() == 0
    assert page.locator("#reasons input:checked").count() == 0
    page.keyboard.press("Escape")
    page.keyboard.press("n")
    next_round(page, first)
    all_sent(page)
    assert office.engine.round("loans", first)["audit"]["note"] == "1 n s u ? h q i d o 25\nno!"
    assert page.locator("#note").input_value() == ""


def test_a_pair_within_alpha_is_visibly_none_and_can_t_be_reported(office, keep):
    office.stream()
    office.open(1, k=12)
    page = office.review()
    chances = [float(row.get_attribute("data-probability")) for row in page.locator("tbody tr").all()]
    assert chances == sorted(chances, reverse=True)
    page.keyboard.press("1")
    near = [i for i, p in enumerate(chances) if i and chances[0] - p <= 0.1]
    marked = [i for i, row in enumerate(page.locator("tbody tr").all()) if "near" in (row.get_attribute("class") or "")]
    assert marked == near != []
    assert page.locator("tr.near .close").first.is_visible()
    box = page.locator(".band")
    low, width = (float(box.get_attribute(name).rstrip("%")) for name in ("x", "width"))
    assert (low, low + width) == pytest.approx((4 + 92 * max(0, chances[0] - 0.1), 4 + 92 * min(1, chances[0] + 0.1)))
    page.locator("tbody tr").nth(near[0]).click()
    assert page.locator("#report").is_disabled()
    assert "too close to be a violation" in page.inner_text("#pair-said")
    page.keyboard.press("Enter")
    assert page.locator("article.round").count() == 1  # a verdict would have taken it away at once
    assert page.inner_text("#status") == ""
    keep(page, "too-close")


def test_everybody_beyond_the_ninth_is_reached_with_arrows_and_space(office):
    office.stream()
    t = office.open(1, k=12)[0]
    page = office.review()
    page.keyboard.press("1")
    page.keyboard.press("ArrowUp")  # from nowhere, upwards: the last
    page.keyboard.press("Space")
    page.keyboard.press("Enter")
    all_sent(page)
    chances = {p["id"]: p["probability"] for p in office.engine.round("loans", t)["people"]}
    pair = office.engine.round("loans", t)["audit"]["pair"]
    assert [chances[i] for i in pair] == [max(chances.values()), min(chances.values())]


def test_differences_of_two_selected_people_are_marked_and_others_are_not(office):
    office.stream()
    office.open(1)
    page = office.review()
    page.keyboard.press("1")
    page.keyboard.press("4")
    rows = [page.locator("tbody tr").nth(i).locator("td[data-value]").all() for i in (0, 3)]
    for a, b in zip(*rows, strict=True):
        differs = a.get_attribute("data-value") != b.get_attribute("data-value")
        assert ("differs" in (a.get_attribute("class") or "")) == differs
        assert ("differs" in (b.get_attribute("class") or "")) == differs
    assert page.locator("#differences div").count() == len(rows[0])
    page.keyboard.press("Escape")
    assert page.locator(".differs").count() == 0


def test_hints_select_their_pair_and_stay_switched_off(office):
    office.stream()
    office.open(1)
    page = office.review()
    chip = page.locator(".chip").first
    chip.click()
    wanted = [chip.get_attribute("data-first"), chip.get_attribute("data-second")]
    assert [row.get_attribute("data-number") for row in page.locator("tr.chosen").all()] == sorted(wanted)
    assert page.locator("#report").is_enabled()
    page.keyboard.press("h")
    assert not chip.is_visible()
    page.reload()
    page.wait_for_selector("article.round")
    assert not page.locator(".chip").first.is_visible()


def test_the_first_visit_begins_with_help_of_four_sentences(office, keep):
    office.stream()
    office.open(1)
    page = office.review(helped=False)
    words = page.locator("#help p:not(.by-touch)").inner_text()
    assert len(re.findall(r"[.!?](\s|$)", words)) == 4
    assert "Too differently" in words
    keep(page, "help")
    page.keyboard.press("n")  # no verdict while help is open
    page.keyboard.press("Enter")
    assert not page.locator("#help").is_visible()
    assert office.audits(since=office.first - 1) == []
    page.keyboard.press("?")
    assert page.locator("#help").is_visible()
    page.keyboard.press("Escape")
    page.reload()
    page.wait_for_selector("article.round")
    assert not page.locator("#help").is_visible()


def test_new_rounds_appear_by_themselves(office):
    office.stream()
    page = office.page()
    page.goto(f"{office.url}/streams/loans/review")
    page.get_by_text("No round is waiting for review").wait_for()
    t = office.open(1)[0]
    page.wait_for_selector("article.round")
    assert current(page) == t


def test_a_verdict_survives_a_login_in_another_tab(office):
    office.stream()
    office.open(3)
    page = office.review("ann")
    here = current(page)
    other = page.context.new_page()  # the same browser: a new session, and with it a new cookie and a new token
    office.login(other, "ann")
    page.bring_to_front()
    page.keyboard.press("n")
    page.locator("#ended", has_text="Your verdict is kept in this browser").wait_for()
    page.locator("#ended-login").click()
    page.wait_for_selector("article.round")
    all_sent(page)
    assert (here, "cleared", "ann") in office.audits()
