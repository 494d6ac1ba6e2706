"""A library's vector spaces: which model embeds which products, and the vectors of none outlive their space.

The library's own model embeds every product that no other space names. What is in use is kept in the catalog, so that
other processes see it too. A library without further spaces pays for none of this.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial

from librarian.vocabulary.protocols import Catalog, CatalogReader, Embedder, VectorArchive
from librarian.vocabulary.types import ALL_PRODUCTS, Products

from .models_in_use import ModelsInUse
from .vector_shelf import VectorShelf

logger = logging.getLogger(__name__)

EMBEDDINGS = "embeddings"  #: the part that problems concern; of further spaces it says more
_SPACES = "spaces"  # in the catalog's meta: name → products, as JSON


@dataclass(frozen=True, slots=True)
class Space:
    """A model and the products that it embeds.

    `embedder` builds it inside a child, `key` names what would be built (model, backend, server).
    """

    embedder: Callable[[], Embedder]
    key: str
    name: str = ""  #: of the model; empty: the library's own
    products: Products = ALL_PRODUCTS

    @property
    def part(self) -> str:
        """What a problem with it concerns."""
        return f"{EMBEDDINGS} of {', '.join(sorted(self.products.named))}" if self.name else EMBEDDINGS


@dataclass(frozen=True, slots=True)
class Answering:
    """A further space as whoever searches finds it."""

    name: str
    products: frozenset[str]
    fingerprint: str  #: empty until its model has been loaded once


def products_by_space(reader: CatalogReader) -> dict[str, frozenset[str]]:
    """The further spaces in use: name of the model → its products."""
    held = reader.meta(_SPACES)
    return {name: frozenset(products) for name, products in json.loads(held).items()} if held else {}


def own_products(reader: CatalogReader) -> Products:
    """What the library's own model embeds."""
    return Products(frozenset[str]().union(*products_by_space(reader).values()))


def models(reader: CatalogReader, *, but: str | None = None) -> list[str]:
    """Fingerprints of all spaces' models (of all but one space's), each being filled before what answers meanwhile."""
    names = [name for name in ("", *products_by_space(reader)) if name != but]
    return list(dict.fromkeys(model for name in names for model in ModelsInUse.held(reader, name)))


def facts(reader: CatalogReader) -> dict[str, str]:
    """What the catalog remembers of spaces and their models, by key."""
    found = {_SPACES: reader.meta(_SPACES)}
    for name in ("", *products_by_space(reader)):
        found |= ModelsInUse.facts(reader, name)
    return found


class Spaces:
    """Keeps spaces and what they hold in step with what is wanted.

    Args:
        own: of the library's own model; None where nothing is embedded.
        further: those wanted besides, asked before each filling. Their products may be ones that aren't there.
        writing: is held while stores change their role.
    """

    def __init__(
        self,
        catalog: Catalog,
        archive: VectorArchive,
        shelf: VectorShelf,
        own: Space | None,
        further: Callable[[], Sequence[Space]],
        writing: AbstractContextManager[object],
    ) -> None:
        self._catalog = catalog
        self._archive = archive
        self._shelf = shelf
        self._own = own
        self._further = further
        self._writing = writing
        self._models: dict[str, ModelsInUse] = {}

    # -- what there is ---------------------------------------------------------------------------------------------

    def fingerprints(self) -> list[str]:
        """The models whose stores are kept: of each space the one being filled, and one that answers meanwhile."""
        return self._fingerprints()

    def _fingerprints(self, but: str | None = None) -> list[str]:
        with self._catalog.read() as reader:
            return models(reader, but=but)

    def answering(self) -> str:
        """Fingerprint of the library's own model, as it answers; empty where there is none yet."""
        with self._catalog.read() as reader:
            return next(reversed(ModelsInUse.held(reader)), "")

    def answering_key(self) -> str:
        """The key of the library's own model, as it answers, where that isn't the configured one; empty otherwise."""
        return self.of(self._own).answering_key() if self._own is not None else ""

    def further(self) -> tuple[Answering, ...]:
        """The other spaces, as they answer."""
        with self._catalog.read() as reader:
            return tuple(
                Answering(name, products, next(reversed(ModelsInUse.held(reader, name)), ""))
                for name, products in products_by_space(reader).items()
            )

    def changed(self) -> bool:
        """Whether another model is wanted for the library than was last filled."""
        return self._own is not None and self.of(self._own).changed()

    def moved(self) -> bool:
        """Whether products have come to another space since the last filling."""
        with self._catalog.read() as reader:
            return self._named(self._wanted(reader)) != products_by_space(reader)

    def of(self, space: Space) -> ModelsInUse:
        """The models of a space."""
        found = self._models.get(space.name)
        if found is None or found.key != space.key:
            elsewhere = partial(self._fingerprints, space.name)
            found = self._models[space.name] = ModelsInUse(self._catalog, self._shelf, space, elsewhere)
        return found

    # -- keeping in step -------------------------------------------------------------------------------------------

    def settle(self) -> list[Space]:
        """Take up what is wanted now; returns the spaces to be filled, the library's own first.

        A space that nothing belongs to any more loses its stores, and products that have come to another space their
        old vectors. The archive keeps all for a while, as it does those of deleted text.
        """
        if self._own is None:
            return []
        with self._catalog.read() as reader:
            held, wanted = products_by_space(reader), self._wanted(reader)
        if not held and not wanted:
            return [self._own]
        named = self._named(wanted)
        own = Space(self._own.embedder, self._own.key, products=Products(frozenset[str]().union(*named.values())))
        spaces = [own, *wanted]
        with self._writing:
            for name in held.keys() - named.keys():
                logger.info("no product is embedded with %s any more", name)
                for model in self.of(Space(self._own.embedder, "", name)).retire():
                    self._archive.prune(model, self._shelf.hashes(model))
                del self._models[name]
            if named != held:
                self._catalog.set_meta(_SPACES, json.dumps({name: sorted(of) for name, of in named.items()}))
            self._drop_strays(spaces)
        return spaces

    def _wanted(self, reader: CatalogReader) -> list[Space]:
        """The further spaces whose products are there."""
        if self._own is None:
            return []
        further = self._further()
        there = frozenset(reader.products()) if further else frozenset()
        return [
            Space(space.embedder, space.key, space.name, Products(named, others=False))
            for space in further
            if (named := space.products.named & there)
        ]

    @staticmethod
    def _named(spaces: Sequence[Space]) -> dict[str, frozenset[str]]:
        return {space.name: space.products.named for space in spaces}

    def _drop_strays(self, spaces: Sequence[Space]) -> None:
        """Vectors of products outside the spaces that a model serves: what was there before, or was moved away."""
        holders: dict[str, Products] = {}
        with self._catalog.read() as reader:
            for space in spaces:
                for model in ModelsInUse.held(reader, space.name):
                    holders[model] = holders[model] | space.products if model in holders else space.products
        for model, products in holders.items():
            if not products.everything:
                self._shelf.drop(model, ~products)
