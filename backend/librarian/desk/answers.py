"""From what the rooms know to what the doors show: outcomes as wire models."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from ..vocabulary import wire
from ..vocabulary.addresses import passage_id
from ..vocabulary.types import Candidate, Count, Email, Hit, LegReport, MatchType, SearchOutcome
from . import addresses

HEADINGS_SHOWN = 12  #: a result's outline is cut here; get_document has all
LEGS = ("keyword", "semantic", "rerank", "hyde")


def attachments(email: Email) -> list[wire.AttachmentItem]:
    """A mail's attachments as the outside sees them."""
    return [
        wire.AttachmentItem(filename=item.filename, content_type=item.content_type, size=item.size)
        for item in email.attachments
    ]


def headers(email: Email) -> wire.MailHeaders:
    """What stands above a mail that is read as a document."""
    return wire.MailHeaders.model_validate(_mail_fields(email))


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
    """Which legs found it; what filters alone have found, ordered by date, was found without meaning."""
    by_words, by_meaning = candidate.keyword_score is not None, candidate.semantic_score is not None
    if by_words and by_meaning:
        return "both"
    by_filters = all(reason.source == "date" for reason in candidate.why)
    return "keyword" if by_words or by_filters else "semantic"


def _result_fields(hit: Hit, rank: int, *, stale: bool, context: Mapping[str, object] | None) -> dict[str, Any]:
    document, chunk, candidate = hit.document.document, hit.chunk.chunk, hit.candidate
    return {
        "rank": rank,
        "id": passage_id(document.file_path, chunk),
        "file_path": document.file_path,
        "file_name": document.file_path.rsplit("/", 1)[-1],
        "file_type": document.file_type,
        "product": document.product,
        "component": document.component,
        "title": document.title,
        "heading_path": list(chunk.heading_path),
        "headings": [heading.text for heading in document.headings[:HEADINGS_SHOWN]],
        "summary": document.summary,
        "page": chunk.page,
        "line_start": chunk.line_start,
        "line_end": chunk.line_end,
        "snippet": hit.snippet.text,
        "uri": addresses.passage_uri(document, chunk),
        "relevance_score": round(hit.relevance, 6),
        "keyword_score": candidate.keyword_score,
        "semantic_score": candidate.semantic_score,
        "rerank_score": candidate.rerank_score,
        "match_type": match_type(candidate),
        "doc_type": document.doc_type,
        "tags": list(document.tags),
        "language": document.language,
        "last_modified": document.last_modified,
        "stale": stale,
        "highlights": list(hit.snippet.highlights),
        "also_in": list(hit.also_in),
        "why": list(candidate.why),
        "parent_context": wire.ParentContext.model_validate(context) if context is not None else None,
    }


def result(hit: Hit, rank: int, *, stale: bool, context: Mapping[str, object] | None) -> wire.Result:
    """A passage of a document."""
    return wire.Result.model_validate(_result_fields(hit, rank, stale=stale, context=context))


def email_result(hit: Hit, rank: int, *, stale: bool, context: Mapping[str, object] | None) -> wire.EmailResult:
    """A passage of a mail, with its headers."""
    email = hit.document.document.email or Email(subject=hit.document.document.title, sender="")
    return wire.EmailResult.model_validate(
        {
            **_result_fields(hit, rank, stale=stale, context=context),
            **_mail_fields(email),
            "subject": email.subject,
            "attachments": attachments(email),
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


@lru_cache(64)  # results are immutable, and to make them takes the better part of a repeated question
def results(shown: Same, first_rank: int, build: Callable[..., wire.Result]) -> tuple[wire.Result, ...]:
    """Hits of files that are as they were read, without what stands around them."""
    return tuple(build(hit, rank, stale=False, context=None) for rank, hit in enumerate(shown.hits, first_rank))


def envelope(outcome: SearchOutcome, count: Count, requested_mode: str) -> dict[str, Any]:
    """All of a search answer but its results."""
    legs = {name: outcome.legs.get(name, LegReport("off", "not part of this mode")) for name in LEGS}
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
        "legs": wire.Legs(
            **{name: wire.Leg(status=leg.status, reason=leg.reason, ms=round(leg.ms, 3)) for name, leg in legs.items()}
        ),
        "coverage": wire.Coverage(
            documents=count.documents, chunks=count.chunks, embedded_chunks=count.embedded_chunks
        ),
        "cache": outcome.cache,
        "rewritten": wire.Rewritten.model_validate(outcome.rewritten) if outcome.rewritten else None,
        "took_ms": round(outcome.took_ms, 3),
        "tokens_used": outcome.tokens_used,
        "generation": outcome.generation,
        "degraded": list(outcome.degraded),
        "routing": wire.Routing.model_validate(outcome.routing) if outcome.routing else None,
        "suggestions": [wire.Suggestion.model_validate(item) for item in outcome.suggestions],
    }
