"""Hypothetical answers: a passage such as would answer the question is nearer to the real one than the question is.

Gao et al., "Precise Zero-Shot Dense Retrieval without Relevance Labels", ACL 2023. The answer comes from the caller
(a language model anyway), else from a configured language model, else from a template by the kind of question.
"""

from __future__ import annotations

import re
from typing import Literal

import numpy as np

from ..models import AnalyzedQuery, Vector

QueryType = Literal["factual", "conceptual", "troubleshooting", "navigational"]

#: A question of fewer content words says too little for a language model to answer it in advance. A template only says
#: it otherwise, for those who have asked for that: it needs something to speak of.
FEWEST_TERMS = 3
FEWEST_FOR_TEMPLATE = 1

_QUESTION_OPENING = re.compile(
    r"^(please\s+)?(can (you|i|we)|could (you|i|we)|how (do|does|can|could|should|would|to)( (i|we|you|one))?|"
    r"what (is|are|does|do)( the)?|why (is|are|does|do|did)|where (is|are|can|do)( (i|we))?( find)?|"
    r"explain( to me)?|describe|tell me( about)?|is (it|there)|which)\s+",
    re.IGNORECASE,
)

_TEMPLATES: dict[str, str] = {
    "factual": "{Topic}: the value, default and allowed settings of {topic} are as follows.",
    "conceptual": "{Topic} works as follows. This page explains {topic} and how it is used, with an example.",
    "troubleshooting": "If {topic} fails, check the logs and the configuration. The cause of {topic} is usually the "
    "following; to fix it, do this.",
    "navigational": "{Topic}. This section is the reference and guide for {topic}.",
}


def applies(query: AnalyzedQuery, fewest: int = FEWEST_TERMS) -> str:
    """Why HyDE stays off for this question; empty where it applies. `fewest` content words are needed."""
    if query.identifiers:
        return "the question names an identifier: its exact words matter"
    if len(query.terms) < fewest:
        return f"fewer than {fewest} content words" if fewest > 1 else "no content word"
    return ""


def from_template(text: str, query_type: str) -> str:
    """An answer-like passage about the question's topic.

    >>> from_template("How do I configure authentication?", "navigational")
    'Configure authentication. This section is the reference and guide for configure authentication.'
    """
    topic = _QUESTION_OPENING.sub("", text.strip()).strip(" ?!.") or text.strip(" ?!.")
    return _TEMPLATES[query_type].format(topic=topic, Topic=topic[:1].upper() + topic[1:])


def combined(question: Vector, answer: Vector, question_share: float = 0.4) -> Vector:
    """The unit vector of `share × question + (1 − share) × answer`."""
    mixed = question_share * question + (1 - question_share) * answer
    return np.asarray(mixed / max(float(np.linalg.norm(mixed)), 1e-12), dtype=np.float32)
