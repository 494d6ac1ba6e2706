"""A short question that a mail quotes and answers below is found in its own words; history alone is not."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from librarian.models import Filters, Query

from .library import Library

HEAD = "From: Bob <bob@example.org>\nTo: Ann <ann@example.org>\nSubject: Re: Server\nMessage-ID: <{n}@x>\n\n"
MAILS = {
    "which quay": "> Which quay?\n\nNumber nine, as before.\n",
    "what voltage": "Hello Ann,\n\n> What voltage?\n\n24.\n\n> Who pays?\n\nWe do.\n",
    "who pays": "> What voltage?\n24.\n> Who pays?\nWe do.\n",
    "any spare fuses": "On Monday Ann wrote:\n> Any spare fuses?\n\nIn the drawer.\n",
    "welche sicherung": "> Welche Sicherung?\n\nDie zweite von links.\n",
    "quelle peinture": "> Quelle peinture ?\n\nLa verte.\n",
    "how deep": ">> How deep?\n> Not sure.\n\nTwo metres.\n",
}


@pytest.mark.parametrize(("asked", "text"), MAILS.items(), ids=list(MAILS))
def test_a_short_quoted_question_is_found(shelve: Callable[..., Library], asked: str, text: str) -> None:
    others = {f"mail/box/{n}.eml": HEAD.format(n=n) + f"The server number {n} is up.\n" for n in range(3)}
    library = shelve({"mail/box/asked.eml": HEAD.format(n="asked") + text, **others})
    found = library.engine().search(Query(asked, mode="keyword", filters=Filters(kind="email")))
    assert [hit.document.document.file_path for hit in found.hits][:1] == ["mail/box/asked.eml"]


def test_a_short_quote_below_the_answer_is_history(shelve: Callable[..., Library]) -> None:
    library = shelve({"mail/box/a.eml": HEAD.format(n="a") + "Number nine.\n\nOn Monday Ann wrote:\n> Which quay?\n"})
    assert not library.engine().search(Query("quay", mode="keyword", filters=Filters(kind="email"))).hits
