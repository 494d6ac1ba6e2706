"""What the doctor says of vector stores that are no longer in use, and of a model whose files have changed."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from librarian.cli.doctor import Check, examine
from librarian.embeddings import model_files
from librarian.embeddings.model_table import DEFAULT
from librarian.settings import Settings


def left_behind(folder: Path, settings: dict[str, object]) -> list[Check]:
    config = folder / "config.json"
    config.write_text(json.dumps(settings))
    return [item for item in examine(Settings.load(config)) if "no longer name" in item.detail]


@pytest.mark.parametrize(
    ("store", "environment", "left"),
    [
        ("auto", {}, {"sqlite-vec", "qdrant"}),
        ("chroma", {}, {"sqlite-vec", "qdrant"}),
        ("exact", {}, {"chroma", "sqlite-vec", "qdrant"}),
        ("sqlite-vec", {}, {"chroma", "qdrant"}),
        ("qdrant", {}, {"chroma", "sqlite-vec"}),
        ("qdrant", {"QDRANT_URL": "http://127.0.0.1:6333"}, {"chroma", "sqlite-vec", "qdrant"}),
    ],
)
def test_vector_stores_that_a_changed_setting_has_left_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, store: str, environment: dict[str, str], left: set[str]
) -> None:
    monkeypatch.delenv("QDRANT_URL", raising=False)
    index = tmp_path / ".librarian"
    for name, file in (("chroma", "chroma.sqlite3"), ("sqlite-vec", "1.sqlite"), ("qdrant", "documents-1/meta.json")):
        (index / name / file).parent.mkdir(parents=True)
        (index / name / file).write_bytes(b"x" * 1_200_000)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    told = left_behind(tmp_path, {"vector_db": {"store": store}})
    assert {item.detail.partition(" (1.2 MB) ")[0] for item in told} == {str(index / name) for name in left}
    assert {item.remedy for item in told} == {"Once the server runs with these settings it may be deleted."}


@pytest.mark.parametrize("place", [".librarian/chroma", ".librarian/chroma/deeper"])
def test_the_folder_that_is_named_for_the_vectors_is_left_alone(tmp_path: Path, place: str) -> None:
    (tmp_path / ".librarian" / "chroma").mkdir(parents=True)
    (tmp_path / ".librarian" / "chroma" / "chroma.sqlite3").touch()
    assert left_behind(tmp_path, {"vector_db": {"path": place}}) == []


def test_a_model_whose_files_have_changed_is_named_with_the_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = shutil.copytree(model_files.SHIPPED, tmp_path / "shipped")
    monkeypatch.setattr(model_files, "SHIPPED", home)
    (home / "tokenizer.json").write_text("{}")
    [found] = [item for item in examine(Settings.load(environ={})) if item.what == "model"]
    assert found.outcome == "wrong"
    assert found.detail == f"{DEFAULT} in {home} has changed since it was installed: tokenizer.json"
    assert found.remedy == "Install Librarian again."
