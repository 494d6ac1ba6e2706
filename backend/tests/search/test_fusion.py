"""Fusion, document evidence and the identifier's lift.

* worked examples of the docstrings hold
* a fused score is the sum of its contributions, whatever the order of the rankings
* a passage that both legs rank better is never fused below one that both rank worse
* lifting puts every holder above every other, keeps the order among each, and changes clear leaders little
"""

from __future__ import annotations

import doctest
import importlib
import pkgutil
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import librarian.evaluation
import librarian.search
from librarian.models import Candidate, Ranking, ScorePart
from librarian.search import features, modes
from librarian.search.fusion import Fused, ranking_of, rrf, score
from librarian.search.pagination import packed

MODULES = [
    f"{package.__name__}.{module.name}"
    for package in (librarian.search, librarian.evaluation)
    for module in pkgutil.iter_modules(package.__path__)
]


@pytest.mark.parametrize("name", MODULES)
def test_worked_examples_hold(name: str) -> None:
    assert doctest.testmod(importlib.import_module(name)).failed == 0


rankings = st.dictionaries(st.integers(1, 30), st.floats(0.001, 1), min_size=1, max_size=20)


def in_order(fused: Fused) -> list[int]:
    return list(ranking_of("rrf", {key: score(why) for key, why in fused.items()}).ids)


@settings(max_examples=50, deadline=None)
@given(rankings, rankings, st.integers(1, 100))
def test_fusion_doesnt_depend_on_the_order_of_rankings(a: dict[int, float], b: dict[int, float], k: int) -> None:
    first, second = ranking_of("keyword", a), ranking_of("semantic", b)
    one, other = rrf([first, second], k), rrf([second, first], k)
    assert {key: score(why) for key, why in one.items()} == {key: score(why) for key, why in other.items()}


@settings(max_examples=50, deadline=None)
@given(rankings)
def test_what_all_legs_prefer_is_preferred(scored: dict[int, float]) -> None:
    ranking = ranking_of("keyword", scored)
    again = Ranking("semantic", ranking.ids, ranking.raw, ranking.scores)
    assert in_order(rrf([ranking, again])) == list(ranking.ids)


@settings(max_examples=50, deadline=None)
@given(rankings, st.dictionaries(st.integers(1, 30), st.integers(1, 5)))
def test_document_evidence_is_at_least_its_best_passage(scored: dict[int, float], doc_of: dict[int, int]) -> None:
    ranking = ranking_of("keyword", scored)
    documents = features.of_documents(ranking, doc_of)
    for doc, own in zip(documents.ids, documents.scores, strict=True):
        best = max(scored[chunk] for chunk in scored if doc_of.get(chunk) == doc)
        assert best <= own <= best * (1 + sum(features.DECAY**i for i in range(1, features.FURTHER + 1))) + 1e-9
    assert set(documents.ids) == {doc_of[chunk] for chunk in scored if chunk in doc_of}


sums = st.floats(-20, 20).map(lambda value: round(value, 6))  # the lift can't keep apart what differs by less
candidates = st.lists(st.tuples(sums, st.booleans()), min_size=1, max_size=20).map(
    lambda rows: [
        Candidate(n, n, (ScorePart("x", None, None, own),), identifier=holds)
        for n, (own, holds) in enumerate(rows, start=1)
    ]
)


@settings(max_examples=50, deadline=None)
@given(candidates)
def test_identifiers_come_first_and_orders_stay(found: list[Candidate]) -> None:
    lifted = modes.identifiers_first(found, 0.05)
    holds = [candidate.identifier for candidate in lifted]
    assert holds == sorted(holds, reverse=True)
    before = modes.in_order(replace(candidate, why=candidate.why[:1]) for candidate in found)
    for which in (True, False):
        new = [score(c.why) for c in lifted if c.identifier is which]
        old = [c.why[0].points for c in before if c.identifier is which]
        assert new == sorted(new, reverse=True)
        assert [c.why[0].points for c in lifted if c.identifier is which] == pytest.approx(old)
    if any(holds) and not all(holds):
        assert min(score(c.why) for c in lifted if c.identifier) > max(score(c.why) for c in lifted if not c.identifier)


def test_a_clear_leader_is_lifted_by_next_to_nothing() -> None:
    leader = Candidate(1, 1, (ScorePart("x", None, None, 9.0),), identifier=True)
    other = Candidate(2, 2, (ScorePart("x", None, None, 2.0),))
    assert score(modes.identifiers_first([other, leader], 0.05)[0].why) == pytest.approx(9.0, abs=0.001)


def test_packing_never_stands_still() -> None:
    assert packed([500], max_tokens=1) == 1
    assert packed([], max_tokens=1) == 0
