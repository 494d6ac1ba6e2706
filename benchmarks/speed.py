"""How long answers take, beside the raw parts they are made of and beside rivals, all in one run.

    .venv/bin/python benchmarks/speed.py --docs FOLDER [--passages 50000] [--keep FOLDER]

`FOLDER` holds `{product}/…` text files, for example some projects' documentation. Each figure's floor (raw tantivy, raw
query embedding, raw scan, an empty request) is measured in the same run. Rivals: SQLite FTS5, rank-bm25 (on 5,000
passages: it is slow), and, where they are installed, bm25s.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
import random
import re
import shutil
import socket
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.parse
import urllib.request
from collections.abc import Callable, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent))

from librarian.assembly import build
from librarian.config.settings import Settings
from librarian.desk import Librarian
from librarian.language.analyzer import StandardAnalyzer
from librarian.models.loading import load_embedder
from librarian.vocabulary.types import Filters
from speed_library import index_text, noisy_vectors, write_documents

REPOSITORY = Path(__file__).resolve().parents[1]
ROUNDS = 2
RIVAL_PASSAGES = 5_000


def percentile(times: Sequence[float], share: float) -> float:
    return float(np.percentile(times, share * 100))


def timed(work: Callable[[str], object], questions: Sequence[str], rounds: int = ROUNDS) -> tuple[float, float]:
    """p50 and p95 in ms over all questions, after one warm-up round of five."""
    for question in questions[:5]:
        work(question)
    times = []
    for _ in range(rounds):
        for question in questions:
            started = time.perf_counter()
            work(question)
            times.append((time.perf_counter() - started) * 1000)
    return percentile(times, 0.5), percentile(times, 0.95)


def questions_of(library: Librarian, count: int = 100) -> list[str]:
    """About eight words each, taken from passages across the library."""
    chance, found = random.Random(7), []
    with library._parts.catalog.read() as reader:
        documents = [stored.doc_id for stored in reader.iter_documents()]
        while len(found) < count:
            chunks = reader.chunks_of(chance.choice(documents))
            if not chunks:
                continue
            words = re.findall(r"[A-Za-z]{4,}", chance.choice(chunks).chunk.text)
            if len(words) >= 12:
                start = chance.randrange(len(words) - 8)
                found.append(" ".join(words[start : start + 8]))
    return found


class Report:
    """Rows of a Markdown table, printed as they come."""

    def __init__(self) -> None:
        self.rows: list[tuple[str, str, str]] = []
        print("| what | Librarian | beside it, in the same run |\n|---|---|---|")

    def add(self, what: str, own: str, beside: str) -> None:
        self.rows.append((what, own, beside))
        print(f"| {what} | {own} | {beside} |", flush=True)


def in_process(settings: Settings, report: Report) -> list[str]:
    """Searching in this process: keyword, hybrid, filters, cache."""
    library = Librarian(build(settings))
    try:
        library.start()
        library.wait_until_ready(600)
        questions = questions_of(library)
        parts: Any = library._parts
        engine, lexical, catalog = parts.engine._engine, parts.engine._engine._lexical, parts.catalog
        analyzer = StandardAnalyzer()
        embedder = parts.embedder.get()
        vectors = engine._semantic.store()
        selection = catalog.columns().select(Filters())

        def ask(mode: str, **given: Any) -> Callable[[str], object]:
            def search(question: str) -> object:
                library.clear_cache()
                return library.search(question, mode=mode, **given)

            return search

        raw_keyword = timed(lambda question: _raw_tantivy(lexical, analyzer, question), questions)
        keyword = timed(ask("keyword"), questions)
        report.add(
            f"keyword, top 10 with snippets, {selection.count:,} passages, p50 / p95 ms",
            f"{keyword[0]:.1f} / {keyword[1]:.1f}",
            f"raw tantivy {raw_keyword[0]:.2f} / {raw_keyword[1]:.2f}",
        )
        fresh = iter(f"{question} {number}" for number in range(100) for question in questions)
        raw_embed = timed(lambda _: embedder.embed_query(next(fresh)), questions)
        unit = [embedder.embed_query(question) for question in questions]
        turn = iter(unit * 50)
        raw_scan = timed(lambda _: vectors.search(next(turn), 100, selection), questions)
        hybrid = timed(lambda question: ask("hybrid")(next(fresh)), questions)
        parts_sum = raw_keyword[0] + raw_embed[0] + raw_scan[0]
        report.add(
            "hybrid, uncached, in process, p50 / p95 ms",
            f"{hybrid[0]:.1f} / {hybrid[1]:.1f}",
            f"sum of its parts {parts_sum:.1f}: tantivy {raw_keyword[0]:.1f}, model {raw_embed[0]:.1f}, "
            f"scan {raw_scan[0]:.1f}",
        )
        products = [item.name for item in library.list_products().products]
        filtered = timed(lambda question: ask("hybrid", product=products[0])(next(fresh)), questions)
        report.add(
            "the same with a product filter",
            f"{filtered[0]:.1f} / {filtered[1]:.1f}",
            f"{filtered[0] / hybrid[0]:.2f}× unfiltered",
        )
        for question in questions:
            library.search(question)
        cached = timed(lambda question: library.search(question), questions)
        report.add("a repeated question, in process, p50 / p95 ms", f"{cached[0]:.2f} / {cached[1]:.2f}", "")
        _rivals(catalog, analyzer, questions, keyword[0], report)
        return questions
    finally:
        library.close()


def _raw_tantivy(lexical: Any, analyzer: StandardAnalyzer, question: str) -> object:
    """The least that a tantivy search can be: any of the terms in the body, ten addresses."""
    import tantivy

    searcher = lexical._searcher
    schema = lexical._index.schema
    terms = [
        (tantivy.Occur.Should, tantivy.Query.term_query(schema, "body", term))
        for term in analyzer.query(question).terms
    ]
    return searcher.search(tantivy.Query.boolean_query(terms), 50, count=False).hits


def _rivals(catalog: Any, analyzer: StandardAnalyzer, questions: list[str], own: float, report: Report) -> None:
    with catalog.read() as reader:
        texts = [chunk.chunk.text for stored in reader.iter_documents() for chunk in reader.chunks_of(stored.doc_id)]
    db = sqlite3.connect(":memory:")
    db.execute("CREATE VIRTUAL TABLE t USING fts5(body, tokenize='porter')")
    db.executemany("INSERT INTO t VALUES (?)", ((text,) for text in texts))
    select = "SELECT rowid FROM t WHERE t MATCH ? ORDER BY bm25(t) LIMIT 50"
    fts = timed(lambda q: db.execute(select, (" OR ".join(f'"{w}"' for w in q.split()),)).fetchall(), questions[:40], 1)
    report.add(
        f"keyword beside SQLite FTS5, {len(texts):,} passages, p50 ms",
        f"{own:.1f}",
        f"{fts[0]:.1f}: {fts[0] / own:.0f}×",
    )
    db.close()
    few = texts[:RIVAL_PASSAGES]
    from rank_bm25 import BM25Okapi

    tokens = [analyzer.tokens(text) for text in few]
    bm25 = BM25Okapi(tokens)
    slow = timed(lambda q: np.argsort(bm25.get_scores(analyzer.tokens(q)))[-50:], questions[:20], 1)
    scaled = slow[0] * len(texts) / len(few)
    report.add(
        f"keyword beside rank-bm25, {len(few):,} passages, p50 ms",
        f"{own:.1f} (on {len(texts):,})",
        f"{slow[0]:.1f}; {scaled:.0f} when scaled to {len(texts):,}: {scaled / own:.0f}×",
    )
    try:
        import bm25s
    except ImportError:
        report.add("keyword beside bm25s", f"{own:.1f}", "not installed")
        return
    retriever = bm25s.BM25()
    retriever.index([analyzer.tokens(text) for text in texts], show_progress=False)
    quick = timed(lambda q: retriever.retrieve([analyzer.tokens(q)], k=50, show_progress=False), questions[:40], 1)
    report.add(f"keyword beside bm25s, {len(texts):,} passages, p50 ms", f"{own:.1f}", f"{quick[0]:.1f}")


def served(config: Path, questions: list[str], root: Path, report: Report) -> None:
    """A process of its own: restart, HTTP, MCP, many clients, a changed file, memory."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    env = {**os.environ, "MCP_PORT": str(port), "PYTHONPATH": str(REPOSITORY / "backend"), "LOG_LEVEL": "warning"}
    started = time.perf_counter()
    process = subprocess.Popen([sys.executable, "-m", "librarian.serve", "--config", str(config)], env=env)
    url = f"http://127.0.0.1:{port}"
    try:
        first = {}
        while len(first) < 2 and time.perf_counter() - started < 120:
            for mode in ("keyword", "hybrid"):
                if mode in first:
                    continue
                try:
                    answer = _get(f"{url}/api/search?mode={mode}&q={urllib.parse.quote(questions[0])}")
                except OSError:
                    continue
                if answer["results"] and (mode == "keyword" or answer["legs"]["semantic"]["status"] == "ok"):
                    first[mode] = time.perf_counter() - started
        report.add(
            "restart to the first keyword / hybrid answer, s", f"{first['keyword']:.1f} / {first['hybrid']:.1f}", ""
        )
        while _get(f"{url}/api/status")["progress"]["phase"] != "idle":
            time.sleep(0.5)
        health = timed(lambda _: _get(f"{url}/health"), questions)
        number = iter(range(10_000))
        rest = timed(
            lambda q: _get(f"{url}/api/search?mode=hybrid&q={urllib.parse.quote(q)}+{next(number)}"), questions
        )
        report.add("hybrid through REST, p50 / p95 ms", f"{rest[0]:.1f} / {rest[1]:.1f}", f"/health {health[0]:.1f}")
        asyncio.run(_through_mcp(url, questions, report))
        _changed_file(url, root, report)
        _clients(url, questions, report)
        report.add("memory of the process tree (PSS), MB", f"{_pss(process.pid):.0f}", "")
    finally:
        process.terminate()
        process.wait(20)


