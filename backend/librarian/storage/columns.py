"""The catalog's columns in memory: which chunks may be answered with, decided by array arithmetic.

A `Columns` never changes; after a small put the next one is made from it by copying its arrays (2.4 MB for
200,000 chunks) and filling in what is new. Names are stored once, as codes into vocabularies that only grow and are
shared from one to the next.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import CallerError
from ..models import Count, FileCounts, Filters, Ids, Kind, Selection
from ..text.characters import caseless, unaccented
from .database import LruCache
from .rows import FIRST, KEYS, LAST, NO_DATE, micros

_UNIX_START = datetime(1970, 1, 1, tzinfo=UTC)


def file_counts(
    chosen: npt.NDArray[np.bool_],
    codes: Mapping[str, npt.NDArray[np.int32]],
    names: Mapping[str, Sequence[str]],
    tagged: npt.NDArray[np.int32],
    modified: Ids,
) -> FileCounts:
    """Values and numbers of the chosen documents.

    Args:
        chosen: shape (highest document id + 1,), the documents that count.
        codes: column → the code of each document's value, same shape.
        names: column, and `tags` → the value of each code.
        tagged: shape (n, 2), rows of (document id, tag code).
        modified: microseconds since 1970 of each document, `NO_DATE` without one.
    """
    dates = modified[chosen & (modified != NO_DATE)]
    return FileCounts(
        documents=int(np.count_nonzero(chosen)),
        products=_pairs(codes["product"][chosen], codes["component"][chosen], names),
        file_types=_counts(codes["file_type"][chosen], names["file_type"]),
        doc_types=_counts(codes["doc_type"][chosen], names["doc_type"]),
        languages=_counts(codes["language"][chosen], names["language"]),
        tags=_counts(tagged[chosen[tagged[:, 0]], 1], names["tags"]),
        oldest=_iso(int(dates.min())) if len(dates) else None,
        newest=_iso(int(dates.max())) if len(dates) else None,
    )


def _counts(codes: npt.NDArray[np.int32], names: Sequence[str]) -> dict[str, int]:
    """Value → number, most first, ties by name; empty values are left out."""
    found = {names[code]: int(number) for code, number in enumerate(np.bincount(codes)) if number and names[code]}
    return dict(sorted(found.items(), key=lambda item: (-item[1], item[0])))


def _pairs(
    products: npt.NDArray[np.int32], components: npt.NDArray[np.int32], names: Mapping[str, Sequence[str]]
) -> dict[str, dict[str, int]]:
    pairs, numbers = np.unique(np.stack((products, components)), axis=1, return_counts=True)
    inside: dict[str, dict[str, int]] = {}
    rows = zip(pairs[0].tolist(), pairs[1].tolist(), numbers.tolist(), strict=True)
    for product, component, number in sorted((names["product"][p], names["component"][c], n) for p, c, n in rows):
        inside.setdefault(product, {})[component] = number
    return inside


def _iso(micros: int) -> str:
    return (_UNIX_START + timedelta(microseconds=micros)).isoformat(timespec="seconds").replace("+00:00", "Z")


Mask = npt.NDArray[np.bool_]
Codes = npt.NDArray[np.int32]

#: What a document has one value of and filters ask for by name, beside its tags, of which it may have several.
CODED = ("product", "component", "file_type", "doc_type", "language", "kind")
_CACHED_SELECTIONS = 64
_MOST_NAMES = 4  #: words of a person's name


@dataclass(frozen=True, slots=True)
class Mail:
    """What mail filters look at; sender, subject and recipients in their `unaccented` form."""

    thread_id: str
    sender: str
    subject: str
    has_attachments: bool
    recipients: str


class Names:
    """Names ↔ codes 0, 1, 2, …; only ever grows, so that older columns may go on using it."""

    def __init__(self) -> None:
        self._codes: dict[str, int] = {}

    def code(self, name: str) -> int:
        """The name's code, a new one where it has none."""
        return self._codes.setdefault(name, len(self._codes))

    def names(self) -> list[str]:
        """All names, by code."""
        return list(self._codes)

    def codes(self, names: Iterable[str]) -> list[int]:
        """Codes of those names that have one."""
        return [self._codes[name] for name in names if name in self._codes]


