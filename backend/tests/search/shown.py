"""What may be wrong with a snippet, judged from outside: by the text that is shown and the document it is of.

Nothing of the code that cuts snippets is used here: fences and tables are looked for again, line by line, as a reader
of Markdown would.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from librarian.models import AnalyzedQuery, Document, Hit, SearchOutcome
from librarian.storage.base import CatalogReader
from librarian.text.analyzer import StandardAnalyzer

CEILING = 600

_TELLING = re.compile(r"\w\W+\w")  #: of a row: two words at least, so that it isn't taken for another line
_FENCE = re.compile(r"^[ \t>]*(?:(?:[-*+]|\d+[.)])[ \t]+)?[ \t]*(`{3,}|~{3,})(.*)$")


def as_searched(outcome: SearchOutcome) -> str:
    """The question, with its misspelt words corrected where the answer says so."""
    rewritten = outcome.rewritten or {"source": "", "search_terms": ""}
    corrected = "spelling" in str(rewritten["source"]).split("; ")
    return str(rewritten["search_terms"]) if corrected else outcome.query.text


def wanted(query: AnalyzedQuery) -> set[str]:
    """The words that a snippet should hold one of."""
    return {*query.terms, *query.identifiers, *(token for phrase in query.phrases for token in phrase)}


def faults(hit: Hit, reader: CatalogReader, query: AnalyzedQuery, analyzer: StandardAnalyzer) -> Iterator[str]:
    """Sentences, one for each promise that the hit's snippet breaks; `reader` knows the document it is of."""
    text, language = hit.snippet.text, hit.document.document.language
    if not text.strip():
        yield "nothing is shown"
    if len(text) > CEILING:
        yield f"{len(text)} characters"
    if unclosed(text):
        yield "a fence is open at one end"
    yield from _headless(hit, reader.documents([hit.document.doc_id], text=True)[hit.document.doc_id].document)
    words, end = wanted(query), 0
    for start, stop in hit.snippet.highlights:
        if not end <= start < stop <= len(text):
            yield f"the highlight {start}–{stop} isn't in order inside {len(text)} characters"
        if words.isdisjoint(analyzer.tokens(text[start:stop], language)):
            yield f"{text[start:stop]!r} is highlighted and no word of the question"
        end = stop
    if holds_a_word(hit, query, analyzer) and words.isdisjoint(analyzer.tokens(text, language)):
        yield "the passage holds a word of the question, the snippet doesn't"
    elif not words.isdisjoint(analyzer.tokens(text, language)) and not hit.snippet.highlights:
        yield "a word of the question isn't highlighted"


def holds_a_word(hit: Hit, query: AnalyzedQuery, analyzer: StandardAnalyzer) -> bool:
    """Whether the passage, of which the snippet is a piece, holds a word of the question."""
    return not wanted(query).isdisjoint(analyzer.tokens(hit.chunk.chunk.text, hit.document.document.language))


def unclosed(text: str) -> bool:
    """Whether fences aren't balanced, as CommonMark reads them."""
    opened = ""
    for line in text.splitlines():
        found = _FENCE.match(line)
        if not found:
            continue
        marks, info = found.groups()
        if not opened:
            opened = "" if marks[0] in info else marks
        elif marks[0] == opened[0] and len(marks) >= len(opened) and not info.strip():
            opened = ""
    return bool(opened)


def _headless(hit: Hit, document: Document) -> Iterator[str]:
    """Tables of which rows are shown without those above them that say what the columns are."""
    shown, chunk = hit.snippet.text.splitlines(), hit.chunk.chunk
    assert document.text[chunk.start : chunk.end] == chunk.text
    for block in document.blocks:
        if block.kind != "table" or block.end <= chunk.start or block.start >= chunk.end or block.header_end is None:
            continue
        header = [row for row in document.text[block.start : block.header_end].splitlines() if row.strip()]
        rows = [row.rstrip() for row in document.text[block.header_end : block.end].splitlines()]
        found = [shown.index(row) for row in rows if _TELLING.search(row) and row in shown and row not in header]
        above = shown[: min(found)] if found else []
        if found and not all(any(_is(line, row) for line in above) for row in header):
            yield f"rows without their header {header!r}"


def _is(line: str, row: str) -> bool:
    """Whether a line shows a row, perhaps cut and marked."""
    kept = line.removesuffix("|").rstrip().removesuffix("…").rstrip() if line.endswith("… |") else line.rstrip()
    return row.rstrip() == line.rstrip() or (line.endswith("… |") and row.startswith(kept))
