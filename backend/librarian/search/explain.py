"""Explaining a question and an absence: what kind it is, and where a document falls out of its answer."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Literal

from ..models import Deadline, Filters, Query, ScorePart, StoredDocument
from ..schemas import AnalyzeResponse, RetrieverRank, WhyNot
from ..storage.base import Catalog, CatalogReader
from . import pagination, suggestions
from .engine import HybridSearchEngine
from .ranking import Ranked
from .router import QueryRouter
from .suggestions import no_mention

_NARROW = "Narrow the search with a filter, or use words of that page."
_OUTNUMBERED = (
    "It holds words of the question, but so many passages fit better that it isn't among the first of any retriever. "
    + _NARROW
)
_FAR = (
    "No retriever found it: none of its passages holds the question's words or is near in meaning. "
    "Ask with words that the page uses."
)


class Analyst:
    """Answers `analyze_query`."""

    def __init__(self, router: QueryRouter, engine: HybridSearchEngine, catalog: Catalog) -> None:
        self._router = router
        self.engine = engine
        self._catalog = catalog

    def analyze(self, text: str) -> AnalyzeResponse:
        """What the router sees in a question."""
        return self._router.analyze(text)

    def why_not(self, query: Query, file_path: str, deadline: Deadline) -> WhyNot:
        """Where a document stands in the answer, or the stage at which it falls out."""
        with self._catalog.read() as reader:
            stored = reader.document_by_path(file_path, text=False)
            if stored is None:
                return self._not_indexed(file_path, reader)
            if blocking := self._blocking(query, file_path):
                return WhyNot(
                    file_path=file_path,
                    stage="filtered",
                    explanation=f"{file_path} doesn't pass {', '.join(blocking)}. Drop or change what filters it out.",
                )
            found = self.engine.rank(query, reader, deadline)
            ranks = self._ranks(found, stored.doc_id)
            if place := self._place(found, query, stored, reader):
                return _shown(query, file_path, ranks, *place)
            if any(one.rank is not None for one in ranks):
                return _dropped(found, stored, ranks)
            outnumbered = self._holds_words(query, file_path, reader, deadline)
            unsaid = no_mention(self.engine.not_mentioned(query, reader), suggestions.within(query.filters))
            explanation = f"{unsaid} {_OUTNUMBERED if outnumbered else _FAR}".strip()
            stage: Literal["below_cut", "not_found"] = "below_cut" if outnumbered else "not_found"
            return WhyNot(file_path=file_path, stage=stage, explanation=explanation, retrievers=ranks)

    def _holds_words(self, query: Query, file_path: str, reader: CatalogReader, deadline: Deadline) -> bool:
        """Whether the document would be found by its words if it were the only one."""
        alone = replace(query, mode="keyword", filters=replace(query.filters, file_paths=(file_path,)))
        return bool(self.engine.rank(alone, reader, deadline).candidates.keyword.ids)

    def _place(
        self, ranked: Ranked, query: Query, stored: StoredDocument, reader: CatalogReader
    ) -> tuple[int, str, bool] | None:
        """The first rank at which a document's text is shown, the path that it is shown with, and whether its relevance
        is below the noise level."""
        columns = self._catalog.columns()
        entries, _ = self.engine.deduplicated(ranked, query, columns)
        groups = pagination.grouped(entries, ranked, columns, query)
        ranks = {ranked.chunk_ids[one.place]: rank for rank, group in enumerate(groups, 1) for one in group}
        found = [
            (ranks[hit.candidate.chunk_id], hit.document.document.file_path)
            for hit in pagination.hits(entries, ranked, reader, None, lambda _: 0.0)
            if hit.document.doc_id == stored.doc_id or stored.document.file_path in hit.also_in
        ]
        if not found:
            return None
        strong = len(pagination.grouped(entries[: self.engine.strong(ranked, entries)], ranked, columns, query))
        rank, path = min(found)
        return rank, path, rank > strong

    def _not_indexed(self, file_path: str, reader: CatalogReader) -> WhyNot:
        for failure in reader.failures():
            if f"{file_path}/".startswith(f"{failure.file_path}/"):  # the file, or a folder that is left out as a whole
                detail = f": {failure.detail}" if failure.detail else ""
                it = "It is" if failure.file_path == file_path else f"It lies in {failure.file_path!r}, which is"
                explanation = f"{it} not indexed: {failure.kind}, {failure.reason}{detail.rstrip('.')}."
                return WhyNot(file_path=file_path, stage="not_indexed", explanation=explanation)
        return WhyNot(
            file_path=file_path,
            stage="not_indexed",
            explanation=f"No document {file_path!r} is indexed. Paths are relative to the root; "
            "list_components shows what there is.",
        )

    def _blocking(self, query: Query, file_path: str) -> list[str]:
        """The filters that the document doesn't pass, by name."""
        columns, empty = self._catalog.columns(), Filters()
        alone = replace(empty, file_paths=(file_path,))
        blocking = []
        for name in (field.name for field in fields(Filters)):
            value = getattr(query.filters, name)
            if value != getattr(empty, name):
                only = replace(alone, **{name: value})
                if name == "file_paths" and file_path in value:
                    continue
                if columns.select(only).count == 0 or name == "file_paths":
                    blocking.append(f"{name}={value!r}")
        return blocking

    def _ranks(self, ranked: Ranked, doc_id: int) -> list[RetrieverRank]:
        found = ranked.candidates
        chunks = set(found.chunks.chunk_ids[found.chunks.doc_ids == doc_id].tolist())
        places = []
        for name, ranking in {"keyword": found.keyword, "semantic": found.semantic, "hyde": found.hyde}.items():
            if ranking.status != "ok":
                if ranking.status != "off" or name != "hyde":
                    places.append(RetrieverRank(retriever=name, reason=ranking.reason or ranking.status))
                continue
            own = (place for place, chunk in enumerate(ranking.ids) if chunk in chunks)
            if (place := next(own, None)) is None:
                places.append(RetrieverRank(retriever=name, reason=f"not among its first {len(ranking.ids)} passages"))
            else:
                places.append(RetrieverRank(retriever=name, rank=place + 1, score=ranking.scores[place]))
        return places


