"""A document says which documents it links to, which link to it, on request which are like it, and what each costs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from librarian.errors import CallerError
from librarian.library import Librarian

FILES = {
    "shop/guide/start.md": (
        "# Start\n\nFirst [install](install.md), then [the API](../api/calls.md#auth) and [x](https://x.org).\n"
    ),
    "shop/guide/install.md": (
        "# Install\n\nBack to [the start](start.md). [Itself](#install).\n\n## On Linux\n\nUnpack it.\n\n"
        "## On macOS\n\nDrag it.\n"
    ),
    "shop/api/calls.md": "# Calls\n\nSee [where it starts](../guide/start.md), or [nothing](gone.md).\n",
    "shop/api/alone.md": "# Alone\n\nNo links. Unpack the archive to install it.\n",
}


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Librarian]:
    folder: Path = tmp_path_factory.mktemp("linked")
    for name, text in FILES.items():
        path = folder / "docs" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    (folder / "config.json").write_text('{"docs": {"root_path": "docs"}, "index": {"workers": 1}}')
    with Librarian.open(folder / "config.json") as opened:
        yield opened


def test_a_path_on_disk_below_the_root_names_its_document(library: Librarian) -> None:
    root = library.status().root_path
    for path in (
        f"{root}/shop/guide/start.md",
        f"file://{root}/shop/guide/start.md",
        f"{root}/shop/guide/start.md:1-2",
    ):
        assert library.get_document(path).file_path == "shop/guide/start.md"
        assert library.search(path).results[0].file_path == "shop/guide/start.md"
    with pytest.raises(CallerError):
        library.get_document("/etc/hosts")


def test_links_lead_both_ways(library: Librarian) -> None:
    start = library.get_document("shop/guide/start.md")
    assert [one.file_path for one in start.links] == ["shop/api/calls.md", "shop/guide/install.md"]
    assert [one.title for one in start.linked_from] == ["Calls", "Install"]
    alone = library.get_document("shop/api/alone.md")
    assert (alone.links, alone.linked_from, alone.similar) == ([], [], [])


def test_every_document_and_heading_says_what_reading_it_costs(library: Librarian) -> None:
    install = library.get_document("shop/guide/install.md", section="On Linux")
    text = FILES["shop/guide/install.md"]
    assert [one.file_path for one in install.links] == ["shop/guide/start.md"]
    assert install.links[0].tokens == -(-len(FILES["shop/guide/start.md"]) // 4)
    sections = {one.text: one.tokens for one in install.headings}
    assert sections["Install"] == -(-len(text) // 4)
    assert sections["On macOS"] == -(-len("## On macOS\n\nDrag it.\n") // 4)
    assert all(hit.tokens > 0 for hit in library.search("install").results)


def test_similar_documents_are_listed_on_request(library: Librarian) -> None:
    found = library.get_document("shop/api/alone.md", similar=True).similar
    assert "shop/guide/install.md" in [one.file_path for one in found]
    assert "shop/api/alone.md" not in [one.file_path for one in found]
