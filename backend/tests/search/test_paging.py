"""Which candidates a page may show, held against the rule said one candidate at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from librarian.models import Ids
from librarian.search.pagination import PageEntry, deduplicate


@dataclass(frozen=True, slots=True)
class Passage:
    doc: int
    text: int
    points: float


@dataclass(frozen=True, slots=True)
class Held:
    """What a catalog's columns say of passages numbered from 1, of documents with a group and a date."""

    passages: Sequence[Passage]
    groups: Sequence[int]
    dates: Sequence[int]

    def doc_of(self, ids: Ids) -> Ids:
        return np.array([self.passages[number - 1].doc for number in ids.tolist()], dtype=np.int64)

    def text_of(self, ids: Ids) -> Ids:
        return np.array([self.passages[number - 1].text for number in ids.tolist()], dtype=np.int64)

    def group_of(self, ids: Ids) -> Ids:
        return np.array(self.groups, dtype=np.int64)[self.doc_of(ids)]

    def modified_of(self, ids: Ids) -> Ids:
        return np.array(self.dates, dtype=np.int64)[self.doc_of(ids)]


def one_by_one(held: Held, limit: int, per_group: int) -> tuple[list[PageEntry], bool]:
    """The rule as it is told: each text once, by its newest passage of equal points, a group as often as it may."""
    shown: list[tuple[int, tuple[int, ...]]] = []
    for place, passage in enumerate(held.passages):
        same = [at for at, other in enumerate(held.passages) if other.text == passage.text]
        if same[0] != place:
            continue
        equal = [at for at in same if held.passages[at].points == passage.points]
        newest = max(held.dates[held.passages[at].doc] for at in equal)
        best = next(at for at in equal if held.dates[held.passages[at].doc] == newest)
        shown.append((best, tuple(held.passages[at].doc for at in same) if len(same) > 1 else ()))
    kept: list[PageEntry] = []
    often: dict[int, int] = {}
    for place, docs in shown:
        group = held.groups[held.passages[place].doc]
        often[group] = often.get(group, 0) + 1
        if per_group <= 0 or often[group] <= per_group:
            kept.append(PageEntry(place, docs))
    return kept[:limit], len(kept) > limit


def libraries() -> st.SearchStrategy[Held]:
    passages = st.builds(Passage, st.integers(0, 5), st.integers(1, 8), st.sampled_from([3.0, 2.0]))
    # by points, as an order of candidates is
    ordered = st.lists(passages, max_size=25).map(lambda found: sorted(found, key=lambda one: -one.points))
    six = st.lists(st.integers(-2, 2), min_size=6, max_size=6)
    return st.builds(Held, ordered, six, six)


@given(libraries(), st.integers(1, 12), st.integers(0, 3))
def test_a_page_may_show_each_text_once_and_of_a_document_or_thread_so_many(
    held: Held, limit: int, per_group: int
) -> None:
    numbers, points = list(range(1, len(held.passages) + 1)), [passage.points for passage in held.passages]
    docs = [passage.doc for passage in held.passages]
    ranked = cast(Any, SimpleNamespace(chunk_ids=numbers, doc_ids=docs, sums=points))
    entries, more = deduplicate(ranked, cast(Any, held), limit=limit, per_group=per_group)
    found = [PageEntry(one.place, tuple(one.doc_ids)) for one in entries]
    assert (found, more) == one_by_one(held, limit, per_group)
