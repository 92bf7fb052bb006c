"""What operators watch is right with several workers too."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from likewise.service.monitoring import Metrics

WORKERS = """
import json, os, sys
sys.path.insert(0, sys.argv[1])
from test_monitoring import answered
for streams in (1, 2, 3):
    if os.fork() == 0:
        print(json.dumps(answered(streams)), flush=True)
        os._exit(0)
    os.wait()
"""
"""Three processes, one after the other, that share a folder."""


def answered(streams):
    """What a worker tells that answered one request and knows of some streams."""
    metrics = Metrics()
    metrics.requests.labels("GET", "/livez", "200").inc()
    metrics.seconds.labels("GET", "/livez").observe(0.01)
    metrics.streams.set(streams)
    return metrics.text().decode()


def test_each_worker_tells_the_counts_of_all(request, tmp_path):
    shared = {**os.environ, "PROMETHEUS_MULTIPROC_DIR": str(tmp_path)}
    command = [sys.executable, "-c", WORKERS, str(request.path.parent)]
    workers = subprocess.run(command, env=shared, check=True, capture_output=True, text=True).stdout.splitlines()
    assert len(workers) == 3
    for streams, said in enumerate(map(json.loads, workers), 1):
        assert f'likewise_requests_total{{method="GET",route="/livez",status="200"}} {streams}.0' in said
        assert f'likewise_request_seconds_count{{method="GET",route="/livez"}} {streams}.0' in said
        assert f"likewise_streams {streams}.0" in said, "a count of the service, not of the worker"
        assert "Requests answered, by all workers." in said


@pytest.mark.parametrize("streams", [1, 2])
def test_a_worker_on_its_own_says_that_it_speaks_for_itself(streams):
    said = answered(streams)
    assert 'likewise_requests_total{method="GET",route="/livez",status="200"} 1.0' in said
    assert "Requests answered, by this process." in said
