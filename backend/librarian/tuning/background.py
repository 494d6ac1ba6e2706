"""Trainings that a library repeats in the background, whenever it has changed enough."""

from __future__ import annotations

import logging
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Generic, Self, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from ..errors import LibrarianError, Unavailable
from ..search.engine import HybridSearchEngine
from ..storage.base import Catalog
from .own_questions import is_another

logger = logging.getLogger(__name__)

WAIT_S = 5.0  #: between two looks at a library that isn't complete
LONGEST_S = 320.0  #: between two tries of what fails again and again


class Record(BaseModel):
    """What was learned from a library, as its catalog keeps it."""

    model_config = ConfigDict(frozen=True)

    fingerprint: str = ""  #: what it depends on besides the documents: models, settings
    chunks: int = 0  #: of the library when it was learned
    generation: int = 0

    @classmethod
    def of_json(cls, text: str) -> Self | None:
        """A record from the catalog; None for anything else."""
        try:
            return cls.model_validate_json(text)
        except ValidationError:
            return None


R = TypeVar("R", bound=Record)


class Training(ABC, Generic[R]):
    """Something that is learned from a library and kept as one record in its catalog.

    Args:
        complete: whether every passage is embedded.
        ended: set once the library closes.
    """

    KEY: ClassVar[str]  #: of the record in the catalog
    RECORD: type[R]
    FEWEST_CHUNKS: ClassVar[int]  #: from smaller libraries nothing is learned

    def __init__(
        self, engine: HybridSearchEngine, catalog: Catalog, *, complete: Callable[[], bool], ended: threading.Event
    ) -> None:
        self._engine = engine
        self._catalog = catalog
        self._complete = complete
        self._ended = ended
        self._record: R | None = None  #: in use

    @abstractmethod
    def notes(self) -> Sequence[str]:
        """Sentences about what is in use, for the status."""

    @abstractmethod
    def _fingerprint(self) -> str:
        """What the result depends on besides the documents; empty if nothing can be learned."""

    @abstractmethod
    def _learned(self) -> R:
        """Learn now. Raises `Unavailable` if that fails."""

    @abstractmethod
    def _use(self, record: R) -> None:
        """Have the engine use what was learned."""

    def due(self) -> bool:
        """Whether the library is complete, large enough and not what it was at the last training."""
        if not self._complete() or not (fingerprint := self._fingerprint()):
            return False
        with self._catalog.read() as reader:
            record, chunks = self.RECORD.of_json(reader.meta(self.KEY)), reader.count().chunks
        if chunks < self.FEWEST_CHUNKS:
            return False
        return record is None or record.fingerprint != fingerprint or is_another(chunks, record.chunks)

    def take_up(self) -> None:
        """Use what was learned here or by another server of the same library, unless it is in use already."""
        with self._catalog.read() as reader:
            record = self.RECORD.of_json(reader.meta(self.KEY))
        if record is not None and record != self._record and record.fingerprint == self._fingerprint() != "":
            self._use(record)
            self._record = record

    def renew(self) -> R:
        """Learn now, keep what was learned and use it. Raises `Unavailable` if that fails."""
        fingerprint = self._fingerprint()
        with self._catalog.read() as reader:
            state = {"fingerprint": fingerprint, "chunks": reader.count().chunks, "generation": reader.generation}
        record = self._learned().model_copy(update=state)
        self._catalog.set_meta(self.KEY, record.model_dump_json())
        logger.info("%s: %s", self.KEY, record)
        self._use(record)
        self._record = record
        return record

    def _go_on(self) -> None:
        """Raises `Unavailable` once the library closes."""
        if self._ended.is_set():
            raise Unavailable("The library is closing.", hint="It is learned from at the next start.")


class BackgroundLearning:
    """Repeats trainings in a thread of its own, in order, as each may build on those before it.

    Args:
        awaited: those that the library isn't ready without.
        complete: whether every passage is embedded.
        ended: set here once the library closes, to end a long training.
    """

    def __init__(
        self,
        trainings: Sequence[Training[Any]],
        *,
        awaited: Sequence[Training[Any]] = (),
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
        """Use what was learned before, and start the thread."""
        self._wake.set()
        self._thread = threading.Thread(target=self._run, name="training", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End the thread, even during a training."""
        self._ended.set()
        self._wake.set()
        if self._thread is not None:
            self._thread.join()

    def look(self, _: object = None) -> None:
        """Check whether a training is due: something has changed."""
        self._wake.set()

    def notes(self) -> tuple[str, ...]:
        """Sentences about all trainings, for the status."""
        return tuple(note for training in self._trainings for note in training.notes())

    def pending(self) -> bool:
        """Whether an awaited training is due and hasn't failed."""
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
        """Wait until nothing is pending; False if the time runs out first."""
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

    def _trained(self, training: Training[Any]) -> bool:
        """Run a training if it is due; False if it failed."""
        try:
            if training.due():
                training.renew()
            else:
                training.take_up()
        except LibrarianError as error:
            if not self._ended.is_set():
                logger.warning("The library couldn't be learned from: %s", error)
            return False
        except Exception:  # the library goes on with what it has
            logger.exception("The library couldn't be learned from.")
            return False
        with self._changed:
            self._changed.notify_all()
        return True

    def _is_complete(self) -> bool:
        """Whether all passages are embedded; nothing notifies of the last ones, so this is polled."""
        try:
            return self._complete()
        except LibrarianError:
            return False
