"""Refreshing a site that isn't as it was: what is proved here.

* Only what says that a page is gone takes it away; a login, a notice or an empty answer doesn't.
* Files that others put there are never removed or overwritten, and no state leads out of its project.
* A project that holds as many pages as it may is refreshed all the same.
* A site that is away doesn't keep other projects from their turn.
"""

from __future__ import annotations

import itertools
import json
import os
import stat
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from librarian.cli import main
from librarian.crawling.crawler import Crawler, CrawlReport
from librarian.crawling.fetching import CrawlOptions, Fetcher
from librarian.crawling.pages import CrawlState, remove_project, state_path
from librarian.errors import Damaged, Unavailable
from tests.crawling.site import Site, served

OPTIONS = CrawlOptions(allow_private=True, per_second=0, timeout_s=2)
FILES = {"index.md", "zero.md", "one.md", "two.md"}


class Manual(Site):
    """A first page that links to three others. `answers` stand instead of pages, `everywhere` instead of all."""

    def __init__(self) -> None:
        super().__init__()
        self.robots = ""
        self.names = ["zero", "one", "two"]
        self.answers: dict[str, tuple[int, dict[str, str], bytes]] = {}
        self.everywhere: tuple[int, dict[str, str], bytes] | None = None

    def page(self, path: str, query: str) -> tuple[int, dict[str, str], bytes]:
        if self.everywhere is not None:
            return self.everywhere
        if path in self.answers:
            return self.answers[path]
        html_ = {"Content-Type": "text/html"}
        if path == "/m/":
            return 200, html_, self.words("Manual", "".join(f'<a href="{name}">{name}</a> ' for name in self.names))
        name = path.removeprefix("/m/")
        return (200, html_, self.words(name, "")) if name in self.names else (404, {}, b"")

    @staticmethod
    def words(name: str, links: str) -> bytes:
        return f"<h1>{name}</h1><p>All that is to be said about {name}, which fills a page.</p>{links}".encode()


@pytest.fixture
def manual() -> Iterator[Manual]:
    with served(Manual()) as site:
        assert isinstance(site, Manual)
        yield site


def crawl(site: Manual, folder: Path, options: CrawlOptions = OPTIONS) -> CrawlReport:
    return Crawler(f"{site.url}/m/", "m", folder / "docs", folder / "index", options).run()


def files(folder: Path) -> set[str]:
    return {path.name for path in (folder / "docs" / "m").iterdir()}


@pytest.mark.parametrize(
    ("answer", "stays"),
    [
        ((404, {}, b""), False),
        ((410, {}, b""), False),
        ((301, {"Location": "https://example.org/"}, b""), False),
        ((302, {"Location": "/login"}, b""), True),
        ((401, {}, b""), True),
        ((403, {}, b""), True),
        ((451, {}, b""), True),
        ((200, {"Content-Type": "text/html"}, b""), True),
        ((200, {"Content-Type": "text/html"}, b"<title>App</title><div id=app></div><script src=a.js></script>"), True),
        ((200, {"Content-Type": "text/html", "Content-Encoding": "br"}, b"\x8b\x03\x80abc\x03"), True),
    ],
)
def test_only_what_is_gone_is_taken_away(
    manual: Manual, tmp_path: Path, answer: tuple[int, dict[str, str], bytes], stays: bool
) -> None:
    crawl(manual, tmp_path)
    manual.answers["/m/one"] = answer
    report = crawl(manual, tmp_path)
    assert files(tmp_path) == FILES - ({"one.md"} if not stays else set())
    assert [error["url"] for error in report.errors] == [f"{manual.url}/m/one"]
    manual.answers.clear()
    crawl(manual, tmp_path)
    assert files(tmp_path) == FILES


