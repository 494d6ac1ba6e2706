"""Documents that mean no good: made by hand, and made by chance.

`by_hand` are the known ways to make a parser blow up; `by_chance` draws bytes for a format: noise, pieces of its own
syntax in any order, and good files with something cut, doubled or overwritten.
"""

from __future__ import annotations

import io
import json
import time
import zipfile
from collections.abc import Iterator

from hypothesis import strategies as st

from librarian.models import ReadResult, SourceFile
from librarian.parsing.reader import FileReader

_W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
_TYPES = "http://schemas.openxmlformats.org/package/2006/content-types"
_RELATIONS = "http://schemas.openxmlformats.org/package/2006/relationships"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_MAIN = "application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"

# fmt: off
PIECES = (
    "# ", "## x\n", "\n\n", "> ", "- ", "1. ", "```", "~~~", "|a|b|\n|-|-|\n", "---\n", "...\n", "***", "===\n",
    "\t", "[x](", "](", "![", "[[", "]]", "<div>", "</div>", "<!--", "-->", "<![CDATA[", "]]>", "&amp;", "&#x0;",
    "&#xD800;", "{{<", ">}}", "{{%", "import x from 'y'\n", "<A b={", "$$", "`", "\\", "\u0000", "\ufeff",
    "\u202e", "\u2066", "\ud7ff", "From: a@b\n", "Content-Type: multipart/mixed; boundary=x\n", "\n--x\n",
    "--x--\n", "=?utf-8?b?", "?=", "=\n", "=00", "Message-ID: <", "References: ", "Date: 99 Foo\n",
    "Subject: a\r\n b\n", "begin 644 x\n", "> On wrote:\n", "{\"a\":", "[1,", "null", "\"\\ud800\"", "1e999", "}",
    "]", "a: &a [*a]\n", "a: !!python/object:os.system\n", "? :\n", "- - -", "{\\rtf1 ", "\\bin99999 ", "\\u-1?",
    "\\'ff", "{\\*\\", "}", "\\par ", "%PDF-1.7\n", "1 0 obj<<", "/Kids[1 0 R]", ">>", "stream\n", "= Title\n",
    "====\n", "include::/etc/passwd[]\n", "ifdef::x[]\n", ".. include:: /etc/passwd\n", "a,b;c\td\n", "\"", "\r",
    "\u001a", "é", "ß", "\u6f22\u5b57", "👩\u200d👩", "a\u0301" * 40,
    "\u200b", "\u2028", "x" * 500, "word " * 50,
)
# fmt: on


def zipped(**parts: str | bytes) -> bytes:
    """A zip archive; `__` in a name is a slash, `_D_` a dot."""
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(name.replace("__", "/").replace("_D_", "."), content)
    return held.getvalue()


def word(body: str, prolog: str = "") -> bytes:
    """A Word document around the XML of its body."""
    return zipped(
        **{
            "[Content_Types]_D_xml": f'<Types xmlns="{_TYPES}"><Default Extension="rels" ContentType='
            '"application/vnd.openxmlformats-package.relationships+xml"/><Default Extension="xml" ContentType='
            f'"application/xml"/><Override PartName="/word/document.xml" ContentType="{_MAIN}"/></Types>',
            "_rels___D_rels": f'<Relationships xmlns="{_RELATIONS}"><Relationship Id="r1" '
            f'Type="{_OFFICE}/officeDocument" Target="word/document.xml"/></Relationships>',
            "word__document_D_xml": f"<?xml version='1.0'?>{prolog}<w:document {_W}><w:body>{body}</w:body>"
            "</w:document>",
        }
    )


