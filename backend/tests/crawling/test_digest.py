"""What a page is about, without a model: words of its prose, at a price that no page can raise."""

from __future__ import annotations

import time

import pytest

from librarian.crawling import digest


@pytest.mark.parametrize("piece", ["`", "```\n", "~~~a\n", "[", "![", "](", "[a](", "[]("])
def test_marks_without_end_cost_no_more_than_other_text(piece: str) -> None:
    """Once for each of them all the text behind it was looked through, for hours, while nobody else was answered."""
    begun = time.monotonic()
    digest.keywords("# Tokens\n\nTokens expire.\n\n" + piece * 100_000)
    assert time.monotonic() - begun < 20


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("before\n```\ncode\n```\nafter", "before\n\nafter"),
        ("before\n~~~~ sh\ncode\n~~~\nmore\n~~~~~\nafter", "before\n\nafter"),
        ("before\n```\ncode without end", "before\n"),
        ("see [the **guide**](guide.md#top) ![a plan](plan.png)now", "see the guide now"),
        ("[![badge](b.svg)](https://e.org) [open [", " [open ["),
        ("# Title\nsaid\n| a | b |", "\nsaid\n"),
    ],
)
def test_prose_is_what_a_reader_reads_in_sentences(text: str, expected: str) -> None:
    assert digest.prose(text) == expected
