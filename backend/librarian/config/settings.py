"""What the user wants: every setting, its value in force, and where that comes from.

Precedence: `config.json` < `.env` < environment < command line. Relative paths are relative to the configuration
file's folder (to the working directory where there is no file, or where the command line gives them). `.env` is the one
beside the configuration file. Files in the working directory count only where the user trusts them
(`vocabulary.configuration`). An unknown key is refused.

    settings = Settings.load()
    settings.search.mode                    # "auto"
    settings.provenance("search.mode")      # value, source, sentence
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from ipaddress import ip_address
from pathlib import Path
from types import NoneType
from typing import Annotated, Any, ClassVar, Self, get_args
from urllib.parse import urlsplit

from pydantic import BeforeValidator, PrivateAttr, SecretStr, ValidationError
from pydantic.fields import FieldInfo

from librarian.vocabulary.configuration import (
    REPOSITORY,
    Configuration,
    index_by_root,
    locate,
    may_write,
    require_library,
)
from librarian.vocabulary.errors import CallerError, SetupError
from librarian.vocabulary.index_folder import require_apart
from librarian.vocabulary.working_directory import working_directory

from . import layers, sections
from .layers import Given, Layer
from .values import split_words

_BEDROCK = re.compile(r"([\w-]+\.)?bedrock-runtime(-fips)?\.[a-z0-9-]+\.(vpce\.)?amazonaws\.com(\.cn)?(:443)?")


@dataclass(frozen=True, slots=True)
class Knob:
    """A setting as the settings page shows it. `kind` says which values are right, in words."""

    key: str
    kind: str
    default: object
    unit: str
    env: str
    sentence: str
    secret: bool


@dataclass(frozen=True, slots=True)
class Provenance:
    """A setting's value in force (secrets masked), where it comes from, and its sentence."""

    key: str
    value: object
    source: str
    knob: Knob


