"""A spec of an embedder: what is proved here.

* It can be handed to a child process, which imports for it neither the settings nor what answers questions.
* What doesn't fit is refused; a model of this machine stays here where it may, whatever the library's provider is.
"""

from __future__ import annotations

import pickle
import subprocess
import sys
from pathlib import Path

import pytest

from librarian.embeddings.loading import EmbedderSpec, Provider
from librarian.errors import SetupError
from tests.embeddings import tiny_bert

BACKEND = Path(__file__).resolve().parents[2]
CHILD = """
import pickle, sys
embedder = pickle.loads(sys.stdin.buffer.read())()
print(embedder.embed_query("a pod").shape, *sorted({name for name in sys.modules if name in UNWANTED}))
"""
UNWANTED = ("librarian.settings", "librarian.desk", "librarian.finding", "librarian.bootstrap", "pydantic", "httpx")


def spec(name: str, *, provider: Provider = "local", dimension: int | None = None) -> EmbedderSpec:
    refused = "http://127.0.0.1:9"
    return EmbedderSpec(name, provider, refused, "s3cret", 1, 8, 1.0, dimension=dimension)


@pytest.fixture
def tiny(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    tiny_bert.write_model(tmp_path / "tiny")
    return str(tmp_path / "tiny")


def test_a_child_loads_it_without_the_rest_of_the_program(tiny: str) -> None:
    spec(tiny)().close()  # builds it
    child = subprocess.run(
        [sys.executable, "-c", f"UNWANTED = {UNWANTED}" + CHILD],
        cwd=BACKEND,
        input=pickle.dumps(spec(tiny)),
        capture_output=True,
        check=True,
    )
    assert child.stdout.decode().strip() == "(32,)"


def test_a_model_of_another_dimension_is_refused(tiny: str) -> None:
    spec(tiny, dimension=32)().close()
    with pytest.raises(SetupError, match=r"embeddings\.dimension is 33; .*tiny has 32\. Set it to 32, or leave it out"):
        spec(tiny, dimension=33)()


def test_its_key_is_not_told() -> None:
    assert "s3cret" not in repr(spec("all-MiniLM-L6-v2"))
