"""Phrasal verbs of questions, which manuals write as nouns.

* A page that only has the noun is found by the verb, also where that is bent, and before pages with its parts.
* A noun that the library doesn't hold isn't looked for.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from librarian.models import Filters, Query
from librarian.search.retrievers import KeywordRetriever

from .library import Library

TILL = {
    "till/api/disasters.md": "# Disasters\n\nA nightly backup, a quick rollback.\n",
    "till/api/counter.md": "# Counter\n\nCount up all coins and notes that lie there in the evening.\n",
    "till/api/drawer.md": "# Drawer\n\nRoll the drawer in when all coins and notes are counted.\n",
    "till/api/labels.md": "# Labels\n\nPrices are emphasized.\n",
    "till/api/queue.md": "# Queue\n\nGo back to the queue when all coins and notes are counted.\n",
}


@pytest.mark.parametrize("text", ["how do I back up the till", "backing up", "can a sale be rolled back", "Roll back!"])
def test_a_phrasal_verb_finds_its_noun(shelve: Callable[..., Library], text: str) -> None:
    outcome = shelve(TILL).engine().search(Query(text, mode="keyword"))
    assert outcome.hits[0].document.document.file_path == "till/api/disasters.md"
    assert outcome.rewritten is not None
    assert outcome.rewritten["source"] == "phrasal verbs"
    assert outcome.rewritten["search_terms"] in {"backup", "rollback"}


@pytest.mark.parametrize(
    ("text", "nouns"),
    [
        ("back up", ("backup",)),
        ("back up, roll back", ("backup", "rollback")),
        ("count up, roll in", ()),
        ("with emphasis on prices", ()),  # with the particle its stem is that of `emphasized`
    ],
)
def test_only_nouns_that_the_library_holds_are_looked_for(
    shelve: Callable[..., Library], text: str, nouns: tuple[str, ...]
) -> None:
    library = shelve(TILL)
    columns = library.catalog.columns()
    query = library.analyzer.query(text, columns.languages())
    asked = (
        KeywordRetriever(library.lexical, library.analyzer, 10).ask(query, "", columns.select(Filters()), columns).query
    )
    assert asked.terms[len(query.terms) :] == nouns
