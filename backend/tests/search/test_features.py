"""What the ranker reads of a document.

* best and further passages are what `evidence.of_documents` makes of the same scores, places its order
* scaled features run from 0, the worst candidate, to 1, the best, in the order of what they are made of
* where the best cosine is far, being the best of it says little
* a score that is expected, not known, is expected in its scaled form too
* the reasons of a hypothetical answer take over half of what the cosine says
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from librarian.models import Ranking
from librarian.search import features, modes
from librarian.search.candidates import Candidates, ChunkTable
from librarian.search.chunk_scores import strength
from librarian.search.features import SCALED, Documents
from librarian.search.fusion import ranking_of, score
from librarian.search.ranker import CHANGELOG, EVIDENCE, LinearRanker, shipped

SCORES = st.none() | st.floats(0.01, 1.0)
PASSAGES = st.lists(st.tuples(st.integers(1, 9), SCORES, SCORES, st.floats(0, 1)), min_size=1, max_size=40)
NOTHING = Ranking("hyde", (), (), (), "off")


def pool_of(drawn: list[tuple[int, float | None, float | None, float]]) -> Candidates:
    docs, bm25, semantic, body = (np.array(column, dtype=np.float64) for column in zip(*drawn, strict=True))
    passages = ChunkTable(
        np.arange(1, len(drawn) + 1),
        docs.astype(np.int64),
        bm25,
        semantic,
        np.zeros(len(drawn), dtype=np.bool_),
        {"body": body},
    )
    return Candidates(ranking_of("keyword", {}), ranking_of("semantic", {}), NOTHING, passages, False)


def of(pool: Candidates) -> Documents:
    return features.of(pool, strength(pool))


@settings(max_examples=50, deadline=None)
@given(PASSAGES)
def test_best_and_further_passages_are_those_of_evidence(
    drawn: list[tuple[int, float | None, float | None, float]],
) -> None:
    found = of(pool_of(drawn))
    doc_of = dict(enumerate((doc for doc, *_ in drawn), start=1))
    assert set(found.ids.tolist()) == set(doc_of.values())
    for name, floor, column in (("keyword", 0.0, 1), ("semantic", 0.25, 2)):
        own = {chunk: row[column] for chunk, row in enumerate(drawn, start=1)}
        retrievers = ranking_of(name, {chunk: value for chunk, value in own.items() if value})
        whole = features.of_documents(retrievers, doc_of, floor=floor)
        sums = found.values[name] + found.values[f"{name}_further"]
        totals = dict(zip(found.ids.tolist(), sums.tolist(), strict=True))
        assert {doc: total for doc, total in totals.items() if total} == pytest.approx(
            dict(zip(whole.ids, whole.scores, strict=True))
        )
        ranks = dict(zip(found.ids.tolist(), found.ranks[name].tolist(), strict=True))
        placed = sorted((rank, doc) for doc, rank in ranks.items() if rank)
        assert [place for place, _ in placed] == list(range(1, len(whole.ids) + 1))
        assert [totals[doc] for _, doc in placed] == pytest.approx(list(whole.scores))


@settings(max_examples=50, deadline=None)
@given(PASSAGES, st.dictionaries(st.integers(1, 60), st.floats(0.01, 1.0)))
def test_a_document_is_as_near_to_a_hypothetical_answer_as_its_nearest_passage(
    drawn: list[tuple[int, float | None, float | None, float]], near: dict[int, float]
) -> None:
    found = of(replace(pool_of(drawn), hyde=ranking_of("hyde", near)))
    best: dict[int, float] = {}
    for chunk, (doc, *_) in enumerate(drawn, start=1):
        best[doc] = max(best.get(doc, 0.0), near.get(chunk, 0.0))
    assert dict(zip(found.ids.tolist(), found.values["hyde"].tolist(), strict=True)) == pytest.approx(best)


@settings(max_examples=50, deadline=None)
@given(PASSAGES)
def test_scaled_features_run_from_the_worst_candidate_to_the_best(
    drawn: list[tuple[int, float | None, float | None, float]],
) -> None:
    found = features.scaled(of(pool_of(drawn)))
    for name, absolute in SCALED.items():
        pairs = sorted(zip(found.values[absolute].tolist(), found.values[name].tolist(), strict=True))
        assert [stretched for _, stretched in pairs] == sorted(stretched for _, stretched in pairs)
        floor = 0.25 if absolute in ("semantic", "hyde") else 0.0
        (worst, lowest), (best, highest) = pairs[0], pairs[-1]
        assert highest == pytest.approx(min(1.0, best / floor) if floor else float(best > 0))
        if worst <= floor:
            assert lowest == pytest.approx(0.0 if worst < best or not best else highest)
        else:  # of few even the worst has something, the less of it the more there are
            few = max(0.0, 1 - (len(pairs) - 1) / 20)
            low = worst - few * (worst - floor)
            assert lowest == pytest.approx((worst - low) / (best - low) if best > low else 1.0)
    found = replace(found, values={**found.values, "changelog": np.ones(len(found))})
    weights = {**shipped().weights, "evidence": EVIDENCE, "changelog": CHANGELOG}
    for row in range(len(found)):
        expected_sum = sum(weight * found.values[name][row] for name, weight in weights.items())
        assert score(shipped().why(found, row)) == pytest.approx(expected_sum)
        assert math.fsum(shipped().points(found)[row]) == score(shipped().why(found, row))


@pytest.mark.parametrize(("others", "share"), [(0, 1.0), (1, 0.98), (30, 0.0)])
def test_the_worst_of_few_may_answer_too(others: int, share: float) -> None:
    documents = [(1, 0.56, 0.7, 0.3), *((2 + number, 0.6, 0.75, 0.3) for number in range(others))]
    found = features.scaled(of(pool_of(documents)))
    assert found.values["keyword_scaled"][0] == pytest.approx(share, abs=0.07)
    assert found.values["semantic_scaled"][0] == pytest.approx(share, abs=0.1)


def test_words_come_before_the_best_of_what_is_far_in_meaning() -> None:
    held = [(1, 0.44, 0.02, 0.0), (1, 0.44, 0.01, 0.0), (1, 0.44, None, 0.0)]  # in the file's name alone
    far = [(2, None, 0.104, 0.0), (2, None, 0.1, 0.0)]
    found = features.scaled(of(pool_of(held + far)))
    assert found.values["semantic_scaled"].tolist() == pytest.approx([0.0, 0.104 / 0.25])
    sums = dict(zip(found.ids.tolist(), shipped().points(found).sum(axis=1).tolist(), strict=True))
    assert sums[1] > sums[2]


def test_a_scaled_feature_keeps_the_rank_of_its_absolute_one() -> None:
    values = {name: np.array([0.5]) for name in ("keyword", "semantic", "body", "hyde", "both")}
    one = Documents(np.array([1]), values, {"keyword": np.array([3])})
    found = features.scaled(one)
    assert found.ranks["keyword_scaled"].tolist() == [3]


def test_a_question_without_candidates_has_no_documents() -> None:
    nothing = np.empty(0)
    passages = ChunkTable(nothing.astype(int), nothing.astype(int), nothing, nothing, nothing.astype(bool))
    pool = Candidates(ranking_of("keyword", {}), ranking_of("semantic", {}), NOTHING, passages, False)
    assert len(modes.weighed(pool)) == 0
    assert list(modes.learned(pool, shipped())) == []


def test_a_hypothetical_answer_takes_over_half_of_the_cosine() -> None:
    ranker = LinearRanker({"keyword": 1.0, "semantic": 4.0, "semantic_scaled": 2.0}).with_hyde()
    assert ranker.weights == {"keyword": 1.0, "semantic": 2.0, "hyde": 2.0, "semantic_scaled": 1.0, "hyde_scaled": 1.0}
