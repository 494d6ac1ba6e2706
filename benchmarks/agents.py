"""How a language model fares with Librarian's tools and with grep's: answers found, tool calls and tokens.

The tasks are those of `agent_cost.py`, which needs no model. The model gets one set of tools at a time: `librarian`
(`search_documentation` and `get_document` over MCP) or `grep` (`grep`, `find_files`, `read_lines`, confined to the
folder). It ends its answer with the file and lines that it relies on; the answer counts as found if that is a judged
page or, for questions with judged lines, if the lines overlap them by half (the rule of `answers.py`).

    OPENAI_API_KEY=… python benchmarks/agents.py DOCS --base-url https://HOST/v1 --model NAME --questions FOLDER \\
        --index FOLDER [--set ray] [--limit 12] [--tools grep] [--json FILE]

Any server with OpenAI's chat completions and tool calls will do. Nothing is sent anywhere without `--base-url`.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import re
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import httpx

from agent_cost import CHARACTERS_PER_TOKEN, SETS, Task, tasks
from answers import Place
from judged_sets import JudgedSet, settings_of
from librarian import Librarian
from mcp_tools import Tools, served

INSTRUCTIONS = """Answer the question from the documentation, using the tools. Read no more than you need. \
Finish with one line of the form `SOURCE: path:first-last`, the file and the lines that answer the question."""
LAST = "You have no tool calls left. Answer now."
LIBRARIAN_TOOLS = ("search_documentation", "get_document")
GREP_TIMEOUT_S = 30.0

_SOURCE = re.compile(r"SOURCE:\s*`?([^\s`:]+)(?::(\d+)(?:\s*[-–]\s*(\d+))?)?")


@dataclass(frozen=True, slots=True)
class Toolset:
    """Tools as chat completions list them, and what runs one by its name and arguments."""

    name: str
    functions: Sequence[Mapping[str, Any]]
    call: Callable[[str, Mapping[str, Any]], str]

    @property
    def listed(self) -> list[dict[str, Any]]:
        return [{"type": "function", "function": function} for function in self.functions]


@dataclass(frozen=True, slots=True)
class SearchContext:
    """One question, answered by the model: `tool_tokens` are characters of tool output divided by four, `model_tokens`
    what the server counted over all requests, 0 where it counts nothing."""

    set_name: str
    tools: str
    question: str
    answer: str
    found: bool
    calls: int
    tool_tokens: int
    model_tokens: int


# -- tools -----------------------------------------------------------------------------------------------------------


def librarian_toolset(tools: Tools) -> Toolset:
    """The two tools that find and read documentation, as the MCP server lists them."""
    functions = [
        {"name": tool.name, "description": tool.description, "parameters": tool.input_schema}
        for tool in tools.listed
        if tool.name in LIBRARIAN_TOOLS
    ]
    return Toolset("librarian", functions, lambda name, arguments: tools.call(name, arguments).text)


class FolderTools:
    """grep, find and reading by lines, within one folder."""

    def __init__(self, docs: Path, product: str, most_characters: int) -> None:
        self.docs, self.product, self.most_characters = docs.resolve(), product, most_characters

    def _path(self, path: str) -> Path:
        """Raises `ValueError` for a path outside the product's folder."""
        found = (self.docs / (path or self.product)).resolve()
        if not found.is_relative_to(self.docs / self.product):
            raise ValueError(f"{path} is outside {self.product}/.")
        return found

    def grep(self, pattern: str, path: str = "", context: int = 0, files_only: bool = False) -> str:
        where = str(self._path(path).relative_to(self.docs))
        options = ["-c"] if files_only else ["-n", f"-C{min(int(context), 50)}"]
        command = ["grep", "-rIiE", *options, "-e", pattern, "--", where]
        done = subprocess.run(command, cwd=self.docs, capture_output=True, text=True, timeout=GREP_TIMEOUT_S)
        if done.returncode > 1:
            raise ValueError(done.stderr.strip())
        lines = done.stdout.splitlines()
        if files_only:
            lines = [line for line in lines if not line.endswith(":0")]
            lines.sort(key=lambda line: -int(line.rpartition(":")[2]))
        return "\n".join(lines) or "No matches."

    def find_files(self, glob: str) -> str:
        if ".." in Path(glob).parts:
            raise ValueError(f"{glob} leads out of the folder.")
        folder = self._path("")
        found = (file for file in sorted(folder.rglob(glob)) if file.is_file())
        return "\n".join(file.relative_to(self.docs).as_posix() for file in found) or "No files."

    def read_lines(self, path: str, first: int = 1, last: int = 2_000) -> str:
        lines = self._path(path).read_text("utf-8", errors="replace").splitlines()
        first, last = max(1, int(first)), min(int(last), len(lines))
        return "\n".join(f"{number}:{lines[number - 1]}" for number in range(first, last + 1)) or "No such lines."

    def call(self, name: str, arguments: Mapping[str, Any]) -> str:
        """A tool's output, cut after `most_characters`."""
        tools: dict[str, Callable[..., str]] = {
            "grep": self.grep,
            "find_files": self.find_files,
            "read_lines": self.read_lines,
        }
        if name not in tools:
            return f"Error: no tool {name}. There are: {', '.join(tools)}."
        try:
            text = tools[name](**arguments)
        except (OSError, TypeError, ValueError, NotImplementedError, subprocess.TimeoutExpired) as error:
            return f"Error: {error}"
        if len(text) > self.most_characters:
            return f"{text[: self.most_characters]}\n[Cut after {self.most_characters:,} characters.]"
        return text


