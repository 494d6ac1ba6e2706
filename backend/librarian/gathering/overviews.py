"""One document per group of the navigation, which says what its pages are about."""

from __future__ import annotations

import hashlib
from collections import Counter
from pathlib import Path

from . import page_files
from .crawl_state import CrawlState, Record

NAME = "overview-of-this-section.md"


def write_overviews(root: Path, state: CrawlState) -> int:
    """Write what has changed, remove what has no group any more; returns how many there are."""
    groups: dict[str, list[tuple[str, Record]]] = {}
    for url, record in state.records.items():
        if record.file and record.category:
            groups.setdefault(record.category[0], []).append((url, record))
    written = []
    for name, pages in groups.items():
        file = f"{state.project}/{page_files.folder_name(name)}/{NAME}"
        text = _overview(name, pages)
        path = root / file
        if path.is_file() and not page_files.is_crawled(path):
            continue  # somebody else's
        if not path.is_file() or _hash(path.read_text("utf-8")) != _hash(text):
            page_files.write(root, file, text)
        written.append(file)
    for file in set(state.overviews) - set(written):
        page_files.remove(root, file)
    state.overviews = written
    return len(written)


def _overview(name: str, pages: list[tuple[str, Record]]) -> str:
    counted = Counter(word for _, record in pages for word in record.keywords)
    fields = {
        "title": f"{name}: overview",
        "source_urls": [url for url, _ in pages],
        "category": name,
        "keywords": [word for word, _ in counted.most_common(10)],
        "summary": f"{name}: " + "; ".join(record.title for _, record in pages)[:280],
    }
    parts = [f"# {name}: overview"]
    for url, record in pages:
        parts += [f"## {record.title}", *([record.summary] if record.summary else []), f"Source: <{url}>"]
    return page_files.rendered("\n\n".join(parts), fields)


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
