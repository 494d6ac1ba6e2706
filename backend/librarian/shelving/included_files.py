"""Which documents have to be read again because of files that they include."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping

from librarian.vocabulary.paths import state_of
from librarian.vocabulary.types import Included


def outdated_by_included(included: Mapping[str, tuple[Included, ...]], root: str) -> frozenset[str]:
    """File paths of the documents of which an included file isn't as it was, has come or is gone."""
    seen: dict[str, tuple[int, int]] = {}

    def is_as_it_was(file: Included) -> bool:
        if file.path not in seen:
            seen[file.path] = state_of(os.path.join(root, file.path))
        return seen[file.path] == (file.size, file.mtime_ns)

    return frozenset(path for path, files in included.items() if not all(map(is_as_it_was, files)))


def that_include(included: Mapping[str, tuple[Included, ...]], root: str, changed: Collection[str]) -> frozenset[str]:
    """File paths of the documents that include one of the `changed` paths (absolute), or something below one of them.

    Not compared by time: a clock tick can hold two writes.
    """
    found: set[str] = set()
    for path, files in included.items():
        for file in files:
            place = os.path.join(root, file.path)
            while place not in changed and (folder := os.path.dirname(place)) != place:
                place = folder
            if place in changed:
                found.add(path)
                break
    return frozenset(found)
