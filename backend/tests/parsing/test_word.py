"""Word files: headings, lists, tables and pages as Word shows them; damaged and hostile files are refused."""

from __future__ import annotations

import copy
import io
import re
import time
import zipfile
from collections.abc import Callable
from pathlib import Path

import docx
import pytest
from docx.document import Document as WordFile
from docx.enum.text import WD_BREAK
from docx.oxml import OxmlElement
from docx.oxml.ns import qn
from docx.text.paragraph import Paragraph

from librarian.errors import SourceError
from librarian.models import Block, Document, SourceFile
from librarian.parsing.chunking import StructureChunker
from librarian.parsing.reader import PARSERS

from .conftest import Parse

NAME = "acme/auth/manual.docx"


def saved(file: WordFile) -> bytes:
    buffer = io.BytesIO()
    file.save(buffer)
    return buffer.getvalue()


def changed(data: bytes, part: str, change: Callable[[str], str]) -> bytes:
    """The file with one part rewritten."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as new:
        for info in old.infolist():
            content = old.read(info)
            new.writestr(info.filename, change(content.decode()).encode() if info.filename == part else content)
    return buffer.getvalue()


def texts(doc: Document, kind: str) -> list[str]:
    return [doc.text[block.start : block.end] for block in doc.blocks if block.kind == kind]


def test_a_manual_keeps_its_structure(parse: Parse) -> None:
    file = docx.Document()
    file.add_heading("The manual", 0)
    file.add_paragraph("How to install it. And how to run it.")
    file.add_heading("Install", 1)
    for step in ("Download", "Unpack", "Start"):
        file.add_paragraph(step, style="List Number")
    file.add_heading("Options", 2)
    for option in ("fast", "slow"):
        file.add_paragraph(option, style="List Bullet")
    table = file.add_table(rows=3, cols=2)
    for row, (key, value) in enumerate([("Key", "Value"), ("port", "3001"), ("a|b", "two\nlines")]):
        table.cell(row, 0).text, table.cell(row, 1).text = key, value
    doc = parse(saved(file), NAME)
    assert doc.text == (
        "# The manual\n\nHow to install it. And how to run it.\n\n# Install\n\n1. Download\n2. Unpack\n3. Start\n\n"
        "## Options\n\n- fast\n- slow\n\n| Key | Value |\n| --- | --- |\n| port | 3001 |\n| a\\|b | two lines |"
    )
    assert [(head.level, head.text, head.line, head.page) for head in doc.headings] == [
        (1, "The manual", 1, None), (1, "Install", 5, None), (2, "Options", 11, None),
    ]  # fmt: skip
    assert all(doc.text.split("\n")[head.line - 1].endswith(head.text) for head in doc.headings)
    assert all(doc.text[head.start] == "#" for head in doc.headings)
    (table_block,) = (block for block in doc.blocks if block.kind == "table")
    assert doc.text[table_block.start : table_block.header_end] == "| Key | Value |\n| --- | --- |"
    assert (doc.title, doc.title_in_text, doc.file_type) == ("The manual", True, ".docx")
    assert doc.summary == "How to install it. And how to run it."
    assert doc.page_starts == ()


def test_explicit_page_breaks_give_chunks_their_page(parse: Parse) -> None:
    file = docx.Document()
    file.add_heading("One", 1)
    file.add_paragraph("First page.").add_run().add_break(WD_BREAK.PAGE)
    file.add_heading("Two", 1)
    file.add_paragraph("Second page.")
    file.add_page_break()
    file.add_heading("Three", 1).paragraph_format.page_break_before = False
    last = file.add_paragraph("Fourth page.")
    last.paragraph_format.page_break_before = True
    doc = parse(saved(file), NAME)
    chunks = StructureChunker().chunk(doc)
    assert [(chunk.heading_path, chunk.page) for chunk in chunks] == [(("One",), 1), (("Two",), 2), (("Three",), 3)]
    assert [head.page for head in doc.headings] == [1, 2, 3]
    assert doc.text[doc.page_starts[-1] :] == "Fourth page."


def test_breaks_that_word_has_rendered_win_over_explicit_ones(parse: Parse) -> None:
    file = docx.Document()
    file.add_paragraph("First.").add_run().add_break(WD_BREAK.PAGE)
    run = file.add_paragraph().add_run()
    run._r.append(OxmlElement("w:lastRenderedPageBreak"))
    run.add_text("Second page, and in the middle ")
    run._r.append(OxmlElement("w:lastRenderedPageBreak"))
    run.add_text("the third.")
    doc = parse(saved(file), NAME)
    assert [doc.text[start:][:7] for start in doc.page_starts] == ["First.\n", "Second ", "the thi"]


def test_nested_lists_count_as_word_counts(parse: Parse) -> None:
    levels = "".join(
        f'<w:lvl w:ilvl="{place}"><w:start w:val="{start}"/><w:numFmt w:val="{form}"/>'
        f'<w:lvlText w:val="{text}"/></w:lvl>'
        for place, (start, form, text) in enumerate(
            [(1, "decimal", "%1."), (2, "lowerLetter", "%2)"), (4, "upperRoman", "%1.%3"), (1, "none", "")]
        )
    )
    file = docx.Document()
    for level in (0, 1, 1, 2, 2, 0, 1, 3):
        paragraph = file.add_paragraph(f"item {level}")
        numbers = paragraph._p.get_or_add_pPr().get_or_add_numPr()
        numbers.get_or_add_ilvl().val, numbers.get_or_add_numId().val = level, 99
    data = changed(
        saved(file), "word/numbering.xml",
        lambda xml: xml.replace(
            "</w:numbering>",
            f'<w:abstractNum w:abstractNumId="99">{levels}</w:abstractNum>'
            '<w:num w:numId="99"><w:abstractNumId w:val="99"/></w:num></w:numbering>',
        ),
    )  # fmt: skip
    doc = parse(data, NAME)
    assert doc.text.split("\n")[:7] == [
        "1. item 0", "  b) item 1", "  c) item 1", "    1.IV item 2", "    1.V item 2", "2. item 0", "  b) item 1",
    ]  # fmt: skip


def test_merged_nested_and_framing_tables(parse: Parse) -> None:
    file = docx.Document()
    table = file.add_table(rows=3, cols=3)
    for row in range(3):
        for column in range(3):
            table.cell(row, column).text = f"{row}{column}"
    table.cell(0, 0).merge(table.cell(0, 1)).text = "wide"
    table.cell(1, 2).merge(table.cell(2, 2)).text = "tall"
    table.cell(2, 0).add_table(rows=1, cols=1).cell(0, 0).text = "inner"
    frame = file.add_table(rows=1, cols=1).cell(0, 0)
    frame.text = "A note in a frame."
    file.add_table(rows=2, cols=2)
    doc = parse(saved(file), NAME)
    assert texts(doc, "table") == ["| wide |  | 02 |\n| --- | --- | --- |\n| 10 | 11 | tall |\n| 20 inner | 21 |  |"]
    assert texts(doc, "paragraph") == ["A note in a frame."]


def test_numbers_that_word_gives_to_paragraphs_in_cells_are_shown_and_count(parse: Parse) -> None:
    file = docx.Document()

    def number(paragraph: Paragraph) -> None:
        numbers = paragraph._p.get_or_add_pPr().get_or_add_numPr()
        numbers.get_or_add_ilvl().val, numbers.get_or_add_numId().val = 0, 99

    number(file.add_paragraph("Above"))
    table = file.add_table(rows=3, cols=2)
    table.cell(0, 0).text, table.cell(0, 1).text = "No.", "The system shall"
    for row, words in ((1, "start"), (2, "stop")):
        number(table.cell(row, 0).paragraphs[0])
        table.cell(row, 1).text = words
    table.cell(2, 1).add_paragraph("at once", style="List Bullet")
    number(file.add_paragraph("Below"))
    data = changed(
        saved(file), "word/numbering.xml",
        lambda xml: xml.replace(
            "</w:numbering>",
            '<w:abstractNum w:abstractNumId="99"><w:lvl w:ilvl="0"><w:start w:val="1"/><w:numFmt w:val="decimal"/>'
            '<w:lvlText w:val="REQ-%1"/></w:lvl></w:abstractNum>'
            '<w:num w:numId="99"><w:abstractNumId w:val="99"/></w:num></w:numbering>',
        ),
    )  # fmt: skip
    assert parse(data, NAME).text == (
        "REQ-1 Above\n\n| No. | The system shall |\n| --- | --- |\n| REQ-2 | start |\n| REQ-3 | stop at once |\n\n"
        "REQ-4 Below"
    )


@pytest.mark.parametrize("further", [0, 2])  # columns that no row uses, as crooked edges leave them
def test_rows_of_different_widths_have_as_many_cells_as_their_table_has_columns(parse: Parse, further: int) -> None:
    file = docx.Document()
    table = file.add_table(rows=3, cols=3)
    for row, words in enumerate(("name value", "a b c", "d e")):
        for cell, word in zip(table.rows[row].cells, words.split(), strict=False):
            cell.text = word
        element = table.rows[row]._tr
        for cell in element.tc_lst[len(words.split()) :]:
            element.remove(cell)
        skipped = OxmlElement("w:gridBefore")
        skipped.set(qn("w:val"), str(further + (row == 2)))
        element.get_or_add_trPr().append(skipped)
    assert parse(saved(file), NAME).text == ("| name | value |  |\n| --- | --- | --- |\n| a | b | c |\n|  | d | e |")


def test_cells_inside_controls_and_the_words_for_pictures_are_kept(parse: Parse) -> None:
    file = docx.Document()
    table = file.add_table(rows=2, cols=2)
    for row in range(2):
        for column in range(2):
            table.cell(row, column).text = f"{row}{column}"
    file.add_paragraph("See ").add_run("PICTURE")
    data = changed(
        saved(file), "word/document.xml",
        lambda xml: re.sub(r"(<w:tc>(?:(?!</w:tc>).)*11.*?</w:tc>)", r"<w:sdt><w:sdtContent>\1</w:sdtContent></w:sdt>",
                           xml, count=1, flags=re.S).replace(
            "<w:t>PICTURE</w:t>",
            '<w:drawing><wp:inline xmlns:wp="http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing">'
            '<wp:docPr id="1" name="x" descr="a chart of sales"/></wp:inline></w:drawing>',
        ),
    )  # fmt: skip
    assert parse(data, NAME).text == "| 00 | 01 |\n| --- | --- |\n| 10 | 11 |\n\nSee a chart of sales"


def test_deleted_text_is_gone_and_inserted_text_is_there(parse: Parse) -> None:
    file = docx.Document()
    file.add_paragraph("kept")
    data = changed(
        saved(file), "word/document.xml",
        lambda xml: xml.replace(
            "<w:t>kept</w:t></w:r>",
            "<w:t>kept</w:t><w:tab/><w:noBreakHyphen/></w:r><w:ins><w:r><w:t>new</w:t></w:r></w:ins>"
            "<w:del><w:r><w:delText>old</w:delText></w:r></w:del><w:r><w:instrText>PAGE</w:instrText></w:r>",
        ),
    )  # fmt: skip
    assert parse(data, NAME).text == "kept -new"


def test_hidden_text_is_left_out_and_noted(parse: Parse) -> None:
    file = docx.Document()
    paragraph = file.add_paragraph("Shown")
    paragraph.add_run(" guidance for the author").font.hidden = True
    paragraph.add_run(" again").font.hidden = False
    doc = parse(saved(file), NAME)
    assert (doc.text, doc.notes) == ("Shown again", ("hidden text is left out",))


def test_links_and_code_styles_are_kept(parse: Parse) -> None:
    file = docx.Document()
    paragraph = file.add_paragraph("See ")
    relation = file.part.relate_to(
        "https://example.org/a", "http://schemas.openxmlformats.org/officeDocument/2006/relationships/hyperlink", True
    )
    link = OxmlElement("w:hyperlink")
    link.set(qn("r:id"), relation)
    link.append(paragraph.add_run("the site")._r)
    paragraph._p.append(link)
    file.styles.add_style("Source Code", 1)
    for line in ("def f():", "    return 1"):
        file.add_paragraph(line, style="Source Code")
    doc = parse(saved(file), NAME)
    assert [(item.text, item.target, doc.text[item.start :][:8]) for item in doc.links] == [
        ("the site", "https://example.org/a", "the site")
    ]
    assert texts(doc, "fence") == ["```\ndef f():\n    return 1\n```"]


def test_lines_of_a_table_of_contents_are_left_out_and_count_as_pages(parse: Parse) -> None:
    file = docx.Document()
    file.styles.add_style("toc 1", 1)
    file.add_paragraph("Ports\t2", style="toc 1").add_run().add_break(WD_BREAK.PAGE)
    control = inner = OxmlElement("w:sdt")
    for tag in ("sdtPr", "docPartObj", "docPartGallery"):
        inner.append(element := OxmlElement(f"w:{tag}"))
        inner = element
    inner.set(qn("w:val"), "Table of Contents")
    content = OxmlElement("w:sdtContent")
    content.append(file.add_paragraph("Contents of another program")._p)
    control.append(content)
    file.element.body.insert(1, control)
    file.add_heading("Ports", 1)
    doc = parse(saved(file), NAME)
    assert doc.text == "# Ports"
    assert doc.headings[0].page == 2


def test_a_title_in_the_properties_counts_where_there_is_no_heading(parse: Parse) -> None:
    file = docx.Document()
    file.core_properties.title = "From  the\nproperties"
    file.add_paragraph("Words.")
    doc = parse(saved(file), NAME)
    assert (doc.title, doc.title_in_text) == ("From the properties", True)


def test_headings_without_styles_are_told_by_size_weight_and_number(parse: Parse) -> None:
    file = docx.Document()

    def line(words: str, size: float = 11, bold: bool = False) -> None:
        run = file.add_paragraph().add_run(words)
        run.font.size, run.bold = docx.shared.Pt(size), bold

    line("The manual of the machine", 20, True)
    line("It has words of ordinary size, and enough of them that they count as the text of the document." * 2)
    line("Install", 14)
    line("Unpack it. Then start it, as the words of ordinary size say here.")
    line("1.2 Ports", bold=True)
    line("It listens on 3001.")
    line("This bold sentence ends with a stop.", bold=True)
    doc = parse(saved(file), NAME)
    assert [(head.level, head.text) for head in doc.headings] == [
        (1, "The manual of the machine"), (2, "Install"), (3, "1.2 Ports"),
    ]  # fmt: skip
    plain = docx.Document()
    for words in ("One paragraph.", "Another"):
        plain.add_paragraph(words)
    assert parse(saved(plain), NAME).headings == ()


def test_comments_stand_at_the_end_and_equations_on_a_line(parse: Parse) -> None:
    file = docx.Document()
    paragraph = file.add_paragraph("The mean ")
    file.add_comment(paragraph.runs, text="Of what?", author="Eve")
    data = changed(
        saved(file), "word/document.xml",
        lambda xml: xml.replace(
            "</w:p>",
            '<m:oMath xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math"><m:f><m:num><m:nary>'
            '<m:naryPr><m:chr m:val="∑"/></m:naryPr><m:sub><m:r><m:t>i=1</m:t></m:r></m:sub><m:sup><m:r><m:t>n</m:t>'
            "</m:r></m:sup><m:e><m:sSup><m:e><m:r><m:t>x</m:t></m:r></m:e><m:sup><m:r><m:t>2</m:t></m:r></m:sup></m:sSup>"
            "</m:e></m:nary></m:num><m:den><m:rad><m:deg/><m:e><m:d><m:e><m:r><m:t>n</m:t></m:r></m:e></m:d></m:e></m:rad>"
            "</m:den></m:f></m:oMath></w:p>", 1,
        ),
    )  # fmt: skip
    assert parse(data, NAME).text == "The mean i=1nx2n\n\nComment by Eve: Of what?"


@pytest.mark.parametrize("data", [b"", b"PK\x03\x04 not a zip", b"just text", b"PK\x05\x06" + b"\0" * 18])
def test_a_damaged_file_is_refused_with_its_name(parse: Parse, data: bytes) -> None:
    with pytest.raises(SourceError) as caught:
        parse(data, NAME)
    assert caught.value.reason == "corrupt"
    assert NAME in str(caught.value)


def test_truncated_and_ill_formed_files_are_refused(parse: Parse) -> None:
    file = docx.Document()
    file.add_paragraph("words " * 500)
    data = saved(file)
    for broken in (
        data[: len(data) // 2],
        changed(data, "word/document.xml", lambda xml: xml[: len(xml) // 2]),
        changed(data, "word/styles.xml", lambda xml: "<" + xml),
        changed(data, "_rels/.rels", lambda xml: xml.replace("word/document.xml", "word/gone.xml")),
    ):
        with pytest.raises(SourceError) as caught:
            parse(broken, NAME)
        assert caught.value.reason == "corrupt"


def test_an_encrypted_file_says_so(parse: Parse) -> None:
    with pytest.raises(SourceError) as caught:
        parse(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 600, NAME)
    assert caught.value.reason == "encrypted"


def test_a_decompression_bomb_is_not_unpacked(parse: Parse) -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive, archive.open("word/document.xml", "w") as part:
        for _ in range(40):
            part.write(b" " * (1024 * 1024))
    started = time.process_time()
    with pytest.raises(SourceError) as caught:
        parse(buffer.getvalue(), NAME)
    assert caught.value.reason == "too_large"
    assert time.process_time() - started < 2


def test_entities_are_not_expanded(parse: Parse, tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("secret words")
    file = docx.Document()
    file.add_paragraph("before &a; after")
    bomb = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 10}">' for n in range(1, 10))
    declaration = f'<!DOCTYPE x [<!ENTITY a SYSTEM "file://{secret}"><!ENTITY e0 "lol">{bomb}]>'

    def change(xml: str) -> str:
        head, body = xml.split("?>", 1)
        return f"{head}?>{declaration}{body.replace('&amp;a;', '&a;&e9;')}"

    try:
        doc = parse(changed(saved(file), "word/document.xml", change), NAME)
    except SourceError as error:
        message = str(error)
        assert "secret words" not in message
    else:
        assert "secret words" not in doc.text
        assert "lol" not in doc.text


def test_six_hundred_pages_are_read_quickly(parse: Parse) -> None:
    file = docx.Document()
    body = file.element.body
    template = file.add_paragraph("A sentence of ordinary length that says something about page and line. " * 9)._p
    heading = file.add_heading("Chapter", 1)._p
    page_break = file.add_page_break()._p
    for page in range(600):
        if page % 10 == 0:
            body.insert(-1, copy.deepcopy(heading))
        for _ in range(6):
            body.insert(-1, copy.deepcopy(template))
        body.insert(-1, copy.deepcopy(page_break))
    data = saved(file)
    started = time.process_time()
    doc = parse(data, NAME)
    chunks = StructureChunker().chunk(doc)
    assert time.process_time() - started < 20
    assert len(doc.page_starts) > 600
    assert chunks[-1].page is not None
    assert chunks[-1].page > 590


def test_every_real_word_file_is_read_within_a_second(real_data: Callable[[str], Path]) -> None:
    files = sorted((real_data("files") / "docx").rglob("*.docx"))
    assert len(files) > 50
    for path in files:
        data = path.read_bytes()
        started = time.process_time()
        doc = PARSERS[".docx"].parse(SourceFile(str(path), f"a/b/{path.name}", "a", "b", len(data), 0), data)
        assert time.process_time() - started < 1, path
        assert _in_order(doc.blocks), path
        assert list(doc.page_starts) == sorted(doc.page_starts), path
        oracle = docx.Document(str(path)) if "strict" not in path.name and path.stem != "utf8-bom" else None
        for paragraph in oracle.paragraphs if oracle else ():
            words = " ".join(paragraph.text.split())
            assert words in re.sub(r"\[\d+\]", "", " ".join(doc.text.split())), path


def _in_order(blocks: tuple[Block, ...]) -> bool:
    ends = [0, *(block.end for block in blocks)]
    return all(end <= block.start < block.end for end, block in zip(ends, blocks, strict=False))
