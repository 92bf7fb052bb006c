"""A service with rounds that wait, and the browsers of people who work with it."""

from __future__ import annotations

import itertools
import time

from axe_playwright_python.sync_playwright import Axe

from likewise.service.accounts.rates import Rates
from likewise.service.stream.settings import Settings

LOANS = {
    "features": [
        {"name": "income"},
        {"name": "score", "compare": True},
        {"name": "town", "kind": "category", "levels": ["North", "South"], "compare": True},
        {"name": "group", "sensitive": True},
    ],
    "cuts": {"score": [i / 10 for i in range(1, 10)]},
    "alpha": 0.1,
    "review": {"ask_all": True},
    "k": 16,
    "waits": {"grace": 60},
}


def people(t, k=5):
    """The people of a round: spread over the scores, so that some are far apart."""
    return [
        {
            "id": f"{t}-{i}",
            "features": {
                "income": 20_000.0 + 1000 * ((7 * t + 3 * i) % 20),
                "score": round((0.05 + 0.19 * i + 0.013 * t) % 1, 3),
                "town": ("North", "South")[(t + i) % 2],
                "group": float(i % 2),
            },
        }
        for i in range(k)
    ]


PATIENCE = 300
"""Seconds until a wait has failed, also on a machine that has other things to do; nothing takes nearly as long."""
TAKEN = """
window.taken = 0;
const plain = Object.getOwnPropertyDescriptor(Element.prototype, "innerHTML");
Object.defineProperty(HTMLTemplateElement.prototype, "innerHTML", {
  ...plain, set(text) { plain.set.call(this, text); window.taken += 1; },
});
"""
"""Counts the rounds that the page's script has taken up: it makes each out of a template, and at once puts it
in front or keeps it for later."""


class Office:
    """A service with streams, and browsers of people who work with it."""

    def __init__(self, service, chromium):
        service.app.state.login_rates = Rates(itertools.count(0, 60).__next__)  # a minute passes between any two logins
        self.service, self.engine, self.url = service, service.engine, service.url
        self.sessions = service.app.state.service.sessions
        self._chromium, self._contexts = chromium, []
        self.briefed = ""  # the stream whose brief everybody has read

    def stream(self, name="loans", taught=12, **changes):
        """A stream whose policy has learned a little, so that probabilities differ."""
        settings = Settings.from_dict(LOANS | {"name": name, "waits": {"grace": 0}} | changes)
        self.engine.create(settings, "root")
        for t in range(1, taught + 1):
            asked = people(t)
            self.engine.decide(name, asked, "decider")
            self.engine.label(name, t, {p["id"]: int(p["features"]["score"] > 0.5) for p in asked}, "decider")
            self.engine.audit(name, t, "none", "teacher")
        self.engine.change_waits(name, {"grace": LOANS["waits"]["grace"]}, "root")
        self.first = taught + 1
        return name

    def open(self, count, stream="loans", k=5, labels=True):
        """Rounds that wait for review."""
        first = self.engine.stream(stream)["rounds"] + 1
        for t in range(first, first + count):
            asked = people(t, k)
            self.engine.decide(stream, asked, "decider")
            if labels:
                self.engine.label(stream, t, {p["id"]: int(p["features"]["score"] > 0.5) for p in asked}, "decider")
        return range(first, first + count)

    def page(self, name="ann", role="auditor", *, helped=True, script="", **options):
        """A page in a browser of somebody's own, logged in by a one-time link; errors on it fail the test.

        ``script`` runs on every page before those of the page.
        """
        if not any(one["name"] == name for one in self.service.service.tokens.list()):
            self.service.service.tokens.add(name, role)
        context = self._chromium.new_context(**{"viewport": {"width": 1280, "height": 860}} | options)
        context.set_default_timeout(1000 * PATIENCE)
        self._contexts.append(context)
        page = context.new_page()
        page.wrong = []
        page.on("pageerror", lambda error: page.wrong.append(str(error)))
        page.on("dialog", lambda dialog: (page.wrong.append(f"dialog {dialog.message}"), dialog.dismiss()))
        page.on("console", lambda said: "Content Security" in said.text and page.wrong.append(said.text))
        if helped:
            context.add_init_script("localStorage.setItem('likewise help seen', 'yes')")
            context.add_init_script(f"localStorage.setItem('likewise brief seen /streams/{self.briefed}/review', '1')")
        for one in (TAKEN, script):
            context.add_init_script(one)
        self.login(page, name)
        return page

    def login(self, page, name):
        """Log in by a one-time link; whoever goes elsewhere before the answer is there stays outside."""
        page.goto(f"{self.url}/login/{self.sessions.link(name)}")
        page.get_by_role("button", name=f"Continue as {name}").click()
        page.wait_for_url(lambda url: "/login" not in url)

    def review(self, name="ann", stream="loans", **options):
        """The page of a reviewer with a round in front."""
        page = self.page(name, **options)
        if not page.url.endswith(f"/streams/{stream}/review"):
            page.goto(f"{self.url}/streams/{stream}/review")
        page.wait_for_selector("article.round")
        return page

    def audits(self, stream="loans", since=0):
        """Verdicts by round that stand in the log, in order: (t, verdict, by)."""
        audits = (line["data"] for line in self.engine.events(stream, limit=100_000) if line["kind"] == "audited")
        return [(audit["t"], audit["verdict"], audit["by"]) for audit in audits if audit["t"] > since]

    def close(self):
        """Close the browsers; whatever went wrong on a page is told."""
        wrong = [said for context in self._contexts for page in context.pages for said in getattr(page, "wrong", [])]
        for context in self._contexts:
            context.close()
        self._contexts.clear()
        assert wrong == []