@dataclass(frozen=True, slots=True)
class Arrays:
    """What columns are made of.

    `doc_of` and `text` have shape (highest chunk id + 1,), 0 where there is no chunk. All other arrays have shape
    (highest document id + 1,); `codes[name]` is −1 where there is no document. `tagged` holds (document id, tag code)
    rows. `names` are keys of what links may call documents, rising, and `owners` the document of each; `links` are, by
    document id, the packed keys of what its own links may mean.
    """

    doc_of: Codes  #: document id
    text: Ids  #: one number for all chunks of equal text
    group: Ids  #: document id, or one negative number for all mails of a thread
    same: Ids  #: document id, or one negative number for all copies of a mail
    modified: Ids  #: µs since 1970, `NO_DATE` where unknown
    codes: dict[str, Codes]
    tagged: Codes
    names: Ids
    owners: Ids
    links: list[bytes]
    mails: dict[int, Mail]  #: by document id
    paths: list[str]  #: file path by document id; empty where there is no document
    vocabularies: dict[str, Names]  #: of each of `codes`, and of tags and threads


@dataclass(frozen=True)
class Columns:
    """The columns at one generation, and what filters let through."""

    generation: int
    shared_products: frozenset[str]
    arrays: Arrays
    _selections: LruCache[Filters, Selection] = field(default_factory=lambda: LruCache(_CACHED_SELECTIONS), repr=False)

    @cached_property
    def documents(self) -> int:
        """How many documents there are, mails included."""
        return int(np.count_nonzero(self.arrays.codes["kind"] >= 0))

    @cached_property
    def count(self) -> Count:
        """Totals, none of them embedded."""
        kinds, products = self._numbers("kind"), self._numbers("product")
        return Count(
            documents=kinds.get("document", 0),
            emails=kinds.get("email", 0),
            chunks=int(np.count_nonzero(self.arrays.doc_of)),
            embedded_chunks=0,
            products=len(products),
            by_product=dict(sorted(products.items())),
        )

    def _numbers(self, column: str) -> dict[str, int]:
        """Value → how many documents have it; only values that some have."""
        codes, names = self.arrays.codes[column], self.arrays.vocabularies[column].names()
        return {names[code]: int(number) for code, number in enumerate(np.bincount(codes[codes >= 0])) if number}

    @cached_property
    def products(self) -> dict[str, dict[str, int]]:
        """Product → component → number of documents (mails included), by name."""
        codes, alive = self.arrays.codes, self.arrays.codes["kind"] >= 0
        names = {name: self.arrays.vocabularies[name].names() for name in ("product", "component")}
        return _pairs(codes["product"][alive], codes["component"][alive], names)

    def doc_of(self, chunk_ids: Ids) -> Ids:
        """Document id of each chunk id, 0 where unknown."""
        return _looked_up(self.arrays.doc_of, chunk_ids)

    def text_of(self, chunk_ids: Ids) -> Ids:
        """One number for all chunks of equal text; 0 where unknown."""
        return _looked_up(self.arrays.text, chunk_ids)

    def modified_of(self, chunk_ids: Ids) -> Ids:
        """When each chunk's document was last modified, in µs since 1970; `NO_DATE` where unknown."""
        return self.arrays.modified[self.doc_of(chunk_ids)]

    def group_of(self, chunk_ids: Ids) -> Ids:
        """Document id, or one negative number for all mails of a thread; 0 where unknown."""
        return self.arrays.group[self.doc_of(chunk_ids)]

    def chunk_counts(self, doc_ids: Ids) -> Ids:
        """How many passages each of these documents has."""
        return _looked_up(self._chunk_counts, doc_ids)

    @cached_property
    def _chunk_counts(self) -> Ids:
        return np.bincount(self.arrays.doc_of)

    def in_links(self, doc_ids: Ids, sources: Ids) -> Ids:
        """How many of the documents `sources`, each named once or more, link to each of these."""
        starts, counts, targets = self._links
        linking = np.unique(sources[sources < len(counts)])
        lengths = counts[linking]
        firsts = np.cumsum(lengths) - lengths
        linked = targets[np.repeat(starts[linking] - firsts, lengths) + np.arange(int(lengths.sum()))]
        return np.bincount(linked, minlength=int(doc_ids.max(initial=0)) + 1)[doc_ids]

    def thread_size(self, file_path: str) -> int:
        """How many mails the thread of a mail has, copies counted once; 1 for a document."""
        doc_id = self.arrays.paths.index(file_path) if file_path in self.arrays.paths else 0
        return max(1, len(np.unique(self.arrays.same[self.arrays.group == self.arrays.group[doc_id]])))

    def links_of(self, doc_id: int) -> tuple[Ids, Ids]:
        """The documents that a document links to, and those that link to it."""
        starts, counts, targets = self._links
        if doc_id >= len(counts):
            return targets[:0], targets[:0]
        incoming = np.repeat(np.arange(len(counts)), counts)[targets == doc_id]
        return targets[starts[doc_id] : starts[doc_id] + counts[doc_id]], incoming

    @cached_property
    def _links(self) -> tuple[Ids, Ids, Ids]:
        """By document id where its links' targets begin and how many there are, and the targets' document ids.

        A link leads to the document that alone has one of the names that it may mean."""
        links = _with_owners(self.arrays.links)
        keys, places, holders = np.unique(self.arrays.names, return_index=True, return_counts=True)
        keys, owners = keys[holders == 1], self.arrays.owners[places[holders == 1]]
        number = len(self.arrays.group)
        pairs = np.empty(0, dtype=np.int64)
        if len(keys) and len(links):
            at = np.minimum(np.searchsorted(keys, links[:, 1]), len(keys) - 1)
            found = keys[at] == links[:, 1]
            pairs = np.unique(links[found, 0] * number + owners[at[found]])
        sources, targets = np.divmod(pairs, number)
        sources, targets = sources[sources != targets], targets[sources != targets]
        counts = np.bincount(sources, minlength=number)
        return np.cumsum(counts) - counts, counts, targets

    def named(self, keys: Iterable[int], selection: Selection) -> Ids:
        """The first selected passage of each document that has a name with one of these keys; ids ascending."""
        known, owners = self.arrays.names, self.arrays.owners
        asked = np.array(list(keys), dtype=np.int64)
        first, last = np.searchsorted(known, asked, "left"), np.searchsorted(known, asked, "right")
        documents = [owners[start:end] for start, end in zip(first, last, strict=True) if end > start]
        if not documents:
            return np.empty(0, dtype=np.int64)
        ids = np.flatnonzero(np.isin(self.arrays.doc_of, np.concatenate(documents)))
        ids = ids if selection.mask is None else ids[selection.mask[ids]]
        return ids[np.unique(self.arrays.doc_of[ids], return_index=True)[1]]

    @cached_property
    def _has_copies(self) -> Mask:
        _, number, count = np.unique(self.arrays.same, return_inverse=True, return_counts=True)
        return np.asarray(count[number] > 1) & (self.arrays.same < 0)

    def senders(self, doc_ids: Ids) -> list[str]:
        """Each mail's sender in its `unaccented` form; empty for documents."""
        mails = self.arrays.mails
        if not mails:
            return [""] * len(doc_ids)
        return [mail.sender if (mail := mails.get(doc_id)) else "" for doc_id in doc_ids.tolist()]

    def newest(self, filters: Filters, per_group: int) -> Ids:
        """Documents that pass and have passages, latest first; of copies of a mail one, of one thread at most
        `per_group` (0: all)."""
        ids = np.flatnonzero(self._chunk_counts)
        ids = ids[ids > 0]  # where ids of passages have no document
        if (passing := self.select(filters).doc_ids) is not None:
            ids = np.intersect1d(ids, passing, assume_unique=True)
        ids = ids[np.lexsort((ids, self.arrays.modified[ids]))[::-1]]
        copies = np.flatnonzero(self._has_copies[ids])
        _, latest = np.unique(self.arrays.same[ids[copies]], return_index=True)
        ids = np.delete(ids, np.delete(copies, latest))
        if not per_group:
            return ids
        seen: Counter[int] = Counter()
        chosen_rows = np.zeros(len(ids), dtype=np.bool_)
        for place, group in enumerate(self.arrays.group[ids].tolist()):
            seen[group] += 1
            chosen_rows[place] = seen[group] <= per_group
        return ids[chosen_rows]

    def languages(self) -> tuple[str, ...]:
        """Languages that documents are indexed in, most frequent first, ties by name. English is among them where a
        document's is unknown, last if no other document is in English."""
        return self._languages

    @cached_property
    def _languages(self) -> tuple[str, ...]:
        counts = self._numbers("language")
        known = [name for name, _ in sorted(counts.items(), key=lambda item: (-item[1], item[0])) if name]
        return tuple(dict.fromkeys([*known, "en"] if "" in counts else known))

    def file_counts(self, kind: Kind, among: Sequence[int] | None = None) -> FileCounts:
        """What filters on documents of this kind may choose from, `among` some documents if given."""
        chosen = np.isin(self.arrays.codes["kind"], self.arrays.vocabularies["kind"].codes([kind]))
        if among is not None:
            named = np.zeros_like(chosen)
            named[[doc_id for doc_id in among if doc_id < len(named)]] = True
            chosen &= named
        names = {name: terms.names() for name, terms in self.arrays.vocabularies.items()}
        return file_counts(chosen, self.arrays.codes, names, self.arrays.tagged, self.arrays.modified)

    def only(self, chunk_ids: Ids) -> Selection:
        """Just these chunks: a mask of full length with no filters; unknown ids are left out."""
        ids = np.asarray(chunk_ids, dtype=np.int64)
        documents = self.doc_of(ids)
        mask = np.zeros(len(self.arrays.doc_of), dtype=np.bool_)
        mask[ids[documents != 0]] = True
        return Selection(Filters(), mask, int(np.count_nonzero(mask)), doc_ids=np.unique(documents[documents != 0]))

    def select(self, filters: Filters) -> Selection:
        """The chunks that pass the filters. Raises `CallerError` for a date that isn't one."""
        selection = self._selections.get(filters)
        if selection is None:
            selection = self._select(filters)
            self._selections.put(filters, selection)
        return selection

    # -- selecting -------------------------------------------------------------------------------------------------

    def _select(self, filters: Filters) -> Selection:
        alive = self.arrays.codes["kind"] >= 0
        passing = alive.copy()
        allowed = self._allowed(filters, alive)
        for name, values in allowed.items():
            codes = self.arrays.vocabularies[name].codes(values)
            if name == "tags":
                tagged = np.zeros(len(alive), dtype=np.bool_)
                tagged[self.arrays.tagged[np.isin(self.arrays.tagged[:, 1], codes), 0]] = True
                passing &= tagged
            else:
                passing &= np.isin(self.arrays.codes[name], codes)
        modified = _bounds(filters)
        if modified is not None:
            passing &= (self.arrays.modified >= modified[0]) & (self.arrays.modified <= modified[1])
        beyond = self._narrow(passing, filters)
        if bool(np.array_equal(passing, alive)):
            return Selection(filters, None, int(np.count_nonzero(self.arrays.doc_of)))
        mask = passing[self.arrays.doc_of]
        return Selection(
            filters,
            mask,
            int(np.count_nonzero(mask)),
            doc_ids=np.flatnonzero(passing).astype(np.int64),
            allowed=allowed,
            modified=modified,
            complete=not beyond,
        )

    def _allowed(self, filters: Filters, alive: Mask) -> dict[str, tuple[str, ...]]:
        """For each coded filter that is given, the stored names that it lets through."""
        allowed: dict[str, tuple[str, ...]] = {}
        if filters.product is not None:
            names = self._names_like("product", filters.product, alive)
            shared = self.shared_products.intersection(self.arrays.vocabularies["product"].names())
            allowed["product"] = tuple(sorted({*names, *shared}))
        if filters.component is not None:
            allowed["component"] = self._names_like("component", filters.component, alive)
        for name, value in (("doc_type", filters.doc_type), ("language", filters.language), ("kind", filters.kind)):
            if value is not None:
                allowed[name] = (value,)
        if filters.file_types:
            allowed["file_type"] = tuple(sorted(set(filters.file_types)))
        if filters.tags:
            asked = {caseless(tag) for tag in filters.tags}
            allowed["tags"] = tuple(sorted(t for t in self.arrays.vocabularies["tags"].names() if caseless(t) in asked))
        return allowed

    def _names_like(self, column: str, wanted: str, alive: Mask) -> tuple[str, ...]:
        """The name itself where a document has it, else all that are equal to it in their `caseless` form."""
        names = self.arrays.vocabularies[column].names()
        used = set(np.unique(self.arrays.codes[column][alive]).tolist())
        present = [name for code, name in enumerate(names) if code in used]
        if wanted in present:
            return (wanted,)
        return tuple(sorted(name for name in present if caseless(name) == caseless(wanted)))

    def _narrow(self, passing: Mask, filters: Filters) -> bool:
        """Apply in place the filters that only single documents can answer; True where there were any."""
        beyond = False
        if filters.file_paths:
            beyond, wanted = True, set(filters.file_paths)
            _keep(passing, [doc_id for doc_id, path in enumerate(self.arrays.paths) if path in wanted])
        if filters.absent:
            beyond = True
            absent, inside = set(filters.absent), tuple(f"{path}/" for path in filters.absent)
            deleted = [n for n, path in enumerate(self.arrays.paths) if path in absent or path.startswith(inside)]
            passing[np.array(deleted, dtype=np.int64)] = False
        if (
            filters.sender is not None
            or filters.thread_id is not None
            or filters.subject_contains is not None
            or filters.has_attachments is not None
            or filters.recipients
        ):
            beyond = True
            senders = _forms(filters.sender or "")
            subject = unaccented(filters.subject_contains or "")
            recipients = [_forms(one) for one in filters.recipients]
            _keep(
                passing,
                [
                    doc_id
                    for doc_id, mail in self.arrays.mails.items()
                    if passing[doc_id]
                    and any(form in mail.sender for form in senders)
                    and subject in mail.subject
                    and all(any(form in mail.recipients for form in forms) for forms in recipients)
                    and filters.thread_id in (None, mail.thread_id)
                    and filters.has_attachments in (None, mail.has_attachments)
                ],
            )
        return beyond


