"""The catalog's columns in memory: which chunks may be answered with, decided by array arithmetic.

A `Columns` never changes; after a small put the next one is made from it by copying its arrays (2.4 MB for
200,000 chunks) and filling in what is new. Names are stored once, as codes into vocabularies that only grow and are
shared from one to the next.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..errors import CallerError
from ..models import Count, FileCounts, Filters, Ids, Kind, Selection
from ..text.characters import caseless, unaccented
from .database import LruCache
from .rows import FIRST, KEYS, LAST, NO_DATE, micros

Mask = npt.NDArray[np.bool_]
Table = npt.NDArray[np.void]
Row = tuple[Any, ...]

#: What a document has one value of and filters ask for by name, beside its tags, of which it may have several.
CODED = ("product", "component", "file_type", "doc_type", "language", "kind")
#: The rows that columns are made of.
DOCUMENTS = f"""SELECT d.id, d.modified, d.file_path, d.tags, {", ".join("d." + name for name in CODED)},
    e.thread_id, e.sender, e.subject, e.has_attachments, e.recipients, e.fingerprint, d.names, d.links
    FROM documents d LEFT JOIN emails e ON e.doc_id = d.id"""

#: A document's columns: `group` and `same` are its id, or one negative number for all mails of a thread, and for all
#: copies of a mail; `modified` is in µs since 1970; the codes of its names are −1 where there is no document.
_DOCUMENT = np.dtype(
    [("group", "i8"), ("same", "i8"), ("modified", "i8"), *((name, "i4") for name in CODED)], align=True
)
_NO_DOCUMENT = np.array((0, 0, NO_DATE, *(-1 for _ in CODED)), dtype=_DOCUMENT)
#: A chunk's columns: its document's id, and one number for all chunks of equal text; 0 where there is no chunk.
_CHUNK = np.dtype([("document", "i8"), ("text", "i8")])
_NO_CHUNK = np.zeros((), dtype=_CHUNK)

_CACHED_SELECTIONS = 64
_MOST_NAMES = 4  #: words of a person's name
_POSITIVE = 2**63 - 1  #: the bits of a hash but its sign
_UNIX_START = datetime(1970, 1, 1, tzinfo=UTC)


class Pairs(NamedTuple):
    """Numbers, rising, that documents have, and the document id of each."""

    documents: Ids
    numbers: Ids


@dataclass(frozen=True, slots=True)
class Mail:
    """What mail filters look at; sender, subject and recipients in their `unaccented` form."""

    thread_id: str
    sender: str
    subject: str
    has_attachments: bool
    recipients: str


@dataclass(frozen=True)
class Columns:
    """The columns at one generation, and what filters let through.

    `table`, `links` and `paths` are by document id, `chunks` by chunk id. The numbers of `tags` are codes, those of
    `names` the keys of what links may call documents; `links` are the packed keys of what a document's own links may
    mean. Vocabularies (of each of `CODED`, of tags and threads) give the codes of names; they only grow, so that older
    columns may go on using them.
    """

    generation: int
    shared_products: frozenset[str]
    table: Table
    chunks: Table
    tags: Pairs
    names: Pairs
    links: list[bytes]
    paths: list[str]  #: empty where there is no document
    mails: dict[int, Mail]  #: by document id
    vocabularies: dict[str, dict[str, int]]
    _selections: LruCache[Filters, Selection] = field(default_factory=lambda: LruCache(_CACHED_SELECTIONS), repr=False)

    @cached_property
    def documents(self) -> int:
        """How many documents there are, mails included."""
        return int(np.count_nonzero(self._alive))

    @cached_property
    def _alive(self) -> Mask:
        return np.asarray(self.table["kind"] >= 0)

    @cached_property
    def count(self) -> Count:
        """Totals, none of them embedded."""
        kinds, products = self._numbers("kind"), self._numbers("product")
        return Count(
            documents=kinds.get("document", 0),
            emails=kinds.get("email", 0),
            chunks=int(np.count_nonzero(self.chunks["document"])),
            embedded_chunks=0,
            products=len(products),
            by_product=dict(sorted(products.items())),
        )

    @cached_property
    def products(self) -> dict[str, dict[str, int]]:
        """Product → component → number of documents (mails included), by name."""
        return self._components(self._alive)

    @cached_property
    def _languages(self) -> tuple[str, ...]:
        counts = self._numbers("language")
        known = [name for name in counts if name]
        return tuple(dict.fromkeys([*known, "en"] if "" in counts else known))

    def languages(self) -> tuple[str, ...]:
        """Languages that documents are indexed in, most frequent first, ties by name. English is among them where a
        document's is unknown, last if no other document is in English."""
        return self._languages

    def file_counts(self, kind: Kind, among: Sequence[int] | None = None) -> FileCounts:
        """What filters on documents of this kind may choose from, `among` some documents if given."""
        chosen = self.table["kind"] == self.vocabularies["kind"].get(kind, -2)
        if among is not None:
            chosen &= _mask(len(chosen), [doc_id for doc_id in among if doc_id < len(chosen)])
        file_types, doc_types, languages = (
            {name: count for name, count in self._numbers(column, chosen).items() if name}
            for column in ("file_type", "doc_type", "language")
        )
        modified = self.table["modified"][chosen]
        dates = modified[modified != NO_DATE]
        return FileCounts(
            documents=int(np.count_nonzero(chosen)),
            products=self._components(chosen),
            file_types=file_types,
            doc_types=doc_types,
            languages=languages,
            tags=self._counted("tags", self.tags.numbers[chosen[self.tags.documents]]),
            oldest=_iso(int(dates.min())) if len(dates) else None,
            newest=_iso(int(dates.max())) if len(dates) else None,
        )

    def _numbers(self, column: str, chosen: Mask | None = None) -> dict[str, int]:
        """Value → how many documents have it, most first, ties by name; only values that some have."""
        return self._counted(column, self.table[column][self._alive if chosen is None else chosen])

    def _counted(self, column: str, codes: npt.NDArray[Any]) -> dict[str, int]:
        names = list(self.vocabularies[column])
        found = {names[code]: int(number) for code, number in enumerate(np.bincount(codes)) if number}
        return dict(sorted(found.items(), key=lambda item: (-item[1], item[0])))

    def _components(self, chosen: Mask) -> dict[str, dict[str, int]]:
        """Product → component → number of these documents, by name."""
        codes = np.stack((self.table["product"][chosen], self.table["component"][chosen]))
        pairs, numbers = np.unique(codes, axis=1, return_counts=True)
        products, components = list(self.vocabularies["product"]), list(self.vocabularies["component"])
        named = ((products[p], components[c], n) for p, c, n in zip(*pairs.tolist(), numbers.tolist(), strict=True))
        inside: dict[str, dict[str, int]] = {}
        for product, component, number in sorted(named):
            inside.setdefault(product, {})[component] = number
        return inside

    # -- chunks and documents by id --------------------------------------------------------------------------------

    def doc_of(self, chunk_ids: Ids) -> Ids:
        """Document id of each chunk id, 0 where unknown."""
        return _looked_up(self.chunks["document"], chunk_ids)

    def text_of(self, chunk_ids: Ids) -> Ids:
        """One number for all chunks of equal text; 0 where unknown."""
        return _looked_up(self.chunks["text"], chunk_ids)

    def modified_of(self, chunk_ids: Ids) -> Ids:
        """When each chunk's document was last modified, in µs since 1970; `NO_DATE` where unknown."""
        return np.asarray(self.table["modified"][self.doc_of(chunk_ids)])

    def group_of(self, chunk_ids: Ids) -> Ids:
        """Document id, or one negative number for all mails of a thread; 0 where unknown."""
        return np.asarray(self.table["group"][self.doc_of(chunk_ids)])

    def chunk_counts(self, doc_ids: Ids) -> Ids:
        """How many passages each of these documents has."""
        return _looked_up(self._chunk_counts, doc_ids)

    @cached_property
    def _chunk_counts(self) -> Ids:
        return np.bincount(self.chunks["document"])

    def senders(self, doc_ids: Ids) -> list[str]:
        """Each mail's sender in its `unaccented` form; empty for documents."""
        return [mail.sender if (mail := self.mails.get(doc_id)) else "" for doc_id in doc_ids.tolist()]

    def thread_size(self, file_path: str) -> int:
        """How many mails the thread of a mail has, copies counted once; 1 for a document."""
        doc_id = self.paths.index(file_path) if file_path in self.paths else 0
        thread = self.table["group"] == self.table["group"][doc_id]
        return max(1, len(np.unique(self.table["same"][thread])))

    def newest(self, filters: Filters, per_group: int) -> Ids:
        """Documents that pass and have passages, latest first; of copies of a mail one, of one thread at most
        `per_group` (0: all)."""
        ids = np.flatnonzero(self._chunk_counts)
        ids = ids[ids > 0]  # where ids of passages have no document
        if (passing := self.select(filters).doc_ids) is not None:
            ids = np.intersect1d(ids, passing, assume_unique=True)
        ids = ids[np.lexsort((ids, self.table["modified"][ids]))[::-1]]
        ids = ids[np.sort(np.unique(self.table["same"][ids], return_index=True)[1])]
        if not per_group:
            return ids
        seen: Counter[int] = Counter()
        chosen = []
        for place, group in enumerate(self.table["group"][ids].tolist()):
            seen[group] += 1
            if seen[group] <= per_group:
                chosen.append(place)
        return ids[np.array(chosen, dtype=np.int64)]

    # -- names and links -------------------------------------------------------------------------------------------

    def named(self, keys: Iterable[int], selection: Selection) -> Ids:
        """The first selected passage of each document that has a name with one of these keys; ids ascending."""
        owners, known = self.names
        asked = np.array(list(keys), dtype=np.int64)
        first, last = np.searchsorted(known, asked, "left"), np.searchsorted(known, asked, "right")
        documents = [owners[start:end] for start, end in zip(first, last, strict=True) if end > start]
        if not documents:
            return np.empty(0, dtype=np.int64)
        ids = np.flatnonzero(np.isin(self.chunks["document"], np.concatenate(documents)))
        ids = ids if selection.mask is None else ids[selection.mask[ids]]
        return ids[np.unique(self.chunks["document"][ids], return_index=True)[1]]

    def in_links(self, doc_ids: Ids, sources: Ids) -> Ids:
        """How many of the documents `sources`, each named once or more, link to each of these."""
        starts, counts, targets = self._links
        linking = np.unique(sources[sources < len(counts)])
        lengths = counts[linking]
        firsts = np.cumsum(lengths) - lengths
        linked = targets[np.repeat(starts[linking] - firsts, lengths) + np.arange(int(lengths.sum()))]
        return np.bincount(linked, minlength=int(doc_ids.max(initial=0)) + 1)[doc_ids]

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
        links = _unpacked(self.links)
        keys, places, holders = np.unique(self.names.numbers, return_index=True, return_counts=True)
        keys, owners = keys[holders == 1], self.names.documents[places[holders == 1]]
        number = len(self.table)
        pairs = np.empty(0, dtype=np.int64)
        if len(keys) and len(links.numbers):
            at = np.minimum(np.searchsorted(keys, links.numbers), len(keys) - 1)
            found = keys[at] == links.numbers
            pairs = np.unique(links.documents[found] * number + owners[at[found]])
        sources, targets = np.divmod(pairs, number)
        sources, targets = sources[sources != targets], targets[sources != targets]
        counts = np.bincount(sources, minlength=number)
        return np.cumsum(counts) - counts, counts, targets

    # -- selecting -------------------------------------------------------------------------------------------------

    def only(self, chunk_ids: Ids) -> Selection:
        """Just these chunks: a mask of full length with no filters; unknown ids are left out."""
        ids = np.asarray(chunk_ids, dtype=np.int64)
        documents = self.doc_of(ids)
        mask = _mask(len(self.chunks), ids[documents != 0])
        return Selection(Filters(), mask, int(np.count_nonzero(mask)), doc_ids=np.unique(documents[documents != 0]))

    def select(self, filters: Filters) -> Selection:
        """The chunks that pass the filters. Raises `CallerError` for a date that isn't one."""
        selection = self._selections.get(filters)
        if selection is None:
            selection = self._select(filters)
            self._selections.put(filters, selection)
        return selection

    def _select(self, filters: Filters) -> Selection:
        passing, allowed, modified = self._alive.copy(), self._allowed(filters), _bounds(filters)
        for name, values in allowed.items():
            known = self.vocabularies[name]
            codes = [known[value] for value in values if value in known]
            if name == "tags":
                passing &= _mask(len(passing), self.tags.documents[np.isin(self.tags.numbers, codes)])
            else:
                passing &= np.isin(self.table[name], codes)
        if modified is not None:
            passing &= (self.table["modified"] >= modified[0]) & (self.table["modified"] <= modified[1])
        complete = True
        for doc_ids in self._singled_out(filters):
            complete = False
            passing &= _mask(len(passing), doc_ids)
        if bool(np.array_equal(passing, self._alive)):
            return Selection(filters, None, int(np.count_nonzero(self.chunks["document"])))
        mask = passing[self.chunks["document"]]
        return Selection(
            filters,
            mask,
            int(np.count_nonzero(mask)),
            doc_ids=np.flatnonzero(passing).astype(np.int64),
            allowed=allowed,
            modified=modified,
            complete=complete,
        )

    def _allowed(self, filters: Filters) -> dict[str, tuple[str, ...]]:
        """For each coded filter that is given, the stored names that it lets through."""
        allowed: dict[str, tuple[str, ...]] = {}
        for name in ("product", "component"):
            if (wanted := getattr(filters, name)) is not None:
                # the name itself where a document has it, else all that are equal to it in their `caseless` form
                present = self._numbers(name)
                alike = [each for each in present if caseless(each) == caseless(wanted)]
                shared = self.shared_products.intersection(present) if name == "product" else ()
                allowed[name] = tuple(sorted({*([wanted] if wanted in present else alike), *shared}))
        for name in ("doc_type", "language", "kind"):
            if (wanted := getattr(filters, name)) is not None:
                allowed[name] = (wanted,)
        if filters.file_types:
            allowed["file_type"] = tuple(sorted(set(filters.file_types)))
        if filters.tags:
            asked = {caseless(tag) for tag in filters.tags}
            allowed["tags"] = tuple(sorted(tag for tag in self.vocabularies["tags"] if caseless(tag) in asked))
        return allowed

    def _singled_out(self, filters: Filters) -> Iterator[list[int]]:
        """For each filter that is given and looks at single documents, those that pass."""
        if filters.file_paths:
            wanted = set(filters.file_paths)
            yield [doc_id for doc_id, path in enumerate(self.paths) if path in wanted]
        if filters.absent:
            absent, inside = set(filters.absent), tuple(f"{path}/" for path in filters.absent)
            yield [n for n, path in enumerate(self.paths) if path not in absent and not path.startswith(inside)]
        of_mails = (filters.sender, filters.thread_id, filters.subject_contains, filters.has_attachments)
        if of_mails != (None,) * len(of_mails) or filters.recipients:
            senders = _forms(filters.sender or "")
            subject = unaccented(filters.subject_contains or "")
            recipients = [_forms(one) for one in filters.recipients]
            yield [
                doc_id
                for doc_id, mail in self.mails.items()
                if any(form in mail.sender for form in senders)
                and subject in mail.subject
                and all(any(form in mail.recipients for form in forms) for forms in recipients)
                and filters.thread_id in (None, mail.thread_id)
                and filters.has_attachments in (None, mail.has_attachments)
            ]


