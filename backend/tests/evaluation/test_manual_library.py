"""The manual of this very program as a library: its own headings as questions, answered by words alone.

* the page that has the heading is among the first three for nine in ten questions
* every snippet holds a word of the question, stays within 600 characters and closes its fences
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from librarian.assembly import Librarian
from librarian.evaluation.own_questions import OwnQuestion, of_headings, sample
from librarian.vocabulary.types import Document
from tests.finding.shown import unclosed

MANUAL = Path(__file__).resolve().parents[3] / "docs"


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Librarian]:
    index = tmp_path_factory.mktemp("manual")
    options: dict[str, object] = {"embeddings.enabled": False, "docs.watch_for_changes": False, "index.workers": 1}
    with Librarian.open(root=MANUAL, index=index, **options) as one:
        yield one


@pytest.fixture(scope="module")
def questions(library: Librarian) -> list[OwnQuestion]:
    with library._parts.catalog.read() as reader:
        documents: list[Document] = [stored.document for stored in reader.iter_documents()]
    return sample(of_headings(documents), 80)


def test_the_page_with_the_heading_is_found(library: Librarian, questions: list[OwnQuestion]) -> None:
    assert len(questions) >= 30
    found = 0
    for question in questions:
        answer = library.search(
            question.judged.text.replace('"', ""), mode="keyword", max_results=3, max_per_document=1
        )
        found += bool({result.file_path for result in answer.results} & question.judged.grades.keys())
    assert found >= 0.9 * len(questions)


def test_snippets_hold_a_word_of_the_question_and_close_their_fences(
    library: Librarian, questions: list[OwnQuestion]
) -> None:
    for question in questions:
        for result in library.search(question.judged.text, mode="keyword", max_results=5).results:
            about = f"{question.judged.text!r} in {result.file_path}: {result.snippet!r}"
            assert len(result.snippet) <= 600, about
            assert not unclosed(result.snippet), about
            titles = " ".join([result.title, *result.heading_path, result.file_path])
            assert result.highlights or any(
                word.lower()[:4] in titles.lower() for word in question.judged.text.split()
            ), about
