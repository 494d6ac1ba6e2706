"""What ties documents together by links, as the catalog keeps it: two lists of keys with each document."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable
from itertools import starmap

import numpy as np

from librarian.vocabulary.cross_references import key_of, meant_by, names_of
from librarian.vocabulary.types import Document, Kind, Link, SourceFile

KEYS = "<i8"  #: how keys of names are packed

#: What `moved_reference_row` needs of a stored document; its id follows.
KIND_AND_STRUCTURE = "SELECT d.kind, t.structure FROM documents d JOIN texts t ON t.doc_id = d.id WHERE d.id ="


def reference_row(document: Document) -> tuple[bytes, bytes]:
    """What links may call a document, and what its own links may mean: their keys (`cross_references.key_of`), packed;
    nothing of a mail."""
    if document.kind == "email":
        return b"", b""
    meant: set[str] = set()
    for target in {link.target for link in document.links}:
        meant |= meant_by(document, target)
    return _packed_keys(names_of(document)), _packed_keys(meant)


def moved_reference_row(source: SourceFile, kind: Kind, structure: bytes) -> tuple[bytes, bytes]:
    """The same of a stored document at another path; `structure` as in `catalog_rows.text_row`."""
    kept = json.loads(zlib.decompress(structure))
    return reference_row(
        Document(
            file_path=source.file_path,
            product=source.product,
            component=source.component,
            kind=kind,
            file_type="",
            title="",
            text="",
            links=tuple(starmap(Link, kept["links"])),
            labels=tuple(kept.get("labels", ())),
            front_matter=kept["front_matter"],
        )
    )


def _packed_keys(names: Iterable[str]) -> bytes:
    return np.array(sorted(map(key_of, names)), dtype=KEYS).tobytes()
