"""Office files besides Word: what their programs show is in the text, in order and with its structure.

* Slides, sheets, OpenDocument texts, RTF and books give headings, lists, tables, notes and links.
* Rows keep their header with them, however long a table is.
* Damaged, locked and exploding files are refused with their name and a reason.
"""

from __future__ import annotations

import io
import struct
import tracemalloc
import zipfile

import pytest

from librarian.errors import SourceError
from librarian.models import Document
from librarian.parsing.chunking import StructureChunker
from librarian.parsing.document_builder import MAX_CHARACTERS

from .conftest import Parse
from .makers import epub, ods, odt, pptx, relations, shape, xls, xlsb, xlsx, zipped


def heads(doc: Document) -> list[tuple[int, str]]:
    return [(head.level, head.text) for head in doc.headings]


# -- slides ------------------------------------------------------------------------------------------------------------

TABLE = (
    "<p:graphicFrame><p:nvGraphicFramePr><p:nvPr/></p:nvGraphicFramePr><a:graphic><a:graphicData><a:tbl>"
    "<a:tr><a:tc><a:txBody><a:p><a:r><a:t>Key</a:t></a:r></a:p></a:txBody></a:tc>"
    "<a:tc><a:txBody><a:p><a:r><a:t>Value</a:t></a:r></a:p></a:txBody></a:tc></a:tr>"
    "<a:tr><a:tc><a:txBody><a:p><a:r><a:t>port</a:t></a:r></a:p></a:txBody></a:tc>"
    "<a:tc><a:txBody><a:p><a:r><a:t>3001</a:t></a:r></a:p></a:txBody></a:tc></a:tr>"
    "</a:tbl></a:graphicData></a:graphic></p:graphicFrame>"
)
LINK = (
    '<p:sp><p:nvSpPr><p:nvPr/></p:nvSpPr><p:txBody><a:p><a:r><a:rPr><a:hlinkClick r:id="rIdL"/></a:rPr>'
    "<a:t>read more</a:t></a:r></a:p></p:txBody></p:sp>"
)


def test_slides_are_pages_with_headings_lists_tables_and_notes(parse: Parse) -> None:
    body = shape("First\nSecond", "body")
    group = f"<p:grpSp>{shape('in a group')}</p:grpSp>"
    data = pptx(
        [shape("Quarterly review", "ctrTitle"), body + shape("Plans", "title") + TABLE + group + shape("7", "sldNum"),
         LINK],
        {2: "Say this aloud."},
    )  # fmt: skip
    doc = parse(data, "acme/auth/talk.pptx")
    assert doc.text == (
        "# Quarterly review\n\n## Plans\n\n- First\n- Second\n\n| Key | Value |\n| --- | --- |\n| port | 3001 |\n\n"
        "in a group\n\n> Say this aloud.\n\nread more"
    )
    assert heads(doc) == [(1, "Quarterly review"), (2, "Plans")]
    assert [doc.text[start:][:5] for start in doc.page_starts] == ["# Qua", "## Pl", "read "]
    assert [(link.text, link.target) for link in doc.links] == [("read more", "https://example.org/more")]
    chunks = StructureChunker(target_tokens=20, ceiling_tokens=40).chunk(doc)
    assert [chunk.page for chunk in chunks][-1] == 3


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("PowerPoint-Präsentation", "Talk"),
        ("Présentation PowerPoint", "Talk"),
        ("Presentazione standard di PowerPoint", "Talk"),
        ("Презентация PowerPoint", "Talk"),
        ("Slide 1", "Talk"),
        ("Slide 10", "Slide 10"),
        ("Tips for PowerPoint", "Tips for PowerPoint"),
    ],
)
def test_the_title_that_powerpoint_gives_by_itself_is_none(parse: Parse, given: str, expected: str) -> None:
    with zipfile.ZipFile(io.BytesIO(pptx([shape("Words")]))) as archive:
        parts: dict[str, str | bytes] = {name: archive.read(name) for name in archive.namelist()}
    parts["_rels/.rels"] = relations(
        ("rId1", "officeDocument", "ppt/presentation.xml"), ("rId2", "core-properties", "docProps/core.xml")
    )
    space = "http://schemas.openxmlformats.org/package/2006/metadata/core-properties"
    parts["docProps/core.xml"] = (
        f'<p:coreProperties xmlns:p="{space}" xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>{given}</dc:title>'
        "</p:coreProperties>"
    )
    assert parse(zipped(parts), "acme/auth/talk.pptx").title == expected


