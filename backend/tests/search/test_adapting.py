"""A library teaches itself how its questions are to be turned.

* what its links call its pages is learned, pages held out are found better with it, and semantic search uses it
* a manual in several versions teaches what one of them does
* it is kept with the catalog, taken up again, and due again only once the library or the model is another
* pages that teach nothing, or too few of them, change nothing, and are asked no second time
* what is measured on own questions is measured on those held out
* a fit that fails neither keeps the others from theirs nor the library from being ready
"""

from __future__ import annotations

import hashlib
import random
import re
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from librarian.errors import Unavailable
from librarian.evaluation.evaluate import RatedQuery
from librarian.models import WINDOWS_PER_CHUNK, ModelSpec, Query, Vector, Vectors, Window
from librarian.search.engine import HybridSearchEngine
from librarian.storage.embedding_cache import SqliteEmbeddingCache
from librarian.tuning.background import BackgroundLearning
from librarian.tuning.own_questions import OwnQuestion, held_out, of_links, taught, untaught
from librarian.tuning.query_adapter import FEWEST_HELD, KEY, AdapterTraining

from .library import Library, Loaded

DIMENSION, PAGES = 32, 320
_MIXING = np.linalg.qr(np.random.default_rng(3).standard_normal((DIMENSION, DIMENSION)))[0]
_WORDS = ["".join(random.Random(number).choices("bcdfgklmnprst", k=7)) for number in range(90)]


class Jargon:
    """Every word has a direction; in front of it `x` turns it, as a writer's own name for a thing does."""

    spec = ModelSpec("jargon", DIMENSION, 256)
    fingerprint = "jargon"
    backend = "test"
    device = "cpu"

    def windows(self, prefix: str, text: str) -> list[Window]:
        whole = f"{prefix}\n{text}"
        return [Window(whole, hashlib.sha256(whole.encode()).hexdigest()[:32], 0, len(text))]

    def embed_chunks(self, texts: list[str]) -> Vectors:
        return np.stack([self.embed_query(text) for text in texts])

    def embed_query(self, text: str) -> Vector:
        vector = np.full(DIMENSION, 1e-3)
        for word in re.findall(r"[a-z]{7,8}", text):
            own = np.random.default_rng(_WORDS.index(word[-7:]) if word[-7:] in _WORDS else 999).standard_normal(
                DIMENSION
            )
            vector += own + 1.5 * own @ _MIXING if len(word) == 8 else own
        return np.asarray(vector / np.linalg.norm(vector), dtype=np.float32)

    def close(self) -> None: ...


def pages(*, own_names: bool) -> dict[str, str]:
    """Pages of nine words, and one that links to each by five of them, in the writer's own names or as they stand."""
    chance = random.Random(1)
    chosen = [chance.sample(_WORDS, 9) for _ in range(PAGES)]
    files = {f"shop/api/{number}.md": " ".join(words) + "\n" for number, words in enumerate(chosen)}
    mark = "x" if own_names else ""
    links = [f"- [{' '.join(mark + word for word in words[:5])}]({number}.md)" for number, words in enumerate(chosen)]
    return files | {"shop/api/all.md": "\n".join(links) + "\n"}


