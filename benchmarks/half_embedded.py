"""How good the answers are while a library is still being embedded.

    python benchmarks/half_embedded.py --work DIR --set ray DOCS 'ray/**' QUERIES QRELS

Indexes and embeds the set, then asks its questions with the vectors of a random part of the documents only.
Prints nDCG@10 of each mode per part, as a Markdown table.
"""

from __future__ import annotations

import argparse
import random
from pathlib import Path
from typing import cast

import numpy as np

from judged_sets import JudgedSet, add_arguments, opened
from librarian.assembly_parts import embedder_of, search_options
from librarian.assembly_storage import storage
from librarian.evaluation.metrics import ndcg
from librarian.finding.hybrid_search import HybridSearchEngine
from librarian.language.analyzer import StandardAnalyzer
from librarian.settings import Settings
from librarian.shelving.vectors.exact import ExactStore
from librarian.vocabulary.types import WINDOWS_PER_CHUNK, Mode, Query

MODES = ("keyword", "semantic", "hybrid")
PARTS = (0.02, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0)


def measure(judged: JudgedSet, work: Path) -> list[str]:
    """The table's rows, one per part of the documents that has its vectors."""
    with opened(judged, work):
        pass
    settings = Settings.load(
        None, overrides={"docs.root_path": str(judged.docs), "index.path": str(work / judged.name)}
    )
    held, embedder, rows = storage(settings), embedder_of(settings), []
    if embedder is None:
        raise SystemExit("embeddings.enabled is false: there is nothing to measure.")
    model = embedder.get().fingerprint
    ids, digests = zip(*held.catalog.windows(model), strict=True)
    docs = held.catalog.columns().doc_of(np.array(ids, dtype=np.int64) // WINDOWS_PER_CHUNK)
    found = held.archive.get(model, digests)
    with held.catalog.read() as reader:
        paths = {stored.doc_id: stored.document.file_path for stored in reader.iter_documents()}
    order = sorted(set(docs.tolist()), key=paths.__getitem__)  # ids change when a library is read again
    random.Random(20).shuffle(order)
    for part in PARTS:
        chosen = np.isin(docs, order[: round(part * len(order))])
        store = ExactStore(embedder.get().spec.dimension)
        places = np.flatnonzero(chosen)
        store.upsert(np.array(ids, dtype=np.int64)[places], np.stack([found[digests[at]] for at in places]))
        engine = HybridSearchEngine(
            held.catalog,
            held.lexical,
            StandardAnalyzer(settings.search.min_keyword_length),
            vectors=lambda store=store: store,  # type: ignore[misc]
            embedder=embedder,
            options=search_options(settings),
        )
        values = []
        for mode in MODES:
            each = []
            for question in judged.questions():
                query = Query(question.text, mode=cast(Mode, mode), max_results=10, max_per_document=1)
                ranked = [paths[hit.candidate.doc_id] for hit in engine.search(query).hits]
                each.append(ndcg(ranked, question.grades))
            values.append(float(np.mean(each)))
        rows.append(f"| {part:.0%} | " + " | ".join(f"{value:.3f}" for value in values) + " |")
        engine.close()
        store.close()
    held.close()
    embedder.get().close()
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_arguments(parser)
    given = parser.parse_args()
    for judged in map(JudgedSet.of, given.set):
        print(f"{judged.name}\n\n| documents with vectors | " + " | ".join(MODES) + " |\n|---|---|---|---|")
        print("\n".join(measure(judged, given.work)), flush=True)


if __name__ == "__main__":
    main()