# -- sheets ------------------------------------------------------------------------------------------------------------

FORMATS = (
    '<numFmts><numFmt numFmtId="164" formatCode="0.00&quot;days&quot;"/><numFmt numFmtId="165" formatCode="dd.mm.yy"/>'
    '</numFmts><cellXfs><xf numFmtId="0"/><xf numFmtId="14"/><xf numFmtId="165"/><xf numFmtId="164"/>'
    '<xf numFmtId="22"/><xf numFmtId="20"/></cellXfs>'
)


def test_cells_are_written_as_excel_shows_them(parse: Parse) -> None:
    rows = (
        '<row><c r="A1" t="s"><v>0</v></c><c r="C1" t="inlineStr"><is><t>Third</t></is></c></row>'
        '<row><c t="b"><v>1</v></c><c s="1"><v>45000</v></c><c s="2"><v>45000.5</v></c></row>'
        '<row><c s="3"><v>0.30000000000000004</v></c><c s="4"><v>45000.25</v></c><c s="5"><v>0.75</v></c></row>'
        '<row><c t="e"><v>#N/A</v></c><c t="str"><f>A1</f><v>a|b</v></c></row>'
    )
    doc = parse(xlsx({"Main": rows, "Empty": ""}, ["First"], formats=FORMATS), "acme/auth/book.xlsx")
    assert doc.text == (
        "# Main\n\n| First |  | Third |\n| --- | --- | --- |\n| TRUE | 2023-03-15 | 2023-03-15 12:00 |\n"
        "| 0.3 | 2023-03-15 06:00 | 18:00 |\n| #N/A | a\\|b |  |\n\n# Empty"
    )


def test_sheets_of_older_binary_and_opendocument_workbooks_are_read(parse: Parse) -> None:
    row = (
        '<table:table-row table:number-rows-repeated="2"><table:table-cell/></table:table-row><table:table-row>'
        '<table:table-cell office:value-type="string"><text:p>Due</text:p></table:table-cell>'
        '<table:table-cell office:value-type="date" office:date-value="2024-01-02"><text:p>x</text:p>'
        "</table:table-cell></table:table-row>"
    )
    for extension, data in ((".xls", xls("Main", "Einkäufe")), (".xlsb", xlsb("Main", "Einkäufe"))):
        assert parse(data, f"acme/auth/book{extension}").text == "# Main\n\nEinkäufe"
    assert parse(ods("Main", row), "acme/auth/book.ods").text == "# Main\n\n| Due | 2024-01-02 |\n| --- | --- |"


def test_cells_that_lie_far_from_each_other_cost_no_memory(parse: Parse) -> None:
    first, far = '<row r="1"><c r="A1"><v>1</v></c></row>', '<row r="1048576"><c r="{}1048576"><v>2</v></c></row>'
    doc = parse(xlsx({"Main": first + far.format("ZZ")}), "acme/auth/book.xlsx")
    assert doc.text == "# Main\n\n1"
    assert doc.notes == ("only the first 50,000 rows of 'Main' are kept",)
    with pytest.raises(SourceError, match="far") as caught:
        parse(xlsx({"Main": first + far.format("ZZ").replace("1048576", "40000")}), "acme/auth/book.xlsx")
    assert caught.value.reason == "too_large"


def test_percentages_are_written_as_such(parse: Parse) -> None:
    formats = (
        '<numFmts><numFmt numFmtId="164" formatCode="0.0%;[Red]-0.0%"/><numFmt numFmtId="165" formatCode="0\\%"/>'
        '<numFmt numFmtId="166" formatCode="0&quot;%&quot;"/></numFmts>'
        "<cellXfs>" + "".join(f'<xf numFmtId="{number}"/>' for number in (0, 9, 10, 164, 165, 166)) + "</cellXfs>"
    )
    cells = "".join(f'<c s="{place}"><v>0.07</v></c>' for place in range(6))
    header = "".join(f'<c t="str"><v>{name}</v></c>' for name in "abcdef")
    doc = parse(xlsx({"Rates": f"<row>{header}</row><row>{cells}</row>"}, formats=formats), "acme/auth/book.xlsx")
    assert doc.text.splitlines()[-1] == "| 0.07 | 7% | 7% | 7% | 0.07 | 0.07 |"


