"""Every setting: its type, limits, default, environment variable and description, and how the values are read.

Precedence: configuration file < `.env` next to it < environment < command line. Relative paths are relative to the
configuration file's folder; those of the command line to the working directory.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from difflib import get_close_matches
from ipaddress import IPv6Address, ip_address
from operator import attrgetter
from pathlib import Path
from types import NoneType
from typing import Annotated, Any, ClassVar, Final, Literal, NamedTuple, Self, get_args, get_origin
from urllib.parse import urlsplit

from pydantic import (
    AfterValidator,
    AliasChoices,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PrivateAttr,
    SecretStr,
    TypeAdapter,
    ValidationError,
    ValidationInfo,
    field_validator,
)
from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from .errors import CallerError, SetupError
from .files import config_files
from .files.config_files import REPOSITORY, SECRETS, Configuration, DotEnv, absolute
from .files.owned_folder import require_apart
from .files.paths import working_directory
from .models import Fusion, Mode

OPENAI: Final = "https://api.openai.com/v1"
#: Highest target size of a chunk, in tokens: what the model reads at once.
CHUNK_TOKENS_LIMITS: Final = {"all-MiniLM-L6-v2": 256, "all-mpnet-base-v2": 384}
CHUNK_TOKENS_LIMIT: Final = 512  #: of other models
CHUNK_TOKENS_CEILING: Final = 400  #: no chunk is longer, unless its target is
RESERVED_PATHS: Final = frozenset(
    {"api", "favicon.ico", "health", "messages", "metrics", "openapi.json", "ready", "sse", "static"}
    | {"help", "login", "original", "status"}  # of the page
)
"""First segments of the server's other paths; some of them need no token."""

REMOVED: Final[dict[str, str]] = {
    "crawl.model": "A library has one model: crawl into another library, with its own docs.root_path and index.path, "
    "and set embeddings.model there.",
    "docs.source_comments": "Delete this line: comments of source files are not indexed. "
    "Generate Markdown or HTML from them with your documentation tool and index that.",
}
"""Settings that no longer exist, by key or variable, and what to do instead. Using one is an error."""

DERIVED_VARIABLES: Final = {
    "CONFIG_FILE": "The configuration file, if the command line names none.",
    "USE_HYBRID_SEARCH": "Without SEARCH_MODE: true means hybrid, false semantic.",
    "USE_RERANKING": "Without SEARCH_MODE: true means rerank.",
    "VECTOR_WEIGHT": "Weight of semantic scores; chooses weighted fusion. With TEXT_WEIGHT it must sum to 1.",
    "TEXT_WEIGHT": "Weight of keyword scores; chooses weighted fusion. With VECTOR_WEIGHT it must sum to 1.",
    **{f"{name}_FILE": f"A file that holds {name}, for secrets that are mounted as files." for name in SECRETS},
    "JEDI_EMBEDDING_MODEL": "The embedding model, if EMBEDDING_MODEL is unset.",
    "OPENAI_API_KEY": "Key of llm and embeddings.",
    "OPENAI_BASE_URL": "Address of llm and embeddings, each if its provider is openai.",
    "OLLAMA_URL": "Address of llm if its provider is ollama.",
    "AGENT_PORT": "Does nothing: MCP, REST and the page share MCP_PORT.",
    "MCP_SSE_URL": "Does nothing: the server itself answers at /sse.",
}
"""Environment variables that do more, or less, than set one setting, with their meaning."""

_OUR_PREFIX: Final = "LIBRARIAN_"
_NOT_SETTINGS: Final = ("LIBRARIAN_TEST_",)  #: of the tests
_BEDROCK: Final = re.compile(r"([\w-]+\.)?bedrock-runtime(-fips)?\.[a-z0-9-]+\.(vpce\.)?amazonaws\.com(\.cn)?(:443)?")
_SQL_NAME: Final = r"^[a-z_][a-z0-9_]{0,50}$"
_ENDPOINT: Final = re.compile(r"/[A-Za-z0-9._~-][A-Za-z0-9._~/-]*")
_HOST: Final = re.compile(r"(?:[a-z0-9_](?:[a-z0-9_.-]*[a-z0-9_])?|\[[0-9a-f:.]+\])(?::\d{1,5})?")
_ORIGIN: Final = re.compile(r"[a-z][a-z0-9+.-]*://[^/\s?#@]+")


# -- types of values -------------------------------------------------------------------------------------------------


def setting(default: Any, description: str, env: str = "", *, aliases: tuple[str, ...] = (), **limits: Any) -> Any:
    """A field with what the settings page says about it. `env` is the environment variable that sets it.

    `aliases`: the key in its section, then whole keys that are accepted in its place.
    """
    choices = AliasChoices(*aliases) if aliases else None
    return Field(default, description=description, json_schema_extra={"env": env}, validation_alias=choices, **limits)


def split_words(value: object) -> object:
    """A list, or its items separated by commas (the form in the environment)."""
    if isinstance(value, str):
        return tuple(word.strip() for word in value.split(",") if word.strip())
    return value


def _extension(word: str) -> str:
    return "." + word.strip().lower().lstrip(".")


def _host(word: str) -> str:
    """A name as the `Host` of a request has it; of an address (`https://docs.example.org/`), its host."""
    name = re.sub(r"^https?://", "", word.strip().lower()).rstrip("/")
    with suppress(ValueError):
        return f"[{IPv6Address(name)}]"
    if not _HOST.fullmatch(name):
        raise ValueError(f"{word!r} is no host's name; write each as docs.example.org, without a path or a *")
    return name


def _origin(word: str) -> str:
    """An origin as browsers send it."""
    origin = word.strip().lower().rstrip("/")
    if origin not in ("*", "null") and not _ORIGIN.fullmatch(origin):
        raise ValueError(f"{word!r} is no web origin; write each as https://app.example.org, without a path")
    return origin


