"""Which configuration file is read, and which files and folders the user trusts.

Files in the working directory are not trusted: a cloned repository may hold a `config.json` or an `.env` of its own.
Nothing heavy is imported here: a stdio bridge locates the configuration before anything else.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final, Literal, NamedTuple

from .errors import SetupError
from .whole_file import write_whole

NAMES: Final = ("librarian.json", "config.json")
"""Names of a configuration file in a folder, the first one found counts."""

_PACKAGE: Final = Path(__file__).resolve().parents[1]
REPOSITORY: Final = _PACKAGE.parents[1] if _PACKAGE.parent.name == "backend" else _PACKAGE
"""The checkout that the program runs from, whose config.json serves where there is no other; an installed package has
none, and its own folder stands here."""

DEFAULT_INDEX: Final = ".librarian"  #: index.path where nothing names another

TRUST_FILE: Final = "trusted.json"

SECRETS: Final = ("DATABASE_URL", "MCP_AUTH_TOKEN", "OPENAI_API_KEY", "QDRANT_URL")
"""Variables with a `NAME_FILE` variant, which names a file that holds the value."""

Kind = Literal["named", "trusted", "user", "repository", "none"]


class Configuration(NamedTuple):
    """The configuration file in use.

    `kind` tells how it was found: named by --config or CONFIG_FILE, in the working directory and trusted, in the user's
    configuration folder, in the repository of the program, or not at all. `trusted` tells whether its contents count as
    the user's own: they may name any path to write to and any address to send keys to. `ignored` is a file in the
    working directory that is not trusted. `shipped` tells whether it is the repository's, however it was found.
    """

    path: Path | None
    kind: Kind
    trusted: bool
    ignored: Path | None = None
    shipped: bool = False

    def notice(self) -> str:
        """A sentence about the ignored file; empty where there is none."""
        if self.ignored is None:
            return ""
        return (
            f"{self.ignored} is ignored because this folder is not trusted. "
            "Read the file, then run `librarian trust` here to use it."
        )


def user_config_folder() -> Path:
    """The user's configuration folder: `$XDG_CONFIG_HOME/librarian`, else `~/.config/librarian`."""
    return _xdg("XDG_CONFIG_HOME", ".config")


def user_data_folder() -> Path:
    """The user's data folder: `$XDG_DATA_HOME/librarian`, else `~/.local/share/librarian`."""
    return _xdg("XDG_DATA_HOME", os.path.join(".local", "share"))


def _xdg(variable: str, usual: str) -> Path:
    base = os.environ.get(variable, "")
    # The specification of these variables says that relative paths are invalid.
    return Path(base if os.path.isabs(base) else os.path.join(os.path.expanduser("~"), usual), "librarian")


def locate(
    config: Path | str | None,
    environ: Mapping[str, str],
    cwd: Path,
    repository: Path,
    *,
    must_be_trusted: bool = False,
) -> Configuration:
    """The configuration file in use.

    That is the one named by `config` (--config) or CONFIG_FILE, else a trusted one in the working directory, else the
    user's, else the repository's. With `must_be_trusted` a named file that is not trusted is refused.

    Raises `SetupError` where a named file is missing.
    """
    own = user_config_folder() / NAMES[0]
    shipped = repository / "config.json"
    if named := config or environ.get("CONFIG_FILE"):
        path = absolute(named, cwd)
        if not path.is_file():
            source = "--config" if config else "CONFIG_FILE"
            raise SetupError(f"No configuration file {str(path)!r}.", hint=f"Correct {source}, or leave it out.")
        path = next((other for other in (own, shipped) if _same(path, other)), path)  # a link lies in another folder
        trusted = path in (own, shipped) or is_trusted(path)
        if must_be_trusted and not trusted:
            raise SetupError(
                f"{path} has changed since it was trusted.", hint=f"Read it, then run `librarian trust {path}`."
            )
        return Configuration(path, "named", trusted, shipped=_same(path, shipped))
    here = next((path for name in NAMES if (path := cwd / name).is_file()), None)
    if here is not None and not any(_same(here, other) for other in (own, shipped)) and is_trusted(here):
        return Configuration(here, "trusted", trusted=True)
    for path, kind in ((own, "user"), (shipped, "repository")):
        if path.is_file():
            ignored = None if here is None or _same(here, path) else here
            return Configuration(path, kind, True, ignored, shipped=kind == "repository")  # type: ignore[arg-type]
    return Configuration(None, "none", trusted=False, ignored=here)


def absolute(path: Path | str, folder: Path) -> Path:
    """The path as an absolute one, relative to `folder`, `~` expanded."""
    return Path(os.path.abspath(folder / os.path.expanduser(path)))


def _same(one: Path, other: Path) -> bool:
    try:
        return os.path.samefile(one, other)
    except OSError:
        return False


# -- trust -----------------------------------------------------------------------------------------------------------


def is_trusted(path: Path) -> bool:
    """Whether the user trusted this configuration file, and the `.env` beside it, as they are now."""
    known = _trusted().get(os.path.realpath(path))
    if known is None:
        return False
    with suppress(OSError):
        return known == _identity(path)
    return False


