"""Whatever is asked, the answer is an answer or a refusal in words, soon: operators, bombs, control characters."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings

from tests.reliability.queries import PIECES, QUERIES, VectorRequest


@pytest.fixture(scope="module")
def asked() -> Iterator[VectorRequest]:
    made = VectorRequest()
    yield made
    made.close()


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(text=QUERIES)
def test_any_question_is_answered_or_refused(asked: VectorRequest, text: str) -> None:
    asked(text)


@pytest.mark.parametrize("piece", PIECES)
@pytest.mark.no_cover
def test_no_piece_repeated_takes_long(asked: VectorRequest, piece: str) -> None:
    began = time.monotonic()
    asked((piece * 2000)[:1990])
    assert time.monotonic() - began < 5
