"""The daemon's API for the command line: operations by name, as JSON over the socket."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator, Mapping
from typing import Any

from ..api.library_handle import LibraryHandle
from ..models import REQUEST, Deadline, new_id
from .server import ReportProgress

PROGRESS_S = 0.25


class CommandApi:
    """Runs operations that the command line asks for over the socket."""

    def __init__(self, handle: LibraryHandle) -> None:
        self._handle = handle

    def __call__(
        self, name: str, arguments: Mapping[str, Any], report: ReportProgress, cancelled: threading.Event
    ) -> Mapping[str, Any]:
        """Run one operation; a refresh reports how far the index is."""
        REQUEST.set(new_id())
        with self._reporting(report if name == "refresh" else None):
            response = self._handle.call(name, arguments, Deadline(cancelled=cancelled))
        return response if isinstance(response, Mapping) else response.as_fields()

    @contextlib.contextmanager
    def _reporting(self, report: ReportProgress | None) -> Iterator[None]:
        """While the body runs, call `report` with the progress of the index."""
        if report is None:
            yield
            return
        done = threading.Event()

        def repeat() -> None:
            while not done.wait(PROGRESS_S):
                if (library := self._handle.library) is not None:
                    report(library.status().progress.model_dump(mode="json"))

        reporting = threading.Thread(target=repeat, name="progress", daemon=True)
        reporting.start()
        try:
            yield
        finally:
            done.set()
            reporting.join()
