"""What these tests prove of embedders and of what surrounds them:

* the fake one, a tiny ONNX one and the default model keep the embedder's contract;
* windows of the default model fit its limit, token by token; nothing is cut silently;
* int8 agrees with fp32 on words; like texts are near each other;
* the query cache remembers, forgets the oldest, and never remembers a failure;
* a failed load is remembered for a minute, then two, up to an hour, and forgotten by `reset`.
"""

from __future__ import annotations

import json
import shutil
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from build_model import build_files
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer
from tokenizers.models import BPE
from tokenizers.pre_tokenizers import ByteLevel
from tokenizers.processors import ByteLevel as Trimmed

from librarian.embeddings.base import Embedder, LazyModel
from librarian.embeddings.loading import CachedEmbedder, EmbedderSpec, QueryVectors
from librarian.embeddings.model_files import ModelStore
from librarian.embeddings.model_table import DEFAULT, read_spec, spec_of
from librarian.embeddings.onnx import OnnxEmbedder, batches, choose_file, padded, pooled
from librarian.embeddings.windows import clip, cut
from librarian.errors import SetupError, Unavailable
from librarian.models import WINDOWS_PER_CHUNK
from tests.contracts.embedder_contract import PASSAGES, PREFIXES, EmbedderContract
from tests.embeddings import tiny_bert
from tests.embeddings.fakes import FakeEmbedder


@pytest.fixture(scope="module")
def default_model() -> Iterator[OnnxEmbedder]:
    found = OnnxEmbedder(ModelStore().ensure(DEFAULT), spec_of(DEFAULT))
    yield found
    found.close()


@pytest.fixture(scope="module")
def tiny_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    source = tmp_path_factory.mktemp("source") / "tiny"
    tiny_bert.write_model(source)
    (source / "sentence_bert_config.json").write_text(json.dumps({"max_seq_length": 32}))
    return source


class TestFakeEmbedder(EmbedderContract):
    @pytest.fixture
    def embedder(self) -> Embedder:
        return FakeEmbedder()


class TestCachedEmbedder(EmbedderContract):
    @pytest.fixture
    def embedder(self) -> Embedder:
        return CachedEmbedder(FakeEmbedder(), QueryVectors(10))


class TestTinyOnnx(EmbedderContract):
    @pytest.fixture
    def embedder(self, tiny_home: Path) -> Iterator[Embedder]:
        found = OnnxEmbedder(tiny_home, read_spec(str(tiny_home), tiny_home), threads=1)
        yield found
        found.close()


class TestDefaultModel(EmbedderContract):
    @pytest.fixture
    def embedder(self, default_model: OnnxEmbedder) -> Embedder:
        return default_model

    @settings(max_examples=40, deadline=None)
    @given(prefix=PREFIXES, text=PASSAGES)
    def test_every_window_fits_the_model_and_every_token_is_read(
        self, default_model: OnnxEmbedder, prefix: str, text: str
    ) -> None:
        windows = default_model.windows(prefix, text)
        tokenizer = default_model._tokenizer
        assert all(len(tokenizer.encode(window.text).ids) <= default_model.spec.max_tokens for window in windows)
        for start, end in tokenizer.encode(text, add_special_tokens=False).offsets:
            assert any(window.start <= start and end <= window.end for window in windows)

    def test_like_texts_are_near(self, default_model: OnnxEmbedder) -> None:
        question = default_model.embed_query("How do I restart a container?")
        near, far = default_model.embed_chunks(["Restarting containers", "The history of the Roman empire"])
        assert question @ near > 0.6 > 0.3 > question @ far

    def test_a_long_question_is_cut_and_answered(self, default_model: OnnxEmbedder) -> None:
        vector = default_model.embed_query("pod " * 2000)
        assert np.isfinite(vector).all()

    def test_the_fingerprint_holds_model_and_arithmetic(self, default_model: OnnxEmbedder) -> None:
        assert default_model.fingerprint.startswith(f"{DEFAULT};{default_model.backend};384;128;")
        assert default_model.backend in {"onnx-int8", "onnx-fp32"}


