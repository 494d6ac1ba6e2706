"""Find, trust, read and edit configuration files, and the `.env` file next to them.

Files in the working directory are not trusted by themselves: a cloned repository may hold a `config.json` or an `.env`
of its own. This module imports neither pydantic nor the settings, so the stdio bridge can use it and start quickly.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from io import StringIO
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

from ..errors import SetupError
from .writing import write_whole

#: Names of a configuration file in a folder; the first one that exists is used.
NAMES: Final = ("librarian.json", "config.json")

_PACKAGE: Final = Path(__file__).resolve().parents[1]
#: The checkout that the program runs from; for an installed package, the folder of the package.
REPOSITORY: Final = _PACKAGE.parents[1] if _PACKAGE.parent.name == "backend" else _PACKAGE
DEFAULT_INDEX: Final = ".librarian"  #: default of `index.path`
TRUST_FILE: Final = "trusted.json"
#: Variables with a `NAME_FILE` variant, which names a file that holds the value.
SECRETS: Final = ("DATABASE_URL", "MCP_AUTH_TOKEN", "OPENAI_API_KEY", "QDRANT_URL")

Kind = Literal["named", "trusted", "user", "repository", "none"]


class NoLibrary(SetupError):
    """Nothing names a library."""


class Configuration(NamedTuple):
    """The configuration file in use.

    `kind` is how it was found: named by --config or CONFIG_FILE, in the working directory and trusted, in the user's
    configuration folder, in the repository of the program, or not at all. A `trusted` file may name any path to write
    to and any address to send keys to. `ignored` is an untrusted file in the working directory. `shipped` is true for
    the repository's own file, however it was found.
    """

    path: Path | None
    kind: Kind
    trusted: bool
    ignored: Path | None = None
    shipped: bool = False

    def notice(self) -> str:
        """A sentence about the ignored file; empty if there is none."""
        if self.ignored is None:
            return ""
        return (
            f"{self.ignored} is ignored because this folder is not trusted. "
            "Read the file, then run `librarian trust` here to use it."
        )


def user_config_folder() -> Path:
    """The user's configuration folder: `$XDG_CONFIG_HOME/librarian`, else `~/.config/librarian`."""
    return _xdg_folder("XDG_CONFIG_HOME", "~/.config")


def user_data_folder() -> Path:
    """The user's data folder: `$XDG_DATA_HOME/librarian`, else `~/.local/share/librarian`."""
    return _xdg_folder("XDG_DATA_HOME", "~/.local/share")


def _xdg_folder(variable: str, default: str) -> Path:
    base = os.environ.get(variable, "")
    # The specification of these variables says that relative paths are invalid.
    return Path(base if os.path.isabs(base) else os.path.expanduser(default), "librarian")


def absolute(path: Path | str, folder: Path) -> Path:
    """The path made absolute: relative to `folder`, with `~` expanded."""
    return Path(os.path.abspath(folder / os.path.expanduser(path)))


# -- locating --------------------------------------------------------------------------------------------------------


def locate(
    config: Path | str | None, environ: Mapping[str, str], cwd: Path, repository: Path, *, must_be_trusted: bool = False
) -> Configuration:
    """The configuration file in use.

    That is the one named by `config` (--config) or CONFIG_FILE, else a trusted one in the working directory, else the
    user's, else the repository's. With `must_be_trusted` a named file that is not trusted is refused.

    Raises `SetupError` if a named file is missing.
    """
    own = user_config_folder() / NAMES[0]
    shipped = repository / "config.json"
    if named := config or environ.get("CONFIG_FILE"):
        path = absolute(named, cwd)
        if not path.is_file():
            source = "--config" if config else "CONFIG_FILE"
            raise SetupError(f"No configuration file {str(path)!r}.", hint=f"Correct {source}, or leave it out.")
        # a link to one of these may lie in a folder with an .env of its own
        path = next((other for other in (own, shipped) if _same(path, other)), path)
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


def config_file_in(place: Path) -> Path:
    """The configuration file at a path: the file itself, or the one in that folder. Raises `SetupError` if none is."""
    if place.is_file():
        return place
    if found := next((path for name in NAMES if (path := place / name).is_file()), None):
        return found
    raise SetupError(f"There is no {' or '.join(NAMES)} in {place}.", hint="Name a folder that has one, or the file.")


