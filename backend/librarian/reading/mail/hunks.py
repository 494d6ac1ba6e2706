"""Lines of a patch, which begin with marks that mails have another meaning for: `-`, `--`, ` >`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

_HUNK = re.compile(r"@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@")
#: What stands above the first of them.
_HEADER = re.compile(
    r"---\s|\+\+\+\s|diff\s|[Ii]ndex[: ]|={20,}$|(?:new|old|deleted) (?:file )?mode |(?:dis)?similarity |"
    r"(?:rename|copy) |RCS file: |retrieving "
)
_MASK = "§"  #: no word, no rule, no mark of a quote


def with_masks(lines: Sequence[str]) -> list[str]:
    """The lines with another first character where it is a patch's; as long as they were."""
    if not any(line.startswith("@@ -") for line in lines):
        return list(lines)
    inside = set(_inside(lines))
    return [_MASK + line[1:] if line and place in inside else line for place, line in enumerate(lines)]


def patches(lines: Sequence[str]) -> list[tuple[int, int]]:
    """(first line with its header, first hunk) of the patches, in order; their lines may be masked."""
    found: list[tuple[int, int]] = []
    for hunk, line in enumerate(lines):
        if line.startswith("@@ -") and _HUNK.match(line):
            first = hunk
            while first > 0 and _HEADER.match(lines[first - 1]):
                first -= 1
            found.append((first, hunk))
    return found


def _inside(lines: Sequence[str]) -> Iterator[int]:
    """Places of the lines that hunks consist of, as many as their headers say, or up to what can be none of theirs."""
    place = 0
    while place < len(lines):
        header = _HUNK.match(lines[place])
        place += 1
        if header is None:
            continue
        old, new = (int(count) if count else 1 for count in header.groups())
        while place < len(lines) and (old > 0 or new > 0):
            mark = lines[place][:1]
            if mark not in ("", " ", "+", "-", "\\", "\t"):
                break
            old -= mark not in ("+", "\\")
            new -= mark not in ("-", "\\")
            yield place
            place += 1
