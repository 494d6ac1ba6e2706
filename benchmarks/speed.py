"""How long answers take and how much they hold, beside the raw parts they are made of and beside rivals, in one run.

    .venv/bin/python benchmarks/speed.py --docs FOLDER --keep FOLDER [--passages 50000] [--only keyword,server]
        [--store exact] [--torch PYTHON --weights FOLDER] [--plot FILE.svg] [--updates 10000]

`--docs` holds `{product}/…` text files, for example some projects' documentation; `--keep` is where the library that is
measured is built, and found again next time. Each figure's floor is measured in the same run: raw tantivy, the bare
model, the bare vector store, an empty request. Its vectors are a sample of real ones with noise, since embedding 50,000
passages takes a quarter of an hour. `--torch` is a Python that has sentence-transformers, `--weights` the folder of the
model for it.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent))

import speed_rivals as rivals
from librarian.bootstrap import build
from librarian.embeddings.loading import EmbedderSpec
from librarian.embeddings.onnx import batches, padded
from librarian.library import Librarian
from librarian.models import Filters, Selection
from librarian.settings import Settings
from librarian.storage.base import Catalog
from librarian.storage.embedding_cache import SqliteEmbeddingCache
from librarian.text.analyzer import StandardAnalyzer
from librarian.vector_stores.exact import ExactStore
from speed_growth import growth, updates
from speed_library import index_text, noisy_vectors, write_documents
from speed_parts import RawParts, questions_of, timed
from speed_report import Report, machine
from speed_rerank import reranking
from speed_server import pss, restart, served

ROWS = ("indexing", "keyword", "hybrid", "filters", "cached", "embedding", "chroma", "restart", "server", "growth",
        "updates", "pages", "rerank")  # fmt: skip
IN_PROCESS = ("keyword", "hybrid", "filters", "cached", "chroma")
EMBEDDED = 300  #: passages that embedding is measured with
RECALLED = 50


def prepared(docs: Path, folder: Path, passages: int, store: str) -> Path:
    """The configuration of the library that is measured, which is built where it isn't there."""
    config, done = folder / "config.json", folder / "done"
    if not done.exists():
        folder.mkdir(parents=True, exist_ok=True)
        config.write_text('{"docs": {"root_path": "docs"}, "embeddings": {"enabled": false}}')
        write_documents(docs, folder / "docs", 1)
        copies = -(-passages // index_text(Settings.load(config))[1])
        write_documents(docs, folder / "docs", copies)
        index_text(Settings.load(config))
        config.write_text('{"docs": {"root_path": "docs"}}')
        made = noisy_vectors(Settings.load(config))
        done.write_text(f"{copies} copies, {made:,} vectors\n")
    config.write_text(f'{{"docs": {{"root_path": "docs"}}, "vector_db": {{"store": "{store}"}}}}')
    print(f"(library: {done.read_text().strip()})", file=sys.stderr)
    return config


def indexing(docs: Path, work: Path, report: Report) -> None:
    """The shipped indexer over one copy, from nothing to found by words; memory meanwhile."""
    folder = work / "indexing"
    folder.mkdir()
    config = folder / "config.json"
    config.write_text('{"docs": {"root_path": "docs"}, "embeddings": {"enabled": false}}')
    size = write_documents(docs, folder / "docs", 1)
    highest, done = [0.0], threading.Event()

    def watch() -> None:
        while not done.wait(0.5):
            highest[0] = max(highest[0], pss(os.getpid()))

    watcher = threading.Thread(target=watch)
    watcher.start()
    took, passages = index_text(Settings.load(config))
    done.set()
    watcher.join()
    rate = size / 1e6 / took
    texts = [path.read_text("utf-8", "replace") for path in (folder / "docs").rglob("*.md")]
    rival = rivals.bm25s_tokens(texts)
    report.add(
        f"keyword-ready indexing of {size / 1e6:.0f} MB, {passages:,} passages, MB/s",
        f"{rate:.1f}",
        f"bm25s tokenizes {rival:.1f}, and stores nothing" if rival else "bm25s isn't installed",
        "3",
        rate >= 3,
    )
    report.add("memory of the process tree meanwhile (PSS), MB", f"{highest[0]:.0f}", "", "1,000", highest[0] <= 1000)


class InProcess:
    """Rows that are measured in this process, on one opened library."""

    def __init__(self, config: Path, report: Report) -> None:
        self._report = report
        self._library = Librarian(build(Settings.load(config)))
        self._library.start()
        self._library.wait_until_ready(900)
        self.questions = questions_of(self._library)
        self._raw = RawParts(self._library)
        self._fresh = (f"{question} {number}" for number in range(10**6) for question in self.questions)
        self._parts: Any = self._library._parts

    def close(self) -> None:
        self._library.close()

    def keyword(self) -> None:
        raw = timed(self._raw.keyword, self.questions)
        own = timed(self._raw.asking("keyword"), self.questions)
        most = 2 * raw[0] + 1
        passages = self._library.status().chunks
        self._report.add(
            f"keyword, top 10 with snippets, {passages:,} passages, p50 / p95 ms",
            f"{own[0]:.1f} / {own[1]:.1f}",
            f"raw tantivy {raw[0]:.2f} / {raw[1]:.2f}",
            f"p50 {most:.1f}",
            own[0] <= most,
        )
        catalog: Catalog = self._parts.catalog
        with catalog.read() as reader:
            texts = [c.chunk.text for stored in reader.iter_documents() for c in reader.chunks_of(stored.doc_id)]
        rivals.keyword(texts, StandardAnalyzer(), self.questions, own[0], self._report)

    def hybrid(self) -> None:
        words = timed(self._raw.keyword, self.questions)
        model = timed(lambda _: self._raw.embed(next(self._fresh)), self.questions)
        vectors = iter([self._raw.embed(question) for question in self.questions] * 50)
        store, everything = self._raw.store(), self._raw.everything()
        scan = timed(lambda _: store.search(next(vectors), 100, everything), self.questions)
        asking = self._raw.asking("hybrid")
        own = timed(lambda _: asking(next(self._fresh)), self.questions)
        total = words[0] + model[0] + scan[0]
        self._report.add(
            "hybrid, uncached, in process, p50 / p95 ms",
            f"{own[0]:.1f} / {own[1]:.1f}",
            f"sum of its parts {total:.1f}: tantivy {words[0]:.1f}, model {model[0]:.1f}, {store.name} {scan[0]:.1f}",
            f"{1.5 * total + 5:.1f} / {3 * total + 5:.1f}",
            own[0] <= 1.5 * total + 5 and own[1] <= 3 * total + 5,
        )

    def filters(self) -> None:
        store, columns = self._raw.store(), self._parts.catalog.columns()
        product = self._library.list_products().products[0].name
        plain, filtered = self._raw.asking("hybrid"), self._raw.asking("hybrid", product=product)
        free = timed(lambda _: plain(next(self._fresh)), self.questions)
        bound = timed(lambda _: filtered(next(self._fresh)), self.questions)
        recalls = [self._recall(store, columns.select(given)) for given in (Filters(), Filters(product=product))]
        self._report.add(
            "hybrid with a product filter, p50 / p95 ms; recall@50 without and with",
            f"{bound[0]:.1f} / {bound[1]:.1f}; {recalls[0]:.4f} and {recalls[1]:.4f}",
            f"{bound[0] / free[0]:.2f}× unfiltered",
            "1.5×, 0.99",
            bound[0] <= 1.5 * free[0] and min(recalls) >= 0.99,
        )

    def _recall(self, store: Any, selection: Any) -> float:
        """Against every vector of the archive that passes."""
        model = self._parts.embedder.get().fingerprint
        ids, hashes = zip(*self._parts.catalog.windows(model), strict=True)
        numbers = np.array(ids, dtype=np.int64)
        kept = np.ones(len(ids), bool) if selection.mask is None else selection.mask[numbers // 64]
        archive = SqliteEmbeddingCache(self._library.index / "vectors.sqlite")
        wanted = [digest for digest, passes in zip(hashes, kept, strict=True) if passes]
        found = archive.get(model, wanted)
        archive.close()
        rows = np.stack([found[digest] for digest in wanted]).astype(np.float32)
        numbers = numbers[kept]
        shares = []
        for question in self.questions[:40]:
            vector = self._raw.embed(question)
            best = numbers[np.argsort(-(rows @ vector))[:RECALLED]]
            got, _ = store.search(vector, RECALLED, selection)
            shares.append(len(set(got.tolist()) & set(best.tolist())) / RECALLED)
        return float(np.mean(shares))

    def cached(self) -> None:
        for question in self.questions:
            self._library.search(question)
        own = timed(self._library.search, self.questions)
        self._report.add("a repeated question, in process, p50 / p95 ms", f"{own[0]:.2f} / {own[1]:.2f}")

    def chroma(self) -> None:
        chance = np.random.default_rng(3)
        centres = np.stack([self._raw.embed(question) for question in self.questions])
        rows = (
            centres[chance.integers(0, len(centres), 20_000)] + chance.standard_normal((20_000, centres.shape[1])) / 40
        )
        rows = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
        marks = [f"p{number % 2}" for number in range(len(rows))]
        found = rivals.chroma(rows, centres[:40], marks, "p0")
        store = ExactStore(rows.shape[1])
        store.upsert(np.arange(64, 64 * (len(rows) + 1), 64, dtype=np.int64), rows)
        mask = np.arange(len(rows) + 1) % 2 == 1
        for name, selection in (("all", Selection(Filters(), None, len(rows))),
                                ("where", Selection(Filters(product="p0"), mask, int(mask.sum())))):  # fmt: skip
            turn = iter(list(centres[:40]) * 9)
            own = timed(lambda _, s=selection, t=turn: store.search(next(t), 50, s), self.questions[:40])  # type: ignore[misc]
            took, recall = found[name]
            self._report.add(
                f"20,000 vectors, best 50, {'half of them by a filter' if name == 'where' else 'all'}, p50 ms",
                f"{own[0]:.1f}, every one",
                f"Chroma {took:.1f}, recall {recall:.3f}",
            )


def pages(docs: Path, work: Path, report: Report, count: int = 514) -> None:
    """So many pages from nothing until each has its vectors."""
    folder = work / "pages"
    found = sorted(path for path in docs.glob("*ray*/**/*") if path.suffix in (".md", ".rst", ".txt"))[:count]
    for path in found:
        target = folder / "docs" / path.relative_to(docs)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)
    config = folder / "config.json"
    config.write_text('{"docs": {"root_path": "docs"}}')
    with Librarian(build(Settings.load(config))) as library:
        started = time.perf_counter()
        library.start()
        status = library.status()
        while not status.chunks or status.embedded_chunks < status.chunks or status.documents < len(found):
            time.sleep(0.2)
            status = library.status()
        took = time.perf_counter() - started
    report.add(f"{len(found)} pages fully embedded from nothing, {status.embedded_chunks:,} passages, s", f"{took:.0f}",
               "", "150", took <= 150)  # fmt: skip


def embedding(config: Path, torch: Path | None, weights: Path | None, report: Report) -> None:
    """The embedder beside its bare session on the same passages, sorted alike; and beside sentence-transformers."""
    library = Librarian(build(Settings.load(config)))
    catalog: Catalog = library._parts.catalog
    with catalog.read() as reader:
        stored = list(reader.iter_documents())
        texts = [c.chunk.text for document in stored[:: max(1, len(stored) // 100)]
                 for c in reader.chunks_of(document.doc_id)][:EMBEDDED]  # fmt: skip
    library.close()
    embedder: Any = EmbedderSpec("all-MiniLM-L6-v2")()
    encoded = [embedder._tokenizer.encode(text).ids[: embedder.spec.max_tokens] for text in texts]
    feeds = [padded([encoded[i] for i in batch], embedder._inputs)
             for batch in batches([len(row) for row in encoded], embedder._max_batch)]  # fmt: skip
    embedder.embed_chunks(texts[:8])
    rates: dict[str, list[float]] = {"own": [], "raw": []}
    for _ in range(2):
        started = time.perf_counter()
        embedder.embed_chunks(texts)
        rates["own"].append(len(texts) / (time.perf_counter() - started))
        started = time.perf_counter()
        for feed in feeds:
            embedder._session.run([embedder._output], feed)
        rates["raw"].append(len(texts) / (time.perf_counter() - started))
    embedder.close()
    own, raw = max(rates["own"]), max(rates["raw"])
    report.add("embedding, passages a second", f"{own:.0f}", f"bare model {raw:.0f}: {own / raw:.0%}", "85%",
               own >= 0.85 * raw)  # fmt: skip
    if torch and weights:
        rival = rivals.torch_speed(torch, texts, weights)
        if rival:
            report.add("the same", f"{own:.0f}", f"sentence-transformers {rival:.0f}: {own / rival:.1f}×", "3×",
                       own >= 3 * rival)  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--docs", type=Path, required=True)
    parser.add_argument("--keep", type=Path, required=True, help="where the library is built, and found next time")
    parser.add_argument("--passages", type=int, default=50_000)
    parser.add_argument("--only", default=",".join(ROWS), help=f"some of {', '.join(ROWS)}")
    parser.add_argument("--store", default="auto", help="vector_db.store: auto, exact or chroma")
    parser.add_argument("--torch", type=Path, help="a Python that has sentence-transformers")
    parser.add_argument("--weights", type=Path, help="the folder of all-MiniLM-L6-v2 for it")
    parser.add_argument("--plot", type=Path, help="where the plot of growth goes (SVG)")
    parser.add_argument("--updates", type=int, default=2_000)
    given = parser.parse_args()
    wanted = [row for row in ROWS if row in given.only.split(",")]
    print(f"{machine()}\n")
    report, work = Report(), Path(tempfile.mkdtemp(prefix="librarian-speed-"))
    try:
        if "indexing" in wanted:
            indexing(given.docs, work, report)
        rest = [row for row in wanted if row not in ("indexing", "growth", "updates", "pages")]
        if rest:
            config = prepared(given.docs.resolve(), given.keep.resolve(), given.passages, given.store)
            inside = InProcess(config, report)
            try:
                questions = inside.questions
                for row in IN_PROCESS:
                    if row in wanted:
                        work_of: Callable[[], None] = getattr(inside, row)
                        work_of()
            finally:
                inside.close()
        outside: dict[str, Callable[[], None]] = {
            "embedding": lambda: embedding(config, given.torch, given.weights, report),
            "restart": lambda: restart(config, questions[0], report),
            "server": lambda: served(config, questions, given.keep.resolve() / "docs", report),
            "growth": partial(growth, given.docs, work / "growth", given.plot, report),
            "updates": partial(updates, given.docs, work / "updates", given.updates, report),
            "pages": partial(pages, given.docs, work, report),
            "rerank": lambda: reranking(config, questions, given.torch, work, report),
        }
        for row, measure in outside.items():
            if row in wanted:
                measure()
    finally:
        shutil.rmtree(work, ignore_errors=True)


if __name__ == "__main__":
    main()
