"""A library while it is being embedded.

* below 90% of embedded chunks, the keyword order stays instead of the learned sum
* from 90% on the learned sum ranks, and a document without a vector has no semantic points
* an answer isn't called unlikely before the chunks that may hold it have their vectors
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from librarian.models import WINDOWS_PER_CHUNK, Hit, Mode, Query
from librarian.search.engine import SearchOptions

from .library import Library

QUESTION = "rotate the signing token of the gateway"
FILES = {
    "p/best.md": "# Rotate the signing token\n\nRotate the signing token of the gateway every month.",
    **{
        f"p/other{n}.md": f"# Note {n}\n\nA token of kind {n} is shown here with its owner, the gateway and a date."
        for n in range(12)
    },
}


def sources(hit: Hit) -> set[str]:
    return {part.source for part in hit.candidate.why}


@pytest.mark.parametrize("mode", ["hybrid", "rerank", "hyde"])
def test_the_keyword_order_stays_until_90_percent_are_embedded(shelve: Callable[..., Library], mode: Mode) -> None:
    library = shelve(FILES)
    with library.catalog.read() as reader:
        chunks = reader.count().chunks
    query = Query(QUESTION, mode=mode, hypothetical_answer="The token is rotated." if mode == "hyde" else None)
    options = SearchOptions(reranker="none")
    few = library.engine(embedded=lambda _: chunks - 2, options=options).search(query)  # 11 of 13
    words = library.engine().search(Query(QUESTION, mode="keyword", max_results=20))
    shown = [hit.candidate.doc_id for hit in few.hits]
    assert shown == [hit.candidate.doc_id for hit in words.hits][: len(shown)]
    assert "keyword_scaled" not in sources(few.hits[0])
    complete = library.engine(embedded=lambda _: chunks, options=options).search(query)
    assert "keyword_scaled" in sources(complete.hits[0])


def test_a_document_without_a_vector_has_no_semantic_points(shelve: Callable[..., Library]) -> None:
    library = shelve(FILES)
    engine = library.engine()
    best = engine.search(Query(QUESTION, mode="hybrid")).hits[0].candidate
    windows = np.array(sorted(library.vectors.ids()), dtype=np.int64)
    docs = library.catalog.columns().doc_of(windows // WINDOWS_PER_CHUNK)
    library.vectors.delete(windows[docs == best.doc_id])
    hits = engine.search(Query(QUESTION, mode="hybrid", max_results=20)).hits
    (found,) = [hit for hit in hits if hit.candidate.doc_id == best.doc_id]
    assert found.candidate.semantic_score is None
    assert not sources(found) & {"semantic", "semantic_scaled"}
    assert "keyword_scaled" in sources(found)


def test_no_answer_is_called_unlikely_while_its_passage_may_lack_a_vector(shelve: Callable[..., Library]) -> None:
    library = shelve({f"p/{n}.md": f"# Note {n}\n\nSecret {n} of a storage with a disk and a log." for n in range(8)})
    engine = library.engine()

    def told(mode: Mode) -> str:
        return engine.search(Query("who wins the chess tournament", mode=mode)).answerable

    chunks = {window // WINDOWS_PER_CHUNK for window in library.vectors.ids().tolist()}
    assert told("hybrid") == told("semantic") == "unknown"
    library.catalog.mark_embedded("topics", {chunk: ["h"] for chunk in chunks})
    assert told("hybrid") == told("semantic") == "unlikely"
    library.catalog.forget("topics")
    assert told("keyword") == "unlikely"