def test_characters_that_excel_escapes_are_read_as_such(parse: Parse) -> None:
    rows = (
        '<row><c t="s"><v>0</v></c></row>'
        '<row><c t="inlineStr"><is><t>read_x005F_x0041_me</t></is></c></row>'
        '<row><c t="str"><f>A1</f><v>last_x0009_row</v></c></row>'
    )
    doc = parse(xlsx({"Main": rows}, ["Name_x000D_\nand _x00e9_tage, max_x or _xyz_"]), "acme/auth/book.xlsx")
    assert doc.text == "# Main\n\nName and étage, max_x or _xyz_\n\nread_x0041_me\n\nlast row"


def test_columns_beyond_those_that_are_kept_are_noted(parse: Parse) -> None:
    row = "<row><c r='A1'><v>1</v></c><c r='GR1'><v>{}</v></c><c r='GS1' s='1'/></row>"
    assert parse(xlsx({"Main": row.format(200)}), "acme/auth/book.xlsx").notes == ()
    wide = row.replace("GS1' s='1'/>", "GS1'><v>201</v></c>").format(200)
    doc = parse(xlsx({"Main": wide}), "acme/auth/book.xlsx")
    assert doc.notes == ("only the first 200 columns of 'Main' are kept",)
    assert "200" in doc.text
    assert "201" not in doc.text


def test_one_long_text_in_every_cell_is_kept_as_often_as_a_document_has_room(parse: Parse) -> None:
    rows = "<row><c t='s'><v>0</v></c></row>" * 500
    tracemalloc.start()
    doc = parse(xlsx({"Main": rows}, ["word " * 200_000]), "acme/auth/book.xlsx")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(doc.text) <= MAX_CHARACTERS
    assert doc.notes[0].startswith("only the first 2")
    assert peak < 10 * MAX_CHARACTERS


def test_a_long_table_repeats_its_header_in_every_passage(parse: Parse) -> None:
    rows = "".join(
        "<row>" + "".join(f'<c t="inlineStr"><is><t>{word}</t></is></c>' for word in words) + "</row>"
        for words in [("Host", "Owner"), *((f"server{n}.example.org", f"Team number {n}") for n in range(300))]
    )
    doc = parse(xlsx({"Machines": rows}), "acme/auth/machines.xlsx")
    chunks = StructureChunker().chunk(doc)
    assert len(chunks) > 5
    for chunk in chunks:
        assert "| Host | Owner |" in chunk.text
        assert chunk.heading_path == ("Machines",)
    assert all(f"server{n}.example.org" in doc.text for n in range(300))


def test_comma_separated_values_find_their_delimiter_header_and_titles(parse: Parse) -> None:
    doc = parse('Name;Größe;Ort\nAnna;1,80;Köln\n"x;y";2,00;"Bonn\nam Rhein"\n'.encode("utf-16"), "acme/auth/t.csv")
    assert doc.text == (
        "| Name | Größe | Ort |\n| --- | --- | --- |\n| Anna | 1,80 | Köln |\n| x;y | 2,00 | Bonn am Rhein |"
    )
    assert parse("1,2\n3,4\n", "acme/auth/t.csv").text.startswith("| column 1 | column 2 |")
    titled = parse("Prices of 2024\n\n,Item,Price\n,Bolt,0.10\n", "acme/auth/t.csv").text
    assert titled == "Prices of 2024\n\n| Item | Price |\n| --- | --- |\n| Bolt | 0.10 |"
    assert parse("a\tb\nc\td,e\n", "acme/auth/t.tsv").text == "| a | b |\n| --- | --- |\n| c | d,e |"
    assert parse("only\none\ncolumn\n", "acme/auth/t.csv").text == "only\n\none\n\ncolumn"
    assert parse("", "acme/auth/t.csv").text == ""


@pytest.mark.parametrize(
    ("text", "written"),
    [
        (
            "# Flow of pumps, by hour, in litres\n## v2\n\nHour,Flow\n1,20\n",
            "Flow of pumps, by hour, in litres\n\nv2\n\n| Hour | Flow |",
        ),
        ("#Made: by Ann\r\nHour;Flow\r\n1;2,0\r\n", "Made: by Ann\n\n| Hour | Flow |"),
        ("# By Ann\n# Hour,Flow\n1,20\n", "By Ann\n\n| # Hour | Flow |"),
        ("#,Name\n1,Pump\n", "| # | Name |"),
        ("#Hour,Flow\n1,20\n", "| #Hour | Flow |"),
        ("#12,Pump\n#13,Valve\nx,Gauge\n", "| #12 | Pump |"),
        ("# a\n# b\n", "# a\n\n# b"),
    ],
)
def test_comments_above_a_table_are_lines_unless_they_name_its_columns(parse: Parse, text: str, written: str) -> None:
    assert parse(text, "acme/auth/t.csv").text.startswith(written)


