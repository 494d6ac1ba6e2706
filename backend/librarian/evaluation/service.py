"""Measures a library's answers on rated questions, or on its own links and headings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from .. import schemas
from ..errors import CallerError
from ..files.paths import name_of
from ..library import Librarian
from ..models import Deadline
from ..search.candidates import OFF
from ..storage.base import Catalog
from ..tuning import own_questions
from ..tuning.own_questions import OwnQuestion
from .evaluate import Judgments, RatedQuery, as_dict, evaluate, read

MODES = ("keyword", "semantic", "hybrid")
QUESTIONS_AT_MOST = 400
FEWEST_LINKS = 40
SEEN = 10  #: documents that the measures read
UNASKED = "the language model was asked nothing: --llm has it rewrite the questions, as it does others"


def _shortfall(page: schemas.SearchResponse) -> str:
    """Why an answer isn't its mode's own; empty if it is."""
    requested = page.requested_mode
    retriever = getattr(page.retrievers, requested, None)  # hybrid and auto have none
    reasons = list(page.degraded)
    if not reasons and retriever is not None and retriever.status != "ok":
        reasons = [retriever.reason]
    if page.mode != requested != "auto":
        reasons = [f"answered in mode {page.mode}", *(reason for reason in reasons if reason != OFF.reason)]
    return ": ".join([requested, *reasons]) if reasons and requested != "keyword" else ""


class EvaluationService:
    """The operation `evaluate`: rated questions from files, or the library's own.

    Args:
        most: the most results that one search gives.
        rewriter: whether a language model rewrites questions that aren't measured.
        adapted: whether a query adapter is in use: own questions are then those of held-out pages.
    """

    def __init__(
        self, catalog: Catalog, *, most: int = 50, rewriter: bool = False, adapted: Callable[[], bool] = lambda: False
    ) -> None:
        self._catalog = catalog
        self._most = most
        self._rewriter = rewriter
        self._adapted = adapted

    def __call__(
        self,
        library: Librarian,
        *,
        deadline: Deadline,
        queries: str = "",
        qrels: str = "",
        modes: Sequence[str] = MODES,
        product: str | None = None,
        own: bool = False,
        llm: bool = False,
    ) -> Mapping[str, object]:
        """Shapes as `evaluation.as_dict`; as many results as the measures read, of one document each."""
        asked = list(dict.fromkeys(modes))
        if not asked:
            raise CallerError("modes is empty.", hint="Name at least one, for example keyword,hybrid.")
        questions = self._own() if own else []
        rated = [one.rated for one in questions]
        given = Judgments(rated, [self._about(questions)]) if own else self._read(queries, qrels)
        notes = self._missing(given.questions)
        own_by_text = {question.rated.text: question for question in questions}
        shortfalls: Counter[str] = Counter()
        last_mode = ""

        def search(text: str, mode: Any) -> Sequence[str]:
            nonlocal last_mode
            deadline.check()
            if mode != last_mode:
                library.clear_cache()  # each mode is timed without what the one before left in memory
                last_mode = mode
            mine = own_by_text.get(text)
            wanted = SEEN + (len(mine.ignored) + len(mine.editions) if mine is not None else 0)
            found: list[str] = []
            offset: int | None = 0
            while offset is not None and len(found) < wanted:
                page = library.search(
                    text, mode=mode, product=product, offset=offset, max_results=min(wanted, self._most), brief=True,
                    max_per_document=1, include_weak=True,
                )  # fmt: skip
                if not offset and (why := _shortfall(page)):
                    shortfalls[why] += 1
                found += [result.file_path for result in page.results]
                offset = page.next_offset
            return mine.pages_of(found) if mine is not None else found

        answer = as_dict(evaluate(given.questions, search, asked))
        count = len(given.questions)
        if self._rewriter and not llm and {*asked} & {"hybrid", "rerank", "hyde", "auto"}:
            notes.append(UNASKED)
        notes += [f"{what} ({times} of {count} questions)" for what, times in shortfalls.most_common(10)]
        return {**answer, "notes": [*given.notes, *notes]}

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

    def _missing(self, rated: Sequence[RatedQuery]) -> list[str]:
        """A note about relevant files that no search of documents can find."""
        wanted = sorted({path for one in rated for path, grade in one.grades.items() if grade > 0})
        with self._catalog.read() as reader:
            found = {path: reader.document_by_path(path, text=False) for path in wanted}
        missing = [path for path, stored in found.items() if stored is None or stored.document.kind == "email"]
        if not missing:
            return []
        counts = f"{len(missing)} of {len(wanted)}"
        return [f"{counts} relevant files aren't in the index as documents, for example {missing[0]!r}"]

    def _own(self) -> list[OwnQuestion]:
        """Link texts, and headings where there are few of them. Raises `CallerError` where there are neither."""
        documents = own_questions.documents_of(self._catalog, mails=True)
        questions = own_questions.sample(self._untaught(own_questions.of_links(documents)), QUESTIONS_AT_MOST)
        if len(questions) < FEWEST_LINKS:
            asked = {question.rated.text.lower() for question in questions}
            headings = self._untaught(own_questions.of_headings(documents))
            further = [one for one in headings if one.rated.text.lower() not in asked]
            questions += own_questions.sample(further, QUESTIONS_AT_MOST - len(questions))
        if not questions:
            raise CallerError(
                "The library holds no question of its own: no link to another page, no heading of two words.",
                hint="Give rated questions with --queries and --qrels.",
            )
        return questions

    def _about(self, questions: Sequence[OwnQuestion]) -> str:
        links = sum(question.source == "links" for question in questions)
        note = f"{links} link texts and {len(questions) - links} headings as questions"
        return f"{note}, of pages held out when questions were adapted to the library" if self._adapted() else note

    def _untaught(self, own: list[OwnQuestion]) -> list[OwnQuestion]:
        return own_questions.untaught(own) if self._adapted() else own
