"""What an agent pays for an answer: tokens and tool calls until the passage that answers is in its context.

No language model takes part. Each policy is fixed and reads until the answer is in view:

* `librarian`: `search_documentation` with the question, then `get_document` on each listed document in order (with the
  question as `query` where the tool takes one; a truncated document is read to its end), then the next page of results.
* `grep, pages`: the question's six rarest words, searched for as `rg -inF` does; two matching lines of each of the
  eight best files (rare words and many matching lines count); then these files whole, in that order; then the next
  eight files. Of the orders and numbers that were tried, these are the cheapest for grep on `lines`.
* `grep, windows`: the same search, then 30 lines around each line that was shown, one call for each file.

Sets: `ray` and `kubernetes_tasks` have judged pages: one is reached once a call names it and shows some of its text.
`lines` are the 266 questions of `answers/`: one is reached once at least half of the runs of three words in its
answering lines have been shown. Tokens are characters of tool output divided by four; all output of a call is paid for,
and "read within" counts the last call's only up to the line that completes the answer. A question that isn't reached
within `--max-tokens` counts as infinitely expensive.

    python benchmarks/agent_cost.py DOCS --questions FOLDER --index FOLDER [--set lines] [--json FILE] [--save]

DOCS holds the products' folders, `--questions` the folders `ray` and `kubernetes_tasks` with `queries.jsonl` and
`qrels.tsv`. Indexes are kept in `--index` and brought up to date.
"""

from __future__ import annotations

import argparse
import json
import math
import re
import statistics
import tempfile
import time
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import date
from functools import cached_property
from pathlib import Path
from typing import Any

import answers
from judged_sets import JudgedSet, settings_of
from librarian import Librarian
from librarian.evaluation.evaluate import load
from mcp_tools import Tools, served
from plain import STOP

SETS = ("ray", "kubernetes_tasks", "lines")
LIMITS = (1_000, 2_000)  #: tokens; the share of questions reached within each is reported
CHARACTERS_PER_TOKEN = 4
WORDS_PER_RUN = 3

REPOSITORY = Path(__file__).resolve().parents[1]
RESULTS = REPOSITORY / "benchmarks" / "results" / "agent_cost.json"
PAGE = REPOSITORY / "docs" / "librarian" / "explanation" / "agent-cost.md"
_FIGURES = re.compile(r"(<!-- figures -->\n).*?(<!-- end of figures -->)", re.DOTALL)

_LINK_TARGET = re.compile(r"\]\([^)\s]*\)|`([^`<\n]*)<[^>`\n]*>`_*|<[a-zA-Z/!][^>\n]*>")
_WORD = re.compile(r"[^\W_]+(?:_+[^\W_]+)*")


def tokens(text: str) -> int:
    """The estimated tokens of a text."""
    return math.ceil(len(text) / CHARACTERS_PER_TOKEN)


def runs(text: str) -> set[tuple[str, ...]]:
    """The runs of three words of a text without link targets and tags; of a shorter text, all its words as one."""
    words = [word.lower() for word in _WORD.findall(_LINK_TARGET.sub(r"\1 ", text))]
    size = min(WORDS_PER_RUN, len(words))
    return {tuple(words[at : at + size]) for at in range(len(words) - size + 1)} if words else set()


@dataclass(frozen=True, slots=True)
class Call:
    """One tool call: the text that enters the context, what each of its lines holds of a document, the pages shown."""

    text: str
    content: str
    pages: frozenset[str]

    @property
    def tokens(self) -> int:
        return tokens(self.text)


@dataclass(frozen=True, slots=True)
class Task:
    """A question with the pages that answer it; where lines were judged, their places and their text."""

    set_name: str
    product: str
    text: str
    pages: frozenset[str]
    places: tuple[answers.Place, ...] = ()
    passages: tuple[str, ...] = ()


