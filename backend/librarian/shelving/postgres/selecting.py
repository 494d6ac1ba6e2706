"""A selection as a condition in SQL, for tables that know chunks by number."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from librarian.vocabulary.types import Selection

#: The columns that a name may choose: nothing else of a selection gets into a statement.
COLUMNS = {name: name for name in ("product", "component", "file_type", "doc_type", "language", "kind")}
FEW = 2_000  #: chunks that are sent by number; more are sent as a bit mask


def by_chunk(selection: Selection, column: str) -> tuple[str, Mapping[str, object]]:
    """(condition, its parameters) on `column`, an expression that gives a chunk's id.

    A mask is sent as bits, so that a million chunks are 125 KB and each row's test is one look.
    """
    mask = selection.mask
    if mask is None:
        return "true", {}
    inside = np.flatnonzero(mask)
    if inside.size <= FEW:
        return f"{column} = ANY(%(chunks)s::bigint[])", {"chunks": inside.tolist()}
    bits = np.packbits(mask, bitorder="little").tobytes()
    return (
        f"{column} < %(mask_size)s AND get_bit(%(mask)s::bytea, {column}) = 1",
        {"mask_size": int(mask.size), "mask": bits},
    )


def by_value(selection: Selection) -> tuple[str, Mapping[str, object]]:
    """(condition, its parameters) on a vector table's own columns, for selections that values alone make."""
    conditions: list[str] = []
    given: dict[str, object] = {}
    for name, values in selection.allowed.items():
        operator = "tags && %(tags)s::text[]" if name == "tags" else f"{COLUMNS[name]} = ANY(%({name})s::text[])"
        conditions.append(operator)
        given[name] = list(values)
    if selection.modified is not None:
        conditions.append("modified BETWEEN %(modified_low)s AND %(modified_high)s")
        given |= {"modified_low": selection.modified[0], "modified_high": selection.modified[1]}
    return " AND ".join(conditions) or "true", given
