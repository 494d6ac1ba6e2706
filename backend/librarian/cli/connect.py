"""Configuration of MCP clients: what each needs to start or reach Librarian, and which of them have it.

Writing an entry keeps the other entries of the file and backs the file up.
"""

from __future__ import annotations

import json
import shutil
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import tomlkit

from ..daemon import client_log
from ..errors import CallerError, SetupError
from ..files.writing import write_whole

NAME = "librarian"
TOKEN = "MCP_AUTH_TOKEN"
_BY_HAND = "Paste what `librarian connect` prints without --write."


@dataclass(frozen=True, slots=True)
class Server:
    """What a client needs: the command that starts a bridge, or the address of a running server."""

    command: Sequence[str]
    url: str | None = None
    token: bool = False  #: the address needs a bearer token
    name: str = NAME  #: of the entry; each connected library has its own


@dataclass(frozen=True, slots=True)
class Host:
    """An MCP client: where its configuration file lies and what an entry looks like."""

    name: str
    title: str
    place: str  #: of its configuration file, in the working directory if it doesn't begin with ~/
    section: str
    url_key: str = ""  #: key of a server's address; empty if the client starts stdio servers only
    variable: str = ""  #: how the client writes the environment variable of the token
    typed: bool = False  #: whether an entry names its transport
    toml: bool = False
    after: str = "Restart it to see the tools."

    def path(self, home: Path, folder: Path) -> Path:
        """The configuration file, for this home and working directory."""
        return home / self.place.removeprefix("~/") if self.place.startswith("~/") else folder / self.place

    def entry(self, server: Server) -> dict[str, Any]:
        """The client's entry for a server. Raises `CallerError` if it takes no address."""
        if not server.url:
            kind = {"type": "stdio"} if self.typed else {}
            return {**kind, "command": server.command[0], "args": list(server.command[1:])}
        if not self.url_key:
            raise CallerError(f"{self.title} starts stdio servers only.", hint="Leave --http out.")
        headers = {"headers": {"Authorization": f"Bearer {self.variable}"}}
        token = {"bearer_token_env_var": TOKEN} if self.toml else headers
        return {**({"type": "http"} if self.typed else {}), self.url_key: server.url, **(token if server.token else {})}


_DESKTOP = "~/Library/Application Support/Claude" if sys.platform == "darwin" else "~/.config/Claude"
_HOSTS = (
    Host("claude-desktop", "Claude Desktop", f"{_DESKTOP}/claude_desktop_config.json", "mcpServers"),
    Host(
        "claude-code",
        "Claude Code",
        ".mcp.json",
        "mcpServers",
        "url",
        f"${{{TOKEN}}}",
        typed=True,
        after="Start it in this folder; it asks once whether to use the server.",
    ),
    Host("cursor", "Cursor", "~/.cursor/mcp.json", "mcpServers", "url", f"${{env:{TOKEN}}}"),
    Host(
        "vscode",
        "VS Code",
        ".vscode/mcp.json",
        "servers",
        "url",
        f"${{env:{TOKEN}}}",
        typed=True,
        after="Open this folder and start the server where VS Code offers it.",
    ),
    Host("codex", "Codex", "~/.codex/config.toml", "mcp_servers", "url", toml=True),
    Host("gemini", "Gemini CLI", "~/.gemini/settings.json", "mcpServers", "httpUrl", f"${TOKEN}"),
)
HOSTS = {host.name: host for host in _HOSTS}
"""All clients by the name that `librarian connect` takes."""


def bridge_command(options: Sequence[str]) -> list[str]:
    """The command that starts a bridge, for a host that starts it from anywhere."""
    script = Path(sys.executable).with_name("librarian")
    program = [str(script)] if script.is_file() else [sys.executable, "-m", "librarian.cli.main"]
    return [*program, "stdio", *options]


def snippet(host: Host, server: Server) -> str:
    """What to add to the client's configuration file."""
    return _written(host, {host.section: {server.name: host.entry(server)}})


