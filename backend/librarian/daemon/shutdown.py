"""How a process that serves ends: at once when all is closed, and in time when something hangs."""

from __future__ import annotations

import contextlib
import logging
import os
import sys
import threading
from pathlib import Path
from typing import NoReturn

from . import address as addresses

logger = logging.getLogger(__name__)


def leave(code: int) -> NoReturn:
    """End the process after `serve` with what it returned. All is closed; taking modules apart would only take time."""
    logging.shutdown()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    os._exit(code)


def cut_short(index: Path, seconds: float) -> None:
    """End here and now. Nothing is half written: what is on disk is whole after every single write."""
    waiting = [thread.name for thread in threading.enumerate() if not thread.daemon]
    logger.warning("Stopping takes more than %g s, so it ends here (threads: %s)", seconds, ", ".join(waiting))
    if (address := addresses.read(index)) is not None and address.pid == os.getpid():
        addresses.withdraw(index, address)
    leave(0)