def trust(path: Path) -> None:
    """Remember the file's owner and content, and that of the `.env` beside it, as trusted.

    Raises `SetupError` where the file belongs to another user (other than root) or can't be read.
    """
    try:
        identity = _identity(path)
    except OSError as error:
        raise SetupError(f"{path} can't be read: {error.strerror}.", hint="Name a configuration file.") from error
    if identity["uid"] not in (os.getuid(), 0):
        raise SetupError(f"{path} belongs to another user.", hint="Copy it, and trust your copy.")
    _write({**_trusted(), os.path.realpath(path): identity})


def distrust(path: Path) -> bool:
    """Forget the file; False where it was not trusted."""
    known = _trusted()
    if known.pop(os.path.realpath(path), None) is None:
        return False
    _write(known)
    return True


def configuration_in(place: Path) -> Path:
    """The configuration file meant by a file or a folder. Raises `SetupError` where there is none."""
    if place.is_file():
        return place
    if found := next((path for name in NAMES if (path := place / name).is_file()), None):
        return found
    raise SetupError(f"There is no {' or '.join(NAMES)} in {place}.", hint="Name a folder that has one, or the file.")


def _trusted() -> dict[str, dict[str, object]]:
    try:
        content = json.loads((user_config_folder() / TRUST_FILE).read_bytes())
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}


def _write(known: Mapping[str, Mapping[str, object]]) -> None:
    folder = user_config_folder()
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        write_whole(folder / TRUST_FILE, json.dumps(known, indent=2) + "\n", mode=0o600)
    except OSError as error:
        raise SetupError(
            f"{folder / TRUST_FILE} can't be written: {error.strerror}.", hint="Make it writable."
        ) from error


def _identity(path: Path) -> dict[str, object]:
    """Owner and content hash of a configuration file and the `.env` beside it."""
    from hashlib import sha256  # only needed where a file in the working directory or a named one is looked at

    digest = sha256(path.read_bytes())
    with suppress(FileNotFoundError):
        digest.update(b"\0.env\0" + (path.parent / ".env").read_bytes())
    return {"uid": path.stat().st_uid, "sha256": digest.hexdigest()}


# -- places ----------------------------------------------------------------------------------------------------------


def index_by_root(
    configuration: Configuration, root: Path, *, root_named: bool, index_named: bool, written: object
) -> Path | None:
    """The index folder of documents that were named without one: one per folder, in the user's data folder.

    None where the index lies elsewhere: because command line or variables name it (`index_named`), because they do not
    name the documents (`root_named`), or because a configuration file of the user's describes the library. `written` is
    index.path in the configuration file.
    """
    if index_named or not root_named or (configuration.path is not None and not configuration.shipped):
        return None
    if written not in (None, DEFAULT_INDEX):
        return None
    from hashlib import sha256

    real = os.path.realpath(root)
    name = os.path.basename(real) or "root"
    return user_data_folder() / "indexes" / f"{name}-{sha256(os.fsencode(real)).hexdigest()[:8]}"


def may_write(path: Path, configuration: Configuration) -> bool:
    """Whether a path that the configuration file (or the `.env` beside it) names may be written to."""
    if configuration.trusted or configuration.path is None:
        return True
    real = os.path.realpath(path)
    allowed = (os.path.realpath(configuration.path.parent), os.path.realpath(user_data_folder()))
    return any(real.startswith(os.path.join(folder, "")) for folder in allowed)


def secret_files(environ: Mapping[str, str], folder: Path) -> Iterator[tuple[str, str]]:
    """Each secret that a `NAME_FILE` variable gives, as its name and value. Relative paths are relative to `folder`.

    Raises `SetupError` where the file can't be read or the variable without `_FILE` is set too.
    """
    for name in SECRETS:
        if not (file := environ.get(f"{name}_FILE")):
            continue
        if environ.get(name):
            raise SetupError(f"{name} and {name}_FILE are both set.", hint="Keep one of them.")
        try:
            yield name, absolute(file, folder).read_text("utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            raise SetupError(f"{name}_FILE: {file} can't be read: {error}.", hint="Correct the path.") from error


def require_library(configuration: Configuration, index: Path, cwd: Path, *, named: bool) -> None:
    """Refuse to build an index that nobody asked for.

    `named`: the documents or the index were named by command line or environment. Raises `SetupError` where nothing
    names a library, or where the only one is the manual that comes with the program, it has no index yet, and the user
    is elsewhere.
    """
    if named or configuration.kind in ("named", "trusted", "user"):
        return
    own = user_config_folder() / NAMES[0]
    hint = f"Name the folder of documents with --root DIR, or write {own}. {configuration.notice()}".rstrip()
    if configuration.path is None:
        raise SetupError("No library is configured.", hint=hint)
    inside = os.path.join(os.path.realpath(configuration.path.parent), "")
    if not os.path.join(os.path.realpath(cwd), "").startswith(inside) and not index.exists():
        raise SetupError("No library is configured here.", hint=hint)


def which_library(configuration: Configuration, root: Path, cwd: Path, *, named: bool) -> str:
    """A note that says which library is searched where the user is elsewhere and named none; else empty."""
    if named or configuration.kind != "repository" or configuration.path is None:
        return ""
    inside = os.path.join(os.path.realpath(configuration.path.parent), "")
    if os.path.join(os.path.realpath(cwd), "").startswith(inside):
        return ""
    return f"No library is configured here: this searches {root}. Name another folder with --root DIR."
