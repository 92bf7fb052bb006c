"""A stream of many rounds, made without a service: commands are decided and folded, and their events stored in bulk."""

from __future__ import annotations

import hashlib
import secrets
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from likewise.policies import thresholds_of
from likewise.service.asides import people_asides
from likewise.service.canonical import GENESIS
from likewise.service.log import Append, Store
from likewise.service.log.chain import Sealed, seal
from likewise.service.stream import commands
from likewise.service.stream.decide import decide
from likewise.service.stream.events import RoundOpened
from likewise.service.stream.settings import Feature, Settings, Waits
from likewise.service.stream.state import State

STREAM = "loans"
K = 4
CUTS = tuple(np.linspace(0.05, 0.95, 19).tolist())
BEGAN = 1_700_000_000.0
TOGETHER = 2000
"""Events in a transaction."""


def settings(name: str = STREAM) -> Settings:
    """Two numbers in [0, 1], cut into twenty."""
    features = (Feature(name="score"), Feature(name="age"))
    cuts = {"score": CUTS, "age": CUTS}
    return Settings(name=name, features=features, cuts=cuts, alpha=0.1, k=K, waits=Waits(grace=0))


class Author:
    """Writes the log of a stream, round after round."""

    def __init__(self, store: Store, name: str = STREAM, began: float = BEGAN) -> None:
        self._store, self._name, self._secret = store, name, secrets.token_bytes(32)
        self._state, self._place = State(), (0, GENESIS)
        self._sealed: list[Sealed] = []
        self._now, self._rng = began, np.random.default_rng(0)
        digest = hashlib.sha256(self._secret).hexdigest()
        self._do(commands.CreateStream(settings(name), "root", digest))
        self._flush(self._secret.hex())

    def round(self) -> None:
        """One round: opened, labelled, audited, closed and learned. People as alike as 0.15 mind a gap."""
        X, noise = self._rng.random((K, 2)), 0.2 * self._rng.normal(size=K)
        t = self._state.opened + 1
        ids = [f"{t}.{i}" for i in range(K)]
        people = [{"id": id, "features": dict(zip(("score", "age"), x, strict=True))}
                  for id, x in zip(ids, X.tolist(), strict=True)]  # fmt: skip
        asides = people_asides(people, self._state.stream.settings, t)
        opened, *_ = self._do(commands.RequestDecisions(asides, thresholds_of(ids, self._secret), "decider", None, {}))
        assert isinstance(opened, RoundOpened), "a request opens a round"
        labels = {id: int(score > 0.5) for id, score in zip(ids, X[:, 0] + noise, strict=True)}
        self._do(commands.ReceiveLabels(t, labels, "decider"))
        shown = np.array([person.probability for person in opened.people])
        high, low = int(shown.argmax()), int(shown.argmin())
        alike = shown[high] - shown[low] > 0.1 and abs(X[high, 0] - X[low, 0]) < 0.15
        pair = [ids[high], ids[low]] if alike else []
        if t in self._state.rounds and self._state.rounds[t].verdict is None:  # not cleared by arithmetic
            self._do(commands.Audit(t, "pair" if alike else "none", "ann", pair))
        self._now += 1.0
        if len(self._sealed) >= TOGETHER:
            self._flush()

    def end(self) -> None:
        """Store what is left."""
        self._flush()

    def _do(self, command: Any) -> list[Any]:
        decision = decide(self._state, command, self._now)
        self._state = decision.after
        sealed = seal(self._name, *self._place, decision.events)
        self._place = sealed[-1].seq, sealed[-1].hash
        self._sealed += sealed
        return decision.events

    def _flush(self, secret: str | None = None) -> None:
        if self._sealed:
            self._store.append(Append(self._sealed, secret=secret))
        self._sealed = []


def write(database: str | Path, rounds: int) -> None:
    """Make a database with one stream of so many rounds, one a second, of which the last is over now.

    A service that starts on a log of long ago first waits to see whether its clock is right.
    """
    with Store(database) as store:
        store.migrate()
        author = Author(store, began=time.time() - rounds)
        for _ in range(rounds):
            author.round()
        author.end()


if __name__ == "__main__":
    write(sys.argv[1], int(sys.argv[2]))
