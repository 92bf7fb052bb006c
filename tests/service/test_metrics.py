"""What operators watch is right with several workers too."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

WORKER = """
from likewise.service.metrics import Metrics
metrics = Metrics()
metrics.requests.labels("GET", "/livez", "200").inc()
metrics.seconds.labels("GET", "/livez").observe(0.01)
metrics.streams.set({streams})
print(metrics.text().decode())
"""


def worker(streams, **environment):
    """What a worker tells that answered one request and knows of some streams."""
    names = {"env": {**os.environ, **environment}, "check": True, "capture_output": True, "text": True}
    return subprocess.run([sys.executable, "-c", WORKER.format(streams=streams)], **names).stdout


def test_each_worker_tells_the_counts_of_all(tmp_path):
    for streams in (1, 2, 3):
        said = worker(streams, PROMETHEUS_MULTIPROC_DIR=str(tmp_path))
        assert f'likewise_requests_total{{method="GET",route="/livez",status="200"}} {streams}.0' in said
        assert f'likewise_request_seconds_count{{method="GET",route="/livez"}} {streams}.0' in said
        assert f"likewise_streams {streams}.0" in said, "a count of the service, not of the worker"
        assert "Requests answered, by all workers." in said


@pytest.mark.parametrize("streams", [1, 2])
def test_a_worker_on_its_own_says_that_it_speaks_for_itself(streams):
    said = worker(streams)
    assert 'likewise_requests_total{method="GET",route="/livez",status="200"} 1.0' in said
    assert "Requests answered, by this process." in said
