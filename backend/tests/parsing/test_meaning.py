"""What a file says is kept as its author wrote it, in every format that can say it.

* Raised and lowered digits keep their meaning.
* Front matter holds what was typed; its date is taken from the keys and forms that site generators use.
* Words of drawings and of old form fields are read, and a zero byte parts words.
* No parser takes time that grows with the square of a file's size.
"""

from __future__ import annotations

import contextlib
import io
import time

import docx
import pytest
from docx.oxml import parse_xml
from docx.oxml.ns import nsdecls

from librarian.errors import SourceError
from librarian.models import SourceFile
from librarian.parsing.chunking import StructureChunker
from librarian.parsing.reader import PARSERS

from .conftest import Parse
from .makers import epub, odt, pptx, shape

HTML = "<p>10<sup>6</sup> rows, x<sup>-2</sup>, 101<sub>2</sub>, H<sub>2</sub>O, the 1<sup>st</sup></p>"
PLAIN = "10^6 rows, x^-2, 101_2, H2O, the 1st"


def _word(*runs: tuple[str, str]) -> bytes:
    file = docx.Document()
    paragraph = file.add_paragraph()
    for words, kind in runs:
        run = paragraph.add_run(words)
        run.font.superscript, run.font.subscript = kind == "raised", kind == "lowered"
    buffer = io.BytesIO()
    file.save(buffer)
    return buffer.getvalue()


def test_raised_and_lowered_digits_keep_their_meaning_in_pages_and_books(parse: Parse) -> None:
    assert parse(f"<html><body>{HTML}</body></html>", "a/b/c.html").text == PLAIN
    assert PLAIN in parse(epub({"a.xhtml": HTML}), "a/b/c.epub").text


def test_raised_and_lowered_digits_keep_their_meaning_in_mails(parse: Parse) -> None:
    mail = f"From: a@b.org\nSubject: x\nContent-Type: text/html\n\n<html><body>{HTML}</body></html>"
    assert PLAIN in parse(mail, "a/b/c.eml").text


def test_raised_and_lowered_digits_keep_their_meaning_in_word_files(parse: Parse) -> None:
    data = _word(("10", ""), ("6", "raised"), (" rows, H", ""), ("2", "lowered"), ("O, 1", ""), ("st", "raised"))
    assert parse(data, "a/b/c.docx").text == "10^6 rows, H2O, 1st"


def test_raised_and_lowered_digits_keep_their_meaning_on_slides(parse: Parse) -> None:
    raised = '</a:t></a:r><a:r><a:rPr baseline="30000"/><a:t>6</a:t></a:r><a:r><a:t> rows'
    assert "10^6 rows" in parse(pptx([shape(f"10{raised}", "body")]), "a/b/c.pptx").text


def test_raised_digits_keep_their_meaning_in_headings_of_markdown(parse: Parse) -> None:
    assert parse("# About 10<sup>6</sup> rows\n\nText.\n").title == "About 10^6 rows"


@pytest.mark.parametrize("typed", ["1.10", "0123", "no", "12:30:45", "2024-05-06", "1_000", "0x1f"])
def test_values_of_front_matter_are_what_was_typed(parse: Parse, typed: str) -> None:
    doc = parse(f"---\ntitle: {typed}\nother: {typed}\n---\n# Heading\n\nText.\n")
    assert (doc.title, doc.front_matter["other"]) == (typed, typed)


def test_numbers_and_switches_of_front_matter_keep_their_types(parse: Parse) -> None:
    doc = parse("---\nweight: 10\nshare: 0.5\ndraft: true\nempty:\n---\nText.\n")
    assert doc.front_matter == {"weight": 10, "share": 0.5, "draft": True, "empty": None}


@pytest.mark.parametrize(
    "title", ["Mail: the basics", "@acme/ui", "*Starred* things", "[Draft] The plan", "Fix for #3", '"Quoted" and more']
)
def test_a_title_that_is_no_yaml_is_taken_as_typed_and_the_repair_is_noted(parse: Parse, title: str) -> None:
    doc = parse(f"---\ntitle: {title}\ntags: [a, b]\n---\n# Heading\n\nText.\n")
    assert doc.front_matter["title"] == title
    assert doc.tags == ("a", "b")
    assert any("front matter" in note for note in doc.notes)


def test_a_comment_behind_a_title_is_no_part_of_it(parse: Parse) -> None:
    doc = parse("---\ntitle: The plan # a remark\n---\nText.\n")
    assert (doc.title, doc.notes) == ("The plan", ())


@pytest.mark.parametrize(
    "lines",
    [
        "last_update:\n  date: 2024-05-06", "lastUpdated: 2024-05-06", "ms.date: 05/06/2024", "pubDate: May 6, 2024",
        "lastmod: 2024-05-06", "updated: 6 May 2024", "date: 20240506", "date: 1714953600", "date: 1714953600000",
        "date: Mon, 06 May 2024 00:00:00 +0000", "modified: 2024/05/06", "publishDate: 2024-05-06 00:00:00 +00:00",
    ],
)  # fmt: skip
def test_dates_are_read_under_the_keys_and_in_the_forms_of_site_generators(parse: Parse, lines: str) -> None:
    assert parse(f"---\n{lines}\n---\nText.\n", mtime_ns=10**18).last_modified == "2024-05-06T00:00:00Z"


