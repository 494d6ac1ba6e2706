"""What reading promises: files found, parsed and cut into passages."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from ..models import Document, Failure, ReadResult, SourceFile


class Parser(Protocol):
    """A file format: bytes in, a `Document` out."""

    extensions: tuple[str, ...]

    def parse(self, source: SourceFile, data: bytes) -> Document:
        """Read one file. Raises `SourceError` with a `reason` where it can't; never anything else."""


class Reader(Protocol):
    """A file in, a document with its chunks and keyword entries out. Picklable: it runs in child processes."""

    @property
    def fingerprint(self) -> str:
        """Changes whenever the same file would be read, cut or analysed otherwise."""

    def read(self, source: SourceFile) -> ReadResult:
        """Raises `SourceError`."""


class Scanner(Protocol):
    """Walks the root: which files count, and which are left out and why."""

    def scan(self) -> Iterator[SourceFile | Failure]:
        """Every file below the root, sorted by path. Raises `SourceError(reason="root")` where the root is gone."""

    def require_root(self) -> None:
        """Raises `SourceError(reason="root")` where the root is gone or can't be listed."""

    def look(self, path: str) -> SourceFile | Failure | None:
        """One absolute path; None where there is no such file or it lies outside the root."""

    def links_to(self, path: str) -> list[str]:
        """Absolute paths where what is at `path` is found through links, as far as these were met so far."""
