"""Servers and workers that share one library: who indexes, and who only embeds."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from typing import TYPE_CHECKING, Final

from .assembly_storage import Storage, storage
from .settings import Settings
from .shelving.embedding import Rate
from .shelving.migration import Copied, Entries, Side, copy_library
from .shelving.upkeep import Listeners, Upkeep
from .vocabulary.errors import SetupError
from .vocabulary.protocols import Embedder

if TYPE_CHECKING:
    from .shelving.postgres.shared_upkeep import SharedUpkeep
    from .shelving.postgres.worker import EmbeddingWorker

    Keeping = Upkeep | SharedUpkeep

STORAGES: Final = ("embedded", "postgres")


def keeping_of(upkeep: Upkeep, held: Storage, listeners: Listeners) -> tuple[Keeping, Callable[[int], None]]:
    """Who keeps the index true, and whom the indexer tells of new generations."""
    if held.shared is None:
        return upkeep, listeners
    from .shelving.postgres.shared_upkeep import SharedUpkeep

    shared = SharedUpkeep(
        upkeep, held.shared.database, held.catalog, held.shared.claims, held.shared.writers, listeners=listeners
    )
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
    made = EmbeddingWorker(
        held.shared.claims,
        held.archive,
        stores_for=held.stores,
        embedder=embed,
        company=held.shared.writers,
        progress=progress,
    )
    return made, held


def migrate(
    settings: Callable[[str], Settings],
    to: str,
    *,
    entries: Entries,
    progress: Callable[[str, int, int], None] = lambda *_: None,
) -> Copied:
    """Copy the library to the storage `to` from the other one; `settings` gives the settings for either.

    Raises `SetupError` where another server is indexing, the source is empty or the target isn't.
    """
    if to not in STORAGES:
        raise SetupError(f"No storage {to!r}.", hint=f"Use one of: {', '.join(STORAGES)}.")
    (other,) = set(STORAGES) - {to}
    with ExitStack() as held:
        sides = [held.enter_context(closing(storage(settings(name)))) for name in (other, to)]
        for each in sides:
            if each.shared is not None:
                held.enter_context(_turn(each))
        source, target = (Side(each.catalog, each.lexical, each.archive, each.stores) for each in sides)
        return copy_library(source, target, entries=entries, progress=progress)


@contextmanager
def _turn(held: Storage) -> Iterator[None]:
    """The turn to index, while this lasts."""
    assert held.shared is not None
    database = held.shared.database
    with database.session() as session:
        row = session.execute("SELECT pg_try_advisory_lock(%s)", (database.lock_key("indexer"),)).fetchone()
        if row is None or not row[0]:
            raise SetupError("A server is indexing this library.", hint="End the servers that use it, and try again.")
        yield
