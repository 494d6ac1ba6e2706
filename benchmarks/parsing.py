"""What Librarian reads from files beside what other libraries read from them: words, headings, tables, time, memory.

    .venv/bin/pip install kreuzberg==4.10.4
    .venv/bin/python benchmarks/parsing.py FOLDER...

Every reader runs in a process of its own. `has ours` is the share of Librarian's words that the other reader has too,
`we have` the share of its words that Librarian has, both counted with repetition over the files that both read.
kreuzberg reads all formats; markdown-it-py, docutils and python-docx read their own.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import multiprocessing
import re
import resource
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from librarian.models import SourceFile
from librarian.parsing.email.parser import format_of
from librarian.parsing.reader import PARSERS

_WORD = re.compile(r"\w+")
_HEADING = re.compile(r"^#{1,6} +(.+?)[ #]*$", re.M)
_TABLE = re.compile(r"^\|? *:?-+:? *(?:\| *:?-+:? *)+\|?$", re.M)


class Found(NamedTuple):
    """What one reader has of one file."""

    text: str
    headings: int
    tables: int


class Reading(NamedTuple):
    """What one reader has of all files, by path."""

    found: dict[str, Found]
    seconds: float
    megabytes: float


def ours(path: Path) -> Found:
    source = SourceFile(str(path), path.name, "product", "component", path.stat().st_size, 0)
    document = PARSERS[format_of(path.name, frozenset(PARSERS))].parse(source, path.read_bytes())
    return Found(document.text, len(document.headings), sum(block.kind == "table" for block in document.blocks))


def kreuzberg(path: Path) -> Found:
    from kreuzberg import ExtractionConfig, extract_file_sync

    config = ExtractionConfig(use_cache=False, disable_ocr=True, output_format="markdown")
    text = extract_file_sync(str(path), config=config).content
    return Found(text, len(_HEADING.findall(text)), len(_TABLE.findall(text)))


def markdown_it(path: Path) -> Found:
    from markdown_it import MarkdownIt

    text = path.read_text("utf-8", "replace")
    tokens = MarkdownIt("commonmark").enable("table").parse(text)
    kinds = Counter(token.type for token in tokens)
    return Found(text, kinds["heading_open"], kinds["table_open"])


def docutils(path: Path) -> Found:
    import docutils.core
    import docutils.nodes

    tree = docutils.core.publish_doctree(
        path.read_text("utf-8", "replace"),
        settings_overrides={"report_level": 5, "halt_level": 6, "file_insertion_enabled": False, "raw_enabled": False},
    )
    count = [sum(1 for _ in tree.findall(kind)) for kind in (docutils.nodes.title, docutils.nodes.table)]
    return Found(tree.astext(), *count)


def python_docx(path: Path) -> Found:
    import docx

    file = docx.Document(str(path))
    styles = [(paragraph.style.name or "") if paragraph.style else "" for paragraph in file.paragraphs]
    cells = (cell.text for table in file.tables for row in table.rows for cell in row.cells)
    text = "\n".join([*(paragraph.text for paragraph in file.paragraphs), *cells])
    return Found(text, sum(style.startswith(("Heading", "Title")) for style in styles), len(file.tables))


#: Reader, and the extensions that it reads; all where none is named.
READERS: dict[str, tuple[Callable[[Path], Found], tuple[str, ...]]] = {
    "kreuzberg": (kreuzberg, ()),
    "markdown-it-py": (markdown_it, (".md",)),
    "docutils": (docutils, (".rst", ".rst.txt")),
    "python-docx": (python_docx, (".docx",)),
}


def read(name: str, paths: Sequence[Path], most_s: float) -> Reading:
    """What a reader finds, in a process of its own; files that it refuses are left out."""
    receiving, sending = multiprocessing.Pipe(duplex=False)
    process = multiprocessing.get_context("spawn").Process(target=_read, args=(name, paths, most_s, sending))
    process.start()
    sending.close()
    found: Reading = receiving.recv()
    process.join()
    return found


def _read(name: str, paths: Sequence[Path], most_s: float, sending: multiprocessing.connection.Connection) -> None:
    reader = ours if name == "ours" else READERS[name][0]
    found: dict[str, Found] = {}
    started = time.process_time()
    for path in paths:
        if time.process_time() - started > most_s:
            break
        with contextlib.suppress(Exception), contextlib.redirect_stderr(io.StringIO()):
            found[str(path)] = reader(path)
    seconds = time.process_time() - started
    sending.send(Reading(found, seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024))
    sending.close()


def share(part: Counter[tuple[str, str]], whole: Counter[tuple[str, str]]) -> float:
    """How much of `whole` is in `part`, counted with repetition."""
    return sum((part & whole).values()) / whole.total() if whole else 1.0


def words_of(found: dict[str, Found], paths: Sequence[str]) -> Counter[tuple[str, str]]:
    """The words of files; the same word of two files is two."""
    return Counter((path, word.lower()) for path in paths for word in _WORD.findall(found[path].text))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--most-seconds", type=float, default=120, help="of each reader and format")
    given = parser.parse_args()
    by_format: dict[str, list[Path]] = {}
    for folder in given.folders:
        for path in sorted(file for file in folder.rglob("*") if file.is_file()):
            extension = ".rst.txt" if path.name.endswith(".rst.txt") else path.suffix.lower()
            if format_of(path.name, frozenset(PARSERS)) in PARSERS:
                by_format.setdefault(extension, []).append(path)
    print("| format | reader | files | has ours | we have | headings, ours | tables, ours | CPU s, ours | MB, ours |")
    print("|---|---|---|---|---|---|---|---|---|")
    for extension, paths in sorted(by_format.items()):
        own = read("ours", paths, given.most_seconds)
        for name, (_, extensions) in READERS.items():
            if extensions and extension not in extensions:
                continue
            other = read(name, paths, given.most_seconds)
            both = sorted(own.found.keys() & other.found.keys())
            mine, theirs = words_of(own.found, both), words_of(other.found, both)
            counts = [
                f"{sum(getattr(other.found[path], kind) for path in both)}, "
                f"{sum(getattr(own.found[path], kind) for path in both)}"
                for kind in ("headings", "tables")
            ]
            print(
                f"| {extension} | {name} | {len(both)} of {len(paths)} | {share(theirs, mine):.3f} "
                f"| {share(mine, theirs):.3f} | {counts[0]} | {counts[1]} | {other.seconds:.2f}, {own.seconds:.2f} "
                f"| {other.megabytes:.0f}, {own.megabytes:.0f} |",
                flush=True,
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())
