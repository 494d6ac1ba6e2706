"""Rankings of a small library of our own, kept as files that a person reads.

Each question of `golden/ranking/questions.json` is asked in every mode; `rankings.json` holds the rank of the page that
answers it by mode (with the mode that ran, where that is another), hybrid's five best with their reasons (source: rank
there, raw score, points), and per mode how the ranks are spread (`rank_stats`). Whoever changes ranking or weights
rewrites it with one command and reads the difference as a reviewer would:

    pytest backend/tests/search/test_golden_rankings.py --update

* the rankings are the golden ones; figures may differ in the third decimal
* each question's page is among the first five in hybrid mode, each identifier's page the first
* what is shown of every hit keeps the promises of `shown.py`
* weight 0 orders as keyword, weight 1 as semantic
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from librarian.models import Hit, Mode, Query, SearchOutcome
from librarian.search.candidates import required_identifiers
from librarian.search.engine import HybridSearchEngine

from .concepts import ConceptEmbedder
from .library import Library
from .shown import faults

HOME = Path(__file__).parents[1] / "golden" / "ranking"
GOLDEN = HOME / "rankings.json"
MODES: tuple[Mode, ...] = ("keyword", "semantic", "hybrid", "auto", "hyde")
SHOWN = 5
TOLERANCE = 0.0015  #: of figures that are rounded to three decimals


@dataclass(frozen=True, slots=True)
class Question:
    query: str
    target: str


QUESTIONS = [Question(**row) for row in json.loads((HOME / "questions.json").read_text("utf-8"))]


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Library]:
    root = HOME / "library"
    files = {path.relative_to(root).as_posix(): path.read_text("utf-8") for path in sorted(root.rglob("*.*"))}
    made = Library(tmp_path_factory.mktemp("golden"), files, embedder=ConceptEmbedder())
    yield made
    made.close()


@pytest.fixture(scope="module")
def engine(library: Library) -> HybridSearchEngine:
    return library.engine()


def asked(engine: HybridSearchEngine, text: str, mode: Mode, weight: float | None = None) -> SearchOutcome:
    return engine.search(Query(text, mode=mode, max_results=50, max_per_document=1, semantic_weight=weight))


def path_of(hit: Hit) -> str:
    return hit.document.document.file_path


def rank_of(outcome: SearchOutcome, target: str) -> int | None:
    return next((rank for rank, hit in enumerate(outcome.hits, start=1) if path_of(hit) == target), None)


def row_of(hit: Hit) -> dict[str, Any]:
    why = {
        reason.source: [reason.rank, None if reason.raw is None else round(reason.raw, 3), round(reason.points, 3)]
        for reason in hit.candidate.why
    }
    heading = " > ".join(hit.chunk.chunk.heading_path)
    return {"path": path_of(hit), "section": heading, "relevance": round(hit.relevance, 3), "why": why}


def rank_stats(ranks: Sequence[int | None]) -> dict[str, Any]:
    """How the targets' ranks are spread; `missing` of them aren't found at all."""
    found = [rank for rank in ranks if rank is not None]
    shares = {f"within_{limit}": sum(rank <= limit for rank in found) for limit in (1, 3, 5, 10)}
    return {
        "questions": len(ranks),
        **shares,
        "missing": len(ranks) - len(found),
        "median": statistics.median(found),
        "worst": max(found),
        "mrr": round(sum(1 / rank for rank in found) / len(ranks), 3),
    }


def rankings(engine: HybridSearchEngine) -> dict[str, Any]:
    questions, ranks = [], dict[str, list[int | None]]()
    for question in QUESTIONS:
        modes: dict[str, Any] = {}
        for mode in MODES:
            outcome = asked(engine, question.query, mode)
            rank = rank_of(outcome, question.target)
            ranks.setdefault(mode, []).append(rank)
            modes[mode] = rank if outcome.mode == mode else [rank, outcome.mode]
        best = [row_of(hit) for hit in asked(engine, question.query, "hybrid").hits[:SHOWN]]
        questions.append({"query": question.query, "target": question.target, "ranks": modes, "best": best})
    return {"rank_stats": {mode: rank_stats(found) for mode, found in ranks.items()}, "questions": questions}


def written(value: object, depth: int = 0) -> str:
    """JSON with a line for what fits into one."""
    flat = json.dumps(value, ensure_ascii=False)
    if not isinstance(value, dict | list) or len(flat) + depth <= 240:
        return flat
    pad, end = " " * (depth + 1), " " * depth
    if isinstance(value, dict):
        inner = [f"{pad}{json.dumps(key)}: {written(item, depth + 1)}" for key, item in value.items()]
        return "{\n" + ",\n".join(inner) + f"\n{end}}}"
    return "[\n" + ",\n".join(f"{pad}{written(item, depth + 1)}" for item in value) + f"\n{end}]"


def differences(found: Any, golden: Any, place: str = "") -> Iterator[str]:
    """Where two rankings differ, figures by more than the tolerance."""
    if isinstance(found, dict) and isinstance(golden, dict):
        for key in {**golden, **found}:
            yield from differences(found.get(key), golden.get(key), f"{place}/{key}")
    elif isinstance(found, list) and isinstance(golden, list) and len(found) == len(golden):
        for number, (own, other) in enumerate(zip(found, golden, strict=True)):
            yield from differences(own, other, f"{place}/{number}")
    elif isinstance(found, float) or isinstance(golden, float):
        if found is None or golden is None or abs(found - golden) > TOLERANCE:
            yield f"{place}: {found}, golden {golden}"
    elif found != golden:
        yield f"{place}: {found}, golden {golden}"


def test_the_rankings_are_the_golden_ones(engine: HybridSearchEngine, update: bool) -> None:
    found = rankings(engine)
    if update:
        GOLDEN.write_text(written(found) + "\n", "utf-8")
    assert list(differences(found, json.loads(GOLDEN.read_text("utf-8")))) == []


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.query)
def test_the_page_that_answers_is_among_the_first(
    engine: HybridSearchEngine, library: Library, question: Question
) -> None:
    rank = rank_of(asked(engine, question.query, "hybrid"), question.target)
    assert rank is not None
    assert rank <= 5
    if question.query in required_identifiers(library.analyzer.query(question.query), library.analyzer):
        assert rank == 1


@pytest.mark.parametrize("mode", MODES)
def test_what_is_shown_keeps_its_promises(engine: HybridSearchEngine, library: Library, mode: Mode) -> None:
    for question in QUESTIONS:
        analyzed = library.analyzer.query(question.query)
        hits = asked(engine, question.query, mode).hits
        assert hits, question.query
        for hit in hits:
            with library.catalog.read() as reader:
                broken = list(faults(hit, reader, analyzed, library.analyzer))
            assert not broken, f"{question.query!r}: {path_of(hit)}: {broken}\n{hit.snippet.text}"


@pytest.mark.parametrize(("weight", "mode"), [(0.0, "keyword"), (1.0, "semantic")])
def test_a_weight_at_its_end_orders_as_that_mode(engine: HybridSearchEngine, weight: float, mode: Mode) -> None:
    for question in QUESTIONS:
        by_weight, by_mode = asked(engine, question.query, "hybrid", weight), asked(engine, question.query, mode)
        assert by_mode.hits, question.query
        assert [hit.candidate.chunk_id for hit in by_weight.hits] == [hit.candidate.chunk_id for hit in by_mode.hits]
