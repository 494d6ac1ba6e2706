"""Looking around without a question: mails by filter alone, and what there is to filter by."""

from __future__ import annotations

import time
from collections.abc import Mapping

from .. import schemas
from ..errors import CallerError, shortened
from ..models import Candidate, Hit, Query, RetrieverStatus, ScorePart, SearchOutcome, Snippet
from ..storage.base import Catalog

SNIPPET = 400  #: characters of a mail's beginning that are shown
TAGS = 200  #: most tags that are offered

_NONE = {"value": "", "text": "No mail passes these filters; drop one of them."}
_BEYOND = {"value": "offset", "text": "Start again at offset 0: this page lies beyond the last mail."}


def list_recent_emails(catalog: Catalog, query: Query) -> SearchOutcome:
    """The documents that pass the query's filters, latest date first, at most `max_per_document` per thread."""
    began = time.perf_counter()
    with catalog.read() as reader:
        matching = catalog.columns().newest(query.filters, query.max_per_document).tolist()
        page = matching[query.offset : query.offset + query.max_results]
        found = reader.documents(page)
        hits = []
        for place, doc_id in enumerate(page, query.offset + 1):
            stored, chunks = found.get(doc_id), reader.chunks_of(doc_id)
            if stored is None or not chunks:  # dropped since the columns were loaded
                continue
            chunk = chunks[0]
            text = chunk.chunk.text if len(chunk.chunk.text) <= SNIPPET else chunk.chunk.text[:SNIPPET].rstrip() + " …"
            why = (ScorePart("date", place, None, 1.0 / place),)
            hits.append(
                Hit(
                    candidate=Candidate(chunk.chunk_id, stored.doc_id, why),
                    chunk=chunk,
                    document=stored,
                    snippet=Snippet(text, chunk.chunk.line_start, chunk.chunk.line_end),
                    relevance=0.0,
                    also_in=stored.also_in,
                    tokens=-(-len(chunk.chunk.text) // 4),
                )
            )
        generation = reader.generation
    reason = "no words to search for: filters alone, newest first"
    end = query.offset + len(page)
    return SearchOutcome(
        query=query,
        mode="keyword",
        hits=tuple(hits),
        total=len(matching),
        next_offset=end if page and end < len(matching) else None,
        retrievers={"keyword": RetrieverStatus("skipped", reason), "semantic": RetrieverStatus("skipped", reason)},
        generation=generation,
        took_ms=(time.perf_counter() - began) * 1000,
        suggestions=() if hits else ({"kind": "filter", **(_BEYOND if matching else _NONE)},),
    )


def facets(catalog: Catalog, type_: str) -> schemas.FacetsResponse:
    """What the filters of a search among `documents` or `emails` may choose from."""
    if type_ not in ("documents", "emails"):
        raise CallerError(f"type {shortened(type_)} is unknown.", hint="Use documents or emails.")
    columns = catalog.columns()
    found = columns.tally("document" if type_ == "documents" else "email")
    return schemas.FacetsResponse(
        type="documents" if type_ == "documents" else "emails",
        total=found.documents,
        products=[
            schemas.ProductFacet(name=name, count=sum(inside.values()), components=_items(inside))
            for name, inside in found.products.items()
        ],
        file_types=_items(found.file_types),
        doc_types=_items(found.doc_types),
        languages=_items(found.languages),
        tags=_items(found.tags)[:TAGS],
        oldest=found.oldest,
        newest=found.newest,
        generation=columns.generation,
    )


def _items(counts: Mapping[str, int]) -> list[schemas.FacetItem]:
    return [schemas.FacetItem(name=name, count=count) for name, count in counts.items()]
