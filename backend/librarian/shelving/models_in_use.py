"""Which embedding model is being filled, and which one answers meanwhile.

Vectors of two models never meet: each has its own stores. A changed model fills its stores beside those of the last
complete one, which answer until then and are emptied afterwards.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import AbstractContextManager

from librarian.vocabulary.protocols import Catalog

from .embedding import Identity
from .vector_shelf import VectorShelf

logger = logging.getLogger(__name__)

_MODEL, _KEY, _PREVIOUS = "model", "model_key", "model_previous"


class ModelsInUse:
    """Kept in the catalog's meta. `key` names what would be loaded; the fingerprint is only known once it is."""

    def __init__(self, catalog: Catalog, shelf: VectorShelf, key: str) -> None:
        self._catalog = catalog
        self._shelf = shelf
        self._key = key
        self._identified = False

    def fingerprints(self) -> list[str]:
        """The model being filled, then the one that answers meanwhile where that is another."""
        return [model for key in (_MODEL, _PREVIOUS) if (model := self._meta(key))]

    def changed(self) -> bool:
        """Whether another model is wanted than was last filled."""
        return bool(self._meta(_MODEL)) and self._meta(_KEY) != self._key

    def current(self, identify: Callable[[], Identity], writing: AbstractContextManager[object]) -> str:
        """The model to fill.

        `identify` starts a child, so it is only asked where the model may be another one, or where there is work for
        the child anyway. `writing` is held while stores change their role.
        """
        stored = self._meta(_MODEL)
        known = bool(stored and self._key) and self._meta(_KEY) == self._key
        if known and (self._identified or not self._catalog.pending(stored, 1)):
            return stored
        model = identify().fingerprint
        self._identified = True
        if model != stored:
            with writing:
                self._change(stored, model)
        if self._meta(_KEY) != self._key:
            self._catalog.set_meta(_KEY, self._key)
        return model

    def retire_previous(self) -> None:
        """The current model is complete: the one before is no longer needed."""
        previous = self._meta(_PREVIOUS)
        if previous:
            self._shelf.clear(previous)
            self._catalog.set_meta(_PREVIOUS, "")
            self._shelf.use(self.fingerprints())

    def _change(self, stored: str, model: str) -> None:
        complete = self._meta(_PREVIOUS) or stored
        if stored and stored != complete:  # was never finished
            self._shelf.clear(stored)
        if complete == model:
            complete = ""
        else:  # whatever lies in its stores was made for another catalog
            self._shelf.clear(model)
        if complete:
            logger.info("the embedding model has changed: passages are embedded again with %s", model)
        self._catalog.set_meta(_PREVIOUS, complete)
        self._catalog.set_meta(_MODEL, model)
        self._shelf.use(self.fingerprints())

    def _meta(self, key: str) -> str:
        with self._catalog.read() as reader:
            return reader.meta(key)
