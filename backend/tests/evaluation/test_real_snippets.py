"""What is shown of real pages, for real questions, where the archives are at hand.

* every snippet of the pages that answer judged questions keeps the promises of `tests/search/shown.py`, by words
  (all questions, and by meaning too: `benchmarks/snippets.py`)
"""

from __future__ import annotations

import os
import tarfile
from pathlib import Path

import pytest

from librarian.evaluation.evaluate import load
from librarian.library import Librarian
from librarian.models import Deadline, Query
from librarian.search.explain import Analyst
from librarian.text.analyzer import StandardAnalyzer
from tests.search.shown import as_searched, faults

PAGES = 60


def archive(name: str) -> Path:
    given = os.environ.get("LIBRARIAN_TEST_DATA")
    home = Path(given) if given else Path(__file__).parents[4] / "shared" / "data"
    if not (home / name).is_file():
        pytest.skip(f"no {name}; set LIBRARIAN_TEST_DATA to the folder that holds it")
    return home / name


@pytest.mark.parametrize("name", ["ray", "kubernetes_tasks"])
@pytest.mark.no_cover
def test_what_is_shown_of_real_pages_keeps_its_promises(tmp_path: Path, name: str) -> None:
    with tarfile.open(archive("questions.tar.xz")) as tar:
        tar.extraction_filter = getattr(tarfile, "data_filter", None)  # Python 3.11.2 knows none
        tar.extractall(tmp_path)
    folder = tmp_path / "questions" / name
    questions = load(folder / "queries.jsonl", folder / "qrels.tsv")
    wanted = set(sorted({path for question in questions for path in question.grades})[:PAGES])
    with tarfile.open(archive("docs.tar.xz")) as tar:
        for member in tar:
            path = member.name.removeprefix("./")
            if member.isfile() and path in wanted:
                target = tmp_path / "docs" / path
                target.parent.mkdir(parents=True, exist_ok=True)
                held = tar.extractfile(member)
                assert held is not None
                target.write_bytes(held.read())
                wanted.discard(path)
                if not wanted:
                    break
    options: dict[str, object] = {"embeddings.enabled": False, "docs.watch_for_changes": False, "index.workers": 2}
    analyzer, broken, seen = StandardAnalyzer(), list[str](), 0
    with Librarian.open(root=tmp_path / "docs", index=tmp_path / "index", **options) as library:
        analyst = library._parts.analyst
        assert isinstance(analyst, Analyst)
        for question in questions:
            outcome = analyst.engine.search(Query(question.text, mode="keyword", max_results=5), Deadline())
            hits, analyzed = outcome.hits, analyzer.query(as_searched(outcome))
            seen += len(hits)
            with library._parts.catalog.read() as reader:
                broken += [
                    f"{question.text!r} in {hit.document.document.file_path}: {fault}\n{hit.snippet.text}"
                    for hit in hits
                    for fault in faults(hit, reader, analyzed, analyzer)
                ]
    assert seen > len(questions)
    assert broken == []
