"""Everything known about the candidates, whoever found it and whenever."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from librarian.models import Filters, Ranking
from librarian.search.candidates import FIELDS, gather, told
from librarian.search.retrievers import KeywordRetriever

from .library import Library


def test_who_holds_a_deciding_identifier_is_told_although_the_question_has_others(manual: Library) -> None:
    query = manual.analyzer.query("max_replicas or TILL_LOG_LEVEL", ("en",))
    columns = manual.catalog.columns()
    every = np.array([number for number in range(1, 200) if columns.doc_of(np.array([number]))[0]])

    def held(*names: str) -> set[int]:
        found = told(query, manual.lexical, every, names)
        return set(found.ids[found.holds].tolist())

    one, other = query.identifiers
    assert held(one)
    assert held(other)
    assert not held(one) & held(other)
    assert held(one) | held(other) == held(*query.identifiers)
    assert not held()


@pytest.mark.parametrize("question", ["deploy a release", "log tokens", "rotate api_token"])
def test_what_was_told_of_the_words_candidates_early_is_what_is_told_of_them_later(
    manual: Library, question: str
) -> None:
    query = manual.analyzer.query(question, ("en",))
    columns = manual.catalog.columns()
    keyword = KeywordRetriever(manual.lexical, manual.analyzer, 50).rank(query, columns.select(Filters()))
    assert keyword.ids
    every = [number for number in range(1, 200) if columns.doc_of(np.array([number]))[0]]
    semantic = Ranking("semantic", tuple(every), (0.5,) * len(every), (0.5,) * len(every))
    early = told(query, manual.lexical, np.array(keyword.ids), query.identifiers)
    with ThreadPoolExecutor(2) as threads:
        pools = [
            gather(
                query,
                columns,
                manual.lexical,
                keyword=keyword,
                semantic=semantic,
                names=query.identifiers,
                known=known,
                threads=threads,
            )
            for known in (None, early)
        ]
    late, joined = (pool.passages for pool in pools)
    assert len(late) == len(every) > len(keyword.ids)
    np.testing.assert_array_equal(joined.bm25, late.bm25)
    np.testing.assert_array_equal(joined.holds_identifier, late.holds_identifier)
    assert joined.fields.keys() == late.fields.keys() == set(FIELDS)
    for name in FIELDS:
        np.testing.assert_array_equal(joined.fields[name], late.fields[name])
        assert joined.fields[name].any()


def test_what_only_the_meaning_found_is_guessed_to_have_the_usual_share_of_its_words_in_the_text(
    manual: Library,
) -> None:
    query = manual.analyzer.query("deploy the till", ("en",))
    columns = manual.catalog.columns()
    keyword = KeywordRetriever(manual.lexical, manual.analyzer, 2).rank(query, columns.select(Filters()))
    every = [number for number in range(1, 200) if columns.doc_of(np.array([number]))[0]]
    semantic = Ranking("semantic", tuple(every), (0.5,) * len(every), (0.5,) * len(every))
    with ThreadPoolExecutor(2) as threads:
        found = gather(query, columns, manual.lexical, keyword=keyword, semantic=semantic, threads=threads).passages
    exact = manual.lexical.features(query, found.chunk_ids, ("bm25", "body"))
    by_words = np.isin(found.chunk_ids, keyword.ids)
    share = np.median(exact["body"][by_words] / exact["bm25"][by_words])
    guessed = ~by_words & (exact["bm25"] > 0)
    assert guessed.any()
    np.testing.assert_allclose(np.nan_to_num(found.bm25), exact["bm25"], rtol=1e-5)
    np.testing.assert_allclose(found.fields["body"][by_words], exact["body"][by_words], rtol=1e-5)
    np.testing.assert_allclose(found.fields["body"][guessed], share * exact["bm25"][guessed], rtol=1e-5)
    assert not found.fields["body"][~by_words & ~guessed].any()
