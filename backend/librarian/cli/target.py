"""Which library a command is about: `--root`, `--index` and `--config`, and how to ask its keeper."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..text.sanitizing import visible

if TYPE_CHECKING:
    from ..settings import Settings

OnProgress = Callable[[Mapping[str, Any]], None]


@dataclass(frozen=True, slots=True)
class Place:
    """A library as the command line names it. `librarian.settings` finds what it doesn't name."""

    root: Path | None = None
    index: Path | None = None
    config: Path | None = None

    def settings(self, **further: object) -> Settings:
        """All settings, with the command line's on top. `further` are dotted keys, written with `__`."""
        from ..settings import Settings

        overrides = {"docs.root_path": self.root, "index.path": self.index}
        dotted = {key.replace("__", "."): value for key, value in further.items()}
        settings = Settings.load(self.config, overrides=overrides | dotted)
        if note := settings.configuration.notice():
            _note(note)
        return settings

    def ask(
        self, verb: str, *, on_progress: OnProgress | None = None, timeout: float | None = None, **given: Any
    ) -> Any:
        """A verb's answer by the index's keeper, which is started where there is none. None isn't passed on.

        Neither settings nor arrays are loaded for this: what a short command costs is its start.
        """
        from ..daemon import client, discovery
        from ..daemon.launcher import Library

        found = discovery.find(config=self.config, root=self.root, index=self.index)
        for note in found.notes:
            _note(note)
        return client.call(
            found.index,
            verb,
            {name: value for name, value in given.items() if value is not None},
            library=Library.at(found, root_given=self.root is not None),
            on_progress=on_progress,
            timeout=timeout,
            on_note=_note,
        )


_said: set[str] = set()


def _note(note: str) -> None:
    """Print a note on stderr, once a process."""
    if note not in _said:
        _said.add(note)
        sys.stderr.write(f"Note: {visible(note)}\n")
