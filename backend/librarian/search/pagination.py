"""From all candidates to one page of hits: equal passages joined, documents kept from crowding, pages cut."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np

from ..models import Candidate, Chunk, Hit, Ids, Query, SearchOutcome, Snippet, StoredDocument
from ..schemas import DEFAULT_TOKENS
from ..storage.base import CatalogReader, Columns
from .lazy_ranking import ids_of, sums_of
from .packing import CHARACTERS, size_of, tokens_in

#: Measured over answers as text: the tokens around the results, and the characters of a result that are there whatever
#: it is (rank, score and lines; of a section that is shown in part, its lines; of a mail also the labels of its
#: headers; of a context, at most).
AROUND, FIXED, PARTLY, MAIL, CONTEXT = 25, 34, 32, 40, 500
LISTED = 100  #: characters that are shown of a list
CRUMBS = 140  #: and of a title with its headings
LABEL = 20  #: and of what each line below the results begins with


class PageEntry(NamedTuple):
    """A candidate that may be shown, by its place among all, with the ids of further documents that hold its text."""

    place: int
    doc_ids: Sequence[int] = ()  #: where there are further ones; its own is among them


def keep(
    candidates: Sequence[Candidate], columns: Columns, *, limit: int, per_group: int
) -> tuple[list[PageEntry], bool]:
    """The first `limit` candidates in order: known to the catalog, one per text, `per_group` per document or thread;
    and whether there are more of them.

    Passages of equal text are one hit, shown where the newest version of equal rank stands. A text whose document or
    thread has all it may have is left out, and doesn't come back from another version. `per_group` 0 means no limit.
    """
    ids = np.array(ids_of(candidates), dtype=np.int64)
    doc_ids = columns.doc_of(ids)
    texts = np.where(doc_ids == 0, 0, columns.text_of(ids))
    known, first, counts = np.unique(texts, return_index=True, return_counts=True)
    firsts = np.sort(first[known != 0])
    places = firsts.copy()
    holding: dict[int, Sequence[int]] = {}
    if several := known[(known != 0) & (counts > 1)].tolist():
        sums, modified = sums_of(candidates), columns.modified_of(ids)
        for text in several:
            alike = np.flatnonzero(texts == text).tolist()
            newest = alike[0]
            for at in alike[1:]:
                if modified[at] > modified[newest] and sums[at] == sums[newest]:
                    newest = at
            places[np.searchsorted(firsts, alike[0])] = newest
            holding[newest] = doc_ids[alike].tolist()
    if per_group > 0:
        places = places[_before(columns.group_of(ids)[places]) < per_group]
    return [PageEntry(place, holding.get(place, ())) for place in places[:limit].tolist()], len(places) > limit


def _before(groups: Ids) -> Ids:
    """How many of the same group stand before each."""
    order = np.argsort(groups, kind="stable")
    ordered = groups[order]
    begins = np.flatnonzero(np.diff(ordered, prepend=ordered[:1] - 1))
    before = np.empty_like(order)
    before[order] = np.arange(len(order)) - np.repeat(begins, np.diff(begins, append=len(order)))
    return before


def hits(
    page: Sequence[PageEntry],
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
    found = []
    for candidate, elsewhere in zip(shown, also_in(page, shown, documents, reader), strict=True):
        document, chunk = documents.get(candidate.doc_id), chunks.get(candidate.chunk_id)
        if document is None or chunk is None:
            continue
        snippet = cut(chunk.chunk, document.document.language)
        cost = tokens_in(len(chunk.chunk.text))
        found.append(Hit(candidate, chunk, document, snippet, relevance(candidate), elsewhere, tokens=cost))
    return found


def grouped(
    kept: Sequence[PageEntry], candidates: Sequence[Candidate], columns: Columns, query: Query
) -> list[list[PageEntry]]:
    """Candidates by document, each in order, the documents by their best; one by one where the question's hits are
    passages or mails."""
    if not query.packed or query.filters.kind == "email":
        return [[one] for one in kept]
    ids = ids_of(candidates)
    documents = columns.doc_of(np.array([ids[one.place] for one in kept], dtype=np.int64)).tolist()
    groups: dict[int, list[PageEntry]] = {}
    for one, document in zip(kept, documents, strict=True):
        groups.setdefault(document, []).append(one)
    return list(groups.values())


def unseen(chunk: Chunk, _: str) -> Snippet:
    """In place of a passage's snippet, where another one takes its place."""
    return Snippet("", chunk.line_start, chunk.line_end)


