"""Random tamperings: whatever alters log, people, lots or claims is found by anybody who kept a checkpoint."""

from __future__ import annotations

import numpy as np
import pytest
from forging import lived
from loans import drawn
from tampering import CHANGES, EDITS, PART_CHANGES, Insider, bend, bend_parts, found, found_in_parts, tally, tried

from likewise.service.accounts.staff import Staff
from likewise.service.canonical import loads
from likewise.service.log import Idempotency
from likewise.service.proof.standalone import read_lines


@pytest.fixture(scope="module")
def stream(tmp_path_factory):
    """A running engine, the lines of its export, and the receipts and checkpoints that somebody kept."""
    folder = tmp_path_factory.mktemp("tampering")
    engine = lived(folder, lot="round", erase=True)
    archived = list(engine.export("loans"))
    engine.resume("loans", Staff(engine.store).alias("ann"))
    rng = np.random.default_rng(3)
    asked = [p | {"features": p["features"] | {"sex": 0.0}} for p in drawn(rng, k=3, prefix="last.")]
    again = asked, "decider", Idempotency("decider", "asked again", "a hash of the request")
    receipt = engine.decide("loans", *again)["receipt"]
    engine.sign_heads(always=True)
    lines = list(engine.export("loans"))
    kept = [*read_lines(str(folder / "checkpoints.jsonl"), spelling=False), receipt]
    parts = [archived, [loads(line) for line in engine.export_text("loans", after=archived[0]["events"])]]
    yield engine, folder, lines, kept, parts, again
    engine.store.close()


def tampered(stream, exports, archives, databases, first=0):
    """The misses, and what was hidden for a moment as the documentation says."""
    engine, folder, lines, kept, parts, again = stream
    assert not found(lines, kept), "nothing is wrong with what nobody touched"
    assert not found_in_parts(parts, kept)
    assert not found_in_parts(parts[1:], kept)
    misses = [miss for seed in range(first, first + exports) if (miss := bend(lines, kept, seed)) is not None]
    misses += [miss for seed in range(first, first + archives) if (miss := bend_parts(parts, kept, seed)) is not None]
    insider = Insider(engine, folder / "log.db", kept, again)
    assert "refused" not in insider.honest
    for seed in range(first, first + databases):
        misses += insider.bend(seed)
    assert not found(list(engine.export("loans")), kept), "all was put back"
    return misses, insider.hidden


def test_fifty_tamperings_are_found(stream, record_property):
    """Of each kind one at least."""
    misses, hidden = tampered(stream, exports=len(CHANGES), archives=2 * len(PART_CHANGES), databases=len(EDITS))
    record_property("told", f"Hidden for a moment: {len(hidden)}\n{tally(hidden)}")
    assert len(CHANGES) + 2 * len(PART_CHANGES) + len(EDITS) >= 50
    assert misses == [], "\n" + tally(misses)


@pytest.mark.slow
def test_two_thousand_tamperings_are_found(stream, record_property):
    counts = {"exports": 1200, "archives": 300, "databases": 500}
    misses, hidden = tampered(stream, **counts, first=100)
    kinds = len(CHANGES) + len(PART_CHANGES) + len(EDITS)
    every = tried(*(range(100, 100 + count) for count in counts.values()), misses)
    record_property("told", f"2,000 tamperings of {kinds} kinds; misses: {len(misses)}\n{every}\n{tally(misses)}\n"
                    f"Hidden for a moment: {len(hidden)}\n{tally(hidden)}")  # fmt: skip
    assert misses == []


def test_the_generator_notices_a_checker_that_finds_nothing(stream, monkeypatch):
    """A generator whose changes change nothing, or whose check can't fail, would find no misses either."""
    _, _, lines, kept, parts, _ = stream
    monkeypatch.setattr("tampering.found", lambda *_: False)
    monkeypatch.setattr("tampering.found_in_parts", lambda *_: False)
    misses = [bend(lines, kept, seed) for seed in range(2 * len(CHANGES))]
    misses += [bend_parts(parts, kept, seed) for seed in range(2 * len(PART_CHANGES))]
    kinds = {change.__name__ for change in [*CHANGES, *PART_CHANGES]}
    assert {miss.kind for miss in misses if miss is not None} == kinds
