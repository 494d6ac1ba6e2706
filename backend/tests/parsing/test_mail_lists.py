"""What mailing lists and their archives do to mails: what is proved here.

* Footers of lists are told whatever rule opens or closes them, and so is what a list's host advertises above.
* Who wrote is told where a list stands before them, and is nobody else where it doesn't.
"""

from __future__ import annotations

import pytest

from librarian.models import Email, SourceFile
from librarian.parsing.email.parser import EmailParser
from librarian.parsing.email.quotes import excluded_of, own_words


def own(text: str) -> str:
    return own_words(text, excluded_of(text)).strip()


def reasons(text: str) -> list[str]:
    return [span.reason for span in excluded_of(text)]


def read(headers: str) -> Email:
    data = f"{headers}\nSubject: Pumps\nDate: Mon, 2 Mar 2026 09:00:00 +0000\n\nThe pump is old.\n".encode()
    email = (
        EmailParser()
        .parse(SourceFile("/docs/shop/mail/1.eml", "shop/mail/1.eml", "shop", "mail", len(data), 0), data)
        .email
    )
    assert email is not None
    return email


TILDES = "--~--~---------~--~----~------------~-------~--~----~"
FOOTERS = [
    f"{TILDES}\nTo post, send mail to dev@x.org\nTo unsubscribe, write to dev-off@x.org\n-~{'-' * 30}~---",
    f"{TILDES}\ndev mailing list\ndev@x.org\n-~{'-' * 30}~---",
    "-.-.-.-.-.-.-.-.-.-.-.-.-.-.-.-\ndev mailing list -- Read http://x.org/faq\n_._._._._._._._._._._._._._._._",
    f"{'#' * 60}\nYou get this since you are subscribed to\n  the mailing list <dev@x.org>.\nWrite to <dev-off@x.org>",
    f"{'-' * 78}\nBuy a pump and get the newest valve for free, all the year round, at sunrise!\n"
    f"Learn more.\nhttp://p.sf.net/sfu/pump12\n{'_' * 47}\ndev mailing list\nhttps://lists.x.org/lists/listinfo/dev",
]


@pytest.mark.parametrize("footer", FOOTERS)
def test_a_footer_is_told_whatever_rule_opens_and_closes_it(footer: str) -> None:
    for words in ("The pump is old.\nReplace it.", "Replace it.\n\nOn 3 Mar 2026, Bob wrote:\n> Which one?"):
        assert own(f"{words}\n\n{footer}\n").split()[-2:] == ["Replace", "it."]
        assert set(reasons(f"{words}\n\n{footer}\n")) <= {"footer", "quote header", "quote"}


def test_rows_of_signs_among_ones_own_words_open_no_footer() -> None:
    code = f"Run this:\n\n{'#' * 40}\n# Make the lists.\n{'#' * 40}\n\nx <- list(1)\n"
    assert own(code) == code.strip()


@pytest.mark.parametrize(
    ("headers", "writer"),
    [
        (
            "From: \"'Ann Lee' via Dev\" <dev@groups.org>\nX-Original-Sender: ann@x.org\n"
            "X-Original-From: Ann Lee <ann@x.org>\nReply-To: Ann Lee <ann@x.org>",
            "Ann Lee <ann@x.org>",
        ),
        ("From: \"'Ann Lee' via Dev\" <dev@groups.org>\nX-Original-Sender: ann@x.org", "Ann Lee <ann@x.org>"),
        (
            "From: Ann Lee via B4 Relay <devnull+ann.x.org@kernel.org>\nX-Original-From: Ann Lee <ann@x.org>",
            "Ann Lee <ann@x.org>",
        ),
        (
            "From: =?utf-8?q?Zo=C3=AB_via_Dev?= <dev@l.org>\nTo: dev@l.org\nReply-To: =?utf-8?q?Zo=C3=AB?= <z@x.org>",
            "Zoë <z@x.org>",
        ),
        (
            "From: Ann via Dev <dev@l.org>\nList-Id: <dev.l.org>\nReply-To: Ann <ann@x.org>, Dev <dev@l.org>",
            "Ann <ann@x.org>",
        ),
        (
            "From: Ann via Dev <dev@l.org>\nTo: dev@l.org\nReply-To: Dev <dev@l.org>\nCc: B <b@x.org>, Ann <ann@x.org>",
            "Ann <ann@x.org>",
        ),
        ("From: ann via Dev <dev@l.org>\nTo: dev@l.org\nReply-To: ann@x.org", "ann <ann@x.org>"),
        ("From: \"Ann via groups.io\" <ann=x.org@groups.io>\nReply-To: dev@groups.io", "Ann <ann@x.org>"),
        ("From: Ann Lee <ann.lee=40x.org@dmarc.ietf.org>", "Ann Lee <ann.lee@x.org>"),
        ("From: ann.lee=40x.org@dmarc.ietf.org", "ann.lee@x.org"),
    ],
)  # fmt: skip
def test_who_wrote_is_told_where_a_list_stands_before_them(headers: str, writer: str) -> None:
    assert read(headers).sender == writer


@pytest.mark.parametrize(
    ("headers", "sender"),
    [
        ("From: Ann via Dev <dev@l.org>\nTo: dev@l.org\nReply-To: dev@l.org", "Ann via Dev <dev@l.org>"),
        ("From: Ann via Dev <dev@l.org>\nTo: dev@l.org\nReply-To: b@x.org, c@x.org", "Ann via Dev <dev@l.org>"),
        ("From: Ann via Signer <sign@s.com>\nTo: bob@x.org\nReply-To: Ann <ann@x.org>", "Ann via Signer <sign@s.com>"),
        ("From: Via Rail <news@via.ca>\nList-Id: <news>\nReply-To: ask@via.ca", "Via Rail <news@via.ca>"),
        ("From: Bob <bob@x.org>\nX-Original-From: Ann <ann@x.org>\nReply-To: Ann <ann@x.org>", "Bob <bob@x.org>"),
    ],
)  # fmt: skip
def test_who_is_shown_stays_where_nobody_else_is_told(headers: str, sender: str) -> None:
    assert read(headers).sender == sender