def _endpoint(value: object) -> object:
    """A path without a slash at its end."""
    if not isinstance(value, str):
        return value
    path = value.rstrip("/")
    if not _ENDPOINT.fullmatch(path):
        raise ValueError("It should be a path such as /mcp, of letters, digits and . _ ~ -")
    if (first := path.split("/")[1]) in RESERVED_PATHS:
        raise ValueError(f"/{first} is the server's own")
    return path


def revealed(secret: SecretStr | None) -> str | None:
    """The text of a secret setting; None if it is unset or empty."""
    return secret.get_secret_value() if secret else None


Words = tuple[str, ...]
Secret = SecretStr | None
Toolset = Literal["rag", "sites", "registry", "all"]
StoreName = Literal["auto", "exact", "chroma", "qdrant", "sqlite-vec", "pgvector"]


# -- sections --------------------------------------------------------------------------------------------------------


class Section(BaseModel):
    """Base of all sections: immutable, refuses unknown keys, and shows no values in errors (they may be secrets)."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", hide_input_in_errors=True, populate_by_name=True, validate_default=True
    )

    @field_validator("*", mode="before")
    @classmethod
    def _normalize(cls, value: object, field: ValidationInfo) -> object:
        """Accept words in any case, lists as words with commas between them, and blanks around secrets."""
        annotation = cls.model_fields[str(field.field_name)].annotation
        kinds = (annotation, *get_args(annotation))
        if isinstance(value, bool) and (int in kinds or float in kinds):
            raise ValueError("It should be a number")
        if not isinstance(value, str):
            return value
        if get_origin(annotation) is Literal:
            return value.strip().lower()
        if SecretStr in kinds:
            return value.strip() or None
        if Path in kinds:
            return value or None
        return split_words(value) if any(get_origin(kind) is tuple for kind in kinds) else value


class SystemSettings(Section):
    name: str = setting("Librarian", "The name under which the server introduces itself.")
    version: str | None = setting(None, "Accepted for older files; the version shown is the program's own.")


class DocsSettings(Section):
    root_path: Path = setting(Path("docs"), "The folder to index. Only `crawl` writes to it.", "DOCS_ROOT_PATH")
    layout: Literal["product/component", "flat"] = setting(
        "product/component",
        "The first folder is the product, the second the component; flat: the root is the product.",
        "DOCS_LAYOUT",
    )
    file_extensions: tuple[Annotated[str, AfterValidator(_extension)], ...] | None = setting(
        None, 'Formats to index, for example [".md"]; null: all that have a parser.'
    )
    include: Words = setting((), "Glob patterns below the root; if any is given, only files that match are indexed.")
    exclude: Words = setting((), "Glob patterns to leave out, besides hidden folders, .gitignore and .librarianignore.")
    include_roots: Words = setting((), "Further folders from which pages may include files; they aren't indexed.")
    shared_products: Words = setting((), 'Products that every product filter lets through, for example ["shared"].')
    max_file_size_mb: float = setting(10.0, "Larger files are skipped and listed.", gt=0)
    size_limits: Words = setting(
        (".pdf:100", ".pptx:100", ".docx:50", ".odt:50", ".epub:50", ".xlsx:20"),
        "Other limits for single formats, in MB: those that hold pictures are larger than their text.",
    )
    watch_for_changes: bool = setting(True, "Update the index while files change.")
    watch_debounce_ms: int = setting(1000, "How long changes are collected before they are indexed.", ge=0)
    rescan_s: int = setting(300, "Time between scans of the whole folder, as watchers miss changes; 0: never.", ge=0)
    index_on_startup: bool = setting(True, "Compare the folder with the index at start.")


class IndexSettings(Section):
    path: Path = setting(Path(".librarian"), "Folder of everything derived from the documents.", "INDEX_PATH")
    workers: int = setting(2, "Child processes that read files.", ge=1, le=64)
    file_timeout_s: float = setting(60.0, "A file that takes longer to read is given up and listed.", gt=0)
    file_memory_mb: int = setting(1024, "Memory that reading one file may take; 0: no limit.", ge=0)


class CacheSettings(Section):
    enabled: bool | None = setting(
        None, "true: answers are kept also for similar questions; false: none are; null: for equal questions only."
    )
    threshold: float = setting(0.92, "Cosine from which two questions count as similar.", ge=0, le=1)
    ttl_s: int = setting(300, "How long an answer is kept.", ge=0)
    max_entries: int = setting(1000, "Maximum number of answers to keep.", ge=1)

    @property
    def exact(self) -> bool:
        """Whether equal questions are answered from the cache."""
        return self.enabled is not False

    @property
    def semantic(self) -> bool:
        """Whether similar questions are."""
        return self.enabled is True


class SearchSettings(Section):
    mode: Mode = setting("auto", "Search mode if the caller names none.", "SEARCH_MODE")
    max_results: int = setting(50, "Maximum number of results that a caller may ask for.", ge=1, le=50)
    default_results: int = setting(10, "Number of results if the caller names none.", "VECTOR_MATCH_COUNT", ge=1, le=50)
    snippet_length: int = setting(200, "Target length of a snippet, in characters.", ge=40, le=600)
    context_lines: int = setting(3, "Lines on each side of the match, as far as the snippet's length allows.", ge=0)
    min_keyword_length: int = setting(2, "Shorter words, in characters, are not searched for.", ge=1, le=10)
    routing: Literal["measured", "design"] = setting(
        "measured", "How auto chooses: as measured best, or as first designed (conceptual questions to hyde)."
    )
    fusion: Fusion = setting("learned", "The fusion of keyword and semantic results in hybrid mode.")
    rrf_k: int = setting(10, "The constant of reciprocal rank fusion.", ge=0)
    query_adapter: bool = setting(True, "Adapt query vectors by what the library's headings and link texts teach.")
    candidates: int = setting(
        100,
        "Passages to page through; each retriever proposes as many, at least 200.",
        "HYBRID_CANDIDATE_COUNT",
        ge=1,
        le=1000,
    )
    similarity_threshold: float = setting(0.05, "Minimum cosine of a passage.", "SIMILARITY_THRESHOLD", ge=-1, le=1)
    enable_document_limiting: bool = setting(True, "Whether max_per_document applies.")
    max_per_document: int = setting(3, "Passages of each document that an answer shows or lists; 0: no limit.", ge=0)
    reranker: Literal["auto", "cross-encoder", "keyword-stage", "none"] = setting(
        "auto", "The second stage of rerank mode; auto: a cross-encoder if one is installed, else the keyword stage."
    )
    reranker_model: str = setting(
        "cross-encoder/ms-marco-MiniLM-L-6-v2", "The cross-encoder, by name or folder.", "CROSSENCODER_MODEL"
    )
    reranker_max_length: int = setting(512, "Tokens that the cross-encoder reads.", "CROSSENCODER_MAX_LENGTH", ge=16)
    rerank_timeout_ms: float = setting(350.0, "Time limit of the cross-encoder; unscored passages come last.", gt=0)
    rerank_candidates: int = setting(50, "Passages that are reranked.", ge=1, le=1000)
    rerank_multiplier: int = setting(
        5, "At least this many times the wanted results are reranked.", "RERANKING_CANDIDATE_MULTIPLIER", ge=1, le=100
    )
    rerank_keyword_threshold: float = setting(0.1, "The keyword stage drops passages with a lower score.", ge=0, le=1)
    cache: CacheSettings = CacheSettings()

    @field_validator("default_results")
    @classmethod
    def _at_most_max_results(cls, value: int, info: ValidationInfo) -> int:
        return min(value, int(info.data.get("max_results", value)))

    @property
    def per_document_limit(self) -> int:
        """The limit in force; 0 if there is none."""
        return self.max_per_document if self.enable_document_limiting else 0


class EmbeddingsSettings(Section):
    enabled: bool = setting(True, "Whether passages are embedded, for semantic search.", "ENABLE_EMBEDDINGS")
    model: str = setting("all-MiniLM-L6-v2", "The embedding model, by name or folder.", "EMBEDDING_MODEL", min_length=1)
    provider: Literal["local", "openai", "bedrock"] = setting("local", "Where texts are embedded.")
    backend: Literal["auto", "onnx", "torch"] = setting(
        "auto", "What computes a local model; auto: torch where only that has CUDA, or where there is no ONNX file."
    )
    base_url: str | None = setting(None, "Address of an OpenAI-compatible embedding service, or of Bedrock's runtime.")
    api_key: Secret = setting(None, "Key of the embedding service.", "OPENAI_API_KEY")
    timeout_s: float = setting(30.0, "Timeout of one request to the embedding service.", gt=0, le=90)
    dimension: int | None = setting(None, "Checked against the model's if given.", ge=1)
    semantic_weight: float = setting(
        0.5,
        "Weight of semantic scores in weighted fusion; a value other than the default chooses that fusion.",
        aliases=("semantic_weight", "search.hybrid_weight"),
        ge=0,
        le=1,
    )
    chunk_size: int = setting(
        200,
        "Target size of a passage in tokens, estimated, at most what the model reads (256 for the default one, 512 for"
        " most); none is longer than twice that or 400, or half as much again if it is a whole document without"
        " sections.",
        ge=20,
    )
    chunk_overlap: int = setting(32, "Tokens that neighbouring passages share, at most a quarter of their size.", ge=0)
    batch_size: int = setting(8, "Texts embedded at once while indexing.", ge=1, le=256)
    threads: int = setting(2, "Threads that embedding may use; a question gets half of them.", ge=1, le=64)
    max_text_length: int | None = setting(None, "Accepted for older files; passages replace cutting texts off.")

    @field_validator("chunk_size")
    @classmethod
    def _at_most_what_a_model_reads(cls, value: int, info: ValidationInfo) -> int:
        model = str(info.data.get("model", "")).rpartition("/")[2].partition("@")[0].lower()
        limits = {name.lower(): limit for name, limit in CHUNK_TOKENS_LIMITS.items()}
        return min(value, limits.get(model, CHUNK_TOKENS_LIMIT))

    @field_validator("chunk_overlap")
    @classmethod
    def _at_most_a_quarter_of_chunk_size(cls, value: int, info: ValidationInfo) -> int:
        return min(value, int(info.data.get("chunk_size", CHUNK_TOKENS_LIMIT)) // 4)

    @property
    def chunk_ceiling(self) -> int:
        """The longest passage of a document with sections, in estimated tokens."""
        return min(2 * self.chunk_size, max(CHUNK_TOKENS_CEILING, self.chunk_size))


class ChunkingSettings(Section):
    enabled: bool = setting(True, "false: a document is one passage, up to 12,000 characters.")
    respect_boundaries: bool = setting(True, "Split between sections, paragraphs and sentences; false: by size alone.")


class MetadataSettings(Section):
    extract_tags: bool = setting(True, "Take tags from front matter.")
    infer_doc_type: bool = setting(True, "Tell api, guide, architecture, reference and readme documents apart.")
    track_modifications: bool = setting(True, "Keep when documents changed; a mail keeps its date in any case.")


class HnswSettings(Section):
    construction_ef: int = setting(200, "Neighbours considered while Chroma, Qdrant or pgvector builds a graph.", ge=1)
    search_ef: int = setting(100, "Neighbours considered while it searches.", "VECTOR_SEARCH_EF_SEARCH", ge=1)
    M: int = setting(16, "Links per vector in its graph.", ge=2, le=512)


class VectorDbSettings(Section):
    store: StoreName = setting(
        "auto",
        "The vector store; auto: an exact scan, above a million windows Chroma; pgvector on PostgreSQL.",
        aliases=("store", "storage.vectors"),
    )
    path: Path | None = setting(
        None, "Folder of Chroma; null: inside index.path.", aliases=("path", "embeddings.persist_directory")
    )
    collection_name: str = setting(
        "documents",
        "Collection of Chroma; in Qdrant, its model's suffix follows.",
        min_length=3,
        max_length=100,
        pattern=r"^[a-zA-Z0-9][a-zA-Z0-9._-]*[a-zA-Z0-9]$",
    )
    distance_metric: Literal["cosine", "l2", "ip"] = setting("cosine", "Chroma's distance; all three order alike.")
    hnsw_config: HnswSettings = HnswSettings()
    quantization: Literal["none", "scalar", "binary"] = setting("none", "How Qdrant packs vectors in memory.")


class StorageSettings(Section):
    catalog: Literal["embedded", "postgres"] = setting("embedded", "Where documents and passages are kept.")
    database_url: Secret = setting(None, "Address of the PostgreSQL database.", "DATABASE_URL")
    database_schema: str = setting(
        "librarian", "Schema that holds this library, so that one database can hold several.", pattern=_SQL_NAME
    )
    text_search: str = setting(
        "english", "PostgreSQL's text search configuration: the language of stems and stop words.", pattern=_SQL_NAME
    )
    qdrant_url: Secret = setting(None, "Address of the Qdrant server; null: local Qdrant in index.path.", "QDRANT_URL")


class LlmSettings(Section):
    enabled: bool = setting(False, "Let an LLM rewrite questions and summarise crawled pages.", "AGENT_USE_LLM")
    provider: Literal["openai", "ollama"] = setting("openai", "Which protocol it speaks.", "LLM_PROVIDER")
    model: str | None = setting(None, "Its name; null: gpt-4o-mini, or llama3.1 with Ollama.", "LLM_MODEL")
    base_url: str | None = setting(None, "Its address, if not the provider's usual one.", "OPENAI_BASE_URL")
    api_key: Secret = setting(None, "Its key.", "OPENAI_API_KEY")
    timeout_s: float = setting(5.0, "A rewrite that takes longer is left out.", gt=0)

    @property
    def model_name(self) -> str:
        """The model to call."""
        return self.model or ("llama3.1" if self.provider == "ollama" else "gpt-4o-mini")

    @property
    def address(self) -> str:
        """The base URL to call."""
        return self.base_url or ("http://127.0.0.1:11434/v1" if self.provider == "ollama" else OPENAI)


class McpSettings(Section):
    transport: Literal["http-sse", "stdio"] = setting("http-sse", "What serve opens: all HTTP transports, or stdio.")
    host: str = setting("127.0.0.1", "Address to listen on; beyond this machine only with a token.", "MCP_HOST")
    port: int = setting(3001, "Port of MCP, REST and the page.", "MCP_PORT", ge=0, le=65535)
    endpoint: Annotated[str, BeforeValidator(_endpoint)] = setting("/mcp", "Path of Streamable HTTP.")


class ServeSettings(Section):
    idle_timeout_s: int = setting(600, "An unused background process ends after this time; 0: never.", ge=0)


class SecuritySettings(Section):
    token: Secret = setting(None, "The bearer token that requests must carry.", "MCP_AUTH_TOKEN")
    cors_origins: tuple[Annotated[str, AfterValidator(_origin)], ...] = setting(
        (), "Web origins that may call, besides the page itself."
    )
    allowed_hosts: tuple[Annotated[str, AfterValidator(_host)], ...] = setting(
        (), "Host names under which the server answers, besides those of this machine.", "MCP_ALLOWED_HOSTS"
    )
    rate_limit: int = setting(0, "Maximum number of requests per minute of one client; 0: no limit.", ge=0)
    trusted_proxies: Words = setting(
        ("127.0.0.1", "::1"), "Addresses or networks of proxies whose X-Forwarded-For names the client."
    )


class LoggingSettings(Section):
    level: Literal["debug", "info", "warning", "error"] = setting("info", "Minimum level to log.", "LOG_LEVEL")
    file: Path | None = setting(None, "Log file, besides stderr; null: librarian.log inside index.path.")
    access: bool = setting(True, "Log each request over HTTP at info, without what it asks.")
    slow_query_ms: float = setting(1000.0, "Slower searches are logged with their retrievers' times; 0: none.", ge=0)
    as_json: bool = setting(False, "Write each line as a JSON object.", aliases=("json",))


class AnalyticsSettings(Section):
    enabled: bool = setting(
        False, "Keep every question, on this machine, to show in librarian gaps which found little."
    )


# -- all settings ----------------------------------------------------------------------------------------------------


class Given(NamedTuple):
    """A value that was given, and its source: a path, `environment: NAME` or `command line`."""

    value: object
    source: str


def _nested(given: Mapping[str, Given]) -> dict[str, Any]:
    """Values by dotted key as nested objects."""
    nested: dict[str, Any] = {}
    for key, each in given.items():
        *sections, name = key.split(".")
        place = nested
        for section in sections:
            place = place.setdefault(section, {})
        place[name] = each.value
    return nested


class Settings(BaseSettings):
    """Every setting. Build it with `Settings.load`; `Settings()` holds the defaults, with relative paths."""

    model_config = SettingsConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    system: SystemSettings = SystemSettings()
    docs: DocsSettings = DocsSettings()
    index: IndexSettings = IndexSettings()
    search: SearchSettings = SearchSettings()
    embeddings: EmbeddingsSettings = EmbeddingsSettings()
    chunking: ChunkingSettings = ChunkingSettings()
    metadata: MetadataSettings = MetadataSettings()
    vector_db: VectorDbSettings = VectorDbSettings()
    storage: StorageSettings = StorageSettings()
    llm: LlmSettings = LlmSettings()
    mcp: McpSettings = McpSettings()
    serve: ServeSettings = ServeSettings()
    security: SecuritySettings = SecuritySettings()
    logging: LoggingSettings = LoggingSettings()
    analytics: AnalyticsSettings = AnalyticsSettings()
    toolsets: Annotated[tuple[Toolset, ...], BeforeValidator(split_words)] = setting(
        (), "Further groups of tools: rag, sites, registry, or all.", env="MCP_TOOLSETS"
    )

    _given: dict[str, Given] = PrivateAttr(default_factory=dict)
    _notices: tuple[str, ...] = PrivateAttr(default=())
    _configuration: Configuration = PrivateAttr(default=Configuration(None, "none", trusted=False))
    _loaded: dict[str, Any] = PrivateAttr(default_factory=dict)

    PATHS: ClassVar = ("docs.root_path", "index.path", "vector_db.path", "logging.file")
    MODELS: ClassVar = ("embeddings.model", "search.reranker_model")  #: by name, or by folder

    @classmethod
    def settings_customise_sources(  # type: ignore[override]  # the others aren't used
        cls, settings_cls: type[BaseSettings], init_settings: PydanticBaseSettingsSource, **_: Any
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Only the arguments: `load` reads the other sources, which need the places of files and who is trusted."""
        return (init_settings,)

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
        """Settings from all sources. `overrides` are the command line's, by dotted key; None there means unset.

        With `must_be_trusted` the named file is refused if it has changed since the user trusted it. Raises
        `SetupError` for the first mistake found.
        """
        cwd = Path(os.path.abspath(cwd or working_directory()))
        loaded = {"overrides": dict(overrides or {}), "environ": environ, "cwd": cwd, "repository": repository}
        environ = os.environ if environ is None else environ
        found = config_files.locate(config, environ, cwd, repository, must_be_trusted=must_be_trusted)
        must_be_trusted = must_be_trusted or found.kind == "trusted"
        folder = found.path.parent if found.path else cwd
        dotenv = config_files.read_dotenv(found.path)
        variables = _read_variables(found, dotenv, environ)

        flags = [(key, value) for key, value in (overrides or {}).items() if value is not None]
        command_line = _by_key(flags, "command line", cwd)
        in_file = _by_key(_leaves(config_files.read_config(found.path)), str(found.path)) if found.path else {}
        defaults = {key: Given(SETTINGS[key].default, "default") for key in cls.PATHS}
        given = defaults | in_file | _from_variables(variables) | command_line
        given |= {key: each for key, each in _addresses(variables, given) if key not in command_line}
        weight = given.get("embeddings.semantic_weight")
        if weight and "search.fusion" not in given and weight.value not in (0.5, None):
            given["search.fusion"] = Given("weighted", weight.source)
        notices = _guard_destinations(given, found)
        given = {key: Given(_resolved(key, each.value, folder), each.source) for key, each in given.items()}
        _choose_index(given, found, in_file["index.path"].value if "index.path" in in_file else None)
        _require_inside(given, found)
        try:
            settings = cls(**_nested(given))
        except ValidationError as error:
            raise _as_setup_error(error, given) from None
        require_apart(settings.docs.root_path, settings.index.path)
        settings._given = given
        settings._configuration = found
        settings._loaded = loaded | {"config": found.path, "must_be_trusted": must_be_trusted}
        settings._notices = (
            *(*dotenv.notices, *_unknown_variables(variables)),
            *(*notices, *settings._adapted(variables)),
        )
        return settings

    def again(self) -> Self:
        """The same files and variables, read once more. Raises `SetupError` for a mistake in them."""
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
        """The folder of Chroma."""
        return self.vector_db.path or self.index.path / "chroma"

    @property
    def enabled_toolsets(self) -> frozenset[str]:
        """The extra toolsets by name, with `all` spelt out."""
        every = frozenset(get_args(Toolset)) - {"all"}
        return every if "all" in self.toolsets else frozenset(self.toolsets)

    def value(self, key: str) -> Any:
        """The value in force of a dotted key. Raises `CallerError` for an unknown key."""
        return self.provenance(key, masked=False).value

    def provenance(self, key: str, *, masked: bool = True) -> Provenance:
        """A setting's value and its source. Raises `CallerError` with the nearest name if there is no such setting."""
        key = ALIASES.get(key, key)
        if key not in SETTINGS:
            raise CallerError(f"No setting {key!r}.", hint=_nearest(key))
        value = attrgetter(SETTINGS[key].attribute)(self)
        if isinstance(value, SecretStr):
            value = "********" if masked else value.get_secret_value()
        elif masked and isinstance(value, str) and key.endswith(".base_url"):
            value = _without_password(value)
        given = self._given.get(key)
        return Provenance(key, value, given.source if given else "default", SETTINGS[key])

    @property
    def root_is_named(self) -> bool:
        """Whether the command line or a variable names the folder of documents."""
        source = self.provenance("docs.root_path").source
        return _is_named(source) or source.endswith(": DOCS_ROOT_PATH")

    def destinations(self) -> tuple[tuple[str, str, str], ...]:
        """Each address that text is sent to, even on this machine: setting, host with port, and which text."""
        embeddings, storage = self.embeddings, self.storage
        found = []
        if embeddings.enabled and embeddings.provider != "local":
            bedrock = "https://bedrock-runtime.<region>.amazonaws.com"
            usual = OPENAI if embeddings.provider == "openai" else bedrock
            found.append(("embeddings", embeddings.base_url or usual, "all passages, and each question"))
        if self.llm.enabled:
            found.append(("llm", self.llm.address, "questions, and pages that are crawled"))
        if storage.catalog == "postgres" and storage.database_url is not None:
            found.append(("storage.database_url", storage.database_url.get_secret_value(), "all documents"))
        if self.vector_db.store == "qdrant" and storage.qdrant_url is not None:
            found.append(("storage.qdrant_url", storage.qdrant_url.get_secret_value(), "vectors of all passages"))
        return tuple((part, _host_of(url) or f"the address in {part}", text) for part, url, text in found)

    def require_library(self) -> None:
        """Raises `SetupError` if nothing names a library; see `config_files.require_library`."""
        named = any(_is_named(self.provenance(key).source) for key in ("docs.root_path", "index.path"))
        config_files.require_library(self._configuration, self.index.path, self._loaded["cwd"], named=named)

    def require_safe_bind(self) -> None:
        """Raises `SetupError` if the server would listen beyond this machine without a token."""
        host = self.mcp.host.strip("[]")
        is_local = host == "localhost" or host.endswith(".localhost")
        with suppress(ValueError):
            is_local = is_local or ip_address(host).is_loopback
        if self.security.token is None and not is_local:
            raise SetupError(
                f"mcp.host {self.mcp.host!r} can be reached from other machines, and no token is set.",
                hint="Set MCP_AUTH_TOKEN to a long random text, or mcp.host to 127.0.0.1.",
            )

    def _adapted(self, variables: Mapping[str, Given]) -> Iterator[str]:
        """Sentences about values that are lowered or have no effect."""
        limits = {
            "embeddings.chunk_size": f" tokens: {self.embeddings.model} reads no more at once.",
            "embeddings.chunk_overlap": " tokens, a quarter of chunk_size.",
            "search.default_results": ", which is search.max_results.",
        }
        for key, reason in limits.items():
            asked = self._given[key].value if key in self._given else SETTINGS[key].default
            if float(str(asked)) > (value := self.value(key)):
                yield f"{key} {asked} is lowered to {value}{reason}"
        url = f"http://{self.mcp.host}:{self.mcp.port}"
        if self.embeddings.max_text_length is not None:
            yield "embeddings.max_text_length has no effect: texts are split into passages, none is cut off."
        if self.system.version is not None:
            yield "system.version has no effect: the version shown is the program's own."
        if "AGENT_PORT" in variables:
            yield f"AGENT_PORT has no effect: the page, REST and MCP share one port; they are at {url} (MCP_PORT)."
        if "MCP_SSE_URL" in variables:
            yield f"MCP_SSE_URL has no effect: nothing connects to another server; the SSE transport is at {url}/sse."


