"""Fits what relevance means to the library at hand: to questions that it answers and to questions that it doesn't.

The library's own headings are questions that it answers; shipped ones from other fields and about other products are
questions that it doesn't. Both are asked in each mode, and the best hit's sum is what tells them apart.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
from importlib.resources import files

import numpy as np

from librarian.vocabulary.types import Mode

from .calibration import Calibration, Curve

#: Below what three tenths of the foreign questions reach an answer is "unlikely", above nineteen of twenty "yes". At
#: the middle in place of three tenths 17% of CACM's judged questions came out "unlikely". The library's own headings
#: hold the fit back: nineteen of twenty stay above the one, three quarters above the other.
UNLIKELY_AT, YES_AT = 0.3, 0.95
OWN_UNLIKELY, OWN_YES = 0.05, 0.25
#: Fewer questions of its own, and the shipped curves stay.
FEWEST = 12

#: Scale → the best hit's sum for each question; 0 where nothing was found.
Sums = Mapping[str, Sequence[float]]


@dataclass(frozen=True, slots=True)
class Fit:
    """Curves by scale with what they were fitted on, and how often they err on questions held out."""

    curves: Mapping[str, Curve]
    own: int  #: questions of the library
    foreign: int
    own_unlikely: float  #: share of the library's held out questions that came out `unlikely`
    foreign_yes: float  #: share of held out foreign questions that came out `yes`

    def calibration(self) -> Calibration:
        """The shipped calibration with these curves in place of its own."""
        shipped = Calibration()
        return replace(shipped, curves={**shipped.curves, **self.curves})

    def note(self) -> str:
        """One sentence for the status."""
        return (
            f"answerable: fitted to this library on {self.own} of its headings and {self.foreign} foreign questions; "
            f"of those held out, {self.own_unlikely:.0%} of the headings came out unlikely and {self.foreign_yes:.0%} "
            "of the foreign ones yes."
        )

    def as_json(self) -> str:
        return json.dumps({**asdict(self), "curves": {scale: asdict(curve) for scale, curve in self.curves.items()}})

    @classmethod
    def of_json(cls, text: str) -> Fit | None:
        """What `as_json` wrote; None for anything else."""
        try:
            data = json.loads(text)
            curves = {scale: Curve(**curve) for scale, curve in data.pop("curves").items()}
            return cls(curves=curves, **data)
        except (ValueError, KeyError, TypeError, AttributeError):
            return None


#: Share of the documents from which on a language's foreign questions are asked.
SPOKEN = 0.2


@cache
def foreign_questions(language: str = "en") -> tuple[str, ...]:
    """The shipped questions that most libraries don't answer; in English where there are none in a language."""
    data = json.loads(files(__package__).joinpath("foreign_questions.json").read_text("utf-8"))
    return tuple(data["translated"].get(language) or data["questions"])


def spoken(documents: Mapping[str, int]) -> tuple[str, ...]:
    """The languages that a library's foreign questions are in, most frequent first; `documents` by language.

    A model that wasn't trained on a language finds all its texts alike: what it says of foreign questions in another
    tells nothing there.

    >>> spoken({"ja": 90, "": 5, "de": 5}), spoken({"en": 40, "ja": 60}), spoken({"": 3})
    (('ja',), ('ja', 'en'), ('en',))
    """
    counts: Counter[str] = Counter()
    for language, count in documents.items():
        counts[language or "en"] += count
    return tuple(language for language, count in counts.most_common() if count >= SPOKEN * counts.total()) or ("en",)


def curve(own: Sequence[float], foreign: Sequence[float]) -> Curve:
    """The curve that gives `unlikely_below` and `yes_from` at the sums which the constants above name.

    >>> fitted = curve([10.0, 11.0, 12.0, 13.0], [2.0, 3.0, 4.0])
    >>> round(fitted(2.6), 2), round(fitted(3.9), 2)  # three tenths and nineteen twentieths of the foreign sums
    (0.2, 0.7)
    """
    usual = Calibration()
    low = min(np.quantile(foreign, UNLIKELY_AT), np.quantile(own, OWN_UNLIKELY))
    high = min(np.quantile(foreign, YES_AT), np.quantile(own, OWN_YES))
    high = max(high, low * 1.05, low + 1e-3)  # where the two can't be told apart: a steep curve, nearly a threshold
    steps = _logit(usual.yes_from) - _logit(usual.unlikely_below)
    slope = steps / float(high - low)
    return Curve(float(low) - _logit(usual.unlikely_below) / slope, slope)


def fit(own: Sums, foreign: Sums) -> Fit | None:
    """Curves for every scale that both were asked on; None where the library has too few questions of its own.

    The error rates are of the last scale, whose curve is fitted again on every other question and tried on the rest.
    """
    scales = [scale for scale in own if scale in foreign and len(own[scale]) >= FEWEST and len(foreign[scale])]
    if not scales:
        return None
    last, usual = scales[-1], Calibration()
    held = curve(own[last][::2], foreign[last][::2])
    missed = [held(total) < usual.unlikely_below for total in own[last][1::2]]
    fooled = [held(total) >= usual.yes_from for total in foreign[last][1::2]]
    return Fit(
        {scale: curve(own[scale], foreign[scale]) for scale in scales},
        len(own[last]),
        len(foreign[last]),
        sum(missed) / len(missed),
        sum(fooled) / max(1, len(fooled)),
    )


def sums(
    ask: Callable[[str, Mode], float], modes: Mapping[str, Mode], questions: Sequence[str]
) -> dict[str, list[float]]:
    """Scale → the best sum of each question; `modes` says which mode each scale is of, `ask` takes (text, mode)."""
    return {scale: [ask(text, mode) for text in questions] for scale, mode in modes.items()}


def _logit(share: float) -> float:
    return math.log(share / (1 - share))
