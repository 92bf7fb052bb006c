"""Numbers in sentences."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from likewise.wording import at_least, at_most, number, plural

fixed = settings(derandomize=True, deadline=None)
LIMITS = st.floats(-1e6, 1e6)
DIGITS = st.integers(0, 4)


def read(text):
    return float(text.replace(",", ""))


@fixed
@given(LIMITS, DIGITS)
def test_a_limit_is_rounded_away_from_what_it_claims_by_less_than_a_digit(value, digits):
    step, slack = 10.0**-digits, 1e-9 * max(1.0, abs(value))
    assert value - slack <= read(at_most(value, digits)) < value + step + slack
    assert value - step - slack < read(at_least(value, digits)) <= value + slack


def test_a_number_that_needs_no_rounding_stays():
    assert at_most(0.3, 1) == at_least(0.3, 1) == "0.3"
    assert at_most(3 * 0.1, 1) == "0.3"  # 0.30000000000000004 in binary
    assert at_most(1234) == at_least(1234) == "1,234"


@pytest.mark.parametrize(
    ("count", "words"),
    [(0, "0 people"), (1, "1 person"), (1.0, "1 person"), (1234, "1,234 people"), (2.5, "2.5 people")],
)
def test_a_count_has_the_right_noun(count, words):
    assert plural(count, "person", "people") == words


def test_a_regular_noun_needs_no_second_form():
    assert [plural(n, "round") for n in (1, 2)] == ["1 round", "2 rounds"]


def test_whole_numbers_of_any_size_are_written_out():
    assert number(2**2000).replace(",", "") == str(2**2000)
    assert number(10**15) == "1,000,000,000,000,000"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.000123456, "0.0001235"),
        (12345.678, "12,346"),
        (-3.0, "-3"),
        (math.pi, "3.142"),
        ("text", "text"),
        (None, "–"),
    ],
)
def test_a_number_is_written_as_people_write_it(value, text):
    assert number(value) == text
