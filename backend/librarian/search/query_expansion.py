"""A language model's words for a question, beside the question's own: asked once, in time, and never relied upon.

What this isn't: a replacement of the question. Its own words and meaning are always searched too.
"""

from __future__ import annotations

import logging
import re
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as FutureTimeout
from dataclasses import asdict, dataclass, replace
from threading import Lock

from ..embeddings.base import QueryRewriter, Rewrite
from ..errors import LibrarianError, Unavailable
from ..models import Deadline, Ranking
from .fusion import ranking_of

log = logging.getLogger(__name__)

#: Modes whose questions are rewritten; `keyword` and `semantic` mean what was typed.
REWRITTEN = frozenset({"hybrid", "rerank", "hyde"})
#: Sources of variants: misspelt words were corrected, nouns of phrasal verbs looked for too, quotes left aside, words
#: behind a minus taken for flags, or for words where there was nothing else.
SPELLING, PHRASAL, QUOTES, FLAGS = "spelling", "phrasal verbs", "quotes left aside", "flags"
EXCLUSIONS = "nothing but exclusions"
_KEPT = 256
_OPERATORS = re.compile(r'"|(?<!\S)-+')


class QueryExpansion:
    """Asks a rewriter within a time of its own, keeps what it said, and leaves one that failed alone for a while.

    Args:
        timeout_s: longest wait for an answer; a question's budget may end it earlier.
        pause_s: after a failure, so long no question waits for the model.
    """

    def __init__(
        self,
        rewriter: QueryRewriter,
        *,
        timeout_s: float = 5.0,
        pause_s: float = 30.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._rewriter = rewriter
        self._timeout_s = timeout_s
        self._pause_s = pause_s
        self._clock = clock
        self._lock = Lock()
        self._said: OrderedDict[str, Rewrite] = OrderedDict()
        self._connected: bool | None = None
        self._failed: tuple[float, Unavailable] | None = None
        self._threads = ThreadPoolExecutor(4, thread_name_prefix="rewriting")

    @property
    def connected(self) -> bool | None:
        """Whether the model's server answered when it was last asked anything; None before that."""
        return self._connected

    def look(self) -> None:
        """Find out whether the server is there, so that `connected` needn't wait for a question."""
        self._connected = self._rewriter.is_connected()

    def reset(self) -> None:
        """Forget what was said and what failed: the next question is asked anew."""
        with self._lock:
            self._said.clear()
            self._failed = None

    def of(self, text: str, budget: Deadline) -> Rewrite:
        """What the model makes of a question. Raises `Unavailable` with one sentence, at the latest when time is up."""
        with self._lock:
            if text in self._said:
                self._said.move_to_end(text)
                return self._said[text]
            if self._failed is not None and (left := self._failed[0] + self._pause_s - self._clock()) > 0:
                error = self._failed[1]
                raise Unavailable(f"{error.message} It is asked again in {left:.0f} s.", hint=error.hint)
        wait_s = min(self._timeout_s, budget.remaining_ms() / 1000)
        try:
            # The model gets no more time than this question; what it is late with is dropped.
            future = self._threads.submit(self._rewriter.rewrite, text, Deadline.of_ms(wait_s * 1000))
            said = future.result(timeout=max(0.0, wait_s))
        except FutureTimeout:
            future.cancel()
            late = Unavailable(f"The language model didn't answer within {wait_s:.1f} s.", hint="Raise llm.timeout_s.")
            raise self._remembered(late) if wait_s >= self._timeout_s else late from None
        except LibrarianError as error:
            raise self._remembered(Unavailable(error.message, hint=error.hint)) from error
        except Exception as error:
            # Whatever a model's server makes the rewriter trip over must not cost the answer.
            log.exception("the rewriter failed")
            raise self._remembered(Unavailable(f"What the language model said can't be used ({error!r}).")) from error
        said = replace(said, search_terms=" ".join(_OPERATORS.sub(" ", said.search_terms).split()))
        with self._lock:
            self._failed, self._connected = None, True
            self._said[text] = said
            while len(self._said) > _KEPT:
                self._said.popitem(last=False)
        return said

    def _remembered(self, error: Unavailable) -> Unavailable:
        with self._lock:
            self._failed, self._connected = (self._clock(), error), False
        return error

    def close(self) -> None:
        """End the threads; an answer still under way ends with its own time limit."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        self._rewriter.close()


@dataclass(frozen=True, slots=True)
class QueryVariant:
    """What was searched beside the question as it was typed, and whose words these are."""

    search_terms: str
    hypothetical_answer: str
    source: str


def as_told(variants: Iterable[QueryVariant]) -> dict[str, object] | None:
    """What an answer tells of a question's variants, all of them; None where there is none."""
    told = [asdict(variant) for variant in variants]
    return {name: "; ".join(filter(None, (one[name] for one in told))) for name in told[0]} if told else None


def better_of(own: Ranking, expanded: Ranking) -> Ranking:
    """Each passage with the better of its scores for the question, and for the question together with further terms.

    Both are shares of what their query could reach, and the second holds all words of the first: a passage can't get
    far by the further terms alone.
    """
    if own.status != "ok" or expanded.status != "ok":
        return own
    scores = dict(zip(expanded.ids, expanded.scores, strict=True))
    raw = dict(zip(expanded.ids, expanded.raw, strict=True))
    for chunk, points, score in zip(own.ids, own.raw, own.scores, strict=True):
        if score >= scores.get(chunk, -1.0):
            scores[chunk], raw[chunk] = score, points
    merged = ranking_of(own.source, scores, scores)
    more = own.more or expanded.more
    return replace(merged, raw=tuple(raw[chunk] for chunk in merged.ids), ms=own.ms + expanded.ms, more=more)
