"""The learned fusion: a weighted sum of a document's features. The weights are data, the sum is the explanation.

A linear model beat every hand-set fusion on collections that it wasn't trained on, and boosted trees were no better;
being a sum, it says itself why a document is where it is. `benchmarks/train_ranker.py` makes the shipped weights by
pairwise logistic regression.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from librarian.vocabulary.types import Contribution

from .features import NAMES, DocumentEvidence

#: What the shipped weights read, and all that is learned. The best passage's absolute keyword score learns a weight of
#: nothing beside these whichever set is left out; places in the legs, the text's absolute score and scaled sums change
#: nDCG@10 of the left out sets by 0.007 at most.
READ = (
    "keyword_further",
    "semantic_further",
    "keyword_scaled",
    "semantic_scaled",
    "body_scaled",
)

#: Points per unit of the question's best cosine. They are the same for all its candidates and move none: they make sums
#: of different questions compare, which relevance is read off. A candidate's own cosine orders abstracts worse.
#: With 10 the best sums of answered questions lie above those of questions on neighbouring software in 88% (Ray), 93%
#: (Kubernetes) and 97% (CACM) of pairs, with 5 in 86%, 91% and 93%; with 20 hardly more, and a question's worst
#: candidates would come close to its best.
EVIDENCE = 10.0

#: What a hypothetical answer's cosine takes over half of.
_FOR_HYDE = {"semantic": "hyde", "semantic_scaled": "hyde_scaled"}

#: What follows a feature's name in the reasons where its value is an expectation.
EXPECTED = "_expected"


@dataclass(frozen=True, slots=True)
class LinearRanker:
    """Points per unit of each feature; features without a weight bring none, but for the evidence: `EVIDENCE`."""

    weights: Mapping[str, float]

    def why(self, document: DocumentEvidence) -> tuple[Contribution, ...]:
        """The reasons for a document's place; their sum is its score.

        >>> ranker = LinearRanker({"keyword": 2.0, "semantic": 4.0})
        >>> [c.points for c in ranker.why(DocumentEvidence(1, {"keyword": 0.5, "semantic": 0.25, "body": 1.0}, {}))]
        [1.0, 1.0]
        """
        weights = {"evidence": EVIDENCE, **self.weights}
        return tuple(
            Contribution(
                f"{name}{EXPECTED}" if name in document.assumed else name,
                document.places.get(name),
                value,
                weights[name] * value,
            )
            for name in NAMES
            if (value := document.values.get(name, 0.0)) and weights.get(name, 0.0)
        )

    def with_hyde(self) -> LinearRanker:
        """The ranker for a question with a hypothetical answer: it takes over half of what the cosine says."""
        halves = {name: self.weights.get(name, 0.0) / 2 for name in _FOR_HYDE}
        return LinearRanker({**self.weights, **halves, **{_FOR_HYDE[name]: half for name, half in halves.items()}})


@cache
def shipped() -> LinearRanker:
    """The ranker with the weights of the package."""
    data = json.loads(files(__package__).joinpath("ranker_weights.json").read_text("utf-8"))
    return LinearRanker({name: float(weight) for name, weight in data["weights"].items()})