def changed(host: Host, server: Server, text: str) -> str:
    """The configuration file with the entry in it. Raises `SetupError` if that would lose something."""
    try:
        content = _read(host, text)
    except ValueError as error:
        kind = "TOML" if host.toml else "plain JSON"
        message = f"{host.title}'s configuration isn't {kind} ({error}); writing it would lose its comments."
        raise SetupError(message, hint=_BY_HAND) from error
    servers = content.setdefault(host.section, {}) if isinstance(content, dict) else None
    if not isinstance(servers, dict):
        raise SetupError(f"{host.title}'s configuration has no object {host.section!r}.", hint="Correct it by hand.")
    entry = host.entry(server)
    if servers.get(server.name) == entry:
        return text
    servers[server.name] = entry
    return _written(host, content)


def _read(host: Host, text: str) -> Any:
    return tomlkit.parse(text) if host.toml else json.loads(text if text.strip() else "{}")


def _written(host: Host, content: Mapping[str, Any]) -> str:
    """The content of a configuration file; comments that were read from TOML stay."""
    return tomlkit.dumps(content) if host.toml else json.dumps(content, indent=2, ensure_ascii=False) + "\n"


def write(host: Host, server: Server, path: Path) -> Path | None:
    """Put the entry into the file. Returns the backup of what was there; None if there was nothing to keep.

    Raises `SetupError` for a file that can't be understood or written.
    """
    target = path.resolve()  # a linked file stays a link
    try:
        before = target.read_text("utf-8-sig") if target.is_file() else ""  # as editors of Windows write
        after = changed(host, server, before)
        if after == before:
            return None
        target.parent.mkdir(parents=True, exist_ok=True)
        backup = None
        if before:
            names = (target.with_name(f"{target.name}.backup{number or ''}") for number in range(1000))
            backup = next(name for name in names if not name.exists())
            backup.write_bytes(target.read_bytes())
        write_whole(target, after, mode=target.stat().st_mode & 0o777 if before else None)
        return backup
    except SetupError as error:
        raise SetupError(f"{target}: {error.message}", hint=error.hint) from error
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it isn't UTF-8"
        raise SetupError(f"{host.title}'s configuration {path} can't be written: {reason}.", hint=_BY_HAND) from error


class Connection(NamedTuple):
    """A client whose configuration names Librarian; `error` is what is wrong with the entry, empty if nothing is."""

    host: Host
    target: str
    error: str = ""


def configured(home: Path, folder: Path) -> Iterator[Connection]:
    """The clients that name Librarian, for this user and in this working directory."""
    for host in HOSTS.values():
        path = host.path(home, folder)
        try:
            text = path.read_text("utf-8-sig")
        except FileNotFoundError:
            continue
        except (OSError, UnicodeDecodeError) as error:
            yield Connection(host, "", f"{path} can't be read: {error}")
            continue
        try:
            content = _read(host, text)
        except ValueError as error:
            if NAME in text:  # files of some clients may have comments
                yield Connection(host, "", f"{path} can't be understood: {error}")
            continue
        servers = content.get(host.section) if isinstance(content, dict) else None
        for name, entry in servers.items() if isinstance(servers, dict) else ():
            if not isinstance(entry, dict):
                continue
            given = entry.get("args")
            program, arguments = str(entry.get("command", "")), list(map(str, given if isinstance(given, list) else ()))
            is_bridge = Path(program).name == NAME or "librarian.cli.main" in arguments
            if name == NAME or ("stdio" in arguments and is_bridge):
                url = entry.get("url") or entry.get("httpUrl")
                fault = "" if url else _fault(program, arguments)
                yield Connection(host, str(url or " ".join([program, *arguments])), fault)


def _fault(program: str, arguments: Sequence[str]) -> str:
    """What is wrong with a command; empty if nothing is."""
    if not shutil.which(program):
        return f"it starts {program!r}, which isn't there"
    for option, value in pairwise(arguments):
        if option in ("--config", "--root") and not Path(value).exists():
            return f"{option} is {value}, which isn't there"
    return ""


def callers(index: Path) -> list[str]:
    """The last five clients that called, the latest first, as words."""
    return [
        f"{name} {client.version}".strip() + f" ({time.strftime('%Y-%m-%d %H:%M', time.localtime(client.last))})"
        for name, client in reversed(client_log.read(index).items())
    ][:5]
