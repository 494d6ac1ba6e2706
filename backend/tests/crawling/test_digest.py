"""What a page is about, without a model: words of its prose, at a price that no page can raise."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from librarian.crawling import digest


@pytest.mark.parametrize("piece", ["`", "```\n", "~~~a\n", "[", "![", "](", "[a](", "[]("])
def test_marks_without_end_cost_no_more_than_other_text(piece: str) -> None:
    """Once for each of them all the text behind it was looked through, for hours, while nobody else was answered."""
    begun = time.monotonic()
    digest.keywords("# Tokens\n\nTokens expire.\n\n" + piece * 100_000)
    assert time.monotonic() - begun < 20


@given(st.lists(st.sampled_from(["```", "`", "~~~", "\n", "\n", "a", " ", "````", "\t"]), max_size=16).map("".join))
def test_fenced_code_says_nothing_of_what_a_page_is_about(text: str) -> None:
    fenced = re.compile(r"^(`{3,}|~{3,}).*?^\1[ \t]*$", re.S | re.M)
    assert digest.prose(text) == digest.prose(fenced.sub("\n\n", text))


@given(st.text("[]()!x\n", max_size=16))
def test_a_link_leaves_its_words_and_an_image_nothing(text: str) -> None:
    without = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", re.sub(r"!\[[^\]]*\]\([^)]*\)", "", text))
    assert digest.prose(text) == re.sub(r"\\([<#>*_-])", r"\1", without)
