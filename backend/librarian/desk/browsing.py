"""Mails by filter alone: an empty question means newest first."""

from __future__ import annotations

import time

from ..vocabulary.protocols import Catalog
from ..vocabulary.types import Candidate, Contribution, Hit, LegReport, Query, SearchOutcome, Snippet

SNIPPET = 400  #: characters of a mail's beginning that are shown


def newest_first(catalog: Catalog, query: Query) -> SearchOutcome:
    """The documents that pass the query's filters, latest date first, at most `max_per_document` per thread."""
    began = time.perf_counter()
    with catalog.read() as reader:
        found = sorted(
            reader.iter_documents(query.filters),
            key=lambda stored: (stored.document.last_modified, stored.doc_id),
            reverse=True,
        )
        per_thread: dict[str, int] = {}
        kept = []
        for stored in found:
            email = stored.document.email
            group = (email.thread_id if email else "") or stored.document.file_path
            per_thread[group] = per_thread.get(group, 0) + 1
            if not query.max_per_document or per_thread[group] <= query.max_per_document:
                kept.append(stored)
        page = kept[query.offset : query.offset + query.max_results]
        hits = []
        for place, stored in enumerate(page, query.offset + 1):
            chunks = reader.chunks_of(stored.doc_id)
            if not chunks:
                continue
            chunk = chunks[0]
            text = chunk.chunk.text if len(chunk.chunk.text) <= SNIPPET else chunk.chunk.text[:SNIPPET].rstrip() + " …"
            why = (Contribution("date", place, None, 1.0 / place),)
            hits.append(
                Hit(
                    candidate=Candidate(chunk.chunk_id, stored.doc_id, why),
                    chunk=chunk,
                    document=stored,
                    snippet=Snippet(text, chunk.chunk.line_start, chunk.chunk.line_end),
                    relevance=0.0,
                )
            )
        generation = reader.generation
    reason = "no words to search for: filters alone, newest first"
    end = query.offset + query.max_results
    return SearchOutcome(
        query=query,
        mode="keyword",
        hits=tuple(hits),
        total=len(kept),
        next_offset=end if end < len(kept) else None,
        legs={"keyword": LegReport("skipped", reason), "semantic": LegReport("skipped", reason)},
        generation=generation,
        took_ms=(time.perf_counter() - began) * 1000,
        suggestions=()
        if kept
        else ({"kind": "filter", "value": "", "text": "No mail passes these filters; drop one of them."},),
    )
