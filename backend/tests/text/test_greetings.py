"""Greetings around questions.

* Greetings, politeness and requests to look something up count for nothing, whatever is asked between them.
* What only looks like a frame stays, and nothing is taken where nothing would be left.
* Time grows no faster than the text.
"""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from librarian.text.analyzer import StandardAnalyzer
from librarian.text.query_parser import strip_greetings

ANALYZER = StandardAnalyzer()
FRAMES = [
    "{}",
    "Hi there, could someone please explain to me {} Thanks in advance!",
    "Can you please tell me {} Thanks!",
    "Search the documentation for: {}",
    "Hello! Could you help me understand {}",
    "I would like to know {} Thank you very much",
    "please explain to me {}",
    "Do you know {}",
    "Good morning. {} Any help would be much appreciated.",
    "show me {}",
]
ASKED = [
    "how pods restart?",
    "what `ray.get` raises -local?",
    'where is "object store" set?',
    "Wie startet man Pods neu?",
]


@pytest.mark.parametrize("frame", FRAMES)
@pytest.mark.parametrize("asked", ASKED)
def test_a_framed_question_asks_what_the_bare_one_does(frame: str, asked: str) -> None:
    bare, framed = ANALYZER.query(asked, ["en", "de"]), ANALYZER.query(frame.format(asked), ["en", "de"])
    assert strip_greetings(frame.format(asked)) == asked
    for name in ("terms", "identifiers", "phrases", "excluded", "repeated", "asked", "wanted"):
        assert getattr(framed, name) == getattr(bare, name)
    assert framed.text == frame.format(asked)


@pytest.mark.parametrize(
    "text",
    [
        "hello world",
        "Hello, World example",
        "hi-res images",
        "how to get some help",
        "search documentation with filters",
        "kubectl describe",
        "thanks",
        "can you",
        "Thanks in advance",
        "tell me",
        "",
        "question marks in globs",
        "what is a library guide",
        "mails that say thanks",
        "who sends best regards",
    ],
)
def test_what_only_looks_like_a_frame_stays(text: str) -> None:
    assert strip_greetings(text) == text


def test_all_typed_words_are_counted() -> None:
    assert len(ANALYZER.query("Can you please tell me how pods restart?").words) == 8


@given(st.lists(st.sampled_from([*(" ".join(FRAMES)).split(), *ASKED, ":", "\n"]), max_size=30).map(" ".join))
def test_what_is_asked_is_a_part_of_the_text_and_asks_nothing_less(text: str) -> None:
    asked = strip_greetings(text)
    assert asked in text
    assert strip_greetings(asked) == asked
    assert any(map(str.isalnum, asked)) == any(map(str.isalnum, text))


@pytest.mark.parametrize(
    "piece", ["please ", "hi there ", "thanks. ", "can you ", "i am new to this ", " ", "question:"]
)
def test_long_texts_take_no_time(piece: str) -> None:
    started = time.process_time()
    strip_greetings(piece * 3000)
    assert time.process_time() - started < 1.0
