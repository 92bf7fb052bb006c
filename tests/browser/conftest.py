"""A real Chromium, and a service in front of it. Screenshots and measurements are kept in ``artefacts/``."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from office import LOANS, Office

from likewise import datasets
from likewise.service.engine import Engine
from likewise.service.pages import review
from likewise.service.run import demo
from likewise.service.stream.settings import Settings
from service.serving import running, strict_demo

ARTEFACTS = Path(__file__).parent / "artefacts"
CHROMIUM = ("chromium-headless-shell", "chromium", "chromium-browser")
"""Where there are several, the first one: without windows, a page costs it a quarter of the work."""
MISSING = (
    "There is no Chromium here, so the pages are not tested in a browser; `make browser` installs it where it can."
)


@pytest.fixture(scope="session")
def chromium():
    """A browser that lives as long as the tests."""
    playwright = pytest.importorskip("playwright.sync_api", reason=MISSING)
    with playwright.sync_playwright() as started:
        installed = [path for name in CHROMIUM if (path := shutil.which(name))]
        own = started.chromium.executable_path
        if not installed and not Path(own).exists():
            pytest.skip(MISSING)
        browser = started.chromium.launch(executable_path=(installed or [own])[0], args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(autouse=True)
def at_once(monkeypatch):
    """Rounds come in order and can be answered as soon as they are there: hands of tests are faster than eyes."""
    monkeypatch.setattr(review, "LEAST", 0.0)
    monkeypatch.setattr(review, "some_of", sorted)


@pytest.fixture
def office(tmp_path, chromium):
    with running(database=str(tmp_path / "log.db")) as service:
        found = Office(service, chromium)
        yield found
        found.close()


@pytest.fixture(scope="module")
def shared(tmp_path_factory, chromium):
    """A service for all tests of a module; each begins a stream of its own in it."""
    with running(database=str(tmp_path_factory.mktemp("shared") / "log.db")) as service:
        yield Office(service, chromium)


@pytest.fixture
def desk(shared, request):
    """A stream in the shared service, with a policy that has learned; errors on its pages fail the test."""
    shared.name = "".join(letter if letter.isalnum() else "-" for letter in request.node.name.lower())[-50:].strip("-")
    shared.stream(shared.name)
    yield shared
    shared.close()


@pytest.fixture(scope="module")
def past(tmp_path_factory, chromium):
    """A demo with a past, and rounds that wait."""
    with running(database=str(tmp_path_factory.mktemp("demo") / "log.db")) as service:
        made = lambda clock: Engine(service.service.store, service.engine.signer, None, clock)  # noqa: E731
        found = Office(service, chromium)
        with strict_demo():
            found.name = demo.fill(made, rounds=60, waiting=20, data=_people())
        found.briefed = found.name
        found.engine.create(Settings.from_dict(LOANS | {"name": "another"}), "root")  # so that there is a list of them
        reported = (row for row in found.engine.events(found.name, limit=10_000) if row["data"].get("reports"))
        found.reported = next(reported)["data"]["t"]
        yield found
        found.close()


def _people():
    """Adult where it is at hand, so that the screenshots show what a newcomer sees."""
    try:
        return demo.people()
    except OSError:
        return datasets.synthetic(3000)


@pytest.fixture
def keep():
    """A function that keeps a picture of a page."""
    ARTEFACTS.mkdir(exist_ok=True)

    def save(page, name, **options):
        page.screenshot(path=ARTEFACTS / f"{name}.png", animations="disabled", **options)

    return save


@pytest.fixture
def note():
    """A function that keeps figures that were measured."""
    ARTEFACTS.mkdir(exist_ok=True)

    def save(name, figures):
        (ARTEFACTS / f"{name}.json").write_text(json.dumps(figures, indent=1) + "\n")

    return save
