"""What a text is about, without a language model: keywords, and the sentences that hold most of them."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

from ..registry.search import STOP_WORDS
from . import pages
from .pages import CrawlState, Record

OVERVIEW = "overview-of-this-section.md"
SUMMARY = 320  #: characters, at most
_MORE = """
also back each either else even example examples first following get here just like make many may more most much must
need needs new next note now one only other same second see set show since still take two use used user uses using very
via want way well within without yes yet true false none null default value values name type
"""
_MORE_STOP_WORDS = frozenset(_MORE.split())
_WORD = re.compile(r"[^\W\d_][\w.+#-]*[\w+#]|[^\W\d_]{3,}")
_FENCE = re.compile(r"^(?:`{3,}+|~{3,}+)", re.M)
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z0-9\"'(`À-Ý])")


def prose(markdown: str) -> str:
    """The paragraphs' words: no code, tables, headings or marks."""
    text = _without_fences(markdown)
    text = re.sub(r"^(#{1,6} .*|\|.*|---|> ?)$", "", text, flags=re.M)
    text = re.sub(r"!\[[^\[\]]*+\]\([^()]*+\)", "", text)  # linear: a bracket ends each part
    text = re.sub(r"\[([^\[\]]*+)\]\([^()]*+\)", r"\1", text)
    text = re.sub(r"(\*\*|(?<!\w)\*|\*(?!\w))", "", text)
    return re.sub(r"\\([<#>*_-])", r"\1", text)


def _without_fences(markdown: str) -> str:
    lines: list[str] = []
    fence = ""
    for line in markdown.split("\n"):
        marks = _FENCE.match(line)
        if not fence and marks:
            fence = marks.group()
            lines.append("")
        elif not fence:
            lines.append(line)
        elif marks and len(marks.group()) >= len(fence) and not line.strip().strip(fence[0]):
            fence = ""
    return "\n".join(lines)


def keywords(markdown: str, most: int = 8) -> tuple[str, ...]:
    """The words that a text says most often, those of headings and code names counted double; best first."""
    counts: Counter[str] = Counter()
    spelt: dict[str, str] = {}
    headings = " ".join(re.findall(r"^#{1,6} (.*)$", _without_fences(markdown), re.M))
    names = " ".join(re.findall(r"(?<!`)`([^`\n]{3,40})`(?!`)", markdown))
    for text, weight in ((prose(markdown), 1), (headings, 3), (names, 1)):
        for word in _WORD.findall(text):
            low = word.lower()
            if 3 <= len(low) <= 40 and low not in STOP_WORDS and low not in _MORE_STOP_WORDS:
                counts[low] += weight
                spelt.setdefault(low, word if not word.istitle() else low)
    return tuple(spelt[low] for low in sorted(counts, key=lambda low: (-counts[low], low))[:most])


def summary(markdown: str, description: str = "") -> str:
    """The page's own description where it is a sentence or more, else its most telling sentences in their order."""
    if len(description) >= 50 and " " in description:
        return _cut(description)
    text = prose(markdown)
    wanted = {word.lower() for word in keywords(markdown, 15)}
    sentences = [
        sentence
        for paragraph in re.split(r"\n\s*\n", text)
        for sentence in _SENTENCE.split(" ".join(paragraph.split()))
        if len(sentence) >= 25 and not sentence.startswith(("- ", "1. "))
    ]
    scores = [
        len(wanted & {word.lower() for word in _WORD.findall(sentence)}) - 0.4 * place
        for place, sentence in enumerate(sentences)
    ]
    chosen: list[int] = []
    for place in sorted(range(len(sentences)), key=lambda place: -scores[place]):
        if len(chosen) < 3 and sum(len(sentences[one]) + 1 for one in (*chosen, place)) <= SUMMARY + 1:
            chosen.append(place)
    return " ".join(sentences[place] for place in sorted(chosen)) or _cut(" ".join(text.split()) or description)


def _cut(text: str) -> str:
    return text if len(text) <= SUMMARY else text[: SUMMARY - 1].rsplit(" ", 1)[0] + "…"


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
        if path.is_file() and not pages.is_crawled(path):
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
