"""Short names of documents: their path in lower case, words and folders joined by hyphens."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable

from .page_files import slug_of


def slug_for(file_path: str) -> str:
    """The slug of a path.

    >>> slug_for("kube/Getting Started/Install.md")
    'kube-getting-started-install'
    """
    base = re.sub(r"\.[A-Za-z0-9]{1,8}$", "", file_path)
    return "-".join(part for piece in base.split("/") if (part := slug_of(piece))) or "document"


def slugs(file_paths: Iterable[str]) -> dict[str, str]:
    """Path → slug, each slug once. Of paths with equal slugs all but the first by name get a suffix of their own."""
    found: dict[str, str] = {}
    taken: set[str] = set()
    for path in sorted(file_paths):
        slug = slug_for(path)
        if slug in taken:
            slug = f"{slug}-{hashlib.sha256(path.encode()).hexdigest()[:8]}"
        taken.add(slug)
        found[path] = slug
    return found
