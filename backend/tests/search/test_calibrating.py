"""Relevance is fitted to the library: to its own questions and to foreign ones.

* the fitted curve gives "unlikely" below three tenths of the foreign sums and "yes" above nine tenths
* the library's own questions hold it back: most of them are never "unlikely"
* relevance rises with the sum on every fitted curve
* a fit survives being kept as text; garbage is no fit; too few questions make none
* a catalog that can't be read for a moment doesn't end it
"""

from __future__ import annotations

import logging
import threading

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from librarian.errors import Unavailable
from librarian.models import Query
from librarian.search.ranking import Calibration
from librarian.tuning.background import BackgroundLearning
from librarian.tuning.calibration import FEWEST, CalibrationTraining, Fit, curve, fit, negative_queries

from .library import Library

sums = st.lists(st.floats(0, 30), min_size=FEWEST, max_size=60)


def test_strangers_are_told_from_the_librarys_own_questions() -> None:
    own = [12 + place / 10 for place in range(40)]
    foreign = [4 + place / 10 for place in range(40)]
    found = fit({"keyword": own, "learned": own}, {"keyword": foreign, "learned": foreign})
    assert found is not None
    assert (found.own, found.negative) == (40, 40)
    assert found.own_unlikely == 0
    assert found.negative_yes <= 0.15
    calibration = found.calibration()
    answers = [calibration.answerable(calibration.relevance("learned", total)) for total in (4, 6.5, 14)]
    assert answers == ["unlikely", "unknown", "yes"]
    assert calibration.curves["rerank"] == Calibration().curves["rerank"]
    assert "40 of its headings" in found.note()


@settings(max_examples=50, deadline=None)
@given(sums, sums)
def test_any_sums_make_a_rising_curve_that_keeps_the_librarys_own_questions(
    own: list[float], foreign: list[float]
) -> None:
    fitted = curve(own, foreign)
    values = [fitted(total) for total in sorted({*own, *foreign})]
    assert values == sorted(values)
    usual = Calibration()
    unlikely = sum(fitted(total) < usual.unlikely_below - 1e-9 for total in own)
    assert unlikely <= len(own) * 0.05 + 1


def test_a_fit_survives_being_kept_as_text() -> None:
    own, foreign = {"learned": [float(n) for n in range(20)]}, {"learned": [0.5] * 20}
    found = fit(own, foreign)
    assert found is not None
    assert Fit.of_json(found.model_dump_json()) == found
    for garbage in ("", "{}", "null", "[1]", '{"curves": {"learned": 3}}'):
        assert Fit.of_json(garbage) is None
    assert fit({"learned": [1.0] * (FEWEST - 1)}, foreign) is None


def test_foreign_questions_are_many_and_each_its_own() -> None:
    questions = negative_queries()
    assert len(questions) >= 50
    assert len(set(questions)) == len(questions)


def test_a_library_with_too_few_headings_to_fit_keeps_the_shipped_curves_for_good(manual: Library) -> None:
    engine = manual.engine(calibration=Calibration(provisional_from=1))
    calibrating = CalibrationTraining(
        engine,
        manual.catalog,
        complete=lambda: True,
        fingerprint=lambda: "",
        scale="learned",
        semantic=False,
        ended=threading.Event(),
    )
    asked = Query("how to deploy", mode="keyword")
    assert not engine.search(asked).calibrated
    assert not calibrating.renew().curves
    assert engine.search(asked).calibrated


def test_it_outlives_a_moment_in_which_the_catalog_cannot_be_read(
    manual: Library, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    failed, again = threading.Event(), threading.Event()

    def complete() -> bool:
        if not failed.is_set():
            failed.set()
            raise Unavailable("The catalog can't be used.")
        again.set()
        return False

    ended = threading.Event()
    calibrating = CalibrationTraining(
        manual.engine(),
        manual.catalog,
        complete=complete,
        fingerprint=lambda: "",
        scale="learned",
        semantic=False,
        ended=ended,
    )
    monkeypatch.setattr(CalibrationTraining, "FEWEST_CHUNKS", 1)
    fitting = BackgroundLearning([calibrating], complete=complete, ended=ended)
    with caplog.at_level(logging.WARNING):
        fitting.start()
        assert failed.wait(120)
        fitting.look()
        assert again.wait(120)
    fitting.close()
    assert "couldn't be learned from: The catalog can't be used." in caplog.text
