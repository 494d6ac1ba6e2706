"""What an agent pays for an answer, at MCP, REST and the command line:

* a search answers with one entry per document, the section that answers first, within a budget of tokens;
* what is cited opens, and reading a document costs what the answer takes;
* what only people and programs look at comes on request.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import httpx
import pytest
from mcp import types

from librarian.api.mcp import McpServer
from librarian.library import Librarian
from librarian.web.app import build_app
from tests.api.clients import connected, run
from tests.api.serving import served

PARTS = (
    "Gift cards are refunded within nine days. The clerk sends the amount to the card that paid.",
    "| card | days |\n|---|---|\n| gift card | nine |\n| debit card | three |",
    "Ask the desk where a refund of a gift card is late.",
)
REFUNDS, SHOWN = "\n\n".join(PARTS), "\n".join(PARTS)  #: blank lines beside a table aren't shown
PROSE = "The counter opens at eight and closes when the last customer has left the hall. " * 9
CODE = "\n".join(f"ledger.write(row={number}, note='copied')" for number in range(300))
PAGE = (
    f"# Returns\n\n{PROSE}\n\n## Opening hours\n\n{PROSE}\n\n{PROSE}\n\n## Refunds of `gift cards`\n\n{REFUNDS}\n\n"
    f"## Shipping\n\n{PROSE}\n\n## Old rules\n\nOlder gift cards were not refunded: a refund took a month. {PROSE}\n\n"
    f"## Ledger\n\n```python\n{CODE.replace('row=170', 'row=170, zorkmid=True')}\n```\n"
)
FILES = {"shop/guide/returns.md": PAGE, "shop/guide/short.md": "# Short\n\nA stamp costs nine cents.\n"}
FILES |= {
    f"shop/notes/note{number}.md": f"# Note {number}\n\n## Refunds\n\nA refund of gift cards, case {number}. {PROSE}\n"
    for number in range(12)
}
QUESTION = "within how many days are gift cards refunded"


@dataclass(frozen=True)
class Library:
    door: McpServer
    url: str

    def call(self, tool: str, **given: Any) -> tuple[str, dict[str, Any]]:
        """The text and the structured half of a tool's answer; of an error the text alone."""
        answers: list[tuple[str, dict[str, Any]]] = []

        async def body() -> None:
            async with connected("memory", self.door, "") as client:
                result = await client.call_tool(tool, given)
                (block,) = (block for block in result.content if isinstance(block, types.TextContent))
                answers.append((block.text, {} if result.is_error else result.structured_content or {}))

        run(body())
        return answers[0]

    def search(self, query: str = QUESTION, **given: Any) -> tuple[str, dict[str, Any]]:
        return self.call("search_documentation", query=query, **given)

    def read(self, path: str = "shop/guide/returns.md", **given: Any) -> tuple[str, dict[str, Any]]:
        return self.call("get_document", path=path, **given)


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Library]:
    folder = tmp_path_factory.mktemp("library")
    for name, text in FILES.items():
        path = folder / "docs" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    settings: dict[str, object] = {"embeddings.enabled": False, "logging.level": "ERROR"}
    with Librarian.open(root=folder / "docs", index=folder / "index", **settings) as opened:
        door = McpServer(opened)
        with served(build_app(opened, mcp_server=door)) as url:
            yield Library(door, url)


def tokens(text: str) -> float:
    return len(text) / 4


def test_a_document_is_one_result_with_the_whole_section_that_answers(library: Library) -> None:
    text, answer = library.search()
    paths = [result["file_path"] for result in answer["results"]]
    assert len(paths) == len(set(paths)) > 3
    first = answer["results"][0]
    assert first["file_path"] == "shop/guide/returns.md"
    assert first["heading_path"][-1] == "Refunds of gift cards"
    assert first["snippet"] == SHOWN
    assert "section_lines" not in first
    assert SHOWN in text


def test_further_passages_of_a_document_are_listed_as_many_as_asked_for(library: Library) -> None:
    text, answer = library.search()
    (listed,) = [one for one in answer["results"][0]["more"] if one["heading"] == "Old rules"]
    lines = f"lines {listed['line_start']}-{listed['line_end']} ({listed['tokens']} tokens): Old rules"
    assert lines in text.splitlines()
    assert "refund took a month" in library.read(line_start=listed["line_start"], line_end=listed["line_end"])[0]
    assert "more" not in library.search(max_per_document=1)[1]["results"][0]


