"""Which configuration is trusted, and what a file that is not trusted may not do."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from librarian.cli import main
from librarian.errors import SETUP, SetupError
from librarian.files import config_files
from librarian.settings import Settings

Load = Callable[..., Settings]


@pytest.fixture
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that somebody else filled, as the working directory; the user's own folders are elsewhere."""
    for variable in ("XDG_CONFIG_HOME", "XDG_DATA_HOME"):
        monkeypatch.setenv(variable, str(tmp_path / "home" / variable.lower()))
    monkeypatch.delenv("CONFIG_FILE", raising=False)
    folder = tmp_path / "clone"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


def load(folder: Path, config: Path | str | None = None, **environ: str) -> Settings:
    return Settings.load(config, environ=environ, cwd=folder, repository=folder / "none")


def write(path: Path, content: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content), "utf-8")
    return path


@pytest.mark.parametrize("name", config_files.NAMES)
def test_a_file_in_the_working_directory_counts_only_once_it_is_trusted(
    name: str, clone: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(clone / name, {"mcp": {"port": 4711}})
    assert load(clone).mcp.port == 3001
    assert str(clone / name) in load(clone).configuration.notice()
    assert "librarian trust" in load(clone).configuration.notice()
    assert main.run(["trust"]) == 0
    assert "mcp.port = 4711" in capsys.readouterr().out
    assert (load(clone).mcp.port, load(clone).configuration.notice()) == (4711, "")
    assert main.run(["trust", "--revoke"]) == 0
    assert load(clone).mcp.port == 3001


def test_a_changed_file_asks_again(clone: Path) -> None:
    write(clone / "librarian.json", {"mcp": {"port": 4711}})
    assert main.run(["trust"]) == 0
    settings = load(clone)
    for name, content in (("librarian.json", '{"mcp": {"port": 4712}}'), (".env", "MCP_PORT=4713")):
        before = (clone / name).read_text() if (clone / name).exists() else None
        write(clone / name, content)
        assert load(clone).mcp.port == 3001, name
        with pytest.raises(SetupError, match="has changed since it was trusted"):
            settings.again()
        (clone / name).unlink() if before is None else write(clone / name, before)
        assert load(clone).mcp.port == 4711


def test_another_owner_asks_again(clone: Path) -> None:
    if os.getuid() != 0:
        pytest.skip("only root can give files away")
    file = write(clone / "librarian.json", {"mcp": {"port": 4711}})
    assert main.run(["trust"]) == 0
    os.chown(file, 65534, 65534)
    assert load(clone).mcp.port == 3001
    with pytest.raises(SetupError, match="belongs to another user"):
        config_files.trust(file)


def test_what_is_trusted_is_kept_for_this_user_alone(clone: Path) -> None:
    write(clone / "librarian.json", "{}")
    assert main.run(["trust"]) == 0
    kept = config_files.user_config_folder() / config_files.TRUST_FILE
    assert kept.stat().st_mode & 0o777 == 0o600
    assert kept.parent.stat().st_mode & 0o777 == 0o700


def test_a_file_of_another_program_is_no_reason_to_stop(clone: Path) -> None:
    write(clone / "config.json", {"database": {"host": "localhost"}, "port": 8080})
    assert load(clone).mcp.port == 3001
    with pytest.raises(SetupError, match=r"no setting 'database\.host'"):
        load(clone, "config.json")


def test_a_file_of_another_program_is_not_trusted_by_mistake(clone: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(clone / "config.json", {"database": {"host": "localhost"}})
    assert main.run(["trust"]) == SETUP
    assert "database.host" in capsys.readouterr().err
    assert not config_files.is_trusted(clone / "config.json")
    (clone / "config.json").unlink()
    assert main.run(["trust"]) == SETUP
    assert "no librarian.json or config.json" in capsys.readouterr().err


OUTSIDE = {
    "logging.file": {"logging": {"file": "~/.bashrc"}},
    "index.path": {"index": {"path": "../v3"}},
    "vector_db.path": {"vector_db": {"path": "../Documents"}},
}


@pytest.mark.parametrize("key", OUTSIDE)
def test_a_named_file_writes_outside_its_folder_only_where_it_is_trusted(key: str, clone: Path, tmp_path: Path) -> None:
    file = write(clone / "c.json", OUTSIDE[key])
    with pytest.raises(SetupError, match=rf"{key} is .*, outside of the folder of that file"):
        load(clone, file)
    config_files.trust(file)
    assert load(clone, file).value(key) is not None
    own = write(config_files.user_config_folder() / "librarian.json", OUTSIDE[key])
    assert load(clone).config_file == own, "the user's own file may name any path"


def test_command_line_and_environment_may_name_any_index(clone: Path, tmp_path: Path) -> None:
    file = write(clone / "c.json", OUTSIDE["index.path"])
    assert load(clone, file, INDEX_PATH=str(tmp_path / "x")).index.path == tmp_path / "x"
    overrides = {"index.path": str(tmp_path / "y")}
    assert Settings.load(file, environ={}, overrides=overrides).index.path == tmp_path / "y"


def test_a_link_out_of_the_folder_is_outside(clone: Path, tmp_path: Path) -> None:
    (tmp_path / "Documents").mkdir()
    (clone / ".librarian").symlink_to(tmp_path / "Documents")
    with pytest.raises(SetupError, match=r"index\.path is .*\.librarian, outside"):
        load(clone, write(clone / "c.json", "{}"))


def test_a_link_to_the_users_own_file_brings_no_dotenv_with_it(clone: Path, tmp_path: Path) -> None:
    own = write(config_files.user_config_folder() / "librarian.json", {"mcp": {"port": 4711}})
    (clone / "config.json").symlink_to(own)
    write(clone / ".env", f"INDEX_PATH={tmp_path / 'elsewhere'}\n")
    settings = load(clone, "config.json")
    assert (settings.mcp.port, settings.config_file) == (4711, own)
    assert settings.index.path == own.parent / ".librarian"


def test_the_users_data_folder_may_hold_the_index_of_a_named_file(clone: Path) -> None:
    place = config_files.user_data_folder() / "mine"
    assert load(clone, write(clone / "c.json", {"index": {"path": str(place)}})).index.path == place


KEY = {"OPENAI_API_KEY": "sk-USERSECRET"}
THIEF = "http://127.0.0.1:4999/v1"


@pytest.mark.parametrize("section", ["embeddings", "llm"])
@pytest.mark.parametrize("way", ["file", "dotenv"])
def test_a_key_of_the_environment_goes_to_no_address_of_a_named_file(section: str, way: str, clone: Path) -> None:
    content: dict[str, dict[str, object]] = {section: {"provider": "openai"}}
    if way == "file":
        content[section]["base_url"] = THIEF
    else:
        write(clone / ".env", f"OPENAI_BASE_URL={THIEF}\n")
    file = write(clone / "c.json", content)
    settings = load(clone, file, **KEY)
    assert settings.value(f"{section}.base_url") == THIEF
    assert settings.value(f"{section}.api_key") is None
    assert f"isn't sent to {THIEF}" in "".join(settings.notices)
    assert "sk-USERSECRET" not in "".join(settings.notices)
    assert load(clone, file, **KEY, OPENAI_BASE_URL=THIEF).llm.api_key is not None, "both are the environment's"
    config_files.trust(file)
    assert load(clone, file, **KEY).value(f"{section}.api_key") == "sk-USERSECRET"


def test_a_key_and_an_address_of_the_same_file_go_together(clone: Path) -> None:
    llm = {"provider": "openai", "base_url": THIEF, "api_key": "of the file"}
    assert load(clone, write(clone / "c.json", {"llm": llm})).value("llm.api_key") == "of the file"


def test_credentials_of_an_account_go_to_no_other_host(clone: Path) -> None:
    embeddings = {"provider": "bedrock", "model": "m", "base_url": THIEF}
    with pytest.raises(SetupError, match="not an address of Amazon Bedrock"):
        load(clone, write(clone / "c.json", {"embeddings": embeddings}))
    embeddings["base_url"] = "https://ec2-1-2-3-4.eu-west-1.compute.amazonaws.com"
    with pytest.raises(SetupError, match="not an address of Amazon Bedrock"):
        load(clone, write(clone / "c.json", {"embeddings": embeddings}))
    embeddings["base_url"] = "https://vpce-1.bedrock-runtime.eu-west-1.vpce.amazonaws.com"
    assert load(clone, write(clone / "c.json", {"embeddings": embeddings})).embeddings.base_url


def test_a_language_model_is_asked_only_where_a_provider_is_named(clone: Path) -> None:
    settings = load(clone, AGENT_USE_LLM="true", LLM_MODEL="gpt-x", **KEY)
    assert not settings.llm.enabled
    assert "LLM_PROVIDER" in "".join(settings.notices)
    assert load(clone, AGENT_USE_LLM="true", LLM_PROVIDER="openai", **KEY).llm.enabled


def test_each_host_that_text_goes_to_is_listed(clone: Path) -> None:
    assert load(clone).destinations() == ()
    environ = {"AGENT_USE_LLM": "true", "LLM_PROVIDER": "openai", "DATABASE_URL": "postgresql://u:pw@db:5/x"}
    overrides = {
        "embeddings.provider": "openai",
        "embeddings.base_url": "https://gate/v1",
        "storage.catalog": "postgres",
    }
    settings = Settings.load(None, environ=environ, overrides=overrides, cwd=clone, repository=clone)
    listed = {part: host for part, host, _ in settings.destinations()}
    assert listed == {"embeddings": "gate", "llm": "api.openai.com", "storage.database_url": "db:5"}
    words = {"DATABASE_URL": "host=db.example.org dbname=x"}
    settings = Settings.load(
        None, environ=words, overrides={"storage.catalog": "postgres"}, cwd=clone, repository=clone
    )
    assert [host for _, host, _ in settings.destinations()] == ["the address in storage.database_url"]


def test_a_secret_is_read_from_the_file_that_a_variable_names(clone: Path, tmp_path: Path) -> None:
    secret = write(tmp_path / "token", "s3cret\n")
    settings = load(clone, MCP_AUTH_TOKEN_FILE=str(secret))
    assert settings.value("security.token") == "s3cret"
    assert settings.provenance("security.token").source == "environment: MCP_AUTH_TOKEN_FILE"
    with pytest.raises(SetupError, match="both set"):
        load(clone, MCP_AUTH_TOKEN_FILE=str(secret), MCP_AUTH_TOKEN="x")
    with pytest.raises(SetupError, match=r"MCP_AUTH_TOKEN_FILE: .*can't be read"):
        load(clone, MCP_AUTH_TOKEN_FILE="gone")


def test_a_secrets_file_in_a_dotenv_is_relative_to_that(clone: Path, tmp_path: Path) -> None:
    folder = tmp_path / "elsewhere"
    write(folder / "key", "k")
    write(folder / ".env", "OPENAI_API_KEY_FILE=key\n")
    config_files.trust(file := write(folder / "c.json", "{}"))
    assert load(clone, file).value("llm.api_key") == "k"


def test_a_dotenv_that_is_not_trusted_names_no_file_as_a_secret(clone: Path, tmp_path: Path) -> None:
    """Else it could have any file of the user sent as a key to an address of its own."""
    file = write(clone / "c.json", "{}")
    write(clone / ".env", f"OPENAI_API_KEY_FILE={write(tmp_path / 'id_rsa', 'private')}\n")
    with pytest.raises(SetupError, match="OPENAI_API_KEY_FILE is taken only from the environment"):
        load(clone, file)
    config_files.trust(file)
    assert load(clone, file).value("llm.api_key") == "private"


def test_no_index_is_built_that_nobody_asked_for(clone: Path, tmp_path: Path) -> None:
    settings = load(clone)
    with pytest.raises(SetupError, match=r"No library is configured\. Name the folder of documents with --root"):
        settings.require_library()
    shipped = write(tmp_path / "program" / "config.json", '{"docs": {"root_path": "docs"}}')
    program = shipped.parent

    def found(cwd: Path, **overrides: str) -> Settings:
        return Settings.load(None, environ={}, cwd=cwd, repository=program, overrides=overrides)

    with pytest.raises(SetupError, match="No library is configured here"):
        found(clone).require_library()
    found(program).require_library()
    found(clone, **{"docs.root_path": "x"}).require_library()
    (program / ".librarian").mkdir()
    found(clone).require_library()
    note = config_files.which_library(found(clone).configuration, program / "docs", clone, named=False)
    assert f"this searches {program / 'docs'}" in note