# -- the ONNX embedder ---------------------------------------------------------------------------------------------


def test_the_tiny_model_computes_what_numpy_computes(tiny_home: Path, tmp_path: Path) -> None:
    for path in tiny_home.iterdir():
        if path.is_file() and path.name != "model_int8.onnx":
            (tmp_path / path.name).write_bytes(path.read_bytes())
    embedder = OnnxEmbedder(tmp_path, read_spec(str(tmp_path), tmp_path), threads=1)
    assert embedder.backend == "onnx-fp32"
    source = tiny_bert.weights_of()
    ids = embedder._ids("what is a pod")
    assert np.allclose(embedder.embed_query("what is a pod"), tiny_bert.embedding(source, ids), atol=1e-5)
    long = "pod " * 40  # beyond the limit of 32, and beyond the 16 that the file would cut at
    assert len(embedder._ids(long)) == 32
    assert embedder._ids(long)[-1] == 3
    embedder.close()
    with pytest.raises(Unavailable, match="closed"):
        embedder.embed_query("pod")


def test_a_folder_that_holds_no_model_is_named(tmp_path: Path, tiny_home: Path) -> None:
    with pytest.raises(Unavailable, match="no model"):
        OnnxEmbedder(tmp_path, spec_of(DEFAULT))
    (tmp_path / "model_int8.onnx").write_bytes(b"not a model")
    with pytest.raises(Unavailable, match="can't be loaded"):
        OnnxEmbedder(tmp_path, spec_of(DEFAULT))
    assert choose_file(tiny_home, cuda=True).name == "model.onnx"
    assert choose_file(tiny_home, cuda=False).name == "model_int8.onnx"


def test_a_model_of_another_width_is_refused(tiny_home: Path) -> None:
    embedder = OnnxEmbedder(tiny_home, spec_of(DEFAULT))
    with pytest.raises(SetupError, match="32 numbers, not 384"):
        embedder.embed_query("pod")
    embedder.close()


@settings(max_examples=50, deadline=None)
@given(st.lists(st.integers(0, 600), max_size=60), st.integers(1, 16))
def test_batches_hold_every_text_once_and_sort_them_by_length(lengths: list[int], most: int) -> None:
    found = batches(lengths, most)
    assert sorted(index for batch in found for index in batch) == list(range(len(lengths)))
    assert all(0 < len(batch) <= most for batch in found)
    flat = [lengths[index] for batch in found for index in batch]
    assert flat == sorted(flat)


def test_pooling_leaves_padding_out() -> None:
    feed = padded([[5, 6, 7], [8]], {"token_type_ids", "position_ids"})
    states = np.arange(12, dtype=np.float32).reshape(2, 3, 2)
    assert pooled(states, feed["attention_mask"], "cls").tolist() == [[0, 1], [6, 7]]
    assert pooled(states, feed["attention_mask"], "last").tolist() == [[4, 5], [6, 7]]
    assert pooled(states, feed["attention_mask"], "mean").tolist() == [[2, 3], [6, 7]]
    assert feed["position_ids"].tolist() == [[0, 1, 2], [0, 0, 0]]


# -- windows -------------------------------------------------------------------------------------------------------


def _words(text: str) -> list[tuple[int, int]]:
    out, at = [], 0
    for word in text.split(" "):
        if word:
            out.append((at, at + len(word)))
        at += len(word) + 1
    return out


def test_a_long_passage_is_cut_between_words_with_some_overlap() -> None:
    text = " ".join(f"w{i}" for i in range(25))
    windows = cut("T", text, lambda piece: _words(piece.replace("\n", " ")), 11, overlap=2)
    assert [w.text.split("\n")[1].split()[0] for w in windows] == ["w0", "w8", "w16"]
    assert all(w.text.startswith("T\n") for w in windows)
    assert windows[-1].end == len(text)


