"""The learned fusion: a weighted sum of a few features of each candidate document. The sum is the explanation.

Some features are absolute, so that a weak best stays weak; some are scaled over the query's candidates, since the words
of a long question never all occur in one text, and its best text is good all the same. `benchmarks/train_ranker.py`
makes the shipped weights; `benchmarks/ablations.py` shows what each feature brings (docs: quality.md).
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files

import numpy as np
import numpy.typing as npt

from ..models import Ids
from .candidates import Candidates, Floats, Part, nan_to_zero

#: What the shipped weights read, and all that is learned.
READ = ("keyword_further", "keyword_scaled", "semantic_scaled", "body_scaled", "both_scaled")

#: Scaled feature, and what it is made of.
SCALED = {
    "keyword_scaled": "keyword",  # best chunk's BM25 over the most that the query could reach
    "semantic_scaled": "semantic",  # best chunk's cosine
    "body_scaled": "body",  # best BM25 of the text alone, without title, headings and path
    "hyde_scaled": "hyde",  # best chunk's cosine to the hypothetical answer
    "both_scaled": "both",  # best chunk by its words and its meaning together
}

#: Points that aren't learned. `in_links`: of n other candidates with words of the query linking here, n / (n + 2).
#: `evidence`: the query's best cosine, the same for every candidate, so that sums of different queries compare.
#: `other_sender`, a mail by somebody else than the query names, takes points.
GIVEN: Mapping[str, float] = {"in_links": 1.5, "other_sender": -3.0, "evidence": 10.0}

#: All features, in the order in which score parts are listed.
NAMES = ("keyword_further", *SCALED, *GIVEN)

#: Features that the model's cosines make; of these a model brings this share where it wasn't trained on the query's
#: language, since it finds texts in such a language all alike.
OF_COSINES = ("semantic_scaled", "hyde_scaled", "both_scaled")
UNSUPPORTED_LANGUAGE = 0.25

#: What the best chunk's words keep of their weight in a question in a sentence (`candidates.SENTENCE`) asked of
#: documents of several chunks: titles that share its words come first too easily. The other scaled features grow by
#: what it loses.
IN_SENTENCES = 0.2
TEXT_IN_SENTENCES = 0.75  #: there, the share of a chunk's words that counts by the text alone, without headings

#: Points of a chunk's words and of its cosine: within a page words tell chunks apart better (`benchmarks/sections.py`).
CHUNK_WEIGHTS = (12.0, 8.0)

#: Further chunks of a document that count, how much less each counts than the one before, and how many there must be:
#: a single one says that a text is long enough for two, not that more of it answers.
FURTHER, DECAY, FEWEST = 4, 0.4, 2

#: Every chunk of a document on the topic has some cosine: further ones count from here.
FLOOR = {"keyword": 0.0, "semantic": 0.25, "hyde": 0.25}

_HALF = 2  #: in-links that bring half of what any number of them could
_MANY = 20  #: of so many other candidate documents the worst tells what it is like to be off the question


def words_and_cosines(candidates: Candidates) -> tuple[Floats, Floats]:
    """What words and cosine say of each chunk, for `CHUNK_WEIGHTS`; both of shape (rows,)."""
    share = TEXT_IN_SENTENCES * candidates.sentence
    words = (1 - share) * nan_to_zero(candidates.bm25) + share * nan_to_zero(candidates.body)
    return words, nan_to_zero(candidates.cosine)


def chunk_scores(candidates: Candidates) -> Floats:
    """Each chunk's points, shape (rows,)."""
    words, cosines = words_and_cosines(candidates)
    return CHUNK_WEIGHTS[0] * words + CHUNK_WEIGHTS[1] * cosines


@dataclass(frozen=True, slots=True)
class DocumentFeatures:
    """Candidate documents with their features, by rising id; arrays have shape (rows,)."""

    ids: Ids
    values: Mapping[str, Floats]
    ranks: Mapping[str, Ids]  #: place in the retriever that a feature comes from, 0 where it has none there

    def __len__(self) -> int:
        return len(self.ids)


def document_features(candidates: Candidates) -> DocumentFeatures:
    """All features of every document that has a candidate, and what they are made of."""
    docs, owner = np.unique(candidates.doc_ids, return_inverse=True)
    values: dict[str, Floats] = {}
    ranks: dict[str, Ids] = {}
    chunks = {
        "keyword": candidates.bm25,
        "semantic": candidates.cosine,
        "body": candidates.body,
        "hyde": candidates.column(candidates.hyde),
        "both": chunk_scores(candidates) / sum(CHUNK_WEIGHTS),
    }
    for name, scores in chunks.items():
        floor = FLOOR.get(name, 0.0)
        values[name], values[f"{name}_further"] = aggregated(nan_to_zero(scores), owner, len(docs), floor)
        values[f"{name}_scaled"] = _scaled(values[name], floor)
        if name in FLOOR:
            ranks[f"{name}_scaled"] = ranks_of(values[name] + values[f"{name}_further"])
    if candidates.in_links.any():
        in_links = np.zeros(len(docs))
        in_links[owner] = candidates.in_links
        values["in_links"] = in_links / (in_links + _HALF)
    if len(candidates.by_named_sender):
        values["other_sender"] = (~np.isin(docs, candidates.by_named_sender)).astype(np.float64)
    nearest = candidates.best_cosine
    nearest = float(values["semantic"].max(initial=0.0)) if nearest is None else nearest
    values["evidence"] = np.full(len(docs), nearest)
    return DocumentFeatures(docs, values, ranks)


