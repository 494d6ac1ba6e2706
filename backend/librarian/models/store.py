"""The models on this machine: one folder each, complete or absent.

A folder holds `model_int8.onnx` (and `model.onnx` where CUDA reads it), `tokenizer.json`, the small JSON files that
describe the model, and `manifest.json`, which says what made it. It is prepared beside its place and renamed into it.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import logging
import os
import shutil
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from librarian.vocabulary.errors import LibrarianError, SetupError, Unavailable
from librarian.vocabulary.extras import install
from librarian.vocabulary.owned_folder import Kind, claim, json_object, require_own

from . import onnx_build
from .onnx_session import has_cuda
from .sources import FolderSource, HubSource, PackageSource, Source
from .table import DEFAULT, hub_name, read_json, read_spec, spec_of

#: 1: graph of onnx_build with pooling inside, or a published ONNX file, quantized per channel
FORMAT = 1
_SMALL = (
    "config.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "sentence_bert_config.json",
    "config_sentence_transformers.json",
    "1_Pooling/config.json",
    "modules.json",
)
_WEIGHTS = "model.safetensors"
_GRAPHS = ("onnx/model.onnx", "model.onnx")
_SOURCE = "source.txt"  #: beside the manifest of a model from a folder: what that folder held
_FETCHED = "fetched.json"  #: next to the manifest of a fetched model: its source, commit and the SHA-256 of each file
_BERT_LIKE = frozenset({"bert", "roberta", "xlm-roberta", "camembert"})
_LOCK_S = 900.0  #: seconds that one process waits for another to finish the same model
_log = logging.getLogger(__name__)


def default_folder() -> Path:
    """Where models are kept: `librarian/models` in the user's cache."""
    cache = os.environ.get("XDG_CACHE_HOME")
    return (Path(cache) if cache else Path.home() / ".cache") / "librarian" / "models"


