"""Pages that the other pages on a question's topic lead to:

* of pages that say the same, the one that others link to comes first, and says so in its reasons
* only links from pages that hold a word of the question count
* `keyword` and `semantic` order by their scores alone
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from librarian.models import Query
from librarian.search.ranker import GIVEN

from .library import Library

TEXT = "# Rollout\n\nA rollout ships the release to every replica of the shop.\n"
ALIKE = {f"shop/api/{name}.md": TEXT for name in ("alpha", "beta", "gamma", "delta")}
LINKING = {
    "shop/ops/night.md": "# Night\n\nShip the release at night, as in [the rollout](../api/gamma.md).\n",
    "shop/ops/day.md": "# Day\n\nA release by day needs [a rollout](../api/gamma.md#rollout) of its own.\n",
}
ELSEWHERE = {
    f"shop/tea/{number}.md": f"# Tea {number}\n\nTea is at four, see [what we drink](../api/beta.md).\n"
    for number in range(9)
}


@pytest.fixture
def library(shelve: Callable[..., Library]) -> Library:
    return shelve({**ALIKE, **LINKING, **ELSEWHERE})


def test_of_pages_that_say_the_same_the_one_that_others_lead_to_comes_first(library: Library) -> None:
    found = library.engine().search(Query("rollout of a release", mode="hybrid", max_results=20))
    assert found.hits[0].document.document.file_path == "shop/api/gamma.md"
    reasons = {
        hit.document.document.file_path: reason
        for hit in found.hits
        for reason in hit.candidate.why
        if reason.source == "in_links"
    }
    assert reasons.keys() == {"shop/api/gamma.md"}
    assert (reasons["shop/api/gamma.md"].raw, reasons["shop/api/gamma.md"].points) == (0.5, 0.5 * GIVEN["in_links"])


@pytest.mark.parametrize("mode", ["keyword", "semantic"])
def test_one_leg_alone_orders_by_its_scores(library: Library, mode: str) -> None:
    found = library.engine().search(Query("rollout of a release", mode=mode))  # type: ignore[arg-type]
    assert found.hits
    assert not [reason for hit in found.hits for reason in hit.candidate.why if reason.source == "in_links"]
