"""The commands about embedding models: models fetch, models list, models use."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from ..errors import CallerError
from .application import SET_UP, Application, Target, app
from .output import write_json

models_app = Application(no_args_is_help=True, help="Fetch, list and choose embedding models.")
app.add_typer(models_app, name="models", rich_help_panel=SET_UP)


def _complete_model(incomplete: str) -> list[str]:
    from ..embeddings.model_table import known

    return [name for name in known() if name.startswith(incomplete)]


@models_app.command(example="librarian models fetch all-MiniLM-L6-v2")
def fetch(
    target: Target,
    name: Annotated[
        str | None, typer.Argument(help="Else the one of embeddings.model.", autocompletion=_complete_model)
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="Say nothing where it is there already.")] = False,
) -> None:
    """Fetch a model and prepare it; nothing is done where it is there already."""
    from ..embeddings.model_files import ModelStore

    settings = target.settings()
    if name is None and (settings.embeddings.provider != "local" or not settings.embeddings.enabled):
        return
    wanted = name or settings.embeddings.model
    store = ModelStore()
    folder = store.locate(wanted)
    if folder is None:
        sys.stderr.write(f"Fetching {wanted} ...\n")
        folder = store.ensure(wanted)
    elif quiet:
        return
    if target.as_json:
        write_json({"name": wanted, "folder": str(folder)})
    else:
        sys.stdout.write(f"{wanted} is in {folder}\n")


@models_app.command("list", example="librarian models list")
def list_models(target: Target) -> None:
    """List known and installed models; the one in use has a star."""
    from ..embeddings.model_files import ModelStore
    from ..embeddings.model_table import known, spec_of

    used = target.settings().embeddings.model
    installed = ModelStore().installed()
    names = list(dict.fromkeys([used, *installed, *known()]))
    if target.as_json:
        write_json({"models": [{"name": name, "used": name == used, "installed": name in installed} for name in names]})
        return
    width = max(len(name) for name in names)
    for name in names:
        elsewhere = name in known() and spec_of(name).provider != "local"
        absent = "answers elsewhere; see embeddings.provider" if elsewhere else "not installed"
        state = "installed" if name in installed else absent
        sys.stdout.write(f"{'*' if name == used else ' '} {name:<{width}}  {state}\n")


@models_app.command(example="librarian models use all-MiniLM-L6-v2")
def use(
    target: Target,
    name: Annotated[str, typer.Argument(help="The model that embeds from now on.", autocompletion=_complete_model)],
) -> None:
    """Fetch a model and name it in the configuration file. Old vectors answer until the new ones are there."""
    from ..embeddings.model_files import ModelStore
    from ..files.config_files import write_value

    settings = target.settings()
    path = settings.config_file
    if path is None:
        raise CallerError(
            "There is no configuration file to write to.", hint="Set EMBEDDING_MODEL, or add a config.json."
        )
    if "/" in name and (folder := Path(name).expanduser()).is_dir():
        name = str(folder.resolve())  # a relative one would be read from where the configuration lies
    ModelStore().ensure(name)
    write_value(path, "embeddings", "model", name)
    if (winner := settings.again().provenance("embeddings.model")).source != str(path):
        sys.stderr.write(f"Note: {winner.source} says {winner.value!r} and beats the file; take it away.\n")
    if target.as_json:
        write_json({"name": name, "config": str(path)})
    else:
        sys.stdout.write(f"{path}: embeddings.model is {name}\n")
