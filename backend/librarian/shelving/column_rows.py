"""Columns made of the catalog's rows: all of them, or those before with what changed."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from librarian.vocabulary.changelogs import is_changelog
from librarian.vocabulary.types import Ids

from .columns import CODED, LoadedColumns, Mail, Vocabulary, unaccented
from .dates import NO_DATE

DOCUMENTS = f"""SELECT d.id, d.modified, d.file_path, d.tags, {", ".join("d." + name for name in CODED)},
    e.thread_id, e.sender, e.subject, e.has_attachments, e.recipients
    FROM documents d LEFT JOIN emails e ON e.doc_id = d.id"""


def columns_of(
    documents: Sequence[tuple[Any, ...]],
    chunks: Sequence[tuple[Any, ...]],
    generation: int,
    shared_products: frozenset[str],
) -> LoadedColumns:
    """Columns from rows of `DOCUMENTS` and (chunk id, document id, text key) rows."""
    empty = LoadedColumns(
        generation=generation,
        shared_products=shared_products,
        _doc_of=np.zeros(1, dtype=np.int32),
        _text=np.zeros(1, dtype=np.int64),
        _group=np.zeros(1, dtype=np.int64),
        _modified=np.full(1, NO_DATE, dtype=np.int64),
        _changelog=np.zeros(1, dtype=np.bool_),
        _codes={name: np.full(1, -1, dtype=np.int32) for name in CODED},
        _tagged=np.empty((0, 2), dtype=np.int32),
        _mails={},
        _paths={},
        _vocabularies={name: Vocabulary() for name in (*CODED, "tags", "threads")},
    )
    return _filled(empty, generation, documents, chunks, np.empty(0, dtype=np.int64))


def columns_with(
    columns: LoadedColumns,
    documents: Sequence[tuple[Any, ...]],
    chunks: Sequence[tuple[Any, ...]],
    generation: int,
    changed: Sequence[int],
) -> LoadedColumns:
    """New columns in which the documents `changed` are as these rows say; those without a row are gone."""
    return _filled(columns, generation, documents, chunks, np.array(changed, dtype=np.int64))


def _filled(
    base: LoadedColumns,
    generation: int,
    documents: Sequence[tuple[Any, ...]],
    chunks: Sequence[tuple[Any, ...]],
    forgotten: Ids,
) -> LoadedColumns:
    """A copy of `base` without the `forgotten` documents and with the given rows."""
    chunk_rows = np.array(chunks, dtype=np.int64).reshape(-1, 3)
    doc_ids = np.array([row[0] for row in documents], dtype=np.int64)
    length = max(len(base._group), int(doc_ids.max(initial=0)) + 1)
    highest = max(len(base._doc_of), int(chunk_rows[:, 0].max(initial=0)) + 1)
    doc_of, text = _longer(base._doc_of, highest, 0), _longer(base._text, highest, 0)
    group = _longer(base._group, length, 0)
    modified = _longer(base._modified, length, NO_DATE)
    changelog = _longer(base._changelog, length, 0)
    codes = {name: _longer(column, length, -1) for name, column in base._codes.items()}
    tagged, mails, paths = base._tagged, dict(base._mails), dict(base._paths)

    if len(forgotten):
        known = forgotten[forgotten < length]
        dropped = np.zeros(max(length, int(forgotten.max()) + 1), dtype=np.bool_)
        dropped[forgotten] = True
        gone = dropped[doc_of]
        doc_of[gone], text[gone] = 0, 0
        group[known], modified[known], changelog[known] = 0, NO_DATE, False
        for column in codes.values():
            column[known] = -1
        tagged = tagged[~dropped[tagged[:, 0]]]
        for doc_id in forgotten.tolist():
            mails.pop(doc_id, None)
        paths = {path: doc_id for path, doc_id in paths.items() if not dropped[doc_id]}

    doc_of[chunk_rows[:, 0]], text[chunk_rows[:, 0]] = chunk_rows[:, 1], chunk_rows[:, 2]
    group[doc_ids] = doc_ids
    modified[doc_ids] = np.array([row[1] for row in documents], dtype=np.int64)
    changelog[doc_ids] = np.array([is_changelog(row[2]) for row in documents], dtype=np.bool_)
    for place, name in enumerate(CODED, start=4):
        code = base._vocabularies[name].code
        codes[name][doc_ids] = np.array([code(row[place]) for row in documents], dtype=np.int32)
    tags: list[tuple[int, int]] = []
    for row in documents:
        doc_id = row[0]
        paths[row[2]] = doc_id
        if row[3] != "[]":
            tags.extend((doc_id, base._vocabularies["tags"].code(tag)) for tag in json.loads(row[3]))
        thread_id, sender, subject, attachments, to = row[4 + len(CODED) :]
        if thread_id is not None:
            mails[doc_id] = Mail(thread_id, unaccented(sender), unaccented(subject), bool(attachments), unaccented(to))
            if thread_id:
                group[doc_id] = -1 - base._vocabularies["threads"].code(thread_id)
    if tags:
        tagged = np.concatenate((tagged, np.array(tags, dtype=np.int32)))
    return LoadedColumns(
        generation=generation,
        shared_products=base.shared_products,
        _doc_of=doc_of,
        _text=text,
        _group=group,
        _modified=modified,
        _changelog=changelog,
        _codes=codes,
        _tagged=tagged,
        _mails=mails,
        _paths=paths,
        _vocabularies=base._vocabularies,
    )


def _longer(array: npt.NDArray[Any], length: int, fill: int) -> npt.NDArray[Any]:
    """A copy of a one-dimensional array, padded with `fill` to `length`."""
    longer = np.full(length, fill, dtype=array.dtype)
    longer[: len(array)] = array
    return longer
