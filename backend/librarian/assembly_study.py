"""Measures a library's answers, and fits its ranker's weights to what its own links say."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from . import desk
from .evaluation import own_questions
from .evaluation.evaluate import as_dict, evaluate
from .evaluation.judgments import Judged, load
from .evaluation.learning import Asked, Floats, quality, trained
from .evaluation.own_questions import OwnQuestion
from .evaluation.statistics import interval, randomisation
from .finding import modes
from .finding.hybrid_search import HybridSearchEngine
from .finding.ranker import READ, LinearRanker, shipped
from .vocabulary.errors import CallerError
from .vocabulary.protocols import Budget, Catalog
from .vocabulary.types import Document, Query

WEIGHTS_FILE = "ranker.json"  #: in the index folder: weights adopted for this library
MODES = ("keyword", "semantic", "hybrid")
QUESTIONS_AT_MOST = 400
FEWEST_LINKS = 40
#: How firmly the shipped weights hold: a few dozen questions move them little.
RIDGE = 0.02
FOUND = 50


def adopted(index: Path) -> LinearRanker:
    """The weights that were adopted for the library, or the shipped ones."""
    try:
        data = json.loads((index / WEIGHTS_FILE).read_text("utf-8"))
        return LinearRanker({name: float(weight) for name, weight in data["weights"].items()})
    except FileNotFoundError:
        return shipped()
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise CallerError(
            f"The weights in {index / WEIGHTS_FILE} can't be read ({error!r}).", hint="Delete the file and tune again."
        ) from error


class Study:
    """The verb `evaluate`: judged questions from files, or the library's own; and tuning on the latter.

    Args:
        index: folder in which adopted weights are kept.
        changed: called once other weights are in use.
        most: the most results that one search gives.
    """

    def __init__(
        self,
        engine: HybridSearchEngine,
        catalog: Catalog,
        index: Path,
        changed: Callable[[], object],
        *,
        most: int = FOUND,
    ) -> None:
        self._most = most
        self._engine = engine
        self._catalog = catalog
        self._index = index
        self._changed = changed

    def __call__(
        self,
        library: desk.Librarian,
        *,
        budget: Budget,
        queries: str = "",
        qrels: str = "",
        modes: Sequence[str] = MODES,
        product: str | None = None,
        own: bool = False,
        tune: bool = False,
        adopt: bool = False,
        reset: bool = False,
    ) -> Mapping[str, object]:
        """Shapes as `evaluation.as_dict`; fifty results of one document each."""
        if reset:
            (self._index / WEIGHTS_FILE).unlink(missing_ok=True)
            self._use(shipped())
            return {"modes": {}, "notes": ["The shipped weights are in use."]}
        if tune:
            return self._tune(budget, adopt)
        questions = self._own() if own else []
        ignored = {question.judged.text: question.ignored for question in questions}

        def search(text: str, mode: str) -> Sequence[str]:
            budget.check()
            given: dict[str, Any] = {"mode": mode, "max_per_document": 1, "product": product}
            found: list[str] = []
            offset: int | None = 0
            while offset is not None and len(found) < FOUND:
                given |= {"max_results": min(FOUND, self._most), "offset": offset}
                page = library.search(text, budget=budget, **given)
                found += [result.file_path for result in page.results]
                offset = page.next_offset
            return [path for path in found if path not in ignored.get(text, ())]

        judged = [question.judged for question in questions] if own else load(Path(queries), Path(qrels))
        answer = as_dict(evaluate(judged, search, list(modes)))
        return {**answer, "notes": [_about(questions)] if own else self._strangers(judged)}

    def _strangers(self, judged: Sequence[Judged]) -> list[str]:
        """A note about the files that count as relevant and that no search can find."""
        wanted = {path for question in judged for path, grade in question.grades.items() if grade > 0}
        with self._catalog.read() as reader:
            missing = sorted(path for path in wanted if reader.document_by_path(path, text=False) is None)
        if not missing:
            return []
        return [f"{len(missing)} of {len(wanted)} relevant files aren't in the index, for example {missing[0]!r}"]

    def _own(self) -> list[OwnQuestion]:
        """Link texts, and headings where there are few of them. Raises `CallerError` where there are neither."""
        documents = self._documents()
        questions = own_questions.sample(own_questions.of_links(documents), QUESTIONS_AT_MOST)
        if len(questions) < FEWEST_LINKS:
            questions += own_questions.sample(own_questions.of_headings(documents), QUESTIONS_AT_MOST - len(questions))
        if not questions:
            raise CallerError(
                "The library holds no question of its own: no link to another page, no heading of two words.",
                hint="Give judged questions with --queries and --qrels.",
            )
        return questions

    def _tune(self, budget: Budget, adopt: bool) -> Mapping[str, object]:
        """Weights learned on half of the own questions, tried on the other half; used from now on where told."""
        questions = self._own()
        learn, held = (self._asked(half, budget) for half in own_questions.halves(questions))
        if not learn or not held:
            raise CallerError("The library has too few questions of its own to tune on.", hint="Judge some yourself.")
        now = np.array([self._engine.weights.get(name, 0.0) for name in READ])
        prior = np.array([shipped().weights.get(name, 0.0) for name in READ])
        weights = _as_high(trained([learn], prior=prior, ridge=RIDGE), prior, learn)
        before, after = quality(held, now), quality(held, weights)
        rows = {"now": _row(before, before), "tuned": _row(after, before)}
        tuned = {name: round(float(weight), 2) for name, weight in zip(READ, weights, strict=True)}
        notes = [
            f"{_about(questions)}; learned on {len(learn)}, shown on {len(held)} held out",
            f"weights now: {_weights(self._engine.weights)}",
            f"weights tuned: {_weights(tuned)}",
        ]
        if adopt:
            text = json.dumps({"tuned_on": len(learn), "weights": tuned}, indent=2)
            (self._index / WEIGHTS_FILE).write_text(text + "\n", "utf-8")
            self._use(LinearRanker(tuned))
        notes.append(
            f"Adopted: kept in {WEIGHTS_FILE} of the index folder; `librarian tune --reset` takes them back."
            if adopt
            else "Nothing was changed. `librarian tune --adopt` uses the tuned weights."
        )
        return {"questions": len(held), "modes": rows, "weights": tuned, "adopted": adopt, "notes": notes}

    def _asked(self, questions: Sequence[OwnQuestion], budget: Budget) -> list[Asked]:
        found = []
        with self._catalog.read() as reader:
            paths = {stored.doc_id: stored.document.file_path for stored in reader.iter_documents()}
            for question in questions:
                budget.check()
                seen = modes.weighed(
                    self._engine.judge(Query(question.judged.text, mode="hybrid"), reader, budget).pool
                )
                names = [paths.get(doc, "") for doc in seen.ids.tolist()]
                asked = np.array([name not in question.ignored for name in names], dtype=np.bool_)
                values = np.stack([seen.values[name] for name in READ], axis=1)[asked]
                names = [name for name in names if name not in question.ignored]
                grades = np.array([question.judged.grades.get(name, 0) for name in names], dtype=np.int64)
                found.append(Asked(question.judged, names, values, grades))
        return found

    def _documents(self) -> list[Document]:
        with self._catalog.read() as reader:
            ids = [stored.doc_id for stored in reader.iter_documents()]
            return [stored.document for stored in reader.documents(ids, text=True).values()]

    def _use(self, ranker: LinearRanker) -> None:
        self._engine.use(ranker=ranker)
        self._changed()


def _as_high(weights: Floats, usual: Floats, questions: Sequence[Asked]) -> Floats:
    """The weights, scaled so that best sums stay as high as the usual weights make them: relevance is read off sums."""
    best = [(one.values @ np.stack([weights, usual], axis=1)).max(axis=0) for one in questions if len(one.values)]
    if not best or not (means := np.mean(best, axis=0)).all():
        return weights
    return np.asarray(weights * (means[1] / means[0]))


def _row(values: Sequence[float], first: Sequence[float]) -> dict[str, object]:
    low, high = interval(values)
    mean, other = float(np.mean(values)), float(np.mean(first))
    p = None if values is first else randomisation(values, first)
    return {"nDCG@10": {"mean": mean, "low": low, "high": high, "difference": mean - other, "p": p}}


def _weights(weights: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {weights.get(name, 0.0):g}" for name in READ)


def _about(questions: Sequence[OwnQuestion]) -> str:
    links = sum(question.source == "links" for question in questions)
    return f"{links} link texts and {len(questions) - links} headings as questions"
