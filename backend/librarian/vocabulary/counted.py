"""Numbers with the word for what they count."""

from __future__ import annotations


def counted(number: int, word: str) -> str:
    """A number with its word, which makes its plural with an s.

    >>> counted(1, "passage"), counted(2_000, "passage")
    ('1 passage', '2000 passages')
    """
    return f"{number} {word}" if number == 1 else f"{number} {word}s"
