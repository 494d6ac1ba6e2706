"""Which embedding model of a library is being filled, and which one answers meanwhile.

Vectors of two models never meet: each has its own stores. A changed model fills its stores beside those of the last
complete one, which answer until then and are emptied afterwards.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import AbstractContextManager

from ..storage.base import Catalog, CatalogReader
from ..vector_stores.sync import VectorSync
from .embedding import Identity

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
        return next(reversed(self.fingerprints()), "")

    def answering_key(self) -> str:
        """The key of the model whose vectors answer, where that isn't the wanted one; empty otherwise."""
        held = self._held()
        if held[_PREVIOUS]:
            return held[_PREVIOUS_KEY]
        return held[_KEY] if held[_MODEL] and held[_KEY] != self._key else ""

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
