"""What these tests prove of the model table and the store:

* every row is complete; unknown names are refused with the nearest, hub names and folders are read from their files;
* a model is fetched once, whoever asks at the same time, and is complete or absent;
* the default model is in the package; files that have changed are found;
* a hub out of reach is said within seconds; a hub's files arrive, of the revision that is asked for;
* what can't be built says what can.
"""

from __future__ import annotations

import json
import re
import shutil
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from filelock import FileLock

from librarian.embeddings import model_files
from librarian.embeddings.model_files import ModelStore, default_folder
from librarian.embeddings.model_table import DEFAULT, hub_name, known, read_json, read_spec, spec_of, state_of
from librarian.errors import SetupError, Unavailable
from tests.embeddings import tiny_bert
from tests.embeddings.hub import Hub, point_at, serving

# -- the table -----------------------------------------------------------------------------------------------------


def test_every_row_is_complete() -> None:
    assert known()[0] == DEFAULT
    for name in known():
        spec = spec_of(name)
        assert spec.name == name
        assert 384 <= spec.dimension <= 3072
        assert 256 <= spec.max_tokens <= 512
        assert spec_of(name.upper()) == spec
        assert bool(hub_name(name)) == (spec.provider == "local")
        if "e5" in name:
            assert (spec.query_prefix, spec.passage_prefix) == ("query: ", "passage: ")


def test_a_hub_name_of_a_known_model_is_that_model() -> None:
    assert spec_of("sentence-transformers/all-MiniLM-L6-v2") == spec_of(DEFAULT)
    assert spec_of("BAAI/bge-small-en-v1.5").pooling == "cls"
    assert spec_of("Qwen/Qwen3-Embedding-0.6B").pooling == "last"


def test_an_unknown_name_is_refused_with_the_nearest() -> None:
    with pytest.raises(SetupError, match="Nearest: 'all-MiniLM-L6-v2'"):
        spec_of("all-MiniLM-L6")
    with pytest.raises(SetupError, match="Known: "):
        spec_of("zzzzzz")


def test_an_unknown_hub_model_is_read_from_its_files(tmp_path: Path) -> None:
    assert spec_of("owner/name").dimension == 0
    files: dict[str, object] = {
        "config.json": {"hidden_size": 768, "max_position_embeddings": 514, "model_type": "xlm-roberta"},
        "1_Pooling/config.json": {"pooling_mode_cls_token": True},
        "config_sentence_transformers.json": {"prompts": {"query": "q: ", "document": "d: "}},
    }
    for name, content in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(json.dumps(content))
    spec = read_spec("owner/name", tmp_path)
    assert (spec.dimension, spec.max_tokens, spec.pooling) == (768, 512, "cls")
    assert (spec.query_prefix, spec.passage_prefix) == ("q: ", "d: ")
    (tmp_path / "sentence_bert_config.json").write_text('{"max_seq_length": 128}')
    (tmp_path / "1_Pooling/config.json").write_text('{"pooling_mode_lasttoken": true}')
    spec = read_spec("owner/name", tmp_path)
    assert (spec.max_tokens, spec.pooling) == (128, "last")
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(SetupError, match=r"no config\.json"):
        read_spec("owner/name", tmp_path)
    (tmp_path / "config.json").write_text('{"layers": 3}')
    with pytest.raises(SetupError, match="hidden_size"):
        read_spec("owner/name", tmp_path)
    (tmp_path / "config.json").write_text("{")
    with pytest.raises(SetupError, match="can't be read"):
        read_json(tmp_path / "config.json")


# -- the store -----------------------------------------------------------------------------------------------------


def test_a_folder_with_a_model_is_used_where_it_lies(tmp_path: Path) -> None:
    source = tmp_path / "mine"
    tiny_bert.write_model(source)
    models = ModelStore(tmp_path / "models")
    before = sorted(source.iterdir())
    assert models.locate(str(source)) == models.ensure(str(source)) == source
    assert sorted(source.iterdir()) == before
    assert models.installed() == [DEFAULT]
    assert not models.folder.exists()


def test_a_folder_that_lacks_a_part_of_a_model_says_which(tmp_path: Path) -> None:
    source = tmp_path / "mine"
    tiny_bert.write_model(source)
    (source / "tokenizer.json").unlink()
    models = ModelStore(tmp_path / "models")
    with pytest.raises(Unavailable, match=r"no tokenizer\.json"):
        models.ensure(str(source))
    tiny_bert.write_tokenizer(source / "tokenizer.json")
    for graph in source.glob("*.onnx"):
        graph.unlink()
    with pytest.raises(Unavailable, match="no ONNX file"):
        models.ensure(str(source))


