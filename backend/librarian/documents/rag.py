"""`search_knowledge_base`: vector search, hybrid search and reranking; each falls back to the one below it.

Vector search returns passages by cosine. Hybrid search adds keyword retrieval, `w · similarity + (1 − w) · text_rank`.
Reranking scores five times the wanted results with a cross-encoder.
"""

from __future__ import annotations

from typing import Final, Literal, get_args

from ..errors import CallerError, one_of, shortened
from ..models import Filters, Hit, Mode, Query, SearchOutcome, passage_id
from ..schemas import DocType, KnowledgeItem, KnowledgeRequest, KnowledgeResponse, SearchType
from ..search.suggestions import NO_CROSS_ENCODER
from ..settings import Settings
from . import addresses
from .queries import limited

_MODES: Final[dict[SearchType, Mode]] = {"vector": "semantic", "hybrid": "hybrid", "rerank": "rerank"}
_BY_DEFAULT: Final[dict[Mode, SearchType]] = {"semantic": "vector", "rerank": "rerank"}
_DOC_TYPES: Final = get_args(DocType)
#: What document types are called elsewhere; other names are doc_types, and what begins with a dot is a file type.
_FORMATS: Final = {"markdown": ".md", "word": ".docx", "text": ".txt"}
_FORMAT_NAMES: Final = ("md", "pdf", "html", "htm", "txt", "docx", "pptx", "xlsx", "csv", "ipynb", "rtf", "epub", "eml")


def search_type(request: KnowledgeRequest, settings: Settings) -> SearchType:
    """The strategy that is asked for, else the one of the settings."""
    return request.search_type or _BY_DEFAULT.get(settings.search.mode, "hybrid")


def semantic_weight(settings: Settings) -> float:
    """The vectors' share in a hybrid score: 0.7 in RAG services, where no weight is given."""
    weight = settings.provenance("embeddings.semantic_weight")
    return 0.7 if weight.source == "default" else settings.embeddings.semantic_weight


def knowledge_query(
    request: KnowledgeRequest, settings: Settings, product: str | None, file_paths: tuple[str, ...]
) -> Query:
    """The query of `search_knowledge_base`: passages of documents and mails, all of them as they rank."""
    wanted, search = search_type(request, settings), settings.search
    file_types, doc_type = _type_filter(request.document_type)
    return Query(
        text=request.query,
        filters=Filters(product=product, file_types=file_types, doc_type=doc_type, file_paths=file_paths),
        mode=_MODES[wanted],
        max_results=limited("match_count", request.match_count, search.default_results, search.max_results),
        max_per_document=0,
        semantic_weight=semantic_weight(settings) if wanted == "hybrid" else None,
        packed=False,
        counted=True,
        include_weak=True,
        max_tokens=None,
    )


def response(outcome: SearchOutcome, wanted: SearchType, weight: float) -> KnowledgeResponse:
    """The passages with the scores of each retriever; `weight` is the vectors' share in a hybrid score."""
    ran = _ran(outcome, wanted)
    results = [_item(hit, ran, weight) for hit in outcome.hits]
    if ran == "hybrid" and wanted == "rerank":
        results.sort(key=lambda item: -item.combined_score)
    return KnowledgeResponse(
        results=results,
        total_found=outcome.total,
        capped=outcome.capped,
        search_mode=ran,
        degraded=_degraded(outcome, wanted, ran),
    )


def _type_filter(document_type: str | None) -> tuple[tuple[str, ...], str | None]:
    """File types and doc_type that a document type stands for."""
    name = (document_type or "").lower()
    if name.startswith(".") or name in _FORMATS or name in _FORMAT_NAMES:
        return (_FORMATS.get(name, f".{name.lstrip('.')}"),), None
    if name and name not in _DOC_TYPES:
        known = (*_DOC_TYPES, *_FORMATS, *_FORMAT_NAMES)
        hint = one_of(known, name, ", or an extension such as .rst")
        raise CallerError(f"document_type {shortened(document_type)} is unknown.", hint=hint)
    return (), name or None


def _ran(outcome: SearchOutcome, wanted: SearchType) -> Literal["hybrid", "vector", "rerank", "text"]:
    """The strategy that made this answer."""
    retrievers = outcome.retrievers
    if retrievers["semantic"].status != "ok":
        return "text"
    if wanted == "rerank" and outcome.mode == "rerank" and retrievers["rerank"].status == "ok":
        return "rerank"
    return "vector" if outcome.mode == "semantic" or retrievers["keyword"].status != "ok" else "hybrid"


def _degraded(outcome: SearchOutcome, wanted: SearchType, ran: str) -> list[str]:
    """Why another strategy ran than the one asked for, besides what the engine says anyway."""
    reasons = list(outcome.degraded)
    if outcome.retrievers["rerank"].reason.startswith(NO_CROSS_ENCODER):
        reasons.append(f"rerank: {outcome.retrievers['rerank'].reason}")
    elif ran != wanted and not reasons:
        retriever = outcome.retrievers["rerank" if wanted == "rerank" else "semantic"]
        reasons.append(f"{wanted}: {retriever.reason or 'nothing that it could work on'}")
    return reasons


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
            "uri": addresses.passage_uri(document, chunk.heading_path, chunk.line_start),
        },
        similarity=similarity,
        text_rank=text,
        combined_score=combined if reranked is None else reranked,
        rerank_score=reranked,
        original_combined_score=None if reranked is None else combined,
        match_type="both" if similarity and text else "vector" if similarity else "text",
    )
