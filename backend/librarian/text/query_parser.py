"""What a question says: terms, identifiers, "quoted phrases", -excluded words and -"excluded phrases".

Everything else is plain text.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Protocol

from ..models import AnalyzedQuery
from . import language as detection
from .scripts import ASCII_ALIKE, has_spaceless, normal, without_invisible
from .stop_words import stop_words
from .tokens import COMPOUND, is_named

_SOMEONE = r"(?:you|some ?one|somebody|any ?one|anybody)"
_SAY = r"(?:tell|show|explain|describe|clarify|remind|teach|help|point out|let)"
_ME = r"(?: to)? (?:me|us)"
_PAGES = r"(?:docs?|documentation|manuals?|knowledge base|library|guides?)"
_GREETING = r"(?:hi|hello|hey|greetings|dear|good (?:morning|afternoon|evening|day))"

_OPENINGS = (
    rf"{_GREETING} (?:there|all|everyone|everybody|team|folks|guys)",
    rf"{_GREETING}(?=[,!.:])(?!\W*world)",
    r"(?:i['’]m|i am) (?:\w+ )?new to (?:all )?(?:this|it)(?: and| so| but)?",
    r"(?:i was |i am |i['’]m |was |am )?(?:just )?(?:wondering|curious)(?: if| whether| about)?",
    rf"(?:please |kindly )?(?:can|could|would|will) {_SOMEONE}(?: please| kindly)?(?: help me)? {_SAY}(?:{_ME})?"
    r"(?: (?:know|understand|find(?: out)?|figure out|with))?(?: about)?(?: the following)?",
    rf"{_SOMEONE} (?:could|can|would|might) (?:explain|tell|show|describe)(?:{_ME})?(?: the following)?",
    rf"(?:please |kindly )?(?:tell|show|explain|describe|remind){_ME}(?: about)?",
    r"(?:please|kindly)(?: (?:explain|describe|show|tell|help))?(?: me)?(?: with)?",
    r"(?:i['’]d (?:like|love)|i would (?:like|love)|i (?:want|need)|(?:i['’]m|i am) trying) to"
    r" (?:know|understand|ask|find out|learn|figure out)(?: about)?",
    r"(?:do you|does (?:any|some)(?:one|body)) (?:happen to )?know(?: about)?",
    rf"(?:search|look|check|consult)(?: up)?(?: in| through)?(?: the| our| your| my)?(?: \w+)? {_PAGES}"
    r"(?: (?:for|about|on)|(?=:))",
    r"(?:find|give me|get me|fetch|look up)(?: me)?(?: the| some| any| all)?(?: relevant)?"
    rf" (?:{_PAGES}|information|info|pages?|passages?|sections?|details) (?:about|on|for|regarding)",
    r"(?:i have |i['’]ve got |here is |here['’]s )?(?:a |my |another )?(?:quick |short |simple |stupid )*question"
    r"(?=[:.,!-])",
    rf"what (?:does|do) the {_PAGES} say (?:about|on|regarding)",
    rf"according to the {_PAGES}",
)
_CLOSINGS = (
    r"(?:many )?thanks(?: a lot| so much| very much)?(?: in advance)?",
    r"thank you(?: very much| so much)?(?: in advance)?",
    r"(?:any |some )?(?:help|advice|ideas?|pointers?|hints?|suggestions?|guidance)(?: on this| with this| here)?"
    r"(?:(?: is| are| would be| will be)?(?: much| greatly| highly| very much| really)? (?:appreciated|welcome))?",
    r"please (?:help|advise)(?: me)?",
    r"(?:best |kind |warm )?regards|cheers",
)
_OPENING = re.compile(rf"\s*+(?:{'|'.join(_OPENINGS)})(?!\w)[\s,!.:;-]*", re.IGNORECASE)
_CLOSING = re.compile(
    rf"(?:(?<=[.?!,;\n])\s*(?:{'|'.join(_CLOSINGS)})|\s(?:thanks|thank you) in advance)[\s!.?,]*\Z", re.IGNORECASE
)
_LAST = 120  #: characters at the end in which a closing is looked for


def unframed(text: str) -> str:
    """What a question asks; the text as it is where that would be nothing.

    >>> unframed("Hi! Could you please tell me how pods restart? Thanks in advance!")
    'how pods restart?'
    >>> unframed("Search the documentation for: retries"), unframed("please help"), unframed("search documentation")
    ('retries', 'please help', 'search documentation')
    """
    asked = text
    while (opening := _OPENING.match(asked)) and asked[opening.end() :].strip():
        asked = asked[opening.end() :]
    while closing := _CLOSING.search(asked, max(0, len(asked) - _LAST)):
        if not asked[: closing.start()].strip():
            break
        asked = asked[: closing.start()].rstrip()
    return asked if any(map(str.isalnum, asked)) else text


_HYPHENATED = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)+")
_LONGEST = 10_000  #: characters; requests are refused for questions far below that
#: A quoted phrase, also behind a minus, or a minus before a word of at least two letters: `-alpha`, neither `--alpha`,
#: `-f` nor `-or-`.
_OPERATOR = re.compile(
    r'(?P<minus>(?<!\S)-)?(?:"(?P<straight>[^"]*)"|“(?P<curly>[^“”]*)”)'
    r'|(?<!\S)-(?P<word>[^\W\d_]\w[^\s"“]*)(?<!-)(?![^\s"“])'
)


class Words(Protocol):
    """What this module needs of the analyzer."""

    def dissect(
        self, piece: str, language: str, *, keep_stop_words: bool = False
    ) -> list[tuple[str, int, int, bool]]: ...


def analyze(words: Words, text: str, languages: Sequence[str]) -> AnalyzedQuery:
    """A question for a library in `languages`, the most frequent first; English where none is given.

    Stop words are those of the question's own language where it can be told, else of the library's first; what stays
    is stemmed for every language of the library and united, since a page is indexed by its own language's stems. A
    question that only excludes is read as plain text. Terms, identifiers and quotes are those of what is asked, without
    what only frames it (`framing`).
    """
    asked = tuple(dict.fromkeys(language or "en" for language in languages)) or ("en",)
    question = unframed(text)
    body = question[:_LONGEST]
    told = detection.detect(body, needed=1.0, alone=True)
    if told != asked[0]:  # one word of another language is likelier one of the library's own: "pod state", "io limit"
        told = detection.detect(body, needed=1.0)
    own = told or asked[0]
    operators = list(_OPERATOR.finditer(body))
    plain = _OPERATOR.sub(lambda found: " " if _excludes(found) else f" {_quoted(found)} ", body)
    wanted = _OPERATOR.sub(lambda found: "" if _excludes(found) else found.group(), question).strip()
    excluded: list[str] = []
    excluded_phrases: list[tuple[str, ...]] = []
    left_aside: list[str] = []
    excludes_alone = False
    demanded = operators
    if COMPOUND.search(plain):
        demanded = [found for found in operators if not _excludes(found)]
        for text_of in (found.group("word") or _quoted(found) for found in operators if _excludes(found)):
            if phrases := _excluded_phrases(words, text_of, asked):
                excluded_phrases.extend(phrases)
            elif len(text_of.split()) == 1:
                excluded.extend(_excluded(words, text_of, asked))
            else:
                left_aside.append(text_of)
    else:
        excludes_alone = any(map(_excludes, operators))
        plain, wanted = body, question
    phrase_language = own if own in asked else asked[0]
    quoted = [(_quoted(found), tuple(_terms(words, _quoted(found), (phrase_language,), own))) for found in demanded]
    telling = _terms(words, plain, asked, own)
    terms = telling or _terms(words, plain, asked, own, keep_stop_words=True)
    said = Counter(_terms(words, plain, (own if own in asked else asked[0],), own, bare=False))
    accented = said if told in asked else frozenset(_terms(words, plain, asked, own, bare=False))
    typed = plain if question == text else text[:_LONGEST]
    return AnalyzedQuery(
        text=text,
        terms=tuple(dict.fromkeys(terms)),
        identifiers=tuple(dict.fromkeys(_identifiers(words, plain.translate(ASCII_ALIKE), own))),
        phrases=tuple(dict.fromkeys(phrase for _, phrase in quoted if phrase)),
        excluded=tuple(dict.fromkeys(excluded)),
        excluded_phrases=tuple(dict.fromkeys(excluded_phrases)),
        words=tuple(filter(None, (normal(found.group()).strip("_") for found in COMPOUND.finditer(typed)))),
        repeated=tuple((term, count) for term, count in said.items() if count > 1),
        asked=question,
        wanted=wanted,
        excludes_alone=excludes_alone,
        common=bool(terms) and not telling,
        language=own,
        other_stems=tuple(dict.fromkeys(term for term in telling if term not in accented)),
        unheeded=tuple(dict.fromkeys([*left_aside, *(s for s, phrase in quoted if not phrase and COMPOUND.search(s))])),
    )


def _quoted(found: re.Match[str]) -> str:
    return found.group("straight") or found.group("curly") or ""


def _excludes(found: re.Match[str]) -> bool:
    return bool(found.group("word") or (found.group("minus") and _quoted(found).strip()))


def _terms(
    words: Words, text: str, languages: Sequence[str], own: str, *, keep_stop_words: bool = False, bare: bool = True
) -> list[str]:
    """Tokens for all languages, word by word; a stop word of the question's own language counts for none.

    `bare` says whether words have the stems too that they would have without their accents.
    """
    out: list[str] = []
    for piece in text.split():
        kept = {(start, end) for _, start, end, _ in words.dissect(piece, own, keep_stop_words=keep_stop_words)}
        for language in languages:
            found = words.dissect(piece, language, keep_stop_words=True)
            if not bare:
                first = {item[1:3]: item[0] for item in reversed(found)}
                found = [item for item in found if piece.isascii() or first[item[1:3]] == item[0]]
            out.extend(token for token, start, end, _ in found if (start, end) in kept and not _is_inverted(token, own))
    return out


def _is_inverted(token: str, language: str) -> bool:
    """Whether words of a sentence are hyphenated, not a name: the French `est-ce`, `peut-on`, the Russian `из-за`.

    English words are told with its names (`shapes`).
    """
    if language == "en" or not _HYPHENATED.fullmatch(token):
        return False
    return not stop_words(language).isdisjoint(token.split("-"))


def _excluded(words: Words, text: str, languages: Sequence[str]) -> list[str]:
    """An excluded compound is excluded as a whole: `-kube-proxy` doesn't exclude every proxy."""
    out: list[str] = []
    for language in languages:
        found = words.dissect(text, language, keep_stop_words=True)
        if found:
            _, first_start, first_end, _ = found[0]
            whole = all(first_start <= start and end <= first_end for _, start, end, _ in found)
            out.extend(token for token, _, _, _ in (found[:1] if whole else found))
    return out


def _excluded_phrases(words: Words, text: str, languages: Sequence[str]) -> list[tuple[str, ...]]:
    """What is excluded in this order only, by each language's stems: words between blanks, or a run without blanks.

    None where a single word is left, which would exclude far more than was said: `-"how to install"` each `install`.
    """
    if len(text.split()) == 1 and not has_spaceless(text):
        return []
    found = [tuple(_terms(words, text, (language,), language)) for language in languages]
    return found if all(len(phrase) > 1 for phrase in found) else []


def _identifiers(words: Words, text: str, own: str) -> list[str]:
    """Outermost identifiers only: who asks for `ray.data.range` doesn't ask for every `ray`."""
    out: list[str] = []
    for piece in without_invisible(text)[0].split():
        reached = 0
        for token, start, end, identifier in words.dissect(piece, "en", keep_stop_words=True):
            if not identifier or _is_inverted(token, own):
                continue
            if (start >= reached or not out) and is_named(piece, start, end):
                out.append(token)
                reached = end
    return out
