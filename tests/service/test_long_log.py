"""The long log of the benchmarks is a log like any other."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from likewise.service.proof.standalone import check

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "long_log.py"


def test_it_is_written_and_verifies(tmp_path, start):
    found = importlib.util.spec_from_file_location("long_log", SCRIPT)
    long_log = importlib.util.module_from_spec(found)
    found.loader.exec_module(long_log)
    long_log.write(tmp_path / "log.db", 30)
    engine = start(str(tmp_path / "log.db"))
    assert engine.stream(long_log.STREAM)["rounds"] == 30
    findings = check(engine.export(long_log.STREAM))
    assert findings.problems == []
    assert findings.events > 30
