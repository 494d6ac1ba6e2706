"""The files below the root that are indexed, by ignore files, `docs.include`, `docs.exclude`, format and size."""

from __future__ import annotations

import errno
import logging
import os
import re
import stat
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from itertools import takewhile
from pathlib import Path

from pathspec import GitIgnoreSpec

from ..errors import SetupError, SourceError
from ..files.paths import Paths, chosen, left_out_folder, mtime_of, name_of, spelling_of
from ..files.safe_open import open_below
from ..models import Failure, SourceFile
from ..parsing.email.parser import EXTENSIONS as ARCHIVE_EXTENSIONS
from ..parsing.email.parser import format_of

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
            path = os.path.join(folder, name)
            try:
                with open(path, encoding="utf-8", errors="replace", opener=_without_following) as file:
                    lines = name_of(file.read(_LONGEST)).splitlines()
            except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
                continue
            except OSError as error:
                if not os.path.lexists(path):
                    continue  # the folder can't be looked into, which is said of it
                _log.warning("Ignore file '%s' can't be read: %s", path, error)
                continue
            added.append((f"{relative}/" if relative else "", _spec(lines, path)))
        return IgnoreRules((*self._layers, *added)) if added else self

    def excludes(self, relative: str, *, folder: bool) -> str:
        """Which ignore file leaves `relative` (a path below the root) out, else empty. The innermost rule decides."""
        for base, spec in reversed(self._layers):
            name = relative[len(base) :] + ("/" if folder else "")
            included = spec.check_file(name).include
            if included is not None:
                return f"a rule of the ignore file in '{base or '.'}'" if included else ""
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
        self._ways = [_way(line.rstrip()) for line in lines if line.strip() and not line.startswith(("!", "#"))]

    def match_file(self, relative: str) -> bool:
        """Whether a file, or a folder with a slash behind it, is chosen."""
        return bool(self._spec.match_file(relative))

    def reaches(self, folder: str) -> bool:
        """Whether a file in or below a folder may be chosen."""
        names = folder.split("/")
        return any(all(map(fnmatchcase, names, way)) for way in self._ways)


def _way(pattern: str) -> list[str]:
    """The folders that lead to what is chosen, as globs; none where it may lie at any depth."""
    if "/" not in pattern.rstrip("/") or "\\" in pattern or "[" in pattern:  # the last two: slashes may not part it
        return []
    return list(takewhile(lambda name: name != "**", filter(None, pattern.split("/"))))


#: absolute path of a folder, its path below the root, the rules in it, the real paths, what is left of its entries
_Level = tuple[str, str, IgnoreRules, tuple[str, ...], Iterator[str | Failure]]

_LAYOUTS = ("product/component", "flat")
_GENERAL = "general"
_BYTES_PER_MB = 1024 * 1024
_SIZE = re.compile(r"\d+(?:\.\d*)?|\.\d+")  #: of a limit, in MB
_ARCHIVE_FACTOR = 20  #: an archive holds many documents, and each may have the size that is allowed


