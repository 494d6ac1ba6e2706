"""A few at once, the others wait; who waits for something else lets them go first."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from librarian.finding.turns import Turns

PATIENCE_S = 30.0


def test_no_more_run_at_once_than_allowed_and_all_do() -> None:
    turns, lock = Turns(2), threading.Lock()
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
    turns, done = Turns(1), threading.Event()

    def other() -> None:
        with turns:
            done.set()

    thread = threading.Thread(target=other)
    with turns:
        thread.start()
        with turns.aside():
            assert done.wait(PATIENCE_S)
    thread.join(PATIENCE_S)
    assert not thread.is_alive()


def test_a_turn_ends_whatever_happens_in_it() -> None:
    turns = Turns(1)
    with pytest.raises(ZeroDivisionError), turns, turns.aside():
        raise ZeroDivisionError
    with turns:
        pass
