"""Mail searches over threads: the reply that answers is shown, and every result says how large its thread is."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from librarian.library import Librarian

#: Thread → its mails: (sender, text). The first asks, a later one answers.
THREADS: dict[str, list[tuple[str, str]]] = {
    "Webhook retries": [
        ("Ann", "Acme loses webhooks after a day. Who can extend the webhook retries for Acme, and how is it done?"),
        (
            "Bob",
            "I set `webhooks.max_age_hours` to 72 for Acme, so retries go on for three days.\n\nBest regards,\nBob",
        ),
        ("Ann", "Thanks, that works."),
    ],
    "Certificate of the proxy": [
        ("Cem", "When does the certificate of the proxy expire, and who renews it?"),
        ("Dana", "It expires in May. The renewal of the certificate is automatic since last year."),
    ],
    "Drucker im zweiten Stock": [
        ("Eva", "Wer weiß, wie man den Drucker im zweiten Stock wieder zum Laufen bringt?"),
        ("Finn", "Den Drucker aus- und einschalten und dann die rote Klappe schließen.\n\nViele Grüße\nFinn"),
    ],
    "Database backup": [
        ("Gil", "Hi all,\n\nhow long do we keep a database backup?"),
        ("Hana", "Is it about production or staging?"),
        ("Gil", "Production."),
        ("Hana", "A production database backup is kept for 35 days, then deleted."),
    ],
    "Parking": [
        ("Ivo", "Can visitors park behind the house?"),
        ("Jana", "Yes, visitors can park behind the house after registering at the desk."),
    ],
    "Announcement": [("Kim", "The office moves to Hill Street on 3 June. Boxes come a week before.")],
}
QUESTIONS = {
    "who extended the webhook retries for Acme, and how": ("Bob", 3),
    "when does the proxy certificate expire": ("Dana", 2),
    "Drucker im zweiten Stock": ("Finn", 2),
    "how long is a database backup kept": ("Hana", 4),
    "can visitors park behind the house": ("Jana", 2),
    "when does the office move": ("Kim", 1),
}


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Librarian]:
    folder: Path = tmp_path_factory.mktemp("threads")
    (folder / "docs/mail/box").mkdir(parents=True)
    for number, (subject, mails) in enumerate(THREADS.items()):
        for place, (sender, text) in enumerate(mails):
            head = f"From: {sender} <{sender.lower()}@example.org>\nTo: all@example.org\n"
            head += f"Message-ID: <{number}.{place}@x>\n"
            head += f"Date: Mon, {place + 2:02} Mar 2026 1{number}:00:00 +0000\n"
            head += f"Subject: {'Re: ' if place else ''}{subject}\n"
            head += f"In-Reply-To: <{number}.{place - 1}@x>\n" if place else ""
            mail = f"{head}Content-Type: text/plain; charset=utf-8\n\n{text}\n"
            (folder / f"docs/mail/box/{number}-{place}.eml").write_text(mail, "utf-8")
    copy = (folder / "docs/mail/box/0-1.eml").read_text("utf-8")
    (folder / "docs/mail/box/copy.eml").write_text(copy, "utf-8")
    (folder / "config.json").write_text('{"docs": {"root_path": "docs"}, "index": {"workers": 1}}')
    with Librarian.open(folder / "config.json") as opened:
        yield opened


@pytest.mark.parametrize(("question", "wanted"), QUESTIONS.items(), ids=list(QUESTIONS))
def test_the_reply_that_answers_is_shown(library: Librarian, question: str, wanted: tuple[str, int]) -> None:
    first = library.search_emails(question).results[0]
    assert (first.sender.split()[0], first.thread_size) == wanted
    assert first.doc_type == "email"


def test_all_mails_of_a_thread_can_be_shown(library: Librarian) -> None:
    shown = library.search_emails("webhook retries for Acme", max_per_thread=0).results
    assert {"Ann", "Bob"} <= {one.sender.split()[0] for one in shown}


def test_a_thread_names_the_file_that_the_search_names(library: Librarian) -> None:
    first = library.search_emails("webhook retries for Acme").results[0]
    thread = library.get_thread(first.thread_id)
    assert first.file_path in [mail.file_path for mail in thread.emails]
    assert thread.total == first.thread_size == 3


def test_closings_stay_out_of_summaries(library: Librarian) -> None:
    summaries = [library.search_emails(question).results[0].summary for question in QUESTIONS]
    assert all(summaries)
    assert not any("regards" in one or "Grüße" in one for one in summaries)
