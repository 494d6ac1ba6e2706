"""Memory that isn't needed any more is given back.

* A catalog closes the connections of readers that have long gone, and the next reader gets one.
* A heap gives free pages back where it can, and it is no error where it can't.
"""

from __future__ import annotations

import gc
import sqlite3
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from librarian.shelving import catalog as module
from librarian.shelving.catalog import SqliteCatalog
from librarian.shelving.heap import give_back


def connections() -> int:
    gc.collect()
    return sum(isinstance(thing, sqlite3.Connection) for thing in gc.get_objects())


def test_connections_of_readers_that_have_long_gone_are_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with closing(SqliteCatalog(tmp_path / "catalog.sqlite")) as catalog:
        with catalog.read():
            few = connections()
        with ExitStack() as readers:
            for _ in range(8):
                readers.enter_context(catalog.read())
        assert connections() == few + 7
        monkeypatch.setattr(module, "_IDLE_S", 0.0)
        with catalog.read() as reader:
            assert reader.generation == 0
        assert connections() == few
        with catalog.read() as reader:
            assert reader.generation == 0


def test_giving_back_is_no_error_anywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    give_back()
    monkeypatch.setattr("librarian.shelving.heap.sys.platform", "other")
    give_back()
