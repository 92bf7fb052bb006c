"""How the pages look on phones and on paper, what roles find there, and that they are inert in a real browser."""

from __future__ import annotations

import re
import threading
from pathlib import Path

import pytest
from office import Office, all_sent, pages, problems, report, settled

from likewise.service.jobs import kinds as work
from likewise.service.jobs import runner as jobs
from likewise.service.stream.settings import Settings
from service.payloads import PAYLOADS, allowed
from service.serving import running

pytestmark = pytest.mark.browser
ARTEFACTS = Path(__file__).parent / "artefacts"
NARROW = {"width": 375, "height": 740}


def test_help_and_a_refused_pair_are_accessible_too(past):
    page = past.page("root", "admin", helped=False, reduced_motion="reduce")  # colours need no time to settle
    page.goto(pages(past)["review"])
    page.wait_for_selector("#help[open]")
    assert problems(page) == []
    page.keyboard.press("Enter")
    page.wait_for_selector("article.round")
    page.keyboard.press("1")
    assert problems(page) == []
    page.context.close()


def test_bars_of_a_picture_show_at_every_size(past):
    page = past.page("root", "admin")
    page.goto(pages(past)["overview"])
    settled(page)
    for width in (320, 704, 1280):
        page.set_viewport_size({"width": width, "height": 900})
        bars = page.locator("#coverage .share")
        assert bars.evaluate("bars => getComputedStyle(bars).display") == "inline"
        assert bars.bounding_box()["height"] > 20
    page.context.close()


def test_the_reported_pair_of_a_round_stands_in_its_table(past):
    page = past.page("root", "admin")
    page.goto(pages(past)["round"])
    rows = page.locator("tr.pair")
    assert rows.evaluate_all("rows => rows.map((row) => getComputedStyle(row).display)") == ["table-row"] * 2
    places = "cells => cells.map((cell) => Math.round(cell.getBoundingClientRect().left))"
    heads = page.locator("table:has(tr.pair) thead th").evaluate_all(places)
    assert rows.first.locator("> *").evaluate_all(places) == heads
    page.context.close()


def test_on_a_phone_the_open_tab_is_in_sight(past):
    page = past.page("root", "admin", viewport=NARROW)
    for name in ("log", "settings", "export"):
        page.goto(pages(past)[name])
        ends = "el => { const it = el.getBoundingClientRect(); return [it.left, it.right]; }"
        left, right = page.locator(".top nav [aria-current]").evaluate(ends)
        assert 0 <= left < right <= NARROW["width"], name
    page.context.close()


def test_on_a_phone_no_text_of_a_table_leaves_its_place(past):
    page = past.page("root", "admin", viewport=NARROW)
    for name in ("log", "rounds", "round", "users"):
        page.goto(pages(past)[name])
        out = """cells => cells.filter(cell => cell.scrollWidth > cell.clientWidth
            || getComputedStyle(cell).padding !== "0px").map(cell => cell.textContent)"""
        cells = page.locator(".stack tbody tr > *")
        assert cells.count() > 0, name
        assert cells.evaluate_all(out) == [], name
    page.context.close()


def test_everything_is_reached_with_the_tab_key_and_shows_its_focus(past):
    page = past.page("root", "admin")
    page.goto(pages(past)["review"])
    page.wait_for_selector("article.round")
    reached = set()
    for _ in range(60):
        page.keyboard.press("Tab")
        found = page.evaluate("""() => { const at = document.activeElement;
            return [at.id || at.className || at.tagName, getComputedStyle(at).outlineStyle]; }""")
        reached.add(found[0])
        if found[0] not in ("BODY",):
            assert found[1] != "none", found
    assert {"none", "skip", "note", "hints-switch", "help-open", "person", "chip"} <= reached
    page.context.close()


def test_a_person_s_record_prints_without_the_page_around_it(past, keep):
    page = past.page("root", "admin")
    page.goto(pages(past)["person"])
    page.emulate_media(media="print")
    assert not page.locator(".top").is_visible()
    assert page.get_by_role("heading", name="Decision record").is_visible()
    keep(page, "person-print", full_page=True)
    (ARTEFACTS / "person.pdf").write_bytes(page.pdf(prefer_css_page_size=True))
    assert (ARTEFACTS / "person.pdf").read_bytes().startswith(b"%PDF")
    page.goto(pages(past)["overview"])
    settled(page)
    assert page.locator("svg.figure").count() == 9
    (ARTEFACTS / "overview.pdf").write_bytes(page.pdf(prefer_css_page_size=True))
    keep(page, "overview-print", full_page=True)
    page.context.close()


@pytest.fixture(scope="module")
def paper(past):
    """A browser as wide as a page of paper, which prints; its colours on the screen would be dark."""
    page = past.page("root", "admin", viewport={"width": 794, "height": 1123}, color_scheme="dark")
    page.emulate_media(media="print")
    yield page
    page.context.close()


