"""Judged questions over documentation files, and over the same pages crawled back from their HTML.

    python -m venv /tmp/tools && /tmp/tools/bin/pip install sphinx sphinx-design sphinx-tabs furo myst-parser
    PYTHONPATH=backend python benchmarks/crawl_quality.py --files DIR/ray --tools /tmp/tools/bin \
        --queries queries.jsonl --qrels qrels.tsv --modes keyword hybrid

The folder is rendered to HTML by sphinx, one page per file, unless --site names a folder where that is done already.
--others N keeps N pages besides those that are judged relevant to a question, so that fewer have to be embedded.
--vectors names an index whose vectors are taken over, so that known passages needn't be embedded.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from urllib.parse import urlsplit

from crawl_roundtrip import served
from librarian.crawling.crawler import Crawler
from librarian.crawling.fetching import CrawlOptions
from librarian.library import Librarian

LIMIT = 0.03


def main() -> int:
    """Prints nDCG@10 of both; exit code 1 where the crawled pages answer worse by more than `LIMIT`."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in ("files", "queries", "qrels"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    parser.add_argument("--site", type=Path, help="the folder as HTML, where it is rendered already")
    parser.add_argument("--tools", type=Path, help="folder of sphinx-build")
    parser.add_argument("--first", default="contents.html", help="the page that leads to all others")
    parser.add_argument("--others", type=int, help="pages kept besides the judged ones; all by default")
    parser.add_argument("--modes", nargs="+", default=["keyword"])
    parser.add_argument("--vectors", type=Path, help="an index folder to take known vectors from")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        home, product = Path(scratch), given.files.name
        chosen(given.files, home / "files" / product, given.qrels, given.others)
        site = given.site or rendered(home / "files" / product, home, given.tools)
        with served(site) as url:
            options = CrawlOptions(allow_private=True, per_second=0, most_bytes=32 * 1024 * 1024)
            report = Crawler(f"{url}/{given.first}", product, home / "crawled", home / "state", options).run()
        print(f"{report.pages} pages crawled, {len(report.errors)} errors")
        crawled = home / "crawled.tsv"
        crawled.write_text(translated(given.qrels, home / "state/crawls" / f"{product}.json", product), "utf-8")
        files = measured(home / "files", home / "index-files", given, given.qrels)
        pages = measured(home / "crawled", home / "index-crawled", given, crawled)
    worst = 0.0
    for mode in given.modes:
        difference = pages[mode] - files[mode]
        print(f"nDCG@10 {mode}: files {files[mode]:.4f}, crawled {pages[mode]:.4f}, difference {difference:+.4f}")
        worst = min(worst, difference)
    return 0 if worst >= -LIMIT else 1


def chosen(files: Path, kept: Path, qrels: Path, others: int | None) -> None:
    """A copy of the judged pages and of `others` more, evenly spread; of all where that is None."""
    judged = {line.split("\t")[1] for line in qrels.read_text("utf-8").splitlines()}
    pages = sorted(path for path in files.rglob("*") if path.is_file())
    rest = [path for path in pages if f"{files.name}/{path.relative_to(files).as_posix()}" not in judged]
    left_out = set(rest) - set(rest if others is None else rest[:: max(1, len(rest) // max(others, 1))][:others])
    for path in pages:
        if path not in left_out:
            target = kept / path.relative_to(files)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target)
    print(f"{len(pages) - len(left_out)} of {len(pages)} pages, {len(judged)} of them judged", flush=True)


def rendered(files: Path, home: Path, tools: Path) -> Path:
    """The folder as sphinx renders it with the furo theme. Directives of none of these extensions are left out."""
    source, site = home / "source", home / "site"
    shutil.copytree(files, source)
    for path in source.rglob("*.rst.txt"):
        path.rename(path.with_name(path.name.removesuffix(".txt")))
    pages = [
        path.relative_to(source).as_posix() for path in sorted(source.rglob("*")) if path.suffix in (".md", ".rst")
    ]
    toc = "\n".join(f"   {re.sub(r'[.](md|rst)$', '', page)}" for page in pages)
    (source / "contents.rst").write_text(
        # The files hold no such page: crawlers are asked to follow its links, but not to keep it.
        f".. meta::\n   :robots: noindex\n\nContents\n========\n\nAll pages.\n\n.. toctree::\n\n{toc}\n",
        "utf-8",
    )
    (source / "conf.py").write_text(
        "extensions = ['myst_parser', 'sphinx_design', 'sphinx.ext.doctest', 'sphinx_tabs.tabs']\n"
        "root_doc = 'contents'\nhtml_theme = 'furo'\n"
        "myst_enable_extensions = ['attrs_block', 'colon_fence', 'dollarmath']\nkeep_warnings = False\n",
        "utf-8",
    )
    subprocess.run([tools / "sphinx-build", "-Q", "-b", "html", source, site], check=True, capture_output=True)
    for made in ("genindex.html", "search.html"):
        (site / made).unlink(missing_ok=True)
    return site


def translated(qrels: Path, state: Path, product: str) -> str:
    """The judgments with the crawled files' paths; a page that wasn't crawled stays judged and can't be found."""
    records = json.loads(state.read_text("utf-8"))["records"]
    files = {}
    for address, record in records.items():
        kept = records.get(record.get("duplicate_of", ""), record)
        if kept.get("file"):
            files[re.sub(r"\.html$", "", urlsplit(address).path.strip("/"))] = kept["file"]
    lines = []
    for line in qrels.read_text("utf-8").splitlines():
        query, path, grade = line.split("\t")
        name = re.sub(r"(\.rst\.txt|\.rst|\.md)$", "", path.removeprefix(f"{product}/"))
        lines.append(f"{query}\t{files.get(name, path)}\t{grade}")
    return "\n".join([*lines, ""])


def measured(root: Path, index: Path, given: argparse.Namespace, qrels: Path) -> dict[str, float]:
    """nDCG@10 by mode."""
    semantic_score = given.modes != ["keyword"]
    quiet = {"embeddings.enabled": semantic_score, "docs.watch_for_changes": False, "vector_db.store": "exact"}
    if given.vectors is not None:
        index.mkdir()
        shutil.copyfile(given.vectors / "vectors.sqlite", index / "vectors.sqlite")
    with Librarian.open(root=root, index=index, **quiet) as library:
        status = library.status()
        print(
            f"{root.name}: {status.documents} documents, {status.embedded_chunks} of {status.chunks} embedded",
            flush=True,
        )
        answer = library.evaluate(queries=str(given.queries), qrels=str(qrels), modes=given.modes)
    modes = answer["modes"]
    assert isinstance(modes, dict)
    return {mode: float(modes[mode]["nDCG@10"]["mean"]) for mode in given.modes}


if __name__ == "__main__":
    sys.exit(main())
