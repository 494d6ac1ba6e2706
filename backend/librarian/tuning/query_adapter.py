"""Learns from the library's own headings and link texts how its questions are to be turned, and keeps what was learned.

A quarter of the pages is held out: from their questions nothing is learned, and only where these find their pages
better than before is what was learned used. Whatever else is fitted to own questions is fitted to these.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..embeddings.base import Embedder, LazyModel
from ..errors import Unavailable
from ..evaluation.evaluate import SEED
from ..models import WINDOWS_PER_CHUNK, Filters, HalfVectors, Ids, Selection, Vector, Vectors
from ..search.engine import HybridSearchEngine
from ..search.retrievers import QueryAdapter
from ..storage.base import Catalog, Columns, EmbeddingCache
from ..vector_stores.base import VectorStore
from . import own_questions
from .background import Record, Training
from .own_questions import OwnQuestion

TEMPERATURE = 0.05  #: of the softmax: cosines that differ by this much differ by e in probability
#: Weight of the matrix's squared length, halved; from `MANY` examples on, and more where they are fewer.
RIDGE, MANY = 0.05, 600
SHARE = 0.6  #: share of the learned matrix that is used: with keyword search beside it, less serves all sets
#: Adam's (Kingma and Ba 2015), with its second rate lower, since steps are few.
STEP, FIRST_RATE, SECOND_RATE = 0.002, 0.9, 0.99
EPOCHS, BATCH = 8, 128


@dataclass(frozen=True, slots=True)
class Examples:
    """Questions with passages that do and don't answer them."""

    questions: Vectors  #: shape (n, dimension)
    rows: HalfVectors  #: vectors of passages, shape (m, dimension)
    among: Ids  #: each question's candidates as rows, shape (n, k); −1 where it has fewer
    answers: npt.NDArray[np.bool_]  #: which of these answer, shape (n, k)

    def __len__(self) -> int:
        return len(self.questions)


