"""Strict JSON: what RFC 8259 leaves to chance, and what Python adds to it, is refused in words."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from likewise.service.run import app  # noqa: F401  (the routes and the service import each other; this is the way in)

from likewise.service.api.requests import strict_json  # isort: skip

REFUSED = {
    b'{"a": 1, "a": 2}': "the name 'a' appears twice",
    b'[{"b": {"a": 1, "\\u0061": 2}}]': "the name 'a' appears twice",
    b"NaN": "NaN is not a number in JSON",
    b"[-Infinity]": "-Infinity is not a number in JSON",
    b'{"a": 1e999}': "1e999 is too large a number",
    b"-1" + b"0" * 400 + b".5": "is too large a number",
    b"1" * 401: "a number has 401 digits",
    b'"\\ud800"': "half of a surrogate pair",
    b'{"\\udc00x": 1}': "half of a surrogate pair",
    b"{} x": "Extra data",
    b"[1,]": "Expecting value",
    b"01": "Extra data",
    b'"\x01"': "Invalid control character",
    b"": "Expecting value",
}


@pytest.mark.parametrize("text", REFUSED)
def test_what_others_might_read_differently_is_refused(text):
    with pytest.raises(ValueError, match=REFUSED[text]):
        strict_json(text)


@pytest.mark.parametrize("text", [b'"\xff"', b"\xff\xfe[\x00]\x00", b'"\xed\xa0\x80"'])
def test_only_utf_8_is_read(text):
    with pytest.raises(UnicodeDecodeError):
        strict_json(text)


def test_a_whole_pair_of_surrogates_is_one_character():
    assert strict_json(b'"\\ud83d\\ude00"') == "😀"


def test_whole_numbers_are_read_exactly_up_to_their_length():
    assert strict_json(b"9007199254740993") == 2**53 + 1
    assert strict_json(b"1" * 400) == int("1" * 400)


texts = st.text(st.characters(exclude_categories=["Cs"]))
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner) | st.dictionaries(texts, inner),
)


@settings(max_examples=100, deadline=None)
@given(values, st.booleans())
def test_everything_else_is_read_as_it_was_written(value, ascii_only):
    assert strict_json(json.dumps(value, ensure_ascii=ascii_only).encode()) == value
