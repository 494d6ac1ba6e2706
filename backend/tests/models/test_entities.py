"""Letters that words spell as entities."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from librarian.text.characters import is_spelt, spelt, spelt_with_places

PARTS = st.sampled_from(["a", "é", " ", "\n", "&ouml;", "&shy;", "&amp;", "&none;", "<wbr>", "<b>", "`", "&#223;", ";"])


@given(st.lists(PARTS, max_size=9).map("".join))
def test_every_character_of_a_text_that_is_spelt_has_its_place(text: str) -> None:
    shown, places = spelt_with_places(text)
    assert shown == spelt(text)
    assert len(places) == len(shown)
    assert all(text[start:end] == char or end - start > 1 for char, (start, end) in zip(shown, places, strict=True))
    assert [place for place in sorted(places) if place[0] < place[1] <= len(text)] == places
    assert is_spelt(text, 0, len(text)) or shown == text