def _shown(query: Query, file_path: str, ranks: list[RetrieverRank], rank: int, shown_at: str, weak: bool) -> WhyNot:
    """Of a document whose text is in the answer, on its first page or on a later one, or `weak`."""
    copy = "" if shown_at == file_path else f", as a copy of {shown_at}"
    if weak and not query.include_weak:
        explanation = f"Its rank is {rank}{copy}, but it is hardly relevant: ask with include_weak=true to see it."
        return WhyNot(file_path=file_path, stage="below_cut", explanation=explanation, retrievers=ranks, rank=rank)
    if rank <= query.max_results:
        explanation = f"It is in the answer, at rank {rank}{copy}."
        return WhyNot(file_path=file_path, stage="found", explanation=explanation, retrievers=ranks, rank=rank)
    explanation = f"Its rank is {rank}{copy}, beyond the first {query.max_results}: ask for more results."
    return WhyNot(file_path=file_path, stage="below_cut", explanation=explanation, retrievers=ranks, rank=rank)


def _dropped(ranked: Ranked, stored: StoredDocument, ranks: list[RetrieverRank]) -> WhyNot:
    """Of a document that a retriever found and no page of the answer shows."""
    own = ((rank, one.why) for rank, one in enumerate(ranked, 1) if one.doc_id == stored.doc_id)
    rank, why = next(own, (None, ()))
    if stored.document.kind == "email":
        explanation = "It was found, but others fit better, maybe of its thread: max_per_thread=0 shows all of them."
    elif rank is None:
        explanation = f"It was found, but this mode drops it. {_NARROW}"
    else:
        explanation = f"It was found, but as candidate {rank} it falls below the cut ({_reasons(why)}). {_NARROW}"
    return WhyNot(
        file_path=stored.document.file_path, stage="below_cut", explanation=explanation, retrievers=ranks, rank=rank
    )


def _reasons(why: tuple[ScorePart, ...]) -> str:
    strongest = sorted(why, key=lambda reason: -abs(reason.points))[:3]
    return ", ".join(f"{reason.source} {reason.points:+.2f}" for reason in strongest)
