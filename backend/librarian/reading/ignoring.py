"""Which files and folders a library leaves out because an ignore file says so, at any depth."""

from __future__ import annotations

import errno
import logging
import os
import re
import stat
from collections.abc import Sequence

from pathspec import GitIgnoreSpec

from librarian.vocabulary.paths import name_of

IGNORE_FILES = (".gitignore", ".librarianignore")  #: the second has the last word
_LONGEST = 1_000_000  #: characters of one that are read

_log = logging.getLogger(__name__)


class IgnoreRules:
    """The rules that hold inside one folder; `enter` gives those of a folder in it. Immutable, cheap to keep."""

    def __init__(self, layers: Sequence[tuple[str, GitIgnoreSpec]] = ()) -> None:
        self._layers = tuple(layers)  # (relative folder with its "/", its patterns), outermost first

    def enter(self, folder: str, relative: str) -> IgnoreRules:
        """The rules inside `folder` (absolute), whose path below the root is `relative` (empty for the root)."""
        added = []
        for name in IGNORE_FILES:
            try:
                with open(
                    os.path.join(folder, name), encoding="utf-8", errors="replace", opener=_without_following
                ) as file:
                    lines = name_of(file.read(_LONGEST)).splitlines()
            except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
                continue
            except OSError as error:
                if not os.path.lexists(os.path.join(folder, name)):
                    continue  # the folder can't be looked into, which is said of it
                _log.warning("Ignore file '%s' can't be read: %s", os.path.join(folder, name), error)
                continue
            added.append((f"{relative}/" if relative else "", _spec(lines, os.path.join(folder, name))))
        return IgnoreRules((*self._layers, *added)) if added else self

    def excludes(self, relative: str, *, folder: bool) -> str:
        """Which ignore file leaves `relative` (a path below the root) out, else empty. The innermost rule decides."""
        for base, spec in reversed(self._layers):
            name = relative[len(base) :] + ("/" if folder else "")
            verdict = spec.check_file(name).include
            if verdict is not None:
                return f"a rule of the ignore file in '{base or '.'}'" if verdict else ""
        return ""


def _without_following(path: str, flags: int) -> int:
    """Opens a regular file. A link isn't followed, as Git doesn't follow one either: it may lead to a device."""
    descriptor = os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "not a regular file", path)
    return descriptor


def _spec(lines: Sequence[str], name: str) -> GitIgnoreSpec:
    try:
        return GitIgnoreSpec.from_lines(lines)
    except (ValueError, re.error):
        good = [line for line in lines if is_pattern(line)]
        _log.warning(
            "Ignore file '%s' has %d lines that aren't patterns; they are passed over.", name, len(lines) - len(good)
        )
        return GitIgnoreSpec.from_lines(good)


def is_pattern(line: str) -> bool:
    """Whether a line can stand in an ignore file."""
    try:
        GitIgnoreSpec.from_lines([line])
    except (ValueError, re.error):
        return False
    return True
