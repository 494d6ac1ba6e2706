"""Words as Librarian understands them: one notion for index, query, snippet and guard.

A text is taken piece by piece, a piece being what stands between two spaces. Documentation repeats itself, so a piece
that was seen before costs one dictionary look-up (93 of 100 pieces of the Kubernetes and Ray manuals). What is inside a
piece is determined by `tokens` (compounds, identifiers), `scripts` (normal form, bigrams) and Snowball (stems).
"""

from __future__ import annotations

import hashlib
import json
import re
import threading
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from importlib.resources import files
from itertools import chain
from typing import TypeVar

import Stemmer

from ..models import AnalyzedQuery, TokenSpan
from . import dictionaries, query_parser
from . import language as detection
from .dictionaries import LANGUAGES, stop_words
from .scripts import (
    ASCII_ALIKE,
    bigrams,
    fold_accents,
    has_spaceless,
    split_scripts,
    without_attached,
    without_invisible,
)
from .tokens import ASCII_COMPOUND, COMPOUND, Part, dissect, has_inner_capital, is_version, signs

_FORMAT = 10  #: raised when the rules change so that the same text gives other tokens
_PIECE = re.compile(r"\S+")
#: One word of ASCII letters between punctuation that means nothing: the quick way.
_PLAIN = re.compile(r"[(\[{*`\"'<>|!?,;:$%&=~^]*+([A-Za-z]{1,200}+)[)\]}*`\"'<>|!?,;:$%&=~^./]*+")
_SEPARATORS = ("/", ".", "::")
_ENDING = 3  #: letters by which forms of a word differ at most: `excellent` is none of `excel`, whose stem it has
_LONG_PATH = 6  #: pieces of a path beyond which only its ends make names
_LONGEST_REMEMBERED = 128  #: characters, enough for most addresses; longer pieces rarely come twice
_LANGUAGES = 100  #: that are remembered
REMEMBERED = 40_000  #: pieces per language: enough for questions and what is shown of their answers, about 20 MB

#: Snowball algorithms by ISO 639-1 code. Other languages are indexed unstemmed.
STEMMERS = {
    "en": "english", "de": "german", "fr": "french", "es": "spanish", "it": "italian", "nl": "dutch",
    "pt": "portuguese", "ru": "russian", "sv": "swedish", "da": "danish", "no": "norwegian", "nb": "norwegian",
    "fi": "finnish", "hu": "hungarian", "ro": "romanian", "tr": "turkish", "ar": "arabic", "el": "greek",
    "hi": "hindi", "ca": "catalan", "lt": "lithuanian", "ga": "irish", "id": "indonesian", "pl": "polish",
    "cs": "czech", "fa": "persian", "et": "estonian", "eu": "basque", "hy": "armenian", "sr": "serbian",
    "ne": "nepali", "ta": "tamil",
}  # fmt: skip

K = TypeVar("K", str, tuple[str, bool])
V = TypeVar("V")

#: Language → stems of its common words, with these words' lengths; made when first asked for, which takes long.
_COMMON_STEMS: dict[str, Mapping[str, Collection[int]]] = {}

#: (token, start, end, is a whole identifier)
_Found = tuple[str, int, int, bool]
#: Tokens joined by single spaces, and identifiers.
_Entry = tuple[str, tuple[str, ...]]


class _Memory(dict[K, V]):
    """Piece, word or language → what `work` says of it, computed on first use; at most so many, then all are forgotten.

    A hit costs no more than a plain dictionary look-up, unlike `lru_cache`.
    """

    def __init__(self, work: Callable[[K], V], most: int) -> None:
        super().__init__()
        self._work: Callable[[K], V] = work
        self._most = max(1, most)

    def __missing__(self, key: K) -> V:
        value = self._work(key)
        if len(key) <= _LONGEST_REMEMBERED:
            if len(self) >= self._most:
                self.clear()
            self[key] = value
        return value


