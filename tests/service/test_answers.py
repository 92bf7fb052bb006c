"""Answers: what the engine returns has the fields that are declared, of the declared types, and no others."""

from __future__ import annotations

import json
from typing import get_type_hints

import numpy as np
import pytest
from loans import Clock, drawn, far_apart, loans
from pydantic import TypeAdapter, ValidationError

from likewise.service.engine import Engine
from likewise.service.log import Store
from likewise.service.log.signing import Signer
from likewise.service.stream import answers
from likewise.service.stream.settings import Feature


@pytest.fixture
def engine(tmp_path):
    with Store(tmp_path / "log.db") as store:
        store.migrate()
        yield Engine(store, Signer.generate(), clock=Clock())


def fits(answer, declared):
    """Whether an answer, as JSON, is what was declared: exact types, and nothing beside it; raises where it isn't."""
    text = json.dumps(answer)
    TypeAdapter(declared).validate_json(text, strict=True, extra="forbid")
    return json.loads(text) == answer


def test_an_answer_that_is_not_as_declared_is_noticed():
    lease = {"t": 1, "until": "2026-01-01T00:00:00+00:00"}
    assert fits(lease, answers.Lease)
    for wrong in ({"t": 1}, lease | {"t": "1"}, lease | {"by": "ann"}):
        with pytest.raises(ValidationError):
            fits(wrong, answers.Lease)


def open_round(engine, rng):
    return engine.decide("loans", drawn(rng, 4), "decider")


def test_every_answer_to_a_change_is_what_is_declared(engine):
    rng = np.random.default_rng(0)
    assert fits(engine.create(loans(), "root"), answers.StreamCreated)
    opened = open_round(engine, rng)
    assert fits(opened, answers.RoundOpened)
    assert fits(engine.claim("loans", "ann"), answers.RoundClaimed)
    assert fits(engine.renew("loans", 1, "ann"), answers.Lease)
    assert fits(engine.audit("loans", 1, "skip", "ann", note="lunch"), answers.VerdictTaken)
    assert fits(engine.retract("loans", 1, "ann"), answers.VerdictRetracted)
    assert fits(engine.audit("loans", 1, "none", "ann"), answers.VerdictTaken)
    labels = {person["id"]: 1 for person in opened["decisions"]}
    for disposition in ("joined", "duplicate"):
        taken = engine.label("loans", 1, labels, "decider")
        assert fits(taken, answers.LabelsTaken)
        assert taken["disposition"] == disposition
    engine.tick()
    assert fits(engine.correct("loans", 1, "skip", "ann"), answers.VerdictCorrected)
    assert fits(engine.change_waits("loans", {"grace": 3}, "root"), answers.WaitsChanged)
    assert fits(engine.stop("loans", "lunch", "root"), answers.StreamStopped)
    assert fits(engine.resume("loans", "root"), answers.StreamStopped)
    assert fits(engine.erase("loans", "0", "root"), answers.PersonErased)


def test_every_answer_to_a_reader_is_what_is_declared(engine):
    rng = np.random.default_rng(1)
    features = (Feature(name="score"), Feature(name="age"))
    engine.create(loans(features=features), "root")
    assert fits(engine.stream("loans"), answers.StreamStatus)
    for t in range(1, 6):
        opened = open_round(engine, rng)
        people = [person["id"] for person in opened["decisions"]]
        high, low = far_apart([person["probability"] for person in opened["decisions"]])
        gap = opened["decisions"][high]["probability"] - opened["decisions"][low]["probability"]
        verdict = {"verdict": "pair", "pair": (people[high], people[low])} if gap > 0.1 else {"verdict": "none"}
        engine.audit("loans", t, by="ann", reason="same job", **verdict)
        engine.label("loans", t, {name: int(rng.integers(2)) for name in people}, "decider")
        engine.tick()
    open_round(engine, rng)
    for t in range(1, 7):
        assert fits(engine.round("loans", t), answers.RoundRecord)
    assert fits(engine.person("loans", "0"), answers.PersonRecord)
    assert fits(engine.stream("loans"), answers.StreamStatus)
    for event in engine.events("loans"):
        assert fits(event, answers.LoggedEvent)
    whole = engine.certificate("loans")
    named = {name: whole[name] for name in get_type_hints(answers.StreamCertificate)}
    assert fits(named, answers.StreamCertificate), "beside these stand the fields of any certificate"


def test_what_auditors_see_of_a_stream_is_a_part_of_what_others_see():
    assert set(get_type_hints(answers.StreamSummary)) < set(get_type_hints(answers.StreamStatus))
