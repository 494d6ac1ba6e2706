"""Environment variables, and what each changes in the answers of a real library.

* Counts, weights, thresholds and candidates of the pipeline show in what is found and how it is scored.
* The older flags choose the mode; where what they ask for isn't there, the next below runs and it is said.
* The breadth of a graph search reaches every store that has one; the reranker reads as many as it is told.
* A question is embedded on half of the threads that embedding may use.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, cast

import pytest
from pgvector import HalfVector

from librarian import bootstrap
from librarian.bootstrap import (
    chroma_child,
    embedder_of,
    model_key,
    qdrant,
    reranker_of,
    rewriting_of,
    search_options,
    storage,
)
from librarian.embeddings.loading import CachedEmbedder
from librarian.embeddings.onnx import OnnxEmbedder
from librarian.errors import LibrarianError
from librarian.library import Librarian
from librarian.search.engine import SearchOptions
from librarian.settings import Settings
from librarian.tuning.calibration import CalibrationTraining
from librarian.vector_stores.pgvector import PgVectorStore
from tests import postgres

from .conftest import write_library

FINGERPRINT = "model;onnx;384;256;1"  #: of no real model
CARD = "Which card does a refund go to?"


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory, model: str) -> Path:
    """A library that is read and embedded already."""
    folder = tmp_path_factory.mktemp("variables")
    config = folder / "config.json"
    settings = {
        "docs": {"root_path": "docs", "watch_for_changes": False},
        "index": {"workers": 1},
        "vector_db": {"store": "exact"},  # opened often: ChromaDB's takes a second of each start
    }
    config.write_text(json.dumps(settings))
    write_library(folder / "docs")
    Librarian.open(config).close()
    return config


@contextmanager
def opened(config: Path, **variables: str) -> Iterator[Librarian]:
    with pytest.MonkeyPatch.context() as patch:
        for name, value in variables.items():
            patch.setenv(name, value)
        with Librarian.open(config) as library:
            yield library


def loaded(**variables: str) -> Settings:
    return Settings.load(None, environ={"DOCS_ROOT_PATH": "/nowhere", **variables})


@pytest.mark.parametrize(("threads", "of_a_question"), [(1, 1), (2, 1), (6, 3)])
def test_a_question_is_embedded_on_half_of_the_threads_and_at_least_one(
    threads: int, of_a_question: int, model: str
) -> None:
    settings = Settings.load(None, environ={}, overrides={"embeddings.threads": threads, "docs.root_path": "/nowhere"})
    embedder = cast(CachedEmbedder, embedder_of(settings).get())
    try:
        session = cast(OnnxEmbedder, embedder._embedder)._session
        assert session.get_session_options().intra_op_num_threads == of_a_question
    finally:
        embedder.close()


def test_counts_and_weights_show_in_the_answers(config: Path) -> None:
    with opened(config, VECTOR_MATCH_COUNT="2", VECTOR_WEIGHT="0.9") as library:
        assert len(library.search(CARD, mode="hybrid").results) == 2
        answer = library.search_knowledge_base(CARD)
        assert len(answer.results) == 2
        for item in answer.results:
            assert item.combined_score == pytest.approx(0.9 * item.similarity + 0.1 * item.text_rank)
    with opened(config, TEXT_WEIGHT="1", HYBRID_CANDIDATE_COUNT="1") as library:
        answer = library.search_knowledge_base(CARD)
        assert answer.total_found <= 2  # one of each leg
        assert all(item.combined_score == pytest.approx(item.text_rank) for item in answer.results)


def test_a_threshold_that_nothing_reaches_leaves_only_words(config: Path) -> None:
    with opened(config, SIMILARITY_THRESHOLD="0.99") as library:
        assert library.search(CARD, mode="semantic").results == []
        assert {item.match_type for item in library.search_knowledge_base(CARD).results} == {"text"}


def test_the_older_flags_choose_the_mode_and_fall_back_aloud(config: Path) -> None:
    with opened(config, USE_HYBRID_SEARCH="false") as library:
        assert library.search(CARD).mode == "semantic"
        assert library.search_knowledge_base(CARD).search_mode == "vector"
    with opened(config, USE_HYBRID_SEARCH="true") as library:
        found = library.search(CARD)
        assert found.mode == "hybrid"
        assert found.results
    with opened(config, USE_HYBRID_SEARCH="true", USE_RERANKING="true", CROSSENCODER_MODEL="not/here") as library:
        answer = library.search(CARD)
        assert answer.requested_mode == "rerank"
        assert answer.retrievers.rerank.status != "ok"
        assert any("not/here" in reason for reason in (*answer.degraded, answer.retrievers.rerank.reason))
        known = library.search_knowledge_base(CARD)
        assert known.search_mode == "hybrid"
        assert known.degraded
    with opened(config, ENABLE_EMBEDDINGS="false", USE_HYBRID_SEARCH="true") as library:
        known = library.search_knowledge_base("refund card")
        assert (known.search_mode, bool(known.degraded)) == ("text", True)


def test_the_breadth_of_a_graph_search_reaches_every_store_that_has_one(tmp_path: Path) -> None:
    environ = {"VECTOR_SEARCH_EF_SEARCH": "17", "DATABASE_URL": postgres.url(), "INDEX_PATH": str(tmp_path / "index")}
    overrides = {"storage.catalog": "postgres", "storage.database_schema": postgres.schema_of(tmp_path)}
    settings = Settings.load(None, environ={**environ, "DOCS_ROOT_PATH": str(tmp_path / "docs")}, overrides=overrides)
    child = chroma_child(settings, FINGERPRINT, 384)
    assert isinstance(child, partial)
    assert child.keywords["hnsw"].search_ef == 17
    held = storage(settings)
    try:
        (made,) = held.stores(FINGERPRINT)
        assert isinstance(made, PgVectorStore)
        seen: list[str] = []
        with made._database.read() as session:
            made._by_graph(session, "true", {"question": HalfVector([0.5] * 384), "limit": 3}, 3)
            seen += session.connection.execute("SELECT current_setting('hnsw.ef_search')").fetchone() or ()
        assert seen == ["17"]
    finally:
        held.close()


@pytest.mark.parametrize(("storage", "scale"), [("embedded", "learned"), ("postgres", "rrf")])
def test_what_is_calibrated_of_hybrid_search_is_the_fusion_that_the_storage_allows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, storage: str, scale: str
) -> None:
    scales: list[str] = []

    class KeywordFeatures(CalibrationTraining):
        def __init__(self, *args: Any, **given: Any) -> None:
            scales.append(given["scale"])
            super().__init__(*args, **given)

    monkeypatch.setattr(bootstrap, "CalibrationTraining", KeywordFeatures)
    settings = {"storage.catalog": storage, "embeddings.enabled": False}
    if storage == "postgres":
        monkeypatch.setenv("DATABASE_URL", postgres.url())
        settings["storage.database_schema"] = postgres.schema_of(tmp_path)
    (tmp_path / "docs").mkdir()
    Librarian.open(root=tmp_path / "docs", index=tmp_path / "index", start=False, **settings).close()
    assert scales == [scale]


def test_the_models_are_those_that_are_named() -> None:
    options = search_options(loaded(RERANKING_CANDIDATE_MULTIPLIER="7", HYBRID_CANDIDATE_COUNT="700"), bm25=True)
    assert (options.rerank_multiplier, options.candidates, options.depth) == (7, 700, 700)
    assert search_options(loaded(HYBRID_CANDIDATE_COUNT="7")).depth == SearchOptions().depth
    for variables in ({"EMBEDDING_MODEL": "some/model"}, {"JEDI_EMBEDDING_MODEL": "some/model"}):
        assert "some/model" in model_key(loaded(**variables))
    reranker = reranker_of(loaded(CROSSENCODER_MODEL="not/here"))
    assert reranker is not None
    with pytest.raises(LibrarianError, match="not/here"):
        reranker.get()
    assert rewriting_of(loaded(AGENT_USE_LLM="true", LLM_PROVIDER="ollama", OLLAMA_URL="http://h/v1")) is not None
    assert rewriting_of(loaded(AGENT_USE_LLM="false", LLM_MODEL="l")) is None


def test_servers_that_cannot_be_reached_are_named() -> None:
    shared = {"storage.catalog": "postgres"}
    settings = Settings.load(None, environ={"DATABASE_URL": "postgresql://u@127.0.0.1:1/d"}, overrides=shared)
    with pytest.raises(LibrarianError, match="PostgreSQL database can't be used"):
        storage(settings)
    environ = {"QDRANT_URL": "http://127.0.0.1:1"}
    with pytest.raises(LibrarianError, match="Qdrant"):
        qdrant(Settings.load(None, environ=environ, overrides={"vector_db.store": "qdrant"}), FINGERPRINT).count()


@pytest.mark.parametrize(
    ("processors", "given", "at_once"),
    [
        (1, {}, 1),
        (2, {}, 1),
        (8, {}, 2),
        (2, {"storage.qdrant_url": "http://127.0.0.1:6333"}, 2),
        (2, {"storage.catalog": "postgres", "storage.database_url": "postgresql://127.0.0.1/library"}, 2),
    ],
)
def test_two_processors_answer_one_question_at_a_time_unless_they_wait_for_a_server(
    monkeypatch: pytest.MonkeyPatch, processors: int, given: dict[str, Any], at_once: int
) -> None:
    monkeypatch.setattr("os.cpu_count", lambda: processors)
    assert search_options(Settings.load(overrides=given)).at_once == at_once