@pytest.mark.parametrize(
    ("status", "body"), [(200, b"<h1>Maintenance</h1><p>We are back soon, please try again later.</p>"), (503, b"")]
)
def test_a_notice_instead_of_the_site_takes_no_page_away(
    manual: Manual, tmp_path: Path, status: int, body: bytes
) -> None:
    crawl(manual, tmp_path)
    manual.everywhere = (status, {"Content-Type": "text/html", "Retry-After": "0"}, body)
    with pytest.raises(Unavailable, match=r"kept as they are|stays as it is"):
        crawl(manual, tmp_path)
    assert files(tmp_path) == FILES
    manual.everywhere = None
    assert crawl(manual, tmp_path).unchanged == 4


def test_what_others_put_in_a_pages_place_is_neither_removed_nor_overwritten(manual: Manual, tmp_path: Path) -> None:
    crawl(manual, tmp_path)
    for name in ("one.md", "two.md"):
        (tmp_path / "docs" / "m" / name).write_text("# Mine\n")
    manual.answers["/m/one"] = (404, {}, b"")
    manual.answers["/m/two"] = (200, {"Content-Type": "text/html"}, manual.words("two, changed", ""))
    assert crawl(manual, tmp_path).removed == 0
    assert files(tmp_path) == FILES | {"two-2.md"}
    assert remove_project(tmp_path / "docs", tmp_path / "index", "m") == 3
    assert {path.name: path.read_text() for path in (tmp_path / "docs" / "m").iterdir()} == {
        "one.md": "# Mine\n",
        "two.md": "# Mine\n",
    }


@pytest.mark.parametrize("file", ["../letter.md", "m/../../letter.md", "{folder}/letter.md", "other/letter.md"])
def test_a_state_that_names_files_outside_its_project_is_refused(manual: Manual, tmp_path: Path, file: str) -> None:
    crawl(manual, tmp_path)
    path = state_path(tmp_path / "index", "m")
    state = json.loads(path.read_text())
    next(iter(state["records"].values()))["file"] = file.format(folder=tmp_path)
    path.write_text(json.dumps(state))
    for doomed in (tmp_path / "letter.md", tmp_path / "docs" / "other" / "letter.md"):
        doomed.parent.mkdir(exist_ok=True)
        doomed.write_text('---\nsource_url: "https://example.org/"\n---\n')
    with pytest.raises(Damaged, match="doesn't lie in its project"):
        remove_project(tmp_path / "docs", tmp_path / "index", "m")
    assert (tmp_path / "letter.md").exists()
    assert (tmp_path / "docs" / "other" / "letter.md").exists()


def test_pages_are_readable_for_whom_the_users_files_are(manual: Manual, tmp_path: Path) -> None:
    before = os.umask(0o022)
    try:
        crawl(manual, tmp_path)
    finally:
        os.umask(before)
    assert {stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "docs" / "m").iterdir()} == {0o644}
    assert stat.S_IMODE((tmp_path / "docs" / "m").stat().st_mode) == 0o755
    assert stat.S_IMODE((tmp_path / "index").stat().st_mode) == 0o700


def test_pages_that_an_older_librarian_wrote_are_asked_for_anew_once(manual: Manual, tmp_path: Path) -> None:
    body = manual.words("one", "")
    manual.answers["/m/one"] = (200, {"Content-Type": "text/html", "ETag": '"1"'}, body)
    crawl(manual, tmp_path)
    path = state_path(tmp_path / "index", "m")
    state = CrawlState.load(path)
    assert state is not None
    for record in state.records.values():
        record.file_hash = "of another text"
    replace(state, writer=1).save(path)
    assert crawl(manual, tmp_path).changed == 4
    assert manual.answered[304] == 0
    assert crawl(manual, tmp_path).unchanged == 4
    assert manual.answered[304] == 1


