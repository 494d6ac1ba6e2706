"""Options that several commands take."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Root = Annotated[Path | None, typer.Option("--root", metavar="DIR", help="The folder of documents.")]
Index = Annotated[Path | None, typer.Option("--index", metavar="DIR", help="Where the index lies.")]
Config = Annotated[Path | None, typer.Option("--config", metavar="FILE", help="The configuration file.")]
Json = Annotated[bool, typer.Option("--json", help="Answer in JSON, with the same fields as the tools.")]
Mode = Annotated[str | None, typer.Option("--mode", help="keyword, semantic, hybrid, rerank, hyde or auto.")]
