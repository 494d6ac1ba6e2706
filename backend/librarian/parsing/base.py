"""Protocols of reading: parsers of file formats, and the reader that cuts documents into chunks."""

from __future__ import annotations

from typing import Protocol

from ..models import Document, ReadResult, SourceFile


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
