"""Properties of the vector archive:

* What is put is got back with unit length and float16 precision, by model and hash, and survives closing.
* Hashes that text still uses are never pruned; others go beyond a quarter of the file.
* A damaged file, at opening or later, is set aside, said so, and replaced by an empty one that works.
* Any thread may call; thousands of vectors a second go in and come out.
"""

from __future__ import annotations

import logging
import sqlite3
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from librarian.errors import Damaged, SetupError
from librarian.models import Vector
from librarian.storage.embedding_cache import SqliteEmbeddingCache


@pytest.fixture
def archive(tmp_path: Path) -> Iterator[SqliteEmbeddingCache]:
    archive = SqliteEmbeddingCache(tmp_path / "vectors.sqlite")
    yield archive
    archive.close()


def vectors(*names: str, dimension: int = 8) -> dict[str, Vector]:
    rng = np.random.default_rng(len(names))
    rows = rng.standard_normal((len(names), dimension)).astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return dict(zip(names, rows, strict=True))


def test_vectors_come_back_with_unit_length_and_float16_precision(archive: SqliteEmbeddingCache) -> None:
    kept = vectors("a", "b", "c")
    archive.put("m", kept)
    got = archive.get("m", ["c", "unknown", "a", "c"])
    assert list(got) == ["c", "a"]
    for name, row in got.items():
        assert row.dtype == np.float32
        assert row == pytest.approx(kept[name], abs=1e-3)
        assert np.linalg.norm(row) == pytest.approx(1, abs=1e-6)


def test_models_never_meet(archive: SqliteEmbeddingCache) -> None:
    archive.put("int8", vectors("a"))
    archive.put("fp32", vectors("a", "b", dimension=4))
    assert archive.get("int8", ["a", "b"]).keys() == {"a"}
    assert archive.get("fp32", ["a"])["a"].shape == (4,)
    assert archive.get("other", ["a"]) == {}
    assert (archive.count(), archive.count("int8"), archive.count("fp32"), archive.count("other")) == (3, 1, 2, 0)
    assert archive.models() == ["int8", "fp32"]


def test_the_same_hash_is_kept_once_with_its_last_vector(archive: SqliteEmbeddingCache) -> None:
    archive.put("m", vectors("a"))
    later = vectors("x", "a")
    archive.put("m", later)
    assert archive.count("m") == 2
    assert archive.get("m", ["a"])["a"] == pytest.approx(later["a"], abs=1e-3)


def test_vectors_survive_closing(archive: SqliteEmbeddingCache) -> None:
    archive.put("m", vectors("a", "b"))
    archive.close()
    again = SqliteEmbeddingCache(archive.path)
    assert again.get("m", ["a", "b"]).keys() == {"a", "b"}
    assert not again.recreated
    again.close()


def test_a_vector_that_cannot_be_one_is_refused_and_nothing_of_its_batch_is_kept(archive: SqliteEmbeddingCache) -> None:
    archive.put("m", vectors("a"))
    with pytest.raises(ValueError, match="NaN"):
        archive.put("m", {"b": np.ones(8, np.float32), "c": np.full(8, np.nan, np.float32)})
    with pytest.raises(ValueError, match="8 dimensions; these have 4"):
        archive.put("m", vectors("d", dimension=4))
    archive.put("m", {})
    assert archive.count() == 1


def test_pruning_keeps_what_is_used_and_a_quarter_of_what_is_not(archive: SqliteEmbeddingCache) -> None:
    used = {f"used{n}" for n in range(9)}
    archive.put("m", vectors("a", "b", "c", *sorted(used)))
    assert archive.prune("m", used) == 0
    archive.put("m", vectors("d", "e"))
    assert archive.prune("m", used) == 2
    assert archive.get("m", sorted(used)).keys() == used
    assert archive.prune("m", used, unused_share=0) == 3
    assert archive.get("m", sorted(used)).keys() == used
    assert archive.prune("unknown", set()) == 0


