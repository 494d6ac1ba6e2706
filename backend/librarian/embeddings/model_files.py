"""The models on this machine: the default one in the package, every other in a folder of its own, complete or absent.

A folder holds `model_int8.onnx` or `model.onnx`, `tokenizer.json`, the small JSON files that describe the model, and
`manifest.json`, which says what made it. It is prepared next to its place and renamed into it.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock, Timeout

from ..errors import SetupError, Unavailable, install
from ..files.owned_folder import Kind, claim, json_object, require_own
from .model_table import DEFAULT, canonical, hub_name, read_json, read_spec, spec_of
from .onnx import has_cuda

SHIPPED = Path(__file__).with_name(DEFAULT)  #: the default model; `scripts/build_model.py` makes it
_SUMS = "SHA256SUMS"

_CONNECT_S = 8.0  #: seconds until a hub that doesn't answer counts as out of reach
_LOCK_S = 900.0  #: seconds that one process waits for another to finish the same model
FORMAT = 1
_SMALL = (
    "config.json", "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "sentence_bert_config.json",
    "config_sentence_transformers.json", "1_Pooling/config.json", "modules.json",
)  # fmt: skip
_WEIGHTS = "model.safetensors"
_GRAPHS = ("onnx/model_int8.onnx", "model_int8.onnx", "onnx/model.onnx", "model.onnx")  #: the first is taken
_SOURCE = "source.txt"  #: next to the manifest of a model from a folder: what that folder held
_FETCHED = "fetched.json"  #: next to the manifest of a fetched model: its source, commit and the SHA-256 of each file
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Source:
    """The place that a model comes from. `get` brings the files of these names, as far as there are any."""

    label: str  #: what a person would call it
    revision: str | None  #: the commit; None where there are none
    get: Callable[[Sequence[str]], Path]


def split_revision(name: str) -> tuple[str, str | None]:
    """`owner/name@revision` → (`owner/name`, revision); None for a name without one."""
    repository, _, revision = name.partition("@")
    return repository, revision or None


def _hub(name: str, scratch: Path) -> _Source:
    """A repository of a Hugging Face hub; `HF_ENDPOINT`, `HF_TOKEN` and the hub's own cache are honoured.

    The hub is asked once, without retries: a machine without a way out must hear of it in seconds.
    """
    from huggingface_hub import HfApi, hf_hub_download, snapshot_download
    from huggingface_hub.errors import HfHubHTTPError

    repository, wanted = split_revision(name)
    revision, folder, listed = wanted, scratch, set[str]()
    try:
        info = HfApi().model_info(repository, revision=wanted, timeout=_CONNECT_S)
        revision, listed = info.sha or wanted, {item.rfilename for item in info.siblings or ()}
    except HfHubHTTPError as error:
        raise Unavailable(
            f"The hub refuses '{name}': {_first_line(error)}.", hint="Check the name; for a private model set HF_TOKEN."
        ) from error
    except Exception as error:  # connection errors of whatever HTTP library the hub's client uses
        try:  # what the hub's client kept of an earlier visit
            folder = Path(snapshot_download(repository, revision=wanted, local_files_only=True))
        except Exception:
            raise Unavailable(
                f"No model hub within reach for '{name}' ({_first_line(error)}).",
                hint=f"Connect once and run `librarian models fetch {name}`, or give a folder that holds "
                f"the model. The default embedding model, '{DEFAULT}', needs no network.",
            ) from error

    def get(names: Sequence[str]) -> Path:
        nonlocal folder
        for file in (file for file in names if file in listed):
            try:
                found = hf_hub_download(repository, file, revision=wanted, etag_timeout=_CONNECT_S)
            except Exception as error:
                raise Unavailable(
                    f"'{file}' of '{name}' can't be fetched ({_first_line(error)}).",
                    hint="Run `librarian models fetch` again; what is complete is kept.",
                ) from error
            folder = Path(found).parents[file.count("/")]
        return folder

    return _Source(name, revision, get)


def _first_line(error: BaseException) -> str:
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return lines[0][:200].rstrip(".")


def default_folder() -> Path:
    """Where models are kept: `librarian/models` in the user's cache."""
    cache = os.environ.get("XDG_CACHE_HOME")
    return (Path(cache) if cache else Path.home() / ".cache") / "librarian" / "models"