def _forms(name: str) -> tuple[str, ...]:
    """A name as it is asked for, `unaccented`, and with its last word first or last, as address books write names.

    >>> _forms("Ann Lee"), _forms("Lee, Ann"), _forms("ann@x.org")
    (('ann lee', 'lee, ann'), ('lee, ann', 'ann lee'), ('ann@x.org',))
    """
    asked = unaccented(name)
    last, comma, first = (part.strip() for part in asked.partition(","))
    if comma:
        return (asked, f"{first} {last}") if first and last else (asked,)
    words = asked.split()
    if len(words) > _MOST_NAMES or "@" in asked:
        return (asked,)
    turned = (f"{' '.join(words[at:])}, {' '.join(words[:at])}" for at in range(1, len(words)))
    return asked, *turned


def _looked_up(column: npt.NDArray[Any], ids: Ids) -> Ids:
    """What a column says of each id, 0 beyond its ends."""
    ids = np.asarray(ids, dtype=np.int64)
    known = (ids > 0) & (ids < len(column))
    found = np.zeros(len(ids), dtype=np.int64)
    found[known] = column[ids[known]]
    return found


def _keep(passing: Mask, doc_ids: Sequence[int]) -> None:
    chosen_rows = np.zeros(len(passing), dtype=np.bool_)
    chosen_rows[np.array(doc_ids, dtype=np.int64)] = True
    passing &= chosen_rows


