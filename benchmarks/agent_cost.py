"""What an agent pays for an answer: tokens and tool calls until the passage that answers is in its context.

No language model takes part. Each policy is fixed and reads until the answer is in view:

* `librarian`: `search_documentation` with the question, then `get_document` on each listed document in order (with the
  question as `query` where the tool takes one; a truncated document is read to its end), then the next page of results.
* `grep, pages`: `grep -n` for the question's rarest words; the files with the most of them, a few matching lines each;
  then these files whole, in that order; then the next files.
* `grep, windows`: the same search, then 30 lines around each line that was shown, file by file.

Sets: `ray` and `kubernetes_tasks` have judged pages: one is reached once a call names it and shows some of its text.
`lines` are the 266 questions of `answers/`: one is reached once at least half of the runs of three words in its
answering lines have been shown. Tokens are characters of tool output divided by four. A question that isn't reached
within `--max-tokens` counts as infinitely expensive.

    python benchmarks/agent_cost.py DOCS --questions FOLDER --index FOLDER [--set lines] [--json FILE]

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
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import cached_property
from pathlib import Path

import answers
from judged_sets import JudgedSet, settings_of
from librarian import Librarian
from librarian.evaluation.judgments import load
from mcp_tools import Tools, served
from plain import STOP

SETS = ("ray", "kubernetes_tasks", "lines")
LIMITS = (1_000, 2_000)  #: tokens; the share of questions reached within each is reported
CHARACTERS_PER_TOKEN = 4
WORDS_PER_RUN = 3

_LINK_TARGET = re.compile(r"\]\([^)\s]*\)|`([^`<\n]*)<[^>`\n]*>`_*|<[a-zA-Z/!][^>\n]*>")
_WORD = re.compile(r"[^\W_]+(?:_+[^\W_]+)*")


def runs(text: str) -> set[tuple[str, ...]]:
    """The runs of three words of a text without link targets and tags; of a shorter text, all its words as one."""
    words = [word.lower() for word in _WORD.findall(_LINK_TARGET.sub(r"\1 ", text))]
    size = min(WORDS_PER_RUN, len(words))
    return {tuple(words[at : at + size]) for at in range(len(words) - size + 1)} if words else set()


@dataclass(frozen=True, slots=True)
class Call:
    """One tool call: the text that enters the context, what of it is document text, and the pages shown in it."""

    text: str
    content: str
    pages: frozenset[str]

    @property
    def tokens(self) -> int:
        return math.ceil(len(self.text) / CHARACTERS_PER_TOKEN)


@dataclass(frozen=True, slots=True)
class Task:
    """A question with the pages that answer it or, where `passages` isn't empty, the passages that do."""

    set_name: str
    product: str
    text: str
    pages: frozenset[str]
    passages: tuple[str, ...] = ()

    def reached(self, calls: Iterable[Call]) -> Iterator[bool]:
        """After each call, whether the answer is in view."""
        wanted = [runs(passage) for passage in self.passages]
        missing = [set(one) for one in wanted]
        for call in calls:
            if not wanted:
                yield bool(call.pages & self.pages)
                continue
            shown = runs(call.content)
            for one in missing:
                one -= shown
            yield any(2 * len(left) <= len(all_) for left, all_ in zip(missing, wanted, strict=True) if all_)


Policy = Callable[[str], Iterator[Call]]


@dataclass(frozen=True, slots=True)
class Cost:
    """Tokens and calls until the answer was in view; of a question that wasn't reached, those that were spent."""

    tokens: int
    calls: int
    reached: bool


def cost(task: Task, policy: Policy, most: int) -> Cost:
    """Follow a policy until the answer is in view, it has nothing left to read, or `most` tokens are spent."""
    spent: list[int] = []

    def counted() -> Iterator[Call]:
        for call in policy(task.text):
            spent.append(call.tokens)
            yield call

    for reached in task.reached(counted()):
        if reached and sum(spent) <= most:
            return Cost(sum(spent), len(spent), True)
        if sum(spent) > most:
            break
    return Cost(sum(spent), len(spent), False)


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
        given: dict[str, object] | None = {"path": path} | ({"query": question} if question else {})
        while given is not None:
            found = self.tools.call("get_document", given)
            yield Call(found.text, found.text, frozenset() if found.failed else frozenset([path]))
            more = not found.failed and not question and found.structured.get("truncated")
            given = {"path": path, "line_start": found.structured["next_line"]} if more else None
            if given and found.structured.get("next_column") is not None:
                given |= {"line_start": found.structured["line_end"], "column_start": found.structured["next_column"]}


