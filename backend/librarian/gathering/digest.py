"""What a text is about, without a language model: keywords, and the sentences that hold most of them."""

from __future__ import annotations

import re
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
_FENCES = re.compile(r"^(`{3,}|~{3,}).*?^\1[ \t]*$", re.S | re.M)
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z0-9\"'(`À-Ý])")


def prose(markdown: str) -> str:
    """The paragraphs' words: no code, tables, headings or marks."""
    text = _FENCES.sub("\n\n", markdown)
    text = re.sub(r"^(#{1,6} .*|\|.*|---|> ?)$", "", text, flags=re.M)
    text = re.sub(r"!\[[^\]]*\]\([^)]*\)", "", text)
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text)
    text = re.sub(r"(\*\*|(?<!\w)\*|\*(?!\w))", "", text)
    return re.sub(r"\\([<#>*_-])", r"\1", text)


def keywords(markdown: str, most: int = 8) -> tuple[str, ...]:
    """The words that a text says most often, those of headings and code names counted double; best first."""
    counts: Counter[str] = Counter()
    spelt: dict[str, str] = {}
    headings = " ".join(re.findall(r"^#{1,6} (.*)$", _FENCES.sub("", markdown), re.M))
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
