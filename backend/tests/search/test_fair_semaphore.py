"""A few at once, the others wait, and who waits longest is next; who waits for something else lets them go first."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest

from librarian.search.engine import FairSemaphore

PATIENCE_S = 30.0


def until(true: Callable[[], bool]) -> None:
    """Go on once it is."""
    begun = time.monotonic()
    while not true():
        assert time.monotonic() - begun < PATIENCE_S


def test_no_more_run_at_once_than_allowed_and_all_do() -> None:
    turns, lock = FairSemaphore(2), threading.Lock()
    inside, most = 0, 0
    both = threading.Barrier(2)

    def work(_: int) -> None:
        nonlocal inside, most
        with turns:
            with lock:
                inside += 1
                most = max(most, inside)
            both.wait(PATIENCE_S)  # two must be in here together, or nobody gets on
            with lock:
                inside -= 1

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(work, range(8)))
    assert most == 2
    assert inside == 0


def test_who_steps_aside_lets_another_in_and_comes_back() -> None:
    turns, done = FairSemaphore(1), threading.Event()

    def other() -> None:
        with turns:
            done.set()

    thread = threading.Thread(target=other)
    with turns:
        thread.start()
        with turns.released():
            assert done.wait(PATIENCE_S)
    thread.join(PATIENCE_S)
    assert not thread.is_alive()


def test_a_turn_ends_whatever_happens_in_it() -> None:
    turns = FairSemaphore(1)
    with pytest.raises(ZeroDivisionError), turns, turns.released():
        raise ZeroDivisionError
    with turns:
        pass


def test_who_waits_longest_is_next_however_soon_another_asks_again() -> None:
    turns, order = FairSemaphore(1), []

    def wait(name: str) -> None:
        with turns:
            order.append(name)

    def waited_for(count: int) -> bool:
        return len(turns.waiting) == count

    with ThreadPoolExecutor(2) as threads:
        with turns:
            for place, name in enumerate(("first", "second"), 1):
                threads.submit(wait, name)
                until(partial(waited_for, place))
        with turns:
            order.append("again")
    assert order == ["first", "second", "again"]


class Holder:
    """Has a turn, in a thread of its own, until it is told to end."""

    def __init__(self, turns: FairSemaphore) -> None:
        self._inside, self._told = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._hold, args=(turns,))
        self._thread.start()
        assert self._inside.wait(PATIENCE_S)

    def _hold(self, turns: FairSemaphore) -> None:
        with turns:
            self._inside.set()
            self._told.wait(PATIENCE_S)

    def end(self) -> None:
        self._told.set()
        self._thread.join(PATIENCE_S)


@pytest.fixture
def ring() -> Iterator[Callable[[], object]]:
    """Interrupts this thread soon, as Ctrl-C does."""

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    yield partial(signal.setitimer, signal.ITIMER_REAL, 0.02)
    signal.signal(signal.SIGALRM, before)


def test_who_gives_up_waiting_keeps_nobody_out(ring: Callable[[], object]) -> None:
    turns = FairSemaphore(1)
    holder = Holder(turns)
    ring()
    with pytest.raises(KeyboardInterrupt), turns:
        pass
    holder.end()
    assert len(turns.waiting) == 0
    with turns:
        pass


def test_who_gives_up_coming_back_leaves_no_turn_too_many(ring: Callable[[], object]) -> None:
    turns, done = FairSemaphore(1), threading.Event()

    def other() -> None:
        with turns:
            done.set()

    held: list[Holder] = []

    def leave() -> None:
        with turns, turns.released():
            held.append(Holder(turns))
            ring()

    with pytest.raises(KeyboardInterrupt):
        leave()
    waiter = threading.Thread(target=other)
    waiter.start()
    until(lambda: len(turns.waiting) == 1)
    assert not done.is_set()
    held[0].end()
    assert done.wait(PATIENCE_S)
    waiter.join(PATIENCE_S)
    with turns:
        pass
