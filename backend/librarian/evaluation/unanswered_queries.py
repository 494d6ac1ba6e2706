"""Questions as they were asked, kept on this machine where the user wants that: what the documentation lacks."""

from __future__ import annotations

import datetime as dt
import json
import logging
import os
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from ..schemas import GapItem, GapsResponse

logger = logging.getLogger(__name__)

MOST_BYTES = 5 * 1024 * 1024  #: the file is begun anew then; the one before is kept


class QueryLog:
    """A file of JSON lines: time, question, number of results, whether they seem to answer, product.

    Where it isn't enabled nothing is written, and `gaps` shows what was kept earlier.
    """

    def __init__(self, path: Path, *, enabled: bool = False) -> None:
        self._path = path
        self._older = path.with_name(f"{path.name}.1")
        self._enabled = enabled
        self._lock = threading.Lock()

    def note(self, query: str, results: int, answerable: str, product: str | None) -> None:
        """Keep one question. A full disk loses the note, not the answer."""
        if not self._enabled:
            return
        line = {"at": dt.datetime.now(dt.UTC).isoformat(timespec="seconds"), "query": query, "results": results}
        line |= {"answerable": answerable, "product": product or ""}
        try:
            with self._lock:
                if self._path.is_file() and self._path.stat().st_size > MOST_BYTES:
                    self._path.replace(self._older)
                descriptor = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
                with os.fdopen(descriptor, "a", encoding="utf-8", errors="replace") as file:
                    file.write("\n" * self._cut() + json.dumps(line, ensure_ascii=False) + "\n")
        except OSError as error:
            logger.warning("A question can't be kept in %s: %s", self._path, error)

    def gaps(self, limit: int) -> GapsResponse:
        """Questions (any case) whose last answer was empty or unlikely to help, most often asked first."""
        times: Counter[str] = Counter()
        last: dict[str, dict[str, object]] = {}
        for line in self._lines():
            key = " ".join(str(line["query"]).lower().split())
            times[key] += 1
            last[key] = line
        gaps = [
            GapItem(
                query=str(line["query"]),
                times=times[key],
                results=int(str(line.get("results", 0))),
                last_asked=str(line.get("at", "")).replace("+00:00", "Z"),
            )
            for key, line in last.items()
            if not line.get("results") or line.get("answerable") == "unlikely"
        ]
        gaps.sort(key=lambda gap: (-gap.times, gap.results, gap.query))
        return GapsResponse(enabled=self._enabled, questions=times.total(), gaps=gaps[:limit])

    def _cut(self) -> bool:
        """Whether the last line has no end, as a kill leaves it: what is added would be lost with it."""
        with self._path.open("rb") as file:
            end = file.seek(0, os.SEEK_END)
            file.seek(max(0, end - 1))
            return end > 0 and file.read(1) != b"\n"

    def _lines(self) -> Iterator[dict[str, object]]:
        for path in (self._older, self._path):
            try:
                text = path.read_text("utf-8", "replace")
            except OSError:
                continue
            for line in text.split("\n"):
                try:
                    found = json.loads(line)
                except ValueError:
                    continue  # a line that a kill cut short
                if isinstance(found, dict) and "query" in found:
                    yield found
