"""Crawled projects and the library's embedding model: what is proved here.

* A project is embedded with the library's model; its crawl remembers the first page.
* `crawl.model` says what to do instead.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from librarian.cli import main
from librarian.crawling.pages import CrawlState, state_path
from librarian.library import Librarian
from tests.crawling.site import Site, served
from tests.embeddings import tiny_bert

QUIET = {"docs.watch_for_changes": False, "index.workers": 1, "search.mode": "semantic", "vector_db.store": "exact"}
PAGE = (
    b"<html><body><main><h1>%s</h1><p>%s, as the pod runs and the scheduler assigns it to a node.</p>%s</main></body>"
)


@dataclass
class Place:
    folder: Path
    own: Path
    site: Site

    @property
    def url(self) -> str:
        return f"{self.site.url}/s/"

    def crawl(self, *arguments: str) -> int:
        places = ["--root", str(self.folder / "docs"), "--index", str(self.folder / "index")]
        return main.run(["crawl", "--allow-private", "--rate", "0", *arguments, *places])

    def open(self, **further: object) -> Librarian:
        given = QUIET | {"embeddings.model": str(self.own)} | further
        return Librarian.open(root=self.folder / "docs", index=self.folder / "index", **given)

    def state(self) -> CrawlState:
        state = CrawlState.load(state_path(self.folder / "index", "site"))
        assert state is not None
        return state


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    tiny_bert.write_model(tmp_path / "own")
    notes = tmp_path / "docs/notes/own"
    notes.mkdir(parents=True)
    (notes / "volume.md").write_text("# Volume\n\nA persistent volume is read.\n")
    (notes / "query.md").write_text("# Query\n\nWhat is the query.\n")
    site = Site()
    site.robots = ""
    site.extra = {
        "/s/": ("text/html", PAGE % (b"Start", b"Begin here", b'<a href="one.html">1</a> <a href="two.html">2</a>')),
        "/s/one.html": ("text/html", PAGE % (b"Persistent", b"A persistent volume", b"")),
        "/s/two.html": ("text/html", PAGE % (b"Assigns", b"What assigns", b"")),
    }
    with served(site) as running:
        yield Place(tmp_path, tmp_path / "own", running)


def test_a_project_is_embedded_with_the_model_of_the_library(place: Place) -> None:
    assert place.crawl(place.url, "--project", "site") == 0
    assert place.state().root_url == place.url
    with place.open() as library:
        status = library.status()
        assert (status.status, status.embedded_chunks, status.chunks) == ("ready", 5, 5)
        assert status.embeddings.models == [str(place.own)]
        assert {item.product for item in library.search("what is a persistent volume").results} == {"notes", "site"}


def test_asking_for_another_model_says_what_to_do_instead(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    (place.folder / "other.json").write_text('{"crawl": {"model": "bge-small-en-v1.5"}}')
    assert place.crawl(place.url, "--project", "site", "--config", str(place.folder / "other.json")) == 78
    told = capsys.readouterr().err
    assert "the setting 'crawl.model' no longer exists" in told
    assert "set embeddings.model there" in told


def test_what_is_left_of_a_removed_project_is_said_where_there_is_something(
    place: Place, capsys: pytest.CaptureFixture[str]
) -> None:
    for left in (False, True):
        assert place.crawl(place.url, "--project", "site") == 0
        if left:
            (place.folder / "docs/site/mine.md").write_text("# Mine\n")
        capsys.readouterr()
        assert place.crawl("--project", "site", "--remove") == 0
        assert ("weren't crawled are still there" in capsys.readouterr().out) is left
