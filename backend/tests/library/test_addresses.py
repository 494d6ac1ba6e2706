"""Ids and URIs lead back to their document; nothing that a caller passes as a path leaves the root."""

from __future__ import annotations

import re
import unicodedata
from pathlib import PureWindowsPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from librarian.documents import addresses
from librarian.errors import CallerError
from librarian.models import Chunk, Document, Heading, passage_id

_NAMES = st.text(st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="/"), min_size=1, max_size=12)
_PATHS = (
    st.lists(_NAMES, min_size=1, max_size=4)
    .map("/".join)
    .map(lambda path: unicodedata.normalize("NFC", path))  # as every file path is
    .filter(lambda path: path == path.strip() and ".." not in re.split(r"[/\\\\]", path))
    .filter(lambda path: not path.startswith(("./", ".\\", "\\", "librarian:")))
    .filter(lambda path: not (len(path) > 1 and path[1] == ":"))
)


@given(_PATHS, st.integers(0, 10_000), st.text("0123456789abcdef", min_size=16, max_size=16))
def test_an_id_leads_back_to_its_document_and_chunk(path: str, ordinal: int, digest: str) -> None:
    name = passage_id(path, Chunk(ordinal, 0, 1, "x", hash=digest))
    assert addresses.parse(name) == (path, None, ordinal, digest[:8])


@given(_PATHS, _NAMES)
def test_a_uri_leads_back_to_its_document(path: str, heading: str) -> None:
    document = Document(path, "p", "c", "document", ".md", "T", "x")
    place = addresses.parse(addresses.passage_uri(document, (heading,), 1))
    assert (place.file_path, place.ordinal) == (path, None)


@given(st.lists(st.sampled_from(["Usage", "usage", "Usage 1", "Other"]), min_size=1, max_size=8), st.data())
def test_a_passages_uri_names_the_very_section_that_it_stands_in(names: list[str], data: st.DataObject) -> None:
    headings = tuple(Heading(2, name, 3 * place + 1, 30 * place) for place, name in enumerate(names))
    document = Document("p/a.md", "p", "c", "document", ".md", "T", "x", headings=headings, content_hash=str(names))
    place = data.draw(st.integers(0, len(names) - 1))
    line = 3 * place + data.draw(st.integers(1, 3))
    passage = Chunk(place, 0, 1, "x", heading_path=(names[place],), line_start=line, line_end=line)
    anchor = addresses.parse(addresses.passage_uri(document, passage.heading_path, passage.line_start)).anchor
    assert addresses.anchors(headings).index(anchor or "") == place


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
        "a/" * 2049,
        "",
        None,
        "librarian://other/x",
    ],
)
def test_what_leaves_the_root_is_refused(path: object) -> None:
    with pytest.raises(CallerError):
        addresses.parse(path)


def test_a_path_may_be_pythons_own() -> None:
    assert addresses.parse(PureWindowsPath("shop", "api", "tokens.md")) == ("shop/api/tokens.md", None, None, "")


def test_an_anchor_is_spelt_as_web_pages_spell_it() -> None:
    assert addresses.anchor("What's `new` in 2.0?") == "whats-new-in-20"


@pytest.mark.parametrize(
    ("asked", "path"),
    [
        ("p/guide/setup", "p/guide/setup.md"),
        ("p/guide/Setup.html", "p/guide/setup.md"),
        ("p/guide/setup/", "p/guide/setup.md"),
        ("P/Guide/SETUP.md", "p/guide/setup.md"),
        ("p/guide", "p/guide/_index.md"),
        ("p/guide/index.html", "p/guide/_index.md"),
        ("p/notes/1.20", "p/notes/1.20.md"),
    ],
)
def test_a_links_spelling_leads_to_its_page(asked: str, path: str) -> None:
    assert addresses.resolved_path(asked, KNOWN) == path


@pytest.mark.parametrize(
    ("asked", "path", "anchor"),
    [
        ("/guide/setup/", "p/guide/setup.md", None),
        ("/docs/guide/setup/#use", "p/guide/setup.md", "use"),
        ("https://example.org/en/latest/guide/setup.html?x=1#use%20it", "p/guide/setup.md", "use it"),
        ("/docs/notes/1.20", "p/notes/1.20.md", None),
    ],
)
def test_a_link_from_a_sites_root_leads_to_the_one_page_that_ends_so(asked: str, path: str, anchor: str | None) -> None:
    assert addresses.linked(asked, KNOWN) == (path, anchor, None, "")


@pytest.mark.parametrize(
    "asked", ["/setup", "/a/b/c/guide/setup", "guide/setup", "/docs/both/", "/etc/passwd", "//", 7]
)
def test_a_link_from_a_sites_root_that_no_page_or_several_have_is_not_guessed_at(asked: object) -> None:
    assert addresses.linked(asked, [*KNOWN, "q/docs/both.md", "p/docs/both.md"]) is None


@pytest.mark.parametrize("asked", ["p/notes/1.21", "p/guide/setup.pdf", "setup", "guide/setup.md", "p/both", "p", ""])
def test_a_path_that_no_page_or_several_have_is_not_guessed_at(asked: str) -> None:
    assert addresses.resolved_path(asked, KNOWN) is None


KNOWN = ("p/guide/setup.md", "p/guide/_index.md", "p/notes/1.20.md", "p/both.md", "p/both.rst", "q/setup.md")