@pytest.mark.parametrize("name", ["overview", "certificate", "round", "person", "settings", "log"])
def test_on_paper_nothing_is_cut_or_dark(past, paper, keep, name):
    paper.goto(pages(past)[name])
    paper.wait_for_function("() => !document.querySelector('[data-busy]')")
    keep(paper, f"{name}-paper", full_page=True)
    assert paper.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    assert paper.evaluate("getComputedStyle(document.documentElement).backgroundColor") == "rgb(255, 255, 255)"


def test_printed_figures_can_be_read_and_have_a_date(past, paper):
    paper.goto(pages(past)["overview"])
    sizes = paper.locator("svg.figure text").evaluate_all(
        """texts => texts.map(text => { const { a, b } = text.getScreenCTM();
            return Math.hypot(a, b) * parseFloat(getComputedStyle(text).fontSize); })"""
    )
    assert min(sizes) > 8
    assert paper.get_by_text("As of ").is_visible()


def test_a_printed_certificate_begins_on_the_page_of_its_heading(past, paper):
    paper.goto(pages(past)["certificate"])
    letter = paper.locator(".letter")
    letter.wait_for()
    assert letter.evaluate("letter => getComputedStyle(letter).breakInside") == "auto"  # it is longer than a page


def test_printed_settings_show_their_values_and_a_printed_record_whom_to_ask(past, paper):
    paper.goto(pages(past)["settings"])
    assert paper.get_by_label("Time to take a verdict back").is_visible()
    assert not paper.get_by_role("button", name="Change").is_visible()
    paper.goto(pages(past)["person"])
    ask = paper.get_by_text("To have a decision looked at again, ask:")
    assert ask.is_visible()
    paper.emulate_media(media="screen")
    assert not ask.is_visible()
    paper.emulate_media(media="print")


def test_each_role_finds_links_to_its_own_pages_only(past):
    expected = {
        "auditor": ["Review", "My reviews"],
        "viewer": ["Overview", "Plan", "Reviewers", "Rounds", "Log", "Settings"],
        "decider": ["Overview", "Plan", "Rounds", "People", "Settings"],
        "admin": [
            *("Review", "My reviews", "Overview", "Plan", "Reviewers"),
            *("Rounds", "People", "Log", "Settings", "Export", "Users"),
        ],
    }
    for role, wanted in expected.items():
        page = past.page(f"the one {role}", role)
        page.goto(f"{past.url}/streams/{past.name}" + ("/review" if role == "auditor" else ""))
        assert page.locator("nav a").all_inner_texts() == wanted
        page.context.close()


def test_logging_out_everywhere_ends_the_other_browser_too(past):
    here, there = past.page("vera", "viewer"), past.page("vera", "viewer")
    here.locator("summary").click()
    here.get_by_role("button", name="Log out everywhere").click()
    here.wait_for_url("**/login")
    there.reload()
    assert there.url.endswith("/login")
    here.context.close()
    there.context.close()


def test_a_page_that_waits_for_work_tells_how_far_it_is_and_shows_it_when_it_is_done(office, keep, monkeypatch):
    go_on, whole = threading.Event(), work.KINDS["certificate"]
    monkeypatch.setattr(jobs, "AT_ONCE", 0.0)
    monkeypatch.setattr(jobs, "NOTE_EVERY", 0.0)

    def slowly(engine, stream, progress):
        progress(0.4)
        go_on.wait(300)
        return whole(engine, stream, progress)

    monkeypatch.setitem(work.KINDS, "certificate", slowly)
    office.stream()
    page = office.page("root", "admin")
    page.goto(f"{office.url}/streams/loans/certificate")
    page.wait_for_selector('[data-busy] progress[value="40"]')
    assert problems(page) == []
    keep(page, "busy")
    go_on.set()
    page.get_by_text("What happened.").wait_for()
    assert page.locator("[data-busy]").count() == 0


def test_five_hundred_payloads_in_names_values_and_notes_don_t_run_and_nothing_comes_from_elsewhere(office):
    texts = [one for one in dict.fromkeys(map(allowed, PAYLOADS)) if one]
    assert len(texts) >= 450
    levels, column = texts[:60], texts[60]
    features = [{"name": "score"}, {"name": column, "kind": "category", "levels": levels, "compare": True}]
    office.stream(taught=0, features=features, k=16, cuts={"score": [0.5]}, waits={"grace": 0})
    page = office.page("root", "admin")
    asked, seen = [], ""
    page.on("request", lambda request: asked.append(request.url))
    for t, start in enumerate(range(0, len(texts), 16), 1):
        names = texts[start : start + 16]
        values = [{"score": i / 16, column: levels[(start + i) % len(levels)]} for i in range(len(names))]
        people = [{"id": name, "features": value} for name, value in zip(names, values, strict=True)]
        office.engine.decide("loans", people, "decider")
        if t <= 3:
            page.goto(f"{office.url}/streams/loans/review")
            page.wait_for_selector("article.round")
            page.keyboard.press("1")
            page.keyboard.press("2")
            seen += page.inner_text("article.round") + page.inner_text("#verdict")
        note = "\n".join(PAYLOADS[start : start + 16])[:1900]
        office.engine.audit("loans", t, "none", "root", reason=PAYLOADS[t], note=note)
        page.goto(f"{office.url}/streams/loans/rounds/{t}")
        seen += page.inner_text("main")
    for path in ("", "/rounds/2/people/3", "/log", "/settings", "/export"):
        page.goto(f"{office.url}/streams/loans{path}")
        seen += page.inner_text("main")
    assert {re.match(r"https?://[^/]+", url)[0] for url in asked} == {office.url}
    # They stand there as texts; a browser makes one space of several.
    plain = " ".join(seen.split())
    assert [text for text in texts if " ".join(text.split()) not in plain] == []


