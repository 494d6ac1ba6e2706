"""What a page is about, without a language model: its keywords, and overviews of groups of pages."""

from __future__ import annotations

import re
import sys
from collections import Counter
from pathlib import Path

from ..models import Document, SourceFile
from ..parsing.metadata import cut_at_sentence
from ..parsing.plain_text import plain
from ..parsing.reader import PARSERS
from ..text.stop_words import raw_stop_words
from . import pages
from .pages import CrawlState, Record

OVERVIEW = "overview-of-this-section.md"
_MORE = """
back default either example examples false first following get like make many much name need needs new next none note
null second see set show since take true two type use used user uses using value values want way well yes
"""
_STOP_WORDS = raw_stop_words("en") | set(_MORE.split())
_WORD = re.compile(r"[^\W\d_][\w.+#-]*[\w+#]|[^\W\d_]{3,}")
_CODE = re.compile(r"(?<!`)`([^`\n]{3,40})`(?!`)")  #: names, which count twice
_HEADING_WEIGHT = 3
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z0-9\"'(`À-Ý])")
_LEAST_SENTENCE, _LEAST_DESCRIPTION = 25, 50  #: characters
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
    """The page's own description where it is a sentence or more, else its sentences with most keywords, in order."""
    if len(description) >= _LEAST_DESCRIPTION:
        return cut_at_sentence(description, SUMMARY)
    wanted = {word.lower() for word in keywords(document, most=15)}
    prose = (plain(document.text[block.start : block.end]) for block in document.blocks if block.kind == "paragraph")
    sentences = [one for words in prose for one in _SENTENCE.split(words) if len(one) >= _LEAST_SENTENCE]
    scores = [
        len(wanted & {word.lower() for word in _WORD.findall(one)}) - 0.4 * place for place, one in enumerate(sentences)
    ]
    chosen: list[int] = []
    for place in sorted(range(len(sentences)), key=lambda place: -scores[place]):
        if len(chosen) < 3 and sum(len(sentences[one]) + 1 for one in (*chosen, place)) <= SUMMARY + 1:
            chosen.append(place)
    return " ".join(sentences[place] for place in sorted(chosen)) or document.summary or description


def write_overviews(root: Path, state: CrawlState) -> int:
    """Write an overview of each group of pages, remove those of groups that are gone; returns how many there are."""
    groups: dict[str, list[tuple[str, Record]]] = {}
    for url, record in state.records.items():
        if record.file and record.category:
            groups.setdefault(record.category[0], []).append((url, record))
    written = []
    for name, group in groups.items():
        file = f"{state.project}/{pages.folder_name(name)}/{OVERVIEW}"
        path = root / file
        if path.is_file() and not pages.source_of(path):
            continue  # somebody else's
        text = _overview(name, group)
        if not path.is_file() or path.read_text("utf-8") != text:
            pages.write(root, file, text)
        written.append(file)
    for file in set(state.overviews) - set(written):
        pages.remove(root, file)
    state.overviews = written
    return len(written)


def _overview(name: str, group: list[tuple[str, Record]]) -> str:
    counted = Counter(word for _, record in group for word in record.keywords)
    fields = {
        "title": f"{name}: overview",
        "source_urls": [url for url, _ in group],
        "category": name,
        "keywords": [word for word, _ in counted.most_common(10)],
        "summary": f"{name}: " + "; ".join(record.title for _, record in group)[:280],
    }
    parts = [f"# {name}: overview"]
    for url, record in group:
        parts += [f"## {record.title}", *([record.summary] if record.summary else []), f"Source: <{url}>"]
    return pages.rendered("\n\n".join(parts), fields)
