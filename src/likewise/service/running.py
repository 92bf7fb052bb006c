"""A running service: the engine, the tokens, the limits, and the clock that moves rounds on."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

from anyio import CapacityLimiter

from likewise.service.accounts.access import Gate
from likewise.service.accounts.sessions import Sessions
from likewise.service.accounts.tokens import Tokens
from likewise.service.configuration import Configuration
from likewise.service.engine import Engine
from likewise.service.jobs.process import Apart
from likewise.service.log import Store
from likewise.service.log.signing import CheckpointFile, ErasureFile, Signer
from likewise.service.metrics import Metrics
from likewise.service.redaction import told

log = logging.getLogger(__name__)
SWEEP_EVERY = 600.0
"""Seconds between two sweeps of old leases and idempotency keys."""

LONG = 2
"""Requests that read whole long logs at once; others wait for them."""


class Service:
    """Everything behind the routes and the pages.

    Parameters
    ----------
    configuration
        How it is set up.
    """

    def __init__(self, configuration: Configuration) -> None:
        self.configuration = configuration
        self.store = Store(configuration.database)
        self.store.migrate()
        self.engine = Engine(
            self.store,
            Signer.at(configuration.key_file),
            CheckpointFile(configuration.checkpoint_file),
            erasures=ErasureFile(configuration.erasure_file),
        )
        self.apart = Apart(self.engine, configuration)
        self.patient = CapacityLimiter(LONG)
        """What limits requests that take long, in place of the threads of all others."""
        self.tokens = Tokens(self.store)
        self.sessions = Sessions(self.store, self.engine.signer)
        self.gate = Gate(self.tokens, self.sessions, configuration.max_rate, configuration.max_anonymous_rate)
        self.metrics = Metrics()
        self.each_tick: list[Callable[[], None]] = []
        """What else is done every time the clock looks."""
        self.before_stop: list[Callable[[], None]] = [self.apart.stop]
        """What else is ended before the database is let go of."""
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Read the logs up to their heads, then look every so often at what time has made due; returns at once."""
        self._thread = threading.Thread(target=self._run, name="likewise-clock", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Finish what was begun, sign the heads, and let go of the database."""
        self._stopping.set()
        if self._thread is not None:
            self._thread.join()
        for end in self.before_stop:
            end()
        self.engine.close()

    def measurements(self) -> bytes:
        """What operators watch, as Prometheus reads it."""
        loaded = self.engine.streams.loaded()
        self.metrics.streams.set(len(loaded))
        self.metrics.outstanding.set(sum(live.durable.state.outstanding for live in loaded))
        self.metrics.ready.set(self.engine.ready)
        return self.metrics.text()

    def _run(self) -> None:
        swept = 0.0
        while not self._stopping.is_set():
            try:
                if not self.engine.ready:
                    self.engine.start()
                self.engine.tick()
                for work in self.each_tick:
                    work()
                if time.monotonic() - swept > SWEEP_EVERY:
                    self.engine.sweep()
                    swept = time.monotonic()
            except Exception as error:
                # The clock must go on: a database that is away for a minute may come back.
                self.metrics.clock_failures.inc()
                log.error("Looking at what is due failed; trying again: %s", told(error))
            self._stopping.wait(self.configuration.tick)
