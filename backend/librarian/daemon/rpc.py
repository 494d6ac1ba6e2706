"""The keeper's door for the command line: the desk's verbs by name, as JSON over the socket."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from ..errors import CallerError
from ..models import REQUEST, Deadline, new_id
from ..schemas import OF_COMMANDS, REGISTRY, SITES, ask
from ..schemas import VERBS as KNOWN
from .server import ReportProgress

PROGRESS_S = 0.25
_BY_METHOD = {verb.method: verb for verb in (*KNOWN, *REGISTRY, *SITES)}
VERBS = frozenset(_BY_METHOD) | OF_COMMANDS
"""What may be asked for: what tools ask, and what is for commands alone."""


class Verbs:
    """What the command line may ask for over the socket: the desk's verbs by name, as JSON."""

    def __init__(self, library: Any) -> None:
        self._library = library

    def __call__(
        self, verb: str, arguments: Mapping[str, Any], report: ReportProgress, cancelled: threading.Event
    ) -> Mapping[str, Any]:
        """Answer one verb; long ones report how far the index is."""
        if verb not in VERBS:
            raise CallerError(f"There is no verb {verb!r}.", hint=f"Use one of {', '.join(sorted(VERBS))}.")
        budget = Deadline(cancelled=cancelled)
        REQUEST.set(new_id())
        if known := _BY_METHOD.get(verb):
            answer: Any = ask(self._library, known, arguments, budget)
        else:
            method: Callable[..., Any] = getattr(self._library, verb)
            with self._reporting(report if verb == "refresh" else None):
                answer = method(**arguments, budget=budget)
        return answer if isinstance(answer, Mapping) else answer.as_fields()

    @contextlib.contextmanager
    def _reporting(self, report: ReportProgress | None) -> Iterator[None]:
        """While the body runs, `report` is told again and again how far the index is."""
        if report is None:
            yield
            return
        done = threading.Event()

        def tell() -> None:
            while not done.wait(PROGRESS_S):
                report(self._library.status().progress.model_dump(mode="json"))

        teller = threading.Thread(target=tell, name="progress", daemon=True)
        teller.start()
        try:
            yield
        finally:
            done.set()
            teller.join()