class Settings(sections.Section):
    """Every knob, once. Build it with `Settings.load`; `Settings()` holds the defaults, with unresolved paths."""

    system: sections.SystemSettings = sections.SystemSettings()
    docs: sections.DocsSettings = sections.DocsSettings()
    index: sections.IndexSettings = sections.IndexSettings()
    search: sections.SearchSettings = sections.SearchSettings()
    embeddings: sections.EmbeddingsSettings = sections.EmbeddingsSettings()
    chunking: sections.ChunkingSettings = sections.ChunkingSettings()
    metadata: sections.MetadataSettings = sections.MetadataSettings()
    vector_db: sections.VectorDbSettings = sections.VectorDbSettings()
    storage: sections.StorageSettings = sections.StorageSettings()
    llm: sections.LlmSettings = sections.LlmSettings()
    mcp: sections.McpSettings = sections.McpSettings()
    serve: sections.ServeSettings = sections.ServeSettings()
    security: sections.SecuritySettings = sections.SecuritySettings()
    logging: sections.LoggingSettings = sections.LoggingSettings()
    analytics: sections.AnalyticsSettings = sections.AnalyticsSettings()
    toolsets: Annotated[tuple[sections.Toolset, ...], BeforeValidator(split_words)] = sections.knob(
        (), "Further groups of tools: rag, sites, registry, or all.", env="MCP_TOOLSETS"
    )

    _given: Layer = PrivateAttr(default_factory=dict)
    _notices: tuple[str, ...] = PrivateAttr(default=())
    _configuration: Configuration = PrivateAttr(default=Configuration(None, "none", trusted=False))
    _loaded: dict[str, Any] = PrivateAttr(default_factory=dict)

    PATHS: ClassVar = ("docs.root_path", "index.path", "vector_db.path", "logging.file")
    MODELS: ClassVar = ("embeddings.model", "search.reranker_model")  #: by name, or by folder

    @classmethod
    def load(
        cls,
        config: Path | str | None = None,
        *,
        overrides: Mapping[str, object] | None = None,
        environ: Mapping[str, str] | None = None,
        cwd: Path | None = None,
        repository: Path = REPOSITORY,
        must_be_trusted: bool = False,
    ) -> Self:
        """Reads all layers. `overrides` are the command line's, by dotted key. Raises SetupError for what is wrong.

        With `must_be_trusted` the named file is refused where it has changed since the user trusted it.
        """
        cwd = Path(os.path.abspath(cwd or working_directory()))
        loaded = {"overrides": dict(overrides or {}), "environ": environ, "cwd": cwd, "repository": repository}
        environ = os.environ if environ is None else environ
        found = locate(config, environ, cwd, repository, must_be_trusted=must_be_trusted)
        file = found.path
        folder = file.parent if file else cwd
        variables = layers.read_variables(found, environ)

        known = {knob.key: knob for knob in knobs()}
        base = layers.from_file(file, known) if file else {}
        top = layers.from_overrides(overrides or {}, known)

        simple = {k.env: k.key for k in known.values() if k.env and k.env not in layers.DERIVED_VARIABLES}
        middle, notices = layers.from_variables(variables, simple, base, top)
        given = base | middle | top
        _prefer_weights(given)
        notices += _keep_keys_and_texts(given, found)
        values = {key: value.value for key, value in given.items()}
        for key in cls.PATHS:
            path = _resolve(values.get(key, known[key].default), cwd if key in top else folder)
            if any("\ud800" <= character <= "\udfff" for character in str(path)):
                raise SetupError(f"{key} is {str(path)!a}, which isn't UTF-8.", hint="Rename that folder.")
            values[key] = path
        _choose_index(values, given, found)
        _require_below(values, given, found)
        key = "docs.include_roots"
        if isinstance(folders := split_words(values.get(key, ())), list | tuple):
            resolved = (_resolve(one, cwd if key in top else folder) for one in folders)
            values[key] = tuple(str(one) if isinstance(one, Path) else one for one in resolved)
        for key in cls.MODELS:
            values |= _model_folder(key, values.get(key), cwd if key in top else folder)
        settings = cls._validated(values, given)
        require_apart(settings.docs.root_path, settings.index.path)
        adapted, more = _adapt(settings)
        if adapted:
            settings = cls._validated(values | adapted, given)
        for key, value in adapted.items():
            given[key] = replace(given.get(key, Given(None, "default")), value=value)
        settings._given = given
        settings._configuration = found
        must = must_be_trusted or found.kind == "trusted"
        settings._loaded = loaded | {"config": file, "must_be_trusted": must}
        unread = layers.unread_lines(found)
        settings._notices = (*unread, *notices, *more, *_without_effect(settings, variables))
        return settings

    @classmethod
    def _validated(cls, values: Mapping[str, object], given: Layer) -> Self:
        try:
            return cls.model_validate(_nest(values))
        except ValidationError as error:
            raise _as_setup_error(error, values, given) from None

    def again(self) -> Self:
        """The same files and variables, read once more. Raises SetupError for what is wrong in them now."""
        return type(self).load(**self._loaded)

    @property
    def notices(self) -> tuple[str, ...]:
        """Sentences about everything given that was adapted or has no effect."""
        return self._notices

    @property
    def config_file(self) -> Path | None:
        """The configuration file that was read."""
        return self._configuration.path

    @property
    def configuration(self) -> Configuration:
        """The same, with how it was found and whether it is trusted."""
        return self._configuration

    @property
    def chroma_path(self) -> Path:
        """Where Chroma lies."""
        return self.vector_db.path or self.index.path / "chroma"

    @property
    def enabled_toolsets(self) -> frozenset[str]:
        """The extra toolsets by name, with `all` spelt out."""
        every = frozenset(get_args(sections.Toolset)) - {"all"}
        return every if "all" in self.toolsets else frozenset(self.toolsets)

    def value(self, key: str) -> Any:
        """The value in force of a dotted key. Raises CallerError for a key that isn't one."""
        return self.provenance(key, masked=False).value

    def provenance(self, key: str, *, masked: bool = True) -> Provenance:
        """A setting's value and where it comes from: `default`, a file, `environment: NAME` or `command line`.

        Raises `CallerError` with the nearest name where there is no such setting.
        """
        knob = next((knob for knob in knobs() if knob.key == layers.ALIASES.get(key, key)), None)
        if knob is None:
            near = get_close_matches(key, [knob.key for knob in knobs()], 1)
            raise CallerError(
                f"No setting {key!r}.", hint=f"Nearest: {near[0]!r}." if near else "See librarian config."
            )
        value: Any = self
        for name in knob.key.split("."):
            value = getattr(value, "as_json" if name == "json" else name)
        if isinstance(value, SecretStr):
            value = "********" if masked else value.get_secret_value()
        elif masked and isinstance(value, str) and knob.key.endswith(".base_url"):
            value = _without_password(value)
        given = self._given.get(knob.key)
        return Provenance(knob.key, value, given.source if given else "default", knob)

    @property
    def root_is_named(self) -> bool:
        """Whether the folder of documents was named beside the configuration file: by command line or variable."""
        source = self.provenance("docs.root_path").source
        return source == "command line" or source.endswith(": DOCS_ROOT_PATH")

    def destinations(self) -> tuple[tuple[str, str, str], ...]:
        """Each address that text is sent to: the part that does so, the host (with its port), and which text.

        An address on this machine is listed, too. What is kept in the index folder isn't sent.
        """
        embeddings, storage = self.embeddings, self.storage
        found = []
        if embeddings.enabled and embeddings.provider != "local":
            bedrock = "https://bedrock-runtime.<region>.amazonaws.com"
            usual = sections.OPENAI if embeddings.provider == "openai" else bedrock
            found.append(("embeddings", embeddings.base_url or usual, "all passages, and each question"))
        if self.llm.enabled:
            found.append(("llm", self.llm.address, "questions, and pages that are crawled"))
        if storage.catalog == "postgres" and storage.database_url is not None:
            found.append(("storage.database_url", storage.database_url.get_secret_value(), "all documents"))
        if self.vector_db.store == "qdrant" and storage.qdrant_url is not None:
            found.append(("storage.qdrant_url", storage.qdrant_url.get_secret_value(), "vectors of all passages"))
        return tuple((part, _host(url) or f"the address in {part}", text) for part, url, text in found)

    def require_library(self) -> None:
        """Raises `SetupError` where nothing names a library; see `vocabulary.configuration.require_library`."""
        sources = {self.provenance(key).source for key in ("docs.root_path", "index.path")}
        named = any(source == "command line" or source.startswith("environment: ") for source in sources)
        require_library(self._configuration, self.index.path, self._loaded["cwd"], named=named)

    def check_listening(self) -> None:
        """Refuses to listen beyond this machine without a token. Raises SetupError. For `serve`, before it listens."""
        if self.security.token is None and not _is_loopback(self.mcp.host):
            raise SetupError(
                f"mcp.host {self.mcp.host!r} can be reached from other machines, and no token is set.",
                hint="Set MCP_AUTH_TOKEN to a long random text, or mcp.host to 127.0.0.1.",
            )


