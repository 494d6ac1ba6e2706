"""Which hosts have been told about Librarian, and which have really called."""

from __future__ import annotations

import json
import os
import shutil
import time
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from librarian.keeper import visitors

from .hosts import HOSTS, NAME, Host


@dataclass(frozen=True, slots=True)
class Connection:
    """A host whose configuration names Librarian; `problem` says what is wrong with the entry, empty where nothing."""

    host: Host
    path: Path
    target: str
    problem: str = ""


def configured(home: Path, folder: Path) -> Iterator[Connection]:
    """The hosts that name Librarian, for this user and in this working directory."""
    for host in HOSTS.values():
        path = host.path(home, folder)
        try:
            text = path.read_text("utf-8-sig")
        except FileNotFoundError:
            continue
        except (OSError, UnicodeDecodeError) as error:
            yield Connection(host, path, "", f"{path} can't be read: {error}")
            continue
        try:
            content = tomllib.loads(text) if host.toml else json.loads(text or "{}")
        except ValueError as error:
            if NAME in text:  # comments are fine for some hosts; what they name is none of our business
                yield Connection(host, path, "", f"{path} can't be understood: {error}")
            continue
        servers = content.get(host.section) if isinstance(content, dict) else None
        for name, entry in servers.items() if isinstance(servers, dict) else ():
            if isinstance(entry, dict) and (name == NAME or _is_ours(entry)):
                yield _seen(host, path, entry)


def _is_ours(entry: Mapping[str, Any]) -> bool:
    """Whether an entry under another name starts a relay of Librarian."""
    command, arguments = entry.get("command"), entry.get("args")
    if not isinstance(command, str) or not isinstance(arguments, list) or "stdio" not in arguments:
        return False
    return Path(command).name == "librarian" or "librarian.cli" in arguments


def _seen(host: Host, path: Path, entry: Mapping[str, Any]) -> Connection:
    if url := entry.get("url") or entry.get("httpUrl"):
        return Connection(host, path, str(url))
    words = [str(word) for word in (entry.get("command", ""), *entry.get("args", []))]
    program, target = words[0], " ".join(words)
    if not (os.access(program, os.X_OK) if os.sep in program else shutil.which(program)):
        return Connection(host, path, target, f"it starts {program!r}, which isn't there")
    for option, value in pairwise(words):
        if option in ("--config", "--root") and not Path(value).exists():
            return Connection(host, path, target, f"{option} is {value}, which isn't there")
    return Connection(host, path, target)


def callers(index: Path) -> list[str]:
    """The last five who have called, the latest first, as words."""
    found = visitors.read(index)[::-1][:5]
    return [
        f"{visitor.name} {visitor.version}".strip()
        + f" ({visitor.calls} call{'s' if visitor.calls != 1 else ''}, last {_when(visitor.last)})"
        for visitor in found
    ]


def _when(seconds: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(seconds))
