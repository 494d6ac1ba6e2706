"""How a task in a child process may end besides what it raises itself; a late one ends with `TimeoutError`."""

from __future__ import annotations


class WorkerDied(Exception):
    """The child that ran a task ended without an answer."""


class PoolClosed(WorkerDied):
    """The pool was closed while the task was waiting or running: nobody's fault, and nothing to report."""
