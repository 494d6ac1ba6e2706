"""Looking after a library from the command line: what is proved here.

* `config` shows value, origin and sentence; `models` fetches once and edits one value of the file alone.
* `doctor` finds what is wrong and says what to do; `serve` says where to point a browser, and refuses to be exposed.
"""

from __future__ import annotations

import json
import os
import socket
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from librarian.cli import main
from librarian.daemon import client
from librarian.daemon.client_log import ClientLog
from librarian.embeddings import model_files
from librarian.embeddings.model_table import known
from librarian.errors import SETUP, SetupError
from librarian.evaluation.evaluate import percentile
from librarian.files.config_files import parse_json, with_value


class Store:
    """A model store in a folder, whose models are empty folders."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.fetched: list[str] = []

    def locate(self, name: str) -> Path | None:
        return self.folder / name if (self.folder / name).is_dir() else None

    def changed_files(self, name: str) -> list[str]:
        return []

    def ensure(self, name: str) -> Path:
        self.fetched.append(name)
        (self.folder / name).mkdir(parents=True, exist_ok=True)
        return self.folder / name

    def installed(self) -> list[str]:
        return sorted(path.name for path in self.folder.iterdir())


@pytest.fixture
def house(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    (tmp_path / "models").mkdir()
    (tmp_path / "docs" / "books").mkdir(parents=True)
    found = SimpleNamespace(folder=tmp_path, store=Store(tmp_path / "models"), served=[], health={"status": "ok"})
    modules: dict[str, dict[str, Any]] = {
        "librarian.daemon.serve": {"serve": lambda settings, **told: found.served.append((settings, told)) or 0}
    }
    for name, content in modules.items():
        module = ModuleType(name)
        vars(module).update(content)
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.setattr(model_files, "ModelStore", lambda: found.store)
    monkeypatch.setattr(client, "call", lambda *a, **k: found.health)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    found.config = tmp_path / "config.json"
    found.config.write_text(f'{{\n  // where\n  "mcp": {{"port": {port}}}\n}}\n')
    found.url = f"http://127.0.0.1:{port}"
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("CONFIG_FILE", str(found.config))
    monkeypatch.delenv("MCP_AUTH_TOKEN", raising=False)
    return found


def test_config_shows_value_origin_and_sentence(house: SimpleNamespace, capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run(["config", "mcp.port"]) == 0
    out = capsys.readouterr().out
    assert str(house.config) in out
    assert "Port of MCP" in out
    house.config.write_text('{"embeddings": {"max_text_length": 512}}')
    assert main.run(["config", "embeddings.max_text_length"]) == 0
    assert "note: embeddings.max_text_length has no effect" in capsys.readouterr().out
    assert main.run(["config", "mcp.port"]) == 0
    assert "note" not in capsys.readouterr().out
    assert main.run(["config"]) == 0
    out = capsys.readouterr().out
    assert 'search.mode = "auto"  (default)' in out
    assert "system.version = null  (default)" in out
    assert "note: embeddings.max_text_length has no effect" in out
    assert main.run(["config", "mcp"]) == 0
    assert [line.split(" = ")[0] for line in capsys.readouterr().out.splitlines() if " = " in line] == [
        "mcp.transport",
        "mcp.host",
        "mcp.port",
        "mcp.endpoint",
    ]
    assert main.run(["config", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["file"] == str(house.config)
    assert {"key", "value", "source", "sentence"} == set(answer["settings"][0])


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (["config", "search.mod"], "No setting 'search.mod'. Nearest: 'search.mode'."),
        (["evaluate"], "--queries is missing. Give both files of judged questions, or --self."),
        (
            ["evaluate", "--queries", "config.json", "--qrels", "judged.tsv"],
            "--qrels is 'judged.tsv', and there is no such file. Give both files of judged questions, or --self.",
        ),
        (
            ["connect"],
            "connect needs the name of a client. "
            "Use one of claude-desktop, claude-code, cursor, vscode, codex, gemini.",
        ),
    ],
)
def test_what_cannot_be_meant_is_the_callers_mistake(
    line: list[str], words: str, house: SimpleNamespace, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main.run(line) == 2
    assert capsys.readouterr().err == f"{words}\n"


def test_models_are_fetched_once_and_listed(house: SimpleNamespace, capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run(["models", "list"]) == 0
    assert "not installed" in capsys.readouterr().out
    assert main.run(["models", "fetch", "--quiet"]) == 0
    assert "Fetching all-MiniLM-L6-v2" in capsys.readouterr().err
    assert main.run(["models", "fetch", "--quiet"]) == 0
    assert capsys.readouterr() == ("", "")
    assert main.run(["models", "fetch", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["name"] == "all-MiniLM-L6-v2"
    assert house.store.fetched == ["all-MiniLM-L6-v2"]
    assert main.run(["models", "list"]) == 0
    first, *others = capsys.readouterr().out.splitlines()
    assert first.split() == ["*", "all-MiniLM-L6-v2", "installed"]
    assert all("not installed" in line or "runs elsewhere" in line for line in others)
    assert main.run(["models", "list", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["models"]
    assert found[0] == {"name": "all-MiniLM-L6-v2", "used": True, "installed": True}
    assert [item["name"] for item in found] == list(known())


def test_no_model_is_fetched_where_none_is_used(house: SimpleNamespace) -> None:
    house.config.write_text('{"embeddings": {"enabled": false}}')
    assert main.run(["models", "fetch"]) == 0
    assert house.store.fetched == []


def test_using_a_model_changes_one_value_of_the_file(
    house: SimpleNamespace, capsys: pytest.CaptureFixture[str]
) -> None:
    before = house.config.read_text()
    assert main.run(["models", "use", "other"]) == 0
    after = house.config.read_text()
    assert "// where" in after
    assert parse_json(after) == parse_json(before) | {"embeddings": {"model": "other"}}
    assert main.run(["models", "use", "third", "--json"]) == 0
    assert parse_json(house.config.read_text())["embeddings"] == {"model": "third"}
    assert "Note" not in capsys.readouterr().err
    house.config.unlink()


def test_using_a_model_says_where_a_variable_beats_the_file(
    house: SimpleNamespace, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("EMBEDDING_MODEL", "theirs")
    assert main.run(["models", "use", "other"]) == 0
    assert capsys.readouterr().err == (
        "Note: environment: EMBEDDING_MODEL says 'theirs' and overrides the file. Remove it.\n"
    )
    house.config.unlink()


def test_using_a_model_where_the_file_cannot_be_written_changes_nothing_and_says_so(
    house: SimpleNamespace, capsys: pytest.CaptureFixture[str]
) -> None:
    # no file can be made beside one whose name is nearly as long as names may be
    config = house.config.with_name("c" * 251 + ".cfg")
    config.write_text("{}")
    assert main.run(["models", "use", "other", "--config", str(config)]) == SETUP
    assert "can't be written: File name too long. Set embeddings.model to 'other' there" in capsys.readouterr().err
    assert config.read_text() == "{}"


@given(
    section=st.dictionaries(st.sampled_from(["model", "enabled", "base_url"]), st.sampled_from(["x", None])),
    others=st.dictionaries(st.sampled_from(["docs", "search"]), st.just({"model": "y"})),
    name=st.text(min_size=1),
    indent=st.sampled_from([None, 2]),
)
def test_setting_one_value_changes_no_other(
    section: dict[str, object], others: dict[str, object], name: str, indent: int | None
) -> None:
    content = {**others, "embeddings": section}
    for whole in (content, others):
        found = parse_json(with_value(json.dumps(whole, indent=indent), "embeddings", "model", name))
        assert found == whole | {"embeddings": {**whole.get("embeddings", {}), "model": name}}  # type: ignore[dict-item]


def test_a_file_that_cannot_be_changed_safely_is_left_alone() -> None:
    with pytest.raises(SetupError, match="by hand"):
        with_value('{"embeddings": {"model": 3}}', "embeddings", "model", "c")


def findings(capsys: pytest.CaptureFixture[str]) -> dict[str, str]:
    return {item["what"]: item["outcome"] for item in json.loads(capsys.readouterr().out)["findings"]}


def test_doctor_finds_nothing_wrong_where_all_is_well(
    house: SimpleNamespace, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    house.store.ensure("all-MiniLM-L6-v2")
    (house.folder / ".librarian").mkdir()
    ClientLog(house.folder / ".librarian").note("some-host", "2.0")
    assert main.run(["doctor"]) == 0
    out = capsys.readouterr().out
    assert "wrong" not in out
    assert main.run(["doctor", "--json"]) == 0
    assert set(findings(capsys).values()) == {"ok"}


@pytest.mark.parametrize(("layout", "there"), [("product/component", "books"), ("flat", "docs")])
def test_doctor_names_a_shared_product_that_is_not_there(
    house: SimpleNamespace, capsys: pytest.CaptureFixture[str], layout: str, there: str
) -> None:
    root = house.folder / "docs"
    (root / "books").mkdir(parents=True, exist_ok=True)
    settings = {"docs": {"root_path": str(root), "layout": layout, "shared_products": [there, "gone"]}}
    house.config.write_text(json.dumps(settings))
    main.run(["doctor"])
    out = capsys.readouterr().out
    assert "docs.shared_products names gone, which is no product of" in out
    assert f"docs.shared_products names {there}" not in out


def test_doctor_knows_which_hosts_were_told_and_which_have_called(
    house: SimpleNamespace, capsys: pytest.CaptureFixture[str]
) -> None:
    main.run(["doctor"])
    assert "no MCP client is configured" in capsys.readouterr().out
    home = house.folder / "home"
    for name in ("claude-desktop", "cursor", "codex", "gemini", "vscode"):
        assert main.run(["connect", name, "--write", "--config", str(house.config)]) == 0
    capsys.readouterr()
    main.run(["doctor"])
    out = capsys.readouterr().out
    for title in ("Claude Desktop", "Cursor", "Codex", "Gemini CLI", "VS Code"):
        assert f"ok    host       {title}: " in out
    assert "no MCP client has called yet" in out
    (home / ".cursor" / "mcp.json").write_text('{"mcpServers": {"librarian": {"command": "/gone/librarian"}}}')
    (home / ".gemini" / "settings.json").write_text('{// a comment\n"mcpServers": {"librarian": {"httpUrl": "x"}}}')
    missing = '{"mcpServers": {"librarian": {"command": "sh", "args": ["stdio", "--config", "/gone/config.json"]}}}'
    (house.folder / ".mcp.json").write_text(missing)
    (home / ".codex" / "config.toml").write_bytes(b"\xff\xfe")
    (house.folder / ".vscode" / "mcp.json").write_text('{"servers": {"librarian": {"url": "http://127.0.0.1:3001"}}}')
    assert main.run(["doctor"]) == 78
    out = capsys.readouterr().out
    assert "Cursor: it starts '/gone/librarian', which isn't there" in out
    assert "librarian connect cursor --write" in out
    assert "Gemini CLI: " in out
    assert "can't be understood" in out
    assert "Claude Code: --config is /gone/config.json, which isn't there" in out
    assert "can't be read" in out
    assert "ok    host       VS Code: http://127.0.0.1:3001" in out


def test_doctor_says_what_is_wrong_and_what_to_do(house: SimpleNamespace, capsys: pytest.CaptureFixture[str]) -> None:
    house.health = {"status": "degraded", "reasons": ["root"]}
    assert main.run(["doctor", "--root", "gone"]) == 78
    out = capsys.readouterr().out
    for piece in ("isn't there", "Correct docs.root_path", "isn't installed", "models fetch", "note  daemon"):
        assert piece in out


def test_doctor_names_who_holds_the_port(house: SimpleNamespace, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        house.config.write_text(json.dumps({"mcp": {"port": taken.getsockname()[1]}}))
        main.run(["doctor"])
    assert f"(process {os.getpid()}) holds it" in capsys.readouterr().out


def test_doctor_names_what_needs_another_machine(
    house: SimpleNamespace, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    config = {
        "embeddings": {"provider": "openai", "base_url": "https://embed.example/v1"},
        "llm": {"enabled": True, "provider": "ollama"},
        "vector_db": {"store": "qdrant"},
    }
    house.config.write_text(json.dumps(config))
    monkeypatch.setenv("QDRANT_URL", "http://qdrant.example:6333")
    main.run(["doctor"])
    out = " ".join(capsys.readouterr().out.split())
    assert " to embed.example" in out
    assert " to qdrant.example" in out


def test_doctor_survives_a_keeper_that_does_not(
    house: SimpleNamespace, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise SetupError("The index is in use.", hint="Stop the other one.")

    monkeypatch.setattr(client, "call", fail)
    house.config.write_text('{"embeddings": {"enabled": false, "max_text_length": 5}}')
    assert main.run(["doctor", "--json"]) == 78
    found = findings(capsys)
    assert (found["daemon"], found["model"], found["settings"]) == ("wrong", "note", "note")


def test_doctor_notes_a_port_in_use_and_an_empty_folder(
    house: SimpleNamespace, capsys: pytest.CaptureFixture[str]
) -> None:
    (house.folder / "docs" / "books").rmdir()
    with socket.socket() as other:
        other.bind(("127.0.0.1", int(house.url.rpartition(":")[2])))
        other.listen()
        main.run(["doctor", "--json"])
    found = findings(capsys)
    assert (found["port"], found["documents"]) == ("note", "note")


def test_serve_speaks_to_people_and_with_json_to_programs(
    house: SimpleNamespace, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main.run(["serve"]) == 0
    assert main.run(["serve", "--json", "--port", "3999"]) == 0
    assert [told for _, told in house.served] == [{"out": sys.stdout, "as_json": as_json} for as_json in (False, True)]
    assert house.served[1][0].mcp.port == 3999


def test_serve_over_stdio_is_a_relay_and_opens_no_port(
    house: SimpleNamespace, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    house.config.write_text(
        '{"mcp": {"transport": "stdio", "host": "0.0.0.0"}, "embeddings": {"max_text_length": 512}}'
    )
    asked: list[list[str]] = []
    monkeypatch.setattr("librarian.daemon.stdio_bridge.main", lambda words: asked.append(words) or 0)
    assert main.run(["serve", "--port", "3999", "--index", "ix", "--root", "docs"]) == 0
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "max_text_length" in captured.err
    assert "Ignored: --port." in captured.err
    assert (house.served, asked) == ([], [["--root", str(house.folder / "docs"), "--index", str(house.folder / "ix")]])


def test_serve_refuses_to_be_reached_without_a_token(
    house: SimpleNamespace, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main.run(["serve", "--host", "0.0.0.0"]) == 78
    assert "MCP_AUTH_TOKEN" in capsys.readouterr().err
    assert house.served == []


def test_percentiles_are_interpolated() -> None:
    assert percentile([], 0.5) == 0
    assert percentile([3.0, 1.0, 2.0, 4.0], 0.5) == 2.5
    assert percentile([5.0], 0.95) == 5.0
