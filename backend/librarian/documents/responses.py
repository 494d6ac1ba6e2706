"""Search outcomes as response models."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from .. import schemas
from ..errors import NotFound
from ..files.paths import Paths, mtime_of
from ..models import (
    Candidate,
    Document,
    Email,
    Hit,
    MatchType,
    Query,
    RetrieverStatus,
    SearchOutcome,
    StoredDocument,
    passage_id,
)
from . import addresses

AGAIN = 4  #: times that a question is asked anew while its answer holds what is gone


@dataclass(frozen=True, slots=True)
class Checked:
    """An answer of files that are there, or of all where the root isn't."""

    outcome: SearchOutcome
    changed: frozenset[int] = frozenset()  #: ids of the documents that aren't any more as they were read
    root_missing: str = ""  #: why the root isn't there, as far as that mattered


@dataclass(frozen=True, slots=True)
class Files:
    """The files that answers are held against."""

    root: Paths
    notice: Callable[[Sequence[str]], None]  #: called with the paths of what is gone or has changed
    root_missing: Callable[[], str]  #: why the root isn't there; empty where it is


def checked(search: Callable[[Query], SearchOutcome], asked: Query, files: Files) -> Checked:
    """The answer of a library without what is gone: other passages take its place, and the verdict is theirs."""
    deleted: set[str] = set()
    for _ in range(1 + AGAIN):
        outcome = search(
            replace(asked, filters=replace(asked.filters, absent=tuple(sorted(deleted)))) if deleted else asked
        )
        missing: list[Hit] = []
        changed: set[int] = set()
        noticed: list[str] = []
        for hit in outcome.hits:
            document = hit.document.document
            path, same = _found(document, files.root)
            if same is None:
                missing.append(hit)
            elif same:
                continue
            else:
                changed.add(hit.document.doc_id)
            noticed.append(path)
        if missing and (root_missing := files.root_missing()):
            return Checked(outcome, frozenset(changed), root_missing)
        if noticed:
            files.notice(noticed)
        if not missing:
            break
        deleted |= {_highest_deleted(hit.document.document.source, files.root) for hit in missing}
    return Checked(_without(outcome, missing, deleted) if deleted else outcome, frozenset(changed))


def has_changed(stored: StoredDocument, files: Files) -> bool:
    """Whether a document's file isn't any more as it was read. Raises `NotFound` where it is gone, unless the root
    is."""
    document = stored.document
    path, same = _found(document, files.root)
    if same or (same is None and files.root_missing()):
        return False
    files.notice([path])
    if same is None:
        copies = [path for path in stored.also_in if _there(files.root, path)]
        hint = f"The same text is in {copies[0]!r}." if copies else "Search again for where its text may be now."
        raise NotFound(f"{document.source!r} was deleted or moved since it was indexed.", hint=hint)
    return True


def present(mails: Sequence[StoredDocument], files: Files) -> list[StoredDocument]:
    """Mails whose files are there, all where the root isn't."""
    found = {stored.document.source: _found(stored.document, files.root) for stored in mails}
    if any(same is None for _, same in found.values()) and files.root_missing():
        return list(mails)
    if noticed := [path for path, same in found.values() if not same]:
        files.notice(noticed)
    return [stored for stored in mails if found[stored.document.source][1] is not None]


def _found(document: Document, root: Paths) -> tuple[str, bool | None]:
    """The path on disk of a document's file, and whether that is as it was read; None where it is gone."""
    path, seen = root.stat(document.archive or document.file_path)
    same = seen and (seen.st_size, mtime_of(seen)) == (document.size, document.mtime_ns)
    same = same and all(root.state(one.path) == (one.size, one.mtime_ns) for one in document.included)
    return path, None if seen is None else bool(same)


def _there(root: Paths, path: str) -> bool:
    return root.stat(path)[1] is not None


def _highest_deleted(path: str, root: Paths) -> str:
    """The file, or the folder that went with all that it held."""
    while (parent := path.rpartition("/")[0]) and not _there(root, parent):
        path = parent
    return path


def _without(outcome: SearchOutcome, missing: Sequence[Hit], deleted: set[str]) -> SearchOutcome:
    """Without hits that are gone after all, and without paths that are."""
    hits = tuple(
        replace(hit, also_in=tuple(path for path in hit.also_in if path not in deleted))
        for hit in outcome.hits
        if hit not in missing
    )
    answerable = outcome.answerable if hits or not missing else "unknown"
    return replace(outcome, hits=hits, total=outcome.total - len(missing), answerable=answerable, tokens_used=0)