def test_blanks_that_a_byte_level_tokenizer_counts_overfill_no_window() -> None:
    tokenizer = Tokenizer(BPE({letter: at for at, letter in enumerate(sorted(ByteLevel.alphabet()))}, []))
    tokenizer.pre_tokenizer = ByteLevel(add_prefix_space=False)
    tokenizer.post_processor = Trimmed(trim_offsets=True)

    def tokenize(piece: str) -> list[tuple[int, int]]:
        found: list[tuple[int, int]] = tokenizer.encode(piece, add_special_tokens=False).offsets
        return found

    text = f"| name{' ' * 300}| value |\n| size{' ' * 300}| 漢字 |"
    windows = cut("Flags", text, tokenize, 64)
    assert max(len(tokenize(window.text)) for window in windows) <= 64
    assert (windows[0].start, windows[-1].end) == (0, len(text))
    assert all(after.start <= before.end for before, after in pairwise(windows))


def test_a_prefix_is_cut_at_forty_tokens() -> None:
    assert clip("a b c d", _words, 2) == "a b"
    (window,) = cut("h " * 100, "text", lambda piece: _words(piece.replace("\n", " ")), 200)
    assert window.text == "h " * 39 + "h\ntext"


def test_more_windows_than_a_chunk_has_ids_for_are_left_out_aloud(caplog: pytest.LogCaptureFixture) -> None:
    windows = cut("", "word " * 1000, _words, 8)
    assert len(windows) == WINDOWS_PER_CHUNK
    assert "left out" in caplog.text


def test_a_text_without_tokens_still_has_a_window() -> None:
    assert len(cut("a b c", "      ", _words, 4)) == 1


# -- the query cache -----------------------------------------------------------------------------------------------


def test_a_question_is_embedded_once() -> None:
    inner = FakeEmbedder()
    cache = QueryVectors(2)
    cached = CachedEmbedder(inner, cache)
    first = cached.embed_query("a")
    assert cached.embed_query("a") is first
    assert not first.flags.writeable
    cached.embed_query("b")
    cached.embed_query("a")
    cached.embed_query("c")  # forgets b, the one not used for longest
    cached.embed_query("a")
    assert inner.queries == 3
    assert cache.stats() == (2, 3, 3)
    cached.embed_query("b")
    assert inner.queries == 4
    assert cache.clear() == 2
    assert cache.stats() == (0, 0, 0)
    cached.close()
    assert inner.closed


def test_a_failure_is_not_remembered() -> None:
    inner = FakeEmbedder()
    cached = CachedEmbedder(inner, QueryVectors(2))
    inner.fail = Unavailable("down")
    with pytest.raises(Unavailable):
        cached.embed_query("a")
    inner.fail = None
    assert cached.embed_query("a").shape == (64,)


# -- loading -------------------------------------------------------------------------------------------------------


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_failed_load_is_remembered_and_tried_again_later() -> None:
    clock, tries = Clock(), []

    def load() -> str:
        tries.append(clock.now)
        raise Unavailable("The model is gone.", hint="Fetch it.")

    loadable = LazyModel(load, clock)
    assert loadable.loaded() is None
    assert loadable.error() == ""
    for now in (0.0, 59.0, 60.0, 179.0, 180.0, 100_000.0, 103_599.0, 103_600.0):
        clock.now = now
        with pytest.raises(Unavailable, match=r"The model is gone\. Fetch it\."):
            loadable.get()
    assert tries == [0.0, 60.0, 180.0, 100_000.0, 103_599.0]
    assert loadable.error() == "The model is gone."
    loadable.reset()
    assert loadable.error() == ""
    with pytest.raises(Unavailable):
        loadable.get()
    assert tries[-1] == 103_600.0


