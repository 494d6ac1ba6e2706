"""A library that moves to PostgreSQL, as the commands do it, with the default model.

* `migrate` copies everything; afterwards the same questions find the same passages, nothing is embedded again, and the
  answer says how it was ranked. Back again, the answers are the ones from before, those about mails included.
* A worker embeds what a server without its own time would; another model than the library's is refused.
* A keeper at work, a wrong storage and missing addresses are refused with the way out.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import pytest

from librarian import assembly_parts
from librarian.assembly import Librarian
from librarian.assembly_sharing import worker
from librarian.assembly_storage import storage
from librarian.keeper.lock import KEEPER, FolderLock
from librarian.models.store import ModelStore
from librarian.settings import Settings
from librarian.terminal.place import Place
from librarian.terminal.sharing import move_to
from librarian.vocabulary.errors import CallerError, SetupError
from tests import postgres
from tests.desk.conftest import write_library
from tests.shelving.test_mails import WALRUS, mbox, reply, source

QUESTION = "Which card does a refund go to?"
QUOTED = "The compressor in hall four loses pressure whenever the second valve is opened by hand"


@dataclass
class Told:
    """What a library answers: what is found where, how it is shown, and the scores, which float16 moves a little."""

    found: dict[str, list[tuple[object, ...]]]
    scores: dict[str, float]

    def agrees(self, other: Told, *, start: str = "") -> bool:
        """Whether both say the same, of what begins so."""
        mine, theirs = ({k: v for k, v in told.found.items() if k.startswith(start)} for told in (self, other))
        scores = {k: v for k, v in other.scores.items() if k.startswith(start)}
        return mine == theirs and {k: self.scores[k] for k in scores} == pytest.approx(scores, abs=2e-3)


def answers(library: Librarian, modes: tuple[str, ...] = ("keyword", "semantic", "hybrid")) -> Told:
    """To some questions, about mails too, and what their conversations hold."""
    told = Told({}, {})
    for mode in modes:
        for question in (QUESTION, "rotate a token", "E4021", "compressor pressure valve", "walrus"):
            for search in (library.search, library.search_emails):
                name = f"{mode} {search.__name__} {question}"
                hits = search(question, mode=mode).results  # type: ignore[operator]
                told.found[name] = [(hit.file_path, hit.line_start, hit.snippet) for hit in hits]
                told.scores |= {f"{name} {hit.rank}": hit.relevance_score for hit in hits}
        for thread in sorted({hit.thread_id for hit in library.search_emails("refund walrus", mode=mode).results}):
            emails = library.get_thread(thread).emails
            told.found[f"{mode} {thread}"] = [(mail.file_path, mail.body, mail.quoted) for mail in emails]
    return told


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """A configuration that names both storages' addresses."""
    if ModelStore().locate("all-MiniLM-L6-v2") is None:
        pytest.skip("the default embedding model is not installed; run librarian models fetch")
    path = tmp_path / "config.json"
    storage = {"database_url": postgres.url(), "database_schema": postgres.schema_of(tmp_path)}
    settings = {"docs": {"root_path": "docs", "watch_for_changes": False}, "storage": storage}
    path.write_text(json.dumps(settings))
    write_library(tmp_path / "docs")
    return path


def test_a_library_moves_to_postgres_and_a_worker_embeds_for_it(config: Path, tmp_path: Path) -> None:
    place = Place(config=config)
    first = source("a", WALRUS)
    (tmp_path / "docs/mail/support/list.mbox").write_text(mbox(first, reply("b", "Okapi.", WALRUS, "<a@x>")))
    (tmp_path / "docs/mail/support/quoting.eml").write_text(reply("c", "Tapir.", f"{QUOTED}\n{QUOTED}", "<z@x>"))
    with Librarian.open(config) as library:
        before = library.search(QUESTION, mode="hybrid")
        told = answers(library)
        status = library.status()
    assert "quoting.eml" in str(told.found["keyword search_emails compressor pressure valve"])
    answer = move_to(place, "postgres", None)
    assert (answer["documents"], answer["chunks"]) == (status.documents + status.emails, status.chunks)
    assert answer["vectors"] == status.embedded_chunks
    with pytest.raises(SetupError, match="already"):
        move_to(place, "postgres", None)

    shared = {"storage.catalog": "postgres"}
    with Librarian.open(config, **shared) as library:
        after = library.search(QUESTION, mode="hybrid")
        assert library.refresh().added == 0
        assert library.status().embedded_chunks == status.embedded_chunks
        assert library.status().storage.vectors == "pgvector"
        assert answers(library, modes=("semantic",)).agrees(told, start="semantic")
    answer = move_to(Place(config=config, index=tmp_path / "back"), "embedded", None)
    assert answer["vectors"] == status.embedded_chunks
    with Librarian.open(config, index=tmp_path / "back") as library:
        assert library.refresh().added == 0
        assert answers(library).agrees(told)
    assert "ts_rank" in after.legs.keyword.reason
    assert "reciprocal rank fusion" in after.legs.keyword.reason
    assert {r.file_path for r in after.results[:2]} & {r.file_path for r in before.results[:2]}
    semantic = [r.semantic_score for r in before.results if r.file_path == "shop/guides/returns.md"]
    again = [r.semantic_score for r in after.results if r.file_path == "shop/guides/returns.md"]
    assert semantic[:1] == pytest.approx(again[:1], abs=2e-3)

    settings = Settings.load(config, overrides=shared)
    held = storage(settings)
    with held.catalog.read() as reader:
        model = reader.meta("model")
    held.catalog.forget(model)
    held.archive.prune(model, set())
    held.close()
    made, opened = worker(settings, assembly_parts.embedding_child(settings))
    try:
        assert made.run(until_done=True) == status.chunks
        with opened.catalog.read() as reader:
            assert reader.count(model).embedded_chunks == status.chunks
        opened.catalog.set_meta("model", "another")
        with pytest.raises(SetupError, match="another"):
            made.run(until_done=True)
    finally:
        made.close()
        opened.close()


def test_what_cannot_be_is_refused_with_the_way_out(config: Path, tmp_path: Path) -> None:
    place = Place(config=config)
    with pytest.raises(CallerError, match="Use embedded or postgres"):
        move_to(place, "oracle", None)
    lock = FolderLock(tmp_path / ".librarian", KEEPER)
    assert lock.acquire()
    try:
        with pytest.raises(SetupError, match="owns the index"):
            move_to(place, "postgres", None)
    finally:
        lock.release()

    def refused(**overrides: object) -> str:
        bare = tmp_path / "bare.json"
        bare.write_text("{}")
        settings = Settings.load(
            bare, environ={}, overrides={key.replace("__", "."): value for key, value in overrides.items()}
        )
        with pytest.raises(SetupError) as caught:
            storage(settings).close()
        return str(caught.value)

    assert "DATABASE_URL" in refused(storage__catalog="postgres")
    url = postgres.url()
    assert "can't share" in refused(storage__database_url=url, storage__catalog="postgres", vector_db__store="chroma")
    assert "QDRANT_URL" in refused(storage__database_url=url, storage__catalog="postgres", vector_db__store="qdrant")
    assert "storage.catalog" in refused(vector_db__store="pgvector")
    with pytest.raises(SetupError, match="Workers embed"):
        worker(Settings.load(config), lambda: None)  # type: ignore[arg-type, return-value]
