"""Which identifiers of a question decide the order.

* names with a small number don't, nor do addresses kept for examples; codes in capitals do
* a number with a point does where some heading or path holds it
* in a sentence a hyphenated word that the library also writes apart doesn't; one that it never writes apart does
* such a word does decide in a short question, and where it is marked as code
* without it the better page comes first, though it lacks the hyphen
* in a library of prose, told by its most frequent identifiers, no word of a sentence does that isn't code's
* none does that more documents hold than a page shows, where the question says more than that and doesn't mark it
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from librarian.models import Document, Filters, KeywordEntry, Mode, Query
from librarian.search.candidates import PAGE
from librarian.search.identifiers import FREQUENT, Names, is_prose

from .library import Library

PAPERS = {
    "wings/papers/tables.md": "# Tables\n\nA boundary-layer is tabulated.\n",
    "wings/papers/separation.md": "# Separation of a laminar flow\n\nThe boundary layer of a wing leaves its surface "
    "where pressure rises; we measured its separation at high speed.\n",
    "wings/papers/suction.md": "# Suction\n\nSuction keeps the boundary layer on the surface.\n",
    "wings/papers/proxy.md": "# Proxy\n\nOn every node kube-proxy writes the rules of services.\n",
    "wings/papers/other.md": "# Nodes\n\nRules of services on every node are written by a proxy.\n",
}
SENTENCE = "at which pressure does boundary-layer separation of a wing start at high speed"


def names(library: Library, text: str) -> tuple[str, ...]:
    columns = library.catalog.columns()
    query = library.analyzer.query(text, columns.languages())
    return Names(library.analyzer, library.lexical).decisive(query, columns.select(Filters()))


@pytest.fixture
def papers(shelve: Callable[..., Library]) -> Library:
    return shelve(PAPERS)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("move nginx2 to v1 by max_age, E42", ("max_age", "e42")),
        ("forbid TLS 1.0, keep 1.2.3 and v1.3", ("1.2.3", "v1.3")),
        ("forbid TLS `1.0`", ("1.0",)),
        ("serve https://example.com/shop and api.example.org, not example.community", ("example.community",)),
        (SENTENCE, ()),
        ("boundary-layer separation", ("boundary-layer",)),
        (SENTENCE.replace("boundary-layer", "`boundary-layer`"), ("boundary-layer",)),
        (SENTENCE.replace("boundary-layer", "“boundary-layer”"), ("boundary-layer",)),
        ("which rules of services does kube-proxy write on every node", ("kube-proxy",)),
        ("at which pressure does max_age of a boundary-layer on a wing start", ("max_age",)),
    ],
)
def test_what_decides_the_order(papers: Library, text: str, found: tuple[str, ...]) -> None:
    assert names(papers, text) == found


def test_a_sentence_s_hyphenated_word_lets_the_better_page_come_first(papers: Library) -> None:
    hits = papers.engine().search(Query(SENTENCE, mode="hybrid")).hits
    assert hits[0].document.document.file_path == "wings/papers/separation.md"


def test_pages_with_a_version_s_number_do_not_come_before_what_is_asked_for(shelve: Callable[..., Library]) -> None:
    library = shelve(
        {
            "till/api/ciphers.md": "# Ciphers\n\nWeak ciphers and old TLS are forbidden by `min_version`.\n",
            "till/api/metrics.md": "# Metrics\n\nBuckets end at 0.5, 1.0 and 5.0 seconds.\n",
        }
    )
    hits = library.engine().search(Query("forbid TLS 1.0 and weak ciphers", mode="hybrid")).hits
    assert [hit.document.document.file_path for hit in hits] == ["till/api/ciphers.md", "till/api/metrics.md"]


@pytest.mark.parametrize(
    ("path", "text"),
    [
        (
            "till/api/changes.md",
            "# Changes\n\n" + "All of them.\n" * 200 + "## In 2.5\n\n" + "Receipts are signed.\n" * 200,
        ),
        ("till/api/upgrading-2.4-2.5.md", "# News\n\nReceipts are signed.\n"),
    ],
)
def test_a_version_in_a_heading_or_a_path_decides_the_order(
    shelve: Callable[..., Library], path: str, text: str
) -> None:
    library = shelve({path: text, "till/api/other.md": "# Signed receipts\n\nReceipts are signed since long.\n"})
    assert names(library, "are receipts signed in 2.5") == ("2.5",)
    assert names(library, "are receipts signed within 2.4 seconds") == (("2.4",) if "2.4" in path else ())


def test_a_name_that_is_never_written_apart_comes_first_in_a_sentence(papers: Library) -> None:
    question = "which rules of services are written by kube-proxy on every node, and which by a proxy"
    hits = papers.engine().search(Query(question, mode="hybrid")).hits
    assert hits[0].document.document.file_path == "wings/papers/proxy.md"


GENES = " ".join(f"BRX{number}" for number in range(FREQUENT))
MOUSE = "which loss of BRX7 makes the growth of neural cells slower in a mouse"


@pytest.mark.parametrize(
    ("names", "prose"),
    [
        ([f"brx{number}" for number in range(FREQUENT)], True),
        ([f"brx{number}" for number in range(FREQUENT - 1)], False),  # too few to tell
        ([f"brx{number}" for number in range(FREQUENT - 30)] + [f"max_{number}" for number in range(30)], False),
        ([f"brx{number}" for number in range(FREQUENT - 29)] + [f"max_{number}" for number in range(29)], True),
    ],
)
def test_a_library_is_of_prose_where_hardly_any_frequent_identifier_is_shaped_like_code(
    names: list[str], prose: bool
) -> None:
    assert is_prose(names) == prose


def test_in_a_library_of_prose_a_sentence_s_names_are_words_unless_they_are_code(
    shelve: Callable[..., Library],
) -> None:
    library = shelve({"cells/papers/genes.md": f"# Genes\n\n{GENES}\n"})
    assert names(library, MOUSE) == ()
    assert names(library, MOUSE.replace("BRX7", "`BRX7`")) == ("brx7",)
    assert names(library, MOUSE.replace("BRX7", "brx_7")) == ("brx_7",)
    assert names(library, "loss of BRX7") == ("brx7",)


def test_in_a_library_on_software_a_sentence_s_names_decide(shelve: Callable[..., Library]) -> None:
    options = " ".join(f"max_age_{number}" for number in range(40))
    library = shelve(
        {
            "cells/papers/genes.md": f"# Genes\n\n{GENES}\n",
            "cells/papers/options.md": f"# Options\n\n{options}\n",
            "cells/papers/defaults.md": f"# Defaults\n\n{options}\n",
        }
    )
    assert names(library, MOUSE) == ("brx7",)


def test_a_library_is_judged_again_only_once_a_tenth_of_it_has_changed(
    shelve: Callable[..., Library], monkeypatch: pytest.MonkeyPatch
) -> None:
    library = shelve({"cells/papers/genes.md": f"# Genes\n\n{GENES}\n"})
    lexical, columns = library.lexical, library.catalog.columns()
    query, selection = library.analyzer.query(MOUSE, columns.languages()), columns.select(Filters())
    document = Document("cells/papers/options.md", "cells", "papers", "document", ".md", "Options", "")
    counted: list[int] = []
    vocabulary = lexical.vocabulary

    def counting(prefix: str, limit: int, *, identifiers: bool = False) -> list[str]:
        counted.append(lexical.count())
        return vocabulary(prefix, limit, identifiers=identifiers)

    monkeypatch.setattr(lexical, "vocabulary", counting)

    def grown(first: int, last: int) -> tuple[str, ...]:
        entry = KeywordEntry(body="", title="", headings="", path="", identifiers="max_age_7")
        lexical.put((chunk_id, 1, document, entry) for chunk_id in range(first, last))
        lexical.commit(lexical.generation + 1)
        return told.decisive(query, selection)

    told = Names(library.analyzer, lexical)
    few = lexical.count()
    grown(1000, 1100 - few)
    assert counted == [100]
    for more in range(10):
        grown(2000 + more, 2001 + more)
    assert counted == [100]
    grown(3000, 3001)
    told.decisive(query, selection)
    assert counted == [100, 111]


@pytest.mark.parametrize(
    ("text", "after_it"),
    [
        ("how are rules written on every node", True),  # without any
        ("oven.bake", True),
        ("how do I use oven.bake in the kitchen", True),
        ("WaitForFirstConsumer and --max-heat", True),  # their parts are theirs
        ("when is the dough kneaded before oven.bake is called", False),
        ("when is the dough kneaded before `oven.bake` is called", True),
    ],
)
def test_a_question_looks_up_what_it_says_little_beside_or_marks(papers: Library, text: str, after_it: bool) -> None:
    query = papers.analyzer.query(text, papers.catalog.columns().languages())
    assert Names(papers.analyzer, papers.lexical).looks_up(query) == after_it


@pytest.mark.parametrize("mode", ["keyword", "hybrid"])
@pytest.mark.parametrize(
    ("holders", "question", "first"),
    [
        (PAGE + 1, "when is the dough kneaded before oven.bake is called", "bread/guide/dough.md"),
        (PAGE, "when is the dough kneaded before oven.bake is called", "bread/recipes/"),
        (PAGE + 1, "when is the dough kneaded before `oven.bake` is called", "bread/recipes/"),
        (PAGE + 1, "dough oven.bake", "bread/recipes/"),
    ],
)
def test_what_more_documents_hold_than_a_page_shows_is_a_question_s_topic(
    shelve: Callable[..., Library], mode: Mode, holders: int, question: str, first: str
) -> None:
    recipes = {f"bread/recipes/{n}.md": f"# Loaf {n}\n\nThen `oven.bake` is called.\n" for n in range(holders)}
    library = shelve(
        {**recipes, "bread/guide/dough.md": "# When dough is kneaded\n\nDough is kneaded before baking.\n"}
    )
    hits = library.engine().search(Query(question, mode=mode)).hits
    assert hits[0].document.document.file_path.startswith(first)
