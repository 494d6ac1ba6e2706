"""Counts what the columns hold, for filters that people choose from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta

import numpy as np
import numpy.typing as npt

from ..models import FileCounts, Ids
from .rows import NO_DATE

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
