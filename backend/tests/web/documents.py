"""Renders a document's text as the page does, without a server."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from lxml import html

from librarian.models import SourceFile
from librarian.parsing.asciidoc import AsciiDocParser
from librarian.parsing.markdown import MarkdownParser
from librarian.schemas import DocumentResponse, HeadingItem
from librarian.web import rendering


def answer(text: str, path: str = "shop/lab/x.md") -> DocumentResponse:
    """What the library says of a document with this text, as far as rendering needs it."""
    parser: Any = AsciiDocParser() if path.endswith(".adoc") else MarkdownParser()
    suffix = Path(path).suffix
    source = SourceFile(file_path=path, path=path, product="shop", component="lab", size=0, mtime_ns=0)
    parsed = parser.parse(source, text.encode()) if suffix in (".md", ".adoc") else None
    content = parsed.text if parsed else text
    headings = parsed.headings if parsed else ()
    return DocumentResponse(
        file_path=path,
        title="X",
        product="shop",
        component="lab",
        doc_type="documentation",
        encoding="utf-8",
        content=content,
        headings=[HeadingItem(level=one.level, text=one.text, line=one.line) for one in headings],
        line_start=1,
        line_end=content.count("\n") + 1,
        truncated=False,
        last_modified="",
        indexed_at="",
    )


def address(doc: str, section: str) -> str:
    return f"./?{urlencode([(name, value) for name, value in (('doc', doc), ('section', section)) if value])}"


def rendered(text: str, path: str = "shop/lab/x.md", **view: Any) -> str:
    """A document as HTML."""
    return str(rendering.document(answer(text, path), address, **view)[0])


def bare(text: str, path: str = "shop/lab/x.md") -> str:
    """The same without attributes but for links, and without line breaks between blocks."""
    markup = re.sub(r' (?!href)[\w-]+="[^"]*"', "", rendered(text, path))
    return re.sub(r">\n+<", "><", markup).strip()


def tree(text: str, path: str = "shop/lab/x.md", **view: Any) -> Any:
    """The same as elements."""
    return html.fragment_fromstring(rendered(text, path, **view), create_parent="div")


def texts(root: Any, selector: str) -> list[str]:
    """The words of all elements that a path in XPath finds, with single spaces."""
    return [" ".join(one.text_content().split()) for one in root.xpath(selector)]
