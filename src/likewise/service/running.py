"""A running service: the engine, the tokens, the limits, and the clock that moves rounds on."""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Callable, Sequence

from anyio import CapacityLimiter

from likewise.service.accounts.access import Gate
from likewise.service.accounts.sessions import Sessions
from likewise.service.accounts.tokens import Tokens
from likewise.service.configuration import Configuration
from likewise.service.cosigning import Cosigning, witnesses_of
from likewise.service.engine import Engine
from likewise.service.jobs.process import Subprocesses
from likewise.service.jobs.shared import SharedWork
from likewise.service.log import Store
from likewise.service.log.checkpoints import CheckpointFile
from likewise.service.log.erasure import ErasureFile
from likewise.service.log.keys import signer_at
from likewise.service.monitoring import Metrics
from likewise.service.readiness import Readiness
from likewise.service.redaction import redacted
from likewise.service.supervision import keep_notified
from likewise.service.timestamping import Timestamping

log = logging.getLogger(__name__)
AGAIN = 60.0
"""Seconds after which the log repeats what is still the matter."""
SWEEP_EVERY = 600.0
"""Seconds between two sweeps of old leases and idempotency keys."""
FAR = 86_400.0
"""Seconds by which the time of day may be ahead of the newest event when a service is started;"""
JUMP = 60.0
"""and by which it may run ahead or behind between two looks."""
LASTS = 60.0
"""Seconds after which a time of day is believed that has jumped."""
RETAIN_EVERY = 600.0
"""Seconds between two looks for people who were kept long enough, once nobody is left."""
RETAIN_AFTER = 3600.0
"""Seconds for which the time of day must have gone on as time does before anybody is erased by it."""
LONG_REQUESTS = 2
"""Requests that may read a whole long log at the same time; others wait for them."""


class Service:
    """Everything behind the routes and the pages.

    Parameters
    ----------
    configuration
        How it is set up.
    """

    def __init__(self, configuration: Configuration) -> None:
        self.configuration = configuration
        checkpoints = CheckpointFile(configuration.checkpoint_file)
        self.store = Store(configuration.database)
        try:
            self.store.migrate()
            begun = bool(self.store.streams())
            signer = signer_at(configuration.key_file, checkpoints, **configuration.key_source, begun=begun)
        except BaseException:
            self.store.close()
            raise
        self.engine = Engine(
            self.store,
            signer,
            checkpoints,
            erasures=ErasureFile(configuration.erasure_file),
        )
        self.readiness = Readiness(self.engine)
        self.subprocesses = Subprocesses(self.engine, configuration)
        self.long_requests = CapacityLimiter(LONG_REQUESTS)
        """Limits requests that take long, so that they don't use up the threads of all others."""
        self.shared_work = SharedWork()
        self.tokens = Tokens(self.store)
        self.sessions = Sessions(self.store, self.engine.signer)
        self.gate = Gate(self.tokens, self.sessions, configuration.max_rate, configuration.max_anonymous_rate)
        self.metrics = Metrics(named=configuration.metrics_by_stream)
        cosigning = Cosigning(self.engine, witnesses_of(configuration.witnesses))
        timestamping = Timestamping(self.engine, configuration.timestamps)
        self.each_tick: list[Callable[[], None]] = [cosigning, timestamping]
        """What else is done every time the clock looks."""
        self.before_stop: list[Callable[[], None]] = [self.subprocesses.stop]
        """What else is ended before the database is let go of."""
        self._clock = ClockThread(
            self.engine,
            configuration.tick,
            self.each_tick,
            self.metrics.clock_failures.inc,
            keep_at_least=configuration.keep_at_least,
            newest=self.store.newest_at(),
        )

    def start(self) -> None:
        """Read the logs up to their heads, then look every so often at what time has made due; returns at once."""
        self._clock.start()

    def stop(self) -> None:
        """Finish what was begun, sign the heads, and let go of the database."""
        self._clock.stop()
        for end in self.before_stop:
            end()
        self.engine.close()

    async def keep_notified(self) -> None:
        """Tell the service manager, if there is one, that this is ready and alive, until cancelled."""
        await keep_notified(lambda: self.engine.ready, self._clock.turned.age)

    def measurements(self) -> bytes:
        """What operators watch, as Prometheus reads it."""
        loaded = self.engine.streams.loaded()
        self.metrics.streams.set(len(loaded))
        self.metrics.outstanding.set(sum(live.durable.state.outstanding for live in loaded))
        self.metrics.ready.set(self.engine.ready)
        self.metrics.broken.set(len(self.engine.broken))
        self.metrics.clock_lag.set(self._clock.succeeded.age())
        return self.metrics.text(self.engine.health())


