"""Words outside the running text of office files: charts, diagrams, shapes, comments, and what stands in notes."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping

import pytest

from librarian.errors import SourceError

from .conftest import Parse
from .makers import odt, pptx, relations, shape, xlsx, zipped

W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
A = "http://schemas.openxmlformats.org/drawingml/2006/main"
C = "http://schemas.openxmlformats.org/drawingml/2006/chart"
D = "http://schemas.openxmlformats.org/drawingml/2006/diagram"
R = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
DRAWN = (
    f'<a:graphic xmlns:a="{A}"><a:graphicData><c:chart xmlns:c="{C}" xmlns:r="{R}" r:id="rIdC"/>'
    f'<d:relIds xmlns:d="{D}" xmlns:r="{R}" r:dm="rIdD"/></a:graphicData></a:graphic>'
)
CHART = (
    f'<c:chartSpace xmlns:c="{C}" xmlns:a="{A}"><c:chart><c:title><c:tx><c:rich><a:p><a:r><a:t>Fruit eaten</a:t></a:r>'
    "</a:p></c:rich></c:tx></c:title><c:ser><c:cat><c:strCache><c:pt><c:v>January</c:v></c:pt></c:strCache></c:cat>"
    "<c:val><c:numCache><c:pt><c:v>4.3</c:v></c:pt></c:numCache></c:val></c:ser></c:chart></c:chartSpace>"
)
DIAGRAM = (
    f'<d:dataModel xmlns:d="{D}" xmlns:a="{A}"><d:pt><d:t><a:p><a:r><a:t>Collect</a:t></a:r></a:p></d:t></d:pt>'
    "<d:pt><d:t><a:p><a:r><a:t>Sort</a:t></a:r></a:p></d:t></d:pt></d:dataModel>"
)


def with_parts(data: bytes, parts: Mapping[str, str]) -> bytes:
    """The archive with parts added, or put in the place of others."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return zipped({**{name: archive.read(name) for name in archive.namelist()}, **parts})


def word(body: str, parts: Mapping[str, str | bytes] | None = None, *targets: tuple[str, str, str]) -> bytes:
    """A Word file from the XML of its body, and further parts."""
    return zipped(
        {
            "_rels/.rels": relations(("rId1", "officeDocument", "word/document.xml")),
            "word/document.xml": f'<w:document xmlns:w="{W}" xmlns:r="{R}"><w:body>{body}</w:body></w:document>',
            "word/_rels/document.xml.rels": relations(*targets),
            **(parts or {}),
        }
    )


def paragraph(words: str, inside: str = "") -> str:
    return f"<w:p><w:r><w:t>{words}</w:t></w:r>{inside}</w:p>"


@pytest.mark.parametrize("chart", [CHART, "<broken"])
def test_charts_and_diagrams_of_a_word_file_are_read_and_broken_ones_cost_no_more_than_themselves(
    parse: Parse, chart: str
) -> None:
    data = word(
        paragraph("See below.", f"<w:r><w:drawing>{DRAWN}</w:drawing></w:r>") + paragraph("After."),
        {"word/charts/chart1.xml": chart, "word/diagrams/data1.xml": DIAGRAM},
        ("rIdC", "chart", "charts/chart1.xml"),
        ("rIdD", "diagramData", "diagrams/data1.xml"),
    )
    drawn = ("Fruit eaten; January\n\n" if chart == CHART else "") + "Collect\n\nSort"
    assert parse(data, "acme/auth/a.docx").text == f"See below.\n\n{drawn}\n\nAfter."


