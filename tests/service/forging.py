"""A stream with everything in it, and what a forger does to its export."""

from __future__ import annotations

from contextlib import contextmanager

import numpy as np
import pytest
from loans import Clock, drawn, far_apart, loans

from likewise.service.engine import Engine
from likewise.service.log import Store
from likewise.service.log.chain import unsealed
from likewise.service.log.checkpoints import CheckpointFile
from likewise.service.log.signing import Signer
from likewise.service.log.tree import leaves
from likewise.service.proof import standalone
from likewise.service.proof.spelling import canonical, event_hash
from likewise.service.stream.settings import Feature, Waits
from likewise.transparency.merkle import Frontier

SIGNER, FORGER = Signer.generate(), Signer.generate()


def lived(folder, *, erase=False, **settings):
    """An engine on a stream with everything in it, and its clock."""
    clock = Clock()
    store = Store(folder / "log.db")
    store.migrate()
    engine = Engine(store, SIGNER, CheckpointFile(folder / "checkpoints.jsonl"), clock)
    engine.start()
    features = (Feature(name="score"), Feature(name="age"), Feature(name="sex", sensitive=True))
    engine.create(loans(features=features, waits=Waits(audit=60, label=90, grace=5), **settings), "root")
    rng = np.random.default_rng(0)
    for i in range(12):
        asked = _with_sex(drawn(rng, k=3, prefix=f"{i}."), rng)
        found = engine.decide("loans", asked, "decider")
        t, ids = found["t"], [person["id"] for person in found["decisions"]]
        chances = [person["probability"] for person in found["decisions"]]
        high, low = far_apart(chances)
        if i % 4 != 3:
            good = {person["id"]: int(person["features"]["score"] > 0.5) for person in asked}
            engine.label("loans", t, good, "decider")
        if chances[high] - chances[low] > 0.1:
            engine.audit("loans", t, "pair", "ann", pair=[ids[high], ids[low]], note="alike", reason="same job")
        elif i % 3:
            engine.audit("loans", t, "none", "ann")
        clock.forward(20)
        engine.tick()
    if erase:
        engine.erase("loans", "4.1", "root")
        engine.decide("loans", _with_sex(drawn(rng, 2), rng), "decider")
    engine.stop("loans", "the test is over", "root")
    engine.tick()
    engine.sign_heads(always=True)
    return engine


def _with_sex(people, rng):
    return [person | {"features": person["features"] | {"sex": float(rng.integers(2))}} for person in people]


def write(path, lines):
    path.write_bytes(b"".join(canonical(line) + b"\n" for line in lines))
    return path


def events(lines):
    return [i for i, line in enumerate(lines) if line["line"] == "event"]


def tree_of(lines, size=None):
    """The Merkle tree over the events among some lines, or the first of them."""
    return Frontier().add_all(leaves(lines[i]["hash"] for i in events(lines)[:size]))


def checkpoint(lines, size=None, signer=SIGNER, stream="loans"):
    """A line that signs the events among some lines, or the first of them."""
    return {"line": "checkpoint", "note": str(signer.checkpoint(stream, tree_of(lines, size)))}


def receipt(lines, seq, signer=SIGNER):
    """The receipt of whoever caused an event."""
    return signer.receipts(tree_of(lines, seq - 1), [unsealed(lines[events(lines)[seq - 1]])])[0]


def last_checkpoint(lines):
    """The same lines with the last of their checkpoints only, which is enough and quicker to check."""
    return [line for line in lines if line["line"] != "checkpoint"] + lines[-1:]


def rechained(lines):
    """The same lines with every hash of the chain computed anew."""
    done, prev = [], standalone.GENESIS
    for line in lines:
        if line["line"] == "event":
            event = {name: value for name, value in line.items() if name != "line"} | {"prev": prev}
            prev = event["hash"] = event_hash(event)
            line = {"line": "event"} | event
        done.append(line)
    return done


def renumbered(lines):
    """The same lines with every event numbered and chained anew, as many as the header says."""
    done, seq = [], 0
    for line in lines:
        if line["line"] == "event":
            seq += 1
            line = line | {"seq": seq}
        done.append(line)
    done[0] = done[0] | {"events": seq}
    return rechained(done)


@contextmanager
def often_written_down(rounds=5):
    """The learner is written down every few rounds."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("likewise.service.stream.learner_checkpoint.EVERY", rounds)
        yield
