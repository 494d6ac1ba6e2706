"""Judged questions over documentation files, and over the same pages crawled back from their HTML.

    PYTHONPATH=backend python benchmarks/crawl_quality.py --files DIR/ray --site RENDERED --first contents.html \
        --queries queries.jsonl --qrels qrels.tsv

RENDERED holds the folder as a generator made it into HTML (for example sphinx), one page per file, named alike.
Keyword mode, so that only the texts make a difference.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import sys
import tempfile
from pathlib import Path
from urllib.parse import urlsplit

from crawl_roundtrip import served
from librarian.assembly import Librarian
from librarian.gathering.crawl_options import CrawlOptions
from librarian.gathering.crawler import Crawler

LIMIT = 0.03


def main() -> int:
    """Prints nDCG@10 of both; exit code 1 where the crawled pages answer worse by more than `LIMIT`."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in ("files", "site", "queries", "qrels"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    parser.add_argument("--first", default="index.html", help="the page that leads to all others")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        home, product = Path(scratch), given.files.name
        with served(given.site) as url:
            options = CrawlOptions(allow_private=True, per_second=0, most_bytes=32 * 1024 * 1024)
            report = Crawler(f"{url}/{given.first}", product, home / "crawled", home / "state", options).run()
        print(f"{report.pages} pages crawled, {len(report.errors)} errors")
        crawled = home / "crawled.tsv"
        crawled.write_text(translated(given.qrels, home / "state/crawls" / f"{product}.json", product), "utf-8")
        shutil.copytree(given.files, home / "files" / product)
        files = measured(home / "files", home / "index-files", given.queries, given.qrels)
        pages = measured(home / "crawled", home / "index-crawled", given.queries, crawled)
    print(f"nDCG@10: files {files:.4f}, crawled {pages:.4f}, difference {pages - files:+.4f}")
    return 0 if pages >= files - LIMIT else 1


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


def measured(root: Path, index: Path, queries: Path, qrels: Path) -> float:
    """nDCG@10 by keywords."""
    quiet = {"embeddings.enabled": False, "docs.watch_for_changes": False}
    with Librarian.open(root=root, index=index, **quiet) as library:
        answer = library.evaluate(queries=str(queries), qrels=str(qrels), modes=["keyword"])
    modes = answer["modes"]
    assert isinstance(modes, dict)
    return float(modes["keyword"]["nDCG@10"]["mean"])


if __name__ == "__main__":
    sys.exit(main())
