"""Whose mails a question asks for.

* a whole name tells, in any case and without its accents; one word of it where one who wrote is spoken of
* what is a word as well (Will, Page) or stands alone names nobody, nor does an address
* mails of those who are named come first, others stay, and what is theirs keeps its relevance
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from librarian.models import Filters, Query, SearchOutcome
from librarian.search.mail_query import named_senders
from librarian.search.ranker import GIVEN

from .library import Library

ANN, ZOE, WILL, LIST = "ann lee <ann@x.org>", "zoe van dam <z@x.org>", "will page <w@y.org>", "dev@lists.x.org"
MAIL = "From: {sender}\nSubject: {subject}\nMessage-ID: <{number}@x.org>\n\n{text}\n"


@pytest.mark.parametrize(
    ("question", "senders"),
    [
        ("Ann Lee budget", {ANN}),
        ("budget, ann lee's", {ANN}),
        ("Zoë van Dam on pumps", {ZOE}),
        ("zoe dam on pumps", {ZOE}),
        ("what did ann say about pumps", {ANN}),
        ("mails from Ann or by Will", {ANN, WILL}),
        ("Was Zoë vorschlug: Mail von Zoë", {ZOE}),
        ("Will's plan", {WILL}),
        ("Ann, is the pump ordered?", set()),
        ("will the page load from a page", set()),
        ("restore from page", set()),
        ("dev lists", set()),
        ("annex leeward", set()),
        ("", set()),
    ],
)
def test_a_question_names_those_who_are_spoken_of_as_having_written(question: str, senders: set[str]) -> None:
    assert named_senders(question, [ANN, ZOE, WILL, LIST, ANN]) == senders


def test_a_name_whose_last_word_comes_first_is_the_same_name() -> None:
    assert named_senders("mail of ann lee", ["lee, ann <a@x.org>"])


@pytest.fixture
def mails(shelve: Callable[..., Library]) -> Library:
    texts = [
        ("Bob Hill <b@x.org>", "Pump", "The pump of the canal is ordered, as agreed on Monday."),
        ("Ann Lee <ann@x.org>", "Pump", "The pump of the canal was ordered, as agreed on Tuesday."),
        ("Cleo <c@x.org>", "Tea", "Tea is at four in the room beside the canal."),
    ]
    return shelve(
        {
            f"shop/mail/{number}.eml": MAIL.format(sender=sender, subject=subject, number=number, text=text)
            for number, (sender, subject, text) in enumerate(texts)
        }
    )


def asked(library: Library, text: str) -> SearchOutcome:
    return library.engine().search(Query(text, mode="hybrid", filters=Filters(kind="email"), max_per_document=0))


@pytest.mark.parametrize(("name", "first"), [("Ann", "shop/mail/1.eml"), ("bob hill", "shop/mail/0.eml")])
def test_mails_of_the_named_come_first_and_others_stay(mails: Library, name: str, first: str) -> None:
    found = asked(mails, f"what did {name} say about the pump")
    assert found.hits[0].document.document.file_path == first
    assert len(found.hits) == 3
    lost = [[reason.points for reason in hit.candidate.why if reason.source == "other_sender"] for hit in found.hits]
    assert lost == [[], [GIVEN["other_sender"]], [GIVEN["other_sender"]]]


def test_a_question_that_names_nobody_who_wrote_takes_nothing_from_anybody(mails: Library) -> None:
    for text in ("is the pump ordered", "what did Dora Marsh say about the pump"):
        found = asked(mails, text)
        assert found.hits
        assert not [reason for hit in found.hits for reason in hit.candidate.why if reason.source == "other_sender"]
