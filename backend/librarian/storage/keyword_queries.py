"""Questions and filters as tantivy queries. Built from terms, never parsed: what a user types can't break them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
import tantivy

from ..models import AnalyzedQuery, Ids, Selection
from .keyword_schema import PHRASED, WORD_FIELDS, FieldWeights

Query = Any  #: tantivy has no types of its own for mypy
MUST, SHOULD, MUST_NOT = tantivy.Occur.Must, tantivy.Occur.Should, tantivy.Occur.MustNot

#: Up to so many numbers a union of single terms beats a term set (120 of 90,000: 0.12 ms against 0.99 ms).
_FEW = 400


#: What the whole of a hyphenated word counts beside its parts, which have said it all: writers join such words as they
#: like, and in full the rare whole would outweigh the rest of a question. Keyword nDCG@10 with a tenth and in full:
#: SciFact 0.699 and 0.695, MED 0.682 and 0.670, CACM 0.500 and 0.499, Kubernetes tasks 0.724 and 0.722, Ray and CISI
#: the same; hybrid moves by 0.003 at most.
_WHOLE = 0.1
#: What a term counts that the question's word is in another language of the library alone. Such a stem is rare where
#: that language is, which would let pages with a borrowed word, an English one in German text, outrank the asker's own.
#: Keyword nDCG@10 on two languages' editions of a manual as one library, the second in full or a part of it, asked in
#: either: sixteen cases better by 0.011 on average, by 0.037 at most, none worse; at 0.3 by 0.013. Where the question
#: doesn't tell its language, all stems count alike: a minority's questions would lose up to 0.03.
_OTHER_STEM = 0.5
_HYPHENATED = re.compile("[a-z]+(?:-[a-z]+)+")


class QueryBuilder:
    """Builds queries for one schema and one set of weights."""

    def __init__(self, schema: Any, weights: FieldWeights) -> None:
        self._schema = schema
        self.weights: dict[str, float] = asdict(weights)

    def terms_of(self, query: AnalyzedQuery, field: str) -> tuple[str, ...]:
        """The query's terms that are looked for in a field."""
        if field == "identifiers":
            return query.identifiers
        return query.terms or tuple(dict.fromkeys(term for phrase in query.phrases for term in phrase))

    def weight(self, query: AnalyzedQuery, field: str, term: str) -> float:
        """What a term counts in a field: the field's weight, times how often the question says the term.

        Counting repetitions, as BM25's formula does, moves keyword nDCG@10 on CACM's long questions from 0.390 to
        0.403, on Ray's from 0.525 to 0.530 and on the Kubernetes tasks from 0.723 to 0.717.

        Of a hyphenated word the parts count and the whole hardly does (`_WHOLE`); an identifier has a field of its own.
        A stem of another language than the question's counts less (`_OTHER_STEM`).
        """
        if field == "identifiers":
            return self.weights[field]
        share = _WHOLE if "-" in term and _HYPHENATED.fullmatch(term) else 1.0
        share *= _OTHER_STEM if term in query.other_stems else 1.0
        times = dict(query.repeated).get(term, 1) if query.repeated else 1
        return self.weights[field] * share * times

    def scored(self, query: AnalyzedQuery, fields: Iterable[str]) -> Query | None:
        """Any of the terms in any of the fields, weighted; None where there is nothing to look for."""
        clauses = [
            (SHOULD, tantivy.Query.boost_query(self._term(field, term, "freq"), self.weight(query, field, term)))
            for field in fields
            if self.weights[field] > 0
            for term in self.terms_of(query, field)
        ]
        return tantivy.Query.boolean_query(clauses) if clauses else None

    def counted(self, terms: Sequence[str], field: str) -> Query | None:
        """Scores 1 for each of the terms that the field holds; None without terms."""
        if not terms:
            return None
        return tantivy.Query.boolean_query(
            [(SHOULD, tantivy.Query.const_score_query(self._term(field, term, "freq"), 1.0)) for term in terms]
        )

    def demanded(self, query: AnalyzedQuery) -> list[tuple[Any, Query]]:
        """Clauses of quoted phrases, which must occur, and of what is excluded, which must not; neither scores.

        A path finds pages, so an excluded word excludes them by it too: `retry -celery` wants nothing of the product
        celery.
        """
        clauses = [(MUST, self._unscored(self._phrase(phrase))) for phrase in query.phrases if phrase]
        for term in query.excluded:
            clauses += [(MUST_NOT, self._term(field, term, "basic")) for field in WORD_FIELDS]
        clauses += [(MUST_NOT, self._phrase(phrase)) for phrase in query.excluded_phrases if phrase]
        return clauses

    def selected(self, selection: Selection) -> list[tuple[Any, Query]]:
        """Clauses that let through what the selection does, without a score."""
        if selection.mask is None:
            return []
        if selection.filters.is_empty() or selection.doc_ids is None:  # single chunks, not whole documents
            return [(MUST, self.among("chunk", np.flatnonzero(selection.mask)))]
        if not selection.complete:
            return [(MUST, self.among("doc", selection.doc_ids))]
        clauses = []
        for field, values in selection.allowed.items():
            any_of = [(SHOULD, self._term(field, value, "basic")) for value in values]
            clauses.append((MUST, self._unscored(tantivy.Query.boolean_query(any_of))))
        if selection.modified is not None:
            low, high = selection.modified
            within = tantivy.Query.range_query(self._schema, "modified", tantivy.FieldType.Integer, low, high)
            clauses.append((MUST, self._unscored(within)))
        return clauses

    def among(self, field: str, numbers: Ids) -> Query:
        """Entries whose number is one of these; scores nothing."""
        values: list[int] = np.asarray(numbers).tolist()
        if len(values) > _FEW:
            return self._unscored(tantivy.Query.term_set_query(self._schema, field, values))
        any_of = [(SHOULD, tantivy.Query.term_query(self._schema, field, value)) for value in values]
        return self._unscored(tantivy.Query.boolean_query(any_of))

    def _phrase(self, words: tuple[str, ...]) -> Query:
        if len(words) == 1:
            found = [self._term(field, words[0], "basic") for field in PHRASED]
        else:
            found = [tantivy.Query.phrase_query(self._schema, field, list(words)) for field in PHRASED]
        return tantivy.Query.boolean_query([(SHOULD, query) for query in found])

    def _term(self, field: str, term: str, detail: str) -> Query:
        return tantivy.Query.term_query(self._schema, field, term, detail)

    @staticmethod
    def _unscored(query: Query) -> Query:
        return tantivy.Query.const_score_query(query, 0.0)


def joined(clauses: list[tuple[Any, Query]]) -> Query:
    """One query of several clauses; a lone one stays bare, or tantivy would not skip postings."""
    return clauses[0][1] if len(clauses) == 1 else tantivy.Query.boolean_query(clauses)