class ModelStore:
    """Fetches, builds and finds models. Safe to use from several processes at once.

    `keep_fp32` also keeps the unquantized graph (four times as large); by default where CUDA would read it.
    """

    def __init__(self, folder: Path | None = None, *, keep_fp32: bool | None = None, wheel: Path | None = None) -> None:
        self.folder = folder or default_folder()
        self._keep_fp32 = keep_fp32
        self._wheel = wheel

    def ensure(self, name: str) -> Path:
        """The folder of a model, fetched and built first where it isn't there.

        `name` is a name of the table, a hub's `owner/name`, or a folder. Raises `SetupError` where there can be no
        such model, `Unavailable` where it can't be had now; both say what to do.
        """
        found = self.locate(name)
        if found is not None:
            with suppress(OSError, SetupError):  # a cache that may only be read serves as well
                claim(self.folder, FOLDER)
            return found
        spec = spec_of(name)
        if spec.provider != "local":
            raise SetupError(
                f"'{name}' runs at a service; there is nothing to fetch.",
                hint=f"Set embeddings.provider to {spec.provider} and embeddings.model to this name.",
            )
        target = self._place(name)
        try:
            claim(self.folder, FOLDER)
        except OSError as error:
            raise SetupError(
                f"No models can be kept in {self.folder} ({error}).", hint="Set XDG_CACHE_HOME."
            ) from error
        with self._locked(target):
            found = self.locate(name)  # another process may have finished it meanwhile
            if found is None:
                self._prepare(name, target)
        return target

    def locate(self, name: str) -> Path | None:
        """The folder of a model that is here and of this format; a model from a folder as that folder is now."""
        place = self._place(name)
        if (folder := _folder_of(name)) is not None and _read(place / _SOURCE) not in ("", _stamp(folder)):
            return None
        try:
            manifest = read_json(place / "manifest.json")
        except SetupError:
            return None
        return place if manifest.get("format") == FORMAT else None

    def changed_files(self, name: str) -> list[str]:
        """Names of files of a fetched model that are missing or differ from what was fetched and built, sorted.

        Empty for a model from a folder, and for one that was fetched before this was recorded.
        """
        place = self._place(name)
        try:
            recorded: dict[str, str] = read_json(place / _FETCHED).get("sha256", {})
        except SetupError:
            return [_FETCHED]
        return sorted(file for file, digest in recorded.items() if _sha256(place / file) != digest)

    def installed(self) -> list[str]:
        """Names of the models that are here, sorted."""
        found = []
        for manifest in self.folder.glob("*/manifest.json"):
            try:
                entry = read_json(manifest)
            except SetupError:
                continue
            if entry.get("format") == FORMAT:
                found.append(str(entry.get("name")))
        return sorted(found)

    # -- inside ------------------------------------------------------------------------------------------------------

    def _place(self, name: str) -> Path:
        if (folder := _folder_of(name)) is not None:
            path = str(folder.resolve())
            return self.folder / f"{folder.resolve().name}@{hashlib.sha256(path.encode()).hexdigest()[:8]}"
        return self.folder / hub_name(name).rsplit("sentence-transformers/", 1)[-1].replace("/", "--")

    def _prepare(self, name: str, target: Path) -> None:
        started = time.monotonic()
        with tempfile.TemporaryDirectory(prefix=".building-", dir=self.folder) as scratch:
            fetched, made = Path(scratch, "fetched"), Path(scratch, "made")
            fetched.mkdir()
            claim(made, _MODEL)
            source = self._source(name, fetched)
            self._build(name, source, made)
            if (folder := _folder_of(name)) is not None:
                (made / _SOURCE).write_text(_stamp(folder), "utf-8")
            else:
                files = sorted(path for path in made.rglob("*") if path.is_file())
                hashes = {path.relative_to(made).as_posix(): _sha256(path) for path in files}
                fetched_from = {"source": source.label, "revision": source.revision, "sha256": hashes}
                (made / _FETCHED).write_text(json.dumps(fetched_from, indent=1), "utf-8")
            if target.exists():
                require_own(target, _MODEL)
                target.rename(Path(scratch, "before"))  # and goes with that folder
            made.rename(target)
        _log.info("Model %s is ready in %s (%.1f s)", name, target, time.monotonic() - started)

    def _source(self, name: str, scratch: Path) -> Source:
        folder = Path(os.path.expanduser(name))
        if folder.is_dir():
            return FolderSource(folder)
        if name.startswith(("/", ".", "~")):  # no repository's name does
            raise Unavailable(f"There is no folder '{name}' with a model in it.", hint="Correct the model's setting.")
        if spec_of(name).name == DEFAULT:
            return PackageSource(scratch, wheel=self._wheel)
        return HubSource(hub_name(name))

    def _build(self, name: str, source: Source, made: Path) -> None:
        files = source.files()
        for small in _SMALL:
            if small in files:
                (made / small).parent.mkdir(exist_ok=True)
                shutil.copyfile(source.get(small), made / small)
        for needed in ("config.json", "tokenizer.json"):
            if not (made / needed).is_file():
                raise Unavailable(  # here; by the torch extra it may be had
                    f"'{name}' in {source.label} has no {needed}.",
                    hint=f"Choose a model that publishes one, or run {install('torch')}.",
                )
        spec = read_spec(name, made)
        config = read_json(made / "config.json")
        classifier = any("SequenceClassification" in str(kind) for kind in config.get("architectures") or ())
        try:
            weights = self._built(name, source, files, made, config, "classifier" if classifier else spec.pooling)
        except LibrarianError:
            raise
        except Exception as error:  # whatever onnx and its quantization make of files that don't belong together
            lines = str(error).strip().splitlines() or [type(error).__name__]
            raise SetupError(
                f"No model can be built of the files of '{name}' in {source.label} ({lines[0][:200]}).",
                hint="Check that they are whole, and that config.json belongs to the weights.",
            ) from error
        # Nothing of time or place: the same model built elsewhere is the same model, and its vectors too.
        manifest = {"format": FORMAT, "name": spec.name, "weights_sha256": _sha256(weights), "pooling": spec.pooling}
        (made / "manifest.json").write_text(json.dumps(manifest, indent=1), "utf-8")

    def _built(
        self,
        name: str,
        source: Source,
        files: frozenset[str],
        made: Path,
        config: Mapping[str, Any],
        head: onnx_build.Head,
    ) -> Path:
        """Writes the graph into `made`; returns the file that its weights came from."""
        keep = has_cuda() if self._keep_fp32 is None else self._keep_fp32
        if config.get("model_type") in _BERT_LIKE and _WEIGHTS in files:
            weights = source.get(_WEIGHTS)
            onnx_build.build_files(made, weights, config, head, keep_fp32=keep)
        else:
            weights = self._published(name, source, files)
            onnx_build.quantize(weights, made / "model_int8.onnx")
            if keep:
                shutil.copyfile(weights, made / "model.onnx")
        return weights

    def _published(self, name: str, source: Source, files: frozenset[str]) -> Path:
        for candidate in _GRAPHS:
            if candidate in files:
                for data in (f"{candidate}_data", f"{candidate}.data"):
                    if data in files:
                        source.get(data)
                return source.get(candidate)
        raise Unavailable(
            f"'{name}' in {source.label} has no ONNX file and isn't a BERT-like encoder.",
            hint=f"Run {install('torch')}, or choose a model that publishes one.",
        )

    @contextmanager
    def _locked(self, target: Path) -> Iterator[None]:
        """One builder per model across threads and processes; the lock goes with the process that holds it."""
        with (self.folder / f".{target.name}.lock").open("w") as handle:
            deadline = time.monotonic() + _LOCK_S
            pause = threading.Event()
            while True:
                try:
                    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    if time.monotonic() > deadline:
                        raise Unavailable(
                            f"Another process has been building {target.name} for {_LOCK_S / 60:.0f} minutes.",
                            hint="End it and try again.",
                        ) from None
                    pause.wait(0.1)
            yield