def knobs() -> tuple[Knob, ...]:
    """All settings in the order of the settings page."""
    return tuple(_walk(Settings, ""))


def _walk(model: type[sections.Section], prefix: str) -> Iterator[Knob]:
    for name, field in model.model_fields.items():
        key = f"{prefix}{field.alias or name}"
        if isinstance(field.annotation, type) and issubclass(field.annotation, sections.Section):
            yield from _walk(field.annotation, f"{key}.")
        else:
            extra = field.json_schema_extra if isinstance(field.json_schema_extra, dict) else {}
            secret = SecretStr in (field.annotation, *get_args(field.annotation))
            unit, env = str(extra.get("unit", "")), str(extra.get("env", ""))
            yield Knob(key, _kind(field), field.default, unit, env, field.description or "", secret)


def _kind(field: FieldInfo) -> str:
    """What may be written, in words: `true | false`, `keyword | semantic`, `number`, `1–50`, `list of text`, …"""
    annotation = field.annotation
    options = [option for option in get_args(annotation) if option is not NoneType]
    nullable = " or null" if NoneType in get_args(annotation) else ""
    if options and all(isinstance(option, str) for option in options):
        return " | ".join(str(option) for option in options)
    plain = options[0] if nullable else annotation
    if getattr(plain, "__origin__", plain) is tuple:
        items = get_args(get_args(plain)[0])
        return ("list of " + (", ".join(map(str, items)) if items else "text")) + nullable
    words = {
        bool: "true | false",
        int: "whole number",
        float: "number",
        Path: "path",
        str: "text",
        SecretStr: "secret text",
    }
    kind = words[plain] if isinstance(plain, type) else "text"
    limits = {type(limit).__name__.lower(): limit for limit in field.metadata}
    bounds = [
        f"{word} {getattr(limits[name], name):g}"
        for name, word in (("ge", "from"), ("gt", "above"), ("le", "to"), ("lt", "below"))
        if name in limits
    ]
    return " ".join([kind, *bounds]) + nullable