def test_waits_never_exceed_an_hour() -> None:
    clock, tries = Clock(), []

    def load() -> str:
        tries.append(clock.now)
        raise OSError("no such file")

    loadable = LazyModel(load, clock)
    for minute in range(60 * 6):
        clock.now = minute * 60.0
        with pytest.raises(Unavailable, match="OSError: no such file"):
            loadable.get()
    gaps = [b - a for a, b in pairwise(tries)]
    assert gaps[:6] == [60.0, 120.0, 240.0, 480.0, 960.0, 1920.0]
    assert set(gaps[6:]) == {3600.0}


def test_a_load_that_comes_right_is_kept() -> None:
    outcomes: list[object] = [OSError("busy"), "model"]

    def load() -> object:
        found = outcomes.pop(0)
        if isinstance(found, Exception):
            raise found
        return found

    loadable = LazyModel(load, Clock())
    with pytest.raises(Unavailable):
        loadable.get()
    loadable.reset()
    assert loadable.get() == loadable.get() == loadable.loaded() == "model"
    assert loadable.error() == ""


def test_a_failure_is_forgotten_without_waiting_for_a_load_under_way() -> None:
    started, finish = threading.Event(), threading.Event()

    def load() -> str:
        started.set()
        assert finish.wait(30)
        return "model"

    loadable = LazyModel(load)
    with ThreadPoolExecutor(2) as threads:
        asked = threads.submit(loadable.get)
        assert started.wait(10)
        threads.submit(loadable.reset).result(10)  # a reload in the event loop calls it
        finish.set()
        assert asked.result(10) == "model"


def test_threads_that_ask_together_load_once() -> None:
    started, finish, loads = threading.Event(), threading.Event(), []

    def load() -> str:
        loads.append(1)
        started.set()
        assert finish.wait(10)
        return "model"

    loadable = LazyModel(load)
    with ThreadPoolExecutor(4) as threads:
        asked = [threads.submit(loadable.get) for _ in range(4)]
        assert started.wait(10)
        finish.set()
        assert [one.result(10) for one in asked] == ["model"] * 4
    assert len(loads) == 1


def test_a_name_loads_its_embedder(tiny_home: Path, tmp_path: Path) -> None:
    source = tmp_path / "some-model"
    tiny_bert.write_model(source)
    embedder = EmbedderSpec(str(source), threads=1)()
    assert embedder.spec.dimension == 32
    assert embedder.embed_query("pod").shape == (32,)
    embedder.close()


def test_a_service_s_model_needs_a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "of the environment, which the settings did not pass on")
    with pytest.raises(SetupError, match="OPENAI_API_KEY"):
        EmbedderSpec("text-embedding-3-small", provider="openai")()


def test_the_name_of_a_model_chooses_no_service() -> None:
    with pytest.raises(SetupError, match=r"no text is sent .* Set embeddings\.provider to openai"):
        EmbedderSpec("text-embedding-3-small", api_key="k", base_url="http://127.0.0.1:9")()


def test_int8_agrees_with_fp32_on_words(default_model: OnnxEmbedder, tmp_path: Path) -> None:
    source = tmp_path / "fp32"
    source.mkdir()
    shutil.copy(_published_weights(), source / "model.safetensors")
    shutil.copy(_published_weights().with_name("config.json"), source)
    shutil.copy(ModelStore().ensure(DEFAULT) / "tokenizer.json", source)
    build_files(source)
    (source / "model_int8.onnx").unlink()
    fp32 = OnnxEmbedder(source, spec_of(DEFAULT))
    words = ["pod", "node", "scheduler", "volume", "restart", "how do I read a parquet file?", "rolling update"]
    both = (fp32.embed_chunks(words) * default_model.embed_chunks(words)).sum(axis=1)
    assert both.mean() > 0.99
    fp32.close()


def _published_weights() -> Path:
    import os

    named = os.environ.get("LIBRARIAN_TEST_WEIGHTS", "")
    if not Path(named).is_file():
        pytest.skip("LIBRARIAN_TEST_WEIGHTS names no model.safetensors of the default model")
    return Path(named)
