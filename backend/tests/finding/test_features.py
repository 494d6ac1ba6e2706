"""What the ranker reads of a document.

* best and further passages are what `evidence.of_documents` makes of the same scores, places its order
* scaled features run from 0, the worst candidate, to 1, the best, in the order of what they are made of
* a score that is expected, not known, is expected in its scaled form too
* the reasons of a hypothetical answer take over half of what the cosine says
"""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from librarian.finding import evidence, features
from librarian.finding.features import SCALED, DocumentEvidence
from librarian.finding.fusion import ranking_of, score
from librarian.finding.pool import Passage, Pool
from librarian.finding.ranker import EVIDENCE, LinearRanker, shipped
from librarian.vocabulary.types import Ranking

SCORES = st.none() | st.floats(0.01, 1.0)
PASSAGES = st.lists(st.tuples(st.integers(1, 9), SCORES, SCORES, st.floats(0, 1)), min_size=1, max_size=40)
NOTHING = Ranking("hyde", (), (), (), "off")


def pool_of(drawn: list[tuple[int, float | None, float | None, float]]) -> Pool:
    passages = {
        chunk: Passage(chunk, doc, bm25, semantic, fields={"body": body})
        for chunk, (doc, bm25, semantic, body) in enumerate(drawn, start=1)
    }
    return Pool(ranking_of("keyword", {}), ranking_of("semantic", {}), NOTHING, passages, False)


@settings(max_examples=50, deadline=None)
@given(PASSAGES)
def test_best_and_further_passages_are_those_of_evidence(
    drawn: list[tuple[int, float | None, float | None, float]],
) -> None:
    pool = pool_of(drawn)
    found = features.of(pool)
    assert found.keys() == {doc for doc, *_ in drawn}
    for name, floor in (("keyword", 0.0), ("semantic", 0.25)):
        own = {p.chunk_id: p.bm25 if name == "keyword" else p.semantic for p in pool.passages.values()}
        legs = ranking_of(name, {chunk: value for chunk, value in own.items() if value})
        whole = evidence.of_documents(legs, pool.doc_of, floor=floor)
        totals = {doc: one.values[name] + one.values[f"{name}_further"] for doc, one in found.items()}
        assert {doc: total for doc, total in totals.items() if total} == pytest.approx(
            dict(zip(whole.ids, whole.scores, strict=True))
        )
        placed = sorted((one.places[name], doc) for doc, one in found.items() if one.places[name] is not None)
        assert [place for place, _ in placed] == list(range(1, len(whole.ids) + 1))
        assert [totals[doc] for _, doc in placed] == pytest.approx(list(whole.scores))


@settings(max_examples=50, deadline=None)
@given(PASSAGES)
def test_scaled_features_run_from_the_worst_candidate_to_the_best(
    drawn: list[tuple[int, float | None, float | None, float]],
) -> None:
    found = list(features.scaled(features.of(pool_of(drawn))).values())
    for name, absolute in SCALED.items():
        pairs = sorted((one.values[absolute], one.values[name]) for one in found)
        assert [stretched for _, stretched in pairs] == sorted(stretched for _, stretched in pairs)
        expected = (0.0, 1.0) if pairs[0][0] < pairs[-1][0] else (0.0, 0.0)
        assert (pairs[0][1], pairs[-1][1]) == pytest.approx(expected)
    for one in found:
        assert score(shipped().why(one)) == pytest.approx(
            sum(weight * one.values[name] for name, weight in {**shipped().weights, "evidence": EVIDENCE}.items())
        )


def test_a_scaled_feature_keeps_its_place_and_whether_it_is_expected() -> None:
    values = dict.fromkeys(("keyword", "semantic", "body", "hyde"), 0.5)
    one = DocumentEvidence(1, values, {"keyword": 3}, frozenset({"semantic"}))
    (found,) = features.scaled({1: one}).values()
    assert found.places["keyword_scaled"] == 3
    assert found.assumed == {"semantic", "semantic_scaled"}
    assert features.scaled({}) == {}


def test_a_hypothetical_answer_takes_over_half_of_the_cosine() -> None:
    ranker = LinearRanker({"keyword": 1.0, "semantic": 4.0, "semantic_scaled": 2.0}).with_hyde()
    assert ranker.weights == {"keyword": 1.0, "semantic": 2.0, "hyde": 2.0, "semantic_scaled": 1.0, "hyde_scaled": 1.0}
