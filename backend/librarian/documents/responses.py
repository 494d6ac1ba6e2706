"""Search outcomes as response models."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any

from .. import schemas
from ..models import Candidate, Count, Email, Hit, MatchType, RetrieverStatus, SearchOutcome, passage_id
from . import addresses

HEADINGS_SHOWN = 12  #: a result's outline is cut here; get_document has all
RETRIEVERS = ("keyword", "semantic", "rerank", "hyde")


def headers(email: Email) -> schemas.MailHeaders:
    """What stands above a mail that is read as a document."""
    return schemas.MailHeaders.model_validate(_mail_fields(email))


def _mail_fields(email: Email) -> dict[str, Any]:
    return {
        "sender": email.sender,
        "to": list(email.to),
        "cc": list(email.cc),
        "date": email.date,
        "thread_id": email.thread_id,
        "message_id": email.message_id,
    }


def match_type(candidate: Candidate) -> MatchType:
    """Which retrievers found it; what filters alone have found, ordered by date, was found without meaning."""
    by_words, by_meaning = candidate.keyword_score is not None, candidate.semantic_score is not None
    if by_words and by_meaning:
        return "both"
    by_filters = all(reason.source == "date" for reason in candidate.why)
    return "keyword" if by_words or by_filters else "semantic"


def _result_fields(
    hit: Hit, rank: int, *, stale: bool, context: Mapping[str, object] | None, explain: bool
) -> dict[str, Any]:
    document, chunk = hit.document.document, hit.chunk.chunk
    shown = replace(chunk, line_start=hit.snippet.line_start, heading_path=hit.heading_path or chunk.heading_path)
    return {
        "rank": rank,
        "id": passage_id(document.file_path, chunk),
        "file_path": document.file_path,
        "file_name": document.file_path.rsplit("/", 1)[-1],
        "file_type": document.file_type,
        "product": document.product,
        "component": document.component,
        "title": document.title,
        "heading_path": list(shown.heading_path),
        "summary": document.summary,
        "page": chunk.page,
        "line_start": hit.snippet.line_start if hit.packed else chunk.line_start,
        "line_end": hit.snippet.line_end if hit.packed else chunk.line_end,
        "snippet": hit.snippet.text,
        "tokens": hit.tokens,
        "section_lines": hit.section,
        "more": hit.further,
        "uri": addresses.passage_uri(document, shown if hit.packed else chunk),
        "relevance_score": None if by_date(hit) else round(hit.relevance, 4),
        "match_type": match_type(hit.candidate),
        "doc_type": document.doc_type,
        "tags": list(document.tags),
        "language": document.language,
        "last_modified": document.last_modified,
        "stale": stale,
        "also_in": list(hit.also_in),
        "parent_context": schemas.ParentContext.model_validate(context) if context is not None else None,
        **(_reasons(hit) if explain else {}),
    }


def _reasons(hit: Hit) -> dict[str, Any]:
    """Why a hit stands where it does, and what else is for those who look into that."""
    candidate, document = hit.candidate, hit.document.document
    return {
        "headings": [heading.text for heading in document.headings[:HEADINGS_SHOWN]],
        "keyword_score": _rounded(candidate.keyword_score),
        "semantic_score": _rounded(candidate.semantic_score),
        "rerank_score": _rounded(candidate.rerank_score),
        "highlights": list(hit.snippet.highlights),
        "why": [
            schemas.WhyItem(source=one.source, rank=one.rank, raw=_rounded(one.raw), points=round(one.points, 4))
            for one in candidate.why
        ],
    }


def _rounded(score: float | None) -> float | None:
    return None if score is None else round(score, 4)


def by_date(hit: Hit) -> bool:
    """Whether the hit was found by filters alone, so that it has no score."""
    return [reason.source for reason in hit.candidate.why] == ["date"]


def result(
    hit: Hit, rank: int, *, stale: bool, context: Mapping[str, object] | None, explain: bool = False
) -> schemas.Result:
    """A document that answers, or a passage of one."""
    return schemas.Result.model_validate(_result_fields(hit, rank, stale=stale, context=context, explain=explain))


def email_result(
    hit: Hit, rank: int, *, stale: bool, context: Mapping[str, object] | None, explain: bool = False
) -> schemas.EmailResult:
    """A passage of a mail, with its headers."""
    email = hit.document.document.email or Email(subject=hit.document.document.title, sender="")
    return schemas.EmailResult.model_validate(
        {
            **_result_fields(hit, rank, stale=stale, context=context, explain=explain),
            **_mail_fields(email),
            "subject": email.subject,
            "attachments": email.attachments,
        }
    )


class Same:
    """Hits, told from others by identity: a kept answer's are the same tuple each time that it is given."""

    __slots__ = ("hits",)

    def __init__(self, hits: tuple[Hit, ...]) -> None:
        self.hits = hits

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Same) and self.hits is other.hits

    def __hash__(self) -> int:
        return id(self.hits)


#: What makes results of hits, by whether they say why; the same objects each time, by which results are remembered.
DOCUMENTS: Mapping[bool, Callable[..., schemas.Result]] = {False: result, True: partial(result, explain=True)}
MAILS: Mapping[bool, Callable[..., schemas.EmailResult]] = {
    False: email_result,
    True: partial(email_result, explain=True),
}


@lru_cache(64)  # results are immutable, and to make them takes the better part of a repeated question
def results(shown: Same, first_rank: int, build: Callable[..., schemas.Result]) -> tuple[schemas.Result, ...]:
    """Hits of files that are as they were read, without what stands around them."""
    return tuple(build(hit, rank, stale=False, context=None) for rank, hit in enumerate(shown.hits, first_rank))


def envelope(outcome: SearchOutcome, count: Count, requested_mode: str, *, explain: bool = False) -> dict[str, Any]:
    """All of a search answer but its results."""
    retrievers = {name: outcome.retrievers.get(name, RetrieverStatus("off")) for name in RETRIEVERS}
    return {
        "query": outcome.query.text,
        "mode": outcome.mode,
        "requested_mode": requested_mode,
        "semantic_weight": outcome.query.semantic_weight,
        "total": outcome.total,
        "capped": outcome.capped,
        "next_offset": outcome.next_offset,
        "answerable": outcome.answerable,
        "calibrated": outcome.calibrated,
        "not_mentioned": list(outcome.not_mentioned),
        "not_mentioned_in": outcome.not_mentioned_in,
        "retrievers": schemas.Retrievers(
            **{
                name: schemas.RetrieverStatus(
                    status=retriever.status, reason=retriever.reason, ms=round(retriever.ms, 1)
                )
                for name, retriever in retrievers.items()
            }
        ),
        "coverage": schemas.Coverage(
            documents=count.documents, chunks=count.chunks, embedded_chunks=count.embedded_chunks
        ),
        "cache": outcome.cache,
        "rewritten": schemas.ExpandedQuery.model_validate(outcome.rewritten) if outcome.rewritten else None,
        "took_ms": round(outcome.took_ms, 2),
        "tokens_used": outcome.tokens_used,
        "generation": outcome.generation,
        "degraded": list(outcome.degraded),
        "routing": schemas.Routing.model_validate(outcome.routing) if outcome.routing and explain else None,
        "suggestions": [schemas.Suggestion.model_validate(item) for item in outcome.suggestions],
        "weak_hidden": outcome.weak_hidden,
    }
