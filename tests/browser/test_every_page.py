"""Every page and every state of one, at every size: it fits, nothing is covered, and axe finds nothing in any mode."""

from __future__ import annotations

from pathlib import Path

import pytest
from office import COVERED, MODES, SIZES, drawn, fits, pages, problems, settled

from likewise.service.pages import rendering

pytestmark = pytest.mark.browser
TEMPLATES = Path(rendering.__file__).parent / "templates"
PARTS = {"base.html", "busy.html", "filters.html", "round_to_review.html", "why.html"}
"""Parts of pages: those of the reviewer's page are in ``test_review_promises``, a page that waits in ``test_look``."""


FILE = "id,score,town,sex,repaid\n" + "\n".join(
    f"p{i},{i % 97 / 97:.3f},{('North', 'South')[i % 3 == 0]},{'FM'[i % 2]},{('no', 'yes')[i % 97 > 40 + i % 7]}"
    for i in range(120)
)


def opened(name):
    """A way to a page that has an address."""
    return lambda page, past: page.goto(pages(past)[name])


def pair_chosen(page, past):
    page.goto(pages(past)["review"])
    page.wait_for_selector("article.round")
    page.keyboard.press("1")
    page.keyboard.press("5")


def nothing_to_review(page, past):
    page.goto(f"{past.url}/streams/another/review")
    page.get_by_text("No round is waiting for review").wait_for()


def notice(page, past):
    page.goto(f"{pages(past)['person']}/notice")


def nobody_found(page, past):
    page.goto(pages(past)["people"])
    page.get_by_label("The person's id").fill("nobody")
    page.get_by_role("button", name="Show the record").click()
    page.get_by_role("alert").wait_for()


def record(page, past):
    page.goto(pages(past)["person"])
    page.get_by_role("heading", name="Decision record").wait_for()


def erasing(page, past):
    record(page, past)
    page.get_by_role("button", name="Erase").click()
    page.get_by_role("link", name="Go back").wait_for()


def my_search(page, past):
    page.goto(pages(past)["mine"])
    page.get_by_label("Search").fill("nothing holds this")
    page.get_by_role("button", name="Search").click()
    page.get_by_text("Nothing of yours holds that.").wait_for()


def rounds_filtered(page, past):
    page.goto(pages(past)["rounds"])
    page.get_by_label("Reviewer").fill("ann")
    page.get_by_role("button", name="Filter").click()


def log_filtered(page, past):
    page.goto(pages(past)["log"])
    page.get_by_label("Kind").select_option("audited")
    page.get_by_role("button", name="Filter").click()
    page.get_by_role("link", name="The whole log").wait_for()


def plan_refused(page, past):
    page.goto(pages(past)["plan"])
    page.get_by_label("Share of rounds reviewed").fill("many")
    page.get_by_role("button", name="Change").click()
    page.get_by_role("alert").wait_for()


def settings_refused(page, past):
    page.goto(pages(past)["settings"])
    page.get_by_label("Time to take a verdict back").fill("-1")
    page.get_by_role("button", name="Change").click()
    page.get_by_role("alert").wait_for()


def token_refused(page, past):
    page.goto(pages(past)["users"])
    page.get_by_label("Name").fill("root")
    page.get_by_role("button", name="Add", exact=True).click()
    page.get_by_role("alert").wait_for()


def login_link(page, past):
    page.goto(pages(past)["users"])
    page.get_by_role("button", name="A login link for").first.click()
    page.locator(".secret").wait_for()


def revoking(page, past):
    page.goto(pages(past)["users"])
    page.get_by_role("button", name="Revoke the token of").first.click()
    page.get_by_role("heading", name="Revoke").wait_for()


def new_stream(page, past):
    page.goto(f"{past.url}/streams/new")


def looked_at(page, past, text):
    new_stream(page, past)
    page.get_by_label("A file (CSV)").set_input_files(
        {"name": "people.csv", "mimeType": "text/csv", "buffer": text.encode()}
    )
    page.get_by_role("button", name="Look at it").click()


def no_table(page, past):
    looked_at(page, past, "one line")
    page.get_by_role("alert").wait_for()


def doctor_s_questions(page, past):
    looked_at(page, past, FILE)
    page.get_by_role("heading", name="what is in the file?").wait_for()


def refused_answers(page, past):
    doctor_s_questions(page, past)
    page.get_by_label("Name").fill("bank")
    page.get_by_label("Largest difference allowed").fill("much")
    page.get_by_role("button", name="Create the stream").click()
    page.get_by_role("alert").wait_for()


def stopped(page, past):
    past.engine.stop("another", "a drill", "root")
    page.goto(f"{past.url}/streams/another")
    page.get_by_role("alert").wait_for()
    past.engine.resume("another", "root")


def link_page(page, past):
    page.context.clear_cookies()
    page.goto(f"{past.url}/login/{past.sessions.link('root')}")


