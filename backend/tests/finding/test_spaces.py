"""Several vector spaces in one search: what is proved here.

* Passages of each space are found with its own model, and joined by rank: first beside first, second beside second.
* A filter on products asks only the models that those products have.
* A model that can't be loaded costs its own space; the answer says which and why.
* A curve from one space's cosines to another's rises, keeps ranks, and is the identity for the leading space itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from librarian.finding.fusion import ranking_of, rrf, score
from librarian.finding.hybrid_search import HybridSearchEngine
from librarian.finding.meaning import by_rank
from librarian.shelving.vectors.exact import ExactStore
from librarian.vocabulary.spaces import VectorSpace
from librarian.vocabulary.types import WINDOWS_PER_CHUNK, Filters, Query, SearchOutcome, Vector
from tests.finding.library import Library, Loaded, TopicEmbedder

FILES = {
    "own/guide/deploy.md": "# Deploy\n\nHow to deploy a release and ship the rollout.",
    "own/guide/scale.md": "# Scale\n\nMore replicas for more capacity.",
    "own/guide/log.md": "# Logs\n\nWhere logs and trace files lie.",
    "site/guide/ship.md": "# Ship\n\nDeploy by hand, then release.",
    "site/guide/volume.md": "# Volumes\n\nPersist data on a disk volume.",
}


class Shifted(TopicEmbedder):
    """The topics on other axes, in fewer dimensions and with lower cosines: nothing of it fits the other model."""

    fingerprint = "shifted"

    def __init__(self) -> None:
        self.asked: list[str] = []

    def embed_query(self, text: str) -> Vector:
        self.asked.append(text)
        vector = np.append(super().embed_query(text)[::-1][:-1], 0.8)
        return np.asarray(vector / np.linalg.norm(vector), dtype=np.float32)


@dataclass
class Spaced:
    """The library's own model, and another one for the product `site`."""

    library: Library
    other: Shifted = field(default_factory=Shifted)
    problem: str = ""
    kept: int = 0

    def __post_init__(self) -> None:
        embedder, own = self.library.embedder, ExactStore(self.library.embedder.spec.dimension)
        self.other.spec = embedder.spec
        other = ExactStore(embedder.spec.dimension)
        with self.library.catalog.read() as reader:
            for stored in reader.iter_documents():
                for chunk in reader.chunks_of(stored.doc_id):
                    ids = np.array([chunk.chunk_id * WINDOWS_PER_CHUNK], dtype=np.int64)
                    is_site = stored.document.product == "site"
                    texts = [chunk.chunk.text]
                    (other if is_site else own).upsert(ids, (self.other if is_site else embedder).embed_passages(texts))
        self.own, self.store = own, other
        self.other.asked.clear()

    def spaces(self) -> tuple[VectorSpace, ...]:
        embedder = Loaded(None, self.problem) if self.problem else Loaded(self.other)
        return (VectorSpace("shifted", frozenset({"site"}), embedder, self.store, lambda: self.kept),)

    def ask(self, text: str, mode: str, **filters: str) -> SearchOutcome:
        engine = HybridSearchEngine(
            self.library.catalog,
            self.library.lexical,
            self.library.analyzer,
            vectors=lambda: self.own,
            embedder=Loaded(self.library.embedder),
            spaces=self.spaces,
        )
        try:
            return engine.search(Query(text, mode=mode, filters=Filters(**filters)))  # type: ignore[arg-type]
        finally:
            engine.close()


@pytest.fixture
def spaced(tmp_path: Path) -> Iterator[Spaced]:
    library = Library(tmp_path, FILES, embed=False)
    yield Spaced(library)
    library.close()


def paths(outcome: SearchOutcome) -> list[str]:
    return [hit.document.document.file_path for hit in outcome.hits]


def test_the_best_of_each_space_come_first(spaced: Spaced) -> None:
    found = spaced.ask("deploy a release", "semantic")
    assert set(paths(found)[:2]) == {"own/guide/deploy.md", "site/guide/ship.md"}
    assert found.legs["semantic"].status == "ok"
    assert found.legs["semantic"].reason == "joined by rank over the models of the library, shifted"
    assert found.degraded == ()


def test_a_hit_shows_the_cosine_of_its_own_model(spaced: Spaced) -> None:
    for mode in ("semantic", "hybrid"):
        hits = spaced.ask("deploy a release", mode).hits
        assert {hit.document.document.product for hit in hits} == {"own", "site"}
        for hit in hits:
            is_site = hit.document.document.product == "site"
            embedder = spaced.other if is_site else spaced.library.embedder
            cosine = float(
                embedder.embed_passages([hit.chunk.chunk.text])[0] @ embedder.embed_query("deploy a release")
            )
            assert hit.candidate.semantic_score == pytest.approx(max(0.0, cosine), abs=0.01)


