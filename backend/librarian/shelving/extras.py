"""Storages that not everyone needs are extras; this is the error that names the one that is missing."""

from __future__ import annotations

from librarian.vocabulary.errors import SetupError
from librarian.vocabulary.extras import install


def missing(extra: str, error: ImportError) -> SetupError:
    """What to raise where a library of `extra` can't be imported."""
    return SetupError(
        f"This storage needs the extra librarian[{extra}], which isn't installed ({error}).",
        hint=f"Run {install(extra)}, or choose another storage (storage.catalog, vector_db.store).",
    )
