"""One file per format, and the registry that names them.

To add a format, write a class with `extensions` and `parse(source, data)`, and add it to `_PARSERS`.
"""

from __future__ import annotations

from librarian.vocabulary.protocols import Parser

from ..mail.parser import EmailParser
from .markdown import MarkdownParser
from .text import TextParser
from .word import WordParser

_PARSERS: tuple[Parser, ...] = (MarkdownParser(), TextParser(), WordParser(), EmailParser(lambda: PARSERS))

#: Extension (with its dot, lower case) → parser.
PARSERS: dict[str, Parser] = {extension: parser for parser in _PARSERS for extension in parser.extensions}
