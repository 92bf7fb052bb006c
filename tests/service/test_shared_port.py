"""Workers at one port: each gets its share of the connections."""

from __future__ import annotations

import pickle
import selectors
import socket
from contextlib import ExitStack

import pytest

from likewise.service.run.shared_port import SPREADS, SharedPort


@pytest.mark.skipif(not SPREADS, reason="this system gives all connections to one socket")
def test_connections_are_spread_over_all_workers_and_none_waits_at_the_socket_that_keeps_the_port():
    with ExitStack() as opened, selectors.DefaultSelector() as waiting:
        kept = opened.enter_context(SharedPort.at("127.0.0.1", 0))
        workers = [opened.enter_context(pickle.loads(pickle.dumps(kept))) for _ in range(2)]
        for worker in workers:
            worker.listen(128)
            waiting.register(worker, selectors.EVENT_READ)
        taken = dict.fromkeys(workers, 0)
        for _ in range(64):  # all at one of two: once in 2^63 times
            opened.enter_context(socket.create_connection(kept.getsockname()))
            ((key, _),) = waiting.select(60)
            opened.enter_context(key.fileobj.accept()[0])
            taken[key.fileobj] += 1
        assert min(taken.values()) > 0
        assert sum(taken.values()) == 64


def test_a_port_that_somebody_else_has_is_refused():
    with socket.create_server(("127.0.0.1", 0)) as theirs, pytest.raises(OSError, match="in use"):
        SharedPort.at(*theirs.getsockname())