class Taught:
    """A library with all that is learned from."""

    def __init__(self, library: Library, folder: Path) -> None:
        self.library = library
        self.archive = SqliteEmbeddingCache(folder / "vectors.sqlite")
        self.model = library.embedder.fingerprint
        self.ended = threading.Event()
        with library.catalog.read() as reader:
            stored = [chunk for one in reader.iter_documents() for chunk in reader.chunks_of(one.doc_id)]
        rows, _ = zip(*[(chunk.chunk_id, chunk) for chunk in stored], strict=True)
        ids = np.array(rows, dtype=np.int64) * WINDOWS_PER_CHUNK
        state = library.vectors
        kept = {
            f"{number:032x}": library.embedder.embed_chunks([c.chunk.text])[0]
            for number, c in zip(rows, stored, strict=True)
        }
        state.upsert(ids, np.stack(list(kept.values())))
        self.archive.put(self.model, kept)
        library.catalog.mark_embedded(self.model, {number: [f"{number:032x}"] for number in rows})
        library.catalog.bump()
        self.engine: HybridSearchEngine = library.engine()

    def adapting(
        self, engine: HybridSearchEngine | None = None, *, model: str = "", archive: SqliteEmbeddingCache | None = None
    ) -> AdapterTraining:
        return AdapterTraining(
            engine or self.engine,
            self.library.catalog,
            archive or self.archive,
            store=lambda: self.library.vectors,
            embedder=Loaded(self.library.embedder),
            model=lambda: model or self.model,
            complete=lambda: True,
            ended=self.ended,
        )

    def first(self, text: str, engine: HybridSearchEngine | None = None) -> str:
        found = (engine or self.engine).search(Query(text, mode="semantic", max_results=1))
        return found.hits[0].document.document.file_path


@pytest.fixture
def teach(shelve: Callable[..., Library], tmp_path: Path) -> Iterator[Callable[..., Taught]]:
    made: list[Taught] = []

    def make(files: dict[str, str]) -> Taught:
        folder = tmp_path / f"archive{len(made)}"
        folder.mkdir()
        made.append(Taught(shelve(files, embed=False, embedder=Jargon()), folder))
        return made[-1]

    yield make
    for one in made:
        one.archive.close()


def held(one: Taught) -> list[tuple[str, str]]:
    """Questions that nothing is learned from, each with its page."""
    with one.library.catalog.read() as reader:
        ids = [stored.doc_id for stored in reader.iter_documents()]
        documents = [stored.document for stored in reader.documents(ids, text=True).values()]
    return [(own.rated.text, next(iter(own.rated.grades))) for own in untaught(of_links(documents))]


def test_what_links_call_pages_is_learned_kept_and_taken_up(teach: Callable[..., Taught]) -> None:
    one = teach(pages(own_names=True))
    asked = held(one)
    assert len(asked) >= FEWEST_HELD
    before = sum(one.first(text) == page for text, page in asked)
    adapting = one.adapting()
    assert adapting.due()
    adapting.renew()
    assert adapting.in_use
    assert "adapted to this library, learned on" in adapting.notes()[0]
    after = sum(one.first(text) == page for text, page in asked)
    assert after > before
    assert not adapting.due()
    # another process opens the library
    engine = one.library.engine()
    again = one.adapting(engine)
    assert not again.in_use
    again.take_up()
    assert again.in_use
    assert again.notes() == adapting.notes()
    assert [one.first(text, engine) for text, _ in asked] == [one.first(text) for text, _ in asked]
    # another model's vectors answer
    assert one.adapting(model="another").due()


def test_a_manual_in_four_versions_teaches_what_one_does(teach: Callable[..., Taught]) -> None:
    # with headings, by which editions are known, but such as ask nothing
    manual = {path: f"# Page {path[9:-3]}\n\n{text}" for path, text in pages(own_names=True).items()}
    noted = []
    for versions in (["api"], ["v1", "v2", "v3", "latest"]):
        one = teach({path.replace("api", version): text for version in versions for path, text in manual.items()})
        adapting = one.adapting()
        adapting.renew()
        assert adapting.in_use
        noted.append(re.findall("on ([0-9]+) of.* MRR of ([0-9]+) held", adapting.notes()[0])[0])
    once, four_times = ([int(count) for count in found] for found in noted)
    assert four_times == pytest.approx(once, rel=0.2)  # which pages are held out depends on their paths


def test_pages_that_teach_nothing_change_nothing(teach: Callable[..., Taught]) -> None:
    one = teach(pages(own_names=False))
    version = one.engine.ranker_version
    adapting = one.adapting()
    adapting.renew()
    assert not adapting.in_use
    assert not adapting.notes()
    assert not adapting.due()
    assert one.engine.ranker_version > version  # of what was in use before, nothing is
    few = {path: text for path, text in pages(own_names=True).items() if path < "shop/api/15"}
    small = teach(few)
    small.adapting().renew()
    assert not small.adapting().due()


