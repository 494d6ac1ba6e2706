"""The data that crosses packages. Ranks and lines are 1-based, offsets are characters, dates ISO 8601 in UTC."""

from __future__ import annotations

import os
import re
import secrets
import time
from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from threading import Event
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, TypeAlias

from .errors import CallerError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

Kind = Literal["document", "email"]
Mode = Literal["keyword", "semantic", "hybrid", "rerank", "hyde", "auto"]
Fusion = Literal["learned", "rrf", "weighted"]
RetrieverState = Literal["ok", "off", "skipped", "failed"]
Answerable = Literal["yes", "unlikely", "unknown"]
MatchType = Literal["keyword", "semantic", "both"]

Vector: TypeAlias = "npt.NDArray[np.float32]"  #: shape (dimension,), unit length
Vectors: TypeAlias = "npt.NDArray[np.float32]"  #: shape (n, dimension), rows of unit length
HalfVectors: TypeAlias = "npt.NDArray[np.float16]"  #: the same as they are kept
Ids: TypeAlias = "npt.NDArray[np.int64]"  #: shape (n,)

WINDOWS_PER_CHUNK = 64  #: window id = chunk id × 64 + the window's ordinal within its chunk


# -- what is read ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file found below the root, before anything of it is read."""

    path: str  #: absolute
    file_path: str  #: relative to the root, `/` as separator, NFC: the document's name everywhere
    product: str
    component: str
    size: int  #: bytes
    mtime_ns: int
    root: str = ""  #: real path of the folder that was scanned; empty where no scan has found this
    below: str = ""  #: path from there to the file without a link in it: another one where `path` holds a link
    device: int = 0  #: with the inode what tells the file from another one in its place
    inode: int = 0

    @property
    def extension(self) -> str:
        """The name's ending with its dot, in lower case, which names its format; empty where there is none."""
        return os.path.splitext(self.file_path)[1].lower()


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading; `start` is the offset of its line in the text."""

    level: int  #: 1–6
    text: str
    line: int
    start: int
    page: int | None = None


@dataclass(frozen=True, slots=True)
class Block:
    """A piece of structure that a chunker may not cut without need. Blocks are in order and don't overlap."""

    kind: Literal["heading", "paragraph", "list", "table", "fence", "quote", "html", "other"]
    start: int
    end: int
    header_end: int | None = None  #: for a table: end of its header rows, for a fence: end of its opening line


@dataclass(frozen=True, slots=True)
class Excluded:
    """A span of the text that is kept for reading but not indexed (quoted mail, shortcodes), and why."""

    start: int
    end: int
    reason: str


#: The reason of a line that names a file that isn't there to be included: shown with its passage, and not searched for.
NOT_INCLUDED = "not included"
#: Reasons of spans that a reader unfolds on demand: a mail's history and trimmings. Other excluded spans stay in sight.
FOLDED = frozenset({"quote", "quote header", "forwarded header", "signature", "footer", "pgp"})
#: The heading path of passages that are quoted history, indexed where the library holds no original.
QUOTED_PATH = ("Quoted",)
#: What the heading of an attachment's text begins with; a mail's own headings are of attachments alone.
ATTACHMENT_HEADING = "Attachment: "


@dataclass(frozen=True, slots=True)
class Link:
    """A link inside a document."""

    text: str  #: as a reader sees it; empty where the page that it leads to says that
    target: str  #: file path, URL or label as written
    start: int


@dataclass(frozen=True, slots=True)
class Attachment:
    """A file that a mail carries, as its headers declare it."""

    filename: str
    content_type: str
    size: int  #: bytes, decoded


@dataclass(frozen=True, slots=True)
class Email:
    """The headers of a mail. Addresses are `Name <address>` or the bare address."""

    subject: str
    sender: str
    to: tuple[str, ...] = ()
    cc: tuple[str, ...] = ()
    date: str | None = None  #: ISO 8601, UTC
    message_id: str = ""  #: without angle brackets
    in_reply_to: tuple[str, ...] = ()
    references: tuple[str, ...] = ()
    thread_id: str = ""
    attachments: tuple[Attachment, ...] = ()
    topic: str = ""  #: the subject without Re: and [tags], in one case
    is_answer: bool = False  #: the subject says that it is a reply
    fingerprint: str = ""  #: of Message-ID and content: equal in copies of one mail


