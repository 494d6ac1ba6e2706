"""Writes `.env.example`, `config.json` and the manual's settings page: python scripts/settings_pages.py"""

from __future__ import annotations

import json
import re
from itertools import groupby
from pathlib import Path

from librarian.files.config_files import REPOSITORY
from librarian.settings import ALIASES, DERIVED_VARIABLES, SETTINGS, Setting

SHIPPED = ("docs.root_path", "index.path", "search.mode", "embeddings.model", "mcp.host", "mcp.port")
"""Settings in the shipped config.json: those that people change first. All others keep their defaults."""

SECTION_TITLES = {
    "system": "Name",
    "docs": "The folder",
    "index": "The index",
    "search": "Search",
    "embeddings": "Embeddings",
    "chunking": "Splitting into passages",
    "metadata": "Metadata",
    "vector_db": "Vectors",
    "storage": "Storage",
    "llm": "Language model",
    "mcp": "Listening",
    "serve": "The background process",
    "security": "Security",
    "logging": "Logging",
    "analytics": "Analytics",
    "toolsets": "Tools",
}


PAGE_HEAD = """\
---
title: Settings
tags: [settings, configuration, environment]
---

# Settings

This page lists every setting. They come from `config.json`, `.env`, the environment and the command line; the later
wins. `config.json` may hold `//` comments. Unknown keys are refused with the nearest name. `_ms`, `_s` and `_mb` mean
milliseconds, seconds and megabytes.

The configuration file is the first of:

1. the one named by `--config` or `CONFIG_FILE`
2. a trusted `librarian.json` or `config.json` in the working directory
3. `~/.config/librarian/librarian.json`
4. in a checkout, the one next to the program

`.env` is read only next to that file. Relative paths are relative to the file, on the command line to the working
directory.

## Which files are trusted

A file in the working directory may belong to a repository that you cloned. It is ignored until you run
`librarian trust` there, and again after a change of it or of the `.env` next to it. `librarian trust --revoke` takes
trust back.

Your own `librarian.json`, the command line, the environment and trusted files may name any path and address. Other
files, named by `--config` or `CONFIG_FILE`, are limited:

* `index.path`, `vector_db.path` and `logging.file` must be in the file's folder or in `~/.local/share/librarian`.
* A key from the environment is not sent to an address that the file names.

Text is sent to another machine only if `embeddings.provider`, `llm.provider`, `storage.database_url` or
`storage.qdrant_url` says so. `librarian status` lists each host.

`MCP_AUTH_TOKEN_FILE=/run/secrets/token` reads a secret from a file. The same works for `OPENAI_API_KEY`, `DATABASE_URL`
and `QDRANT_URL`. With `--root DIR` and no configuration, the index is in `~/.local/share/librarian/indexes`.

## Seeing what is in force

`librarian config` shows every value in force and where it comes from; `librarian config search.mode` shows one.
"""


def files() -> dict[str, str]:
    """Each generated file by its path below the repository, with its content."""
    return {
        "config.json": shipped_config(),
        ".env.example": env_example(),
        "docs/librarian/reference/settings.md": settings_page(),
    }


def shipped_config() -> str:
    """The config.json that comes with the program."""
    lines = ["{", "  // Every setting, with its default: docs/librarian/reference/settings.md"]
    shipped = [SETTINGS[key] for key in SETTINGS if key in SHIPPED]
    sections = [(section, list(found)) for section, found in groupby(shipped, lambda each: each.key.split(".")[0])]
    for section, found in sections:
        lines.append(f'  "{section}": {{')
        for each in found:
            comma = "," if each is not found[-1] else ""
            entry = f'    "{each.key.split(".")[1]}": {_json(each.default)}{comma}'
            lines.append(f"{entry.ljust(36)} // {each.description}")
        lines.append("  }," if section != sections[-1][0] else "  }")
    return "\n".join([*lines, "}"]) + "\n"


def env_example() -> str:
    """All environment variables, each commented out, with meaning and default."""
    lines = [
        "# Copy to .env next to config.json. Each line shows a default; take the # away to change it.",
        "# The environment beats this file, and the command line beats both.",
        "",
    ]
    for each in SETTINGS.values():
        if each.env and each.env not in DERIVED_VARIABLES:
            lines += [f"# {each.description} ({each.key}: {each.kind})", f"#{each.env}={_plain(each.default)}", ""]
    lines += ["# Variables with a meaning of their own:", ""]
    for name, sentence in DERIVED_VARIABLES.items():
        lines += [f"# {sentence}", f"#{name}=", ""]
    return "\n".join(lines[:-1]) + "\n"


def settings_page() -> str:
    """The manual's page of settings."""
    lines = PAGE_HEAD.splitlines()
    for section, found in groupby(SETTINGS.values(), lambda each: each.key.split(".")[0]):
        lines += [
            "",
            f"## {SECTION_TITLES[section]}",
            "",
            "| Setting | Values | Default | Variable | |",
            "|---|---|---|---|---|",
        ]
        lines += [_row(each) for each in found]
    lines += ["", "## Other names", ""]
    lines += [f"* `{alias}` is another name of `{key}`." for alias, key in ALIASES.items()]
    lines += ["", "## Variables with a meaning of their own", "", "| Variable | Meaning |", "|---|---|"]
    lines += [f"| `{name}` | {sentence} |" for name, sentence in DERIVED_VARIABLES.items()]
    return "\n".join(lines) + "\n"


def _values(kind: str) -> str:
    """The values of a setting in the table's short form.

    >>> _values("whole number from 1 to 50 or null"), _values("number above 0"), _values("true | false")
    ('integer 1–50 or null', 'number > 0', 'boolean')
    """
    kind = kind.replace("whole number", "integer").replace("true | false", "boolean").replace("list of text", "list")
    kind = re.sub(r" from (\S+) to (\S+)", r" \1–\2", kind)
    return kind.replace(" from ", " ≥ ").replace(" above ", " > ").replace("|", "\\|")


def _row(each: Setting) -> str:
    kind = _values(each.kind)
    variable = f"`{each.env}`" if each.env else ""
    return f"| `{each.key}` | {kind} | `{_json(each.default)}` | {variable} | {each.description} |"


def _json(value: object) -> str:
    return json.dumps(list(value) if isinstance(value, tuple) else str(value) if isinstance(value, Path) else value)


def _plain(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, tuple):
        return ",".join(map(str, value))
    return str(value).lower() if isinstance(value, bool) else str(value)


if __name__ == "__main__":
    for name, content in files().items():
        (REPOSITORY / name).write_text(content, "utf-8")