def test_vectors_that_are_missing_are_told_and_learned_from_later(teach: Callable[..., Taught]) -> None:
    one, kept = teach(pages(own_names=True)), teach({"shop/api/a.md": "bcdfgkl\n"})
    with pytest.raises(Unavailable, match="vectors are missing"):
        one.adapting(archive=kept.archive).renew()
    assert one.adapting().due()
    one.ended.set()
    with pytest.raises(Unavailable, match="closing"):
        one.adapting().renew()


def test_what_was_kept_and_cannot_be_read_is_learned_again(teach: Callable[..., Taught]) -> None:
    one = teach({"shop/api/a.md": "bcdfgkl\n"})
    for garbage in ("", "[", "[]", '{"fingerprint": 1}'):
        one.library.catalog.set_meta(KEY, garbage)
        adapting = one.adapting()
        adapting.take_up()
        assert not adapting.in_use


def test_a_quarter_of_the_pages_is_held_out() -> None:
    names = [f"shop/api/page{number}.md" for number in range(2000)]
    share = sum(map(held_out, names)) / len(names)
    assert 0.2 < share < 0.3
    kept, left_out = (next(name for name in names if held_out(name) is out) for out in (False, True))
    both = [OwnQuestion(RatedQuery("1", "a", dict.fromkeys(pages, 1)), frozenset(), "links") for pages in
            ([kept], [left_out], [kept, left_out])]  # fmt: skip
    assert (taught(both), untaught(both)) == (both[:1], both[1:2])  # what leads to both is neither


class Lesson:
    """A fit that is due until it is learned, and fails so many times before."""

    def __init__(self, failures: int = 0, error: Exception | None = None) -> None:
        self.left, self.learned, self.failed = failures, threading.Event(), threading.Event()
        self.error = error or Unavailable("Not now.")

    def due(self) -> bool:
        return not self.learned.is_set()

    def renew(self) -> None:
        if self.left:
            self.left -= 1
            self.failed.set()
            raise self.error
        self.learned.set()

    def take_up(self) -> None: ...

    def notes(self) -> tuple[str, ...]:
        return ("learned",) if self.learned.is_set() else ()


def test_a_library_is_ready_once_it_has_learned() -> None:
    first, second = Lesson(), Lesson()
    fitting = BackgroundLearning([first, second], awaited=[first], complete=lambda: True, ended=threading.Event())
    assert not fitting.pending()  # nothing learns before it was started
    fitting.start()
    assert fitting.wait(120)
    assert first.learned.is_set()
    assert second.learned.wait(120)
    fitting.close()
    assert fitting.notes() == ("learned", "learned")


@pytest.mark.parametrize("error", [Unavailable("Not now."), IndexError("a defect")])
def test_what_fails_is_waited_for_no_longer_and_tried_again(error: Exception) -> None:
    first, second = Lesson(failures=1, error=error), Lesson()
    fitting = BackgroundLearning([first, second], awaited=[first], complete=lambda: True, ended=threading.Event())
    fitting.start()
    assert first.failed.wait(120)
    assert second.learned.wait(120)
    assert fitting.wait(120)
    fitting.look()
    assert first.learned.wait(120)
    fitting.close()


def test_waiting_ends_with_its_time() -> None:
    class Endless(Lesson):
        def renew(self) -> None:
            self.failed.set()
            going.wait(120)
            self.learned.set()

    going, lesson = threading.Event(), Endless()
    fitting = BackgroundLearning([lesson], awaited=[lesson], complete=lambda: True, ended=threading.Event())
    fitting.start()
    assert lesson.failed.wait(120)
    assert not fitting.wait(0.0)
    assert fitting.pending()
    going.set()
    assert fitting.wait(120)
    fitting.close()
    assert not fitting.pending()
