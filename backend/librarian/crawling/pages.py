"""Pages as files: `{project}/{category}/{name}.md`, each with front matter that says where it came from."""

from __future__ import annotations

import hashlib
import itertools
import json
import logging
import os
import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote, urlsplit

from pydantic import TypeAdapter

from ..errors import CallerError, Damaged, NotFound
from ..files.owned_folder import claim_index
from ..files.writing import write_whole

logger = logging.getLogger(__name__)

MOST_NAME = 80  #: characters of a folder's or a file's name
MOST_BYTES = 210  #: of such a name; file systems take 255, of which a file that is being written needs some
_FORBIDDEN = re.compile(r'[\x00-\x1f\x7f<>:"/\\|?*]+')
_ENDINGS = re.compile(r"\.(html?|xhtml|md|markdown|mdx|php|aspx|txt)$", re.I)


def folder_name(text: str) -> str:
    """A category as a folder: what a reader sees, without what a file system can't hold."""
    plain = unicodedata.normalize("NFC", _FORBIDDEN.sub(" ", text))
    return _short(" ".join(plain.split()).strip(". ")).rstrip(". ")


def project_name(name: str) -> str:
    """A project's name as given, which is its folder's. Raises `CallerError` where it can't be one."""
    if not name or folder_name(name) != name or name.startswith((".", "_", "-")):
        near = folder_name(name).lstrip("._- ") or "docs"
        raise CallerError(f"--project {name!r} can't be a folder's name.", hint=f"Try {near!r}.")
    return name


def file_name(segments: Sequence[str], parts: int = 1) -> str:
    """The last segments of an address as a file's name, without its ending.

    >>> file_name(["guide", "Install Me.html"]), file_name(["guide", "index.html"]), file_name([])
    ('install-me', 'guide', 'index')
    """
    named = [slug for segment in segments if (slug := slug_of(_ENDINGS.sub("", segment)))]
    if len(named) > 1 and named[-1] == "index":
        named.pop()
    return _short("-".join(named[-parts:])).strip("-") or "index"


def _short(name: str) -> str:
    return name[:MOST_NAME].encode("utf-8", "ignore")[:MOST_BYTES].decode("utf-8", "ignore")


def slug_of(text: str) -> str:
    """Lower case, words joined by hyphens.

    >>> slug_of("Getting Started: C++ & Co")
    'getting-started-c-co'
    """
    plain = unicodedata.normalize("NFKC", unquote(text)).lower()
    return re.sub(r"[^\w.]+", "-", plain).strip("-.")


def place(
    project: str, category: Sequence[str], segments: Sequence[str], query: str, is_free: Callable[[str], bool]
) -> str:
    """A free path below the root for a page; longer names where short ones are taken."""
    folder = "/".join([project, *(name for part in category if (name := folder_name(part)))])
    names = [file_name(segments, parts) for parts in range(1, len(segments) + 1)] or ["index"]
    if query:
        names = [_short(f"{name}-{slug_of(query)}") for name in names]
    numbered = (f"{names[-1]}-{number}" for number in itertools.count(2))
    return next(path for name in itertools.chain(names, numbered) if is_free(path := f"{folder}/{name}.md"))


def rendered(markdown: str, fields: Mapping[str, object]) -> str:
    """Front matter and text. Every value is JSON, which YAML understands."""
    lines = [f"{name}: {json.dumps(value, ensure_ascii=False)}" for name, value in fields.items() if value]
    return "\n".join(["---", *lines, "---", "", markdown.strip("\n"), ""])


def write(root: Path, file_path: str, text: str) -> None:
    """Put a file in place whole, so that no reader sees half of it."""
    path = root / file_path
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, text)


def remove(root: Path, file_path: str) -> bool:
    """Take a file away that a crawl has made, and the folders that are empty then; False where it is another's."""
    path = root / file_path
    if os.path.lexists(path) and not source_of(path):
        logger.warning("%s isn't a crawled page any more and stays", path)
        return False
    path.unlink(missing_ok=True)
    for folder in path.parents:
        if folder == root or not folder.is_relative_to(root):
            break
        try:
            folder.rmdir()
        except OSError:
            break
    return True


