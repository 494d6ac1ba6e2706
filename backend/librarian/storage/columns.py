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


def _counts(codes: npt.NDArray[np.int32], names: Sequence[str]) -> dict[str, int]:
    """Value → number, of values that some have, most first, ties by name."""
    found = {names[code]: int(number) for code, number in enumerate(np.bincount(codes)) if number}
    return dict(sorted(found.items(), key=lambda item: (-item[1], item[0])))


def _pairs(rows: Table, vocabularies: Mapping[str, Mapping[str, int]]) -> dict[str, dict[str, int]]:
    """Product → component → number of these documents, by name."""
    pairs, numbers = np.unique(np.stack((rows["product"], rows["component"])), axis=1, return_counts=True)
    products, components = list(vocabularies["product"]), list(vocabularies["component"])
    named = ((products[p], components[c], n) for p, c, n in zip(*pairs.tolist(), numbers.tolist(), strict=True))
    inside: dict[str, dict[str, int]] = {}
    for product, component, number in sorted(named):
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


#: A document's columns: `group` and `same` are its id, or one negative number for all mails of a thread, and for all
#: copies of a mail; `modified` is in µs since 1970; the codes of its names are −1 where there is no document.
_DOCUMENT = np.dtype(
    [("group", "i8"), ("same", "i8"), ("modified", "i8"), *((name, "i4") for name in CODED)], align=True
)
_NO_DOCUMENT = np.array((0, 0, NO_DATE, *(-1 for _ in CODED)), dtype=_DOCUMENT)
#: A chunk's columns: its document's id, and one number for all chunks of equal text; 0 where there is no chunk.
_CHUNK = np.dtype([("document", "i8"), ("text", "i8")])
_NO_CHUNK = np.zeros((), dtype=_CHUNK)
Table = npt.NDArray[np.void]


