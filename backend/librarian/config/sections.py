"""Every setting, once: its type, limits, default, unit, environment variable and one sentence.

The settings page, `.env.example` and the shipped `config.json` are generated from these fields (`reference.py`).
Nothing is read here and no path is resolved: that is `settings.py`.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any, Final, Literal, get_args

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, SecretStr, ValidationInfo, field_validator

from librarian.vocabulary.types import Fusion, Mode

from . import values

OPENAI: Final = "https://api.openai.com/v1"

CHUNK_TOKENS_LIMIT = 256
"""Highest target size of a chunk: what the common embedding models read at once (all-MiniLM-L6-v2: 256 tokens)."""

CHUNK_TOKENS_CEILING = 400
"""No chunk is longer than this, whatever its target; measured together with the target of 200."""


def knob(default: Any, sentence: str, *, unit: str = "", env: str = "", **limits: Any) -> Any:
    """A field with what the settings page says about it. `env` is the environment variable that sets it."""
    return Field(default=default, description=sentence, json_schema_extra={"unit": unit, "env": env}, **limits)


def _lower(value: object) -> object:
    return value.strip().lower() if isinstance(value, str) else value


def revealed(secret: SecretStr | None) -> str | None:
    """What a secret setting holds, for whoever needs it; None where it is unset or empty."""
    return secret.get_secret_value() if secret else None


def _extensions(value: object) -> object:
    words = values.split_words(value)
    if isinstance(words, (list, tuple)) and all(isinstance(word, str) for word in words):
        return tuple("." + word.strip().lower().lstrip(".") for word in words)
    return words


def _endpoint(value: object) -> object:
    """A path without a slash at its end. Raises `ValueError` for one that isn't free."""
    if not isinstance(value, str):
        return value
    path = value.rstrip("/")
    if not _PATH.fullmatch(path):
        raise ValueError("It should be a path such as /mcp, of letters, digits and . _ ~ -")
    if (first := path.split("/")[1]) in TAKEN:
        raise ValueError(f"/{first} is the server's own")
    return path


_PATH: Final = re.compile(r"/[A-Za-z0-9._~-][A-Za-z0-9._~/-]*")
TAKEN: Final = frozenset(
    ("api", "favicon.ico", "health", "messages", "metrics", "openapi.json", "ready", "sse", "static")
)
"""What the paths of the other routes begin with; some of them need no token."""

LOWER = BeforeValidator(_lower)
Words = Annotated[tuple[str, ...], BeforeValidator(values.split_words)]
Secret = Annotated[SecretStr | None, BeforeValidator(values.secret)]
Extensions = Annotated[tuple[str, ...] | None, BeforeValidator(_extensions)]
Toolset = Literal["rag", "sites", "registry", "all"]
StoreName = Literal["auto", "exact", "chroma", "qdrant", "sqlite-vec", "pgvector"]


