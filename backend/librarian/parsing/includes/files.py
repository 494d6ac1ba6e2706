"""Finding and reading the files that one document includes.

A file is opened component by component below the handle of an allowed folder, and no symbolic link is followed on the
way: one that leads to another place inside an allowed folder is resolved first. Files that aren't regular, hidden ones
and those outside are reported like missing ones. Sizes, depth and number are bounded per document.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

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
_UP = re.compile(r"^(?:\.{0,2}/)+")

#: Takes the lines that are included out of a file's text. Raises `NotIncluded`.
Choose = Callable[[str], list[str]]


class NotIncluded(Exception):
    """Why a file, or the part of it that is asked for, can't be included."""


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
        given = (roots.root, *roots.folders)
        self._allowed = tuple(dict.fromkeys((*given, *map(os.path.realpath, given))))
        self._asked = self._read_bytes = self._characters = 0
        self._texts: dict[str, str] = {}
        self._noted: dict[str, tuple[int, int]] = {}

    @property
    def included(self) -> tuple[Included, ...]:
        """What the document's text depends on."""
        return tuple(Included(path, size, mtime_ns) for path, (size, mtime_ns) in sorted(self._noted.items()))

    def upwards(self, folder: str) -> list[str]:
        """The folder and those above it, up to the allowed one that it lies in."""
        found = [folder]
        while folder not in self._allowed and any(_is_below(folder, root) for root in self._allowed):
            folder = os.path.dirname(folder)
            found.append(folder)
        return found

    def near(self, target: str, stack: Sequence[str]) -> list[str]:
        """Where a path is relative to: the document, as Sphinx has it, or the file that holds the directive, as
        docutils has it; one that begins with a slash to the folder of the sources, which is one of those above."""
        folder = os.path.dirname(stack[0])
        return self.upwards(folder) if target.startswith("/") else [folder, os.path.dirname(stack[-1])]

    def part(
        self, targets: Sequence[str], folders: Sequence[str], stack: Sequence[str], choose: Choose
    ) -> tuple[str, list[str]]:
        """The path of a file, and the lines that `choose` takes of it; an empty one, and the line that says why not.

        It is the first file that one of the `targets` names, seen from one of the `folders`, else from an include root.
        `stack` holds the paths of the files being read, the document first.
        """
        self._asked += 1
        try:
            if self._asked > _MOST_INCLUDES:
                raise NotIncluded(f"Included file left out, there are more than {_MOST_INCLUDES:,}")
            if len(stack) > _DEEPEST:
                raise NotIncluded("Included file left out, nested too deeply")
            path, text = self._found(targets, folders, stack)
            lines = choose(text)
            self._characters += sum(map(len, lines)) + len(lines)
            if self._characters > MOST_TEXT:
                raise NotIncluded(f"Included file left out, more than {MOST_TEXT // 1000} KB")
        except NotIncluded as why:
            return "", [message(str(why), targets[0])]
        self.found += 1
        return path, lines

    def _found(self, targets: Sequence[str], folders: Sequence[str], stack: Sequence[str]) -> tuple[str, str]:
        for path in dict.fromkeys(self._candidates(targets, folders)):
            handle = self._opened(path)
            if handle is None:
                self._note(path, state_of(path))
            elif path in stack:
                os.close(handle)
                raise NotIncluded("Included file left out, it includes itself")
            else:
                return path, self._text(path, handle)
        raise NotIncluded("Included file not found")

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
        place = os.path.realpath(path)
        root = self._root_of(place)
        if root is None or self._root_of(path) is None:
            return None
        try:
            handle = open_below(os.path.realpath(root), os.path.relpath(place, root))
        except OSError:
            return None
        if stat.S_ISREG(os.fstat(handle).st_mode):
            return handle
        os.close(handle)
        return None

    def _root_of(self, path: str) -> str | None:
        """The allowed folder that holds `path`; None outside and for what is hidden."""
        for root in self._allowed:
            if _is_below(path, root) and path != root:
                hidden = any(part.startswith(".") for part in os.path.relpath(path, root).split(os.sep))
                return None if hidden else root
        return None

    def _text(self, path: str, handle: int) -> str:
        try:
            with open(handle, "rb") as file:
                status = os.fstat(handle)
                self._note(path, (status.st_size, mtime_of(status)))
                if path in self._texts:
                    return self._texts[path]
                if status.st_size > _LARGEST_FILE:
                    raise NotIncluded(f"Included file left out, larger than {_LARGEST_FILE // 1_000_000} MB")
                self._read_bytes += status.st_size
                if self._read_bytes > _MOST_READ:
                    raise NotIncluded("Included file left out, too much to read")
                text = decode(file.read(_LARGEST_FILE), path).text
        except OSError as error:
            raise NotIncluded("Included file can't be read") from error
        except SourceError as error:
            raise NotIncluded("Included file isn't text") from error
        self._texts[path] = text
        return text

    def _note(self, path: str, state: tuple[int, int]) -> None:
        if self._root_of(path) is not None and len(self._noted) < _MOST_PLACES:
            root = self._roots.root
            inside = _is_below(path, root) and path != root
            self._noted[os.path.relpath(path, root).replace(os.sep, "/") if inside else path] = state


def lines_of(text: str) -> list[str]:
    """The lines of a text, without an empty one behind the last line end."""
    return text.removesuffix("\n").split("\n")


#: Endings that aren't the names of their languages.
_LANGUAGES = {
    "cc": "cpp", "conf": "", "h": "c", "hpp": "cpp", "js": "javascript", "kt": "kotlin", "md": "markdown",
    "ps1": "powershell", "py": "python", "rb": "ruby", "rs": "rust", "sh": "bash", "tf": "hcl", "ts": "typescript",
    "txt": "text", "yml": "yaml",
}  # fmt: skip


def language_of(path: str) -> str:
    """What code in a file is called in a fence, by the file's ending; empty where that says nothing."""
    ending = os.path.splitext(path)[1][1:].lower()
    return _LANGUAGES.get(ending, ending if ending.isalnum() else "")


def _is_below(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip(os.sep) + os.sep)
