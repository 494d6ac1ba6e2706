"""Questions are embedded by the model whose vectors answer.

While a changed model is fetched and fills its stores, those of the one before go on answering, and only that one can
ask them. It is loaded for as long as that takes.
"""

from __future__ import annotations

from collections.abc import Callable

from librarian.vocabulary.errors import Unavailable
from librarian.vocabulary.protocols import Embedder, Loadable


class AnsweringModel:
    """A `Loadable` of the model that questions are to be embedded with.

    Args:
        current: the configured model.
        earlier: the one before.
        changing: whether it is the one before whose vectors answer.
        answering: fingerprint of the model whose vectors answer; empty where there are none yet.
    """

    def __init__(
        self,
        current: Loadable[Embedder],
        earlier: Loadable[Embedder],
        *,
        changing: Callable[[], bool],
        answering: Callable[[], str],
    ) -> None:
        self._current = current
        self._earlier = earlier
        self._changing = changing
        self._answering = answering

    def get(self) -> Embedder:
        """The model. Raises `Unavailable` where it can't be loaded, or the vectors that answer are of another build."""
        model = self._wanted().get()
        answering = self._answering()
        if answering and model.fingerprint != answering:
            raise Unavailable(
                f"The vectors that answer are of another build of {model.spec.name} than the one at hand.",
                hint="Words answer until the passages are embedded with this one.",
            )
        return model

    def peek(self) -> Embedder | None:
        """The same, where it is loaded."""
        return self._wanted().peek()

    def problem(self) -> str:
        """Why it couldn't be loaded; empty where it could."""
        return self._wanted().problem()

    def reset(self) -> None:
        """Forget failures."""
        self._current.reset()
        self._earlier.reset()

    def close(self) -> None:
        """Free the model before; the configured one is closed by its owner."""
        earlier = self._earlier.peek()
        if earlier is not None:
            earlier.close()

    def _wanted(self) -> Loadable[Embedder]:
        return self._earlier if self._changing() else self._current
