"""Mails through the desk: what is proved here.

* Every filter lets through what it should and nothing else; dates mind their zones.
* Operators in the query mean the filters, as loosely as people type them; what none can mean is told.
* Attachments are found as parts of their mail; conversations show each mail once, history folded, answers in place.
* Documents and mails never leak into each other.
* A small generated archive (`benchmarks/mail_archive.py`) has its threads exactly as generated; in long conversations
  of a list in three exports (`benchmarks/mailing_lists.py`) each mail is there once and each word found once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from email.message import EmailMessage
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from librarian import Librarian
from librarian.errors import CallerError
from librarian.search.mail_query import without_operators

QUIET: dict[str, Any] = {"embeddings.enabled": False, "docs.watch_for_changes": False, "index.workers": 1}


def mail(name: str, sender: str, to: str, subject: str, date: str, body: str, **more: str) -> EmailMessage:
    made = EmailMessage()
    made["From"], made["To"], made["Subject"], made["Date"] = sender, to, subject, date
    made["Message-ID"] = f"<{name}@x.org>"
    for header, value in more.items():
        made[header.replace("_", "-")] = value
    made.set_content(body)
    return made


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Librarian]:
    folder = tmp_path_factory.mktemp("mails")
    root = folder / "library"
    (root / "shop" / "mail").mkdir(parents=True)
    (root / "shop" / "guide.md").write_text("# Pumps\n\nThe pump manual explains every pump.\n")
    first = mail("one", "Ann Lee <ann@x.org>", "bob@x.org", "[dev] Pump order", "Tue, 03 Mar 2026 23:30:00 -0500",
                 "Please order the pump before the river freezes over this winter.\n\n-- \nAnn\n")  # fmt: skip
    answer = (
        "The pump is ordered.\n\nOn 3 Mar 2026, Ann Lee wrote:\n"
        "> Please order the pump before the river freezes\n> over this winter.\n"
    )
    subject, date = "Re: [dev] Pump order", "Thu, 05 Mar 2026 10:00:00 +0100"
    second = mail("two", "Bob <bob@x.org>", "Ann Lee <ann@x.org>", subject, date, answer, In_Reply_To="<one@x.org>")
    second.add_attachment(b"# Terms\n\nThe warranty covers the impeller.\n", "text", "markdown", filename="terms.md")
    third = mail(
        "three", "cleo@y.net", "bob@x.org", "Lunch", "Fri, 06 Mar 2026 10:00:00 +0000", "Lunch at the pump room?"
    )
    for name, one in (("1", first), ("2", second), ("3", third)):
        (root / "shop" / "mail" / f"{name}.eml").write_bytes(one.as_bytes())
    (root / "shop" / "mail" / "export.mbox").write_bytes(
        b"From ann@x.org Tue Mar  3 23:30:00 2026\nX-Export: yes\n" + first.as_bytes()
    )
    with Librarian.open(root=root, index=folder / "index", **QUIET) as opened:
        yield opened


def names(answer: Any) -> set[str]:
    return {result.message_id.removesuffix("@x.org") for result in answer.results}


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ({}, {"one", "two", "three"}),
        ({"sender": "ANN"}, {"one"}),
        ({"sender": "x.org"}, {"one", "two"}),
        ({"sender": "nobody"}, set()),
        ({"sender": " Ann\tLee  <ann@x.org>"}, {"one"}),
        ({"subject_contains": "pump ORDER"}, {"one", "two"}),
        ({"subject_contains": "pump  \n order"}, {"one", "two"}),
        ({"subject_contains": "dinner"}, set()),
        ({"thread_id": "<two@x.org>"}, {"one", "two"}),
        ({"thread_id": "three@x.org"}, {"three"}),
        ({"thread_id": "nobody@x.org"}, set()),
        ({"has_attachments": True}, {"two"}),
        ({"has_attachments": False}, {"one", "three"}),
        ({"date_after": "2026-03-04T04:30:00Z"}, {"one", "two", "three"}),
        ({"date_after": "2026-03-04T04:30:01Z"}, {"two", "three"}),
        ({"date_before": "2026-03-03"}, set()),
        ({"date_before": "2026-03-04"}, {"one"}),
        ({"date_before": "2026-03-05T10:00:00+01:00"}, {"one", "two"}),
        ({"date_before": "2026-03-05T10:00:00+02:00"}, {"one"}),
        ({"product": "shop", "component": "mail"}, {"one", "two", "three"}),
    ],
)
def test_every_filter_lets_through_what_it_should(library: Librarian, given: dict[str, Any], found: set[str]) -> None:
    assert names(library.search_emails("pump", mode="keyword", max_per_thread=0, **given)) == found
    if given:
        listed = library.search_emails(max_per_thread=0, explain=True, **given)
        assert names(listed) == found
        assert {result.match_type for result in listed.results} <= {listed.mode}  # no meaning was asked for


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("from:ann pump", {"one"}),
        ("pump from:bob", {"two"}),
        ("to:bob pump", {"one", "three"}),
        ("to:cleo pump", set()),
        ('subject:"pump order" pump', {"one", "two"}),
        ("has:attachment", {"two"}),
        ("-has:attachment pump", {"one", "three"}),
        ("after:2026-03-05", {"two", "three"}),
        ("before:2026-03-05", {"one"}),
        ("before:2026-03 pump", set()),
        ("until:2026-03 pump", {"one", "two", "three"}),
        ("to:ann cc:lee", {"two"}),
        ("to:ann cc:bob", set()),
        ("from:bob, pump", {"two"}),
        ("from:(ann) pump", {"one"}),
        ("from:<cleo@y.net>", {"three"}),
        ("subject: lunch", {"three"}),
        ("subject: (pump order), from: ann", {"one"}),
        ("until:2026 pump", {"one", "two", "three"}),
        ("until:2025 pump", set()),
        ("from:'ann lee' pump", {"one"}),
        ("subject:“pump order”, from:»ann«", {"one"}),
        ("NOT has:attachment pump", {"one", "three"}),
        ("AND from:ann AND to:bob AND pump", {"one"}),
    ],
)
def test_operators_mean_their_filters(library: Librarian, query: str, found: set[str]) -> None:
    answer = library.search_emails(query, mode="keyword", max_per_thread=0)
    assert names(answer) == found
    assert answer.query == query


def test_pages_of_mails_by_filter_alone_tile_them_and_the_last_one_is_the_last(library: Librarian) -> None:
    given: dict[str, Any] = {"date_after": "1990", "max_per_thread": 0}
    every = library.search_emails(**given)
    assert every.total == len(every.results) > 2
    assert every.next_offset is None
    found: list[str] = []
    offset: int | None = 0
    while offset is not None:
        page = library.search_emails(**given, max_results=1, offset=offset)
        assert (page.total, len(page.results)) == (every.total, 1)
        found += [result.id for result in page.results]
        offset = page.next_offset
    assert found == [result.id for result in every.results]


def test_operators_leave_other_colons_alone_and_tell_contradictions() -> None:
    plain = (
        "error: timeout",
        "http://x.org/from:a",
        "has:pump",
        "from:",
        "std::before",
        "since: the flood",
        "from: -ann",
    )
    for text in (*plain, "which thread: this one", "subject:()"):
        assert without_operators(text, {}) == (text, {})
    assert without_operators("to: from:ann", {}) == ("to:", {"sender": "ann"})
    with pytest.raises(CallerError, match="sender"):
        without_operators("from:ann", {"sender": "bob"})
    with pytest.raises(CallerError, match="contradicts"):
        without_operators("from:ann from:bob", {})
    for text in ("zoo -from:dora", "-to:bob", '-subject:"river boat"', "-thread:t1", "-before:2026"):
        with pytest.raises(CallerError, match="-word"):
            without_operators(text, {})
    for text in ("from:ann OR to:bob", "subject:plan OR budget", "budget OR from:ann"):
        with pytest.raises(CallerError, match="OR"):
            without_operators(text, {})
    with pytest.raises(CallerError, match="-word"):
        without_operators("NOT from:ann", {})
    assert without_operators("zoo OR pump from:O'Brien", {}) == ("zoo OR pump", {"sender": "O'Brien"})
    for text in ("older_than:1y budget", "filename:plan.pdf", "budget is:unread", "-in:sent budget", "bcc:ann"):
        with pytest.raises(CallerError, match="is no operator here"):
            without_operators(text, {})
    for text in ('"filename:plan.pdf" budget', 'a "flag is:unread here" b', "filename: plan", "is: unread", "in:out"):
        assert without_operators(text, {}) == (text, {})


def test_one_hit_per_thread_unless_all_are_wanted(library: Librarian) -> None:
    answer = library.search_emails("pump order", mode="keyword")
    assert len(answer.results) == len({result.thread_id for result in answer.results}) == 2
    (thread,) = {result.thread_id for result in answer.results if "Pump order" in result.subject}
    assert names(library.search_emails("pump", mode="keyword", thread_id=thread)) == {"one", "two"}, "all are of one"


def test_a_mail_is_found_by_its_senders_name_and_by_names_of_attachments_that_none_can_read(tmp_path: Path) -> None:
    asks = mail("asks", "Bob <bob@x.org>", "ann@x.org", "Canal", "Tue, 03 Mar 2026 10:00:00 +0000",
                "Dear Ann, does Ann think the lock gates leak?")  # fmt: skip
    says = mail("says", "Ann Lee <ann@x.org>", "bob@x.org", "Re: Canal", "Tue, 03 Mar 2026 11:00:00 +0000",
                "The lock gates leak.\n\nBob wrote:\n> Dear Ann, does Ann think the lock gates leak?\n")  # fmt: skip
    says.add_attachment(b"\0\1", "application", "octet-stream", filename="lock-gates_v2.dwg")
    bare = mail("bare", "cleo.marsh@y.net", "bob@x.org", "Tea", "Tue, 03 Mar 2026 12:00:00 +0000", "Tea at four?")
    for one in (asks, says, bare):
        path = tmp_path / "docs" / "shop" / "mail" / f"{one['Message-ID'].strip('<>')}.eml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(one.as_bytes())

    with Librarian.open(root=tmp_path / "docs", index=tmp_path / "index", **QUIET) as library:

        def found(query: str) -> list[str]:
            answer = library.search_emails(query, mode="keyword", max_per_thread=0)
            return [result.message_id.removesuffix("@x.org") for result in answer.results]

        assert found("what does Ann Lee say about the lock gates")[0] == "says"
        assert found("bob") == ["asks"], "what says quotes of him isn't hers"
        assert found("marsh") == found("Cleo") == ["bare"]
        assert found("lock-gates_v2.dwg")[:1] == found("dwg") == ["says"]
        assert "says" not in found("gates -lee")


def test_a_quote_is_found_in_its_original_and_a_copy_is_named(library: Librarian) -> None:
    answer = library.search_emails("river freezes", mode="keyword", max_per_thread=0)
    assert names(answer) == {"one"}
    (result,) = answer.results
    assert len(result.also_in) == 1
    listed = {mail.message_id: mail for mail in library.search_emails("from:ann", max_per_thread=0).results}[
        result.message_id
    ]
    assert {listed.file_path, *listed.also_in} == {result.file_path, *result.also_in}, "by filters alone too"


def test_attachments_are_parts_of_their_mail(library: Librarian) -> None:
    (result,) = library.search_emails("impeller warranty", mode="keyword").results
    assert result.message_id == "two@x.org"
    assert result.heading_path[0] == "Attachment: terms.md"
    assert [item.filename for item in result.attachments] == ["terms.md"]


def test_the_address_of_a_quotes_passage_names_no_section_that_the_mail_has_not(tmp_path: Path) -> None:
    body = "Agreed.\n\nOn 3 Mar 2026, Ann Lee wrote:\n> Please order the impeller before the river freezes over.\n"
    path = tmp_path / "library" / "shop" / "mail" / "1.eml"
    path.parent.mkdir(parents=True)
    date = "Thu, 05 Mar 2026 10:00:00 +0100"
    path.write_bytes(mail("one", "bob@x.org", "ann@x.org", "Re: Order", date, body).as_bytes())
    with Librarian.open(root=tmp_path / "library", index=tmp_path / "index", **QUIET) as library:
        (found,) = library.search_emails('"impeller"', mode="keyword").results
        read = library.get_document(found.uri)
    assert (found.heading_path, found.uri) == (["Quoted"], "librarian://docs/shop/mail/1.eml")
    assert (read.missing_section, "impeller" in read.content) == (None, True)


def test_a_participant_is_named_once_by_the_fullest_form(tmp_path: Path) -> None:
    mails = [
        mail("a", "ann@x.org", "BOB@x.org, Team", "Tea", "Tue, 03 Mar 2026 10:00:00 +0000", "Tea at four?"),
        mail("b", "Bob <bob@x.org>", "Ann <ann@x.org>", "Re: Tea", "Tue, 03 Mar 2026 11:00:00 +0000", "Yes, gladly.",
             In_Reply_To="<a@x.org>"),
        mail("c", "Annie <ann@x.org>", "bob@x.org", "Re: Tea", "Tue, 03 Mar 2026 12:00:00 +0000", "See you then.",
             In_Reply_To="<b@x.org>"),
    ]  # fmt: skip
    for name, one in zip("abc", mails, strict=True):
        path = tmp_path / "docs" / "shop" / "mail" / f"{name}.eml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(one.as_bytes())
    with Librarian.open(root=tmp_path / "docs", index=tmp_path / "index", **QUIET) as library:
        thread = library.get_thread("a@x.org")
    assert thread.participants == ["Ann <ann@x.org>", "Bob <bob@x.org>", "Team"]


def test_people_whose_names_begin_alike_before_a_comma_are_all_participants(tmp_path: Path) -> None:
    people = '"Lee, Bob" <bob@x.org>, "Lee, Cy" <cy@x.org>, "Tea: the list" <tea@x.org>'
    one = mail("a", '"Lee, Ann" <ann@x.org>', people, "Tea", "Tue, 03 Mar 2026 10:00:00 +0000", "Tea at four?")
    path = tmp_path / "docs" / "shop" / "mail" / "a.eml"
    path.parent.mkdir(parents=True)
    path.write_bytes(one.as_bytes())
    with Librarian.open(root=tmp_path / "docs", index=tmp_path / "index", **QUIET) as library:
        thread = library.get_thread("a@x.org")
    named = ["Lee, Ann <ann@x.org>", "Lee, Bob <bob@x.org>", "Lee, Cy <cy@x.org>", "Tea: the list <tea@x.org>"]
    assert thread.participants == named


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ('from:"Ann van Lee"', {"a"}),
        ('from:"van lee, ann"', {"a"}),
        ('from:"Bob Hill"', {"b"}),
        ('from:"Hill, Bob"', {"b"}),
        ('to:"ann van lee"', {"b"}),
        ('to:"Bob Ann"', set()),
        ('from:"van Ann"', set()),
    ],
)
def test_people_are_found_by_their_names_in_either_order(tmp_path: Path, query: str, found: set[str]) -> None:
    ann, bob, day = '"van Lee, Ann" <ann@x.org>', "Bob Hill <bob@x.org>", "Tue, 03 Mar 2026 10:00:00 +0000"
    made = [mail("a", ann, f"{bob}, Cy <cy@x.org>", "Tea", day, "Tea?"), mail("b", bob, ann, "Ham", day, "Ham?")]
    for name, one in zip("ab", made, strict=True):
        path = tmp_path / "docs" / "shop" / "mail" / f"{name}.eml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(one.as_bytes())
    with Librarian.open(root=tmp_path / "docs", index=tmp_path / "index", **QUIET) as library:
        assert {result.message_id[:1] for result in library.search_emails(query).results} == found


def test_a_conversation_shows_each_mail_once_with_its_history_folded(library: Librarian) -> None:
    (result,) = library.search_emails("from:bob pump", mode="keyword").results
    thread = library.get_thread(result.thread_id)
    assert [one.message_id for one in thread.emails] == ["one@x.org", "two@x.org"]
    assert thread.participants == ["Ann Lee <ann@x.org>", "Bob <bob@x.org>"]
    assert thread.emails[1].body == "The pump is ordered."
    assert "river freezes" in thread.emails[1].quoted[0]
    assert library.get_thread("two@x.org") == thread, "a Message-ID leads to its conversation"


@pytest.mark.parametrize("message_id", ["plan-7", "plan-7@example.org"])
def test_a_message_id_names_its_conversation_to_search_as_to_reading(tmp_path: Path, message_id: str) -> None:
    path = tmp_path / "docs" / "shop" / "mail" / "a.eml"
    path.parent.mkdir(parents=True)
    headers = f"From: Ann <ann@x.org>\nSubject: Plan\nDate: Tue, 03 Mar 2026 10:00:00 +0000\nMessage-ID: <{message_id}>"
    path.write_text(f"{headers}\n\nThe plan is settled.\n")
    with Librarian.open(root=tmp_path / "docs", index=tmp_path / "index", **QUIET) as library:
        thread = library.get_thread(message_id)
        for name in (message_id, f"<{message_id}>", thread.thread_id):
            assert [mail.message_id for mail in library.search_emails("plan", thread_id=name).results] == [message_id]
            assert library.get_thread(name) == thread


def test_a_long_conversation_is_read_in_parts_of_whole_mails_and_nothing_is_cut_in_silence(library: Librarian) -> None:
    whole = library.get_thread("one@x.org")
    assert (whole.total, whole.next_offset) == (2, None)
    first = library.get_thread("one@x.org", max_chars=10)
    assert ([mail.message_id for mail in first.emails], first.total, first.next_offset) == (["one@x.org"], 2, 1)
    assert (first.participants, first.subject) == (whole.participants, whole.subject)
    body = whole.emails[0].body
    said = f"{len(body) - 10} more characters: get_document reads {first.emails[0].file_path}]"
    assert first.emails[0].body == f"{body[:10]}\n[… {said}"
    rest = library.get_thread("one@x.org", offset=1, max_chars=20)
    assert (rest.emails[0].body, rest.next_offset) == ("The pump is ordered.", None)
    assert rest.emails[0].quoted[0].startswith(f"{whole.emails[1].quoted[0][:10]}\n[… ")
    with pytest.raises(CallerError, match=r"offset is 2; the conversation has 2 mails\. Use 0 to 1"):
        library.get_thread("one@x.org", offset=2)


def test_a_mail_of_an_archive_can_be_read(library: Librarian) -> None:
    listed = library.search_emails("river freezes", mode="keyword").results[0]
    paths = [listed.file_path, *listed.also_in]
    (inside,) = [path for path in paths if ".mbox/" in path]
    assert "river freezes" in library.get_document(inside).content


MONTH = (
    "From ann at x.org  Mon Mar  2 09:00:00 2026\nFrom: ann at x.org (Ann Lee)\nDate: Mon, 02 Mar 2026 09:00:00 +0000\n"
    "Subject: [dev] Otters\nMessage-ID: <otters@x.org>\n\nOtters hold hands.\n\n"
    "From bob at x.org  Tue Mar  3 09:00:00 2026\nFrom: bob at x.org (Bob)\nDate: Tue, 03 Mar 2026 09:00:00 +0000\n"
    "Subject: [dev] Otters\nMessage-ID: <rafts@x.org>\nIn-Reply-To: <otters@x.org>\n\nA raft of otters, then.\n"
)


@pytest.mark.parametrize("text", ["Otters swim.\n", "From Ann we heard at 10:30 of otters.\nSubject: none\n"])
def test_a_lists_month_as_text_is_mails_and_other_texts_are_not_whichever_was_there_before(
    tmp_path: Path, text: str
) -> None:
    file = tmp_path / "library" / "lists" / "dev" / "2026-March.txt"
    file.parent.mkdir(parents=True)
    with Librarian.open(root=tmp_path / "library", index=tmp_path / "index", **QUIET) as opened:
        for content, documents, mails in ((text, 1, 0), (MONTH, 0, 2), (text, 1, 0), (MONTH, 0, 2)):
            file.write_text(content)
            opened.refresh()
            assert (opened.status().documents, opened.status().emails) == (documents, mails)
            assert len(opened.search("otters").results) == documents
            assert len(opened.search_emails("otters", max_per_thread=0).results) == mails
        assert [one.sender for one in opened.get_thread("otters@x.org").emails] == [
            "Ann Lee <ann@x.org>",
            "Bob <bob@x.org>",
        ]


def test_documents_and_mails_stay_apart(library: Librarian) -> None:
    assert {result.file_type for result in library.search("pump warranty", mode="keyword").results} == {".md"}
    assert {result.file_type for result in library.search_emails("pump manual", mode="keyword").results} == {".eml"}


def test_a_generated_archive_has_its_threads_as_generated(
    tmp_path: Path, benchmark: Callable[[str], ModuleType]
) -> None:
    archive = benchmark("mail_archive")
    made = archive.generate(300, 40)
    archive.write(made, tmp_path / "library")
    with Librarian.open(root=tmp_path / "library", index=tmp_path / "index", **QUIET) as opened:
        assert archive.wrong_threads(opened, made) == []
        assert opened.status().failures.total == 0


def test_long_conversations_of_many_programs_are_whole_and_each_word_is_found_once(
    tmp_path: Path, benchmark: Callable[[str], ModuleType]
) -> None:
    lists = benchmark("mailing_lists")
    made = lists.generate(40, 2)
    lists.write(made, tmp_path / "library")
    with Librarian.open(root=tmp_path / "library", index=tmp_path / "index", **QUIET) as opened:
        assert lists.wrong_threads(opened, made) == []
        assert lists.repeated(opened, made) == []
        assert list(lists.misplaced(opened, made)) == []