class View:
    """What has been shown of a task's answer so far."""

    def __init__(self, task: Task) -> None:
        self._pages = task.pages
        self._wanted = [runs(passage) for passage in task.passages]
        self._missing = [set(one) for one in self._wanted]

    def add(self, call: Call) -> int | None:
        """Tokens of the call's output after which the answer is in view, None if it isn't yet."""
        lines = call.text.split("\n")
        if self._wanted:
            content = call.content.split("\n")
            if not self._holds(content):
                for one in self._missing:
                    one -= runs(call.content)
                return None
            count = 1 + bisect_left(range(1, len(content)), True, key=lambda size: self._holds(content[:size]))
        elif call.pages & self._pages:  # the line that names the page, if any does, and the next one
            named = (at for at, line in enumerate(lines) if any(page in line for page in self._pages))
            count = next(named, -1) + 2
        else:
            return None
        return tokens("\n".join(lines[:count]))

    def _holds(self, content: Sequence[str]) -> bool:
        shown = runs("\n".join(content))
        pairs = zip(self._missing, self._wanted, strict=True)
        return any(2 * len(missing - shown) <= len(wanted) for missing, wanted in pairs if wanted)


Policy = Callable[[str], Iterator[Call]]


@dataclass(frozen=True, slots=True)
class Cost:
    """Tokens of all calls until the answer came into view, those up to the line that completes it, and calls.

    Of a question that wasn't reached: what was spent.
    """

    tokens: int
    read: int
    calls: int
    reached: bool


def cost(task: Task, policy: Policy, most: int) -> Cost:
    """Follow a policy until the answer is in view, it has nothing left to read, or `most` tokens are spent."""
    view, spent, calls = View(task), 0, 0
    for call in policy(task.text):
        read = view.add(call)
        before, spent, calls = spent, spent + call.tokens, calls + 1
        if spent > most:
            break
        if read is not None:
            return Cost(spent, before + read, calls, True)
    return Cost(spent, spent, calls, False)


# -- Librarian -----------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class LibrarianPolicy:
    """Search, read the listed documents in order, take the next page of results. `first` are the first searches'
    sizes: tokens of the text, and characters of the structured half per character of text."""

    tools: Tools
    first: list[tuple[int, float]] = field(default_factory=list)

    def __call__(self, question: str) -> Iterator[Call]:
        reads_by_query = "query" in self.tools.arguments_of("get_document")
        read: set[str] = set()
        offset: int | None = 0
        while offset is not None:
            given = {"query": question} | ({"offset": offset} if offset else {})
            found = self.tools.call("search_documentation", given)
            if found.failed:
                raise RuntimeError(f"search_documentation failed for {question!r}: {found.text}")
            paths = list(dict.fromkeys(result["file_path"] for result in found.structured["results"]))
            call = Call(found.text, found.text, frozenset(path for path in paths if path in found.text))
            if not offset:
                self.first.append((call.tokens, found.structured_size / len(found.text)))
            yield call
            for path in paths:
                if path not in read:
                    read.add(path)
                    yield from self._read(path, question if reads_by_query else None)
            offset = found.structured.get("next_offset")

    def _read(self, path: str, question: str | None) -> Iterator[Call]:
        given: dict[str, object] = {"path": path, **({"query": question} if question else {})}
        while True:
            found = self.tools.call("get_document", given)
            yield Call(found.text, found.text, frozenset() if found.failed else frozenset([path]))
            more = not found.failed and not question and found.structured.get("truncated")
            if not more:
                return
            given = {"path": path, "line_start": found.structured["next_line"]}
            if found.structured.get("next_column") is not None:
                given |= {"line_start": found.structured["line_end"], "column_start": found.structured["next_column"]}


# -- grep ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Match:
    """A file with matching lines. `weight` is the sum of the inverse document frequencies of the words that it holds,
    times the logarithm of the number of lines."""

    path: str
    weight: float
    lines: Mapping[int, float]  #: index of each matching line → the sum for its words

    def best(self, most: int) -> list[int]:
        """The lines with the most weight, in the file's order."""
        return sorted(sorted(self.lines, key=lambda at: (-self.lines[at], at))[:most])