def index_by_root(
    configuration: Configuration, root: Path, *, root_named: bool, index_named: bool, written: object
) -> Path | None:
    """The index folder of documents that were named without one: one per folder, in the user's data folder.

    None if the index lies elsewhere: because command line or variables name it (`index_named`), because they do not
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


def require_library(configuration: Configuration, index: Path, cwd: Path, *, named: bool) -> None:
    """Refuse to build an index that nobody asked for.

    `named`: the documents or the index were named by command line or environment. Raises `NoLibrary` if nothing names
    a library, or if the only one is the manual that comes with the program, it has no index yet, and the user is
    elsewhere.
    """
    if named or configuration.kind in ("named", "trusted", "user"):
        return
    own = user_config_folder() / NAMES[0]
    example = '{"docs": {"root_path": "DIR"}}'
    hint = (
        f"Name the folder of documents with --root DIR, or write {example} to {own}. {configuration.notice()}".rstrip()
    )
    if configuration.path is None:
        raise NoLibrary("No library is configured.", hint=hint)
    if not _is_inside(cwd, configuration.path.parent) and not index.exists():
        raise NoLibrary("No library is configured here.", hint=hint)


def which_library(configuration: Configuration, root: Path, cwd: Path, *, named: bool) -> str:
    """A note that says which library is searched if the user is elsewhere and named none; else empty."""
    if named or configuration.kind != "repository" or configuration.path is None:
        return ""
    if _is_inside(cwd, configuration.path.parent):
        return ""
    return f"No library is configured here: this searches {root}. Name another folder with --root DIR."


def _is_inside(path: Path, folder: Path) -> bool:
    return os.path.join(os.path.realpath(path), "").startswith(os.path.join(os.path.realpath(folder), ""))


def _same(one: Path, other: Path) -> bool:
    try:
        return os.path.samefile(one, other)
    except OSError:
        return False


# -- trust -----------------------------------------------------------------------------------------------------------


def is_trusted(path: Path) -> bool:
    """Whether the user trusted this configuration file, and the `.env` next to it, as they are now."""
    known = _trusted().get(os.path.realpath(path))
    if known is None:
        return False
    with suppress(OSError):
        return known == _identity(path)
    return False


def trust(path: Path) -> None:
    """Remember the file's owner and content, and that of the `.env` next to it, as trusted.

    Raises `SetupError` if the file belongs to another user (other than root) or can't be read.
    """
    try:
        identity = _identity(path)
    except OSError as error:
        raise SetupError(f"{path} can't be read: {error.strerror}.", hint="Name a configuration file.") from error
    if identity["uid"] not in (os.getuid(), 0):
        raise SetupError(f"{path} belongs to another user.", hint="Copy it, and trust your copy.")
    _write_trusted({**_trusted(), os.path.realpath(path): identity})


def distrust(path: Path) -> bool:
    """Forget the file; False if it was not trusted."""
    known = _trusted()
    if known.pop(os.path.realpath(path), None) is None:
        return False
    _write_trusted(known)
    return True


def may_write(path: Path, configuration: Configuration) -> bool:
    """Whether a path that the configuration file (or the `.env` next to it) names may be written to."""
    if configuration.trusted or configuration.path is None:
        return True
    real = os.path.realpath(path)
    allowed = (os.path.realpath(configuration.path.parent), os.path.realpath(user_data_folder()))
    return any(real.startswith(os.path.join(folder, "")) for folder in allowed)


def _trusted() -> dict[str, dict[str, object]]:
    try:
        content = json.loads((user_config_folder() / TRUST_FILE).read_bytes())
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}


def _write_trusted(known: Mapping[str, Mapping[str, object]]) -> None:
    folder = user_config_folder()
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        write_whole(folder / TRUST_FILE, json.dumps(known, indent=2) + "\n", mode=0o600)
    except OSError as error:
        raise SetupError(
            f"{folder / TRUST_FILE} can't be written: {error.strerror}.", hint="Make it writable."
        ) from error


def _identity(path: Path) -> dict[str, object]:
    """Owner and content hash of a configuration file and the `.env` next to it."""
    from hashlib import sha256  # loads OpenSSL: only if a file in the working directory or a named one is checked

    digest = sha256(path.read_bytes())
    with suppress(FileNotFoundError):
        digest.update(b"\0.env\0" + (path.parent / ".env").read_bytes())
    return {"uid": path.stat().st_uid, "sha256": digest.hexdigest()}


# -- reading ---------------------------------------------------------------------------------------------------------

_STRING_OR_COMMENT: Final = re.compile(r'"(?:\\.|[^"\\\n])*"|//[^\n]*|/\*.*?\*/', re.DOTALL)
_STRING_OR_TRAILING_COMMA: Final = re.compile(r'"(?:\\.|[^"\\\n])*"|,(?=\s*[}\]])', re.DOTALL)


def read_config(path: Path) -> dict[str, Any]:
    """The content of a configuration file. Raises `SetupError` if it can't be read or holds no JSON object."""
    try:
        content = parse_json(path.read_text("utf-8"))
    except OSError as error:
        raise SetupError(f"{path} can't be read: {error.strerror}.", hint="Make it readable.") from error
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise SetupError(f"{path}, {where}: {error.msg}.", hint="Correct it; comments with // are fine.") from error
    except ValueError as error:
        raise SetupError(f"{path}: {error}.", hint="Correct the file.") from error
    if not isinstance(content, dict):
        raise SetupError(f"{path} holds no object.", hint='Start from {"docs": {"root_path": "docs"}}.')
    return content


