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

from librarian.vocabulary.types import WINDOWS_PER_CHUNK, Filters, Vectors, embedding_prefix
from tests.models.fakes import FakeEmbedder
from tests.shelving.library import Library

BATCH = 32  #: passages embedded at once; so many may be lost with a kill
WORDS = ("wombat", "ocelot", "capybara", "axolotl", "quokka", "numbat", "kakapo", "tapir")


class LoggedEmbedder(FakeEmbedder):
    """Writes down what it embeds, so that work done twice is seen across processes."""

    def __init__(self, log: Path, name: str = "fake") -> None:
        super().__init__(name=name)
        self.log = log

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        with self.log.open("a") as lines:
            lines.writelines(f"{self.fingerprint} {hash_of(text)}\n" for text in texts)
        return super().embed_passages(texts)


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


class Victims:
    """Starts children that work, and kills them."""

    def __init__(self, target: Callable[..., None] = work) -> None:
        self.context = multiprocessing.get_context("forkserver")
        self.context.set_forkserver_preload([__name__, "tests.shelving.library"])
        self.target = target

    def kill_after(self, seconds: float, *arguments: object) -> bool:
        """Start a child and kill it so many seconds into its work; False where it had ended before."""
        started = self.context.Event()
        child: BaseProcess = self.context.Process(target=self.target, args=(*arguments, started))
        child.start()
        assert started.wait(30), "the child hasn't begun"
        threading.Event().wait(seconds)
        child.kill()
        child.join(30)
        code, _ = child.exitcode, child.close()
        assert code in (0, -signal.SIGKILL), f"the child ended by itself with {code}"
        return code != 0


def nearest(library: Library, text: str) -> set[str]:
    """File paths of the passages that have this very text's vector."""
    vector = library.embedder.embed_query(text)
    ids, cosines = library.store(library.embedder.fingerprint).search(
        vector, 5, library.catalog.columns().select(Filters())
    )
    same = [int(number) // WINDOWS_PER_CHUNK for number, cosine in zip(ids, cosines, strict=True) if cosine > 0.999]
    with library.catalog.read() as reader:
        documents = reader.documents([chunk.doc_id for chunk in reader.chunks(same).values()])
        return {stored.document.file_path for stored in documents.values()}


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
            chunk = reader.chunks_of(stored.doc_id)[0].chunk
            prefix = embedding_prefix(stored.document, chunk.heading_path)
            asked = library.embedder.windows(prefix, chunk.text)[0].text
            assert stored.document.file_path in nearest(library, asked)
    assert library.indexer.check() == []
    library.close()
    counted = Counter((folder / "embedded.log").read_text().splitlines())
    twice = sum(counted.values()) - len(counted)
    assert twice <= kills * BATCH, f"{twice} passages were embedded again after {kills} kills"
    return {"seconds": time.monotonic() - began, "again": twice, "embedded": len(counted)}
