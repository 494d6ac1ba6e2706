"""Fusion and the identifier's boost.

* worked examples of the docstrings hold
* reciprocal rank fusion prefers what all retrievers prefer, whatever their order
* the boost puts every holder above every other, keeps the order among each, and changes clear leaders little
"""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import librarian.evaluation
import librarian.search
from librarian.models import Ranking
from librarian.search.candidates import Candidates
from librarian.search.ranking import boost, by_rrf, score

MODULES = [
    f"{package.__name__}.{module.name}"
    for package in (librarian.search, librarian.evaluation)
    for module in pkgutil.iter_modules(package.__path__)
]
NOTHING = Ranking("hyde", (), (), (), "off")


@pytest.mark.parametrize("name", MODULES)
def test_worked_examples_hold(name: str) -> None:
    assert doctest.testmod(importlib.import_module(name)).failed == 0


rankings = st.dictionaries(st.integers(1, 30), st.floats(0.001, 1), min_size=1, max_size=20)


def ranking_of(source: str, scores: dict[int, float]) -> Ranking:
    ids = tuple(sorted(scores, key=lambda key: (-scores[key], key)))
    own = tuple(scores[key] for key in ids)
    return Ranking(source, ids, own, own)


def fused(keyword: Ranking, semantic: Ranking, k: int = 10) -> dict[int, float]:
    """Sums by chunk, each chunk a document of its own."""
    ids = np.unique(np.array([*keyword.ids, *semantic.ids], dtype=np.int64))
    found = by_rrf(Candidates.of(keyword, semantic, NOTHING, ids, ids), k)
    for candidate, total in zip(found, found.sums, strict=True):
        assert score(candidate.why) == pytest.approx(total)
    return dict(zip(found.chunk_ids, found.sums, strict=True))


@settings(max_examples=50, deadline=None)
@given(rankings, st.integers(1, 100))
def test_what_both_retrievers_prefer_is_preferred(scored: dict[int, float], k: int) -> None:
    keyword = ranking_of("keyword", scored)
    assert list(fused(keyword, ranking_of("semantic", scored), k)) == list(keyword.ids)


@settings(max_examples=50, deadline=None)
@given(rankings, rankings)
def test_the_order_of_the_retrievers_does_not_matter(a: dict[int, float], b: dict[int, float]) -> None:
    one = fused(ranking_of("keyword", a), ranking_of("semantic", b))
    other = fused(ranking_of("keyword", b), ranking_of("semantic", a))
    assert one == pytest.approx(other)


def test_reciprocal_ranks_are_what_the_paper_says() -> None:
    sums = fused(ranking_of("keyword", {7: 0.6, 8: 0.2}), ranking_of("semantic", {8: 0.5, 9: 0.4}))
    evidence = (0.6 + 0.5) / 2
    assert sums == pytest.approx({8: 1 / 12 + 1 / 11 + evidence, 7: 1 / 11 + evidence, 9: 1 / 12 + evidence})


sums = st.floats(-20, 20).map(lambda value: round(value, 6))  # the boost can't keep apart what differs by less


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(sums, st.booleans()), min_size=1, max_size=20))
def test_identifiers_come_first_and_orders_stay(rows: list[tuple[float, bool]]) -> None:
    own, holds = np.array([row[0] for row in rows]), np.array([row[1] for row in rows])
    points = boost(own, holds, 0.05)
    assert not points[~holds].any()
    if holds.any() and not holds.all():
        boosted = own + points
        assert boosted[holds].min() > boosted[~holds].max()
        order = np.argsort(own[holds], kind="stable")
        assert (np.diff(boosted[holds][order]) >= 0).all()


def test_a_clear_leader_gains_next_to_nothing() -> None:
    assert boost(np.array([2.0, 9.0]), np.array([False, True]), 0.05)[1] == pytest.approx(0.0, abs=0.001)
