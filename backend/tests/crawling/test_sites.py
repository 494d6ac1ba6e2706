"""The toolset `sites`. The first six tests are the correctness properties of the site design, by its names.

* Property 1 to 6, each over at least 100 examples: summaries, search, loading, listing, organisation, vectors.
* Two projects never leak into each other; an unknown slug gives the nearest; questions are kept only where wanted.
"""

from __future__ import annotations

import datetime as dt
import json
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from librarian.api.model_text import render, structured
from librarian.cli import main
from librarian.crawling import digest
from librarian.crawling import pages as page_files
from librarian.crawling.digest import parsed
from librarian.crawling.sites import Sites, sections_of, slugs
from librarian.embeddings.model_files import ModelStore
from librarian.errors import CallerError, NotFound
from librarian.evaluation.evaluate import QueryLog
from librarian.library import Librarian
from librarian.models import Deadline, Filters, Query, SearchOutcome, SourceFile
from librarian.parsing.chunking import StructureChunker
from librarian.parsing.front_matter import read_front_matter
from librarian.parsing.reader import FileReader
from librarian.schemas import ResponseModel
from librarian.storage.catalog import SqliteCatalog
from librarian.text.analyzer import StandardAnalyzer
from librarian.web.app import build_app
from tests.api.serving import served

READER = FileReader(StandardAnalyzer(2), StructureChunker())
HUNDRED = settings(max_examples=100)

WORDS = st.sampled_from(
    "socket router packet gateway latency buffer token ledger cursor shard replica quorum lease kernel thread".split()  # noqa: SIM905
)
SENTENCES = st.lists(WORDS, min_size=4, max_size=9).map(lambda words: f"The {' '.join(words)} works.")
PARAGRAPHS = st.lists(SENTENCES, min_size=1, max_size=3).map(" ".join)
TITLES = st.lists(WORDS, min_size=1, max_size=3).map(lambda words: " ".join(words).title())
FENCES = WORDS.map(lambda word: f"```python\n# {word}\nuse({word})\n```")
BODIES = st.lists(st.tuples(st.integers(2, 4), TITLES, st.lists(st.one_of(PARAGRAPHS, FENCES), max_size=3)), max_size=5)
CATEGORIES = st.sampled_from([(), ("Guides",), ("Guides", "Deep Dive"), ("API Reference",), ("Setup",)])


def markdown_of(title: str, lead: str, body: Sequence[tuple[int, str, list[str]]]) -> str:
    parts = [f"# {title}", lead]
    for level, heading, blocks in body:
        parts += [f"{'#' * level} {heading}", *blocks]
    return "\n\n".join(part for part in parts if part) + "\n"


@dataclass(frozen=True)
class Page:
    project: str
    category: tuple[str, ...]
    title: str
    markdown: str

    @property
    def url(self) -> str:
        return f"https://{self.project}.example.org/{page_files.slug_of(self.title)}"


PAGES = st.lists(
    st.builds(
        lambda project, category, title, lead, body: Page(project, category, title, markdown_of(title, lead, body)),
        st.sampled_from(["alpha", "beta"]),
        CATEGORIES,
        TITLES,
        PARAGRAPHS,
        BODIES,
    ),
    min_size=1,
    max_size=5,
    unique_by=lambda page: (page.project, page.title.lower()),
)


