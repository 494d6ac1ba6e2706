"""Embeds what a library lacks, with a child process of its own."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager

from ..embeddings.base import Embedder
from ..errors import Unavailable
from ..models import Observer
from ..storage.base import Catalog, EmbeddingCache
from ..vector_stores.sync import VectorSync
from .embedding import Filling, Rate
from .model_switch import ModelsInUse
from .refresh import Children

EMBEDDINGS = "embeddings"  #: the part that problems of embedding concern
_TIDY_AFTER = 1_000  # windows embedded, until vectors that nothing uses any more are looked for
BACKOFF_S = (60.0, 3600.0)  #: what failed is tried again after the first, doubling up to the second


class VectorWork:
    """Embeds what is pending.

    Args:
        embedder: builds the model inside a child; None where nothing is embedded.
        problems: what doesn't work, by part; those of embedding are kept here.
        writing: is held while the catalog and the stores are written.
        observe: hears what was embedded.
    """

    def __init__(
        self,
        catalog: Catalog,
        archive: EmbeddingCache,
        vector_sync: VectorSync,
        models: ModelsInUse,
        embedder: Callable[[], Embedder] | None,
        *,
        children: Children,
        errors: dict[str, str],
        writing: AbstractContextManager[object],
        fault: Callable[[str], None],
        observe: Observer,
        progress: Callable[[Rate], None],
    ) -> None:
        self._catalog = catalog
        self._archive = archive
        self._vector_sync = vector_sync
        self._models = models
        self._embedder = embedder
        self._children = children
        self._errors = errors
        self._writing = writing
        self._fault = fault
        self._observe = observe
        self._progress = progress
        self.unfit: dict[int, str] = {}  #: chunk id → why it can't be embedded
        self._untidy: dict[str, int] = {}  # model → windows embedded since unused ones were last dropped
        self.elsewhere = False  #: other processes hold passages, which they may leave behind

    def fill(self, wait: Callable[[], bool], stopped: Callable[[], bool]) -> tuple[int, bool]:
        """(passages done, whether all that can be embedded is). Raises `Unavailable` where that fails.

        `wait` blocks while something more urgent goes on, and says whether to go on at all.
        """
        if (embedder := self._embedder) is None:
            return 0, True
        try:
            return self._fill(embedder, wait, stopped)
        except Unavailable as error:
            if stopped():
                return 0, False
            self._errors[EMBEDDINGS] = str(error)
            raise

    def retry(self) -> None:
        """Forget what failed: all is tried again."""
        self.unfit.clear()

    def _fill(
        self, embedder: Callable[[], Embedder], wait: Callable[[], bool], stopped: Callable[[], bool]
    ) -> tuple[int, bool]:
        filling = Filling(
            self._catalog,
            self._archive,
            self._vector_sync,
            lambda: self._children.embedding(embedder),
            writing=self._writing,
            fault=self._fault,
            wait=wait,
            progress=self._progress,
            unfit=self.unfit,
        )
        model = self._models.current(
            filling.identify, self._writing, lambda stored: bool(self._catalog.pending_chunks(stored, 1))
        )
        done = filling.run(model)
        if stopped():
            return done, False
        left = set(self._catalog.pending_chunks(model, len(self.unfit) + 1)) - self.unfit.keys()
        if not left:
            with self._writing:
                self._models.drop_previous()
        if done:
            self._observe("embedded", chunks=done, windows=filling.embedded)
            self._tidy(model, filling.embedded)
        self.elsewhere = bool(left)
        self._errors.pop(EMBEDDINGS, None)
        if reasons := list(self.unfit.values()):
            self._errors[EMBEDDINGS] = (
                f"{len(reasons):,} passages can't be embedded ({reasons[0]}); keyword search finds them."
            )
        return done, True

    def _tidy(self, model: str, embedded: int) -> None:
        """Now and then drop vectors of texts that are no more, so that changes don't fill the disk."""
        self._untidy[model] = self._untidy.get(model, 0) + embedded
        if self._untidy[model] >= _TIDY_AFTER:
            with self._writing:
                self._archive.prune(model, self._vector_sync.hashes(model))
            self._untidy[model] = 0
