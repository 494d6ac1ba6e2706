"""What a ranker may know about a document that answers a question: a few cheap numbers, each meaningful by itself.

Some are absolute, so that a weak best stays weak; some are stretched over the question's candidates, since the words of
a long question never all occur in one text, and its best text is good all the same.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from ..models import Ids, Ranking
from .candidates import Candidates, Floats, spoken
from .chunk_scores import OWN
from .fusion import ranking_of

#: Further passages that count, and how much less each counts than the one before. Measured on the Kubernetes tasks:
#: keyword nDCG@10 0.693 → 0.748, hybrid 0.632 → 0.681, where nothing is lost on the Ray questions.
FURTHER = 4
DECAY = 0.4

#: Further passages that there must be. One alone says that a text is long enough for two, not that more of it answers:
#: counting it puts the longer abstracts of a collection before the shorter ones.
FEWEST = 2


def of_documents(
    ranking: Ranking,
    doc_of: Mapping[int, int],
    *,
    decay: float = DECAY,
    floor: float = 0.0,
) -> Ranking:
    """The ranking's opinion of documents: best passage's score + Σ decayⁱ × the i-th further one's.

    `floor` is the score from which a further passage counts; with fewer than `FEWEST` that do, none does. Passages
    without a known document are left out.

    >>> passages = Ranking("keyword", ids=(1, 2, 3, 4), raw=(5.0, 4.0, 3.0, 2.0), scores=(0.5, 0.4, 0.3, 0.2))
    >>> documents = of_documents(passages, {1: 10, 2: 20, 3: 20, 4: 20}, decay=0.5)
    >>> documents.ids, [round(s, 2) for s in documents.scores]  # 20: 0.4 + 0.5 × 0.3 + 0.25 × 0.2
    ((20, 10), [0.6, 0.5])
    """
    gathered: dict[int, list[float]] = {}
    for chunk_id, own in zip(ranking.ids, ranking.scores, strict=True):
        if doc_id := doc_of.get(chunk_id, 0):
            gathered.setdefault(doc_id, []).append(own)
    evidence = {}
    for doc_id, scores in gathered.items():
        scores.sort(reverse=True)
        counted = [own for own in scores[1 : FURTHER + 1] if own > 0 and own >= floor]
        if len(counted) < FEWEST:
            counted = []
        evidence[doc_id] = math.fsum([scores[0], *(own * decay**i for i, own in enumerate(counted, start=1))])
    return ranking_of(ranking.source, evidence, ms=ranking.ms)


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
    "both",  # best passage by its words and its meaning together, over the most that both could bring
    "both_scaled",
    "in_links",  # n / (n + 2) where n of the other candidates with words of the question link to it
    "changelog",  # 1 for a changelog where the question asks for no changes
    "other_sender",  # 1 for a mail by somebody else than whom the question names
    "evidence",  # the question's best cosine, the same for every candidate
)

#: Scaled feature, and what it is made of.
SCALED = {
    "keyword_scaled": "keyword",
    "semantic_scaled": "semantic",
    "body_scaled": "body",
    "hyde_scaled": "hyde",
    "both_scaled": "both",
}

#: Every passage of a document on the topic has some cosine: further ones count from here.
FLOOR = {"keyword": 0.0, "semantic": 0.25, "hyde": 0.25}

#: In-links that bring half of what any number of them could.
_HALF = 2

#: Of so many other candidate documents the worst tells what it is like to be off the question.
_MANY = 20


@dataclass(frozen=True, slots=True)
class Documents:
    """A question's candidate documents with their features, a row each by rising id; arrays have shape (rows,)."""

    ids: Ids
    values: Mapping[str, Floats]
    ranks: Mapping[str, Ids]  #: place in the leg that a feature comes from, 0 where it has none there

    def __len__(self) -> int:
        return len(self.ids)


