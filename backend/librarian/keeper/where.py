"""Which library is meant: the configuration file, the root and the index folder, found without the settings class.

A relay must know the index folder before anything heavy is imported. The rules are those of `librarian.config` and a
test holds the two together: command line, then environment, then `.env` beside the configuration file, then the
configuration file, then defaults; paths are relative to the configuration file's folder, those of the command line to
the working directory. Mistakes elsewhere in the configuration are not noticed
here; the daemon names them when it starts.
"""

from __future__ import annotations

import json
import os
import re
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from librarian.vocabulary.configuration import (
    DEFAULT_INDEX,
    REPOSITORY,
    absolute,
    index_by_root,
    locate,
    may_write,
    require_library,
    which_library,
)
from librarian.vocabulary.errors import SetupError
from librarian.vocabulary.index_folder import require_apart
from librarian.vocabulary.working_directory import working_directory

_ROOT: Final = ("docs.root_path", "DOCS_ROOT_PATH", "docs")  #: setting, variable, default
_INDEX: Final = ("index.path", "INDEX_PATH", DEFAULT_INDEX)

VARIABLES: Final = frozenset(
    (
        *("AGENT_USE_LLM", "CROSSENCODER_MAX_LENGTH", "CROSSENCODER_MODEL", "DATABASE_URL"),
        *("EMBEDDING_MODEL", "ENABLE_EMBEDDINGS", "HYBRID_CANDIDATE_COUNT", "JEDI_EMBEDDING_MODEL", "LLM_MODEL"),
        *("LLM_PROVIDER", "LOG_LEVEL", "MCP_TOOLSETS", "OLLAMA_URL", "OPENAI_API_KEY", "OPENAI_BASE_URL"),
        *("QDRANT_URL", "RERANKING_CANDIDATE_MULTIPLIER", "SEARCH_MODE", "SIMILARITY_THRESHOLD", "TEXT_WEIGHT"),
        *("DATABASE_URL_FILE", "OPENAI_API_KEY_FILE", "QDRANT_URL_FILE"),
        *("USE_HYBRID_SEARCH", "USE_RERANKING", "VECTOR_MATCH_COUNT", "VECTOR_SEARCH_EF_SEARCH", "VECTOR_WEIGHT"),
    )
)
"""The variables that matter to a daemon. Those that `find` heeds aren't among them, nor those of HTTP."""

_COMMENT_OR_COMMA: Final = re.compile(
    r'"(?:\\.|[^"\\\n])*"'  # strings stay
    r"|//[^\n]*|/\*.*?\*/"
    r"|,(?=(?:\s|//[^\n]*|/\*.*?\*/)*[}\]])",
    re.DOTALL,
)
_LEADING: Final = re.compile(r"\s*+(?:export[^\S\r\n]++)?+")
_KEY: Final = re.compile(r"'([^']+)'|(?!['#])([^=#\s]++)|(?=#)")
_EQUALS: Final = re.compile(r"[^\S\r\n]*+(?:=([^\S\r\n]*+))?+")
_VALUE: Final = re.compile(r"""'((?:\\.|[^'\\])*+)'|"((?:\\.|[^"\\])*+)"|(?!['"])([^\r\n]*+)""", re.DOTALL)
_TAIL: Final = re.compile(r"(?:[^\S\r\n]*+#[^\r\n]*+)?+[^\S\r\n]*+(?:\r\n|\n|\r|\Z)")
_REST_OF_LINE: Final = re.compile(r"[^\r\n]*(?:\r\n|\n|\r|\Z)")
_ESCAPES: Final = {
    "\\": "\\", "'": "'", '"': '"', "a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v",
}  # fmt: skip


class Where(NamedTuple):
    """A library's places, absolute. `config` is None where there is no configuration file at all."""

    config: Path | None
    root: Path
    index: Path  # type: ignore[assignment]  # hides tuple.index, which nobody asks it for
    named: bool = False  #: whether the root was named beside the configuration file, by command line or environment
    must_be_trusted: bool = False  #: the file was found in the working directory: it counts only while it is trusted
    notes: tuple[str, ...] = ()  #: what the user should know: a file that is ignored, which library this is


def find(
    *,
    config: Path | str | None = None,
    root: Path | str | None = None,
    index: Path | str | None = None,
    environ: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    repository: Path = REPOSITORY,
) -> Where:
    """The places of the library that these (the command line's) arguments and the surroundings name.

    Raises `SetupError` where a named configuration file is missing or unreadable, a path isn't text, both are one, the
    index may not lie there, or no library is named at all.
    """
    environ = os.environ if environ is None else environ
    cwd = Path(os.path.abspath(cwd or working_directory()))
    given = {name: value for name, value in environ.items() if value}
    found = locate(config, given, cwd, repository)
    file = found.path
    folder = file.parent if file else cwd
    variables = _dotenv(file) | given
    content = _read(file) if file else {}

    def place(argument: Path | str | None, key: str, variable: str, default: str) -> Path:
        if argument is not None:
            return absolute(argument, cwd)
        value = variables[variable] if variable in variables else _setting(content, key, default)
        if not isinstance(value, str) or not value:
            raise SetupError(f"{file}: {key} is {value!r}.", hint='Right would be: a path, such as "docs".')
        return absolute(value, folder)

    root_named, index_named = root is not None or _ROOT[1] in given, index is not None or _INDEX[1] in given
    documents = place(root, *_ROOT)
    own = index_by_root(
        found,
        documents,
        root_named=root_named,
        index_named=index is not None or _INDEX[1] in variables,
        written=_setting(content, _INDEX[0], DEFAULT_INDEX),
    )
    kept = own or place(index, *_INDEX)
    if not index_named and not may_write(kept, found):
        raise SetupError(
            f"{file}: index.path is {kept}, outside of the folder of that file.",
            hint=f"Use --index DIR or INDEX_PATH, a path inside that folder, or run `librarian trust {file}`.",
        )
    require_apart(documents, kept)
    named = root_named or index_named
    require_library(found, kept, cwd, named=named)
    notes = (found.notice(), which_library(found, documents, cwd, named=named))
    return Where(
        file,
        documents,
        kept,
        root is not None or _ROOT[1] in variables,
        must_be_trusted=found.kind == "trusted",
        notes=tuple(filter(None, notes)),
    )


