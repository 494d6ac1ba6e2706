"""The prefilter of snippets, which only looks at letters: it must pass every piece that the analyzer would match."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from librarian.search.snippets import all_pieces, english_prefilter
from librarian.text.analyzer import StandardAnalyzer

ANALYZER = StandardAnalyzer()
MANUAL = Path(__file__).resolve().parents[3] / "docs"
TEXTS = st.lists(
    st.one_of(
        st.sampled_from(["Pods", "re-use", "autoScaling", "résumé", "e-mail", "ray.data", "dying", "İstanbul"]),
        st.text(),
    ),
    max_size=12,
).map(" ".join)


def passed(text: str, tokens: list[str]) -> list[str]:
    return [text[start:end] for start, end in english_prefilter(tokens)(text, 0, len(text))]


def missed(pieces: list[str], found: set[str], tokens: list[str]) -> list[str]:
    """Pieces that weren't let through though they hold one of the tokens, or one that begins like one."""
    beginnings = {token[:5] for token in tokens if len(token) > 5}
    return [
        piece
        for piece in pieces
        if piece not in found and any(token in tokens or token[:5] in beginnings for token in ANALYZER.tokens(piece))
    ]


@settings(max_examples=100, deadline=None)
@given(TEXTS, TEXTS, st.sampled_from([" ", "\n", "\t", "\u2003", " \x1c"]))
def test_no_piece_with_one_of_the_tokens_is_left_out(text: str, asked: str, blank: str) -> None:
    together = f"{text}{blank}{asked}"
    for token in ANALYZER.tokens(asked):
        found = passed(together, [token])
        assert missed(together.split(), set(found), [token]) == []
        assert not set(found) - {together[start:end] for start, end in all_pieces(together, 0, len(together))}


@pytest.mark.no_cover
def test_every_word_of_the_manual_is_found_by_its_token() -> None:
    together = "\n".join(page.read_text("utf-8") for page in MANUAL.rglob("*.md"))
    pieces = sorted(set(together.split()))
    asked = sorted({token for piece in pieces for token in ANALYZER.tokens(piece)})
    assert len(asked) > 2000
    for start in range(0, len(asked), 50):  # a few tokens at a time, as a query has
        tokens = asked[start : start + 50]
        assert missed(pieces, set(passed(together, tokens)), tokens) == []


@pytest.mark.parametrize(
    ("asked", "piece"),
    [("dying", "die"), ("die", "dying"), ("email", "e-mail"), ("reuse", "(Re-use"), ("happy", "happier")],
)
def test_words_that_begin_otherwise_than_their_stems_are_found(asked: str, piece: str) -> None:
    assert passed(f"{piece} nothing", ANALYZER.tokens(asked)) == [piece]
