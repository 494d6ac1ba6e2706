"""Find a library: its configuration file, root and index folder, without loading the settings.

The stdio bridge must know the index folder before anything heavy is imported. The rules are those of
`librarian.settings`, and a test compares the two. Mistakes elsewhere in the configuration are not noticed here; the
daemon reports them when it starts.
"""

from __future__ import annotations

import json
import os
import sys
import zlib
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, NamedTuple

from .. import __version__
from ..errors import SetupError
from ..files.config_files import (
    DEFAULT_INDEX,
    REPOSITORY,
    absolute,
    index_by_root,
    locate,
    may_write,
    read_config,
    read_dotenv,
    require_library,
    which_library,
)
from ..files.owned_folder import require_apart
from ..files.paths import working_directory

_ROOT: Final = ("docs.root_path", "DOCS_ROOT_PATH", "docs")  #: setting, variable, default
_INDEX: Final = ("index.path", "INDEX_PATH", DEFAULT_INDEX)

VARIABLES: Final = frozenset(
    (
        *("AGENT_USE_LLM", "CROSSENCODER_MAX_LENGTH", "CROSSENCODER_MODEL", "DATABASE_URL", "DOCS_LAYOUT"),
        *("EMBEDDING_MODEL", "ENABLE_EMBEDDINGS", "HYBRID_CANDIDATE_COUNT", "JEDI_EMBEDDING_MODEL", "LLM_MODEL"),
        *("LLM_PROVIDER", "LOG_LEVEL", "MCP_TOOLSETS", "OLLAMA_URL", "OPENAI_API_KEY", "OPENAI_BASE_URL"),
        *("QDRANT_URL", "RERANKING_CANDIDATE_MULTIPLIER", "SEARCH_MODE", "SIMILARITY_THRESHOLD", "TEXT_WEIGHT"),
        *("DATABASE_URL_FILE", "OPENAI_API_KEY_FILE", "QDRANT_URL_FILE"),
        *("USE_HYBRID_SEARCH", "USE_RERANKING", "VECTOR_MATCH_COUNT", "VECTOR_SEARCH_EF_SEARCH", "VECTOR_WEIGHT"),
    )
)
"""Variables that change what a daemon answers; not those that `find` uses, nor those of HTTP."""


class Library(NamedTuple):
    """An index folder, and the options of a daemon that is started for it. Paths are absolute."""

    index: Path  # type: ignore[assignment]  # hides tuple.index, which nobody asks it for
    config: Path | None = None  #: None if there is no configuration file
    root: Path | None = None  #: the folder of documents, however it was named; None: any
    typed: bool = False  #: whether the command line named it; passed on to the daemon
    named: bool = False  #: whether command line, environment or `.env` named it
    must_be_trusted: bool = False  #: the file lies in the working directory and counts only while it is trusted
    notes: tuple[str, ...] = ()  #: for the user: a file that is ignored, which library this is
    settings: str = ""  #: `fingerprint` of what its settings come from; empty where any will do
    version: str = __version__
    program: tuple[str, ...] = (sys.executable, "-P", "-m", "librarian.daemon.serve")  #: -P: no module from the cwd

    def command(self) -> list[str]:
        """How a daemon is started."""
        named = {"--config": self.config, "--root": self.root if self.typed else None, "--index": self.index}
        words = [str(word) for name, path in named.items() if path is not None for word in (name, path)]
        if self.must_be_trusted:
            words.append("--must-be-trusted")
        return [*self.program, "--socket-only", *words]


def find(
    *,
    config: Path | str | None = None,
    root: Path | str | None = None,
    index: Path | str | None = None,
    environ: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    repository: Path = REPOSITORY,
) -> Library:
    """The library that these (the command line's) arguments and the surroundings name.

    Raises `SetupError` where a named configuration file is missing or unreadable, a path isn't text, both are one, the
    index may not lie there, or no library is named at all.
    """
    environ = os.environ if environ is None else environ
    cwd = Path(os.path.abspath(cwd or working_directory()))
    given = {name: value for name, value in environ.items() if value}
    found = locate(config, given, cwd, repository)
    file = found.path
    folder = file.parent if file else cwd
    variables = read_dotenv(file).variables | given
    content = read_config(file) if file else {}

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
    stored = own or place(index, *_INDEX)
    if not index_named and not may_write(stored, found):
        raise SetupError(
            f"{file}: index.path is {stored}, outside of the folder of that file.",
            hint=f"Use --index DIR or INDEX_PATH, a path inside that folder, or run `librarian trust {file}`.",
        )
    require_apart(documents, stored)
    named = root_named or index_named
    require_library(found, stored, cwd, named=named)
    notes = (found.notice(), which_library(found, documents, cwd, named=named))
    return Library(
        stored,
        file,
        documents,
        typed=root is not None,
        named=root is not None or _ROOT[1] in variables,
        must_be_trusted=found.kind == "trusted",
        notes=tuple(filter(None, notes)),
        settings=fingerprint(file, environ=environ, repository=repository),
    )


def fingerprint(config: Path | None, *, environ: Mapping[str, str] | None = None, repository: Path = REPOSITORY) -> str:
    """What the settings come from, as a few characters that differ where a file, a variable or a clone's commit does.

    `config` is the file that `find` has found.
    """
    environ = os.environ if environ is None else environ
    variables = read_dotenv(config).variables | {name: value for name, value in environ.items() if value}
    values = {name: variables[name] for name in sorted(VARIABLES & variables.keys())}
    text = json.dumps([str(config or ""), values]).encode()
    with suppress(OSError):  # loading the settings reports it
        text += config.read_bytes() if config else b""
    with suppress(OSError):  # an installed program changes with its version
        text += (repository / ".git" / "logs" / "HEAD").read_bytes()[-200:]
    return f"{len(text):x}-{zlib.crc32(text):08x}"


def _setting(content: Mapping[str, Any], key: str, default: str) -> object:
    """A setting written nested, or with its dotted key; a value of null gives way to another way of writing it."""
    section, _, leaf = key.partition(".")
    inside = content.get(section)
    written = [inside[leaf]] if isinstance(inside, dict) and leaf in inside else []
    written += [content[key]] if key in content else []
    return next((value for value in written if value is not None), written[0] if written else default)
