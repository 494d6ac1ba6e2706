"""What a text is about, without a language model: keywords, and the sentences that hold most of them."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter

from .registry_scoring import STOP_WORDS

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