def _scaled(own: Floats, floor: float) -> Floats:
    """0 for the query's worst candidate document, 1 for its best.

    Where few are left, by a filter say, even the worst may answer: 0 then lies nearer to the floor. Where the best is
    below the floor, nothing is near: the best of that has only its share of 1.
    """
    high, low = own.max(initial=0.0), float(own.min(initial=np.inf))
    if len(own) and low > floor:
        low = floor + (low - floor) * min(1.0, (len(own) - 1) / _MANY)
    scaled = (own - low) / (high - low) if high > low else np.full(len(own), float(high > 0))
    return np.asarray(scaled * high / floor if 0 < high < floor else scaled)


def ranks_of(scores: Floats) -> Ids:
    """Each document's place by its score, from 1, ties by their order; 0 for those without one."""
    ranks = np.empty(len(scores), dtype=np.int64)
    ranks[np.argsort(-scores, kind="stable")] = np.arange(1, len(scores) + 1)
    return np.where(scores > 0, ranks, 0)


def aggregated(scores: Floats, owner: npt.NDArray[np.intp], count: int, floor: float) -> tuple[Floats, Floats]:
    """Each document's best score, and what its further chunks add to it: Σ decayⁱ × the i-th further one's score.

    `owner` is each chunk's document in 0 … `count`; further chunks count from `floor` on.
    """
    order = np.lexsort((-scores, owner))
    own, ordered = owner[order], scores[order]
    chunks = np.bincount(owner, minlength=count)
    first = np.cumsum(chunks) - chunks  # each document has one
    place = np.arange(len(own)) - first[own]
    counts = (place > 0) & (place <= FURTHER) & (ordered >= floor) & (ordered > 0)
    counts &= np.bincount(own[counts], minlength=count)[own] >= FEWEST
    further = np.bincount(own[counts], ordered[counts] * DECAY ** place[counts], count)
    return ordered[first], np.asarray(further, dtype=np.float64)


@dataclass(frozen=True, slots=True)
class LinearRanker:
    """Points per unit of each feature; features without a weight bring none, but for those in `GIVEN`."""

    weights: Mapping[str, float]
    unsupported: float = 1.0  #: share of what meaning brings where its model wasn't trained on the query's language

    def parts(self, documents: DocumentFeatures) -> list[Part]:
        """The reasons for documents' places; their sums are the documents' scores."""
        weights = {**GIVEN, **self.weights}
        values = {name: documents.values[name] for name in NAMES if weights.get(name) and name in documents.values}
        return [
            Part(name, documents.ranks.get(name), value, np.where(value == 0, np.nan, weights[name] * value))
            for name, value in values.items()
        ]

    def answering(self, candidates: Candidates) -> LinearRanker:
        """The ranker for one query: by its form, its language, and whether it has a hypothetical answer, whose cosine
        takes over half of what the query's brings."""
        weights, unsupported = dict(self.weights), candidates.unsupported_language
        if candidates.sentence and not unsupported:
            weights = in_sentences(weights, candidates.sentence)
        if candidates.hyde.ids:
            weights["semantic_scaled"] = weights["hyde_scaled"] = weights.get("semantic_scaled", 0.0) / 2
        if unsupported:
            weights.update({name: self.unsupported * weights[name] for name in OF_COSINES if name in weights})
        return replace(self, weights=weights)


def in_sentences(weights: dict[str, float], share: float) -> dict[str, float]:
    """The weights for a question in a sentence; `share` (0–1) of its candidates are documents of several chunks.

    The most that scaled features can bring stays the same, so that sums of different queries compare.
    """
    if not share:
        return weights  # not changed by rounding
    scaled = {name: weight for name, weight in weights.items() if name in SCALED}
    usual = math.fsum(scaled.values())
    if "keyword_scaled" in scaled:
        scaled["keyword_scaled"] *= 1 - share * (1 - IN_SENTENCES)
    left = math.fsum(scaled.values())
    scaled = {name: weight * usual / left for name, weight in scaled.items()} if left else scaled
    return {**weights, **scaled}


@cache
def shipped() -> LinearRanker:
    """The ranker with the weights of the package."""
    data = json.loads(files(__package__).joinpath("ranker_weights.json").read_text("utf-8"))
    return LinearRanker({name: float(weight) for name, weight in data["weights"].items()}, UNSUPPORTED_LANGUAGE)