class Setting(NamedTuple):
    """A setting as the settings page shows it. `kind` says in words which values are right."""

    key: str
    attribute: str  #: where its value is in a `Settings` object
    kind: str
    default: object
    env: str
    description: str
    aliases: tuple[str, ...]


class Provenance(NamedTuple):
    """A setting's value in force (secrets masked), and its source."""

    key: str
    value: object
    source: str
    setting: Setting


def _describe(model: type[BaseModel], prefix: str = "") -> Iterator[Setting]:
    for attribute, field in model.model_fields.items():
        if isinstance(field.annotation, type) and issubclass(field.annotation, Section):
            yield from _describe(field.annotation, f"{prefix}{attribute}.")
            continue
        choices = field.validation_alias
        name, *aliases = map(str, choices.choices) if isinstance(choices, AliasChoices) else [attribute]
        extra = field.json_schema_extra if isinstance(field.json_schema_extra, dict) else {}
        env, description = str(extra.get("env", "")), field.description or ""
        path, kind = f"{prefix}{attribute}", _kind(field)
        yield Setting(f"{prefix}{name}", path, kind, field.default, env, description, tuple(aliases))


def _kind(field: FieldInfo) -> str:
    """The right values in words: `true | false`, `keyword | semantic`, `number`, `whole number from 1 to 50`, …"""
    annotation = field.annotation
    options = [option for option in get_args(annotation) if option is not NoneType]
    nullable = " or null" if NoneType in get_args(annotation) else ""
    if options and all(isinstance(option, str) for option in options):
        return " | ".join(str(option) for option in options)
    plain = options[0] if nullable else annotation
    if getattr(plain, "__origin__", plain) is tuple:
        items = [item for item in get_args(get_args(plain)[0]) if isinstance(item, str)]
        return "list of " + (", ".join(items) or "text") + nullable
    words = {bool: "true | false", int: "whole number", float: "number", Path: "path", SecretStr: "secret text"}
    limits = {type(limit).__name__.lower(): limit for limit in field.metadata}
    bounds = [
        f"{word} {getattr(limits[name], name):g}"
        for name, word in (("ge", "from"), ("gt", "above"), ("le", "to"), ("lt", "below"))
        if name in limits
    ]
    return " ".join([words.get(plain, "text") if isinstance(plain, type) else "text", *bounds]) + nullable


