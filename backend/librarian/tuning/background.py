"""Learns from a library again in the background, whenever the library has changed enough."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from typing import Protocol

from ..errors import LibrarianError

logger = logging.getLogger(__name__)

WAIT_S = 5.0
LONGEST_S = 320.0  #: between two tries of what fails again and again


class Training(Protocol):
    """Something that is learned from the library, and kept in its catalog."""

    def due(self) -> bool:
        """Whether the library is complete and isn't what it was when it was learned."""

    def renew(self) -> object:
        """Learn it now, keep it and use it."""

    def take_up(self) -> None:
        """Use what is kept, where that isn't in use yet."""

    def notes(self) -> Sequence[str]:
        """What the status says of it."""


class BackgroundLearning:
    """Renews trainings one after the other in a thread of its own; each may rest on those before it.

    Args:
        awaited: those of them that a library isn't ready without.
        complete: whether every passage is embedded.
        ended: set here once the library closes, for trainings that take long.
    """

    def __init__(
        self,
        trainings: Sequence[Training],
        *,
        awaited: Sequence[Training] = (),
        complete: Callable[[], bool],
        ended: threading.Event,
    ) -> None:
        self._trainings = trainings
        self._awaited = awaited
        self._complete = complete
        self._ended = ended
        self._wake = threading.Event()
        self._changed = threading.Condition()
        self._failed = 0  # rounds, one after the other
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Take up what was learned before, and begin to watch."""
        self._wake.set()
        self._thread = threading.Thread(target=self._run, name="training", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End the thread, in the middle of a fit too."""
        self._ended.set()
        self._wake.set()
        if self._thread is not None:
            self._thread.join()

    def look(self, _: object = None) -> None:
        """Something has changed: look whether anything is due."""
        self._wake.set()

    def notes(self) -> tuple[str, ...]:
        """What the status says of all fits."""
        return tuple(note for training in self._trainings for note in training.notes())

    def pending(self) -> bool:
        """Whether what the library isn't ready without is still to be learned; not where that failed."""
        if self._thread is None or self._failed or self._ended.is_set():
            return False
        try:
            pending = any(training.due() for training in self._awaited)
        except LibrarianError:
            return False
        if pending:
            self._wake.set()
        return pending

    def wait(self, timeout_s: float | None = None) -> bool:
        """True once nothing is pending; False where the time ran out first."""
        until = None if timeout_s is None else time.monotonic() + timeout_s
        with self._changed:
            while self.pending():
                left = WAIT_S if until is None else until - time.monotonic()
                if left <= 0:
                    return False
                self._changed.wait(min(left, WAIT_S))
        return True

    # -- inside --------------------------------------------------------------------------------------------------

    def _run(self) -> None:
        while not self._ended.is_set():
            trained = [self._trained(training) for training in self._trainings]  # all, though one may fail
            self._failed = 0 if all(trained) else self._failed + 1
            with self._changed:
                self._changed.notify_all()
            again_s = min(LONGEST_S, WAIT_S * 2.0 ** min(self._failed, 10))
            self._wake.wait(again_s if self._failed or not self._is_complete() else None)
            self._wake.clear()

    def _trained(self, training: Training) -> bool:
        """False where it failed."""
        try:
            if training.due():
                training.renew()
            else:
                training.take_up()
        except LibrarianError as error:
            if not self._ended.is_set():
                logger.warning("The library couldn't be learned from: %s", error)
            return False
        except Exception:  # whatever it is, the library goes on with what it has
            logger.exception("The library couldn't be learned from.")
            return False
        with self._changed:
            self._changed.notify_all()
        return True

    def _is_complete(self) -> bool:
        """The last passages are embedded without a notice: until then, look now and again."""
        try:
            return self._complete()
        except LibrarianError:
            return False
