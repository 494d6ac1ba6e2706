"""Documents that aren't embedded yet, beside those that are.

* a question's best document by words keeps its place over weaker ones that have their vectors already
* its semantic score stays unknown, and the reasons say that those points are expected ones
* of few vectors the nearest doesn't come first for being the nearest
* within a document the passage that answers keeps its place over those that have their vectors already
* with every vector there nothing is assumed
* that an answer is unlikely isn't said before the passages that may hold it have their vectors
* expectations lie between nothing and the best of the known ones, whatever the features
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from librarian.finding.features import Documents
from librarian.finding.options import SearchOptions
from librarian.finding.pool import Floats, Mask, Passages, Pool
from librarian.finding.unembedded import expected
from librarian.vocabulary.types import WINDOWS_PER_CHUNK, Mode, Query, Ranking

from .library import Library

QUESTION = "rotate the signing token of the gateway"
FILES = {
    "p/best.md": "# Rotate the signing token\n\nRotate the signing token of the gateway every month.",
    **{
        f"p/other{n}.md": f"# Note {n}\n\nA token of kind {n} is shown here with its owner, the gateway and a date."
        for n in range(12)
    },
}


def test_the_best_by_words_isnt_lost_among_those_that_are_embedded(shelve: Callable[..., Library]) -> None:
    library = shelve(FILES)
    engine = library.engine()
    before = engine.search(Query(QUESTION, mode="hybrid")).hits[0]
    assert not any(why.source.endswith("_expected") for why in before.candidate.why)

    best = before.candidate.doc_id
    assert before.document.document.file_path == "p/best.md"
    windows = np.array(sorted(library.vectors.ids()), dtype=np.int64)
    docs = library.catalog.columns().doc_of(windows // WINDOWS_PER_CHUNK)
    library.vectors.delete(windows[docs == best])
    after = engine.search(Query(QUESTION, mode="hybrid")).hits[0]
    assert after.candidate.doc_id == best
    assert after.candidate.semantic_score is None
    sources = {why.source for why in after.candidate.why}
    assert "semantic_scaled_expected" in sources
    assert "semantic_scaled" not in sources


def test_a_hypothetical_answer_speaks_for_what_has_no_vector_too(shelve: Callable[..., Library]) -> None:
    library = shelve(FILES)
    engine = library.engine()
    query = Query(QUESTION, mode="hyde", hypothetical_answer="The token is rotated with a secret.")
    before = engine.search(query).hits[0]
    assert before.document.document.file_path == "p/best.md"
    windows = np.array(sorted(library.vectors.ids()), dtype=np.int64)
    docs = library.catalog.columns().doc_of(windows // WINDOWS_PER_CHUNK)
    library.vectors.delete(windows[docs == before.candidate.doc_id])
    after = engine.search(query).hits[0]
    assert after.candidate.doc_id == before.candidate.doc_id
    assert {"hyde_scaled_expected", "semantic_scaled_expected"} <= {why.source for why in after.candidate.why}


def test_the_nearest_of_few_vectors_comes_behind_what_the_words_say(shelve: Callable[..., Library]) -> None:
    far = {f"far/{n}.md": f"# Walk {n}\n\nThe gateway of garden {n} is open in summer." for n in range(3)}
    library = shelve({**FILES, **far, "near/log.md": "# Harbour\n\nShips log what is secret."})
    engine = library.engine()
    with library.catalog.read() as reader:
        product = {stored.doc_id: stored.document.product for stored in reader.iter_documents()}
    windows = np.array(sorted(library.vectors.ids()), dtype=np.int64)
    docs = library.catalog.columns().doc_of(windows // WINDOWS_PER_CHUNK)
    library.vectors.delete(windows[[product[doc] == "p" for doc in docs.tolist()]])
    hits = engine.search(Query(QUESTION, mode="hybrid", max_results=20)).hits
    assert hits[0].document.document.file_path == "p/best.md"
    assert "near/log.md" in {hit.document.document.file_path for hit in hits}
    named = {why.source for hit in hits for why in hit.candidate.why}
    assert "semantic_scaled_expected" in named
    assert "semantic_scaled" not in named


def test_the_passage_that_answers_isnt_lost_among_its_embedded_siblings(shelve: Callable[..., Library]) -> None:
    noted = [f"## Note {n}\n\n{f'A token of kind {n} and its owner stand in the log. ' * 10}\n" for n in range(4)]
    answer = f"## Rotate it\n\n{'Rotate the signing token of the gateway every month. ' * 10}\n"
    library = shelve({"p/best.md": "\n".join(["# Keys\n", answer, *noted]), "p/log.md": "# Log\n\nThe token of a log."})
    engine = library.engine()
    before = engine.search(Query(QUESTION, mode="hybrid")).hits[0]
    assert before.chunk.chunk.heading_path[-1] == "Rotate it"
    windows = np.array(sorted(library.vectors.ids()), dtype=np.int64)
    library.vectors.delete(windows[windows // WINDOWS_PER_CHUNK == before.chunk.chunk_id])
    after = engine.search(Query(QUESTION, mode="hybrid")).hits[0]
    assert after.chunk.chunk_id == before.chunk.chunk_id
    assert after.candidate.semantic_score is None


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


def candidates(known: Mask, values: dict[str, Floats]) -> tuple[Documents, Pool]:
    """Documents of one passage each; those that are `known` have vectors."""
    ids = np.arange(1, len(known) + 1)
    semantic = np.where(known, values["semantic"], np.nan)
    passages = Passages(ids, ids, values["keyword"], semantic, semantic, np.zeros(len(ids), dtype=np.bool_))
    legs = Ranking("keyword", (), (), ()), Ranking("semantic", (), (), ()), Ranking("hyde", (), (), ())
    return Documents(ids, values, {}), Pool(*legs, passages, False)


def test_what_is_expected_is_what_documents_with_such_words_mean() -> None:
    words = np.linspace(0.2, 1.0, 41)
    known = np.arange(41) % 10 != 5
    values: dict[str, Floats] = dict.fromkeys(("keyword", "keyword_place", "body"), words)
    values |= dict.fromkeys(
        ("semantic", "semantic_further", "semantic_place", "both"), np.where(known, 0.8 * words + 0.1, 0)
    )
    filled = expected(*candidates(known, values)).values["semantic"]
    assert filled[~known] == pytest.approx(0.8 * words[~known] + 0.1, abs=0.005)


rows = st.lists(st.tuples(st.booleans(), *[st.floats(0, 1) for _ in range(7)]), min_size=2, max_size=30)


@settings(max_examples=50, deadline=None)
@given(rows)
def test_expectations_stay_within_what_is_known(drawn: list[tuple[bool, ...]]) -> None:
    names = ("keyword", "keyword_place", "body", "semantic", "semantic_further", "semantic_place", "both")
    known = np.array([one for one, *_ in drawn], dtype=np.bool_)
    values = {
        name: np.array([float(row[place]) for row in drawn]) * (known if name in names[3:] else 1)
        for place, name in enumerate(names, start=1)
    }
    found, pool = candidates(known, values)
    filled = expected(found, pool)
    if known.all() or not known.any():
        assert filled is found
        return
    assert filled.lacking is not None
    assert filled.lacking.tolist() == (~known).tolist()
    for name in names:
        own = filled.values[name]
        assert own[known].tolist() == values[name][known].tolist()
        if name in names[3:]:
            assert np.isfinite(own).all()
            assert own.min() >= 0
            assert own.max() <= values[name][known].max() + 1e-9
        else:
            assert own.tolist() == values[name].tolist()


def test_what_is_far_from_the_question_is_not_taken_for_what_has_no_vector(manual: Library) -> None:
    engine = manual.engine(options=SearchOptions(similarity_threshold=0.9))
    outcome = engine.search(Query("deploy the shop with the installer", mode="hybrid"))
    assert any(hit.candidate.semantic_score == 0.0 for hit in outcome.hits)
    assert not any(reason.source.endswith("_expected") for hit in outcome.hits for reason in hit.candidate.why)
