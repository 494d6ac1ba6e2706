"""What the reading room's tests share: parsing a text, and the real documents where they are at hand."""

from __future__ import annotations

import os
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from librarian.models import Document, SourceFile
from librarian.parsing.reader import PARSERS

Parse = Callable[..., Document]


@pytest.fixture(scope="session")
def parse() -> Parse:
    """Parse a text or bytes as a file of a given name."""

    def parsed(content: str | bytes, name: str = "acme/auth/page.md", mtime_ns: int = 0) -> Document:
        data = content.encode() if isinstance(content, str) else content
        source = SourceFile(f"/{name}", name, "acme", "auth", len(data), mtime_ns)
        return PARSERS[os.path.splitext(name)[1].lower()].parse(source, data)

    return parsed


@pytest.fixture(scope="session")
def real_data(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """A folder with the archive of a given name unpacked; skips where the archive isn't there."""
    unpacked: dict[str, Path] = {}

    def folder(name: str) -> Path:
        if name not in unpacked:
            given = os.environ.get("LIBRARIAN_TEST_DATA")
            home = Path(given) if given else Path(__file__).parents[4] / "shared" / "data"
            archive = home / f"{name}.tar.xz"
            if not archive.is_file():
                pytest.skip(f"no {name}.tar.xz; set LIBRARIAN_TEST_DATA to the folder that holds it")
            target = tmp_path_factory.mktemp(name)
            with tarfile.open(archive) as tar:
                tar.extraction_filter = getattr(tarfile, "data_filter", None)  # Python 3.11.2 knows none
                tar.extractall(target)
            unpacked[name] = target
        return unpacked[name]

    return folder