SETTINGS: Final = {each.key: each for each in _describe(Settings)}
"""All settings by dotted key, in the order of the settings page."""

ALIASES: Final = {alias: each.key for each in SETTINGS.values() for alias in each.aliases}
"""Other keys of settings, in files and on the command line."""

_SECTIONS: Final = {key.rpartition(".")[0] for key in SETTINGS}


# -- reading the sources ---------------------------------------------------------------------------------------------


def _leaves(content: Mapping[str, object], prefix: str = "") -> Iterator[tuple[str, object]]:
    """The leaves of nested objects, as dotted keys and values."""
    for name, value in content.items():
        key = f"{prefix}{name}"
        if isinstance(value, dict) and value and key not in SETTINGS:
            yield from _leaves(value, f"{key}.")
        elif value != {} or key not in _SECTIONS:
            yield key, value


def _by_key(pairs: Iterable[tuple[str, object]], source: str, folder: Path | None = None) -> dict[str, Given]:
    """Values by the key of their setting, paths relative to `folder`.

    Raises `SetupError` for an unknown key and for two names of one setting.
    """
    layer: dict[str, Given] = {}
    names: dict[str, str] = {}
    for written, value in pairs:
        key = ALIASES.get(written, written)
        if key in REMOVED:
            raise SetupError(f"{source}: the setting {written!r} no longer exists.", hint=REMOVED[key])
        if key in _SECTIONS:
            raise SetupError(f"{source}: {key} is {_shown(value)}.", hint="Right would be: an object in braces.")
        if key not in SETTINGS:
            raise SetupError(f"{source}: no setting {written!r}.", hint=_nearest(written))
        if key in layer and layer[key].value != value and value is not None and layer[key].value is not None:
            raise SetupError(
                f"{source}: {names[key]!r} and {written!r} are the same setting with different values.",
                hint=f"Keep {key!r} alone.",
            )
        if key not in layer or value is not None:
            layer[key] = Given(_resolved(key, value, folder) if folder else value, source)
            names[key] = written
    return layer


