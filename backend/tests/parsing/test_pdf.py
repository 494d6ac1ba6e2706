"""PDF files: the text in reading order, with its structure; pages count; scans, locks and damage are said.

The pages are written by `makers.pdf`, word by word at known places.
"""

from __future__ import annotations

import random
import textwrap
import time
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from librarian.errors import SourceError
from librarian.parsing.chunking import StructureChunker
from librarian.parsing.pdf_layout import Word, in_reading_order

from .conftest import Parse
from .makers import Run, pdf

NAME = "acme/auth/manual.pdf"
PROSE = (
    "The indexer reads each file in a process of its own so that a broken one can be given up without harm to the "
    "others and the answer to a question never waits for it even where the folder holds many thousands of pages "
)


def column(x: float, y: float, words: str, width: int = 42, size: float = 10, font: int = 1) -> list[Run]:
    return [(x, y - 12 * place, size, font, line) for place, line in enumerate(textwrap.wrap(words, width))]


def test_two_columns_are_read_one_after_the_other(parse: Parse) -> None:
    page = [
        (72.0, 740.0, 20.0, 2, "A title across both columns"),
        *column(72, 700, f"LEFT BEGINS {PROSE * 2} LEFT ENDS."),
        *column(320, 700, f"RIGHT BEGINS {PROSE * 2} RIGHT ENDS."),
        (72.0, 300.0, 16.0, 2, "A second title across"),
        *column(72, 270, f"THIRD BEGINS {PROSE} THIRD ENDS."),
        *column(320, 270, f"FOURTH BEGINS {PROSE} FOURTH ENDS."),
    ]
    # The order in the file says nothing: lines of both columns are written in turn.
    shuffled = [run for place in range(7) for run in page[place::7]]
    doc = parse(pdf([shuffled]), NAME)
    marks = [
        "A title across both columns", "LEFT BEGINS", "LEFT ENDS", "RIGHT BEGINS", "RIGHT ENDS",
        "A second title across", "THIRD BEGINS", "THIRD ENDS", "FOURTH BEGINS", "FOURTH ENDS",
    ]  # fmt: skip
    places = [doc.text.index(mark) for mark in marks]
    assert places == sorted(places)
    assert [(head.level, head.text) for head in doc.headings] == [
        (1, "A title across both columns"), (2, "A second title across"),
    ]  # fmt: skip
    assert " ".join(PROSE.split()) in " ".join(doc.text.split())


def test_three_columns_are_read_one_after_the_other(parse: Parse) -> None:
    page = [run for n in range(3) for run in column(50 + 180 * n, 700, f"BEGIN{n} {PROSE} END{n}.", 30)]
    doc = parse(pdf([page]), NAME)
    places = [doc.text.index(f"{mark}{n}") for n in range(3) for mark in ("BEGIN", "END")]
    assert places == sorted(places)


def test_a_word_parted_at_a_line_end_is_whole_and_compounds_keep_their_hyphen(parse: Parse) -> None:
    lines = [
        "The configu-",
        "ration of the read-only store is a read-",
        "only matter, and so is a Post-",
        "Office box.",
    ]
    doc = parse(pdf([[(72, 700 - 12 * n, 10, 1, line) for n, line in enumerate(lines)]]), NAME)
    assert doc.text == ("The configuration of the read-only store is a read-only matter, and so is a Post-Office box.")


def test_paragraphs_go_on_over_pages_and_pages_are_counted(parse: Parse) -> None:
    first = column(72, 700, f"{PROSE} and this sentence goes on", 90)
    second = [*column(72, 700, "over the page until here.", 90), (72.0, 600.0, 18.0, 1, "The next chapter")]
    doc = parse(pdf([first, second, column(72, 700, "Third page.")]), NAME)
    assert "goes on over the page until here." in doc.text
    assert [doc.text[start:][:18] for start in doc.page_starts] == [
        "The indexer reads ",
        "# The next chapter",
        "Third page.",
    ]
    assert [head.page for head in doc.headings] == [2]
    assert StructureChunker().chunk(doc)[-1].page in (2, 3)


def test_running_heads_and_page_numbers_are_left_out(parse: Parse) -> None:
    pages = [
        [
            (72.0, 770.0, 8.0, 1, "The manual of everything"),
            *column(72, 700, f"Page{n} {PROSE}"),
            (300.0, 30.0, 8.0, 1, str(n)),
        ]
        for n in range(1, 6)
    ]
    doc = parse(pdf(pages), NAME)
    assert "manual of everything" not in doc.text
    assert "are left out" in doc.notes[0]
    assert all(f"Page{n}" in doc.text for n in range(1, 6))


