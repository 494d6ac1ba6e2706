"""Whether the passage that answers comes first: questions in people's own words, each with the lines that answer it.

`answers/*.jsonl` has some 65 questions for each of four products, written by readers of its pages: `text`, and
`answers`, each a file with its first and last line. They avoid the headings' words. A result answers if it holds half
of such lines, or half of it lies within them. Beside each mode stands the plain pipeline (`plain.py`), whose passages
are judged by the same rule. The weights were learned without anything of the product (`train_ranker.py` runs first).

    python benchmarks/answers.py --work FOLDER --model FOLDER DOCS [--product ray …]
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NamedTuple, cast

import numpy as np
import numpy.typing as npt

import learning
from judged_sets import UNADAPTED, JudgedSet, engine_of, opened, weights_without
from librarian.documents.dependencies import Dependencies
from librarian.evaluation.evaluate import RatedQuery, randomisation
from librarian.models import Deadline, Mode, Query
from librarian.search.engine import HybridSearchEngine
from librarian.search.ranker import LinearRanker, chunk_scores, document_features
from plain import PlainPipeline
from rivals import pipeline_of

FOLDER = Path(__file__).parent / "answers"
PRODUCTS = ("kubernetes", "ray", "fastapi", "prometheus")
MODES = ("keyword", "semantic", "hybrid", "auto", "hyde")
RIVALS = {"plain semantic": "semantic", "plain hybrid": "hybrid"}
AGAINST = "plain hybrid"
RESULTS = 10


class Place(NamedTuple):
    """Lines of a file, from 1, the last one among them."""

    path: str
    first: int
    last: int

    def answers(self, wanted: Place) -> bool:
        """Whether half of the wanted lines are these, or half of these are wanted."""
        shared = min(self.last, wanted.last) - max(self.first, wanted.first) + 1
        shortest = min(self.last - self.first, wanted.last - wanted.first) + 1
        return self.path == wanted.path and 2 * shared >= shortest


@dataclass(frozen=True, slots=True)
class VectorRequest:
    """A question and the places that answer it."""

    text: str
    answers: tuple[Place, ...]

    def judged(self, results: Sequence[Place]) -> tuple[int, bool]:
        """The rank of the first result that answers, 0 for none, and whether the first result is of the right page."""
        ranks = (rank for rank, found in enumerate(results, start=1) if any(found.answers(one) for one in self.answers))
        return next(ranks, 0), bool(results) and results[0].path in {one.path for one in self.answers}


def questions(product: str) -> list[VectorRequest]:
    """A product's questions, none where there are none of it."""
    if product not in PRODUCTS:
        return []
    rows = map(json.loads, (FOLDER / f"{product}.jsonl").read_text("utf-8").splitlines())
    return [VectorRequest(row["text"], tuple(Place(*one) for one in row["answers"])) for row in rows]


def asked(parts: Dependencies, product: str, names: Sequence[str]) -> Iterator[learning.VectorRequest]:
    """A product's questions with their candidate documents: graded 1 where the best passage answers."""
    engine = engine_of(parts)
    with parts.catalog.read() as reader:
        paths = {stored.doc_id: stored.document.file_path for stored in reader.iter_documents()}
        for one in questions(product):
            pool = engine.rank(Query(one.text, mode="hybrid"), reader).candidates
            seen = document_features(pool)
            best = {int(pool.doc_ids[row]): row for row in np.argsort(chunk_scores(pool), kind="stable").tolist()}
            chunks = reader.chunks([int(pool.chunk_ids[row]) for row in best.values()])
            grades = []
            for doc in seen.ids.tolist():
                chunk = chunks[int(pool.chunk_ids[best[doc]])].chunk
                place = Place(paths[doc], chunk.line_start, chunk.line_end)
                grades.append(int(any(place.answers(wanted) for wanted in one.answers)))
            values = np.stack([seen.values.get(name, np.zeros(len(seen))) for name in names], axis=1)
            pages = [paths[doc] for doc in seen.ids.tolist()]
            judged = RatedQuery(one.text, one.text, dict(zip(pages, grades, strict=True)))
            yield learning.VectorRequest(judged, pages, values, np.array(grades, dtype=np.int64))


