"""Every refusal is one sentence that names the argument, the rule and the value; every error is of one family."""

from __future__ import annotations

import math

import numpy as np
import pytest

from likewise import errors
from likewise.errors import InvalidParameter, LikewiseError, require, require_number, require_whole


def test_every_error_is_of_one_family_and_of_pythons_own():
    own = {one for one in vars(errors).values() if isinstance(one, type) and issubclass(one, Exception)}
    assert len(own) > 5
    for error in own - {LikewiseError}:
        assert issubclass(error, LikewiseError)
        assert issubclass(error, (ValueError, TypeError, OSError, AssertionError)), error


def test_what_holds_is_not_refused():
    require(True, "alpha", "be in [0, 1]", 7)
    for value in (0, 1, 0.5, np.float64(0.3), np.int64(1)):
        require_number(value, "alpha", 0, 1)
    require_whole(np.int64(3), "k", 3)


@pytest.mark.parametrize("value", [-0.1, 1.1, math.nan, math.inf, True, "0.5", None, 10**400])
def test_what_is_no_number_of_the_range_is_refused_by_name_rule_and_value(value):
    with pytest.raises(InvalidParameter) as refused:
        require_number(value, "alpha", 0, 1)
    assert str(refused.value) == f"`alpha` must be in [0, 1], got {value!r}."


@pytest.mark.parametrize(
    ("range_", "edge", "rule"),
    [
        ({"low": 0, "high": 1, "open_at": "low"}, 0, "be in (0, 1]"),
        ({"low": 0, "high": 1, "open_at": "high"}, 1, "be in [0, 1)"),
        ({"low": 0, "high": 1, "open_at": "low, high"}, 1, "be in (0, 1)"),
        ({"low": 0, "open_at": "low"}, 0, "be positive"),
        ({"low": 2}, 1, "be at least 2"),
    ],
)
def test_the_sentence_says_which_edges_are_left_out(range_, edge, rule):
    with pytest.raises(InvalidParameter) as refused:
        require_number(edge, "C", **range_)
    assert str(refused.value) == f"`C` must {rule}, got {edge}."


@pytest.mark.parametrize("value", [0, 2.0, True, "3", math.nan])
def test_a_whole_number_is_an_integer_and_large_enough(value):
    with pytest.raises(InvalidParameter, match="`k` must be a whole number, at least 1"):
        require_whole(value, "k")