@pytest.mark.parametrize("typed", ["05/06/2024", "05.06.2024", "soon", "5-6-2024"])
def test_a_date_that_may_be_one_of_two_leaves_the_date_unknown(parse: Parse, typed: str) -> None:
    assert parse(f"---\ndate: {typed}\n---\nText.\n", mtime_ns=10**18).last_modified == ""


@pytest.mark.parametrize("name", ["2024-05-06-release.md", "notes 20240506.txt", "2024_05_06.adoc"])
def test_the_date_in_a_files_name_is_its_date(parse: Parse, name: str) -> None:
    assert parse("Text.\n", f"a/b/{name}", mtime_ns=10**18).last_modified == "2024-05-06T00:00:00Z"


def test_numbers_in_a_files_name_that_are_no_date_are_none(parse: Parse) -> None:
    doc = parse("Text.\n", "a/b/build-20241399.md", mtime_ns=1_700_000_000 * 10**9)
    assert doc.last_modified == "2023-11-14T22:13:20Z"


def test_words_of_drawings_in_a_page_are_read(parse: Parse) -> None:
    drawing = (
        "<svg><title>The flow</title><desc>How orders move</desc><text x='1'>Ware<tspan>house</tspan></text>"
        "<foreignObject><div>Customs desk</div></foreignObject></svg>"
    )
    text = parse(f"<html><body><h1>Orders</h1><p>See below.</p>{drawing}</body></html>", "a/b/c.html").text
    for words in ("The flow", "How orders move", "Ware house", "Customs desk"):
        assert words in text
    hidden = "<svg aria-hidden='true'><title>Icon</title></svg>"
    assert "Icon" not in parse(f"<html><body><p>Words {hidden}</p></body></html>", "a/b/c.html").text


def test_the_choice_of_an_old_drop_down_field_is_read(parse: Parse) -> None:
    file = docx.Document()
    paragraph = file.add_paragraph("Colour: ")
    paragraph._p.append(
        parse_xml(
            f"<w:r {nsdecls('w')}><w:fldChar w:fldCharType='begin'><w:ffData><w:ddList><w:result w:val='1'/>"
            "<w:listEntry w:val='red'/><w:listEntry w:val='green'/></w:ddList></w:ffData></w:fldChar></w:r>"
        )
    )
    buffer = io.BytesIO()
    file.save(buffer)
    assert parse(buffer.getvalue(), "a/b/c.docx").text == "Colour: green"


@pytest.mark.parametrize("name", ["c.md", "c.txt", "c.csv", "c.html", "c.eml", "c.adoc"])
def test_a_zero_byte_parts_words(parse: Parse, name: str) -> None:
    head = "From: a@b.org\nSubject: x\n\n" if name == "c.eml" else ""
    doc = parse(f"{head}{'Some words of a text. ' * 9}left\0right\n", f"a/b/{name}")
    assert "left right" in " ".join(doc.text.split())


def test_lines_around_a_directives_text_are_no_fences_of_their_own(parse: Parse) -> None:
    doc = parse("````{note} Mind\nSome words.\n\n```python\nx = 1\n```\n\nMore words.\n````\n\nAfter.\n")
    frames = [frame.opening for chunk in StructureChunker().chunk(doc) for frame in chunk.frames]
    assert frames == ["```python"]


#: Formats that hold text as it is, or in a part of an archive.
TEXTS = sorted(set(PARSERS) - {".pdf", ".msg", ".xls", ".xlsb", ".ods", ".docm", ".pptm", ".ppsx", ".xlsm", ".ott"})


def holding(extension: str, text: str) -> bytes:
    """A file of a format that holds a text."""
    escaped = text.replace("<", "&lt;")
    if extension == ".docx":
        return _word((text, ""))
    if extension == ".pptx":
        return pptx([shape(escaped, "body")])
    if extension == ".odt":
        return odt(f"<text:p>{escaped}</text:p>")
    if extension == ".epub":
        return epub({"a.xhtml": f"<p>{escaped}</p>"})
    head = {".eml": "From: a@b.org\nSubject: x\n\n", ".emlx": "9\nSubject: x\n\n", ".rst": ".. note:: x\n\n"}
    return f"{head.get(extension, '')}{text}".encode()


@pytest.mark.no_cover
@pytest.mark.parametrize("extension", TEXTS)
def test_no_parser_takes_time_with_the_square_of_a_files_size(extension: str) -> None:
    for char in " >-[]*<_|=#(":
        data = holding(extension, char * 300_000)
        name = f"a/b/c{extension}"
        started = time.process_time()
        with contextlib.suppress(SourceError):
            PARSERS[extension].parse(SourceFile(f"/{name}", name, "a", "b", len(data), 0), data)
        assert time.process_time() - started < 5, char