def _nearest(written: str) -> str:
    """A hint with the setting or section nearest to an unknown key, else one with the same last part."""
    names = [*SETTINGS, *ALIASES, *filter(None, _SECTIONS)]
    leaf = written.rpartition(".")[2]
    near = get_close_matches(written, names, 1) or [name for name in names if name.endswith(f".{leaf}")]
    return f"Nearest: {near[0]!r}." if near else "`librarian config` lists all settings."


def _read_variables(found: Configuration, dotenv: DotEnv, environ: Mapping[str, str]) -> dict[str, Given]:
    """Environment variables over those of the `.env`. Empty means unset.

    `NAME_FILE` gives a secret by the file that holds it; from an `.env` only if that is trusted.
    """
    files = [name for name in SECRETS if f"{name}_FILE" in dotenv.variables]
    if files and not found.trusted:
        raise SetupError(
            f"{dotenv.path}: {files[0]}_FILE is taken only from the environment or from a trusted file.",
            hint=f"Set it in the environment, or run `librarian trust {found.path}`.",
        )
    result: dict[str, Given] = {}
    sources = ((str(dotenv.path), dotenv.variables, dotenv.path.parent), ("environment", environ, Path()))
    for source, pairs, folder in sources:
        result |= {name: Given(value, f"{source}: {name}") for name, value in pairs.items() if value}
        for name, value in config_files.secret_files(pairs, folder):
            result[name] = Given(value, f"{source}: {name}_FILE")
    for name in REMOVED.keys() & result.keys():
        raise SetupError(f"{result[name].source} no longer exists.", hint=REMOVED[name])
    return result


