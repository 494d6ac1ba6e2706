"""Reads question and passage together and says how well they fit (Nogueira and Cho 2019, arXiv:1901.04085)."""

from __future__ import annotations

import hashlib
import os
import threading
import time
from collections import OrderedDict
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np

from ..errors import SetupError
from ..models import Deadline
from .base import Reranker
from .model_files import ModelStore
from .model_table import positions, read_json
from .onnx import load, places, run
from .windows import clip

DEFAULT_RERANKER = "cross-encoder/ms-marco-MiniLM-L-6-v2"


class OnnxCrossEncoder:
    """A classifier with one output, int8 on the CPU or fp32 on CUDA, from a folder that `ModelStore` has prepared.

    `max_length` bounds question and passage together, in tokens, and so does the model; the passage gives way. Passages
    run one by one, so that a score doesn't depend on its company and the budget is kept to within one passage. Raises
    `Unavailable` where the folder can't be loaded, `SetupError` where the model isn't a cross-encoder.
    """

    def __init__(self, folder: Path, name: str, *, threads: int = 2, max_length: int = 256) -> None:
        self.name = name
        loaded = load(folder, f"cross-encoder '{name}'", threads=threads)
        self._session, self._tokenizer = loaded.session, loaded.tokenizer
        self._places = partial(places, loaded.tokenizer)
        most = positions(read_json(folder / "config.json"))
        self._room = (min(max_length, most) if most else max_length) - len(self._tokenizer.encode("", "").ids)
        self._inputs = {item.name for item in self._session.get_inputs()}
        self._output = self._session.get_outputs()[0].name

    def score(self, query: str, passages: Sequence[str], budget: Deadline) -> list[float | None]:
        """A logit per passage, in order; None for those not reached in time. Raises `CallerError` on cancellation."""
        # Half of the room is the question's at most: a passage must always be read, whatever was asked.
        query = clip(query, self._places, self._room // 2)
        room = self._room - len(self._places(query))
        out: list[float | None] = [None] * len(passages)
        slowest_ms = 0.0
        for index, passage in enumerate(passages):
            if budget.cancelled.is_set():
                budget.check()
            if budget.remaining_ms() <= slowest_ms:
                break
            started = time.monotonic()
            out[index] = self._logit(query, clip(passage, self._places, room))
            slowest_ms = max(slowest_ms, (time.monotonic() - started) * 1000)
        return out

    def _logit(self, query: str, passage: str) -> float:
        pair = self._tokenizer.encode(query, passage)
        columns = {"input_ids": pair.ids, "attention_mask": pair.attention_mask, "token_type_ids": pair.type_ids}
        feed = {name: np.array([row], dtype=np.int64) for name, row in columns.items() if name in self._inputs}
        found = run(self._session, self._output, feed, f"cross-encoder '{self.name}'")
        if found.shape != (1, 1):
            raise SetupError(
                f"'{self.name}' has an output of shape {found.shape[1:]}, not one score.",
                hint="Set search.reranker_model to a cross-encoder.",
            )
        return float(found[0, 0])


def full_name(name: str) -> str:
    """The hub name of a cross-encoder: a bare one is one of `cross-encoder/`; a folder stays as it is."""
    return name if "/" in name or Path(os.path.expanduser(name)).is_dir() else f"cross-encoder/{name}"


def load_reranker(
    name: str = DEFAULT_RERANKER, *, folder: Path | None = None, threads: int = 2, max_length: int = 256
) -> OnnxCrossEncoder:
    """A cross-encoder by its hub name (a bare one is one of `cross-encoder/`) or folder, fetched where needed."""
    return OnnxCrossEncoder(ModelStore(folder).ensure(full_name(name)), name, threads=threads, max_length=max_length)


Key = tuple[str, str, str]  #: model, question, hash of the passage


class CachedReranker:
    """A reranker whose scores are remembered by model, question and passage, the least recently used forgotten first.

    Passages not reached in time aren't remembered, so that a slow question gets further each time it is asked. Safe to
    share between threads.
    """

    def __init__(self, reranker: Reranker, max_entries: int = 50_000) -> None:
        self.name = reranker.name
        self._reranker = reranker
        self._max_entries = max_entries
        self._scores: OrderedDict[Key, float] = OrderedDict()
        self._lock = threading.Lock()

    def score(self, query: str, passages: Sequence[str], budget: Deadline) -> list[float | None]:
        """A logit per passage, in order; only the unknown ones are read."""
        keys = [(self.name, query, hashlib.sha256(text.encode()).hexdigest()) for text in passages]
        with self._lock:
            known = {key: self._scores[key] for key in keys if key in self._scores}
            for key in known:
                self._scores.move_to_end(key)
        unknown = {key: text for key, text in zip(keys, passages, strict=True) if key not in known}
        if unknown:
            found = self._reranker.score(query, list(unknown.values()), budget)
            read = {key: score for key, score in zip(unknown, found, strict=True) if score is not None}
            with self._lock:
                self._scores.update(read)
                while len(self._scores) > self._max_entries:
                    self._scores.popitem(last=False)
            known |= read
        return [known.get(key) for key in keys]