def _bounds(filters: Filters) -> tuple[int, int] | None:
    """Both ends inclusive; None where no date is asked for."""
    if filters.modified_after is None and filters.modified_before is None:
        return None
    low, high = FIRST, LAST
    for name, date in (("modified_after", filters.modified_after), ("modified_before", filters.modified_before)):
        if date is None:
            continue
        try:
            if name == "modified_after":
                low = micros(date)
            else:
                high = micros(date, end_of_day=True)
        except (ValueError, OverflowError) as error:
            raise CallerError(
                f"{name} {date!r} is not a date.", hint="Give ISO 8601, such as 2026-01-31 or 2026-01-31T12:00:00Z."
            ) from error
    return low, high


DOCUMENTS = f"""SELECT d.id, d.modified, d.file_path, d.tags, {", ".join("d." + name for name in CODED)},
    e.thread_id, e.sender, e.subject, e.has_attachments, e.recipients, e.fingerprint, d.names, d.links
    FROM documents d LEFT JOIN emails e ON e.doc_id = d.id"""


_POSITIVE = 2**63 - 1  #: the bits of a hash but its sign


def columns_of(
    documents: Sequence[tuple[Any, ...]],
    chunks: Sequence[tuple[Any, ...]],
    generation: int,
    shared_products: frozenset[str],
) -> Columns:
    """Columns from rows of `DOCUMENTS` and (chunk id, document id, text key) rows."""
    empty = Arrays(
        doc_of=np.zeros(1, dtype=np.int32),
        text=np.zeros(1, dtype=np.int64),
        group=np.zeros(1, dtype=np.int64),
        same=np.zeros(1, dtype=np.int64),
        modified=np.full(1, NO_DATE, dtype=np.int64),
        codes={name: np.full(1, -1, dtype=np.int32) for name in CODED},
        tagged=np.empty((0, 2), dtype=np.int32),
        names=np.empty(0, dtype=np.int64),
        owners=np.empty(0, dtype=np.int64),
        links=[b""],
        mails={},
        paths=[""],
        vocabularies={name: Names() for name in (*CODED, "tags", "threads")},
    )
    return Columns(generation, shared_products, _filled(empty, documents, chunks, ()))


