"""The benchmarks of what an agent pays for an answer, on a folder of three pages."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from librarian.bootstrap import Librarian
from tests.embeddings.chat_server import ChatServer

Benchmark = Callable[[str], ModuleType]

PAGE = "shop/guide/refunds.md"
ANSWER = "A refund returns to the original card within five working days of the approval."
QUESTION = "when does a refund return to the card"


@pytest.fixture(scope="module")
def docs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("docs")
    filler = "\n\n".join(f"Paragraph {number} is about shelves, ladders and lamps." for number in range(200))
    pages = {
        PAGE: f"# Refunds\n\n{ANSWER}\n\n## Furniture\n\n{filler}\n",
        "shop/guide/cards.md": "# Cards\n\nStore a card once and pay with it later.\n",
        "shop/guide/shipping.md": "# Shipping\n\nParcels leave the warehouse at noon.\n",
    }
    for path, text in pages.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, "utf-8")
    return root


@pytest.fixture(scope="module")
def tools(docs: Path, tmp_path_factory: pytest.TempPathFactory, benchmark: Benchmark) -> Iterator[Any]:
    options: dict[str, object] = {"embeddings.enabled": False, "docs.watch_for_changes": False, "index.workers": 1}
    with (
        Librarian.open(root=docs, index=tmp_path_factory.mktemp("index"), **options) as library,
        benchmark("mcp_tools").served(library) as served,
    ):
        yield served


@pytest.fixture
def task(benchmark: Benchmark) -> Any:
    place = benchmark("answers").Place(PAGE, 3, 3)
    return benchmark("agent_cost").Task("lines", "shop", QUESTION, frozenset([PAGE]), (place,), (ANSWER,))


def grep_of(benchmark: Benchmark, docs: Path) -> Any:
    return benchmark("agent_cost").Grep(docs, "shop", words=3, files=5, lines=1, around=15)


def test_the_search_that_shows_the_answer_costs_its_own_text(benchmark: Benchmark, tools: Any, task: Any) -> None:
    cost = benchmark("agent_cost").cost(task, benchmark("agent_cost").LibrarianPolicy(tools), 50_000)
    shown = tools.call("search_documentation", {"query": QUESTION}).text
    assert ANSWER in shown
    assert (cost.tokens, cost.calls, cost.reached) == (-(-len(shown) // 4), 1, True)
    assert cost.read == -(-len(shown.partition(ANSWER)[0] + ANSWER) // 4)


def test_grep_pays_for_a_whole_page_or_for_the_lines_around_a_match(
    benchmark: Benchmark, docs: Path, task: Any
) -> None:
    grep, cost = grep_of(benchmark, docs), benchmark("agent_cost").cost
    shown = next(grep.pages(QUESTION))
    assert f"{PAGE}:3:{ANSWER}" in shown.text.splitlines()
    hidden = benchmark("agent_cost").Task("lines", "shop", QUESTION, task.pages, task.places, ("Paragraph 3 is about",))
    windows, pages = cost(hidden, grep.windows, 50_000), cost(hidden, grep.pages, 50_000)
    assert windows.reached
    assert pages.reached
    assert windows.tokens < 500 < 2_000 < pages.tokens
    assert not cost(hidden, grep.pages, 1_000).reached


def test_an_answer_counts_as_shown_once_half_of_its_runs_of_words_are(benchmark: Benchmark, task: Any) -> None:
    cost = benchmark("agent_cost")

    def reached(text: str) -> bool:
        return cost.View(task).add(cost.Call(text, text, frozenset([PAGE]))) is not None

    assert reached("A *refund* returns to the [original card](cards.md) within five working\ndays")
    assert not reached("Five working days within the approval, of the original card: a refund returns to the customer.")


def test_a_median_that_was_not_reached_is_none(benchmark: Benchmark) -> None:
    cost = benchmark("agent_cost")
    found = cost.figures(
        [cost.Cost(900, 90, 1, True), cost.Cost(50_100, 50_100, 9, False), cost.Cost(50_200, 50_200, 9, False)]
    )
    assert (found["tokens_median"], found["tokens_within_1000"], found["reached"]) == (None, 0.3333, 0.3333)


def test_the_figures_in_the_manual_are_those_of_the_last_run(benchmark: Benchmark) -> None:
    cost = benchmark("agent_cost")
    results = json.loads(cost.RESULTS.read_text("utf-8"))
    page = cost.PAGE.read_text("utf-8")
    assert page == cost.with_figures(page, results), "run benchmarks/agent_cost.py with --save"
    assert cost.summary(results) in page


@pytest.mark.parametrize("kind", ["librarian", "grep"])
def test_a_model_that_calls_a_tool_and_cites_the_lines_has_found_the_answer(
    benchmark: Benchmark, docs: Path, tools: Any, task: Any, kind: str
) -> None:
    agents = benchmark("agents")
    toolset = agents.librarian_toolset(tools) if kind == "librarian" else agents.folder_toolset(docs, "shop")
    name, arguments = {
        "librarian": ("search_documentation", {"query": QUESTION}),
        "grep": ("grep", {"pattern": "refund.*card"}),
    }[kind]
    call = {"id": "c1", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
    server = ChatServer()
    model = agents.ChatModel(f"{server.url}/v1", "scripted", "secret")
    try:
        server.messages = [{"content": None, "tool_calls": [call]}, {"content": f"In five days.\nSOURCE: {PAGE}:3-3"}]
        run = agents.answer(model, toolset, task, most_calls=5)
    finally:
        model.close()
        server.close()
    first, second = (body for _, _, body in server.requests)
    output = second["messages"][-1]
    assert name in {tool["function"]["name"] for tool in first["tools"]}
    assert (output["role"], output["tool_call_id"]) == ("tool", "c1")
    assert ANSWER in output["content"]
    assert (run.found, run.calls, run.tool_tokens, run.model_tokens) == (True, 1, -(-len(output["content"]) // 4), 200)


def test_a_model_without_calls_left_is_told_to_answer(benchmark: Benchmark, docs: Path, task: Any) -> None:
    agents = benchmark("agents")
    call = {"id": "c1", "type": "function", "function": {"name": "find_files", "arguments": '{"glob": "*.md"}'}}
    server = ChatServer()
    model = agents.ChatModel(f"{server.url}/v1", "scripted")
    try:
        server.messages = [{"content": None, "tool_calls": [call]}, {"content": "I don't know."}]
        run = agents.answer(model, agents.folder_toolset(docs, "shop"), task, most_calls=1)
    finally:
        model.close()
        server.close()
    last = server.requests[-1][2]
    assert "tools" not in last
    assert last["messages"][-1] == {"role": "user", "content": agents.LAST}
    assert (run.found, run.calls) == (False, 1)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("read_lines", {"path": "../secret.txt"}),
        ("read_lines", {"path": "/etc/hostname"}),
        ("grep", {"pattern": ".", "path": ".."}),
        ("find_files", {"glob": "/etc/*"}),
        ("find_files", {"glob": "../*"}),
    ],
)
def test_the_tools_of_grep_do_not_leave_the_folder(
    benchmark: Benchmark, docs: Path, name: str, arguments: dict[str, str]
) -> None:
    assert benchmark("agents").folder_toolset(docs, "shop").call(name, arguments).startswith("Error: ")


def test_nothing_is_asked_without_a_base_url(
    benchmark: Benchmark, docs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as exit_:
        benchmark("agents").main([str(docs), "--model", "any", "--set", "lines"])
    assert exit_.value.code == 2
    assert "--base-url" in capsys.readouterr().err