HEADINGS_SHOWN = 12  #: a result's outline is cut here; get_document has all
_OF_DOCUMENT = (
    *("file_path", "file_type", "product", "component", "title", "summary"),
    *("doc_type", "tags", "language", "last_modified"),
)
_OF_EMAIL = ("sender", "to", "cc", "date", "thread_id", "message_id", "subject", "attachments")
_OF_OUTCOME = (
    *("mode", "total", "capped", "next_offset", "answerable", "calibrated", "not_mentioned", "not_mentioned_in"),
    *("cache", "tokens_used", "generation", "degraded", "suggestions", "weak_hidden"),
)
RETRIEVERS = ("keyword", "semantic", "rerank", "hyde")


def match_type(candidate: Candidate) -> MatchType:
    """Which retrievers found it; what filters alone have found, ordered by date, was found without meaning."""
    by_words, by_vectors = candidate.keyword_score is not None, candidate.semantic_score is not None
    if by_words and by_vectors:
        return "both"
    by_filters = bool(candidate.why) and all(reason.source == "date" for reason in candidate.why)
    return "keyword" if by_words or by_filters else "semantic"


def _rounded(score: float | None) -> float | None:
    return None if score is None else round(score, 4)


def result(
    hit: Hit, rank: int, *, stale: bool, context: Mapping[str, object] | None, mail: bool = False, explain: bool = False
) -> schemas.Result:
    """A document that answers, or a passage of one; an `EmailResult` if it is a `mail`."""
    document, chunk, candidate, snippet = hit.document.document, hit.chunk.chunk, hit.candidate, hit.snippet
    lines = snippet if hit.packed else chunk
    headings = hit.heading_path or chunk.heading_path
    by_date = [reason.source for reason in candidate.why] == ["date"]  # filters alone have found it: it has no score
    fields: dict[str, Any] = {
        **{name: getattr(document, name) for name in _OF_DOCUMENT},
        "rank": rank,
        "id": passage_id(document.file_path, chunk),
        "file_name": document.file_path.rsplit("/", 1)[-1],
        "heading_path": headings,
        "page": chunk.page,
        "line_start": lines.line_start,
        "line_end": lines.line_end,
        "snippet": snippet.text,
        "tokens": hit.tokens,
        "section_lines": hit.section,
        "more": hit.further,
        "uri": addresses.passage_uri(document, headings, lines.line_start),
        "relevance_score": None if by_date else round(hit.relevance, 4),
        "match_type": match_type(candidate),
        "stale": stale,
        "also_in": hit.also_in,
        "parent_context": context,
    }
    if explain:
        fields |= {
            "headings": [heading.text for heading in document.headings[:HEADINGS_SHOWN]],
            "keyword_score": _rounded(candidate.keyword_score),
            "semantic_score": _rounded(candidate.semantic_score),
            "rerank_score": _rounded(candidate.rerank_score),
            "highlights": snippet.highlights,
            "why": [replace(one, raw=_rounded(one.raw), points=round(one.points, 4)) for one in candidate.why],
        }
    if not mail:
        return schemas.Result.model_validate(fields)
    email = document.email or Email(subject=document.title, sender="")
    return schemas.EmailResult.model_validate(fields | {name: getattr(email, name) for name in _OF_EMAIL})


class Same:
    """Hits, compared by identity: a kept answer's are the same tuple each time that it is given."""

    __slots__ = ("hits",)

    def __init__(self, hits: tuple[Hit, ...]) -> None:
        self.hits = hits

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Same) and self.hits is other.hits

    def __hash__(self) -> int:
        return id(self.hits)


@lru_cache(64)  # results are immutable, and to make them takes the better part of a repeated question
def results(shown: Same, first_rank: int, mail: bool, explain: bool) -> tuple[schemas.Result, ...]:
    """Hits of files that are as they were read, without what stands around them."""
    return tuple(
        result(hit, rank, stale=False, context=None, mail=mail, explain=explain)
        for rank, hit in enumerate(shown.hits, first_rank)
    )


def envelope(outcome: SearchOutcome, requested_mode: str, *, explain: bool = False) -> dict[str, Any]:
    """All of a search answer but its results, to be validated `from_attributes`."""
    retrievers = {name: outcome.retrievers.get(name, RetrieverStatus("off")) for name in RETRIEVERS}
    return {
        **{name: getattr(outcome, name) for name in _OF_OUTCOME},
        "query": outcome.query.text,
        "requested_mode": requested_mode,
        "semantic_weight": outcome.query.semantic_weight,
        "retrievers": {name: replace(one, ms=round(one.ms, 1)) for name, one in retrievers.items()},
        "coverage": outcome.count,
        "rewritten": outcome.rewritten or None,
        "took_ms": round(outcome.took_ms, 2),
        "routing": outcome.routing if outcome.routing and explain else None,
    }