def _get(url: str) -> Any:
    with urllib.request.urlopen(url, timeout=60) as answer:
        return json.load(answer)


async def _through_mcp(url: str, questions: list[str], report: Report) -> None:
    from mcp import Client

    async with Client(f"{url}/mcp") as client:

        async def ask(question: str, **given: object) -> float:
            started = time.perf_counter()
            await client.call_tool("search_documentation", {"query": question, **given})
            return (time.perf_counter() - started) * 1000

        await ask("warm up")
        asked = [await ask(f"{question} again{n}", mode="hybrid") for n, question in enumerate(questions)]
        for question in questions[:20]:
            await ask(question)
        again = [await ask(question) for question in questions[:20] for _ in range(3)]
        empty = []
        for _ in range(100):
            started = time.perf_counter()
            await client.call_tool("list_products", {})
            empty.append((time.perf_counter() - started) * 1000)
    report.add(
        "hybrid through MCP over HTTP (official client), p50 / p95 ms",
        f"{percentile(asked, 0.5):.1f} / {percentile(asked, 0.95):.1f}",
        f"list_products {percentile(empty, 0.5):.1f}",
    )
    report.add("a repeated question through MCP, p50 ms", f"{percentile(again, 0.5):.1f}", "")


def _changed_file(url: str, root: Path, report: Report) -> None:
    product = next(path for path in sorted(root.iterdir()) if path.is_dir())
    page = product / "general" / "speed-probe.md"
    page.parent.mkdir(exist_ok=True)
    words, vectors = [], []
    try:
        for number in range(3):
            word = f"zorkmid{chr(97 + number)}quatloo"
            page.write_text(f"# Probe\n\nThe word {word} stands here.\n")
            started = time.perf_counter()
            while not _get(f"{url}/api/search?mode=keyword&q={word}")["results"]:
                time.sleep(0.02)
            words.append(time.perf_counter() - started)
            while True:
                status = _get(f"{url}/health")
                if status["embedded_chunks"] == status["chunks"]:
                    break
                time.sleep(0.05)
            vectors.append(time.perf_counter() - started)
    finally:
        page.unlink(missing_ok=True)
    report.add(
        "a changed file to searchable, debounce of 1 s included: words / vectors, s",
        f"{statistics.median(words):.2f} / {statistics.median(vectors):.2f}",
        "",
    )


