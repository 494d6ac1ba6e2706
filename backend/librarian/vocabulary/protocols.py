"""What rooms promise each other. A room sees only these, never another room. Reading's and the
catalog's have pages of their own.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from threading import Event
from typing import NamedTuple, Protocol, TypeVar, runtime_checkable

from .catalog_protocols import Catalog as Catalog
from .catalog_protocols import CatalogReader as CatalogReader
from .catalog_protocols import Columns as Columns
from .errors import CallerError
from .models import ModelSpec
from .reading_protocols import Archive as Archive
from .reading_protocols import Chunker as Chunker
from .reading_protocols import Parser as Parser
from .reading_protocols import Reader as Reader
from .reading_protocols import Scanner as Scanner
from .types import (
    FEATURES,
    AnalyzedQuery,
    Document,
    HalfVectors,
    Ids,
    LexicalEntry,
    Ranking,
    Selection,
    Vector,
    Vectors,
    Window,
)

T_co = TypeVar("T_co", covariant=True)


@dataclass(frozen=True, slots=True)
class Budget:
    """How long a verb may take, and whether its caller has gone. Checked between stages and batches."""

    deadline: float = float("inf")  #: `time.monotonic()` seconds
    cancelled: Event = field(default_factory=Event)

    @classmethod
    def of_ms(cls, ms: float) -> Budget:
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


class Loadable(Protocol[T_co]):
    """Something slow to load and able to fail: loaded once, in the background or at first use.

    A failed load is remembered and tried again after 60 s, doubling to an hour, and at `reset`.
    """

    def get(self) -> T_co:
        """The loaded thing. Raises `Unavailable` with the remembered reason."""

    def peek(self) -> T_co | None:
        """The thing where it is loaded already; never loads."""

    def problem(self) -> str:
        """Why the last load failed; empty where it didn't."""

    def reset(self) -> None:
        """Forget the failure: the next `get` tries again."""


# -- language ------------------------------------------------------------------------------------------------------


class TokenSpan(NamedTuple):
    """A token with where it stands in the text."""

    token: str
    start: int
    end: int


class Analyzer(Protocol):
    """One notion of words, stems and identifiers for index, query, snippet and guard."""

    @property
    def fingerprint(self) -> str:
        """Changes whenever the same text would give other tokens."""

    def tokens(self, text: str, language: str = "") -> list[str]:
        """Tokens as indexed: stems without stop words, identifiers whole and split, CJK as bigrams."""

    def sieve(
        self, tokens: Collection[str], language: str = ""
    ) -> Callable[[str, int, int], Sequence[tuple[int, int]]]:
        """A quick look at `text[start:end]`: first and last offset of each of its pieces, in order, but for such as
        hold none of the tokens nor one that begins like one."""

    def spans(self, text: str, language: str = "") -> list[TokenSpan]:
        """The same tokens with their places, for highlighting."""

    def by_piece(self, language: str = "") -> Mapping[str, Sequence[tuple[str, int, int, bool]]]:
        """Piece, which is what stands between two blanks, → its tokens, each with where it begins and ends in it and
        whether it is a whole identifier; `spans` gives these, one after another."""

    def entry(self, text: str, language: str = "") -> tuple[str, list[str]]:
        """The same joined by single spaces, and whole identifiers: names with `_ . - / :`, inner capitals, versions."""

    def query(self, text: str, languages: Sequence[str] = ()) -> AnalyzedQuery:
        """A question analysed for all `languages` that the library holds; never raises."""

    def is_word(self, word: str, languages: Sequence[str] = ()) -> bool:
        """Whether a dictionary of one of these languages, or of English, has a word in lower case. False is weak: names
        and new words are in none."""

    def is_common(self, word: str, languages: Sequence[str] = ()) -> bool:
        """Whether a word in lower case, or a form of it, is frequent in one of these languages or in English, or a
        common word of computing."""

    def slips(self, word: str, languages: Sequence[str] = ()) -> Mapping[str, tuple[str, ...]]:
        """Every spelling that is one letter left out, added, changed or swapped away from a word in lower case, with
        the tokens that it is indexed as in any of these languages; none, where it is a stop word."""

    def detect(self, text: str) -> str:
        """ISO 639-1 code of the text's language, empty where unsure."""


