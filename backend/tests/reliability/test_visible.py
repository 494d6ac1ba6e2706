"""Text that is shown holds nothing hidden, and is otherwise as it was."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_core import to_json

from librarian.text.sanitizing import has_control_characters, visible, visible_within

KEPT = "\t\n\r"
WIDTHLESS = "\u061c\u200b\u200e\u200f\u2060\ufeff"


@given(st.text() | st.text(alphabet=WIDTHLESS + "a\x07\u202e"))
def test_only_hidden_characters_are_replaced_and_those_without_width_left_out(text: str) -> None:
    shown = visible(text)
    for before, after in zip([c for c in text if c not in WIDTHLESS], shown, strict=True):
        if after != before:
            assert unicodedata.category(before) in ("Cc", "Cf", "Cn")
            assert after == "\ufffd"
        assert unicodedata.category(after) != "Cc" or after in KEPT
    assert visible(shown) == shown


@given(
    st.recursive(st.text(max_size=5) | st.integers(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner))
)
def test_values_keep_their_shape(value: object) -> None:
    def without(inner: object) -> object:
        if isinstance(inner, str):
            return visible(inner)
        if isinstance(inner, dict):
            return {without(key): without(item) for key, item in inner.items()}
        return [without(item) for item in inner] if isinstance(inner, list) else inner

    assert visible_within(value) == without(value)


def test_joiners_marks_and_right_to_left_scripts_stay() -> None:
    for text in ("👩\u200d👩", "می\u200cخواهم", "שלום", "e\u0301", "a\u00adb"):
        assert visible(text) == text


def test_what_has_no_width_hides_nothing_from_a_reader() -> None:
    assert visible("\ufeff漢\u200b字 ig\u2060no\u200ere") == "漢字 ignore"
    assert visible_within({"title": ["Ctl\u200b"]}) == {"title": ["Ctl"]}


@given(
    st.recursive(st.text(max_size=5) | st.integers(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner))
)
def test_json_that_hides_nothing_says_so_only_where_that_is_true(value: object) -> None:
    assert visible_within(value) == value or has_control_characters(to_json(value).decode())


@pytest.mark.parametrize("hidden", [chr(code) for code in range(32) if chr(code) not in KEPT])
def test_no_escape_of_json_hides_a_control_character(hidden: str) -> None:
    assert has_control_characters(to_json({"text": f"a{hidden}b"}).decode())


def test_plain_json_hides_nothing() -> None:
    assert not has_control_characters(to_json({"text": 'A line.\n\t"Quoted" \\ backslash, é, 漢字 and 👩'}).decode())
