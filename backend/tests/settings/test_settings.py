"""Settings: what is proved here.

* The example files of both design documents load as printed, and each of their keys changes the settings.
* config.json < .env < environment < command line, for every setting that all of them can give.
* An unknown or misspelt key, and a value that can't be, is refused with file, key and the nearest right one.
* Every environment variable has its meaning; those without effect say so.
* Secrets show in no text.
"""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from librarian.daemon import discovery
from librarian.errors import CallerError, SetupError
from librarian.files.config_files import parse_json
from librarian.settings import DERIVED_VARIABLES, REMOVED, SETTINGS, Settings

FIXTURES = Path(__file__).parent / "fixtures"

Load = Callable[..., Settings]


@pytest.fixture
def load(tmp_path: Path) -> Load:
    """Loads settings from a folder of its own: `config` is written to config.json, `dotenv` to .env."""

    def load(
        config: object = None, *, dotenv: str = "", environ: Mapping[str, str] = {}, **overrides: object
    ) -> Settings:
        file = tmp_path / "config.json"
        if config is not None or (dotenv and not file.exists()):
            file.write_text(config if isinstance(config, str) else json.dumps(config or {}), "utf-8")
        if dotenv:
            (tmp_path / ".env").write_text(dotenv, "utf-8")
        dotted = {key.replace("__", "."): value for key, value in overrides.items()}
        return Settings.load(
            file if file.exists() else None,
            cwd=tmp_path,
            environ=environ,
            overrides=dotted,
            repository=tmp_path / "none",
        )

    return load


def nested(key: str, value: object) -> dict[str, Any]:
    for name in reversed(key.split(".")):
        value = {name: value}
    assert isinstance(value, dict)
    return value


# -- the example files ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["overview", "semantic"])
def test_the_example_files_load_as_printed(name: str, load: Load) -> None:
    settings = load((FIXTURES / f"{name}.json").read_text("utf-8"))
    assert settings.mcp.port == 3001
    assert settings.search.max_results == 50


def leaves(value: object, prefix: str = "") -> list[tuple[str, object]]:
    if isinstance(value, dict):
        return [leaf for name, inner in value.items() for leaf in leaves(inner, f"{prefix}{name}.")]
    return [(prefix.rstrip("."), value)]


EXAMPLE_KEYS = sorted(
    {key for name in ("overview", "semantic") for key, _ in leaves(parse_json((FIXTURES / f"{name}.json").read_text()))}
)