def _function(name: str, description: str, required: Sequence[str], **properties: Mapping[str, str]) -> dict[str, Any]:
    parameters = {"type": "object", "properties": properties, "required": list(required)}
    return {"name": name, "description": description, "parameters": parameters}


def folder_toolset(docs: Path, product: str, most_characters: int = 30_000) -> Toolset:
    """Read-only tools like grep, find and sed over a product's folder."""
    text, number, flag = {"type": "string"}, {"type": "integer"}, {"type": "boolean"}
    functions = [
        _function(
            "grep",
            "Search the documentation's files for an extended regular expression, ignoring case. Prints "
            "path:line:text; with files_only, files by number of matching lines.",
            ["pattern"],
            pattern=text,
            path={**text, "description": "A file or folder; all by default"},
            context={**number, "description": "Lines before and after each match"},
            files_only=flag,
        ),
        _function("find_files", "List files whose name matches a glob such as *gpu*.", ["glob"], glob=text),
        _function("read_lines", "Read lines of a file.", ["path"], path=text, first=number, last=number),
    ]
    return Toolset("grep", functions, FolderTools(docs, product, most_characters).call)


# -- the model -------------------------------------------------------------------------------------------------------


class ChatModel:
    """A model behind OpenAI's chat completions."""

    def __init__(self, base_url: str, model: str, key: str = "", timeout_s: float = 300.0) -> None:
        self.model = model
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        self._client = httpx.Client(base_url=base_url.rstrip("/") + "/", headers=headers, timeout=timeout_s)

    def reply(self, messages: Sequence[Mapping[str, Any]], tools: list[dict[str, Any]]) -> tuple[dict[str, Any], int]:
        """The model's next message and the tokens that the server counted. Raises `httpx.HTTPError`."""
        body = {"model": self.model, "messages": messages, "stream": False, **({"tools": tools} if tools else {})}
        response = self._client.post("chat/completions", json=body)
        response.raise_for_status()
        found = response.json()
        return found["choices"][0]["message"], int((found.get("usage") or {}).get("total_tokens") or 0)

    def close(self) -> None:
        self._client.close()


def answer(model: ChatModel, toolset: Toolset, task: Task, most_calls: int) -> SearchContext:
    """Let the model answer a question with at most `most_calls` tool calls."""
    messages: list[dict[str, Any]] = [
        {"role": "system", "content": INSTRUCTIONS},
        {"role": "user", "content": task.text},
    ]
    calls = characters = counted = 0
    while True:
        message, tokens = model.reply(messages, toolset.listed if calls < most_calls else [])
        counted += tokens
        messages.append(message)
        wanted = message.get("tool_calls") or []
        if not wanted or calls >= most_calls:
            break
        for call in wanted:
            calls += 1
            output = _output(toolset, call["function"])
            characters += len(output)
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": output})
        if calls >= most_calls:
            messages.append({"role": "user", "content": LAST})
    said = str(message.get("content") or "")
    found = is_found(task, said)
    tool_tokens = math.ceil(characters / CHARACTERS_PER_TOKEN)
    return SearchContext(task.set_name, toolset.name, task.text, said, found, calls, tool_tokens, counted)


def _output(toolset: Toolset, function: Mapping[str, Any]) -> str:
    try:
        arguments = json.loads(function.get("arguments") or "{}")
    except ValueError as error:
        return f"Error: the arguments are not JSON ({error})."
    return toolset.call(function["name"], arguments)