class StandardAnalyzer:
    """Tokens of documentation: stems without stop words, identifiers whole and in parts, bigrams where no spaces are.

    Safe to share between threads and to send to another process. `min_length` is the shortest plain word that is
    indexed, in characters; digits, identifiers and scripts without spaces are exempt.

    A word whose stem depends on its accents is followed by the stem that it has without them.

    >>> StandardAnalyzer().tokens("Calling ray.data.read_parquet() on the pods")
    ['call', 'ray.data.read_parquet', 'ray', 'data', 'read_parquet', 'read', 'parquet', 'pod']
    >>> StandardAnalyzer().tokens("configuração", "pt"), StandardAnalyzer().tokens("configuracao", "pt")
    (['configur', 'configuraca'], ['configuraca'])
    """

    def __init__(self, min_length: int = 2) -> None:
        self.min_length = min_length
        self._entries = _Memory(self._entries_of, _LANGUAGES)
        self._placed = _Memory(self._placed_of, _LANGUAGES)
        self._words = _Memory(self._words_of, _LANGUAGES)
        self._stemmers = _Memory(_stemmer_of, _LANGUAGES)
        self._lock = threading.Lock()

    def __reduce__(self) -> tuple[Callable[..., StandardAnalyzer], tuple[()]]:
        return partial(StandardAnalyzer, self.min_length), ()

    @property
    def fingerprint(self) -> str:
        """Changes whenever the same text would give other tokens."""
        lists = "|".join(",".join(sorted(stop_words(language))) for language in LANGUAGES)
        digest = hashlib.sha256(lists.encode()).hexdigest()[:8]
        return f"standard-{_FORMAT};min={self.min_length};snowball={Stemmer.version()};stop={digest}"

    def tokens(self, text: str, language: str = "") -> list[str]:
        """Tokens as indexed, in order of appearance; a compound's whole comes before its parts."""
        return self.entry(text, language)[0].split()

    def by_piece(self, language: str = "", *, keep_stop_words: bool = False) -> Mapping[str, Sequence[_Found]]:
        """Piece → its tokens with their places in it, computed on first use. A piece stands between two blanks."""
        return self._placed[language or "en", keep_stop_words]

    def spans(self, text: str, language: str = "") -> list[TokenSpan]:
        """The tokens of `tokens`, each with its place in `text`."""
        placed = self.by_piece(language)
        return [
            TokenSpan(token, piece.start() + start, piece.start() + end)
            for piece in _PIECE.finditer(text)
            for token, start, end, _ in placed[piece.group()]
        ]

    def identifiers(self, text: str) -> list[str]:
        """Whole identifiers in order of appearance, each once, with every shorter name they hold.

        A page that says `ray.data.read_parquet` also answers for `ray.data`, `data.read_parquet` and `read_parquet`.
        """
        return self.entry(text)[1]

    def entry(self, text: str, language: str = "") -> tuple[str, list[str]]:
        """`tokens` joined by single spaces, and `identifiers`, in one pass: what an index stores of a passage."""
        found = list(map(self._entries[language or "en"].__getitem__, text.split()))
        names = chain.from_iterable([names for _, names in found if names])
        return " ".join([tokens for tokens, _ in found if tokens]), list(dict.fromkeys(names))

    def query(self, text: str, languages: Sequence[str] = ()) -> AnalyzedQuery:
        """A question for a library written in `languages` (most frequent first); never raises."""
        return query_parser.analyze(self, text, languages)

    def detect(self, text: str) -> str:
        """ISO 639-1 code of the text's language, empty where unsure."""
        return detection.detect(text)

    def is_word(self, word: str, languages: Sequence[str] = ()) -> bool:
        """Whether a dictionary of one of these languages, or of English, has a word in lower case."""
        return any(word in found for found in dictionaries.dictionaries(languages))

    def is_common(self, word: str, languages: Sequence[str] = ()) -> bool:
        """Whether a word in lower case, or a form of it, is frequent in one of these languages or in English, or a
        common word of computing.
        """
        asked = dict.fromkeys((*(language or "en" for language in languages[: dictionaries.READ]), "en"))
        return any(
            abs(length - len(spelt)) <= _ENDING
            for spelt in {word, dictionaries.american(word)}
            for language in asked
            for length in self._common(language).get(self.stem(spelt, language), ())
        )

    def edits(self, word: str, languages: Sequence[str] = ()) -> dict[str, tuple[str, ...]]:
        """Every spelling one edit away from a word in lower case, with what it is indexed as in any of these languages:
        nothing, where it is a stop word. Empty where the first of them has no dictionary: there, what occurs nowhere is
        rather a form of a word than misspelt.
        """
        asked = tuple(dict.fromkeys(language or "en" for language in languages[: dictionaries.READ])) or ("en",)
        if dictionaries.dictionary(asked[0]) is None:
            return {}
        own, letters = set(fold_accents(word)), dictionaries.LETTERS  # the alphabet that the word is written in
        if not own <= set(letters):
            known = (found.letters for found in dictionaries.dictionaries(languages) if own <= set(found.letters))
            letters = next(known, "".join(sorted(own)))
        empty = stop_words(asked[0])
        return {
            spelling: () if spelling in empty else tuple({self.stem(spelling, language) for language in asked})
            for spelling in dictionaries.edits(word, letters)
        }

    def stem(self, word: str, language: str) -> str:
        """The index form of a normalised plain word: its stem, accents folded."""
        if language == "en":  # its accents are foreign words' (résumé): "resume" must find them
            word = fold_accents(word)
        elif not word.isascii():
            word = without_attached(word, language)
        with self._lock:  # Snowball's objects hold a buffer that threads may not share
            stemmer = self._stemmers[language]
            return fold_accents(stemmer.stemWord(word) if stemmer else word) or word

    def _common(self, language: str) -> Mapping[str, Collection[int]]:
        """Stems of the common words of a language, with these words' lengths; none where it has no dictionary."""
        known = _COMMON_STEMS.get(language)
        if known is None:
            found = dictionaries.dictionary(language)
            words = found.frequent.split() if found is not None else []
            if language == "en":  # words of computing that its dictionaries lack: `namespace`, `webhook`
                data = files(__package__).joinpath("computing_words.json").read_text("utf-8")
                words += json.loads(data)["words"].split()
            lengths: dict[str, set[int]] = {}
            for word in words:
                lengths.setdefault(self.stem(word, language), set()).add(len(word))
            known = _COMMON_STEMS.setdefault(language, lengths)
        return known

    def _placed_of(self, key: tuple[str, bool]) -> _Memory[str, list[_Found]]:
        return _Memory(partial(self._dissected, words=self._words[key]), REMEMBERED // 2)

    def _entries_of(self, language: str) -> _Memory[str, _Entry]:
        """Entries of pieces. These often differ in punctuation and links alone, so compounds are remembered too."""
        words = self._words[language, False]

        def of_compound(raw: str) -> _Entry:
            found: list[_Found] = []
            _add(found, dissect(raw, 0), words)
            return " ".join([item[0] for item in found]), tuple([item[0] for item in found if item[3]])

        compounds = _Memory(of_compound, REMEMBERED)

        def of_piece(piece: str) -> _Entry:
            plain = _PLAIN.fullmatch(piece)
            if plain and not has_inner_capital(plain.group(1)):
                return words[plain.group(1).lower()], ()
            if piece.isascii() and (found := [compounds[raw] for raw in ASCII_COMPOUND.findall(piece)]):
                names = [name for _, some in found for name in some]
                return " ".join([tokens for tokens, _ in found if tokens]), _with_shorter(names)
            placed = self._dissected(piece, words)
            return " ".join([item[0] for item in placed]), _with_shorter([item[0] for item in placed if item[3]])

        return _Memory(of_piece, REMEMBERED)

    def _words_of(self, key: tuple[str, bool]) -> _Memory[str, str]:
        """Plain word → its token, empty for one that isn't indexed."""
        language, keep_stop_words = key
        stops = frozenset[str]() if keep_stop_words else stop_words(language)

        def token(word: str) -> str:
            return "" if word in stops or len(word) < self.min_length else self.stem(word, language)

        return _Memory(token, REMEMBERED)

    def _dissected(self, piece: str, words: _Memory[str, str]) -> list[_Found]:
        plain = _PLAIN.fullmatch(piece)
        if plain and not has_inner_capital(plain.group(1)):
            token = words[plain.group(1).lower()]
            return [(token, plain.start(1), plain.end(1), False)] if token else []
        out: list[_Found] = []
        if piece.isascii():
            for match in ASCII_COMPOUND.finditer(piece):
                _add(out, dissect(match.group(), match.start()), words)
            return out or [(*sign, True) for sign in signs(piece)]
        seen, places = without_invisible(piece)
        if seen != piece:  # only visible characters count
            found = self._dissected(seen, words)
            return [(token, places[first], places[end - 1] + 1, name) for token, first, end, name in found]
        piece = piece.translate(ASCII_ALIKE)
        out = [(*sign, True) for sign in signs(piece)]
        for match in COMPOUND.finditer(piece):
            for part in dissect(match.group(), match.start()):
                text, start, end, is_plain, _ = part
                if not has_spaceless(piece[start:end]):
                    count = len(out)
                    _add(out, [part], words)
                    # Snowball tells a suffix by its accents: who types none would ask for another stem.
                    bare = words[fold_accents(text)] if is_plain and not text.isascii() and len(out) > count else ""
                    if bare and bare != out[-1][0]:
                        out.append((bare, start, end, False))
                elif part.identifier and not is_plain and not text.isalnum():
                    out.append((text, start, end, True))
                elif is_plain or text.isalnum():  # possibly beside other scripts ("Kubernetesの設定")
                    for spaceless, first, last in split_scripts(piece[start:end]):
                        raw, place = piece[start + first : start + last], start + first
                        if spaceless:
                            out.extend((gram, place + a, place + b, False) for gram, a, b in bigrams(raw))
                        else:
                            _add(out, dissect(raw, place), words)
        return out


def _stemmer_of(language: str) -> Stemmer.Stemmer | None:
    name = STEMMERS.get(language)
    return Stemmer.Stemmer(name, 0) if name in Stemmer.algorithms() else None


def _add(out: list[_Found], parts: Iterable[Part], words: _Memory[str, str]) -> None:
    """Add the tokens of a compound's parts."""
    for text, start, end, is_plain, identifier in parts:
        if not is_plain:
            out.append((text, start, end, identifier))
        elif (token := words[text]) and not (out and out[-1][:2] == (token, start)):
            out.append((token, start, end, False))


def _with_shorter(names: list[str]) -> tuple[str, ...]:
    """The names, and the shorter ones that the ends of a dotted name or a path make: `b.c` and `a.b` of `a.b.c`.

    So do the middle of a path, unless it is long, and what stands before a tag, a port or an effect: `batch/v1` of
    `apis/batch/v1/jobs`, `example.org/not-ready` of `example.org/not-ready:NoExecute`.
    """
    shorter: list[str] = []
    tagged = [name.rpartition(":")[0] for name in names if ":" in name and "::" not in name]
    tagged = [name for name in tagged if "/" in name or "." in name]
    for name in (*names, *tagged):
        for separator in _SEPARATORS:
            if separator in name and name.count(separator) > 1 and not is_version(name):
                pieces = name.split(separator)
                for count in range(2, min(len(pieces), 5)):
                    last = len(pieces) - count
                    inside = range(last + 1) if separator == "/" and len(pieces) <= _LONG_PATH else (last, 0)
                    shorter += [separator.join(pieces[at : at + count]) for at in inside]
    return tuple(names + tagged + shorter)