@dataclass(frozen=True, slots=True)
class Arrays:
    """What columns are made of.

    `documents`, `links` and `paths` are by document id, `chunks` by chunk id. `tagged` holds (document id, tag code)
    rows. `names` are keys of what links may call documents, rising, and `owners` the document of each; `links` are the
    packed keys of what a document's own links may mean. Vocabularies (of each of `CODED`, of tags and threads) give the
    codes of names; they only grow, so that older columns may go on using them.
    """

    documents: Table
    chunks: Table
    tagged: Codes
    names: Ids
    owners: Ids
    links: list[bytes]
    mails: dict[int, Mail]  #: by document id
    paths: list[str]  #: empty where there is no document
    vocabularies: dict[str, dict[str, int]]


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
        return int(np.count_nonzero(self._alive))

    @cached_property
    def _alive(self) -> Mask:
        return np.asarray(self.arrays.documents["kind"] >= 0)

    @cached_property
    def count(self) -> Count:
        """Totals, none of them embedded."""
        kinds, products = self._numbers("kind"), self._numbers("product")
        return Count(
            documents=kinds.get("document", 0),
            emails=kinds.get("email", 0),
            chunks=int(np.count_nonzero(self.arrays.chunks["document"])),
            embedded_chunks=0,
            products=len(products),
            by_product=dict(sorted(products.items())),
        )

    def _numbers(self, column: str) -> dict[str, int]:
        """Value → how many documents have it; only values that some have."""
        return _counts(self.arrays.documents[column][self._alive], list(self.arrays.vocabularies[column]))

    @cached_property
    def products(self) -> dict[str, dict[str, int]]:
        """Product → component → number of documents (mails included), by name."""
        return _pairs(self.arrays.documents[self._alive], self.arrays.vocabularies)

    def doc_of(self, chunk_ids: Ids) -> Ids:
        """Document id of each chunk id, 0 where unknown."""
        return _looked_up(self.arrays.chunks["document"], chunk_ids)

    def text_of(self, chunk_ids: Ids) -> Ids:
        """One number for all chunks of equal text; 0 where unknown."""
        return _looked_up(self.arrays.chunks["text"], chunk_ids)

    def modified_of(self, chunk_ids: Ids) -> Ids:
        """When each chunk's document was last modified, in µs since 1970; `NO_DATE` where unknown."""
        return np.asarray(self.arrays.documents["modified"][self.doc_of(chunk_ids)])

    def group_of(self, chunk_ids: Ids) -> Ids:
        """Document id, or one negative number for all mails of a thread; 0 where unknown."""
        return np.asarray(self.arrays.documents["group"][self.doc_of(chunk_ids)])

    def chunk_counts(self, doc_ids: Ids) -> Ids:
        """How many passages each of these documents has."""
        return _looked_up(self._chunk_counts, doc_ids)

    @cached_property
    def _chunk_counts(self) -> Ids:
        return np.bincount(self.arrays.chunks["document"])

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
        thread = self.arrays.documents["group"] == self.arrays.documents["group"][doc_id]
        return max(1, len(np.unique(self.arrays.documents["same"][thread])))

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
        number = len(self.arrays.documents)
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
        ids = np.flatnonzero(np.isin(self.arrays.chunks["document"], np.concatenate(documents)))
        ids = ids if selection.mask is None else ids[selection.mask[ids]]
        return ids[np.unique(self.arrays.chunks["document"][ids], return_index=True)[1]]

    @cached_property
    def _has_copies(self) -> Mask:
        same = self.arrays.documents["same"]
        _, number, count = np.unique(same, return_inverse=True, return_counts=True)
        return np.asarray(count[number] > 1) & (same < 0)

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
        ids = ids[np.lexsort((ids, self.arrays.documents["modified"][ids]))[::-1]]
        copies = np.flatnonzero(self._has_copies[ids])
        _, latest = np.unique(self.arrays.documents["same"][ids[copies]], return_index=True)
        ids = np.delete(ids, np.delete(copies, latest))
        if not per_group:
            return ids
        seen: Counter[int] = Counter()
        chosen_rows = np.zeros(len(ids), dtype=np.bool_)
        for place, group in enumerate(self.arrays.documents["group"][ids].tolist()):
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
        known = [name for name in counts if name]
        return tuple(dict.fromkeys([*known, "en"] if "" in counts else known))

    def file_counts(self, kind: Kind, among: Sequence[int] | None = None) -> FileCounts:
        """What filters on documents of this kind may choose from, `among` some documents if given."""
        documents, vocabularies = self.arrays.documents, self.arrays.vocabularies
        chosen = documents["kind"] == vocabularies["kind"].get(kind, -2)
        if among is not None:
            named = np.zeros_like(chosen)
            named[[doc_id for doc_id in among if doc_id < len(named)]] = True
            chosen &= named
        rows, tagged = documents[chosen], self.arrays.tagged
        values = {name: _counts(rows[name], list(vocabularies[name])) for name in ("file_type", "doc_type", "language")}
        values["tags"] = _counts(tagged[chosen[tagged[:, 0]], 1], list(vocabularies["tags"]))
        for each in values.values():
            each.pop("", None)
        dates = rows["modified"][rows["modified"] != NO_DATE]
        return FileCounts(
            documents=len(rows),
            products=_pairs(rows, vocabularies),
            file_types=values["file_type"],
            doc_types=values["doc_type"],
            languages=values["language"],
            tags=values["tags"],
            oldest=_iso(int(dates.min())) if len(dates) else None,
            newest=_iso(int(dates.max())) if len(dates) else None,
        )

    def only(self, chunk_ids: Ids) -> Selection:
        """Just these chunks: a mask of full length with no filters; unknown ids are left out."""
        ids = np.asarray(chunk_ids, dtype=np.int64)
        documents = self.doc_of(ids)
        mask = np.zeros(len(self.arrays.chunks), dtype=np.bool_)
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
        documents, passing = self.arrays.documents, self._alive.copy()
        allowed = self._allowed(filters)
        for name, values in allowed.items():
            known = self.arrays.vocabularies[name]
            codes = [known[value] for value in values if value in known]
            if name == "tags":
                tagged = np.zeros(len(passing), dtype=np.bool_)
                tagged[self.arrays.tagged[np.isin(self.arrays.tagged[:, 1], codes), 0]] = True
                passing &= tagged
            else:
                passing &= np.isin(documents[name], codes)
        modified = _bounds(filters)
        if modified is not None:
            passing &= (documents["modified"] >= modified[0]) & (documents["modified"] <= modified[1])
        beyond = self._narrow(passing, filters)
        if bool(np.array_equal(passing, self._alive)):
            return Selection(filters, None, int(np.count_nonzero(self.arrays.chunks["document"])))
        mask = passing[self.arrays.chunks["document"]]
        return Selection(
            filters,
            mask,
            int(np.count_nonzero(mask)),
            doc_ids=np.flatnonzero(passing).astype(np.int64),
            allowed=allowed,
            modified=modified,
            complete=not beyond,
        )

    def _allowed(self, filters: Filters) -> dict[str, tuple[str, ...]]:
        """For each coded filter that is given, the stored names that it lets through."""
        allowed: dict[str, tuple[str, ...]] = {}
        if filters.product is not None:
            names = self._names_like("product", filters.product)
            shared = self.shared_products.intersection(self.arrays.vocabularies["product"])
            allowed["product"] = tuple(sorted({*names, *shared}))
        if filters.component is not None:
            allowed["component"] = self._names_like("component", filters.component)
        for name, value in (("doc_type", filters.doc_type), ("language", filters.language), ("kind", filters.kind)):
            if value is not None:
                allowed[name] = (value,)
        if filters.file_types:
            allowed["file_type"] = tuple(sorted(set(filters.file_types)))
        if filters.tags:
            asked = {caseless(tag) for tag in filters.tags}
            allowed["tags"] = tuple(sorted(t for t in self.arrays.vocabularies["tags"] if caseless(t) in asked))
        return allowed

    def _names_like(self, column: str, wanted: str) -> tuple[str, ...]:
        """The name itself where a document has it, else all that are equal to it in their `caseless` form."""
        present = self._numbers(column)
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
        documents=np.full(1, _NO_DOCUMENT),
        chunks=np.full(1, _NO_CHUNK),
        tagged=np.empty((0, 2), dtype=np.int32),
        names=np.empty(0, dtype=np.int64),
        owners=np.empty(0, dtype=np.int64),
        links=[b""],
        mails={},
        paths=[""],
        vocabularies={name: {} for name in (*CODED, "tags", "threads")},
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
    chunk_ids = chunk_rows[:, 0]
    doc_ids = np.array([row[0] for row in documents], dtype=np.int64)
    more = max(0, int(doc_ids.max(initial=0)) + 1 - len(base.documents))
    copy = replace(
        base,
        documents=_extended(base.documents, more, _NO_DOCUMENT),
        chunks=_extended(base.chunks, int(chunk_ids.max(initial=0)) + 1 - len(base.chunks), _NO_CHUNK),
        mails=dict(base.mails),
        paths=base.paths + [""] * more,
        links=base.links + [b""] * more,
    )
    if forgotten:
        copy = _without(copy, np.array(forgotten, dtype=np.int64))
    copy.chunks["document"][chunk_ids], copy.chunks["text"][chunk_ids] = chunk_rows[:, 1], chunk_rows[:, 2]
    table = copy.documents
    table["group"][doc_ids] = table["same"][doc_ids] = doc_ids
    table["modified"][doc_ids] = [row[1] for row in documents]
    for place, name in enumerate(CODED, start=4):
        known = copy.vocabularies[name]
        table[name][doc_ids] = [known.setdefault(row[place], len(known)) for row in documents]
    for row in documents:
        copy.paths[row[0]], copy.links[row[0]] = row[2], bytes(row[-1])
    _write_mails(copy, documents)
    return _with_tags(_with_names(copy, doc_ids, [row[-2] for row in documents]), documents)


