"""Ids and URIs lead back to their document; nothing that a caller passes as a path leaves the root."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from librarian.desk import addresses
from librarian.vocabulary.errors import CallerError
from librarian.vocabulary.types import Chunk

_NAMES = st.text(st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="/\\"), min_size=1, max_size=12)
_PATHS = (
    st.lists(_NAMES, min_size=1, max_size=4)
    .map("/".join)
    .filter(
        lambda path: path == path.strip() and ".." not in path.split("/") and not path.startswith(("./", "librarian:"))
    )
    .filter(lambda path: not (len(path) > 1 and path[1] == ":"))
)


@given(_PATHS, st.integers(0, 10_000), st.text("0123456789abcdef", min_size=16, max_size=16))
def test_an_id_leads_back_to_its_document_and_chunk(path: str, ordinal: int, digest: str) -> None:
    name = addresses.chunk_id(path, Chunk(ordinal, 0, 1, "x", hash=digest))
    assert addresses.parse(name) == (path, None, ordinal)


@given(_PATHS, _NAMES)
def test_a_uri_leads_back_to_its_document(path: str, heading: str) -> None:
    parsed, _, ordinal = addresses.parse(addresses.uri(path, (heading,)))
    assert (parsed, ordinal) == (path, None)


@pytest.mark.parametrize(
    "path",
    [
        "/etc/passwd",
        "../secret",
        "a/../../b",
        "C:\\x",
        "c:/x",
        "a\\..\\..\\b",
        "librarian://docs/../x",
        "librarian://docs/%2e%2e/x",
        "a\x00b",
        "",
        None,
        "librarian://other/x",
    ],
)
def test_what_leaves_the_root_is_refused(path: object) -> None:
    with pytest.raises(CallerError):
        addresses.parse(path)


def test_an_anchor_is_spelt_as_web_pages_spell_it() -> None:
    assert addresses.anchor("What's `new` in 2.0?") == "whats-new-in-20"
