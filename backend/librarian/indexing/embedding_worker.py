"""Embeds what a library lacks, with a child process of its own."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager

from ..embeddings.base import Embedder
from ..errors import Unavailable
from ..models import Observer
from ..storage.base import Catalog, CatalogReader, EmbeddingCache
from ..vector_stores.sync import VectorSync
from .embedding import Filling, Identity, Rate
from .refresh import Children

logger = logging.getLogger(__name__)

_MODEL, _KEY = "model", "model_key"
_PREVIOUS, _PREVIOUS_KEY = "model_previous", "model_previous_key"
_ALL = (_KEY, _PREVIOUS, _PREVIOUS_KEY, _MODEL)


class ModelsInUse:
    """Kept in the catalog's meta. `key` names what would be loaded; the fingerprint is only known once it is."""

    def __init__(self, catalog: Catalog, vector_sync: VectorSync, key: str) -> None:
        self._key = key
        self._catalog = catalog
        self._vector_sync = vector_sync
        self._identified = False

    @staticmethod
    def held(reader: CatalogReader) -> list[str]:
        """Fingerprints: the model being filled, then the one that answers meanwhile where that is another."""
        return [model for key in (_MODEL, _PREVIOUS) if (model := reader.meta(key))]

    @staticmethod
    def facts(reader: CatalogReader) -> dict[str, str]:
        """What the catalog remembers of the models, by key."""
        return {key: reader.meta(key) for key in _ALL}

    def fingerprints(self) -> list[str]:
        """The models whose stores are kept: the one being filled, then the one that answers meanwhile."""
        with self._catalog.read() as reader:
            return self.held(reader)

    def answering(self) -> str:
        """Fingerprint of the model whose vectors answer; empty where there is none yet."""
        return self._catalog.fact(_PREVIOUS) or self._catalog.fact(_MODEL)

    def answering_key(self) -> str:
        """The key of the model whose vectors answer, where that isn't the wanted one; empty otherwise."""
        fact = self._catalog.fact
        if fact(_PREVIOUS):
            return fact(_PREVIOUS_KEY)
        return fact(_KEY) if fact(_MODEL) and fact(_KEY) != self._key else ""

    def changed(self) -> bool:
        """Whether another model is wanted than was last filled."""
        held = self._held()
        return bool(held[_MODEL]) and held[_KEY] != self._key

    def current(
        self, identify: Callable[[], Identity], writing: AbstractContextManager[object], pending: Callable[[str], bool]
    ) -> str:
        """The model to fill.

        `identify` starts a child, so it is only asked where the model may be another one, or where passages are
        `pending`, so that there is work for the child anyway. `writing` is held while stores change their role.
        """
        stored = self._meta(_MODEL)
        known = bool(stored and self._key) and self._meta(_KEY) == self._key
        if known and (self._identified or not pending(stored)):
            return stored
        model = identify().fingerprint
        self._identified = True
        if model != stored:
            with writing:
                self._change(stored, model)
        if self._meta(_KEY) != self._key:
            self._catalog.set_meta(_KEY, self._key)
        return model

    def drop_previous(self) -> None:
        """The current model is complete: the one before is no longer needed."""
        if previous := self._meta(_PREVIOUS):
            self._vector_sync.clear(previous)
            self._catalog.set_meta(_PREVIOUS, "")
            self._catalog.set_meta(_PREVIOUS_KEY, "")
            self._use()

    def _change(self, stored: str, model: str) -> None:
        complete = self._meta(_PREVIOUS) or stored
        key = self._meta(_PREVIOUS_KEY) if self._meta(_PREVIOUS) else self._meta(_KEY)
        if stored and stored != complete:  # was never finished
            self._vector_sync.clear(stored)
        if complete == model:
            complete = ""
        else:  # whatever lies in its stores was made for another catalog
            self._vector_sync.clear(model)
        if complete:
            logger.info("the embedding model has changed: passages are embedded again with %s", model)
        self._catalog.set_meta(_PREVIOUS_KEY, key if complete else "")
        self._catalog.set_meta(_PREVIOUS, complete)
        self._catalog.set_meta(_MODEL, model)
        self._use()

    def _use(self) -> None:
        self._vector_sync.use(self.fingerprints())

    def _held(self) -> dict[str, str]:
        with self._catalog.read() as reader:
            return self.facts(reader)

    def _meta(self, key: str) -> str:
        with self._catalog.read() as reader:
            return reader.meta(key)


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
        wanted: ids of documents whose passages are embedded first.
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
        wanted: Callable[[], Sequence[int]],
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
        self._wanted = wanted
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
            wanted=self._wanted,
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
