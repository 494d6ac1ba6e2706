"""Where a document falls out of an answer: each stage is named, with its leg's ranks and what to do."""

from __future__ import annotations

from collections.abc import Callable

from librarian.models import Deadline, Failure, Filters, Query
from librarian.schemas import WhyNot
from librarian.search.engine import SearchOptions
from librarian.search.explain import Analyst
from librarian.search.router import QueryRouter

from .conftest import MANUAL
from .library import Library


def why_not(library: Library, query: Query, path: str, **given: object) -> WhyNot:
    engine = library.engine(**given)  # type: ignore[arg-type]
    return Analyst(QueryRouter(library.analyzer), engine, library.catalog).why_not(query, path, Deadline())


def test_what_is_in_the_answer_is_found_with_its_ranks(manual: Library) -> None:
    seen = why_not(manual, Query("deploy the shop", mode="hybrid"), "shop/api/deploy.md")
    assert (seen.stage, seen.rank) == ("found", 1)
    assert {one.retriever: one.rank for one in seen.retrievers} == {"keyword": 1, "semantic": seen.retrievers[1].rank}


def test_a_copy_is_found_where_its_text_is_shown(shelve: Callable[..., Library]) -> None:
    page = "# Tokens\n\nCall rotate to rotate a token.\n"
    library = shelve({"shop/v1/tokens.md": page, "shop/v2/tokens.md": page, "shop/v2/other.md": "# Other\n\nToken.\n"})
    (hit, _) = library.engine().search(Query("rotate a token", mode="hybrid")).hits
    (copy,) = hit.also_in
    seen = why_not(library, Query("rotate a token", mode="hybrid"), copy)
    assert (seen.stage, seen.rank) == ("found", 1)
    assert f"as a copy of {hit.document.document.file_path}" in seen.explanation


def test_ranks_are_those_of_the_answer_that_the_question_gets(manual: Library) -> None:
    options = SearchOptions(reranker="keyword-stage", rerank_candidates=1, rerank_multiplier=1)
    query = Query("deploy the shop release", mode="rerank", max_results=2, max_per_document=1)
    outcome = manual.engine(options=options).search(query)
    paths = [hit.document.document.file_path for hit in outcome.hits]
    assert paths
    told = {path: why_not(manual, query, path, options=options).rank for path in MANUAL}
    assert {path: rank for path, rank in told.items() if rank} == {path: n for n, path in enumerate(paths, 1)}


def test_what_lies_beyond_the_results_is_below_the_cut(manual: Library) -> None:
    seen = why_not(manual, Query("deploy", mode="hybrid", max_results=1), "till/guide/deploy.md")
    assert seen.stage == "below_cut"
    assert seen.rank
    assert seen.rank > 1


def test_what_a_filter_keeps_out_is_filtered_and_the_filter_named(manual: Library) -> None:
    filters = Filters(product="till", tags=("security",))
    seen = why_not(manual, Query("deploy", mode="hybrid", filters=filters), "shop/ops/secrets.md")
    assert seen.stage == "filtered"
    assert "product='till'" in seen.explanation
    assert "tags" not in seen.explanation
    other = Query("deploy", filters=Filters(file_paths=("shop/ops/storage.md",)))
    assert "file_paths" in why_not(manual, other, "shop/ops/secrets.md").explanation


def test_what_no_leg_finds_is_not_found(manual: Library) -> None:
    seen = why_not(manual, Query("logging", mode="keyword"), "shop/ops/secrets.md", embedder=None)
    assert seen.stage == "not_found"
    assert all(one.rank is None and one.reason for one in seen.retrievers)


def test_what_holds_the_words_but_fits_worse_than_all_that_a_leg_reads_is_below_the_cut(
    shelve: Callable[..., Library],
) -> None:
    pages = {f"shop/api/{name}.md": f"# Token\n\nRotate the token {name}.\n" for name in ("daily", "weekly")}
    library = shelve({**pages, "shop/api/long.md": "# Other\n\nA token is one of many things told here.\n"})
    seen = why_not(library, Query("token", mode="keyword"), "shop/api/long.md", options=SearchOptions(depth=1))
    assert (seen.stage, seen.rank) == ("below_cut", None)
    assert "holds words of the question" in seen.explanation


def test_what_the_mode_drops_is_below_the_cut(manual: Library) -> None:
    options = SearchOptions(reranker="keyword-stage")
    seen = why_not(manual, Query("deploy the shop", mode="rerank"), "shop/api/scaling.md", options=options)
    assert (seen.stage, seen.rank) == ("below_cut", None)
    assert {one.retriever: one.rank for one in seen.retrievers} == {"keyword": 4, "semantic": None}
    assert "this mode drops it" in seen.explanation


def test_what_is_not_indexed_says_why(manual: Library) -> None:
    assert why_not(manual, Query("x"), "shop/none.md").stage == "not_indexed"
    manual.catalog.set_failures([Failure("shop/big.md", "skipped", "too_large", "12 MB")], replace=True)
    seen = why_not(manual, Query("x"), "shop/big.md")
    assert seen.stage == "not_indexed"
    assert "too_large: 12 MB" in seen.explanation
    manual.catalog.set_failures([Failure("shop/big.md", "failed", "binary", "It isn't text.")], replace=True)
    assert why_not(manual, Query("x"), "shop/big.md").explanation.endswith("binary: It isn't text.")
    manual.catalog.set_failures([Failure("shop/old", "skipped", "excluded", "docs.exclude")], replace=True)
    seen = why_not(manual, Query("x"), "shop/old/2019/a.md")
    assert seen.explanation == "It lies in 'shop/old', which is not indexed: skipped, excluded: docs.exclude."
    assert "No document" in why_not(manual, Query("x"), "shop/older.md").explanation


def test_an_analysis_has_the_fields_of_the_tool(manual: Library) -> None:
    analyst = Analyst(QueryRouter(manual.analyzer), manual.engine(), manual.catalog)
    seen = analyst.analyze("how do I configure max_replicas?")
    assert seen.query == "how do I configure max_replicas?"
    assert seen.technical_terms == ["max_replicas"]
    assert seen.word_count == 5