# -- shelving ------------------------------------------------------------------------------------------------------


class LexicalIndex(Protocol):
    """Postings: which chunks hold which terms."""

    @property
    def damage(self) -> str:
        """Why its files can't be read, where that was met since it was opened; opening it anew empties it."""

    def put(self, items: Iterable[tuple[int, int, Document, LexicalEntry]]) -> None:
        """(chunk id, document id, its document, its entry); visible after `commit`. Adds: what an id held before must
        be deleted first (in the same commit is fine)."""

    def delete(self, doc_ids: Iterable[int]) -> None:
        """Drop every entry of these documents; visible after `commit`."""

    def delete_chunks(self, chunk_ids: Iterable[int]) -> None:
        """Drop single entries of documents that stay; visible after `commit`."""

    def commit(self, generation: int) -> None:
        """Show what was put and deleted to the next search, under this generation of the catalog."""

    @property
    def generation(self) -> int:
        """Of the last commit; 0 where there was none."""

    def search(self, query: AnalyzedQuery, selection: Selection, limit: int) -> Ranking:
        """Best chunks by BM25 over weighted fields; `scores` are BM25 over the most this query could reach."""

    def features(self, query: AnalyzedQuery, chunk_ids: Ids, names: Collection[str] = FEATURES) -> dict[str, Vector]:
        """Scores of given chunks, for a ranker: each of `names` → array in the order of `chunk_ids`. `bm25` is what
        `search` gives as `scores` (0–1 over what this query could reach; 0 where nothing matches);
        `body`, `title`, `headings`, `path` are those fields' BM25 alone on the same scale; `identifiers` is the share
        of the query's identifiers that the chunk holds verbatim (in body, title or headings), 0 without any."""

    def admitted(self, query: AnalyzedQuery, chunk_ids: Ids) -> Ids:
        """Those of these chunks that hold all quoted phrases of the query and nothing that it excludes, by id."""

    def frequencies(self, terms: Collection[str]) -> dict[str, int]:
        """Those of these terms that some chunk's body, title, headings or path holds, each with about how many do: for
        telling which are frequent. Deleted ones may count a while; counts may end at some hundreds."""

    def vocabulary(self, prefix: str, limit: int, *, identifiers: bool = False) -> list[str]:
        """Indexed terms of bodies, or identifiers, that start so, most frequent first."""

    def count(self) -> int:
        """How many chunks have an entry."""

    def dead(self) -> int:
        """How many deleted entries the scores still count."""

    def tally(self) -> dict[int, int]:
        """Document id → how many entries it has, for reconciling."""

    def clear(self) -> None:
        """Drop everything, at once."""

    def rollback(self) -> None:
        """Forget what was put and deleted since the last commit."""

    def close(self) -> None:
        """Let go of the files; what wasn't committed is lost."""


class VectorStore(Protocol):
    """Windows' vectors of one model, by window id (chunk id × 64 + ordinal). A projection: it can be rebuilt."""

    name: str

    def upsert(self, ids: Ids, vectors: Vectors, payloads: Sequence[Mapping[str, object]] | None = None) -> None:
        """Store or replace; shapes (n,) and (n, dimension), scaled to unit length, the last of equal ids winning.

        `payloads`, one for each, are what a store that filters by itself filters on. Raises `ValueError` where shapes
        don't fit or a vector holds a NaN; then nothing of the batch is stored."""

    def delete(self, ids: Ids) -> None:
        """Drop these windows; unknown ids are left aside."""

    def search(self, vector: Vector, limit: int, selection: Selection) -> tuple[Ids, Vector]:
        """Window ids and cosines, best first, of chunks that pass; ties by id. Fewer where fewer pass.

        `vector` has shape (dimension,); both arrays have shape (at most `limit`,). Raises `ValueError` for another
        shape or a NaN."""

    def count(self) -> int:
        """How many windows are stored."""

    def ids(self) -> Ids:
        """Every stored id, ascending, for reconciling."""

    def clear(self) -> None:
        """Drop everything, at once."""

    def close(self) -> None:
        """Let go of files and connections; what was stored stays."""


