"""What the desk answers about mails: what is proved here.

* By filters alone each mail is there once, wherever copies of it lie.
* A mail that is read as a document comes with its headers.
* A Message-ID names the conversation that its own mail is in, whoever else mentions it.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from email.message import EmailMessage
from pathlib import Path
from typing import Any

import pytest

from librarian import Librarian
from librarian.api.model_text import render
from librarian.cli import rendering as terminal
from librarian.cli.output import Page

QUIET: dict[str, Any] = {"embeddings.enabled": False, "docs.watch_for_changes": False, "index.workers": 1}


def mail(name: str, sender: str, subject: str, hour: int, body: str, **more: str) -> EmailMessage:
    made = EmailMessage()
    made["From"], made["To"], made["Cc"] = sender, "Bob <bob@x.org>", "cleo@y.net"
    made["Subject"], made["Date"] = subject, f"Tue, 03 Mar 2026 {hour:02}:00:00 +0000"
    made["Message-ID"] = f"<{name}@x.org>"
    for header, value in more.items():
        made[header.replace("_", "-")] = value
    made.set_content(body)
    return made


class Terminal(io.StringIO):
    """What a terminal shows."""

    def isatty(self) -> bool:
        return True


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Librarian]:
    folder = tmp_path_factory.mktemp("mails")
    root = folder / "library"
    order = mail("order", "Ann Lee <ann@x.org>", "Pump order", 10, "Please order the pump before the river freezes.")
    order.add_attachment(b"# Terms\n\nThe warranty covers it.\n", "text", "markdown", filename="terms.md")
    lunch = mail("lunch", "ann@x.org", "Lunch", 11, "Lunch in the lock keeper's house?")
    both = mail(
        "both", "dan@x.org", "Re: two things", 9, "Both are settled.", In_Reply_To="<lunch@x.org> <order@x.org>"
    )
    for place, mails in (
        ("shop/sales", {"order": order, "lunch": lunch}),
        ("shop/support", {"order": order, "b": both}),
    ):
        (root / place).mkdir(parents=True)
        for name, one in mails.items():
            (root / place / f"{name}.eml").write_bytes(one.as_bytes())
    (root / "shop" / "guide.md").write_text("# Pumps\n\nThe manual explains every pump.\n")
    with Librarian.open(root=root, index=folder / "index", **QUIET) as opened:
        yield opened


@pytest.mark.parametrize("per_thread", [0, 1, 2])
def test_by_filters_alone_a_mail_in_two_components_is_there_once(library: Librarian, per_thread: int) -> None:
    answer = library.search_emails("from:ann", max_per_thread=per_thread)
    assert [(one.message_id, answer.total) for one in answer.results] == [("lunch@x.org", 2), ("order@x.org", 2)]
    order = answer.results[1]
    assert {order.file_path, *order.also_in} == {"shop/sales/order.eml", "shop/support/order.eml"}
    for component in ("sales", "support"):
        (found,) = library.search_emails("subject:pump", component=component, max_per_thread=per_thread).results
        assert found.file_path == f"shop/{component}/order.eml", "each component has its own"


def test_a_mail_that_is_read_as_a_document_comes_with_its_headers(library: Librarian) -> None:
    (found,) = library.search_emails("subject:pump", max_per_thread=0).results
    document = library.get_document(found.id)
    read = document.email
    assert read is not None
    assert {name: getattr(found, name) for name in type(read).model_fields} == dict(read)
    assert (read.sender, read.to, read.cc) == ("Ann Lee <ann@x.org>", ["Bob <bob@x.org>"], ["cleo@y.net"])
    assert "From Ann Lee <ann@x.org> on 2026-03-03T10:00:00Z\nTo Bob <bob@x.org>; cc cleo@y.net\n" in render(document)
    written = Terminal()
    terminal.document(Page(written), document.model_dump(mode="json"))
    assert "to: Bob <bob@x.org>" in written.getvalue()
    assert library.get_document("shop/guide.md").email is None


def test_a_message_id_names_the_conversation_of_its_own_mail_whichever_came_first(tmp_path: Path) -> None:
    place = tmp_path / "library" / "shop" / "mail"
    place.mkdir(parents=True)
    named = "<lunch@x.org> <order@x.org>"
    both = mail("both", "dan@x.org", "Re: two things", 9, "Both are settled.", In_Reply_To=named)
    (place / "both.eml").write_bytes(both.as_bytes())
    with Librarian.open(root=tmp_path / "library", index=tmp_path / "index", **QUIET) as library:
        assert [one.sender for one in library.get_thread("order@x.org").emails] == ["dan@x.org"], "it alone knows of it"
        for name in ("order", "lunch"):
            one = mail(name, "ann@x.org", f"The {name}", 8, f"Is the {name} settled?")
            (place / f"{name}.eml").write_bytes(one.as_bytes())
        library.refresh()
        for name in ("order@x.org", "<order@x.org>"):
            thread = library.get_thread(name)
            assert [one.subject for one in thread.emails] == ["The order"]
            assert {one.thread_id for one in library.search_emails(thread_id=name).results} == {thread.thread_id}
        assert [one.sender for one in library.get_thread("lunch@x.org").emails] == ["ann@x.org", "dan@x.org"]