def _is_model(folder: Path) -> bool:
    """Whether the manifest in a folder is one that Librarian writes, of whatever format."""
    return {"format", "name", "weights_sha256", "pooling"} <= json_object(folder / "manifest.json").keys()


def _holds_models(folder: Path) -> bool:
    """Whether there is a model that Librarian has prepared in a folder, or nothing but what preparing one leaves."""
    inside = list(folder.iterdir())
    return any(map(_is_model, inside)) or all(each.name.startswith(".") for each in inside)


_MODEL = Kind("model", "librarian.models.store", "Move it away and try again.", _is_model)
#: The folder that models are kept in.
FOLDER = Kind(
    "models",
    "librarian.models.store",
    "Set XDG_CACHE_HOME to another folder: models are kept in librarian/models there.",
    _holds_models,
)


def _folder_of(name: str) -> Path | None:
    """The folder that a name is; None for the name of a model."""
    if "/" not in name and not name.startswith("~"):
        return None
    folder = Path(os.path.expanduser(name))
    return folder if folder.is_dir() else None


def state_of(name: str) -> str:
    """Eight letters that change with the files of a model's folder; empty for the name of a model."""
    folder = _folder_of(name)
    return hashlib.sha256(_stamp(folder).encode()).hexdigest()[:8] if folder is not None else ""


def _stamp(folder: Path) -> str:
    """Changes whenever a file does that a model is built of."""
    found = []
    for name in (*_SMALL, _WEIGHTS, *_GRAPHS):
        try:
            status = (folder / name).stat()
        except OSError:
            continue
        found.append(f"{name} {status.st_size} {status.st_mtime_ns}")
    return "\n".join(found)


def _sha256(path: Path) -> str:
    """The SHA-256 of a file in hexadecimal; empty where it can't be read."""
    try:
        with path.open("rb") as data:
            return hashlib.file_digest(data, "sha256").hexdigest()
    except OSError:
        return ""


def _read(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except OSError:
        return ""
