"""Fills a library's vector spaces, one after the other; one that doesn't work keeps none of the others waiting."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager

from librarian.vocabulary.errors import Unavailable
from librarian.vocabulary.protocols import Catalog, Observer, VectorArchive

from .children import Children
from .embedding import Filling, Rate
from .spaces import EMBEDDINGS, Space, Spaces
from .vector_shelf import VectorShelf

_TIDY_AFTER = 1_000  # windows embedded, until vectors that nothing uses any more are looked for


class Unfilled(Unavailable):
    """A space couldn't be filled; which, and why, is among the problems already."""


class VectorWork:
    """Embeds what the spaces lack, with children of their own for each.

    Args:
        problems: what doesn't work, by part; those of embedding are kept here.
        writing: is held while the catalog and the stores are written.
        observe: hears what was embedded.
    """

    def __init__(
        self,
        catalog: Catalog,
        archive: VectorArchive,
        shelf: VectorShelf,
        spaces: Spaces,
        *,
        children: Children,
        problems: dict[str, str],
        writing: AbstractContextManager[object],
        fault: Callable[[str], None],
        observe: Observer,
        progress: Callable[[Rate], None],
    ) -> None:
        self._catalog = catalog
        self._archive = archive
        self._shelf = shelf
        self._spaces = spaces
        self._children = children
        self._problems = problems
        self._writing = writing
        self._fault = fault
        self._observe = observe
        self._progress = progress
        self.unfit: dict[int, str] = {}  #: chunk id → why it can't be embedded
        self._untidy: dict[str, int] = {}  # model → windows embedded since unused ones were last dropped
        self.elsewhere = False  #: other processes hold passages, which they may leave behind

    def fill(self, wait: Callable[[], bool], stopped: Callable[[], bool]) -> tuple[int, bool]:
        """(passages done, whether all that can be embedded is). Raises `Unfilled` at the end where a space failed.

        `wait` blocks while something more urgent goes on, and says whether to go on at all.
        """
        done, elsewhere = 0, False
        failed: dict[str, Unavailable] = {}
        for space in self._spaces.settle():
            try:
                own, others = self._fill(space, wait, stopped)
                done, elsewhere = done + own, elsewhere or others
            except Unavailable as error:
                failed[space.part] = error
            if stopped():
                return done, False
        self.elsewhere = elsewhere
        self._say(failed)
        if failed:
            first = next(iter(failed.values()))
            raise Unfilled(first.message, hint=first.hint)
        return done, True

    def _fill(self, space: Space, wait: Callable[[], bool], stopped: Callable[[], bool]) -> tuple[int, bool]:
        """(passages done, whether other processes hold some)."""
        filling = Filling(
            self._catalog,
            self._archive,
            self._shelf,
            lambda: self._children.embedding(space.name, space.embedder),
            within=space.products,
            writing=self._writing,
            fault=self._fault,
            wait=wait,
            progress=self._progress,
            unfit=self.unfit,
        )
        models = self._spaces.of(space)
        model = models.current(
            filling.identify, self._writing, lambda stored: bool(self._catalog.lacking(stored, 1, space.products))
        )
        done = filling.run(model)
        if stopped():
            return done, False
        left = set(self._catalog.lacking(model, len(self.unfit) + 1, space.products)) - self.unfit.keys()
        if not left:
            with self._writing:
                models.retire_previous()
        if done:
            self._observe("embedded", chunks=done, windows=filling.embedded)
            self._tidy(model, filling.embedded)
        return done, bool(left)

    def _tidy(self, model: str, embedded: int) -> None:
        """Now and then drop vectors of texts that are no more, so that changes don't fill the disk."""
        self._untidy[model] = self._untidy.get(model, 0) + embedded
        if self._untidy[model] >= _TIDY_AFTER and not self._shelf.shared:  # elsewhere another may be about to use one
            with self._writing:
                self._archive.prune(model, self._shelf.hashes(model))
            self._untidy[model] = 0

    def _say(self, failed: dict[str, Unavailable]) -> None:
        for part in [part for part in self._problems if part.startswith(EMBEDDINGS)]:
            del self._problems[part]
        if self.unfit:
            self._problems[EMBEDDINGS] = (
                f"{len(self.unfit):,} passages can't be embedded ({next(iter(self.unfit.values()))});"
                " keyword search finds them."
            )
        self._problems.update({part: str(error) for part, error in failed.items()})