def test_tables_lists_and_code_are_told_from_prose(parse: Parse) -> None:
    page: list[Run] = [
        (72, 740, 14, 2, "Settings"),
        *column(72, 715, PROSE, 80),
        *[
            (x, 640 - 14 * n, 10, 1, cell)
            for n, row in enumerate(
                [("Key", "Default", "Meaning"), ("port", "3001", "listens here"), ("host", "::1", "name")]
            )
            for x, cell in zip((72, 200, 320), row, strict=True)
        ],
        (72, 560, 10, 1, "Then:"),
        (80, 546, 10, 1, "• first thing"),
        (80, 534, 10, 1, "• second thing"),
        (72, 500, 10, 3, "def main():"),
        (96, 488, 10, 3, "return 0"),
        (72, 450, 10, 2, "1.2 Numbered heading"),
        (72, 430, 10, 1, "Its words stand below it."),
    ]
    doc = parse(pdf([page]), NAME)
    assert (
        "| Key | Default | Meaning |\n| --- | --- | --- |\n| port | 3001 | listens here |\n| host | ::1 | name |"
        in doc.text
    )
    assert "- first thing\n- second thing" in doc.text
    assert "```\ndef main():\n    return 0\n```" in doc.text
    assert [head.text for head in doc.headings] == ["Settings", "1.2 Numbered heading"]


def test_an_outline_says_what_the_headings_are(parse: Parse) -> None:
    page = [(72.0, 700.0, 10.0, 1, "Install"), *column(72, 680, PROSE, 80), (72.0, 300.0, 30.0, 1, "42")]
    doc = parse(
        pdf([page, [(72, 700, 10, 1, "2. Use"), *column(72, 680, PROSE, 80)]], [("Install", 0), ("Use", 1)]), NAME
    )
    assert [(head.level, head.text, head.page) for head in doc.headings] == [(1, "Install", 1), (1, "2. Use", 2)]
    titled = [(72.0, 740.0, 30.0, 1, "The manual"), *page[:-1]]
    doc = parse(pdf([titled], [("Install", 0)]), NAME)
    assert [(head.level, head.text) for head in doc.headings] == [(1, "The manual"), (2, "Install")]


ARTICLE = "How letters find their readers"


@pytest.mark.parametrize(
    ("file_title", "first_page", "title"),
    [
        ("The manual of letters", [(72.0, 700.0, 12.0, 1, "A firm")], "The manual of letters"),
        ("", [(72.0, 700.0, 12.0, 1, "The manual"), (72.0, 500.0, 10.0, 1, PROSE[:60])], "The manual"),
        ("Manual, second edition", [(72.0, 700.0, 20.0, 1, "Manual,")], "Manual, second edition"),
        ("PowerPoint Presentation", [(72.0, 700.0, 20.0, 1, "Letters")], "Letters"),
        ("", [(72.0, 700.0 - 20 * n, 18.0, 2, f"Line {n}") for n in range(4)], "Line 0 Line 1 Line 2 Line 3"),
    ],
)
def test_the_title_stands_on_the_first_page_or_in_the_properties(
    parse: Parse, file_title: str, first_page: list[Run], title: str
) -> None:
    chapter = [(72.0, 740.0, 20.0, 2, "1 Ports"), *column(72, 700, PROSE)]
    pages = [first_page, chapter, chapter]
    assert parse(pdf(pages, [("1 Ports", 1)], name=file_title), NAME).title == title


def test_the_title_of_an_article_that_its_pages_repeat_is_kept(parse: Parse) -> None:
    first = [(72.0, 760.0, 14.0, 2, ARTICLE), *column(72, 700, PROSE)]
    others = [[(72.0, 770.0, 8.0, 1, ARTICLE), *column(72, 700, f"Page {n}. {PROSE}")] for n in range(4)]
    doc = parse(pdf([first, *others]), NAME)
    assert (doc.title, doc.text.count(ARTICLE)) == (ARTICLE, 1)


