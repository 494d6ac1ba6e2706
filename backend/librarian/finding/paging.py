"""From all candidates to one page of hits: equal passages joined, documents kept from crowding, pages cut."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from librarian.vocabulary.protocols import CatalogReader, Columns
from librarian.vocabulary.types import Candidate, Chunk, Hit, Snippet

from .fusion import score
from .order import ids_of

BATCH = 128  #: candidates whose text is fetched at once


@dataclass(frozen=True, slots=True)
class Kept:
    """A candidate that may be shown, by its place among all, with the document ids that hold the same text."""

    place: int
    also_doc_ids: tuple[int, ...] = ()


def keep(
    candidates: Sequence[Candidate], reader: CatalogReader, columns: Columns, *, limit: int, per_group: int
) -> list[Kept]:
    """The first `limit` candidates in order: known to the catalog, one per text, `per_group` per document or thread.

    Passages of equal text are one hit, shown where the newest version of equal rank stands. `per_group` 0 means no
    limit.
    """
    chunk_ids = ids_of(candidates)
    groups = columns.group_of(np.array(chunk_ids, dtype=np.int64)).tolist()
    kept: list[Kept] = []
    by_text: dict[str, int] = {}
    in_group: dict[int, int] = {}
    for start in range(0, len(chunk_ids), BATCH):
        batch = chunk_ids[start : start + BATCH]
        texts = reader.texts(batch)
        for place, chunk_id in enumerate(batch, start):
            text = texts.get(chunk_id)
            if text is None:
                continue
            text = text.strip()
            if text in by_text:
                first = by_text[text]
                kept[first] = _joined(kept[first], Kept(place), candidates, reader)
                continue
            group = groups[place]
            if per_group and in_group.get(group, 0) >= per_group:
                continue
            if len(kept) == limit:
                return kept
            in_group[group] = in_group.get(group, 0) + 1
            by_text[text] = len(kept)
            kept.append(Kept(place))
    return kept


def _joined(first: Kept, other: Kept, candidates: Sequence[Candidate], reader: CatalogReader) -> Kept:
    """Two hits of equal text as one; the better one is shown, on ties the newer document's."""
    shown, hidden = first, other
    pair = [candidates[kept.place] for kept in (first, other)]
    doc_ids = [candidate.doc_id for candidate in pair]
    if score(pair[0].why) == score(pair[1].why):
        documents = reader.documents(doc_ids)
        dates = [documents[doc].document.last_modified if doc in documents else "" for doc in doc_ids]
        if dates[1] > dates[0]:
            shown, hidden = other, first
            doc_ids.reverse()
    also = {*shown.also_doc_ids, *hidden.also_doc_ids, doc_ids[1]} - {doc_ids[0]}
    return Kept(shown.place, tuple(sorted(also)))


def hits(
    page: Sequence[Kept],
    candidates: Sequence[Candidate],
    reader: CatalogReader,
    cut: Callable[[Chunk, str], Snippet],
    relevance: Callable[[Candidate], float],
) -> list[Hit]:
    """What is shown of a page: texts, snippets and everywhere that the same text stands."""
    shown = [candidates[kept.place] for kept in page]
    chunk_ids = [candidate.chunk_id for candidate in shown]
    documents = reader.documents([candidate.doc_id for candidate in shown])
    chunks = reader.chunks(chunk_ids)
    others = reader.documents([doc for kept in page for doc in kept.also_doc_ids])
    copies = reader.copies(chunk_ids)
    found = []
    for kept, candidate in zip(page, shown, strict=True):
        document, chunk = documents.get(candidate.doc_id), chunks.get(candidate.chunk_id)
        if document is None or chunk is None:
            continue
        also = {others[doc].document.file_path for doc in kept.also_doc_ids if doc in others}
        also.update(document.also_in, copies.get(candidate.chunk_id, ()))
        snippet = cut(chunk.chunk, document.document.language)
        elsewhere = tuple(sorted(also - {document.document.file_path}))
        found.append(Hit(candidate, chunk, document, snippet, relevance(candidate), elsewhere))
    return found


def packed(costs: Sequence[int], max_tokens: int | None) -> int:
    """How many results fit, best first; at least one, so that a page never stands still.

    >>> packed([100, 120, 90], max_tokens=250), packed([100, 120], None), packed([100], 10)
    (2, 2, 1)
    """
    if max_tokens is None:
        return len(costs)
    used = 0
    for count, cost in enumerate(costs):
        used += cost
        if used > max_tokens:
            return max(count, 1)
    return len(costs)


def tokens(hit: Hit) -> int:
    """What a hit costs a model to read: characters of what is shown of it, over four."""
    document, chunk = hit.document.document, hit.chunk.chunk
    shown = (hit.snippet.text, document.title, document.file_path, *chunk.heading_path)
    return -(-sum(len(part) for part in shown) // 4)