def _nest(values: Mapping[str, object]) -> dict[str, Any]:
    nested: dict[str, Any] = {}
    for key, value in values.items():
        *folders, leaf = key.split(".")
        place = nested
        for folder in folders:
            place = place.setdefault(folder, {})
        place[leaf] = value
    return nested


def _model_folder(key: str, value: object, folder: Path) -> dict[str, object]:
    """The setting of a model that lies in a folder, with its whole path; nothing for a model's name."""
    if not isinstance(value, str) or "/" not in value:
        return {}
    path = _resolve(value, folder)
    is_folder = value.startswith((".", "~")) or (isinstance(path, Path) and path.is_dir())
    return {key: str(path)} if is_folder else {}


def _resolve(value: object, folder: Path) -> object:
    """An absolute path; other values (null, or something wrong that validation will name) stay."""
    if value == "":
        return None
    if isinstance(value, str | Path):
        return Path(os.path.abspath(folder / os.path.expanduser(value)))
    return value


def _keep_keys_and_texts(given: Layer, found: Configuration) -> list[str]:
    """Leave out keys that would go to an address that somebody else named, and services that nobody chose.

    Returns a sentence for each.
    """
    notices = []
    for section in ("llm", "embeddings"):
        key, address = given.get(f"{section}.api_key"), given.get(f"{section}.base_url")
        if key and address and layers.is_users(key.source, found) and not layers.is_users(address.source, found):
            del given[f"{section}.api_key"]
            notices.append(
                f"The key from {key.source} isn't sent to {_without_password(str(address.value))}, which "
                f"{address.source} names. To send it there, run `librarian trust {found.path}` or name the address in "
                "the environment."
            )
    address, provider = given.get("embeddings.base_url"), given.get("embeddings.provider")
    is_bedrock = provider is not None and str(provider.value).strip().lower() == "bedrock"
    theirs = is_bedrock and address is not None and not layers.is_users(address.source, found)
    if theirs and address is not None and not _BEDROCK.fullmatch(_host(str(address.value))):
        raise SetupError(
            f"{address.source}: embeddings.base_url is {_without_password(str(address.value))}, which is not an "
            "address of Amazon Bedrock; requests signed with your AWS credentials would go there.",
            hint=f"Correct it, or run `librarian trust {found.path}`.",
        )
    enabled, named = given.get("llm.enabled"), given.get("llm.base_url")
    chosen = "llm.provider" in given or (named is not None and not named.source.endswith(": OPENAI_BASE_URL"))
    if enabled is not None and not chosen and str(enabled.value).strip().lower() not in ("false", "0", "no", "off"):
        given["llm.enabled"] = Given(False, enabled.source)
        notices.append(
            "llm.enabled has no effect: nobody chose where questions are sent. Set llm.provider (LLM_PROVIDER) to "
            "openai or ollama."
        )
    return notices


def _choose_index(values: dict[str, object], given: Layer, found: Configuration) -> None:
    """Give documents that command line or environment name an index of their own, where nothing names one."""
    root, source = values["docs.root_path"], given["docs.root_path"].source if "docs.root_path" in given else ""
    index = given.get("index.path")
    in_file = index is not None and index.source == str(found.path)
    chosen = index_by_root(
        found,
        root if isinstance(root, Path) else Path(),
        root_named=isinstance(root, Path) and source in ("command line", "environment: DOCS_ROOT_PATH"),
        index_named=index is not None and not in_file,
        written=index.value if index is not None and in_file else None,
    )
    if chosen is not None:
        values["index.path"] = chosen
        given["index.path"] = Given(chosen, "default for a folder named without an index")


