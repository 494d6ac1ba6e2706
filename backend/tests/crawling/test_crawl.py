"""Crawling a site of 300 pages, served on this machine: what is proved here.

* Every page becomes one file in its category, once, with headings, code, tables and its source; nothing else does.
* Redirects, broken links, traps, duplicates, slow, huge, closed and script-only pages are left out and reported.
* A refresh fetches only what has changed; what is gone goes; what fails for the moment stays.
* A crawl that is killed goes on where it was and ends with the same files.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from librarian.cli import main
from librarian.crawling.crawler import Crawler, CrawlReport
from librarian.crawling.fetching import CrawlOptions
from librarian.crawling.pages import CrawlState, state_path
from librarian.errors import CallerError, Damaged, NotFound, Unavailable
from tests.crawling.site import PAGES, SECTIONS, Site, served

OPTIONS = CrawlOptions(allow_private=True, per_second=0, timeout_s=2, most_bytes=2_000_000)


@dataclass
class Crawled:
    site: Site
    folder: Path
    report: CrawlReport
    progress: list[tuple[int, int, int, int]]  #: pages done, addresses queued, bytes, errors
    asked: Counter[str]  #: what the first crawl asked for, how often

    def crawl(self, url: str = "", options: CrawlOptions = OPTIONS) -> CrawlReport:
        self.site.asked.clear()
        self.site.answered.clear()
        return Crawler(url, "gadgets", self.folder / "docs", self.folder / "index", options).run()

    def text(self, name: str) -> str:
        return (self.folder / "docs" / "gadgets" / name).read_text("utf-8")

    def files(self) -> set[str]:
        return files_of(self.folder / "docs")


def files_of(root: Path) -> set[str]:
    return {path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file()}


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Crawled]:
    folder = tmp_path_factory.mktemp("crawl")
    progress: list[tuple[int, int, int, int]] = []

    def note(report: CrawlReport, queued: int) -> None:
        progress.append((report.done, queued, report.bytes, len(report.errors)))

    with served(Site()) as site:
        crawler = Crawler(f"{site.url}/docs/", "gadgets", folder / "docs", folder / "index", OPTIONS, on_progress=note)
        report = crawler.run()
        yield Crawled(site, folder, report, progress, site.asked.copy())


def errors(report: CrawlReport) -> dict[str, str]:
    return {"/" + error["url"].split("/", 3)[3]: error["reason"] for error in report.errors}


def test_every_page_of_the_navigation_is_one_file_in_its_category(crawled: Crawled) -> None:
    wanted = {f"gadgets/{section}/page-{number}.md" for section in SECTIONS for number in range(PAGES)}
    assert len(wanted) == 300
    assert wanted <= crawled.files()
    odd = {name for name in crawled.files() - wanted if "calendar" not in name and "loop" not in name}
    assert odd == {"gadgets/index.md", "gadgets/offered.md", "gadgets/imprint.md"}
    assert crawled.report.pages == len(crawled.files())


def test_a_file_holds_headings_code_with_its_language_tables_and_its_source(crawled: Crawled) -> None:
    text = crawled.text("Guides/page-5.md")
    head, body = text.split("\n---\n", 1)
    assert 'title: "Guides 5"' in head
    assert f'source_url: "{crawled.site.url}/docs/guides/page-5.html"' in head
    assert 'category: "Guides"' in head
    assert re.search(r'keywords: \[.*"gadget5"', head)
    assert 'summary: "The guides page 5 explains' in head
    assert re.search(r'fetched_at: "20\d\d-', head)
    assert body == (
        "\n# Guides 5\n\nThe guides page 5 explains how gadget5 of guides is set up and mended.\n\n"
        "## Set up gadget5\n\n"
        '```python\ngadget5 = setup("Guides")\nif gadget5 < 1:\n    mend()\n```\n\n'
        "See [the next page](/docs/guides/page-6.html).\n\n"
        "| key | meaning |\n| --- | --- |\n| `size_5` | how large \\| wide |\n"
    )


def test_what_can_not_be_had_is_reported_with_its_reason(crawled: Crawled) -> None:
    assert errors(crawled.report) == {
        "/docs/away.html": "redirects to https://example.org/elsewhere: another site",
        "/docs/outside.html": "redirects to /elsewhere/page.html: another site",
        "/docs/round.html": "redirects without end",
        "/docs/slow.html": "no answer within 2 s",
        "/docs/huge.html": "larger than 2,000,000 bytes",
        "/docs/missing.html": "status 404",
    }
    assert crawled.report.javascript == [f"{crawled.site.url}/docs/browser.html"]


def test_traps_end_and_closed_pages_are_not_asked_for(crawled: Crawled) -> None:
    skipped = crawled.report.skipped
    assert skipped["one address with ever new parameters"] == 1
    assert skipped["its path goes in circles"] == 1
    assert skipped["robots.txt"] == 1
    assert skipped["not a page by its address"] == 1
    assert not any(
        "private" in path or path.endswith(".pdf") or path.startswith("/elsewhere") for path in crawled.asked
    )
    assert crawled.asked["/docs/calendar"] <= 6


def test_duplicates_are_kept_once(crawled: Crawled) -> None:
    assert crawled.report.duplicates == 3  # a redirect, a printed page, a copy
    assert "gadgets/printed.md" not in crawled.files()
    assert "gadgets/copy.md" not in crawled.files()
    assert crawled.asked["/docs/guides/page-7.html"] == 1  # with and without tracking parameters


def test_progress_counts_pages_bytes_and_errors(crawled: Crawled) -> None:
    _, queued, read, failed = crawled.progress[-1]
    assert (queued, failed) == (0, 6)
    assert 1_000_000 < read < 20_000_000
    assert [done for done, *_ in crawled.progress] == sorted(done for done, *_ in crawled.progress)


def test_a_refresh_fetches_only_what_changed_and_drops_what_is_gone(crawled: Crawled) -> None:
    before = {name: (crawled.folder / "docs" / name).stat().st_mtime_ns for name in crawled.files()}
    site = crawled.site
    site.version, site.gone, site.failing = 2, {"/docs/storage/page-9.html"}, {"/docs/storage/page-8.html"}
    try:
        report = crawled.crawl()
        assert (report.added, report.changed, report.removed) == (0, 1, 1)
        assert "< 2:" in crawled.text("Guides/page-5.md")
        assert "gadgets/Storage/page-9.md" not in crawled.files()
        assert "gadgets/Storage/page-8.md" in crawled.files()
        assert errors(report)["/docs/storage/page-8.html"] == "status 503"
        after = {name: (crawled.folder / "docs" / name).stat().st_mtime_ns for name in crawled.files()}
        assert {name for name in after if after[name] != before[name]} == {"gadgets/Guides/page-5.md"}
        assert site.answered[304] >= 195  # two thirds of the pages have validators
    finally:
        site.version, site.gone, site.failing = 1, set(), set()
    again = crawled.crawl()  # leaves all as it was, for the other tests
    assert (again.added, again.changed, again.removed) == (1, 1, 0)


KILLED = """
import sys
from pathlib import Path
from librarian.crawling.crawler import Crawler
from librarian.crawling.fetching import CrawlOptions
options = CrawlOptions(allow_private=True, per_second=0, timeout_s=2, most_bytes=2_000_000)
Crawler(sys.argv[1], "gadgets", Path(sys.argv[2]), Path(sys.argv[3]), options).run()
"""


def test_a_killed_crawl_goes_on_where_it_was(crawled: Crawled, tmp_path: Path) -> None:
    site = crawled.site
    site.asked.clear()
    site.reached.clear()
    site.watch_after = 150
    arguments = [f"{site.url}/docs/", str(tmp_path / "docs"), str(tmp_path / "index")]
    here = os.environ | {"PYTHONPATH": str(Path(main.__file__).parents[1])}
    child = subprocess.Popen([sys.executable, "-c", KILLED, *arguments], env=here)
    try:
        assert site.reached.wait(60)
    finally:
        child.kill()
        child.wait()
    done = {path for path, count in site.asked.items() if path.startswith("/docs/") and "page-" in path}
    assert 50 < len(done) < 300
    site.asked.clear()
    report = Crawler(arguments[0], "gadgets", tmp_path / "docs", tmp_path / "index", OPTIONS).run()
    again = {path for path in site.asked if path in done}
    assert report.resumed
    assert len(again) <= OPTIONS.save_every + 1
    assert files_of(tmp_path / "docs") == crawled.files()
    assert errors(report).keys() == errors(crawled.report).keys()
    assert len(report.javascript) == 1
    assert not list(tmp_path.rglob("*.part"))


# -- smaller sites ---------------------------------------------------------------------------------------------------


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Crawled]:
    """Three pages and no menu."""
    site = Site()
    page = b"<html><body><h1>%s</h1><p>Words enough to be a page of its own, about %s and more.</p>%s</body></html>"
    site.extra = {
        "/s/": ("text/html", page % (b"Start", b"beginnings", b'<a href="a/one">1</a> <a href="a/two.html">2</a>')),
        "/s/a/one": ("text/html", page % (b"One", b"the first thing", b"")),
        "/s/a/two.html": ("text/html", page % (b"Two", b"the second thing", b"")),
    }
    site.robots = ""
    with served(site) as running:
        yield Crawled(running, tmp_path, CrawlReport("", ""), [], Counter())


def test_folders_are_categories_where_there_is_no_navigation(small: Crawled) -> None:
    small.crawl(f"{small.site.url}/s/")
    assert small.files() == {"gadgets/index.md", "gadgets/a/one.md", "gadgets/a/two.md"}


def test_llms_txt_leads_to_markdown_and_gives_categories(small: Crawled) -> None:
    lines = "# S\n\n## Basics\n- [One](/s/a/one.md): first\n- [Other](other.md)\n- [Away](https://example.org/x.md)\n"
    small.site.extra |= {
        "/s/llms.txt": ("text/plain", lines.encode()),
        "/s/a/one.md": ("text/markdown", b"# One\n\nWritten by hand for those who read text.\n"),
        "/s/other.md": ("text/plain", b"# Other\n\nOnly offered as Markdown, without any page of its own.\n"),
    }
    small.crawl(f"{small.site.url}/s/")
    assert small.files() == {"gadgets/index.md", "gadgets/Basics/one.md", "gadgets/Basics/other.md", "gadgets/a/two.md"}
    assert "by hand" in small.text("Basics/one.md")


def test_a_wiki_s_pages_and_a_sitemap_s_addresses_are_no_endless_parameters(small: Crawled) -> None:
    pages = {f"/s/w?title={name}": name for name in ("Ape", "Bee", "Cat", "Dog", "Eel", "Fox", "Gnu")}
    links = "".join(
        f'<a href="{path}">{name}</a> <a href="{path}&action=edit">edit</a> ' for path, name in pages.items()
    )
    listed = "".join(f"<url><loc>{small.site.url}/s/d?id={number}</loc></url>" for number in range(7))
    small.site.robots = "Sitemap: /elsewhere/map.xml"
    small.site.extra |= {
        "/s/": ("text/html", f"<h1>Start</h1><p>Where the animals of this wiki are listed.</p>{links}".encode()),
        "/elsewhere/map.xml": ("application/xml", f"<urlset>{listed}</urlset>".encode()),
    }
    plan = Crawler(f"{small.site.url}/s/", "w", small.folder / "docs", small.folder / "index", OPTIONS).plan()
    paths = [url.removeprefix(small.site.url) for url in plan["pages"]]
    assert set(pages) <= set(paths)
    assert sum(path.startswith("/s/d?id=") for path in paths) == 7
    assert plan["skipped"] == {"one address with ever new parameters": 2}


def test_files_that_were_there_before_are_never_touched(small: Crawled) -> None:
    mine = small.folder / "docs/gadgets/a/one.md"
    mine.parent.mkdir(parents=True)
    mine.write_text("mine", "utf-8")
    small.crawl(f"{small.site.url}/s/")
    assert mine.read_text("utf-8") == "mine"
    assert small.files() == {"gadgets/index.md", "gadgets/a/one.md", "gadgets/a/a-one.md", "gadgets/a/two.md"}


def test_a_site_behind_a_private_address_is_refused_unless_allowed(small: Crawled) -> None:
    with pytest.raises(CallerError, match=r"127\.0\.0\.1.*isn't public.*--allow-private"):
        small.crawl(f"{small.site.url}/s/", CrawlOptions(per_second=0))
    assert not small.site.asked


def test_a_site_that_is_closed_or_away_or_another_is_an_error_with_a_next_step(small: Crawled) -> None:
    small.site.robots = "User-agent: *\nDisallow: /"
    with pytest.raises(CallerError, match="closed to crawlers"):
        small.crawl(f"{small.site.url}/s/")
    small.site.robots = ""
    with pytest.raises(Unavailable, match="status 404"):
        small.crawl(f"{small.site.url}/none/")
    with pytest.raises(CallerError, match="no site's address"):
        Crawler("ftp://x", "other", small.folder, small.folder / "i")
    with pytest.raises(CallerError, match="can't be a folder's name"):
        Crawler("http://x/", "a/b", small.folder, small.folder / "i")
    small.crawl(f"{small.site.url}/s/")
    with pytest.raises(CallerError, match="is the project of"):
        small.crawl("https://example.org/")
    with pytest.raises(NotFound, match="hasn't been crawled"):
        Crawler("", "other", small.folder, small.folder / "i")


def test_a_damaged_state_says_what_to_do(small: Crawled) -> None:
    path = state_path(small.folder / "index", "gadgets")
    path.parent.mkdir(parents=True)
    path.write_text("{", "utf-8")
    with pytest.raises(Damaged, match="Delete that file"):
        small.crawl()


# -- the command -----------------------------------------------------------------------------------------------------


def run(small: Crawled, *arguments: str) -> int:
    places = ["--root", str(small.folder / "docs"), "--index", str(small.folder / "index")]
    return main.run(["crawl", *arguments, *places])


def test_the_command_plans_crawls_refreshes_and_tells(small: Crawled, capsys: pytest.CaptureFixture[str]) -> None:
    url = f"{small.site.url}/s/"
    shared = ("--allow-private", "--rate", "0", "--project", "gadgets")
    assert run(small, url, "--dry-run", *shared) == 0
    assert "seconds: 0" in capsys.readouterr().out
    assert not (small.folder / "docs").exists()
    assert run(small, url, "--json", *shared) == 0
    assert json.loads(capsys.readouterr().out)["added"] == 3
    state = CrawlState.load(state_path(small.folder / "index", "gadgets"))
    assert state is not None
    assert state.root_url == url
    small.site.gone = {"/s/a/one"}
    assert run(small, "--refresh", "--allow-private", "--rate", "0") == 3
    told = capsys.readouterr().out
    assert "pages: 2" in told
    assert "removed: 1" in told
    assert "status 404" in told


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [((), 2, "--project"), (("--project", "x"), 2, "URL"), (("--refresh",), 1, "No project")],
)
def test_what_is_missing_is_named(
    small: Crawled, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], code: int, words: str
) -> None:
    assert run(small, *arguments) == code
    assert words in capsys.readouterr().err