@runtime_checkable
class BulkStore(VectorStore, Protocol):
    """A store that can be filled at once while it is empty, much faster than by `upsert`."""

    def load(self, batches: Iterable[tuple[Ids, Vectors | HalfVectors, Sequence[Mapping[str, object]]]]) -> int:
        """(ids, vectors, payloads), no id twice; returns the rows. Raises `ValueError` where the store isn't empty."""


class VectorArchive(Protocol):
    """The truth about vectors: (window hash, model) → vector, kept apart from the catalog."""

    def get(self, model: str, hashes: Sequence[str]) -> dict[str, Vector]:
        """The vectors that are known of `hashes`, as unit-length float32; notes that they were used today."""

    def scan(self, model: str, wanted: Container[str]) -> Iterator[tuple[list[str], HalfVectors]]:
        """(hashes, rows as they are kept) batch by batch from one reading of all: faster where much of it is wanted."""

    def models(self) -> list[str]:
        """Fingerprints of the models that vectors are kept of."""

    def put(self, model: str, vectors: Mapping[str, Vector]) -> None:
        """Keep vectors, replacing equal hashes, in one transaction. Raises `ValueError` on a NaN or another shape."""

    def prune(self, model: str, alive: set[str]) -> int:
        """Drop vectors that no chunk has used for 30 days or that exceed a quarter of the file."""

    def count(self, model: str | None = None) -> int:
        """How many vectors are kept, of one model or of all."""

    def close(self) -> None:
        """Let go of the file."""


# -- models --------------------------------------------------------------------------------------------------------


class Embedder(Protocol):
    """Text to unit vectors."""

    spec: ModelSpec

    @property
    def fingerprint(self) -> str:
        """Model and arithmetic (int8 or fp32): vectors of two fingerprints never meet."""

    @property
    def backend(self) -> str:
        """onnx-int8 | onnx-fp32 | torch | openai | …"""

    @property
    def device(self) -> str:
        """cpu | cuda | remote"""

    def windows(self, prefix: str, text: str) -> list[Window]:
        """The windows that together hold every token of `text`, each within the model's limit, prefix included."""

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """Shape (len(texts), dimension), rows of unit length, float32. Texts are windows' texts."""

    def embed_query(self, text: str) -> Vector:
        """Shape (dimension,), unit length, float32."""

    def close(self) -> None:
        """Let go of the model."""


class Reranker(Protocol):
    """Reads question and passage together."""

    name: str

    def score(self, query: str, passages: Sequence[str], budget: Budget) -> list[float | None]:
        """A logit per passage, in order; None for passages not reached within the budget."""


@dataclass(frozen=True, slots=True)
class Rewrite:
    """What a language model made of a question."""

    search_terms: str
    hypothetical_answer: str
    model: str
    ms: float


class QueryRewriter(Protocol):
    """A language model that is asked for better search terms and the answer it would expect."""

    name: str

    def rewrite(self, query: str, budget: Budget) -> Rewrite:
        """Raises `Unavailable` with one clear sentence."""

    def is_connected(self) -> bool:
        """Whether its server answers now."""

    def close(self) -> None:
        """End its connections."""


# -- counting ------------------------------------------------------------------------------------------------------


@runtime_checkable
class Observer(Protocol):
    """Where rooms tell what happened, for /metrics and logs."""

    def __call__(self, event: str, **fields: object) -> None: ...
