"""How the indexer works: children, limits, intervals."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class IndexerOptions:
    """How the indexer works. Times in seconds, memory in MiB."""

    folder: str = ""  #: the index's, in which it is tried whether what couldn't be written can be now; empty: nowhere
    processes: int = 2  #: children that read files; 0 reads in this process, without limits
    file_timeout_s: float = 60.0
    file_memory_mb: int | None = 1024
    embedding_processes: int = 1  #: 0 embeds in this process
    embedding_timeout_s: float = 120.0
    embedding_memory_mb: int | None = 4096
    reconcile_s: float = 600.0  #: everything is looked at that often, because watchers miss things
    idle_s: float = 60.0  #: children without work end after that
    nice: int = 10