def room(outcome: SearchOutcome) -> int:
    """Characters of the answer as text that the results may take."""
    around = AROUND + below(outcome)
    return CHARACTERS * max(0, (outcome.query.max_tokens or DEFAULT_TOKENS) - around)


def heads(query: Query) -> Callable[[Hit], int]:
    """What each hit of an answer takes besides its own text, in characters."""
    return partial(head, with_context=query.include_parent_context)


def also_in(
    page: Sequence[PageEntry],
    shown: Sequence[Candidate],
    documents: Mapping[int, StoredDocument],
    reader: CatalogReader,
) -> list[tuple[str, ...]]:
    """The further paths at which the text of each hit stands; `shown` and `documents` are what the page shows."""
    others = reader.documents([doc for kept in page for doc in kept.doc_ids])
    copies = reader.copies([candidate.chunk_id for candidate in shown])
    found = []
    for kept, candidate in zip(page, shown, strict=True):
        paths = {others[doc].document.file_path for doc in kept.doc_ids if doc in others}
        paths.update(copies.get(candidate.chunk_id, ()))
        if document := documents.get(candidate.doc_id):
            paths.update(document.also_in)
            paths.discard(document.document.file_path)
        found.append(tuple(sorted(paths)))
    return found


def fitted(outcome: SearchOutcome) -> SearchOutcome:
    """With as many of its hits as its question's `max_tokens` allows, and with `tokens_used` of the answer as text."""
    query = outcome.query
    around = AROUND + below(outcome) + (0 if outcome.hits else len(query.text) // 4)
    costs = [tokens(hit, with_context=query.include_parent_context) for hit in outcome.hits]
    count = packed(costs, query.max_tokens, around)
    used = around + sum(costs[:count])
    if count == len(costs):  # the very same hits: what is made of them is remembered
        return replace(outcome, tokens_used=used)
    return replace(outcome, hits=outcome.hits[:count], next_offset=query.offset + count, tokens_used=used)


def below(outcome: SearchOutcome) -> int:
    """What is said below the results, in tokens."""
    asked = outcome.query.mode
    lines = [*outcome.not_mentioned, *outcome.degraded, *(str(item["text"]) for item in outcome.suggestions)]
    lines += [
        retriever.reason
        for name, retriever in outcome.retrievers.items()
        if retriever.status == "failed" or (retriever.reason and name == asked != outcome.mode)
    ]
    if outcome.rewritten and outcome.rewritten["source"] != "spelling":  # which the suggestions tell
        lines.append(f"{outcome.rewritten['search_terms']} ({outcome.rewritten['source']})")
    lines += ["Left out as hardly relevant: 10; include_weak"] * (outcome.weak_hidden > 0)
    return -(-sum(len(line) + LABEL for line in lines) // 4)


def packed(costs: Sequence[int], max_tokens: int | None, around: int = AROUND) -> int:
    """How many results fit, best first, with what stands around them; at least one, so that a page never stands still.

    >>> packed([100, 120, 90], max_tokens=250), packed([100, 120], None), packed([100], 10)
    (2, 2, 1)
    """
    if max_tokens is None:
        return len(costs)
    used = around
    for count, cost in enumerate(costs):
        used += cost
        if used > max_tokens:
            return max(count, 1)
    return len(costs)


def tokens(hit: Hit, *, with_context: bool = False) -> int:
    """What a hit costs a model to read: characters, over four, of what the answer as text shows of it.

    `with_context` counts what stands around the passage, at the most that is shown of it.
    """
    size = head(hit, with_context=with_context) + len(hit.snippet.text) + size_of(hit.further)
    return -(-size // 4)


def head(hit: Hit, *, with_context: bool = False) -> int:
    """Characters that are shown of a hit besides its snippet and the lines of its further passages."""
    document, mail = hit.document.document, hit.document.document.email
    size = FIXED + len(document.file_path) + CONTEXT * with_context + PARTLY * (hit.section is not None)
    if mail is None:
        crumbs = (
            document.title,
            *(part for part in hit.heading_path or hit.chunk.chunk.heading_path if part != document.title),
        )
        size += min(sum(len(part) + 3 for part in crumbs), CRUMBS)
        size += min(sum(len(path) + 2 for path in hit.also_in) + LABEL, LISTED) if hit.also_in else 0
        return size
    people = (mail.sender, ", ".join(mail.to), ", ".join(part.filename for part in mail.attachments))
    named = sum(min(len(names), LISTED) for names in people)
    return size + MAIL + min(len(document.title), CRUMBS) + len(mail.thread_id) + named
