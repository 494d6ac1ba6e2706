"""What mailing lists and their archives do to mails: what is proved here.

* Lines that stand for what was taken out are no words of the mail, and hide no closing above them.
* What a digest holds is nobody's history.
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


RULE = "-" * 30
HEADERS = "Message: {}\nDate: Mon, 2 Mar 2026 09:00:00 +0000\nFrom: {} <a@x.org>\nSubject: Pumps\nMessage-ID: <{}@x>\n"
DIGEST = "\n".join(
    [
        "Send Pumps mailing list submissions to\n\tpumps@x.org\n\nToday's Topics:\n\n   1. Pumps (Ann)\n",
        "-" * 70 + "\n",
        HEADERS.format(1, "Ann", "a") + "\nThe pump is old.\n\n-- \nAnn Lee\n",
        f"{RULE}\n",
        HEADERS.format(2, "Bob", "b") + "\nOn 3 Mar 2026, Ann wrote:\n> The pump is old.\n\nReplace it.\n",
        f"{RULE}\n\nSubject: Digest Footer\n\n{'_' * 47}\nPumps mailing list\nPumps@x.org\n",
        f"{RULE}\n\nEnd of Pumps Digest, Vol 1, Issue 2\n***********************************\n",
    ]
)


def test_the_mails_of_a_digest_are_its_own_words_and_each_is_cleaned_by_itself() -> None:
    words = own(DIGEST)
    for one in ("Pumps (Ann)", "From: Ann <a@x.org>", "\nThe pump is old.", "From: Bob <a@x.org>", "Replace it."):
        assert one in words
    for other in ("Ann Lee", "Ann wrote", "> The pump", "Pumps@x.org"):
        assert other not in words


@pytest.mark.parametrize("above", ["Yes, it is.\n\n", "Yes, it is.\n\nOn 4 Mar 2026, pumps-request@x.org wrote:\n\n"])
def test_a_digest_below_an_answer_is_history(above: str) -> None:
    assert "Replace it." not in own(above + DIGEST)


def test_what_only_looks_like_a_digest_is_none() -> None:
    copied = "See below.\n\n" + "-" * 70 + "\n\nFrom: Bob <b@x.org>\nDate: 2 Mar 2026\nSubject: Pumps\n\nReplace it.\n"
    assert own(copied) == "See below."