def test_tables_in_notes_and_boxes_in_cells_are_read(parse: Parse) -> None:
    table = f"<w:tbl><w:tr><w:tc>{paragraph('port')}</w:tc><w:tc>{paragraph('3001')}</w:tc></w:tr></w:tbl>"
    box = f"<w:r><w:pict><w:txbxContent>{paragraph('boxed words')}</w:txbxContent></w:pict></w:r>"
    cells = f"<w:tc>{paragraph('key', box)}</w:tc><w:tc>{paragraph('value')}</w:tc>"
    data = word(
        paragraph("Noted", '<w:r><w:footnoteReference w:id="2"/></w:r>')
        + f"<w:tbl><w:tr>{cells}</w:tr><w:tr>{cells}</w:tr></w:tbl>",
        {
            "word/footnotes.xml": f'<w:footnotes xmlns:w="{W}"><w:footnote w:id="2">{paragraph("Defaults:")}{table}'
            "</w:footnote></w:footnotes>"
        },
        ("rIdF", "footnotes", "footnotes.xml"),
    )
    text = parse(data, "acme/auth/a.docx").text
    assert text.startswith("Noted[1]\n\n| key boxed words | value |\n")
    assert text.endswith("[1] Defaults: port 3001")


@pytest.mark.parametrize("content", [None, "<html><body>Words.</body></html>"])
def test_files_inserted_as_a_whole_are_noted(parse: Parse, content: str | None) -> None:
    parts = {} if content is None else {"word/a.html": content}
    data = word(paragraph("Before.") + '<w:altChunk r:id="rIdX"/>', parts, ("rIdX", "aFChunk", "a.html"))
    doc = parse(data, "acme/auth/a.docx")
    assert (doc.text, doc.notes) == ("Before.", ("files inserted as a whole (altChunk) aren't read: 1",))


def test_legal_numbering_shows_the_levels_above_as_decimals(parse: Parse) -> None:
    levels = (
        '<w:lvl w:ilvl="0"><w:numFmt w:val="upperRoman"/><w:lvlText w:val="Article %1."/></w:lvl>'
        '<w:lvl w:ilvl="1"><w:numFmt w:val="decimalZero"/><w:isLgl/><w:lvlText w:val="Section %1.%2"/></w:lvl>'
    )
    numbered = (
        f'<w:p><w:pPr><w:numPr><w:ilvl w:val="{level}"/><w:numId w:val="1"/></w:numPr></w:pPr>'
        f"<w:r><w:t>{words}</w:t></w:r></w:p>"
        for level, words in ((0, "Names"), (1, "Purpose"))
    )
    numbering = (
        f'<w:numbering xmlns:w="{W}"><w:abstractNum w:abstractNumId="0">{levels}</w:abstractNum>'
        '<w:num w:numId="1"><w:abstractNumId w:val="0"/></w:num></w:numbering>'
    )
    data = word("".join(numbered), {"word/numbering.xml": numbering}, ("rIdN", "numbering", "numbering.xml"))
    assert parse(data, "acme/auth/a.docx").text == "Article I. Names\n  Section 1.01 Purpose"


def test_comments_on_slides_are_kept_with_their_authors_and_file_names_of_pictures_are_not(parse: Parse) -> None:
    picture = '<p:pic><p:nvPicPr><p:cNvPr id="9" descr="{}"/></p:nvPicPr></p:pic>'
    data = pptx([shape("Plans", "title") + picture.format("C:\\logo.png") + picture.format("a map of the site")])
    spaces = f'xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main" xmlns:a="{A}"'
    data = with_parts(
        data,
        {
            "ppt/_rels/presentation.xml.rels": relations(
                ("rId1", "slide", "slides/slide1.xml"),
                ("rIdA", "commentAuthors", "commentAuthors.xml"),
                ("rIdB", "authors", "authors.xml"),
            ),
            "ppt/commentAuthors.xml": f'<p:cmAuthorLst {spaces}><p:cmAuthor id="0" name="Eve"/></p:cmAuthorLst>',
            "ppt/authors.xml": f'<p:authorLst {spaces}><p:author id="{{G}}" name="Adam"/></p:authorLst>',
            "ppt/slides/_rels/slide1.xml.rels": relations(
                ("rIdC", "comments", "../comments/comment1.xml"), ("rIdM", "comments", "../comments/modern1.xml")
            ),
            "ppt/comments/comment1.xml": f'<p:cmLst {spaces}><p:cm authorId="0"><p:text>By when?</p:text></p:cm>'
            "</p:cmLst>",
            "ppt/comments/modern1.xml": f'<p:cmLst {spaces}><p:cm authorId="{{G}}"><p:replyLst><p:reply authorId="?">'
            "<p:txBody><a:p><a:r><a:t>In May.</a:t></a:r></a:p></p:txBody></p:reply></p:replyLst><p:txBody><a:p><a:r>"
            "<a:t>Which</a:t></a:r></a:p><a:p><a:r><a:t>site?</a:t></a:r></a:p></p:txBody></p:cm></p:cmLst>",
        },
    )
    assert parse(data, "acme/auth/a.pptx").text == (
        "# Plans\n\na map of the site\n\nComment by Eve: By when?\n\nComment by Adam: Which site?\n\nComment: In May."
    )


