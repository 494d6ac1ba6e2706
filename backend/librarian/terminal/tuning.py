"""The command that fits the ranking to the library's own links."""

from __future__ import annotations

from typing import Annotated

import typer

from librarian.vocabulary.errors import CallerError

from . import rendering
from .options import Config, Index, Json, Root
from .page import write_answer
from .place import Place
from .progress import ProgressLine


def tune(
    adopt: Annotated[bool, typer.Option("--adopt", help="Use the tuned weights from now on.")] = False,
    reset: Annotated[bool, typer.Option("--reset", help="Go back to the shipped weights.")] = False,
    as_json: Json = False,
    root: Root = None,
    index: Index = None,
    config: Config = None,
) -> None:
    """Fit the ranking to this library's own links, and show on held-out ones what it would change."""
    if adopt and reset:
        raise CallerError("--adopt and --reset ask for opposite things.", hint="Give one of them.")
    with ProgressLine(quiet=as_json) as progress:
        answer = Place(root, index, config).ask(
            "evaluate", tune=True, adopt=adopt, reset=reset, on_progress=progress.indexing
        )
    write_answer(answer, as_json, rendering.evaluation)
