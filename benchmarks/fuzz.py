"""Hostile documents, queries and arguments by the thousand: how many were tried, and what came of them.

    PYTHONPATH=backend python benchmarks/fuzz.py --documents 500 --queries 5000

Documents: for each format, bytes drawn by chance (`tests/reliability/hostile.py`), and the classics at full size, each
read in a child with limits. Queries: strings made of operators, brackets, control characters and words, through the
analyzer, the keyword index and the router. Anything but an answer or a refusal in words counts as found.
"""

from __future__ import annotations

import argparse
import logging
import sys
import tempfile
import time
import warnings
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "backend"))

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from librarian.indexing.indexer import IndexerOptions
from librarian.indexing.refresh import reader_pool
from librarian.models import ReadResult, SourceFile
from librarian.parsing.chunking import StructureChunker
from librarian.parsing.reader import PARSERS, FileReader
from librarian.text.analyzer import StandardAnalyzer
from tests.reliability.hostile import by_chance, by_hand
from tests.reliability.queries import QUERIES, VectorRequest
from tests.reliability.test_hostile_files import read


def main() -> int:
    """Prints the figures; returns 1 where something was found."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--documents", type=int, default=300, help="for each format")
    parser.add_argument("--queries", type=int, default=5000)
    options = parser.parse_args()
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    found = documents(options.documents) + classics() + queries(options.queries)
    for line in found:
        print("FOUND", line)
    return 1 if found else 0


def many(number: int) -> settings:
    return settings(
        max_examples=number,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )


def documents(number: int) -> list[str]:
    """Bytes by chance for every format."""
    reader, found = FileReader(StandardAnalyzer(), StructureChunker()), []
    tried: Counter[bool] = Counter()
    slowest, began = 0.0, time.monotonic()
    for extension in sorted(PARSERS):

        @many(number)
        @given(made=st.tuples(st.just(extension), by_chance(extension)))
        def attempt(made: tuple[str, bytes]) -> None:
            nonlocal slowest
            start = time.monotonic()
            tried[read(reader, *made)] += 1
            slowest = max(slowest, time.monotonic() - start)

        try:
            attempt()
        except Exception as error:
            found.append(f"{extension}: {type(error).__name__}: {str(error)[:200]}")
    print(
        f"documents by chance: {sum(tried.values()):,} in {len(PARSERS)} formats; {tried[True]:,} read, "
        f"{tried[False]:,} refused, {len(found)} found; slowest {slowest:.2f} s; "
        f"took {time.monotonic() - began:.0f} s",
        flush=True,
    )
    return found


def classics() -> list[str]:
    """Known bombs at full size, in a child with 30 s and 1 GiB each."""
    reader, outcomes, found = FileReader(StandardAnalyzer(), StructureChunker()), Counter[str](), []
    pool = reader_pool(reader, IndexerOptions(processes=1, file_timeout_s=30, file_memory_mb=1024))
    slowest, name_of_slowest = 0.0, ""
    with tempfile.TemporaryDirectory() as folder:
        for name, content in by_hand():
            path = Path(folder) / name
            path.write_bytes(content)
            start = time.monotonic()
            ((_, outcome),) = pool.map([SourceFile(str(path), f"p/c/{name}", "p", "c", len(content), 0)])
            took = time.monotonic() - start
            if took > slowest:
                slowest, name_of_slowest = took, name
            reason = getattr(outcome, "reason", type(outcome).__name__)
            outcomes["read" if isinstance(outcome, ReadResult) else reason] += 1
            if reason == "parser":
                found.append(f"{name}: {outcome}")
    pool.close()
    print(
        f"classics: {sum(outcomes.values())}; {dict(outcomes)}; slowest {name_of_slowest} {slowest:.1f} s", flush=True
    )
    return found


def queries(number: int) -> list[str]:
    """Strings by chance through everything that takes a question apart."""
    asked, found, slowest = VectorRequest(), [], 0.0

    @many(number)
    @given(text=QUERIES)
    def attempt(text: str) -> None:
        nonlocal slowest
        start = time.monotonic()
        asked(text)
        slowest = max(slowest, time.monotonic() - start)

    try:
        attempt()
    except Exception as error:
        found.append(f"query: {type(error).__name__}: {str(error)[:300]}")
    asked.close()
    print(f"queries: {asked.tried:,} tried, {asked.refused:,} refused, {len(found)} found; slowest {slowest:.2f} s")
    return found


if __name__ == "__main__":
    sys.exit(main())
