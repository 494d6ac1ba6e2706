"""What a text is about, without a language model: keywords, and the sentences that hold most of them."""

from __future__ import annotations

import hashlib
import logging
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from ..errors import Unavailable
from ..registry.search import STOP_WORDS
from . import pages as page_files
from .options import Summarize
from .pages import CrawlState, Record, slug_of
from .report import CrawlReport

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
    text = _without_fences(markdown, "\n\n")
    text = re.sub(r"^(#{1,6} .*|\|.*|---|> ?)$", "", text, flags=re.M)
    text = _without_targets(text, "![", keep=False)
    text = _without_targets(text, "[", keep=True)
    text = re.sub(r"(\*\*|(?<!\w)\*|\*(?!\w))", "", text)
    return re.sub(r"\\([<#>*_-])", r"\1", text)


def _without_fences(text: str, instead: str) -> str:
    """The text with `instead` for each fenced block, which ends at a line of as many marks as it begins with, or fewer.

    A regular expression would look through the rest of the text for each fence that doesn't end, and for each number
    of marks that it may have.
    """
    fences = [(match.start(), match.group()) for match in _FENCE.finditer(text)]
    closing: dict[str, list[tuple[int, int]]] = {}  # where lines of these marks alone begin and end
    for start, marks in fences:
        end = text.find("\n", start)
        end = len(text) if end < 0 else end
        if not text[start + len(marks) : end].strip(" \t"):
            closing.setdefault(marks, []).append((start, end))
    lengths = {mark: sorted(len(marks) for marks in closing if marks[0] == mark) for mark in "`~"}
    parts, done = list[str](), 0
    for start, marks in fences:
        live, longest = lengths[marks[0]], bisect_right(lengths[marks[0]], len(marks)) - 1
        while longest >= 0 and start >= done:
            lines = closing[marks[0] * live[longest]]
            if lines[-1][0] > start:
                end = lines[bisect_right(lines, (start, len(text)))][1]
                parts += [text[done:start], instead]
                done = end
                break
            del live[longest]  # none of the fences further on ends there
            longest -= 1
    return "".join([*parts, text[done:]])


def _without_targets(text: str, opening: str, *, keep: bool) -> str:
    """The text without `[…](…)` that begins so, or with what stands in its brackets; each character is looked at once
    or twice, however many brackets don't close."""
    parts, done, begin, end = list[str](), 0, 0, text.find("](")
    while end >= 0:
        begin = max(begin, text.rfind("]", begin, end) + 1)
        start = text.find(opening, begin, end)
        begin = end + 1
        if start >= 0:
            if (close := text.find(")", end + 2)) < 0:
                break
            parts += [text[done:start], text[start + len(opening) : end] if keep else ""]
            done = begin = close + 1
        end = text.find("](", begin)
    return "".join([*parts, text[done:]])


def keywords(markdown: str, most: int = 8) -> tuple[str, ...]:
    """The words that a text says most often, those of headings and code names counted double; best first."""
    counts: Counter[str] = Counter()
    spelt: dict[str, str] = {}
    headings = " ".join(re.findall(r"^#{1,6} (.*)$", _without_fences(markdown, ""), re.M))
    names = " ".join(re.findall(r"(?<!`)`([^`\n]{3,40})`(?!`)", markdown))
    for text, weight in ((prose(markdown), 1), (headings, 3), (names, 1)):
        for word in _WORD.findall(text):
            low = word.lower()
            if len(low) >= 3 and low not in STOP_WORDS and low not in _MORE_STOP_WORDS and len(low) <= 40:
                counts[low] += weight
                spelt.setdefault(low, word if not word.istitle() else low)
    best = sorted(counts, key=lambda low: (-counts[low], low))
    return tuple(spelt[low] for low in best[:most])


