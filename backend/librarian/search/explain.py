"""Explaining a question and an absence: what kind it is, and where a document falls out of its answer."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Literal

from ..models import Deadline, Filters, Query, StoredDocument
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

Fate = tuple[Literal["found", "below_cut", "not_found"], str, int | None]  #: the stage, a sentence, and the rank


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
                return WhyNot(file_path=file_path, stage="not_indexed", explanation=_not_indexed(file_path, reader))
            if blocking := self._blocking(query, file_path):
                explanation = f"{file_path} doesn't pass {', '.join(blocking)}. Drop or change what filters it out."
                return WhyNot(file_path=file_path, stage="filtered", explanation=explanation)
            found = self.engine.rank(query, reader, deadline)
            ranks = _ranks(found, stored.doc_id)
            if shown := self._shown(found, query, stored, reader):
                stage, explanation, rank = shown
            elif any(one.rank is not None for one in ranks):
                stage, explanation, rank = _dropped(found, stored)
            else:
                alone = replace(query, mode="keyword", filters=replace(query.filters, file_paths=(file_path,)))
                outnumbered = self.engine.rank(alone, reader, deadline).candidates.keyword.ids
                unsaid = no_mention(self.engine.not_mentioned(query, reader), suggestions.within(query.filters))
                explanation = f"{unsaid} {_OUTNUMBERED if outnumbered else _FAR}".strip()
                stage, rank = "below_cut" if outnumbered else "not_found", None
            return WhyNot(file_path=file_path, stage=stage, explanation=explanation, retrievers=ranks, rank=rank)

    def _shown(self, ranked: Ranked, query: Query, stored: StoredDocument, reader: CatalogReader) -> Fate | None:
        """Of a document whose text is in the answer, on its first page or on a later one, or hardly relevant."""
        columns = self._catalog.columns()
        entries, _ = self.engine.deduplicated(ranked, query, columns)
        groups = pagination.grouped(entries, ranked, query)
        numbers = {ranked.chunk_ids[one.place]: number for number, group in enumerate(groups, 1) for one in group}
        found = [
            (numbers[hit.candidate.chunk_id], hit.document.document.file_path)
            for hit in pagination.hits(entries, ranked, reader, lambda _: 0.0)
            if hit.document.doc_id == stored.doc_id or stored.document.file_path in hit.also_in
        ]
        if not found:
            return None
        rank, path = min(found)
        copy = "" if path == stored.document.file_path else f", as a copy of {path}"
        strong = len(pagination.grouped(entries[: self.engine.strong(ranked, entries)], ranked, query))
        if rank > strong and not query.include_weak:
            explanation = f"Its rank is {rank}{copy}, but it is hardly relevant: ask with include_weak=true to see it."
            return "below_cut", explanation, rank
        if rank <= query.max_results:
            return "found", f"It is in the answer, at rank {rank}{copy}.", rank
        explanation = f"Its rank is {rank}{copy}, beyond the first {query.max_results}: ask for more results."
        return "below_cut", explanation, rank

    def _blocking(self, query: Query, file_path: str) -> list[str]:
        """The filters that the document doesn't pass, by name."""
        columns, empty, alone = self._catalog.columns(), Filters(), Filters(file_paths=(file_path,))
        blocking = []
        for name in (field.name for field in fields(Filters)):
            value = getattr(query.filters, name)
            if name == "file_paths":
                passes = not value or file_path in value
            else:
                passes = value == getattr(empty, name) or columns.select(replace(alone, **{name: value})).count > 0
            blocking += [] if passes else [f"{name}={value!r}"]
        return blocking


def _not_indexed(file_path: str, reader: CatalogReader) -> str:
    for failure in reader.failures():
        if f"{file_path}/".startswith(f"{failure.file_path}/"):  # the file, or a folder that is left out as a whole
            detail = f": {failure.detail}" if failure.detail else ""
            it = "It is" if failure.file_path == file_path else f"It lies in {failure.file_path!r}, which is"
            return f"{it} not indexed: {failure.kind}, {failure.reason}{detail.rstrip('.')}."
    return f"No document {file_path!r} is indexed. Paths are relative to the root; list_components shows what there is."


def _ranks(ranked: Ranked, doc_id: int) -> list[RetrieverRank]:
    """The document's place in each retriever's ranking, or why it has none."""
    found = ranked.candidates
    chunks = set(found.chunk_ids[found.doc_ids == doc_id].tolist())
    places = []
    for name, ranking in {"keyword": found.keyword, "semantic": found.semantic, "hyde": found.hyde}.items():
        place = next((place for place, chunk in enumerate(ranking.ids) if chunk in chunks), None)
        if ranking.status != "ok":
            if ranking.status != "off" or name != "hyde":
                places.append(RetrieverRank(retriever=name, reason=ranking.reason or ranking.status))
        elif place is None:
            places.append(RetrieverRank(retriever=name, reason=f"not among its first {len(ranking.ids)} passages"))
        else:
            places.append(RetrieverRank(retriever=name, rank=place + 1, score=ranking.scores[place]))
    return places


def _dropped(ranked: Ranked, stored: StoredDocument) -> Fate:
    """Of a document that a retriever found and no page of the answer shows."""
    if stored.document.kind == "email":
        explanation = "It was found, but others fit better, maybe of its thread: max_per_thread=0 shows all of them."
        return "below_cut", explanation, None
    for rank, one in enumerate(ranked, 1):
        if one.doc_id == stored.doc_id:
            strongest = sorted(one.why, key=lambda reason: -abs(reason.points))[:3]
            reasons = ", ".join(f"{reason.source} {reason.points:+.2f}" for reason in strongest)
            text = f"It was found, but as candidate {rank} it falls below the cut ({reasons}). {_NARROW}"
            return "below_cut", text, rank
    return "below_cut", f"It was found, but this mode drops it. {_NARROW}", None
