"""Documents that are read through symbolic links.

* A link that is renamed or leads elsewhere is noticed at once.
* What changes behind a link is found at the next look at everything.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from librarian.indexing.watcher import FileWatcher
from tests.storage.library import PATIENCE_S, Library, running, wait_for, watching


@pytest.fixture
def library(tmp_path: Path) -> Iterator[Library]:
    made = Library(tmp_path)
    made.write("p/c/plain.md", "# Plain\n\nA passage about wombats.\n")
    yield made
    made.close()


@pytest.fixture
def followed(library: Library) -> Iterator[Library]:
    """The library, with news of its folder alone: it looks at everything once."""
    watcher = FileWatcher(library.root, library.indexer.changed, debounce_ms=20)
    with watching(watcher), running(library.indexer) as indexer:
        indexer.start()
        assert indexer.wait_until_ready(PATIENCE_S)
        yield library


def put(library: Library, link: str, target: str) -> Path:
    path = library.root / link
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to(target)
    return path


def test_a_config_map_that_is_updated_shows_its_new_content(library: Library) -> None:
    library.write("p/map/..one/foo.md", "# Foo\n\nA passage about quetzals.\n")
    put(library, "p/map/..data", "..one")
    put(library, "p/map/foo.md", "..data/foo.md")
    library.complete()
    assert library.find("quetzals") == {"p/map/foo.md"}
    library.write("p/map/..two/foo.md", "# Foo\n\nA passage about axolotls.\n")
    put(library, "p/map/..data_tmp", "..two").rename(library.root / "p/map/..data")
    library.indexer.refresh()
    assert library.find("axolotls") == {"p/map/foo.md"}
    assert library.documents() == {"p/c/plain.md", "p/map/foo.md"}


def test_an_edited_target_changes_what_is_read_through_its_links(library: Library) -> None:
    target = library.write("p/real/guide.md", "# Guide\n\nA passage about quetzals.\n")
    put(library, "p/c/guide.md", "../real/guide.md")
    put(library, "p/latest", str(library.root / "p" / "real"))
    library.complete()
    shown = {"p/c/guide.md", "p/latest/guide.md", "p/real/guide.md"}
    assert library.find("quetzals") == shown
    target.write_text("# Guide\n\nA passage about axolotls.\n")
    library.indexer.refresh()
    assert library.find("axolotls") == shown
    assert library.find("quetzals") == set()
    library.write("p/real/other.md", "# Other\n\nA passage about pangolins.\n")
    library.indexer.refresh()
    assert library.find("pangolins") == {"p/latest/other.md", "p/real/other.md"}
    target.unlink()
    library.indexer.refresh()
    assert library.find("axolotls") == set()
    assert library.indexer.check() == []


def test_a_link_to_a_folder_that_is_swapped_shows_the_other_folder(followed: Library) -> None:
    followed.write("p/v1/a.md", "# A\n\nA passage about quetzals.\n")
    followed.write("p/v2/b.md", "# B\n\nA passage about axolotls.\n")
    link = put(followed, "p/latest", "v1")
    wait_for(lambda: followed.find("quetzals") == {"p/v1/a.md", "p/latest/a.md"})
    put(followed, "p/next", "v2").rename(link)
    wait_for(lambda: followed.find("axolotls") == {"p/v2/b.md", "p/latest/b.md"})
    assert followed.find("quetzals") == {"p/v1/a.md"}


def test_a_renamed_link_takes_its_document_along(library: Library) -> None:
    library.write("p/real/.hidden/guide.md", "# Guide\n\nA passage about quetzals.\n")
    link = put(library, "p/c/a.md", "../real/.hidden/guide.md")
    library.complete()
    assert library.find("quetzals") == {"p/c/a.md"}
    other = link.rename(link.with_name("b.md"))
    library.indexer.refresh([str(link), str(other)])
    assert library.find("quetzals") == {"p/c/b.md"}


@pytest.mark.parametrize(("target", "link", "shown"), [("s/y.md", "y.md", "y.md"), ("s", "all", "all/y.md")])
def test_a_link_below_a_folder_that_is_moved_away_leads_nowhere(
    target: str, link: str, shown: str, library: Library
) -> None:
    library.write("p/.kept/d/s/y.md", "# Y\n\nA passage about quetzals.\n")
    put(library, f"p/c/{link}", f"../.kept/d/{target}")
    library.complete()
    assert library.find("quetzals") == {f"p/c/{shown}"}
    moved = library.root / "p/.kept/d"
    away = moved.rename(library.root / "p/.kept/away")
    library.indexer.refresh()
    assert library.documents() == {"p/c/plain.md"}
    away.rename(moved)
    library.indexer.refresh()
    assert library.find("quetzals") == {f"p/c/{shown}"}


def test_links_in_a_circle_are_no_way(library: Library) -> None:
    put(library, "p/c/a.md", "b.md")
    put(library, "p/c/b.md", "a.md")
    put(library, "p/c/up.md", os.path.join(*[os.pardir] * 30, "nowhere.md"))
    library.complete()
    assert library.indexer.refresh([str(library.root / "p/c/b.md")]).removed == 0
    assert library.documents() == {"p/c/plain.md"}
