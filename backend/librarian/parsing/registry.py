"""One file per format, and the registry that names them.

To add a format, write a class with `extensions` and `parse(source, data)`, and add it to `_PARSERS`. A format whose
files hold many documents has `members(source, data)` instead, and goes to `ARCHIVES`.
"""

from __future__ import annotations

from .asciidoc import AsciiDocParser
from .base import Parser
from .email.archives import MboxArchive
from .email.parser import EmailParser
from .html import EpubParser, HtmlParser
from .markdown import MarkdownParser, NotebookParser
from .open_api import StructuredDataParser
from .open_document import OpenDocumentParser
from .pdf import PdfParser
from .rtf import RichTextParser
from .slides import SlidesParser
from .spreadsheet import CommaSeparatedParser, SpreadsheetParser
from .text import TextParser
from .word import WordParser

_PARSERS: tuple[Parser, ...] = (
    MarkdownParser(),
    TextParser(),
    AsciiDocParser(),
    StructuredDataParser(),
    HtmlParser(),
    NotebookParser(),
    PdfParser(),
    WordParser(),
    OpenDocumentParser(),
    RichTextParser(),
    SlidesParser(),
    SpreadsheetParser(),
    CommaSeparatedParser(),
    EpubParser(),
    EmailParser(lambda: PARSERS),
)

#: Extension (with its dot, lower case) → parser.
PARSERS: dict[str, Parser] = {extension: parser for parser in _PARSERS for extension in parser.extensions}

#: The same for archives: extension → what cuts it into documents.
ARCHIVES: dict[str, MboxArchive] = {extension: MboxArchive() for extension in MboxArchive.extensions}

#: Every extension that can be read.
READABLE: frozenset[str] = frozenset(PARSERS) | frozenset(ARCHIVES)