def train_adapter(examples: Examples) -> Vectors:
    """The matrix M, shape (dimension, dimension): a question q becomes q + M q.

    `SHARE` of one of little loss: of the mean over the second half of all steps, which wavers less than any of them
    (Polyak and Juditsky 1992). The same examples give the same matrix.
    """
    dimension = examples.questions.shape[1]
    matrix = np.zeros((dimension, dimension), dtype=np.float32)
    first, second = np.zeros_like(matrix), np.zeros_like(matrix)
    mean, steps = np.zeros_like(matrix), EPOCHS * -(-len(examples) // BATCH)
    chance, step = np.random.default_rng(SEED), 0
    ridge = RIDGE * max(1.0, MANY / max(1, len(examples)))
    for _ in range(EPOCHS):
        order = chance.permutation(len(examples))
        for start in range(0, len(order), BATCH):
            slope = _slope(examples, order[start : start + BATCH], matrix) + ridge * matrix
            step += 1
            first += (1 - FIRST_RATE) * (slope - first)
            second += (1 - SECOND_RATE) * (slope * slope - second)
            scale = np.sqrt(second / (1 - SECOND_RATE**step)) + 1e-8
            matrix -= STEP * (first / (1 - FIRST_RATE**step)) / scale
            if step > steps // 2:
                mean += (matrix - mean) / (step - steps // 2)
    return SHARE * mean


def _slope(examples: Examples, chosen: Ids, matrix: Vectors) -> Vectors:
    """The loss's mean gradient over some of the questions, shape of the matrix."""
    asked, among = examples.questions[chosen], examples.among[chosen]
    candidates = examples.rows[among].astype(np.float32)
    turned = asked + asked @ matrix.T
    length = np.linalg.norm(turned, axis=1, keepdims=True)
    unit = turned / length
    logits = np.where(among < 0, -np.inf, np.matmul(candidates, unit[:, :, None])[:, :, 0] / TEMPERATURE)
    weights = np.exp(logits - logits.max(axis=1, keepdims=True))
    right = weights * examples.answers[chosen]
    share = right.sum(axis=1, keepdims=True)
    wanted = np.divide(right, share, out=np.zeros_like(right), where=share > 0)
    missed = (weights / weights.sum(axis=1, keepdims=True) - wanted) / TEMPERATURE
    pull = np.matmul(missed[:, None, :].astype(np.float32), candidates)[:, 0]
    pull = (pull - (pull * unit).sum(axis=1, keepdims=True) * unit) / length
    return np.asarray(pull.T @ asked / len(chosen), dtype=np.float32)


KEY = "query adapter"
LEARNER = 2  #: raised where the same library would be learned from otherwise
#: With fewer questions to learn from, or to measure on, nothing is learned.
FEWEST, FEWEST_HELD = 150, 40
LEARNED_FROM, TRIED_ON = 3000, 400  #: at most; links before headings, which mostly say what their passages do
GAIN = 0.005  #: that MRR of the held out questions must rise at least
OTHERS, ANSWERING = 24, 8  #: candidates of each question: other documents' best windows, and those of its answers
DEPTH = 200  #: windows that are searched for them


class Learned(Record):
    """What was learned, next to the matrix."""

    questions: int
    held_out: int
    before: float = 0.0  #: MRR of the held-out questions without the adapter …
    after: float = 0.0  #: … and with it

    def note(self) -> str:
        """One sentence for the status."""
        return (
            f"semantic: questions are adapted to this library, learned on {self.questions} of its headings and link "
            f"texts; MRR of {self.held_out} held out goes from {self.before:.2f} to {self.after:.2f}"
        )


class AdapterTraining(Training[Learned]):
    """Learns a query adapter for the model whose vectors answer, and has the engine use it.

    Args:
        store: the vectors that answer.
        embedder: what questions are embedded with; None if embeddings are switched off.
        model: fingerprint of the model whose vectors answer; empty if there are none.
    """

    KEY, RECORD, FEWEST_CHUNKS = KEY, Learned, FEWEST

    def __init__(
        self,
        engine: HybridSearchEngine,
        catalog: Catalog,
        archive: EmbeddingCache,
        *,
        store: Callable[[], VectorStore | None],
        embedder: LazyModel[Embedder] | None,
        model: Callable[[], str],
        complete: Callable[[], bool],
        ended: threading.Event,
    ) -> None:
        super().__init__(engine, catalog, complete=complete, ended=ended)
        self._archive = archive
        self._store = store
        self._embedder = embedder
        self._model = model
        self.in_use = False  #: whether questions are adapted

    def notes(self) -> Sequence[str]:
        """Sentences about the adapter in use, for the status."""
        return (self._record.note(),) if self.in_use and self._record else ()

    def fingerprints(self) -> Sequence[str]:
        """Names what is in use, for what is fitted on top of it; empty if nothing is."""
        return (self._record.model_dump_json(),) if self.in_use and self._record else ()

    def _fingerprint(self) -> str:
        model = self._model() if self._embedder is not None else ""
        return f"{LEARNER}|{model}" if model else ""

    def _use(self, record: Learned) -> None:
        with self._catalog.read() as reader:
            matrix = reader.meta(f"{KEY} matrix")
        adapter = QueryAdapter.of_text(self._model(), matrix) if matrix else None
        self._engine.use(adapters=[adapter] if adapter is not None else [])
        self.in_use = adapter is not None

    def _learned(self) -> Learned:
        adapter, learned = self._trained()
        self._catalog.set_meta(f"{KEY} matrix", adapter.as_text() if adapter is not None else "")
        return learned

    def _trained(self) -> tuple[QueryAdapter | None, Learned]:
        learn, held = self._questions()
        if len(learn) < FEWEST or len(held) < FEWEST_HELD:
            return None, Learned(questions=len(learn), held_out=len(held))
        model = self._model()
        library = _Vectors(self._catalog, self._archive, self._searched(), model, self._go_on)
        learn, held = library.answerable(learn), library.answerable(held)
        if len(learn) < FEWEST or len(held) < FEWEST_HELD:
            return None, Learned(questions=len(learn), held_out=len(held))
        adapter = QueryAdapter(model, train_adapter(library.examples(learn, self._embedded(learn))))
        asked = self._embedded(held)
        before = float(np.mean(library.reciprocal_ranks(held, asked)))
        after = float(np.mean(library.reciprocal_ranks(held, [adapter(question) for question in asked])))
        learned = Learned(questions=len(learn), held_out=len(held), before=before, after=after)
        return (adapter if after - before >= GAIN else None), learned

    def _questions(self) -> tuple[list[OwnQuestion], list[OwnQuestion]]:
        """Those to learn from and those held out. The documents go before anything else takes memory."""
        documents = own_questions.documents_of(self._catalog)
        links, headings = own_questions.of_links(documents), own_questions.of_headings(documents)
        learn = own_questions.sample(own_questions.taught(links), LEARNED_FROM)
        learn += own_questions.sample(own_questions.taught(headings), LEARNED_FROM - len(learn))
        return learn, own_questions.sample(own_questions.untaught([*links, *headings]), TRIED_ON)

    def _searched(self) -> VectorStore:
        store = self._store()
        if store is None:
            raise Unavailable("No vectors can be asked now.", hint="It is learned at the next start.")
        return store

    def _embedded(self, questions: Sequence[OwnQuestion]) -> list[Vector]:
        assert self._embedder is not None
        embedder = self._embedder.get()
        found = []
        for question in questions:
            self._go_on()
            found.append(embedder.embed_query(question.rated.text))
        return found


class _Vectors:
    """The library's windows, to look among for what answers a question and what doesn't.

    `go_on` is called between questions, and raises once there is no point in going on.
    """

    def __init__(
        self, catalog: Catalog, archive: EmbeddingCache, store: VectorStore, model: str, go_on: Callable[[], None]
    ) -> None:
        self._archive, self._store, self._model, self._go_on = archive, store, model, go_on
        self._columns: Columns = catalog.columns()
        self._everything = self._columns.select(Filters())
        windows = list(catalog.windows(model))
        self._ids = np.array([number for number, _ in windows], dtype=np.int64)
        self._hashes = [digest for _, digest in windows]
        self._docs = self._columns.doc_of(self._ids // WINDOWS_PER_CHUNK)
        with catalog.read() as reader:
            self._doc_ids = {stored.document.file_path: stored.doc_id for stored in reader.iter_documents()}

    def answerable(self, questions: Sequence[OwnQuestion]) -> list[OwnQuestion]:
        """Those with vectors of an answer: pages may be empty."""
        embedded = set(self._docs.tolist())
        return [one for one in questions if not embedded.isdisjoint(self._ids_of(one.answers))]

    def examples(self, questions: Sequence[OwnQuestion], asked: Sequence[Vector]) -> Examples:
        """Each question with the best windows of its answers and of other documents."""
        chosen: list[tuple[Ids, Ids]] = []
        for question, vector in zip(questions, asked, strict=True):
            self._go_on()
            answers = self._ids_of(question.answers)
            left_out = {*answers, *self._ids_of(question.ignored)}
            right, _ = self._store.search(vector, ANSWERING, self._only(answers))
            found, _ = self._store.search(vector, DEPTH, self._everything)
            chosen.append((right, self._best_of_each(found, left_out)[:OTHERS]))
        wanted = np.unique(np.concatenate([one for pair in chosen for one in pair]))
        among = np.full((len(chosen), ANSWERING + OTHERS), -1, dtype=np.int64)
        answering = np.zeros(among.shape, dtype=np.bool_)
        for row, (right, others) in enumerate(chosen):
            both = np.concatenate([right, others])
            among[row, : len(both)] = np.searchsorted(wanted, both)
            answering[row, : len(right)] = True
        return Examples(np.stack(asked), self._rows(wanted), among, answering)

    def reciprocal_ranks(self, questions: Sequence[OwnQuestion], asked: Sequence[Vector]) -> list[float]:
        """1 / the rank of each question's first answer among documents by their best windows; 0 where it isn't seen."""
        ranks = []
        for question, vector in zip(questions, asked, strict=True):
            self._go_on()
            answers, ignored = self._ids_of(question.answers), set(self._ids_of(question.ignored))
            found, _ = self._store.search(vector, DEPTH, self._everything)
            docs = self._columns.doc_of(self._best_of_each(found, ignored) // WINDOWS_PER_CHUNK)
            right = np.flatnonzero(np.isin(docs, answers))
            ranks.append(1 / (1 + int(right[0])) if len(right) else 0.0)
        return ranks

    def _ids_of(self, pages: Iterable[str]) -> list[int]:
        return [self._doc_ids[page] for page in pages if page in self._doc_ids]

    def _only(self, docs: Sequence[int]) -> Selection:
        return self._columns.only(np.unique(self._ids[np.isin(self._docs, docs)] // WINDOWS_PER_CHUNK))

    def _best_of_each(self, windows: Ids, left_out: set[int]) -> Ids:
        """The first window of each document but those, in order."""
        docs = self._columns.doc_of(windows // WINDOWS_PER_CHUNK)
        _, first = np.unique(docs, return_index=True)
        first = np.sort(first)
        return windows[first[~np.isin(docs[first], [0, *left_out])]]

    def _rows(self, windows: Ids) -> HalfVectors:
        """Their vectors, shape (n, dimension)."""
        places = np.minimum(np.searchsorted(self._ids, windows), len(self._ids) - 1)
        if (self._ids[places] != windows).any():
            raise Unavailable("The library changed meanwhile.", hint="It is learned from once that is over.")
        hashes = [self._hashes[place] for place in places.tolist()]
        found: list[Vectors] = []
        for start in range(0, len(hashes), 1000):
            some = hashes[start : start + 1000]
            known = self._archive.get(self._model, some)
            if missing := len(some) - sum(digest in known for digest in some):
                raise Unavailable(f"{missing} vectors are missing.", hint="`librarian check --repair` mends that.")
            found.append(np.stack([known[digest] for digest in some]).astype(np.float16))
        return np.concatenate(found)
