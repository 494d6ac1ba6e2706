"""Sections come with their sub-sections, lines are lines, and a cut is said and can be continued."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from librarian.documents import addresses
from librarian.documents.reader import passage, read, section_at
from librarian.errors import CallerError, NotFound
from librarian.models import Chunk, Document, Heading, StoredChunk, StoredDocument

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
    given = {
        "section": None,
        "anchor": None,
        "chunk": None,
        "line_start": None,
        "line_end": None,
        "max_chars": 0,
        **wanted,
    }
    return read(stored(text), **given)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "section", ["Install it", "install IT", "install-it", "#install-it", "Guide > Install it", "Guide › Install it"]
)
def test_a_section_is_found_by_its_text_or_anchor_and_holds_its_sub_sections(section: str) -> None:
    answer = ask(section=section)
    assert answer.content == "## Install it\nsteps\n### On Linux\napt"
    assert (answer.line_start, answer.line_end, answer.section) == (3, 6, "Install it")


@pytest.mark.parametrize(
    ("text", "section"),
    [
        ("# T\n## Other\n## Container restart {#restart-policy}\nx", "restart-policy"),
        ("# T\n## Other\n## Container restart {#restart-policy}\nx", "Restart policy"),
        ("# T\n## Other\n## Container restart {: #restart .wide}\nx", "#restart"),
        ("# T\n## Other\ny\n\n.. _restart:\n\n## Container restart\nx", "restart"),
        ("# T\n## Other\ny\n[[restart, Restarting]]\n## Container restart\nx", "restart"),
        ("# T\n## Other\ny\n[#restart]\n## Container restart\nx", "restart"),
        ('# T\n## Other\ny <b>z</b>\n<a name="restart"></a>\n\n## Container restart\nx', "restart"),
        ('# T\n## Other\n## Container restart\n| <a id="opt-x" href="#opt-x">x</a> | y |\n\n## Next', "opt-x"),
    ],
)
def test_a_section_is_found_by_its_authors_id(text: str, section: str) -> None:
    assert "Container restart" in (ask(text, section=section).section or "")
    assert "Container restart" in (ask(text, anchor=section.strip("#")).section or "")


@pytest.mark.parametrize("section", ["5.10.3", "container restart"])
def test_a_section_is_found_by_its_number_or_without(section: str) -> None:
    assert ask("# T\n## 5.1 Other\n## 5.10.3 Container restart\nx", section=section).line_start == 3


@pytest.mark.parametrize(
    ("section", "line"),
    [("Menu > File > Export", 3), ("file > export › as pdf", 4), ("Menu › As PDF", 4), ("Menu > Edit > as-pdf", 6)],
)
def test_a_heading_that_holds_the_sign_of_a_path_is_found_below_its_parents(section: str, line: int) -> None:
    text = "# Menu\nx\n## File > Export\n### As PDF\n## Edit\n### As PDF"
    assert ask(text, section=section).line_start == line


def test_a_path_whose_parents_stand_otherwise_names_no_section() -> None:
    for section in ("Use it > On Linux", "On Linux > Install it", "> On Linux", "Guide > Nothing > On Linux"):
        with pytest.raises(NotFound, match="No section"):
            ask(section=section)


def test_a_number_that_several_sections_have_names_none() -> None:
    with pytest.raises(NotFound, match=r"No section '1'"):
        ask("# A\n## 1. One\n# B\n## 1. Two", section="1")


def test_a_part_of_many_headings_comes_with_those_that_concern_it() -> None:
    units = "".join(f"## Unit {{0}}.{one}\n### Note\ntext\n" for one in range(30))
    text = "".join(f"# Part {part}\n{units.format(part)}" for part in range(5))
    whole = ask(text, max_chars=50)
    assert len(whole.headings) == whole.heading_count == 305
    part = ask(text, section="Unit 1.7")
    assert [heading.text for heading in part.headings[:4]] == ["Part 1", "Unit 1.7", "Note", "Unit 1.8"]
    assert (len(part.headings), part.headings[-1].text, part.heading_count) == (43, "Unit 2.16", 305)
    assert [heading.text for heading in ask(text, line_start=4, line_end=4).headings[:2]] == ["Part 0", "Unit 0.0"]
    assert len(ask(line_start=3).headings) == 4, "a few are told with each part"


def test_the_last_section_reaches_the_end() -> None:
    assert ask(section="Use it").content == "## Use it\nrun"


def test_an_unknown_section_names_the_nearest() -> None:
    with pytest.raises(NotFound, match=r"No section 'Instal'.*'Install it'"):
        ask(section="Instal")


def test_headings_named_beside_an_unknown_section_say_how_many_there_are() -> None:
    with pytest.raises(NotFound, match=r"Nearest of 4 headings: 'Install it'"):
        ask(section="Instal")
    with pytest.raises(NotFound, match=r"All headings: 'Guide', 'Install it', 'On Linux', 'Use it'\.$"):
        ask(section="Zzz")
    with pytest.raises(NotFound, match=r"The first of 20 headings: 'Page 1', .*'Page 8'\.$"):
        ask("\n".join(f"# Page {number}" for number in range(1, 21)), section="Zzz")


def test_lines_can_be_chosen() -> None:
    answer = ask(line_start=2, line_end=4)
    assert (answer.content, answer.line_start, answer.line_end) == ("intro\n## Install it\nsteps", 2, 4)


def test_lines_outside_the_document_are_refused() -> None:
    with pytest.raises(CallerError, match="has 8 lines"):
        ask(line_start=9)
    with pytest.raises(CallerError, match="before line_start"):
        ask(line_start=5, line_end=3)


@pytest.mark.parametrize(("given", "named"), [({"line_start": 7}, "line_start 7"), ({"line_end": 2}, "line_end 2")])
def test_lines_outside_the_section_are_refused(given: dict[str, int], named: str) -> None:
    with pytest.raises(CallerError, match=f"{named} lies outside section 'Install it', which has lines 3 to 6"):
        ask(section="Install it", **given)
    assert ask(section="Install it", line_start=5, line_end=9).content == "### On Linux\napt"


def test_a_long_line_is_cut_and_said() -> None:
    answer = ask("x" * 100, max_chars=10)
    assert answer.content == "x" * 10
    assert answer.truncated
    assert (answer.line_end, answer.next_column, answer.next_line) == (1, 11, None)


@given(st.lists(st.text("ab #", max_size=30), min_size=1, max_size=20), st.integers(1, 40))
def test_reading_on_gives_the_whole_document_whatever_its_lines(lines: list[str], limit: int) -> None:
    text, read, line, column = "\n".join(lines), "", 1, 1
    while True:
        answer = ask(text, line_start=line, column=column, max_chars=limit)
        assert len(answer.content) <= limit
        assert answer.truncated == (answer.next_line is not None or answer.next_column is not None)
        read += answer.content
        if answer.next_column is not None:
            line, column = answer.line_end, answer.next_column
        elif answer.next_line is not None:
            read += "\n"
            line, column = answer.next_line, 1
        else:
            break
    assert read == text


def test_a_column_beyond_its_line_is_refused() -> None:
    with pytest.raises(CallerError, match=r"line 3 .* has 13 characters"):
        ask(line_start=3, column=14)


def test_a_passage_far_back_in_a_long_line_begins_the_answer_to_its_id() -> None:
    text = "Title\n" + "word " * 400 + "the end"
    start = text.index("the end")
    found = StoredChunk(1, 1, Chunk(1, start, start + 7, "the end", line_start=2, line_end=2))
    assert ask(text, chunk=found, max_chars=100).content == "the end"
    cut = ask(text, chunk=replace(found, chunk=replace(found.chunk, start=start - 500)), max_chars=100)
    assert (cut.content, cut.next_column) == ("word " * 20, 400 * 5 - 500 + 101)
    assert ask(text, chunk=found).content == text.partition("\n")[2], "a line that fits is shown whole"
    assert ask(text, chunk=found, line_start=2, max_chars=10).content == "word word "


REPEATED = "# Guide\n## Meals\n### Feeding\nfish\n## Care\n### Feeding\nfruit\n## Feeding 1\nnone"


def test_repeated_headings_are_told_apart_by_numbered_anchors_and_by_parents() -> None:
    assert ask(REPEATED, section="feeding").content == "### Feeding\nfish"
    assert ask(REPEATED, anchor="feeding").content == "### Feeding\nfish"
    assert ask(REPEATED, anchor="feeding-1").content == "### Feeding\nfruit"
    assert ask(REPEATED, anchor="feeding-1-1").content == "## Feeding 1\nnone"
    for section in ("Care > Feeding", "guide > care > FEEDING", "Guide > Feeding 1 ", "feeding-1"):
        expected = "## Feeding 1\nnone" if "1" in section else "### Feeding\nfruit"
        assert ask(REPEATED, section=section).content == expected
    with pytest.raises(NotFound, match="No section 'Nonsense > Feeding'"):
        ask(REPEATED, section="Nonsense > Feeding")


def test_every_heading_is_found_by_its_own_anchor() -> None:
    headings = stored(REPEATED).document.headings
    assert [section_at(headings, place) for place in addresses.anchors(headings)] == list(range(len(headings)))


def test_an_id_leads_to_its_passage_wherever_that_stands_now() -> None:
    def chunk(ordinal: int, digest: str) -> StoredChunk:
        return StoredChunk(ordinal, 1, Chunk(ordinal, 0, 1, "x", hash=digest))

    now = [chunk(0, "aa11"), chunk(1, "bb22"), chunk(2, "aa11")]
    assert passage(now, addresses.parse("p/a.md#chunk-0@bb22")) is now[1]
    assert passage(now, addresses.parse("p/a.md#chunk-3@aa11")) is now[2]
    with pytest.raises(NotFound, match="isn't there any more"):
        passage(now, addresses.parse("p/a.md#chunk-1@cc33"))
