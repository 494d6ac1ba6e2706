"""Which identifiers of a question decide the order.

* names with a small number don't; codes in capitals do
* in a sentence a hyphenated word that the library also writes apart doesn't; one that it never writes apart does
* nor does what sciences write like a name; code and codes do, by their shape
* such a word does decide in a short question, and where it is marked as code
* without it the better page comes first, though it lacks the hyphen
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from librarian.finding.names import decisive
from librarian.vocabulary.types import Filters, Query

from .library import Library

PAPERS = {
    "wings/papers/tables.md": "# Tables\n\nA boundary-layer is tabulated.\n",
    "wings/papers/separation.md": "# Separation of a laminar flow\n\nThe boundary layer of a wing leaves its surface "
    "where pressure rises; we measured its separation at high speed.\n",
    "wings/papers/suction.md": "# Suction\n\nSuction keeps the boundary layer on the surface.\n",
    "wings/papers/proxy.md": "# Proxy\n\nOn every node kube-proxy writes the rules of services.\n",
    "wings/papers/other.md": "# Nodes\n\nRules of services on every node are written by a proxy.\n",
}
NAMED = ("httpserver", "etc/hosts", "os.path", "--flag", "retry-after")
SENTENCE = "at which pressure does boundary-layer separation of a wing start at high speed"


def names(library: Library, text: str) -> tuple[str, ...]:
    columns = library.catalog.columns()
    query = library.analyzer.query(text, columns.languages())
    return decisive(query, library.analyzer, library.lexical, columns.select(Filters()))


@pytest.fixture
def papers(shelve: Callable[..., Library]) -> Library:
    return shelve(PAPERS)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("move nginx2 to v1 by max_age, E42", ("max_age", "e42")),
        (SENTENCE, ()),
        ("boundary-layer separation", ("boundary-layer",)),
        (SENTENCE.replace("boundary-layer", "`boundary-layer`"), ("boundary-layer",)),
        (SENTENCE.replace("boundary-layer", "“boundary-layer”"), ("boundary-layer",)),
        ("which rules of services does kube-proxy write on every node", ("kube-proxy",)),
        ("at which pressure does max_age of a boundary-layer on a wing start", ("max_age",)),
        ("MicroRNA and clpC regulate H3K4me3 in cells that lack interferon-γ above 75 nmol/liter", ()),
        ("`MicroRNA` regulates the stem cells of mice that lack “H3K4me3”", ("microrna", "h3k4me3")),
        ("MicroRNA clpC", ("microrna", "clpc")),
        ("cells where HTTPServer reads /etc/hosts by os.path with --flag and Retry-After", NAMED),
    ],
)
def test_what_decides_the_order(papers: Library, text: str, found: tuple[str, ...]) -> None:
    assert names(papers, text) == found


def test_a_sentence_s_hyphenated_word_lets_the_better_page_come_first(papers: Library) -> None:
    hits = papers.engine().search(Query(SENTENCE, mode="hybrid")).hits
    assert hits[0].document.document.file_path == "wings/papers/separation.md"


def test_a_name_that_is_never_written_apart_comes_first_in_a_sentence(papers: Library) -> None:
    question = "which rules of services are written by kube-proxy on every node, and which by a proxy"
    hits = papers.engine().search(Query(question, mode="hybrid")).hits
    assert hits[0].document.document.file_path == "wings/papers/proxy.md"
