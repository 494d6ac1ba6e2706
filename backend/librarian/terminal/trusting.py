"""The `trust` command: which configuration files in working directories count."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from librarian.files import config_files
from librarian.vocabulary.errors import SetupError
from librarian.vocabulary.working_directory import working_directory

from .options import Json
from .page import Page, write_json


def trust(
    place: Annotated[
        Path | None, typer.Argument(metavar="PATH", help="A configuration file or its folder; by default this folder.")
    ] = None,
    revoke: Annotated[bool, typer.Option("--revoke", help="Trust it no longer.")] = False,
    as_json: Json = False,
) -> None:
    """Trust the configuration file in this folder, as it is now.

    It then counts for commands and hosts that start here, and it may name any folder to write to and any address. The
    `.env` beside it is trusted with it. After a change to either you are asked again.
    """
    cwd = working_directory()
    file = config_files.config_file_in(config_files.absolute(place or Path(), cwd))
    page = Page(sys.stdout)
    if revoke:
        known = config_files.distrust(file)
        if as_json:
            write_json({"file": str(file), "trusted": False})
        else:
            page.line(f"{file} is no longer trusted." if known else f"{file} was not trusted.")
        return
    known = config_files.is_trusted(file)
    config_files.trust(file)  # first: only a trusted file may name everything
    try:
        settings = _settings_of(file)
    except SetupError:
        if not known:
            config_files.distrust(file)
        raise
    if as_json:
        write_json({"file": str(file), "trusted": True, "settings": settings})
        return
    page.line(f"{file} is trusted as it is now. It sets:")
    for key, value in settings.items():
        page.line(f"{key} = {json.dumps(value, ensure_ascii=False, default=str)}", indent=3)


def _settings_of(file: Path) -> dict[str, object]:
    """What the file and the `.env` beside it set, by dotted key. Raises `SetupError` where it is no such file."""
    from librarian.settings import SETTINGS, Settings

    settings = Settings.load(file, environ={})
    found = (settings.provenance(key) for key in SETTINGS)
    return {each.key: each.value for each in found if each.source.startswith(str(file.parent))}
