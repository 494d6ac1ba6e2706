"""Which language a text is in, by its script and its stop words; no model, a few microseconds per kilobyte."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from functools import cache

from .stop_words import LANGUAGES, raw_stop_words

_SAMPLE = 6_000  #: characters looked at
_WORD = re.compile(r"[^\W\d_]+")
#: For texts in ASCII: all but letters are blanks. What is parted so is found in half the time.
_LETTERS_ALONE = {code: " " for code in range(128) if not chr(code).isalpha()}
_FENCE = re.compile(r"^(```|~~~).*?^\1", re.MULTILINE | re.DOTALL)
#: What is no prose: code, addresses, and where Markdown's links lead and headings are found (`{#k8s-io-v1-Pod}`).
_CODE = re.compile(r"`[^`\n]*`|https?://\S+|\]\([^()\s]*\)|\{#[^{}\s]*\}")
_NAME = re.compile(r"\w+(?:[._:/\\]+\w+)+")
_TEXT = 2.0  #: weight of stop words that tells the language of a text
_FEW = 4  #: so many different stop words are needed, since names hold some: the "bin" of `celery.bin.amqp` is no German
#: Languages of which words that English has too (`to`, `do`, `we`) don't tell. Their own tell enough, and a short
#: English text, where each counts, would come out undecided.
_OTHER_THAN_ENGLISH = frozenset({"pl", "cs", "sk", "hu", "ro", "tr", "id", "vi", "ca"})
#: What an apostrophe parts from its word, English or not: the Turkish word for "and" is no half of *you've*, nor are
#: the endings of Turkish names (`Obsidian'a`) articles.
_BEHIND_APOSTROPHE = re.compile(r"(?<=\w\w)['’]\w{1,3}\b")
_REMAINS = frozenset({"ve", "re", "ll"})

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
    ("rare", "\u0530-\u058f\u0980-\u0dff\u0e80-\u0eff\u1000-\u10ff\u1200-\u137f\u1780-\u17ff\u1c90-\u1cbf"),
)
#: The rare ones among them, in order of their letters.
_RARE = (
    ("hy", "\u0530-\u058f"), ("bn", "\u0980-\u09ff"), ("pa", "\u0a00-\u0a7f"), ("gu", "\u0a80-\u0aff"),
    ("or", "\u0b00-\u0b7f"), ("ta", "\u0b80-\u0bff"), ("te", "\u0c00-\u0c7f"), ("kn", "\u0c80-\u0cff"),
    ("ml", "\u0d00-\u0d7f"), ("si", "\u0d80-\u0dff"), ("lo", "\u0e80-\u0eff"), ("my", "\u1000-\u109f"),
    ("ka", "\u10a0-\u10ff\u1c90-\u1cbf"), ("am", "\u1200-\u137f"), ("km", "\u1780-\u17ff"),
)  # fmt: skip
_COUNTERS = tuple((name, re.compile(f"[{body}]")) for name, body in _SCRIPTS)
_RARE_COUNTERS = tuple((name, re.compile(f"[{body}]")) for name, body in _RARE)
#: Letters that one of two languages with the same script has alone. A page may name another language in its letters.
_UKRAINIAN, _RUSSIAN = re.compile("[іїєґ]"), re.compile("[ыэъё]")
_SERBIAN, _NO_MACEDONIAN, _MACEDONIAN = re.compile("[јљњђћџѓќѕ]"), re.compile("[ђћ]"), re.compile("[ѓќѕ]")
#: Letters with which Belarusian writes what others write with the second.
_BELARUSIAN, _NOT_BELARUSIAN = re.compile("ў"), re.compile("[ищ]")
_PERSIAN, _ARABIC = re.compile("[پچژگکی]"), re.compile("[ةكيىأإؤئ]")
_DEVANAGARI = re.compile("[\u0900-\u0963\u0971-\u097f]+")
#: Small words that one of the languages with this script has alone; of equally many the first is meant.
_OF_DEVANAGARI = {
    language: frozenset(words.split())
    for language, words in {
        "hi": "है हैं और में से नहीं इस यह लिए करें करने सकते होता कर",
        "ne": "छ छन् हुन् हुन्छ र यो यस भने पनि गर्न गर्नुहोस् गर्छ लागि तपाईं तपाईंले तपाईंको छैन भएको गरेको सक्नुहुन्छ",
        "mr": "आहे आहेत आणि हे हा ही या ते नाही नाहीत साठी मध्ये करा करणे केले असेल शकता तुम्ही आपण किंवा",
    }.items()
}
_CJK_NAMES = ("ja", "ko", "zh")


@cache
def _weights() -> dict[str, tuple[tuple[str, float], ...]]:
    """Stop word → languages with its weight there: a word of three languages counts a third for each."""
    places: dict[str, list[str]] = {}
    for language in LANGUAGES:
        shared = _REMAINS if language == "en" else frozenset[str]()
        if language in _OTHER_THAN_ENGLISH:
            shared = raw_stop_words("en") - _REMAINS
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
    if "'" in sample or "’" in sample:
        sample = _BEHIND_APOSTROPHE.sub(" ", sample)
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
    votes: dict[str, dict[str, float]] = {}
    for word, times in Counter(words).items():
        for language, weight in weights.get(word, ()):
            votes.setdefault(language, {})[word] = times * weight
    if not votes:
        return "", 0
    scores = {language: sum(counts.values()) for language, counts in votes.items()}
    best = max(scores, key=scores.__getitem__)
    # Running text in any of these languages has more than a fifth of stop words; tables and listings have fewer.
    if scores[best] < max(needed, 0.05 * len(words)):
        return "", 0
    strongest = 0.0
    for rival in votes.keys() - {best}:  # what two languages have in common doesn't tell them apart: Danish, Norwegian
        own, theirs = _apart(votes[best], votes[rival]), _apart(votes[rival], votes[best])
        if not own or own < 1.5 * theirs:
            return "", 0
        strongest = max(strongest, theirs)
    # One word may be a name or an English one, however often it stands there: "Comment on", "Chi-square", `k8s.io`.
    if best != "en" and not alone and scores[best] - max(votes[best].values()) < max(needed / 2, strongest):
        return "", 0
    return best, len(votes[best])


def _apart(some: Mapping[str, float], others: Mapping[str, float]) -> float:
    return sum([weight for word, weight in some.items() if word not in others])


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
            if name == "hi":
                return _in_devanagari(sample)
            if name == "ar" and _more(_PERSIAN, _ARABIC, sample):
                return "fa"
            return name
    if counts["cyrillic"] > 0.4 * letters:
        return _in_cyrillic(sample)
    if counts["rare"] > 0.4 * letters:
        return max(_RARE_COUNTERS, key=lambda counter: len(counter[1].findall(sample)))[0]
    return ""


def _in_devanagari(sample: str) -> str:
    """By small words that the others lack. Hindi where unsure."""
    counts = Counter(_DEVANAGARI.findall(sample))
    return max(_OF_DEVANAGARI, key=lambda language: sum(counts[word] for word in _OF_DEVANAGARI[language]))


def _in_cyrillic(sample: str) -> str:
    """By letters that others lack; Bulgarian, which has none of its own, by its stop words. Russian where unsure."""
    if _more(_SERBIAN, _RUSSIAN, sample):
        return "mk" if _more(_MACEDONIAN, _NO_MACEDONIAN, sample) else "sr"
    if _more(_BELARUSIAN, _NOT_BELARUSIAN, sample):
        return "be"
    if _more(_UKRAINIAN, _RUSSIAN, sample):
        return "uk"
    counts = Counter(_WORD.findall(sample))
    bulgarian, russian = (sum(counts[word] for word in words) for words in _bulgarian_or_russian())
    return "bg" if bulgarian > russian else "ru"


@cache
def _bulgarian_or_russian() -> tuple[frozenset[str], frozenset[str]]:
    """Stop words of each that the other lacks."""
    bulgarian, russian = raw_stop_words("bg"), raw_stop_words("ru")
    return bulgarian - russian, russian - bulgarian


def _more(some: re.Pattern[str], others: re.Pattern[str], sample: str) -> bool:
    return len(some.findall(sample)) > len(others.findall(sample))
