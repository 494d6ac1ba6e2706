"""Files of one short string repeated, in every place where a format may hold it: what makes a slow parser slow.

A place is a function that puts a text into a file of its format: into the body, a header, a parameter, a cell. Cost
must grow with the size of a file, not with its square, whatever is repeated.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable

from tests.reliability.hostile import word, zipped

Place = Callable[[str], bytes]

#: Single characters and short strings that some syntax begins, ends or separates something with.
PATTERNS: tuple[str, ...] = (
    *' >-[]*<_|=#(`"\'\\~:;,.@/{}&!+^$%?)',
    '\t', '\r', '\n', 'a', '漢', 'a ', 'a\n', ' \n', '\r\n', 'a:\n', 'a: ', ':a:', '> ', '- ', '- a\n', '# a\n',
    '[a](', '[a]', '![', '<a ', '<a>', '</', '<!--', '<p>', '<table><tr><td>', '<script>', '&amp;', '&#', '{{<',
    '{%', '{a}', 'http://', 'mailto:', 'a@', 'a@a', 'a.', 'a-', 'a_', 'a/', 'a::', 'On a wrote:\n', 'From: a\n',
    '-----\n', '> a\n', '<a@b> ', '=?', '=?a?q?b?= ', '=?utf-8?b?YQ==?=', '=\n', '"a" ', '"a', '(a) ', 'a=b;', '```',
    '```\n', '*a _b ', '__a', '$$', '\\a{', '| a ', '|a\n', '+--+\n', '"",', '[1,', '{"a":', '- - ', 'a: &a\n',
    '.. a::\n', '`a`_ ', 'image::a[', ',a=', 'link:a[', '++', '<A b={', '{\\a ', "\\'ff", '\\cell ', '/**\n',
    'begin 644 a\n', 'AAAA\n', '    a\n', '@@ -1 +1 @@\n', 'aA1', '10:00 ', 'from a <b> ', '[was:', 'Re: ', '\\r',
    "\n--x\n\n",
)  # fmt: skip


def _head(before: str, after: str = " x\n\nText\n") -> Place:
    return lambda text: f"{before}{_folded(text)}{after}".encode()


def _folded(text: str) -> str:
    """What stays inside a header."""
    return text.replace("\r\n", " ").replace("\n", "\n ").replace("\r", " ")


def _around(before: str, after: str = " x\n") -> Place:
    return lambda text: f"{before}{text}{after}".encode()


def _xml(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("\r", "&#13;")


_A = "From: a@example.org\nSubject: A\n"
_MIXED = 'MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary="x"\n\n--x\n'


def _line(text: str) -> str:
    return " ".join(text.split("\n"))


def _open_api(text: str) -> bytes:
    operation = {"summary": text, "description": text, "parameters": [{"name": text, "in": "query", "schema": {}}]}
    info = {"title": text, "description": text}
    return json.dumps({"openapi": "3.0.0", "info": info, "paths": {f"/{text}": {"get": operation}}}).encode()


def _notebook(text: str) -> bytes:
    cells = [{"cell_type": "markdown", "metadata": {}, "source": [text]},
             {"cell_type": "code", "metadata": {}, "source": text, "outputs": []}]  # fmt: skip
    return json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": cells}).encode()


def _word(text: str) -> bytes:
    return word(f"<w:p><w:r><w:t xml:space='preserve'>{_xml(text)}</w:t></w:r></w:p>")


_ODF = "urn:oasis:names:tc:opendocument:xmlns"


def _odt(text: str) -> bytes:
    return zipped(
        mimetype="application/vnd.oasis.opendocument.text",
        content_D_xml=f'<office:document-content xmlns:office="{_ODF}:office:1.0" xmlns:text="{_ODF}:text:1.0">'
        f"<office:body><office:text><text:p>{_xml(text)}</text:p></office:text></office:body>"
        "</office:document-content>",
    )


def _epub(text: str) -> bytes:
    return zipped(
        **{
            "META-INF__container_D_xml": '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container">'
            '<rootfiles><rootfile full-path="a.opf" media-type="application/oebps-package+xml"/></rootfiles>'
            "</container>",
            "a_D_opf": '<package xmlns="http://www.idpf.org/2007/opf"><manifest><item id="a" href="a.xhtml" '
            'media-type="application/xhtml+xml"/></manifest><spine><itemref idref="a"/></spine></package>',
            "a_D_xhtml": f"<html><body><p>{text}</p></body></html>",
        }
    )


#: Name → (extension, the place). Each extension's parser is met by one place at least.
PLACES: dict[str, tuple[str, Place]] = {
    "text": (".txt", _around("")),
    "rst": (".rst", _around("Title\n=====\n\n")),
    "rst title": (".rst", lambda text: f".. _b: http://b\n\n{_line(text)}x\n{'=' * len(text)}==\n".encode()),
    "rst target": (".rst", _around(".. _a", ": http://b\n\nText b_\n")),
    "rst picture": (".rst", _around(".. image:: a\n   :alt: ")),
    "rst directive": (".rst", _around(".. note::\n\n   ")),
    "markdown": (".md", _around("")),
    "markdown front matter": (".md", _around("---\ntitle: a\n", "\n---\n# A\n")),
    "markdown front matter value": (".md", lambda text: f'---\ntitle: "{text}\n---\n# A\n'.encode()),
    "markdown front matter toml": (".md", _around('+++\ntitle = "a"\n', "\n+++\n# A\n")),
    "markdown list": (".md", _around("- a\n\n  ")),
    "markdown cell": (".md", _around("| a | b |\n|---|---|\n| ")),
    "markdown heading": (".md", lambda text: f"# {text.replace(chr(10), ' ')}\n\nText\n".encode()),
    "markdown link": (".md", _around("[a](", ")\n")),
    "markdown quote": (".md", lambda text: f"> {text}".replace("\n", "\n> ").encode()),
    "markdown code": (".md", _around("```\n", "\n```\n")),
    "markdown note": (".md", _around("Text[^a]\n\n[^a]: ")),
    "markdown tag": (".md", _around("<div>", "</div>\n")),
    "mdx": (".mdx", _around("import A from 'a'\n\n")),
    "asciidoc": (".adoc", _around("= Title\n\n")),
    "asciidoc title": (".adoc", lambda text: f"= {_line(text)} x\n\nText\n".encode()),
    "asciidoc link": (".adoc", _around("= Title\n\nlink:a[")),
    "asciidoc picture": (".adoc", _around("= Title\n\nimage::a[")),
    "asciidoc attribute": (".adoc", _around("= Title\n:a: ", "\n\n{a}\n")),
    "asciidoc table": (".adoc", _around("= Title\n\n|===\n|", "\n|===\n")),
    "html": (".html", _around("<html><body>")),
    "html attribute": (".html", _around('<html><body><a href="', '">a</a><p>Text</p>')),
    "html head": (".html", _around("<html><head><title>", "</title></head><body>Text</body>")),
    "html pre": (".html", _around("<html><body><pre><code>", "</code></pre>")),
    "json": (".json", _around("")),
    "json string": (".json", lambda text: json.dumps({"a": text}).encode()),
    "json number": (".json", _around('{"a": ')),
    "yaml": (".yaml", _around("")),
    "yaml value": (".yaml", _around('openapi: 3.0.0\na: "')),
    "yaml list": (".yaml", _around("openapi: 3.0.0\na:\n  - ")),
    "openapi": (".json", _open_api),
    "notebook": (".ipynb", _notebook),
    "csv": (".csv", _around("a,b\n")),
    "tsv": (".tsv", _around("")),
    "csv quoted": (".csv", _around('a,b\n"')),
    "rtf": (".rtf", _around("{\\rtf1\\ansi ")),
    "rtf table": (".rtf", _around("{\\rtf1\\ansi{\\fonttbl")),
    "word": (".docx", _word),
    "odt": (".odt", _odt),
    "epub": (".epub", _epub),
    "pdf": (".pdf", _around("%PDF-1.7\n1 0 obj<<")),
    "mbox": (".mbox", _around("From a@b.c Mon Mar  2 10:00:00 2026\nFrom: a@b.c\nSubject: A\n\n")),
    "mbox separator": (".mbox", _around("From ")),
    "mail": (".eml", _around("")),
    "mail body": (".eml", _around(f"{_A}\n")),
    "mail quote": (".eml", _around(f"{_A}\nText\n\nOn Mon, 2 Mar 2026 at 10:00, A <a@b.c> wrote:\n> ")),
    "mail html": (".eml", _around(f"{_A}Content-Type: text/html\n\n<p>")),
    "mail html attribute": (".eml", _around(f'{_A}Content-Type: text/html\n\n<p style="', '">Text</p>')),
    "mail quoted-printable": (".eml", _around(f"{_A}Content-Transfer-Encoding: quoted-printable\n\n")),
    "mail base64": (".eml", lambda text: f"{_A}Content-Transfer-Encoding: base64\n\n".encode()
                    + base64.encodebytes(text.encode())),
    "mail not base64": (".eml", _around(f"{_A}Content-Transfer-Encoding: base64\n\n")),
    "mail delsp": (".eml", _around(f"{_A}Content-Type: text/plain; format=flowed; delsp=yes\n\n")),
    "mail enriched": (".eml", _around(f"{_A}Content-Type: text/enriched\n\n")),
    "mail calendar": (".eml", _around(f"{_A}Content-Type: text/calendar\n\nBEGIN:VCALENDAR\nSUMMARY:")),
    "mail uuencoded": (".eml", _around(f"{_A}\nbegin 644 a.txt\n")),
    "mail parts": (".eml", _around(f"{_A}{_MIXED}\n")),
    "mail part header": (".eml", _head(f"{_A}{_MIXED}Content-Disposition: attachment; filename=")),
    "mail header lines": (".eml", lambda text: f"{_A}{text.replace(chr(10) * 2, chr(10))}\n\nText\n".encode()),
    "mail header lines in latin": (".eml", lambda text: f"{_A}{text}\n\nText\n".encode("latin-1", "replace")),
    "mail list footer": (".eml", _around(f"{_A}\nText\n\n-- \nA\n", "\n_______________\nlist mailing list\n")),
    "mail digest": (".eml", _around(f"{_A}\n{'-' * 70}\n\n", f"\n{'-' * 30}\n\nEnd of A Digest\n")),
    "mail patch": (".eml", _around(f"{_A}\n---\n a | 1 +\n\ndiff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1 +1 @@\n")),
    "mail from": (".eml", _head("Subject: A\nFrom: ")),
    "mail to": (".eml", _head(f"{_A}To: ")),
    "mail subject": (".eml", _head("From: a@b.c\nSubject: ")),
    "mail subject mark": (".eml", _head("From: a@b.c\nSubject: Re: [")),
    "mail date": (".eml", _head(f"{_A}Date: ")),
    "mail date value": (".eml", _head(f"{_A}Date: Mon, 02 Mar 2026 10:00:00 ")),
    "mail received": (".eml", _head(f"{_A}Received: from a; ")),
    "mail references": (".eml", _head(f"{_A}References: ")),
    "mail reply": (".eml", _head(f"{_A}In-Reply-To: from ")),
    "mail message-id": (".eml", _head(f"{_A}Message-ID: <")),
    "mail thread-index": (".eml", _head(f"{_A}Thread-Index: ")),
    "mail list": (".eml", _head("From: 'a' via b <a@b.c>\nList-Id: a\nReply-To: ")),
    "mail via": (".eml", _head("Subject: A\nFrom: \"a via ", ' <a@b.c>"\n\nText\n')),
    "mail content-type": (".eml", _head(f"{_A}Content-Type: ")),
    "mail charset": (".eml", _head(f"{_A}Content-Type: text/plain; charset=")),
    "mail boundary": (".eml", _head(f"{_A}Content-Type: multipart/mixed; boundary=", "\n\n--x\n\nText\n")),
    "mail boundary in quotes": (".eml", _head(f'{_A}Content-Type: multipart/mixed; boundary="', '"\n\n--x\n\nText\n')),
    "mail encoding": (".eml", _head(f"{_A}Content-Transfer-Encoding: ")),
    "mail disposition": (".eml", _head(f"{_A}Content-Disposition: attachment; ")),
    "mail name": (".eml", lambda text: f"{_A}{text.replace(chr(10), '')[:200_000]}: a\n\nText\n".encode()),
    "emlx": (".emlx", _around("100000\nFrom: a@b.c\nSubject: A\n\n")),
}  # fmt: skip


def file_of(place: str, pattern: str, size: int) -> bytes:
    """About `size` characters of `pattern` in a place."""
    return PLACES[place][1](pattern * max(1, size // len(pattern)))