class Section(BaseModel):
    """Base of all sections: immutable, closed, and silent about values (they may be secrets) in its errors."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True, populate_by_name=True)

    @field_validator("*", mode="before")
    @classmethod
    def _no_flag_for_a_number(cls, value: object, field: ValidationInfo) -> object:
        kind = cls.model_fields[str(field.field_name)].annotation
        if isinstance(value, bool) and {int, float} & {kind, *get_args(kind)}:
            raise ValueError("It should be a number")
        return value


class SystemSettings(Section):
    name: str = knob("Librarian", "The name under which the server introduces itself.")
    version: str | None = knob(None, "Accepted for older files; the version shown is the program's own.")


class DocsSettings(Section):
    root_path: Path = knob(Path("docs"), "The folder that is indexed; crawl alone writes there.", env="DOCS_ROOT_PATH")
    layout: Annotated[Literal["product/component", "flat"], LOWER] = knob(
        "product/component",
        "How folders are read: first folder product, second component; or flat: one product, named as the root.",
    )
    file_extensions: Extensions = knob(
        None, 'Formats to index, for example [".md"]; null: every one that has a parser.'
    )
    include: Words = knob((), "Glob patterns below the root; where any is given, only files that match are indexed.")
    exclude: Words = knob(
        (), "Glob patterns below the root to leave out, besides hidden folders, .gitignore and .librarianignore."
    )
    include_roots: Words = knob(
        (), "Further folders from which pages may include files (literalinclude, snippets, …); they aren't indexed."
    )
    shared_products: Words = knob((), 'Products that every product filter lets through, for example ["shared"].')
    max_file_size_mb: float = knob(10.0, "Larger files are skipped and listed.", unit="MB", gt=0)
    size_limits: Words = knob(
        (".pdf:100", ".pptx:100", ".docx:50", ".odt:50", ".epub:50", ".xlsx:20"),
        "Other limits for single formats, in MB: those that hold pictures are larger than their text.",
    )
    watch_for_changes: bool = knob(True, "Keep the index true while files change.")
    watch_debounce_ms: int = knob(1000, "How long changes are collected before they are indexed.", unit="ms", ge=0)
    rescan_s: int = knob(
        300, "How often the whole folder is compared, since watchers miss things; 0: never.", unit="s", ge=0
    )
    index_on_startup: bool = knob(True, "Compare the folder with the index at start.")


class IndexSettings(Section):
    path: Path = knob(Path(".librarian"), "Where everything derived from the documents lies.", env="INDEX_PATH")
    workers: int = knob(2, "Child processes that read files.", unit="processes", ge=1, le=64)
    file_timeout_s: float = knob(60.0, "A file that takes longer to read is given up and listed.", unit="s", gt=0)
    file_memory_mb: int = knob(1024, "Memory that reading one file may take; 0: no limit.", unit="MB", ge=0)


class CacheSettings(Section):
    enabled: bool | None = knob(
        None, "true: answers are kept also for similar questions; false: none are; null: for equal questions only."
    )
    threshold: float = knob(0.92, "Cosine from which two questions count as similar.", ge=0, le=1)
    ttl_s: int = knob(300, "How long an answer is kept.", unit="s", ge=0)
    max_entries: int = knob(1000, "How many answers are kept.", unit="answers", ge=1)

    @property
    def exact(self) -> bool:
        """Whether equal questions are answered from memory."""
        return self.enabled is not False

    @property
    def semantic(self) -> bool:
        """Whether similar questions are."""
        return self.enabled is True


class SearchSettings(Section):
    mode: Annotated[Mode, LOWER] = knob("auto", "How a search works where the caller doesn't say.", env="SEARCH_MODE")
    max_results: int = knob(50, "The most results a caller may ask for.", unit="results", ge=1, le=50)
    default_results: int = knob(
        10, "Results where the caller doesn't say how many.", unit="results", env="VECTOR_MATCH_COUNT", ge=1, le=50
    )
    snippet_length: int = knob(200, "Length that a snippet aims at.", unit="characters", ge=40, le=600)
    context_lines: int = knob(
        3, "Lines shown on each side of the match, as far as the snippet's length allows.", unit="lines", ge=0
    )
    min_keyword_length: int = knob(2, "Shorter words are not searched for.", unit="characters", ge=1, le=10)
    fusion: Annotated[Fusion, LOWER] = knob("learned", "How keyword and semantic opinions are joined in hybrid mode.")
    rrf_k: int = knob(10, "The constant of reciprocal rank fusion.", ge=0)
    query_adapter: bool = knob(
        True, "Whether semantic search turns questions by what the library's own headings and link texts teach."
    )
    candidates: int = knob(
        100,
        "The most passages that an answer pages through; each leg proposes as many, and at least 200.",
        unit="passages",
        env="HYBRID_CANDIDATE_COUNT",
        ge=1,
        le=1000,
    )
    similarity_threshold: float = knob(
        0.05, "Passages with a lower cosine are not proposed.", env="SIMILARITY_THRESHOLD", ge=-1, le=1
    )
    enable_document_limiting: bool = knob(True, "Whether max_per_document applies.")
    max_per_document: int = knob(
        3, "Passages of each document that an answer shows or lists; 0: no limit.", unit="passages", ge=0
    )
    reranker: Annotated[Literal["auto", "cross-encoder", "keyword-stage", "none"], LOWER] = knob(
        "auto", "What judges again in rerank mode; auto: a cross-encoder where it is installed, else nothing."
    )
    reranker_model: str = knob(
        "cross-encoder/ms-marco-MiniLM-L-6-v2", "The cross-encoder, by name or folder.", env="CROSSENCODER_MODEL"
    )
    reranker_max_length: int = knob(
        512,
        "Tokens of question and passage that the cross-encoder reads.",
        unit="tokens",
        env="CROSSENCODER_MAX_LENGTH",
        ge=16,
    )
    rerank_timeout_ms: float = knob(
        350.0, "Time that the cross-encoder has; what it doesn't get to stays behind what it has read.", unit="ms", gt=0
    )
    rerank_candidates: int = knob(50, "Passages that are reranked.", unit="passages", ge=1, le=1000)
    rerank_multiplier: int = knob(
        5, "At least so many times the wanted results are reranked.", env="RERANKING_CANDIDATE_MULTIPLIER", ge=1, le=100
    )
    rerank_keyword_threshold: float = knob(
        0.1, "Keyword score under which the keyword stage drops a passage.", ge=0, le=1
    )
    cache: CacheSettings = CacheSettings()

    @property
    def passages_per_document(self) -> int:
        """The limit in force; 0 where there is none."""
        return self.max_per_document if self.enable_document_limiting else 0


class EmbeddingsSettings(Section):
    enabled: bool = knob(True, "Whether passages are embedded and found by meaning.", env="ENABLE_EMBEDDINGS")
    model: str = knob(
        "all-MiniLM-L6-v2", "The embedding model, by name or folder.", env="EMBEDDING_MODEL", min_length=1
    )
    provider: Annotated[Literal["local", "openai", "bedrock"], LOWER] = knob("local", "Where texts are embedded.")
    base_url: str | None = knob(None, "Address of an OpenAI-compatible embedding service, or of Bedrock's runtime.")
    api_key: Secret = knob(None, "Key of the embedding service.", env="OPENAI_API_KEY")
    timeout_s: float = knob(30, "How long one request to the embedding service may take.", unit="s", gt=0, le=90)
    dimension: int | None = knob(None, "Checked against the model's where given.", ge=1)
    semantic_weight: float = knob(
        0.5, "Share of meaning in weighted fusion; another value than the default chooses that fusion.", ge=0, le=1
    )
    chunk_size: int = knob(
        200,
        "Size that a passage aims at, estimated, at most 256; none is longer than twice that or 400, or half as much"
        " again where it is a whole document without sections.",
        unit="tokens",
        ge=20,
    )
    chunk_overlap: int = knob(
        32, "What neighbouring passages share, at most a quarter of their size.", unit="tokens", ge=0
    )
    batch_size: int = knob(8, "Texts embedded at once while indexing.", unit="texts", ge=1, le=256)
    threads: int = knob(2, "Threads that embedding may use; a question gets half of them.", unit="threads", ge=1, le=64)
    max_text_length: int | None = knob(
        None, "Accepted for older files; passages replace cutting texts off.", unit="tokens"
    )

    @property
    def chunk_ceiling(self) -> int:
        """No part of a document is longer as a passage, in estimated tokens."""
        return min(2 * self.chunk_size, CHUNK_TOKENS_CEILING)


class ChunkingSettings(Section):
    enabled: bool = knob(True, "false: a document is one passage, up to 12,000 characters.")
    respect_boundaries: bool = knob(
        True, "Cut between sections, paragraphs and sentences; false: by size alone, within a word too."
    )


class MetadataSettings(Section):
    extract_tags: bool = knob(True, "Take tags from front matter.")
    infer_doc_type: bool = knob(True, "Tell api, guide, architecture, reference and readme documents apart.")
    track_modifications: bool = knob(
        True, "Keep when documents changed, by front matter or else the file; a mail keeps its date in any case."
    )


class HnswSettings(Section):
    construction_ef: int = knob(200, "Neighbours considered while Chroma, Qdrant or pgvector builds its graph.", ge=1)
    search_ef: int = knob(100, "Neighbours considered while it searches.", env="VECTOR_SEARCH_EF_SEARCH", ge=1)
    M: int = knob(16, "Links per vector in its graph.", ge=2, le=512)


class VectorDbSettings(Section):
    store: Annotated[StoreName, LOWER] = knob(
        "auto",
        "What answers vector queries; auto: an exact scan, above a million windows Chroma; pgvector on PostgreSQL.",
    )
    path: Path | None = knob(None, "Where Chroma lies; null: inside index.path.")
    collection_name: str = knob(
        "documents", "The collection of Chroma or Qdrant, before the mark of its model.", min_length=3, max_length=100
    )
    distance_metric: Annotated[Literal["cosine", "l2", "ip"], LOWER] = knob(
        "cosine", "Chroma's distance; vectors have unit length, so all three order alike."
    )
    hnsw_config: HnswSettings = HnswSettings()
    quantization: Annotated[Literal["none", "scalar", "binary"], LOWER] = knob(
        "none", "How a Qdrant server packs the copies of vectors that it keeps in memory."
    )


class StorageSettings(Section):
    catalog: Annotated[Literal["embedded", "postgres"], LOWER] = knob(
        "embedded", "Where documents and passages are kept."
    )
    database_url: Secret = knob(None, "Address of the PostgreSQL database.", env="DATABASE_URL")
    database_schema: str = knob(
        "librarian",
        "The schema that holds this library, so that one database can hold several.",
        pattern=r"^[a-z_][a-z0-9_]{0,50}$",
    )
    text_search: str = knob(
        "english",
        "PostgreSQL's text search configuration: the language of stems and stop words.",
        pattern=r"^[a-z_][a-z0-9_]{0,50}$",
    )
    qdrant_url: Secret = knob(
        None, "Address of the Qdrant server; null: Qdrant's local mode inside index.path.", env="QDRANT_URL"
    )


class LlmSettings(Section):
    enabled: bool = knob(
        False, "Whether a language model may rewrite questions and summarise crawled pages.", env="AGENT_USE_LLM"
    )
    provider: Annotated[Literal["openai", "ollama"], LOWER] = knob(
        "openai", "Which protocol it speaks.", env="LLM_PROVIDER"
    )
    model: str | None = knob(None, "Its name; null: gpt-4o-mini, or llama3.1 with Ollama.", env="LLM_MODEL")
    base_url: str | None = knob(None, "Its address, where it isn't the provider's usual one.", env="OPENAI_BASE_URL")
    api_key: Secret = knob(None, "Its key.", env="OPENAI_API_KEY")
    timeout_s: float = knob(5.0, "A rewrite that takes longer is left out.", unit="s", gt=0)

    @property
    def model_name(self) -> str:
        """The model that is asked."""
        return self.model or ("llama3.1" if self.provider == "ollama" else "gpt-4o-mini")

    @property
    def address(self) -> str:
        """The base URL that is asked."""
        usual = "http://127.0.0.1:11434/v1" if self.provider == "ollama" else OPENAI
        return self.base_url or usual


class McpSettings(Section):
    transport: Annotated[Literal["http-sse", "stdio"], LOWER] = knob(
        "http-sse", "What serve opens: all HTTP transports, or one stdio connection."
    )
    host: str = knob("127.0.0.1", "Address to listen on; beyond this machine only with a token.", env="MCP_HOST")
    port: int = knob(3001, "Port of MCP, REST and the page.", env="MCP_PORT", ge=0, le=65535)
    endpoint: Annotated[str, BeforeValidator(_endpoint)] = knob("/mcp", "Path of Streamable HTTP.")


class ServeSettings(Section):
    idle_timeout_s: int = knob(600, "A keeper that nobody uses ends after this time; 0: never.", unit="s", ge=0)


class SecuritySettings(Section):
    token: Secret = knob(None, "What callers must send as bearer token.", env="MCP_AUTH_TOKEN")
    cors_origins: Annotated[Words, BeforeValidator(values.origins)] = knob(
        (), "Web origins that may call, besides the page itself."
    )
    allowed_hosts: Annotated[Words, BeforeValidator(values.hosts)] = knob(
        (), "Host names under which the server answers, besides those of this machine.", env="MCP_ALLOWED_HOSTS"
    )
    rate_limit: int = knob(0, "The most requests of one caller; 0: no limit.", unit="requests per minute", ge=0)


class LoggingSettings(Section):
    level: Annotated[Literal["debug", "info", "warning", "error"], LOWER] = knob(
        "info", "What is worth a line.", env="LOG_LEVEL"
    )
    file: Path | None = knob(None, "Where log lines go besides stderr; null: librarian.log inside index.path.")
    slow_query_ms: float = knob(
        1000.0, "A search that takes longer is logged with the time of its legs; 0: none is.", unit="ms", ge=0
    )
    as_json: bool = knob(False, "Write each line as a JSON object.", alias="json")


class AnalyticsSettings(Section):
    enabled: bool = knob(False, "Keep every question, on this machine, to show with librarian gaps which found little.")