def places(docs: Path, pipeline: PlainPipeline) -> list[Place]:
    """Where each passage of the plain pipeline stands in its file: its own lines, without the headings' line."""
    found: list[Place] = []
    lines: list[str] = []
    for number, (path, text) in enumerate(zip(pipeline.paths, pipeline.texts, strict=True)):
        if not number or path != pipeline.paths[number - 1]:
            lines, start = (docs / path).read_text("utf-8", errors="replace").splitlines(), 0
        own = text.split("\n")[1:]
        start = next((at for at in range(start, len(lines)) if lines[at : at + len(own)] == own), 0) if own else 0
        found.append(Place(path, start + 1, start + max(1, len(own))))
    return found


def by_rival(pipeline: PlainPipeline, where: Sequence[Place], mode: str, text: str) -> list[Place]:
    return [where[number] for number in pipeline.passages(text, mode)[:RESULTS]]


def by_engine(engine: HybridSearchEngine, mode: str, text: str) -> list[Place]:
    hits = engine.search(Query(text, mode=cast(Mode, mode), max_results=RESULTS), Deadline()).hits
    passages = [(hit.document.document.file_path, hit.chunk.chunk) for hit in hits]
    return [Place(path, chunk.line_start, chunk.line_end) for path, chunk in passages]


def searches(
    product: str, docs: Path, work: Path, model: Path, overrides: Mapping[str, object]
) -> Iterator[tuple[str, Callable[[str], list[Place]]]]:
    """Each rival's and each mode's name with its best results' places."""
    pipeline = pipeline_of(docs, product, model, work)
    where = places(docs, pipeline)
    for name, mode in RIVALS.items():
        yield name, partial(by_rival, pipeline, where, mode)
    with opened(JudgedSet(product, docs, (f"{product}/**",), Path("-"), Path("-")), work, **overrides) as parts:
        engine_of(parts).use(ranker=LinearRanker(weights_without(product, work)))
        for mode in MODES:
            yield mode, partial(by_engine, engine_of(parts), mode)


Ranks = npt.NDArray[np.int64]  #: of each question the answer's rank, 0 for none, and 1 for the right page first


def reciprocal(judged: Ranks) -> list[float]:
    return [1 / rank if rank else 0.0 for rank in judged[:, 0].tolist()]


def table(found: dict[str, Ranks]) -> str:
    rows = ["| | first | first three | first ten | MRR@10 | right page first | p of MRR@10 |", "|---" * 7 + "|"]
    against = reciprocal(found[AGAINST])
    for name, judged in found.items():
        ranks = judged[:, 0]
        shares = [np.mean((ranks > 0) & (ranks <= most)) for most in (1, 3, RESULTS)]
        p = "—" if name == AGAINST else f"{randomisation(reciprocal(judged), against):.4f}"
        cells = [*(f"{share:.0%}" for share in shares), f"{np.mean(reciprocal(judged)):.3f}"]
        rows.append(f"| {name} | {' | '.join(cells)} | {np.mean(judged[:, 1]):.0%} | {p} |")
    return "\n".join(rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("docs", type=Path, help="a folder with the products' folders")
    parser.add_argument("--product", action="append", choices=PRODUCTS, help="all four by default")
    parser.add_argument("--work", type=Path, required=True, help="where the indexes are kept")
    parser.add_argument("--model", type=Path, required=True, help="the folder of the plain pipeline's model")
    parser.add_argument("--unadapted", action="store_true", help="leave questions as the model embeds them")
    given = parser.parse_args()
    overrides = UNADAPTED if given.unadapted else {}
    every: dict[str, list[Ranks]] = {}
    for product in given.product or PRODUCTS:
        asked, found = questions(product), {}
        for name, search in searches(product, given.docs, given.work, given.model, overrides):
            found[name] = np.array([one.judged(search(one.text)) for one in asked], dtype=np.int64)
            every.setdefault(name, []).append(found[name])
        print(f"\n{product}, {len(asked)} questions\n\n{table(found)}", flush=True)
    print("\nall\n\n" + table({name: np.concatenate(parts) for name, parts in every.items()}))


if __name__ == "__main__":
    main()