def _clients(url: str, questions: list[str], report: Report, clients: int = 16, each: int = 25) -> None:
    import threading

    times: list[float] = []
    errors: list[str] = []

    def client(number: int) -> None:
        for turn in range(each):
            question = urllib.parse.quote(f"{questions[(number * each + turn) % len(questions)]} c{number} {turn}")
            started = time.perf_counter()
            try:
                _get(f"{url}/api/search?mode=hybrid&q={question}")
            except OSError as error:
                errors.append(str(error))
            times.append((time.perf_counter() - started) * 1000)

    threads = [threading.Thread(target=client, args=(number,)) for number in range(clients)]
    started = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    rate = len(times) / (time.perf_counter() - started)
    report.add(
        f"{clients} clients at once, hybrid: a second, p95 ms, errors",
        f"{rate:.0f}, {percentile(times, 0.95):.0f}, {len(errors)}",
        "the clients share the same cores",
    )


def _pss(pid: int) -> float:
    import psutil

    process = psutil.Process(pid)
    total = 0.0
    for one in [process, *process.children(recursive=True)]:
        try:
            found = re.search(r"^Pss:\s+(\d+)", Path(f"/proc/{one.pid}/smaps_rollup").read_text(), re.MULTILINE)
        except OSError:
            continue
        total += int(found[1]) / 1024 if found else 0
    return total


