"""Reads question and passage together and says how well they fit (Nogueira and Cho 2019, arXiv:1901.04085)."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ..errors import SetupError
from ..models import Deadline
from ..storage.database import LruCache
from .base import Reranker
from .loading import Backend, onnx_folder
from .model_table import positions, read_json
from .onnx import OnnxModel
from .windows import clip


class TimedReranker:
    """A `Reranker` over what `logits` gives for a few passages at once."""

    batch = 1  #: passages read at once, and so how closely a deadline is kept

    def logits(self, query: str, texts: Sequence[str]) -> list[float]:
        """A logit per passage."""
        raise NotImplementedError

    def score(self, query: str, texts: Sequence[str], deadline: Deadline) -> list[float | None]:
        """A logit per passage, in order; None for those not reached in time. Raises `CallerError` on cancellation."""
        out: list[float | None] = []
        slowest_ms = 0.0
        for first in range(0, len(texts), self.batch):
            if deadline.cancelled.is_set():
                deadline.check()
            if deadline.remaining_ms() <= slowest_ms:
                break
            started = time.monotonic()
            out += self.logits(query, texts[first : first + self.batch])
            slowest_ms = max(slowest_ms, (time.monotonic() - started) * 1000)
        return out + [None] * (len(texts) - len(out))


class OnnxCrossEncoder(OnnxModel, TimedReranker):
    """A classifier with one output, int8 on the CPU or fp32 on CUDA, from a folder that `ModelStore` names.

    `max_length` bounds question and passage together, in tokens, and so does the model; the passage gives way. Passages
    run one by one, so that a score doesn't depend on its batch and the deadline is kept to within one passage. Raises
    `Unavailable` where the folder can't be loaded, `SetupError` where the model isn't a cross-encoder.
    """

    def __init__(self, folder: Path, name: str, *, threads: int = 2, max_length: int = 256) -> None:
        super().__init__(folder, f"cross-encoder '{name}'", threads=threads)
        self.name = name
        most = positions(read_json(folder / "config.json"))
        self._limit = (min(max_length, most) if most else max_length) - len(self._tokenizer.encode("", "").ids)
        self._output = self._session.get_outputs()[0].name

    def logits(self, query: str, texts: Sequence[str]) -> list[float]:
        # Half of the limit is the question's at most: a passage must always be read, whatever was asked.
        query = clip(query, self._places, self._limit // 2)
        left = self._limit - len(self._places(query))
        return [self._logit(query, clip(passage, self._places, left)) for passage in texts]

    def _logit(self, query: str, passage: str) -> float:
        pair = self._tokenizer.encode(query, passage)
        columns = {"input_ids": pair.ids, "attention_mask": pair.attention_mask, "token_type_ids": pair.type_ids}
        feed = {name: np.array([row], dtype=np.int64) for name, row in columns.items() if name in self._inputs}
        found = self._run(self._output, feed)
        if found.shape != (1, 1):
            raise SetupError(
                f"'{self.name}' has an output of shape {found.shape[1:]}, not one score.",
                hint="Set search.reranker_model to a cross-encoder.",
            )
        return float(found[0, 0])


def full_name(name: str) -> str:
    """The hub name of a cross-encoder: a bare one is one of `cross-encoder/`; a folder stays as it is."""
    return name if "/" in name or Path(os.path.expanduser(name)).is_dir() else f"cross-encoder/{name}"


def load_reranker(name: str, *, threads: int = 2, max_length: int = 256, backend: Backend = "auto") -> Reranker:
    """A cross-encoder by its hub name (a bare one is one of `cross-encoder/`) or folder, fetched where needed."""
    home = onnx_folder(full_name(name), backend)
    if home is None:
        from .sentence_transformers import TorchCrossEncoder

        return TorchCrossEncoder(full_name(name), name, max_length=max_length)
    return OnnxCrossEncoder(home, name, threads=threads, max_length=max_length)


Key = tuple[str, str, str]  #: model, question, hash of the passage


class CachedReranker:
    """A reranker whose scores are remembered by model, question and passage.

    Passages not reached in time aren't remembered, so that a slow question gets further each time it is asked.
    """

    def __init__(self, reranker: Reranker, max_entries: int = 50_000) -> None:
        self.name = reranker.name
        self._reranker = reranker
        self._scores: LruCache[Key, float] = LruCache(max_entries)

    def score(self, query: str, texts: Sequence[str], deadline: Deadline) -> list[float | None]:
        """A logit per passage, in order; only the unknown ones are read."""
        keys = [(self.name, query, hashlib.sha256(text.encode()).hexdigest()) for text in texts]
        scores = {key: self._scores.get(key) for key in keys}
        unknown = {key: text for key, text in zip(keys, texts, strict=True) if scores[key] is None}
        if unknown:
            found = self._reranker.score(query, list(unknown.values()), deadline)
            for key, score in zip(unknown, found, strict=True):
                if score is not None:
                    self._scores.put(key, score)
                    scores[key] = score
        return [scores[key] for key in keys]
