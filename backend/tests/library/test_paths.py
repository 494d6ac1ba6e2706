"""Documents whose names on disk aren't their file paths are found, shown and kept by an open library.

* They are found and aren't taken for deleted or stale; every answer can be sent.
* They answer to their file path and to their path on disk, in either normal form.
"""

from __future__ import annotations

import os
import sys
import threading
import unicodedata
from collections.abc import Iterator

import pytest

from librarian.bootstrap import Librarian

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="other file systems change or refuse these names")

DECOMPOSED = unicodedata.normalize("NFD", "Übersicht/Résumé.md")
LATIN = os.fsdecode(b"c/R\xe9sum\xe9.md")
NAMES = {DECOMPOSED: "Übersicht/Résumé.md", LATIN: "c/R\ufffdsum\ufffd.md", "c/Résumé.md": "c/Résumé.md"}
BACKSLASH = "c/back\\slash.txt"


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Librarian]:
    folder = tmp_path_factory.mktemp("names")
    config = folder / "config.json"
    config.write_text('{"docs": {"root_path": "docs", "watch_debounce_ms": 20}, "embeddings": {"enabled": false}}')
    for number, name in enumerate(NAMES):
        path = folder / "docs" / "p" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"# Life {number}\n\nA passage about quetzals and animal{number}.\n")
    (folder / "docs" / "p" / BACKSLASH).write_text("Capybaras swim.\n")
    copy = folder / "docs" / "p" / "c" / unicodedata.normalize("NFD", "Kopie für Zoë.md")
    copy.write_text((folder / "docs" / "p" / "c" / "Résumé.md").read_text())
    mail = folder / "docs" / "p" / "c" / unicodedata.normalize("NFD", "Grüße.eml")
    mail.write_text("From: a@x.org\nTo: b@x.org\nSubject: Zoo\nMessage-ID: <1@x>\n\nThe numbats are well.\n")
    with Librarian.open(config) as opened:
        opened.refresh()
        yield opened


def test_they_are_found_again_and_again(library: Librarian) -> None:
    for _ in range(2):
        answer = library.search("quetzals", max_results=10)
        shown = {result.file_path for result in answer.results} | {p for r in answer.results for p in r.also_in}
        assert shown == {f"p/{name}" for name in NAMES.values()} | {"p/c/Kopie für Zoë.md"}
        assert not any(result.stale for result in answer.results)
        assert answer.model_dump_json().encode("utf-8")
        assert [mail.file_path for mail in library.search_emails("numbats").results] == ["p/c/Grüße.eml"]
        library.refresh()
    status = library.status()
    assert (status.documents, status.emails, status.failures.total, status.skipped.total) == (5, 1, 0, 0)
    assert status.model_dump_json().encode("utf-8")
    assert library.check().problems == []


def test_a_backslash_may_be_part_of_a_name_and_stands_for_a_slash_where_it_is_none(library: Librarian) -> None:
    (found,) = library.search("capybaras").results
    assert found.file_path == f"p/{BACKSLASH}"
    for path in (found.file_path, found.id, found.uri, f".\\{found.file_path}"):
        assert library.get_document(path).content.strip() == "Capybaras swim."
    assert library.get_document("p\\c\\Résumé.md").file_path == "p/c/Résumé.md"
    assert library.get_document(".\\p\\c/Résumé.md").file_path == "p/c/Résumé.md"


@pytest.mark.parametrize("name", NAMES)
def test_they_answer_to_either_spelling(library: Librarian, name: str) -> None:
    file_path = f"p/{NAMES[name]}"
    for path in (file_path, f"p/{name}", unicodedata.normalize("NFD", file_path)):
        assert library.get_document(path).file_path == file_path
    assert library.analyze("quetzals", path=f"p/{name}").why_not.file_path == file_path


def test_a_component_answers_to_either_normal_form(library: Librarian) -> None:
    for component in ("Übersicht", unicodedata.normalize("NFD", "Übersicht")):
        answer = library.search("quetzals", product="p", component=component)
        assert [result.file_path for result in answer.results] == ["p/Übersicht/Résumé.md"]


def test_a_changed_one_is_read_again(library: Librarian) -> None:
    read = threading.Event()
    forget = library.on_generation(lambda _: read.set())
    (library.root / "p" / DECOMPOSED).write_text("# Life 0\n\nA passage about quetzals and zebras and gnus.\n")
    library.search("quetzals")
    assert read.wait(60)
    forget()
    assert [result.file_path for result in library.search("zebras").results] == ["p/Übersicht/Résumé.md"]