def refused_login(page, past):
    page.context.clear_cookies()
    page.goto(pages(past)["login"])
    page.get_by_label("token").fill("lw_wrong")
    page.get_by_role("button", name="Log in").click()
    page.get_by_role("alert").wait_for()


def login(page, past):
    page.context.clear_cookies()
    page.goto(pages(past)["login"])


STATES = {
    "review": (pair_chosen, "review.html"),
    "review-empty": (nothing_to_review, "review.html"),
    "overview": (opened("overview"), "overview.html"),
    "stopped": (stopped, "overview.html"),
    "certificate": (opened("certificate"), "certificate.html"),
    "plan": (opened("plan"), "plan.html"),
    "plan-refused": (plan_refused, "plan.html"),
    "mine": (opened("mine"), "mine.html"),
    "mine-search": (my_search, "mine.html"),
    "reviewers": (opened("reviewers"), "reviewers.html"),
    "practice": (opened("practice"), "practice.html"),
    "correction": (opened("correction"), "correction.html"),
    "rounds": (opened("rounds"), "rounds.html"),
    "rounds-filtered": (rounds_filtered, "rounds.html"),
    "round": (opened("round"), "round.html"),
    "person": (record, "person.html"),
    "erasing": (erasing, "confirm.html"),
    "notice": (notice, "notice.html"),
    "people": (opened("people"), "people.html"),
    "people-nobody": (nobody_found, "people.html"),
    "log": (opened("log"), "log.html"),
    "log-filtered": (log_filtered, "log.html"),
    "settings": (opened("settings"), "settings.html"),
    "settings-refused": (settings_refused, "settings.html"),
    "export": (opened("export"), "export.html"),
    "users": (opened("users"), "users.html"),
    "users-refused": (token_refused, "users.html"),
    "users-link": (login_link, "users.html"),
    "revoking": (revoking, "confirm.html"),
    "new": (new_stream, "new.html"),
    "new-no-table": (no_table, "new.html"),
    "new-questions": (doctor_s_questions, "questions.html"),
    "new-refused": (refused_answers, "questions.html"),
    "home": (opened("home"), "home.html"),
    "problem": (opened("problem"), "problem.html"),
    "login": (login, "login.html"),
    "login-link": (link_page, "login.html"),
    "login-refused": (refused_login, "login.html"),
}
"""How to come to each, and the template that it is made from; the last ones are for whoever is not logged in."""
LOOKS = [("phone", "dark"), ("laptop", "light")]
"""What axe looks at always; ``make test-all`` has every size in every mode."""


@pytest.fixture(scope="module")
def visited(past):
    """A browser that looks at page after page; nothing moves, so that colours need no time to settle."""
    page = past.page("root", "admin", reduced_motion="reduce")
    yield page
    page.context.close()


@pytest.fixture
def rendered(monkeypatch):
    """The templates that were rendered."""
    names, get = [], rendering._templates().get_template

    def noted(name, *rest):
        names.append(name)
        return get(name, *rest)

    monkeypatch.setattr(rendering._templates(), "get_template", noted)
    return names


def come(past, visited, name):
    """To a state, logged in again if an earlier one had logged out."""
    if not visited.context.cookies() and not name.startswith("login"):
        past.login(visited, "root")
    visited.set_viewport_size({"width": 1280, "height": 860})
    visited.emulate_media(**MODES["light"])
    STATES[name][0](visited, past)
    settled(visited)


def test_every_template_is_among_the_states():
    assert {template for _, template in STATES.values()} == {path.name for path in TEMPLATES.glob("*.html")} - PARTS


@pytest.mark.parametrize("name", STATES)
def test_every_page_fits_at_every_size_with_nothing_covered_and_axe_finds_nothing(past, visited, rendered, keep, name):
    come(past, visited, name)
    assert STATES[name][1] in rendered
    for size, (width, height) in SIZES.items():
        visited.set_viewport_size({"width": width, "height": height})
        drawn(visited)
        assert fits(visited), size
        assert visited.evaluate(COVERED) == [], size
    for size, mode in LOOKS:
        width, height = SIZES[size]
        visited.set_viewport_size({"width": width, "height": height})
        visited.emulate_media(**MODES[mode])
        keep(visited, f"{name}-{size}-{mode}", full_page="review" not in name)
        assert problems(visited) == [], (size, mode)


@pytest.mark.slow
@pytest.mark.parametrize("name", STATES)
def test_axe_finds_nothing_on_any_page_at_any_size_in_any_mode(past, visited, keep, name):
    come(past, visited, name)
    for size, (width, height) in SIZES.items():
        visited.set_viewport_size({"width": width, "height": height})
        for mode, media in MODES.items():
            visited.emulate_media(**media)
            keep(visited, f"{name}-{size}-{mode}", full_page="review" not in name)
            assert problems(visited) == [], (size, mode)
