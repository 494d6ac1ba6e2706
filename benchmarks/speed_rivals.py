"""What others take for the same: SQLite FTS5, rank-bm25, bm25s, Chroma, sentence-transformers."""

from __future__ import annotations

import json
import re
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from librarian.models import Vectors
from librarian.text.analyzer import StandardAnalyzer
from speed_parts import timed
from speed_report import Report

_TORCH = """
import json, sys, time
from pathlib import Path
from sentence_transformers import SentenceTransformer
texts, folder = json.loads(Path(sys.argv[1]).read_text()), sys.argv[2]
model = SentenceTransformer(folder, device="cpu")
model.max_seq_length = 256
model.encode(texts[:8])
started = time.perf_counter()
model.encode(texts, batch_size=32, show_progress_bar=False)
print(len(texts) / (time.perf_counter() - started))
"""


def keyword(
    texts: Sequence[str], analyzer: StandardAnalyzer, questions: Sequence[str], own: float, out: Report
) -> None:
    """FTS5, rank-bm25 and bm25s, each over all passages."""
    db = sqlite3.connect(":memory:")
    db.execute("CREATE VIRTUAL TABLE t USING fts5(body, tokenize='porter')")
    db.executemany("INSERT INTO t VALUES (?)", ((text,) for text in texts))
    select = "SELECT rowid FROM t WHERE t MATCH ? ORDER BY bm25(t) LIMIT 50"
    fts = timed(lambda q: db.execute(select, (" OR ".join(f'"{w}"' for w in q.split()),)).fetchall(), questions[:40], 1)
    db.close()
    out.add(
        f"keyword, {len(texts):,} passages, p50 ms",
        f"{own:.1f}",
        f"SQLite FTS5 {fts[0]:.1f}: {fts[0] / own:.0f}×",
        "10× FTS5",
        fts[0] >= 10 * own,
    )
    from rank_bm25 import BM25Okapi

    started = time.perf_counter()
    tokens = [analyzer.tokens(text) for text in texts]
    analysed = time.perf_counter() - started
    bm25 = BM25Okapi(tokens)
    slow = timed(lambda q: np.argsort(bm25.get_scores(analyzer.tokens(q)))[-50:], questions[:20], 1)[0]
    out.add("the same", f"{own:.1f}", f"rank-bm25 {slow:.0f}: {slow / own:.0f}×", "100× rank-bm25", slow >= 100 * own)
    try:
        import bm25s
    except ImportError:
        out.add("the same", f"{own:.1f}", "bm25s isn't installed")
        return
    retriever = bm25s.BM25()
    retriever.index(tokens, show_progress=False)
    quick = timed(lambda q: retriever.retrieve([analyzer.tokens(q)], k=50, show_progress=False), questions[:40], 1)
    out.add("the same", f"{own:.1f}", f"bm25s {quick[0]:.1f} without text or filters (analysed in {analysed:.1f} s)")


def bm25s_tokens(texts: Sequence[str]) -> float | None:
    """MB a second of bm25s' own tokenizer with PyStemmer; None where it isn't installed."""
    try:
        import bm25s
        import Stemmer
    except ImportError:
        return None
    started = time.perf_counter()
    bm25s.tokenize(list(texts), stemmer=Stemmer.Stemmer("english"), show_progress=False)
    return sum(len(text) for text in texts) / 1e6 / (time.perf_counter() - started)


def chroma(vectors: Vectors, questions: Vectors, marks: Sequence[str], wanted: str) -> dict[str, tuple[float, float]]:
    """p50 ms and recall@50 of Chroma's own defaults, with and without a `where` on half of the rows."""
    import chromadb

    found = {}
    with tempfile.TemporaryDirectory() as folder:
        client = chromadb.PersistentClient(folder)
        collection = client.create_collection("rival", metadata={"hnsw:space": "cosine"})
        for start in range(0, len(vectors), 4000):
            span = slice(start, start + 4000)
            collection.add(
                ids=[str(n) for n in range(start, start + len(vectors[span]))],
                embeddings=vectors[span],
                metadatas=[{"product": mark} for mark in marks[span]],
            )
        for name, where in (("all", None), ("where", {"product": wanted})):
            times, recalls = [], []
            allowed = np.array([where is None or mark == wanted for mark in marks])
            for question in questions:
                started = time.perf_counter()
                got: Any = collection.query(query_embeddings=[question], n_results=50, where=where)  # type: ignore[arg-type]
                times.append((time.perf_counter() - started) * 1000)
                best = np.argsort(-np.where(allowed, vectors @ question, -2))[:50]
                recalls.append(len({int(n) for n in got["ids"][0]} & set(best.tolist())) / 50)
            found[name] = (float(np.median(times)), float(np.mean(recalls)))
    return found


def torch_speed(python: Path, texts: Sequence[str], model: Path) -> float | None:
    """Texts a second of sentence-transformers on the processor, run by another Python; None where that fails."""
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(list(texts), file)
        file.flush()
        done = subprocess.run(
            [python, "-c", _TORCH, file.name, str(model)], capture_output=True, text=True, check=False
        )
    number = re.findall(r"[\d.]+", done.stdout)
    if done.returncode or not number:
        print(done.stderr[-500:], file=sys.stderr)
        return None
    return float(number[-1])
