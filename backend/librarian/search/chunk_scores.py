"""What a passage counts beside others: within its document, and as the document's best."""

from __future__ import annotations

import numpy as np

from .candidates import Candidates, Floats, spoken

#: Points of a passage's words and of its cosine. Within a page words tell passages apart better than meaning, which all
#: of them share: of 258 links to sections of other pages the first passage is of the section in 67% at 12 : 8 and in
#: 60% at 3 : 10 (`benchmarks/sections.py`). Twice as much would push a page's further passages down.
OWN = (12.0, 8.0)

#: In a question in a sentence (`pool.SENTENCE`) the share of the words that counts by the text alone: headings that
#: share its words come first too easily, as titles do. Of 535 questions with the lines that answer, those of
#: `benchmarks/answers.py` and of four manuals more, the passages' MRR@10 goes up by 0.007 (z 2.4) with it, and with a
#: share of 1. Links that lead to sections, which mostly say what the heading says, lose 0.013, with 1 in all questions
#: 0.055.
TEXT_IN_SENTENCES = 0.75


def words_and_meaning(pool: Candidates) -> tuple[Floats, Floats]:
    """What words and meaning say of each passage, for `OWN`; both of shape (rows,)."""
    words = spoken(pool.passages.bm25)
    if pool.sentence and "body" in pool.passages.fields:
        share = TEXT_IN_SENTENCES * pool.sentence
        words = (1 - share) * words + share * pool.passages.fields["body"]
    return words, spoken(pool.passages.semantic)


def strength(pool: Candidates) -> Floats:
    """Each passage's points, shape (rows,)."""
    words, meaning = words_and_meaning(pool)
    return np.asarray(OWN[0] * words + OWN[1] * meaning)
