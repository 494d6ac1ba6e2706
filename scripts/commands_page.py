"""Writes the manual's page of commands from the commands themselves: python scripts/commands_page.py"""

from __future__ import annotations

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

From the command line a question is asked with `librarian search 'how do I rotate a token'`.

`librarian COMMAND --help` shows what is written here. Every command takes `--root DIR` (the folder of documents),
`--index DIR` (where the index lies) and `--config FILE`.
`librarian --version` says which version this is; `librarian --install-completion` has bash, zsh and fish complete
commands, options, settings, hosts and models. `python -m librarian` is the same command.

Messages are the same everywhere and may name a tool: `list_products` and `list_components` are `librarian products`
here, `get_index_status` is `librarian status`, and `search_emails` is `librarian search --emails`.

## Output: JSON or plain lines

With `--json` a command answers with a JSON object, whose fields are those of the [tools](result-fields.md):
`librarian search 'rolling update' --json`. On a terminal matches are highlighted and long work shows its progress; in a
pipe, and with `--plain`, there are plain lines.

## The process behind the commands

The commands ask the process that keeps the index, and start it where there is none. It ends by itself when nobody has
used it for a while (`serve.idle_timeout_s`). Where `config.json`, `.env` or a variable says something else than when it
was started, or the program was updated since, another takes its place as soon as no host is connected to it; until
then, and where `librarian serve` runs, the command says so on stderr.

## Exit codes

| Code | Meaning |
|---|---|
| 0 | done |
| 1 | nothing found |
| 2 | the caller's mistake: the message says what would be right |
| 3 | done, but some files can't be read |
| 70 | a bug |
| 78 | the set-up has to be changed: the message says how |
| 130 | interrupted, as by Ctrl-C |
"""

EVERYWHERE = {"--root", "--index", "--config", "--json", "--plain", "--help"}


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
    lines = ["", f"## {name}", "", command.help.strip(), ""]
    if ":" in (command.epilog or ""):
        lines += ["```text", command.epilog.partition(": ")[2], "```", ""]
    for parameter in command.params:
        if parameter.param_type_name == "argument":
            lines.append(f"* `{parameter.name.upper()}`: {parameter.help}")
        elif not parameter.hidden and not EVERYWHERE & set(parameter.opts):
            names = ", ".join(f"`{option}`" for option in (*parameter.opts, *parameter.secondary_opts))
            lines.append(f"* {names}: {parameter.help}")
    return "\n".join(lines).rstrip("\n") + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
