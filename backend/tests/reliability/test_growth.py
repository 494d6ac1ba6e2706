"""Reading and searching cost time in proportion to what is given, whatever it repeats."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from librarian.errors import CallerError, SourceError
from librarian.models import Document, SourceFile
from librarian.parsing.chunking import StructureChunker
from librarian.parsing.email.parser import messages
from librarian.parsing.reader import ARCHIVES, PARSERS
from librarian.search.mail_query import without_operators
from librarian.search.router import QueryRouter
from librarian.text.analyzer import StandardAnalyzer
from librarian.text.sanitizing import without_hidden
from tests.reliability.repeats import PATTERNS, PLACES, file_of

FIRST = 4_000  #: characters
QUESTION = 1_000
WORTH_A_LOOK_S = 0.004  #: a cost that grows with the square of this many characters is seconds for a usual file
ABOVE_NOISE_S = 0.05
MOST_GROWTH = 3.0  #: when the size doubles; 2 is linear, 4 is quadratic


SHARE = 16  #: of all patterns each place meets one in so many: places that are alike complement each other
FOUND = ("-", ";", " ", "http://", "`", "image::a[")  #: what parsers once took long for, for every place


def growth(work: Callable[[int], object], size: int = FIRST) -> float:
    """By how much the time of `work(size)` grows when its size doubles; 0 where it takes hardly any time."""
    last, before = 8 * size, seconds(work, size)
    if before < WORTH_A_LOOK_S:
        return 0.0
    while size < last:
        size *= 2
        now = seconds(work, size)
        if now > ABOVE_NOISE_S:
            before = min(before, seconds(work, size // 2))  # the first call may have imported something
            if now > MOST_GROWTH * before:
                before = min(before, *(seconds(work, size // 2) for _ in range(3)))
                now = min(now, *(seconds(work, size) for _ in range(3)))
            return now / before
        before = now
    return 0.0


def test_quadratic_growth_is_noticed_and_linear_is_not() -> None:
    assert growth(lambda size: sum(range(size * size // 20))) > MOST_GROWTH
    assert growth(lambda size: sum(range(size * 300))) <= MOST_GROWTH


def seconds(work: Callable[[int], object], size: int) -> float:
    begun = time.process_time()
    work(size)
    return time.process_time() - begun


def parse(extension: str, data: bytes) -> Document | None:
    source = SourceFile("", f"p/c/x{extension}", "p", "c", len(data), 0)
    try:
        if extension in ARCHIVES:
            for message in messages(data):
                PARSERS[".eml"].parse(source, message)
            return None
        return PARSERS[extension].parse(source, data)
    except (SourceError, RecursionError):
        return None


@pytest.mark.parametrize("place", PLACES)
def test_parsing_takes_time_in_proportion_to_the_file(place: str) -> None:
    extension = PLACES[place][0]

    def work(pattern: str) -> Callable[[int], object]:
        return lambda size: parse(extension, file_of(place, pattern, size))

    first = list(PLACES).index(place) % SHARE
    patterns = {*FOUND, *PATTERNS[first::SHARE]}
    grown = {pattern: growth(work(pattern)) for pattern in sorted(patterns)}
    assert {pattern: factor for pattern, factor in grown.items() if factor > MOST_GROWTH} == {}


def test_cutting_and_analysing_takes_time_in_proportion_to_the_text() -> None:
    analyzer, chunker = StandardAnalyzer(), StructureChunker()

    def work(pattern: str, extension: str) -> Callable[[int], object]:
        def cut(size: int) -> None:
            document = parse(extension, (pattern * (size // len(pattern))).encode())
            for chunk in chunker.chunk(document) if document else ():
                analyzer.entry(chunk.text, "en")

        return cut

    grown = {(pattern, ".md"): growth(work(pattern, ".md")) for pattern in PATTERNS[::2]}
    grown |= {(pattern, ".txt"): growth(work(pattern, ".txt")) for pattern in PATTERNS[1::2]}
    assert {what: factor for what, factor in grown.items() if factor > MOST_GROWTH} == {}


def test_understanding_a_question_takes_time_in_proportion_to_its_length() -> None:
    analyzer = StandardAnalyzer()
    router = QueryRouter(analyzer)

    def work(before: str, pattern: str) -> Callable[[int], object]:
        def understand(size: int) -> None:
            text = before + pattern * (size // len(pattern)) + " x"
            try:
                words, _ = without_operators(text, {})
            except CallerError:
                words = text
            router.judge(analyzer.query(without_hidden(words), ["en", "de"]))

        return understand

    places = ("", '"', "how do I ", "-", "from:", "a.b(")
    pairs = [(places[number % len(places)], pattern) for number, pattern in enumerate(PATTERNS)]
    grown = {before + pattern: growth(work(before, pattern), QUESTION) for before, pattern in pairs}
    assert {question: factor for question, factor in grown.items() if factor > MOST_GROWTH} == {}
