"""Projects with an embedding model of their own, from the crawl command to the answer: what is proved here.

* A project crawled with `--model` or `crawl.model` (JEDI_EMBEDDING_MODEL) keeps its root, model and dimension.
* One library then holds two vector spaces; each is searched with its own model, and the status lists both.
* A model that can't be loaded degrades its project only; a project that is removed takes its space along.

The models are real ones of a few thousand weights, of 32 and of 64 dimensions.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from librarian import cli
from librarian.gathering.crawl_state import CrawlState, state_path
from librarian.gathering.project_models import ProjectModels
from librarian.library import Librarian
from librarian.models.embedder import OnnxEmbedder
from librarian.models.store import ModelStore
from librarian.models.table import read_spec
from librarian.schemas import SearchResponse
from tests.gathering.site import Site, served
from tests.models import tiny_bert

QUIET = {"docs.watch_for_changes": False, "index.workers": 1, "search.mode": "semantic", "vector_db.store": "exact"}
PAGE = (
    b"<html><body><main><h1>%s</h1><p>%s, as the pod runs and the scheduler assigns it to a node.</p>%s</main></body>"
)


@dataclass
class Place:
    folder: Path
    own: Path
    other: Path
    site: Site

    @property
    def url(self) -> str:
        return f"{self.site.url}/s/"

    def crawl(self, *arguments: str) -> int:
        places = ["--root", str(self.folder / "docs"), "--index", str(self.folder / "index")]
        return cli.run(["crawl", "--allow-private", "--rate", "0", *arguments, *places])

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
    tiny_bert.write_model(tmp_path / "other", hidden_size=64)
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
        yield Place(tmp_path, tmp_path / "own", tmp_path / "other", running)


def products(answer: SearchResponse) -> set[str]:
    return {item.product for item in answer.results}


def test_one_library_holds_two_spaces_each_searched_with_its_own_model(place: Place) -> None:
    assert place.crawl(place.url, "--project", "site", "--model", str(place.other)) == 0
    state = place.state()
    assert (state.root_url, state.embedding_model, state.model_chosen) == (place.url, str(place.other), True)
    with place.open() as library:
        status = library.status()
        assert status.status == "ready", status.reasons
        assert status.embedded_chunks == status.chunks == 5
        assert status.embeddings.models == [str(place.own), str(place.other)]
        assert f"Embedded with a model of their own, {place.other}: site." in status.notes
        spaces = {space.name: space for space in library._parts.spaces()}
        assert spaces[str(place.other)].products == {"site"}
        store = spaces[str(place.other)].store
        assert store is not None
        assert store.count() >= 3
        answer = library.search("what is a persistent volume", explain=True)
        assert products(answer) == {"notes", "site"}
        assert {item.product for item in answer.results[:2]} == {"notes", "site"}
        assert answer.retrievers.semantic.reason.startswith("joined by rank over the models")
        for item in answer.results:
            assert item.semantic_score == pytest.approx(cosine(place, library, item.id), abs=0.02)
        assert products(library.search("volume", product="site")) == {"site"}
        assert products(library.search("volume", product="notes")) == {"notes"}
        assert library.search("volume", mode="hybrid").mode == "hybrid"
        assert {item.project for item in library.search_doc("volume", project="site").results} == {"site"}


def cosine(place: Place, library: Librarian, result_id: str) -> float:
    """As the product's own model says, computed anew."""
    path = result_id.split("#")[0]
    home = ModelStore().ensure(str(place.other if path.startswith("site/") else place.own))
    embedder = OnnxEmbedder(home, read_spec(str(home), home))
    try:
        with library._parts.catalog.read() as reader:
            stored = reader.document_by_path(path)
            assert stored is not None
            (chunk,) = reader.chunks_of(stored.doc_id)
        prefix = " > ".join(dict.fromkeys([stored.document.title, *chunk.chunk.heading_path]))
        texts = [window.text for window in embedder.windows(prefix, chunk.chunk.text)]
        asked = embedder.embed_query("what is a persistent volume")
        return max(0.0, float(np.max(embedder.embed_passages(texts) @ asked)))
    finally:
        embedder.close()


def test_a_project_follows_the_library_unless_it_was_given_a_model(
    place: Place, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert place.crawl(place.url, "--project", "site") == 0
    assert (place.state().embedding_model, place.state().embedding_dimension) == ("all-MiniLM-L6-v2", 384)
    assert ProjectModels(place.folder / "index")() == {}
    monkeypatch.setenv("JEDI_EMBEDDING_MODEL", "bge-small-en-v1.5")
    assert place.crawl("--refresh") == 0
    assert not place.state().model_chosen
    monkeypatch.setenv("EMBEDDING_MODEL", "all-MiniLM-L6-v2")
    assert place.crawl(place.url, "--project", "site") == 0
    assert (place.state().embedding_model, place.state().embedding_dimension) == ("bge-small-en-v1.5", 384)
    chosen = ProjectModels(place.folder / "index")
    assert chosen() == {"site": "bge-small-en-v1.5"}
    assert place.crawl("--refresh", "--project", "site", "--model", "BAAI/bge-small-en-v1.5") == 0
    assert chosen() == {"site": "bge-small-en-v1.5"}
    capsys.readouterr()
    assert place.crawl("--refresh", "--model", "bge-smal-en") == 78
    assert "Nearest: 'bge-small-en-v1.5'" in capsys.readouterr().err
    state_path(place.folder / "index", "site").write_text("{")
    assert chosen() == {"site": "bge-small-en-v1.5"}
    state_path(place.folder / "index", "site").unlink()
    assert chosen() == {}


def test_a_model_that_can_not_be_loaded_degrades_its_project_only(place: Place) -> None:
    assert place.crawl(place.url, "--project", "site", "--model", str(place.other)) == 0
    (place.other / "tokenizer.json").unlink()
    with place.open() as library:
        status = library.status()
        assert status.status == "degraded"
        (reason,) = status.reasons
        assert reason.startswith(f"embeddings of site: '{place.other}' in ")
        assert "tokenizer.json" in reason
        assert (status.embedded_chunks, status.chunks) == (2, 5)
        answer = library.search("what is a persistent volume")
        assert (answer.mode, products(answer)) == ("semantic", {"notes"})
        assert reason in answer.degraded
        alone = library.search("persistent volume", product="site")
        assert (alone.mode, alone.retrievers.semantic.status, products(alone)) == ("keyword", "failed", {"site"})
        tiny_bert.write_model(place.other, hidden_size=64)
        library.reload()
        library.wait_until_ready()
        assert library.status().status == "ready"
        assert products(library.search("what is a persistent volume")) == {"notes", "site"}


def test_a_removed_project_takes_its_space_along(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    assert place.crawl(place.url, "--project", "site", "--model", str(place.other)) == 0
    with place.open() as library:
        assert len(library.status().embeddings.models) == 2
    mine = place.folder / "docs/site/mine.md"
    mine.write_text("# Mine\n\nWhat is read.\n")
    capsys.readouterr()
    assert place.crawl("--project", "site", "--remove", "--json") == 0
    assert json.loads(capsys.readouterr().out) == {"project": "site", "removed": 3}
    assert [path.name for path in (place.folder / "docs/site").rglob("*.md")] == ["mine.md"]
    with place.open() as library:
        status = library.status()
        assert status.embeddings.models == [str(place.own)]
        assert status.embedded_chunks == status.chunks == 3
        assert library._parts.spaces() == ()
    assert place.crawl("--project", "site", "--remove") == 1
    assert "hasn't been crawled" in capsys.readouterr().err


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