# -- grep ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Match:
    """A file with matching lines, and how many different words they hold."""

    path: str
    distinct: int
    lines: Mapping[int, int]  #: index of each matching line → how many different words it holds

    def best(self, most: int) -> list[int]:
        """The lines with the most words, in the file's order."""
        return sorted(sorted(self.lines, key=lambda at: (-self.lines[at], at))[:most])


class Grep:
    """Searches the lines of a folder's files for words, case-insensitively, and prints as `rg -n` does."""

    def __init__(self, docs: Path, product: str, *, words: int, files: int, lines: int, around: int) -> None:
        self.words, self.files, self.lines, self.around = words, files, lines, around
        self.texts: dict[str, list[str]] = {}
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
        """Files with a word, by how many different words they hold, then by matching lines."""
        found = []
        for path, text in self._lowered.items():
            held = [word for word in words if word in text]
            if held:
                counts = ((at, sum(word in line for word in held)) for at, line in enumerate(text.split("\n")))
                found.append(Match(path, len(held), {at: count for at, count in counts if count}))
        return sorted(found, key=lambda match: (-match.distinct, -len(match.lines), match.path))

    def searches(self, question: str) -> Iterator[tuple[Call, list[Match]]]:
        """Calls that each show the best matching lines of the next few files."""
        found = self.matches(self.rarest(question))
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


def _with_lines(docs: Path, product: str, asked: answers.Asked) -> Task:
    passages = []
    for place in asked.answers:
        lines = (docs / place.path).read_text("utf-8", errors="replace").splitlines()
        passages.append("\n".join(lines[place.first - 1 : place.last]))
    return Task("lines", product, asked.text, frozenset(one.path for one in asked.answers), tuple(passages))


def figures(costs: Sequence[Cost]) -> dict[str, float | None]:
    """Median and 90th percentile of tokens and calls (None where that question wasn't reached), and shares reached."""
    tokens = sorted(one.tokens if one.reached else math.inf for one in costs)
    calls = sorted(one.calls if one.reached else math.inf for one in costs)
    found = {
        "tokens_median": _finite(statistics.median_high(tokens)),
        "tokens_p90": _finite(tokens[math.ceil(0.9 * len(tokens)) - 1]),
        "calls_median": _finite(statistics.median_high(calls)),
        "calls_p90": _finite(calls[math.ceil(0.9 * len(calls)) - 1]),
    }
    shares = {f"within_{limit}": round(sum(value <= limit for value in tokens) / len(tokens), 4) for limit in LIMITS}
    return {**found, **shares, "reached": round(sum(one.reached for one in costs) / len(costs), 4)}


def _finite(value: float) -> float | None:
    return None if math.isinf(value) else value


