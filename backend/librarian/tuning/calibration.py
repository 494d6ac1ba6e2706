"""Fits a library's calibration to the library itself, and keeps what was fitted with it."""

from __future__ import annotations

import json
import math
import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from importlib.resources import files

import numpy as np

from ..errors import Unavailable
from ..models import Deadline, Mode, Query
from ..search.engine import HybridSearchEngine
from ..search.ranker import UNSUPPORTED_LANGUAGE
from ..search.ranking import Calibration, Curve, score
from ..storage.base import Catalog
from . import own_questions
from .background import Record, Training

#: Shares of the unrelated questions below which an answer is "unlikely", and above which it is "yes". The library's own
#: headings hold the fit back: these shares of them bound the two from above.
UNLIKELY_AT, YES_AT = 0.3, 0.95
OWN_UNLIKELY, OWN_YES = 0.05, 0.25
#: Fewer questions of its own, and the shipped curves stay.
FEWEST = 12

#: Scale → the best hit's sum for each question; 0 where nothing was found.
Sums = Mapping[str, Sequence[float]]


class Fit(Record):
    """Curves by scale with what they were fitted on, and how often they err on questions held out."""

    curves: Mapping[str, Curve]  #: none if the library has too few questions of its own
    own: int = 0  #: questions of the library
    negative: int = 0
    own_unlikely: float = 0.0  #: share of the library's held out questions that came out `unlikely`
    negative_yes: float = 0.0  #: share of held out unrelated questions that came out `yes`

    def calibration(self) -> Calibration:
        """The shipped calibration with these curves in place of its own."""
        shipped = Calibration()
        return replace(shipped, curves={**shipped.curves, **self.curves})

    def note(self) -> str:
        """One sentence for the status."""
        return (
            f"answerable: fitted to this library on {self.own} of its headings and {self.negative} unrelated "
            f"questions; of those held out, {self.own_unlikely:.0%} of the headings came out unlikely and "
            f"{self.negative_yes:.0%} of the unrelated ones yes."
        )


#: Share of the documents from which on a language's unrelated questions are asked.
MAIN_SHARE = 0.2


@cache
def negative_queries(language: str = "en") -> tuple[str, ...]:
    """The shipped questions that most libraries don't answer; in English where there are none in a language."""
    data = json.loads(files(__package__).joinpath("negative_queries.json").read_text("utf-8"))
    return tuple(data["translated"].get(language) or data["questions"])


def main_languages(documents: Mapping[str, int]) -> tuple[str, ...]:
    """The languages that a library's unrelated questions are in, most frequent first; `documents` by language.

    >>> main_languages({"ja": 90, "": 5, "de": 5}), main_languages({"en": 40, "ja": 60}), main_languages({"": 3})
    (('ja',), ('ja', 'en'), ('en',))
    """
    counts: Counter[str] = Counter()
    for language, count in documents.items():
        counts[language or "en"] += count
    return tuple(language for language, count in counts.most_common() if count >= MAIN_SHARE * counts.total()) or (
        "en",
    )


def curve(own: Sequence[float], negative: Sequence[float]) -> Curve:
    """The curve that gives `unlikely_below` and `yes_from` at the sums which the constants above name.

    >>> fitted = curve([10.0, 11.0, 12.0, 13.0], [2.0, 3.0, 4.0])
    >>> round(fitted(2.6), 2), round(fitted(3.9), 2)  # three tenths and nineteen twentieths of the negative sums
    (0.2, 0.7)
    """
    usual = Calibration()
    low = min(np.quantile(negative, UNLIKELY_AT), np.quantile(own, OWN_UNLIKELY))
    high = min(np.quantile(negative, YES_AT), np.quantile(own, OWN_YES))
    high = max(high, low * 1.05, low + 1e-3)  # where the two can't be told apart: a steep curve, nearly a threshold
    steps = _logit(usual.yes_from) - _logit(usual.unlikely_below)
    slope = steps / float(high - low)
    return Curve(float(low) - _logit(usual.unlikely_below) / slope, slope)


