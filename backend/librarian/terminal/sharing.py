"""The commands for a library that several machines share: a worker that embeds, and the move to such a storage."""

from __future__ import annotations

import signal
import threading
from contextlib import ExitStack, closing
from typing import TYPE_CHECKING, Any, TextIO

from librarian.vocabulary.errors import CallerError
from librarian.vocabulary.private_umask import private_umask

from .place import Place

if TYPE_CHECKING:
    from librarian.settings import Settings

_SAID_EVERY = 1_000  #: passages


def work(place: Place, out: TextIO) -> None:
    """Embed for the library until SIGTERM or SIGINT."""
    from librarian import assembly_parts
    from librarian.assembly_sharing import worker

    settings = place.settings()
    said = 0

    def tell(rate: Any) -> None:
        nonlocal said
        if rate.done - said >= _SAID_EVERY or rate.done < said:
            said = rate.done
            out.write(f"{rate.done:,} of {rate.total:,} passages, {rate.per_s:.0f} a second\n")

    made, held = worker(settings, assembly_parts.embedding_child(settings), progress=tell)
    if threading.current_thread() is threading.main_thread():
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: made.stop())
    with private_umask(), closing(held), closing(made):
        out.write("Embedding for the library; end with Ctrl-C.\n")
        done = made.run()
    out.write(f"{done:,} passages embedded.\n")


def move_to(place: Place, to: str, out: TextIO | None) -> dict[str, Any]:
    """Copy the library into the storage `to`. Raises `SetupError` where another process owns it."""
    from dataclasses import asdict

    from librarian import assembly_parts
    from librarian.assembly_sharing import STORAGES, migrate
    from librarian.keeper.starting import owned

    if to not in STORAGES:
        raise CallerError(f"--to is {to!r}, which is no storage.", hint=f"Use {' or '.join(STORAGES)}.")
    chosen = place.settings()

    def settings(storage: str) -> Settings:
        store = chosen.vector_db.store
        fits = store in ("auto", "qdrant") or (store == "pgvector") == (storage == "postgres")
        return place.settings(storage__catalog=storage, vector_db__store=store if fits else "auto")

    def tell(what: str, done: int, total: int) -> None:
        if out is not None:
            out.write(f"{done:,} of {total:,} {what}\n")

    with private_umask(), ExitStack() as held:
        held.callback(owned(chosen.index.path, hint="End it (`librarian serve`, hosts), try again.").release)
        copied = migrate(settings, to, entries=assembly_parts.reader(chosen).entries, progress=tell)
    return {**asdict(copied), "to": to, "next": f"Set storage.catalog to {to} and start the servers."}