@dataclass(frozen=True, slots=True)
class Included:
    """A file that a document includes, or a place where one was looked for, with `paths.state_of` at that time."""

    path: str  #: relative to the root, with `/`; absolute outside it
    size: int
    mtime_ns: int


@dataclass(frozen=True, slots=True)
class Document:
    """One source, read whole. `text` is decoded, without BOM, with `\\n` newlines, otherwise as it was, apart from the
    files that it includes."""

    file_path: str
    product: str
    component: str
    kind: Kind
    file_type: str  #: with its dot, lower case
    title: str
    text: str
    headings: tuple[Heading, ...] = ()
    blocks: tuple[Block, ...] = ()
    page_starts: tuple[int, ...] = ()  #: offset at which page 1, 2, … begins; empty where the format has no pages
    excluded: tuple[Excluded, ...] = ()
    links: tuple[Link, ...] = ()
    labels: tuple[str, ...] = ()  #: by which other pages may refer to places in it, as Sphinx has them
    doc_type: str = "documentation"  #: api | guide | architecture | reference | readme | documentation
    tags: tuple[str, ...] = ()
    language: str = ""  #: ISO 639-1, empty where unknown
    encoding: str = "utf-8"
    encoding_confidence: float = 1.0
    summary: str = ""
    last_modified: str = ""  #: ISO 8601, UTC: front matter's date, a mail's Date, else the mtime
    size: int = 0
    mtime_ns: int = 0
    content_hash: str = ""  #: SHA-256 of the file's bytes, hex; with `+` and more where it includes other files
    title_in_text: bool = True  #: False where the title was made from the file's name
    front_matter: Mapping[str, object] = field(default_factory=dict)
    email: Email | None = None
    notes: tuple[str, ...] = ()  #: what a reader should know: "no text layer", "broken MIME"
    archive: str = ""  #: file path of the file that holds it beside others (mbox); empty for a file of its own
    included: tuple[Included, ...] = ()  #: files that the text depends on, besides its own

    @property
    def source(self) -> str:
        """File path of the file on disk that it was read from."""
        return self.archive or self.file_path


@dataclass(frozen=True, slots=True)
class Frame:
    """A fence or table: what must stand around any part of it that is shown.

    Offsets are characters from the start of the passage that is in it or holds it: below 0 before the passage, beyond
    its length behind it. `opening` is a fence's opening line or a table's header rows, `closing` a fence's closing line
    (tables have none).
    """

    kind: Literal["fence", "table"]
    start: int
    end: int
    opening: str
    opening_end: int  #: what ends up to here belongs to the opening
    closing: str
    closing_start: int  #: what starts from here is the closing line; the end where there is none


@dataclass(frozen=True, slots=True)
class Chunk:
    """A passage: `document.text[start:end] == text`, always."""

    ordinal: int  #: 0-based within its document
    start: int
    end: int
    text: str
    heading_path: tuple[str, ...] = ()
    heading_level: int = 0
    page: int | None = None
    line_start: int = 1
    line_end: int = 1
    hash: str = ""  #: first 16 hex digits of SHA-256 over embedding prefix and text
    frames: tuple[Frame, ...] = ()  #: that have a part in it, in order
    titles: tuple[tuple[int, int], ...] = ()  #: where headings stand in it, in order, characters from its start
    unseen: tuple[tuple[int, int], ...] = ()  #: runs of whole lines in it that show a reader nothing, likewise


def embedding_prefix(document: Document, heading_path: tuple[str, ...]) -> str:
    """What stands in front of a chunk when it is embedded: `title > heading > heading`.

    A title made from the file's name is left out, so that a rename embeds nothing; a heading equal to the one before
    it (the first heading often is the title) is said once.
    """
    parts: list[str] = []
    for part in (document.title if document.title_in_text else "", *heading_path):
        if part and (not parts or parts[-1] != part):
            parts.append(part)
    return " > ".join(parts)


