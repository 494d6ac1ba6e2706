"""Fits a library's calibration to the library itself, and keeps what was fitted with it."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable

from .evaluation import own_questions
from .finding import calibrating
from .finding.calibrating import Fit
from .finding.calibration import Calibration
from .finding.fusion import score
from .finding.hybrid_search import HybridSearchEngine
from .finding.ranker import ABROAD
from .vocabulary.errors import Unavailable
from .vocabulary.protocols import Budget, Catalog
from .vocabulary.types import Document, Mode, Query

KEY = "calibration"
#: Smaller libraries keep the shipped curves: what few pages say about strangers' questions is chance.
FEWEST_PASSAGES = 200
OWN_ASKED = 60


class Calibrating:
    """Calibrates a library that is complete and isn't what it was at the last fit.

    Args:
        complete: whether every passage is embedded.
        basis: names what sums depend on besides the library: model, fusion, weights.
        scale: of hybrid's sums.
        by_meaning: whether the library has embeddings; without, keyword search alone is calibrated.
        adapted: whether questions are turned by what was learned from headings: those held out are asked then.
        ended: set once the library closes.
    """

    def __init__(
        self,
        engine: HybridSearchEngine,
        catalog: Catalog,
        *,
        complete: Callable[[], bool],
        basis: Callable[[], str],
        scale: str,
        by_meaning: bool,
        adapted: Callable[[], bool] = lambda: False,
        ended: threading.Event,
    ) -> None:
        self._engine = engine
        self._catalog = catalog
        self._complete = complete
        self._given = basis
        self._modes: dict[str, Mode] = {"keyword": "keyword"}
        if by_meaning:
            self._modes |= {"semantic": "semantic", scale: "hybrid"}
        self._ended = ended
        self._adapted = adapted
        self._fit: Fit | None = None
        self._taken_up: str | None = None

    def notes(self) -> tuple[str, ...]:
        """What the status says of it."""
        return (self._fit.note(),) if self._fit else ()

    def due(self) -> bool:
        """Whether the library is complete, large enough and not what it was at the last fit."""
        with self._catalog.read() as reader:
            basis, fitted = reader.meta(f"{KEY} basis"), reader.meta(f"{KEY} passages", "0")
            passages = reader.count().chunks
        if passages < FEWEST_PASSAGES or not self._complete():
            return False
        return basis != self._basis() or own_questions.is_another(passages, int(fitted))

    def take_up(self) -> None:
        """Use what was fitted, here or by another server of the same library, where that isn't in use yet."""
        with self._catalog.read() as reader:
            kept = reader.meta(KEY)
            if kept != self._taken_up and reader.meta(f"{KEY} basis") == self._basis():
                self._use(Fit.of_json(kept))
                self._taken_up = kept

    def renew(self) -> Fit | None:
        """Ask all questions now, and use and keep what they say. None where the library has too few headings."""
        with self._catalog.read() as reader:
            passages = reader.count().chunks
        headings = own_questions.of_headings(self._documents())
        headings = own_questions.untaught(headings) if self._adapted() else headings
        own = [one.judged.text for one in own_questions.sample(headings, OWN_ASKED)]
        foreign = [text for language in self._spoken() for text in calibrating.foreign_questions(language)]
        asked = (own, list(dict.fromkeys(foreign)))
        known, strange = (calibrating.sums(self._best, self._modes, questions) for questions in asked)
        fitted = calibrating.fit(known, strange)
        self._taken_up = fitted.as_json() if fitted else ""
        self._catalog.set_meta(KEY, self._taken_up)
        self._catalog.set_meta(f"{KEY} passages", str(passages))
        self._catalog.set_meta(f"{KEY} basis", self._basis())
        self._use(fitted)
        return fitted

    # -- inside --------------------------------------------------------------------------------------------------

    def _spoken(self) -> tuple[str, ...]:
        columns = self._catalog.columns()
        return calibrating.spoken(
            Counter(columns.tally("document").languages) + Counter(columns.tally("email").languages)
        )

    def _basis(self) -> str:
        """Names what the fit depends on besides the number of passages."""
        parts = [self._given(), str(calibrating.UNLIKELY_AT), str(calibrating.YES_AT)]
        spoken = self._spoken()
        return "|".join(parts if spoken == ("en",) else [*parts, str(ABROAD), *spoken])

    def _use(self, fitted: Fit | None) -> None:
        """Use a fit; where there can be none, what is in use isn't provisional any more."""
        if fitted is not None:
            self._fit = fitted
        if fitted is not None or self._fit is None:
            self._engine.use(calibration=fitted.calibration() if fitted is not None else Calibration())

    def _documents(self) -> list[Document]:
        with self._catalog.read() as reader:
            return [stored.document for stored in reader.iter_documents()]

    def _best(self, text: str, mode: Mode) -> float:
        if self._ended.is_set():
            raise Unavailable("The library is closing.", hint="It is calibrated at the next start.")
        found = self._engine.search(Query(text, mode=mode, max_results=1, ask_llm=False), Budget())
        if found.mode != mode:
            raise Unavailable(f"{mode} search doesn't work now: {'; '.join(found.degraded)}")
        return score(found.hits[0].candidate.why) if found.hits else 0.0