@pytest.mark.parametrize("mode", ["hybrid", "hyde", "rerank"])
def test_every_mode_reads_both_spaces(spaced: Spaced, mode: str) -> None:
    found = paths(spaced.ask("how do I persist data on a disk after the rollout is deployed", mode))
    assert {"site/guide/volume.md", "own/guide/deploy.md"} <= set(found[:3])


def test_a_filter_asks_only_the_models_of_what_it_lets_through(spaced: Spaced) -> None:
    assert paths(spaced.ask("deploy", "semantic", product="own"))[0] == "own/guide/deploy.md"
    assert spaced.other.asked == []
    alone = spaced.ask("deploy", "semantic", product="site")
    assert paths(alone)[0] == "site/guide/ship.md"
    assert alone.legs["semantic"].reason == ""
    best = alone.hits[0]
    assert best.candidate.why[0].points == pytest.approx(best.candidate.semantic_score)


def test_a_model_that_fails_costs_its_own_space_and_says_so(spaced: Spaced) -> None:
    spaced.problem = "The model 'shifted' isn't here."
    found = spaced.ask("deploy a release", "semantic")
    assert found.mode == "semantic"
    assert {path.split("/")[0] for path in paths(found)} == {"own"}
    assert found.degraded == ("semantic of site: The model 'shifted' isn't here.",)
    alone = spaced.ask("deploy", "semantic", product="site")
    assert (alone.mode, alone.legs["semantic"].status) == ("keyword", "failed")
    assert alone.legs["semantic"].reason == "The model 'shifted' isn't here."


def test_a_space_without_vectors_yet_is_no_failure(spaced: Spaced) -> None:
    spaced.store.clear()
    found = spaced.ask("deploy a release", "semantic")
    assert found.degraded == ()
    assert {path.split("/")[0] for path in paths(found)} == {"own"}
    alone = spaced.ask("deploy", "semantic", product="site")
    assert alone.legs["semantic"].reason.startswith("No passage is embedded yet.")
    spaced.kept = 2
    alone = spaced.ask("deploy", "semantic", product="site")
    assert alone.legs["semantic"].reason.startswith("The vectors of 2 passages are still to be read")


SCORES = st.lists(st.floats(0.01, 1), max_size=8).map(lambda scores: sorted(scores, reverse=True))


@given(SCORES, SCORES, st.lists(st.floats(0, 1), max_size=5))
def test_a_curve_rises_and_gives_each_rank_the_leading_score(
    own: list[float], leading: list[float], more: list[float]
) -> None:
    curve = by_rank(own, leading)
    values = sorted({*own, *more})
    found = [curve(value) for value in values]
    assert all(before <= after + 1e-9 for before, after in pairwise(found))
    assert all(0 <= value <= 1 for value in found)
    if len(set(own)) == len(own):
        assert [curve(score) for score in own][: len(leading)] == pytest.approx(leading[: len(own)])


@given(st.lists(st.integers(0, 30), unique=True, max_size=12), st.data())
def test_joining_by_rank_is_reciprocal_rank_fusion(ids: list[int], data: st.DataObject) -> None:
    cut = data.draw(st.integers(0, len(ids)))
    thousandths = st.integers(1, 1000).map(lambda number: number / 1000)
    scores = st.lists(thousandths, min_size=len(ids), max_size=len(ids), unique=True)
    drawn = data.draw(scores)
    sides = [dict(zip(part, drawn[start:], strict=False)) for start, part in ((0, ids[:cut]), (cut, ids[cut:]))]
    rankings = [ranking_of("semantic", side) for side in sides]
    points = {chunk: score(why) for chunk, why in rrf(rankings).items()}
    curves = [by_rank(ranking.scores, rankings[0].scores) for ranking in rankings]
    shared = min(len(side) for side in sides)
    joined = {
        chunk: curve(own)
        for curve, ranking in zip(curves, rankings, strict=True)
        for chunk, own in zip(ranking.ids[:shared], ranking.scores, strict=False)
    }
    assert list(ranking_of("semantic", {k: round(v, 9) for k, v in joined.items()}).ids) == [
        chunk for chunk in ranking_of("rrf", points).ids if chunk in joined
    ]
