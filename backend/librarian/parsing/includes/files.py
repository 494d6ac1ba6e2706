"""Finding and reading the files that one document includes.

A file is opened component by component below the handle of an allowed folder, and no symbolic link is followed on the
way: one that leads to another place inside an allowed folder is resolved first. Files that aren't regular, hidden ones
and those outside are reported like missing ones. Sizes, depth and number are bounded per document.
"""

from __future__ import annotations

import hashlib
import os
import posixpath
import re
import stat
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ...errors import SourceError
from ...files.paths import mtime_of, state_of
from ...files.safe_open import open_below
from ...models import Included
from ...text.cross_references import message
from ..encoding import decode

MOST_TEXT = 200_000  #: characters that a document may include, all together
_LARGEST_FILE = 1_000_000  #: bytes of a file of which a part is included
_MOST_READ = 10_000_000  #: bytes of files that are read for one document
_DEEPEST = 3  #: files that include each other, one in the other
_MOST_INCLUDES = 1_000  #: of a document; more are left out
_MOST_PLACES = 5_000  #: places that are remembered of a document, to notice a file that comes or changes
_BLOCK = 1 << 16
_UP = re.compile(r"^(?:\.{0,2}/)+")


class NotIncluded(Exception):
    """A target that can't be included; the message is the line that stands in its place."""


class PartNotFound(Exception):
    """The file lacks the marker, tag or lines that are asked for; the message names them."""


class IncludedFile(NamedTuple):
    """A file that was found and read."""

    path: str  #: absolute
    text: str

    @property
    def lines(self) -> list[str]:
        """Its lines, without an empty one behind the last line end."""
        return self.text.removesuffix("\n").split("\n")


@dataclass(frozen=True, slots=True)
class IncludeRoots:
    """The folders that included files may lie in: the library's own, and those of `docs.include_roots`; absolute."""

    root: str
    folders: tuple[str, ...] = ()

    @property
    def fingerprint(self) -> str:
        """Changes whenever a target may be found elsewhere."""
        return hashlib.sha256("\0".join(self.folders).encode("utf-8", "surrogateescape")).hexdigest()[:16]


