"""Columns made of the catalog's rows: all of them, or those before with what changed."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from librarian.vocabulary.caseless import unaccented
from librarian.vocabulary.changelogs import is_changelog
from librarian.vocabulary.types import Ids

from .catalog_references import KEYS
from .columns import CODED, Arrays, LoadedColumns, Mail, Vocabulary
from .dates import NO_DATE

DOCUMENTS = f"""SELECT d.id, d.modified, d.file_path, d.tags, {", ".join("d." + name for name in CODED)},
    e.thread_id, e.sender, e.subject, e.has_attachments, e.recipients, e.fingerprint, d.names, d.links
    FROM documents d LEFT JOIN emails e ON e.doc_id = d.id"""


_NO_KEYS = np.empty((0, 2), dtype=np.int64)
_POSITIVE = 2**63 - 1  #: the bits of a hash but its sign


def columns_of(
    documents: Sequence[tuple[Any, ...]],
    chunks: Sequence[tuple[Any, ...]],
    generation: int,
    shared_products: frozenset[str],
) -> LoadedColumns:
    """Columns from rows of `DOCUMENTS` and (chunk id, document id, text key) rows."""
    empty = Arrays(
        doc_of=np.zeros(1, dtype=np.int32),
        text=np.zeros(1, dtype=np.int64),
        group=np.zeros(1, dtype=np.int64),
        same=np.zeros(1, dtype=np.int64),
        modified=np.full(1, NO_DATE, dtype=np.int64),
        changelog=np.zeros(1, dtype=np.bool_),
        codes={name: np.full(1, -1, dtype=np.int32) for name in CODED},
        tagged=np.empty((0, 2), dtype=np.int32),
        names=_NO_KEYS,
        links=_NO_KEYS,
        mails={},
        paths={},
        vocabularies={name: Vocabulary() for name in (*CODED, "tags", "threads")},
    )
    return LoadedColumns(generation, shared_products, _filled(empty, documents, chunks, ()))


def columns_with(
    columns: LoadedColumns,
    documents: Sequence[tuple[Any, ...]],
    chunks: Sequence[tuple[Any, ...]],
    generation: int,
    changed: Sequence[int],
) -> LoadedColumns:
    """New columns in which the documents `changed` are as these rows say; those without a row are gone."""
    return LoadedColumns(generation, columns.shared_products, _filled(columns.arrays, documents, chunks, changed))


def _filled(
    base: Arrays,
    documents: Sequence[tuple[Any, ...]],
    chunks: Sequence[tuple[Any, ...]],
    forgotten: Sequence[int],
) -> Arrays:
    """A copy of `base` without the `forgotten` documents and with the given rows."""
    chunk_rows = np.array(chunks, dtype=np.int64).reshape(-1, 3)
    doc_ids = np.array([row[0] for row in documents], dtype=np.int64)
    copy = _copied(
        base,
        chunks=int(chunk_rows[:, 0].max(initial=0)) + 1,
        documents=int(doc_ids.max(initial=0)) + 1,
    )
    if forgotten:
        copy = _without(copy, np.array(forgotten, dtype=np.int64))
    copy.doc_of[chunk_rows[:, 0]], copy.text[chunk_rows[:, 0]] = chunk_rows[:, 1], chunk_rows[:, 2]
    copy.group[doc_ids] = copy.same[doc_ids] = doc_ids
    copy.modified[doc_ids] = np.array([row[1] for row in documents], dtype=np.int64)
    copy.changelog[doc_ids] = np.array([is_changelog(row[2]) for row in documents], dtype=np.bool_)
    for place, name in enumerate(CODED, start=4):
        code = copy.vocabularies[name].code
        copy.codes[name][doc_ids] = np.array([code(row[place]) for row in documents], dtype=np.int32)
    copy.paths.update((row[2], row[0]) for row in documents)
    _write_mails(copy, documents)
    copy = replace(
        copy,
        names=_with_keys(copy.names, doc_ids, [row[-2] for row in documents]),
        links=_with_keys(copy.links, doc_ids, [row[-1] for row in documents]),
    )
    return _with_tags(copy, documents)


def _copied(base: Arrays, *, chunks: int, documents: int) -> Arrays:
    """A copy to be written into, for at least so many chunk and document ids; it shares `base`'s vocabularies."""
    documents, chunks = max(len(base.group), documents), max(len(base.doc_of), chunks)
    return replace(
        base,
        doc_of=_longer(base.doc_of, chunks, 0),
        text=_longer(base.text, chunks, 0),
        group=_longer(base.group, documents, 0),
        same=_longer(base.same, documents, 0),
        modified=_longer(base.modified, documents, NO_DATE),
        changelog=_longer(base.changelog, documents, 0),
        codes={name: _longer(column, documents, -1) for name, column in base.codes.items()},
        mails=dict(base.mails),
        paths=dict(base.paths),
    )


def _without(copy: Arrays, doc_ids: Ids) -> Arrays:
    """The copy, written into, as if these documents weren't there; ids beyond its ends are no error."""
    known = doc_ids[doc_ids < len(copy.group)]
    dropped = np.zeros(max(len(copy.group), int(doc_ids.max()) + 1), dtype=np.bool_)
    dropped[doc_ids] = True
    gone = dropped[copy.doc_of]
    copy.doc_of[gone], copy.text[gone] = 0, 0
    copy.group[known], copy.same[known], copy.modified[known], copy.changelog[known] = 0, 0, NO_DATE, False
    for column in copy.codes.values():
        column[known] = -1
    for doc_id in doc_ids.tolist():
        copy.mails.pop(doc_id, None)
    return replace(
        copy,
        tagged=copy.tagged[~dropped[copy.tagged[:, 0]]],
        names=copy.names[~dropped[copy.names[:, 0]]],
        links=copy.links[~dropped[copy.links[:, 0]]],
        paths={path: doc_id for path, doc_id in copy.paths.items() if not dropped[doc_id]},
    )


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


def _with_keys(rows: Ids, doc_ids: Ids, packed: Sequence[bytes]) -> Ids:
    """The (document id, key) rows, and those of these documents' packed keys."""
    keys = np.frombuffer(b"".join(packed), dtype=KEYS)
    if not len(keys):
        return rows
    owners = np.repeat(doc_ids, [len(one) // keys.itemsize for one in packed])
    return np.concatenate((rows, np.stack((owners, keys), axis=1)))


def _longer(array: npt.NDArray[Any], length: int, fill: int) -> npt.NDArray[Any]:
    """A copy of a one-dimensional array, padded with `fill` to `length`."""
    longer = np.full(length, fill, dtype=array.dtype)
    longer[: len(array)] = array
    return longer
