"""Commented JSON: what is proved here.

* Plain JSON keeps its value, whatever its strings contain.
* Comments and trailing commas go, and errors keep their place.
"""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from librarian.files.config_files import parse_json

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.sampled_from(["//", "/* */", ",}", '"', "\\"]),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)


@given(value=VALUES, indent=st.sampled_from([None, 2]))
def test_plain_json_keeps_its_value(value: object, indent: int | None) -> None:
    assert parse_json(json.dumps(value, indent=indent)) == value


def test_comments_and_trailing_commas_go() -> None:
    text = '\ufeff{ // a "quoted" word\n "a": [1, 2, /* {, */ ], "b": "http://x", /* two\n lines */ }'
    assert parse_json(text) == {"a": [1, 2], "b": "http://x"}


def test_an_error_names_its_line_behind_comments() -> None:
    with pytest.raises(json.JSONDecodeError) as caught:
        parse_json('{\n/* one\n two */ "a": nothing}')
    assert (caught.value.lineno, caught.value.colno) == (3, 14)