def parse_json(text: str) -> Any:
    """The value of JSON text that may have `//` and `/* */` comments and trailing commas.

    Comments become blanks of the same length, so error positions stay right. Raises `json.JSONDecodeError`, and
    `ValueError` for an object with the same key twice.

    >>> parse_json('{"port": 3001, // the usual one\\n}')
    {'port': 3001}
    """
    plain = _STRING_OR_COMMENT.sub(_blank_comment, text.removeprefix("\ufeff"))
    plain = _STRING_OR_TRAILING_COMMA.sub(lambda match: match[0] if match[0].startswith('"') else " ", plain)
    return json.loads(plain, object_pairs_hook=_unique_keys)


def _blank_comment(match: re.Match[str]) -> str:
    return match[0] if match[0].startswith('"') else re.sub(r"[^\n]", " ", match[0])


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the key {twice!r} occurs twice in the same object")
    return result


class DotEnv(NamedTuple):
    """A `.env` file: its variables that are not empty, and a notice for each line that can't be parsed."""

    path: Path
    variables: dict[str, str]
    notices: tuple[str, ...] = ()


def read_dotenv(config: Path | None) -> DotEnv:
    """The `.env` file next to a configuration file; without variables if there is none.

    Raises `SetupError` if it can't be read as UTF-8.
    """
    path = Path(".env") if config is None else config.parent / ".env"
    if config is None or not path.is_file():
        return DotEnv(path, {})
    from dotenv.parser import parse_stream  # 1 MB and 5 ms

    try:
        statements = list(parse_stream(StringIO(path.read_text("utf-8-sig"))))
    except (OSError, UnicodeDecodeError) as error:
        raise SetupError(f"{path} can't be read: {error}.", hint="Make it readable as UTF-8.") from error
    variables = {each.key: each.value or "" for each in statements if each.key is not None and not each.error}
    invalid = (each.original.line for each in statements if each.error)
    notices = (f"{path}, line {line}, isn't understood and does nothing; write NAME=value." for line in invalid)
    return DotEnv(path, {name: value for name, value in variables.items() if value}, tuple(notices))


def secret_files(environ: Mapping[str, str], folder: Path) -> Iterator[tuple[str, str]]:
    """Each secret that a `NAME_FILE` variable gives, as its name and value. Relative paths are relative to `folder`.

    Raises `SetupError` if the file can't be read or the variable without `_FILE` is set too.
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


# -- editing ---------------------------------------------------------------------------------------------------------


def write_value(path: Path, section: str, name: str, value: str) -> None:
    """Set `section.name` in a configuration file to the string `value`; comments and layout stay.

    Raises `SetupError` if the file can't be changed safely or not be written; it then stays as it was.
    """
    target = path.resolve()  # a linked file stays a link
    try:
        text = with_value(target.read_text("utf-8"), section, name, value)
        write_whole(target, text, mode=target.stat().st_mode & 0o777)
    except OSError as error:
        raise SetupError(
            f"{path} can't be written: {error.strerror}.", hint=f"Set {section}.{name} to {value!r} there by hand."
        ) from error


def with_value(text: str, section: str, name: str, value: str) -> str:
    """`text` with `section.name` set to the string `value`, replaced in its place or added to its section.

    Each way to write it is tried, and the first one that parses to the wanted content is used. Raises `SetupError` if
    none does.
    """
    wanted = parse_json(text)
    wanted.setdefault(section, {})[name] = value
    written = f'"{name}": {json.dumps(value, ensure_ascii=False)}'
    ways = (
        (rf'("{section}"\s*:\s*\{{[^{{}}]*?)"{name}"\s*:\s*(?:"[^"\n]*"|null)', written),
        (rf'("{section}"\s*:\s*\{{)(?=\s*[^\s}}])', f"\n    {written},"),
        (rf'("{section}"\s*:\s*\{{)\s*\}}', f" {written} }}"),
        (r"(\{)(?=\s*[^\s}])", f'\n  "{section}": {{ {written} }},'),
        (r"(\{)\s*\}", f'\n  "{section}": {{ {written} }}\n}}'),
    )
    for pattern, replacement in ways:
        match = re.search(pattern, text)
        candidate = text[: match.end(1)] + replacement + text[match.end() :] if match else text
        with suppress(ValueError):
            if parse_json(candidate) == wanted:
                return candidate
    raise SetupError(
        f"{section}.{name} can't be set safely in this file.", hint=f"Write {written} into {section!r} by hand."
    )
