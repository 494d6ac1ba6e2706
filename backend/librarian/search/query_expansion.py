"""A language model's words for a query, asked once, in time and never relied upon; and hypothetical answers (HyDE).

The query's own words and meaning are always searched too. HyDE: a passage such as would answer the question is nearer
to the real one than the question is (Gao et al., "Precise Zero-Shot Dense Retrieval without Relevance Labels", ACL
2023). The answer comes from the caller (a language model anyway), else from a configured language model, else from a
template.
"""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING

from ..embeddings.base import Rewrite
from ..errors import LibrarianError, Unavailable
from ..models import AnalyzedQuery, Deadline
from ..storage.database import LruCache

if TYPE_CHECKING:
    from ..embeddings.language_models import LlmRewriter

log = logging.getLogger(__name__)

#: Modes whose queries are expanded; `keyword` and `semantic` mean what was typed.
REWRITTEN = frozenset({"hybrid", "rerank", "hyde"})
#: Sources of other forms of a query: misspelt words were corrected, quotes ignored, words behind a minus taken for
#: flags, or for words where there was nothing else.
SPELLING, QUOTES, FLAGS, EXCLUSIONS = "spelling", "quotes ignored", "flags", "nothing but exclusions"
_REMEMBERED = 256
_OPERATORS = re.compile(r'"|(?<!\S)-+')

#: A question of fewer content words says too little for a language model to answer it in advance.
FEWEST_TERMS = 3
_QUESTION_OPENING = re.compile(
    r"^(please\s+)?(can (you|i|we)|could (you|i|we)|how (do|does|can|could|should|would|to)( (i|we|you|one))?|"
    r"what (is|are|does|do)( the)?|why (is|are|does|do|did)|where (is|are|can|do)( (i|we))?( find)?|"
    r"explain( to me)?|describe|tell me( about)?|is (it|there)|which)\s+",
    re.IGNORECASE,
)
_TEMPLATES = {
    "factual": "{Topic}: the value, default and allowed settings of {topic} are as follows.",
    "conceptual": "{Topic} works as follows. This page explains {topic} and how it is used, with an example.",
    "troubleshooting": "If {topic} fails, check the logs and the configuration. The cause of {topic} is usually the "
    "following; to fix it, do this.",
    "navigational": "{Topic}. This section is the reference and guide for {topic}.",
}


def why_no_answer(query: AnalyzedQuery, fewest: int = FEWEST_TERMS) -> str:
    """Why no hypothetical answer is made for this query, which needs `fewest` content words; empty where one is."""
    if query.identifiers:
        return "the question names an identifier: its exact words matter"
    if len(query.terms) < fewest:
        return f"fewer than {fewest} content words" if fewest > 1 else "no content word"
    return ""


def answer_from_template(text: str, query_type: str) -> str:
    """An answer-like passage about an English question's topic."""
    topic = _QUESTION_OPENING.sub("", text.strip()).strip(" ?!.") or text.strip(" ?!.")
    return _TEMPLATES[query_type].format(topic=topic, Topic=topic[:1].upper() + topic[1:])


class QueryExpansion:
    """Asks a rewriter within a time of its own, remembers its answers, and leaves one that failed alone for a while.

    `timeout_s` is the longest wait for an answer, which a query's deadline may end earlier; after a failure no query
    waits for the model for `pause_s`.
    """

    def __init__(
        self,
        rewriter: LlmRewriter,
        *,
        timeout_s: float = 5.0,
        pause_s: float = 30.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._rewriter = rewriter
        self._timeout_s = timeout_s
        self._pause_s = pause_s
        self._clock = clock
        self._answers: LruCache[str, Rewrite] = LruCache(_REMEMBERED)
        self._failed: tuple[float, Unavailable] | None = None
        self.connected: bool | None = None  #: whether the model's server answered when it was last asked anything
        self._threads = ThreadPoolExecutor(4, thread_name_prefix="rewriting")

    def look(self) -> None:
        """Find out whether the server is there, so that `connected` needn't wait for a query."""
        self.connected = self._rewriter.is_reachable()

    def reset(self) -> None:
        """Forget answers and failures: the next query is asked anew."""
        self._answers.clear()
        self._failed = None

    def of(self, text: str, deadline: Deadline) -> Rewrite:
        """What the model makes of a query. Raises `Unavailable` with one sentence, at the latest when time is up."""
        if (answered := self._answers.get(text)) is not None:
            return answered
        failed = self._failed
        if failed is not None and (left := failed[0] + self._pause_s - self._clock()) > 0:
            raise Unavailable(f"{failed[1].message} It is asked again in {left:.0f} s.", hint=failed[1].hint)
        wait_ms = min(self._timeout_s * 1000, deadline.remaining_ms())
        try:
            # The model gets no more time than this query; what it is late with is dropped.
            future = self._threads.submit(self._rewriter.rewrite, text, Deadline.of_ms(wait_ms))
            answer = future.result(timeout=max(0.0, wait_ms / 1000))
        except Exception as error:
            if isinstance(error, TimeoutError):
                late = f"The language model didn't answer within {wait_ms / 1000:.1f} s."
                failure = Unavailable(late, hint="Raise llm.timeout_s.")
            elif isinstance(error, LibrarianError):
                failure = Unavailable(error.message, hint=error.hint)
            else:  # whatever a model's server makes the rewriter trip over must not cost the answer
                log.exception("the rewriter failed")
                failure = Unavailable(f"The language model's answer can't be used ({error!r}).")
            self._failed, self.connected = (self._clock(), failure), False
            raise failure from error
        answer = replace(answer, search_terms=" ".join(_OPERATORS.sub(" ", answer.search_terms).split()))
        self._failed, self.connected = None, True
        self._answers.put(text, answer)
        return answer

    def close(self) -> None:
        """End the threads; an answer still under way ends with its own time limit."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        self._rewriter.close()


@dataclass(frozen=True, slots=True)
class QueryForm:
    """What was searched beside the query as it was typed, and where that comes from."""

    search_terms: str
    hypothetical_answer: str
    source: str


def described(forms: Iterable[QueryForm]) -> dict[str, object] | None:
    """What an answer says of all other forms of a query (its field `rewritten`); None where there is none."""
    rows = [asdict(form) for form in forms]
    return {name: "; ".join(filter(None, (row[name] for row in rows))) for name in rows[0]} if rows else None
