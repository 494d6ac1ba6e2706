"""How long a child may take where others keep it from the processor: its limit is then the processor's time."""

from __future__ import annotations

from multiprocessing.process import BaseProcess

LEAST_S = 0.05  #: less isn't waited for: the processor's time is counted in hundredths of a second


def owed(process: BaseProcess, worked: float, limit: float) -> float:
    """Seconds that a child which is over its limit may still have; 0 where its time is up.

    Children are modest: beside a busy program a file that takes three seconds may take minutes. A child that wants the
    processor has `limit` seconds of it, counted from `worked`, what it had had before the task. One that waits for
    something else has no more time than the clock gave it.
    """
    import psutil

    try:
        child = psutil.Process(process.pid)
        if child.status() != psutil.STATUS_RUNNING:
            return 0.0
        times = child.cpu_times()
    except psutil.Error:
        return 0.0
    left = limit - (times.user + times.system - worked)
    return left if left >= LEAST_S else 0.0
