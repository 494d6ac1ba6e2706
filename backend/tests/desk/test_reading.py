"""Sections come with their sub-sections, lines are lines, and a cut is said and can be continued."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from librarian.desk.reading import read
from librarian.vocabulary.errors import CallerError, NotFound
from librarian.vocabulary.types import Document, Heading, StoredDocument

TEXT = "# Guide\nintro\n## Install it\nsteps\n### On Linux\napt\n## Use it\nrun"


def stored(text: str = TEXT) -> StoredDocument:
    headings, start = [], 0
    for number, line in enumerate(text.split("\n"), 1):
        if line.startswith("#"):
            headings.append(Heading(len(line) - len(line.lstrip("#")), line.lstrip("# "), number, start))
        start += len(line) + 1
    document = Document("p/c/guide.md", "p", "c", "document", ".md", "Guide", text, headings=tuple(headings))
    return StoredDocument(1, document, 1, "2026-01-01T00:00:00Z")


def ask(text: str = TEXT, **wanted: object):  # type: ignore[no-untyped-def]
    given = {"section": None, "ordinal_chunk": None, "line_start": None, "line_end": None, "max_chars": 0, **wanted}
    return read(stored(text), **given)  # type: ignore[arg-type]


@pytest.mark.parametrize("section", ["Install it", "install IT", "install-it", "#install-it", "Guide > Install it"])
def test_a_section_is_found_by_its_text_or_anchor_and_holds_its_sub_sections(section: str) -> None:
    answer = ask(section=section)
    assert answer.content == "## Install it\nsteps\n### On Linux\napt"
    assert (answer.line_start, answer.line_end, answer.section) == (3, 6, "Install it")


def test_the_last_section_reaches_the_end() -> None:
    assert ask(section="Use it").content == "## Use it\nrun"


def test_an_unknown_section_names_the_nearest() -> None:
    with pytest.raises(NotFound, match=r"No section 'Instal'.*'Install it'"):
        ask(section="Instal")


def test_lines_can_be_chosen() -> None:
    answer = ask(line_start=2, line_end=4)
    assert (answer.content, answer.line_start, answer.line_end) == ("intro\n## Install it\nsteps", 2, 4)


def test_lines_outside_the_document_are_refused() -> None:
    with pytest.raises(CallerError, match="has 8 lines"):
        ask(line_start=9)
    with pytest.raises(CallerError, match="before line_start"):
        ask(line_start=5, line_end=3)


def test_a_long_line_is_cut_and_said() -> None:
    answer = ask("x" * 100, max_chars=10)
    assert answer.content == "x" * 10
    assert answer.truncated


@given(st.lists(st.text("ab #", max_size=8), min_size=1, max_size=20), st.integers(8, 40))
def test_reading_on_from_next_line_gives_the_whole_document(lines: list[str], limit: int) -> None:
    text, pieces, line = "\n".join(lines), [], 1
    while True:
        answer = ask(text, line_start=line, max_chars=limit)
        pieces.append(answer.content)
        if answer.next_line is None:
            break
        assert answer.truncated
        line = answer.next_line
    assert "\n".join(pieces) == text
