"""Libraries with judged questions, indexed once and asked often: what the quality benchmarks share."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "backend"))


from learning import VectorRequest
from librarian.bootstrap import build
from librarian.documents.dependencies import Dependencies
from librarian.evaluation.evaluate import RatedQuery, load
from librarian.models import Deadline, Document, Mode, Query
from librarian.search.engine import HybridSearchEngine
from librarian.search.explain import Analyst
from librarian.search.ranker import READ, document_features, shipped
from librarian.settings import Settings
from librarian.tuning import own_questions

ANCHORS_AT_MOST = 200

UNADAPTED = {"search.query_adapter": False}  #: for `opened`: questions stay as the model embeds them

LEFT_OUT = "left_out.json"  #: in the work folder: set or product → weights that `train_ranker.py` learned without it


@dataclass(frozen=True, slots=True)
class JudgedSet:
    """A folder of documents, the part of it that is indexed, and its judged questions.

    A name like `abstracts@cacm` is that of a further set, made from documents of another by a script: it is learned
    from, lightly, and never where the other one is tested. Without questions (`-`) a set has its link texts alone.
    """

    name: str
    docs: Path
    include: tuple[str, ...]
    queries: Path
    qrels: Path

    @classmethod
    def of(cls, given: Sequence[str]) -> JudgedSet:
        """From NAME DOCS INCLUDE QUERIES QRELS; INCLUDE is `*` for everything."""
        name, docs, include, queries, qrels = given
        return cls(name, Path(docs), () if include == "*" else (include,), Path(queries), Path(qrels))

    def questions(self) -> list[RatedQuery]:
        return [] if self.queries == Path("-") else load(self.queries, self.qrels)

    @property
    def product(self) -> str:
        """The one product that is indexed; empty where it is all of the folder."""
        return self.include[0].split("/")[0] if self.include else ""

    @property
    def origin(self) -> str:
        """The set that a further one was made from; its own name otherwise."""
        return self.name.partition("@")[2] or self.name

    @property
    def further(self) -> bool:
        return "@" in self.name


def engine_of(parts: Dependencies) -> HybridSearchEngine:
    return cast(Analyst, parts.analyst).engine


def settings_of(judged: JudgedSet, work: Path) -> dict[str, object]:
    """The settings, by dotted key, of the set's library, whose index lies in `work`."""
    return {
        "docs.root_path": str(judged.docs),
        "docs.include": list(judged.include),
        "docs.watch_for_changes": False,
        "vector_db.store": "exact",
        "index.path": str(work / judged.name),
    }


@contextmanager
def opened(judged: JudgedSet, work: Path, **overrides: object) -> Iterator[Dependencies]:
    """The set's library, indexed and embedded (again only what changed)."""
    parts = build(Settings.load(None, overrides=settings_of(judged, work) | overrides))
    try:
        parts.start()
        parts.indexing.wait_until_ready()
        if parts.learning is not None:
            parts.learning.wait()
        yield parts
    finally:
        parts.close()


def asked(
    parts: Dependencies, questions: Sequence[own_questions.OwnQuestion | RatedQuery], names: Sequence[str]
) -> list[VectorRequest]:
    """Every question's candidate documents with their features."""
    engine, found = engine_of(parts), []
    with parts.catalog.read() as reader:
        paths = {stored.doc_id: stored.document.file_path for stored in reader.iter_documents()}
        for question in questions:
            own = isinstance(question, own_questions.OwnQuestion)
            judged = question.rated if own else question
            seen = document_features(engine.rank(Query(judged.text, mode="hybrid"), reader).candidates)
            files = [paths[doc] for doc in seen.ids.tolist()]
            counted = [question.page_of(file) if own else file for file in files]
            asked_of = np.array([page is not None for page in counted], dtype=np.bool_)
            nothing = np.zeros(len(seen))
            values = np.stack([seen.values.get(name, nothing) for name in names], axis=1)[asked_of]
            pages = [page for page in counted if page is not None]
            grades = np.array([judged.grades.get(page, 0) for page in pages], dtype=np.int64)
            found.append(VectorRequest(judged, pages, values, grades))
    return found


def weights_without(name: str, work: Path) -> dict[str, float]:
    """The weights learned without a set, from the work folder; those shipped where they never learned from it."""
    kept: dict[str, dict[str, float]] = json.loads((work / LEFT_OUT).read_text("utf-8"))
    weights = kept.get(name) or {feature: shipped().weights.get(feature, 0.0) for feature in READ}
    assert tuple(weights) == READ
    return weights


def documents(parts: Dependencies) -> list[Document]:
    """All documents with links and headings."""
    with parts.catalog.read() as reader:
        ids = [stored.doc_id for stored in reader.iter_documents()]
        return [stored.document for stored in reader.documents(ids, text=True).values()]


def anchors(parts: Dependencies) -> list[own_questions.OwnQuestion]:
    """The library's link texts as questions, at most `ANCHORS_AT_MOST`; none that its questions are turned by."""
    own = own_questions.of_links(documents(parts))
    own = own_questions.untaught(own) if engine_of(parts)._semantic.adapters else own
    return own_questions.sample(own, ANCHORS_AT_MOST)


def ranked(parts: Dependencies, text: str, mode: str, weight: float | None = None) -> list[str]:
    """File paths of the answer, one passage per document."""
    query = Query(text, mode=cast(Mode, mode), max_results=50, max_per_document=1, semantic_weight=weight)
    hits = engine_of(parts).search(query, Deadline()).hits
    return [hit.document.document.file_path for hit in hits]


def add_arguments(parser: object) -> None:
    parser.add_argument(  # type: ignore[attr-defined]
        "--set",
        nargs=5,
        action="append",
        required=True,
        metavar=("NAME", "DOCS", "INCLUDE", "QUERIES", "QRELS"),
        help="a folder, which part of it is indexed (glob pattern or *), and the judged questions (- for none)",
    )
    parser.add_argument("--work", type=Path, required=True, help="where the indexes are kept")  # type: ignore[attr-defined]
