"""The manual of this very program as a library: its own headings as questions, answered by words alone.

* the page that has the heading is among the first three for nine in ten questions
* every snippet holds a word of the question, stays within 600 characters and closes its fences
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from librarian.library import Librarian
from librarian.models import Document
from librarian.tuning.own_questions import OwnQuestion, of_headings, sample
from tests.search.shown import unclosed

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
        answer = library.search(question.rated.text.replace('"', ""), mode="keyword", max_results=3, max_per_document=1)
        found += bool({result.file_path for result in answer.results} & question.rated.grades.keys())
    assert found >= 0.9 * len(questions)


@pytest.mark.parametrize(("brief", "longest"), [(True, 600), (False, 6000)])
def test_snippets_hold_a_word_of_the_question_and_close_their_fences(
    library: Librarian, questions: list[OwnQuestion], brief: bool, longest: int
) -> None:
    for question in questions:
        asked = {"mode": "keyword", "max_results": 5, "explain": True, "brief": brief}
        for result in library.search(question.rated.text, **asked).results:
            about = f"{question.rated.text!r} in {result.file_path}: {result.snippet!r}"
            assert len(result.snippet) <= longest, about
            assert not unclosed(result.snippet), about
            if not brief:  # what is cited holds what is shown; a fence's or table's frame may come from above or below
                cited = f"{result.file_path}:{result.line_start}-{result.line_end}"
                lines = [line for line in result.snippet.splitlines() if line.strip(" `~…|")]
                read = " ".join(library.get_document(cited).content.split())
                assert "…" in lines[-1] or " ".join(lines[-1].split()) in read, about
            titles = " ".join([result.title, *result.heading_path, result.file_path, *result.tags])
            assert result.highlights or any(
                word.lower().strip(",")[:4] in titles.lower() for word in question.rated.text.split()
            ), about