def of(pool: Candidates, own: Floats) -> Documents:
    """Absolute features of every document that has a candidate; `scaled` adds the others.

    `own` is what each passage counts (`passage.strength`).
    """
    passages = pool.passages
    docs, owner = np.unique(passages.doc_ids, return_inverse=True)
    body = np.zeros(len(docs))
    if "body" in passages.fields:
        np.maximum.at(body, owner, passages.fields["body"])
    values: dict[str, Floats] = {"body": body}
    ranks: dict[str, Ids] = {}
    for name, scores in (("keyword", passages.bm25), ("semantic", passages.semantic)):
        best, further = _by_document(spoken(scores), owner, len(docs), FLOOR[name])
        ranks[name] = _ranks(best + further)
        values[name], values[f"{name}_further"] = best, further
        values[f"{name}_place"] = np.where(ranks[name] > 0, 10 / (10 + ranks[name]), 0.0)
    values["hyde"] = np.zeros(len(docs))
    if pool.hyde.ids:
        rows, places = passages.rows_of(pool.hyde)
        np.maximum.at(values["hyde"], owner[rows], np.array(pool.hyde.scores)[places - 1])
    ranks["hyde"] = _ranks(values["hyde"])
    values["both"] = np.zeros(len(docs))
    np.maximum.at(values["both"], owner, own / sum(OWN))
    if passages.in_links.any():
        in_links = np.zeros(len(docs))
        in_links[owner] = passages.in_links
        values["in_links"] = in_links / (in_links + _HALF)
    if len(pool.changelogs):
        values["changelog"] = np.isin(docs, pool.changelogs).astype(np.float64)
    if len(pool.of_named):
        values["other_sender"] = (~np.isin(docs, pool.of_named)).astype(np.float64)
    return Documents(docs, values, ranks)


def scaled(found: Documents, nearness: float | None = None) -> Documents:
    """The same with evidence and the scaled features: 0 for the question's worst candidate document, 1 for its best.

    Evidence is the best cosine, or `nearness` (`Pool.nearness`).

    Where few are left, by a filter say, even the worst may answer: see `_lowest`.

    Where even the best cosine is below the floor, nothing is near: the best of that has only its share of 1, or it
    would come before what holds the words. The 217 judged questions on Ray and Kubernetes have 0.28 at least.

    Without them the ranker trusts words too little where questions are paragraphs; nDCG@10 under weights learned from
    other collections: CACM abstracts 0.515 without and 0.549 with them, Kubernetes tasks 0.730 and 0.744, Ray 0.646 and
    0.648.
    """
    values = dict(found.values)
    for name, absolute in SCALED.items():
        own = values[absolute]
        floor, high = FLOOR.get(absolute, 0.0), own.max(initial=0.0)
        low = _lowest(own, floor)
        values[name] = (own - low) / (high - low) if high > low else np.full(len(own), float(high > 0))
        if 0 < high < floor:
            values[name] *= high / floor
    nearest = float(values["semantic"].max(initial=0.0)) if nearness is None else nearness
    values["evidence"] = np.full(len(found), nearest)
    ranks = {**found.ranks, **{name: found.ranks[own] for name, own in SCALED.items() if own in found.ranks}}
    return replace(found, values=values, ranks=ranks)


def _lowest(own: Floats, floor: float) -> float:
    """What counts as 0. Of few candidates, such as a filter leaves, the worst may answer too: then it is nearer to the
    floor, where nothing is said."""
    worst = float(own.min(initial=np.inf))
    if not len(own) or worst <= floor:
        return worst
    return floor + (worst - floor) * min(1.0, (len(own) - 1) / _MANY)


def _ranks(scores: Floats) -> Ids:
    """Each document's place by its score, from 1, ties by their order; 0 for those without one."""
    ranks = np.empty(len(scores), dtype=np.int64)
    ranks[np.argsort(-scores, kind="stable")] = np.arange(1, len(scores) + 1)
    return np.where(scores > 0, ranks, 0)


def _by_document(scores: Floats, owner: npt.NDArray[np.intp], count: int, floor: float) -> tuple[Floats, Floats]:
    """Each document's best score, and what its further ones add: as `evidence.of_documents`, for all at once."""
    order = np.lexsort((-scores, owner))
    own, sorted_scores = owner[order], scores[order]
    passages = np.bincount(owner, minlength=count)
    first = np.cumsum(passages) - passages  # each document has one
    place = np.arange(len(own)) - first[own]
    counts = (place > 0) & (place <= FURTHER) & (sorted_scores >= floor) & (sorted_scores > 0)
    counts &= np.bincount(own[counts], minlength=count)[own] >= FEWEST
    further = np.bincount(own[counts], sorted_scores[counts] * DECAY ** place[counts], count)
    return sorted_scores[first], np.asarray(further, dtype=np.float64)  # of nothing it makes whole numbers
