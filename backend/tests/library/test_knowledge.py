"""`search_knowledge_base`: strategies, filters and scores.

* Hybrid scores are 0.7 of the similarity and 0.3 of the text rank, best first; match types say which leg spoke.
* Vector search knows no text rank; reranking falls back to hybrid, and without a model all to words, and says so.
* Filters by source, document and type let through nothing else; unknown values are named.

All of it in the embedded storage and in PostgreSQL.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from librarian.bootstrap import Librarian
from librarian.errors import CallerError, NotFound
from tests import postgres

from .conftest import write_library

CARD = "Which card does a refund go to?"


@pytest.fixture(scope="module", params=["embedded", "postgres"])
def library(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, model: str
) -> Iterator[Librarian]:
    folder = tmp_path_factory.mktemp(request.param)
    settings: dict[str, object] = {"docs.watch_for_changes": False, "storage.catalog": request.param}
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "postgres":
            patch.setenv("DATABASE_URL", postgres.url())
            settings["storage.database_schema"] = postgres.schema_of(folder)
        with Librarian.open(root=write_library(folder / "docs"), index=folder / "index", **settings) as opened:
            assert opened.status().storage.catalog == {"embedded": "sqlite"}.get(request.param, request.param)
            yield opened


def test_hybrid_scores_add_up_best_first(library: Librarian) -> None:
    answer = library.search_knowledge_base(CARD, match_count=5)
    assert answer.search_mode == "hybrid"
    assert answer.results[0].metadata["document_id"] in ("mail/support/0002.eml", "shop/guides/returns.md")
    assert "original card" in answer.results[0].content
    for item in answer.results:
        assert item.combined_score == pytest.approx(0.7 * item.similarity + 0.3 * item.text_rank)
        said = {(True, True): "both", (True, False): "vector", (False, True): "text"}
        assert item.match_type == said[item.similarity > 0, item.text_rank > 0]
    scores = [item.combined_score for item in answer.results]
    assert scores == sorted(scores, reverse=True)
    assert all(0 <= item.text_rank <= 1 and 0 <= item.similarity <= 1 for item in answer.results)
    assert answer.total_found >= len(answer.results)
    assert answer.results[0].match_type == "both"


def test_vector_search_is_by_similarity_alone(library: Librarian) -> None:
    answer = library.search_knowledge_base(CARD, search_type="vector")
    assert answer.search_mode == "vector"
    assert answer.results
    assert all(item.match_type == "vector" and item.combined_score == item.similarity for item in answer.results)
    assert all(item.similarity > 0.05 for item in answer.results)


def test_reranking_says_what_it_was_before_or_falls_back(library: Librarian) -> None:
    answer = library.search_knowledge_base(CARD, search_type="rerank")
    assert answer.results
    if answer.search_mode == "rerank":
        assert all(item.original_combined_score is not None for item in answer.results)
    else:
        assert answer.search_mode == "hybrid"
        assert answer.degraded


def test_an_unknown_document_is_named_with_the_nearest(library: Librarian) -> None:
    with pytest.raises(NotFound, match=r"No document 'api/tokens\.md'\. Nearest: 'shop/api/tokens\.md'"):
        library.search_knowledge_base(CARD, document_id="api/tokens.md")


def test_filters_let_nothing_else_through(library: Librarian) -> None:
    billing = library.search_knowledge_base(CARD, source_id="billing").results
    assert {r.metadata["source_id"] for r in billing} == {"billing"}
    one = library.search_knowledge_base(CARD, document_id="shop/api/tokens.md").results
    assert {r.metadata["document_id"] for r in one} == {"shop/api/tokens.md"}
    again = library.search_knowledge_base(CARD, document_id=one[0].id).results
    assert {r.metadata["document_id"] for r in again} == {"shop/api/tokens.md"}


@pytest.mark.parametrize("kind", ["markdown", "md", ".md", " Markdown ", "MD"])
def test_a_document_type_may_be_a_format(library: Librarian, kind: str) -> None:
    found = library.search_knowledge_base(CARD, document_type=kind).results
    assert {result.metadata["file_type"] for result in found} == {".md"}


@pytest.mark.parametrize("kind", ["guide", " GUIDE"])
def test_a_document_type_may_be_what_a_page_is_for(library: Librarian, kind: str) -> None:
    found = library.search_knowledge_base(CARD, document_type=kind).results
    assert {result.metadata["document_type"] for result in found} == {"guide"}


@pytest.mark.parametrize("kind", ["", " "])
def test_an_empty_document_type_is_none(library: Librarian, kind: str) -> None:
    found = library.search_knowledge_base(CARD, document_type=kind)
    assert {result.metadata["file_type"] for result in found.results} >= {".md", ".eml"}


def test_what_cannot_be_is_named(library: Librarian) -> None:
    with pytest.raises(CallerError, match="search_type"):
        library.search_knowledge_base(CARD, search_type="hybird")
    with pytest.raises(CallerError, match="match_count"):
        library.search_knowledge_base(CARD, match_count=0)
    with pytest.raises(NotFound, match="No source_id 'nowhere'"):
        library.search_knowledge_base(CARD, source_id="nowhere")
    with pytest.raises(CallerError, match=r"document_type 'podf' is unknown.*pdf"):
        library.search_knowledge_base(CARD, document_type="podf")


def test_without_a_model_words_answer_and_it_is_said(tmp_path: Path) -> None:
    settings = {"embeddings.enabled": False, "docs.watch_for_changes": False}
    with Librarian.open(root=write_library(tmp_path / "docs"), index=tmp_path / "index", **settings) as library:
        for search_type in ("vector", "hybrid"):
            answer = library.search_knowledge_base("refund card", search_type=search_type)
            assert answer.search_mode == "text"
            assert answer.degraded
            assert {item.match_type for item in answer.results} == {"text"}