@dataclass(frozen=True, slots=True)
class KeywordEntry:
    """What the keyword index stores of one chunk: analysed tokens joined by single spaces, field by field."""

    body: str
    title: str
    headings: str
    path: str
    identifiers: str  #: whole identifiers of body, title and headings, normalised


@dataclass(frozen=True, slots=True)
class ReadResult:
    """A document with its chunks, and the keyword entries of those chunks (same order)."""

    document: Document
    chunks: tuple[Chunk, ...]
    entries: tuple[KeywordEntry, ...]
    took_ms: float = 0.0
    members: tuple[ReadResult, ...] | None = None  #: of an archive: what it holds; its own document is a mere label


@dataclass(frozen=True, slots=True)
class Failure:
    """A file that couldn't be read (`kind` failed) or was left out on purpose (`kind` skipped)."""

    file_path: str
    kind: Literal["failed", "skipped"]
    reason: str  #: a short stable word: too_large, binary, unreadable, in_root, extension, ignored, …
    detail: str = ""
    size: int = 0  #: with `mtime_ns`, of the file when it failed: it is read again once they differ
    mtime_ns: int = 0


# -- what is stored ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class StoredChunk:
    """A chunk as the catalog gives it back."""

    chunk_id: int
    doc_id: int
    chunk: Chunk


@dataclass(frozen=True, slots=True)
class Stored:
    """What one `put` did: the new ids, and the ids of what the path held before, gone for good."""

    doc_id: int
    chunk_ids: tuple[int, ...]
    dropped_doc_ids: tuple[int, ...] = ()
    dropped_chunk_ids: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class StoredDocument:
    """A document as the catalog gives it back; its text and structure (`blocks` to `labels`, `front_matter`) are filled
    only where the text was asked for."""

    doc_id: int
    document: Document
    chunk_count: int
    indexed_at: str
    also_in: tuple[str, ...] = ()  #: further paths with the same content


#: Size and time of a file whose stored passages are no longer right: no file has them, so that it is read again.
OUTDATED = -1


@dataclass(frozen=True, slots=True)
class StoredMail:
    """What the catalog knows of a mail without its text."""

    doc_id: int
    file_path: str
    product: str
    component: str
    chunk_count: int
    email: Email


@dataclass(frozen=True, slots=True)
class Window:
    """The part of a chunk that an embedder reads at once; `text` holds prefix and passage as embedded."""

    text: str
    hash: str  #: first 32 hex digits of SHA-256 of `text`
    start: int  #: offsets into the chunk's text
    end: int


@dataclass(frozen=True, slots=True)
class Filters:
    """What a hit must satisfy. All given ones hold at once; inside `tags`, `file_types`, any of."""

    kind: Kind | None = None
    product: str | None = None
    component: str | None = None
    file_types: tuple[str, ...] = ()  #: with dot, lower case
    doc_type: str | None = None
    tags: tuple[str, ...] = ()
    language: str | None = None
    modified_after: str | None = None  #: ISO 8601 UTC, inclusive; for mails their Date
    modified_before: str | None = None  #: inclusive
    sender: str | None = None  #: part of name or address, any case
    thread_id: str | None = None
    subject_contains: str | None = None
    has_attachments: bool | None = None
    file_paths: tuple[str, ...] = ()  #: exact documents
    recipients: tuple[str, ...] = ()  #: all of them parts of names or addresses in To or Cc, any case
    absent: tuple[str, ...] = ()  #: files and folders that are gone, with all that they held; no caller sets it

    def is_empty(self) -> bool:
        """True where everything passes."""
        return self == _NO_FILTERS


_NO_FILTERS = Filters()


