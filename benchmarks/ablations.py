"""What each choice of the search is worth: nDCG@10 of the development sets with it and without it; Markdown tables.

Every question's candidates are gathered once and weighed in each way, hybrid's with the weights that `train_ranker.py`
learned without the set; questions stay as the model embeds them. Field weights are tried by keyword search alone. The
vector store's profiles are measured on the vectors of the first set's folder, or of the part of it that is named: how
many of the exact fifty nearest the graph finds, and what it takes to build and to ask, in processor time.

    python benchmarks/ablations.py --work FOLDER --set ray DOCS 'ray/**' QUERIES.jsonl QRELS.tsv --set …
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

import numpy as np

import judged_sets
from judged_sets import UNADAPTED, JudgedSet, engine_of, opened, ranked, weights_without
from librarian.bootstrap import embedder_of
from librarian.documents.dependencies import Dependencies
from librarian.evaluation.evaluate import ndcg, recall
from librarian.models import AnalyzedQuery, Candidate, Filters, Query
from librarian.search import candidates, engine, ranking, retrievers
from librarian.search.candidates import Candidates
from librarian.search.engine import SearchOptions
from librarian.search.ranker import GIVEN, LinearRanker
from librarian.search.router import QueryRouter
from librarian.search.spelling import QueryWords
from librarian.search.word_forms import IndexedWords
from librarian.settings import Settings
from librarian.storage.embedding_cache import SqliteEmbeddingCache
from librarian.storage.keyword_index import TantivyIndex
from librarian.storage.keyword_schema import FieldWeights
from librarian.text.analyzer import StandardAnalyzer
from librarian.vector_stores.base import Hnsw
from librarian.vector_stores.chroma import ChromaStore
from librarian.vector_stores.exact import ExactStore

#: Fields as weighted by the first design (phrase 5, file name 3, heading 2, content 1); quoted phrases are demanded,
#: not scored, and a title is a heading.
POINTS = FieldWeights(body=1.0, title=2.0, headings=2.0, path=3.0)
FIELDS = {
    "field weights as shipped": FieldWeights(),
    "the body alone": replace(FieldWeights(), title=0.0, headings=0.0, path=0.0),
    "content 1, heading 2, file name 3": POINTS,
}
WEIGHTS = (0.2, 0.5, 0.8, 1.0)
#: construction_ef, search_ef, M
PROFILES = ((200, 100, 16), (400, 200, 32), (100, 50, 8))
NEAREST = 50

NAMES_OF_MANY = "… with identifiers of many pages first"  #: whatever else the question says

SHORT = 3  #: words of a short question
LINKS = {"… without links": 0.0, "… with links at twice their weight": 2 * GIVEN["in_links"]}

_analyzed = StandardAnalyzer.query


def _without_field(name: str) -> AbstractContextManager[object]:
    """Questions analysed without one of the fields of `AnalyzedQuery`."""

    def query(words: StandardAnalyzer, text: str, languages: Sequence[str] = ()) -> AnalyzedQuery:
        return replace(_analyzed(words, text, languages), **{name: ()})  # type: ignore[arg-type]

    return patch.object(StandardAnalyzer, "query", query)


def _required(names: bool) -> AbstractContextManager[object]:
    """All identifiers of a question required in whatever it says, or none."""
    return patch.object(engine, "required_identifiers", lambda query, _: query.identifiers if names else ())


#: Each rule of reading a question, by what is measured without it.
RULES: dict[str, Callable[[], AbstractContextManager[object]]] = {
    "all rules": nullcontext,
    "words said twice count once": lambda: _without_field("repeated"),
    "other languages' stems count in full": lambda: _without_field("other_stems"),
    "a minus always excludes": lambda: patch.object(QueryWords, "take_flags", lambda _: None),
    "quotes always demand": lambda: patch.multiple(retrievers, QUOTING_SENTENCE=10**6, QUOTING_PARAGRAPH=10**6),
    "identifiers come first in all sentences": lambda: _required(True),
    "identifiers never come first": lambda: _required(False),
    "sentences weighed as other questions": lambda: patch.object(candidates, "SENTENCE", range(0)),
    "misspelt words stay": lambda: patch.object(QueryWords, "correct", lambda _: None),
    "no other forms of words": lambda: patch.object(IndexedWords, "forms", lambda *rest: {}),
}

Row = dict[str, float]  #: choice → mean over the set's questions


def without(weights: Mapping[str, float], *names: str) -> LinearRanker:
    return LinearRanker({name: 0.0 if name in names else weight for name, weight in weights.items()})


def ways(weights: Mapping[str, float]) -> dict[str, Callable[[Candidates], Sequence[Candidate]]]:
    """Each way to order a question's candidates, by its name."""
    scaled = [name for name in weights if name.endswith("_scaled")]
    further = [name for name in weights if name.endswith("_further")]
    usual = SearchOptions()
    return {
        "learned fusion": lambda pool: ranking.learned(pool, LinearRanker(weights).answering(pool)),
        "… the same for sentences": lambda pool: ranking.learned(pool, LinearRanker(weights)),
        "… without further passages": lambda pool: ranking.learned(pool, without(weights, *further).answering(pool)),
        "… without both in one passage": lambda pool: ranking.learned(
            pool, without(weights, "both_scaled").answering(pool)
        ),
        "… without scaled features": lambda pool: ranking.learned(pool, without(weights, *scaled).answering(pool)),
        **{
            name: lambda pool, points=points: ranking.learned(
                pool, LinearRanker({**weights, "in_links": points}).answering(pool)
            )
            for name, points in LINKS.items()
        },
        "RRF, k = 10": lambda pool: ranking.by_rrf(pool, 10),
        "RRF, k = 60": lambda pool: ranking.by_rrf(pool, 60),
        "weighted, 0.5": lambda pool: ranking.by_scores(pool, usual.keyword_weight, usual.semantic_weight),
        **{
            f"`semantic_weight` {weight}": lambda pool, weight=weight: ranking.by_weight(pool, weight)
            for weight in WEIGHTS
        },
    }


