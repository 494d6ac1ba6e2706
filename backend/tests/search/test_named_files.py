"""Questions that are a file's path, an end of it, its name or its title, whatever words it is made of:

* that file comes first, in every mode that reads words, also where it holds none of these words
* pages that link to it come after it
* filters apply
* a file that is moved is found by its new name and its old title
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from librarian.models import Filters, Mode, Query

from .library import Library

NAMES = (
    *("setup.md", "log.md", "about.md", "how-to.md", "where.md", "all.md", "scaling.md", "v1.28.md", "Notes on tea.md"),
    *("über.md", "config.yaml.md", "data_2024.csv", "page.html", "release.notes.rst", "README.md"),
)
LINKS = "".join(f"* [setup {name}](../guide/{name.replace(' ', '%20')}) about how to set up all\n" for name in NAMES)
FILES = {
    **{f"shop/guide/{name}": f"# Page on subject {number}\n\nOne plain line.\n" for number, name in enumerate(NAMES)},
    "shop/list/links.md": f"# Setup, log, about, where, all, scaling\n\n{LINKS}",
    "till/guide/setup.md": "# Setup of the till\n\nThe setup.md of the shop is another one.\n",
}


@pytest.fixture
def library(shelve: Callable[..., Library]) -> Library:
    return shelve(FILES)


@pytest.mark.parametrize("mode", ["keyword", "auto", "hybrid", "hyde", "rerank"])
def test_a_file_named_by_its_path_its_end_or_its_name_comes_first(library: Library, mode: Mode) -> None:
    engine = library.engine()
    for path in FILES:
        name = path.rpartition("/")[2]
        questions = {
            path: {path},
            "/".join(path.split("/")[1:]): {one for one in FILES if one.endswith(path.partition("/")[2])},
            name: {one for one in FILES if one.rpartition("/")[2] == name},
            name.rpartition(".")[0]: {one for one in FILES if one.rpartition("/")[2] == name},
            f"/home/ann/docs/{path}": {path},
            f"./{path}:10-20": {path},
            f"`{path.upper()}`": {path},
            f'"{name}"': {one for one in FILES if one.rpartition("/")[2] == name},
            path.replace("/", "\\"): {path},
        }
        for question, wanted in questions.items():
            found = engine.search(Query(question, mode=mode))
            assert found.hits, question
            assert found.hits[0].document.document.file_path in wanted, question
            assert found.answerable != "unlikely", question


def test_filters_apply_to_a_file_that_is_named(library: Library) -> None:
    found = library.engine().search(Query("setup.md", filters=Filters(product="till")))
    assert {hit.document.document.product for hit in found.hits} == {"till"}
