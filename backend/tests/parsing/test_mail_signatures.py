"""What a rule opens at the end of a mail, and what it doesn't: what is proved here.

* A row under a heading, and one that closes a box, opens no signature: what follows is the mail's own.
* A postscript below a signature is the mail's own.
* Dashes that part one's own sentences, or pieces of files, open none either.
"""

from __future__ import annotations

import pytest

from librarian.parsing.email.cleaning import excluded_of, own_words


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
    assert own(f"Replace it.\n\nAnn\n{row * 30}\nAnn Lee\nhttps://x.org/ann\n").split() == ["Replace", "it.", "Ann"]


def test_a_row_that_ends_a_paragraph_of_its_width_opens_a_signature() -> None:
    text = "The pump that stands behind the gate\nhas run for years and is to be spared.\n" + "_" * 38
    assert own(f"{text}\nAnn Lee\n+49 30 1234567") == text.rsplit("\n", 1)[0]


def test_a_box_at_the_head_of_a_mail_or_above_more_words_is_no_signature() -> None:
    row = "-" * 40
    box = f"{row}\nThis was generated. To reply, visit\nhttps://x.org/r/12\n{row}\n\nShip it!\n\nThe valve is fine."
    assert own(box) == box
    assert own(f"Bob,\n\n{box}") == f"Bob,\n\n{box}"
    assert own(f"Ship it!\n\n{row}\nAnn Lee\nhttps://x.org/ann\n{row}\n") == "Ship it!"


@pytest.mark.parametrize("mark", ["--", "---"])
def test_dashes_that_part_ones_own_sentences_open_no_signature(mark: str) -> None:
    text = f"The pump is old.\n\n{mark}\nYes, I know that we wait for the gate,\nbut not in May.\n\nRing first.\n\nAnn"
    assert own(text) == text
    assert own(f"{text.replace(mark, '--')}\n-- \nSettings: https://x.org/ann") == text.replace(mark, "--")


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


def test_dashes_between_pieces_of_files_open_no_signature() -> None:
    found = "gate.c:  open(gate);\ngate.c-  wait(1);\n--\n"
    text = f"It is there:\n\n{found * 4}gate.c:  shut(gate);\n\nWe can do without."
    assert own(text) == text


@pytest.mark.parametrize(
    "said", ["P.S. Ring first.", "PS:\nRing first.", "Btw, the gate is shut.", "Nachtrag: Freitag ist zu."]
)
@pytest.mark.parametrize("signature", ["-- \nAnn Lee\nPier 12", f"{'_' * 30}\nAnn Lee\nann@x.org"])
def test_a_postscript_below_a_signature_is_read(signature: str, said: str) -> None:
    assert own(f"The pump is old.\n\n{signature}\n\n{said}\n").split() == f"The pump is old. {said}".split()
