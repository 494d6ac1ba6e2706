"""Which language a text is in, by its script and its stop words; no model, a few microseconds per kilobyte."""

from __future__ import annotations

import re
from collections import Counter
from functools import cache

from .stopwords import LANGUAGES, raw_stop_words

_SAMPLE = 6_000  #: characters looked at
_WORD = re.compile(r"[^\W\d_]+")
#: For texts in ASCII: all but letters are blanks. What is parted so is found in half the time.
_LETTERS_ALONE = {code: " " for code in range(128) if not chr(code).isalpha()}
_FENCE = re.compile(r"^(```|~~~).*?^\1", re.MULTILINE | re.DOTALL)
#: What is no prose: code, addresses, and where Markdown's links lead and headings are found (`{#k8s-io-v1-Pod}`).
_CODE = re.compile(r"`[^`\n]*`|https?://\S+|\]\([^()\s]*\)|\{#[^{}\s]*\}")
_NAME = re.compile(r"\w+(?:[._:/\\]+\w+)+")
_TEXT = 2.0  #: weight of stop words that tells the language of a text
_FEW = 4  #: so many different stop words are told from parts of names: the "bin" of `celery.bin.amqp` is no German
#: Languages of which words that English has too (`to`, `do`, `we`) don't tell. Their own tell enough, and a short
#: English text, where each counts, would come out undecided.
_BESIDE_ENGLISH = frozenset({"pl", "cs", "hu", "ro", "tr", "id", "vi"})

#: Scripts that one or few languages are written in: (language, character class).
_SCRIPTS = (
    ("ja", "\u3040-\u30ff\uff66-\uff9d"),
    ("ko", "\uac00-\ud7ff\u1100-\u11ff\u3130-\u318f"),
    ("zh", "\u3400-\u4dbf\u4e00-\u9fff"),
    ("th", "\u0e00-\u0e7f"),
    ("ar", "\u0620-\u06ff"),
    ("he", "\u05d0-\u05ea"),
    ("el", "\u0370-\u03ff"),
    ("hi", "\u0900-\u097f"),
    ("cyrillic", "\u0400-\u04ff"),
)
_COUNTERS = tuple((name, re.compile(f"[{body}]")) for name, body in _SCRIPTS)
#: Letters that one of two languages with the same script has alone. A page may name another language in its letters.
_UKRAINIAN, _RUSSIAN = re.compile("[іїєґ]"), re.compile("[ыэъё]")
_PERSIAN, _ARABIC = re.compile("[پچژگکی]"), re.compile("[ةكيىأإؤئ]")
_CJK_NAMES = ("ja", "ko", "zh")


@cache
def _weights() -> dict[str, tuple[tuple[str, float], ...]]:
    """Stop word → languages with its weight there: a word of three languages counts a third for each."""
    places: dict[str, list[str]] = {}
    for language in LANGUAGES:
        shared = raw_stop_words("en") if language in _BESIDE_ENGLISH else frozenset[str]()
        for word in raw_stop_words(language) - shared:
            if len(word) > 1 or word in "aàèéeiouyåöвикс":
                places.setdefault(word, []).append(language)
    return {word: tuple((language, 1 / len(found)) for language in found) for word, found in places.items()}


def detect(text: str, *, needed: float = _TEXT, alone: bool = False) -> str:
    """ISO 639-1 code, or an empty string where the text doesn't say.

    `needed` is the weight of stop words (a word that belongs to one language weighs 1) below which a text in Latin or
    Cyrillic letters counts as undecided; `alone` says whether one word may tell of another language than English.

    >>> detect("how do I restart the pod"), detect("der Pod, der nicht bereit ist"), detect("nginx redis")
    ('en', 'de', '')
    """
    sample = _CODE.sub(" ", _FENCE.sub(" ", text[: 2 * _SAMPLE]))[:_SAMPLE].lower()
    if not sample.isascii():
        found = _by_script(sample)
        if found:
            return found
    best, different = _by_words(sample, needed, alone)
    if best and different < _FEW and _NAME.search(sample):
        best, _ = _by_words(_NAME.sub(" ", sample), needed, alone)
    return best


def _by_words(sample: str, needed: float, alone: bool) -> tuple[str, int]:
    """The language that the stop words speak for, empty where undecided, and how many different ones do."""
    words = sample.translate(_LETTERS_ALONE).split() if sample.isascii() else _WORD.findall(sample)
    weights = _weights()
    votes: dict[str, float] = {}
    loudest: dict[str, float] = {}
    different: Counter[str] = Counter()
    for word, times in Counter(words).items():
        for language, weight in weights.get(word, ()):
            votes[language] = votes.get(language, 0.0) + times * weight
            loudest[language] = max(loudest.get(language, 0.0), times * weight)
            different[language] += 1
    if not votes:
        return "", 0
    (best, score), *rest = sorted(votes.items(), key=lambda item: -item[1])[:2]
    second = rest[0][1] if rest else 0
    # Running text in any of these languages has more than a fifth of stop words; tables and listings have fewer.
    if score < needed or score < 0.05 * len(words) or score < 1.5 * second:
        return "", 0
    # One word may be a name or an English one, however often it stands there: "Comment on", "Chi-square", `k8s.io`.
    if best != "en" and not alone and score - loudest[best] < max(needed / 2, second):
        return "", 0
    return best, different[best]


def _by_script(sample: str) -> str:
    counts = {name: len(pattern.findall(sample)) for name, pattern in _COUNTERS}
    letters = sum(1 for char in sample if char.isalpha())
    cjk = sum(counts[name] for name in _CJK_NAMES)
    if letters and cjk >= 0.15 * letters:
        if counts["ja"] >= 0.1 * cjk:
            return "ja"
        return "ko" if counts["ko"] > counts["zh"] else "zh"
    for name in ("th", "ar", "he", "el", "hi"):
        if counts[name] > 0.4 * letters:
            return "fa" if name == "ar" and _more(_PERSIAN, _ARABIC, sample) else name
    if counts["cyrillic"] > 0.4 * letters:
        return "uk" if _more(_UKRAINIAN, _RUSSIAN, sample) else "ru"
    return ""


def _more(some: re.Pattern[str], others: re.Pattern[str], sample: str) -> bool:
    return len(some.findall(sample)) > len(others.findall(sample))
