"""Alarms: what a lead should hear of without looking.

Rounds that wait too long, reports that became more or fewer, reviewers who don't confirm each other's reports, and
known rounds that are missed more often than before.

They stand at the top of the overview and, if an address is configured, are sent to it when they begin or end.
"""

from __future__ import annotations

import json
import logging
import threading
import time
import urllib.request
from collections.abc import Callable, Sequence
from typing import NamedTuple

from likewise.service.engine import Engine
from likewise.service.projections import summaries
from likewise.service.projections.bins import Bin
from likewise.service.projections.reviewers import drifted
from likewise.service.redaction import error_kind
from likewise.service.refusals import AlteredRows
from likewise.service.stream.state import State
from likewise.theory.agreement import Overlap, binomial_limits, positive_agreement
from likewise.wording import plural

log = logging.getLogger(__name__)
LONG = 86_400.0
"""Seconds that a round may wait for its review."""
NEWEST = 4
"""The newest of so many parts of all reviewed rounds is held against those before."""
SURE = 0.01
"""Each of the two intervals fails with at most this probability; where they don't overlap, an alarm begins."""
HALF = 0.5
"""The share of reports that the other confirms, below which reviewers disagree."""
EVERY = 60.0
"""Seconds between two looks for the webhook."""


class Alarm(NamedTuple):
    """What is wrong: "backlog", "drift", "disagreement" or "known rounds", and a sentence."""

    kind: str
    sentence: str


def alarms(state: State, bins: Sequence[Bin], now: float) -> list[Alarm]:
    """What is wrong with a stream at a moment."""
    possible = (_backlog(state, now), _drift(bins), _disagreement(state), _misses(state))
    return [alarm for alarm in possible if alarm is not None]


def _backlog(state: State, now: float) -> Alarm | None:
    opened = [round_.opened_at for round_ in state.rounds.values() if round_.verdict is None]
    if not opened or now - min(opened) <= LONG:
        return None
    wait = f"the oldest for {(now - min(opened)) / LONG:.1f} days"
    return Alarm("backlog", f"{plural(len(opened), 'round waits', 'rounds wait')} for review, {wait}.")


def _drift(bins: Sequence[Bin]) -> Alarm | None:
    """Whether reports became more or fewer: the newest part of the reviewed rounds beside those before."""
    split = _newest(bins)
    before, lately = ((sum(bin.reports for bin in some), sum(bin.reviewed for bin in some)) for some in split)
    if not before[1] or not lately[1]:
        return None
    old, new = binomial_limits(*before, SURE), binomial_limits(*lately, SURE)
    if old.low <= new.high and new.low <= old.high:
        return None
    rates = (
        f"{100 * before[0] / before[1]:.1f} per 100 reviewed rounds before, {100 * lately[0] / lately[1]:.1f} lately"
    )
    how = "more" if new.low > old.high else "less"
    return Alarm("drift", f"Pairs are reported {how} often than before: {rates}. People, policy or reviewers changed.")


def _disagreement(state: State) -> Alarm | None:
    """Whether two reviewers confirm less than half of each other's reports, in the newest rounds that one reported."""
    lately = state.team.lately
    agreed = positive_agreement(Overlap(both=sum(lately), first=len(lately) - sum(lately)), 2 * SURE)
    if agreed.estimate is None or agreed.high >= HALF:
        return None
    return Alarm(
        "disagreement",
        f"Reviewers confirm only {agreed.estimate:.0%} of each other's reports, in the newest "
        f"{plural(len(lately), 'round')} that one of two reported. Talk about what counts as alike, and say it in the "
        "brief.",
    )


def _misses(state: State) -> Alarm | None:
    """Whether somebody misses more known rounds than is usual; who it is stands on the page about reviewers."""
    many = sum(drifted(state, name) for name in {look.by for look in state.known.looks})
    if not many:
        return None
    who = f"{plural(many, 'reviewer misses', 'reviewers miss')} more known rounds than one in ten"
    return Alarm("known rounds", f"{who}. A larger share of known rounds for a week shows whether it lasts.")


def _newest(bins: Sequence[Bin]) -> tuple[Sequence[Bin], Sequence[Bin]]:
    """The bins in two: those before, and the newest, with about a quarter of the reviewed rounds."""
    wanted, count = sum(bin.reviewed for bin in bins) / NEWEST, 0
    for i in range(len(bins) - 1, -1, -1):
        count += bins[i].reviewed
        if count >= wanted:
            return bins[:i], bins[i:]
    return bins, ()


class Webhook:
    """Sends alarms to an address when they begin or end: ``{"stream": …, "alarms": [{"kind", "sentence"}]}``.

    Nothing about a person is in them. A failed delivery is logged, and tried again with the next look.

    Parameters
    ----------
    engine
        Its streams are looked at.
    url
        Where to send them.
    clock
        Seconds that only grow.
    """

    def __init__(self, engine: Engine, url: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._engine, self._url, self._clock = engine, url, clock
        self._looked = -EVERY
        self._told: dict[str, tuple[str, ...]] = {}

    def __call__(self) -> None:
        """What the clock does every time it looks: once a minute, see whether an alarm began or ended."""
        if self._clock() - self._looked < EVERY:
            return
        self._looked = self._clock()
        for live in self._engine.streams.loaded():
            state = live.durable.state
            if state.model is None:
                continue
            try:
                bins = summaries.bins(self._engine.store, live.name)
            except AlteredRows as error:
                log.error("%s", error)  # whoever follows the log computes them again
                continue
            ringing = alarms(state, bins, self._engine.clock())
            kinds = tuple(alarm.kind for alarm in ringing)
            if kinds != self._told.get(live.name, ()):
                threading.Thread(target=self._send, args=(live.name, ringing, kinds), daemon=True).start()

    def _send(self, stream: str, ringing: Sequence[Alarm], kinds: tuple[str, ...]) -> None:
        body = json.dumps({"stream": stream, "alarms": [alarm._asdict() for alarm in ringing]}).encode()
        request = urllib.request.Request(self._url, body, {"Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=10):
                self._told[stream] = kinds
        except OSError as error:
            log.warning("The alarms of %r were not delivered: %s", stream, error_kind(error))