def _require_below(values: Mapping[str, object], given: Layer, found: Configuration) -> None:
    """Raises `SetupError` for a path to write to that a file which isn't trusted names outside of its own folder."""
    for key in ("index.path", "vector_db.path", "logging.file"):
        path, source = values.get(key), given[key].source if key in given else "default"
        if isinstance(path, Path) and not layers.is_users(source, found) and not may_write(path, found):
            option = "--index DIR or INDEX_PATH, " if key == "index.path" else ""
            raise SetupError(
                f"{found.path}: {key} is {path}, outside of the folder of that file.",
                hint=f"Use {option}a path inside that folder, or run `librarian trust {found.path}`.",
            )


def _prefer_weights(given: Layer) -> None:
    """A weight other than the default asks for weighted fusion, where nobody chose a fusion."""
    weight = given.get("embeddings.semantic_weight")
    if weight and "search.fusion" not in given and weight.value not in (0.5, None):
        given["search.fusion"] = Given("weighted", weight.source)


def _adapt(settings: Settings) -> tuple[dict[str, object], list[str]]:
    """Values that are lowered to what is possible, and a sentence for each."""
    changed: dict[str, object] = {}
    notices = []
    embeddings = settings.embeddings
    size = min(embeddings.chunk_size, sections.CHUNK_TOKENS_LIMIT)
    if size < embeddings.chunk_size:
        changed["embeddings.chunk_size"] = size
        notices.append(
            f"embeddings.chunk_size {embeddings.chunk_size} is lowered to {size} tokens: the default model reads so "
            "many at once."
        )
    if embeddings.chunk_overlap > size // 4:
        changed["embeddings.chunk_overlap"] = size // 4
        notices.append(
            f"embeddings.chunk_overlap {embeddings.chunk_overlap} is lowered to {size // 4} tokens, "
            "a quarter of chunk_size."
        )
    if settings.search.default_results > settings.search.max_results:
        changed["search.default_results"] = settings.search.max_results
        notices.append(
            f"search.default_results {settings.search.default_results} is lowered to search.max_results "
            f"{settings.search.max_results}."
        )
    return changed, notices


def _without_effect(settings: Settings, variables: Mapping[str, Given]) -> Iterator[str]:
    url = f"http://{settings.mcp.host}:{settings.mcp.port}"
    if settings.embeddings.max_text_length is not None:
        yield "embeddings.max_text_length has no effect: texts are cut into passages, none is cut off."
    if settings.system.version is not None:
        yield "system.version has no effect: the version shown is the program's own."
    if "AGENT_PORT" in variables:
        yield f"AGENT_PORT has no effect: the page, REST and MCP share one port; they are at {url} (MCP_PORT)."
    if "MCP_SSE_URL" in variables:
        yield f"MCP_SSE_URL has no effect: nothing connects to another server; the SSE transport is at {url}/sse."


def _as_setup_error(error: ValidationError, values: Mapping[str, object], given: Layer) -> SetupError:
    """The first thing wrong: who gave it, its key, its value (secrets aside) and what would be right."""
    first = error.errors(include_url=False, include_context=True, include_input=False)[0]
    parts = [str(part) for part in first["loc"]]
    knob = next(knob for knob in knobs() if parts[: knob.key.count(".") + 1] == knob.key.split("."))
    said = given.get(knob.key, Given(values.get(knob.key), "default"))
    value = "********" if knob.secret else said.value
    near = get_close_matches(str(value).lower(), knob.kind.split(" | "), 1) if " | " in knob.kind else []
    hint = f"Right would be: {knob.kind}." + (f" Nearest: {near[0]!r}." if near else "")
    if first["type"] == "value_error" and knob.kind == "text":
        hint = f"The default is {knob.default!r}."
    message = "Input should be a path" if first["type"] == "path_type" else first["msg"].removeprefix("Value error, ")
    return SetupError(f"{said.source}: {knob.key} is {layers.shown(value)}. {message}.", hint=hint)


def _host(url: str) -> str:
    """The host of an address, with its port; empty where it has none."""
    try:
        return urlsplit(url).netloc.rpartition("@")[2]
    except ValueError:  # brackets around what is no IPv6 address
        return ""


def _without_password(url: str) -> str:
    return re.sub(r"//[^/@\s]*@", "//********@", url)


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