def table(results: Mapping[str, Mapping[str, Mapping[str, float | None]]], sizes: Mapping[str, int], most: int) -> str:
    """A Markdown table of `figures` by set and policy."""
    heads = ["set", "policy", "tokens, median", "p90", "calls, median", "p90"]
    heads += [*(f"within {limit:,}" for limit in LIMITS), f"within {most:,}"]
    rows = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    for name, by_policy in results.items():
        for policy, found in by_policy.items():
            numbers = [found[key] for key in ("tokens_median", "tokens_p90", "calls_median", "calls_p90")]
            cells = ["—" if number is None else f"{number:,.0f}" for number in numbers]
            cells += [f"{found[key]:.2f}" for key in (*(f"within_{limit}" for limit in LIMITS), "reached")]
            rows.append(f"| {name}, {sizes[name]} | {policy} | {' | '.join(cells)} |")
    return "\n".join(rows)


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
    parser.add_argument("--details", type=Path, help="write one JSON line for each question and policy to this file")
    parser.add_argument("--grep-words", type=int, default=3, help="words searched for")
    parser.add_argument("--grep-files", type=int, default=5, help="files shown by each search")
    parser.add_argument("--grep-lines", type=int, default=3, help="matching lines shown of each file")
    given = parser.parse_args()
    names = given.set or SETS
    if given.questions is None and names != ["lines"]:
        parser.error("--questions is missing: the folder that holds ray/ and kubernetes_tasks/ (or ask --set lines)")
    every = tasks(names, given.docs, given.questions or Path(), given.limit)
    policies = given.policy or ["librarian", "grep"]
    rows: list[tuple[Task, str, Cost]] = []
    first: list[tuple[int, float]] = []
    seconds: Counter[str] = Counter()

    def follow(name: str, policy: Policy, asked: Sequence[Task]) -> None:
        for task in asked:
            started = time.perf_counter()
            rows.append((task, name, cost(task, policy, given.max_tokens)))
            seconds[f"{task.set_name}: {name}"] += time.perf_counter() - started

    with tempfile.TemporaryDirectory() as temporary:
        for product in dict.fromkeys(task.product for task in every):
            asked = [task for task in every if task.product == product]
            if "librarian" in policies:
                judged = JudgedSet(product, given.docs, (f"{product}/**",), Path("-"), Path("-"))
                started = time.perf_counter()
                with Librarian.open(**settings_of(judged, given.index or Path(temporary))) as library:
                    seconds[f"opening {product}"] = time.perf_counter() - started
                    with served(library) as tools:
                        policy = LibrarianPolicy(tools, first)
                        follow("librarian", policy, asked)
            if "grep" in policies:
                sizes = {"words": given.grep_words, "files": given.grep_files, "lines": given.grep_lines, "around": 15}
                grep = Grep(given.docs, product, **sizes)
                follow("grep, pages", grep.pages, asked)
                follow("grep, windows", grep.windows, asked)
    report(given, names, rows, first, seconds)


def report(
    given: argparse.Namespace,
    names: Sequence[str],
    rows: Sequence[tuple[Task, str, Cost]],
    first: Sequence[tuple[int, float]],
    seconds: Mapping[str, float],
) -> None:
    """Print the table; write the files that were asked for."""
    results: dict[str, dict[str, dict[str, float | None]]] = {name: {} for name in names}
    for name in names:
        for policy in dict.fromkeys(policy for _, policy, _ in rows):
            costs = [one for task, of, one in rows if task.set_name == name and of == policy]
            results[name][policy] = figures(costs)
    sizes = {name: len({id(task) for task, _, _ in rows if task.set_name == name}) for name in names}
    print(table(results, sizes, given.max_tokens))
    search: dict[str, float] = {}
    if first:
        texts, ratios = [one[0] for one in first], [one[1] for one in first]
        search = {
            "text_tokens_median": statistics.median(texts),
            "text_tokens_max": max(texts),
            "structured_ratio_median": round(statistics.median(ratios), 2),
            "structured_ratio_max": round(max(ratios), 2),
        }
        print(
            f"\nOne search: text {search['text_tokens_median']:,.0f} tokens (median), {max(texts):,} (most); "
            f"structured half {search['structured_ratio_median']} times the text (median), {max(ratios):.2f} (most)."
        )
    print("\nSeconds: " + ", ".join(f"{name} {value:.0f}" for name, value in seconds.items()))
    if given.json:
        found = {
            "measured": date.today().isoformat(),
            "max_tokens": given.max_tokens,
            "questions": sizes,
            "sets": results,
            "one_search": search,
        }
        given.json.parent.mkdir(parents=True, exist_ok=True)
        given.json.write_text(json.dumps(found, indent=1) + "\n", "utf-8")
    if given.details:
        with given.details.open("w", encoding="utf-8") as out:
            for task, policy, one in rows:
                row = {"set": task.set_name, "product": task.product, "policy": policy, "text": task.text}
                row |= {"tokens": one.tokens, "calls": one.calls, "reached": one.reached}
                out.write(json.dumps(row, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
