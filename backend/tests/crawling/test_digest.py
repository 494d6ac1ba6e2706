"""What a page is about, without a model: words of its prose, at a price that no page can raise."""

from __future__ import annotations

import time

import pytest

from librarian.crawling import digest


@pytest.mark.parametrize("piece", ["`", "```\n", "~~~a\n", "[", "![", "](", "[a](", "[]("])
def test_marks_without_end_cost_no_more_than_other_text(piece: str) -> None:
    """Once for each of them all the text behind it was looked through, for hours, while nobody else was answered."""
    begun = time.monotonic()
    digest.keywords(digest.parsed("# Tokens\n\nTokens expire.\n\n" + piece * 100_000))
    assert time.monotonic() - begun < 20


def test_keywords_are_the_words_of_headings_and_prose_but_not_of_code_and_tables() -> None:
    text = "# Quota\n\nThe [ledger](shard.md) counts.\n\n- ledger\n\n```\ncode code code\n```\n\n| row |\n| --- |\n"
    assert digest.keywords(digest.parsed(text)) == ("quota", "ledger", "counts")
