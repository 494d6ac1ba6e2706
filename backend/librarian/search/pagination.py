"""From all candidates to one page of hits within a budget of tokens.

Equal texts are one hit, documents don't crowd each other out. A token counts as four characters of the answer as text.
With a budget there is one entry per document: the first ones get the smallest complete section that holds their best
chunk, or as much of it as there is space for; those that follow get the sentences that answer. What else of a document
was found is listed by its lines.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import NamedTuple

import numpy as np

from ..models import (
    Chunk,
    Further,
    Heading,
    Hit,
    Query,
    SearchOutcome,
    Snippet,
    StoredChunk,
    StoredDocument,
    passage_id,
)
from ..schemas import DEFAULT_TOKENS
from ..storage.base import CatalogReader, Columns
from ..text.sanitizing import without_hidden
from .ranking import Ranked
from .snippets import Excerpts, joined, section_at

CHARACTERS = 4  #: of an answer's text that count as a token
#: Measured over answers as text: the tokens around the results, and the characters of a result that are there whatever
#: it is (rank, score and lines; of a section that is shown in part, its lines; of a mail also the labels of its
#: headers and the size of its thread; of a context, at most).
AROUND, FIXED, PARTLY, MAIL, CONTEXT = 25, 34, 32, 88, 500
LISTED = 100  #: characters that are shown of a list
CRUMBS = 140  #: and of a title with its headings
LABEL = 20  #: and of what each line below the results begins with

#: Of the budget what an answer aims at. With the usual 1,500 tokens most are within 1,000; this and what follows were
#: chosen by what `benchmarks/agent_cost.py` reaches within 1,000 and 2,000 tokens.
FILL = 0.58
UNLIKELY_SHARE = 0.4  #: of the budget, for an answer that most likely isn't one
FEW, FILL_OF_FEW = 5, 0.93  #: so few results are wanted for reading; more than this is never aimed at
#: What the first entries may take of the space that those after them leave, and what each of these may.
SHARES, SHARE = (0.6, 0.9), 0.5
FIRST = 1400  #: characters reserved for the text of the first entries, before one more is shown
LEAST = 100  #: characters reserved for the text of each entry
SENTENCE = 240  #: characters that the sentence which answers may take where there is less space than that
WITH_LIST = 2  #: entries whose further chunks are listed before the others get their text
ITEM, HEADING = 34, 60  #: characters of such a line besides the heading, and of its heading
MARK = 60  #: characters of the line above each of several sections
REACH = 6  #: chunks on each side of a chunk among which the rest of its section is looked for
_END = 1 << 40  #: no text is longer
_ASKS = re.compile("[?？؟]")
_RELATED = 0.25  #: cosine from which a reply without words of the query is about it


# -- which candidates ----------------------------------------------------------------------------------------------


class PageEntry(NamedTuple):
    """A candidate that may be shown, by its place among all, with the ids of further documents that hold its text."""

    place: int
    doc_ids: Sequence[int] = ()  #: where there are further ones; its own is among them


def deduplicate(found: Ranked, columns: Columns, *, limit: int, per_group: int) -> tuple[list[PageEntry], bool]:
    """The first `limit` candidates in order, one per text, `per_group` per document or thread (0: no limit); and
    whether there are more of them.

    Chunks of equal text are one hit, shown where the newest version of equal rank stands. A text whose document or
    thread has all it may have is left out, and doesn't come back from another version.
    """
    ids, sums = np.array(found.chunk_ids, dtype=np.int64), found.sums
    groups, alike = columns.group_of(ids).tolist(), dict[int, list[int]]()
    for place, text in enumerate(columns.text_of(ids).tolist()):
        alike.setdefault(text, []).append(place)
    entries: list[PageEntry] = []
    counts: dict[int, int] = {}
    for places in alike.values():
        place, holders = places[0], tuple[int, ...]()
        if len(places) > 1:
            modified = columns.modified_of(ids[places]).tolist()
            equal = [(-date, other) for other, date in zip(places, modified, strict=True) if sums[other] == sums[place]]
            place, holders = min(equal)[1], tuple(found.doc_ids[other] for other in places)
        counts[groups[place]] = count = counts.get(groups[place], 0) + 1
        if per_group and count > per_group:
            continue
        if len(entries) == limit:
            return entries, True
        entries.append(PageEntry(place, holders))
    return entries, False


def grouped(entries: Sequence[PageEntry], found: Ranked, query: Query) -> list[list[PageEntry]]:
    """Candidates by document, each in order, the documents by their best; one by one where the hits of the query are
    chunks or mails."""
    by_document = query.packed and query.filters.kind != "email"
    groups: dict[int, list[PageEntry]] = {}
    for one in entries:
        groups.setdefault(found.doc_ids[one.place] if by_document else one.place, []).append(one)
    return list(groups.values())


def hits(
    page: Sequence[PageEntry],
    found: Ranked,
    reader: CatalogReader,
    relevance: Callable[[int], float],
    *,
    explain: bool = True,
) -> list[Hit]:
    """What a page has: texts, the relevance of each place and everywhere that the same text stands; with `explain` the
    reasons for its order. Snippets are empty."""
    shown = [found.candidate(one.place, explain=explain) for one in page]
    doc_ids = [candidate.doc_id for candidate in shown]
    documents = reader.documents([*doc_ids, *(doc_id for one in page for doc_id in one.doc_ids)])
    chunk_ids = [candidate.chunk_id for candidate in shown]
    chunks, copies = reader.chunks(chunk_ids), reader.copies(chunk_ids)
    made = []
    for one, candidate in zip(page, shown, strict=True):
        document, chunk = documents.get(candidate.doc_id), chunks.get(candidate.chunk_id)
        if document is None or chunk is None:
            continue
        paths = {*document.also_in, *copies.get(candidate.chunk_id, ())}
        paths.update(documents[doc_id].document.file_path for doc_id in one.doc_ids if doc_id in documents)
        also_in = tuple(sorted(paths - {document.document.file_path}))
        snippet = Snippet("", chunk.chunk.line_start, chunk.chunk.line_end)
        tokens = _tokens_in(len(chunk.chunk.text))
        made.append(Hit(candidate, chunk, document, snippet, relevance(one.place), also_in, tokens=tokens))
    return made


def replies_to(
    page: Sequence[Sequence[PageEntry]], found: Ranked, columns: Columns, reader: CatalogReader
) -> dict[int, PageEntry]:
    """For hits that are mails which ask something, by their places, the best reply in the thread that doesn't.

    A question shares more words with a query than its answer does, and isn't what is looked for.
    """
    groups = columns.group_of(np.array(found.chunk_ids, dtype=np.int64))
    chosen: dict[int, PageEntry] = {}
    for entry, *_ in page:
        if groups[entry.place] >= 0:  # no mail, or alone
            continue
        places = np.flatnonzero(groups == groups[entry.place]).tolist()
        documents = reader.documents([found.doc_ids[place] for place in places])
        own = documents[found.doc_ids[entry.place]].document
        for place in places if _ASKS.search(own.summary) else ():
            one, mail = found.candidate(place, explain=False), documents[found.doc_ids[place]].document
            is_reply = mail.email is not None and (mail.email.is_answer or mail.email.in_reply_to)
            related = (one.keyword_score or 0) > 0 or (one.semantic_score or 0) >= _RELATED
            if is_reply and related and mail is not own and not _ASKS.search(mail.summary):
                chosen[entry.place] = PageEntry(place)
                break
    return chosen


# -- what of their documents ---------------------------------------------------------------------------------------


class Group(NamedTuple):
    """A document that answers, by its chunks."""

    hit: Hit  #: of the best chunk, with a snippet that is about to be replaced
    others: Sequence[Chunk] = ()  #: its further chunks
    nearest: tuple[int, int] | None = None  #: where in the best chunk the part nearest to the query lies


def pack(groups: Sequence[Group], excerpts: Excerpts, reader: CatalogReader, outcome: SearchOutcome) -> list[Hit]:
    """As many of the documents as fit into the space of an outcome, at least one, each with what is shown of it.

    As many hits as the caller asked for are shown if they fit at all, otherwise only while there is space for more than
    a sentence of the first ones.
    """
    query, share = outcome.query, UNLIKELY_SHARE if outcome.answerable == "unlikely" else 1.0
    around = AROUND + _below(outcome)
    space = int(share * CHARACTERS * max(0, (query.max_tokens or DEFAULT_TOKENS) - around))
    wanted = query.max_results if query.counted else None
    heads = [_head(group.hit, with_context=query.include_parent_context) for group in groups]
    aim, most = int(space * FILL), int(space * FILL_OF_FEW)
    if wanted is not None:
        least = sum(heads) + LEAST * len(heads)
        aim = most if wanted <= FEW else min(most, max(aim, least + FIRST // 2))
    count, needed = 0, min(FIRST, aim // 2) if wanted is None else 0
    for head in heads:
        needed += head + LEAST
        if count and needed > aim:
            break
        count += 1
    groups, listed = groups[:count], []
    for group in groups:
        own, found = (group.hit.chunk.chunk.heading_path, ()), []
        for one in group.others:  # the heading of the section that is shown needn't be repeated
            heading = without_hidden(one.heading_path[-1]) if one.heading_path not in own else ""
            found.append(Further(one.line_start, one.line_end, _tokens_in(len(one.text)), heading))
        listed.append(found)
    left = max(0, aim - sum(heads[:count]) - sum(map(_size_of, listed[:WITH_LIST])))
    packed: list[Hit] = []
    for number, group in enumerate(groups):
        free = left - LEAST * (count - number - 1)
        share = SHARES[number] if number < len(SHARES) else SHARE
        most = max(LEAST, int(free if count == 1 else free * share))
        hit = _shown(group, excerpts, reader, min(most, max(LEAST, space - heads[number])))
        left -= len(hit.snippet.text)
        packed.append(hit)
    for number, hit in enumerate(packed):
        first, last = hit.snippet.line_start, hit.snippet.line_end
        further = [one for one in listed[number] if one.line_start < first or last < one.line_end]
        while number >= WITH_LIST and further and _size_of(further) > left:
            further.pop()
        if further:
            left -= _size_of(further) if number >= WITH_LIST else 0
            packed[number] = replace(hit, further=tuple(further))
    return packed


def sections(groups: Sequence[Group], excerpts: Excerpts, reader: CatalogReader, space: int) -> list[Hit]:
    """The sections of one document that its chunks stand in, in the document's order, within `space` characters.

    The groups are chunks of it, best first; of these, as many as there is space for.
    """
    left = int(space * FILL)
    shown: list[Hit] = []

    def is_shown(text: Chunk | Snippet) -> bool:
        return any(one.snippet.line_start <= text.line_end and text.line_start <= one.snippet.line_end for one in shown)

    for number, group in enumerate(groups):
        if shown and left < LEAST:
            break
        if is_shown(group.hit.chunk.chunk):
            continue
        own = int(left * SHARES[0]) if number + 1 < len(groups) else left
        hit = _shown(group, excerpts, reader, max(LEAST, own))
        if not is_shown(hit.snippet):
            shown.append(hit)
            left -= len(hit.snippet.text) + MARK
    return sorted(shown, key=lambda hit: hit.snippet.line_start)


def _shown(group: Group, excerpts: Excerpts, reader: CatalogReader, space: int) -> Hit:
    """The hit with at most `space` characters of the section that its chunk stands in; a sentence may take more."""
    hit = group.hit
    chunk, document = hit.chunk.chunk, hit.document
    headings, end, line_end = document.document.headings, chunk.end, chunk.line_end
    if chunk.ordinal + 1 < document.chunk_count and (not headings or headings[-1].start < chunk.end):
        ending = reader.chunks_between(document.doc_id, document.chunk_count - 1, document.chunk_count, 0, _END)
        end = max(end, ending[-1].chunk.end if ending else 0)
        line_end = max(line_end, ending[-1].chunk.line_end if ending else 0)
    starts = [heading.start for heading in headings]
    limits = [0, *starts, max([end, *starts[-1:]])]
    low, high = (section_at(limits, chunk.start)[0], section_at(limits, max(chunk.start, chunk.end - 1))[1])
    chunks, all_there = [chunk], low >= chunk.start and high <= chunk.end
    if space > len(chunk.text) and not all_there:
        first, last = max(0, chunk.ordinal - REACH), chunk.ordinal + REACH
        around = max(low, chunk.start - space), min(high, chunk.end + space)  # further away there is no space
        near = [stored.chunk for stored in reader.chunks_between(document.doc_id, first, last, *around)]
        # of the same page, and in a mail of the same part of it
        mail = document.document.kind == "email"
        own = [one for one in near if one.page == chunk.page and (not mail or one.heading_path == chunk.heading_path)]
        chunks = own or chunks
        all_there = len(chunks) == len(near) and (not first or near[0].ordinal > first) and near[-1].ordinal < last
        all_there = all_there and around == (low, high)
    text, language = joined(chunks) if len(chunks) > 1 else chunk, document.document.language
    best = (chunk.start, chunk.end)
    snippet, at, whole = excerpts.excerpt(text, best, language, space, limits, group.nearest, least=SENTENCE)
    low, high = section_at(limits, at)
    number = bisect_right(limits, at) - 1  # of headings above
    first_line = headings[number - 1].line if number else 1
    last_line = headings[number].line - 1 if number < len(headings) else max(first_line, line_end)
    path: list[Heading] = []
    for heading in reversed(headings[:number]) if (low, high) != section_at(limits, chunk.start) else ():
        if not path or heading.level < path[0].level:
            path.insert(0, heading)
    return replace(
        hit,
        snippet=snippet,
        packed=True,
        tokens=_tokens_in(max(high - low, len(snippet.text))),
        heading_path=tuple([heading.text for heading in path]),
        section=None if whole and all_there else (first_line, last_line),
    )


# -- what that costs -----------------------------------------------------------------------------------------------


def fitted(outcome: SearchOutcome) -> SearchOutcome:
    """With as many of its hits as its query's `max_tokens` allows, at least one so that a page never stands still, and
    with `tokens_used` of the answer as text."""
    query = outcome.query
    used = AROUND + _below(outcome) + (0 if outcome.hits else len(query.text) // 4)
    for count, hit in enumerate(outcome.hits):
        size = _head(hit, with_context=query.include_parent_context) + len(hit.snippet.text) + _size_of(hit.further)
        cost = _tokens_in(size)
        if count and query.max_tokens is not None and used + cost > query.max_tokens:
            return replace(outcome, hits=outcome.hits[:count], next_offset=query.offset + count, tokens_used=used)
        used += cost
    return replace(outcome, tokens_used=used)  # the very same hits: what is made of them is remembered


def _below(outcome: SearchOutcome) -> int:
    """Tokens of the lines below the results."""
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
    return _tokens_in(sum(len(line) + LABEL for line in lines))


def _head(hit: Hit, *, with_context: bool = False) -> int:
    """Characters that are shown of a hit besides its snippet and the lines of its further chunks."""
    document, mail = hit.document.document, hit.document.document.email
    size = FIXED + len(document.file_path) + CONTEXT * with_context + PARTLY * (hit.section is not None)
    if mail is None:
        headings = (part for part in hit.heading_path or hit.chunk.chunk.heading_path if part != document.title)
        size += min(sum(len(part) + 3 for part in (document.title, *headings)), CRUMBS)
        return size + (min(sum(len(path) + 2 for path in hit.also_in) + LABEL, LISTED) if hit.also_in else 0)
    people = (mail.sender, ", ".join(mail.to), ", ".join(part.filename for part in mail.attachments))
    named = sum(min(len(names), LISTED) for names in people)
    return size + MAIL + min(len(document.title), CRUMBS) + len(mail.thread_id) + named


def _size_of(further: Sequence[Further]) -> int:
    """Characters of the lines that list some chunks."""
    return sum(ITEM + min(len(one.heading), HEADING) for one in further)


def _tokens_in(characters: int) -> int:
    return -(-characters // CHARACTERS)


#: Headings of the outline and characters of a neighbour that are shown.
OUTLINE, NEIGHBOUR = 20, 300


def parent_context(
    chunk: StoredChunk, document: StoredDocument, siblings: Sequence[StoredChunk]
) -> Mapping[str, object]:
    """The fields of `schemas.ParentContext`. `siblings` are the document's chunks in order."""
    about = document.document
    place = next((i for i, sibling in enumerate(siblings) if sibling.chunk_id == chunk.chunk_id), len(siblings))
    crumbs = filter(None, (about.product, about.component, about.title, *chunk.chunk.heading_path))

    def neighbour(chunks: Sequence[StoredChunk], *, from_end: bool) -> Mapping[str, object] | None:
        """The side that touches the hit of the last or first chunk, cut at a word."""
        if not chunks:
            return None
        own = chunks[-1 if from_end else 0].chunk
        text = without_hidden(own.text).strip()
        if len(text) > NEIGHBOUR:
            tail, head = text[-NEIGHBOUR:].split(" ", 1)[-1], text[:NEIGHBOUR].rsplit(" ", 1)[0]
            text = f"…{tail}" if from_end else f"{head}…"
        headings = [without_hidden(heading) for heading in own.heading_path]
        return {"id": passage_id(about.file_path, own), "heading_path": headings, "text": text}

    return {
        "title": without_hidden(about.title),
        "summary": without_hidden(about.summary),
        "headings": [without_hidden(heading.text) for heading in about.headings[:OUTLINE]],
        "breadcrumb": " / ".join(without_hidden(name) for name, _ in groupby(crumbs)),
        "previous": neighbour(siblings[:place], from_end=True),
        "next": neighbour(siblings[place + 1 :], from_end=False),
    }