def _from_variables(variables: Mapping[str, Given]) -> dict[str, Given]:
    """What the variables set, by dotted key, apart from addresses."""
    layer = {each.key: variables[each.env] for each in SETTINGS.values() if each.env in variables}
    layer.pop("llm.base_url", None)
    if "search.mode" not in layer:
        hybrid = _parsed(variables, "USE_HYBRID_SEARCH", bool)
        if _parsed(variables, "USE_RERANKING", bool):
            layer["search.mode"] = Given("rerank", variables["USE_RERANKING"].source)
        elif hybrid is not None:
            layer["search.mode"] = Given("hybrid" if hybrid else "semantic", variables["USE_HYBRID_SEARCH"].source)
    vector, text = _parsed(variables, "VECTOR_WEIGHT", float), _parsed(variables, "TEXT_WEIGHT", float)
    if vector is not None or text is not None:
        weight = vector if vector is not None else 1.0 - (text or 0.0)
        other = text if text is not None else 1.0 - weight
        if abs(weight + other - 1.0) > 1e-6 or not 0 <= weight <= 1:
            raise SetupError(
                f"VECTOR_WEIGHT {weight:g} and TEXT_WEIGHT {other:g} must lie in 0–1 and sum to 1.",
                hint="Give one of them alone, or both with the sum 1.",
            )
        source = variables["VECTOR_WEIGHT" if vector is not None else "TEXT_WEIGHT"].source
        layer["embeddings.semantic_weight"] = Given(weight, source)
        layer["search.fusion"] = Given("weighted", source)
    if "JEDI_EMBEDDING_MODEL" in variables:
        layer.setdefault("embeddings.model", variables["JEDI_EMBEDDING_MODEL"])
    return layer


