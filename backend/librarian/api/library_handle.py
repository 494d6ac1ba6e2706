"""A handle on a library that is still being opened: calls wait, and the instructions of the last start are kept."""

from __future__ import annotations

import asyncio
import contextvars
import logging
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

from .. import __version__
from ..errors import Busy, LibrarianError, Unavailable
from ..files.writing import write_whole
from ..models import DEADLINE, REQUEST, Deadline, new_id

if TYPE_CHECKING:
    from ..library import Librarian
    from ..schemas import ResponseModel


T = TypeVar("T")


class Calls:
    """Threads that all interfaces of a process share. Of `queue` waiting calls, one more is answered `Busy`.

    Not a loop's default pool, which the MCP SDK uses too: a cancelled call counts until its operation notices.
    """

    def __init__(self, threads: int = 4, queue: int = 64, timeout_s: float = 120.0) -> None:
        self._executor = ThreadPoolExecutor(threads, thread_name_prefix="desk")
        self._most = threads + queue
        self._timeout_ms = timeout_s * 1000
        self._lock = threading.Lock()
        self._pending = 0

    @property
    def pending(self) -> int:
        """Calls that run or wait."""
        return self._pending

    async def run(self, work: Callable[[], T]) -> T:
        """Run `work` in a thread, with a `DEADLINE` that cancelling the awaiting task cancels. Raises `Busy`, too."""
        with self._lock:
            if self._pending >= self._most:
                raise Busy(
                    f"Librarian is busy: {self._pending} requests are being answered or waiting.",
                    hint="Try again in a second.",
                )
            self._pending += 1
        deadline = Deadline.of_ms(self._timeout_ms)
        try:
            context = contextvars.copy_context()
            if not context.get(REQUEST):
                context.run(REQUEST.set, new_id())
            context.run(DEADLINE.set, deadline)
            future = self._executor.submit(context.run, work)
        except BaseException:
            self._left(None)
            raise
        future.add_done_callback(self._left)
        try:
            return await asyncio.wrap_future(future)
        finally:
            deadline.cancelled.set()

    def _left(self, _: object) -> None:
        with self._lock:
            self._pending -= 1

    def close(self) -> None:
        """End the threads once their calls have ended; calls that wait are dropped."""
        self._executor.shutdown(wait=True, cancel_futures=True)


logger = logging.getLogger(__name__)

INTRODUCTION: Final = "introduction.txt"
MAX_ERROR_LENGTH: Final = 2047  #: characters of instructions that only report an error
_POLL_S: Final = 0.1  #: how often a waiting call checks its deadline


class LibraryHandle:
    """A library now or soon. `opened` or `failed` ends the waiting, once."""

    def __init__(self, index: Path | None = None) -> None:
        self._stored = index / INTRODUCTION if index is not None else None
        self._done = threading.Event()
        self._library: Librarian | None = None
        self._error: LibrarianError | None = None
        self._callbacks: list[Callable[[int], None]] = []

    @classmethod
    def of(cls, library: Librarian | LibraryHandle) -> LibraryHandle:
        """A handle on a library that is open already."""
        if isinstance(library, LibraryHandle):
            return library
        handle = cls()
        handle.opened(library)
        return handle

    def opened(self, library: Librarian) -> None:
        """From now on `library` answers."""
        self._library = library
        library.on_generation(self._announce)
        self._done.set()

    def _announce(self, generation: int) -> None:
        for callback in list(self._callbacks):
            callback(generation)

    def failed(self, error: LibrarianError) -> None:
        """From now on every call raises `error`."""
        self._error = error
        self._done.set()

    @property
    def library(self) -> Librarian | None:
        """The library, once it is open."""
        return self._library

    @property
    def introduced(self) -> bool:
        """Whether `instructions` needn't wait."""
        return self._done.is_set() or bool(self._last())

    def wait(self) -> Librarian:
        """The library, as soon as it is open. Raises what kept it from opening, and what the deadline does."""
        while not self._done.wait(_POLL_S):
            DEADLINE.get().check()
        if self._library is None:
            raise self._error or Unavailable("The library is closed.", hint="Ask again.")
        return self._library

    def call(
        self, name: str, arguments: Mapping[str, object], deadline: Deadline | None = None
    ) -> ResponseModel | Mapping[str, object]:
        """As `Librarian.call`, once the library is open."""
        token = DEADLINE.set(deadline or DEADLINE.get())
        try:
            return self.wait().call(name, arguments)
        finally:
            DEADLINE.reset(token)

    def instructions(self) -> str:
        """The library's, and before it is open those of the last start; a first start waits. Never raises."""
        if not self._done.is_set() and (stored := self._last()):
            return stored
        try:
            text = self.wait().instructions()
        except LibrarianError as error:
            return f"Librarian can't answer: {error}"[:MAX_ERROR_LENGTH]
        self._keep(text)
        return text

    def _last(self) -> str:
        """The instructions that this version gave last; empty where it gave none."""
        try:
            version, _, text = self._stored.read_text("utf-8").partition("\n") if self._stored else ("", "", "")
        except (OSError, ValueError):
            return ""
        return text if version == __version__ else ""

    def _keep(self, text: str) -> None:
        if self._stored is None or self._last() == text:
            return
        try:
            write_whole(self._stored, f"{__version__}\n{text}")
        except OSError as error:
            logger.warning("The instructions can't be kept: %s", error)

    def on_generation(self, callback: Callable[[int], None]) -> Callable[[], None]:
        """As `Librarian.on_generation`; before the library is open the callback is remembered."""
        self._callbacks.append(callback)
        return lambda: self._callbacks.remove(callback)
