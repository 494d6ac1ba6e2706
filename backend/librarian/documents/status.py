"""How the library is: ready, indexing or degraded, with what it holds and what it left out (decisions page, 15)."""

from __future__ import annotations

import datetime as dt
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from .. import schemas
from ..embeddings.base import LazyModel
from ..errors import LibrarianError
from ..files.paths import size_of
from ..models import Count, Failure, Progress
from ..settings import Settings
from .dependencies import Dependencies

FAILURES_SHOWN = 50
EXAMPLES_SHOWN = 20
MANY_UNREAD = 20  #: files; fewer are read before an answer could tell of them
_DISK_EVERY_S = 30.0


class StatusReport:
    """Builds the status and health answers from the parts."""

    def __init__(self, parts: Dependencies) -> None:
        self._parts = parts
        self._started = time.monotonic()
        self._disk: tuple[float, int] = (-_DISK_EVERY_S, 0)

    def reasons(self) -> list[str]:
        """Everything configured that doesn't work now."""
        found = [f"{part}: {sentence}" for part, sentence in self._parts.indexing.errors().items()]
        if damage := self._parts.catalog.damage:
            found.append(f"catalog: {damage}")
        if damage := self._parts.keyword_index.damage:
            found.append(f"keyword: {damage}")
        parts: dict[str, LazyModel[Any] | None] = {"embeddings": self._parts.embedder, "rerank": self._parts.reranker}
        for part, model in parts.items():
            if model is not None and model.error() and not any(item.startswith(f"{part}: ") for item in found):
                found.append(f"{part}: {model.error()}")
        return found

    def word(self, reasons: Sequence[str], count: Count, progress: Progress) -> str:
        """`degraded` wins over `indexing`, `indexing` over `ready`."""
        if reasons:
            return "degraded"
        if progress.phase != "idle":
            return "indexing"
        if self._parts.settings.embeddings.enabled and count.embedded_chunks < count.chunks:
            return "indexing"
        return "ready"

    def _progress(self) -> Progress:
        """How far the work is; once all is embedded, the library is learned from."""
        progress, learning = self._parts.indexing.progress(), self._parts.learning
        learns = progress.phase == "idle" and learning.pending()
        return replace(progress, phase="learning") if learns else progress

    def health(self) -> schemas.HealthResponse:
        """The short form for `curl /health`. A catalog that can't be read is a reason, not an error."""
        unread: list[str] = []
        count = Count()
        try:
            if "database" not in self._parts.indexing.errors():  # which takes long
                with self._parts.catalog.read() as reader:
                    count = reader.count()
        except LibrarianError as error:
            unread = [f"catalog: {error}"]
        reasons = self.reasons()
        if not any(reason.startswith("catalog: ") for reason in reasons):
            reasons += unread
        progress = self._progress()
        word = self.word(reasons, count, progress)
        first = [] if reasons else self._not_read_yet(progress)
        if first and word == "ready":
            word = "indexing"
        return schemas.HealthResponse.model_validate(
            {
                "status": "ok" if word == "ready" else word,
                "ready": not reasons and not first,
                "reasons": [*reasons, *first],
                "version": self._parts.version,
                **_counts(count, "documents", "chunks", "embedded_chunks"),
                "uptime_s": round(time.monotonic() - self._started, 1),
            }
        )

    def _not_read_yet(self, progress: Progress) -> list[str]:
        """Why a library that was just opened can't answer from all of its files yet; empty where it can."""
        indexing = self._parts.indexing
        if indexing.last_indexed_at is not None:
            return []
        left = unread(progress, first_look=True)
        return left or ([] if indexing.was_read() else ["reading: the folder is being read for the first time."])

    def status(self) -> schemas.StatusResponse:
        """Everything a user may want to know about the index."""
        settings = self._parts.settings
        llm, index = settings.llm, settings.index.path
        with self._parts.catalog.read() as reader:
            count, failures, generation = reader.count(), reader.failures(), reader.generation
        progress, reasons = self._progress(), self.reasons()
        failed = [item for item in failures if item.kind == "failed"]
        return schemas.StatusResponse.model_validate(
            {
                "status": self.word(reasons, count, progress),
                "reasons": reasons,
                **_counts(count, "documents", "chunks", "embedded_chunks", "emails", "products"),
                "generation": generation,
                "embeddings": self._embeddings(),
                "reranker": self._parts.reranker_name,
                "llm": {
                    "enabled": llm.enabled,
                    "provider": llm.provider if llm.enabled else "",
                    "model": llm.model_name if llm.enabled else "",
                    "connected": self._parts.language_model.connected if self._parts.language_model else None,
                },
                "sent_to": [f"{host} ({text})" for _, host, text in settings.destinations()],
                "caches": {
                    name: dict(zip(("entries", "hits", "misses"), cache.stats(), strict=True))
                    for name, cache in self._parts.caches.items()
                },
                "features": _features(settings),
                "watching": self._parts.indexing.watching,
                "progress": progress,
                "failures": {"total": len(failed), "items": unreadable(failed[:FAILURES_SHOWN])},
                "skipped": skipped(failures),
                "last_indexed_at": _iso(self._parts.indexing.last_indexed_at),
                "index_path": str(index),
                "root_path": str(settings.docs.root_path),
                "storage": {
                    **dict(zip(("catalog", "keyword", "vectors"), self._parts.storage, strict=True)),
                    "disk_bytes": self._disk_bytes(index),
                },
                "version": self._parts.version,
                "notes": [*self._parts.notes(), *layout_notes(count, failures)],
            }
        )

    def _embeddings(self) -> dict[str, object]:
        embeddings, source = self._parts.settings.embeddings, self._parts.embedder
        loaded = source.loaded() if source is not None else None
        return {
            "enabled": embeddings.enabled,
            "model": embeddings.model,
            "dimension": loaded.spec.dimension if loaded else 0,
            "backend": loaded.backend if loaded else "",
            "device": loaded.device if loaded else "",
            "models": [embeddings.model] if embeddings.enabled else [],
        }

    def _disk_bytes(self, folder: Path) -> int:
        """Bytes below the index folder, counted at most twice a minute."""
        when, size = self._disk
        if time.monotonic() - when >= _DISK_EVERY_S:
            size = size_of(folder)
            self._disk = (time.monotonic(), size)
        return size