def _iso(moment: int) -> str:
    return (_UNIX_START + timedelta(microseconds=moment)).isoformat(timespec="seconds").replace("+00:00", "Z")


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


def _mask(size: int, places: Sequence[int] | Ids) -> Mask:
    mask = np.zeros(size, dtype=np.bool_)
    mask[np.asarray(places, dtype=np.int64)] = True
    return mask


def _bounds(filters: Filters) -> tuple[int, int] | None:
    """Both ends inclusive; None where no date is asked for."""
    if filters.modified_after is None and filters.modified_before is None:
        return None
    bounds = [FIRST, LAST]
    for place, name in enumerate(("modified_after", "modified_before")):
        if (date := getattr(filters, name)) is None:
            continue
        try:
            bounds[place] = micros(date, end_of_day=name == "modified_before")
        except (ValueError, OverflowError) as error:
            raise CallerError(
                f"{name} {date!r} is not a date.", hint="Give ISO 8601, such as 2026-01-31 or 2026-01-31T12:00:00Z."
            ) from error
    return bounds[0], bounds[1]


def columns_of(
    documents: Sequence[Row], chunks: Sequence[Row], generation: int, shared_products: frozenset[str]
) -> Columns:
    """Columns from rows of `DOCUMENTS` and (chunk id, document id, text key) rows."""
    nothing = Pairs(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64))
    empty = Columns(
        generation,
        shared_products,
        table=np.full(1, _NO_DOCUMENT),
        chunks=np.full(1, _NO_CHUNK),
        tags=nothing,
        names=nothing,
        links=[b""],
        paths=[""],
        mails={},
        vocabularies={name: {} for name in (*CODED, "tags", "threads")},
    )
    return columns_with(empty, documents, chunks, generation, ())