def fingerprint(config: Path | None, *, environ: Mapping[str, str] | None = None, repository: Path = REPOSITORY) -> str:
    """What the settings come from, and the state of a clone, as a few characters that differ where a file, a variable
    or the program does: between releases its version stays.

    `config` is the file that `find` has found.
    """
    environ = os.environ if environ is None else environ
    variables = _dotenv(config) | {name: value for name, value in environ.items() if value}
    said = {name: variables[name] for name in sorted(VARIABLES & variables.keys())}
    try:
        content = config.read_bytes() if config else b""
    except OSError:
        content = b""  # who loads the settings says so
    text = json.dumps([str(config or ""), said, _state(repository)]).encode() + content
    return f"{len(text):x}-{zlib.crc32(text):08x}"


def _state(repository: Path) -> list[int]:
    """Differs after each pull, checkout and commit, which git notes in a log; empty where there is none."""
    try:
        git = repository / ".git"
        if git.is_file():  # of a further work tree
            git = repository / git.read_text("utf-8").removeprefix("gitdir:").strip()
        noted = (git / "logs" / "HEAD").stat()
    except (OSError, ValueError):
        return []
    return [noted.st_size, noted.st_mtime_ns]


def _read(file: Path) -> dict[str, Any]:
    """What the configuration file says; `//` and `/* */` comments and trailing commas are fine."""
    try:
        text = file.read_text("utf-8").removeprefix("\ufeff")
        plain = _COMMENT_OR_COMMA.sub(lambda match: match[0] if match[0].startswith('"') else " ", text)
        content = json.loads(plain)
    except (OSError, ValueError) as error:
        raise SetupError(f"{file} can't be read: {error}.", hint="Correct it; `//` comments are fine.") from error
    if not isinstance(content, dict):
        raise SetupError(f"{file} holds no object.", hint='Start from {"docs": {"root_path": "docs"}}.')
    return content


def _setting(content: Mapping[str, Any], key: str, default: str) -> object:
    """A setting written nested, or with its dotted key; a value of null gives way to another way of writing it."""
    section, _, leaf = key.partition(".")
    inside = content.get(section)
    written = [inside[leaf]] if isinstance(inside, dict) and leaf in inside else []
    written += [content[key]] if key in content else []
    return next((value for value in written if value is not None), written[0] if written else default)


def _dotenv(config: Path | None) -> dict[str, str]:
    """The assignments of the `.env` beside a configuration file, the last of equal names winning; empty values count
    as unset."""
    path = config.parent / ".env" if config else None
    if path is None or not path.is_file():
        return {}
    try:
        text = path.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise SetupError(f"{path} can't be read: {error}.", hint="Make it readable as UTF-8.") from error
    return {name: value for name, value in assignments(text).items() if value}


def assignments(text: str) -> dict[str, str]:
    r"""The assignments of a `.env` text, quoting and comments understood.

    >>> assignments("A=1 # one\nexport B='x # y'\nC=\"a\\tb\"\n# D=2\nE\nF=\n")
    {'A': '1', 'B': 'x # y', 'C': 'a\tb', 'E': '', 'F': ''}
    """
    found: dict[str, str] = {}
    place = 0
    while place < len(text):
        place = _after(_LEADING, text, place)
        if place == len(text):
            break
        key, value = "", ""
        if match := _KEY.match(text, place):
            key, place = match[1] or match[2] or "", match.end()
            equals = _EQUALS.match(text, place)
            if equals and equals[1] is not None:
                place = equals.end()
                # behind a blank a `#` begins a comment, right behind the sign it belongs to the value
                if not (equals[1] and text.startswith("#", place)) and (match := _VALUE.match(text, place)):
                    value, place = _unquoted(match), match.end()
                elif text[place : place + 1] in ("'", '"'):
                    place = _after(_REST_OF_LINE, text, place)
                    continue
            elif equals:
                place = equals.end()
            if match := _TAIL.match(text, place):
                place = match.end()
                if key:
                    found[key] = value
                continue
        place = _after(_REST_OF_LINE, text, place)
    return found


def _after(pattern: re.Pattern[str], text: str, place: int) -> int:
    match = pattern.match(text, place)
    return match.end() if match else place


def _unquoted(match: re.Match[str]) -> str:
    single, double, plain = match.groups()
    if single is not None:
        return re.sub(r"\\([\\'])", r"\1", single)
    if double is not None:
        return re.sub(r"""\\([\\'"abfnrtv])""", lambda escape: _ESCAPES[escape[1]], double)
    return re.sub(r"\s+#.*", "", plain).rstrip()