def _extended(table: Table, more: int, row: Table) -> Table:
    """A copy with so many such rows behind it, made of bytes: numpy copies fields one by one, six times as slowly."""
    raw = f"V{table.dtype.itemsize}"
    return np.concatenate((table.view(raw), np.full(max(0, more), row).view(raw))).view(table.dtype)


def _without(copy: Arrays, doc_ids: Ids) -> Arrays:
    """The copy, written into, as if these documents weren't there; ids beyond its ends are no error."""
    known = doc_ids[doc_ids < len(copy.documents)]
    dropped = np.zeros(max(len(copy.documents), int(doc_ids.max()) + 1), dtype=np.bool_)
    dropped[doc_ids] = True
    copy.chunks[dropped[copy.chunks["document"]]] = _NO_CHUNK
    copy.documents[known] = _NO_DOCUMENT
    for doc_id in known.tolist():
        copy.mails.pop(doc_id, None)
        copy.paths[doc_id], copy.links[doc_id] = "", b""
    staying = ~dropped[copy.owners]
    tagged = copy.tagged[~dropped[copy.tagged[:, 0]]]
    return replace(copy, tagged=tagged, names=copy.names[staying], owners=copy.owners[staying])


def _write_mails(copy: Arrays, documents: Sequence[tuple[Any, ...]]) -> None:
    """Write what mail filters look at, and the group of each conversation, into the copy."""
    threads = copy.vocabularies["threads"]
    for row in documents:
        thread_id, sender, subject, attachments, to, fingerprint = row[4 + len(CODED) : -2]
        if thread_id is None:
            continue
        copy.mails[row[0]] = Mail(thread_id, unaccented(sender), unaccented(subject), bool(attachments), unaccented(to))
        if fingerprint:
            copy.documents["same"][row[0]] = -1 - (hash(fingerprint) & _POSITIVE)
        if thread_id:
            copy.documents["group"][row[0]] = -1 - threads.setdefault(thread_id, len(threads))


def _with_tags(arrays: Arrays, documents: Sequence[tuple[Any, ...]]) -> Arrays:
    known = arrays.vocabularies["tags"]
    tags = [
        (row[0], known.setdefault(tag, len(known))) for row in documents if row[3] != "[]" for tag in json.loads(row[3])
    ]
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
