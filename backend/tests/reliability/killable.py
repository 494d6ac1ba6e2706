"""A process that indexes until it is killed, and what has to hold afterwards.

The child keeps everything on disk: catalog, keyword index, archive, and a line for each passage that was really
embedded. It is forked from a process that has all libraries loaded, so that a kill hits work and not imports.
"""

from __future__ import annotations

import hashlib
import multiprocessing
import random
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import cast

import numpy as np

from librarian.models import WINDOWS_PER_CHUNK, Filters, StoredChunk, StoredDocument, Vector, Vectors, embedding_prefix
from tests.embeddings.fakes import FakeEmbedder
from tests.storage.library import Library

BATCH = 32  #: passages embedded at once; so many may be lost with a kill
WORDS = ("wombat", "ocelot", "capybara", "axolotl", "quokka", "numbat", "kakapo", "tapir")


class LoggedEmbedder(FakeEmbedder):
    """Writes down what it embeds, so that work done twice is seen across processes.

    Its vectors are drawn by the text's hash: only the same text has the same one. Those of hashed words, as
    `FakeEmbedder` makes them, are now and then the same for two pages that differ in their number alone.
    """

    def __init__(self, log: Path, name: str = "fake") -> None:
        super().__init__(name=name)
        self.log = log

    def embed_chunks(self, texts: Sequence[str]) -> Vectors:
        with self.log.open("a") as lines:
            lines.writelines(f"{self.fingerprint} {hash_of(text)}\n" for text in texts)
        return super().embed_chunks(texts)

    def _vector(self, text: str) -> Vector:
        drawn = np.random.default_rng(int(hash_of(text)[:16], 16)).standard_normal(self.spec.dimension)
        return cast(Vector, (drawn / np.linalg.norm(drawn)).astype(np.float32))


def hash_of(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def opened(folder: Path, model: str) -> Library:
    library = Library(folder)
    library.indexer.stop()
    library.embedder = LoggedEmbedder(folder / "embedded.log", model)
    library.make = lambda: library.embedder
    library.model_key = model
    library.reopen()
    return library


def change(root: Path, seed: int) -> None:
    """Edits, moves, deletes and adds some files: the same for the same seed."""
    dice = random.Random(seed)
    files = sorted(path for path in root.rglob("*.md"))
    for path in dice.sample(files, min(6, len(files))):
        what = dice.choice(("edit", "delete", "move"))
        if what == "edit":
            path.write_text(page(dice))
        elif what == "delete":
            path.unlink()
        else:
            to = root / "moved" / dice.choice("ab") / f"{dice.randrange(10**6)}.md"
            to.parent.mkdir(parents=True, exist_ok=True)
            path.rename(to)
    for _ in range(6):
        new = root / "new" / dice.choice("ab") / f"{dice.randrange(10**6)}.md"
        new.parent.mkdir(parents=True, exist_ok=True)
        new.write_text(page(dice))


def page(dice: random.Random) -> str:
    """A page of a few passages; every page has a number that no other has."""
    words = " ".join(dice.choice(WORDS) for _ in range(dice.randrange(20, 150)))
    return f"# Page {dice.randrange(10**9)}\n\n{words}.\n"


def work(folder: str, model: str, started: object) -> None:
    """What the child does: make the index complete."""
    library = opened(Path(folder), model)
    started.set()  # type: ignore[attr-defined]
    library.complete()
    library.close()


def bring_up_to_date(folder: str, started: object) -> None:
    """What the child does with an index of an older format."""
    started.set()  # type: ignore[attr-defined]
    library = Library(Path(folder))
    library.complete()
    library.close()


class Victims:
    """Starts children that work, and kills them."""

    def __init__(self, target: Callable[..., None] = work) -> None:
        self.context = multiprocessing.get_context("forkserver")
        self.context.set_forkserver_preload([__name__, "tests.storage.library"])
        self.target = target

    def kill_after(self, seconds: float, *arguments: object) -> bool:
        """Start a child and kill it so many seconds into its work; False where it had ended before."""
        started = self.context.Event()
        child: BaseProcess = self.context.Process(target=self.target, args=(*arguments, started))
        child.start()
        assert started.wait(120), "the child hasn't begun"
        threading.Event().wait(seconds)
        child.kill()
        child.join(120)
        code, _ = child.exitcode, child.close()
        assert code in (0, -signal.SIGKILL), f"the child ended by itself with {code}"
        return code != 0


def assert_found_by_vector(library: Library, stored: StoredDocument, chunks: Sequence[StoredChunk]) -> None:
    """Every window of these passages is the nearest to its own text, and no other is near."""
    store, everything = library.store(library.embedder.fingerprint), library.catalog.columns().select(Filters())
    for chunk in chunks:
        prefix = embedding_prefix(stored.document, chunk.chunk.heading_path)
        for ordinal, window in enumerate(library.embedder.windows(prefix, chunk.chunk.text)):
            ids, cosines = store.search(library.embedder.embed_query(window.text), 2, everything)
            assert int(ids[0]) == chunk.chunk_id * WINDOWS_PER_CHUNK + ordinal, stored.document.file_path
            assert cosines[0] > 0.999 > 0.9 > cosines[1], (stored.document.file_path, cosines)


def assert_nothing_lost(folder: Path, model: str, kills: int) -> dict[str, float]:
    """Open as the next start would, complete, and compare; returns figures."""
    began = time.monotonic()
    library = opened(folder, model)
    library.complete()
    library.assert_whole()
    with library.catalog.read() as reader:
        for stored in reader.iter_documents():
            number = stored.document.title.split()[-1]
            assert library.find(f'"Page {number}"') == {stored.document.file_path}
            assert_found_by_vector(library, stored, reader.chunks_of(stored.doc_id))
    assert library.indexer.check() == []
    library.close()
    counted = Counter((folder / "embedded.log").read_text().splitlines())
    twice = sum(counted.values()) - len(counted)
    assert twice <= kills * BATCH, f"{twice} passages were embedded again after {kills} kills"
    return {"seconds": time.monotonic() - began, "again": twice, "embedded": len(counted)}