def test_a_published_onnx_file_is_taken_and_pooled_here(tmp_path: Path) -> None:
    from librarian.embeddings.onnx import OnnxEmbedder

    source = tmp_path / "mine"
    weights = tiny_bert.write_model(source, model_type="mpnet")
    (source / "onnx").mkdir()
    (source / "model.onnx").rename(source / "onnx" / "model.onnx")
    (source / "model_int8.onnx").unlink()
    home = ModelStore(tmp_path / "models").ensure(str(source))
    embedder = OnnxEmbedder(home, read_spec(str(source), home))
    found = embedder.embed_query("what is a pod")
    assert abs(found - tiny_bert.embedding(weights, embedder._ids("what is a pod"))).max() < 1e-5
    embedder.close()


def test_a_store_that_can_not_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(SetupError, match="No models can be kept"):
        ModelStore(tmp_path / "file" / "models").ensure("owner/tiny")


def test_a_service_s_model_is_nothing_to_fetch(tmp_path: Path) -> None:
    with pytest.raises(SetupError, match="nothing to fetch"):
        ModelStore(tmp_path).ensure("text-embedding-3-small")


def test_models_are_kept_in_the_user_s_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert default_folder() == tmp_path / "librarian" / "models"
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert default_folder().parts[-3:] == (".cache", "librarian", "models")
    assert ModelStore().folder == default_folder()


def test_a_builder_that_hangs_is_not_waited_for_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_files, "_LOCK_S", 0.0)
    models = ModelStore(tmp_path / "models")
    models.folder.mkdir()
    lock = FileLock(models.folder / ".owner--tiny.lock")
    with lock, pytest.raises(Unavailable, match="Another process"):
        models.ensure("owner/tiny")


# -- the package ---------------------------------------------------------------------------------------------------


def test_the_default_model_is_in_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    models = ModelStore(tmp_path / "models")
    home = models.ensure(DEFAULT)
    assert home == models.locate("sentence-transformers/all-MiniLM-L6-v2") == model_files.SHIPPED
    assert models.installed() == [DEFAULT]
    assert models.changed_files(DEFAULT) == []
    assert not models.folder.exists()
    changed = shutil.copytree(home, tmp_path / "changed")
    monkeypatch.setattr(model_files, "SHIPPED", changed)
    (changed / "tokenizer.json").write_text("{}")
    (changed / "model_int8.onnx").unlink()
    assert models.changed_files(DEFAULT) == ["model_int8.onnx", "tokenizer.json"]
    (changed / "SHA256SUMS").unlink()
    assert models.changed_files(DEFAULT) == ["SHA256SUMS"]


# -- the hub -------------------------------------------------------------------------------------------------------


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    tiny_bert.write_model(tmp_path / "published")
    with serving(tmp_path / "published") as url:
        point_at(url, tmp_path, monkeypatch)
        yield url


