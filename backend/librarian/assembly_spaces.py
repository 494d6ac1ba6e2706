"""The vector spaces of projects that were crawled with a model of their own, as indexing and searching want them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from functools import partial

from .assembly_parts import embedder_for_questions, embedding_child, model_key
from .gathering.project_models import ProjectModels
from .models.table import canonical
from .settings import Settings
from .shelving.spaces import Answering, Space
from .vocabulary.protocols import Embedder, Loadable, VectorStore
from .vocabulary.spaces import VectorSpace
from .vocabulary.types import Products


class ProjectSpaces:
    """Projects with one model share a space; those with the library's model have none."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._chosen = ProjectModels(settings.index.path)
        self._lock = threading.Lock()
        self._embedders: dict[str, Loadable[Embedder]] = {}

    def wanted(self) -> list[Space]:
        """What is to be embedded by which model."""
        projects: dict[str, set[str]] = {}
        for project, model in self._chosen().items():
            projects.setdefault(canonical(model), set()).add(project)
        projects.pop(canonical(self._settings.embeddings.model), None)
        return [
            Space(
                embedding_child(self._settings, name),
                model_key(self._settings, name),
                name,
                Products(frozenset(of), others=False),
            )
            for name, of in sorted(projects.items())
        ]

    def searched(
        self,
        answering: Callable[[], Sequence[Answering]],
        store: Callable[[str], VectorStore | None],
        embedded: Callable[[str], int],
    ) -> tuple[VectorSpace, ...]:
        """What is in use now, each with its model for questions, which is loaded when first asked.

        `store` and `embedded` give the store that answers for a model, and how many passages that has embedded.
        """
        return tuple(
            VectorSpace(
                space.name,
                space.products,
                self._embedder(space.name),
                store(space.fingerprint),
                partial(embedded, space.fingerprint),
            )
            for space in answering()
        )

    def close(self) -> None:
        """Free the models."""
        with self._lock:
            loaded, self._embedders = self._embedders, {}
        for embedder in loaded.values():
            if (model := embedder.peek()) is not None:
                model.close()

    def _embedder(self, name: str) -> Loadable[Embedder]:
        with self._lock:
            if name not in self._embedders:
                self._embedders[name] = embedder_for_questions(self._settings, name)
            return self._embedders[name]