OTHER_VALUES: dict[str, tuple[object, Callable[[Settings], object], object]] = {
    "chunking.enabled": (False, lambda s: s.chunking.enabled, False),
    "chunking.respect_boundaries": (False, lambda s: s.chunking.respect_boundaries, False),
    "docs.file_extensions": (["MD", ".txt"], lambda s: s.docs.file_extensions, (".md", ".txt")),
    "docs.index_on_startup": (False, lambda s: s.docs.index_on_startup, False),
    "docs.max_file_size_mb": (0.5, lambda s: s.docs.max_file_size_mb, 0.5),
    "docs.root_path": ("papers", lambda s: s.docs.root_path.name, "papers"),
    "docs.watch_for_changes": (False, lambda s: s.docs.watch_for_changes, False),
    "embeddings.batch_size": (4, lambda s: s.embeddings.batch_size, 4),
    "embeddings.chunk_overlap": (10, lambda s: s.embeddings.chunk_overlap, 10),
    "embeddings.chunk_size": (120, lambda s: (s.embeddings.chunk_size, s.embeddings.chunk_ceiling), (120, 240)),
    "embeddings.dimension": (768, lambda s: s.embeddings.dimension, 768),
    "embeddings.enabled": (False, lambda s: s.embeddings.enabled, False),
    "embeddings.max_text_length": (512, lambda s: "max_text_length" in "".join(s.notices), True),
    "embeddings.model": ("multi-qa", lambda s: s.embeddings.model, "multi-qa"),
    "embeddings.persist_directory": ("vectors", lambda s: s.chroma_path.name, "vectors"),
    "embeddings.semantic_weight": (0.8, lambda s: (s.embeddings.semantic_weight, s.search.fusion), (0.8, "weighted")),
    "logging.file": ("x.log", lambda s: s.logging.file and s.logging.file.name, "x.log"),
    "logging.level": ("DEBUG", lambda s: s.logging.level, "debug"),
    "mcp.endpoint": ("/tools", lambda s: s.mcp.endpoint, "/tools"),
    "mcp.host": ("0.0.0.0", lambda s: s.mcp.host, "0.0.0.0"),
    "mcp.port": (4000, lambda s: s.mcp.port, 4000),
    "mcp.transport": ("stdio", lambda s: s.mcp.transport, "stdio"),
    "metadata.extract_tags": (False, lambda s: s.metadata.extract_tags, False),
    "metadata.infer_doc_type": (False, lambda s: s.metadata.infer_doc_type, False),
    "metadata.track_modifications": (False, lambda s: s.metadata.track_modifications, False),
    "search.context_lines": (1, lambda s: s.search.context_lines, 1),
    "search.enable_document_limiting": (False, lambda s: s.search.per_document_limit, 0),
    "search.hybrid_weight": (0.7, lambda s: s.embeddings.semantic_weight, 0.7),
    "search.max_per_document": (1, lambda s: s.search.per_document_limit, 1),
    "search.max_results": (5, lambda s: (s.search.max_results, s.search.default_results), (5, 5)),
    "search.min_keyword_length": (3, lambda s: s.search.min_keyword_length, 3),
    "search.mode": ("keyword", lambda s: s.search.mode, "keyword"),
    "search.rerank_candidates": (70, lambda s: s.search.rerank_candidates, 70),
    "search.rerank_keyword_threshold": (0.3, lambda s: s.search.rerank_keyword_threshold, 0.3),
    "search.snippet_length": (300, lambda s: s.search.snippet_length, 300),
    "system.name": ("House books", lambda s: s.system.name, "House books"),
    "system.version": ("2.0.0", lambda s: "system.version" in "".join(s.notices), True),
    "vector_db.collection_name": ("books", lambda s: s.vector_db.collection_name, "books"),
    "vector_db.distance_metric": ("l2", lambda s: s.vector_db.distance_metric, "l2"),
    "vector_db.hnsw_config.M": (32, lambda s: s.vector_db.hnsw_config.M, 32),
    "vector_db.hnsw_config.construction_ef": (300, lambda s: s.vector_db.hnsw_config.construction_ef, 300),
    "vector_db.hnsw_config.search_ef": (400, lambda s: s.vector_db.hnsw_config.search_ef, 400),
    "vector_db.path": ("graph", lambda s: s.chroma_path.name, "graph"),
}


def test_each_key_of_the_example_files_has_a_test() -> None:
    assert sorted(OTHER_VALUES) == EXAMPLE_KEYS


@pytest.mark.parametrize("key", EXAMPLE_KEYS)
def test_each_key_of_the_example_files_has_its_effect(key: str, load: Load) -> None:
    written, read, expected = OTHER_VALUES[key]
    assert read(load({})) != expected
    assert read(load(nested(key, written))) == expected


def test_sizes_above_what_a_model_reads_are_lowered_and_reported(load: Load) -> None:
    settings = load((FIXTURES / "overview.json").read_text("utf-8"))
    assert (settings.embeddings.chunk_size, settings.embeddings.chunk_overlap) == (256, 64)
    assert settings.embeddings.chunk_ceiling == 400
    assert [notice.split()[0] for notice in settings.notices] == ["embeddings.chunk_size", "embeddings.chunk_overlap"]
    assert settings.provenance("embeddings.chunk_size").source.endswith("config.json")