class IncludeReader:
    """Reads what one document includes. `included` lists the files that were read and the places where one was
    missing, so that a later change of any of them is noticed."""

    def __init__(self, roots: IncludeRoots) -> None:
        self.found = 0
        self._roots = roots
        self._allowed = tuple(dict.fromkeys(_real_and_given((roots.root, *roots.folders))))
        self._asked = 0
        self._read_bytes = 0
        self._characters = 0
        self._texts: dict[str, str] = {}
        self._noted: dict[str, tuple[int, int]] = {}

    @property
    def included(self) -> tuple[Included, ...]:
        """What the document's text depends on."""
        return tuple(Included(path, size, mtime_ns) for path, (size, mtime_ns) in sorted(self._noted.items()))

    def upwards(self, folder: str) -> list[str]:
        """The folder and those above it, up to the allowed one that it lies in."""
        top = next((root for root in self._allowed if _is_below(folder, root)), folder)
        found = [folder]
        while _is_below(folder, top) and folder != top:
            folder = os.path.dirname(folder)
            found.append(folder)
        return found

    def open(self, targets: Sequence[str], folders: Sequence[str], stack: Sequence[str]) -> IncludedFile:
        """The first file that one of the `targets` names, seen from one of the `folders`, else from an include root.

        `stack` holds the paths of the files being read, the document first. Raises `NotIncluded`.
        """
        shown = targets[0]
        self._asked += 1
        if self._asked > _MOST_INCLUDES:
            raise NotIncluded(message(f"Included file left out, there are more than {_MOST_INCLUDES:,}", shown))
        if len(stack) > _DEEPEST:
            raise NotIncluded(message("Included file left out, nested too deeply", shown))
        for path in dict.fromkeys(self._candidates(targets, folders)):
            opened = self._opened(path)
            if opened is None:
                self._note(path, state_of(path))
                continue
            if path in stack:
                os.close(opened)
                raise NotIncluded(message("Included file left out, it includes itself", shown))
            return IncludedFile(path, self._text(path, opened, shown))
        raise NotIncluded(message("Included file not found", shown))

    def part(
        self,
        targets: Sequence[str],
        folders: Sequence[str],
        stack: Sequence[str],
        choose: Callable[[IncludedFile], list[str]],
    ) -> tuple[str, list[str]]:
        """The path of the file that `open` finds, and the lines of it that `choose` takes; they are counted."""
        file = self.open(targets, folders, stack)
        try:
            lines = choose(file)
        except PartNotFound as error:
            raise NotIncluded(message(f"Included part not found, {error}", targets[0])) from error
        self.charge("\n".join(lines), targets[0])
        return file.path, lines

    def near(self, target: str, stack: Sequence[str]) -> list[str]:
        """Where a path is relative to: the document, as Sphinx has it, or the file that holds the directive, as
        docutils has it; one that begins with a slash to the folder of the sources, which is one of those above."""
        folder = os.path.dirname(stack[0])
        return self.upwards(folder) if target.startswith("/") else [folder, os.path.dirname(stack[-1])]

    def charge(self, part: str, shown: str) -> None:
        """Count what is put into the document. Raises `NotIncluded` where it becomes too much."""
        if self._characters + len(part) > MOST_TEXT:
            raise NotIncluded(message(f"Included file left out, more than {MOST_TEXT // 1000} KB", shown))
        self._characters += len(part)
        self.found += 1

    # -- finding -----------------------------------------------------------------------------------------------------

    def _candidates(self, targets: Sequence[str], folders: Sequence[str]) -> Iterator[str]:
        cleaned = [target.replace("\\", "/").strip() for target in targets if "\0" not in target]
        for folder in folders:
            for target in cleaned:
                yield os.path.normpath(os.path.join(folder, target.lstrip("/")))
        for root in self._roots.folders:
            for target in cleaned:
                inner = _UP.sub("", target)
                yield os.path.normpath(os.path.join(root, inner))
                yield os.path.normpath(os.path.join(os.path.dirname(root), inner))

    def _opened(self, path: str) -> int | None:
        """A handle of the regular file at `path`, None where there is none that may be read."""
        place = self._place(path)
        if place is None:
            return None
        handle = _regular_file(*place)
        if handle is None and (real := os.path.realpath(path)) != path and (place := self._place(real)) is not None:
            handle = _regular_file(*place)
        return handle

    def _place(self, path: str) -> tuple[str, list[str]] | None:
        """The allowed folder that holds `path`, and the components below it; None outside and for hidden ones."""
        for root in self._allowed:
            if _is_below(path, root) and path != root:
                parts = path[len(root.rstrip(os.sep)) + 1 :].split(os.sep)
                if not any(part.startswith(".") for part in parts):
                    return root, parts
        return None

    # -- reading -----------------------------------------------------------------------------------------------------

    def _text(self, path: str, handle: int, shown: str) -> str:
        try:
            status = os.fstat(handle)
            self._note(path, (status.st_size, mtime_of(status)))
            if path in self._texts:
                return self._texts[path]
            if status.st_size > _LARGEST_FILE:
                raise NotIncluded(
                    message(f"Included file left out, larger than {_LARGEST_FILE // 1_000_000} MB", shown)
                )
            if self._read_bytes + status.st_size > _MOST_READ:
                raise NotIncluded(message("Included file left out, too much to read", shown))
            data = _bytes_of(handle)
        except OSError as error:
            raise NotIncluded(message("Included file can't be read", shown)) from error
        finally:
            os.close(handle)
        self._read_bytes += len(data)
        try:
            text = decode(data, path).text
        except SourceError as error:
            raise NotIncluded(message("Included file isn't text", shown)) from error
        self._texts[path] = text
        return text

    def _note(self, path: str, state: tuple[int, int]) -> None:
        if self._place(path) is None or len(self._noted) >= _MOST_PLACES:
            return
        root = self._roots.root
        below = _is_below(path, root) and path != root
        self._noted[os.path.relpath(path, root).replace(os.sep, "/") if below else path] = state


def _regular_file(folder: str, parts: Sequence[str]) -> int | None:
    """A handle of a regular file below a folder, reached without following a link; None where there is none."""
    try:
        handle = open_below(os.path.realpath(folder), os.sep.join(parts))
    except OSError:
        return None
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        return None
    return handle


def language_of(path: str) -> str:
    """What code in a file is called in a fence, by the file's ending; empty where that says nothing."""
    ending = posixpath.splitext(path)[1][1:].lower()
    return _LANGUAGES.get(ending, ending if ending.isalnum() else "")


#: Endings that aren't the names of their languages.
_LANGUAGES = {
    "cc": "cpp", "conf": "", "h": "c", "hpp": "cpp", "js": "javascript", "kt": "kotlin", "md": "markdown",
    "ps1": "powershell", "py": "python", "rb": "ruby", "rs": "rust", "sh": "bash", "tf": "hcl", "ts": "typescript",
    "txt": "text", "yml": "yaml",
}  # fmt: skip


def _bytes_of(handle: int) -> bytes:
    """At most `_LARGEST_FILE` bytes: the file may grow while it is read."""
    pieces: list[bytes] = []
    left = _LARGEST_FILE
    while left and (piece := os.read(handle, min(left, _BLOCK))):
        pieces.append(piece)
        left -= len(piece)
    return b"".join(pieces)


def _real_and_given(folders: Sequence[str]) -> Iterator[str]:
    for folder in folders:
        yield folder
        yield os.path.realpath(folder)


def _is_below(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip(os.sep) + os.sep)