@dataclass(frozen=True, slots=True)
class Selection:
    """Which chunks may be answered with, in both notations: the filters, and a mask over chunk ids.

    `mask` has shape (highest chunk id + 1,), dtype bool; None where everything passes. `count` is the number of
    chunks that pass. `doc_ids` are the documents that pass, ascending; None where all do; a mask without filters picks
    single chunks of them. `allowed` names, for each filter on product, component, file_type, doc_type, language, kind
    or tags, the stored values that it lets through (any of), and `modified` the microseconds since 1970 between which,
    inclusive, a date filter lets pass: for indexes that filter by value; `complete` says that these alone make the
    selection.
    """

    filters: Filters
    mask: npt.NDArray[np.bool_] | None
    count: int
    doc_ids: Ids | None = None
    allowed: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    modified: tuple[int, int] | None = None
    complete: bool = False


# -- what is asked and answered ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class AnalyzedQuery:
    """What a question says, as the keyword index understands it."""

    text: str  #: as typed
    terms: tuple[str, ...]  #: stems, stop words removed, in order of appearance, unique
    identifiers: tuple[str, ...]  #: whole identifiers, normalised
    phrases: tuple[tuple[str, ...], ...] = ()  #: quoted; each must occur
    excluded: tuple[str, ...] = ()  #: stems that must not occur
    excluded_phrases: tuple[tuple[str, ...], ...] = field(default=(), kw_only=True)  #: stems, not in this order
    words: tuple[str, ...] = ()  #: all words, lower case, stop words included
    repeated: tuple[tuple[str, int], ...] = ()  #: terms that the question says more than once, and how often
    wanted: str = ""  #: the text without what it excludes
    excludes_alone: bool = False  #: it has nothing but `-words`, which were taken as words then
    common: bool = False  #: it holds stop words alone, which `terms` then are
    language: str = ""  #: ISO 639-1, the library's first where the question doesn't tell its own
    other_forms: tuple[str, ...] = ()  #: terms that are other forms of its words: compounds, spelt-out umlauts
    other_stems: tuple[str, ...] = ()  #: terms by other languages' stems alone; empty where it doesn't tell its own


@dataclass(frozen=True, slots=True)
class Query:
    """What was asked. The original text is never replaced; variants stand beside it."""

    text: str
    mode: Mode = "auto"
    filters: Filters = Filters()
    max_results: int = 10
    offset: int = 0
    semantic_weight: float | None = None
    max_per_document: int = 3  #: passages; 0 = no limit; for mails read as per thread
    include_parent_context: bool = False
    max_tokens: int | None = None
    hypothetical_answer: str | None = None
    ask_llm: bool = True  #: whether a language model may be asked about it; not where the question measures
    packed: bool = False  #: one hit per document, which holds the section that answers; otherwise one per passage
    counted: bool = False  #: whether the caller said how many hits are wanted, as far as they fit into the budget
    explain: bool = True  #: whether hits come with the reasons for their places, and highlights
    include_weak: bool = True  #: whether hits below the noise level of the calibration are shown


@dataclass(frozen=True, slots=True)
class Ranking:
    """One source's opinion: chunk ids, best first, with the source's own raw scores and their 0–1 form."""

    source: str  #: keyword | semantic | hyde | rerank | …
    ids: tuple[int, ...]
    raw: tuple[float, ...]
    scores: tuple[float, ...]  #: same order, in 0–1 (BM25 over its reachable maximum, max(0, cosine), sigmoid)
    status: RetrieverState = "ok"
    reason: str = ""
    ms: float = 0.0
    more: bool = False  #: whether the source stopped at the number that it was asked for
    windows: tuple[int, ...] = ()  #: of each id the ordinal of its nearest window, where the source compared windows


@dataclass(frozen=True, slots=True)
class ScorePart:
    """One reason for a candidate's place: the source, its rank and raw score there, and the points it brings."""

    source: str
    rank: int | None
    raw: float | None
    points: float


@dataclass(frozen=True, slots=True)
class Candidate:
    """A chunk and why it is here; its score is the `math.fsum` of its contributions' points."""

    chunk_id: int
    doc_id: int
    why: tuple[ScorePart, ...]  #: empty where nobody asked
    keyword_score: float | None = None
    semantic_score: float | None = None
    rerank_score: float | None = None
    identifier: bool = False  #: holds the query's identifier verbatim