def columns_with(
    columns: Columns,
    documents: Sequence[tuple[Any, ...]],
    chunks: Sequence[tuple[Any, ...]],
    generation: int,
    changed: Sequence[int],
) -> Columns:
    """New columns in which the documents `changed` are as these rows say; those without a row are gone."""
    return Columns(generation, columns.shared_products, _filled(columns.arrays, documents, chunks, changed))


def _filled(
    base: Arrays, documents: Sequence[tuple[Any, ...]], chunks: Sequence[tuple[Any, ...]], forgotten: Sequence[int]
) -> Arrays:
    """A copy of `base` without the `forgotten` documents and with the given rows."""
    chunk_rows = np.array(chunks, dtype=np.int64).reshape(-1, 3)
    doc_ids = np.array([row[0] for row in documents], dtype=np.int64)
    copy = _copies_of(base, chunks=int(chunk_rows[:, 0].max(initial=0)) + 1, documents=int(doc_ids.max(initial=0)) + 1)
    if forgotten:
        copy = _without(copy, np.array(forgotten, dtype=np.int64))
    copy.doc_of[chunk_rows[:, 0]], copy.text[chunk_rows[:, 0]] = chunk_rows[:, 1], chunk_rows[:, 2]
    copy.group[doc_ids] = copy.same[doc_ids] = doc_ids
    copy.modified[doc_ids] = np.array([row[1] for row in documents], dtype=np.int64)
    for place, name in enumerate(CODED, start=4):
        code = copy.vocabularies[name].code
        copy.codes[name][doc_ids] = np.array([code(row[place]) for row in documents], dtype=np.int32)
    for row in documents:
        copy.paths[row[0]], copy.links[row[0]] = row[2], bytes(row[-1])
    _write_mails(copy, documents)
    return _with_tags(_with_names(copy, doc_ids, [row[-2] for row in documents]), documents)


