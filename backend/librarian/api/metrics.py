"""What happened, for Prometheus: one registry for each application."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from ..schemas import StatusResponse

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)


class Metrics:
    """An `Observer` that counts calls; `page` adds what the index is like at the moment."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry(auto_describe=False)
        self._calls = Counter(
            "librarian_calls",
            "Calls by interface, operation and outcome",
            ["interface", "operation", "outcome"],
            registry=self._registry,
        )
        self._seconds = Histogram(
            "librarian_call_seconds",
            "Time of calls",
            ["interface", "operation"],
            buckets=_SECONDS,
            registry=self._registry,
        )
        self._search_seconds = Histogram(
            "librarian_search_seconds",
            "Time of searches by the mode that ran",
            ["mode"],
            buckets=_SECONDS,
            registry=self._registry,
        )
        self._retriever_seconds = Histogram(
            "librarian_retriever_seconds",
            "Time of a search's retrievers that ran",
            ["retriever"],
            buckets=_SECONDS,
            registry=self._registry,
        )
        self._cached = Counter("librarian_cached_answers", "Searches by cache", ["cache"], registry=self._registry)
        self._lock = threading.Lock()
        self._now = _Now()
        self._registry.register(self._now)

    def __call__(self, event: str, **fields: object) -> None:
        """Count a `call`: interface, operation, outcome, seconds, and the answer where there is one."""
        if event != "call":
            return
        interface, operation, outcome = (str(fields[name]) for name in ("interface", "operation", "outcome"))
        self._calls.labels(interface, operation, outcome).inc()
        seconds = fields["seconds"]
        assert isinstance(seconds, float)
        self._seconds.labels(interface, operation).observe(seconds)
        answer = fields.get("answer")
        if isinstance(answer, Mapping) and "retrievers" in answer:
            self._search(answer)

    def _search(self, answer: Mapping[str, Any]) -> None:
        self._search_seconds.labels(answer["mode"]).observe(answer["took_ms"] / 1000)
        self._cached.labels(answer.get("cache") or "none").inc()
        for name, retriever in answer["retrievers"].items():
            if retriever["status"] == "ok":
                self._retriever_seconds.labels(name).observe(retriever.get("ms", 0.0) / 1000)

    def page(self, status: StatusResponse, pending: int, streams: int) -> bytes:
        """All metrics in Prometheus' text format."""
        with self._lock:
            self._now.status, self._now.pending, self._now.streams = status, pending, streams
            return generate_latest(self._registry)


class _Now(Collector):
    """Sizes and counters that the library knows."""

    def __init__(self) -> None:
        self.status: StatusResponse | None = None
        self.pending = 0
        self.streams = 0

    def collect(self) -> Iterable[Metric]:
        if self.status is None:
            return
        status = self.status
        yield GaugeMetricFamily("librarian_pending_calls", "Calls that run or wait", self.pending)
        yield GaugeMetricFamily("librarian_sse_streams", "Open SSE streams", self.streams)
        yield GaugeMetricFamily(
            "librarian_ready", "1 where the index is complete and all works", float(status.status == "ready")
        )
        for name in ("documents", "emails", "chunks", "embedded_chunks", "products", "generation"):
            yield GaugeMetricFamily(f"librarian_index_{name}", f"The index's {name}", getattr(status, name))
        yield GaugeMetricFamily("librarian_index_bytes", "The index on disk", status.storage.disk_bytes)
        yield GaugeMetricFamily("librarian_failed_files", "Files that can't be read", status.failures.total)
        yield GaugeMetricFamily("librarian_skipped_files", "Files left out on purpose", status.skipped.total)
        entries = GaugeMetricFamily("librarian_cache_entries", "Entries of a cache", labels=["cache"])
        lookups = CounterMetricFamily("librarian_cache_lookups", "Lookups in a cache", labels=["cache", "result"])
        for name, cache in status.caches:
            entries.add_metric([name], cache.entries)
            lookups.add_metric([name, "hit"], cache.hits)
            lookups.add_metric([name, "miss"], cache.misses)
        yield entries
        yield lookups
