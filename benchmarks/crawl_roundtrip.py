"""Documentation folders rendered to HTML by mkdocs or sphinx, crawled back: how much is intact.

    python -m venv /tmp/tools && /tmp/tools/bin/pip install mkdocs mkdocs-material sphinx furo myst-parser
    PYTHONPATH=backend python benchmarks/crawl_roundtrip.py --tools /tmp/tools/bin mkdocs:DIR sphinx:DIR

Each folder holds Markdown. Its headings and fenced code blocks are counted as intact where the crawled file of the same
page holds the same text (headings: letters and digits; code: all lines without trailing space).
"""

from __future__ import annotations

import argparse
import functools
import http.server
import json
import re
import shutil
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from librarian.crawling.crawler import Crawler
from librarian.crawling.fetching import CrawlOptions
from librarian.models import Document, SourceFile
from librarian.parsing.reader import PARSERS


def main() -> int:
    """Prints a line per folder and kind; exit code 1 where anything is below 98%."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folders", nargs="+", metavar="GENERATOR:DIR")
    parser.add_argument("--tools", type=Path, required=True, help="folder of mkdocs and sphinx-build")
    parser.add_argument("--show", type=int, default=3, help="examples of what is missing")
    parser.add_argument("--keep", type=Path, help="leave sources and crawled files here")
    given = parser.parse_args()
    worst = 1.0
    for item in given.folders:
        generator, _, folder = item.partition(":")
        with tempfile.TemporaryDirectory() as scratch:
            home = (given.keep / generator) if given.keep else Path(scratch)
            home.mkdir(parents=True, exist_ok=True)
            worst = min(worst, round_trip(generator, Path(folder), home, given.tools, given.show))
    return 0 if worst >= 0.98 else 1


def round_trip(generator: str, folder: Path, home: Path, tools: Path, show: int) -> float:
    """The lower of the two shares."""
    source, site = home / "source", home / "site"
    shutil.copytree(folder, source, ignore=lambda at, names: [n for n in names if "." in n and not n.endswith(".md")])
    (build_mkdocs if generator == "mkdocs" else build_sphinx)(source, site, tools)
    began = time.perf_counter()
    with served(site) as url:
        options = CrawlOptions(allow_private=True, per_second=0, most_bytes=32 * 1024 * 1024)
        report = Crawler(f"{url}/", "site", home / "docs", home / "index", options).run()
    seconds = time.perf_counter() - began
    state = json.loads((home / "index/crawls/site.json").read_text())
    files = {
        key(address[len(url) :]): home / "docs" / record["file"]
        for address, record in state["records"].items()
        if record.get("file")
    }
    print(
        f"{generator} {folder.name}: {report.pages} pages of {len(list(source.rglob('*.md')))} in {seconds:.0f} s, "
        f"{len(report.errors)} errors"
    )
    shares = []
    for what in ("headings", "code blocks"):
        total = intact = 0
        missing: list[str] = []
        for path in sorted(source.rglob("*.md")):
            name = path.relative_to(source).as_posix()
            wanted = Counter(pieces(parsed(path), what))
            crawled = files.get(key(name))
            found = Counter(pieces(parsed(crawled), what)) if crawled is not None else Counter()
            total += wanted.total()
            intact += (wanted & found).total()
            missing += [f"{name}: {text[:100]!r}" for text in (wanted - found)]
        shares.append(intact / max(total, 1))
        print(f"  {what}: {intact} of {total} intact, {100 * shares[-1]:.2f}%")
        for line in missing[:show]:
            print(f"    missing in {line}")
    return min(shares)


def build_mkdocs(source: Path, site: Path, tools: Path) -> None:
    """With the material theme, whose extensions understand fences inside lists."""
    if not (source / "index.md").exists():
        (source / "index.md").write_text("# Home\n\nThe pages of this documentation are listed in the menu.\n", "utf-8")
    config = {
        "site_name": "Round trip",
        "docs_dir": str(source),
        "site_dir": str(site),
        "theme": {"name": "material", "font": False},
        "markdown_extensions": ["attr_list", "tables", "sane_lists", "admonition", "pymdownx.superfences"],
        "plugins": [],
    }
    path = source.parent / "mkdocs.yml"
    path.write_text(json.dumps(config), "utf-8")
    subprocess.run([tools / "mkdocs", "build", "-q", "-f", path], check=True, capture_output=True)


def build_sphinx(source: Path, site: Path, tools: Path) -> None:
    """With MyST and the furo theme."""
    pages = "\n".join(
        path.relative_to(source).with_suffix("").as_posix()
        for path in sorted(source.rglob("*.md"))
        if path.relative_to(source).as_posix() != "index.md"
    )
    name = "contents"
    (source / f"{name}.rst").write_text(
        f"Contents\n========\n\nAll pages.\n\n.. toctree::\n\n{textwrap.indent(pages, '   ')}\n"
    )
    (source / "conf.py").write_text(
        f"extensions = ['myst_parser']\nroot_doc = {name!r}\nhtml_theme = 'furo'\nsuppress_warnings = ['myst.*']\n"
        "myst_enable_extensions = ['attrs_block']\n"
    )
    subprocess.run([tools / "sphinx-build", "-q", "-b", "html", source, site], check=True, capture_output=True)
    for made in ("genindex.html", "search.html"):
        (site / made).unlink(missing_ok=True)
    if not (site / "index.html").exists():
        shutil.copyfile(site / f"{name}.html", site / "index.html")


@contextmanager
def served(site: Path) -> Iterator[str]:
    """The folder at an address of this machine."""

    class Handler(http.server.SimpleHTTPRequestHandler):
        def log_message(self, format: str, *args: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Handler, directory=str(site)))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


def key(name: str) -> str:
    """The same for a source file and for the address of its page."""
    return re.sub(r"(/?index)?/?$", "", re.sub(r"\.(md|html)$", "", name.strip("/"))).lower()


def parsed(path: Path) -> Document:
    """A Markdown file as Librarian reads it."""
    data = path.read_bytes()
    return PARSERS[".md"].parse(SourceFile(str(path), path.name, "p", "c", len(data), 0), data)


def pieces(document: Document, what: str) -> list[str]:
    """Headings or code blocks, spelt so that they can be compared."""
    if what == "headings":
        return [bare(heading.text) for heading in document.headings if bare(heading.text)]
    return [
        text
        for block in document.blocks
        if block.kind == "fence"
        if (text := code(document.text[block.start : block.end]))
    ]


def bare(text: str) -> str:
    """Letters and digits."""
    text = re.sub(r"\{\s*[#.:][^}]*\}|</?[a-z][^>]*>", "", text)
    return "".join(re.findall(r"[^\W_]", re.sub(r"\]\([^)]*\)", "]", text))).lower()


def code(block: str) -> str:
    """The lines between the fences, without common indentation."""
    lines = textwrap.dedent(block.replace("\t", "    ")).strip("\n").split("\n")
    if not re.match(r"\s*(`{3,}|~{3,})", lines[0]):
        return ""  # code that is only indented
    inner = lines[1:-1] if re.match(r"\s*(`{3,}|~{3,})\s*$", lines[-1]) and len(lines) > 1 else lines[1:]
    return textwrap.dedent("\n".join(line.rstrip() for line in inner)).strip("\n")


if __name__ == "__main__":
    sys.exit(main())