def first(paths: Mapping[int, str], docs: Iterable[int], per_document: int = 1, wanted: int = 10) -> list[str]:
    """The files of the first results, where a document may have so many of them."""
    shown: dict[int, int] = {}
    out: list[str] = []
    for doc in docs:
        if len(out) < wanted and shown.get(doc, 0) < per_document:
            shown[doc] = shown.get(doc, 0) + 1
            out.append(paths[doc])
    return out


def routed(parts: Dependencies, text: str) -> dict[str, list[str]]:
    """The answers of modes that choose or write: as routed, as the first design routed, and with HyDE for everything.

    That design sends short technical questions to keyword, conceptual ones to HyDE and all others to hybrid.
    """
    seen = QueryRouter(parts.analyzer).analyze(text)
    conceptual = "hyde" if seen.query_type == "conceptual" else "hybrid"
    technical = parts.analyzer.query(text).identifiers
    designed = "keyword" if technical and seen.word_count <= SHORT else conceptual
    chosen = {"auto, as routed": "auto", "auto, as in the first design": designed, "HyDE for every question": "hyde"}
    answers = {mode: ranked(parts, text, mode) for mode in set(chosen.values())}
    return {name: answers[mode] for name, mode in chosen.items()}


def measured(one: JudgedSet, work: Path, weights: Mapping[str, float]) -> tuple[Row, Row]:
    """nDCG@10 of each way and of each choice of field weights; recall among ten results by results per document."""
    found: dict[str, list[float]] = {}
    spread: dict[str, list[float]] = {}
    with opened(one, work, **UNADAPTED) as parts, parts.catalog.read() as reader:
        paths = {stored.doc_id: stored.document.file_path for stored in reader.iter_documents()}
        engine_of(parts).use(ranker=LinearRanker(weights))
        columns, analyzer, depth = parts.catalog.columns(), StandardAnalyzer(), SearchOptions().depth
        indexes = {name: TantivyIndex(work / one.name / "keyword", weights=fields) for name, fields in FIELDS.items()}
        for question in one.questions():
            hybrid = Query(question.text, mode="hybrid")
            pool = engine_of(parts).rank(hybrid, reader).candidates
            for name, way in ways(weights).items():
                order = [candidate.doc_id for candidate in way(pool)]
                found.setdefault(name, []).append(ndcg(first(paths, order), question.grades))
                if name == "learned fusion":
                    for limit in (1, 3):
                        shown = list(dict.fromkeys(first(paths, order, limit)))
                        spread.setdefault(f"{limit}", []).append(recall(shown, question.grades))
            with patch.object(candidates, "LOOK_UP", 99):
                order = [candidate.doc_id for candidate in engine_of(parts).rank(hybrid, reader)]
            found.setdefault(NAMES_OF_MANY, []).append(ndcg(first(paths, order), question.grades))
            analyzed = replace(analyzer.query(question.text, columns.languages()), phrases=())
            for name, order in routed(parts, question.text).items():
                found.setdefault(name, []).append(ndcg(order, question.grades))
            for name, index in indexes.items():
                ids = np.array(index.search(analyzed, columns.select(Filters()), depth).ids, dtype=np.int64)
                docs = columns.doc_of(ids).tolist() if len(ids) else []
                found.setdefault(name, []).append(ndcg(first(paths, docs), question.grades))
        for index in indexes.values():
            index.close()
    with opened(one, work, **UNADAPTED, **{"search.reranker": "keyword-stage"}) as parts:
        engine_of(parts).use(ranker=LinearRanker(weights))
        for question in one.questions():
            order = ranked(parts, question.text, "rerank")
            found.setdefault("rerank by the keyword stage", []).append(ndcg(order, question.grades))
    return tuple({name: float(np.mean(own)) for name, own in rows.items()} for rows in (found, spread))  # type: ignore[return-value]


