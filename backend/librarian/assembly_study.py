"""Measures a library's answers, and fits its ranker's weights to what its own links say."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from . import schemas
from .evaluation import own_questions
from .evaluation.evaluate import as_dict, evaluate
from .evaluation.judgments import Judged, Judgments, read
from .evaluation.learning import Asked, Floats, quality, trained
from .evaluation.own_questions import OwnQuestion
from .evaluation.statistics import interval, randomisation
from .finding import modes
from .finding.hybrid_search import HybridSearchEngine
from .finding.ranker import ABROAD, READ, LinearRanker, shares_of, shipped
from .finding.run import OFF
from .library import Librarian
from .vocabulary.errors import CallerError
from .vocabulary.paths import name_of
from .vocabulary.protocols import Budget, Catalog
from .vocabulary.types import Document, Query
from .vocabulary.whole_file import write_whole

WEIGHTS_FILE = "ranker.json"  #: in the index folder: weights adopted for this library
MODES = ("keyword", "semantic", "hybrid")
QUESTIONS_AT_MOST = 400
FEWEST_LINKS = 40
#: How firmly the shipped weights hold: a few dozen questions move them little.
RIDGE = 0.02
CHANCE = 0.05  #: the p from which on a difference says nothing
SEEN = 10  #: documents that the measures read
FOUND = 50  #: passages that hold as many mails
UNASKED = "the language model was asked nothing: --llm has it rewrite the questions, as it does others"


@dataclass(frozen=True, slots=True)
class Adopted:
    """The weights in use, and what the status says of them: empty for the shipped ones."""

    ranker: LinearRanker
    tuned_on: int = 0
    model: str = ""  #: the model whose vectors they were learned with
    problem: str = ""

    def note(self, model: str) -> str:
        """What the status says while `model` answers."""
        if self.problem:
            return f"ranking: {WEIGHTS_FILE} can't be read ({self.problem}); the shipped weights are in use."
        if not self.tuned_on:
            return ""
        told = f"ranking: weights of `librarian tune`, learned on {self.tuned_on} questions of this library"
        if self.model and model and self.model != model:
            return f"{told} with {self.model}, while {model} answers: tune again, or `librarian tune --reset`."
        return f"{told}."


def adopted(index: Path) -> Adopted:
    """The weights that were adopted for the library, or the shipped ones: also where the file can't be read."""
    try:
        data = json.loads((index / WEIGHTS_FILE).read_text("utf-8"))
        weights = {str(name): float(weight) for name, weight in data["weights"].items()}
        if strange := sorted(weights.keys() ^ set(READ)):
            raise ValueError(f"not the features that are weighed: {', '.join(strange)}")
        if not all(0 <= weight < float("inf") for weight in weights.values()) or not any(weights.values()):
            raise ValueError("a weight isn't a number from 0")
        return Adopted(LinearRanker(weights, ABROAD), int(data["tuned_on"]), str(data.get("model", "")))
    except FileNotFoundError:
        return Adopted(shipped())
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        return Adopted(shipped(), problem=f"no {error}" if isinstance(error, KeyError) else str(error))


class _Shortfalls:
    """What is to be told of the answers that were measured: where they aren't the mode's own."""

    def __init__(self) -> None:
        self._mode = ""
        self._others: Counter[str] = Counter()

    def begins(self, mode: str) -> bool:
        """Whether another mode is asked than before."""
        before, self._mode = self._mode, mode
        return before != mode

    def note(self, page: schemas.SearchResponse | schemas.EmailSearchResponse) -> None:
        """Remember a question's first page."""
        asked = page.requested_mode
        retriever = getattr(page.retrievers, asked, None)  # hybrid and auto have none
        whys = list(page.degraded)
        if not whys and retriever is not None and retriever.status != "ok":
            whys = [retriever.reason]
        if page.mode != asked != "auto":
            whys = [f"answered in mode {page.mode}", *(why for why in whys if why != OFF.reason)]
        if whys and asked != "keyword":  # words never miss anything
            self._others[": ".join([asked, *whys])] += 1

    def notes(self, questions: int) -> list[str]:
        """A sentence for each kind, and how many questions it holds for; the ten most frequent."""
        return [f"{what} ({count} of {questions} questions)" for what, count in self._others.most_common(10)]


