"""The worked example of the page on ranking: what is proved here.

* The page's table is what a library of its three files really answers; `--update` rewrites it.
* Each reason's points are its weight times what it saw, and the reasons add up to the order and the relevance.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from librarian.embeddings.model_files import ModelStore
from librarian.library import Librarian
from librarian.schemas import Result
from librarian.search.ranker import GIVEN, READ, shipped

PAGE = Path(__file__).resolve().parents[3] / "docs" / "librarian" / "explanation" / "ranking.md"
MEANINGS = {
    "keyword_further": "its further passages by words",
    "keyword_scaled": "words, beside the other candidates",
    "semantic_scaled": "meaning, beside the other candidates",
    "body_scaled": "words in the running text, beside the others",
    "both_scaled": "both in one passage, beside the others",
    "evidence": "the best cosine of all",
}
TOLERANCE = 0.03  #: in what a leg sees: 8-bit arithmetic differs a little between processors


@pytest.fixture(scope="module")
def answer(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Result]:
    """The first passage of each document, best first, by the file's name."""
    if ModelStore().locate("all-MiniLM-L6-v2") is None:
        pytest.skip("the default embedding model is not installed; run librarian models fetch")
    folder, page = tmp_path_factory.mktemp("example"), PAGE.read_text("utf-8")
    texts = re.findall(r"```markdown\n(.*?)```", page, re.DOTALL)
    for name, text in zip(re.findall(r"`(shop/\S+\.md)`", page), texts, strict=True):
        (folder / "docs" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "docs" / name).write_text(text, "utf-8")
    asked = re.search(r'librarian search "([^"]+)" --mode (\w+)', page)
    assert asked is not None
    with Librarian.open(root=folder / "docs", index=folder / "index", **{"vector_db.store": "exact"}) as library:
        results = library.search(asked[1], mode=asked[2], explain=True, include_weak=True).results
    return {result.file_name: result for result in reversed(results)}


def table(answer: dict[str, Result]) -> str:
    """The page's table. A cell is what was seen, times the weight, as points."""
    documents = sorted(answer.values(), key=lambda result: result.rank)
    rows = [["reason", "what it is", "weight", *(result.file_name for result in documents)]]
    rows.append(["---"] * len(rows[0]))
    weights = {**shipped().weights, "evidence": GIVEN["evidence"]}
    for name in (*READ, "evidence"):
        found = [next((reason for reason in result.why if reason.source == name), None) for result in documents]
        cells = ["" if reason is None else f"{reason.raw:.3f} → {reason.points:.2f}" for reason in found]
        rows.append([f"`{name}`", MEANINGS[name], f"{weights[name]:g}", *cells])
    rows.append(["sum", "", "", *(f"{total(result):.2f}" for result in documents)])
    rows.append(["`relevance_score`", "", "", *(f"{result.relevance_score:.3f}" for result in documents)])
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def total(result: Result) -> float:
    return math.fsum(reason.points for reason in result.why)


def numbers(lines: Sequence[str]) -> list[float]:
    return [float(number) for line in lines for number in re.findall(r"\d+\.\d+", line)]


def test_the_table_is_what_the_library_answers(answer: dict[str, Result], update: bool) -> None:
    page = PAGE.read_text("utf-8")
    shown = re.search(r"\| reason \|.*?\n(?=\n)", page, re.DOTALL)
    assert shown is not None
    if update:
        PAGE.write_text(page.replace(shown[0], table(answer)), "utf-8")
        return
    expected, found = shown[0].splitlines(), table(answer).splitlines()
    without = [re.sub(r"\d+\.\d+", "#", line) for line in expected]
    assert without == [re.sub(r"\d+\.\d+", "#", line) for line in found], "read the change, then pass --update"
    weighed = max(shipped().weights.values())
    assert numbers(expected) == pytest.approx(numbers(found), abs=TOLERANCE * weighed)


def test_points_are_weights_times_what_was_seen_and_add_up(answer: dict[str, Result]) -> None:
    documents = sorted(answer.values(), key=lambda result: result.rank)
    weights = {**shipped().weights, "evidence": GIVEN["evidence"]}
    for result in documents:
        for reason in result.why:
            assert reason.raw is not None
            assert reason.points == pytest.approx(weights[reason.source] * reason.raw, abs=0.002)
        curve = 1 / (1 + math.exp(-1.2 * (total(result) - 14.45)))
        assert result.relevance_score == pytest.approx(curve, abs=1e-3)
    assert [total(result) for result in documents] == sorted((total(result) for result in documents), reverse=True)


def test_reciprocal_ranks_are_as_the_page_says() -> None:
    assert "1/11 + 1/13 = 0.168" in PAGE.read_text("utf-8")
    assert pytest.approx(0.168, abs=5e-4) == 1 / 11 + 1 / 13