class Shelf:
    """A real catalog that is emptied between examples, and the pages that the crawler's own writer put there."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "docs"
        self.catalog = SqliteCatalog(folder / "catalog.sqlite")
        self.sites = Sites(self.catalog, lambda query, budget: pytest.fail("no search here"))

    @contextmanager
    def holding(self, pages: Sequence[Page]) -> Iterator[dict[str, Page]]:
        """File path → page, while the body runs."""
        files: dict[str, Page] = {}
        for page in pages:
            named = [page_files.slug_of(page.title)]
            name = page_files.place(page.project, page.category, named, "", lambda path: path not in files)
            fields = {
                "title": page.title,
                "source_url": page.url,
                "category": "/".join(page.category),
                "keywords": digest.keywords(parsed(page.markdown)),
                "summary": digest.summary(parsed(page.markdown)),
            }
            page_files.write(self.folder, name, page_files.rendered(page.markdown, fields))
            files[name] = page
        try:
            self.catalog.put([READER.read(self.source(name, page)) for name, page in files.items()])
            self.catalog.bump()
            yield files
        finally:
            self.catalog.remove(list(files))
            self.catalog.bump()
            for name in files:
                page_files.remove(self.folder, name)

    def source(self, name: str, page: Page) -> SourceFile:
        path = self.folder / name
        status = path.stat()
        component = page.category[0] if page.category else "general"
        return SourceFile(str(path), name, page.project, component, status.st_size, status.st_mtime_ns)


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shelf]:
    made = Shelf(tmp_path_factory.mktemp("shelf"))
    yield made
    made.catalog.close()


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Librarian]:
    """Two crawled projects and an ordinary one, embedded by the default model."""
    if ModelStore().locate("all-MiniLM-L6-v2") is None:
        pytest.skip("the default embedding model is not installed; run librarian models fetch")
    folder = tmp_path_factory.mktemp("sites")
    topics = {
        ("alpha", "Guides"): ("Tokens", "Access tokens are rotated every month. A revoked token is refused."),
        ("alpha", "API"): ("Router", "The router forwards a packet to the gateway with the lowest latency."),
        ("alpha", "Guides/Deep"): ("Quorum", "A quorum of replicas must agree before a shard is written."),
        ("beta", "Guides"): ("Tokens of Beta", "Beta counts tokens in a ledger. Each token has one owner."),
        ("beta", "Setup"): ("Install", "Install the kernel module, then restart the machine."),
    }
    for (project, category), (title, text) in topics.items():
        url = f"https://{project}.example.org/{title.lower()}"
        body = f"# {title}\n\n{text}\n\n## More about {title.lower()}\n\n```sh\nrun {title.lower()}\n```\n"
        page_files.write(
            folder / "docs",
            f"{project}/{category}/{page_files.slug_of(title)}.md",
            page_files.rendered(body, {"title": title, "source_url": url, "category": category}),
        )
    page_files.write(folder / "docs", "plain/notes/readme.md", "# Notes\n\nA page that nobody crawled, about lunch.\n")
    given = {"docs.watch_for_changes": False, "index.workers": 1, "analytics.enabled": True}
    with Librarian.open(root=folder / "docs", index=folder / "index", **given) as opened:
        yield opened


# -- the design's correctness properties -----------------------------------------------------------------------------


@HUNDRED
@given(TITLES, PARAGRAPHS, BODIES)
def test_property_1_summary_generation_with_keywords_and_sections(title: str, lead: str, body: Any) -> None:
    """Feature: vector-search-enhancement, Property 1."""
    markdown = markdown_of(title, lead, body)
    document = parsed(markdown)
    words = digest.keywords(document)
    assert words
    assert len({word.lower() for word in words}) == len(words)
    assert all(word.lower() in markdown.lower() for word in words)
    summary = digest.summary(document)
    assert 0 < len(summary) <= digest.SUMMARY
    assert all(sentence in " ".join(markdown.split()) for sentence in re.split(r"(?<=works\.) ", summary))
    sections = sections_of("slug", document)
    assert [section.title for section in sections] == [heading.text for heading in document.headings]
    assert len({section.section_id for section in sections}) == len(sections)
    together = "".join(section.content for section in sections)
    assert "".join(together.split()) == "".join(markdown.split())  # nothing lost, nothing twice


@HUNDRED
@given(
    st.lists(WORDS, min_size=1, max_size=6).map(" ".join),
    st.sampled_from([None, "alpha", "beta"]),
    st.sampled_from(["keyword", "semantic", "hybrid"]),
    st.integers(1, 5),
)
def test_property_2_comprehensive_search_functionality(
    library: Librarian, query: str, project: str | None, mode: Any, limit: int
) -> None:
    """Feature: vector-search-enhancement, Property 2."""
    asked = Query(text=query, mode=mode, filters=Filters(product=project))
    answer = library._parts.sites.search_doc(asked, None, limit, Deadline())
    assert answer.mode == mode
    assert len(answer.results) <= limit
    assert len({item.slug for item in answer.results}) == len(answer.results)
    assert answer.results or answer.suggestions
    for item in answer.results:
        assert item.title
        assert item.content_preview
        assert 0 <= item.relevance_score <= 1
        assert item.project == project or project is None
        assert item.relevance_score == max(match.relevance_score for match in item.section_matches)
        loaded = library.load_doc(item.slug).documents[0]
        known = {section.section_id: section.title for section in loaded.sections}
        assert {match.section_id: match.section_title for match in item.section_matches}.items() <= known.items()
    scores = [item.relevance_score for item in answer.results]
    assert scores == sorted(scores, reverse=True)


@HUNDRED
@given(PAGES, st.booleans(), st.booleans(), st.randoms())
def test_property_3_comprehensive_document_loading(
    shelf: Shelf, pages: list[Page], sections: bool, metadata: bool, chance: Any
) -> None:
    """Feature: vector-search-enhancement, Property 3."""
    with shelf.holding(pages) as files:
        named = slugs(files)
        wanted = chance.sample(sorted(files), chance.randint(1, len(files)))
        answer = shelf.sites.load_doc([named[name] for name in wanted], sections, metadata)
        assert [item.file_path for item in answer.documents] == wanted
        text = render(answer)
        for item in answer.documents:
            page = files[item.file_path]
            assert (item.title, item.sources, item.project) == (page.title, [page.url], page.project)
            assert item.category == ("/".join(page.category) or "general")
            assert dt.datetime.fromisoformat(item.last_updated)
            assert item.summary
            whole = "".join("".join(section.content for section in item.sections).split())
            assert whole == ("".join(page.markdown.split()) if sections else "")
            assert all(section.keywords or not section.content.strip("# \n") for section in item.sections)
            assert f"# {page.title}\n" in text
            assert (f"**Sources:** [{page.url}]" in text) == metadata
            assert item.summary in text
        assert ("## Sections" in text) == sections


@HUNDRED
@given(PAGES, st.sampled_from([None, "alpha", "beta"]), st.sampled_from(["title", "category", "date"]))
def test_property_4_document_listing_format(shelf: Shelf, pages: list[Page], project: str | None, sort_by: str) -> None:
    """Feature: vector-search-enhancement, Property 4."""
    with shelf.holding(pages) as files:
        answer = shelf.sites.list_doc(project, None, None, sort_by)
        inside = [page for page in pages if project in (None, page.project)]
        assert answer.total_documents == len(inside) == sum(item.document_count for item in answer.categories)
        listed: dict[str, list[str]] = {}
        for category in answer.categories:
            assert category.document_count == len(category.documents) > 0
            listed[category.name] = sorted(item.title for item in category.documents)
            assert all(item.description and item.last_updated for item in category.documents)
            if sort_by != "date":
                titles = [item.title.lower() for item in category.documents]
                assert titles == sorted(titles)
        expected: dict[str, list[str]] = {}
        for page in inside:
            expected.setdefault("/".join(page.category) or "general", []).append(page.title)
        assert listed == {name: sorted(titles) for name, titles in expected.items()}
        for name in expected:
            below = shelf.sites.list_doc(project, name.upper(), ".md", sort_by)
            assert {item.name for item in below.categories} == {
                other for other in expected if f"{other}/".startswith(f"{name}/")
            }
        assert set(slugs(files)) == set(files)


@HUNDRED
@given(PAGES)
def test_property_5_data_organization_and_relationships(shelf: Shelf, pages: list[Page]) -> None:
    """Feature: vector-search-enhancement, Property 5."""
    with shelf.holding(pages) as files:
        for name, page in files.items():
            raw = (shelf.folder / name).read_text("utf-8")
            assert raw[read_front_matter(raw).end :].strip("\n") == page.markdown.strip("\n")  # raw stays raw
            assert page_files.source_of(shelf.folder / name) == page.url
            assert name.startswith(f"{page.project}/")
        for project in ("alpha", "beta"):
            listed = shelf.sites.list_doc(project, None, None, "title")
            found = [item.slug for category in listed.categories for item in category.documents]
            loaded = shelf.sites.load_doc(found, False, True).documents if found else []
            assert {item.sources[0] for item in loaded} == {page.url for page in pages if page.project == project}


@HUNDRED
@given(st.lists(WORDS, min_size=1, max_size=5).map(" ".join), st.sampled_from([None, "alpha", "beta"]))
def test_property_6_vector_database_storage_and_search(library: Librarian, query: str, project: str | None) -> None:
    """Feature: vector-search-enhancement, Property 6."""
    parts = library._parts
    assert parts.embedder is not None
    embedder = parts.embedder.get()
    status = library.status()
    assert status.embedded_chunks == status.chunks > 0
    answer = library.search(
        query,
        mode="semantic",
        product=project,
        max_results=50,
        max_per_document=0,
        brief=True,
        include_weak=True,
        explain=True,
    )
    scores = [item.semantic_score or 0.0 for item in answer.results]
    assert scores == sorted(scores, reverse=True)
    asked = embedder.embed_query(query)
    with parts.catalog.read() as reader:
        for item in answer.results[:3]:
            stored = reader.document_by_path(item.file_path)
            assert stored is not None
            chunk = next(c for c in reader.chunks_of(stored.doc_id) if f"#chunk-{c.chunk.ordinal}@" in item.id)
            title = stored.document.title
            prefix = " > ".join(dict.fromkeys([title, *chunk.chunk.heading_path]))
            windows = embedder.windows(prefix, chunk.chunk.text)
            cosine = max(0.0, float(np.max(embedder.embed_chunks([window.text for window in windows]) @ asked)))
            assert item.semantic_score == pytest.approx(cosine, abs=0.02)


# -- single cases ----------------------------------------------------------------------------------------------------


def test_two_projects_never_leak_into_each_other(library: Librarian) -> None:
    for project, other in (("alpha", "beta"), ("beta", "alpha")):
        answer = library.search_doc("tokens", project=project, limit=20)
        assert answer.results[0].title.startswith("Tokens")
        assert {item.project for item in answer.results} == {project}
        assert other not in json.dumps(library.list_doc(project=project).model_dump())


@pytest.mark.parametrize("limit", [1, 5, 10, 20, 50])
def test_each_document_that_is_asked_for_has_a_place_among_the_passages(shelf: Shelf, limit: int) -> None:
    asked: list[Query] = []

    def search(query: Query, budget: Deadline) -> SearchOutcome:
        asked.append(query)
        raise NotFound("nothing")

    with pytest.raises(NotFound):
        Sites(shelf.catalog, search).search_doc(Query(text="tokens"), None, limit, Deadline())
    assert asked[0].max_results // asked[0].max_per_document >= limit


def test_a_category_narrows_a_search_and_holds_what_is_below_it(library: Librarian) -> None:
    found = library.search_doc("quorum of replicas", project="alpha", category="guides")
    assert found.results[0].slug == "alpha-guides-deep-quorum"
    assert found.results[0].category == "Guides/Deep"
    assert {item.category for item in found.results} <= {"Guides", "Guides/Deep"}
    with pytest.raises(NotFound, match=r"No category 'Gides'.*'Guides'"):
        library.search_doc("x", category="Gides")
    with pytest.raises(NotFound, match=r"No category 'qqq'\. All categories: '.*'Guides'.*"):
        library.search_doc("x", category="qqq")


def test_an_unknown_slug_gives_the_nearest_ones(library: Librarian) -> None:
    with pytest.raises(NotFound, match=r"No document 'alpha-guides-token'.*Nearest: 'alpha-guides-tokens'"):
        library.load_doc(["alpha-guides-token"])
    with pytest.raises(CallerError, match="slug is empty"):
        library.load_doc([])


def test_unknown_names_are_refused_with_what_there_is(library: Librarian) -> None:
    with pytest.raises(NotFound, match="Did you mean 'alpha'"):
        library.list_doc(project="alphas")
    with pytest.raises(CallerError, match="title, category, date"):
        library.list_doc(sort_by="size")
    with pytest.raises(NotFound, match=r"There are: .*\.md"):
        library.list_doc(content_type="pdf")


def test_an_uncrawled_document_is_listed_and_loaded_too(library: Librarian) -> None:
    item = library.load_doc("plain-notes-readme").documents[0]
    assert (item.category, item.sources, item.project) == ("notes", [], "plain")


def test_the_tools_are_called_as_the_design_names_them(library: Librarian) -> None:
    def call(tool: str, **given: object) -> tuple[str, dict[str, Any]]:
        response = library.call(tool, given)
        assert isinstance(response, ResponseModel)
        return render(response), structured(response)

    slug = call("searchDoc", query="rotate tokens", project="alpha")[1]["results"][0]["slug"]
    assert slug in call("searchDoc", query="rotate tokens", project="alpha")[0]
    loaded, _ = call("loadDoc", slug=slug)
    assert loaded.startswith(
        "<documents>\n# Tokens\n\n**Category:** Guides\n**Sources:** [https://alpha.example.org/tokens]"
    )
    assert "### More about tokens" in loaded
    assert len(call("loadDoc", slug=[slug, "beta-setup-install"], include_sections=False)[1]["documents"]) == 2
    listed, fields = call("listDoc")
    assert fields["total_documents"] == 6
    assert "\n  Guides/Deep | 1 | [{" in listed


@given(st.lists(st.text("aB/. -é", min_size=1, max_size=8).map(lambda name: f"p/{name}.md"), unique=True, max_size=12))
def test_every_document_has_a_slug_of_its_own(paths: list[str]) -> None:
    found = slugs(paths)
    assert set(found) == set(paths)
    assert len(set(found.values())) == len(paths)


# -- gaps ------------------------------------------------------------------------------------------------------------


def test_questions_without_an_answer_are_gaps(tmp_path: Path) -> None:
    log = QueryLog(tmp_path / "q.jsonl", enabled=True)
    for query, results, answerable in [
        ("Warp drive", 0, "unlikely"),
        ("warp  drive", 0, "unlikely"),
        ("tokens", 5, "yes"),
        ("maybe", 3, "unlikely"),
        ("later found", 0, "unlikely"),
        ("later found", 4, "yes"),
    ]:
        log.note(query, results, answerable, None)
    with (tmp_path / "q.jsonl").open("ab") as file:
        file.write('{"query": "cut shé'.encode()[:-1])
    answer = log.gaps(10)
    assert answer.questions == 6
    assert [(gap.query, gap.times, gap.results) for gap in answer.gaps] == [("warp  drive", 2, 0), ("maybe", 1, 3)]
    assert log.gaps(1).gaps == answer.gaps[:1]
    log.note("asked after a kill, with half a character: \ud83d", 0, "unlikely", None)
    assert "asked after a kill, with half a character: ?" in [gap.query for gap in log.gaps(10).gaps]


def test_nothing_is_kept_unless_it_is_wanted(tmp_path: Path) -> None:
    log = QueryLog(tmp_path / "q.jsonl")
    log.note("secret", 0, "unlikely", None)
    assert not list(tmp_path.iterdir())
    assert log.gaps(5).model_dump() == {"enabled": False, "questions": 0, "gaps": []}


def test_the_desk_keeps_questions_where_analytics_is_on(library: Librarian) -> None:
    library.search("xyzzy plugh nothing", mode="keyword")
    library.search_doc("tokens")
    library.search_knowledge_base("frobnicate quuxly")
    answer = library.gaps(limit=1000)
    assert "frobnicate quuxly" in (library.index / "questions.jsonl").read_text("utf-8")
    assert answer.enabled
    assert "xyzzy plugh nothing" in [gap.query for gap in answer.gaps]
    assert all(gap.last_asked.endswith("Z") for gap in answer.gaps), "as all other times are told"
    assert (library.index / "questions.jsonl").stat().st_mode & 0o077 == 0


def test_a_question_that_the_page_says_is_half_typed_is_not_kept(library: Librarian) -> None:
    with served(build_app(library)) as url:
        for query, headers in (("zyx", {"librarian-draft": "1"}), ("zyxwv", {"librarian-draft": "1"}), ("zyxwvut", {})):
            assert httpx.post(f"{url}/api/search", json={"query": query}, headers=headers).status_code == 200
        httpx.get(f"{url}/api/search", params={"q": "srqpon"})
    lines = (library.index / "questions.jsonl").read_text("utf-8").splitlines()
    assert [json.loads(line)["query"] for line in lines][-2:] == ["zyxwvut", "srqpon"]
    assert not any('"zyx"' in line or '"zyxwv"' in line for line in lines)


def test_the_command_lists_gaps(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    from librarian.daemon import client

    gap = {"query": "warp drive", "times": 3, "results": 0, "last_asked": "2026-05-01T00:00:00+00:00"}
    answer = {"enabled": False, "questions": 9, "gaps": [gap]}
    monkeypatch.setattr(client, "call", lambda *given, **named: answer)
    assert main.run(["gaps"]) == 0
    told = capsys.readouterr()
    assert "analytics.enabled" in told.err
    assert "warp drive" in told.out
    assert "questions: 9" in told.out
