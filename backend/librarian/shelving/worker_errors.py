"""How a task in a child process may end besides what it raises itself; a late one ends with `TimeoutError`."""

from __future__ import annotations

import signal


class WorkerDied(Exception):
    """The child that ran a task ended without an answer."""


class PoolClosed(WorkerDied):
    """The pool was closed while the task was waiting or running: nobody's fault, and nothing to report."""


def ending(code: int | None) -> str:
    """How a process ended, by its exit code."""
    if code is not None and code < 0:
        return f"by signal {signal.Signals(-code).name}"
    return f"with code {code}"