class Grep:
    """Searches the lines of a folder's files for words, case-insensitively, and prints as `rg -n` does."""

    def __init__(self, docs: Path, product: str, *, words: int, files: int, lines: int, around: int) -> None:
        self.words, self.files, self.lines, self.around = words, files, lines, around
        self.texts: dict[str, list[str]] = {}
        self._last: tuple[str, list[Match]] = ("", [])
        for file in sorted(path for path in (docs / product).rglob("*") if path.is_file()):
            self.texts[file.relative_to(docs).as_posix()] = file.read_text("utf-8", errors="replace").splitlines()

    @cached_property
    def _lowered(self) -> dict[str, str]:
        return {path: "\n".join(lines).lower() for path, lines in self.texts.items()}

    def document_frequency(self, word: str) -> int:
        return sum(word in text for text in self._lowered.values())

    def rarest(self, question: str) -> list[str]:
        """The rarest words of a question that occur at all; of a dotted name that doesn't, its parts."""
        frequencies: dict[str, int] = {}
        for name in re.findall(r"\w+(?:[.\-]\w+)*", question.lower()):
            whole = self.document_frequency(name)
            for word in [name] if whole else re.split(r"[.\-]", name):
                if len(word) > 1 and word not in STOP and (frequency := self.document_frequency(word)):
                    frequencies[word] = frequency
        return sorted(frequencies, key=lambda word: (frequencies[word], word))[: self.words]

    def matches(self, words: Sequence[str]) -> list[Match]:
        """Files with a word, by weight."""
        weights = {word: math.log(1 + len(self.texts) / self.document_frequency(word)) for word in words}
        found = []
        for path, text in self._lowered.items():
            held = {word: weight for word, weight in weights.items() if word in text}
            if held:
                sums = (sum(held[word] for word in held if word in line) for line in text.split("\n"))
                lines = {at: weight for at, weight in enumerate(sums) if weight}
                found.append(Match(path, sum(held.values()) * math.log(1 + len(lines)), lines))
        return sorted(found, key=lambda match: (-match.weight, match.path))

    def searches(self, question: str) -> Iterator[tuple[Call, list[Match]]]:
        """Calls that each show the best matching lines of the next few files."""
        if self._last[0] != question:  # both policies ask the same questions in turn
            self._last = question, self.matches(self.rarest(question))
        found = self._last[1]
        for start in range(0, len(found), self.files):
            portion = found[start : start + self.files]
            shown = [(match.path, at) for match in portion for at in match.best(self.lines)]
            text = "\n".join(f"{path}:{at + 1}:{self.texts[path][at]}" for path, at in shown)
            content = "\n".join(self.texts[path][at] for path, at in shown)
            yield Call(text, content, frozenset(match.path for match in portion)), portion

    def pages(self, question: str) -> Iterator[Call]:
        """Policy: whole files in the order of their matches."""
        for call, portion in self.searches(question):
            yield call
            for match in portion:
                text = "\n".join(self.texts[match.path])
                yield Call(text, text, frozenset([match.path]))

    def windows(self, question: str) -> Iterator[Call]:
        """Policy: the lines around each line that was shown, one call for each file."""
        for call, portion in self.searches(question):
            yield call
            for match in portion:
                lines = self.texts[match.path]
                near = {
                    line
                    for at in match.best(self.lines)
                    for line in range(max(0, at - self.around), min(len(lines), at + self.around))
                }
                text = "\n".join(f"{at + 1}:{lines[at]}" for at in sorted(near))
                yield Call(text, "\n".join(lines[at] for at in sorted(near)), frozenset([match.path]))


# -- tasks and figures -----------------------------------------------------------------------------------------------


