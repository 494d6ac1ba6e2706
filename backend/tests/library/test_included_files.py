"""A document and the files that it includes are one: what changes in these is found like a change of its own.

* the watcher notices it in the library's folder; in those of `docs.include_roots` a rescan and an answer do
* a file that comes, goes or changes while nobody watches is noticed at the next look
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from librarian.library import Librarian
from tests.storage.library import wait_for

PAGE = '# Calls\n\nThis is how:\n\n```{literalinclude} ../../code/call.py\n:pyobject: ask\n```\n\n--8<-- "note.txt"\n'


@pytest.fixture
def opened(tmp_path: Path) -> Callable[..., Librarian]:
    for name, text in {
        "docs/app/guide/calls.md": PAGE,
        "docs/app/guide/note.txt": "Mind the porcupines.\n",
        "code/call.py": "import api\n\n\ndef ask():\n    return api.wombat()\n",
    }.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def opening(**more: object) -> Librarian:
        settings: dict[str, Any] = {
            "embeddings.enabled": False,
            "docs.watch_debounce_ms": 50,
            "docs.rescan_s": 0,
            "index.workers": 1,
        }
        settings |= {"docs.include_roots": [str(tmp_path / "code")]} | more
        return Librarian.open(root=tmp_path / "docs", index=tmp_path / "index", **settings)

    return opening


def found(library: Librarian, words: str) -> list[str]:
    results = library.search(words, mode="keyword").results
    return [result.file_path for result in results if result.file_path.endswith("calls.md") and not result.stale]


def test_a_change_of_an_included_file_is_noticed_wherever_it_lies(opened: Callable[..., Librarian]) -> None:
    with opened() as library:
        folder = library.root.parent
        assert found(library, "wombat porcupines")
        assert "def ask():" in library.get_document("app/guide/calls.md").content
        (folder / "code" / "call.py").write_text("import api\n\n\ndef ask():\n    return api.ocelot()\n")
        library.search("wombat", mode="keyword")  # an answer is checked against the files
        wait_for(lambda: bool(found(library, "ocelot")))
        (folder / "docs" / "app" / "guide" / "note.txt").write_text("Mind the lemurs.\n")
        wait_for(lambda: bool(found(library, "lemurs")))
        assert library.check().ok


def test_what_happens_while_nobody_watches_is_noticed_at_the_next_look(opened: Callable[..., Librarian]) -> None:
    with opened(**{"docs.watch_for_changes": False}) as library:
        folder = library.root.parent
        (folder / "code" / "call.py").unlink()
        (library.root / "app" / "guide" / "note.txt").write_text("Mind the lemurs.\n")
        [stale] = [one for one in library.search("wombat").results if one.file_path.endswith("calls.md")]
        assert stale.stale  # and it is looked at soon
        wait_for(lambda: bool(found(library, "lemurs")))
        [shown] = library.search("lemurs").results
        assert "(Included file not found: ../../code/call.py)" in shown.snippet
        assert not library.search("included file found", mode="keyword").results  # a page isn't found by such a line
        (folder / "code" / "call.py").write_text("def ask():\n    return ocelot\n")
        library.refresh()
        assert found(library, "ocelot")
        assert library.refresh().changed == 0


def test_a_page_that_moves_includes_what_lies_beside_it_then(opened: Callable[..., Librarian]) -> None:
    with opened(**{"docs.watch_for_changes": False}) as library:
        moved = library.root / "app" / "other"
        moved.mkdir()
        (moved / "note.txt").write_text("Mind the lemurs.\n")
        os.rename(library.root / "app" / "guide" / "calls.md", moved / "calls.md")
        library.refresh()
        assert found(library, "lemurs wombat") == ["app/other/calls.md"]


def test_no_page_takes_in_what_lies_outside(opened: Callable[..., Librarian], tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("swordfish\n")
    (tmp_path / "docs" / "app" / "way").symlink_to(tmp_path)
    for target in ("../../secret.txt", f"{tmp_path}/secret.txt", "way/secret.txt", "../code/../secret.txt"):
        lines = f'.. include:: {target}\n\n--8<-- "{target}"\n\n{{{{#include {target}}}}}\n\ninclude::{target}[]\n'
        for ending in ("rst", "md", "adoc"):
            (tmp_path / "docs" / "app" / f"{abs(hash(target))}.{ending}").write_text(f"# Quokkas\n\n{lines}")
    with opened(**{"docs.watch_for_changes": False}) as library:
        assert len(library.search("quokkas", max_results=50).results) == 12
        assert not library.search("swordfish", mode="keyword").results
