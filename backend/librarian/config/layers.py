"""Where values come from: the file, `.env`, the environment and the command line, as layers of dotted keys.

Each layer is a dict from a key such as `search.mode` to a `Given`. `settings.py` lays them over each other.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from io import StringIO
from pathlib import Path

from dotenv import dotenv_values
from dotenv.parser import parse_stream

from librarian.vocabulary.configuration import SECRETS, Configuration, secret_files
from librarian.vocabulary.errors import SetupError

from . import jsonc

ALIASES = {
    "search.hybrid_weight": "embeddings.semantic_weight",
    "embeddings.persist_directory": "vector_db.path",
    "storage.vectors": "vector_db.store",
}
"""Other names of settings in files and on the command line."""

REMOVED = {
    "crawl.model": "A library has one model: crawl into another library, with its own docs.root_path and index.path, "
    "and set embeddings.model there.",
}
"""Settings that no longer exist, and what to do instead."""

DERIVED_VARIABLES = {
    "CONFIG_FILE": "The configuration file, where the command line names none.",
    "USE_HYBRID_SEARCH": "Without SEARCH_MODE: true means hybrid, false semantic.",
    "USE_RERANKING": "Without SEARCH_MODE: true means rerank.",
    "VECTOR_WEIGHT": "Share of meaning; chooses weighted fusion. With TEXT_WEIGHT it must sum to 1.",
    "TEXT_WEIGHT": "Share of words; chooses weighted fusion. With VECTOR_WEIGHT it must sum to 1.",
    **{f"{name}_FILE": f"A file that holds {name}, for secrets that are mounted as files." for name in SECRETS},
    "JEDI_EMBEDDING_MODEL": "The embedding model, where EMBEDDING_MODEL names none.",
    "OPENAI_API_KEY": "Key of llm and embeddings.",
    "OPENAI_BASE_URL": "Address of llm and embeddings, each where its provider is openai.",
    "OLLAMA_URL": "Address of llm where its provider is ollama.",
    "AGENT_PORT": "Does nothing: MCP, REST and the page share MCP_PORT.",
    "MCP_SSE_URL": "Does nothing: the server itself answers at /sse.",
}
"""Environment variables that aren't simply a setting, with their meaning."""
_OURS = "LIBRARIAN_"  #: how users think that variables begin
_NOT_SETTINGS = ("LIBRARIAN_TEST_",)  #: variables of the tests
#: Settings of earlier versions, each with what to do instead.
_REMOVED = {
    "docs.source_comments": "Delete this line: comments of source files are not indexed. "
    "Generate Markdown or HTML from them with your documentation tool and index that.",
}


@dataclass(frozen=True, slots=True)
class Given:
    """A value that somebody gave, and who: a path, `environment: NAME` or `command line`."""

    value: object
    source: str


Layer = dict[str, Given]

logging.getLogger("dotenv.main").setLevel(logging.ERROR)  # it warns of a line and names no file: `unread_lines` does


