"""What a page is about, without a language model: its keywords and a summary."""

from __future__ import annotations

import re
import sys
from collections import Counter

from ..models import Document, SourceFile
from ..parsing.metadata import cut_at_sentence
from ..parsing.plain_text import plain
from ..parsing.reader import PARSERS
from ..text.dictionaries import raw_stop_words

_MORE = """
back default either example examples false first following get like make many much name need needs new next none note
null second see set show since take true two type use used user uses using value values want way well yes
"""
_STOP_WORDS = raw_stop_words("en") | set(_MORE.split())
_WORD = re.compile(r"[^\W\d_][\w.+#-]*[\w+#]|[^\W\d_]{3,}")
_CODE = re.compile(r"(?<!`)`([^`\n]{3,40})`(?!`)")  #: names, which count twice
_HEADING_WEIGHT = 3
_LEAST_DESCRIPTION = 50  #: characters
SUMMARY = 320  #: characters, at most
_PROSE = frozenset({"heading", "paragraph", "list", "quote"})


def parsed(markdown: str) -> Document:
    """Markdown as the index reads it."""
    return PARSERS[".md"].parse(SourceFile("", "page.md", "", "", 0, 0), markdown.encode("utf-8", "replace"))


def keywords(document: Document, start: int = 0, end: int = sys.maxsize, most: int = 8) -> tuple[str, ...]:
    """The words that the text from `start` to `end` says most often outside of code and tables; best first."""
    counts: Counter[str] = Counter()
    spelt: dict[str, str] = {}
    for block in document.blocks:
        if block.kind not in _PROSE or not start <= block.start < end:
            continue
        for line in document.text[block.start : block.end].split("\n"):
            for word in _WORD.findall(" ".join([plain(line), *_CODE.findall(line)])):
                low = word.lower()
                if 3 <= len(low) <= 40 and low not in _STOP_WORDS:
                    counts[low] += _HEADING_WEIGHT if block.kind == "heading" else 1
                    spelt.setdefault(low, word if not word.istitle() else low)
    return tuple(spelt[low] for low in sorted(counts, key=lambda low: (-counts[low], low))[:most])


def summary(document: Document, description: str = "") -> str:
    """The page's own description where it is a sentence or more, else its first sentences."""
    if len(description) >= _LEAST_DESCRIPTION:
        return cut_at_sentence(description, SUMMARY)
    return document.summary or description
