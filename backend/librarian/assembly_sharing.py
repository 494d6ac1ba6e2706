"""Servers and workers that share one library: who indexes, and who only embeds."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from .assembly_storage import Storage, storage
from .config.settings import Settings
from .shelving.embedding import Rate
from .shelving.upkeep import Listeners, Upkeep
from .vocabulary.errors import SetupError
from .vocabulary.protocols import Embedder

if TYPE_CHECKING:
    from .shelving.postgres.shared_upkeep import SharedUpkeep
    from .shelving.postgres.worker import EmbeddingWorker

    Keeping = Upkeep | SharedUpkeep


def keeping(upkeep: Upkeep, held: Storage, listeners: Listeners) -> tuple[Keeping, Callable[[int], None]]:
    """Who keeps the index true, and whom the indexer tells of new generations."""
    if held.shared is None:
        return upkeep, listeners
    from .shelving.postgres.shared_upkeep import SharedUpkeep

    shared = SharedUpkeep(upkeep, held.shared.database, held.catalog, held.shared.claims, listeners=listeners)
    return shared, shared.turn.tell


def worker(
    settings: Settings, embed: Callable[[], Embedder], *, progress: Callable[[Rate], None] = lambda rate: None
) -> tuple[EmbeddingWorker, Storage]:
    """A worker that embeds for a library in PostgreSQL, and the storage to close after it.

    `embed` builds the model in a child. Raises `SetupError` where the library isn't there or has no embeddings.
    """
    from .shelving.postgres.worker import EmbeddingWorker

    if settings.storage.catalog != "postgres" or not settings.embeddings.enabled:
        raise SetupError(
            "Workers embed for a library in PostgreSQL, with embeddings switched on.",
            hint="Set storage.catalog to postgres and embeddings.enabled to true, or leave out --worker.",
        )
    held = storage(settings)
    assert held.shared is not None
    made = EmbeddingWorker(held.shared.claims, held.archive, stores_for=held.stores, embedder=embed, progress=progress)
    return made, held
