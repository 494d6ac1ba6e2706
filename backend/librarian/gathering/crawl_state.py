"""What is remembered of a crawled site: enough to go on after a kill, and to fetch only what has changed."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from librarian.vocabulary.errors import Damaged, NotFound
from librarian.vocabulary.index_folder import claim_index
from librarian.vocabulary.whole_file import write_whole

from . import page_files

FOLDER = "crawls"  #: within the index folder
_FORMAT = 1
WRITER = 2  #: how pages become Markdown; raised where pages that haven't changed come out otherwise


@dataclass(slots=True)
class Record:
    """One address. `file` is relative to the library's root, empty where nothing was kept; `problem` then says why."""

    round: int = 0  #: the refresh in which it was looked at last
    file: str = ""
    title: str = ""
    summary: str = ""
    category: list[str] = field(default_factory=list)
    keywords: list[str] = field(default_factory=list)
    text_hash: str = ""  #: of the page's Markdown alone: equal ones are one page
    file_hash: str = ""  #: of all that is written but the time
    etag: str = ""
    last_modified: str = ""
    duplicate_of: str = ""
    problem: str = ""
    failed: bool = False  #: the page couldn't be had, which the round's report says


_RECORD = tuple(field.name for field in fields(Record))


@dataclass(slots=True)
class CrawlState:
    """A project's crawl. `queue` holds (address, depth) still to be looked at in this round."""

    project: str
    root_url: str
    round: int = 1
    finished: bool = False
    created_at: str = ""
    finished_at: str = ""
    embedding_model: str = ""  #: of the library when it was first crawled
    embedding_dimension: int = 0
    model_chosen: bool = False  #: an earlier version let the project choose that model; it has no effect now
    group_by: str = ""
    records: dict[str, Record] = field(default_factory=dict)
    queue: list[tuple[str, int]] = field(default_factory=list)
    categories: dict[str, list[str]] = field(default_factory=dict)
    overviews: list[str] = field(default_factory=list)  #: files written for groups of pages
    writer: int = 1  #: that wrote all of them; an older one's pages are asked for anew

    def finish(self) -> None:
        """Note that a round has looked at everything."""
        self.finished, self.writer = True, WRITER
        self.finished_at = dt.datetime.now(dt.UTC).isoformat(timespec="seconds")

    def save(self, path: Path) -> None:
        """Write it whole or not at all."""
        claim_index(path.parent.parent)
        path.parent.mkdir(mode=0o700, exist_ok=True)
        fields_ = {field.name: getattr(self, field.name) for field in fields(self)}
        records = {
            url: {name: value for name in _RECORD if (value := getattr(record, name)) not in ("", [], False)}
            for url, record in self.records.items()
        }
        data: dict[str, Any] = {"format": _FORMAT, **fields_, "records": records}
        write_whole(path, json.dumps(data, ensure_ascii=False))

    @classmethod
    def load(cls, path: Path) -> CrawlState | None:
        """None where there is none. Raises `Damaged` where it can't be read."""
        try:
            data = json.loads(path.read_text("utf-8"))
            if data.pop("format") != _FORMAT:
                raise ValueError("another format")
            data["records"] = {url: Record(**record) for url, record in data["records"].items()}
            for file in (*(record.file for record in data["records"].values()), *data.get("overviews", ())):
                if file and (file.split("/")[0] != path.stem or ".." in file.split("/")):
                    raise ValueError(f"{file} doesn't lie in its project")
            data["queue"] = [(str(url), int(depth)) for url, depth in data["queue"]]
            return cls(**data)
        except FileNotFoundError:
            return None
        except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
            raise Damaged(
                f"The state of a crawl, {path}, can't be read: {error}.",
                hint="Delete that file and crawl again; pages that haven't changed keep their files.",
            ) from error


def state_path(index: Path, project: str) -> Path:
    """Where a project's crawl is remembered."""
    return index / FOLDER / f"{project}.json"


def projects(index: Path) -> Iterator[str]:
    """The projects that have been crawled, by name."""
    yield from sorted(path.stem for path in (index / FOLDER).glob("*.json"))


def chosen_models(index: Path) -> dict[str, str]:
    """Project → the embedding model that its crawl asked for; states that can't be read are left out."""
    found: dict[str, str] = {}
    for project in projects(index):
        with suppress(Damaged):
            state = CrawlState.load(state_path(index, project))
            if state is not None and state.model_chosen and state.embedding_model:
                found[project] = state.embedding_model
    return found


def other_model_note(project: str, model: str) -> str:
    """The sentence that says that a project's own embedding model is ignored."""
    return (
        f"The project {project} asks for the embedding model {model}, which is ignored: a library has one model. "
        "Crawl it into another library, with its own root and index, to use that model."
    )


def remove_project(root: Path, index: Path, project: str) -> int:
    """Take a project away: the files that were made of its pages, and what is remembered of it; returns their number.

    Raises `NotFound` where it hasn't been crawled.
    """
    path = state_path(index, page_files.project_name(project))
    state = CrawlState.load(path)
    if state is None:
        raise NotFound(f"{project!r} hasn't been crawled.", hint="librarian products lists what there is.")
    pages = [record.file for record in state.records.values() if record.file]
    removed = sum([page_files.remove(root, file) for file in pages])
    for file in state.overviews:
        page_files.remove(root, file)
    path.unlink()
    return removed
