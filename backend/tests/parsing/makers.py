"""Small files of each format, made by hand, so that nothing has to be kept in the repository."""

from __future__ import annotations

import io
import struct
import zipfile
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from itertools import pairwise

Run = tuple[float, float, float, int, str]  #: x, y (from below), size, font (1 plain, 2 bold, 3 typewriter), words


def zipped(parts: Mapping[str, str | bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def pdf(
    pages: Sequence[Sequence[Run]],
    outline: Sequence[tuple[str, int]] = (),
    trailer: bytes = b"",
    *,
    annotations: bytes = b"",
    characters: bytes = b"",
    name: str = "",
) -> bytes:
    """Pages of 612 × 792 points in Helvetica; `outline` names pages from 0.

    `annotations` stand on every page; `characters` maps those of Courier and of the bold font to Unicode, as in
    `<41> <0042>`; `name` is the title in the file's properties.
    """
    objects: list[bytes] = []

    def add(content: bytes) -> int:
        objects.append(content)
        return len(objects)

    mapping = b"begincmap 1 begincodespacerange <00> <FF> endcodespacerange %d beginbfchar %s endbfchar endcmap" % (
        len(characters.split()) // 2,
        characters,
    )
    mapped = b"/ToUnicode %d 0 R" % add(b"<</Length %d>>stream\n%s\nendstream" % (len(mapping), mapping))
    fonts = [
        add(b"<</Type/Font/Subtype/Type1/BaseFont/%s/Encoding/WinAnsiEncoding%s>>" % (name, to_unicode))
        for name, to_unicode in (
            (b"Helvetica", b""),
            (b"Helvetica-Bold", mapped if characters else b""),
            (b"Courier", mapped if characters else b""),
        )
    ]
    used = b" ".join(b"/F%d %d 0 R" % (place, number) for place, number in enumerate(fonts, 1))
    tree = add(b"")
    kids: list[int] = []
    for page in pages:
        stream = b"".join(
            b"BT /F%d %g Tf %g %g Td (%s) Tj ET\n" % (font, size, x, y, _escaped(words))
            for x, y, size, font, words in page
        )
        content = add(b"<</Length %d>>stream\n%s\nendstream" % (len(stream), stream))
        kids.append(
            add(
                b"<</Type/Page/Parent %d 0 R/MediaBox[0 0 612 792]/Resources<</Font<<%s>>>>/Contents %d 0 R%s>>"
                % (tree, used, content, b"/Annots[%s]" % annotations)
            )
        )
    objects[tree - 1] = b"<</Type/Pages/Count %d/Kids[%s]>>" % (len(kids), b" ".join(b"%d 0 R" % kid for kid in kids))
    root = b""
    if outline:
        head = add(b"")
        marks = [head + 1 + place for place in range(len(outline))]
        for place, (title, page_number) in enumerate(outline):
            following = b"/Next %d 0 R" % marks[place + 1] if place + 1 < len(marks) else b""
            add(
                b"<</Title(%s)/Parent %d 0 R/Dest[%d 0 R/XYZ 0 700 0]%s>>"
                % (_escaped(title), head, kids[page_number], following)
            )
        objects[head - 1] = b"<</Type/Outlines/First %d 0 R/Last %d 0 R/Count %d>>" % (marks[0], marks[-1], len(marks))
        root = b"/Outlines %d 0 R" % head
    catalog = add(b"<</Type/Catalog/Pages %d 0 R%s>>" % (tree, root))
    if name:
        trailer += b"/Info %d 0 R" % add(b"<</Title(%s)>>" % _escaped(name))
    data, offsets = b"%PDF-1.4\n", []
    for number, content in enumerate(objects, 1):
        offsets.append(len(data))
        data += b"%d 0 obj\n%s\nendobj\n" % (number, content)
    table = b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    return data + (
        b"xref\n0 %d\n0000000000 65535 f \n%strailer<</Size %d/Root %d 0 R%s>>\nstartxref\n%d\n%%%%EOF\n"
        % (len(objects) + 1, table, len(objects) + 1, catalog, trailer, len(data))
    )


def _escaped(words: str) -> bytes:
    data = words.encode("cp1252")
    return data.replace(b"\\", b"\\\\").replace(b"(", b"\\(").replace(b")", b"\\)")


_RELATIONS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"


def relations(*targets: tuple[str, str, str]) -> str:
    """A part of relations from (id, kind, target)."""
    inner = "".join(
        f'<Relationship Id="{key}" Type="{_RELATIONS}/{kind}" Target="{target}"'
        + (' TargetMode="External"/>' if "://" in target else "/>")
        for key, kind, target in targets
    )
    return (
        f'<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">{inner}</Relationships>'
    )


def xlsx(sheets: Mapping[str, str], strings: Sequence[str] = (), *, formats: str = "") -> bytes:
    """A workbook from sheet names and the XML of their rows; `strings` are the shared ones."""
    main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    listed = "".join(f'<sheet name="{name}" sheetId="{n}" r:id="rId{n}"/>' for n, name in enumerate(sheets, 1))
    parts: dict[str, str | bytes] = {
        "_rels/.rels": relations(("rId1", "officeDocument", "xl/workbook.xml")),
        "xl/workbook.xml": f'<workbook xmlns="{main}" xmlns:r="{_RELATIONS}"><sheets>{listed}</sheets></workbook>',
        "xl/_rels/workbook.xml.rels": relations(
            *((f"rId{n}", "worksheet", f"worksheets/sheet{n}.xml") for n in range(1, len(sheets) + 1)),
            ("rIdS", "sharedStrings", "sharedStrings.xml"),
            ("rIdF", "styles", "styles.xml"),
        ),
        "xl/sharedStrings.xml": f'<sst xmlns="{main}">{"".join(f"<si><t>{s}</t></si>" for s in strings)}</sst>',
        "xl/styles.xml": f'<styleSheet xmlns="{main}">{formats}</styleSheet>',
    }
    for n, rows in enumerate(sheets.values(), 1):
        parts[f"xl/worksheets/sheet{n}.xml"] = f'<worksheet xmlns="{main}"><sheetData>{rows}</sheetData></worksheet>'
    return zipped(parts)


def ods(name: str, rows: str) -> bytes:
    """A sheet of OpenDocument's from the XML of its rows."""
    office = "urn:oasis:names:tc:opendocument:xmlns"
    spaces = " ".join(f'xmlns:{space}="{office}:{space}:1.0"' for space in ("office", "table", "text"))
    kind = "application/vnd.oasis.opendocument.spreadsheet"
    return zipped(
        {
            "mimetype": kind,
            "META-INF/manifest.xml": f'<m:manifest xmlns:m="{office}:manifest:1.0"><m:file-entry m:full-path="/" '
            f'm:media-type="{kind}"/></m:manifest>',
            "content.xml": f"<office:document-content {spaces}><office:body><office:spreadsheet>"
            f'<table:table table:name="{name}">{rows}</table:table></office:spreadsheet></office:body>'
            "</office:document-content>",
        }
    )


def xls(name: str, words: str) -> bytes:
    """A workbook of before 2007 ([MS-XLS]) with one word in its first cell."""

    def record(kind: int, content: bytes) -> bytes:
        return struct.pack("<HH", kind, len(content)) + content

    def text(words: str, length: str) -> bytes:
        return struct.pack(f"<{length}B", len(words), 1) + words.encode("utf-16-le")

    end = record(0x0A, b"")
    book = record(0x0809, struct.pack("<HHHHII", 0x0600, 5, 0, 1997, 0, 0))
    sheet = record(0x0809, struct.pack("<HHHHII", 0x0600, 0x10, 0, 1997, 0, 0))
    sheet += record(0x0204, struct.pack("<HHH", 0, 0, 0) + text(words, "H")) + end
    bound = text(name, "B")
    place = len(book) + 4 + 6 + len(bound) + len(end)
    return compound({"Workbook": book + record(0x85, struct.pack("<IBB", place, 0, 0) + bound) + end + sheet})


def xlsb(name: str, words: str) -> bytes:
    """A binary workbook ([MS-XLSB]) with one word in its first cell."""

    def record(kind: int, content: bytes = b"") -> bytes:
        return (bytes([kind, 1]) if kind > 127 else bytes([kind])) + bytes([len(content)]) + content

    def text(words: str) -> bytes:
        return struct.pack("<I", len(words)) + words.encode("utf-16-le")

    listed = record(0x9C, struct.pack("<II", 0, 1) + text("rId1") + text(name))
    cell = record(0, struct.pack("<IIHBBI", 0, 0, 300, 0, 0, 0)) + record(6, struct.pack("<II", 0, 0) + text(words))
    rows = record(0x94, bytes(16)) + record(0x91) + cell + record(0x92)
    return zipped(
        {
            "_rels/.rels": relations(("rId1", "officeDocument", "xl/workbook.bin")),
            "xl/workbook.bin": record(0x83) + record(0x8F) + listed + record(0x90) + record(0x84),
            "xl/_rels/workbook.bin.rels": relations(("rId1", "worksheet", "worksheets/sheet1.bin")),
            "xl/worksheets/sheet1.bin": record(0x81) + rows + record(0x82),
        }
    )


def pptx(slides: Sequence[str], notes: Mapping[int, str] | None = None) -> bytes:
    """A presentation from the XML of each slide's shapes, and notes by slide (from 1)."""
    spaces = (
        'xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main" '
        f'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main" xmlns:r="{_RELATIONS}"'
    )
    listed = "".join(f'<p:sldId id="{255 + n}" r:id="rId{n}"/>' for n in range(1, len(slides) + 1))
    parts: dict[str, str | bytes] = {
        "_rels/.rels": relations(("rId1", "officeDocument", "ppt/presentation.xml")),
        "ppt/presentation.xml": f"<p:presentation {spaces}><p:sldIdLst>{listed}</p:sldIdLst></p:presentation>",
        "ppt/_rels/presentation.xml.rels": relations(
            *((f"rId{n}", "slide", f"slides/slide{n}.xml") for n in range(1, len(slides) + 1))
        ),
    }
    for n, shapes in enumerate(slides, 1):
        parts[f"ppt/slides/slide{n}.xml"] = f"<p:sld {spaces}><p:cSld><p:spTree>{shapes}</p:spTree></p:cSld></p:sld>"
        links = [("rIdL", "hyperlink", "https://example.org/more")]
        if notes and n in notes:
            links.append(("rIdN", "notesSlide", f"../notesSlides/notesSlide{n}.xml"))
            parts[f"ppt/notesSlides/notesSlide{n}.xml"] = (
                f"<p:notes {spaces}><p:cSld><p:spTree>{shape(notes[n], 'body')}</p:spTree></p:cSld></p:notes>"
            )
        parts[f"ppt/slides/_rels/slide{n}.xml.rels"] = relations(*links)
    return zipped(parts)


def shape(words: str, placeholder: str = "", level: int = 0) -> str:
    """A shape with a paragraph per line."""
    place = f'<p:ph type="{placeholder}"/>' if placeholder else ""
    lines = "".join(f'<a:p><a:pPr lvl="{level}"/><a:r><a:t>{line}</a:t></a:r></a:p>' for line in words.split("\n"))
    return (
        f'<p:sp><p:nvSpPr><p:cNvPr id="1" name="x"/><p:cNvSpPr/><p:nvPr>{place}</p:nvPr></p:nvSpPr>'
        f"<p:txBody>{lines}</p:txBody></p:sp>"
    )


def odt(body: str, styles: str = "") -> bytes:
    """A text from the XML of its body."""
    office = "urn:oasis:names:tc:opendocument:xmlns"
    spaces = " ".join(
        f'xmlns:{name}="{office}:{name if name != "fo" else "xsl-fo-compatible"}:1.0"'
        for name in ("office", "text", "table", "style", "draw", "fo")
    )
    spaces += ' xmlns:xlink="http://www.w3.org/1999/xlink" xmlns:dc="http://purl.org/dc/elements/1.1/"'
    return zipped(
        {
            "mimetype": "application/vnd.oasis.opendocument.text",
            "content.xml": f"<office:document-content {spaces}><office:automatic-styles>{styles}"
            f"</office:automatic-styles><office:body><office:text>{body}</office:text></office:body>"
            "</office:document-content>",
        }
    )


def epub(chapters: Mapping[str, str], title: str = "The book") -> bytes:
    """A book from file names and the HTML of their bodies."""
    items = "".join(
        f'<item id="c{n}" href="{name}" media-type="application/xhtml+xml"/>' for n, name in enumerate(chapters)
    )
    spine = "".join(f'<itemref idref="c{n}"/>' for n in range(len(chapters)))
    parts: dict[str, str | bytes] = {
        "mimetype": "application/epub+zip",
        "META-INF/container.xml": '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
        '<rootfile full-path="OPS/book.opf"/></rootfiles></container>',
        "OPS/book.opf": '<package xmlns="http://www.idpf.org/2007/opf"><metadata '
        f'xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>{title}</dc:title><dc:subject>fables</dc:subject>'
        f"</metadata><manifest>{items}</manifest><spine>{spine}</spine></package>",
    }
    for name, body in chapters.items():
        parts[f"OPS/{name}"] = (
            '<?xml version="1.0" encoding="utf-8"?><html xmlns="http://www.w3.org/1999/xhtml"><head><title>no</title>'
            f"</head><body>{body}</body></html>"
        )
    return zipped(parts)


Tree = Mapping[str, "bytes | Tree"]


def compound(tree: Tree) -> bytes:
    """A compound file ([MS-CFB], sectors of 512 bytes) of streams and storages by name."""
    none, last = 0xFFFFFFFF, 0xFFFFFFFE
    entries: list[list[int | bytes]] = []
    small, small_table, big = b"", [], []

    def entry(name: str, kind: int, start: int, size: int) -> int:
        spelt = (name + "\0").encode("utf-16-le")
        entries.append([spelt.ljust(64, b"\0"), len(spelt), kind, 1, none, none, none, start, size])
        return len(entries) - 1

    def fill(tree: Tree) -> int:
        """The entries of a storage as a list, which a tree may be; its first one."""
        nonlocal small
        numbers = []
        for name, content in tree.items():
            if not isinstance(content, bytes):
                number = entry(name, 1, 0, 0)
                entries[number][6] = fill(content)
            elif len(content) < 4096:
                number = entry(name, 2, len(small_table) if content else last, len(content))
                count = -(-len(content) // 64)
                small_table.extend([*range(len(small_table) + 1, len(small_table) + count), last][:count])
                small += content.ljust(count * 64, b"\0")
            else:
                number = entry(name, 2, -1 - len(big), len(content))
                big.append(content)
            numbers.append(number)
        for number, following in pairwise(numbers):
            entries[number][5] = following
        return numbers[0] if numbers else none

    root = entry("Root Entry", 5, last, 0)
    entries[root][6] = fill(tree)
    sectors: list[bytes] = []
    table: list[int] = []

    def laid(data: bytes) -> int:
        first = len(table)
        count = -(-len(data) // 512)
        table.extend([*range(first + 1, first + count), last][:count])
        sectors.append(data.ljust(count * 512, b"\0"))
        return first if count else last

    firsts = [laid(content) for content in big]
    for one in entries:
        if isinstance(one[7], int) and one[7] < 0:
            one[7] = firsts[-1 - one[7]]
    entries[root][7:] = [laid(small), len(small)]
    small_first = laid(struct.pack(f"<{len(small_table)}I", *small_table) if small_table else b"")
    directory = laid(b"".join(struct.pack("<64sHBBIII36xIIxxxx", *one) for one in entries))
    count = -(-(len(table) + 1) // 127)
    tables = range(len(table), len(table) + count)
    table += [0xFFFFFFFD] * count
    table += [none] * (-len(table) % 128)
    header = struct.pack(
        "<8s16xHHHHHHIIIIIIIIII",
        b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", 0x3E, 3, 0xFFFE, 9, 6, 0, 0, 0, count, directory, 0, 4096, small_first,
        -(-len(small_table) // 128), last, 0,
    )  # fmt: skip
    places = [*tables, *[none] * (109 - count)]
    return header + struct.pack("<109I", *places) + b"".join(sectors) + struct.pack(f"<{len(table)}I", *table)


Property = str | bytes | int | datetime


def item(
    properties: Mapping[int, Property],
    recipients: Sequence[Mapping[int, Property]] = (),
    attachments: Sequence[Tree] = (),
    *,
    narrow: str = "",
    inside: bool = False,
) -> Tree:
    """What a storage of Outlook's holds; `narrow` is the code page of its texts, which are UTF-16 without one."""
    header = 24 if inside else 32
    made: dict[str, bytes | Tree] = dict(_properties(properties, header, narrow))
    for place, one in enumerate(recipients):
        made[f"__recip_version1.0_#{place:08X}"] = _properties(one, 8, narrow)
    for place, attached in enumerate(attachments):
        made[f"__attach_version1.0_#{place:08X}"] = attached
    return made


def attachment(properties: Mapping[int, Property], inner: Tree | None = None) -> Tree:
    """A file, or an item, that hangs on an item."""
    made: dict[str, bytes | Tree] = dict(_properties(properties, 8, ""))
    if inner is not None:
        made["__substg1.0_3701000D"] = inner
    return made


def _properties(properties: Mapping[int, Property], header: int, narrow: str) -> dict[str, bytes]:
    listed, streams = b"\0" * header, {}
    for number, value in properties.items():
        if isinstance(value, datetime):
            ticks = int((value - datetime(1601, 1, 1, tzinfo=UTC)).total_seconds()) * 10_000_000
            listed += struct.pack("<HHIQ", 0x0040, number, 6, ticks)
            continue
        if isinstance(value, int):
            listed += struct.pack("<HHIQ", 0x0003, number, 6, value)
            continue
        kind = 0x0102 if isinstance(value, bytes) else 0x001E if narrow else 0x001F
        data = value if isinstance(value, bytes) else value.encode(narrow or "utf-16-le")
        listed += struct.pack("<HHIQ", kind, number, 6, len(data))
        streams[f"__substg1.0_{number:04X}{kind:04X}"] = data
    return {"__properties_version1.0": listed, **streams}
