"""The learned fusion: a weighted sum of a document's features. The weights are data, the sum is the explanation.

A linear model beat every hand-set fusion on collections that it wasn't trained on, and boosted trees were no better;
being a sum, it says itself why a document is where it is. `benchmarks/train_ranker.py` makes the shipped weights by
pairwise logistic regression.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files

import numpy as np

from ..models import ScorePart
from .candidates import Candidates, Floats
from .features import NAMES, SCALED, Documents

#: What the shipped weights read, and all that is learned. What one passage says by words and meaning together tells a
#: page that answers from one that only has both somewhere: MRR@10 of the passages that answer 269 questions on four
#: manuals that nothing was learned from goes from 0.673 to 0.698 with it (z 3.7), nDCG@10 of their pages from 0.885 to
#: 0.898 (z 2.9). On the development sets, whose weights are learned without them, Ray gains 0.008, the Kubernetes tasks
#: lose 0.011 (three pages come second, behind others that answer as well) and CACM 0.015: `benchmarks/ablations.py`.
#:
#: The best passage's absolute keyword score learns a weight of nothing beside these whichever set is left out; places
#: in the legs, the text's absolute score and scaled sums change nDCG@10 of the left out sets by 0.007 at most. What
#: further passages add in meaning isn't read: it says that a text is long enough for two passages. With it hybrid has
#: 0.411 on Cranfield's abstracts, without it 0.422; the sets by themselves change by 0.004 at most, in the whole
#: library tasks gain 0.013 and Ray loses 0.009.
READ = (
    "keyword_further",
    "keyword_scaled",
    "semantic_scaled",
    "body_scaled",
    "both_scaled",
)

#: Points per unit of the question's best cosine. They are the same for all its candidates and move none: they make sums
#: of different questions compare, which relevance is read off. A candidate's own cosine orders abstracts worse.
#: With 10 the best sums of answered questions lie above those of questions on neighbouring software in 88% (Ray), 93%
#: (Kubernetes) and 97% (CACM) of pairs, with 5 in 86%, 91% and 93%; with 20 hardly more, and a question's worst
#: candidates would come close to its best.
EVIDENCE = 10.0

#: Points of a document that many of the other candidates link to: of pages on one topic it is the one that its authors
#: lead readers to. nDCG@10 of 217 judged questions on Ray and Kubernetes, each under weights learned without it: 0.652
#: and 0.714 without, 0.665 and 0.731 at 1, 0.668 and 0.738 at 2; MRR@10 of the passages that answer 266 questions on
#: four manuals 0.618 and 0.622 at 1, their page comes first in 76% and 79%. On the manuals' own headings as questions
#: it loses 0.005 at 1, 0.013 at 2: a heading that one page alone has often belongs to one that few link to. Links from
#: all of the library brought less; what links say (their words, by BM25 or cosine), a document's length and depth, and
#: how many of its folder are candidates nothing.
IN_LINKS = 1.0

#: Points of a changelog where the question asks for no changes. Of 610 judged questions on thirteen manuals 374
#: candidates were changelogs, none of them relevant. Hybrid's nDCG@10 on FastAPI's fifty, whose release notes were
#: among the first three of half of them, is 0.829 without, 0.839 at −1.5 and 0.847 from −2 on; on Ansible's fifty 0.714
#: and 0.719.
CHANGELOG = -2.0

#: Points of a mail by somebody else where the question names one who wrote some of its candidates. They are taken from
#: the others: what is brought to the named would say that they answer. MRR@10 of hybrid by `benchmarks/mail_senders.py`
#: on 9,809 mails of five lists, 200 questions that name a mail's sender and subject: 0.385 without, 0.556 at −2, 0.609
#: at −3, 0.632 at −4, 0.646 at −6; 150 that name whom the mail speaks to: 0.344, 0.389, 0.395, 0.377, 0.329.
OTHER_SENDER = -3.0

#: What a hypothetical answer's cosine takes over half of.
_FOR_HYDE = {"semantic": "hyde", "semantic_scaled": "hyde_scaled"}

#: Features that a model's cosines make.
OF_MEANING = (
    "semantic",
    "semantic_further",
    "semantic_place",
    "semantic_scaled",
    "hyde",
    "hyde_scaled",
    "both",
    "both_scaled",
)

#: A model finds texts in a language that it wasn't trained on all alike. Hybrid's nDCG@10 on 385 questions in eleven
#: languages with the English default model: 0.712 at 1, 0.734 at a half, 0.741 at a quarter, 0.737 at 0; words alone
#: 0.722. In those that share few words with English (Russian, Turkish, Japanese, Korean and others) 0.665, 0.700, 0.710
#: and 0.706, words alone 0.695; in German, French, Spanish and Portuguese 0.792 to 0.795, words alone 0.768.
ABROAD = 0.25

#: What the best passage's words, title and headings among them, keep of their weight in a question in a sentence
#: (`pool.SENTENCE`) asked of documents of several passages: titles that share its words come first too easily. The
#: other scaled features grow by what it loses, and what further passages add in meaning brings points.
#:
#: nDCG@10 of the candidates on thirteen manuals with 610 judged questions, from which no weights were learned, goes up
#: by 0.016 in the mean and on all but one (0.003 lower there), in answers to 310 of them by 0.013. On Ray it goes up by
#: 0.011, on the Kubernetes tasks down by 0.002 (`benchmarks/ablations.py`). Link texts of ten of these manuals, most of
#: them shorter, stay where they are, as do abstracts, which are of one passage.
#: Where meaning counts less (`ABROAD`) nothing was measured, and nothing changes.
IN_SENTENCES = 0.2
FURTHER_IN_SENTENCES = 1.0

#: What isn't learned.
GIVEN: Mapping[str, float] = {
    "in_links": IN_LINKS,
    "changelog": CHANGELOG,
    "other_sender": OTHER_SENDER,
    "evidence": EVIDENCE,
}


@dataclass(frozen=True, slots=True)
class LinearRanker:
    """Points per unit of each feature; features without a weight bring none, but for those in `GIVEN`.

    `abroad` is the share of what meaning brings where its model wasn't trained on the question's language.
    """

    weights: Mapping[str, float]
    abroad: float = 1.0

    def points(self, documents: Documents) -> Floats:
        """Each document's points by feature, shape (documents, features that bring any)."""
        columns = [weight * documents.values[name] for name, weight in self._weights(documents)]
        return np.stack(columns, axis=1) if columns else np.zeros((len(documents), 0))

    def why(self, documents: Documents, row: int) -> tuple[ScorePart, ...]:
        """The reasons for a document's place; their sum is its score.

        >>> values = {"keyword": np.array([0.5]), "semantic": np.array([0.25]), "body": np.array([1.0])}
        >>> found = Documents(np.array([7]), values, {})
        >>> [c.points for c in LinearRanker({"keyword": 2.0, "semantic": 4.0}).why(found, 0)]
        [1.0, 1.0]
        """
        why = []
        for name, weight in self._weights(documents):
            value = float(documents.values[name][row])
            if value:
                rank = int(documents.ranks[name][row]) if name in documents.ranks else 0
                why.append(ScorePart(name, rank or None, value, weight * value))
        return tuple(why)

    def _weights(self, documents: Documents) -> list[tuple[str, float]]:
        """Features that bring points, in the order in which reasons are told."""
        weights = {**GIVEN, **self.weights}
        return [(name, weights[name]) for name in NAMES if weights.get(name, 0.0) and name in documents.values]

    def answering(self, pool: Candidates) -> LinearRanker:
        """The ranker for one question."""
        ranker = self.in_sentences(pool.sentence) if pool.sentence and not pool.foreign else self
        ranker = ranker.with_hyde() if pool.hyde.ids else ranker
        if not pool.foreign or self.abroad == 1.0:
            return ranker
        less = {name: self.abroad * weight for name, weight in ranker.weights.items() if name in OF_MEANING}
        return LinearRanker({**ranker.weights, **less})

    def in_sentences(self, share: float) -> LinearRanker:
        """The ranker for a question in a sentence; `share` in 0–1 of its candidates are documents of several passages.

        The most that scaled features can bring stays the same, so that sums of different questions compare.

        >>> ranker = LinearRanker({"keyword_scaled": 5.0, "semantic_scaled": 5.0}).in_sentences(0.5)
        >>> {name: round(weight, 3) for name, weight in ranker.weights.items()}
        {'keyword_scaled': 3.75, 'semantic_scaled': 6.25, 'semantic_further': 0.5}
        """
        if not share:
            return self  # a weight that rounding changes by its last bit is another weight
        weights = dict(self.weights)
        usual = sum(weight for name, weight in weights.items() if name in SCALED)
        weights["keyword_scaled"] = weights.get("keyword_scaled", 0.0) * (1 - share * (1 - IN_SENTENCES))
        left = sum(weight for name, weight in weights.items() if name in SCALED)
        if left:
            weights.update({name: weight * usual / left for name, weight in weights.items() if name in SCALED})
        weights["semantic_further"] = weights.get("semantic_further", 0.0) + share * FURTHER_IN_SENTENCES
        return replace(self, weights=weights)

    def with_hyde(self) -> LinearRanker:
        """The ranker for a question with a hypothetical answer: it takes over half of what the cosine says."""
        halves = {name: self.weights.get(name, 0.0) / 2 for name in _FOR_HYDE}
        taken_over = {_FOR_HYDE[name]: half for name, half in halves.items()}
        return replace(self, weights={**self.weights, **halves, **taken_over})


@cache
def shipped() -> LinearRanker:
    """The ranker with the weights of the package."""
    data = json.loads(files(__package__).joinpath("ranker_weights.json").read_text("utf-8"))
    return LinearRanker({name: float(weight) for name, weight in data["weights"].items()}, ABROAD)
