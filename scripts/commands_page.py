"""Writes the manual's page of commands from the commands themselves: python scripts/commands_page.py"""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Any

import typer.main

from librarian.cli.search import app

PAGE = Path(__file__).resolve().parents[1] / "docs" / "librarian" / "reference" / "commands.md"

HEAD = """\
---
title: Commands
tags: [command line, cli, exit codes]
---

# Commands

Ask a question from the command line with `librarian search 'how do I rotate a token'`.

`librarian COMMAND --help` shows what is on this page. Every command takes `--root DIR` (the folder of documents),
`--index DIR` (the folder of the index), `--config FILE` and `--layout LAYOUT` (see `docs.layout`).
`librarian --version` prints the version. `librarian --install-completion` makes bash, zsh and fish complete
commands, options, settings, products, hosts and models. `python -m librarian` is the same command.

Where nothing names a library, Librarian asks on a terminal whether to index the working directory. Elsewhere it stops
with exit code 78.

## Which results are shown

`librarian search` shows the best five results that are at least *Fair*: their calibrated relevance is 0.25 or more. The
last line counts the weaker ones. `--all` shows them too, `-n 20` shows up to twenty of any relevance. Without a likely
answer only the places of the nearest results are shown, and the exit code is 1.

Put `--` before a question that contains an option: `librarian search -- what does --dry-run do`. A word behind a single
dash is excluded from the results (see [query syntax](query-syntax.md)).

## Output: JSON or plain lines

With `--json` a command prints a JSON object with the fields of the [tools](result-fields.md):
`librarian search 'rolling update' --json`. On a terminal Markdown is rendered, matches are highlighted and long work
shows its progress. In a pipe, and with `--plain`, there are plain lines.

## The process behind the commands

The commands ask the background process that holds the index, and start it if none runs. It ends by itself after a
while without use (`serve.idle_timeout_s`). If settings have changed since it started, or the program was updated, a new
one takes its place as soon as no client is connected. Until then, and while `librarian serve` runs, the command prints
a note on stderr.

## Exit codes

| Code | Meaning |
|---|---|
| 0 | done |
| 1 | nothing found, or nothing that is likely to answer the question |
| 2 | a mistake in the command line: the message says what would be right |
| 3 | done, but some files can't be read |
| 70 | a bug |
| 78 | the setup has to be changed: the message says how |
| 130 | interrupted, as by Ctrl-C |
"""

EVERYWHERE = {"--root", "--index", "--config", "--json", "--plain", "--layout", "--help"}


def page() -> str:
    """The page as it should be."""
    return HEAD + "".join(_section(f"librarian {name}", command) for name, command in commands().items())


def commands() -> dict[str, Any]:
    """All commands by name, those of groups as `group name`, in the order of `librarian --help`."""
    group: Any = typer.main.get_command(app)
    found: dict[str, Any] = {}
    for name in group.list_commands(None):
        command = group.commands[name]
        inner = getattr(command, "commands", None)
        found |= {name: command} if inner is None else {f"{name} {each}": inner[each] for each in inner}
    return found


def _section(name: str, command: Any) -> str:
    paragraphs = command.help.strip().split("\n\n")
    lines = ["", f"## {name}", "", "\n\n".join(textwrap.fill(each, 120) for each in paragraphs), ""]
    if ":" in (command.epilog or ""):
        lines += ["```text", command.epilog.partition(": ")[2], "```", ""]
    for parameter in command.params:
        if parameter.param_type_name == "argument":
            lines.append(f"* `{parameter.metavar or parameter.name.upper()}`: {parameter.help}")
        elif not parameter.hidden and not EVERYWHERE & set(parameter.opts):
            names = ", ".join(f"`{option}`" for option in (*parameter.opts, *parameter.secondary_opts))
            lines.append(f"* {names}: {parameter.help}")
    return "\n".join(lines).rstrip("\n") + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