def test_results_and_pages_count_documents(library: Library) -> None:
    _, first = library.search(max_results=3)
    assert [result["rank"] for result in first["results"]] == [1, 2, 3]
    assert (first["total"], first["next_offset"]) == (13, 3)
    _, second = library.search(max_results=3, offset=3)
    assert [result["rank"] for result in second["results"]] == [4, 5, 6]
    shown = {result["file_path"] for answer in (first, second) for result in answer["results"]}
    assert len(shown) == 6


def test_as_many_results_as_are_asked_for_come_if_they_fit(library: Library) -> None:
    usual = len(library.search()[1]["results"])
    text, answer = library.search(max_results=12)
    assert usual < len(answer["results"]) == 12
    assert tokens(text) <= 1500


def test_more_results_than_there_may_be_are_cut_with_a_note(library: Library) -> None:
    text, answer = library.search(max_results=80)
    assert answer["results"]
    assert "at most 50" in answer["notes"][0]
    assert answer["notes"][0] in text


@pytest.mark.parametrize("limit", [200, 500, None, 4000])
def test_an_answer_stays_within_its_budget(library: Library, limit: int | None) -> None:
    text, answer = library.search(**({"max_tokens": limit} if limit else {}))
    assert tokens(text) <= (limit or 1500)
    assert tokens(text) <= answer["tokens_used"] * 1.05 <= (limit or 1500) * 1.05
    assert "nine" in answer["results"][0]["snippet"]


def test_five_results_take_few_tokens_in_both_halves(library: Library) -> None:
    text, answer = library.search(max_results=5)
    assert len(answer["results"]) == 5
    assert tokens(text) <= 1500
    assert len(json.dumps(answer, separators=(",", ":"))) <= 1.6 * len(text)


@pytest.mark.parametrize("given", [{}, {"max_results": 3}, {"max_results": 12}, {"max_tokens": 500}], ids=str)
def test_fields_take_at_most_1_6_times_the_text(library: Library, given: dict[str, Any]) -> None:
    for query in (QUESTION, "opening hours", "ledger", "a refund of gift cards"):
        text, answer = library.search(query, **given)
        size = len(json.dumps(answer, ensure_ascii=False, separators=(",", ":")))
        assert size <= 1.6 * len(text), (query, size / len(text))


def test_ids_are_citations_without_a_hash(library: Library) -> None:
    text, answer = library.search()
    for one in answer["results"]:
        assert one["id"] == f"{one['file_path']}:{one['line_start']}-{one['line_end']}"
        assert one["id"] in text
        assert library.read(one["id"])[1]["line_start"] == one["line_start"]


def test_what_explains_a_search_comes_on_request(library: Library) -> None:
    plain, explained = library.search()[1], library.search(explain=True)[1]
    assert not plain.keys() & {"retrievers", "coverage", "took_ms", "generation"}
    assert explained["retrievers"]["keyword"]["status"] == "ok"
    assert explained["coverage"]["documents"] == len(FILES)
    assert not plain["results"][0].keys() & {"uri", "doc_type", "file_type", "product"}
    assert explained["results"][0]["uri"].startswith("librarian://docs/shop/guide/returns.md")
    assert explained["results"][0]["product"] == "shop"


def test_a_fence_larger_than_the_budget_is_shown_around_the_match_closed_and_marked(library: Library) -> None:
    text, answer = library.search("zorkmid", max_tokens=300)
    lines = answer["results"][0]["snippet"].splitlines()
    assert tokens(text) <= 300
    assert "ledger.write(row=170, zorkmid=True, note='copied')" in lines
    assert (lines[0], lines[-1]) == ("```python", "```")
    assert lines[1] == lines[-2] == "…"
    assert all(line.startswith("ledger.write(") for line in lines[2:-2])
    first, last = answer["results"][0]["section_lines"]
    assert f"of {first}-{last}" in text


def test_an_excerpt_is_of_whole_sentences(library: Library) -> None:
    _, answer = library.search()
    for result in answer["results"][1:]:
        assert result["snippet"].endswith((".", "|"))
        assert result["snippet"].startswith(("A refund of gift cards", "The counter"))


def test_what_the_text_cites_opens(library: Library) -> None:
    text, answer = library.search()
    for result in answer["results"]:
        cited = f"{result['file_path']}:{result['line_start']}-{result['line_end']}"
        assert cited in text
        read = library.read(cited)[1]
        assert (read["line_start"], read["line_end"]) == (result["line_start"], result["line_end"])
        assert result["snippet"].splitlines()[0] in read["content"]
    assert "#chunk-" not in text
    assert library.read(answer["results"][0]["id"])[1]["file_path"] == "shop/guide/returns.md"


