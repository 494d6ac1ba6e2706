"""What Librarian takes beside the raw parts it is made of: ratios that no change may raise. Under a minute.

    .venv/bin/python benchmarks/guard.py [--model]

Both sides of a ratio are processor time, taken in turns in one run over pages made of this manual, so that neither the
machine nor what else runs on it matters much. A ratio above its bound is measured again, three times in all, and the
least counts. Exit code 1 where one stays above.

The bounds are about 1.4 times the ratios measured on 2026-11-22 on two busy cores (AMD EPYC, Python 3.11), which
differed by up to a sixth from run to run: what takes half as much again fails. Those of search are 1.25 times what was
measured on 2026-11-28. A change that makes something quicker lowers its bound.

`--model` adds the row that needs the embedding model, with vectors at random.
"""

from __future__ import annotations

import argparse
import hashlib
import random
import re
import sys
import tempfile
import time
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent))

from librarian.bootstrap import build
from librarian.bootstrap import reader as reader_of
from librarian.bootstrap import scanner as scanner_of
from librarian.library import Librarian
from librarian.models import Filters, Selection, SourceFile
from librarian.settings import Settings
from librarian.vector_stores.exact import ExactStore
from speed_library import noisy_vectors
from speed_parts import RawParts, processor_ms, questions_of

MANUAL = Path(__file__).resolve().parents[1] / "docs"
SMALL, LARGE = 80, 320  #: pages
ROWS, WIDTH = 20_000, 384  #: of the vectors that are scanned

#: What is measured, and what it may be at most.
BOUNDS = {
    "keyword search / raw tantivy": 15.1,
    "keyword search, 4 times the passages / as many": 1.5,
    "repeated question / keyword search": 0.06,
    "exact scan of 20,000 vectors / float32 product": 2.0,
    "reading and analysing / words, hash and packing": 8.0,
    "one changed file, 4 times the passages / as many": 1.7,
    "hybrid search / raw tantivy + model + scan": 4.2,
}


def write_pages(root: Path, count: int) -> None:
    """Pages of about forty paragraphs of the manual each, with words of their own in every paragraph."""
    paragraphs = [
        part
        for page in sorted(MANUAL.rglob("*.md"))
        for part in page.read_text("utf-8").split("\n\n")
        if 160 < len(part) < 1500
    ]
    for number in range(count):
        chance = random.Random(number)
        target = root / "product" / f"part{number % 7}" / f"page{number}.md"
        target.parent.mkdir(parents=True, exist_ok=True)
        parts = [f"{part} {chance.randrange(10**6):x}" for part in chance.sample(paragraphs, 40)]
        target.write_text(f"# Page {number}\n\n" + "\n\n".join(parts), "utf-8")


def opened(folder: Path, pages: int) -> Librarian:
    """A library of so many pages, its text indexed."""
    write_pages(folder / "docs", pages)
    (folder / "config.json").write_text(
        '{"docs": {"root_path": "docs", "watch_for_changes": false}, "embeddings": {"enabled": false}}'
    )
    library = Librarian(build(Settings.load(folder / "config.json")))
    library.refresh(wait=False)
    return library


