"""The two retrievers: chunks by the query's words, and by its meaning."""

from __future__ import annotations

import base64
import binascii
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..embeddings.base import Embedder, LazyModel
from ..errors import Unavailable
from ..models import WINDOWS_PER_CHUNK, Ids, ModelSpec, Ranking, Selection, Vector, Vectors
from ..storage.base import Columns
from ..vector_stores.base import VectorStore
from ..vector_stores.exact import ExactStore
from .candidates import Floats


@dataclass(frozen=True, slots=True, eq=False)
class QueryAdapter:
    """Questions of one model, turned toward one library's passages."""

    model: str  #: fingerprint of the model whose questions it maps
    matrix: Vectors  #: M of shape (dimension, dimension); its rows aren't of unit length

    def __call__(self, question: Vector) -> Vector:
        """The unit vector of `question + M question`."""
        turned = question + self.matrix @ question
        length = float(np.linalg.norm(turned))
        return np.asarray(turned / length, dtype=np.float32) if length > 0 else question

    def as_text(self) -> str:
        """The matrix, to be kept: base64 of float16, row by row."""
        return base64.b64encode(self.matrix.astype("<f2").tobytes()).decode("ascii")

    @classmethod
    def of_text(cls, model: str, text: str) -> QueryAdapter | None:
        """What `as_text` made; None for anything else."""
        try:
            numbers = np.frombuffer(base64.b64decode(text, validate=True), dtype="<f2").astype(np.float32)
        except (binascii.Error, ValueError):
            return None
        dimension = round(len(numbers) ** 0.5)
        if not dimension or dimension * dimension != len(numbers) or not np.isfinite(numbers).all():
            return None
        return cls(model, numbers.reshape(dimension, dimension))


#: Characters between the beginnings of two windows, for each token of a window's limit: of 128 tokens a title with
#: headings takes some 15 and the overlap 16.
WINDOW_CHARACTERS = 3

#: Windows read per wanted chunk: chunks of about 200 tokens have two or three windows of 128.
WINDOWS_READ = 3

#: Content words from which a question is a sentence, and a paragraph: these quote by the way, as prose does.
QUOTING_SENTENCE, QUOTING_PARAGRAPH = 6, 12
#: Quotes, and an exclusion in quotes, which keeps its own.
QUOTE_MARKS = re.compile(r'(?<!\S)-(?:"[^"]*"|“[^“”]*”)|["“”]')


def better_of(own: Ranking, expanded: Ranking) -> Ranking:
    """Each chunk with the better of its scores for the query, and for the query together with further terms.

    Both are shares of what their query could reach, and the second holds all words of the first: a chunk can't get far
    by the further terms alone.
    """
    if own.status != "ok" or expanded.status != "ok":
        return own
    best = dict(zip(own.ids, own.scores, strict=True))
    for chunk, score in zip(expanded.ids, expanded.scores, strict=True):
        best[chunk] = max(score, best.get(chunk, 0.0))
    ids = tuple(sorted(best, key=lambda chunk: (-best[chunk], chunk)))
    scores = tuple(best[chunk] for chunk in ids)
    return replace(own, ids=ids, raw=scores, scores=scores, ms=own.ms + expanded.ms, more=own.more or expanded.more)


