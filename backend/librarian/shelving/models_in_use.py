"""Which embedding model of a space is being filled, and which one answers meanwhile.

Vectors of two models never meet: each has its own stores. A changed model fills its stores beside those of the last
complete one, which answer until then and are emptied afterwards.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from librarian.vocabulary.protocols import Catalog, CatalogReader

from .embedding import Identity
from .vector_shelf import VectorShelf

if TYPE_CHECKING:
    from .spaces import Space

logger = logging.getLogger(__name__)

_MODEL, _KEY = "model", "model_key"
_PREVIOUS, _PREVIOUS_KEY = "model_previous", "model_previous_key"
_ALL = (_KEY, _PREVIOUS, _PREVIOUS_KEY, _MODEL)


class ModelsInUse:
    """Kept in the catalog's meta. A space's `key` names what would be loaded; the fingerprint is only known once it is.

    `elsewhere` gives the fingerprints that other spaces have: their stores are left alone.
    """

    def __init__(
        self, catalog: Catalog, shelf: VectorShelf, space: Space, elsewhere: Callable[[], Sequence[str]]
    ) -> None:
        self.key = space.key
        self._catalog = catalog
        self._shelf = shelf
        self._space = space.name
        self._elsewhere = elsewhere
        self._identified = False

    @staticmethod
    def held(reader: CatalogReader, space: str = "") -> list[str]:
        """A space's model being filled, then the one that answers meanwhile where that is another."""
        return [model for key in (_MODEL, _PREVIOUS) if (model := reader.meta(_of(key, space)))]

    @staticmethod
    def facts(reader: CatalogReader, space: str = "") -> dict[str, str]:
        """What the catalog remembers of a space's models, by key."""
        return {name: reader.meta(name) for key in _ALL if (name := _of(key, space))}

    def answering_key(self) -> str:
        """The key of the model whose vectors answer, where that isn't the wanted one; empty otherwise."""
        held = self._held()
        if held[_PREVIOUS]:
            return held[_PREVIOUS_KEY]
        return held[_KEY] if held[_MODEL] and held[_KEY] != self.key else ""

    def changed(self) -> bool:
        """Whether another model is wanted than was last filled."""
        held = self._held()
        return bool(held[_MODEL]) and held[_KEY] != self.key

    def current(
        self, identify: Callable[[], Identity], writing: AbstractContextManager[object], pending: Callable[[str], bool]
    ) -> str:
        """The model to fill.

        `identify` starts a child, so it is only asked where the model may be another one, or where passages are
        `pending`, so that there is work for the child anyway. `writing` is held while stores change their role.
        """
        stored = self._meta(_MODEL)
        known = bool(stored and self.key) and self._meta(_KEY) == self.key
        if known and (self._identified or not pending(stored)):
            return stored
        model = identify().fingerprint
        self._identified = True
        if model != stored:
            with writing:
                self._change(stored, model)
        if self._meta(_KEY) != self.key:
            self._set(_KEY, self.key)
        return model

    def retire_previous(self) -> None:
        """The current model is complete: the one before is no longer needed."""
        if previous := self._meta(_PREVIOUS):
            self._clear(previous)
            self._set(_PREVIOUS, "")
            self._set(_PREVIOUS_KEY, "")
            self._use()

    def retire(self) -> list[str]:
        """Nothing belongs to the space any more: empty its stores and forget its models, which are returned."""
        with self._catalog.read() as reader:
            models = self.held(reader, self._space)
        for model in models:
            self._clear(model)
        for key in _ALL:
            self._set(key, "")
        self._use()
        return models

    def _change(self, stored: str, model: str) -> None:
        complete = self._meta(_PREVIOUS) or stored
        key = self._meta(_PREVIOUS_KEY) if self._meta(_PREVIOUS) else self._meta(_KEY)
        if stored and stored != complete:  # was never finished
            self._clear(stored)
        if complete == model:
            complete = ""
        else:  # whatever lies in its stores was made for another catalog
            self._clear(model)
        if complete:
            logger.info("the embedding model has changed: passages are embedded again with %s", model)
        self._set(_PREVIOUS_KEY, key if complete else "")
        self._set(_PREVIOUS, complete)
        self._set(_MODEL, model)
        self._use()

    def _use(self) -> None:
        with self._catalog.read() as reader:
            self._shelf.use(dict.fromkeys([*self.held(reader, self._space), *self._elsewhere()]))

    def _clear(self, model: str) -> None:
        if model not in self._elsewhere():
            self._shelf.clear(model)

    def _held(self) -> dict[str, str]:
        with self._catalog.read() as reader:
            return {key: reader.meta(_of(key, self._space)) for key in _ALL}

    def _meta(self, key: str) -> str:
        with self._catalog.read() as reader:
            return reader.meta(_of(key, self._space))

    def _set(self, key: str, value: str) -> None:
        self._catalog.set_meta(_of(key, self._space), value)


def _of(key: str, space: str) -> str:
    return f"{key} of {space}" if space else key
