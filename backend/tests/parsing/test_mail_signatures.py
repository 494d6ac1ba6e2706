"""What a rule opens at the end of a mail, and what it doesn't: what is proved here.

* A row under a heading opens no signature: what follows is the mail's own.
"""

from __future__ import annotations

import pytest

from librarian.parsing.email.quotes import excluded_of, own_words


def own(text: str) -> str:
    return own_words(text, excluded_of(text)).strip()


def reasons(text: str) -> list[str]:
    return [span.reason for span in excluded_of(text)]


@pytest.mark.parametrize("row", ["-", "_"])
@pytest.mark.parametrize("heading", ["Ann Lee updated PUMP-12:", "Where to get it", "1. Übersicht"])
def test_a_row_under_a_heading_opens_no_signature(heading: str, row: str) -> None:
    for above in ("", "[ https://x.org/browse/PUMP-12 ]\n\n", "The pump is old.\n\n----\n"):
        text = f"{above}{heading}\n{row * len(heading)}\n\nSee https://x.org/pumps for the valve."
        assert own(text) == text


@pytest.mark.parametrize(
    "below",
    [
        "Ann Lee, head of the pumps and gates of the harbour\n\nPier 12",
        "Ann Lee  --  there is more than one pump at work here\n\nPier 12",
        "This email has been checked for viruses by the gate.\n\nhttps://x.org",
        "There is more than one pump at work here, and all are old.",
    ],
)
def test_a_name_or_a_saying_below_two_dashes_is_a_signature(below: str) -> None:
    assert own(f"The pump is old.\n\n--\n{below}\n") == "The pump is old."


def test_what_stands_between_a_rule_and_a_signature_is_no_footer() -> None:
    said = "TFAIL: the valve is shut\n    -----------------\n\nThe gauge may be broken.\nhttps://lists.x.org/2019/14123"
    assert own(f"{said}\n\n-- \nAnn\n\n-- \nMailing list info: https://x.org/listinfo/dev\n") == said
