"""What all questions of the desk go through: they wait for the first text, and say what their answers lack."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from ..vocabulary.protocols import Budget
from ..vocabulary.types import Count, Query, SearchOutcome
from .parts import Parts
from .presence import Checked, Files, checked
from .state import StateReport, unread

FIRST_TEXT_S = 10.0  #: how long the first question of all waits for the first files


class Asking:
    """The part of the desk that knows how far the library is."""

    _parts: Parts
    _files: Files
    _state: StateReport
    _started: bool
    _has_text: bool = False  #: whether something was ever indexed

    def _await_text(self, budget: Budget) -> None:
        """A library that is being read for the very first time answers once something is in, or after a while."""
        if self._has_text:
            return
        with self._parts.catalog.read() as reader:
            self._has_text = reader.generation > 0
        if self._has_text:
            return
        indexing, changed = self._parts.indexing, threading.Event()
        deadline = time.monotonic() + FIRST_TEXT_S
        forget = self._parts.indexing.on_generation(lambda _: changed.set())
        try:
            while not changed.wait(0.05) and self._started and time.monotonic() < deadline:
                budget.check()
                if indexing.last_indexed_at is not None or indexing.problems():
                    return
        finally:
            forget()

    def _checked(self, search: Callable[[Query], SearchOutcome], asked: Query) -> tuple[Checked, Count]:
        """The answer, with all that is degraded and within what was asked for, and what the library holds."""
        answer = checked(search, asked, self._files)
        outcome, count = answer.outcome, self._count()
        semantic = outcome.legs.get("semantic")
        by_meaning = semantic is not None and semantic.status == "ok"
        extra = self._lacking(outcome.degraded, count, by_meaning=by_meaning, away=answer.away)
        told = replace(outcome, degraded=(*outcome.degraded, *extra), tokens_used=0) if extra else outcome
        return replace(answer, outcome=told if told.tokens_used else self._parts.fitted(told)), count

    def _products(self) -> dict[str, dict[str, int]]:
        """Product → component → documents."""
        with self._parts.catalog.read() as reader:
            return reader.products()

    def _count(self) -> Count:
        with self._parts.catalog.read() as reader:
            return reader.count()

    def _lacking(
        self, said: Sequence[str], count: Count | None = None, *, by_meaning: bool, away: str = ""
    ) -> list[str]:
        """What an answer lacks besides what it has `said`, in which a reason has its remedy behind it. `away`: why its
        files couldn't be looked at."""
        extra = [item for item in self._state.reasons() if not any(one.startswith(item) for one in said)]
        indexing, count = self._parts.indexing, count or self._count()
        if away and not any(item.startswith("root: ") for item in extra):
            extra.append(f"root: {away}")
            indexing.notice([str(self._parts.options.root)])  # nothing has told it yet
        extra += unread(indexing.progress(), first_look=indexing.last_indexed_at is None)
        if by_meaning and count.embedded_chunks < count.chunks:
            extra.append(f"semantic: {count.embedded_chunks:,} of {count.chunks:,} passages are embedded so far.")
        return extra