def _counts(count: Count, *names: str) -> dict[str, int]:
    return {name: getattr(count, name) for name in names}


def _features(settings: Settings) -> dict[str, bool]:
    search = settings.search
    return {
        "embeddings": settings.embeddings.enabled,
        "watching": settings.docs.watch_for_changes,
        "exact_cache": search.cache.exact,
        "semantic_cache": search.cache.semantic,
        "document_limiting": search.enable_document_limiting,
        "analytics": settings.analytics.enabled,
    }


def unread(progress: Progress, *, first_look: bool) -> list[str]:
    """What an answer lacks while files are read: at the first look of a start, or where many of them are new."""
    left = progress.files_total - progress.files_done
    if progress.phase != "reading" or left < (1 if first_look else MANY_UNREAD):
        return []
    read = f"{progress.files_done:,} of {progress.files_total:,} new or changed files"
    return [f"reading: {read} are read so far, passages of the others are missing."]


def layout_notes(count: Count, failures: Sequence[Failure]) -> list[str]:
    """What to do where files are there and none of them counts."""
    reasons = Counter(item.reason for item in failures)
    loose = reasons["in_root"]
    if count.documents or count.emails or not reasons:
        return []
    if not loose:
        summary = ", ".join(f"{reason} {number}" for reason, number in reasons.most_common())
        return [f"Nothing is indexed: all that is there is left out or can't be read ({summary})."]
    return [
        f"Nothing is indexed: {loose} file{' lies' if loose == 1 else 's lie'} directly in the root, and files count "
        "from {product}/ on. Move them into folders, or set docs.layout to flat (librarian serve --layout flat)."
    ]


def _iso(seconds: float | None) -> str | None:
    """Seconds since the epoch as ISO 8601 in UTC."""
    if seconds is None:
        return None
    return dt.datetime.fromtimestamp(seconds, dt.UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def unreadable(failures: Sequence[Failure]) -> list[dict[str, str]]:
    """Each file with what was wrong with it."""
    return [
        {"path": item.file_path, "reason": f"{item.reason}: {item.detail}" if item.detail else item.reason}
        for item in failures
    ]


def skipped(failures: Sequence[Failure]) -> dict[str, object]:
    """What was left out on purpose, by reason, with examples."""
    left_out = [item for item in failures if item.kind == "skipped"]
    return {
        "total": len(left_out),
        "by_reason": dict(sorted(Counter(item.reason for item in left_out).items())),
        "examples": [{"path": item.file_path, "reason": item.reason} for item in left_out[:EXAMPLES_SHOWN]],
    }
