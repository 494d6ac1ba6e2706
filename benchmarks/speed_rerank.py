"""What a second look costs: a cross-encoder of MiniLM's size beside its bare session, and `rerank` from end to end.

Its weights are drawn at random: they order nothing, and take as long as trained ones.
"""

from __future__ import annotations

import json
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from librarian.bootstrap import build
from librarian.embeddings.cross_encoder import OnnxCrossEncoder
from librarian.embeddings.model_files import ModelStore
from librarian.embeddings.model_table import DEFAULT
from librarian.library import Librarian
from librarian.models import Deadline
from librarian.settings import Settings
from speed_parts import percentile
from speed_report import Report
from tests.embeddings import tiny_bert

SCORED, TOKENS, ROUNDS = 20, 192, 7
SIZES = {
    "hidden_size": 384, "num_attention_heads": 12, "num_hidden_layers": 6, "intermediate_size": 1536,
    "max_position_embeddings": 512, "vocab_size": 30522, "id2label": {"0": "LABEL_0"},
}  # fmt: skip

_TORCH = """
import json, sys, time
from sentence_transformers import CrossEncoder
pairs = json.loads(open(sys.argv[1]).read())
model = CrossEncoder(sys.argv[2], device="cpu", max_length=int(sys.argv[3]))
times = []
for _ in range(4):
    started = time.perf_counter()
    model.predict(pairs, batch_size=32, show_progress_bar=False)
    times.append(time.perf_counter() - started)
print(1000 * min(times[1:]))
"""


def published(folder: Path) -> Path:
    """A cross-encoder's folder as a hub would publish it."""
    tiny_bert.write_model(folder, labels=1, **SIZES)
    words = ModelStore().ensure(DEFAULT)
    for name in ("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json"):
        shutil.copyfile(words / name, folder / name)
    return folder


def reranking(config: Path, questions: Sequence[str], torch: Path | None, work: Path, report: Report) -> None:
    """Twenty candidates beside the bare session, and searches as they are shipped."""
    source = published(work / "minilm-sized-cross-encoder")
    store = ModelStore()
    folder = store.ensure(str(source))
    try:
        _twenty(config, questions[0], OnnxCrossEncoder(folder, "of MiniLM's size", max_length=TOKENS), report)
        if torch:
            _by_torch(torch, source, report)
        _end_to_end(config, questions, source, report)
    finally:
        shutil.rmtree(folder)


def _twenty(config: Path, question: str, encoder: OnnxCrossEncoder, report: Report) -> None:
    library = Librarian(build(Settings.load(config)))
    with library._parts.catalog.read() as reader:
        texts = (c.chunk.text for stored in reader.iter_documents() for c in reader.chunks_of(stored.doc_id))
        passages = [text for text, _ in zip((text for text in texts if len(text) > 900), range(SCORED), strict=False)]
    library.close()
    model: Any = encoder
    pairs = [model._tokenizer.encode(question, passage) for passage in passages]
    feeds = [
        {
            name: np.array([row[:TOKENS]], dtype=np.int64)
            for name, row in (
                ("input_ids", p.ids),
                ("attention_mask", p.attention_mask),
                ("token_type_ids", p.type_ids),
            )
            if name in model._inputs
        }
        for p in pairs
    ]
    own, raw = [], []
    for _ in range(ROUNDS):
        started = time.perf_counter()
        encoder.score(question, passages, Deadline())
        own.append((time.perf_counter() - started) * 1000)
        started = time.perf_counter()
        for feed in feeds:
            model._session.run([model._output], feed)
        raw.append((time.perf_counter() - started) * 1000)
    mine, bare = statistics.median(own[1:]), statistics.median(raw[1:])
    report.add(f"rerank of {SCORED} candidates of {TOKENS} tokens by an int8 cross-encoder of MiniLM's size, ms",
               f"{mine:.0f}", f"bare model {bare:.0f}: {mine / bare:.2f}×", "1.15×", mine <= 1.15 * bare)  # fmt: skip


def _by_torch(python: Path, model: Path, report: Report) -> None:
    pairs = [["what is a word", "word " * TOKENS]] * SCORED
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        file.write(json.dumps(pairs))
        file.flush()
        done = subprocess.run(
            [python, "-c", _TORCH, file.name, str(model), str(TOKENS)], capture_output=True, text=True, check=False
        )
    numbers = re.findall(r"[\d.]+", done.stdout)
    if done.returncode or not numbers:
        print(done.stderr[-500:], file=sys.stderr)
        return
    report.add("the same by sentence-transformers' CrossEncoder (torch), ms", "", f"{float(numbers[-1]):.0f}")


def _end_to_end(config: Path, questions: Sequence[str], model: Path, report: Report) -> None:
    changes = {"search.reranker": "cross-encoder", "search.reranker_model": str(model)}
    with Librarian(build(Settings.load(config, overrides=changes))) as library:
        library.start()
        library.wait_until_ready(900)
        library.search("a question that loads the model", mode="rerank")
        times, scored = [], Counter[str]()
        for question in questions:
            started = time.perf_counter()
            retriever = library.search(question, mode="rerank").retrievers.rerank
            times.append((time.perf_counter() - started) * 1000)
            scored[f"{retriever.status}, {retriever.reason}"] += 1
    p50, p95 = percentile(times, 0.5), percentile(times, 0.95)
    said, often = scored.most_common(1)[0]
    report.add(f"`rerank` as shipped, {len(times)} questions, p50 / p95 ms", f"{p50:.0f} / {p95:.0f}",
               f"`retrievers.rerank` most often ({often}): {said}", "400", p50 <= 400)  # fmt: skip