@dataclass(frozen=True, slots=True)
class RetrieverStatus:
    """How one retriever of a search went."""

    status: RetrieverState
    reason: str = ""
    ms: float = 0.0


@dataclass(frozen=True, slots=True)
class Snippet:
    """A coherent piece of a chunk with the match in it. `highlights` are [start, end) offsets into `text`."""

    text: str
    line_start: int
    line_end: int
    highlights: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Further:
    """A further passage of a document that is found: it is listed, its text isn't shown."""

    line_start: int
    line_end: int
    tokens: int  #: to read it, at four characters a token
    heading: str = ""  #: of the section that it stands in; empty where it stands in none


@dataclass(frozen=True, slots=True)
class Hit:
    """A candidate with its text, ready to be shown."""

    candidate: Candidate
    chunk: StoredChunk
    document: StoredDocument  #: without its text
    snippet: Snippet
    relevance: float
    also_in: tuple[str, ...] = ()
    packed: bool = False  #: whether the snippet is what is shown of the document rather than of the passage
    tokens: int = 0  #: to read the section that it stands in, at four characters a token
    heading_path: tuple[str, ...] = ()  #: of the section that is shown, where the passage begins in another one
    section: tuple[int, int] | None = None  #: first and last line of that section, where more of it is there than shown
    further: tuple[Further, ...] = ()


@dataclass(frozen=True, slots=True)
class SearchOutcome:
    """Everything that search knows about one answered question."""

    query: Query
    mode: Mode  #: the mode that ran
    hits: tuple[Hit, ...]
    total: int
    capped: bool = field(default=False, kw_only=True)  #: `total` counts the best ones, behind which there may be more
    next_offset: int | None
    retrievers: Mapping[str, RetrieverStatus]
    generation: int
    took_ms: float
    answerable: Answerable = "unknown"
    degraded: tuple[str, ...] = ()
    routing: Mapping[str, object] | None = None
    rewritten: Mapping[str, object] | None = None
    cache: Literal["exact", "semantic"] | None = None
    tokens_used: int = 0  #: of the answer as text; 0 where that isn't known yet
    suggestions: tuple[Mapping[str, object], ...] = ()
    weak_hidden: int = 0  #: hits left out because their relevance is below the noise level of the calibration
    found: tuple[int, ...] = ()  #: ids of all documents that `total` counts passages of
    not_mentioned: tuple[str, ...] = ()  #: names and rare words of the question that no document holds, as typed
    not_mentioned_in: str = ""  #: where they were looked for, if not in the whole library: `in product ray`
    calibrated: bool = True  #: relevance has been fitted to this library, or is never
    count: Count = field(default_factory=lambda: Count())  #: what the library held


# -- progress and state --------------------------------------------------------------------------------------------


ESTIMATES_FROM_S = 3.0


def time_left(done: int, total: int, elapsed_s: float) -> float | None:
    """Seconds of work left at the present rate; None in the first seconds, in which rates say little.

    >>> time_left(1, 4, 10.0), time_left(1, 4, 0.1)
    (30.0, None)
    """
    return (total - done) * elapsed_s / done if done and elapsed_s >= ESTIMATES_FROM_S else None


@dataclass(frozen=True, slots=True)
class Progress:
    """How far the indexer is. Rates are per second over the current run."""

    phase: Literal["idle", "scanning", "reading", "embedding", "learning"]
    files_done: int = 0
    files_total: int = 0
    chunks_embedded: int = 0
    chunks_total: int = 0
    files_per_s: float = 0.0
    chunks_per_s: float = 0.0
    eta_s: float | None = None


