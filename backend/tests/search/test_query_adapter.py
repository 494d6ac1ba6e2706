"""Questions are turned by what was learned from the library.

* an adapter survives being kept as text, to float16; garbage is none
* it turns questions of the model that it was learned for, and those only; without one nothing is turned
* a hypothetical answer is a passage and isn't turned, nor is what is asked of mails alone
* another adapter is another version, so that no cache answers for the one before
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from librarian.models import Filters, Query, Vectors
from librarian.search.retrievers import QueryAdapter

from .library import TOPICS, Library, Loaded, TopicEmbedder

DIMENSION = TopicEmbedder.spec.dimension


def toward(topic: int, *, model: str = TopicEmbedder.fingerprint) -> QueryAdapter:
    """Whatever is asked is asked about that topic."""
    matrix = np.zeros((DIMENSION, DIMENSION), dtype=np.float32)
    matrix[topic, :] = 50.0
    return QueryAdapter(model, matrix)


@given(arrays.arrays(np.float32, (4, 4), elements=st.floats(-100, 100, width=16)))
def test_an_adapter_survives_being_kept_as_text(matrix: Vectors) -> None:
    kept = QueryAdapter.of_text("m", QueryAdapter("m", matrix).as_text())
    assert kept is not None
    assert kept.model == "m"
    assert (kept.matrix == matrix).all()


@pytest.mark.parametrize("garbage", ["", "?", "AAAA", "AAA", QueryAdapter("", np.full((2, 2), np.inf)).as_text()])
def test_garbage_is_no_adapter(garbage: str) -> None:
    assert QueryAdapter.of_text("m", garbage) is None


@given(arrays.arrays(np.float32, 6, elements=st.floats(-1, 1, width=32)))
def test_what_is_turned_stays_of_unit_length(vector: Vectors) -> None:
    question = vector / np.linalg.norm(vector) if np.linalg.norm(vector) > 0.1 else np.eye(6, dtype=np.float32)[0]
    matrix = np.random.default_rng(2).standard_normal((6, 6)).astype(np.float32)
    assert np.linalg.norm(QueryAdapter("", matrix)(question)) == pytest.approx(1.0, abs=1e-5)
    assert (QueryAdapter("", -np.eye(6, dtype=np.float32))(question) == question).all()  # nothing would be left of it


def test_it_turns_the_questions_of_its_model_alone(manual: Library) -> None:
    engine = manual.engine()
    question = Query("a password", mode="semantic", max_results=1)

    def first() -> str:
        return engine.search(question).hits[0].document.document.file_path

    assert first() == "shop/ops/secrets.md"
    logs = TOPICS.index(next(topic for topic in TOPICS if "logs" in topic))
    version = engine.ranker_version
    engine.use(adapters=[toward(logs)])
    assert engine.ranker_version != version
    assert first() == "till/guide/logging.md"
    engine.use(adapters=[toward(logs, model="another")])
    assert first() == "shop/ops/secrets.md"
    engine.use(adapters=[toward(logs)])
    engine.use(adapters=[])
    assert first() == "shop/ops/secrets.md"


def test_the_evidence_is_that_of_the_question_as_the_model_embeds_it(manual: Library) -> None:
    engine, question = manual.engine(), Query("a password", mode="hybrid", max_results=6, max_per_document=0)

    def evidence() -> tuple[float, float]:
        hits = engine.search(question).hits
        found = {reason.source: reason.raw for reason in hits[0].candidate.why}
        return found["evidence"], max(hit.candidate.semantic_score or 0.0 for hit in hits)

    plain = evidence()
    logs = TOPICS.index(next(topic for topic in TOPICS if "logs" in topic))
    matrix = np.zeros((DIMENSION, DIMENSION), dtype=np.float32)
    matrix[logs, :] = 0.5
    engine.use(adapters=[QueryAdapter(TopicEmbedder.fingerprint, matrix)])
    told, best = evidence()
    assert told == pytest.approx(plain[0], abs=1e-3)
    assert best < plain[1] - 0.01  # what is shown of a passage is the adapted question's cosine


def test_a_hypothetical_answer_is_taken_as_a_passage(manual: Library) -> None:
    class Noting(TopicEmbedder):
        def embed_query(self, text: str) -> Vectors:
            asked.append(text)
            return super().embed_query(text)

    asked: list[str] = []
    engine = manual.engine(embedder=Loaded(Noting()))
    turned: list[float] = []

    class Counting(QueryAdapter):
        def __call__(self, question: Vectors) -> Vectors:
            turned.append(float(question[0]))
            return question

    engine.use(adapters=[Counting(TopicEmbedder.fingerprint, np.zeros((DIMENSION, DIMENSION), dtype=np.float32))])
    found = engine.search(Query("rotate a token", mode="hyde", hypothetical_answer="Each credential is rotated."))
    assert found.mode == "hyde"
    assert "Each credential is rotated." in asked
    assert len(turned) == len(asked) - 1
    before = len(turned)
    engine.search(Query("rotate a token", mode="semantic", filters=Filters(kind="email")))
    assert len(turned) == before  # nothing was learned from mails


def test_the_other_settings_of_an_engine_leave_its_adapter(shelve: Callable[..., Library]) -> None:
    engine = shelve().engine()
    logs = TOPICS.index(next(topic for topic in TOPICS if "logs" in topic))
    engine.use(adapters=[toward(logs)])
    engine.use(ranker=None)
    hit = engine.search(Query("a password", mode="semantic", max_results=1)).hits[0]
    assert hit.document.document.file_path == "till/guide/logging.md"