class FolderScanner:
    """The files below `root`, sorted by path.

    `layout` product/component takes the first folder as product and the second as component (`general` for a file
    directly under its product) and skips files directly in the root; `flat` takes the root's name as product and the
    first folder as component. `extensions` chooses among `known_extensions` (None: all of them). `include` and
    `exclude` are patterns as in an ignore file, relative to the root; `include` empty lets everything in.
    `max_file_size_mb` is in MiB; `size_limits` names other limits by extension, as `.pdf:100`.

    Skipped reasons: in_root, extension, too_large, ignored, hidden, excluded, symlink, special, same_name. Failed:
    unreadable.
    """

    def __init__(
        self,
        root: Path,
        *,
        layout: str = "product/component",
        extensions: Iterable[str] | None = None,
        max_file_size_mb: float = 10.0,
        size_limits: Sequence[str] = (),
        include: Sequence[str] = (),
        exclude: Sequence[str] = (),
        known_extensions: frozenset[str],
    ) -> None:
        if layout not in _LAYOUTS:
            raise SetupError(f"Unknown docs.layout '{layout}'.", hint=f"Use one of: {', '.join(_LAYOUTS)}.")
        self._root = os.path.abspath(root)
        self._real_root = os.path.realpath(self._root)
        self._flat = layout == "flat"
        self._known = known_extensions
        self._extensions = known_extensions if extensions is None else frozenset(map(_extension, extensions))
        self._max_bytes = max_file_size_mb * _BYTES_PER_MB
        self._limits = dict(map(_limit, size_limits))
        self._include = Chosen("docs.include", include) if include else None
        self._exclude = Chosen("docs.exclude", exclude) if exclude else None
        self._paths = Paths(self._root)
        self._followed: dict[str, str] = {}  # real path of a link's target → the link that it is followed through

    def scan(self) -> Iterator[SourceFile | Failure]:
        """Every file below the root, sorted by path; a folder that is left out is one `Failure`.

        Raises `SourceError(reason="root")` where the root is gone or can't be listed.
        """
        self._real_root = os.path.realpath(self._root)
        self.require_root()
        self._followed = {}
        yield from self._walk(())

    def below(self, path: str) -> Iterator[SourceFile | Failure]:
        """What `scan` would say of one file or folder (absolute) and of all that lies below it."""
        if way := self._parts_below_root(path):
            yield from self._walk(way)

    def look(self, path: str) -> SourceFile | Failure | None:
        """What `scan` would say of one absolute path; None where there is no such file or it lies outside the root.

        A folder gives None unless it is left out, and a path inside a folder that is left out gives that folder's
        `Failure`.
        """
        way = self._parts_below_root(path)
        return next(self._walk(way, enter=False), None) if way else None

    def require_root(self) -> None:
        """Raises `SourceError(reason="root")` where the root is gone or can't be listed."""
        try:
            os.stat(os.path.join(self._root, os.curdir))  # a folder that may be listed need not let anybody in
            os.listdir(self._root)
        except OSError as error:
            raise SourceError(
                f"The library's folder '{self._root}' can't be read: {error.strerror or error}.",
                hint="Check docs.root_path, and whether the volume is mounted.",
                reason="root",
            ) from error

    def _walk(self, way: Sequence[str], *, enter: bool = True) -> Iterator[SourceFile | Failure]:
        """Everything below the root, or only what lies where the names of `way` lead to; with `enter`, below that too.

        With each folder goes the chain of the real paths of those above it and of itself, to recognise loops.
        """

        def opened(folder: str, name: str, rules: IgnoreRules, chain: tuple[str, ...]) -> _Level:
            rules = rules.enter(folder, name)
            depth = len(chain) - 1
            entries = self._one(folder, name, way[depth]) if depth < len(way) else _children(chain, name)
            return folder, name, rules, chain, entries

        # An explicit stack of iterators, so that a very deep tree meets no recursion limit.
        stack = [opened(self._root, "", IgnoreRules(), (os.path.realpath(self._root),))]
        while stack:
            folder, parent, rules, chain, entries = stack[-1]
            entry = next(entries, None)
            if entry is None:
                stack.pop()
                continue
            if isinstance(entry, Failure):
                yield entry
                continue
            path, name = os.path.join(folder, entry), _join(parent, name_of(entry))
            found = self._entry(path, name, rules, chain)
            if isinstance(found, str):
                if enter or len(chain) < len(way):
                    try:
                        stack.append(opened(path, name, rules, (*chain, found)))
                    except OSError as error:
                        detail = f"folder can't be listed: {error.strerror or error}"
                        yield Failure(name, "failed", "unreadable", detail)
            elif isinstance(found, Failure) or (found is not None and len(chain) >= len(way)):
                yield found

    def _one(self, folder: str, relative: str, entry: str) -> Iterator[str | Failure]:
        """An entry of a folder, if it is there."""
        if os.path.lexists(os.path.join(folder, entry)):
            name = name_of(entry)
            other = entry if entry == name else self._paths.entry(folder, name)
            yield entry if entry == other else _same_name(relative, entry, other)

    def _entry(
        self, path: str, relative: str, rules: IgnoreRules, chain: tuple[str, ...]
    ) -> SourceFile | Failure | str | None:
        """A file, why it is left out, the real path of a folder to walk into, or None for what isn't counted."""
        try:
            status = os.lstat(path)
            target = ""
            if stat.S_ISLNK(status.st_mode):
                target = os.path.realpath(path)
                if (reason := self._refused_link(target, relative, chain)) is not None:
                    return reason
                status = os.stat(path)
        except OSError as error:
            return Failure(relative, "failed", "unreadable", error.strerror or str(error))
        if stat.S_ISDIR(status.st_mode):
            if why := left_out_folder(path):
                return Failure(relative, "skipped", "ignored", why)
            return self._left_out(relative, rules, folder=True) or target or _inside(path, chain)
        if not stat.S_ISREG(status.st_mode):
            return Failure(relative, "skipped", "special", "not a regular file")
        return self._file(path, relative, status, rules, chain[0], target or _inside(path, chain))

    def _refused_link(self, target: str, relative: str, chain: tuple[str, ...]) -> Failure | None:
        if target != self._real_root and not target.startswith(self._real_root.rstrip(os.sep) + os.sep):
            return Failure(relative, "skipped", "symlink", "the link leaves the library's folder")
        if not os.path.exists(target):
            return Failure(relative, "skipped", "symlink", "the link leads nowhere")
        if target in chain:
            return Failure(relative, "skipped", "symlink", "the link leads back to a folder that it lies in")
        through = self._followed.setdefault(target, relative)
        if through != relative and os.path.realpath(self._paths.on_disk(through)) != target:
            through = self._followed[target] = relative  # the other link is gone or leads elsewhere now
        if through != relative:
            return Failure(relative, "skipped", "symlink", f"already followed through '{through}'")
        return None

    def _left_out(self, relative: str, rules: IgnoreRules, *, folder: bool) -> Failure | None:
        if why := rules.excludes(relative, folder=folder):
            return Failure(relative, "skipped", "ignored", why)
        if self._exclude is not None and self._exclude.match_file(f"{relative}/" if folder else relative):
            return Failure(relative, "skipped", "excluded", "docs.exclude")
        if self._include is not None and not (self._include.reaches if folder else self._include.match_file)(relative):
            return Failure(relative, "skipped", "excluded", "not in docs.include")
        return None

    def _file(
        self, path: str, relative: str, status: os.stat_result, rules: IgnoreRules, root: str, real: str
    ) -> SourceFile | Failure | None:
        """`root` and `real` are the real paths of the root and of the file."""
        folder, _, name = relative.rpartition("/")
        if name in IGNORE_FILES:
            return None
        if name.startswith("."):
            return Failure(relative, "skipped", "hidden", "hidden file")
        if left_out := self._left_out(relative, rules, folder=False):
            return left_out
        extension = format_of(relative, self._known)
        if extension not in self._extensions or extension not in self._known:
            known = "not in docs.file_extensions" if extension in self._known else "no parser for it"
            return Failure(relative, "skipped", "extension", f"'{extension}': {known}" if extension else "no extension")
        if not folder and not self._flat:
            return Failure(relative, "skipped", "in_root", "files count from {product}/ on, or with docs.layout flat")
        own = self._limits.get(extension)
        usual = self._max_bytes * (_ARCHIVE_FACTOR if extension in ARCHIVE_EXTENSIONS else 1)
        if status.st_size > (limit := usual if own is None else own):
            setting = "docs.max_file_size_mb" if own is None else f"docs.size_limits for {extension}"
            size = f"{status.st_size / _BYTES_PER_MB:.1f} MB, {setting} is {limit / _BYTES_PER_MB:g}"
            return Failure(relative, "skipped", "too_large", size)
        product, component = self._place(folder)
        return SourceFile(
            path,
            relative,
            product,
            component,
            status.st_size,
            mtime_of(status),
            root=root,
            below=_below(root, real),
            device=status.st_dev,
            inode=status.st_ino,
        )

    def _place(self, folder: str) -> tuple[str, str]:
        parts = folder.split("/") if folder else []
        if self._flat:
            return name_of(os.path.basename(self._root)) or _GENERAL, parts[0] if parts else _GENERAL
        return parts[0], parts[1] if len(parts) > 1 else _GENERAL

    def _parts_below_root(self, path: str) -> list[str]:
        path = os.path.abspath(path)
        for root in (self._root, self._real_root):
            if path.startswith(root.rstrip(os.sep) + os.sep):
                return path[len(root.rstrip(os.sep)) + 1 :].split(os.sep)
        return []


