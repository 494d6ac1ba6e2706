"""Which language a text is in, by its script and its stop words; no model, a few microseconds per kilobyte."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Mapping
from functools import cache

from .dictionaries import LANGUAGES, raw_stop_words

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

#: First word of the Unicode name of a letter → the language that is written so; of several, one of them.
_SCRIPTS = {
    "HIRAGANA": "ja", "KATAKANA": "ja", "HALFWIDTH": "ja", "HANGUL": "ko", "CJK": "zh", "THAI": "th", "ARABIC": "ar",
    "HEBREW": "he", "GREEK": "el", "DEVANAGARI": "hi", "CYRILLIC": "ru", "ARMENIAN": "hy", "BENGALI": "bn",
    "GURMUKHI": "pa", "GUJARATI": "gu", "ORIYA": "or", "TAMIL": "ta", "TELUGU": "te", "KANNADA": "kn",
    "MALAYALAM": "ml", "SINHALA": "si", "LAO": "lo", "MYANMAR": "my", "GEORGIAN": "ka", "ETHIOPIC": "am",
    "KHMER": "km",
}  # fmt: skip
#: Language of a script → others with it, each with letters that it has and letters that it lacks; in this order. A page
#: may name another language in its letters.
_LETTERS = {
    language: [(other, re.compile(own), re.compile(lacked)) for other, own, lacked in others]
    for language, others in {
        "ru": [
            ("mk", "[ѓќѕ]", "[ђћыэъё]"),
            ("sr", "[јљњђћџѓќѕ]", "[ыэъё]"),
            ("be", "ў", "[ищ]"),
            ("uk", "[іїєґ]", "[ыэъё]"),
        ],
        "ar": [("fa", "[پچژگکی]", "[ةكيىأإؤئ]")],
    }.items()
}
_WORDS_WITH_SIGNS = re.compile(r"(?:[^\W\d_]|[\u0900-\u0963\u0971-\u097f])+")
#: Small words that one of the languages with this script has alone; of equally many the first is meant.
_OF_DEVANAGARI = {
    language: frozenset(words.split())
    for language, words in {
        "hi": "है हैं और में से नहीं इस यह लिए करें करने सकते होता कर",
        "ne": "छ छन् हुन् हुन्छ र यो यस भने पनि गर्न गर्नुहोस् गर्छ लागि तपाईं तपाईंले तपाईंको छैन भएको गरेको सक्नुहुन्छ",
        "mr": "आहे आहेत आणि हे हा ही या ते नाही नाहीत साठी मध्ये करा करणे केले असेल शकता तुम्ही आपण किंवा",
    }.items()
}


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
    counts: Counter[str] = Counter()
    letters = 0
    for char, times in Counter(sample).items():
        if char.isalpha():
            letters += times
        if not char.isascii() and (language := _SCRIPTS.get(unicodedata.name(char, "").partition(" ")[0])):
            counts[language] += times
    cjk = counts["ja"] + counts["ko"] + counts["zh"]
    if letters and cjk >= 0.15 * letters:
        if counts["ja"] >= 0.1 * cjk:
            return "ja"
        return "ko" if counts["ko"] > counts["zh"] else "zh"
    language, most = max(counts.items(), key=lambda item: item[1], default=("", 0))
    if most <= 0.4 * letters:
        return ""
    for other, own, lacked in _LETTERS.get(language, ()):  # by letters that one of two alone has
        if len(own.findall(sample)) > len(lacked.findall(sample)):
            return other
    words = Counter(_WORDS_WITH_SIGNS.findall(sample))
    return max(_own_words(language), key=lambda one: sum(words[word] for word in _own_words(language)[one]))


@cache
def _own_words(language: str) -> Mapping[str, frozenset[str]]:
    """Of languages whose script is that of a given one, which is named first, words that the others lack."""
    if language == "ru":  # Bulgarian has no letters of its own
        russian, bulgarian = raw_stop_words("ru"), raw_stop_words("bg")
        return {"ru": russian - bulgarian, "bg": bulgarian - russian}
    return _OF_DEVANAGARI if language == "hi" else {language: frozenset()}