def rules(one: JudgedSet, work: Path, weights: Mapping[str, float], mode: str) -> Row:
    """nDCG@10 of a mode without each rule of reading a question."""
    found: Row = {}
    with opened(one, work, **UNADAPTED) as parts:
        engine_of(parts).use(ranker=LinearRanker(weights))
        for name, without_rule in RULES.items():
            with without_rule():
                own = [ndcg(ranked(parts, question.text, mode), question.grades) for question in one.questions()]
            found[name] = float(np.mean(own))
    return found


def profiles(one: JudgedSet, work: Path) -> list[str]:
    """Rows of the vector store's profiles: recall among the nearest, seconds to build, milliseconds of a question."""
    rows = []
    embedder = embedder_of(Settings.load(None))
    assert embedder is not None
    model = embedder.get()
    asked = [model.embed_query(question.text) for question in one.questions()]
    with opened(one, work, **UNADAPTED) as parts:
        ids, digests = zip(*parts.catalog.windows(model.fingerprint), strict=True)
        everything = parts.catalog.columns().select(Filters())
        archive = SqliteEmbeddingCache(work / one.name / "vectors.sqlite")
        kept = archive.get(model.fingerprint, digests)
        archive.close()
        vectors, numbers = np.stack([kept[digest] for digest in digests]), np.array(ids, dtype=np.int64)
        exact = ExactStore(vectors.shape[1])
        exact.upsert(numbers, vectors)
        nearest = [set(exact.search(vector, NEAREST, everything)[0].tolist()) for vector in asked]
        for construction, search, links in PROFILES:
            with tempfile.TemporaryDirectory() as folder:
                store = ChromaStore(Path(folder), "profile", vectors.shape[1], hnsw=Hnsw(links, construction, search))
                begun = time.process_time()
                store.upsert(numbers, vectors)
                built, begun = time.process_time() - begun, time.process_time()
                seen = [set(store.search(vector, NEAREST, everything)[0].tolist()) for vector in asked]
                each = (time.process_time() - begun) / len(asked) * 1000
                share = np.mean([len(own & best) / len(best) for own, best in zip(seen, nearest, strict=True)])
                rows.append(f"| {construction}, {search}, {links} | {share:.3f} | {built:.0f} s | {each:.1f} ms |")
                store.close()
    return rows


def dropped(one: JudgedSet, work: Path, threshold: float) -> str:
    """How many questions a threshold on the cosine would leave without any passage that answers them."""
    questions = one.questions()
    with opened(one, work, **UNADAPTED) as parts:
        lost = 0
        for question in questions:
            asked = Query(question.text, mode="semantic", max_results=NEAREST, max_per_document=1)
            near = [
                hit for hit in engine_of(parts).search(asked).hits if (hit.candidate.semantic_score or 0) >= threshold
            ]
            lost += not {hit.document.document.file_path for hit in near} & set(question.grades)
    return f"{one.name}: a threshold of {threshold} drops what answers {lost} of {len(questions)} questions"


def table(rows: Mapping[str, Row], head: str) -> str:
    identifiers = list(next(iter(rows.values())))
    lines = [f"| {head} | {' | '.join(rows)} |", "|---" * (len(rows) + 1) + "|"]
    lines += [f"| {name} | {' | '.join(f'{row[name]:.3f}' for row in rows.values())} |" for name in identifiers]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    judged_sets.add_arguments(parser)
    parser.add_argument(
        "--profiles",
        nargs=2,
        metavar=("NAME", "INCLUDE"),
        help="only the vector store's profiles: in this part of the first set's folder (glob pattern or *)",
    )
    parser.add_argument("--rules", action="store_true", help="only what each rule of reading a question is worth")
    parser.add_argument("--threshold", type=float, help="only what this search.similarity_threshold would drop")
    given = parser.parse_args()
    sets = [JudgedSet.of(row) for row in given.set]
    if given.threshold is not None:
        print("\n".join(dropped(one, given.work, given.threshold) for one in sets))
        return
    if given.rules:
        for mode in ("keyword", "hybrid"):
            every = {one.name: rules(one, given.work, weights_without(one.name, given.work), mode) for one in sets}
            print(table(every, f"nDCG@10, {mode}"))
        return
    if given.profiles:
        name, pattern = given.profiles
        larger = replace(sets[0], name=name, include=() if pattern == "*" else (pattern,))
        print(f"| HNSW | recall@{NEAREST} | to build | a question |\n|---|---|---|---|")
        print("\n".join(profiles(larger, given.work)))
        return
    both = {one.name: measured(one, given.work, weights_without(one.name, given.work)) for one in sets}
    print(table({name: found for name, (found, _) in both.items()}, "nDCG@10"))
    print(
        "\n"
        + table({name: spread for name, (_, spread) in both.items()}, "recall in ten results, by `max_per_document`")
    )


if __name__ == "__main__":
    main()
