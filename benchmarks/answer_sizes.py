"""How long the structured half of a search is against its text, over the questions of `benchmarks/answers`.

The documents of one product are indexed by words alone, and each question is asked through the MCP tool for the usual
number of results, for five and for three.

    python benchmarks/answer_sizes.py DOCS --product prometheus
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
from pathlib import Path

import answers
from librarian import Librarian
from mcp_tools import served

ASKED: tuple[dict[str, int], ...] = ({}, {"max_results": 5}, {"max_results": 3})


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("docs", type=Path, help="a folder with the products' folders")
    parser.add_argument("--product", default="prometheus", choices=answers.PRODUCTS)
    given = parser.parse_args()
    settings = {"docs.include": [f"{given.product}/**"], "embeddings.enabled": False, "logging.level": "ERROR"}
    with (
        tempfile.TemporaryDirectory() as index,
        Librarian.open(root=given.docs, index=Path(index), **settings) as library,
        served(library) as tools,
    ):
        tools.wait_until_calibrated()
        print("| results | searches | structured half / text, median | at most |\n|---|---|---|---|")
        for asked in ASKED:
            found = [
                tools.call("search_documentation", {"query": question.text} | asked)
                for question in answers.questions(given.product)
            ]
            ratios = [one.structured_size / len(one.text) for one in found]
            results = asked.get("max_results", "the usual number")
            print(f"| {results} | {len(ratios)} | {statistics.median(ratios):.2f} | {max(ratios):.2f} |", flush=True)


if __name__ == "__main__":
    main()