def test_vectors_of_a_former_model_stay_until_that_model_is_pruned(archive: SqliteEmbeddingCache) -> None:
    archive.put("former", vectors(*(f"f{n}" for n in range(9))))
    archive.put("m", vectors(*(f"a{n}" for n in range(9))))
    assert archive.prune("m", {f"a{n}" for n in range(9)}) == 0
    assert archive.count("former") == 9
    assert archive.prune("former", set()) == 6, "a third of the nine that are used stays"


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 30), st.integers(0, 30), st.integers(0, 30))
def test_after_pruning_the_unused_are_never_more_than_a_quarter(
    tmp_path_factory: pytest.TempPathFactory, living: int, dead: int, other: int
) -> None:
    archive = SqliteEmbeddingCache(tmp_path_factory.mktemp("archive") / "vectors.sqlite")
    alive = {f"a{n}" for n in range(living)}
    archive.put("m", vectors(*sorted(alive), *(f"d{n}" for n in range(dead))))
    archive.put("other", vectors(*(f"o{n}" for n in range(other)), dimension=16))
    dropped = archive.prune("m", alive)
    assert archive.get("m", sorted(alive)).keys() == alive
    assert archive.count("other") == other
    left = (dead - dropped) * 8
    assert left <= 0.25 * (living * 8 + other * 16 + left)
    archive.close()


def test_a_file_that_is_no_database_is_set_aside_with_a_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "vectors.sqlite"
    path.write_bytes(b"no database at all" * 1000)
    with caplog.at_level(logging.WARNING):
        archive = SqliteEmbeddingCache(path)
    assert archive.recreated
    assert "computed again" in caplog.text
    assert (tmp_path / "vectors.sqlite.damaged-1" / "vectors.sqlite").read_bytes().startswith(b"no database")
    archive.put("m", vectors("a"))
    assert archive.get("m", ["a"]).keys() == {"a"}
    archive.close()


def test_damage_found_while_reading_starts_a_new_file(archive: SqliteEmbeddingCache) -> None:
    archive.put("m", vectors(*(str(n) for n in range(500)), dimension=384))
    archive.close()
    data = bytearray(archive.path.read_bytes())
    data[4096:] = b"\xa5" * (len(data) - 4096)
    archive.path.write_bytes(data)
    again = SqliteEmbeddingCache(archive.path)
    with pytest.raises(Damaged):
        again.get("m", ["1"])
    assert again.get("m", ["1"]) == {}
    assert again.recreated
    again.put("m", vectors("a"))
    assert again.count() == 1
    again.close()


def test_a_file_of_a_later_format_is_set_aside(tmp_path: Path) -> None:
    path = tmp_path / "vectors.sqlite"
    db = sqlite3.connect(path)
    db.execute("PRAGMA user_version = 99")
    db.close()
    archive = SqliteEmbeddingCache(path)
    assert archive.recreated
    assert archive.count() == 0
    archive.close()


def test_a_place_that_cannot_be_written_is_refused_with_a_remedy(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(SetupError, match="writable"):
        SqliteEmbeddingCache(tmp_path / "file" / "vectors.sqlite")


def test_a_failed_write_leaves_the_archive_as_it_was(archive: SqliteEmbeddingCache) -> None:
    archive.put("m", vectors("a"))
    with pytest.raises(sqlite3.IntegrityError):
        archive.put("n", {"b": np.ones(4, np.float32), None: np.ones(4, np.float32)})  # type: ignore[dict-item]
    assert archive.count() == 1
    archive.put("n", vectors("b", dimension=4))
    assert archive.get("n", ["b"]).keys() == {"b"}


def test_threads_share_one_archive(archive: SqliteEmbeddingCache) -> None:
    problems: list[BaseException] = []

    def work(number: int) -> None:
        try:
            mine = vectors(*(f"{number}-{n}" for n in range(50)))
            for name, row in mine.items():
                archive.put("m", {name: row})
                assert archive.get("m", [name])[name] == pytest.approx(row, abs=1e-3)
        except BaseException as error:
            problems.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=300)
    assert problems == []
    assert archive.count() == 200


def test_thousands_of_vectors_a_second_go_in_and_come_out(archive: SqliteEmbeddingCache) -> None:
    kept = vectors(*(f"{n:032x}" for n in range(4000)), dimension=384)
    began = time.perf_counter()
    archive.put("m", kept)
    assert len(archive.get("m", list(kept))) == 4000
    # measured at 60,000 a second; the bound leaves room for a busy machine
    assert time.perf_counter() - began < 4