@pytest.mark.parametrize(
    ("model", "size"), [("e5-large-v2", 512), ("intfloat/e5-large-v2@main", 512), ("all-mpnet-base-v2", 384)]
)
def test_sizes_that_a_model_reads_are_honoured(load: Load, model: str, size: int) -> None:
    settings = load({"embeddings": {"model": model, "chunk_size": 512, "chunk_overlap": 128}})
    assert settings.embeddings.chunk_size == size
    assert settings.embeddings.chunk_overlap == min(128, size // 4)
    assert settings.embeddings.chunk_ceiling == max(400, size)
    assert any(f"{model} reads no more" in notice for notice in settings.notices) is (size < 512)


# -- precedence ----------------------------------------------------------------------------------------------------


def test_each_layer_beats_the_one_below(load: Load, tmp_path: Path) -> None:
    file = {"mcp": {"port": 1}}
    assert load(file).provenance("mcp.port").source == str(tmp_path / "config.json")
    assert load(file, dotenv="MCP_PORT=2").mcp.port == 2
    assert load(file, environ={"MCP_PORT": "3"}).mcp.port == 3
    settings = load(file, environ={"MCP_PORT": "3"}, mcp__port=4)
    assert settings.mcp.port == 4
    assert settings.provenance("mcp.port").source == "command line"
    assert load({}, environ={}).provenance("mcp.port").source == f"{tmp_path / '.env'}: MCP_PORT"


def test_a_setting_that_nobody_gives_comes_from_the_default(load: Load) -> None:
    found = load().provenance("search.rrf_k")
    assert (found.value, found.source) == (10, "default")
    assert "fusion" in found.setting.description


SAMPLES: dict[str, tuple[str, object]] = {
    "DOCS_ROOT_PATH": ("papers", None),
    "DOCS_LAYOUT": ("flat", "flat"),
    "INDEX_PATH": ("cards", None),
    "MCP_HOST": ("::1", "::1"),
    "MCP_PORT": ("3005", 3005),
    "MCP_ALLOWED_HOSTS": ("docs.example.org", ("docs.example.org",)),
    "LOG_LEVEL": ("Warning", "warning"),
    "SEARCH_MODE": ("hyde", "hyde"),
    "ENABLE_EMBEDDINGS": ("false", False),
    "EMBEDDING_MODEL": ("m", "m"),
    "MCP_TOOLSETS": ("rag, sites", ("rag", "sites")),
    "MCP_AUTH_TOKEN": ("t", "t"),
    "SIMILARITY_THRESHOLD": ("0.2", 0.2),
    "VECTOR_MATCH_COUNT": ("7", 7),
    "HYBRID_CANDIDATE_COUNT": ("40", 40),
    "RERANKING_CANDIDATE_MULTIPLIER": ("3", 3),
    "CROSSENCODER_MODEL": ("c", "c"),
    "CROSSENCODER_MAX_LENGTH": ("256", 256),
    "VECTOR_SEARCH_EF_SEARCH": ("50", 50),
    "AGENT_USE_LLM": ("yes", True),
    "LLM_PROVIDER": ("ollama", "ollama"),
    "LLM_MODEL": ("l", "l"),
    "DATABASE_URL": ("postgresql://u:p@h/d", "postgresql://u:p@h/d"),
    "QDRANT_URL": ("http://h:6333", "http://h:6333"),
}

SIMPLE = {each.env: each.key for each in SETTINGS.values() if each.env and each.env not in DERIVED_VARIABLES}


def test_every_simple_variable_has_a_sample() -> None:
    assert sorted(SAMPLES) == sorted(SIMPLE)


@pytest.mark.parametrize("name", sorted(SAMPLES))
def test_a_variable_sets_its_setting_from_the_environment_and_from_dotenv(
    name: str, load: Load, tmp_path: Path
) -> None:
    text, expected = SAMPLES[name]
    expected = tmp_path / text if expected is None else expected
    provider = {"LLM_PROVIDER": "openai"} if name == "AGENT_USE_LLM" else {}
    assert load({}, environ={name: text, **provider}).value(SIMPLE[name]) == expected
    dotenv = f'export {name}="{text}"  # as a shell would'
    assert load(dotenv=dotenv, environ=provider).value(SIMPLE[name]) == expected


@pytest.mark.parametrize(
    ("environ", "mode"),
    [
        ({}, "auto"),
        ({"USE_HYBRID_SEARCH": "false"}, "semantic"),
        ({"USE_HYBRID_SEARCH": "true"}, "hybrid"),
        ({"USE_HYBRID_SEARCH": "true", "USE_RERANKING": "true"}, "rerank"),
        ({"USE_RERANKING": "true"}, "rerank"),
        ({"USE_RERANKING": "false"}, "auto"),
        ({"USE_RERANKING": "false", "USE_HYBRID_SEARCH": "1"}, "hybrid"),
        ({"USE_HYBRID_SEARCH": "false", "USE_RERANKING": "true", "SEARCH_MODE": "keyword"}, "keyword"),
    ],
)
def test_the_mode_comes_from_search_mode_else_from_the_older_flags(
    environ: dict[str, str], mode: str, load: Load
) -> None:
    assert load(environ=environ).search.mode == mode


@given(weight=st.floats(0, 1).map(lambda w: round(w, 3)))
def test_weights_choose_weighted_fusion(weight: float) -> None:
    both = {"VECTOR_WEIGHT": str(weight), "TEXT_WEIGHT": str(round(1 - weight, 3))}
    for environ in (both, {"VECTOR_WEIGHT": both["VECTOR_WEIGHT"]}, {"TEXT_WEIGHT": both["TEXT_WEIGHT"]}):
        settings = Settings.load(FIXTURES / "semantic.json", environ=environ, cwd=FIXTURES)
        assert settings.search.fusion == "weighted"
        assert settings.embeddings.semantic_weight == pytest.approx(weight)


@pytest.mark.parametrize(
    "environ",
    [
        {"VECTOR_WEIGHT": "0.7", "TEXT_WEIGHT": "0.4"},
        {"VECTOR_WEIGHT": "1.2"},
        {"TEXT_WEIGHT": "much"},
        {"USE_RERANKING": "perhaps"},
    ],
)
def test_weights_and_flags_that_cannot_be_are_refused(environ: dict[str, str], load: Load) -> None:
    with pytest.raises(SetupError, match="|".join(environ)):
        load(environ=environ)


def test_a_chosen_fusion_stays_whatever_the_weight(load: Load) -> None:
    assert load({"search": {"fusion": "rrf", "hybrid_weight": 0.9}}).search.fusion == "rrf"


def test_the_newer_model_variable_beats_the_older(load: Load) -> None:
    assert load(environ={"JEDI_EMBEDDING_MODEL": "old"}).embeddings.model == "old"
    both = {"JEDI_EMBEDDING_MODEL": "old"}
    assert load(dotenv="EMBEDDING_MODEL=new", environ=both).embeddings.model == "new"


def test_addresses_and_keys_go_to_the_provider_in_use(load: Load) -> None:
    environ = {"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": "http://o/v1", "OLLAMA_URL": "http://l/v1"}
    settings = load(environ=environ)
    assert settings.llm.address == "http://o/v1"
    assert settings.embeddings.base_url is None
    assert settings.llm.api_key
    assert settings.llm.api_key.get_secret_value() == "k"
    assert settings.llm.model_name == "gpt-4o-mini"
    settings = load({"embeddings": {"provider": "openai"}}, environ=environ, llm__provider="ollama")
    assert (settings.llm.address, settings.embeddings.base_url) == ("http://l/v1", "http://o/v1")
    assert settings.llm.model_name == "llama3.1"


def test_variables_without_effect_say_where_things_are_now(load: Load) -> None:
    settings = load(environ={"AGENT_PORT": "4010", "MCP_SSE_URL": "http://x/sse", "MCP_PORT": "3009"})
    assert len(settings.notices) == 2
    assert "http://127.0.0.1:3009 (MCP_PORT)" in settings.notices[0]
    assert "http://127.0.0.1:3009/sse" in settings.notices[1]


def test_a_misspelt_variable_in_dotenv_is_noticed_but_not_in_the_environment(load: Load) -> None:
    assert load(environ={"SEARCH_MOD": "x"}).notices == ()
    assert "did you mean SEARCH_MODE?" in load(dotenv="SEARCH_MOD=x").notices[0]
    assert "did you mean SEARCH_MODE?" in load(dotenv="search_mode=x").notices[0]
    assert "did you mean DOCS_ROOT_PATH?" in load(dotenv="DOCS_ROOT=x").notices[0]


def test_a_variable_that_calls_itself_librarians_is_noticed_wherever_it_stands(load: Load) -> None:
    told = "LIBRARIAN_PORT isn't known and does nothing; did you mean MCP_PORT?"
    assert told in load(environ={"LIBRARIAN_PORT": "1"}).notices[0]
    assert "did you mean SEARCH_MODE?" in load(environ={"LIBRARIAN_SEARCH_MODE": "x"}).notices[0]
    assert "`librarian config`" in load(environ={"LIBRARIAN_XYZZYX": "x"}).notices[0]
    assert load(environ={"LIBRARIAN_TEST_DATABASE": "x"}).notices == ()
    assert told in load(dotenv="LIBRARIAN_PORT=1").notices[0]
    assert load(dotenv="POSTGRES_PASSWORD=x\nAWS_REGION=x\nDEBUG=1").notices == ()


def test_a_line_of_dotenv_that_says_nothing_is_noticed(
    load: Load, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    settings = load(dotenv="# fine\n\nMCP_PORT=3002\nMCP PORT: 3003\n")
    assert settings.mcp.port == 3002
    assert settings.notices == (f"{tmp_path / '.env'}, line 4, isn't understood and does nothing; write NAME=value.",)
    assert not caplog.records, "said once, with the file's name"


def test_only_documented_variables_and_files_are_sources(
    load: Load, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".env").write_text('SEARCH={"mode": "hyde"}\nMCP_PORT=1\n')
    environ = {"SEARCH": '{"mode": "hyde"}', "TOOLSETS": '["rag"]', "search__mode": "hyde"}
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    for settings in (load(environ=environ), Settings()):
        assert (settings.search.mode, settings.toolsets, settings.mcp.port) == ("auto", (), 3001)


def test_a_removed_setting_is_refused_with_what_to_do_instead(load: Load, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(REMOVED, "docs.gone", "Take it away.")
    monkeypatch.setitem(REMOVED, "DOCS_GONE", "Unset it.")
    with pytest.raises(SetupError, match=r"config\.json: the setting 'docs\.gone' no longer exists\. Take it away\."):
        load({"docs": {"gone": 1}})
    with pytest.raises(SetupError, match=r"environment: DOCS_GONE no longer exists\. Unset it\."):
        load({}, environ={"DOCS_GONE": "1"})


def test_an_empty_variable_counts_as_unset(load: Load) -> None:
    assert load({"mcp": {"port": 5}}, dotenv="MCP_PORT=", environ={"MCP_PORT": ""}).mcp.port == 5


# -- files and paths -----------------------------------------------------------------------------------------------


def test_the_file_is_the_named_one_else_config_file_else_the_users_else_the_repositorys(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def port(config: Path | None = None, **environ: str) -> int:
        return Settings.load(config, environ=environ, cwd=tmp_path / "cwd", repository=tmp_path / "repo").mcp.port

    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "home"))
    names = ("cwd/config.json", "repo/config.json", "home/librarian/librarian.json", "env/config.json", "named/x.json")
    expected = (3001, 3001, 2, 3, 3)
    for number, name in enumerate(names, 1):
        (tmp_path / name).parent.mkdir(parents=True)
        assert port() == expected[number - 1]
        (tmp_path / name).write_text(json.dumps({"mcp": {"port": number}}))
    assert port() == 3
    assert port(CONFIG_FILE="../env/config.json") == 4
    assert port(tmp_path / "named" / "x.json", CONFIG_FILE="../env/config.json") == 5
    with pytest.raises(SetupError, match="CONFIG_FILE"):
        port(CONFIG_FILE="gone.json")
    with pytest.raises(SetupError, match="--config"):
        port(tmp_path / "gone.json")


def test_relative_paths_are_relative_to_the_file_and_on_the_command_line_to_the_working_directory(
    tmp_path: Path,
) -> None:
    house = tmp_path / "house"
    house.mkdir()
    (house / "config.json").write_text(
        '{"docs": {"root_path": "~/papers", "include_roots": ["../code"]}, "logging": {"file": "./x.log"}}'
    )
    settings = Settings.load(house / "config.json", cwd=tmp_path, environ={}, overrides={"index.path": "cards"})
    assert settings.docs.root_path == Path.home() / "papers"
    assert settings.docs.include_roots == (str(tmp_path / "code"),)
    assert settings.index.path == tmp_path / "cards"
    assert settings.chroma_path == tmp_path / "cards" / "chroma"
    assert settings.logging.file == house / "x.log"
    assert settings.config_file == house / "config.json"


@pytest.mark.parametrize("key", Settings.PATHS)
def test_a_path_that_could_not_be_stored_or_sent_is_refused(key: str, load: Load) -> None:
    with pytest.raises(SetupError, match=rf"{key} is '.*B\\udcfcro', which isn't UTF-8"):
        load({}, **{key: "B\udcfcro"})


def test_a_model_in_a_folder_is_looked_for_beside_the_file(load: Load, tmp_path: Path) -> None:
    (tmp_path / "models" / "own").mkdir(parents=True)
    settings = load({"embeddings": {"model": "models/own"}, "search": {"reranker_model": "./gone"}})
    assert settings.embeddings.model == str(tmp_path / "models" / "own")
    assert settings.search.reranker_model == str(tmp_path / "gone")
    assert load({"embeddings": {"model": "owner/name"}}).embeddings.model == "owner/name"


def test_a_password_in_an_address_is_not_shown(load: Load) -> None:
    settings = load({"embeddings": {"base_url": "https://me:hidden@example.org/v1"}})
    assert settings.provenance("embeddings.base_url").value == "https://********@example.org/v1"
    assert settings.embeddings.base_url == "https://me:hidden@example.org/v1"


def test_a_working_directory_that_is_gone_is_said_and_needed_no_more_once_settings_are_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = tmp_path / "config.json"
    config.write_text('{"docs": {"root_path": "papers"}}')
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    settings = Settings.load(config, environ={})
    (tmp_path / "gone").rmdir()
    assert settings.again().docs.root_path == tmp_path / "papers"
    for load in (Settings.load, discovery.find):
        with pytest.raises(SetupError, match="The working directory is gone"):
            load(config=config, environ={})


def test_without_a_file_paths_are_relative_to_the_working_directory(load: Load, tmp_path: Path) -> None:
    assert load().docs.root_path == tmp_path / "docs"
    assert load().index.path == tmp_path / ".librarian"


def test_dotenv_is_read_beside_the_file_and_nowhere_else(tmp_path: Path) -> None:
    house = tmp_path / "house"
    house.mkdir()
    (house / "config.json").write_text("{}")
    (house / ".env").write_text("MCP_PORT=1\n")
    (tmp_path / ".env").write_text("CONFIG_FILE=house/config.json\nMCP_PORT=2\nMCP_HOST=::1\n")
    settings = Settings.load(house / "config.json", cwd=tmp_path, environ={})
    assert (settings.mcp.port, settings.mcp.host) == (1, "127.0.0.1")
    assert Settings.load(cwd=tmp_path, environ={}, repository=tmp_path / "none").mcp.port == 3001


# -- what is refused -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("config", "key", "nearest"),
    [
        ({"serch": {"mode": "auto"}}, "serch.mode", "search"),
        ({"search": {"mod": "auto"}}, "search.mod", "search.mode"),
        ({"search": {"hybrid_wieght": 0.5}}, "search.hybrid_wieght", "search.hybrid_weight"),
        ({"docs": {"port": 1}}, "docs.port", "mcp.port"),
        ({"toolset": []}, "toolset", "toolsets"),
        ({"vector_db": {"hnsw_config": {"m": 16}}}, "vector_db.hnsw_config.m", "vector_db.hnsw_config.M"),
        ({"qqqqqq": {}}, "qqqqqq", "librarian config"),
    ],
)
def test_an_unknown_key_is_refused_with_the_nearest(config: object, key: str, nearest: str, load: Load) -> None:
    with pytest.raises(SetupError) as caught:
        load(config)
    assert repr(key) in str(caught.value)
    assert nearest in caught.value.hint
    assert "config.json" in caught.value.message


@pytest.mark.parametrize(
    ("config", "parts"),
    [
        ({"mcp": {"port": "many"}}, ["mcp.port", "'many'", "whole number from 0 to 65535"]),
        ({"search": {"mode": "hybird"}}, ["search.mode", "'hybird'", "Nearest: 'hybrid'"]),
        ({"search": {"max_results": 51}}, ["search.max_results", "51"]),
        ({"search": 3}, ["search", "object"]),
        ({"toolsets": ["rag", "x"]}, ["toolsets", "rag, sites, registry, all"]),
        ({"search": {"max_results": True}}, ["search.max_results is true", "whole number"]),
        ({"embeddings": {"dimension": False}}, ["embeddings.dimension is false", "whole number"]),
        ({"docs": None}, ["docs is null", "object"]),
        ({"docs": {"root_path": None}}, ["docs.root_path is null"]),
        ({"docs": {"root_path": ""}}, ["docs.root_path is ''"]),
        ({"mcp": {"endpoint": "mcp"}}, ["mcp.endpoint", "a path such as /mcp"]),
        ({"mcp": {"endpoint": "/health"}}, ["mcp.endpoint", "/health is the server's own", "default is '/mcp'"]),
        ({"mcp": {"endpoint": "/static/mcp"}}, ["/static is the server's own"]),
        ({"docs": {"file_extensions": [1]}}, ["docs.file_extensions"]),
        ({"search": {"hybrid_weight": 0.1}, "embeddings": {"semantic_weight": 0.2}}, ["same setting"]),
        ('{"a" 1}', ["line 1, column 6"]),
        ('{"mcp": {"port": 1, "port": 2}}', ["'port'", "twice"]),
        ("[]", ["holds no object"]),
    ],
)
def test_a_value_that_cannot_be_is_refused_with_what_would_be_right(
    config: object, parts: list[str], load: Load
) -> None:
    with pytest.raises(SetupError) as caught:
        load(config)
    assert "config.json" in str(caught.value)
    for part in parts:
        assert part in str(caught.value)


def test_the_source_of_a_wrong_value_is_named(load: Load) -> None:
    with pytest.raises(SetupError, match=r"environment: MCP_PORT: mcp.port is 'x'"):
        load(environ={"MCP_PORT": "x"})
    with pytest.raises(SetupError, match=r"command line: no setting 'mcp.prot'"):
        load(mcp__prot=1)
    with pytest.raises(CallerError, match=r"Nearest: 'mcp.port'"):
        load().provenance("mcp.prot")


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    (tmp_path / ".env").write_bytes(b"\xff\xfe")
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(SetupError, match=r"\.env"):
        Settings.load(tmp_path / "config.json", cwd=tmp_path, environ={})


@pytest.mark.parametrize(
    ("host", "token", "refused"),
    [
        ("127.0.0.1", None, False),
        ("127.8.0.1", None, False),
        ("::1", None, False),
        ("localhost", None, False),
        ("0.0.0.0", None, True),
        ("::", None, True),
        ("192.0.2.1", None, True),
        ("books.example", None, True),
        ("0.0.0.0", "secret", False),
        ("0.0.0.0", "", True),
        ("0.0.0.0", " \t", True),
    ],
)
def test_listening_beyond_this_machine_needs_a_token(host: str, token: str | None, refused: bool, load: Load) -> None:
    settings = load(mcp__host=host, security__token=token)
    if refused:
        with pytest.raises(SetupError, match="MCP_AUTH_TOKEN"):
            settings.require_safe_bind()
    else:
        settings.require_safe_bind()


def test_a_secret_is_read_without_the_blanks_around_it_and_an_empty_one_is_none(load: Load) -> None:
    settings = load({"security": {"token": "  hush "}, "llm": {"api_key": " "}}, environ={"DATABASE_URL": "\n"})
    assert settings.value("security.token") == "hush"
    assert settings.llm.api_key is None
    assert settings.storage.database_url is None


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("docs.example.org", "docs.example.org"),
        ("Docs.Example.org:8443", "docs.example.org:8443"),
        ("https://docs.example.org/", "docs.example.org"),
        ("my_box", "my_box"),
        ("192.0.2.1", "192.0.2.1"),
        ("[fe80::1]", "[fe80::1]"),
        ("fe80::1", "[fe80::1]"),
    ],
)
def test_a_host_is_compared_as_requests_name_it(written: str, read: str, load: Load) -> None:
    assert load({"security": {"allowed_hosts": [written]}}).security.allowed_hosts == (read,)


