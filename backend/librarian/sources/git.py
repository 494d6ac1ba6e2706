"""Git repositories: their addresses, and their documentation as a folder of plain files."""

from __future__ import annotations

import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

from ..errors import CallerError, SetupError, Unavailable

#: Hosts whose addresses name a repository by two parts: `https://github.com/OWNER/REPO/tree/REF/PATH`.
HOSTS = frozenset({"github.com", "gitlab.com", "codeberg.org", "bitbucket.org"})
DOCS = ("docs", "doc", "documentation", "website/docs", "content")  #: taken where no folder is named
TIMEOUT_S = 1800.0
_SAFE = (
    *("-c", "core.hooksPath=/dev/null", "-c", "core.symlinks=false", "-c", "core.fsmonitor=false"),
    *("-c", "submodule.recurse=false", "-c", "protocol.ext.allow=never", "-c", "advice.detachedHead=false"),
)
#: Nothing is asked on the terminal, no large files of Git LFS are fetched, messages are in English.
_ENVIRONMENT = {
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_LFS_SKIP_SMUDGE": "1",
    "GIT_ALLOW_PROTOCOL": "https:http:ssh:git:file",
    "LC_ALL": "C",
}
_REPOSITORY = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR", "GIT_OBJECT_DIRECTORY")


@dataclass(frozen=True, slots=True)
class Address:
    """A repository, and what of it is wanted: a folder, and a branch, tag or commit; empty for the default."""

    repository: str
    folder: str = ""
    ref: str = ""

    @property
    def name(self) -> str:
        """The repository's own name."""
        return re.split(r"[/:]", self.repository.rstrip("/"))[-1].removesuffix(".git")


def parse(text: str) -> Address | None:
    """The repository that an address names; None for a site or a folder.

    >>> parse("https://github.com/ray-project/ray/tree/master/doc/source")
    Address(repository='https://github.com/ray-project/ray', folder='doc/source', ref='master')
    >>> parse("https://github.com/fastapi/fastapi/docs/en"), parse("https://docs.example.org/")
    (Address(repository='https://github.com/fastapi/fastapi', folder='docs/en', ref=''), None)
    >>> parse("git@example.org:team/handbook.git").name
    'handbook'
    """
    if re.match(r"[\w.-]+@[\w.-]+:(?!//)", text):
        return Address(text)
    parts = urlsplit(text)
    if parts.scheme in ("ssh", "git", "file") or (parts.scheme in ("http", "https") and parts.path.endswith(".git")):
        return Address(text)
    if parts.scheme not in ("http", "https") or (parts.hostname or "").removeprefix("www.") not in HOSTS:
        return None
    owner, repository, *rest = [unquote(part) for part in parts.path.split("/") if part] + ["", ""]
    if not owner or not repository:
        return None
    rest = [part for part in rest if part and part != "-"]
    ref = ""
    if rest[:1] in (["tree"], ["blob"], ["src"]):
        ref, rest = (rest[1] if len(rest) > 1 else ""), rest[2:]
    return Address(f"{parts.scheme}://{parts.netloc}/{owner}/{repository.removesuffix('.git')}", "/".join(rest), ref)


def latest(address: Address) -> str:
    """The commit that the branch or tag stands at now; empty for a commit, which the server doesn't list.

    Raises `Unavailable` if the repository can't be read.
    """
    _check(address)
    listed = _git("ls-remote", address.repository, address.ref or "HEAD", f"{address.ref}^{{}}")
    commits = {name: commit for commit, _, name in (line.partition("\t") for line in listed.splitlines())}
    peeled = next((commit for name, commit in commits.items() if name.endswith("^{}")), "")
    return peeled or next(iter(commits.values()), "")


def fetch(address: Address, into: Path) -> tuple[str, str]:
    """Check out the wanted folder of the repository in `into`, an empty folder; its commit, and the folder's path.

    Only the newest state is fetched, and only files of that folder. Raises `CallerError` if the folder or the version
    isn't there, `Unavailable` if the repository can't be read.
    """
    _check(address)
    _git("init", "--quiet", "--template=", str(into))
    _git("remote", "add", "origin", address.repository, at=into)
    _git("fetch", "--quiet", "--depth=1", "--no-tags", "--filter=blob:none", "origin", address.ref or "HEAD", at=into)
    commit = _git("rev-parse", "FETCH_HEAD^{commit}", at=into).strip()
    folders = set(_git("ls-tree", "-r", "-d", "-z", "--name-only", commit, at=into).split("\0"))
    folder = address.folder.strip("/")
    if folder and folder not in folders:
        near = ", ".join(sorted(name for name in folders if name and "/" not in name)[:10])
        raise CallerError(f"{address.repository} has no folder {folder!r}.", hint=f"Its folders: {near or 'none'}.")
    folder = folder or next((name for name in DOCS if name in folders), "")
    if folder:
        _git("sparse-checkout", "set", "--no-cone", f"/{folder}/", at=into)
    _git("checkout", "--quiet", commit, at=into)
    return commit, folder


def _check(address: Address) -> None:
    """Refuse what git would take for an option."""
    if address.repository.startswith("-") or address.ref.startswith("-"):
        raise CallerError("An address or version can't begin with '-'.")


def _git(*arguments: str, at: Path | None = None) -> str:
    environment = {name: value for name, value in os.environ.items() if name not in _REPOSITORY} | _ENVIRONMENT
    try:
        done = subprocess.run(
            ["git", *_SAFE, *arguments],
            cwd=at or "/",  # the working directory may be a repository whose settings name programs
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="surrogateescape",
            timeout=TIMEOUT_S,
        )
    except FileNotFoundError as error:
        raise SetupError("Git isn't installed.", hint="Install git, for example with apt install git.") from error
    except subprocess.TimeoutExpired as error:
        raise Unavailable(f"git {arguments[0]} took longer than {TIMEOUT_S:g} s.", hint="Try again.") from error
    if done.returncode:
        reason = " ".join(done.stderr.split()) or f"exit code {done.returncode}"
        if "couldn't find remote ref" in reason:
            raise CallerError(f"The repository has no {arguments[-1]!r}.", hint="Name one of its branches or tags.")
        raise Unavailable(
            f"git {arguments[0]} failed: {reason[-500:]}", hint="Check the address and your access to it."
        )
    return done.stdout