def is_found(task: Task, said: str) -> bool:
    """Whether the last source that an answer names is one that was judged to answer."""
    sources = _SOURCE.findall(said)
    if not sources:
        return False
    path, first, last = sources[-1]
    if not task.places:
        return path in task.pages
    if not first:
        return False
    cited = Place(path, int(first), int(last or first))
    return any(cited.answers(place) for place in task.places)


# -- all tasks -------------------------------------------------------------------------------------------------------


@contextmanager
def toolsets(names: Sequence[str], docs: Path, product: str, index: Path, most: int) -> Iterator[list[Toolset]]:
    """The named sets of tools over one product's folder."""
    folder = [folder_toolset(docs, product, most)] if "grep" in names else []
    if "librarian" not in names:
        yield folder
        return
    judged = JudgedSet(product, docs, (f"{product}/**",), Path("-"), Path("-"))
    with Librarian.open(**settings_of(judged, index)) as library, served(library) as tools:
        tools.wait_until_calibrated()
        yield [librarian_toolset(tools), *folder]


def table(runs: Sequence[SearchContext]) -> str:
    """A Markdown table by set and tools."""
    rows = [
        "| set | tools | questions | found | calls, mean | tool output, tokens (median) | model, tokens (median) |",
        "|---" * 7 + "|",
    ]
    for name, tools in dict.fromkeys((run.set_name, run.tools) for run in runs):
        own = [run for run in runs if (run.set_name, run.tools) == (name, tools)]
        found, calls = statistics.mean(run.found for run in own), statistics.mean(run.calls for run in own)
        output = statistics.median(run.tool_tokens for run in own)
        counted = statistics.median(run.model_tokens for run in own)
        rows.append(f"| {name} | {tools} | {len(own)} | {found:.2f} | {calls:.1f} | {output:,.0f} | {counted:,.0f} |")
    return "\n".join(rows)


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("docs", type=Path, help="a folder with the products' folders")
    parser.add_argument("--base-url", required=True, help="the server's address, such as http://127.0.0.1:8000/v1")
    parser.add_argument("--model", default=os.environ.get("OPENAI_MODEL"), help="OPENAI_MODEL by default")
    parser.add_argument("--key", default=os.environ.get("OPENAI_API_KEY", ""), help="OPENAI_API_KEY by default")
    parser.add_argument("--questions", type=Path, help="a folder with the judged sets' folders")
    parser.add_argument("--index", type=Path, help="where the indexes are kept; a temporary folder by default")
    parser.add_argument("--set", action="append", choices=SETS, help="all three by default")
    parser.add_argument("--tools", action="append", choices=("librarian", "grep"), help="both by default")
    parser.add_argument("--limit", type=int, help="ask only the first questions of each product")
    parser.add_argument("--max-calls", type=int, default=20, help="tool calls for one question (default 20)")
    parser.add_argument("--max-characters", type=int, default=30_000, help="of one output of grep's tools")
    parser.add_argument("--json", type=Path, help="write every question's result to this file")
    given = parser.parse_args(argv)
    names = given.set or SETS
    if not given.model:
        parser.error("--model is missing (or set OPENAI_MODEL)")
    if given.questions is None and names != ["lines"]:
        parser.error("--questions is missing: the folder that holds ray/ and kubernetes_tasks/ (or ask --set lines)")
    every = tasks(names, given.docs, given.questions or Path(), given.limit)
    model, runs = ChatModel(given.base_url, given.model, given.key), list[SearchContext]()
    try:
        with tempfile.TemporaryDirectory() as temporary:
            for product in dict.fromkeys(task.product for task in every):
                index, kinds = given.index or Path(temporary), given.tools or ("librarian", "grep")
                with toolsets(kinds, given.docs, product, index, given.max_characters) as sets:
                    for task in (task for task in every if task.product == product):
                        for toolset in sets:
                            runs.append(answer(model, toolset, task, given.max_calls))
    except httpx.HTTPError as error:
        sys.exit(f"{given.base_url} does not answer as expected: {error}. Check --base-url, --model and the key.")
    finally:
        model.close()
        if runs:
            print(table(runs))
    if given.json:
        given.json.parent.mkdir(parents=True, exist_ok=True)
        given.json.write_text(json.dumps([asdict(run) for run in runs], indent=1, ensure_ascii=False) + "\n", "utf-8")


if __name__ == "__main__":
    main()