@pytest.mark.parametrize("written", ["*", "*.example.org", "docs.example.org/docs", "", "two words", "http://"])
def test_what_no_host_can_be_called_is_refused(written: str, load: Load) -> None:
    with pytest.raises(SetupError, match=r"security\.allowed_hosts .* write each as docs\.example\.org"):
        load({"security": {"allowed_hosts": ["here", written]}})


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("https://App.example.org/", "https://app.example.org"),
        ("http://localhost:5173", "http://localhost:5173"),
        ("vscode-webview://1a2b", "vscode-webview://1a2b"),
        ("null", "null"),
        ("*", "*"),
    ],
)
def test_an_origin_is_compared_as_browsers_send_it(written: str, read: str, load: Load) -> None:
    assert load({"security": {"cors_origins": written}}).security.cors_origins == (read,)


@pytest.mark.parametrize("written", ["app.example.org", "https://app.example.org/app", "https://", "localhost:5173"])
def test_what_no_browser_sends_as_an_origin_is_refused(written: str, load: Load) -> None:
    with pytest.raises(SetupError, match=r"security\.cors_origins .* write each as https://app\.example\.org"):
        load({"security": {"cors_origins": [written]}})


# -- the object ----------------------------------------------------------------------------------------------------


def test_secrets_show_in_no_text(load: Load) -> None:
    environ = {"MCP_AUTH_TOKEN": "hush1", "OPENAI_API_KEY": "hush2", "DATABASE_URL": "postgresql://u:hush3@h/d"}
    settings = load(environ=environ)
    texts = [repr(settings), str(settings), settings.model_dump_json()]
    texts += [str(settings.provenance(key).value) for key in SETTINGS]
    assert not any("hush" in text for text in texts)
    with pytest.raises(SetupError) as caught:
        load({"security": {"token": ["hush4"]}})
    assert "hush" not in str(caught.value)