def test_lines_from_right_to_left_are_read_in_their_order(parse: Parse) -> None:
    letters = b"<41> <05D0> <42> <05D1> <43> <05D2> <44> <05D3>"
    page = [
        (300.0, 720.0, 10.0, 2, "DDD CCC BBB AAA"),
        (300.0, 680.0, 10.0, 2, "BBB"), (330.0, 680.0, 10.0, 1, "ASVS 4.0"), (380.0, 680.0, 10.0, 2, "AAA"),
        (200.0, 600.0, 10.0, 2, "BBB"), (400.0, 600.0, 10.0, 2, "AAA"),
        (200.0, 585.0, 10.0, 2, "DDD"), (400.0, 585.0, 10.0, 2, "CCC"),
    ]  # fmt: skip
    doc = parse(pdf([page], characters=letters), NAME)
    assert "אאא בבב גגג דדד" in doc.text
    assert "אאא ASVS 4.0 בבב" in doc.text
    assert "| אאא | בבב |" in doc.text
    latin = [*column(72, 700, PROSE), (72.0, 500.0, 10.0, 1, "Say it:"), (110.0, 500.0, 10.0, 2, "BBB AAA")]
    assert parse(pdf([latin], characters=letters), NAME).text.endswith("Say it: אאא בבב")


def test_a_scan_says_that_it_has_no_text_layer(parse: Parse) -> None:
    with pytest.raises(SourceError) as caught:
        parse(pdf([[], []]), NAME)
    assert caught.value.reason == "no_text"
    assert "no text layer" in str(caught.value)


def test_values_of_fields_boxes_of_text_and_comments_are_read(parse: Parse) -> None:
    found = (
        b"/Widget/FT/Tx/T(f1)/TU(First name)/V(Alice)", b"/Widget/FT/Tx/T(f2)", b"/Widget/FT/Btn/T(agree)/V(Off)",
        b"/FreeText/T(Eve)/Contents(Typed in)", b"/Text/T(Eve)/Contents(Which\\none?)", b"/Text/F 2/Contents(hidden)",
        b"/Link/Contents(a link)", b"/Highlight",
    )  # fmt: skip
    marks = b"".join(b"<</Type/Annot/Rect[0 0 9 9]/Subtype%s>>" % entries for entries in found)
    noted = "First name: Alice\n\nTyped in\n\nComment by Eve: Which one?"
    assert parse(pdf([[(72, 700, 10, 1, "A form.")]], annotations=marks), NAME).text == f"A form.\n\n{noted}"
    assert parse(pdf([[]], annotations=marks), NAME).text == noted


def test_characters_of_two_halves_are_whole(parse: Parse) -> None:
    data = pdf([[(72, 700, 10, 3, "xA"), (72, 680, 10, 3, "A")]], characters=b"<41> <D835DC65>")
    assert parse(data, NAME).text == "```\nx\U0001d465\n\U0001d465\n```"


def test_pages_whose_fonts_do_not_say_which_characters_they_hold_are_noted(parse: Parse) -> None:
    pages = [[(72, 700, 10, 3, "A A A")], [(72, 700, 10, 3, "A and more words")]]
    notes = parse(pdf(pages, characters=b"<41> <0001>"), NAME).notes
    assert notes == ("the fonts don't say which characters stand on page 1",)
    with pytest.raises(SourceError, match="fonts don't say") as caught:
        parse(pdf(pages[:1], characters=b"<41> <0001>"), NAME)
    assert caught.value.reason == "no_text"


def test_damage_is_refused_or_survived(parse: Parse) -> None:
    data = pdf([column(72, 700, PROSE)])
    for broken in (
        data[:200],
        b"%PDF-1.7\n" + bytes(5_000),
        data.replace(b"/Type/Pages", b"/Type/Nages")[: len(data) // 2],
    ):
        with pytest.raises(SourceError) as caught:
            parse(broken, NAME)
        assert caught.value.reason in ("corrupt", "no_text")
    # A lost table of objects is found again.
    assert "indexer" in parse(data.replace(b"xref", b"xxxx"), NAME).text


@pytest.mark.no_cover
def test_a_page_crowded_with_words_is_laid_out_in_seconds() -> None:
    chance = random.Random(1)
    places = [(chance.uniform(0, 600), chance.uniform(0, 800)) for _ in range(40_000)]
    begun = time.thread_time()
    regions = in_reading_order([Word("word", x, y, x + 20, y + 9, 9.0) for x, y in places])
    assert time.thread_time() - begun < 5
    assert sum(len(line.words) for region in regions for line in region) == len(places)


@settings(deadline=None, max_examples=40)
@given(
    st.lists(
        st.tuples(
            st.floats(0, 600),
            st.floats(0, 780),
            st.floats(4, 60),
            st.sampled_from(["a", "word", "longer words", "中文"]),
        ),
        max_size=60,
    )
)
def test_every_word_is_in_exactly_one_line(places: Sequence[tuple[float, float, float, str]]) -> None:
    words = [Word(text, x, y, x + len(text) * size / 2, y + size, size) for x, y, size, text in places]
    found = [word for region in in_reading_order(words) for line in region for word in line.words]
    assert sorted(map(id, found)) == sorted(map(id, words))
