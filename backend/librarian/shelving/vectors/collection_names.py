"""Names of collections, as Chroma takes them."""

from __future__ import annotations

import re
from typing import Final

_NAME: Final = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9._-]{1,510}[a-zA-Z0-9]")


def collection_name(name: str) -> str:
    """`name` where Chroma takes it (3–512 of letters, digits, `._-`, ending in letters or digits), else made so.

    >>> collection_name("docs"), collection_name("a"), collection_name("BAAI/bge small")
    ('docs', 'librarian-a', 'BAAI-bge-small')
    """
    if _NAME.fullmatch(name):
        return name
    cleaned = re.sub(r"[^a-zA-Z0-9._-]+", "-", name).strip("._-")[:500]
    return cleaned if _NAME.fullmatch(cleaned) else f"librarian-{cleaned}".rstrip("-")