def test_shapes_diagrams_and_charts_of_a_sheet_follow_its_rows(parse: Parse) -> None:
    spaces = f'xmlns:x="http://schemas.openxmlformats.org/drawingml/2006/spreadsheetDrawing" xmlns:a="{A}"'
    boxed = "<x:sp><x:txBody><a:p><a:r><a:t>Figures in {}.</a:t></a:r></a:p></x:txBody></x:sp>"
    mc = 'xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006"'
    data = with_parts(
        xlsx({"Sales": '<row><c r="A1"><v>7</v></c></row>'}),
        {
            "xl/worksheets/_rels/sheet1.xml.rels": relations(("rIdW", "drawing", "../drawings/drawing1.xml")),
            "xl/drawings/drawing1.xml": f"<x:wsDr {spaces}>{boxed.format('euros')}<mc:AlternateContent {mc}>"
            f"<mc:Choice>{boxed.format('thousands')}</mc:Choice><mc:Fallback>{boxed.format('thousands')}</mc:Fallback>"
            f"</mc:AlternateContent>{DRAWN}</x:wsDr>",
            "xl/drawings/_rels/drawing1.xml.rels": relations(
                ("rIdC", "chart", "../charts/chart1.xml"), ("rIdD", "diagramData", "../diagrams/data1.xml")
            ),
            "xl/charts/chart1.xml": CHART,
            "xl/diagrams/data1.xml": DIAGRAM,
        },
    )
    text = parse(data, "acme/auth/a.xlsx").text
    assert text.endswith("Figures in euros.\n\nFigures in thousands.\n\nFruit eaten; January\n\nCollect\n\nSort")


def test_an_open_document_keeps_its_bibliography_and_the_words_in_shapes_apart(parse: Parse) -> None:
    body = (
        "<text:p>See<draw:rect><text:p>a box</text:p><text:p>of two lines</text:p></draw:rect>.</text:p>"
        "<text:table-of-content><text:index-body><text:p>See 1</text:p></text:index-body></text:table-of-content>"
        "<text:bibliography><text:index-body><text:p>Nagy: XY-cuts, 1984</text:p></text:index-body></text:bibliography>"
    )
    assert parse(odt(body), "acme/auth/a.odt").text == "See a box of two lines .\n\nNagy: XY-cuts, 1984"


def test_a_locked_open_document_says_so(parse: Parse) -> None:
    space = "urn:oasis:names:tc:opendocument:xmlns:manifest:1.0"
    manifest = (
        f'<m:manifest xmlns:m="{space}"><m:file-entry m:full-path="content.xml"><m:encryption-data/></m:file-entry>'
        "</m:manifest>"
    )
    data = with_parts(odt(""), {"content.xml": "\x9f\x01 not XML", "META-INF/manifest.xml": manifest})
    with pytest.raises(SourceError, match="password") as refused:
        parse(data, "acme/auth/a.odt")
    assert refused.value.reason == "encrypted"
