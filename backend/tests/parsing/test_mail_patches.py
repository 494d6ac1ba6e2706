"""Mails of developers, with patches and what programs print: what is proved here.

* A patch in a reply is the sender's own, headers and all; so is who has reviewed it.
* What a program prints isn't taken for a signature, nor a word about a quoted line for that line's end.
* A signature ends above a patch.
* The lines of a patch's hunks are what they are in the patch, whatever they begin with.
* Lines that a mailbox has changed to `>From ` are the sender's own, and read as they were written.
"""

from __future__ import annotations

import pytest

from librarian.models import Document, SourceFile
from librarian.parsing.email.cleaning import excluded_of, own_words
from librarian.parsing.email.parser import EmailParser

PATCH = """\
From: Ann Lee <ann@x.org>
Date: Tue, 3 Mar 2026 10:00:00 +0100
Subject: [PATCH] pump: open the valve first

The valve stays shut where the pump starts early.

Signed-off-by: Ann Lee <ann@x.org>
---
 pump.c | 2 +-
"""
HASH = "3e96db4827ef69b38927476659cbb4469a0246e6"


def own(text: str) -> str:
    return own_words(text, excluded_of(text)).strip()


def read(body: str) -> Document:
    data = f"From: ann@x.org\nSubject: pump\nMessage-ID: <1@x.org>\n\n{body}".encode()
    return EmailParser().parse(SourceFile("m.eml", "m.eml", "p", "c", len(data), 0), data)


@pytest.mark.parametrize("above", [f"From {HASH} Mon Sep 17 00:00:00 2001", "-- >8 --", "---------8<---------"])
def test_a_patch_in_a_reply_is_its_senders_own(above: str) -> None:
    reply = "On 3 Mar 2026, Bob wrote:\n> It is shut.\n\nDoes this help?\n\n"
    assert "The valve stays shut" in own(f"{reply}{above}\n{PATCH}")
    assert "The valve stays shut" not in own(f"{reply}{PATCH}")


def test_who_wrote_a_patch_may_be_named_twice_above_it() -> None:
    text = "From: Ann Lee <ann@x.org>\n\nFrom: Ann Lee <ann@x.org>\n\nThe valve stays shut.\n\nSigned-off-by: Ann Lee"
    assert own(text) == text
    assert own("Yes.\n\nFrom: Ann Lee <ann@x.org>\n\nShall we?") == "Yes."


def test_a_patch_whose_first_line_a_mailbox_changed_is_its_senders_own() -> None:
    read_back = read(f"Does this help?\n\n>From {HASH} Mon Sep 17 00:00:00 2001\n{PATCH}")
    assert "The valve stays shut" in own_words(read_back.text, read_back.excluded)


HUNK = """\
 -1,8 +1,5 @@
 Pumps
-Valves
--
-  open
--- old
+  shut
 
 > Note: the valve
 > is stuck.
"""


@pytest.mark.parametrize("below", ["", "-- \n2.25.1\n", "\n-- \nAnn Lee\n", "\nThanks,\nAnn\n"])
def test_the_lines_of_a_hunk_are_neither_closing_nor_signature_nor_quote(below: str) -> None:
    text = f"Does this help?\n\n--- a/pump.md\n+++ b/pump.md\n{HUNK}{below}"
    assert own_words(text, excluded_of(text), {span.reason for span in excluded_of(text)}).endswith(HUNK.strip("\n"))
    for end in range(3, len(HUNK.split("\n"))):
        cut = "\n".join(["Does this help?", "", *HUNK.split("\n")[:end]])
        assert excluded_of(cut) == (), cut


@pytest.mark.parametrize("said", ["", "Keep the gate open too.\n\n"])
@pytest.mark.parametrize("head", ["--- a/pump.md\n+++ b/pump.md\n", "Index: pump.md\n" + "=" * 67 + "\n--- a\n+++ b\n"])
def test_a_signature_ends_above_a_patch(head: str, said: str) -> None:
    text = f"Does this help?\n\n-- \nAnn\nBob's neighbour\n\n{said}{head}{HUNK}"
    assert own(text).split() == text.replace("-- \nAnn\nBob's neighbour\n", "").split()
    named = f"Does this help?\n\n--\nv2: sorted the valves\n\n{head}{HUNK}"
    assert own(named) == named.rstrip()


def test_a_dashed_name_below_a_hunk_is_a_closing_still() -> None:
    text = "Does this help?\n\n@@ -1,2 +1,2 @@\n pump\n-valve\n+valves\n\n-Ann\n"
    assert [text[span.start : span.end] for span in excluded_of(text)] == ["-Ann"]


def test_who_has_reviewed_a_patch_is_no_signature() -> None:
    text = "The rest is fine.\nI'd take it.\n\nThanks!\n\nReviewed-by: Bob Roe <bob@x.org>\n\nKind regards,\nBob\n"
    assert own_words(text, excluded_of(text), {"closing"}).strip().endswith("Reviewed-by: Bob Roe <bob@x.org>")


def test_lines_that_a_program_prints_behind_dashes_are_no_signature() -> None:
    printed = "It fails:\n\n-- Looking for pumps\n--\n-- Found valve 12\n-- Configuring done"
    assert own(printed) == printed
    assert own("It fails.\n\n--\nAnn") == "It fails."


def test_a_word_about_a_quoted_line_is_no_end_of_it() -> None:
    quoted = "> +  for a pump it is a very difficuilt task indeed; do not underestimate it"
    text = f"Fine.\n\nOn 3 Mar 2026, Bob wrote:\n> + * names\n{quoted}\ntypo: difficuilt\n> +\n> + * more\n"
    assert "\ntypo: difficuilt" in own(text)
    assert own(text.replace("typo: difficuilt", "typed:")) == "Fine."


@pytest.mark.parametrize(
    ("body", "kept"),
    [
        ("Hello,\n\n>From now on pumps are made\nof steel.\n", False),
        ("> Of what?\n\n>From now on of steel.\n\n> Why?\n", False),
        ("> Of what?\n>From now on of steel.\n", True),
        (">Of what?\n\n>From now on of steel.\n", True),
        ("Ann wrote:\n>From now on of steel.\n\nFine.\n", True),
    ],
)
def test_a_line_that_a_mailbox_changed_reads_as_it_was_written(body: str, kept: bool) -> None:
    text = read(body).text
    assert (">From now on" in text) is kept
    assert "From now on" in text


def test_what_stands_between_a_rule_and_a_signature_is_no_footer() -> None:
    said = "TFAIL: the valve is shut\n    -----------------\n\nThe gauge may be broken.\nhttps://lists.x.org/2019/14123"
    assert own(f"{said}\n\n-- \nAnn\n\n-- \nMailing list info: https://x.org/listinfo/dev\n") == said
