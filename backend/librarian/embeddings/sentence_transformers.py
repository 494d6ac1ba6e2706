"""Embedding and reranking models by sentence-transformers: for CUDA and for models without an ONNX file.

Needs the extra `librarian-docs[torch]`; nothing here is imported unless it is installed.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import SetupError, Unavailable, install
from ..models import ModelSpec, Vectors
from .base import TextEmbedder
from .cross_encoder import TimedReranker
from .model_table import prompts_of, state_of


def is_installed() -> bool:
    """Whether the extra is there; imports nothing."""
    return find_spec("sentence_transformers") is not None and find_spec("torch") is not None


def has_cuda() -> bool:
    """Whether torch sees a CUDA device; imports torch (seconds) where the extra is installed."""
    if not is_installed():
        return False
    import torch

    return bool(torch.cuda.is_available())


def _load(kind: str, name: str, source: str, *, device: str | None = None, **options: Any) -> Any:
    """A model of this class of sentence-transformers, by hub name or folder.

    Raises `Unavailable` where the extra is missing or the model can't be loaded.
    """
    if not is_installed():
        raise Unavailable(f"'{name}' needs sentence-transformers.", hint=f"Run {install('torch')}.")
    import sentence_transformers

    repository, _, revision = (source, "", "") if Path(source).is_dir() else source.partition("@")
    options["device"] = device or ("cuda" if has_cuda() else "cpu")
    try:
        return getattr(sentence_transformers, kind)(repository, revision=revision or None, **options)
    except Exception as error:  # whatever the hub, torch or the model's code raise
        raise Unavailable(f"'{name}' can't be loaded ({error}).", hint="Check the name and the network.") from error


class TorchEmbedder(TextEmbedder):
    """A sentence-transformers model, by name or folder; its own settings decide pooling and normalisation."""

    backend = "torch"

    def __init__(self, name: str, spec: ModelSpec, *, device: str | None = None, max_batch: int = 8) -> None:
        self._model = _load("SentenceTransformer", name, name, device=device)
        self._model.max_seq_length = min(spec.max_tokens, int(self._model.max_seq_length or spec.max_tokens))
        width = int(self._model.get_sentence_embedding_dimension())
        limit = self._model.max_seq_length
        if not spec.dimension:  # its files name the instructions, as `read_spec` reads them for ONNX
            query, passage = prompts_of(self._model.prompts)
            spec = replace(spec, query_prefix=query, passage_prefix=passage)
        self.spec = replace(spec, dimension=width, max_tokens=limit)
        commit = getattr(getattr(self._model[0], "auto_model", None), "config", None)
        build = state_of(name) or str(getattr(commit, "_commit_hash", None) or "unstamped")[:8]
        self.fingerprint = f"{spec.name};torch;{width};{self.spec.window_limit};{build}"
        self.device = str(self._model.device).split(":")[0]
        self._max_batch = max_batch
        self._lock = threading.Lock()
        self._special = len(self._model.tokenizer("")["input_ids"]) + len(self._places(self.spec.passage_prefix))

    def close(self) -> None:
        self._model = None

    def _places(self, text: str) -> list[tuple[int, int]]:
        with self._lock:  # the tokenizers behind it can't be borrowed twice at once
            found = self._model.tokenizer(text, add_special_tokens=False, return_offsets_mapping=True, verbose=False)
        places: list[tuple[int, int]] = found["offset_mapping"]
        return places

    def _embed(self, texts: Sequence[str], *, is_query: bool = False) -> Vectors:
        with self._lock:
            found = self._model.encode(
                list(texts), batch_size=self._max_batch, normalize_embeddings=True, convert_to_numpy=True,
                show_progress_bar=False,
            )  # fmt: skip
        vectors: Vectors = np.asarray(found, dtype=np.float32)
        return vectors


class TorchCrossEncoder(TimedReranker):
    """A cross-encoder by hub name or folder; `max_length` bounds question and passage together, in tokens.

    Raises `SetupError` where it isn't a cross-encoder.
    """

    batch = 8

    def __init__(self, source: str, name: str, *, max_length: int = 256) -> None:
        self.name = name
        self._lock = threading.Lock()
        self._model = _load("CrossEncoder", name, source, max_length=max_length)
        if self._model.config.num_labels != 1:
            raise SetupError(
                f"'{name}' has {self._model.config.num_labels} outputs, not one score.",
                hint="Set search.reranker_model to a cross-encoder.",
            )

    def logits(self, query: str, texts: Sequence[str]) -> list[float]:
        from torch.nn import Identity

        pairs = [(query, text) for text in texts]
        with self._lock:
            found = self._model.predict(pairs, batch_size=len(pairs), activation_fn=Identity(), show_progress_bar=False)
        return [float(score) for score in found]