def test_settings_are_frozen_and_travel_to_other_processes(load: Load) -> None:
    settings = load(environ={"MCP_PORT": "3009"})
    with pytest.raises(ValueError, match="frozen"):
        settings.mcp.port = 1  # type: ignore[misc]
    again = pickle.loads(pickle.dumps(settings))
    assert again == settings
    assert again.provenance("mcp.port").source == "environment: MCP_PORT"


def test_every_setting_has_a_sentence_and_a_default_that_is_right() -> None:
    for each in SETTINGS.values():
        assert each.description.endswith("."), each.key
        assert each.kind, each.key
    assert Settings.model_validate({}) == Settings()


def test_an_endpoint_may_end_with_a_slash(load: Load) -> None:
    assert load({"mcp": {"endpoint": "/tools/mcp/"}}).mcp.endpoint == "/tools/mcp"


def test_toolsets_spell_out_all(load: Load) -> None:
    assert load().enabled_toolsets == frozenset()
    assert load(toolsets="all").enabled_toolsets == {"rag", "sites", "registry"}


def test_the_cache_is_exact_unless_told_otherwise(load: Load) -> None:
    def cache(enabled: bool | None) -> tuple[bool, bool]:
        found = load({"search": {"cache": {"enabled": enabled}}}).search.cache
        return found.exact, found.semantic

    assert (cache(None), cache(True), cache(False)) == ((True, False), (True, True), (False, False))


def test_source_comments_are_refused_with_what_to_do_instead(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"docs": {"source_comments": true}}')
    with pytest.raises(SetupError, match=r"the setting 'docs\.source_comments' no longer exists") as refused:
        Settings.load(tmp_path / "config.json")
    assert "Markdown or HTML" in refused.value.hint