def test_reasons_come_on_request_and_nothing_is_null(library: Library) -> None:
    def values(node: Any) -> Iterator[Any]:
        for value in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
            yield value
            yield from values(value)

    _, answer = library.search()
    asked = ("why", "highlights", "headings", "keyword_score")
    assert not any(name in result for result in answer["results"] for name in asked)
    assert not any(value is None or value in ("", [], {}) for value in values(answer))
    explained = library.search(explain=True)[1]["results"][0]
    assert all(explained[name] for name in asked)


def test_a_question_reads_the_sections_of_a_document_that_answer_it(library: Library) -> None:
    text, answer = library.read(query=QUESTION)
    assert tokens(text) <= 1500
    assert SHOWN in answer["content"]
    assert "ledger.write" not in answer["content"]
    starts = [section["line_start"] for section in answer["sections"]]
    assert starts == sorted(starts)
    assert {section["heading"] for section in answer["sections"]} >= {"Refunds of gift cards", "Old rules"}
    small, few = library.read(query=QUESTION, max_tokens=250)
    assert tokens(small) <= 250
    assert "nine days" in few["content"]


def test_a_question_that_no_passage_answers_gives_the_beginning_and_says_so(library: Library) -> None:
    text, answer = library.read(query="xylophone")
    assert "No passage of it answers 'xylophone'" in text
    assert answer["outline"]


def test_a_long_document_comes_as_its_outline_and_beginning_unless_all_is_asked_for(library: Library) -> None:
    text, answer = library.read()
    assert tokens(text) <= 1500
    outline = {item["text"]: item for item in answer["outline"]}
    assert list(outline)[:3] == ["Returns", "Opening hours", "Refunds of gift cards"]
    ledger = outline["Ledger"]
    assert f"lines {ledger['line_start']}-{ledger['line_end']} ({ledger['tokens']} tokens): Ledger" in text
    assert ledger["tokens"] == pytest.approx(len(CODE) / 4, rel=0.05)
    assert PAGE.startswith(answer["content"])
    assert library.read(max_chars=0)[1]["content"].rstrip() == PAGE.rstrip()
    assert library.read("shop/guide/short.md")[1]["content"].rstrip() == FILES["shop/guide/short.md"].rstrip()


@pytest.mark.parametrize("written", ["Refunds of **gift** cards!", "of gift cards", "## refunds-of-gift-cards ##"])
def test_a_heading_written_loosely_opens_its_section_and_the_answer_says_which(library: Library, written: str) -> None:
    text, answer = library.read(section=written)
    assert answer["section"] == "Refunds of gift cards"
    assert REFUNDS in answer["content"]
    assert "section 'Refunds of gift cards'" in text


def test_a_heading_that_nothing_fits_is_an_error_with_the_nearest(library: Library) -> None:
    text, _ = library.read(section="Opening times")
    assert "No section 'Opening times'" in text
    assert "'Opening hours'" in text


def test_rest_answers_likewise_and_briefly_where_asked(library: Library) -> None:
    def get(route: str, **given: Any) -> dict[str, Any]:
        answer: dict[str, Any] = httpx.get(f"{library.url}/api/{route}", params=given).raise_for_status().json()
        return answer

    first = get("search", q=QUESTION)["results"][0]
    assert first["snippet"] == SHOWN
    brief = get("search", q=QUESTION, brief=True, explain=True, include_weak=True, max_results=20)["results"]
    assert [one["file_path"] for one in brief].count("shop/guide/returns.md") > 1
    assert max(len(one["snippet"]) for one in brief) <= 600
    assert brief[0]["highlights"]
    sections = get("document", path="shop/guide/returns.md", query=QUESTION)
    assert SHOWN in sections["content"]
    assert get("document", path="shop/guide/returns.md", max_chars=0)["content"].rstrip() == PAGE.rstrip()


def test_models_are_not_told_of_what_serves_programs(library: Library) -> None:
    async def body() -> None:
        async with connected("memory", library.door, "") as client:
            tools = {tool.name: tool.input_schema["properties"] for tool in (await client.list_tools()).tools}
            assert not any("brief" in arguments for arguments in tools.values())
            assert {"explain", "include_weak", "max_tokens"} <= tools["search_documentation"].keys()
            assert {"query", "max_tokens"} <= tools["get_document"].keys()

    run(body())
