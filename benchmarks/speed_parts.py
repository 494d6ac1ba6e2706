"""The raw parts that a search is made of, and how times are taken."""

from __future__ import annotations

import random
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import tantivy

from librarian.library import Librarian
from librarian.models import Filters, Selection

Work = Callable[[str], object]


def percentile(times: Sequence[float], share: float) -> float:
    return float(np.percentile(times, share * 100))


def timed(work: Work, questions: Sequence[str], rounds: int = 2) -> tuple[float, float]:
    """p50 and p95 in ms over all questions, after five to warm up."""
    for question in questions[:5]:
        work(question)
    times = []
    for _ in range(rounds):
        for question in questions:
            started = time.perf_counter()
            work(question)
            times.append((time.perf_counter() - started) * 1000)
    return percentile(times, 0.5), percentile(times, 0.95)


def processor_ms(works: Mapping[str, Work], questions: Sequence[str], rounds: int = 3) -> dict[str, float]:
    """Milliseconds of processor time of each work: the median over the questions of the least over the rounds.

    The works take turns at every question, so that whatever else the machine does falls on all of them.
    """
    for work in works.values():
        work(questions[0])
    least = {name: [float("inf")] * len(questions) for name in works}
    for _ in range(rounds):
        for place, question in enumerate(questions):
            for name, work in works.items():
                started = time.process_time()
                work(question)
                least[name][place] = min(least[name][place], (time.process_time() - started) * 1000)
    return {name: percentile(times, 0.5) for name, times in least.items()}


def questions_of(library: Librarian, count: int = 100) -> list[str]:
    """Eight words each, taken from passages across the library."""
    chance, found = random.Random(7), []
    with library._parts.catalog.read() as reader:
        documents = [stored.doc_id for stored in reader.iter_documents()]
        while len(found) < count:
            chunks = reader.chunks_of(chance.choice(documents))
            words = re.findall(r"[A-Za-z]{4,}", chance.choice(chunks).chunk.text) if chunks else []
            if len(words) >= 12:
                start = chance.randrange(len(words) - 8)
                found.append(" ".join(words[start : start + 8]))
    return found


@dataclass(frozen=True, slots=True)
class RawParts:
    """What a search can't do without, asked directly. Reaches into the engine: nothing else holds these parts."""

    library: Librarian

    @property
    def _parts(self) -> Any:
        return self.library._parts

    @property
    def _engine(self) -> Any:
        engine = self._parts.engine
        while hasattr(engine, "_engine"):  # caches
            engine = engine._engine
        return engine

    def keyword(self, question: str) -> object:
        """The least that a tantivy search can be: any of the terms in the body, fifty addresses."""
        lexical = self._engine._lexical
        terms = [
            (tantivy.Occur.Should, tantivy.Query.term_query(lexical._index.schema, "body", term))
            for term in self._parts.analyzer.query(question).terms
        ]
        return lexical._searcher.search(tantivy.Query.boolean_query(terms), 50, count=False).hits

    def embed(self, question: str) -> Any:
        """The question's vector; kept where the question was asked before."""
        return self._parts.embedder.get().embed_query(question)

    def store(self) -> Any:
        """The vector store that answers."""
        return self._engine._semantic._vectors()

    def everything(self) -> Selection:
        """All passages."""
        return self._parts.catalog.columns().select(Filters())

    def asking(self, mode: str, **given: Any) -> Work:
        """A search that no cache answers."""

        def ask(question: str) -> object:
            self.library.clear_cache()
            return self.library.search(question, mode=mode, **given)

        return ask
