"""Which embedding model each crawled project was given, read from what its crawl remembers."""

from __future__ import annotations

import logging
from pathlib import Path

from librarian.vocabulary.errors import Damaged

from .crawl_state import FOLDER, CrawlState

logger = logging.getLogger(__name__)

Seen = tuple[int, int]  #: time and size of a file


class ProjectModels:
    """Project → model, of those projects for which one was chosen. A state is read again only once it has changed."""

    def __init__(self, index: Path) -> None:
        self._folder = index / FOLDER
        self._known: dict[Path, tuple[Seen, str]] = {}

    def __call__(self) -> dict[str, str]:
        """As the states are now; one that can't be read counts as it was before."""
        there: dict[Path, Seen] = {}
        for path in sorted(self._folder.glob("*.json")):
            try:
                status = path.stat()
            except FileNotFoundError:
                continue  # just removed
            there[path] = (status.st_mtime_ns, status.st_size)
        self._known = {path: known for path, known in self._known.items() if path in there}
        for path, seen in there.items():
            before = self._known.get(path, ((0, 0), ""))
            if before[0] != seen:
                self._known[path] = (seen, self._read(path, before[1]))
        return {path.stem: model for path, (_, model) in self._known.items() if model}

    @staticmethod
    def _read(path: Path, before: str) -> str:
        try:
            state = CrawlState.load(path)
        except Damaged as error:
            logger.warning("%s", error)
            return before
        return state.embedding_model if state is not None and state.model_chosen else ""
