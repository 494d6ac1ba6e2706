"""Files that a Word file holds as a whole and shows as part of its text (`altChunk`): pages, RTF, Word files, texts."""

from __future__ import annotations

import email
import re
from collections.abc import Mapping
from dataclasses import replace

from librarian.vocabulary.protocols import Parser
from librarian.vocabulary.types import Document, SourceFile

_ARCHIVED = re.compile(rb"\s*(?:[!-9;-~]+:[^\n]*\n(?:[ \t][^\n]*\n)*){0,20}?(?:MIME-Version|Content-Type):", re.I)
_OTHER_XML = re.compile(rb"\s*(?:\xef\xbb\xbf)?<\?xml(?![^\0]{0,2000}<html)", re.I)


def inserted_document(parsers: Mapping[str, Parser], source: SourceFile, part: str, data: bytes) -> Document | None:
    """What an inserted part says, told by how it begins rather than by its name; None where no parser can read it."""
    try:
        page = _page_of(data) if _ARCHIVED.match(data[:4096]) else data
        extension = _extension(page)
        if extension not in parsers:
            return None
        inner = replace(source, file_path=f"{source.file_path}/{part}{extension}", size=len(page))
        return parsers[extension].parse(inner, page)
    except Exception:  # what can't be read of it must not cost the file around it
        return None


def _extension(data: bytes) -> str:
    beginning = data[:4096].lstrip(b"\xef\xbb\xbf \t\r\n")
    if beginning.startswith(b"{\\rtf"):
        return ".rtf"
    if beginning.startswith(b"PK"):
        return ".docx"
    if _OTHER_XML.match(beginning) or b"\0\0" in beginning:
        return ""
    return ".html" if re.match(rb"<[!?a-z]|\xff\xfe<|\xfe\xff\0<", beginning, re.I) else ".txt"


def _page_of(data: bytes) -> bytes:
    """The page in a web archive (MHTML, RFC 2557) as UTF-8; else its first text."""
    texts = [one for one in email.message_from_bytes(data.lstrip()).walk() if one.get_content_maintype() == "text"]
    texts.sort(key=lambda one: one.get_content_subtype() not in ("html", "xhtml"))
    content = texts[0].get_payload(decode=True) if texts else b""
    page = content if isinstance(content, bytes) else b""
    try:
        return page.decode(texts[0].get_content_charset("utf-8")).encode()
    except (LookupError, UnicodeDecodeError, IndexError):
        return page
