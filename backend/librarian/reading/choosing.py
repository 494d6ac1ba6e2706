"""What the patterns of a setting choose: `docs.include` and `docs.exclude`, written as in an ignore file."""

from __future__ import annotations

import re
from collections.abc import Sequence

from pathspec import GitIgnoreSpec

from librarian.vocabulary.errors import SetupError
from librarian.vocabulary.paths import name_of

from .ignoring import is_pattern

_FROM_ROOT = re.compile(r"^(!?)(?:\./+)+(?=[^/])")  # as shells write it; an ignore file matches nothing by it


class Chosen:
    """The paths below the root that a setting's patterns match.

    >>> chosen = Chosen("docs.include", ["/handbook", "/projects/*/docs"])
    >>> [chosen.reaches(folder) for folder in ("projects", "projects/shop", "projects/shop/src", "handbook/a/b")]
    [True, True, False, True]

    Raises `SetupError` where one of them isn't a pattern.
    """

    def __init__(self, setting: str, patterns: Sequence[str]) -> None:
        lines = [_FROM_ROOT.sub(r"\1/", name_of(pattern)) for pattern in patterns]
        if wrong := next((line for line in lines if not is_pattern(line)), None):
            raise SetupError(
                f"{setting} holds {wrong!r}, which isn't a pattern.",
                hint='Write patterns as in a .gitignore file, such as "drafts", "/billing/archive/*" or "*.tmp.md".',
            )
        self._spec = GitIgnoreSpec.from_lines(lines)
        self._ways = _ways(lines)

    def match_file(self, relative: str) -> bool:
        """Whether a file, or a folder with a slash behind it, is chosen."""
        return bool(self._spec.match_file(relative))

    def reaches(self, folder: str) -> bool:
        """Whether a file in or below a folder may be chosen."""
        if self._ways is None or self._spec.match_file(f"{folder}/"):
            return True
        below, above = self._ways
        depth = folder.count("/") + 1
        return below.match_file(f"{folder}/") or (depth in above and above[depth].match_file(f"{folder}/"))


def _ways(lines: Sequence[str]) -> tuple[GitIgnoreSpec, dict[int, GitIgnoreSpec]] | None:
    """The folders below which everything may be chosen, and those that lead to what is chosen, by their depth; None
    where a pattern may match at any depth."""
    below: list[str] = []
    above: dict[int, list[str]] = {}
    for line in lines:
        pattern = line.rstrip()
        if not pattern or pattern.startswith(("!", "#")):
            continue
        folders = pattern.strip("/").split("/")
        anywhere = "/" not in pattern.rstrip("/") or folders[0] == "**"
        if anywhere or "\\" in pattern or "[" in pattern:  # these may stand in the way of cutting it at its slashes
            return None
        for depth, name in enumerate(folders):
            if name == "**":
                below.append("/" + "/".join(folders[:depth]))
                break
            above.setdefault(depth + 1, []).append("/" + "/".join(folders[: depth + 1]))
        else:
            below.append("/" + "/".join(folders))
    return GitIgnoreSpec.from_lines(below), {depth: GitIgnoreSpec.from_lines(way) for depth, way in above.items()}
