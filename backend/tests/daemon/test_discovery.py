"""Properties of finding a library without the settings class:

* In every combination of command line, environment, `.env`, configuration files and defaults, it finds the same
  configuration file, root and index as `librarian.settings`, and refuses what that refuses.
* The fingerprint of the settings differs if a file or a variable that the daemon uses does.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from librarian.daemon import discovery
from librarian.daemon.discovery import Library, find
from librarian.errors import SetupError
from librarian.files.config_files import REPOSITORY
from librarian.settings import DERIVED_VARIABLES, SETTINGS, Settings

CONFIGS = [
    None,
    "{}",
    '{"docs": {"root_path": "configured docs"}, "index": {"path": "../configured index"}} // both',
    '{"docs.root_path": "dotted", /* a comment */ "index": {"path": "/absolute/index",},}',
    '{"docs": {"root_path": "~/library"}, "search": {"mode": "hybrid"}}',
]


class Surroundings:
    """A working directory, a folder elsewhere with a configuration file, and a repository."""

    def __init__(self, folder: Path) -> None:
        names = ("cwd", "elsewhere", "repository", "home/librarian")
        self.cwd, self.elsewhere, self.repository, self.home = (folder / name for name in names)
        for place in (self.cwd, self.elsewhere, self.repository, self.home):
            place.mkdir(parents=True)

    def both(
        self, *, environ: dict[str, str] | None = None, **given: str | None
    ) -> tuple[Library | SetupError, Library | SetupError]:
        """What `find` says and what the settings say."""
        surroundings = {"environ": environ or {}, "cwd": self.cwd, "repository": self.repository}
        try:
            found: Library | SetupError = find(**given, **surroundings)._replace(notes=(), settings="")  # type: ignore[arg-type]
        except SetupError as error:
            found = error
        try:
            overrides = {"docs.root_path": given.get("root"), "index.path": given.get("index")}
            loaded = Settings.load(given.get("config"), overrides=overrides, **surroundings)  # type: ignore[arg-type]
            loaded.require_library()
            settled: Library | SetupError = Library(
                loaded.index.path,
                loaded.config_file,
                loaded.docs.root_path,
                typed=given.get("root") is not None,
                named=loaded.root_is_named,
                must_be_trusted=loaded.configuration.kind == "trusted",
            )
        except SetupError as error:
            settled = error
        return found, settled


@pytest.fixture
def surroundings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Surroundings:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    return Surroundings(tmp_path)


def write(path: Path, text: str | None) -> None:
    path.unlink(missing_ok=True)
    if text is not None:
        path.write_text(text, "utf-8")


def cases() -> Iterator[dict[str, bool]]:
    names = ("cwd_config", "user_config", "repository_config", "env_config", "config", "dotenv", "environ", "line")
    for values in product([False, True], repeat=len(names)):
        yield dict(zip(names, values, strict=True))


@pytest.mark.parametrize("content", CONFIGS[1:], ids=range(1, len(CONFIGS)))
def test_every_combination_of_sources_agrees_with_the_settings(surroundings: Surroundings, content: str) -> None:
    at, refused = surroundings, 0
    for case in cases():
        write(at.cwd / "config.json", content if case["cwd_config"] else None)
        write(at.repository / "config.json", content if case["repository_config"] else None)
        write(at.elsewhere / "config.json", content)
        write(at.cwd / ".env", "DOCS_ROOT_PATH=from cwd\nINDEX_PATH=\n")
        write(at.home / "librarian.json", content if case["user_config"] else None)
        write(at.elsewhere / ".env", "INDEX_PATH='from elsewhere' # near\n" if case["dotenv"] else None)
        environ = {"CONFIG_FILE": "../elsewhere/config.json"} if case["env_config"] else {}
        environ |= {"DOCS_ROOT_PATH": "from environment", "INDEX_PATH": ""} if case["environ"] else {}
        line: dict[str, str | None] = {"config": str(at.elsewhere / "config.json") if case["config"] else None}
        line |= {"root": "typed", "index": "~/typed"} if case["line"] else {}
        found, settled = at.both(environ=environ, **line)
        assert str(found) == str(settled), case
        refused += isinstance(settled, SetupError)
    assert 0 < refused < 256 / 2


@pytest.mark.parametrize(
    "content",
    [
        "{",
        "[]",
        "",
        '{"docs": {"root_path": 7}}',
        '{"index": {"path": ""}}',
        '{"index": {"path": null}}',
        '{"docs": {"root_path": "a"}, "docs.root_path": null}',
        '\ufeff{"docs": {"root_path": "a//b"}}',
        '{"docs": {"root_path": "http://x/*y*/"}} /* , } */',
    ],
)
def test_unusual_files_are_read_or_refused_alike(surroundings: Surroundings, content: str) -> None:
    write(surroundings.cwd / "config.json", content)
    found, settled = surroundings.both(config="config.json")
    assert type(found) is type(settled), (found, settled)
    if isinstance(settled, Library):
        assert found == settled


def test_a_named_file_that_is_missing_is_refused_by_both(surroundings: Surroundings) -> None:
    for naming in ({"config": "no.json"}, {"environ": {"CONFIG_FILE": "no.json"}}):
        found, settled = surroundings.both(**naming)  # type: ignore[arg-type]
        assert str(found) == str(settled)
        assert isinstance(found, SetupError)


def test_a_home_that_is_nobodys_is_a_name_like_others_for_both(surroundings: Surroundings) -> None:
    write(surroundings.cwd / "config.json", '{"docs": {"root_path": "~nobody-at-all/docs"}}')
    found, settled = surroundings.both(config="config.json")
    assert isinstance(found, Library)
    assert found == settled
    assert found.root == surroundings.cwd / "~nobody-at-all" / "docs"


def test_an_index_in_the_documents_own_folder_is_refused_by_both(surroundings: Surroundings) -> None:
    root, index = surroundings.cwd / "docs", surroundings.cwd / "docs" / "x" / ".."
    around = {"environ": {}, "cwd": surroundings.cwd, "repository": surroundings.repository}
    with pytest.raises(SetupError, match="same folder") as ours:
        find(root=root, index=index, **around)  # type: ignore[arg-type]
    with pytest.raises(SetupError, match="same folder") as theirs:
        Settings.load(overrides={"docs.root_path": str(root), "index.path": str(index)}, **around)  # type: ignore[arg-type]
    assert str(ours.value) == str(theirs.value)


def test_folders_named_without_a_file_have_an_index_each_in_the_users_data_folder(surroundings: Surroundings) -> None:
    places = set()
    for root in ("one", "two", "other/one"):
        write(surroundings.repository / "config.json", '{"index": {"path": ".librarian"}}')
        shipped = str(surroundings.repository / "config.json") if root == "two" else None
        found, settled = surroundings.both(root=root, config=shipped)
        assert isinstance(found, Library)
        assert found == settled
        places.add(found.index)
    assert len(places) == 3
    assert all(place.is_relative_to(surroundings.cwd.parent / "data" / "librarian") for place in places)


def test_an_unreadable_dotenv_is_refused_by_both(surroundings: Surroundings) -> None:
    (surroundings.cwd / ".env").write_bytes(b"INDEX_PATH=\xff\xfe")
    write(surroundings.cwd / "config.json", "{}")
    found, settled = surroundings.both(config="config.json")
    assert isinstance(found, SetupError)
    assert str(found) == str(settled)


def test_without_arguments_the_process_itself_is_asked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("CONFIG_FILE", "DOCS_ROOT_PATH"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("INDEX_PATH", "somewhere")
    write(tmp_path / "config.json", json.dumps({"docs": {"root_path": "d"}}))
    monkeypatch.setenv("CONFIG_FILE", "config.json")
    found = find()
    assert found[:3] == (tmp_path / "somewhere", tmp_path / "config.json", tmp_path / "d")
    assert (REPOSITORY / "backend" / "librarian").is_dir()


HTTP = {
    "MCP_HOST",
    "MCP_PORT",
    "MCP_AUTH_TOKEN",
    "MCP_AUTH_TOKEN_FILE",
    "MCP_ALLOWED_HOSTS",
    "AGENT_PORT",
    "MCP_SSE_URL",
}


def test_every_variable_is_one_that_a_keeper_heeds_or_says_where_it_lies_or_is_for_http() -> None:
    names = {each.env for each in SETTINGS.values() if each.env} | set(DERIVED_VARIABLES)
    assert names == discovery.VARIABLES | HTTP | {"CONFIG_FILE", "INDEX_PATH", "DOCS_ROOT_PATH"}
    assert not discovery.VARIABLES & HTTP


def test_the_fingerprint_differs_where_a_file_or_a_variable_does(surroundings: Surroundings) -> None:
    def now(config: Path | None = surroundings.elsewhere / "config.json", **more: Any) -> str:
        given = {"environ": {"PATH": "/bin"}, "repository": clone} | more
        return discovery.fingerprint(config, **given)

    clone = surroundings.cwd / "clone"

    write(surroundings.elsewhere / "config.json", "{}")
    assert now() == now(environ={"MCP_PORT": "1", "SEARCH_MODE": ""})
    seen = [now(), now(environ={"SEARCH_MODE": "hyde"}), now(None)]
    write(surroundings.elsewhere / "config.json", '{"search": {"mode": "hyde"}}')
    seen.append(now())
    write(surroundings.elsewhere / ".env", "SEARCH_MODE=rerank")
    seen.append(now())
    log = clone / ".git" / "logs" / "HEAD"
    log.parent.mkdir(parents=True)
    for text in ("1\n", "1\n2\n"):  # a pull, a checkout
        write(log, text)
        seen.append(now(repository=clone))
    assert len(set(seen)) == len(seen)
