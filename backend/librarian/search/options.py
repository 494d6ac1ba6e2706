"""What can be set about finding; the defaults are what measurement on judged questions chose."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ..models import Fusion, Mode


@dataclass(frozen=True, slots=True)
class SearchOptions:
    """How questions are answered. Scores and weights are in 0–1, lengths in characters."""

    mode: Mode = "auto"  #: the mode that runs where a question names none
    fusion: Fusion = "learned"
    rrf_k: int = 10  #: RRF's constant; 10 was better than the paper's 60 on every judged set tried
    keyword_weight: float = 0.5  #: of `weighted` fusion
    semantic_weight: float = 0.5
    candidates: int = 100  #: passages that one answer may page through
    #: Passages read per leg, so that a document's further ones count as evidence. On the three development sets nDCG@10
    #: with 400, 200 and 120 differs by 0.006 at most; 200 takes two thirds of the time of 400, and 120 a twelfth less,
    #: but in a library of four products (`quality.py --whole`) hybrid has 0.661 with 120 and 0.666 with 200.
    depth: int = 200
    similarity_threshold: float = 0.05  #: cosines up to this don't count as a match
    #: `auto`: a cross-encoder where one can be loaded, hybrid's order where not
    reranker: Literal["auto", "cross-encoder", "keyword-stage", "none"] = "auto"
    rerank_timeout_ms: float = 350.0  #: the cross-encoder's; what it doesn't get to stays behind what it has read
    rerank_candidates: int = 50
    rerank_multiplier: int = 5  #: rerank reads at least this many times `max_results`
    rerank_keyword_threshold: float = 0.1  #: below this keyword score the model-free stage drops a candidate
    rerank_semantic_share: float = 0.7  #: of the model-free rerank stage; the rest is the keyword score's
    hyde_query_share: float = 0.4  #: of the combined embedding; the rest is the hypothetical answer's
    snippet_length: int = 320  #: a target; a snippet never exceeds 600
    context_lines: int = 3  #: on each side of the match, at most
    #: Questions worked on at once; others wait. Most of the work is Python's, and what isn't reads more memory than a
    #: processor's caches hold. With 123,000 windows two cores answer 94 questions a second one by one, each in 13.6 ms
    #: of processor time, and 84 two by two, each in 16.5.
    at_once: int = 1
    semantic_timeout_ms: float = 10_000.0  #: longest wait for the semantic leg before the answer goes out without it