def test_texts_that_change_places_stay_with_their_pages(manual: Manual, tmp_path: Path) -> None:
    html_ = {"Content-Type": "text/html"}
    crawl(manual, tmp_path)
    for shown in ({"one": "two", "two": "one"}, {"one": "news", "two": "one", "zero": "two"}):
        manual.answers = {f"/m/{page}": (200, html_, manual.words(text, "")) for page, text in shown.items()}
        assert crawl(manual, tmp_path).duplicates == 0
        assert files(tmp_path) == FILES
        for page, text in shown.items():
            assert f"said about {text}," in (tmp_path / "docs" / "m" / f"{page}.md").read_text()


def test_a_session_s_number_adds_no_page_at_each_crawl(manual: Manual, tmp_path: Path) -> None:
    visits = itertools.count(1)

    def links() -> str:
        return " ".join(f'<a href="{name}?CFTOKEN={next(visits)}x">{name}</a>' for name in ("zero", "one", "two"))

    def page(path: str, query: str) -> tuple[int, dict[str, str], bytes]:
        if path == "/robots.txt" or path.endswith((".xml", ".txt")):
            return 404, {}, b""
        return 200, {"Content-Type": "text/html"}, manual.words(path, links())

    manual.page = page  # type: ignore[method-assign]
    for _ in range(3):
        crawl(manual, tmp_path)
        assert files(tmp_path) == FILES


@pytest.mark.parametrize("pages", [2, 20])
def test_canonical_addresses_that_lead_in_a_circle_end(manual: Manual, tmp_path: Path, pages: int) -> None:
    manual.names = [f"page{number}" for number in range(pages)]
    for number, name in enumerate(manual.names):
        head = f'<head><link rel="canonical" href="/m/page{(number + 1) % pages}"></head>'
        other = f"<html>{head}<body><h1>{name}</h1>{f'<p>{name} has words of its own {number}.</p>' * 9}</body></html>"
        manual.answers[f"/m/{name}"] = (200, {"Content-Type": "text/html"}, other.encode())
    assert crawl(manual, tmp_path).errors == []
    kept = len(files(tmp_path))
    assert kept > 1
    assert crawl(manual, tmp_path).errors == []
    assert len(files(tmp_path)) == kept


def test_a_project_that_is_full_is_refreshed(manual: Manual, tmp_path: Path) -> None:
    options = replace(OPTIONS, most_pages=3)
    assert crawl(manual, tmp_path, options).skipped == {"more than 3 pages": 1}
    manual.answers["/m/zero"] = (404, {}, b"")
    report = crawl(manual, tmp_path, options)
    assert (report.unchanged, report.removed, report.added) == (2, 1, 1)
    assert files(tmp_path) == FILES - {"zero.md"}


def test_a_site_that_is_away_does_not_keep_other_projects_from_their_turn(
    manual: Manual, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    places = ["--root", str(tmp_path / "docs"), "--index", str(tmp_path / "index"), "--allow-private", "--rate", "0"]
    with served(Manual()) as other:
        assert main.run(["crawl", f"{other.url}/m/", "--project", "a", *places]) == 0
        assert main.run(["crawl", f"{manual.url}/m/", "--project", "b", *places]) == 0
    manual.names.append("three")
    capsys.readouterr()
    assert main.run(["crawl", "--refresh", "--json", *places]) == 3
    away, here = json.loads(capsys.readouterr().out)["projects"]
    assert (away["pages"], here["pages"]) == (4, 5)
    assert "can't be read" in away["errors"][0]["reason"]


@pytest.mark.parametrize("answer", [(0, {}, b""), (429, {"Retry-After": "\xb2"}, b"")])
def test_a_connection_that_was_lost_or_a_busy_site_is_tried_again(
    manual: Manual, answer: tuple[int, dict[str, str], bytes]
) -> None:
    manual.answers["/m/one"] = answer
    fetcher = Fetcher(OPTIONS, sleep=lambda _: manual.answers.clear())
    try:
        assert fetcher.get(f"{manual.url}/m/one").ok
    finally:
        fetcher.close()
    assert manual.asked["/m/one"] == 2