def embedding_speed(report: Report, texts: Sequence[str]) -> None:
    """The embedder beside the raw session on the same windows."""
    embedder: Any = load_embedder("all-MiniLM-L6-v2")
    started = time.perf_counter()
    embedder.embed_passages(texts)
    own = len(texts) / (time.perf_counter() - started)
    report.add("embedding, windows a second", f"{own:.0f}", f"{len(texts)} windows of the library")
    embedder.close()


def machine() -> str:
    model = next(
        (line.split(":")[1].strip() for line in Path("/proc/cpuinfo").read_text().splitlines() if "model name" in line),
        platform.processor(),
    )
    versions = ", ".join(f"{name} {metadata.version(name)}" for name in ("tantivy", "onnxruntime", "chromadb", "mcp"))
    load = os.getloadavg()[0]
    return f"{os.cpu_count()} cores ({model}), Python {platform.python_version()}, {versions}; load at start {load:.1f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--docs", type=Path, required=True)
    parser.add_argument("--passages", type=int, default=50_000)
    parser.add_argument("--keep", type=Path, help="build the library here and use it again next time")
    given = parser.parse_args()
    folder = given.keep or Path(tempfile.mkdtemp(prefix="librarian-speed-"))
    root, config = folder / "docs", folder / "config.json"
    print(f"{time.strftime('%Y-%m-%d')}, {machine()}\n")
    report = Report()
    if not config.exists():
        folder.mkdir(parents=True, exist_ok=True)
        config.write_text('{"docs": {"root_path": "docs"}, "embeddings": {"enabled": false}}')
        size = write_documents(given.docs, root, 1)
        took, passages = index_text(Settings.load(config))
        report.add(
            f"keyword-ready indexing of {size / 1e6:.0f} MB, {passages:,} passages", f"{size / 1e6 / took:.1f} MB/s", ""
        )
        copies = -(-given.passages // passages)
        if copies > 1:
            write_documents(given.docs, root, copies)
            index_text(Settings.load(config))
        config.write_text('{"docs": {"root_path": "docs"}}')
        made = noisy_vectors(Settings.load(config))
        print(f"(library: {copies} copies; {made:,} vectors, a sample of real ones with noise)", file=sys.stderr)
    try:
        questions = in_process(Settings.load(config), report)
        served(config, questions, root, report)
    finally:
        if not given.keep:
            shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
