"""How long passages are, and what stands before their text when embedded: nDCG@10 by each choice; a Markdown table.

Each choice has an index of its own, since all passages are embedded anew. Hybrid is weighed by what
`train_ranker.py` learned without the set, on passages as they are shipped, and by reciprocal ranks, which know nothing
of passages; meaning alone is what the choice changes most.

    python benchmarks/passages.py --work FOLDER --set ray DOCS 'ray/**' QUERIES.jsonl QRELS.tsv --set …
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from unittest.mock import patch

import numpy as np

import judged_sets
from ablations import first
from judged_sets import LEFT_OUT, JudgedSet, engine_of, opened, ranked
from librarian.evaluation.evaluate import ndcg
from librarian.models import Query
from librarian.search.ranker import LinearRanker
from librarian.search.ranking import by_rrf
from librarian.storage import queries

K = 10  #: of reciprocal rank fusion


@dataclass(frozen=True, slots=True)
class Choice:
    """How passages are cut and embedded."""

    name: str
    folder: str
    settings: Mapping[str, object] = field(default_factory=dict)
    headings: bool = True  #: title and headings stand before the text


CHOICES = (
    Choice("200 tokens, title and headings before the text (as shipped)", ""),
    Choice("… the text alone", "bare", headings=False),
    Choice("100 tokens", "100", {"embeddings.chunk_size": 100, "embeddings.chunk_overlap": 16}),
    Choice("256 tokens", "256", {"embeddings.chunk_size": 256}),
)


def measured(one: JudgedSet, choice: Choice, work: Path, weights: Mapping[str, float]) -> dict[str, float]:
    """Passages, and the mean nDCG@10 of each way to search."""
    found: dict[str, list[float]] = {}
    with ExitStack() as held:
        if not choice.headings:
            held.enter_context(patch.object(queries, "embedding_prefix", lambda *_: ""))
        own = replace(one, name=f"passages/{one.name}-{choice.folder}" if choice.folder else one.name)
        parts = held.enter_context(opened(own, work, **choice.settings))
        engine_of(parts).use(ranker=LinearRanker(weights))
        reader = held.enter_context(parts.catalog.read())
        paths = {stored.doc_id: stored.document.file_path for stored in reader.iter_documents()}
        for question in one.questions():
            pool = engine_of(parts).rank(Query(question.text, mode="hybrid"), reader).candidates
            by_ranks = first(paths, (candidate.doc_id for candidate in by_rrf(pool, K)))
            orders = {mode: ranked(parts, question.text, mode) for mode in ("keyword", "semantic", "hybrid")}
            for name, order in (orders | {"hybrid by ranks": by_ranks}).items():
                found.setdefault(name, []).append(ndcg(order, question.grades))
        passages = reader.count().chunks
    return {"passages": passages, **{name: float(np.mean(each)) for name, each in found.items()}}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    judged_sets.add_arguments(parser)
    given = parser.parse_args()
    left_out = json.loads((given.work / LEFT_OUT).read_text("utf-8"))
    head = ("set", "passages of", "how many", "keyword", "semantic", "hybrid", "hybrid by ranks")
    print(f"| {' | '.join(head)} |\n{'|---' * len(head)}|")
    for row in given.set:
        one = JudgedSet.of(row)
        for choice in CHOICES:
            found = measured(one, choice, given.work, left_out[one.name])
            figures = " | ".join(
                f"{value:,}" if name == "passages" else f"{value:.3f}" for name, value in found.items()
            )
            print(f"| {one.name} | {choice.name} | {figures} |", flush=True)


if __name__ == "__main__":
    main()
