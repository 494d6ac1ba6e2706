"""What a question says: terms, identifiers, "quoted phrases", -excluded words and -"excluded phrases".

Everything else is plain text. The manual's page *Query syntax* describes these rules.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..models import AnalyzedQuery
from . import language as detection
from .dictionaries import stop_words
from .scripts import ASCII_ALIKE, has_spaceless, normal, without_invisible
from .tokens import COMPOUND, is_named

if TYPE_CHECKING:
    from .analyzer import StandardAnalyzer

_HYPHENATED = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)+")
_LONGEST = 10_000  #: characters; requests are refused for questions far below that
#: A quoted phrase, also behind a minus, or a minus before a word of at least two letters: `-alpha`, neither `--alpha`,
#: `-f` nor `-or-`.
_OPERATOR = re.compile(
    r'(?P<minus>(?<!\S)-)?(?:"(?P<straight>[^"]*)"|“(?P<curly>[^“”]*)”)'
    r'|(?<!\S)-(?P<word>[^\W\d_]\w[^\s"“]*)(?<!-)(?![^\s"“])'
)
_NOT = re.compile(r"(?<=\s)NOT\s+(?=[\w\"“])")  #: as other search engines write a minus


def analyze(words: StandardAnalyzer, text: str, languages: Sequence[str]) -> AnalyzedQuery:
    """A question for a library in `languages`, the most frequent first; English where none is given.

    Stop words are those of the question's own language where it is known, else of the library's first; what stays
    is stemmed for every language of the library and united, since a page is indexed by its own language's stems. A
    question that only excludes is read as plain text.
    """
    asked = tuple(dict.fromkeys(language or "en" for language in languages)) or ("en",)
    question = text if text.isupper() else _NOT.sub("-", text)
    body = question[:_LONGEST]
    detected = detection.detect(body, needed=1.0, alone=True)
    if detected != asked[0]:  # one word of another language is likelier one of the library's own: "pod state"
        detected = detection.detect(body, needed=1.0)
    own = detected or asked[0]
    main = own if own in asked else asked[0]
    operators = list(_OPERATOR.finditer(body))
    plain = _OPERATOR.sub(lambda found: " " if _excludes(found) else f" {_quoted(found)} ", body)
    wanted = _OPERATOR.sub(lambda found: "" if _excludes(found) else found.group(), question).strip()
    excluded: list[str] = []
    excluded_phrases: list[tuple[str, ...]] = []
    excludes_alone = False
    if COMPOUND.search(plain):
        exclusions = [found.group("word") or _quoted(found) for found in operators if _excludes(found)]
        operators = [found for found in operators if not _excludes(found)]
        for exclusion in exclusions:
            if phrases := _excluded_phrases(words, exclusion, asked):
                excluded_phrases.extend(phrases)
            elif len(exclusion.split()) == 1:
                excluded.extend(_excluded(words, exclusion, asked))
    else:
        excludes_alone = any(map(_excludes, operators))
        plain, wanted = body, question
    phrases = [tuple(_terms(words, _quoted(found), (main,), own)) for found in operators]
    distinctive = _terms(words, plain, asked, own)
    terms = distinctive or _terms(words, plain, asked, own, keep_stop_words=True)
    counts = Counter(_terms(words, plain, (main,), own, bare=False))
    accented = counts if detected in asked else frozenset(_terms(words, plain, asked, own, bare=False))
    return AnalyzedQuery(
        text=text,
        terms=tuple(dict.fromkeys(terms)),
        identifiers=tuple(dict.fromkeys(_identifiers(words, plain.translate(ASCII_ALIKE), own))),
        phrases=tuple(dict.fromkeys(filter(None, phrases))),
        excluded=tuple(dict.fromkeys(excluded)),
        excluded_phrases=tuple(dict.fromkeys(excluded_phrases)),
        words=tuple(filter(None, (normal(found.group()).strip("_") for found in COMPOUND.finditer(text[:_LONGEST])))),
        repeated=tuple((term, count) for term, count in counts.items() if count > 1),
        wanted=wanted,
        excludes_alone=excludes_alone,
        common=bool(terms) and not distinctive,
        language=own,
        other_stems=tuple(dict.fromkeys(term for term in distinctive if term not in accented)),
    )


def _quoted(found: re.Match[str]) -> str:
    return found.group("straight") or found.group("curly") or ""


def _excludes(found: re.Match[str]) -> bool:
    return bool(found.group("word") or (found.group("minus") and _quoted(found).strip()))


def _terms(
    words: StandardAnalyzer,
    text: str,
    languages: Sequence[str],
    own: str,
    *,
    keep_stop_words: bool = False,
    bare: bool = True,
) -> list[str]:
    """Tokens for all languages, word by word; a stop word of the question's own language counts for none.

    `bare` says whether words have the stems too that they would have without their accents.
    """
    out: list[str] = []
    for piece in text.split():
        placed = words.by_piece(own, keep_stop_words=keep_stop_words)[piece]
        indexed = {(start, end) for _, start, end, _ in placed}
        for language in languages:
            found = words.by_piece(language, keep_stop_words=True)[piece]
            if not bare:
                first = {item[1:3]: item[0] for item in reversed(found)}
                found = [item for item in found if piece.isascii() or first[item[1:3]] == item[0]]
            out.extend(
                token for token, start, end, _ in found if (start, end) in indexed and not _is_inverted(token, own)
            )
    return out


def _is_inverted(token: str, language: str) -> bool:
    """Whether words of a sentence are hyphenated, not a name: the French `est-ce`, `peut-on`, the Russian `из-за`.

    English words are told apart from its names (`tokens`).

    >>> _is_inverted("est-ce", "fr"), _is_inverted("kube-proxy", "fr")
    (True, False)
    """
    if language == "en" or not _HYPHENATED.fullmatch(token):
        return False
    return not stop_words(language).isdisjoint(token.split("-"))


def _excluded(words: StandardAnalyzer, text: str, languages: Sequence[str]) -> list[str]:
    """An excluded compound is excluded as a whole: `-kube-proxy` doesn't exclude every proxy."""
    out: list[str] = []
    for language in languages:
        found = words.by_piece(language, keep_stop_words=True)[text]
        whole = all(found[0][1] <= start and end <= found[0][2] for _, start, end, _ in found)
        out.extend(token for token, _, _, _ in (found[:1] if whole else found))
    return out


def _excluded_phrases(words: StandardAnalyzer, text: str, languages: Sequence[str]) -> list[tuple[str, ...]]:
    """What is excluded in this order only, by each language's stems: words between blanks, or a run without blanks.

    None where a single word is left, which would exclude far more than was said: `-"how to install"` each `install`.
    """
    if len(text.split()) == 1 and not has_spaceless(text):
        return []
    found = [tuple(_terms(words, text, (language,), language)) for language in languages]
    return found if all(len(phrase) > 1 for phrase in found) else []


def _identifiers(words: StandardAnalyzer, text: str, own: str) -> list[str]:
    """Outermost identifiers only: a question about `ray.data.range` isn't about every `ray`."""
    out: list[str] = []
    for piece in without_invisible(text)[0].split():
        reached = 0
        for token, start, end, identifier in words.by_piece("en", keep_stop_words=True)[piece]:
            if not identifier or _is_inverted(token, own):
                continue
            if (start >= reached or not out) and is_named(piece, start, end):
                out.append(token)
                reached = end
    return out
