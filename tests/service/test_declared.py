"""Declared values: what is wrong with one is said in a sentence, and its limits stand in its schema."""

from __future__ import annotations

import math
from typing import Annotated

import numpy as np
import pytest
from pydantic import ValidationError

from likewise.errors import InvalidParameter
from likewise.service.stream.declared import Declared, Finite, Text, number, sentence, whole


class Inner(Declared):
    share: Annotated[float, number(0, 1, open_at="low high")] = 0.5


class Outer(Declared):
    count: Annotated[int, whole(1, 9)] = 1
    weight: Annotated[float, number(0)] = 0.0
    parts: tuple[Inner, ...] = ()
    pair: tuple[Finite, Finite] = (0.0, 1.0)
    name: Text = "x"


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"count": 0}, "`count` must be a whole number, at least 1, got 0."),
        ({"count": 10}, "`count` must be at most 9, got 10."),
        ({"count": True}, "`count` must be a whole number, at least 1, got True."),
        ({"count": "1"}, "`count` must be a whole number, at least 1, got '1'."),
        ({"weight": -1}, "`weight` must be at least 0, got -1."),
        ({"weight": math.nan}, "`weight` must be at least 0, got nan."),
        ({"weight": math.inf}, "`weight` must be at least 0, got inf."),
        ({"parts": [{"share": 1}]}, "`share` must be in (0, 1), got 1."),
        ({"parts": 3}, "`parts` must be a valid list, got 3."),
        ({"parts": [{"part": 1}]}, "`part` must be left out, as there is no such field, got 1."),
        ({"pair": [1.0]}, "`pair` must hold more than 1, got nothing."),
        ({"pair": [1.0, "2"]}, "`pair` must be finite numbers, got '2'."),
        ({"name": ""}, "`name` must be 1 to 200 printable characters, got ''."),
        ({"name": "y" * 201}, f'`name` must be 1 to 200 printable characters, got "\'{"y" * 76}…".'),
    ],
)
def test_whatever_is_wrong_is_one_sentence(given, expected):
    with pytest.raises(InvalidParameter) as refused:
        Outer(**given)
    assert str(refused.value) == expected


def test_within_another_value_an_error_keeps_its_place():
    with pytest.raises(ValidationError) as refused:
        Outer.model_validate({"parts": [{}, {"share": 2}]})
    (wrong,) = refused.value.errors()
    assert wrong["loc"] == ("parts", 1, "share")
    assert sentence(wrong) == "`share` must be in (0, 1), got 2."


def test_numbers_become_plain_ones():
    made = Outer(count=np.int64(3), weight=np.float32(0.5), pair=(1, 2))
    assert (type(made.count), type(made.weight), made.pair) == (int, float, (1.0, 2.0))


def test_the_schema_has_the_limits_that_are_checked():
    properties = Outer.model_json_schema()["properties"]
    assert {"minimum": 1, "maximum": 9, "type": "integer"}.items() <= properties["count"].items()
    share = Inner.model_json_schema()["properties"]["share"]
    assert (share["exclusiveMinimum"], share["exclusiveMaximum"]) == (0, 1)
    assert (properties["name"]["minLength"], properties["name"]["maxLength"]) == (1, 200)
