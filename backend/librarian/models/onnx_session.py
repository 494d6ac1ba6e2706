"""A model's graph and its tokenizer, loaded in the one way that embedders and cross-encoders share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from librarian.vocabulary.errors import Unavailable


@dataclass(frozen=True, slots=True)
class Loaded:
    """An `onnxruntime.InferenceSession`, a `tokenizers.Tokenizer` that neither pads nor cuts, and the graph's file."""

    session: Any
    tokenizer: Any
    path: Path


def run(session: Any, output: str, feed: Mapping[str, Any], what: str) -> Any:
    """One output of a graph. Raises `Unavailable` where the graph can't read what it is given; `what` names it."""
    try:
        return session.run([output], feed)[0]
    except Exception as error:  # ONNX Runtime raises bare exceptions of its own
        lines = str(error).strip().splitlines() or [type(error).__name__]
        raise Unavailable(
            f"The {what} can't read a text ({lines[0][:200]}).",
            hint="Its config.json or its tokenizer.json may be another model's.",
        ) from error


def places(tokenizer: Any, text: str) -> list[tuple[int, int]]:
    """Where a text's tokens stand in it, in characters; special tokens aside."""
    found: list[tuple[int, int]] = tokenizer.encode(text, add_special_tokens=False).offsets
    return found


def has_cuda() -> bool:
    """Whether the installed ONNX Runtime can use CUDA."""
    import onnxruntime

    return "CUDAExecutionProvider" in onnxruntime.get_available_providers()


def choose_file(folder: Path, *, cuda: bool) -> Path:
    """int8 for CPUs, fp32 for CUDA, whichever is there otherwise. Raises `Unavailable` where none is."""
    names = ("model.onnx", "model_int8.onnx") if cuda else ("model_int8.onnx", "model.onnx")
    for name in names:
        if (folder / name).is_file():
            return folder / name
    raise Unavailable(f"There is no model in {folder}.", hint="Run `librarian models fetch`.")


def load(folder: Path, what: str, *, threads: int) -> Loaded:
    """The graph on CUDA where ONNX Runtime has it, else on so many threads of the processor.

    Raises `Unavailable` where the folder holds no model, or one that can't be loaded; `what` names it there.
    """
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
        session = onnxruntime.InferenceSession(str(path), options, providers=providers)
        tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    except Exception as error:  # both libraries raise bare exceptions of their own
        raise Unavailable(
            f"The {what} in {folder} can't be loaded ({error}).",
            hint="Delete that folder and run `librarian models fetch`.",
        ) from error
    # The file's own settings may pad and cut every text (to 128 in the packaged default model).
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return Loaded(session, tokenizer, path)