class VectorRetriever:
    """Makes vector queries of texts. Of `adapters` the one that was learned for the model is applied to queries."""

    def __init__(
        self,
        embedder: LazyModel[Embedder] | None,
        vectors: Callable[[], VectorStore | None],
        *,
        threshold: float = 0.05,
    ) -> None:
        self._embedder = embedder
        self._vectors = vectors
        self._threshold = threshold
        self.configured = embedder is not None  #: False where embeddings are switched off
        self.adapters: tuple[QueryAdapter, ...] = ()

    def query(self, text: str, *, adapted: bool = True, embedded: int = 0) -> VectorQuery:
        """The vector query of a text, adapted to the library where it is `adapted`.

        Raises `Unavailable` where there is no model or no vector; `embedded` chunks have one in the catalog.
        """
        if self._embedder is None:
            raise Unavailable("Embeddings are switched off.", hint="Set embeddings.enabled to search by meaning.")
        embedder = self._embedder.get()
        store = self._vectors()
        if store is None or store.count() == 0:
            what = f"The vectors of {embedded:,} passages are still to be read from where they are kept."
            what = what if embedded else "No passage is embedded yet."
            raise Unavailable(what, hint="Keyword search works meanwhile.")
        vector = embedder.embed_query(text)
        adapter = next((one for one in self.adapters if adapted and one.model == embedder.fingerprint), None)
        turned, plain = (vector, None) if adapter is None else (adapter(vector), vector)
        return VectorQuery(store, embedder.spec, self._threshold, turned, plain)


@dataclass(frozen=True, slots=True, eq=False)
class VectorQuery:
    """A query as a vector. A chunk's cosine is its best window's."""

    store: VectorStore
    model: ModelSpec
    threshold: float  #: cosines up to this count as 0
    vector: Vector
    plain: Vector | None = None  #: as the model embeds it, where `vector` is adapted to the library

    def toward(self, answer: VectorQuery, own_share: float) -> VectorQuery:
        """The query between this one and a hypothetical answer's."""
        mixed = own_share * self.vector + (1 - own_share) * answer.vector
        return replace(self, vector=np.asarray(mixed / max(float(np.linalg.norm(mixed)), 1e-12), dtype=np.float32))

    def rank(self, source: str, selection: Selection, limit: int) -> Ranking:
        """The best chunks above the threshold. Raises `Unavailable`."""
        started = time.perf_counter()
        windows, cosines = map(np.asarray, self.store.search(self.vector, limit * WINDOWS_READ, selection))
        # best first: the first window of a chunk is its best
        chunks, places = np.unique(windows // WINDOWS_PER_CHUNK, return_index=True)
        best, nearest = cosines[places].astype(np.float64), windows[places] % WINDOWS_PER_CHUNK
        near = np.count_nonzero(best > self.threshold)
        first = np.lexsort((chunks, -best))[:near][:limit]
        more = near > limit or (near == len(chunks) and len(windows) >= limit * WINDOWS_READ)
        return Ranking(
            source,
            tuple(chunks[first].tolist()),
            tuple(best[first].tolist()),
            tuple(np.clip(best[first], 0.0, 1.0).tolist()),
            ms=since(started),
            more=bool(more),
            windows=tuple(nearest[first].tolist()),
        )

    def cosines(self, chunk_ids: Ids, nearest: Sequence[int], columns: Columns) -> tuple[Floats, float | None]:
        """Cosines of given chunks, and the best one of the `nearest` chunks before the query was adapted, which brings
        a query that the library doesn't answer nearer to its passages too; None where it wasn't."""
        found = self._cosines(self.vector, chunk_ids, columns)
        if self.plain is None:
            return found, None
        plain = self._cosines(self.plain, np.sort(np.array(nearest, dtype=np.int64)), columns)
        return found, float(np.nan_to_num(plain).max(initial=0.0))

    def _cosines(self, vector: Vector, chunk_ids: Ids, columns: Columns) -> Floats:
        """Of given chunks, by rising id, 0 where not above the threshold, NaN where there is no vector."""
        best = np.full(len(chunk_ids), np.nan)
        if not len(chunk_ids):
            return best
        if isinstance(self.store, ExactStore):
            windows, cosines = self.store.cosines(vector, chunk_ids)
        else:
            limit = len(chunk_ids) * WINDOWS_READ * 2
            windows, cosines = self.store.search(vector, limit, columns.only(chunk_ids))
        np.fmax.at(best, np.searchsorted(chunk_ids, windows // WINDOWS_PER_CHUNK), cosines)
        return np.where(best > self.threshold, best, 0.0 * best)


def since(started: float) -> float:
    """Milliseconds since a time of `time.perf_counter`."""
    return (time.perf_counter() - started) * 1000
