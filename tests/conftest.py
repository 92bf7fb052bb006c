"""For all tests: scratch files in memory, loops that are compiled once, the longest tests first, and what is left out.

Nothing here changes what a test sees; it changes how long they take together.
"""

from __future__ import annotations

import asyncio
import gc
import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from itertools import cycle

import pytest

MEMORY = "/dev/shm"
ROOM = 4 * 2**30
"""Bytes of memory that must be free for the scratch files of all tests, many times what they need."""
FIRST = (
    "test_docs.py", "test_look.py", "test_cli.py", "test_demo.py", "test_runs.py", "test_review.py", "test_compare.py",
    "test_review_answers.py", "test_reproduce.py", "test_serve.py", "test_paths.py", "test_adversity.py",
    "test_projections.py", "test_jobs.py", "test_theorems.py", "test_deployed.py", "test_examples.py",
    "test_classes.py", "test_kill.py", "test_network.py", "test_machine.py",
)  # fmt: skip
"""Files with the longest tests, the longest first: begun last, they would leave workers with nothing to do."""
PEOPLE = """
import likewise as lw

data = lw.datasets.synthetic(200)
people = lw.IID(data.features, data.y, k=4, view=data.view)
F = lw.Thresholds.quantiles(data.features, cuts=4)
auditor = lw.MetricAuditor(data.metric, 0.1)
"""
COMPILED = (
    """
lw.play(lw.AdaHedge(F, k=4, alpha=0.1), people, auditor, 5)
""",
    """
lw.play(lw.Hedge(F, T=5, k=4), people, auditor)
for hypotheses in (F, lw.Cells.grid(data.features, bins=2)):
    cuts = lw.AdaHedge(hypotheses, k=4, alpha=0.1, T=100)
    lw.play(cuts, people, auditor, compiled=False)  # with reports
""",
    """
from likewise.experiments.reproduce import penalties

t = lw.play(lw.ContextFTPL(F, T=5, k=4, alpha=0.1, draws=5), people, auditor)
lw.evaluate_fairness(t.average_policy, data.features, "cityblock", 0.1)
penalties.one_play(penalties.PAIRS, penalties.ROOT, (10,))
""",
)
"""What compiles the loops and keeps them on disk, the long ones apart; after that they are only loaded."""

collect_ignore = ["conftest.py"]  # it has no doctests, and its name is not its own

# Every worker and every process that a test starts would compile all modules again, which takes longer than their work.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

if os.path.isdir(MEMORY) and os.access(MEMORY, os.W_OK) and shutil.disk_usage(MEMORY).free > ROOM:
    # A database syncs every commit to disk, and most tests would wait for little else. That it does sync is a test
    # of its own (test_sync.py), which sees the system calls wherever the file is.
    os.environ["TMPDIR"] = MEMORY
    tempfile.tempdir = None  # it is looked up again

COMPILING = pytest.StashKey[list[subprocess.Popen[bytes]]]()
LEFT_OUT = pytest.StashKey[list[str]]()


def pytest_xdist_auto_num_workers() -> int:
    """One worker more than processors, as tests wait for browsers, databases and processes of their own."""
    return (os.cpu_count() or 1) + 1


def pytest_configure(config: pytest.Config) -> None:
    """Compile while the workers collect, each loop in one process for all of them."""
    config.stash[LEFT_OUT] = []
    if getattr(config.option, "numprocesses", None) and not hasattr(config, "workerinput"):
        config.stash[COMPILING] = [subprocess.Popen([sys.executable, "-c", PEOPLE + plays]) for plays in COMPILED]


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_node_collection_finished(node) -> None:
    """No worker gets a test before the loops are compiled: each would compile them for itself."""
    for process in node.config.stash[COMPILING]:
        process.wait()


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """What is loaded with the tests stays until the end, so nobody looks for garbage in it, now or later."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()


@pytest.hookimpl(trylast=True)  # when slow ones are out
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Every worker begins with its share of the longest files; beyond that, the order stays as it is.

    At the start each gets as many tests as the others, in this order; who is done first takes from the end of others.
    """
    workers = getattr(config, "workerinput", {}).get("workercount", 1)
    shares: list[list[pytest.Item]] = [[] for _ in range(workers)]
    turns = cycle([*shares, *reversed(shares)])
    for name in FIRST:
        next(turns).extend(item for item in items if item.path.name == name)
    others = [item for item in items if item.path.name not in FIRST]
    wanted = len(items)
    items.clear()
    for i, share in enumerate(shares):
        room = max(0, (wanted - len(items)) // (workers - i) - len(share))
        items += share + others[:room]
        del others[:room]
    items += others


def _folder() -> str | None:
    """The working directory; None if it is gone."""
    try:
        return os.getcwd()
    except FileNotFoundError:
        return None


@pytest.fixture(autouse=True)
def _no_loop_of_a_browser(request: pytest.FixtureRequest) -> Iterator[None]:
    """Playwright leaves its event loop marked as running in this thread, and a test that needs no browser may run one.

    The loop only turns inside of calls to Playwright, so nothing misses the mark in between.
    """
    loop = asyncio._get_running_loop()
    if loop is None or "chromium" in request.fixturenames:
        yield
        return
    asyncio._set_running_loop(None)
    yield
    asyncio._set_running_loop(loop)


@pytest.fixture(autouse=True)
def _workers_outlive_no_folder(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """End joblib's processes that a test started in a folder of its own: the next test would get them in no folder."""
    before = _folder()
    yield
    if _folder() != before:
        from joblib.externals.loky import get_reusable_executor

        get_reusable_executor().shutdown(wait=True)


# What is left out is known to the workers only, and told by who started them. ---------------------------------------


def pytest_deselected(items: list[pytest.Item]) -> None:
    """Note what is slow."""
    for item in items:
        if item.get_closest_marker("slow"):
            item.config.stash[LEFT_OUT].append(item.nodeid)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Hand it on."""
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["left_out"] = session.config.stash[LEFT_OUT]


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node) -> None:
    """Take it over; every worker left out the same."""
    node.config.stash[LEFT_OUT] = getattr(node, "workeroutput", {}).get("left_out", node.config.stash[LEFT_OUT])


def _told(terminalreporter: pytest.TerminalReporter) -> Iterator[str]:
    """What tests found out and recorded with ``record_property("told", …)``: a worker's own output is lost."""
    for report in (report for reports in terminalreporter.stats.values() for report in reports):
        if getattr(report, "when", None) == "call":
            yield from (str(text) for name, text in report.user_properties if name == "told")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Say it, and what tests found out."""
    for text in _told(terminalreporter):
        terminalreporter.section(text.partition("\n")[0], sep="-")
        terminalreporter.write_line(text.partition("\n")[2])
    left_out = config.stash[LEFT_OUT]
    if left_out:
        terminalreporter.section(f"{len(left_out)} slow tests are left out; make test-all runs them, too", sep="-")
        for name, cases in Counter(one.partition("[")[0] for one in left_out).items():
            terminalreporter.write_line(f"{name} ({cases})" if cases > 1 else name)
