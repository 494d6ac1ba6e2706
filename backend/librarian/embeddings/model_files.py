"""The models on this machine: the default one in the package, fetched ones in the user's cache, others where they lie.

A fetched model's folder holds its ONNX file, `tokenizer.json`, the small JSON files that describe the model, and the
hashes of all in `SHA256SUMS`, which is written last: without it the folder is incomplete.
"""

from __future__ import annotations

import hashlib
import logging
import os
import time
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path

from filelock import FileLock, Timeout

from ..errors import SetupError, Unavailable, install
from ..files.owned_folder import PRIVATE
from ..files.writing import write_whole
from .model_table import DEFAULT, canonical, folder_of, hub_name, read_spec, spec_of
from .onnx import SUMS, first_line, graphs

SHIPPED = Path(__file__).with_name(DEFAULT)  #: the default model; `scripts/build_model.py` makes it
_CONNECT_S = 8.0  #: seconds until a hub that doesn't answer counts as out of reach
_LOCK_S = 900.0  #: seconds that one process waits for another to finish the same model
_SMALL = (
    "config.json", "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "sentence_bert_config.json",
    "config_sentence_transformers.json", "1_Pooling/config.json", "modules.json",
)  # fmt: skip
_log = logging.getLogger(__name__)


def default_folder() -> Path:
    """Where models are kept: `librarian/models` in the user's cache."""
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "librarian" / "models"


class ModelStore:
    """Fetches and finds models. Safe to use from several processes at once."""

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = folder or default_folder()

    def ensure(self, name: str) -> Path:
        """The folder of a model, fetched first where it isn't there.

        `name` is a name of the table, a hub's `owner/name`, or a folder. Raises `SetupError` where there can be no
        such model, `Unavailable` where it can't be had now; both say what to do.
        """
        if (found := self.locate(name)) is not None:
            return found
        if (folder := folder_of(name)) is not None:
            raise _incomplete(name, _files(folder))
        if name.startswith(("/", ".", "~")):  # no repository's name does
            raise Unavailable(f"There is no folder '{name}' with a model in it.", hint="Correct the model's setting.")
        spec = spec_of(name)
        if spec.provider != "local":
            raise SetupError(
                f"'{name}' runs at a service; there is nothing to fetch.",
                hint=f"Set embeddings.provider to {spec.provider} and embeddings.model to this name.",
            )
        target = self._place(name)
        try:
            self.folder.mkdir(mode=PRIVATE, parents=True, exist_ok=True)
            target.mkdir(exist_ok=True)
        except OSError as error:
            raise SetupError(
                f"No models can be kept in {self.folder} ({error}).", hint="Set XDG_CACHE_HOME."
            ) from error
        try:
            with FileLock(self.folder / f".{target.name}.lock", timeout=_LOCK_S):
                if self.locate(name) is None:  # else another process has finished it meanwhile
                    _fetch(name, target)
        except Timeout:
            raise Unavailable(
                f"Another process has been fetching {target.name} for {_LOCK_S / 60:.0f} minutes.",
                hint="End it and try again.",
            ) from None
        return target

    def locate(self, name: str) -> Path | None:
        """The folder of a model that is here and complete."""
        if (folder := folder_of(name)) is not None:
            return None if _missing_part(_files(folder)) else folder
        if canonical(name) == DEFAULT:
            return SHIPPED
        place = self._place(name)
        return place if (place / SUMS).is_file() else None

    def changed_files(self, name: str) -> list[str]:
        """Names of files of a model that are missing or differ from what was shipped or fetched, sorted.

        Empty for a folder of one's own.
        """
        place = self.locate(name) or self._place(name)
        try:
            recorded = [line.partition("  ") for line in (place / SUMS).read_text("utf-8").splitlines()]
        except OSError:
            return [SUMS] if place == SHIPPED else []
        return sorted(file for digest, _, file in recorded if _sha256(place / file) != digest)

    def installed(self) -> list[str]:
        """Names of the models that are shipped or fetched, sorted."""
        fetched = (sums.parent.name.replace("--", "/", 1) for sums in self.folder.glob(f"*/{SUMS}"))
        return sorted({DEFAULT, *map(canonical, fetched)})

    def _place(self, name: str) -> Path:
        return self.folder / hub_name(name).replace("/", "--")


def _fetch(name: str, target: Path) -> None:
    """Bring a model of a Hugging Face hub; `HF_ENDPOINT` and `HF_TOKEN` are honoured.

    The hub is asked once, without retries: a machine without a way out must hear of it in seconds.
    """
    from huggingface_hub import HfApi, hf_hub_download
    from huggingface_hub.errors import HfHubHTTPError

    started = time.monotonic()
    repository, _, revision = hub_name(name).partition("@")
    try:
        info = HfApi().model_info(repository, revision=revision or None, timeout=_CONNECT_S)
    except HfHubHTTPError as error:
        raise Unavailable(
            f"The hub refuses '{name}': {first_line(error)}.", hint="Check the name; for a private model set HF_TOKEN."
        ) from error
    except Exception as error:  # connection errors of whatever HTTP library the hub's client uses
        raise Unavailable(
            f"No model hub within reach for '{name}' ({first_line(error)}).",
            hint=f"Connect once and run `librarian models fetch {name}`, or give a folder that holds "
            f"the model. The default embedding model, '{DEFAULT}', needs no network.",
        ) from error
    listed = {item.rfilename for item in info.siblings or ()}
    if _missing_part(listed):
        raise _incomplete(name, listed)
    graph = next(graph for graph in graphs() if graph in listed)
    sums: list[str] = []

    def get(*files: str) -> None:
        for file in (file for file in files if file in listed):
            try:
                hf_hub_download(
                    repository, file, revision=info.sha or revision, local_dir=target, etag_timeout=_CONNECT_S
                )
            except Exception as error:
                raise Unavailable(
                    f"'{file}' of '{name}' can't be fetched ({first_line(error)}).",
                    hint="Run `librarian models fetch` again; what is complete is kept.",
                ) from error
            sums.append(f"{_sha256(target / file)}  {file}\n")

    get(*_SMALL)
    read_spec(name, target)  # refuses a model that isn't computed here before its large file is fetched
    get(graph, f"{graph}_data", f"{graph}.data")  # a graph above 2 GB has its weights in another file
    write_whole(target / SUMS, "".join(sums))
    _log.info("Model %s is ready in %s (%.1f s)", name, target, time.monotonic() - started)


def _missing_part(files: Collection[str]) -> str:
    """What a model that is computed here needs and these files don't have."""
    missing = [needed for needed in ("config.json", "tokenizer.json") if needed not in files]
    return missing[0] if missing else "" if any(graph in files for graph in graphs()) else "ONNX file"


def _incomplete(name: str, files: Collection[str]) -> Unavailable:
    return Unavailable(  # here; by the torch extra it may be had
        f"'{name}' has no {_missing_part(files)}.",
        hint=f"Run {install('torch')}, or choose a model that publishes one.",
    )


def _files(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for pattern in ("*", "onnx/*") for path in folder.glob(pattern)}


def _sha256(path: Path) -> str:
    """The SHA-256 of a file in hexadecimal; empty where it can't be read."""
    with suppress(OSError), path.open("rb") as data:
        return hashlib.file_digest(data, "sha256").hexdigest()
    return ""