def current(page):
    """The number of the round in front."""
    return int(page.locator("article.round").get_attribute("data-round"))


def report(page, reason, note):
    """Report the first and the fifth person by keys alone, with the key of a reason and a note."""
    for key in ("1", "5", reason, "t"):
        page.keyboard.press(key)
    page.keyboard.type(note)
    page.keyboard.press("Escape")
    page.keyboard.press("Enter")


def in_front(page, t):
    """Wait until a round is in front: only then keys are about it."""
    page.wait_for_selector(f'article.round[data-round="{t}"]')


def fetched(page, count):
    """Wait until the page has so many rounds since it was loaded: one in front, others for later."""
    page.wait_for_function("count => window.taken >= count", arg=count)


def intercept(page, pattern, handler):
    """Take requests of a page into one's own hands, and see to it that they come before anything is done with it."""
    page.route(pattern, handler)
    page.route("**/intercepted", lambda route: route.fulfill(status=299))
    deadline = time.monotonic() + PATIENCE
    while page.evaluate("async () => (await fetch('/intercepted')).status") != 299:
        assert time.monotonic() < deadline, "requests pass by"
    page.unroute("**/intercepted")


def held(page, routes, count=1):
    """Wait until so many requests hang."""
    deadline = time.monotonic() + PATIENCE
    while len(routes) < count:
        assert time.monotonic() < deadline, "nothing was asked"
        page.wait_for_timeout(10)


def pass_time(page, seconds):
    """Let the page believe that so much time has passed."""
    page.evaluate("seconds => { const now = Date.now.bind(Date); Date.now = () => now() + 1000 * seconds; }", seconds)


def next_round(page, before):
    """Wait until another round is in front, or none."""
    page.wait_for_function(
        "t => { const a = document.querySelector('article.round'); return !a || a.dataset.round !== String(t); }",
        arg=before,
    )


def all_sent(page):
    """Wait until nothing is left to be sent."""
    page.wait_for_function("() => !Object.keys(localStorage).some(name => name.startsWith('likewise /'))")


SIZES = {"phone": (320, 640), "tablet": (704, 900), "laptop": (1280, 720), "desktop": (1440, 900), "zoomed": (320, 180)}
"""The last is 1280 × 720 at 400 %."""
MODES = {
    "light": {"color_scheme": "light", "forced_colors": "none"},
    "dark": {"color_scheme": "dark", "forced_colors": "none"},
    "forced": {"color_scheme": "light", "forced_colors": "active"},
}
COVERED = """() => [...document.querySelectorAll("button, input, textarea, select, a, summary")]
    .filter((one) => one.closest("main"))
    .filter((one) => one.checkVisibility() && !one.disabled && !one.closest("dialog:not([open])"))
    .map((one) => {
        one.scrollIntoView({ block: "nearest" });
        one.focus();
        const box = one.getClientRects()[0], around = one.closest("label, tr, .pair");
        const top = document.elementFromPoint(box.left + box.width / 2, box.top + box.height / 2);
        return top && (one.contains(top) || around?.contains(top)) ? "" : one.outerHTML.slice(0, 90);
    }).filter(Boolean)"""
"""What can't be seen once it has the focus, because something covers its middle."""


def drawn(page):
    """Wait until the browser has drawn what was done."""
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")


def problems(page):
    """What axe finds, with where."""
    found = Axe().run(page).response["violations"]
    return [(one["id"], [node["html"][:200] for node in one["nodes"]]) for one in found]


def fits(page):
    """Whether nobody has to scroll to the side."""
    return page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


def settled(page):
    """Wait until a page waits for no work in the background; when that is done, it loads itself again."""
    page.wait_for_function("() => document.readyState === 'complete' && !document.querySelector('[data-busy]')")


def pages(past):
    """Every page that somebody looks at, by name."""
    base = f"{past.url}/streams/{past.name}"
    return {
        "review": f"{base}/review",
        "overview": base,
        "certificate": f"{base}/certificate",
        "plan": f"{base}/plan?rounds_a_day=200",
        "mine": f"{base}/review/mine",
        "reviewers": f"{base}/reviewers",
        "practice": f"{base}/review/practice",
        "correction": f"{base}/rounds/{past.reported}/correct",
        "rounds": f"{base}/rounds",
        "round": f"{base}/rounds/{past.reported}",
        "person": f"{base}/rounds/{past.reported}/people/0",
        "people": f"{base}/people",
        "log": f"{base}/log",
        "settings": f"{base}/settings",
        "export": f"{base}/export",
        "users": f"{past.url}/users",
        "home": f"{past.url}/",
        "login": f"{past.url}/login",
        "problem": f"{base}/rounds/99999",
    }