class Study:
    """The operation `evaluate`: judged questions from files, or the library's own; and tuning on the latter.

    Args:
        index: folder in which adopted weights are kept.
        model: names the models whose vectors answer.
        fusion: how the legs are joined; weights are learned for `learned` alone.
        changed: called once other weights are in use.
        most: the most results that one search gives.
        rewriter: whether a language model rewrites questions that aren't measured.
        adapted: whether questions are turned by what was learned from own ones: those held out are asked then.
    """

    def __init__(
        self,
        engine: HybridSearchEngine,
        catalog: Catalog,
        index: Path,
        changed: Callable[[], object],
        *,
        model: Callable[[], str],
        fusion: str = "learned",
        most: int = FOUND,
        rewriter: bool = False,
        adapted: Callable[[], bool] = lambda: False,
    ) -> None:
        self._model = model
        self._fusion = fusion
        self._most = most
        self._rewriter = rewriter
        self._adapted = adapted
        self._adopted = adopted(index)
        engine.use(ranker=self._adopted.ranker)
        self._engine = engine
        self._catalog = catalog
        self._index = index
        self._changed = changed

    def __call__(
        self,
        library: Librarian,
        *,
        deadline: Budget,
        queries: str = "",
        qrels: str = "",
        modes: Sequence[str] = MODES,
        product: str | None = None,
        own: bool = False,
        llm: bool = False,
        tune: bool = False,
        adopt: bool = False,
        reset: bool = False,
    ) -> Mapping[str, object]:
        """Shapes as `evaluation.as_dict`; as many results as the measures read, of one document each."""
        if reset:
            (self._index / WEIGHTS_FILE).unlink(missing_ok=True)
            self._use()
            return {"modes": {}, "notes": ["The shipped weights are in use."]}
        if tune:
            return self._tune(deadline, adopt)
        asked = list(dict.fromkeys(modes))
        questions = self._own() if own else []
        by_itself = Judgments([one.judged for one in questions], [self._about(questions)])
        given = by_itself if own else self._read(queries, qrels)
        mails, strange = self._told(given.questions)
        asking = {question.judged.text: question for question in questions}
        shortfalls = _Shortfalls()

        def search(text: str, mode: Any) -> Sequence[str]:
            deadline.check()
            if shortfalls.begins(mode):
                library.clear_cache()  # what a mode takes is to be measured, not what memory takes
            ask = library.search_emails if text in mails else library.search
            limit: dict[str, Any] = (
                {"max_per_thread": 0} if text in mails else {"max_per_document": 1, "include_weak": True}
            )
            found: list[str] = []
            offset: int | None = 0
            own = asking.get(text)
            further = len(own.ignored) + len(own.editions) if own is not None else 0
            wanted = FOUND if text in mails else SEEN + further
            while offset is not None and len(found) < wanted:
                page = ask(
                    text, deadline=deadline, mode=mode, product=product, offset=offset,
                    max_results=min(wanted, self._most), brief=True, **limit,
                )  # fmt: skip
                if not offset:
                    shortfalls.note(page)
                found += [result.file_path for result in page.results]
                offset = page.next_offset
            return own.pages_of(found) if own is not None else found

        answer = as_dict(evaluate(given.questions, search, asked))
        unasked = [UNASKED] if self._rewriter and not llm and {*asked} & {"hybrid", "rerank", "hyde", "auto"} else []
        return {**answer, "notes": [*given.notes, *strange, *unasked, *shortfalls.notes(len(given.questions))]}

    def notes(self) -> tuple[str, ...]:
        """What the status says of the weights."""
        note = self._adopted.note(self._model())
        return (note,) if note else ()

    def _read(self, queries: str, qrels: str) -> Judgments:
        """Judgments from files, their paths as the library spells them."""
        given = read(Path(queries), Path(qrels))
        with self._catalog.read() as reader:

            def spelled(path: str) -> str:
                usual = name_of(path).replace("\\", "/").removeprefix("./")
                known = (reader.document_by_path(one, text=False) is not None for one in (path, usual))
                return usual if list(known) == [False, True] else path

            paths = {path for question in given.questions for path in question.grades}
            names = {path: spelled(path) for path in paths}
        questions = [
            replace(question, grades={names[path]: grade for path, grade in question.grades.items()})
            for question in given.questions
        ]
        return replace(given, questions=questions)

    def _told(self, judged: Sequence[Judged]) -> tuple[frozenset[str], list[str]]:
        """Questions whose answers are mails alone, and notes about relevant files that no search can find."""
        wanted = {path for question in judged for path, grade in question.grades.items() if grade > 0}
        with self._catalog.read() as reader:
            found = {path: reader.document_by_path(path, text=False) for path in sorted(wanted)}
        kinds = {path: stored.document.kind for path, stored in found.items() if stored is not None}
        mails = {path for path, kind in kinds.items() if kind == "email"}
        missing = [path for path, stored in found.items() if stored is None]
        notes = []
        if missing:
            notes.append(
                f"{len(missing)} of {len(wanted)} relevant files aren't in the index, for example {missing[0]!r}"
            )
        answers = {one.text: {path for path, grade in one.grades.items() if grade > 0} for one in judged}
        of_mails = frozenset(text for text, paths in answers.items() if paths <= mails)
        mixed = [text for text, paths in answers.items() if paths & mails and text not in of_mails]
        if of_mails:
            notes.append(f"asked of the mails, since mails alone answer them: {len(of_mails)} questions")
        if mixed:
            notes.append(f"with mails among their answers, which no search of documents finds: {len(mixed)} questions")
        return of_mails, notes

    def _own(self) -> list[OwnQuestion]:
        """Link texts, and headings where there are few of them. Raises `CallerError` where there are neither."""
        documents = self._documents()
        questions = own_questions.sample(self._untaught(own_questions.of_links(documents)), QUESTIONS_AT_MOST)
        if len(questions) < FEWEST_LINKS:
            asked = {question.judged.text.lower() for question in questions}
            headings = self._untaught(own_questions.of_headings(documents))
            further = [one for one in headings if one.judged.text.lower() not in asked]
            questions += own_questions.sample(further, QUESTIONS_AT_MOST - len(questions))
        if not questions:
            raise CallerError(
                "The library holds no question of its own: no link to another page, no heading of two words.",
                hint="Give judged questions with --queries and --qrels.",
            )
        return questions

    def _about(self, questions: Sequence[OwnQuestion]) -> str:
        links = sum(question.source == "links" for question in questions)
        told = f"{links} link texts and {len(questions) - links} headings as questions"
        return f"{told}, of pages held out when questions were adapted to the library" if self._adapted() else told

    def _untaught(self, own: list[OwnQuestion]) -> list[OwnQuestion]:
        return own_questions.untaught(own) if self._adapted() else own

    def _tune(self, deadline: Budget, adopt: bool) -> Mapping[str, object]:
        """Weights learned on half of the own questions, tried on the other half; used from now on where told."""
        if self._fusion != "learned":
            raise CallerError(
                f"search.fusion is {self._fusion}, which reads no learned weights.",
                hint="Set search.fusion to learned; a semantic weight, and PostgreSQL, choose another one.",
            )
        questions = self._own()
        learn, held = (self._asked(half, deadline) for half in own_questions.halves(questions))
        if not learn or not held:
            raise CallerError("The library has too few questions of its own to tune on.", hint="Judge some yourself.")
        now = np.array([self._engine.weights.get(name, 0.0) for name in READ])
        prior = np.array([shipped().weights.get(name, 0.0) for name in READ])
        weights = _as_high(trained([learn], prior=prior, ridge=RIDGE), prior, learn)
        before, after = quality(held, now), quality(held, weights)
        rows = {"now": _row(before, before), "tuned": _row(after, before)}
        gain, p = float(np.mean(after) - np.mean(before)), randomisation(after, before)
        tuned = {name: round(float(weight), 2) for name, weight in zip(READ, weights, strict=True)}
        notes = [
            f"{self._about(questions)}; learned on {len(learn)}, shown on {len(held)} held out",
            f"weights now: {_weights(self._engine.weights)}",
            f"weights tuned: {_weights(tuned)}",
        ]
        if gain <= 0 or p >= CHANCE:
            notes.append("The held-out questions show no gain beyond chance.")
        if adopt:
            text = json.dumps({"tuned_on": len(learn), "model": self._model(), "weights": tuned}, indent=2)
            write_whole(self._index / WEIGHTS_FILE, text + "\n")
            self._use()
        notes.append(
            f"Adopted: kept in {WEIGHTS_FILE} of the index folder; `librarian tune --reset` takes them back."
            if adopt
            else "Nothing was changed. `librarian tune --adopt` uses the tuned weights."
        )
        return {"questions": len(held), "modes": rows, "weights": tuned, "adopted": adopt, "notes": notes}

    def _asked(self, questions: Sequence[OwnQuestion], deadline: Budget) -> list[Asked]:
        found = []
        with self._catalog.read() as reader:
            paths = {stored.doc_id: stored.document.file_path for stored in reader.iter_documents()}
            for question in questions:
                deadline.check()
                pool = self._engine.judge(
                    Query(question.judged.text, mode="hybrid", ask_llm=False), reader, deadline
                ).pool
                seen = modes.weighed(pool)
                pages = [question.page_of(paths.get(doc, "")) for doc in seen.ids.tolist()]
                asked = np.array([page is not None for page in pages], dtype=np.bool_)
                values = np.stack([seen.values[name] for name in READ], axis=1)[asked]
                shares = shares_of(pool)  # of the weights, which is how it is when questions are answered
                values *= np.array([shares.get(name, 1.0) for name in READ])
                names = [page for page in pages if page is not None]
                grades = np.array([question.judged.grades.get(name, 0) for name in names], dtype=np.int64)
                found.append(Asked(question.judged, names, values, grades))
        return found

    def _documents(self) -> list[Document]:
        with self._catalog.read() as reader:
            ids = [stored.doc_id for stored in reader.iter_documents()]
            return [stored.document for stored in reader.documents(ids, text=True).values()]

    def _use(self) -> None:
        self._adopted = adopted(self._index)
        self._engine.use(ranker=self._adopted.ranker)
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