GOOD: dict[str, bytes] = {
    ".docx": word("<w:p><w:r><w:t>Hello there</w:t></w:r></w:p><w:tbl><w:tr><w:tc><w:p/></w:tc></w:tr></w:tbl>"),
    ".eml": b"From: a@b.c\nTo: d@e.f\nSubject: Hi\nDate: Mon, 02 Mar 2026 10:00:00 +0100\nMIME-Version: 1.0\n"
    b'Content-Type: multipart/mixed; boundary="x"\n\n--x\nContent-Type: text/html\n\n<p>Hi</p>\n--x--\n',
    ".ipynb": json.dumps(
        {"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [{"cell_type": "markdown", "source": ["# A"]}]}
    ).encode(),
    ".md": b"---\ntitle: T\ntags: [a]\n---\n# T\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n```py\nx\n```\n",
    ".html": b"<html><head><title>T</title></head><body><h1>T</h1><table><tr><td>1</table><pre>x</pre></body></html>",
    ".json": b'{"openapi": "3.0.0", "info": {"title": "T"}, "paths": {"/a": {"get": {"summary": "x"}}}}',
    ".rtf": b"{\\rtf1\\ansi{\\fonttbl\\f0 A;}\\f0 Hello \\b bold\\b0 \\u8364? there\\par}",
    ".pdf": b"%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj\n"
    b"3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]>>endobj\ntrailer<</Root 1 0 R>>\n%%EOF\n",
}
_ALIKE = {".docm": ".docx", ".htm": ".html", ".xhtml": ".html", ".yaml": ".json", ".yml": ".json"}


@st.composite
def by_chance(draw: st.DrawFn, extension: str) -> bytes:
    """Bytes for a file of that extension."""
    kind = draw(st.sampled_from(("noise", "pieces", "spoilt")))
    if kind == "noise":
        return draw(st.binary(max_size=400))
    pieces = "".join(draw(st.lists(st.sampled_from(PIECES), max_size=40)))
    if kind == "pieces":
        if extension == ".docx":
            return word(pieces)
        return pieces.encode("utf-8", "surrogatepass")
    good = bytearray(GOOD.get(_ALIKE.get(extension, extension), pieces.encode("utf-8", "surrogatepass")))
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(good)))
        to = min(len(good), at + draw(st.integers(0, 30)))
        good[at:to] = draw(
            st.sampled_from(
                (b"", b"\x00", b"\xff\xfe", bytes(good[at:to]) * 3, pieces[:60].encode("utf-8", "surrogatepass"))
            )
        )
    return bytes(good)


