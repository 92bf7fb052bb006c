"""Bodies of requests: a new stream within the service's limits, and waits that change alone."""

from __future__ import annotations

import json

import pytest
from pydantic import ValidationError
from serving import STREAM

from likewise.errors import InvalidParameter
from likewise.service.api.bodies import StreamBody, StreamChange
from likewise.service.configuration import Configuration
from likewise.service.stream.settings import Choices, Settings, Waits

LIMITS = Configuration(max_features=3, max_sample=5, max_batch=8, max_size=40)
SAMPLE = [{"score": float(i), "age": 30.0 + i} for i in range(5)]


def test_the_body_of_a_stream_is_its_settings_and_a_sample():
    assert set(StreamBody.model_fields) == set(Settings.model_fields) - {"scores"} | {"sample", "label", "compare_by"}
    shared = [(Settings.model_fields[name], StreamBody.model_fields[name]) for name in Choices.model_fields]
    assert all((a.title, a.description, a.default) == (b.title, b.description, b.default) for a, b in shared)


def test_a_body_whose_cuts_are_given_becomes_the_same_settings():
    assert StreamBody(**STREAM).settings(LIMITS) == Settings.from_dict(STREAM)


def test_cuts_come_from_the_sample_which_is_not_kept():
    plain = {name: value for name, value in STREAM.items() if name != "cuts"}
    settings = StreamBody(**plain, sample=SAMPLE).settings(LIMITS)
    assert set(settings.cuts) == {"score"}, "age is sensitive"
    assert "sample" not in json.dumps(settings.to_dict())
    assert len(StreamBody(**plain, cuts={"score": 2}, sample=SAMPLE).settings(LIMITS).cuts["score"]) == 2


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"features": [{"name": f"f{i}"} for i in range(4)]}, "`features` must be at most 3, got 4"),
        ({"sample": SAMPLE + SAMPLE}, "`sample` must be at most 5, got 10"),
        ({"k": 9}, "`k` must be at most 8, got 9"),
        ({"cuts": {"score": 41}, "sample": SAMPLE}, "`cuts` must be at most 40, got 41"),
        ({"cuts": {"score": list(range(41))}}, "`cuts` must give at most 40 cuts or cells, got 41"),
        ({"hypotheses": "cells", "cuts": {"score": list(range(9)), "age": [1, 2, 3, 4]}}, "cells, got 50"),
    ],
)
def test_what_is_larger_than_the_service_allows_is_refused(change, sentence):
    with pytest.raises(InvalidParameter, match=sentence):
        StreamBody(**STREAM | change).settings(LIMITS)


def test_a_change_holds_only_the_waits_that_were_named():
    change = StreamChange.model_validate({"waits": {"audit": None, "grace": 5}})
    assert change.waits.model_dump(exclude_unset=True) == {"audit": None, "grace": 5.0}
    assert StreamChange.model_validate({"waits": {}}).waits == Waits()


@pytest.mark.parametrize("waits", [{"grace": None}, {"patience": 1}, {"audit_end": "forget"}, {"label": -1}, 3])
def test_a_change_that_makes_no_sense_is_refused(waits):
    with pytest.raises(ValidationError):
        StreamChange.model_validate({"waits": waits})