def test_a_cell_may_hold_a_whole_page_and_the_delimiter_that_excel_is_told_is_no_text(parse: Parse) -> None:
    page = "word " * 40_000
    doc = parse(f"sep=;\nName;Page\nAnna;{page}\nBert;1,5\n", "acme/auth/t.csv")
    assert doc.text.startswith("| Name | Page |")
    assert doc.text.count("word") == 40_000
    assert doc.text.endswith("| Bert | 1,5 |")
    assert parse("sep=\n\nfirst,second\na,b\n", "acme/auth/t.csv").text.startswith("sep=")


def test_rows_of_a_wide_table_name_their_columns(parse: Parse) -> None:
    header = ",".join(f"a rather long name of column {n}" for n in range(20))
    doc = parse(f"{header}\n{','.join(str(n) for n in range(20))}\n", "acme/auth/wide.csv")
    assert doc.text.startswith("- a rather long name of column 0: 0; a rather long name of column 1: 1; ")


# -- OpenDocument, RTF, books -----------------------------------------------------------------------------------------

ODT = """<text:sequence-decls/><text:tracked-changes><text:p>deleted words</text:p></text:tracked-changes>
<text:p text:style-name="Title">The manual</text:p><text:h text:outline-level="2">Install</text:h>
<text:p>Run<text:s text:c="2"/>it<text:note><text:note-citation>1</text:note-citation><text:note-body>
<text:p>As root.</text:p></text:note-body></text:note>, see <text:a xlink:href="https://example.org">the site</text:a>
<office:annotation><dc:creator>Eve</dc:creator><text:p>Is it?</text:p></office:annotation>.</text:p>
<text:list text:style-name="L1"><text:list-item><text:p>one</text:p><text:list><text:list-item><text:p>deep</text:p>
</text:list-item></text:list></text:list-item><text:list-item><text:p>two</text:p></text:list-item></text:list>
<table:table><table:table-header-rows><table:table-row><table:table-cell><text:p>Key</text:p></table:table-cell>
<table:table-cell><text:p>Value</text:p></table:table-cell></table:table-row></table:table-header-rows><table:table-row>
<table:table-cell table:number-columns-repeated="2"><text:p>same</text:p></table:table-cell>
</table:table-row></table:table>
<text:p text:style-name="Preformatted_20_Text">def f():</text:p>
<text:p text:style-name="Preformatted_20_Text"><text:s text:c="4"/>return 1</text:p>
<text:p><draw:frame><draw:text-box><text:p>In a box.</text:p></draw:text-box></draw:frame></text:p>"""


def test_an_open_document_keeps_its_structure(parse: Parse) -> None:
    levels = "".join(
        f'<text:list-level-style-number text:level="{level}" style:num-format="1" style:num-suffix="."/>'
        for level in (1, 2)
    )
    styles = f'<text:list-style style:name="L1">{levels}</text:list-style>'
    doc = parse(odt(ODT, styles), "acme/auth/manual.odt")
    assert doc.text == (
        "# The manual\n\n## Install\n\nRun it[1], see the site .\n\n1. one\n  1. deep\n2. two\n\n"
        "| Key | Value |\n| --- | --- |\n| same | same |\n\n```\ndef f():\n    return 1\n```\n\nIn a box.\n\n"
        "[1] As root.\n\nComment by Eve: Is it?"
    )
    assert [(link.text, link.target) for link in doc.links] == [("the site", "https://example.org")]