def test_a_hub_s_model_arrives_once_and_serves_when_the_hub_is_gone(
    hub: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    models = ModelStore(tmp_path / "models")
    with ThreadPoolExecutor(4) as pool:
        (home,) = set(pool.map(lambda _: ModelStore(tmp_path / "models").ensure("owner/tiny"), range(4)))
    assert sorted(Hub.fetched) == ["config.json", "model_int8.onnx", "tokenizer.json"]
    assert home.name == "owner--tiny"
    assert read_spec("owner/tiny", home).dimension == 32
    assert models.installed() == [DEFAULT, "owner/tiny"]
    assert models.changed_files("owner/tiny") == []
    point_at("http://127.0.0.1:9", tmp_path, monkeypatch)
    assert models.ensure("owner/tiny") == home
    (home / "tokenizer.json").write_text("{}")
    assert models.changed_files("owner/tiny") == ["tokenizer.json"]


def test_a_model_that_the_hub_lacks_or_has_without_a_part_is_refused(hub: str, tmp_path: Path) -> None:
    models = ModelStore(tmp_path / "models")
    with pytest.raises(Unavailable, match="refuses 'owner/absent'"):
        models.ensure("owner/absent")
    for graph in Hub.folder.glob("*.onnx"):
        graph.unlink()
    with pytest.raises(Unavailable, match="'owner/tiny' has no ONNX file"):
        models.ensure("owner/tiny")
    assert models.locate("owner/tiny") is None


def test_a_model_whose_files_did_not_all_arrive_is_fetched_again(hub: str, tmp_path: Path) -> None:
    models = ModelStore(tmp_path / "models")
    home = models.ensure("owner/tiny")
    sums = (home / "SHA256SUMS").read_text()
    (home / "SHA256SUMS").unlink()
    assert models.locate("owner/tiny") is None
    assert models.installed() == [DEFAULT]
    assert models.ensure("owner/tiny") == home
    assert (home / "SHA256SUMS").read_text() == sums


def test_a_hub_s_model_is_fetched_at_the_revision_that_its_name_asks_for(hub: str, tmp_path: Path) -> None:
    commit = "b" * 40
    models = ModelStore(tmp_path / "models")
    home = models.ensure(f"owner/tiny@{commit}")
    assert Hub.revisions == {commit}
    assert models.installed() == [DEFAULT, f"owner/tiny@{commit}"]
    assert models.locate("owner/tiny") is None
    assert home.name == f"owner--tiny@{commit}"


def test_a_known_model_stays_known_at_a_revision() -> None:
    pinned = "Intfloat/multilingual-e5-small@" + "c" * 40
    spec = spec_of(pinned)
    assert (spec.name, spec.query_prefix) == ("multilingual-e5-small@" + "c" * 40, "query: ")
    assert hub_name(pinned) == "intfloat/multilingual-e5-small@" + "c" * 40
    with pytest.raises(SetupError, match="No embedding model 'text-embedding-3-small@c'"):
        spec_of("text-embedding-3-small@c")


@pytest.mark.parametrize(
    ("config", "pooling"),
    [
        ({"pooling_mode": "cls"}, "cls"),
        ({"pooling_mode": ["lasttoken"]}, "last"),
        ({"pooling_mode_mean_sqrt_len_tokens": True, "pooling_mode_cls_token": False}, "mean"),
        ({"pooling_mode": "max"}, "pooling by max"),
        ({"pooling_mode_weightedmean_tokens": True}, "pooling by weightedmean"),
        ({"pooling_mode_mean_tokens": True, "pooling_mode_cls_token": True}, "pooling by mean and cls"),
    ],
)
def test_pooling_is_as_published_or_refused(tmp_path: Path, config: dict[str, object], pooling: str) -> None:
    (tmp_path / "1_Pooling").mkdir()
    (tmp_path / "1_Pooling" / "config.json").write_text(json.dumps(config))
    (tmp_path / "config.json").write_text('{"hidden_size": 32}')
    if " " in pooling:
        with pytest.raises(Unavailable, match=f"has {pooling}, which isn't computed here"):
            read_spec("owner/name", tmp_path)
    else:
        assert read_spec("owner/name", tmp_path).pooling == pooling


def test_a_model_with_further_modules_is_refused(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"hidden_size": 32}')
    modules = [{"path": "", "type": "x.Transformer"}, {"path": "1_Pooling", "type": "x.Pooling"}]
    for more in ([], [{"path": "2_Normalize", "type": "x.Normalize"}]):
        (tmp_path / "modules.json").write_text(json.dumps(modules + more))
        assert read_spec("owner/name", tmp_path).pooling == "mean"
    for more, what in (
        ({"path": "2_Dense", "type": "x.Dense"}, "module Dense"),
        ({"path": "p", "type": "y.Pooling"}, "in p"),
    ):
        (tmp_path / "modules.json").write_text(json.dumps([*modules, more]))
        with pytest.raises(Unavailable, match=what):
            read_spec("owner/name", tmp_path)


def test_a_folder_whose_model_was_replaced_is_another_model(tmp_path: Path) -> None:
    from librarian.embeddings.onnx import OnnxEmbedder

    source = tmp_path / "source"
    fingerprints, states = set(), set()
    for seed in (0, 1):
        tiny_bert.write_model(source, seed=seed)
        embedder = OnnxEmbedder(source, read_spec(str(source), source))
        fingerprints.add(embedder.fingerprint)
        states.add(state_of(str(source)))
        embedder.close()
    assert len(fingerprints) == len(states) == 2


@pytest.mark.parametrize("name", ["/no/such/model", "./model", "~/no-such-model"])
def test_a_folder_that_is_not_there_is_not_looked_for_on_a_hub(tmp_path: Path, name: str) -> None:
    with pytest.raises(Unavailable, match=f"There is no folder '{re.escape(name)}' with a model in it"):
        ModelStore(tmp_path).ensure(name)


def test_a_hub_out_of_reach_is_said_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    point_at("http://127.0.0.1:9", tmp_path, monkeypatch)
    started = time.monotonic()
    with pytest.raises(
        Unavailable, match=r"No model hub within reach.*librarian models fetch \w+/[\w-]+`, or give a folder"
    ):
        ModelStore(tmp_path / "models").ensure("owner/tiny")
    assert time.monotonic() - started < 8