def source_of(path: Path) -> str:
    """The address that a crawl made a page from; empty for other files."""
    try:
        if not path.is_file():
            return ""
        with path.open(encoding="utf-8") as file:
            head = file.read(16_000)
    except (OSError, ValueError):
        return ""
    found = re.search(r'^source_url: "([^"\n]+)"', head, re.M) if head.startswith("---\n") else None
    return found[1] if found else ""


def title_of(markdown: str, url: str) -> str:
    """The first heading, else the address's last part."""
    found = re.search(r"^#{1,3}\s+(.+?)(?:\s+#+)?\s*$", markdown, re.M)
    return found.group(1) if found else urlsplit(url).path.rstrip("/").rsplit("/", 1)[-1] or urlsplit(url).netloc


def hash_of(text: str) -> str:
    """Equal for equal texts."""
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:32]


def overlap(path: Path, markdown: str) -> float:
    """The share of the text's lines that stand in a file."""
    try:
        known = set(path.read_text("utf-8").splitlines())
    except OSError:
        return 0.0
    lines = [line for line in markdown.splitlines() if line.strip()]
    return sum(line in known for line in lines) / max(len(lines), 1)


FOLDER = "crawls"  #: within the index folder
WRITER = 5  #: how pages become Markdown; raised where pages that haven't changed come out otherwise


@dataclass(slots=True)
class Record:
    """One address. `file` is relative to the library's root, empty where nothing was kept; `error` then says why."""

    round: int = 0  #: the refresh in which it was looked at last
    file: str = ""
    category: list[str] = field(default_factory=list)
    text_hash: str = ""  #: of the page's Markdown alone: equal ones are one page
    file_hash: str = ""  #: of all that is written but the time
    etag: str = ""
    last_modified: str = ""
    duplicate_of: str = ""
    error: str = ""
    failed: bool = False  #: the page couldn't be had, which the round's report says


@dataclass(slots=True)
class CrawlState:
    """A project's crawl. `queue` holds (address, depth) still to be looked at in this round."""

    project: str
    root_url: str
    round: int = 1
    finished: bool = False
    records: dict[str, Record] = field(default_factory=dict)
    queue: list[tuple[str, int]] = field(default_factory=list)
    categories: dict[str, list[str]] = field(default_factory=dict)
    writer: int = 1  #: that wrote all of them; an older one's pages are asked for anew

    def save(self, path: Path) -> None:
        """Write it whole or not at all."""
        claim_index(path.parent.parent)
        path.parent.mkdir(mode=0o700, exist_ok=True)
        write_whole(path, _STATE.dump_json(self, exclude_defaults=True).decode())

    @classmethod
    def load(cls, path: Path) -> CrawlState | None:
        """None where there is none. Raises `Damaged` where it can't be read."""
        try:
            state = _STATE.validate_json(path.read_bytes())
            for record in state.records.values():
                folder, *inside = record.file.split("/")
                if record.file and (folder != path.stem or ".." in inside):
                    raise ValueError(f"{record.file} doesn't lie in its project")
            return state
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as error:
            raise Damaged(
                f"The state of a crawl, {path}, can't be read: {error}.",
                hint="Delete that file and crawl again; pages that haven't changed keep their files.",
            ) from error


_STATE = TypeAdapter(CrawlState)


def state_path(index: Path, project: str) -> Path:
    """Where a project's crawl is remembered."""
    return index / FOLDER / f"{project}.json"


def projects(index: Path) -> Iterator[str]:
    """The projects that have been crawled, by name."""
    yield from sorted(path.stem for path in (index / FOLDER).glob("*.json"))


def remove_project(root: Path, index: Path, project: str) -> int:
    """Take a project away: the files that were made of its pages, and what is remembered of it; returns their number.

    Raises `NotFound` where it hasn't been crawled.
    """
    path = state_path(index, project_name(project))
    state = CrawlState.load(path)
    if state is None:
        raise NotFound(f"{project!r} hasn't been crawled.", hint="librarian products lists what there is.")
    pages = [record.file for record in state.records.values() if record.file]
    removed = sum([remove(root, file) for file in pages])
    path.unlink()
    return removed
