"""What the README promises a newcomer holds: its question has its answer, its files are there."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from librarian.bootstrap import Librarian
from librarian.embeddings.model_files import ModelStore

REPOSITORY = Path(__file__).resolve().parents[2]
README = (REPOSITORY / "README.md").read_text("utf-8")


def test_the_question_of_the_readme_has_the_answer_of_the_readme(tmp_path: Path) -> None:
    if ModelStore().locate("all-MiniLM-L6-v2") is None:
        pytest.skip("the default embedding model is not installed; run librarian models fetch")
    question = re.search(r'librarian search "([^"]+)"', README)
    answer = re.search(r"The first answer is `([^`]+)`, section \*([^*]+)\*", README)
    assert question is not None
    assert answer is not None
    shutil.copytree(REPOSITORY / "docs", tmp_path / "docs")
    with Librarian.open(root=tmp_path / "docs", index=tmp_path / "index") as library:
        first = library.search(question[1]).results[0]
    assert (first.file_path, first.heading_path[-1]) == (answer[1], answer[2])


@pytest.mark.parametrize("target", sorted(set(re.findall(r"\]\((?!http)([^)#]+)(?:#[^)]*)?\)", README))))
def test_every_link_of_the_readme_leads_somewhere(target: str) -> None:
    assert (REPOSITORY / target).exists()


def test_every_script_of_the_readme_is_there_and_can_be_run() -> None:
    scripts = set(re.findall(r"\./(scripts/\w+\.sh)", README))
    assert scripts
    for script in scripts:
        assert (REPOSITORY / script).stat().st_mode & 0o111
