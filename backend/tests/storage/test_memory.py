"""Memory that isn't needed any more is given back.

* A catalog keeps few of the connections that its readers had.
* A heap gives free pages back where it can, and it is no error where it can't.
* What a question's arrays need stays in the heap between questions.
"""

from __future__ import annotations

import gc
import sqlite3
import subprocess
import sys
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from librarian.indexing.malloc import give_back
from librarian.storage.catalog import SqliteCatalog


def connections() -> int:
    gc.collect()
    return sum(isinstance(thing, sqlite3.Connection) for thing in gc.get_objects())


def test_of_many_readers_connections_few_are_kept(tmp_path: Path) -> None:
    with closing(SqliteCatalog(tmp_path / "catalog.sqlite")) as catalog:
        with catalog.read():
            few = connections()
        with ExitStack() as readers:
            for _ in range(8):
                readers.enter_context(catalog.read())
            assert connections() == few + 7
        assert connections() == few + 1
        with catalog.read() as reader:
            assert reader.generation == 0
        assert connections() == few + 1


def test_giving_back_is_no_error_anywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    give_back()
    monkeypatch.setattr("librarian.indexing.malloc.sys.platform", "other")
    give_back()


ASKED = """
import resource
from librarian.indexing.malloc import keep_small
keep_small()
faults = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(5):
    bytearray(1_000_000)
before = faults()
for _ in range(100):
    bytearray(1_000_000)
print(faults() - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="page faults are counted as Linux counts them")
def test_the_memory_of_a_question_is_not_asked_of_the_system_anew_each_time() -> None:
    done = subprocess.run([sys.executable, "-c", ASKED], capture_output=True, text=True, check=True, timeout=60)
    assert int(done.stdout) < 100  # given back, each time it would be 244
