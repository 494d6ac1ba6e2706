"""A library measured on its own links and headings, through its public operations.

* `own` asks what links and headings ask and says how many; files aren't needed
* what is left out of the figures, answered in another mode or asked of the mails is told
* a library without links and headings says what to do
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from librarian.errors import CallerError
from librarian.library import Librarian

TOPICS = ("rolling back", "scaling out", "storing data", "rotating keys", "reading logs", "routing traffic")


def pages(folder: Path) -> Path:
    """Six pages that link to each other by what they are about."""
    for number, topic in enumerate(TOPICS):
        others = [(other, place) for place, other in enumerate(TOPICS) if place != number]
        links = "\n".join(f"- [{other} the shop](page{place}.md)" for other, place in others)
        path = folder / "shop" / "api" / f"page{number}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(
            f"# The art of {topic}\n\nAll about {topic} for the shop.\n\n## Elsewhere\n\n{links}\n", "utf-8"
        )
    return folder


def opened(tmp_path: Path, **more: object) -> Librarian:
    return Librarian.open(
        root=tmp_path / "docs",
        index=tmp_path / "index",
        **{"embeddings.enabled": False, "docs.watch_for_changes": False, "index.workers": 1, **more},
    )


@pytest.fixture
def library(tmp_path: Path) -> Iterator[Librarian]:
    pages(tmp_path / "docs")
    with opened(tmp_path) as one:
        yield one


def test_a_library_is_measured_on_its_own_questions(library: Librarian) -> None:
    answer = library.evaluate(own=True, modes=["keyword"])
    assert answer["questions"] == 12
    assert answer["notes"] == ["6 link texts and 6 headings as questions"]
    assert answer["modes"]["keyword"]["nDCG@10"]["mean"] > 0.8  # type: ignore[index]


def test_judged_files_that_no_search_can_find_are_named(library: Librarian, tmp_path: Path) -> None:
    queries, qrels = tmp_path / "queries.jsonl", tmp_path / "qrels.tsv"
    queries.write_text('{"_id": "1", "text": "rolling back"}\n')
    qrels.write_text("1\tshop/api/page0.md\t1\n1\tshop/api/gone.md\t1\n1\tshop/api/never.md\t0\n")
    answer = library.evaluate(queries=str(queries), qrels=str(qrels), modes=["keyword"])
    assert answer["notes"] == ["1 of 2 relevant files aren't in the index as documents, for example 'shop/api/gone.md'"]


def test_what_the_figures_leave_out_is_told(library: Librarian, tmp_path: Path) -> None:
    queries, qrels = tmp_path / "queries.jsonl", tmp_path / "qrels.tsv"
    texts = {"1": "rolling back", "2": " ", "3": "unjudged", "4": "more words " * 200}
    queries.write_text("".join(json.dumps({"_id": one, "text": text}) + "\n" for one, text in texts.items()))
    qrels.write_text("".join(f"{one}\t.\\shop\\api\\page0.md\t1.0\n" for one in "1249"))
    answer = library.evaluate(queries=str(queries), qrels=str(qrels), modes=["keyword", "hybrid", "hybrid"])
    assert answer["modes"]["keyword"]["MRR@10"]["mean"] == 1.0  # type: ignore[index]
    assert answer["notes"] == [
        "left out of queries.jsonl: 1 without a relevant file in qrels.tsv, for example '3'",
        "left out of queries.jsonl: 2 empty or longer than 2,000 characters, for example '2'",
        "left out of qrels.tsv: 1 not in queries.jsonl, for example '9'",
        "hybrid: answered in mode keyword: semantic: Embeddings are switched off. Set embeddings.enabled to search by "
        "meaning. (1 of 1 questions)",
    ]
    for modes in ([], ["keyword", "ybrid"]):
        with pytest.raises(CallerError, match="mode"):
            library.evaluate(queries=str(queries), qrels=str(qrels), modes=modes)


def test_mails_are_no_answers_of_a_search_of_documents(tmp_path: Path) -> None:
    mail = pages(tmp_path / "docs") / "shop" / "mails" / "one.eml"
    mail.parent.mkdir()
    mail.write_text("From: a@example.org\nSubject: Rolling back\n\nThe tape is in the second drawer.\n")
    queries, qrels = tmp_path / "queries.jsonl", tmp_path / "qrels.tsv"
    queries.write_text('{"_id": 1, "text": "where is the tape"}\n')
    qrels.write_text("1\tshop/mails/one.eml\t1\n1\tshop/api/page0.md\t1\n")
    with opened(tmp_path) as one:
        notes = one.evaluate(queries=str(queries), qrels=str(qrels), modes=["keyword"])["notes"]
    assert notes == ["1 of 2 relevant files aren't in the index as documents, for example 'shop/mails/one.eml'"]


def test_a_low_limit_of_results_measures_the_same(library: Librarian, tmp_path: Path) -> None:
    before = library.evaluate(own=True, modes=["keyword"])["modes"]["keyword"]["nDCG@10"]  # type: ignore[index]
    library.close()
    with opened(tmp_path, **{"search.max_results": 2}) as limited:
        after = limited.evaluate(own=True, modes=["keyword"])["modes"]["keyword"]["nDCG@10"]  # type: ignore[index]
    assert before == after


def test_a_library_without_links_and_headings_says_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "docs" / "shop").mkdir(parents=True)
    (tmp_path / "docs" / "shop" / "plain.txt").write_text("Nothing but a line.", "utf-8")
    with opened(tmp_path) as one, pytest.raises(CallerError, match="no question of its own"):
        one.evaluate(own=True)
