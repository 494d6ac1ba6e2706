"""What the ranker reads of a document.

* best and further chunks of a document are aggregated as their docstring says, places are in the order of the sums
* scaled features run from 0, the worst candidate, to 1, the best, in the order of what they are made of
* where the best cosine is far, being the best of it says little
* a hypothetical answer takes over half of what the cosine brings
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from librarian.models import Ranking
from librarian.search.candidates import Candidates
from librarian.search.ranker import (
    DECAY,
    FEWEST,
    FURTHER,
    GIVEN,
    SCALED,
    DocumentFeatures,
    LinearRanker,
    document_features,
    shipped,
)
from librarian.search.ranking import learned

SCORES = st.none() | st.floats(0.01, 1.0)
Drawn = list[tuple[int, float | None, float | None, float]]
CHUNKS = st.lists(st.tuples(st.integers(1, 9), SCORES, SCORES, st.floats(0, 1)), min_size=1, max_size=40)
NOTHING = Ranking("hyde", (), (), (), "off")


def ranking_of(source: str, scores: dict[int, float]) -> Ranking:
    ids = tuple(sorted(scores, key=lambda key: (-scores[key], key)))
    own = tuple(scores[key] for key in ids)
    return Ranking(source, ids, own, own)


def candidates_of(drawn: Drawn) -> Candidates:
    docs, bm25, semantic, body = (np.array(column, dtype=np.float64) for column in zip(*drawn, strict=True))
    ids, holds = np.arange(1, len(drawn) + 1), np.zeros(len(drawn), dtype=np.bool_)
    rankings = ranking_of("keyword", {}), ranking_of("semantic", {}), NOTHING
    return Candidates(*rankings, ids, docs.astype(np.int64), bm25, semantic, body, holds)


def of(drawn: Drawn) -> DocumentFeatures:
    return document_features(candidates_of(drawn))


@settings(max_examples=50, deadline=None)
@given(CHUNKS)
def test_further_chunks_add_less_and_less_to_the_best(drawn: Drawn) -> None:
    found = of(drawn)
    assert set(found.ids.tolist()) == {doc for doc, *_ in drawn}
    for name, floor, column in (("keyword", 0.0, 1), ("semantic", 0.25, 2)):
        for row, doc in enumerate(found.ids.tolist()):
            own = sorted((float(one[column] or 0.0) for one in drawn if one[0] == doc), reverse=True)
            further = [score for score in own[1 : FURTHER + 1] if score > 0 and score >= floor]
            further = further if len(further) >= FEWEST else []
            assert found.values[name][row] == own[0]
            expected = sum(one * DECAY**number for number, one in enumerate(further, 1))
            assert found.values[f"{name}_further"][row] == pytest.approx(expected)
        sums, ranks = found.values[name] + found.values[f"{name}_further"], found.ranks[f"{name}_scaled"]
        assert (ranks > 0).tolist() == (sums > 0).tolist()
        assert (np.diff(sums[np.argsort(np.where(ranks > 0, ranks, 99), kind="stable")]) <= 1e-12).all()


@settings(max_examples=50, deadline=None)
@given(CHUNKS, st.dictionaries(st.integers(1, 60), st.floats(0.01, 1.0)))
def test_a_document_is_as_near_to_a_hypothetical_answer_as_its_nearest_chunk(
    drawn: Drawn, near: dict[int, float]
) -> None:
    found = document_features(replace(candidates_of(drawn), hyde=ranking_of("hyde", near)))
    best: dict[int, float] = {}
    for chunk, (doc, *_) in enumerate(drawn, start=1):
        best[doc] = max(best.get(doc, 0.0), near.get(chunk, 0.0))
    assert dict(zip(found.ids.tolist(), found.values["hyde"].tolist(), strict=True)) == pytest.approx(best)


@settings(max_examples=50, deadline=None)
@given(CHUNKS)
def test_scaled_features_run_from_the_worst_candidate_to_the_best(drawn: Drawn) -> None:
    found = of(drawn)
    for name, absolute in SCALED.items():
        pairs = sorted(zip(found.values[absolute].tolist(), found.values[name].tolist(), strict=True))
        assert [scaled for _, scaled in pairs] == sorted(scaled for _, scaled in pairs)
        floor = 0.25 if absolute in ("semantic", "hyde") else 0.0
        (worst, lowest), (best, highest) = pairs[0], pairs[-1]
        assert highest == pytest.approx(min(1.0, best / floor) if floor else float(best > 0))
        if worst <= floor:
            assert lowest == pytest.approx(0.0 if worst < best or not best else highest)
        else:  # of few even the worst has something, the less of it the more there are
            few = max(0.0, 1 - (len(pairs) - 1) / 20)
            low = worst - few * (worst - floor)
            assert lowest == pytest.approx((worst - low) / (best - low) if best > low else 1.0)
    weights = {**shipped().weights, "evidence": GIVEN["evidence"]}
    for row in range(len(found)):
        expected = sum(weight * found.values[name][row] for name, weight in weights.items())
        assert np.nansum([part.points[row] for part in shipped().parts(found)]) == pytest.approx(expected)


@pytest.mark.parametrize(("others", "share"), [(0, 1.0), (1, 0.98), (30, 0.0)])
def test_the_worst_of_few_may_answer_too(others: int, share: float) -> None:
    found = of([(1, 0.56, 0.7, 0.3), *((2 + number, 0.6, 0.75, 0.3) for number in range(others))])
    assert found.values["keyword_scaled"][0] == pytest.approx(share, abs=0.07)
    assert found.values["semantic_scaled"][0] == pytest.approx(share, abs=0.1)


def test_words_come_before_the_best_of_what_is_far_in_meaning() -> None:
    held: Drawn = [(1, 0.44, 0.02, 0.0), (1, 0.44, 0.01, 0.0), (1, 0.44, None, 0.0)]  # in the file's name alone
    far: Drawn = [(2, None, 0.104, 0.0), (2, None, 0.1, 0.0)]
    found = of(held + far)
    assert found.values["semantic_scaled"].tolist() == pytest.approx([0.0, 0.104 / 0.25])
    points = np.nansum([part.points for part in shipped().parts(found)], axis=0)
    sums = dict(zip(found.ids.tolist(), points.tolist(), strict=True))
    assert sums[1] > sums[2]


def test_a_scaled_feature_keeps_the_rank_of_its_absolute_one() -> None:
    found = of([(1, 0.5, 0.5, 0.5), (2, 0.4, 0.5, 0.5)])
    assert found.ranks["keyword_scaled"].tolist() == [1, 2]


def test_a_query_without_candidates_has_no_documents() -> None:
    nothing = np.empty(0, dtype=np.int64)
    empty = ranking_of("keyword", {}), ranking_of("semantic", {}), NOTHING
    candidates = Candidates.of(*empty, nothing, nothing)
    assert len(document_features(candidates)) == 0
    assert list(learned(candidates, shipped())) == []


def test_a_hypothetical_answer_takes_over_half_of_the_cosine() -> None:
    candidates = replace(candidates_of([(1, 0.5, 0.5, 0.5)]), hyde=ranking_of("hyde", {1: 0.5}))
    ranker = LinearRanker({"keyword_scaled": 1.0, "semantic_scaled": 2.0}).answering(candidates)
    assert ranker.weights == {"keyword_scaled": 1.0, "semantic_scaled": 1.0, "hyde_scaled": 1.0}