@dataclass(frozen=True, slots=True)
class IndexReport:
    """What one refresh did. Paths are file paths; `failed` and `skipped` carry their reasons."""

    added: int = 0
    changed: int = 0
    removed: int = 0
    moved: int = 0
    unchanged: int = 0
    failed: tuple[Failure, ...] = ()
    skipped: tuple[Failure, ...] = ()
    chunks: int = 0
    embedded: int = 0
    generation: int = 0
    took_ms: float = 0.0
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Count:
    """Totals of the catalog at one generation."""

    documents: int = 0
    emails: int = 0
    chunks: int = 0
    embedded_chunks: int = 0
    products: int = 0
    by_product: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class FileCounts:
    """Values that filters may take, each with its number of documents; most frequent first, products by name."""

    documents: int = 0
    products: Mapping[str, Mapping[str, int]] = field(default_factory=dict)  #: product → component → documents
    file_types: Mapping[str, int] = field(default_factory=dict)
    doc_types: Mapping[str, int] = field(default_factory=dict)
    languages: Mapping[str, int] = field(default_factory=dict)
    tags: Mapping[str, int] = field(default_factory=dict)
    oldest: str | None = None  #: ISO 8601, UTC; None where no document has a date
    newest: str | None = None


MANY = 5  #: a model of more languages is taken to know them all


@dataclass(frozen=True, slots=True)
class ModelSpec:
    """A row of the model table: what must be known to embed with a model."""

    name: str
    dimension: int
    max_tokens: int
    query_prefix: str = ""
    passage_prefix: str = ""
    pooling: Literal["mean", "cls", "last"] = "mean"
    languages: tuple[str, ...] = ("en",)
    provider: Literal["local", "openai", "bedrock"] = "local"
    window_tokens: int = 0  #: most that a window should hold, where less than `max_tokens` finds better; 0 = no less

    def knows(self, language: str) -> bool:
        """Whether it was trained on texts in a language (ISO 639-1)."""
        return language in self.languages or len(self.languages) > MANY

    @property
    def window_limit(self) -> int:
        """Tokens of a window at most, special tokens included."""
        return min(self.window_tokens or self.max_tokens, self.max_tokens)


SCHEME: Final = "librarian://docs/"  #: of a document's URI; its file path follows, percent-encoded


def passage_id(file_path: str, chunk: Chunk) -> str:
    """`file_path#chunk-<ordinal>@<hash8>`; opaque to callers."""
    return f"{file_path}#chunk-{chunk.ordinal}@{chunk.hash[:8]}"


@dataclass(frozen=True, slots=True)
class Deadline:
    """How long an operation may take, and whether its caller has gone. Checked between stages and batches."""

    deadline: float = float("inf")  #: `time.monotonic()` seconds
    cancelled: Event = field(default_factory=Event)

    @classmethod
    def of_ms(cls, ms: float) -> Deadline:
        """A budget that ends `ms` milliseconds from now."""
        return cls(deadline=time.monotonic() + ms / 1000)

    def check(self) -> None:
        """Raise `CallerError` once time is up or the caller has cancelled."""
        if self.cancelled.is_set():
            raise CallerError("The request was cancelled.")
        if time.monotonic() > self.deadline:
            raise CallerError("The request ran out of time.", hint="Ask for fewer results or a simpler mode.")

    def remaining_ms(self) -> float:
        """Milliseconds left; infinite without a deadline."""
        return (self.deadline - time.monotonic()) * 1000


class TokenSpan(NamedTuple):
    """A token with where it stands in the text."""

    token: str
    start: int
    end: int


DEADLINE: Final[ContextVar[Deadline]] = ContextVar("deadline", default=Deadline())  # noqa: B039  (nobody cancels it)
"""Of the operation that runs in this context."""

REQUEST: Final[ContextVar[str]] = ContextVar("request", default="")
DRAFT: Final[ContextVar[bool]] = ContextVar("draft", default=False)
"""Whether the question is still being typed, so the question log leaves it out."""

_USABLE: Final = re.compile(r"[A-Za-z0-9._-]{1,64}", re.ASCII)


def new_id() -> str:
    """Eight hexadecimal digits: enough to find one request in a log, short enough to read out."""
    return secrets.token_hex(4)


def usable_id(given: str | None) -> str:
    """A caller's own id where it fits on a log line and in a header; else a new one."""
    return given if given is not None and _USABLE.fullmatch(given) else new_id()