def _extension(given: str) -> str:
    given = given.strip().lower()
    return given if given.startswith(".") else f".{given}"


def _limit(given: str) -> tuple[str, float]:
    """An extension and its limit in bytes. Raises `SetupError`."""
    extension, _, size = given.partition(":")
    limit = float(size) * _BYTES_PER_MB if _SIZE.fullmatch(size.strip()) else 0.0
    if not extension.strip() or limit <= 0:
        raise SetupError(f"docs.size_limits holds '{given}'.", hint="Right would be: .pdf:100 (in MB, more than 0).")
    return _extension(extension), limit


def _join(folder: str, name: str) -> str:
    return f"{folder}/{name}" if folder else name


def _same_name(parent: str, name: str, other: str) -> Failure:
    """For an entry that another one leaves no name. Listed as it is spelled on disk: its file path is the other's."""
    detail = f"{name!a} is the same name as {other!a} next to it: rename one of the two"
    return Failure(_join(parent, spelling_of(name)), "skipped", "same_name", detail)


def _inside(path: str, chain: tuple[str, ...]) -> str:
    """The real path of what lies at `path` and is no link; `chain` as in `_walk`."""
    return os.path.join(chain[-1], os.path.basename(path))


def _below(root: str, real: str) -> str:
    return real[len(root.rstrip(os.sep)) + 1 :]


def _children(chain: tuple[str, ...], parent: str) -> Iterator[str | Failure]:
    """The entries of the last folder of `chain` (see `_walk`) in the order of the paths in them.

    The folder is opened without following links: after its path was checked, a link may stand there. Raises `OSError`.
    """
    folder = open_below(chain[0], _below(chain[0], chain[-1]), os.O_DIRECTORY)
    try:
        with os.scandir(folder) as entries:
            found = sorted(_sort_key(entry) for entry in entries)
    finally:
        os.close(folder)
    names = [name for _, name in found]
    named = chosen(names)
    if len(named) == len(names):
        return iter(names)
    others = ((name, named[name_of(name)]) for name in names)
    return (name if name == other else _same_name(parent, name, other) for name, other in others)


def _sort_key(entry: os.DirEntry[str]) -> tuple[str, str]:
    """Puts a folder where the paths of its files belong: `a-b.md` before `a/x.md`."""
    try:
        is_folder = entry.is_dir()
    except OSError:
        is_folder = False
    name = name_of(entry.name)
    return (name + "/" if is_folder else name, entry.name)
