"""Fills a library's vector spaces, one after the other; one that doesn't work keeps none of the others waiting."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass

from librarian.vocabulary.errors import Unavailable
from librarian.vocabulary.protocols import Catalog, Observer, VectorArchive

from .children import Children
from .embedding import Filling, Rate
from .spaces import EMBEDDINGS, Space, Spaces
from .vector_shelf import VectorShelf

_TIDY_AFTER = 1_000  # windows embedded, until vectors that nothing uses any more are looked for
BACKOFF_S = (60.0, 3600.0)  #: what failed is tried again after the first, doubling up to the second


class Unfilled(Unavailable):
    """The library's own space couldn't be filled; that and why is among the problems already."""


@dataclass(frozen=True, slots=True)
class Rest:
    """A further space that failed is left alone for a while."""

    error: Unavailable
    until: float  #: by the monotonic clock
    pause_s: float


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
        self._resting: dict[str, Rest] = {}  # by the name of their space

    def fill(self, wait: Callable[[], bool], stopped: Callable[[], bool]) -> tuple[int, bool]:
        """(passages done, whether all that can be embedded is).

        Raises `Unfilled` at the end where the library's own space failed. A further one that failed rests for a while.
        `wait` blocks while something more urgent goes on, and says whether to go on at all.
        """
        done = 0
        failed: dict[str, Unavailable] = {}
        spaces = self._spaces.settle()
        self._resting = {space.name: rest for space in spaces if (rest := self._resting.get(space.name))}
        for space in spaces:
            try:
                self._wake(space)
                done += self._fill(space, wait, stopped)
                self._resting.pop(space.name, None)
            except Unavailable as error:
                failed[space.part] = error
                if stopped():
                    return done, False
                self._lay(space, error)
            if stopped():
                return done, False
        self._say(failed)
        if own_error := failed.get(EMBEDDINGS):
            raise Unfilled(own_error.message, hint=own_error.hint)
        return done, True

    @property
    def again_at(self) -> float:
        """When a space that failed may be tried again, by the monotonic clock; 0 where none rests."""
        return min((rest.until for rest in self._resting.values()), default=0.0)

    def retry(self) -> None:
        """Forget what failed: all is tried again."""
        self.unfit.clear()
        self._resting = {}

    def _wake(self, space: Space) -> None:
        rest = self._resting.get(space.name)
        if rest is not None and time.monotonic() < rest.until:
            raise rest.error.with_traceback(None)

    def _lay(self, space: Space, error: Unavailable) -> None:
        rest = self._resting.get(space.name)
        if not space.name or (rest is not None and rest.error is error):
            return  # the library's own is the indexer's to try again; or it rests already
        pause_s = min(2 * rest.pause_s, BACKOFF_S[1]) if rest is not None else BACKOFF_S[0]
        self._resting[space.name] = Rest(error, time.monotonic() + pause_s, pause_s)

    def _fill(self, space: Space, wait: Callable[[], bool], stopped: Callable[[], bool]) -> int:
        """Embed what one space lacks; returns the number of passages done."""
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
            return done
        left = set(self._catalog.lacking(model, len(self.unfit) + 1, space.products)) - self.unfit.keys()
        if not left:
            with self._writing:
                models.retire_previous()
        if done:
            self._observe("embedded", chunks=done, windows=filling.embedded)
            self._tidy(model, filling.embedded)
        return done

    def _tidy(self, model: str, embedded: int) -> None:
        """Now and then drop vectors of texts that are no more, so that changes don't fill the disk."""
        self._untidy[model] = self._untidy.get(model, 0) + embedded
        if self._untidy[model] >= _TIDY_AFTER:
            with self._writing:
                self._archive.prune(model, self._shelf.hashes(model))
            self._untidy[model] = 0

    def _say(self, failed: dict[str, Unavailable]) -> None:
        for part in list(self._problems):  # others write of theirs meanwhile
            if part.startswith(EMBEDDINGS):
                del self._problems[part]
        if reasons := list(self.unfit.values()):
            self._problems[EMBEDDINGS] = (
                f"{len(reasons):,} passages can't be embedded ({reasons[0]}); keyword search finds them."
            )
        self._problems.update({part: str(error) for part, error in failed.items()})