class ModelStore:
    """Fetches and finds models. Safe to use from several processes at once."""

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = folder or default_folder()

    def ensure(self, name: str) -> Path:
        """The folder of a model, fetched first where it isn't there.

        `name` is a name of the table, a hub's `owner/name`, or a folder. Raises `SetupError` where there can be no
        such model, `Unavailable` where it can't be had now; both say what to do.
        """
        found = self.locate(name)
        if found is not None:
            if found == SHIPPED:
                return found
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
        try:
            with FileLock(self.folder / f".{target.name}.lock", timeout=_LOCK_S):
                if self.locate(name) is None:  # else another process has finished it meanwhile
                    self._prepare(name, target)
        except Timeout:
            raise Unavailable(
                f"Another process has been fetching {target.name} for {_LOCK_S / 60:.0f} minutes.",
                hint="End it and try again.",
            ) from None
        return target

    def locate(self, name: str) -> Path | None:
        """The folder of a model that is here and of this format; a model from a folder as that folder is now."""
        if canonical(name) == DEFAULT and _folder_of(name) is None:
            return SHIPPED
        place = self._place(name)
        if (folder := _folder_of(name)) is not None and _read(place / _SOURCE) not in ("", _state(folder)):
            return None
        return place if _manifest(place).get("format") == FORMAT else None

    def changed_files(self, name: str) -> list[str]:
        """Names of files of a model that are missing or differ from what was shipped or fetched, sorted.

        Empty for a model from a folder, and for one that was fetched before this was recorded.
        """
        place = self.locate(name) or self._place(name)
        try:
            if place == SHIPPED:
                lines = (place / _SUMS).read_text("utf-8").splitlines()
                recorded = {file: digest for digest, _, file in (line.partition("  ") for line in lines)}
            else:
                recorded = read_json(place / _FETCHED).get("sha256", {})
        except (SetupError, OSError):
            return [_SUMS if place == SHIPPED else _FETCHED]
        return sorted(file for file, digest in recorded.items() if _sha256(place / file) != digest)

    def installed(self) -> list[str]:
        """Names of the models that are here, sorted."""
        entries = [_manifest(path.parent) for path in self.folder.glob("*/manifest.json")]
        return sorted({DEFAULT, *(str(entry.get("name")) for entry in entries if entry.get("format") == FORMAT)})

    # -- inside ------------------------------------------------------------------------------------------------------

    def _place(self, name: str) -> Path:
        if (folder := _folder_of(name)) is not None:
            path = str(folder.resolve())
            return self.folder / f"{folder.resolve().name}@{hashlib.sha256(path.encode()).hexdigest()[:8]}"
        return self.folder / hub_name(name).rsplit("sentence-transformers/", 1)[-1].replace("/", "--")

    def _prepare(self, name: str, target: Path) -> None:
        started = time.monotonic()
        with tempfile.TemporaryDirectory(prefix=".building-", dir=self.folder) as scratch:
            made = Path(scratch, "made")
            claim(made, _MODEL)
            source = self._source(name, Path(scratch))
            self._fill(name, source, made)
            if (folder := _folder_of(name)) is not None:
                (made / _SOURCE).write_text(_state(folder), "utf-8")
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

    def _source(self, name: str, scratch: Path) -> _Source:
        folder = Path(os.path.expanduser(name)).resolve()
        if folder.is_dir():
            return _Source(str(folder), None, lambda _: folder)
        if name.startswith(("/", ".", "~")):  # no repository's name does
            raise Unavailable(f"There is no folder '{name}' with a model in it.", hint="Correct the model's setting.")
        return _hub(hub_name(name), scratch)

    def _fill(self, name: str, source: _Source, made: Path) -> None:
        """Copy the model's files into the folder `made`."""
        files = source.get(_SMALL)
        for small in _SMALL:
            if (files / small).is_file():
                (made / small).parent.mkdir(exist_ok=True)
                shutil.copyfile(files / small, made / small)
        missing = next((needed for needed in ("config.json", "tokenizer.json") if not (made / needed).is_file()), None)
        if missing:
            raise Unavailable(  # here; by the torch extra it may be had
                f"'{name}' in {source.label} has no {missing}.",
                hint=f"Choose a model that publishes one, or run {install('torch')}.",
            )
        spec, graph = read_spec(name, made), _published_graph(name, source)
        shutil.copyfile(graph, made / graph.name)
        for weights in (f"{graph.name}_data", f"{graph.name}.data"):  # of a graph above 2 GB, which names the file
            if (graph.parent / weights).is_file():
                shutil.copyfile(graph.parent / weights, made / weights)
        # Nothing of time or place: the same model fetched elsewhere is the same model, and its vectors too.
        manifest = {"format": FORMAT, "name": spec.name, "weights_sha256": _sha256(graph), "pooling": spec.pooling}
        (made / "manifest.json").write_text(json.dumps(manifest, indent=1), "utf-8")


def _published_graph(name: str, source: _Source) -> Path:
    for graph in sorted(_GRAPHS, key=lambda name: ("int8" in name) == has_cuda()):  # CUDA reads fp32 faster
        found = source.get([graph, f"{graph}_data", f"{graph}.data"]) / graph
        if found.is_file():
            return found
    raise Unavailable(
        f"'{name}' in {source.label} has no ONNX file.",
        hint=f"Run {install('torch')}, or choose a model that publishes one.",
    )


def _manifest(folder: Path) -> dict[str, object]:
    return json_object(folder / "manifest.json")


def _is_model(folder: Path) -> bool:
    """Whether the manifest in a folder is one that Librarian writes, of whatever format."""
    return {"format", "name", "weights_sha256", "pooling"} <= _manifest(folder).keys()


def _holds_models(folder: Path) -> bool:
    """Whether there is a model that Librarian has prepared in a folder, or nothing but what preparing one leaves."""
    inside = list(folder.iterdir())
    return any(map(_is_model, inside)) or all(each.name.startswith(".") for each in inside)


_MODEL = Kind("model", "librarian.embeddings.model_files", "Move it away and try again.", _is_model)
#: The folder that models are kept in.
FOLDER = Kind(
    "models",
    "librarian.embeddings.model_files",
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
    return hashlib.sha256(_state(folder).encode()).hexdigest()[:8] if folder is not None else ""


def _state(folder: Path) -> str:
    """Changes whenever a file does that a model is built of."""
    found = []
    for name in (*_SMALL, _WEIGHTS, *_GRAPHS):
        with suppress(OSError):
            status = (folder / name).stat()
            found.append(f"{name} {status.st_size} {status.st_mtime_ns}")
    return "\n".join(found)


def _sha256(path: Path) -> str:
    """The SHA-256 of a file in hexadecimal; empty where it can't be read."""
    with suppress(OSError), path.open("rb") as data:
        return hashlib.file_digest(data, "sha256").hexdigest()
    return ""


def _read(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except OSError:
        return ""