class Guard:
    """Two libraries, one four times the other, and what is measured on them."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._small, self._large = opened(folder / "small", SMALL), opened(folder / "large", LARGE)
        self._questions = questions_of(self._small, 30)

    def close(self) -> None:
        self._small.close()
        self._large.close()

    def measures(self, model: bool) -> dict[str, Callable[[], float]]:
        """Each ratio by its name in `BOUNDS`."""
        names = list(BOUNDS)
        works = (self._keyword, self._growth, self._repeated, self._scan, self._reading, self._changed, self._hybrid)
        found = dict(zip(names, works, strict=True))
        return found if model else {name: found[name] for name in names[:-1]}

    def _keyword(self) -> float:
        parts = RawParts(self._large)
        found = processor_ms({"own": parts.asking("keyword"), "raw": parts.keyword}, self._questions)
        return found["own"] / found["raw"]

    def _growth(self) -> float:
        works = {name: RawParts(one).asking("keyword") for name, one in (("s", self._small), ("l", self._large))}
        found = processor_ms(works, self._questions)
        return found["l"] / found["s"]

    def _repeated(self) -> float:
        asking = RawParts(self._large).asking("keyword")
        first = processor_ms({"own": asking}, self._questions)["own"]
        for question in self._questions:
            self._large.search(question, mode="keyword")
        again = processor_ms({"own": lambda question: self._large.search(question, mode="keyword")}, self._questions)
        return again["own"] / first

    def _scan(self) -> float:
        chance = np.random.default_rng(1)
        rows = chance.standard_normal((ROWS, WIDTH)).astype(np.float32)
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        ids = np.arange(1, ROWS + 1, dtype=np.int64) * 64
        store, everything = ExactStore(WIDTH), Selection(Filters(), None, ROWS)
        store.upsert(ids, rows)
        vectors = {str(number): rows[number] for number in range(20)}

        def raw(name: str) -> object:
            scores = rows @ vectors[name]
            return ids[np.argpartition(scores, -50)[-50:]]

        works = {"own": lambda name: store.search(vectors[name], 50, everything), "raw": raw}
        found = processor_ms(works, list(vectors), rounds=5)
        store.close()
        return found["own"] / found["raw"]

    def _reading(self) -> float:
        settings = Settings.load(self._folder / "small" / "config.json")
        reader = reader_of(settings)
        files = [file for file in scanner_of(settings).scan() if isinstance(file, SourceFile)][:40]
        texts = [Path(file.path).read_text("utf-8") for file in files]
        own, raw = [], []
        for file, text in zip(files, texts, strict=True):
            started = time.process_time()
            reader.read(file)
            own.append(time.process_time() - started)
            started = time.process_time()
            words = [word.lower() for word in re.findall(r"\w+", text)]
            (hashlib.sha256(text.encode()).hexdigest(), zlib.compress(text.encode(), 3), " ".join(words))
            raw.append(time.process_time() - started)
        return float(np.median(own) / np.median(raw))

    def _changed(self) -> float:
        small, large = self._change(self._small, "small"), self._change(self._large, "large")
        return large / small

    def _change(self, library: Librarian, name: str) -> float:
        page = self._folder / name / "docs" / "product" / "part0" / "page0.md"
        times = []
        for number in range(7):
            page.write_text(f"# Page 0\n\nThe word is zorkmid{number}.\n")
            started = time.process_time()
            library._parts.indexing.refresh([str(page)])
            times.append(time.process_time() - started)
        return float(np.median(times[1:]))

    def _hybrid(self) -> float:
        config = self._folder / "small" / "config.json"
        self._small.close()
        config.write_text(
            '{"docs": {"root_path": "docs", "watch_for_changes": false, "index_on_startup": false},'
            ' "vector_db": {"store": "exact"}}'
        )
        noisy_vectors(Settings.load(config), sample=4)
        self._small = Librarian(build(Settings.load(config)))
        self._small.start()
        self._small.wait_until_ready(120)
        parts, number = RawParts(self._small), iter(range(10**6))
        store, everything = parts.store(), parts.everything()

        def raw(question: str) -> object:
            parts.keyword(question)
            return store.search(parts.embed(f"{question} {next(number)}"), 100, everything)

        asking = parts.asking("hybrid")
        works = {"own": lambda question: asking(f"{question} {next(number)}"), "raw": raw}
        found = processor_ms(works, self._questions)
        return found["own"] / found["raw"]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", action="store_true", help="measure hybrid search too; the model must be there")
    given = parser.parse_args()
    above = []
    with tempfile.TemporaryDirectory(prefix="librarian-guard-") as folder:
        guard = Guard(Path(folder))
        try:
            for name, measure in guard.measures(given.model).items():
                ratio = measure()
                for _ in range(2):
                    if ratio > BOUNDS[name]:
                        ratio = min(ratio, measure())
                verdict = "" if ratio <= BOUNDS[name] else "  ABOVE"
                print(f"{ratio:8.3f}  at most {BOUNDS[name]:6.2f}  {name}{verdict}", flush=True)
                above += [name] if verdict else []
        finally:
            guard.close()
    if above:
        print(f"Slower than allowed: {'; '.join(above)}. Profile what changed; raise no bound.", file=sys.stderr)
    return 1 if above else 0


if __name__ == "__main__":
    sys.exit(main())
