"""Which model a question is embedded with.

* the configured one, but for while the vectors of the one before answer: then that one, and the new one isn't loaded
* vectors of another build are never asked
"""

from __future__ import annotations

import pytest

from librarian.embeddings.base import Embedder, LazyModel
from librarian.embeddings.loading import AnsweringModel
from librarian.errors import Unavailable
from tests.embeddings.fakes import FakeEmbedder


def test_the_model_before_asks_its_own_vectors_until_the_new_ones_are_complete() -> None:
    old, new = FakeEmbedder(name="old"), FakeEmbedder(name="new")
    answering = [old]

    def load() -> Embedder:
        assert answering == [new], "a model that isn't needed yet is loaded"
        return new

    model = AnsweringModel(
        LazyModel(load), LazyModel(lambda: old), changing=lambda: answering == [old],
        answering=lambda: answering[0].fingerprint,
    )  # fmt: skip
    assert model.get() is old
    answering[0] = new
    assert model.get() is new
    assert model.loaded() is new
    model.close()
    assert old.closed
    assert not new.closed


def test_vectors_of_another_build_are_never_asked() -> None:
    model = AnsweringModel(
        LazyModel(FakeEmbedder),
        LazyModel(FakeEmbedder),
        changing=lambda: False,
        answering=lambda: "fake;onnx;64;32;old",
    )
    with pytest.raises(Unavailable, match="another build of fake"):
        model.get()
    model.close()


def test_a_failure_is_said_and_forgotten_on_demand() -> None:
    problems = ["The new model isn't here."]

    def load() -> Embedder:
        if problems:
            raise Unavailable(problems.pop())
        return FakeEmbedder()

    model = AnsweringModel(LazyModel(load), LazyModel(FakeEmbedder), changing=lambda: False, answering=lambda: "")
    with pytest.raises(Unavailable, match="isn't here"):
        model.get()
    assert "isn't here" in model.error()
    model.reset()
    assert model.get().spec.name == "fake"