def test_lists_of_an_open_document_are_numbered_and_go_on_behind_others(parse: Parse) -> None:
    level = '<text:list-level-style-number text:level="{}" style:num-format="1" {}/>'
    levels = level.format(1, 'text:start-value="3"') + level.format(2, "")
    shared = f'<text:list-style style:name="Steps">{levels}</text:list-style>'
    item, inner = "<text:list-item><text:p>{}</text:p>{}</text:list-item>", "<text:list>{}</text:list>"
    bullets = '<text:list text:style-name="Dots">' + item.format("dot", "") + "</text:list>"
    body = (
        '<text:list xml:id="x1" text:style-name="Steps">'
        + item.format("three", inner.format(item.format("below", "")))
        + f"</text:list><text:p>Between.</text:p>{bullets}"
        '<text:list text:continue-list="x1" text:style-name="Steps">'
        + item.format("four", "")
        + '</text:list><text:p>Between.</text:p><text:list text:continue-numbering="true" text:style-name="Steps">'
        + f"{item.format('five', '')}</text:list>"
    )
    with zipfile.ZipFile(io.BytesIO(odt(body))) as archive:
        parts: dict[str, str | bytes] = {name: archive.read(name) for name in archive.namelist()}
    spaces = " ".join(f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"' for name in ("text", "style"))
    parts["styles.xml"] = f"<styles {spaces}>{shared}</styles>"
    assert parse(zipped(parts), "acme/auth/steps.odt").text == (
        "3. three\n  1. below\n\nBetween.\n\n- dot\n4. four\n\nBetween.\n\n5. five"
    )


RTF = rb"""{\rtf1\ansi\ansicpg1252\deff0{\fonttbl{\f0\fnil\fcharset0 Arial;}{\f1\fcharset204 Times;}}
{\colortbl;\red0\green0\blue0;}{\stylesheet{\s0 Normal;}{\s1\outlinelevel0 heading 1;}{\s2 heading 2;}}
{\info{\title The T}{\author X}}{\header hdr\par}\pard\s1 The \b big\b0  heading\par\pard\plain Some \'e4 and
 \u8364 ? and {\f1 \'cf\'f0\'e8} end.{\footnote\pard note text}\par\pard\s2 Second\par\pard\ls1{\listtext
\'b7\tab}one\par {\listtext\'b7\tab}two\par\pard\plain\trowd\pard\intbl A\cell B\cell\row
\trowd\pard\intbl 1\cell 2\cell\row
\pard After {\field{\*\fldinst HYPERLINK "http://x"}{\fldrslt linked}} {\*\unknown hidden}{\v hid}\u-10179?\u-8704?.\par
{\pict\bin4 }}}}}{\deleted gone}The end\line of it\par}"""


def test_rich_text_keeps_its_structure(parse: Parse) -> None:
    doc = parse(RTF, "acme/auth/letter.rtf")
    assert doc.text == (
        "# The big heading\n\nSome ä and € and При end. note text\n\n## Second\n\n- one\n- two\n\n"
        "| A | B |\n| --- | --- |\n| 1 | 2 |\n\nAfter linked 😀.\n\nThe end\n\nof it"
    )
    assert doc.title == "The big heading"
    numbered = rb"{\rtf1{\listtext 2.\tab}Two\par{\listtext b)\tab}Bee\par}"
    assert parse(numbered, "acme/auth/letter.rtf").text == "2. Two\nb) Bee"


def test_paragraphs_and_items_of_textedit_are_told_apart(parse: Parse) -> None:
    data = (
        b"{\\rtf1\\ansi\\cocoartf2513\\pard First\\\nsecond\\\n\\pard\\ls1\\ilvl0\n{\\listtext\t\\uc0\\u8226 \t}one\\\n"
        b"{\\listtext\t\\uc0\\u8226 \t}two\\\n\\pard\\ls2{\\listtext\t7.\t}seven\\\n\\pard Name\tValue}"
    )
    assert parse(data, "acme/auth/note.rtf").text == "First\n\nsecond\n\n- one\n- two\n7. seven\n\nName Value"


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (rb"{\rtf1\trowd\intbl A\cell B\cell\row behind}", "| A | B |\n| --- | --- |\n\nbehind"),
        (b"{\\rtf1\\ansicpg1251 \xcf\xf0\xe8\\par and \\'cf\\'f0\\'e8}", "При\n\nand При"),
        (rb"{\rtf1\pard\outlinelevel1 Ports\par\pard Words}", "## Ports\n\nWords"),
    ],
)
def test_rows_letters_and_outline_levels_of_rich_text_are_read(parse: Parse, data: bytes, text: str) -> None:
    assert parse(data, "acme/auth/letter.rtf").text == text