def _copies_of(base: Arrays, *, chunks: int, documents: int) -> Arrays:
    """A copy to be written into, for at least so many chunk and document ids; it shares `base`'s vocabularies."""
    documents, chunks = max(len(base.group), documents), max(len(base.doc_of), chunks)
    more = documents - len(base.paths)
    return replace(
        base,
        doc_of=_longer(base.doc_of, chunks, 0),
        text=_longer(base.text, chunks, 0),
        group=_longer(base.group, documents, 0),
        same=_longer(base.same, documents, 0),
        modified=_longer(base.modified, documents, NO_DATE),
        codes={name: _longer(column, documents, -1) for name, column in base.codes.items()},
        mails=dict(base.mails),
        paths=base.paths + [""] * more,
        links=base.links + [b""] * more,
    )


def _without(copy: Arrays, doc_ids: Ids) -> Arrays:
    """The copy, written into, as if these documents weren't there; ids beyond its ends are no error."""
    known = doc_ids[doc_ids < len(copy.group)]
    dropped = np.zeros(max(len(copy.group), int(doc_ids.max()) + 1), dtype=np.bool_)
    dropped[doc_ids] = True
    deleted = dropped[copy.doc_of]
    copy.doc_of[deleted], copy.text[deleted] = 0, 0
    copy.group[known], copy.same[known], copy.modified[known] = 0, 0, NO_DATE
    for column in copy.codes.values():
        column[known] = -1
    for doc_id in doc_ids.tolist():
        copy.mails.pop(doc_id, None)
    for doc_id in known.tolist():
        copy.paths[doc_id], copy.links[doc_id] = "", b""
    staying = ~dropped[copy.owners]
    tagged = copy.tagged[~dropped[copy.tagged[:, 0]]]
    return replace(copy, tagged=tagged, names=copy.names[staying], owners=copy.owners[staying])


