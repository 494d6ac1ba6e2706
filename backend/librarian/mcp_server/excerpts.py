"""A snippet made to fit: whole lines around the match, an open code fence closed, what is missing marked."""

from __future__ import annotations

import re
from collections.abc import Sequence

MARK = "[…]"
_PADDING = re.compile(r"(?<=-{3})-+|(?<= ) +")


def excerpt(text: str, highlights: Sequence[tuple[int, int]], limit: int) -> str:
    """`text` in at most about `limit` UTF-8 bytes, cut between lines around that with the most highlighted words.

    What aligns the cells of a table goes first. A line that alone is too long is cut between words.
    A fence that loses its end (or its beginning) gets one.
    The marks and fences come on top of `limit`: some 20 bytes.

    >>> excerpt("one\\ntwo\\nthree", [(4, 7)], 8)
    'one\\ntwo\\n[…]'
    """
    if len(text.encode()) <= limit:
        return text
    lines = text.split("\n")
    match, at = _best_line(text, lines, highlights)
    if lines[match].lstrip().startswith("|"):
        at = len(_squeezed(lines[match][:at]))
        lines = [_squeezed(line) if line.lstrip().startswith("|") else line for line in lines]
    first = last = match
    spent = len(lines[match].encode()) + 1
    if spent > limit:
        kept = [_cut_line(lines[match], at, limit)]
    else:
        grown = True
        while grown:  # one line before, one line after, as long as they fit
            grown = False
            for position in (first - 1, last + 1):
                if 0 <= position < len(lines) and spent + len(lines[position].encode()) + 1 <= limit:
                    spent += len(lines[position].encode()) + 1
                    first, last = min(first, position), max(last, position)
                    grown = True
        kept = lines[first : last + 1]
    opening = _open_fence(lines[:first])
    closing = _open_fence(([opening] if opening else []) + kept)
    return "\n".join(
        [
            *([MARK] if first > 0 else []),
            *([opening] if opening else []),
            *kept,
            *([_bare(closing)] if closing else []),
            *([MARK] if last < len(lines) - 1 else []),
        ]
    )


def _best_line(text: str, lines: Sequence[str], highlights: Sequence[tuple[int, int]]) -> tuple[int, int]:
    """The first line with the most different highlighted words, and where in it the first of them begins."""
    words: dict[int, set[str]] = {}
    begins: dict[int, int] = {}
    for start, end in sorted(highlights):
        line = text.count("\n", 0, start)
        words.setdefault(line, set()).add(text[start:end].lower())
        begins.setdefault(line, start)
    if not words:
        return 0, 0
    best = min(words, key=lambda line: (-len(words[line]), line))
    return best, begins[best] - sum(len(line) + 1 for line in lines[:best])


def _squeezed(row: str) -> str:
    """A table's row without what aligns its columns."""
    return _PADDING.sub("", row)


def _open_fence(lines: Sequence[str]) -> str:
    """The opening line of a code fence that `lines` leave open; empty where none is."""
    open_ = ""
    for line in lines:
        bare = _bare(line)
        if not bare:
            continue
        if not open_:
            open_ = line
        elif bare.startswith(_bare(open_)) and not line.strip().strip(bare[0]):
            open_ = ""
    return open_


def _bare(line: str) -> str:
    """The backticks or tildes that a fence line begins with; empty for other lines."""
    stripped = line.lstrip()
    for mark in ("`", "~"):
        run = stripped[: len(stripped) - len(stripped.lstrip(mark))]
        if len(run) >= 3:
            return run
    return ""


def _cut_line(line: str, at: int, limit: int) -> str:
    """The part of one long line around character `at`, cut between words where there are any."""
    before, after = line[:at], line[at:]
    before = before.encode()[-(limit // 3) :].decode(errors="ignore") if limit >= 3 else ""
    after = after.encode()[: limit - len(before.encode())].decode(errors="ignore")
    left, right = len(before) < at, at + len(after) < len(line)
    if left and " " in before:
        before = before.split(" ", 1)[1]
    if right and " " in after.strip():
        after = after.rsplit(" ", 1)[0]
    return f"{'…' if left else ''}{before}{after}{'…' if right else ''}"