def tasks(names: Sequence[str], docs: Path, questions: Path, limit: int | None = None) -> list[Task]:
    """The questions of the named sets, at most `limit` of each product's."""
    found: list[Task] = []
    for name in names:
        if name == "lines":
            for product in answers.PRODUCTS:
                found += [_with_lines(docs, product, asked) for asked in answers.questions(product)[:limit]]
        else:
            for judged in load(questions / name / "queries.jsonl", questions / name / "qrels.tsv")[:limit]:
                pages = frozenset(page for page, grade in judged.grades.items() if grade > 0)
                found.append(Task(name, name.partition("_")[0], judged.text, pages))
    return found


def _with_lines(docs: Path, product: str, asked: answers.VectorRequest) -> Task:
    passages = []
    for place in asked.answers:
        lines = (docs / place.path).read_text("utf-8", errors="replace").splitlines()
        passages.append("\n".join(lines[place.first - 1 : place.last]))
    pages = frozenset(place.path for place in asked.answers)
    return Task("lines", product, asked.text, pages, asked.answers, tuple(passages))


Figures = dict[str, float | None]


def figures(costs: Sequence[Cost]) -> Figures:
    """Medians and 90th percentiles (None where that question wasn't reached), and the shares reached."""
    found: Figures = {}
    for name in ("tokens", "read", "calls"):
        values = sorted(getattr(one, name) if one.reached else math.inf for one in costs)
        found[f"{name}_median"] = _finite(statistics.median_high(values))
        found[f"{name}_p90"] = _finite(values[math.ceil(0.9 * len(values)) - 1])
        if name != "calls":
            found |= {f"{name}_within_{limit}": _share(value <= limit for value in values) for limit in LIMITS}
    return found | {"reached": _share(one.reached for one in costs)}


def _finite(value: float) -> float | None:
    return None if math.isinf(value) else value


def _share(given: Iterable[bool]) -> float:
    return round(statistics.mean(given), 4)


def summary(results: Mapping[str, Any]) -> str:
    """A Markdown table of the figures by set and policy, and a line about the size of one search."""
    shares = [f"{what}_within_{limit}" for what in ("tokens", "read") for limit in LIMITS]
    heads = ["set, questions", "policy", "tokens, median", "p90", "calls, median", "p90"]
    heads += [f"{what} {limit:,}" for what in ("within", "read within") for limit in LIMITS]
    rows = [f"| {' | '.join([*heads, 'within {:,}'.format(results['max_tokens'])])} |", "|---" * (len(heads) + 1) + "|"]
    for name, by_policy in results["sets"].items():
        for policy, found in by_policy.items():
            numbers = [found[key] for key in ("tokens_median", "tokens_p90", "calls_median", "calls_p90")]
            cells = ["—" if number is None else f"{number:,.0f}" for number in numbers]
            cells += [f"{found[key]:.2f}" for key in (*shares, "reached")]
            rows.append(f"| `{name}`, {results['questions'][name]} | {policy} | {' | '.join(cells)} |")
    if size := results.get("one_search"):
        rows += [
            "",
            f"The text of one search has {size['text_tokens_median']:,.0f} tokens in the median and at most "
            f"{size['text_tokens_max']:,}.",
        ]
    rows += ["", f"Measured on {results['measured']}."]
    return "\n".join(rows)