def test_a_book_has_its_own_title_and_not_its_first_chapters(parse: Parse) -> None:
    chapters = {"a.xhtml": "<h1>Preface</h1><p>Words.</p>", "b.xhtml": "<h1>One</h1><p>More.</p>"}
    assert parse(epub(chapters, "Foxes and Grapes"), "acme/books/b.epub").title == "Foxes and Grapes"
    for nothing in ("Unknown", ""):
        assert parse(epub(chapters, nothing), "acme/books/b.epub").title == "Preface"


def test_a_book_is_read_in_the_order_of_its_spine(parse: Parse) -> None:
    data = epub(
        {
            "z.xhtml": "<h1>The fox</h1><p>Some <i>grapes</i>.</p>",
            "a%20b.xhtml": "",
            "b.xhtml": "<h2>The crow</h2><p>Cheese</p>",
        }
    )
    doc = parse(data, "acme/auth/fables.epub")
    assert doc.text == "# The fox\n\nSome grapes.\n\n## The crow\n\nCheese"
    assert (doc.title, doc.tags) == ("The book", ("fables",))
    assert doc.notes == ("the chapter a b.xhtml is missing",)


# -- damage ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "extension", [".docx", ".pptx", ".xlsx", ".xls", ".ods", ".odt", ".epub", ".rtf", ".pdf", ".ipynb"]
)
@pytest.mark.parametrize("data", [b"", b"PK\x03\x04 no", b"just text", b"{\\rtf"[:3], b"%PDF-1.4 nothing", b"\0" * 99])
def test_a_damaged_file_is_refused_with_its_name(parse: Parse, extension: str, data: bytes) -> None:
    with pytest.raises(SourceError) as caught:
        parse(data, f"acme/auth/broken{extension}")
    assert caught.value.reason == "corrupt"
    assert f"broken{extension}" in str(caught.value)


@pytest.mark.parametrize("extension", [".docx", ".pptx", ".xlsx", ".odt", ".epub"])
def test_a_bomb_or_an_old_format_is_refused(parse: Parse, extension: str) -> None:
    main = {".docx": "word/document.xml", ".pptx": "ppt/presentation.xml", ".xlsx": "xl/workbook.xml"}
    bomb = zipped(
        {main.get(extension, "content.xml" if extension == ".odt" else "META-INF/container.xml"): b" " * 30_000_000}
    )
    with pytest.raises(SourceError) as caught:
        parse(bomb, f"acme/auth/bomb{extension}")
    assert caught.value.reason == "too_large"
    with pytest.raises(SourceError) as caught:
        parse(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600), f"acme/auth/old{extension}")
    assert caught.value.reason == "encrypted"


@pytest.mark.parametrize("extension", [".xlsx", ".xlsm", ".xlsb"])
def test_a_part_that_holds_more_than_its_entry_promises_is_refused_and_costs_no_memory(
    parse: Parse, extension: str
) -> None:
    data = bytearray(xlsx({"Main": " " * 9_000_000}))
    struct.pack_into("<I", data, data.rindex(b"xl/worksheets/sheet1.xml") - 46 + 24, 100)  # in the archive's directory
    tracemalloc.start()
    with pytest.raises(SourceError) as caught:
        parse(bytes(data), f"acme/auth/book{extension}")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert caught.value.reason == "corrupt"
    assert peak < 5_000_000


def test_parts_named_with_the_separator_of_windows_are_found(parse: Parse) -> None:
    data = xlsx({"Main": '<row><c t="s"><v>0</v></c></row>'}, ["Shared words"])
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        parts = {name.replace("/", "\\"): archive.read(name) for name in archive.namelist()}
    assert parse(zipped(parts), "acme/auth/book.xlsx").text == "# Main\n\nShared words"


def test_entities_are_not_expanded(parse: Parse) -> None:
    bomb = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 10}">' for n in range(1, 10))
    content = odt("<text:p>before &e9;&x; after</text:p>")
    declared = f'<!DOCTYPE x [<!ENTITY x SYSTEM "file:///etc/hostname"><!ENTITY e0 "lol">{bomb}]>'
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        xml = archive.read("content.xml").decode()
    try:
        text = parse(zipped({"content.xml": declared + xml}), "acme/auth/x.odt").text
    except SourceError as error:
        text = str(error)
    assert "lollol" not in text


def test_groups_nested_without_end_are_read(parse: Parse) -> None:
    assert parse(b"{\\rtf1 " + b"{" * 100_000 + b"words", "acme/auth/deep.rtf").text == "words"
    assert parse(b"{\\rtf1 words}}}}} more", "acme/auth/odd.rtf").text == "words"
