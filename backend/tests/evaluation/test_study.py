"""A library measured on its own links and headings, and tuned on them, through the whole house.

* `own` asks what links and headings ask and says how many; files aren't needed
* tuning shows held-out figures and changes nothing; adopting keeps the weights, uses them and survives reopening;
  resetting brings the shipped ones back
* a library without links and headings says what to do
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from librarian.assembly import Librarian
from librarian.assembly_study import WEIGHTS_FILE, adopted
from librarian.finding.ranker import READ, shipped
from librarian.vocabulary.errors import CallerError

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
    assert answer["notes"] == ["1 of 2 relevant files aren't in the index, for example 'shop/api/gone.md'"]


def test_a_low_limit_of_results_measures_the_same(library: Librarian, tmp_path: Path) -> None:
    before = library.evaluate(own=True, modes=["keyword"])["modes"]["keyword"]["nDCG@10"]  # type: ignore[index]
    library.close()
    with opened(tmp_path, **{"search.max_results": 2}) as limited:
        after = limited.evaluate(own=True, modes=["keyword"])["modes"]["keyword"]["nDCG@10"]  # type: ignore[index]
    assert before == after


def test_tuning_changes_nothing_until_it_is_adopted(library: Librarian, tmp_path: Path) -> None:
    shown = library.evaluate(tune=True)
    assert set(shown["modes"]) == {"now", "tuned"}  # type: ignore[call-overload]
    assert shown["adopted"] is False
    assert not (tmp_path / "index" / WEIGHTS_FILE).exists()

    kept = library.evaluate(tune=True, adopt=True)
    assert kept["adopted"] is True
    assert adopted(tmp_path / "index").weights == kept["weights"]
    assert set(adopted(tmp_path / "index").weights) == set(READ)
    library.close()
    with opened(tmp_path) as again:
        assert any(
            json.dumps(kept["weights"]["semantic_scaled"]) in note for note in again.evaluate(tune=True)["notes"]
        )  # type: ignore[index,attr-defined]
        again.evaluate(reset=True)
        assert adopted(tmp_path / "index") == shipped()


def test_a_library_without_links_and_headings_says_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "docs" / "shop").mkdir(parents=True)
    (tmp_path / "docs" / "shop" / "plain.txt").write_text("Nothing but a line.", "utf-8")
    with opened(tmp_path) as one, pytest.raises(CallerError, match="no question of its own"):
        one.evaluate(own=True)


def test_weights_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    assert adopted(tmp_path) == shipped()
    (tmp_path / WEIGHTS_FILE).write_text("{}", "utf-8")
    with pytest.raises(CallerError, match=WEIGHTS_FILE):
        adopted(tmp_path)