def by_hand(scale: float = 1.0) -> Iterator[tuple[str, bytes]]:
    """(name, content) of the classics, each below the size limit; with a smaller `scale` the same in small."""

    def times(number: int) -> int:
        return max(1, int(number * scale))

    many = times(100_000)
    yield "quotes.md", b">" * many
    yield "lists.md", b"".join(b" " * n + b"- a\n" for n in range(times(2_000)))
    yield "brackets.md", b"[" * many
    yield "links.md", b"[a](" * times(30_000)
    yield "stars.md", b"*a _b " * times(30_000)
    yield "backticks.md", b"".join(b"`" * n + b" " for n in range(times(1_500)))
    yield "tables.md", b"|" * many + b"\n" + b"|-" * times(50_000) + b"\n"
    yield "fences.md", b"```\n" * many
    yield "headings.md", b"# a\n" * times(50_000)
    yield "shortcodes.md", b"{{< tab " * times(30_000)
    yield "mdx.mdx", b"<A b={" * times(30_000)
    yield "one_line.md", b"word " * times(1_600_000)
    yield "no_space.txt", b"x" * times(8_000_000)
    yield "dotted.txt", b"a." * times(2_000_000)
    yield "nul.md", b"\x00" * times(1_000_000)
    yield "nul_inside.md", b"# Title\n\nBefore \x00\x00 after.\n"
    yield "invalid.md", b"# Caf\xe9 \xff\xfe \xc0\x80 \xed\xa0\x80\n" * 100
    yield "overrides.md", "# \u202egnp.exe\u202c\n\nRead \u2066this\u2069 \u202ebackwards\u202c.\n".encode()
    yield (
        "bomb.md",
        b"---\na: &a [x,x,x,x,x,x,x,x,x]\n"
        + b"".join(b"%c: &%c [%b]\n" % (98 + n, 98 + n, b",".join([b"*%c" % (97 + n)] * 9)) for n in range(9))
        + b"title: *j\n---\n# Text\n",
    )
    yield (
        "bomb.yaml",
        b"openapi: 3.0.0\npaths: &a [x,x,x,x,x,x,x,x,x]\n"
        + b"".join(b"%c: &%c [%b]\n" % (98 + n, 98 + n, b",".join([b"*%c" % (97 + n)] * 9)) for n in range(9)),
    )
    yield "deep.md", b"---\ntags: " + b"[" * times(5_000) + b"\n---\n# Text\n"
    yield "deep.json", b"[" * many
    yield "deep.yaml", b"- " * times(20_000)
    yield "numbers.json", b"[" + b"9" * times(1_000_000) + b"]"
    yield "wide.csv", b"," * times(1_000_000) + b"\n" + b"," * times(1_000_000)
    yield "quoted.csv", b'"' * times(1_000_001)
    yield "divs.html", b"<div>" * many
    yield "attributes.html", b"<a " + b"b=c " * many + b">"
    yield "comments.html", b"<!--" * many
    yield "tables.html", b"<table><tr><td>" * times(5_000)
    yield "groups.rtf", b"{\\rtf1" + b"{" * times(500_000)
    yield "cells.ipynb", b'{"nbformat": 4, "cells": ' + b"[" * times(50_000)
    yield "kids.pdf", GOOD[".pdf"].replace(b"[3 0 R]", b"[2 0 R 2 0 R]")
    boundaries = b"".join(
        b'Content-Type: multipart/mixed; boundary="b%d"\n\n--b%d\n' % (n, n) for n in range(times(3_000))
    )
    yield "nested.eml", b"From: a@b.c\nSubject: Nested\nMIME-Version: 1.0\n" + boundaries + b"\nText\n"
    yield "messages.eml", b"From: a@b.c\nContent-Type: message/rfc822\n\n" * times(3_000)
    yield "references.eml", b"From: a@b.c\nReferences: " + b"<a@b> " * times(100_000) + b"\n\nText\n"
    yield "encoded.eml", b"Subject: " + b"=?utf-8?b?YQ==?= " * times(50_000) + b"\n\nText\n"
    yield "from.eml", b"From: " + b"(" * times(100_000) + b"\n\nText\n"
    yield "quoted.eml", b"From: a@b.c\n\n" + b"".join(b">" * (n % 100) + b" a\n" for n in range(times(20_000)))
    yield "zeros.docx", word(f"<w:p><w:r><w:t>{'0' * 300_000_000}</w:t></w:r></w:p>")
    yield "entities.docx", word("<w:p><w:r><w:t>&j;</w:t></w:r></w:p>", _laughs())
    yield "paragraphs.docx", word("<w:p/>" * times(500_000))
    yield "depth.docx", word("<w:tbl><w:tr><w:tc>" * times(20_000))
    yield "many.docx", zipped(**{f"word__{n}_D_xml": "x" for n in range(times(20_000))})
    yield "itself.docx", zipped(**{"..__..__etc__passwd": "x", "word__document_D_xml": "<x/>"})


#: Families of formats, each with the places of `repeats` that belong to it.
FAMILIES: dict[str, tuple[str, ...]] = {
    "mail": ("mail", "mbox", "emlx"),
    "markup": ("markdown", "mdx", "asciidoc", "rst", "html", "text"),
    "data": ("json", "yaml", "openapi", "notebook", "csv", "tsv"),
    "office": ("word", "odt", "epub", "rtf"),
    "pdf": ("pdf",),
}


def hostile_files(family: str, number: int, size: int) -> Iterator[tuple[str, bytes]]:
    """`number` files of a family's formats, each of some string repeated in some place; every tenth is damaged."""
    from tests.reliability.repeats import PATTERNS, PLACES, file_of  # which needs `zipped`

    places = [name for name in PLACES if name.split(" ")[0] in FAMILIES[family]]
    for count in range(number):
        place, pattern = places[count % len(places)], PATTERNS[count * 7 % len(PATTERNS)]
        content = file_of(place, pattern, size)
        if count % 10 == 9:
            content = content[: len(content) // 2] + b"\0\xff" + content[len(content) // 2 + 40 :]
        yield f"{count:03}{PLACES[place][0]}", content


class Slow(FileReader):
    """Needs longer for some files than a first try gives them."""

    def read(self, source: SourceFile) -> ReadResult:
        until = time.process_time() + 0.8
        while "slow" in source.file_path and time.process_time() < until:
            pass
        return super().read(source)


def _laughs() -> str:
    lines = "".join(f'<!ENTITY {chr(98 + n)} "{f"&{chr(97 + n)};" * 10}">' for n in range(9))
    return f'<!DOCTYPE x [<!ENTITY a "ha">{lines}<!ENTITY f SYSTEM "file:///etc/passwd">]>'