def _addresses(variables: Mapping[str, Given], given: Mapping[str, Given]) -> Iterator[tuple[str, Given]]:
    """The addresses that variables give to the providers in use."""
    for section in ("llm", "embeddings"):
        key = f"{section}.provider"
        provider = str(given[key].value if key in given else SETTINGS[key].default).strip().lower()
        variable = {"openai": "OPENAI_BASE_URL", "ollama": "OLLAMA_URL"}.get(provider, "")
        if variable in variables:
            yield f"{section}.base_url", variables[variable]


def _parsed(variables: Mapping[str, Given], name: str, kind: type) -> Any:
    """The value of a variable; None where it isn't set."""
    if name not in variables:
        return None
    try:
        return TypeAdapter(kind).validate_python(str(variables[name].value).strip())
    except ValidationError:
        right = "true or false" if kind is bool else "a number"
        raise SetupError(f"{variables[name].source} is {variables[name].value!r}.", hint=f"Write {right}.") from None


def _unknown_variables(variables: Mapping[str, Given]) -> Iterator[str]:
    """A notice for each misspelt variable of the `.env`, and for each unknown one that begins with LIBRARIAN_."""
    names = sorted({each.env for each in SETTINGS.values() if each.env} | DERIVED_VARIABLES.keys())
    for name, given in variables.items():
        ours = name.startswith(_OUR_PREFIX) and not name.startswith(_NOT_SETTINGS)
        if name not in names and (ours or not given.source.startswith("environment:")):
            near = get_close_matches(name.upper().removeprefix(_OUR_PREFIX), names, 1, 0.6 if ours else 0.75)
            if near or ours:
                hint = f"did you mean {near[0]}?" if near else "`librarian config` lists all settings."
                yield f"{given.source} isn't known and does nothing; {hint}"


