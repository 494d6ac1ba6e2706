"""What `librarian serve` says once it listens: where everything is."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from .config.settings import Settings


def welcome(settings: Settings, url: str) -> str:
    """A line for each door, and notices of the settings."""
    return "\n".join(
        [
            f"Librarian serves {settings.docs.root_path}",
            f"  page         {url}/",
            f"  MCP          {url}{settings.mcp.endpoint}   (Streamable HTTP; older clients: {url}/sse)",
            f"  health       {url}/health",
            f"  connect      {typed()} connect claude-code | claude-desktop | cursor | vscode | codex | gemini",
            *(f"  note         {notice}" for notice in settings.notices),
        ]
    )


def typed(beside: Path | None = None, found: str | None = None) -> str:
    """How this installation's command is typed: by its name where the shell finds it, else by its path.

    `beside` is a program in the folder of the command, Python's own by default; `found` what the shell runs.
    """
    own, found = (beside or Path(sys.executable)).with_name("librarian"), found or shutil.which("librarian")
    if not own.exists() or (found is not None and own.samefile(found)):
        return "librarian"
    here = Path.cwd()
    return str(own.relative_to(here) if own.is_relative_to(here) else own)
