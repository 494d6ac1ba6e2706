"""`search_knowledge_base`: vector search, hybrid search and reranking; each falls back to the one below it.

Vector search gives passages by cosine. Hybrid search adds the keyword leg, `w · similarity + (1 − w) · text_rank`.
Reranking reads five times the wanted results again with a cross-encoder.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final, Literal

from ..vocabulary.addresses import passage_id
from ..vocabulary.arguments import shortened
from ..vocabulary.errors import CallerError
from ..vocabulary.knowledge import SEARCH_TYPES, KnowledgeAnswer, KnowledgeItem
from ..vocabulary.protocols import Budget
from ..vocabulary.types import Hit, Mode, SearchOutcome
from . import addresses, questions
from . import arguments as check
from .arguments import DOC_TYPES
from .asking import Asking
from .presence import checked
from .reading import document_at

_MODES: Final[dict[str, Mode]] = {"vector": "semantic", "hybrid": "hybrid", "rerank": "rerank"}
#: What document types are called elsewhere; other names are doc_types, and what begins with a dot is a file type.
_FORMATS: Final = {"markdown": ".md", "word": ".docx", "text": ".txt"}
_FORMAT_NAMES: Final = ("md", "pdf", "html", "htm", "txt", "docx", "pptx", "xlsx", "csv", "ipynb", "rtf", "epub", "eml")


class Knowledge(Asking):
    """The part of the desk that answers as a RAG service does."""

    def search_knowledge_base(
        self,
        query: str,
        *,
        source_id: str | None = None,
        document_id: str | None = None,
        document_type: str | None = None,
        match_count: int | None = None,
        search_type: str | None = None,
        budget: Budget | None = None,
    ) -> KnowledgeAnswer:
        """Passages of documents and mails; arguments as of the tool `search_knowledge_base`."""
        spent = budget or Budget()
        self._await_text(spent)
        options = self._parts.options
        wanted = search_type or {"semantic": "vector", "rerank": "rerank"}.get(options.default_mode, "hybrid")
        if wanted not in SEARCH_TYPES:
            hint = check.one_of(SEARCH_TYPES, wanted)
            raise CallerError(f"search_type is {shortened(wanted)}, which is unknown.", hint=hint)
        count = options.default_max_results if match_count is None else match_count
        check.whole_number("match_count", count, 1, options.max_results)
        product = check.known_name(
            "source_id", source_id, list(self._products()), hint="Use list_products to see what is indexed."
        )
        given = {"query": query, "product": product, "max_results": count, "max_per_document": 0}
        asked = replace(
            questions.documents(options, self._products, {**given, **_typed(document_type), "mode": _MODES[wanted]}),
            semantic_weight=options.knowledge_weight if wanted == "hybrid" else None,
        )
        filters = replace(asked.filters, kind=None, file_paths=self._document_named(document_id))
        engine = self._parts.engine
        answer = checked(
            lambda query: engine.search(query, spent),
            replace(asked, filters=filters, packed=False, include_weak=True, max_tokens=None),
            self._files,
        )
        outcome = answer.outcome
        self._parts.questions.note(asked.text, outcome.total, outcome.answerable, filters.product)
        ran = _ran(outcome, wanted)
        weight = options.knowledge_weight
        return KnowledgeAnswer(
            results=[_item(hit, ran, weight) for hit in outcome.hits],
            total_found=outcome.total,
            capped=outcome.capped,
            search_mode=ran,
            degraded=[
                *_degraded(outcome, wanted, ran),
                *self._lacking(outcome.degraded, by_meaning=outcome.legs["semantic"].status == "ok", away=answer.away),
            ],
        )

    def _document_named(self, document_id: str | None) -> tuple[str, ...]:
        if document_id is None:
            return ()
        with self._parts.catalog.read() as reader:
            return (document_at(reader, addresses.parse(document_id).file_path).document.file_path,)


def _typed(document_type: str | None) -> dict[str, object]:
    name = (document_type or "").strip().lower()
    if name.startswith(".") or name in _FORMATS or name in _FORMAT_NAMES:
        return {"file_types": [_FORMATS.get(name, name)]}
    if name and name not in DOC_TYPES:
        known = (*DOC_TYPES, *_FORMATS, *_FORMAT_NAMES)
        hint = check.one_of(known, name, ", or an extension such as .rst")
        raise CallerError(f"document_type {shortened(document_type)} is unknown.", hint=hint)
    return {"doc_type": name}


def _ran(outcome: SearchOutcome, wanted: str) -> Literal["hybrid", "vector", "rerank", "text"]:
    """The strategy that made this answer."""
    legs = outcome.legs
    if legs["semantic"].status != "ok":
        return "text"
    if wanted == "rerank" and outcome.mode == "rerank":
        return "rerank"
    return "vector" if outcome.mode == "semantic" or legs["keyword"].status != "ok" else "hybrid"


def _degraded(outcome: SearchOutcome, wanted: str, ran: str) -> list[str]:
    """Why another strategy ran than the one asked for, besides what the engine says anyway."""
    said = list(outcome.degraded)
    if ran != wanted and not said:
        leg = outcome.legs["rerank" if wanted == "rerank" else "semantic"]
        said.append(f"{wanted}: {leg.reason or 'nothing that it could work on'}")
    return said


def _item(hit: Hit, ran: str, weight: float) -> KnowledgeItem:
    similarity, text = hit.candidate.semantic_score or 0.0, hit.candidate.keyword_score or 0.0
    combined = {"vector": similarity, "text": text}.get(ran, weight * similarity + (1 - weight) * text)
    reranked = hit.candidate.rerank_score if ran == "rerank" else None
    document, chunk = hit.document.document, hit.chunk.chunk
    return KnowledgeItem(
        id=passage_id(document.file_path, chunk),
        content=chunk.text,
        metadata={
            "source_id": document.product,
            "document_id": document.file_path,
            "document_type": document.doc_type,
            "file_type": document.file_type,
            "component": document.component,
            "title": document.title,
            "heading_path": list(chunk.heading_path),
            "chunk_index": chunk.ordinal,
            "page": chunk.page,
            "line_start": chunk.line_start,
            "line_end": chunk.line_end,
            "tags": list(document.tags),
            "language": document.language,
            "last_modified": document.last_modified,
            "uri": addresses.passage_uri(document, chunk),
        },
        similarity=similarity,
        text_rank=text,
        combined_score=combined if reranked is None else reranked,
        rerank_score=reranked,
        original_combined_score=None if reranked is None else combined,
        match_type="both" if similarity and text else "vector" if similarity else "text",
    )
