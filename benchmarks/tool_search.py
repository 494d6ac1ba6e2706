"""How easily tool search finds each tool of Librarian, alone and beside the tools of eight other servers.

Hosts with many tools show a model only those that a keyword search over names and descriptions finds. This ranks tools
by BM25 over name and description: stop words are left out, plurals are reduced to the singular. FOLDER holds
`foreign_tools.json`, a list of {server, name, description}, and `tool_queries.json`, a list of {query, wanted}.

    python benchmarks/tool_search.py FOLDER --save
"""

from __future__ import annotations

import argparse
import json
import random
import re
import statistics
import sys
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from rank_bm25 import BM25Plus

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "backend"))

from librarian.schemas import TOOLSETS, input_schema

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "librarian" / "explanation" / "agent-cost.md"
_FIGURES = re.compile(r"(<!-- tool search -->\n).*?(<!-- end of tool search -->)", re.DOTALL)
STOP_WORDS = frozenset(
    re.findall(
        r"\w+",
        """a about all an and any are as at be been but by can could did do does for from had has have how i if in into
        is it its me may must my no not of on one only or our shall should so such that the their them then there these
        this those to was we were what when where which who why will with would you your""",
    )
)


def words(text: str) -> list[str]:
    """Words in lower case and singular, without stop words; names are taken apart at `_` and capitals."""
    apart = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|_", " ", text)
    found = re.findall(r"[a-z0-9]+", apart.lower())
    return [_singular(word) for word in found if word not in STOP_WORDS]


def _singular(word: str) -> str:
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word


def ranks(tools: Mapping[str, str], queries: Sequence[Mapping[str, str]]) -> list[int]:
    """The rank of each query's wanted tool among `tools`, name → text; of equal scores the wanted tool is last."""
    names = list(tools)
    index = BM25Plus([words(f"{text}") for text in tools.values()], k1=1.2, b=0.75, delta=0.0)
    found = []
    for query in queries:
        scores = index.get_scores(words(query["query"]))
        wanted = scores[names.index(query["wanted"])]
        found.append(int((scores >= wanted).sum()) if wanted > 0 else len(names))
    return found


def own_tools() -> dict[str, str]:
    """The nine tools that every library offers, by name."""
    return {each.name: f"{each.name} {each.description}" for each in TOOLSETS["default"]}


def listed_size() -> int:
    """Bytes of the nine tools' names, titles, descriptions and input schemas as compact JSON."""
    tools = [
        {
            "name": each.name,
            "title": each.title,
            "description": each.description,
            "inputSchema": input_schema(each.request),
        }
        for each in TOOLSETS["default"]
    ]
    return len(json.dumps(tools, separators=(",", ":"), ensure_ascii=False).encode())


def beside(foreign: Mapping[str, Sequence[Mapping[str, str]]], servers: int, seed: int) -> dict[str, str]:
    """Our nine and the tools of some servers, picked at random."""
    picked = random.Random(seed).sample(sorted(foreign), servers)
    others = {
        f"{name}/{tool['name']}": f"{tool['name']} {tool['description']}" for name in picked for tool in foreign[name]
    }
    return own_tools() | others


def share(found: Iterable[int], within: int) -> float:
    """How many of the ranks are at most `within`."""
    return statistics.mean(rank <= within for rank in found)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path, help="holds foreign_tools.json and tool_queries.json")
    parser.add_argument("--servers", type=int, default=8, help="other servers at once (8)")
    parser.add_argument("--draws", type=int, default=100, help="random choices of servers (100)")
    parser.add_argument("--details", action="store_true", help="print the ranks of each query")
    parser.add_argument("--save", action="store_true", help="write the figures into the manual")
    given = parser.parse_args()
    queries: list[dict[str, str]] = json.loads((given.folder / "tool_queries.json").read_text("utf-8"))
    foreign: defaultdict[str, list[dict[str, Any]]] = defaultdict(list)
    for tool in json.loads((given.folder / "foreign_tools.json").read_text("utf-8")):
        foreign[tool["server"]].append(tool)
    alone = ranks(own_tools(), queries)
    draws = [ranks(beside(foreign, given.servers, seed), queries) for seed in range(given.draws)]
    if given.details:
        for place, query in enumerate(queries):
            others = sorted(draw[place] for draw in draws)
            print(f"{alone[place]}  {others[len(others) // 2]:3}  {query['wanted']:22} {query['query']}")
    shares = [share(draw, 3) for draw in draws]
    table = "\n".join(
        [
            "| ranked among | measure | share of queries |",
            "|---|---|---|",
            f"| the nine tools of Librarian | rank 1 | {share(alone, 1):.2f} |",
            f"| these and the tools of {given.servers} other servers, {given.draws} random choices | rank 3 or better "
            f"| {statistics.mean(shares):.2f} ({min(shares):.2f} to {max(shares):.2f}) |",
            "",
            f"Names, titles, descriptions and input schemas of the nine take {listed_size():,} bytes.",
        ]
    )
    print(table)
    if given.save:
        page = PAGE.read_text("utf-8")
        PAGE.write_text(_FIGURES.sub(lambda match: f"{match[1]}{table}\n{match[2]}", page), "utf-8")


if __name__ == "__main__":
    main()