def read_variables(configuration: Configuration, environ: Mapping[str, str]) -> dict[str, Given]:
    """Environment variables over the `.env` beside the configuration file. Empty means unset.

    `NAME_FILE` gives a secret by the file that holds it; from an `.env` only where that is trusted.
    Raises `SetupError` for a file that can't be read.
    """
    found: dict[str, Given] = {}
    path = _dotenv(configuration)
    if path is not None:
        try:
            text = path.read_text("utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            raise SetupError(f"{path} can't be read: {error}.", hint="Make it readable as UTF-8.") from error
        pairs = {n: v for n, v in dotenv_values(stream=StringIO(text), interpolate=False).items() if v}
        found = {name: Given(value, f"{path}: {name}") for name, value in pairs.items()}
        files = [name for name in SECRETS if f"{name}_FILE" in pairs]
        if files and not configuration.trusted:
            raise SetupError(
                f"{path}: {files[0]}_FILE is taken only from the environment or from a trusted file.",
                hint=f"Set it in the environment, or run `librarian trust {configuration.path}`.",
            )
        found |= {name: Given(value, f"{path}: {name}_FILE") for name, value in secret_files(pairs, path.parent)}
    found |= {name: Given(value, f"environment: {name}") for name, value in environ.items() if value}
    return found | {name: Given(value, f"environment: {name}_FILE") for name, value in secret_files(environ, Path())}


def unread_lines(configuration: Configuration) -> list[str]:
    """A notice for each line of the `.env` in use that says nothing."""
    notices = []
    path = _dotenv(configuration)
    if path is not None:
        for statement in parse_stream(StringIO(path.read_text("utf-8-sig"))):
            if statement.error:
                line = statement.original.line
                notices.append(f"{path}, line {line}, isn't understood and does nothing; write NAME=value.")
    return notices


def _dotenv(configuration: Configuration) -> Path | None:
    """The `.env` beside the configuration file, where there is one."""
    path = configuration.path.parent / ".env" if configuration.path else None
    return path if path is not None and path.is_file() else None


def is_users(source: str, configuration: Configuration) -> bool:
    """Whether a value from there is the user's own: of the command line, the environment or a trusted file."""
    return configuration.trusted or source == "command line" or source.startswith("environment: ")


def shown(value: object) -> str:
    """A value as an error shows it: as it is written in the file."""
    return json.dumps(value) if value is None or isinstance(value, bool) else repr(value)


def from_file(path: Path, known: Mapping[str, object]) -> Layer:
    """What a configuration file says. Raises SetupError for what can't be read and for keys that nobody knows."""
    try:
        content = jsonc.parse(path.read_text("utf-8"))
    except OSError as error:
        raise SetupError(f"{path} can't be read: {error.strerror}.", hint="Make it readable.") from error
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise SetupError(f"{path}, {where}: {error.msg}.", hint="Correct it; comments with // are fine.") from error
    except ValueError as error:
        raise SetupError(f"{path}: {error}.", hint="Correct the file.") from error
    if not isinstance(content, dict):
        raise SetupError(f"{path} holds no object.", hint='Start from {"docs": {"root_path": "docs"}}.')
    return _layer(flatten(content, known), known, str(path))


def from_overrides(overrides: Mapping[str, object], known: Mapping[str, object]) -> Layer:
    """What the command line says, by dotted key; None means that it says nothing."""
    pairs = [(key, value) for key, value in overrides.items() if value is not None]
    return _layer(iter(pairs), known, "command line")


def flatten(
    content: Mapping[str, object], known: Mapping[str, object], prefix: str = ""
) -> Iterator[tuple[str, object]]:
    """The leaves of nested objects as dotted keys. An object stays whole where `known` says that it is a value."""
    for name, value in content.items():
        key = f"{prefix}{name}"
        if isinstance(value, dict) and key not in known:
            if value:
                yield from flatten(value, known, f"{key}.")
            elif not any(other.startswith(f"{key}.") for other in known):
                yield key, value
        else:
            yield key, value


def _layer(pairs: Iterator[tuple[str, object]], known: Mapping[str, object], source: str) -> Layer:
    layer: Layer = {}
    named: dict[str, str] = {}
    for written, value in pairs:
        key = ALIASES.get(written, written)
        if key in REMOVED:
            raise SetupError(f"{source}: the setting {key} no longer exists.", hint=REMOVED[key])
        if any(name.startswith(f"{key}.") for name in known):
            raise SetupError(f"{source}: {key} is {shown(value)}.", hint="Right would be: an object in braces.")
        if key in _REMOVED:
            raise SetupError(f"{source}: the setting {written!r} no longer exists.", hint=_REMOVED[key])
        if key not in known:
            raise SetupError(f"{source}: no setting {written!r}.", hint=_nearest(written, known))
        if key in layer and layer[key].value != value and value is not None and layer[key].value is not None:
            raise SetupError(
                f"{source}: {named[key]!r} and {written!r} are the same setting with different values.",
                hint=f"Keep {key!r} alone.",
            )
        if key not in layer or value is not None:
            layer[key] = Given(value, source)
            named[key] = written
    return layer


def _nearest(written: str, known: Mapping[str, object]) -> str:
    names = [*known, *ALIASES]
    section, _, leaf = written.rpartition(".")
    same = [name for name in names if name.rpartition(".")[0] == section]
    near = [f"{section}.{name}" for name in get_close_matches(leaf, [n.rpartition(".")[2] for n in same], 1, 0.6)]
    if not section:
        near = get_close_matches(written, sorted({name.split(".")[0] for name in names}), 1, 0.6)
    near = near or get_close_matches(written, names, 1, 0.6)
    near = near or [name for name in names if name.endswith(f".{leaf}")][:1]
    if near:
        return f"Nearest: {near[0]!r}."
    return "`librarian config` lists all settings."


def from_variables(
    variables: Mapping[str, Given], simple: Mapping[str, str], base: Layer, top: Layer
) -> tuple[Layer, list[str]]:
    """What the environment says, and notices about misspelt variables.

    `simple` maps a variable to its key. `base` and `top` are the layers below and above: some variables belong to
    whichever provider is chosen there.
    """
    layer: Layer = {simple[name]: given for name, given in variables.items() if name in simple}
    _add_mode(layer, variables)
    _add_weights(layer, variables)
    if "JEDI_EMBEDDING_MODEL" in variables:
        layer.setdefault("embeddings.model", variables["JEDI_EMBEDDING_MODEL"])
    if "OPENAI_API_KEY" in variables:
        layer["llm.api_key"] = layer["embeddings.api_key"] = variables["OPENAI_API_KEY"]
    providers = {"llm": "openai", "embeddings": "local"}
    for section, usual in providers.items():
        key = f"{section}.provider"
        given = top.get(key) or layer.get(key) or base.get(key)
        provider = str(given.value).strip().lower() if given else usual
        address = {"openai": "OPENAI_BASE_URL", "ollama": "OLLAMA_URL"}.get(provider, "")
        if address in variables:
            layer[f"{section}.base_url"] = variables[address]
    return layer, _notices(variables, {*simple, *DERIVED_VARIABLES})


def _add_mode(layer: Layer, variables: Mapping[str, Given]) -> None:
    if "search.mode" in layer:
        return
    hybrid = _flag(variables, "USE_HYBRID_SEARCH")
    if _flag(variables, "USE_RERANKING"):
        layer["search.mode"] = Given("rerank", variables["USE_RERANKING"].source)
    elif hybrid is not None:
        layer["search.mode"] = Given("hybrid" if hybrid else "semantic", variables["USE_HYBRID_SEARCH"].source)


def _add_weights(layer: Layer, variables: Mapping[str, Given]) -> None:
    vector, text = _number(variables, "VECTOR_WEIGHT"), _number(variables, "TEXT_WEIGHT")
    if vector is None and text is None:
        return
    source = variables["VECTOR_WEIGHT" if vector is not None else "TEXT_WEIGHT"].source
    weight = vector if vector is not None else 1.0 - (text or 0.0)
    other = text if text is not None else 1.0 - weight
    if abs(weight + other - 1.0) > 1e-6 or not 0 <= weight <= 1:
        raise SetupError(
            f"VECTOR_WEIGHT {weight:g} and TEXT_WEIGHT {other:g} must lie in 0–1 and sum to 1.",
            hint="Give one of them alone, or both with the sum 1.",
        )
    layer["embeddings.semantic_weight"] = Given(weight, source)
    layer["search.fusion"] = Given("weighted", source)


def _flag(variables: Mapping[str, Given], name: str) -> bool | None:
    if name not in variables:
        return None
    word = str(variables[name].value).strip().lower()
    if word in {"1", "true", "yes", "on", "t", "y"}:
        return True
    if word in {"0", "false", "no", "off", "f", "n"}:
        return False
    raise SetupError(f"{variables[name].source} is {word!r}.", hint="Write true or false.")


def _number(variables: Mapping[str, Given], name: str) -> float | None:
    if name not in variables:
        return None
    try:
        return float(str(variables[name].value))
    except ValueError:
        raise SetupError(f"{variables[name].source} is {variables[name].value!r}.", hint="Write a number.") from None


def _notices(variables: Mapping[str, Given], names: set[str]) -> list[str]:
    """Misspelt names in `.env`, and what calls itself ours: else the environment belongs to all programs."""
    notices = []
    for name, given in variables.items():
        ours = name.startswith(_OURS) and not name.startswith(_NOT_SETTINGS)
        if name not in names and (ours or not given.source.startswith("environment:")):
            near = get_close_matches(name.upper().removeprefix(_OURS), sorted(names), 1, 0.6 if ours else 0.75)
            if near:
                notices.append(f"{given.source} isn't known and does nothing; did you mean {near[0]}?")
            elif ours:
                notices.append(f"{given.source} isn't known and does nothing; `librarian config` lists all settings.")
    return notices
