"""Text to unit vectors by ONNX Runtime, from a folder that `ModelStore` has prepared."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import SetupError, Unavailable
from ..models import ModelSpec, Vectors
from .base import TextEmbedder

SUMS = "SHA256SUMS"  #: file of a shipped or fetched model's folder: the SHA-256 of each of the others


def first_line(error: BaseException) -> str:
    """The first line of what a library says of an error."""
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return lines[0][:200].rstrip(".")


def has_cuda() -> bool:
    """Whether the installed ONNX Runtime can use CUDA."""
    import onnxruntime

    return "CUDAExecutionProvider" in onnxruntime.get_available_providers()


def graphs(*, cuda: bool | None = None) -> list[str]:
    """Names of the files that a model's graph may lie in, the best one for this machine first: CUDA reads fp32 faster,
    processors int8."""
    names = ("model_int8.onnx", "model.onnx")
    wanted = reversed(names) if (has_cuda() if cuda is None else cuda) else names
    return [f"{place}{name}" for name in wanted for place in ("onnx/", "")]


def choose_file(folder: Path, *, cuda: bool) -> Path:
    """int8 for CPUs, fp32 for CUDA, whichever is there otherwise. Raises `Unavailable` where none is."""
    for name in graphs(cuda=cuda):
        if (folder / name).is_file():
            return folder / name
    raise Unavailable(f"There is no model in {folder}.", hint="Run `librarian models fetch`.")


class OnnxModel:
    """A graph and its tokenizer, on CUDA where ONNX Runtime has it, else on this many threads of the processor.

    Raises `Unavailable` where the folder holds no model, or one that can't be loaded; `what` names it in errors.
    """

    def __init__(self, folder: Path, what: str, *, threads: int) -> None:
        import onnxruntime
        from tokenizers import Tokenizer

        cuda = has_cuda()
        path = choose_file(folder, cuda=cuda)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        options.log_severity_level = 4  # errors are raised, too
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        providers = ["CUDAExecutionProvider"] * cuda + ["CPUExecutionProvider"]
        try:
            self._session: Any = onnxruntime.InferenceSession(str(path), options, providers=providers)
            self._tokenizer: Any = Tokenizer.from_file(str(folder / "tokenizer.json"))
        except Exception as error:  # both libraries raise bare exceptions of their own
            raise Unavailable(
                f"The {what} in {folder} can't be loaded ({error}).",
                hint="Delete that folder and run `librarian models fetch`.",
            ) from error
        # The file's own settings may pad and cut every text (to 128 in the packaged default model).
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()
        self._what = what
        self._inputs = {item.name for item in self._session.get_inputs()}
        self._precision = "int8" if "int8" in path.name else "fp32"
        self._file = path

    def _places(self, text: str) -> list[tuple[int, int]]:
        """Where a text's tokens stand in it, in characters; special tokens aside."""
        found: list[tuple[int, int]] = self._tokenizer.encode(text, add_special_tokens=False).offsets
        return found

    def _run(self, output: str, feed: Mapping[str, Any]) -> npt.NDArray[Any]:
        """One output of the graph. Raises `Unavailable` where it is closed or can't read what it is given."""
        session = self._session
        if session is None:
            raise Unavailable(f"The {self._what} is closed.", hint="Load it again.")
        try:
            found: npt.NDArray[Any] = session.run([output], feed)[0]
        except Exception as error:  # ONNX Runtime raises bare exceptions of its own
            raise Unavailable(
                f"The {self._what} can't read a text ({first_line(error)}).",
                hint="Its config.json or its tokenizer.json may be another model's.",
            ) from error
        return found


_LEAST_BATCH = 4  #: fewer per batch cost more for their overhead than they save in padding
_TOKENS_PER_BATCH = 2_048  #: longer texts go in smaller batches, which bounds the memory of a run


