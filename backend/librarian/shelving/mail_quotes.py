"""Which quotes of a conversation are worth a passage: those that no mail of the library says, each once.

Texts are compared as sets of shingles, runs of five words: another line width, marks, or a line that somebody cut
change few of them. What mails say themselves is never left out.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Self

from librarian.vocabulary.types import QUOTED_PATH, Chunk

_WORD = re.compile(r"[\u2e80-\u9fff]|[^\W\u2e80-\u9fff]+")  # ideographs are written without spaces
_SHINGLE = 5  #: words; of fewer, a quoted block isn't read as a passage
_COVERED = 0.5  #: of a quote's shingles that must be found for it to count as said elsewhere

_SAME = 0.8  #: of the shingles that two renderings of one mail share
_DIFFERENT = 50  #: shingles in which they may differ: a few lines that an archive adds or leaves out

Shingles = frozenset[int]  #: hashes, of this process alone


@dataclass(frozen=True, slots=True)
class Heard:
    """What a mail says itself, and its quotes by any key that is unique in the mail."""

    own: Shingles
    quotes: tuple[tuple[int, Shingles], ...]

    @classmethod
    def of(cls, chunks: Iterable[tuple[int, Chunk]]) -> Self:
        """A mail by its passages and their keys."""
        own: set[int] = set()
        quotes: list[tuple[int, Shingles]] = []
        for key, chunk in chunks:
            if is_quote(chunk):
                quotes.append((key, shingles(chunk.text)))
            else:
                own |= shingles(chunk.text)
        return cls(frozenset(own), tuple(quotes))


def is_quote(chunk: Chunk) -> bool:
    """Whether a passage is quoted history."""
    return chunk.heading_path[:1] == QUOTED_PATH


def shingles(text: str) -> Shingles:
    """Runs of words, hashed; a text of fewer words is one."""
    words = _WORD.findall(text.casefold())
    return frozenset(map(hash, zip(*(words[start:] for start in range(min(_SHINGLE, len(words)))), strict=False)))


def is_rendering(one: Shingles, other: Shingles) -> bool:
    """Whether two mails with one Message-ID say the same but for what archives do to them."""
    larger = max(len(one), len(other))
    different = larger - len(one & other)
    return different <= min(_DIFFERENT, (1 - _SAME) * larger) and larger > 0


def superfluous(mails: Sequence[Heard]) -> set[tuple[int, int]]:
    """(place of the mail, key of the quote) of all that is said elsewhere in a conversation.

    Longest quotes first, so that a mail quoted in part by one and whole by another is kept whole; linear in the words.
    """
    quotes = [(place, key, quote) for place, mail in enumerate(mails) for key, quote in mail.quotes]
    if not quotes:
        return set()
    said = Counter(one for mail in mails for one in mail.own)
    found: set[tuple[int, int]] = set()
    for place, key, quote in sorted(quotes, key=lambda item: -len(item[2])):
        own = mails[place].own
        missing = sum(1 for one in quote if said[one] <= (one in own))  # what its own mail says is not elsewhere
        if missing > len(quote) * (1 - _COVERED):
            said.update(quote)
        else:
            found.add((place, key))
    return found
