"""What documents and passages are called outside: the beginning of a URI, and a passage's id."""

from __future__ import annotations

from typing import Final

from .types import Chunk

SCHEME: Final = "librarian://docs/"  #: of a document's URI; its file path follows, percent-encoded


def passage_id(file_path: str, chunk: Chunk) -> str:
    """`file_path#chunk-<ordinal>@<hash8>`; opaque to callers."""
    return f"{file_path}#chunk-{chunk.ordinal}@{chunk.hash[:8]}"
