"""Options that several commands take."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Root = Annotated[Path | None, typer.Option("--root", metavar="DIR", help="The folder of documents.")]
Index = Annotated[Path | None, typer.Option("--index", metavar="DIR", help="Where the index lies.")]
Config = Annotated[Path | None, typer.Option("--config", metavar="FILE", help="The configuration file.")]
Json = Annotated[bool, typer.Option("--json", help="Answer in JSON, with the same fields as the tools.")]
Plain = Annotated[bool, typer.Option("--plain", help="Plain lines, as in a pipe.")]
Mode = Annotated[
    str | None,
    typer.Option(
        "--mode",
        help="keyword, semantic, hybrid, rerank, hyde or auto.",
        autocompletion=lambda: ["keyword", "semantic", "hybrid", "rerank", "hyde", "auto"],
    ),
]


def complete_host(incomplete: str) -> list[str]:
    """Names of hosts, for the shell."""
    from .hosts import HOSTS

    return [name for name in HOSTS if name.startswith(incomplete)]


def complete_setting(incomplete: str) -> list[str]:
    """Names of settings, for the shell."""
    from librarian.settings import SETTINGS

    return [key for key in SETTINGS if key.startswith(incomplete)]


def complete_model(incomplete: str) -> list[str]:
    """Names of known models, for the shell."""
    from librarian.models.table import known

    return [name for name in known() if name.startswith(incomplete)]