def _write_mails(copy: Arrays, documents: Sequence[tuple[Any, ...]]) -> None:
    """Write what mail filters look at, and the group of each conversation, into the copy."""
    code = copy.vocabularies["threads"].code
    for row in documents:
        thread_id, sender, subject, attachments, to, fingerprint = row[4 + len(CODED) : -2]
        if thread_id is None:
            continue
        copy.mails[row[0]] = Mail(thread_id, unaccented(sender), unaccented(subject), bool(attachments), unaccented(to))
        if fingerprint:
            copy.same[row[0]] = -1 - (hash(fingerprint) & _POSITIVE)
        if thread_id:
            copy.group[row[0]] = -1 - code(thread_id)


def _with_tags(arrays: Arrays, documents: Sequence[tuple[Any, ...]]) -> Arrays:
    code = arrays.vocabularies["tags"].code
    tags = [(row[0], code(tag)) for row in documents if row[3] != "[]" for tag in json.loads(row[3])]
    if not tags:
        return arrays
    return replace(arrays, tagged=np.concatenate((arrays.tagged, np.array(tags, dtype=np.int32))))


def _with_names(arrays: Arrays, doc_ids: Ids, packed: Sequence[bytes]) -> Arrays:
    """With these documents' packed keys of names."""
    owners, keys = _with_owners(packed).T
    order = np.argsort(keys, kind="stable")
    at = np.searchsorted(arrays.names, keys[order], "right")
    return replace(
        arrays,
        names=np.insert(arrays.names, at, keys[order]),
        owners=np.insert(arrays.owners, at, doc_ids[owners[order]]),
    )


def _with_owners(packed: Sequence[bytes]) -> Ids:
    """(place, key) rows of the keys that are packed at these places."""
    keys = np.frombuffer(b"".join(packed), dtype=KEYS)
    owners = np.repeat(np.arange(len(packed)), [len(one) // keys.itemsize for one in packed])
    return np.stack((owners, keys), axis=1)


def _longer(array: npt.NDArray[Any], length: int, fill: int) -> npt.NDArray[Any]:
    """A copy of a one-dimensional array, padded with `fill` to `length`."""
    longer = np.full(length, fill, dtype=array.dtype)
    longer[: len(array)] = array
    return longer
