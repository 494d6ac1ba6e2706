"""How APIs call the library, and what errors quote:

* calls run in threads, up to a limit at once, and notice when their caller has gone;
* an error quotes only the ends of what is too long.
"""

from __future__ import annotations

import asyncio
import threading

import pytest

from librarian.api.library_handle import Calls
from librarian.errors import Busy, CallerError, NotFound
from librarian.models import DEADLINE


def test_no_more_calls_run_than_there_are_threads_and_the_rest_wait_or_are_refused() -> None:
    async def body() -> None:
        calls, release, started = Calls(threads=2, queue=1), threading.Event(), threading.Semaphore(0)

        def work() -> str:
            started.release()
            assert release.wait(10)
            return "done"

        tasks = [asyncio.create_task(calls.run(work)) for _ in range(3)]
        for _ in range(2):
            assert await asyncio.to_thread(started.acquire, timeout=120)
        assert calls.pending == 3
        with pytest.raises(Busy, match="Try again"):
            await calls.run(work)
        assert not started.acquire(blocking=False)
        release.set()
        assert await asyncio.gather(*tasks) == ["done"] * 3
        calls.close()
        assert calls.pending == 0

    asyncio.run(body())


def test_a_caller_that_leaves_cancels_its_budget_and_a_waiting_call_never_starts() -> None:
    async def body() -> None:
        calls, started, seen = Calls(threads=1), threading.Event(), threading.Event()

        def work() -> None:
            started.set()
            if DEADLINE.get().cancelled.wait(10):
                seen.set()

        def never() -> None:
            pytest.fail("a call that was given up has started")

        running = asyncio.create_task(calls.run(work))
        assert await asyncio.to_thread(started.wait, 10)
        waiting = asyncio.create_task(calls.run(never))
        await asyncio.sleep(0)
        waiting.cancel()
        running.cancel()
        await asyncio.gather(running, waiting, return_exceptions=True)
        assert await asyncio.to_thread(seen.wait, 10)
        calls.close()
        assert calls.pending == 0

    asyncio.run(body())


def test_a_call_has_a_deadline_and_passes_on_what_its_work_raises() -> None:
    async def body() -> None:
        calls = Calls(threads=1, timeout_s=5)
        assert 0 < await calls.run(lambda: DEADLINE.get().remaining_ms()) <= 5000

        def fails() -> None:
            raise CallerError("no")

        with pytest.raises(CallerError, match="no"):
            await calls.run(fails)
        calls.close()
        with pytest.raises(RuntimeError):
            await calls.run(lambda: None)
        assert calls.pending == 0

    asyncio.run(body())


def test_a_refusal_quotes_only_the_ends_of_what_is_too_long_to_quote() -> None:
    """It comes back into the window of the model that asked."""
    refused = CallerError(f"mode {'x' * 500_000!r} is unknown.", hint="Use keyword.")
    assert len(str(refused)) < 1100
    assert str(refused).startswith("mode 'xxx")
    assert str(refused).endswith("' is unknown. Use keyword.")
    assert str(NotFound("No document 'a.md'.")) == "No document 'a.md'."
