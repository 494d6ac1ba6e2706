"""What a question is taken to say before anything looks for it: misspelt words corrected, flags told from exclusions.

Keyboards make a dash of two hyphens: `—frozen` is `--frozen` where the library has that flag.

Whoever asks what `go test -race` does means no pages without `race`: a word behind a minus that some passage writes so
is a flag of a command, and is searched.
"""

from __future__ import annotations

import logging
import re
from dataclasses import replace
from typing import NamedTuple

from ..models import AnalyzedQuery, Filters, Query, Selection
from ..storage.base import CatalogReader, Columns, KeywordIndex
from ..text.base import Analyzer
from .query_expansion import EXCLUSIONS, FLAGS, SPELLING, QueryVariant
from .spelling import Naming, Spelling, Texts
from .suggestions import NAMES_READ

log = logging.getLogger(__name__)

_DOCUMENTS = Filters(kind="document")
_MINUS = re.compile(r"(?<!\S)-([^\W\d_][\w-]*)")
_DASHED = re.compile(r"(?<!\S)[–—]([A-Za-z][\w-]*)")
_EXCLUDING = re.compile(r'(?<!\S)-(?=[^\W\d_]|["“])')
#: Passages with a word, the best first, that are read to see whether one writes it as a flag.
_READ = 100
#: So many words are excluded at most: who writes more minuses has pasted a command, and each costs a small search.
_EXCLUDED = 8


class NormalizedQuery(NamedTuple):
    """A question as it is searched, and what was changed of it."""

    query: AnalyzedQuery
    variants: tuple[QueryVariant, ...] = ()
    corrected: tuple[tuple[str, str], ...] = ()  #: misspelt words, as typed and as they were taken


class QueryNormalizer:
    """Takes questions on one library. Safe to use from several threads."""

    def __init__(self, analyzer: Analyzer, lexical: KeywordIndex, spelling: Spelling) -> None:
        self._analyzer = analyzer
        self._lexical = lexical
        self._spelling = spelling

    def of(self, asked: Query, columns: Columns, texts: Texts) -> NormalizedQuery:
        """What a question says to the library of these columns; `texts` gives passages by id.

        Mails hold no flags for this: people sign them `-Ann`.
        """
        text, languages = self._with_hyphens(asked.text), columns.languages()
        query = self._analyzer.query(text, languages)
        variants: list[QueryVariant] = []
        flags = query.excluded and asked.filters.kind != "email"
        plain = self._without_flags(text, columns.select(_DOCUMENTS), texts) if flags else text
        if plain != asked.text:
            query = self._analyzer.query(plain, languages)
            variants.append(QueryVariant(plain, "", FLAGS))
        elif query.excludes_alone:
            variants.append(QueryVariant(_EXCLUDING.sub("", text), "", EXCLUSIONS))
        corrected = self._spelling.corrected(query, languages, texts, _senders(asked, columns))
        if corrected is None:
            return NormalizedQuery(query, tuple(variants))
        variants = [replace(variant, search_terms="") for variant in variants]
        variants.append(QueryVariant(corrected.text, "", SPELLING))
        return NormalizedQuery(self._analyzer.query(corrected.text, languages), tuple(variants), corrected.words)

    def nearest(self, asked: Query, query: AnalyzedQuery, columns: Columns, texts: Texts) -> list[tuple[str, str]]:
        """Words of a question that the library doesn't hold, each with the nearest one that it does."""
        return self._spelling.nearest(query, columns.languages(), texts, _senders(asked, columns))

    def names(self, asked: Query, columns: Columns, reader: CatalogReader) -> Naming:
        """Tells words that are names in this library although no text may hold them: products, components, senders, and
        compounds in the files' paths, which are indexed by their parts."""
        people = _senders(asked, columns)

        def is_name(word: str) -> bool:
            told = word.casefold()
            products = reader.products()
            listed = (name for product, inside in products.items() for name in (product, *inside))
            if any(told in re.split(r"[\W_]+", name.casefold()) for name in listed) or people(word):
                return True
            plain = word.isalpha() and (word.islower() or word.isupper() or word.istitle())
            return not plain and any(told in path.casefold() for path, _ in reader.names("", NAMES_READ))

        return is_name

    def _with_hyphens(self, text: str) -> str:
        """A question with a flag's two hyphens where a keyboard made a dash of them, if the library has it."""
        flags = {f"--{flag.lower()}" for flag in _DASHED.findall(text)} if "–" in text or "—" in text else None
        if not flags:
            return text
        try:
            held = self._lexical.frequencies(flags)
        except Exception:
            # A keyword index that fails is told of by its leg; the meaning may answer all the same.
            log.exception("flags couldn't be looked for")
            return text
        return _DASHED.sub(lambda found: f"--{found[1]}" if f"--{found[1].lower()}" in held else found[0], text)

    def _without_flags(self, text: str, documents: Selection, texts: Texts) -> str:
        """A question with its flags as plain words."""
        words = dict.fromkeys(_MINUS.findall(text))
        try:
            flags = {word for word in words if len(words) > _EXCLUDED or self._is_flag(word, documents, texts)}
        except Exception:
            # A keyword index that fails is told of by its leg; the meaning may answer all the same.
            log.exception("flags couldn't be looked for")
            return text
        return _MINUS.sub(lambda found: found.group(1 if found.group(1) in flags else 0), text)

    def _is_flag(self, word: str, documents: Selection, texts: Texts) -> bool:
        """Whether a passage writes a word with a minus before it."""
        asked = self._analyzer.query(word)
        written = re.compile(rf"(?<![\w-])-{re.escape(word)}(?![\w-])")
        passages = texts(self._lexical.search(asked, documents, _READ).ids)
        return any(written.search(passage) for passage in passages.values())


def _senders(asked: Query, columns: Columns) -> Naming:
    """Tells the names of who wrote or got mails: few of them are signed with the name that the header has."""
    if asked.filters.kind != "email":
        return lambda word: False
    return lambda word: any(
        columns.select(who).count > 0
        for who in (Filters(kind="email", sender=word), Filters(kind="email", recipients=(word,)))
    )
