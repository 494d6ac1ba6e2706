"""Which symbolic links lead to a path: a change of a file concerns the documents that are read through its links."""

from __future__ import annotations

import os
from pathlib import PurePath
from typing import Final

_MOST_STEPS: Final = 40  #: links that one path may lead through, as in Linux; more are a loop


class Links:
    """The links of a library, each by all that it leads through. Paths are absolute; links need not lead anywhere."""

    def __init__(self) -> None:
        #: Another link, an end or a folder above one, by its real path → the links whose way it is on.
        self._through: dict[str, set[str]] = {}
        self._ends: dict[str, set[str]] = {}  # what the links lead to → those links

    def remember(self, link: str) -> None:
        """Find out where `link` leads now."""
        steps = _steps(link)
        self._ends.setdefault(steps[-1], set()).add(link)
        for step in steps[1:]:
            for place in (step, *map(str, PurePath(step).parents)):
                self._through.setdefault(place, set()).add(link)

    def to(self, path: str) -> list[str]:
        """Where `path`, as it is or as it was, can also be seen: links that lead to it, through it or below it, and
        paths below links to a folder that it lies in."""
        if not self._ends:
            return []
        folder, name = os.path.split(path)
        above = os.path.join(os.path.realpath(folder), name)
        found = set(self._through.get(above, ()))
        rest = ""
        while (parent := os.path.dirname(above)) != above:
            rest = os.path.join(os.path.basename(above), rest) if rest else os.path.basename(above)
            above = parent
            found.update(os.path.join(link, rest) for link in self._ends.get(above, ()))
        return sorted(found)


def _steps(link: str) -> list[str]:
    """Every link that stands on the way of `link`, itself the first, and the end; each by its real path."""
    met = [os.path.join(os.path.realpath(os.path.dirname(link)), os.path.basename(link))]
    current, left = os.path.dirname(met[0]), _parts(link)
    while left:
        part = left.pop()
        if os.path.isabs(part):
            current = part
            continue
        current = os.path.dirname(current) if part == os.pardir else os.path.join(current, part)
        if os.path.islink(current) and len(met) < _MOST_STEPS:
            met.append(current)
            left += _parts(current)
            current = os.path.dirname(current)
    return [*met, current]


def _parts(link: str) -> list[str]:
    """What a link holds, the last part first; an absolute one ends with its root."""
    return list(reversed(PurePath(os.readlink(link)).parts))
