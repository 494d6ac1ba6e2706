from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path

import pytest

from librarian.daemon import client
from librarian.daemon.discovery import Library
from librarian.errors import LibrarianError
from tests.daemon.processes import ECHO, BridgeProcess

StartBridge = Callable[..., BridgeProcess]


@pytest.fixture
def index(tmp_path: Path) -> Iterator[Path]:
    """An index folder; a daemon that a test leaves there is asked to shut down."""
    folder = tmp_path / "index"
    folder.mkdir()
    yield folder
    with suppress(LibrarianError):
        client.shut_down_daemon(folder, timeout_s=10)


@pytest.fixture
def library(index: Path) -> Library:
    """The library of that folder, whose daemon is the tests' own."""
    return Library(index, version="1.0", program=ECHO)


@pytest.fixture
def bridge(index: Path) -> Iterator[StartBridge]:
    """Starts bridges; all are ended with the test, before their daemon."""
    started: list[BridgeProcess] = []

    def start(*arguments: str, at: Path = index, environ: Mapping[str, str] = {}) -> BridgeProcess:
        started.append(BridgeProcess(at, *arguments, environ=environ))
        return started[-1]

    yield start
    for one in started:
        one.end()
