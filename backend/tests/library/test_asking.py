"""What every way of asking has in common.

* The first question of all waits for the first text.
* An answer says what the library lacks, whichever verb it was asked by.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from librarian import Librarian
from librarian.library import Librarian as Desk

QUIET: dict[str, Any] = {"embeddings.enabled": False, "docs.watch_for_changes": False, "index.workers": 1}
VERBS: dict[str, Callable[[Desk], Any]] = {
    "search": lambda library: library.search("spring tides"),
    "search_knowledge_base": lambda library: library.search_knowledge_base("spring tides", source_id="harbour"),
    "searchDoc": lambda library: library.search_doc("spring tides", project="harbour"),
}


def written(folder: Path, pages: int) -> Path:
    for number in range(pages):
        page = folder / "harbour" / "guide" / f"page-{number}.md"
        page.parent.mkdir(parents=True, exist_ok=True)
        page.write_text(f"# Page {number}\n\nSpring tides follow a full moon, says page {number}.\n")
    return folder


@pytest.mark.parametrize("verb", VERBS)
def test_the_first_question_of_all_waits_for_the_first_text(tmp_path: Path, verb: str) -> None:
    root = written(tmp_path / "docs", 3)
    with Librarian.open(root=root, index=tmp_path / "index", **QUIET, wait=False) as library:
        assert VERBS[verb](library).results


@pytest.mark.parametrize("verb", VERBS)
def test_every_answer_says_that_the_folder_is_gone(tmp_path: Path, verb: str) -> None:
    root = written(tmp_path / "docs", 21)
    with Librarian.open(root=root, index=tmp_path / "index", **QUIET) as library:
        said = VERBS[verb](library).degraded
        root.rename(tmp_path / "elsewhere")
        library.refresh()
        answer = VERBS[verb](library)
        assert answer.results
        assert answer.degraded[: len(said)] == said
        (further,) = answer.degraded[len(said) :]
        assert further.startswith("root: ")
