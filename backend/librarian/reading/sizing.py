"""How many tokens a text may come to, without a tokenizer.

Measured with the WordPiece tokenizer of all-MiniLM-L6-v2 over technical documentation: prose about 4.4 characters per
token, lists 4, tables and code 3. A character outside ASCII counts by its UTF-8 bytes, which puts an ideogram at about
one token and a Cyrillic letter at about two thirds of one, as that tokenizer does.
"""

from __future__ import annotations

_CHARACTERS_PER_TOKEN = {
    "paragraph": 4.4,
    "heading": 4.4,
    "quote": 4.2,
    "list": 4.0,
    "fence": 3.0,
    "table": 3.0,
    "html": 3.2,
}
_OTHER = 3.6
_PER_EXTRA_BYTE = 0.4


def estimate(text: str, kind: str = "paragraph") -> int:
    """Estimated tokens of `text`, at least 1."""
    size = len(text) / _CHARACTERS_PER_TOKEN.get(kind, _OTHER)
    if not text.isascii():
        size += (len(text.encode("utf-8", "surrogatepass")) - len(text)) * _PER_EXTRA_BYTE
    return int(size) + 1