def summary(markdown: str, description: str = "") -> str:
    """The page's own description where it is a sentence or more, else its most telling sentences in their order."""
    if len(description) >= 50 and " " in description:
        return _cut(description)
    wanted = {word.lower() for word in keywords(markdown, 15)}
    sentences = [
        sentence
        for paragraph in re.split(r"\n\s*\n", prose(markdown))
        for sentence in _SENTENCE.split(" ".join(paragraph.split()))
        if len(sentence) >= 25 and not sentence.startswith(("- ", "1. "))
    ]
    scored = sorted(
        range(len(sentences)),
        key=lambda place: -len(wanted & {word.lower() for word in _WORD.findall(sentences[place])}) + 0.4 * place,
    )
    kept: list[int] = []
    for place in scored:
        if sum(len(sentences[other]) + 1 for other in kept) + len(sentences[place]) <= SUMMARY:
            kept.append(place)
        if len(kept) == 3:
            break
    text = " ".join(sentences[place] for place in sorted(kept))
    return text or _cut(" ".join(prose(markdown).split()) or description)


def _cut(text: str) -> str:
    return text if len(text) <= SUMMARY else text[: SUMMARY - 1].rsplit(" ", 1)[0] + "…"


logger = logging.getLogger(__name__)

GIVEN_UP_AFTER = 3  #: failures in a row: a crawl doesn't wait for a model that is away


class Summaries:
    """Writes summaries, and says in the report how many the model wrote and why it wrote no more."""

    def __init__(self, summarize: Summarize | None, report: CrawlReport) -> None:
        self._summarize = summarize
        self._report = report
        self._failed = 0

    def of(self, title: str, markdown: str, description: str) -> str:
        """`description` is what the page says about itself."""
        if self._summarize is not None and self._failed < GIVEN_UP_AFTER:
            try:
                text = self._summarize(title, markdown)
                self._failed = 0
                self._report.summarized += 1
                return text
            except Unavailable as error:
                self._failed += 1
                self._report.summary_problem = str(error)
                logger.warning("%s: summarised in its own words: %s", title, error)
        return summary(markdown, description)


NAME = "overview-of-this-section.md"


def write_overviews(root: Path, state: CrawlState) -> int:
    """Write what has changed, remove what has no group any more; returns how many there are."""
    groups: dict[str, list[tuple[str, Record]]] = {}
    for url, record in state.records.items():
        if record.file and record.category:
            groups.setdefault(record.category[0], []).append((url, record))
    written = []
    for name, pages in groups.items():
        file = f"{state.project}/{page_files.folder_name(name)}/{NAME}"
        text = _overview(name, pages)
        path = root / file
        if path.is_file() and not page_files.is_crawled(path):
            continue  # somebody else's
        if not path.is_file() or _hash(path.read_text("utf-8")) != _hash(text):
            page_files.write(root, file, text)
        written.append(file)
    for file in set(state.overviews) - set(written):
        page_files.remove(root, file)
    state.overviews = written
    return len(written)


def _overview(name: str, pages: list[tuple[str, Record]]) -> str:
    counted = Counter(word for _, record in pages for word in record.keywords)
    fields = {
        "title": f"{name}: overview",
        "source_urls": [url for url, _ in pages],
        "category": name,
        "keywords": [word for word, _ in counted.most_common(10)],
        "summary": f"{name}: " + "; ".join(record.title for _, record in pages)[:280],
    }
    parts = [f"# {name}: overview"]
    for url, record in pages:
        parts += [f"## {record.title}", *([record.summary] if record.summary else []), f"Source: <{url}>"]
    return page_files.rendered("\n\n".join(parts), fields)


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def slug_for(file_path: str) -> str:
    """The slug of a path.

    >>> slug_for("kube/Getting Started/Install.md")
    'kube-getting-started-install'
    """
    base = re.sub(r"\.[A-Za-z0-9]{1,8}$", "", file_path)
    return "-".join(part for piece in base.split("/") if (part := slug_of(piece))) or "document"


def slugs(file_paths: Iterable[str]) -> dict[str, str]:
    """Path → slug, each slug once. Of paths with equal slugs all but the first by name get a suffix of their own."""
    found: dict[str, str] = {}
    taken: set[str] = set()
    for path in sorted(file_paths):
        slug = slug_for(path)
        if slug in taken:
            slug = f"{slug}-{hashlib.sha256(path.encode()).hexdigest()[:8]}"
        taken.add(slug)
        found[path] = slug
    return found