class SteadyClock:
    """Whether the time of day goes on as time does; after a jump, only once the new time has lasted for a while.

    A clock that is wrong for a moment must not end every wait that there is. At the first look there is no earlier one:
    a time of day that is more than a day ahead of the newest event counts as a jump. Whoever starts a service that was
    off for a weekend waits a minute longer.

    Parameters
    ----------
    newest
        When the newest event happened, as the logs say: seconds since 1970, infinite if there is none.

    Examples
    --------
    >>> steady = SteadyClock()
    >>> [steady(day, real) for day, real in [(1000.0, 0.0), (1001.0, 1.0), (91_000.0, 2.0), (1003.0, 3.0)]]
    [True, True, False, True]
    >>> steady(91_004.0, 4.0), steady(91_064.0, 64.0)
    (False, True)
    >>> steady.lasts(100.0)
    36.0
    >>> started = SteadyClock(newest=1000.0)
    >>> [started(day, real) for day, real in [(91_000.0, 0.0), (91_030.0, 30.0), (91_060.0, 60.0)]]
    [False, False, True]
    """

    def __init__(self, newest: float = math.inf) -> None:
        self._newest = newest
        self._ahead: float | None = None
        self._jumped: tuple[float, float] | None = None
        self._since: float | None = None

    def lasts(self, real: float) -> float:
        """For how many seconds it has gone on so, since it was first seen or believed again."""
        return 0.0 if self._since is None else real - self._since

    def __call__(self, day: float, real: float) -> bool:
        """Whether to believe ``day``, seconds since 1970, when ``real`` seconds have passed since some moment."""
        ahead = day - real
        if self._goes_on(day, ahead):
            self._since = real if self._since is None else self._since
            self._ahead, self._jumped = ahead, None
            return True
        if self._jumped is None or abs(ahead - self._jumped[0]) > JUMP:
            self._jumped = ahead, real
        if real - self._jumped[1] < LASTS:
            return False
        self._ahead, self._jumped, self._since = ahead, None, real
        return True

    def _goes_on(self, day: float, ahead: float) -> bool:
        return day - self._newest <= FAR if self._ahead is None else abs(ahead - self._ahead) <= JUMP


class Moment:
    """When something last happened; at first, when this was made.

    Examples
    --------
    >>> times = iter([100.0, 130.0, 150.0])
    >>> moment = Moment(lambda: next(times))
    >>> moment.now()
    >>> moment.age()
    20.0
    """

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._at = monotonic()

    def now(self) -> None:
        """It happened."""
        self._at = self._monotonic()

    def age(self) -> float:
        """Seconds since then."""
        return self._monotonic() - self._at


class ClockThread:
    """Looks every so often at what time has made due, once the logs are read; goes on whatever fails.

    Parameters
    ----------
    engine
        Is started, and then hears of every tick.
    seconds
        Between two looks.
    each_tick
        What else is done every time.
    failed
        Is called when a look has failed.
    time_of_day
        Seconds since 1970.
    keep_at_least
        Days for which people are kept, whatever a stream says.
    newest
        When the newest event happened that was there before the service was started.
    """

    def __init__(
        self,
        engine: Engine,
        seconds: float,
        each_tick: Sequence[Callable[[], None]],
        failed: Callable[[], None],
        time_of_day: Callable[[], float] = time.time,
        keep_at_least: float = 0.0,
        newest: float = math.inf,
    ) -> None:
        self._engine, self._seconds = engine, seconds
        self._each_tick, self._failed = each_tick, failed
        self._time, self._monotonic = time_of_day, time.monotonic
        self._steady = SteadyClock(newest)
        self.turned, self.succeeded = Moment(), Moment()
        """When it last looked, whatever came of it; and when nothing failed."""
        self._keep_at_least = keep_at_least
        self._swept = -math.inf  # a machine that has just started counts from 0
        self._retained = -math.inf
        self._logged = "", -math.inf
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="likewise-clock", daemon=True)

    def start(self) -> None:
        """Begin; returns at once."""
        self._thread.start()

    def stop(self) -> None:
        """Finish the look that was begun, if it ever began to look."""
        self._stopping.set()
        if self._thread.ident is not None:
            self._thread.join()

    def _run(self) -> None:
        while not self._stopping.is_set():
            try:
                self._look()
            except Exception as error:
                # The clock must go on: a database that is away for a minute may come back.
                self._failed()
                self._log(logging.ERROR, f"Checking for what is due failed; trying again: {redacted(error)}")
            self.turned.now()
            self._stopping.wait(self._seconds)

    def _look(self) -> None:
        if not self._engine.ready:
            self._engine.start()
        if not self._steady(self._time(), self._monotonic()):
            self._log(
                logging.WARNING,
                "The time of day has jumped, or is more than a day ahead of the newest event. Nothing expires until it "
                "has gone on for a minute.",
            )
            return
        self._engine.tick()
        for work in self._each_tick:
            work()
        self.succeeded.now()
        self._logged = "", -math.inf
        if time.monotonic() - self._swept > SWEEP_EVERY:
            self._engine.sweep()
            self._swept = time.monotonic()
        self._retain()

    def _log(self, level: int, message: str) -> None:
        """What is the matter, once and then once a minute: it looks twice a second, for as long as it takes."""
        last, at = self._logged
        if message != last or self._monotonic() - at >= AGAIN:
            log.log(level, "%s", message)
            self._logged = message, self._monotonic()

    def _retain(self) -> None:
        """Erase whom nobody may keep any longer. That can't be undone, so the time of day must be above suspicion."""
        now = self._monotonic()
        if self._steady.lasts(now) < RETAIN_AFTER or now - self._retained < RETAIN_EVERY:
            return
        if self._engine.retain(self._keep_at_least) == 0:
            self._retained = now
