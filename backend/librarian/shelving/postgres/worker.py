"""An embedding worker: takes passages from the queue that all share, gives them vectors, and waits for more."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

from librarian.vocabulary.errors import LibrarianError, SetupError
from librarian.vocabulary.protocols import Embedder, VectorArchive, VectorStore

from ..company import Company
from ..embedding import Filling, Rate, embedder_pool
from ..vector_shelf import VectorShelf
from .claims import ClaimingCatalog

logger = logging.getLogger(__name__)

PAUSE_S: Final = 2.0  #: between looks for work


class EmbeddingWorker:
    """Embeds for a library that another process indexes. `embedder` builds the model inside a child.

    `processes=0` embeds in this process.
    """

    def __init__(
        self,
        catalog: ClaimingCatalog,
        archive: VectorArchive,
        *,
        stores_for: Callable[[str], Sequence[VectorStore]],
        embedder: Callable[[], Embedder],
        company: Company,
        processes: int = 1,
        progress: Callable[[Rate], None] = lambda rate: None,
        pause_s: float = PAUSE_S,
    ) -> None:
        self._catalog = catalog
        self._stop = threading.Event()
        self._pause_s = pause_s
        self._pool = embedder_pool(embedder, processes)
        self._shelf = VectorShelf(catalog, archive, stores_for, lambda step: None, company=company)
        self._unfit: dict[int, str] = {}
        self._fill = partial(
            Filling,
            catalog,
            archive,
            self._shelf,
            lambda: self._pool,
            writing=threading.RLock(),
            fault=lambda step: None,
            wait=lambda: not self._stop.is_set(),
            progress=progress,
            unfit=self._unfit,
        )

    def run(self, *, until_done: bool = False) -> int:
        """Embed until `stop`, or until nothing is left; returns the number of passages done.

        A database that doesn't answer is asked again. Raises `SetupError` where the library uses another model.
        """
        model = self._fill().identify().fingerprint
        done = 0
        while not self._stop.is_set():
            try:
                done += self._round(model)
                if until_done and not self._catalog.pending(model, 1):
                    break
            except SetupError:
                raise
            except LibrarianError as error:
                logger.warning("%s Trying again.", error)
            self._stop.wait(self._pause_s)
        self._catalog.release()
        return done

    def stop(self) -> None:
        """End `run` after the passages that are under way."""
        self._stop.set()

    def close(self) -> None:
        """End the child."""
        self._stop.set()
        self._pool.close()

    def _round(self, model: str) -> int:
        with self._catalog.read() as reader:
            wanted = reader.meta("model")
        if not wanted:
            return 0  # the indexer hasn't said yet which model it wants
        if wanted != model:
            raise SetupError(
                f"This worker has the model {model}; the library is embedded with {wanted}.",
                hint="Give all servers and workers the same embeddings settings and the same version.",
            )
        self._shelf.use([model])
        done = self._fill().run(model)
        if done:
            self._catalog.bump()
        return done
