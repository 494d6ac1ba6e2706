"""What a ranker may know about a document that answers a question: a few cheap numbers, each meaningful by itself.

Some are absolute, so that a weak best stays weak; some are stretched over the question's candidates, since the words of
a long question never all occur in one text, and its best text is good all the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from .evidence import DECAY, FURTHER
from .pool import Pool

Floats = npt.NDArray[np.float64]

#: In the order in which reasons are told. All lie in 0–1 or little above.
NAMES = (
    "keyword",  # best passage's BM25 over the most that the question could reach
    "keyword_further",  # what further passages add to it
    "semantic",  # best passage's cosine
    "semantic_further",
    "hyde",  # best passage's cosine to the hypothetical answer
    "keyword_place",  # 10 / (10 + the document's rank by best and further passages)
    "semantic_place",
    "body",  # best BM25 of the text alone, without title, headings and path
    "keyword_scaled",  # each from the worst candidate document, 0, to the best, 1
    "semantic_scaled",
    "body_scaled",
    "hyde_scaled",
    "evidence",  # the question's best cosine, the same for every candidate
)

#: Scaled feature, and what it is made of.
SCALED = {"keyword_scaled": "keyword", "semantic_scaled": "semantic", "body_scaled": "body", "hyde_scaled": "hyde"}

#: Every passage of a document on the topic has some cosine: further ones count from here.
_FLOOR = {"keyword": 0.0, "semantic": 0.25, "hyde": 0.25}


@dataclass(frozen=True, slots=True)
class DocumentEvidence:
    """A document's features, with its places in the legs."""

    doc_id: int
    values: Mapping[str, float]
    places: Mapping[str, int | None]
    assumed: frozenset[str] = frozenset()  #: features that aren't known, with what is to be expected in their place


def of(pool: Pool) -> dict[int, DocumentEvidence]:
    """Absolute features of every document that has a candidate; `scaled` adds the others."""
    passages = list(pool.passages.values())
    docs, owner = np.unique([passage.doc_id for passage in passages], return_inverse=True)
    hyde = dict(zip(pool.hyde.ids, pool.hyde.scores, strict=True))
    scores = {
        "keyword": np.array([passage.bm25 or 0.0 for passage in passages]),
        "semantic": np.array([passage.semantic or 0.0 for passage in passages]),
        "hyde": np.array([hyde.get(passage.chunk_id, 0.0) for passage in passages]),
    }
    columns: dict[str, Floats] = {"body": np.zeros(len(docs))}
    np.maximum.at(columns["body"], owner, [passage.fields.get("body", 0.0) for passage in passages])
    ranks: dict[str, list[int | None]] = {}
    for name, own in scores.items():
        best, further = _by_document(own, owner, len(docs), _FLOOR[name])
        total = best if name == "hyde" else best + further
        rank = np.empty(len(docs), dtype=np.int64)
        rank[np.lexsort((docs, -total))] = np.arange(1, len(docs) + 1)
        columns[name] = best
        if name != "hyde":
            columns[f"{name}_further"] = further
            columns[f"{name}_place"] = np.where(total > 0, 10 / (10 + rank), 0.0)
        ranks[name] = [place if there else None for place, there in zip(rank.tolist(), total > 0, strict=True)]
    rows = zip(*(column.tolist() for column in columns.values()), strict=True)
    return {
        doc_id: DocumentEvidence(
            doc_id, dict(zip(columns, row, strict=True)), {name: of_leg[at] for name, of_leg in ranks.items()}
        )
        for at, (doc_id, row) in enumerate(zip(docs.tolist(), rows, strict=True))
    }


def scaled(found: Mapping[int, DocumentEvidence]) -> dict[int, DocumentEvidence]:
    """The same with evidence and the scaled features: 0 for the question's worst candidate document, 1 for its best.

    Without them the ranker trusts words too little where questions are paragraphs; nDCG@10 under weights learned from
    other collections: CACM abstracts 0.515 without and 0.549 with them, Kubernetes tasks 0.730 and 0.744, Ray 0.646 and
    0.648.
    """
    documents = list(found.values())
    columns = {}
    for name, absolute in SCALED.items():
        own = np.array([one.values[absolute] for one in documents])
        low, high = own.min(initial=np.inf), own.max(initial=0.0)
        columns[name] = ((own - low) / (high - low) if high > low else np.zeros(len(own))).tolist()
    columns["evidence"] = [max((one.values["semantic"] for one in documents), default=0.0)] * len(documents)
    return {
        one.doc_id: replace(
            one,
            values={**one.values, **{name: column[at] for name, column in columns.items()}},
            places={**one.places, **{name: one.places.get(absolute) for name, absolute in SCALED.items()}},
            assumed=one.assumed | {name for name, absolute in SCALED.items() if absolute in one.assumed},
        )
        for at, one in enumerate(documents)
    }


def _by_document(scores: Floats, owner: npt.NDArray[np.intp], count: int, floor: float) -> tuple[Floats, Floats]:
    """Each document's best score, and what its further ones add: as `evidence.of_documents`, for all at once."""
    order = np.lexsort((-scores, owner))
    own, sorted_scores = owner[order], scores[order]
    starts = np.flatnonzero(np.diff(own, prepend=-1))
    place = np.arange(len(own)) - np.repeat(starts, np.diff(starts, append=len(own)))
    best, further = np.zeros(count), np.zeros(count)
    best[own[place == 0]] = sorted_scores[place == 0]
    counts = (place > 0) & (place <= FURTHER) & (sorted_scores >= floor)
    np.add.at(further, own[counts], sorted_scores[counts] * DECAY ** place[counts])
    return best, further
