"""From all candidates to one page of hits: equal passages joined, documents kept from crowding, pages cut."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from librarian.vocabulary.protocols import CatalogReader, Columns
from librarian.vocabulary.types import Candidate, Hit

from .fusion import score

BATCH = 128  #: candidates whose text is fetched at once


@dataclass(frozen=True, slots=True)
class Kept:
    """A candidate that may be shown, with the document ids that hold the same text."""

    candidate: Candidate
    also_doc_ids: tuple[int, ...] = ()


def keep(
    candidates: Sequence[Candidate], reader: CatalogReader, columns: Columns, *, limit: int, per_group: int
) -> list[Kept]:
    """The first `limit` candidates in order: known to the catalog, one per text, `per_group` per document or thread.

    Passages of equal text are one hit, shown where the newest version of equal rank stands. `per_group` 0 means no
    limit.
    """
    kept: list[Kept] = []
    by_text: dict[str, int] = {}
    in_group: dict[int, int] = {}
    for start in range(0, len(candidates), BATCH):
        batch = candidates[start : start + BATCH]
        texts = reader.texts([candidate.chunk_id for candidate in batch])
        groups = _groups(batch, columns)
        for candidate in batch:
            text = texts.get(candidate.chunk_id)
            if text is None:
                continue
            text = text.strip()
            if text in by_text:
                place = by_text[text]
                kept[place] = _joined(kept[place], Kept(candidate), reader)
                continue
            group = groups[candidate.chunk_id]
            if per_group and in_group.get(group, 0) >= per_group:
                continue
            if len(kept) == limit:
                return kept
            in_group[group] = in_group.get(group, 0) + 1
            by_text[text] = len(kept)
            kept.append(Kept(candidate))
    return kept


def _groups(batch: Sequence[Candidate], columns: Columns) -> Mapping[int, int]:
    ids = np.array([candidate.chunk_id for candidate in batch], dtype=np.int64)
    return dict(zip(ids.tolist(), columns.group_of(ids).tolist(), strict=True))


def _joined(first: Kept, other: Kept, reader: CatalogReader) -> Kept:
    """Two hits of equal text as one; the better one is shown, on ties the newer document's."""
    shown, hidden = first, other
    if score(first.candidate.why) == score(other.candidate.why):
        documents = reader.documents([first.candidate.doc_id, other.candidate.doc_id])
        dates = [
            documents[kept.candidate.doc_id].document.last_modified if kept.candidate.doc_id in documents else ""
            for kept in (first, other)
        ]
        if dates[1] > dates[0]:
            shown, hidden = other, first
    also = {*first.also_doc_ids, *other.also_doc_ids, hidden.candidate.doc_id} - {shown.candidate.doc_id}
    return Kept(shown.candidate, tuple(sorted(also)))


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
