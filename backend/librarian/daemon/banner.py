"""What `librarian serve` says once it listens, to people and to programs: where everything is."""

from __future__ import annotations

import contextlib
import json
import os
import pwd
import shlex
import shutil
import sys
from pathlib import Path

from ..errors import SetupError
from ..settings import Settings

FIRST_PERSON = 501 if sys.platform == "darwin" else 1000  #: the least number of a user who is a person


def banner(settings: Settings, url: str) -> str:
    """A line for each interface, and notices of the settings. What the command line named, `connect` must get too."""
    hosts = "claude-code | claude-desktop | cursor | vscode | codex | gemini"
    return "\n".join(
        [
            f"Librarian serves {settings.docs.root_path}",
            f"  page         {url}/",
            f"  MCP          {url}{settings.mcp.endpoint}   (Streamable HTTP; older clients: {url}/sse)",
            f"  health       {url}/health",
            f"  connect      {' '.join([typed(), 'connect', *_named(settings)])} {hosts}",
            *(f"  note         {notice}" for notice in (*settings.notices, *_alone(settings), *_shared(settings))),
        ]
    )


def places(settings: Settings, url: str) -> str:
    """The same for programs: a JSON object of the addresses."""
    return json.dumps({"page": f"{url}/", "mcp": f"{url}{settings.mcp.endpoint}", "rest": f"{url}/api/search"})


def _named(settings: Settings) -> list[str]:
    """The options with which a command typed here means the same library: those that it wouldn't find by itself."""
    config, root, index = settings.config_file, settings.docs.root_path, settings.index.path
    options: dict[str, Path | None] = {"--config": config, "--root": root, "--index": index}
    with contextlib.suppress(SetupError):  # of a file that this server was told not to read
        found = Settings.load()
        if config is None or config == found.config_file:
            options["--config"] = None
        else:
            found = Settings.load(config)
        overrides = {} if root == found.docs.root_path else {"docs.root_path": root}
        if index == Settings.load(options["--config"], overrides=overrides).index.path:
            options["--index"] = None
        if not overrides:
            options["--root"] = None
    return [word for name, path in options.items() if path is not None for word in (name, shlex.quote(str(path)))]


def _alone(settings: Settings) -> list[str]:
    """What only this server knows and another process of the library would do otherwise."""
    layout = settings.provenance("docs.layout")
    if layout.source != "command line":
        return []
    return [
        f"--layout {layout.value} holds for this server. Other commands and hosts read the folder anew without it once "
        'this one has ended: write "layout" under "docs" into the configuration file.'
    ]


def _shared(settings: Settings) -> list[str]:
    """A note where other users of this machine can read the library, because no token is set."""
    if settings.security.token is not None or not _others():
        return []
    return [
        "other users of this machine can open this address and read the library. To prevent that, set a token: "
        "security.token (MCP_AUTH_TOKEN)."
    ]


def _others() -> bool:
    """Whether people besides this process's user can log in here, as the system's list of users says."""
    return any(
        each.pw_uid >= FIRST_PERSON
        and each.pw_uid != os.getuid()
        and each.pw_name != "nobody"
        and each.pw_shell.rpartition("/")[2] not in ("nologin", "false")
        for each in pwd.getpwall()
    )


def typed(program: Path | None = None, found: str | None = None) -> str:
    """How this installation's command is typed: by its name where the shell finds it, else by its path.

    `beside` is a program in the folder of the command, Python's own by default; `found` what the shell runs.
    """
    own, found = (program or Path(sys.executable)).with_name("librarian"), found or shutil.which("librarian")
    if not own.exists() or (found is not None and own.samefile(found)):
        return "librarian"
    here = Path.cwd()
    return str(own.relative_to(here) if own.is_relative_to(here) else own)
