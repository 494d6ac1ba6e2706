"""What mailing lists and their archives do to mails: what is proved here.

* Lines that stand for what was taken out are no words of the mail, and hide no closing above them.
"""

from __future__ import annotations

import pytest

from librarian.reading.mail.cleaning import excluded_of, own_words


def own(text: str) -> str:
    return own_words(text, excluded_of(text)).strip()


def reasons(text: str) -> list[str]:
    return [span.reason for span in excluded_of(text)]


@pytest.mark.parametrize(
    "line",
    [
        "\t[[alternative HTML version deleted]]",
        "CONFIDENTIALITY NOTICE: This e-mail message and any attachme...{{dropped:12}}",
        "CONFIDENTIALITY NOTICE: This e-mail message and any attachments ... {{dropped}}",
    ],
)
def test_a_line_for_what_was_taken_out_is_no_word_of_the_mail(line: str) -> None:
    text = f"The pump is old.\nReplace it.\n\nCheers,\nAnn\n\nOn 3 Mar 2026, Bob wrote:\n> Which one?\n\n{line}\n"
    assert own(text) == "The pump is old.\nReplace it.\n\nCheers,\nAnn"
    assert reasons(text) == ["closing", "quote header", "quote", "footer"]
    assert own(f"What does '{line.strip()}' mean?") == f"What does '{line.strip()}' mean?"
