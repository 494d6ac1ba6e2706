"""What the doctor says of a model whose files have changed, and of a missing cross-encoder."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from librarian.cli.doctor import examine
from librarian.embeddings import model_files
from librarian.embeddings.model_table import DEFAULT
from librarian.settings import Settings


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


@pytest.mark.parametrize(("mode", "outcome"), [("auto", "ok"), ("rerank", "note")])
def test_a_missing_cross_encoder_is_named_with_how_to_get_it(mode: str, outcome: str) -> None:
    settings = Settings.load(environ={"SEARCH_MODE": mode, "CROSSENCODER_MODEL": "cross-encoder/none-such"})
    [found] = [item for item in examine(settings) if item.what == "rerank"]
    assert found.outcome == outcome
    assert found.remedy == "Run librarian models fetch cross-encoder/none-such."


def test_a_cross_encoder_in_a_folder_is_not_missing(tmp_path: Path) -> None:
    [found] = [
        item for item in examine(Settings.load(environ={"CROSSENCODER_MODEL": str(tmp_path)})) if item.what == "rerank"
    ]
    assert found.detail == f"{tmp_path} is installed"