class OnnxEmbedder(OnnxModel, TextEmbedder):
    """A sentence embedding model on CPU (int8) or CUDA (fp32). Safe to share between threads.

    int8 texts run one by one: activations are quantized by the range of the whole batch, so a text's vector would
    depend on its batch, and batches bring nothing at the length of a passage. fp32 runs in batches of up to
    `max_batch`, which also bounds the memory that ONNX Runtime keeps. `threads` are those of one run.
    """

    def __init__(self, folder: Path, spec: ModelSpec, *, threads: int = 2, max_batch: int = 8) -> None:
        super().__init__(folder, f"model '{spec.name}'", threads=threads)
        self.spec = spec
        outputs = [item.name for item in self._session.get_outputs()]
        vectors = [name for name in ("sentence_embedding", "last_hidden_state", "token_embeddings") if name in outputs]
        if not vectors and "logits" in outputs:
            raise SetupError(
                f"The model '{spec.name}' judges texts, and embeds none.",
                hint="Name an embedding model; a cross-encoder is named by search.reranker_model.",
            )
        self._output = (vectors or outputs)[0]
        self.device = "cuda" if self._session.get_providers()[0].startswith("CUDA") else "cpu"
        self.backend = f"onnx-{self._precision}"
        self._max_batch = 1 if self._precision == "int8" else max(1, max_batch)
        # a folder of one's own has no hashes; those of the shipped model cover files that vectors don't depend on
        descriptions = (folder / "manifest.json", folder / SUMS)
        with next((file for file in descriptions if file.exists()), self._file).open("rb") as data:
            build = hashlib.file_digest(data, "sha256").hexdigest()[:8]
        self.fingerprint = f"{spec.name};{self.backend};{spec.dimension};{spec.window_limit};{build}"
        self._special = len(self._tokenizer.encode("").ids) + len(self._places(spec.passage_prefix))

    def close(self) -> None:
        """Free the model; embedding afterwards raises `Unavailable`."""
        self._session = None

    def _ids(self, text: str) -> list[int]:
        ids: list[int] = self._tokenizer.encode(text).ids
        limit = self.spec.max_tokens
        return ids if len(ids) <= limit else [*ids[: limit - 1], ids[-1]]  # the closing token stays

    def _embed(self, texts: Sequence[str], *, is_query: bool = False) -> Vectors:
        """Rows in the order of `texts`, embedded sorted by length, so that short ones aren't padded to long ones."""
        out = np.empty((len(texts), self.spec.dimension), dtype=np.float32)
        rows = [self._ids(text) for text in texts]
        for batch in batches([len(row) for row in rows], self._max_batch):
            feed = padded([rows[index] for index in batch], self._inputs)
            found = self._run(self._output, feed)
            if found.ndim == 3:
                found = pooled(found, feed["attention_mask"], self.spec.pooling)
            if found.shape[1] != self.spec.dimension:
                raise SetupError(
                    f"The model '{self.spec.name}' gives {found.shape[1]} numbers, not {self.spec.dimension}.",
                    hint="Correct embeddings.dimension.",
                )
            out[batch] = unit_rows(found)
        return out


def batches(lengths: Sequence[int], most: int) -> list[list[int]]:
    """Indices in batches of texts of like length: at most `most`, and fewer where a text is long.

    >>> batches([9, 2, 8, 3], 2)
    [[1, 3], [2, 0]]
    """
    most = min(most, max(_LEAST_BATCH, _TOKENS_PER_BATCH // max([1, *lengths])))
    order = sorted(range(len(lengths)), key=lengths.__getitem__)
    return [order[first : first + most] for first in range(0, len(order), most)]


def padded(rows: Sequence[Sequence[int]], inputs: set[str]) -> dict[str, npt.NDArray[np.int64]]:
    """Token ids as the model's inputs, padded with zeros that the mask hides; shape (len(rows), longest)."""
    ids = np.zeros((len(rows), max(map(len, rows))), dtype=np.int64)
    mask = np.zeros_like(ids)
    for index, row in enumerate(rows):
        ids[index, : len(row)] = row
        mask[index, : len(row)] = 1
    feed = {"input_ids": ids, "attention_mask": mask}
    if "token_type_ids" in inputs:
        feed["token_type_ids"] = np.zeros_like(ids)
    if "position_ids" in inputs:
        feed["position_ids"] = np.maximum(mask.cumsum(axis=1) - 1, 0)
    return feed


def pooled(states: npt.NDArray[Any], mask: npt.NDArray[np.int64], pooling: str) -> npt.NDArray[Any]:
    """(batch, hidden) from (batch, tokens, hidden), padding left out."""
    if pooling == "cls":
        return states[:, 0]
    if pooling == "last":
        last: npt.NDArray[Any] = states[np.arange(len(states)), mask.sum(axis=1) - 1]
        return last
    weights = mask[:, :, None].astype(np.float32)
    mean: npt.NDArray[Any] = (states * weights).sum(axis=1) / weights.sum(axis=1)
    return mean


def unit_rows(vectors: npt.NDArray[Any]) -> Vectors:
    """Rows divided by their length, float32. Raises `Unavailable` for a row without a direction, which no search could
    ever find: one that is zero, or holds what isn't a finite number."""
    with np.errstate(over="ignore", invalid="ignore"):
        numbers = vectors.astype(np.float32)
        lengths = np.linalg.norm(numbers, axis=1, keepdims=True)
    if not (np.isfinite(lengths) & (lengths > 0)).all():
        raise Unavailable(
            "The embedding model answers with vectors that are zero or hold what isn't a finite number.",
            hint="Check the model, or the service's log.",
        )
    unit: Vectors = numbers / lengths
    return unit