# -- adjusting what was given ----------------------------------------------------------------------------------------


def _resolved(key: str, value: object, folder: Path) -> object:
    """A value with its paths made absolute. Raises `SetupError` for a path that isn't UTF-8."""
    if key in Settings.PATHS and isinstance(value, str | Path) and value != "":
        path = absolute(value, folder)
        if any("\ud800" <= character <= "\udfff" for character in str(path)):
            raise SetupError(f"{key} is {str(path)!a}, which isn't UTF-8.", hint="Rename that folder.")
        return path
    if key in Settings.MODELS and isinstance(value, str) and "/" in value:
        path = absolute(value, folder)
        return str(path) if value.startswith((".", "~")) or path.is_dir() else value
    if key == "docs.include_roots" and isinstance(folders := split_words(value), list | tuple):
        return tuple(str(absolute(one, folder)) if isinstance(one, str) and one else one for one in folders)
    return value


def _guard_destinations(given: dict[str, Given], found: Configuration) -> list[str]:
    """Drop keys for addresses from untrusted files, and services nobody chose; returns a sentence for each."""
    notices = []
    for section in ("llm", "embeddings"):
        key, address = given.get(f"{section}.api_key"), given.get(f"{section}.base_url")
        if key and address and _is_users(key.source, found) and not _is_users(address.source, found):
            given[f"{section}.api_key"] = Given(None, "default")
            notices.append(
                f"The key from {key.source} isn't sent to {_without_password(str(address.value))}, which "
                f"{address.source} names. To send it there, run `librarian trust {found.path}` or name the address in "
                "the environment."
            )
    address, provider = given.get("embeddings.base_url"), given.get("embeddings.provider")
    is_bedrock = provider is not None and str(provider.value).strip().lower() == "bedrock"
    untrusted = address if is_bedrock and address and not _is_users(address.source, found) else None
    if untrusted and not _BEDROCK.fullmatch(_host_of(str(untrusted.value))):
        raise SetupError(
            f"{untrusted.source}: embeddings.base_url is {_without_password(str(untrusted.value))}, which is not an "
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


def _is_named(source: str) -> bool:
    """Whether a value comes from the command line or the environment."""
    return source == "command line" or source.startswith("environment: ")


def _is_users(source: str, found: Configuration) -> bool:
    """Whether a value is the user's own: from the command line, the environment or a trusted file."""
    return found.trusted or _is_named(source)


def _choose_index(given: dict[str, Given], found: Configuration, written: object) -> None:
    """Give documents that command line or environment name an index of their own, if nothing names one."""
    root, index = given["docs.root_path"], given["index.path"]
    chosen = config_files.index_by_root(
        found,
        root.value if isinstance(root.value, Path) else Path(),
        root_named=isinstance(root.value, Path) and _is_named(root.source),
        index_named=index.source not in ("default", str(found.path)),
        written=written,
    )
    if chosen is not None:
        given["index.path"] = Given(chosen, "default for a folder named without an index")


def _require_inside(given: Mapping[str, Given], found: Configuration) -> None:
    """Raises `SetupError` for a path to write to that a file which isn't trusted names outside of its own folder."""
    for key in ("index.path", "vector_db.path", "logging.file"):
        path, source = given[key]
        if isinstance(path, Path) and not _is_users(source, found) and not config_files.may_write(path, found):
            option = "--index DIR or INDEX_PATH, " if key == "index.path" else ""
            raise SetupError(
                f"{found.path}: {key} is {path}, outside of the folder of that file.",
                hint=f"Use {option}a path inside that folder, or run `librarian trust {found.path}`.",
            )


# -- errors and addresses --------------------------------------------------------------------------------------------


def _as_setup_error(error: ValidationError, given: Mapping[str, Given]) -> SetupError:
    """The first mistake: its source, key, value (unless secret) and what would be right."""
    first = error.errors(include_url=False, include_context=True, include_input=False)[0]
    path = ".".join(str(part) for part in first["loc"]) + "."
    each = next(each for each in SETTINGS.values() if path.startswith(f"{each.key}."))
    value, source = given.get(each.key, Given(each.default, "default"))
    near = get_close_matches(str(value).lower(), each.kind.split(" | "), 1) if " | " in each.kind else []
    hint = f"Right would be: {each.kind}." + (f" Nearest: {near[0]!r}." if near else "")
    if first["type"] == "value_error" and each.kind == "text":
        hint = f"The default is {each.default!r}."
    message = "Input should be a path" if first["type"] == "path_type" else first["msg"].removeprefix("Value error, ")
    shown = "'********'" if each.kind.startswith("secret") else _shown(value)
    return SetupError(f"{source}: {each.key} is {shown}. {message}.", hint=hint)


def _shown(value: object) -> str:
    """A value as it is written in the file."""
    return json.dumps(value) if value is None or isinstance(value, bool) else repr(value)


def _host_of(url: str) -> str:
    """The host of an address, with its port; empty if it has none."""
    try:
        return urlsplit(url).netloc.rpartition("@")[2]
    except ValueError:  # brackets around something that is no IPv6 address
        return ""


def _without_password(url: str) -> str:
    return re.sub(r"//[^/@\s]*@", "//********@", url)
