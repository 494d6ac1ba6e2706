"""Keeps the index equal to the folder: at start, whenever the watcher tells of changes, and from time to time anyway.

Two threads: one looks at files and writes text, one embeds behind it and gives way to the first.
"""

from __future__ import annotations

import logging
import threading
import time
from dataclasses import replace
from typing import Literal, NamedTuple

from librarian.vocabulary.errors import Unavailable
from librarian.vocabulary.types import Progress

from .heap import give_back
from .index_log import ProblemLog
from .index_work import IndexWork
from .indexer_options import IndexerOptions
from .vector_work import BACKOFF_S, EMBEDDINGS
from .writable import TRY_S, Backoff, can_write

__all__ = ["FileIndexer", "IndexerOptions"]

logger = logging.getLogger(__name__)

_ROOT_RETRY_S = 30.0  # a root that is missing is looked for that often
_BACK_AFTER = 4  # times as long as the last look at everything, until the next where missing files may be back


class _Turn(NamedTuple):
    """What the thread that writes text does next."""

    everything: bool
    paths: frozenset[str]  #: absolute
    missed: bool  #: whether files were missing before it


class FileIndexer(IndexWork):
    """`IndexWork` in the background: `start`, tell it what `changed`, `stop`.

    All methods may be called from any thread; `refresh` and the others of `IndexWork` block until done.
    """

    _threads: tuple[threading.Thread, ...] = ()
    _inbox: frozenset[str] = frozenset()
    _look_took_s: float = 0.0  # the last look at everything
    _look_at: float = 0.0  # when everything is to be looked at next, by the monotonic clock; 0 means now
    _retry_at: float = 0.0  # when embedding may be tried again
    _backoff_s: float = 0.0
    _unwritten: bool = False  # whether embedding failed while the index couldn't be written
    _text_backoff: Backoff  # when text work that failed is tried again
    _problem_log: ProblemLog

    # -- state -----------------------------------------------------------------------------------------------------

    @property
    def last_indexed_at(self) -> float | None:
        """When the last refresh ended, in seconds since the epoch; None where none did yet."""
        return self._last_indexed_at

    def state(self) -> Literal["ready", "indexing", "degraded"]:
        """In a word; something that doesn't work wins over work going on."""
        if self._problems:
            return "degraded"
        with self._state:
            return "indexing" if self._work_left() else "ready"

    def problem(self) -> str:
        """What doesn't work, in sentences; empty where all does."""
        return " ".join(self.problems().values())

    def problems(self) -> dict[str, str]:
        """What doesn't work, by part: root, index, embeddings, vectors."""
        problems = dict(self._problems)
        if (loading := self._shelf.loading) is not None:
            there, total, where = loading
            problems["vectors"] = f"{there:,} of {total:,} are in {where} so far; meaning finds among these."
        return problems

    def progress(self) -> Progress:
        """How far the work is."""
        text, rate = self._text_progress, self._rate
        if not self._embedding:
            return text
        left = (rate.total - rate.done) / rate.per_s if rate.per_s else None
        return replace(
            text,
            phase="embedding" if text.phase == "idle" else text.phase,
            chunks_embedded=rate.done,
            chunks_total=rate.total,
            chunks_per_s=rate.per_s,
            eta_s=left if text.phase == "idle" else text.eta_s,
        )

    def model(self) -> str:
        """Fingerprint of the model whose vectors answer; empty where there is none yet.

        While a changed model fills its stores, this is the one before.
        """
        return self._models.answering()

    def answering_key(self) -> str:
        """`model_key` of the model whose vectors answer, where that isn't the configured one; empty otherwise."""
        return self._models.answering_key() if self._embedder is not None else ""

    # -- running ---------------------------------------------------------------------------------------------------

    def start(self, *, look: bool = True) -> None:
        """Begin: look at everything (only later where not `look`), then embed, then do as the watcher says.

        Raises `SetupError` where this index belongs to another root.
        """
        if self._threads:
            return
        self._check_root()
        self._prepared = False  # another process may have been at work since this one stopped
        self._look_at = 0.0 if look else time.monotonic() + self._pause()
        self._retry_at = 0.0
        self._problem_log = ProblemLog()
        self._text_backoff = Backoff(self._options.folder, self._catalog)
        if look:
            self._text_progress = Progress("scanning")  # nobody may take what the last run left for what is there
        self._threads = (
            threading.Thread(target=self._run_text, name="indexer", daemon=True),
            threading.Thread(target=self._run_embedding, name="embedding", daemon=True),
        )
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """End the threads and the children; idempotent. What is under way is taken up at the next start."""
        self._stop.set()
        with self._state:
            self._state.notify_all()
        self.close()
        for thread in self._threads:
            thread.join()
        self.close()  # a thread may have started a child just then
        self._threads = ()
        self._stop.clear()

    def __enter__(self) -> FileIndexer:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def changed(self, paths: frozenset[str]) -> None:
        """The watcher's news: look there soon."""
        with self._state:
            self._inbox |= paths
            self._state.notify_all()

    def look_at_everything(self) -> None:
        """Look at the whole folder soon and compare all parts: news may have been missed."""
        with self._state:
            self._look_at = 0.0
            self._state.notify_all()

    def retry(self) -> None:
        """Try a failed model, and passages that couldn't be embedded, again now."""
        with self._state:
            self._vectors.retry()
            self._lacking = self._embedder is not None
            self._retry_at = self._backoff_s = 0.0
            self._state.notify_all()

    def wait_until_ready(self, timeout_s: float | None = None) -> bool:
        """Block until nothing is left to do but what has failed; False where time is up first."""
        with self._state:
            return self._state.wait_for(lambda: not self._work_left(), timeout_s)

    # -- in the threads --------------------------------------------------------------------------------------------

    def _work_left(self) -> bool:
        if self._busy or self._inbox or self._embedding:
            return True
        return bool(self._threads) and (self._look_at == 0.0 or (self._lacking and self._retry_at == 0.0))

    def _has_text_work(self) -> bool:
        return self._stop.is_set() or bool(self._inbox) or self._look_at == 0.0

    def _run_text(self) -> None:
        first = True
        while (turn := self._turn()) is not None:
            if not (turn.everything or turn.paths):
                if self._text_backoff.due():
                    self.look_at_everything()
                elif not self._text_backoff.wanted:
                    self._rest()
            elif self._look(turn, first=first):
                first = False

    def _turn(self) -> _Turn | None:
        """Wait for what is to be looked at, and take it; nothing where there was none for a while, None at the end."""
        with self._state:
            self._state.wait_for(self._has_text_work, self._patience())
            if self._stop.is_set():
                return None
            turn = _Turn(self._look_at <= time.monotonic(), self._inbox, missed="root" in self._problems)
            self._inbox = frozenset()
            if turn.everything or turn.paths:
                self._look_at = self._look_at or time.monotonic()
                self._busy += 1
            return turn

    def _look(self, turn: _Turn, *, first: bool) -> bool:
        """Make the index equal to what is there; False where that fails, which is tried again."""
        started, came, done = time.monotonic(), False, False
        try:
            if turn.everything and not first:
                with self._refreshing:
                    self._reconcile()
                    self._renew()
            report = self.refresh(None if turn.everything else turn.paths)
            came = bool(report.added or report.changed or report.moved or report.unchanged)
            self._text_backoff.worked()
            if self._problems.pop("index", None):
                self.retry()  # what kept text from being written, as a full disk, may have kept vectors, too
                if not turn.everything:
                    self.look_at_everything()  # for what failed before
            done = True
        except Exception as error:
            if not self._stop.is_set():
                logger.exception("indexing failed")
                self._problems["index"] = f"Indexing failed and is tried again: {error}"
                self._text_backoff.failed()
        finally:
            self._problem_log.tell(self._problems)
            if turn.everything:
                give_back()
            with self._state:
                self._busy -= 1
                self._plan(turn, started, came=came)
                self._state.notify_all()
        return done

    def _plan(self, turn: _Turn, started: float, *, came: bool) -> None:
        """Say when everything is looked at next, after a turn that `started` then and in which some file `came`."""
        now = time.monotonic()
        if turn.everything:
            self._look_took_s = now - started
        if self._look_at == 0.0:
            return  # it was asked for meanwhile, and may have missed what changed since it began
        if turn.everything or "index" in self._problems:
            self._look_at = now + self._pause()
        elif "root" in self._problems:  # whether those files are gone or elsewhere is seen by looking there
            pause = self._pause() if not came else _BACK_AFTER * self._look_took_s
            self._look_at = min(self._look_at, now + (pause if turn.missed else 0))

    def _pause(self) -> float:
        """Seconds until everything is looked at again."""
        soon = {"root": _ROOT_RETRY_S, "index": BACKOFF_S[0]}
        return min([self._options.reconcile_s, *(pause for part, pause in soon.items() if part in self._problems)])

    def _patience(self) -> float:
        return max(0.0, min(self._look_at - time.monotonic(), self._options.idle_s, self._text_backoff.wait_s))

    def _rest(self) -> None:
        """End children that have had nothing to do for a while, and give back what working and answering left free."""
        with self._state:
            idle = not (self._busy or self._embedding)
        if idle and self._filling.acquire(blocking=False):
            try:
                with self._refreshing:
                    self.close()
            finally:
                self._filling.release()
            self._meta("root")  # any read: the catalog then closes connections that nobody has used for long
            give_back()

    def _run_embedding(self) -> None:
        while True:
            with self._state:
                left_s = self._retry_at - time.monotonic()
                self._state.wait_for(self._may_embed, left_s if left_s > 0 else None)
                if self._stop.is_set():
                    return
                if not self._may_embed() and self._retry_at > time.monotonic():
                    continue
            if self._unwritten and not self._can_write():
                with self._state:
                    self._retry_at = time.monotonic() + TRY_S
                continue
            try:
                self.embed(self._stop)
                self._problem_log.tell(self._problems)
                with self._state:
                    self._backoff_s, self._retry_at, self._unwritten = 0.0, 0.0, False
            except Exception as error:
                if self._stop.is_set():
                    return
                if not isinstance(error, Unavailable):
                    logger.exception("embedding failed")
                self._problems[EMBEDDINGS] = str(error)
                self._problem_log.tell(self._problems)
                self._unwritten = not self._can_write()
                with self._state:
                    self._backoff_s = 0.0 if self._unwritten else min(self._backoff_s * 2, BACKOFF_S[1]) or BACKOFF_S[0]
                    self._retry_at = time.monotonic() + (self._backoff_s or TRY_S)
                    self._state.notify_all()

    def _can_write(self) -> bool:
        return can_write(self._options.folder, self._catalog)

    def _may_embed(self) -> bool:
        if self._stop.is_set():
            return True
        return self._lacking and not self._busy and self._look_at != 0.0 and self._retry_at <= time.monotonic()