def test_no_id_feature_reason_or_note_is_ever_in_an_address(office):
    office.stream()
    first, *_ = office.open(2)
    asked = []
    page = office.review("root", role="admin")
    page.on("request", lambda request: asked.append((request.url, request.headers.get("referer", ""))))
    report(page, "q", "told in confidence")
    all_sent(page)
    page.goto(f"{office.url}/streams/loans/rounds/{first}")
    page.locator("tbody a").first.click()
    page.get_by_role("heading", name="Decision record").wait_for()
    page.goto(f"{office.url}/streams/loans/people")
    page.get_by_label("The person's id").fill(f"{first}-3")
    page.get_by_role("button", name="Show the record").click()
    page.get_by_role("heading", name="Decision record").wait_for()
    page.goto(f"{office.url}/streams/loans/log")
    page.get_by_label("Kind").select_option("audited")
    page.get_by_role("button", name="Filter").click()
    page.locator("td.what", has_text="reported a pair").first.wait_for()
    page.get_by_label("Reason or note").fill("told in confidence")
    page.get_by_label("Person’s id").fill(f"{first}-3")
    page.get_by_role("button", name="Filter").click()
    page.get_by_role("link", name="The whole log").wait_for()
    whole = office.engine.round("loans", first)
    private = {one["id"] for one in whole["people"]} | {"North", "South", "confidence", "qualifications", "score"}
    private |= {
        str(value) for one in whole["people"] for value in (one["features"]["income"], one["features"]["score"])
    }
    assert len(asked) > 8
    for word in private:
        assert not [pair for pair in asked if word in pair[0] + pair[1]], word


APPLICANTS = (
    # income, debt, years at work, postcode: the first two differ in nothing but where they live
    (41_000, 8_000, 6, "north"), (40_000, 8_000, 6, "south"), (62_000, 3_000, 11, "north"),
    (23_000, 15_000, 1, "south"), (55_000, 9_000, 8, "north"), (30_000, 12_000, 3, "south"),
)  # fmt: skip


def test_a_pair_that_anybody_would_report_stands_out_and_can_be_reported(tmp_path, chromium, keep):
    """The picture of the documentation: made-up applicants, and a policy that learned to look at the postcode."""
    amounts = {"income": [25_000, 35_000, 45_000, 60_000], "debt": [5_000, 10_000], "years at work": [2, 5, 10]}
    features = [{"name": name, "compare": True} for name in amounts]
    features.append({"name": "postcode", "kind": "category", "levels": ["north", "south"]})
    settings = {"name": "loans", "features": features, "cuts": amounts | {"postcode": None}, "alpha": 0.1, "k": 6}
    names = [feature["name"] for feature in features]
    people = [{"id": f"applicant-{17 + i}", "features": dict(zip(names, values, strict=True))}
              for i, values in enumerate(APPLICANTS)]  # fmt: skip
    with running(database=str(tmp_path / "log.db")) as service:
        office = Office(service, chromium)
        service.engine.create(Settings.from_dict(settings | {"waits": {"grace": 0}, "penalty": 1.0}), "root")
        for t in range(1, 5):  # in the past people from the north were good, whatever else was known of them
            asked = [person | {"id": f"{t}-{person['id']}"} for person in people]
            service.engine.decide("loans", asked, "decider")
            service.engine.label("loans", t, {p["id"]: int(p["features"]["postcode"] == "north") for p in asked}, "x")
            if service.engine.round("loans", t)["status"] == "open":  # somebody was asked
                service.engine.audit("loans", t, "none", "teacher")
        service.engine.decide("loans", people, "decider")
        page = office.review(reduced_motion="reduce", viewport={"width": 1440, "height": 900})
        order = page.locator("article.round tbody tr").all_inner_texts()
        places = [1 + next(i for i, text in enumerate(order) if f"applicant-{n}" in text) for n in (17, 18)]
        for place in places:
            page.keyboard.press(str(place))
        assert page.locator("#report").get_attribute("aria-disabled") == "false"
        keep(page, "report-wide-light", full_page=False)
        office.close()