def with_figures(page: str, results: Mapping[str, Any]) -> str:
    """The manual's page with these figures between its marks."""
    return _FIGURES.sub(lambda match: f"{match[1]}{summary(results)}\n{match[2]}", page)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("docs", type=Path, help="a folder with the products' folders")
    parser.add_argument("--questions", type=Path, help="a folder with the judged sets' folders")
    parser.add_argument("--index", type=Path, help="where the indexes are kept; a temporary folder by default")
    parser.add_argument("--set", action="append", choices=SETS, help="all three by default")
    parser.add_argument("--policy", action="append", choices=("librarian", "grep"), help="both by default")
    parser.add_argument("--limit", type=int, help="ask only the first questions of each product")
    parser.add_argument("--max-tokens", type=int, default=50_000, help="give up after this many (default 50,000)")
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    parser.add_argument("--save", action="store_true", help="keep the figures in benchmarks/results and in the manual")
    parser.add_argument("--details", type=Path, help="write one JSON line for each question and policy to this file")
    parser.add_argument("--grep-words", type=int, default=6, help="words searched for")
    parser.add_argument("--grep-files", type=int, default=8, help="files shown by each search")
    parser.add_argument("--grep-lines", type=int, default=2, help="matching lines shown of each file")
    given = parser.parse_args()
    names = given.set or SETS
    if given.questions is None and names != ["lines"]:
        parser.error("--questions is missing: the folder that holds ray/ and kubernetes_tasks/ (or ask --set lines)")
    every = tasks(names, given.docs, given.questions or Path(), given.limit)
    policies = given.policy or ["librarian", "grep"]
    rows: list[tuple[Task, str, Cost]] = []
    first: list[tuple[int, float]] = []
    seconds: defaultdict[str, float] = defaultdict(float)

    def follow(kind: str, by_name: Mapping[str, Policy], asked: Sequence[Task]) -> None:
        for task in asked:
            started = time.perf_counter()
            rows.extend((task, name, cost(task, policy, given.max_tokens)) for name, policy in by_name.items())
            seconds[f"{task.set_name}: {kind}"] += time.perf_counter() - started

    with tempfile.TemporaryDirectory() as temporary:
        for product in dict.fromkeys(task.product for task in every):
            asked = [task for task in every if task.product == product]
            if "librarian" in policies:
                judged = JudgedSet(product, given.docs, (f"{product}/**",), Path("-"), Path("-"))
                started = time.perf_counter()
                settings = settings_of(judged, given.index or Path(temporary))
                with Librarian.open(**settings) as library, served(library) as tools:
                    tools.wait_until_calibrated()
                    seconds[f"opening {product}"] = time.perf_counter() - started
                    follow("librarian", {"librarian": LibrarianPolicy(tools, first)}, asked)
            if "grep" in policies:
                sizes = {"words": given.grep_words, "files": given.grep_files, "lines": given.grep_lines, "around": 15}
                grep = Grep(given.docs, product, **sizes)
                follow("grep", {"grep, windows": grep.windows, "grep, pages": grep.pages}, asked)
    report(given, names, rows, first, seconds)


def report(
    given: argparse.Namespace,
    names: Sequence[str],
    rows: Sequence[tuple[Task, str, Cost]],
    first: Sequence[tuple[int, float]],
    seconds: Mapping[str, float],
) -> None:
    """Print the figures; write the files that were asked for."""
    sets: dict[str, dict[str, Figures]] = {name: {} for name in names}
    for name in names:
        for policy in dict.fromkeys(policy for _, policy, _ in rows):
            sets[name][policy] = figures([one for task, of, one in rows if task.set_name == name and of == policy])
    results: dict[str, Any] = {
        "measured": date.today().isoformat(),
        "max_tokens": given.max_tokens,
        "questions": {name: len({id(task) for task, _, _ in rows if task.set_name == name}) for name in names},
        "sets": sets,
    }
    if first:
        texts = [one[0] for one in first]
        results["one_search"] = {"text_tokens_median": statistics.median(texts), "text_tokens_max": max(texts)}
    print(summary(results))
    print("\nSeconds: " + ", ".join(f"{name} {value:.0f}" for name, value in seconds.items()))
    if given.json:
        given.json.parent.mkdir(parents=True, exist_ok=True)
        given.json.write_text(json.dumps(results, indent=1) + "\n", "utf-8")
    if given.save:
        RESULTS.parent.mkdir(exist_ok=True)
        RESULTS.write_text(json.dumps(results, indent=1) + "\n", "utf-8")
        PAGE.write_text(with_figures(PAGE.read_text("utf-8"), results), "utf-8")
    if given.details:
        with given.details.open("w", encoding="utf-8") as out:
            for task, policy, one in rows:
                row = {"set": task.set_name, "product": task.product, "policy": policy, "text": task.text}
                out.write(json.dumps(row | asdict(one), ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
