"""Cuts a passage into the windows that an embedding model reads, since models silently drop what exceeds their limit.

A passage that fits is one window; a longer one becomes several that overlap a little, each with the passage's prefix
(title and headings) in front.
"""

from __future__ import annotations

import hashlib
import logging
import re
from collections.abc import Callable, Sequence
from itertools import accumulate

from ..models import WINDOWS_PER_CHUNK, Window

PREFIX_TOKENS = 40  #: most that title and heading path may take of a window
OVERLAP_TOKENS = 16  #: a sentence's worth, so that what stands at a cut is read with its neighbours

#: Text → places of its tokens in characters, without special tokens.
Tokenize = Callable[[str], Sequence[tuple[int, int]]]

#: Pieces of at most four letters, single marks and single characters of scripts without spaces are no fewer than a
#: model's tokens, for text in any language.
_PIECE = re.compile(r"[A-Za-z]{1,4}|\d{1,2}|[^\W\dA-Za-z]|[^\w\s]|_")

_log = logging.getLogger(__name__)


def window_of(prefix: str, text: str, start: int, end: int) -> Window:
    """The window that holds `text[start:end]`; its hash covers exactly what is embedded."""
    body = text[start:end]
    whole = f"{prefix}\n{body}" if prefix else body
    return Window(whole, hashlib.sha256(whole.encode("utf-8", "surrogatepass")).hexdigest()[:32], start, end)


def estimated(text: str) -> list[tuple[int, int]]:
    """Places of pieces no fewer than the tokens of any model: for models whose tokenizer isn't here."""
    return [found.span() for found in _PIECE.finditer(text)]


def clip(text: str, tokenize: Tokenize, limit: int) -> str:
    """The longest start of `text` that has at most `limit` tokens by itself."""
    places = tokenize(text)
    while len(places) > limit:
        text = text[: places[limit][0]].rstrip()
        places = tokenize(text)
    return text


def cut(prefix: str, text: str, tokenize: Tokenize, limit: int, *, overlap: int = OVERLAP_TOKENS) -> list[Window]:
    """Windows of at most `limit` tokens (special tokens not counted) that together hold every token of `text`.

    `start` and `end` are characters of `text`; each window begins at or before the end of the one before it. Cuts
    fall between words where there are any. More than 64 windows don't fit the ids of vectors: the rest is left out
    with a warning, which takes a passage of over 10,000 tokens.
    """
    prefix = clip(prefix, tokenize, min(PREFIX_TOKENS, limit // 4))
    whole = window_of(prefix, text, 0, len(text))
    if len(tokenize(whole.text)) <= limit:
        return [whole]
    # Starts, ascending: byte-level tokenizers give a character several tokens, and a blank one of no width, which the
    # model reads like any other.
    starts = list(accumulate((start for start, _ in tokenize(text)), max))
    if not starts:
        return [window_of(prefix, text, 0, 0)]
    capacity = limit - len(tokenize(f"{prefix}\n")) if prefix else limit
    overlap = min(overlap, capacity // 4)
    windows: list[Window] = []
    first = last = 0
    while last < len(starts):
        if len(windows) == WINDOWS_PER_CHUNK:
            _log.warning(
                "A passage of %d tokens has more than %d windows; its end is left out.", len(starts), len(windows)
            )
            break
        last, window = _fill(prefix, text, tokenize, limit, starts, first, capacity)
        windows.append(window)
        first = _at_word(text, starts, range(max(first + 1, last - overlap), last), last)
    return windows


def _fill(
    prefix: str, text: str, tokenize: Tokenize, limit: int, starts: list[int], first: int, capacity: int
) -> tuple[int, Window]:
    """The fullest window from token `first` on, and the token after its last."""
    start = starts[first] if first else 0
    last = min(first + capacity, len(starts))
    while True:
        if last < len(starts):
            last = _at_word(text, starts, range(last, first + (last - first) // 2, -1), last)
        end = starts[last] if last < len(starts) else len(text)
        window = window_of(prefix, text, start, end)
        # A cut inside a word can tokenize otherwise than the whole did, so what is embedded is counted itself.
        excess = len(tokenize(window.text)) - limit
        if excess <= 0 or last <= first + 1:
            return last, window
        last = max(first + 1, last - excess)


def _at_word(text: str, starts: list[int], candidates: range, otherwise: int) -> int:
    """The first of these tokens that begins after a space."""
    return next((token for token in candidates if starts[token] and text[starts[token] - 1].isspace()), otherwise)