def fit(own: Sums, negative: Sums) -> Fit | None:
    """Curves for every scale that both were asked on; None where the library has too few questions of its own.

    The error rates are of the last scale, whose curve is fitted again on every other question and tried on the rest.
    """
    scales = [scale for scale in own if scale in negative and len(own[scale]) >= FEWEST and len(negative[scale])]
    if not scales:
        return None
    last, usual = scales[-1], Calibration()
    held = curve(own[last][::2], negative[last][::2])
    missed = [held(total) < usual.unlikely_below for total in own[last][1::2]]
    fooled = [held(total) >= usual.yes_from for total in negative[last][1::2]]
    return Fit(
        curves={scale: curve(own[scale], negative[scale]) for scale in scales},
        own=len(own[last]),
        negative=len(negative[last]),
        own_unlikely=sum(missed) / len(missed),
        negative_yes=sum(fooled) / max(1, len(fooled)),
    )


def _logit(share: float) -> float:
    return math.log(share / (1 - share))


#: Smaller libraries keep the shipped curves: what few pages say about unrelated questions is chance.
MIN_CHUNKS = 200
OWN_ASKED = 60


class CalibrationTraining(Training[Fit]):
    """Calibrates a library that is complete and isn't what it was at the last fit.

    Args:
        fingerprint: names what sums depend on besides the library: model, fusion, weights.
        scale: of hybrid's sums.
        semantic: whether the library has embeddings; without, keyword search alone is calibrated.
        adapted: whether a query adapter is in use: questions of held-out pages are asked then.
    """

    KEY, RECORD, FEWEST_CHUNKS = "calibration", Fit, MIN_CHUNKS

    def __init__(
        self,
        engine: HybridSearchEngine,
        catalog: Catalog,
        *,
        complete: Callable[[], bool],
        fingerprint: Callable[[], str],
        scale: str,
        semantic: bool,
        adapted: Callable[[], bool] = lambda: False,
        ended: threading.Event,
    ) -> None:
        super().__init__(engine, catalog, complete=complete, ended=ended)
        self._given = fingerprint
        self._modes: dict[str, Mode] = {"keyword": "keyword"}
        if semantic:
            self._modes |= {"semantic": "semantic", scale: "hybrid"}
        self._adapted = adapted
        self._fit: Fit | None = None

    def notes(self) -> tuple[str, ...]:
        """Sentences about the fit in use, for the status."""
        return (self._fit.note(),) if self._fit else ()

    def _fingerprint(self) -> str:
        parts = [self._given(), str(UNLIKELY_AT), str(YES_AT)]
        languages = self._languages()
        return "|".join(parts if languages == ("en",) else [*parts, str(UNSUPPORTED_LANGUAGE), *languages])

    def _learned(self) -> Fit:
        with self._catalog.read() as reader:
            documents = [stored.document for stored in reader.iter_documents()]
        headings = own_questions.of_headings(documents)
        headings = own_questions.untaught(headings) if self._adapted() else headings
        own = [one.rated.text for one in own_questions.sample(headings, OWN_ASKED)]
        negative = dict.fromkeys(text for language in self._languages() for text in negative_queries(language))
        return fit(self._sums(own), self._sums(list(negative))) or Fit(curves={})

    def _use(self, record: Fit) -> None:
        """Use a fit. Without curves an earlier fit stays, or the shipped curves aren't provisional any more."""
        if record.curves or self._fit is None:
            self._engine.use(calibration=record.calibration())
        if record.curves:
            self._fit = record

    def _languages(self) -> tuple[str, ...]:
        columns = self._catalog.columns()
        counts = [Counter(columns.file_counts(kind).languages) for kind in ("document", "email")]
        return main_languages(counts[0] + counts[1])

    def _sums(self, questions: Sequence[str]) -> Sums:
        return {scale: [self._best(text, mode) for text in questions] for scale, mode in self._modes.items()}

    def _best(self, text: str, mode: Mode) -> float:
        self._go_on()
        found = self._engine.search(Query(text, mode=mode, max_results=1, ask_llm=False), Deadline())
        if found.mode != mode:
            raise Unavailable(f"{mode} search doesn't work now: {'; '.join(found.degraded)}")
        return score(found.hits[0].candidate.why) if found.hits else 0.0