def columns_with(
    columns: Columns, documents: Sequence[Row], chunks: Sequence[Row], generation: int, changed: Sequence[int]
) -> Columns:
    """New columns in which the documents `changed` are as these rows say; those without a row are gone."""
    chunk_ids, documents_of, text_keys = np.array(chunks, dtype=np.int64).reshape(-1, 3).T
    doc_ids = np.array([row[0] for row in documents], dtype=np.int64)
    more = max(0, 1 + max((*changed, *doc_ids.tolist()), default=0) - len(columns.table))
    more_chunks = max(0, 1 + int(chunk_ids.max(initial=0)) - len(columns.chunks))
    table = np.concatenate((columns.table, np.full(more, _NO_DOCUMENT)))
    chunk_table = np.concatenate((columns.chunks, np.full(more_chunks, _NO_CHUNK)))
    paths, links, mails = columns.paths + [""] * more, columns.links + [b""] * more, dict(columns.mails)
    dropped = _mask(len(table), changed)
    table[dropped] = _NO_DOCUMENT
    chunk_table[dropped[chunk_table["document"]]] = _NO_CHUNK
    for doc_id in changed:
        paths[doc_id], links[doc_id] = "", b""
        mails.pop(doc_id, None)
    chunk_table["document"][chunk_ids], chunk_table["text"][chunk_ids] = documents_of, text_keys
    codes = columns.vocabularies
    table["group"][doc_ids] = table["same"][doc_ids] = doc_ids
    table["modified"][doc_ids] = [row[1] for row in documents]
    for place, name in enumerate(CODED, start=4):
        table[name][doc_ids] = [_code(codes[name], row[place]) for row in documents]
    for doc_id, _, path, *_, thread_id, sender, subject, attachments, to, fingerprint, _, targets in documents:
        paths[doc_id], links[doc_id] = path, bytes(targets)
        if thread_id is not None:
            mails[doc_id] = Mail(thread_id, unaccented(sender), unaccented(subject), bool(attachments), unaccented(to))
        if fingerprint:
            table["same"][doc_id] = -1 - (hash(fingerprint) & _POSITIVE)
        if thread_id:
            table["group"][doc_id] = -1 - _code(codes["threads"], thread_id)
    tagged = [(row[0], _code(codes["tags"], tag)) for row in documents if row[3] != "[]" for tag in json.loads(row[3])]
    places, keys = _unpacked([row[-2] for row in documents])
    return Columns(
        generation,
        columns.shared_products,
        table,
        chunk_table,
        _with_pairs(columns.tags, dropped, *np.array(tagged, dtype=np.int64).reshape(-1, 2).T),
        _with_pairs(columns.names, dropped, doc_ids[places], keys),
        links,
        paths,
        mails,
        codes,
    )


def _code(codes: dict[str, int], name: str) -> int:
    return codes.setdefault(name, len(codes))


def _with_pairs(held: Pairs, dropped: Mask, documents: Ids, numbers: Ids) -> Pairs:
    """What is held, but of the `dropped` documents, and these pairs."""
    staying, order = ~dropped[held.documents], np.argsort(numbers, kind="stable")
    known = held.numbers[staying]
    at = np.searchsorted(known, numbers[order], "right")
    return Pairs(np.insert(held.documents[staying], at, documents[order]), np.insert(known, at, numbers[order]))


def _unpacked(packed: Sequence[bytes]) -> Pairs:
    """The keys that are packed at these places, and the place of each."""
    keys = np.frombuffer(b"".join(packed), dtype=KEYS)
    owners = np.repeat(np.arange(len(packed)), [len(one) // keys.itemsize for one in packed])
    return Pairs(owners, keys)
