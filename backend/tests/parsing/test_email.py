"""Mails: headers decoded, text preferred to HTML, attachments listed, quotes and signatures kept but not indexed."""

from __future__ import annotations

import base64
import datetime as dt
import time
from collections.abc import Callable
from dataclasses import replace
from email.message import EmailMessage
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from librarian.errors import SourceError
from librarian.models import Attachment, Document, Email, SourceFile
from librarian.parsing.email.html import html_to_text
from librarian.parsing.email.parser import EmailParser

from .conftest import Parse

NAME = "acme/mail/note.eml"


def header_of(doc: Document) -> Email:
    assert doc.email is not None
    return doc.email


def visible(doc: Document) -> str:
    kept = (char for place, char in enumerate(doc.text) if not any(s.start <= place < s.end for s in doc.excluded))
    return " ".join("".join(kept).split())


def test_a_reply_with_everything(parse: Parse) -> None:
    mail = EmailMessage()
    mail["Subject"] = "Re: Grüße 📎"
    mail["From"] = "Jörg Müller <jm@example.org>"
    mail["To"] = "Ann <ann@example.org>, bob@example.org"
    mail["Cc"] = '"Doe, Jane" <jane@example.org>'
    mail["Date"] = "Tue, 03 Mar 2026 10:00:00 +0200"
    mail["Message-ID"] = "<three@x>"
    mail["In-Reply-To"] = "<two@x>"
    mail["References"] = "<one@x> <two@x>"
    mail.set_content("Yes, do it.\n\nOn Monday, Ann wrote:\n> Shall we?\n> Really?\n\nAnd soon.\n\n-- \nJörg\nACME\n")
    mail.add_alternative("<p>Yes, <b>do</b> it.</p>", subtype="html")
    mail.add_attachment(b"12345", maintype="application", subtype="pdf", filename="Überblick.pdf")
    doc = parse(mail.as_bytes(), NAME)
    assert header_of(doc).fingerprint
    assert replace(header_of(doc), fingerprint="") == Email(
        subject="Re: Grüße 📎",
        sender="Jörg Müller <jm@example.org>",
        to=("Ann <ann@example.org>", "bob@example.org"),
        cc=("Doe, Jane <jane@example.org>",),
        date="2026-03-03T08:00:00Z",
        message_id="three@x",
        in_reply_to=("two@x",),
        references=("one@x", "two@x"),
        thread_id="one@x",
        attachments=(Attachment("Überblick.pdf", "application/pdf", 5),),
        topic="grüsse 📎",
        is_answer=True,
    )
    assert (doc.kind, doc.title, doc.last_modified) == ("email", "Re: Grüße 📎", "2026-03-03T08:00:00Z")
    assert visible(doc) == "Yes, do it. And soon."
    assert [span.reason for span in doc.excluded] == ["quote header", "quote", "signature"]
    assert "> Shall we?" in doc.text


def test_html_alone_becomes_text(parse: Parse) -> None:
    mail = EmailMessage()
    mail["From"] = "a@b.c"
    mail.set_content(
        "<html><head><style>p {}</style><title>t</title></head><body><h1>Hi</h1><p>One<br>two &amp; three</p>"
        "<ul><li>a</li><li>b</li></ul><blockquote>old words</blockquote><script>no()</script></body></html>",
        subtype="html",
    )
    doc = parse(mail.as_bytes(), NAME)
    assert doc.text == "Hi\n\nOne\ntwo & three\n\n- a\n- b\n\n> old words"
    assert visible(doc) == "Hi One two & three - a - b"


def test_a_mail_of_nothing_but_quotes_keeps_them(parse: Parse) -> None:
    assert parse(b"Subject: fwd\n\n> all\n> of it\n", NAME).excluded == ()


def test_threads_come_from_the_first_reference_else_the_message_else_the_subject(parse: Parse) -> None:
    def thread(headers: str) -> str:
        return header_of(parse(f"{headers}\n\nbody\n", NAME)).thread_id

    assert thread("References: <a@x> <b@x>\nMessage-ID: <c@x>") == "a@x"
    assert thread("In-Reply-To: <b@x>\nMessage-ID: <c@x>") == "b@x"
    assert thread("Message-ID: c@x") == "c@x"
    assert thread("Subject: Plan") == thread("Subject: RE: Aw: plan") != thread("Subject: Other")
    assert thread("From: a@b") != thread("From: c@d")


@pytest.mark.parametrize(
    ("header", "subject"),
    [
        (b"Subject: =?utf-8?q?Gr=C3=BC=C3=9Fe?=\n =?utf-8?q?_an_alle?=", "Grüße an alle"),
        (b"Subject: =?iso-2022-jp?B?GyRCRnxLXDhsGyhC?=", "日本語"),
        (b"Subject: =?nonsense?B?////?= x", None),
        (b"Subject: =?utf-8?B?broken", "=?utf-8?B?broken"),
        ("Subject: Grüße roh".encode(), "Grüße roh"),
        ("Subject: Grüße roh und länger ausgeführt".encode("cp1252"), "Grüße roh und länger ausgeführt"),
        (b"Subject : spaced\nFrom : a@b.c", "spaced"),
        (b"Subject: a\x07b\tc", "ab c"),
    ],
)
def test_subjects_are_decoded(parse: Parse, header: bytes, subject: str | None) -> None:
    doc = parse(header + b"\n\nbody\n", NAME)
    assert doc.title
    if subject is not None:
        assert header_of(doc).subject == subject


@pytest.mark.parametrize(
    ("date", "hour"),
    [
        ("Mon, 2 Mar 2026 09:00:00 +01:00", 8),
        ("Mon, 2 Mar 2026 09:00:00 -05:30", 14.5),
        ("Mon Mar 02 2026 09:00:00 GMT+0100 (Central European Standard Time)", 8),
        ("Mon, 2 Mar 2026 09:00:00 UTC-3", 12),
        ("Mon, 2 Mar 2026 09:00:00 GMT", 9),
        ("Mon, 2 Mar 2026 09:00:00 +0100 (MEZ)", 8),
        ("Mon, 2 Mar 2026 09:00:00 +0100 CET", 8),
    ],
)
def test_a_date_is_read_with_its_zone(parse: Parse, date: str, hour: float) -> None:
    moment = dt.datetime(2026, 3, 2) + dt.timedelta(hours=hour)
    assert header_of(parse(f"Date: {date}\nSubject: x\n\nbody\n", NAME)).date == f"{moment.isoformat()}Z"


@pytest.mark.parametrize("date", ["", "yesterday", "Tue, 99 Foo 99999 99:99:99 +9999", "0"])
def test_a_date_that_is_none_leaves_the_files_own(parse: Parse, date: str) -> None:
    doc = parse(f"Date: {date}\nSubject: x\n\nbody\n", NAME, mtime_ns=1_767_225_600_000_000_000)
    assert header_of(doc).date is None
    assert doc.last_modified == "2026-01-01T00:00:00Z"


def test_bodies_are_read_whatever_their_declared_character_set(parse: Parse) -> None:
    text = "Grüße aus Köln und viele längere Wörter"
    for charset, encoding in (("iso-8859-1", "latin-1"), ("no-such-set", "utf-8"), ("us-ascii", "utf-8")):
        head = f"Subject: x\nContent-Type: text/plain; charset={charset}\n\n".encode()
        assert parse(head + text.encode(encoding), NAME).text == text


def test_broken_mime_is_read_and_said(parse: Parse) -> None:
    doc = parse(
        b"Subject: x\nMIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=b\n\n--b\n\nwords\n--b\nContent-Type: "
        b"application/pdf\nContent-Transfer-Encoding: base64\n\n!!!!\n",
        NAME,
    )
    assert doc.text == "words"
    assert doc.notes[0] == "broken MIME"
    assert [item.filename for item in header_of(doc).attachments] == ["unnamed.pdf"]


def test_parts_nested_in_each_other_take_little_time(parse: Parse) -> None:
    mail = "Subject: deep\n"
    for depth in range(400):
        mail += f"Content-Type: multipart/mixed; boundary=b{depth}\n\n--b{depth}\n"
    started = time.process_time()
    parse(mail + "\nwords\n", NAME)
    assert time.process_time() - started < 5


@pytest.mark.parametrize("data", [b"", b"just words without headers\n", b"\0\1\2: x\n\n", b"\n\n"])
def test_what_is_no_mail_is_refused(parse: Parse, data: bytes) -> None:
    with pytest.raises(SourceError) as caught:
        parse(data, NAME)
    assert caught.value.reason == "not_a_mail"


_line = st.one_of(
    st.binary(max_size=40),
    st.sampled_from(
        [
            b"Subject: =?utf-8?q?x?=",
            *(b"From: A <a@b>, <", b"Content-Type: multipart/mixed; boundary=b", b"--b", b"--b--"),
            *(b"Content-Transfer-Encoding: base64", b"Content-Disposition: attachment; filename*=x''%ff", b"", b"> q"),
            *(b"-- ", b'Content-Type: text/html; charset="', b"Date: Mon, 1 Jan 0000 00:00:00 -9999", b"\tfold"),
            *(b"References: <<>> <a", b"Content-Type: message/rfc822", b"Content-Transfer-Encoding: x-uuencode"),
            *(b"begin 644 x", b"<p>hi"),
        ]
    ),
)  # fmt: skip


@settings(deadline=None, max_examples=100)
@given(st.lists(_line, max_size=25).map(b"\n".join))
def test_no_bytes_raise_anything_but_a_source_error(data: bytes) -> None:
    try:
        doc = EmailParser().parse(SourceFile("/x", NAME, "a", "b", len(data), 0), b"Subject: s\n" + data)
    except SourceError:
        return
    doc.text.encode()
    reached = 0
    for span in doc.excluded:
        assert reached <= span.start < span.end <= len(doc.text)
        reached = span.end


@settings(deadline=None, max_examples=50)
@given(st.text(alphabet="<>/=\"' abpdivlscrtk&;!-\n", max_size=120))
def test_any_html_becomes_text(markup: str) -> None:
    assert isinstance(html_to_text(markup), str)


def test_html_keeps_tables_preformatted_lines_and_picture_texts() -> None:
    markup = (
        "<table><tr><td>a</td><td>b</td></tr></table><pre>x\n  y</pre><img alt='the red pump'>"
        "<blockquote><p>q</p></blockquote>"
    )
    assert html_to_text(markup) == "| a | b |\n\nx\n  y\n\nthe red pump\n\n> q"


@pytest.mark.no_cover
def test_every_real_mail_is_read_within_a_second(real_data: Callable[[str], Path]) -> None:
    paths = sorted((real_data("files") / "email").rglob("*.eml"))
    assert len(paths) > 100
    for path in paths:
        data = path.read_bytes()
        started = time.process_time()
        doc = EmailParser().parse(SourceFile(str(path), f"a/b/{path.name}", "a", "b", len(data), 0), data)
        assert time.process_time() - started < 1, path
        assert "\r" not in doc.text
        assert "\0" not in doc.text
        assert doc.email is not None
        assert doc.email.thread_id


def test_addresses_of_list_archives_are_read(parse: Parse) -> None:
    assert header_of(parse(b"From: ann.lee at example.org (Ann Lee)\nSubject: x\n\nbody\n", NAME)).sender == (
        "Ann Lee <ann.lee@example.org>"
    )
    assert "@" not in header_of(parse(b"From: Meet me at noon\nSubject: x\n\nbody\n", NAME)).sender


def test_outlooks_conversations_are_kept_together_and_addresses_are_no_messages(parse: Parse) -> None:
    index = b"Thread-Index: AQHZabcdefghijklmnopqrstuvwxyzABCDEFGHIJKL==\n"
    first, second = (header_of(parse(index + b"Message-ID: <%d@x>\n\nbody\n" % n, NAME)) for n in (1, 2))
    assert first.in_reply_to == second.in_reply_to != ()
    old = b"From: Bob <bob@x.org>\nTo: Ann <ann@x.org>\nIn-Reply-To: Your mail of Friday <ann@x.org>\n\nbody\n"
    assert header_of(parse(old, NAME)).in_reply_to == ()


@pytest.mark.parametrize(
    ("value", "ids"),
    [
        (b'ann@x.org\'s message of "Tue, 27 Aug 2002 13:17:15 +0100"', ()),
        (b"<one@x> (message from Ann <ann@x.org> on Friday)", ("one@x", "ann@x.org")),
        (b"one@x", ("one@x",)),
    ],
)
def test_who_is_answered_is_no_mail_that_is_answered(parse: Parse, value: bytes, ids: tuple[str, ...]) -> None:
    mail = b"From: Bob <bob@x.org>\nTo: list@x.org\nIn-Reply-To: %b\n\nbody\n" % value
    assert header_of(parse(mail, NAME)).in_reply_to == ids


def test_a_plain_part_that_only_names_the_other_one_gives_way(parse: Parse) -> None:
    mail = EmailMessage()
    mail["From"] = "a@b.c"
    mail.set_content("Your program can't show this mail.")
    mail.add_alternative(f"<p>{'The pump must be replaced. ' * 20}</p>", subtype="html")
    assert parse(mail.as_bytes(), NAME).text.startswith("The pump")


def test_a_lists_footer_beside_an_html_body_doesnt_hide_it(parse: Parse) -> None:
    body = (
        b"From: a@b.c\nContent-Type: multipart/mixed; boundary=b\n\n--b\nContent-Type: text/html\n\n<p>The pump.</p>\n"
        b"--b\nContent-Type: text/plain\n\n____________________\ndev mailing list\ndev@lists.x.org\n--b--\n"
    )
    doc = parse(body, NAME)
    assert visible(doc) == "The pump."
    assert [span.reason for span in doc.excluded] == ["footer"]


def test_a_multipart_whose_boundary_never_comes_is_read_as_text(parse: Parse) -> None:
    data = b'From: a@x\nSubject: s\nContent-Type: multipart/mixed; boundary="zz"\n\n--yy\nThe pump is old.\n'
    doc = parse(data, NAME)
    assert "The pump is old." in doc.text
    assert doc.notes == ("broken MIME",)


def mixed(*parts: bytes) -> bytes:
    return b"Subject: x\nContent-Type: multipart/mixed; boundary=b\n\n--b\n" + b"\n--b\n".join(parts) + b"\n--b--\n"


@pytest.mark.parametrize(
    ("headers", "content", "name"),
    [
        (b"text/plain; name=README", b"The okapi.", "README"),
        (b"text/plain\nContent-Disposition: attachment", b"The okapi.", "unnamed.txt"),
        (b"text/html; name=report", b"<p>The <b>okapi</b>.</p>", "report"),
        (b"text/plain; name=fix.patch", b"The okapi.", "fix.patch"),
        (b"text/x-verilog; name=gain.v", b"The okapi.", "gain.v"),
        (b"text/rtf", b"{\\rtf1 The okapi.}", "unnamed.rtf"),
        (b"text/calendar", b"The okapi.", "unnamed.calendar"),
    ],
)
def test_attachments_without_a_known_extension_are_read_by_their_content_type(
    parse: Parse, headers: bytes, content: bytes, name: str
) -> None:
    doc = parse(mixed(b"Content-Type: text/plain\n\nGnu.", b"Content-Type: " + headers + b"\n\n" + content), NAME)
    assert doc.text.strip() == f"Gnu.\n\nAttachment: {name}\n\nThe okapi."
    assert [item.filename for item in header_of(doc).attachments] == [name]


def test_contact_cards_are_listed_and_not_read(parse: Parse) -> None:
    doc = parse(mixed(b"Content-Type: text/plain\n\nGnu.", b"Content-Type: text/x-vcard; name=a.vcf\n\nokapi"), NAME)
    assert doc.text == "Gnu."
    assert [item.filename for item in header_of(doc).attachments] == ["a.vcf"]


def test_unnamed_text_of_any_kind_belongs_to_the_body(parse: Parse) -> None:
    patch = b"Content-Type: text/x-diff\nContent-Disposition: inline\n\n+ okapi"
    doc = parse(mixed(b"Content-Type: text/plain\n\nGnu.", patch), NAME)
    assert (doc.text, header_of(doc).attachments) == ("Gnu.\n\n+ okapi", ())
    both = mixed(b"Content-Type: text/plain\n\nGnu.", b"Content-Type: text/enriched\n\n<bold>Gnu.</bold>")
    assert parse(both.replace(b"/mixed", b"/alternative"), NAME).text == "Gnu.", "of alternatives one is read"


def test_enriched_text_loses_its_commands(parse: Parse) -> None:
    head = b"Subject: x\nContent-Type: text/"
    for kind in (b"enriched", b"richtext"):
        assert parse(head + kind + b"\n\n<bold>Gnu</bold> and\nokapi\n", NAME).text == "Gnu and okapi"


@pytest.mark.parametrize(
    "text", ["Die schöne Aussicht ", "Die schöne Aussicht vom Berg, weit über das Land hinaus. " * 3]
)
def test_what_a_list_adds_below_base64_costs_no_words(parse: Parse, text: str) -> None:
    data = text.encode()
    data += b" " * (-len(data) % 3)
    encoded = base64.encodebytes(data)
    assert b"=" not in encoded
    head = b"Subject: x\nContent-Type: text/plain; charset=utf-8\nContent-Transfer-Encoding: base64\n\n"
    assert parse(head + encoded, NAME).text.strip() == text.strip()
    doc = parse(head + encoded + b"\n_______________\nMailing list footer\n", NAME)
    assert doc.text.strip() == text.strip()


@pytest.mark.parametrize("damage", ["!!\n{0}", "{0}> \n{0}"])
def test_damaged_base64_is_read_past_its_damage(parse: Parse, damage: str) -> None:
    head = "Subject: x\nContent-Type: text/plain; charset=utf-8\nContent-Transfer-Encoding: base64\n\n"
    encoded = base64.encodebytes(b"The okapi stands beside the gnu in the shade.").decode()
    assert parse(head + damage.format(encoded), NAME).text.endswith("shade.")


@pytest.mark.parametrize("charset", ["iso-8859-1", "us-ascii", "latin1", "iso-8859-9"])
def test_windows_letters_are_read_under_an_iso_name(parse: Parse, charset: str) -> None:
    head = f"Subject: =?{charset}?Q?It=92s_=935_=80=94?=\nContent-Type: text/plain; charset={charset}\n"
    doc = parse(head.encode() + b"Content-Transfer-Encoding: quoted-printable\n\nIt=92s =935 =80=94\n", NAME)
    assert (doc.text, doc.title) == ("It’s “5 €”", "It’s “5 €”")


def test_utf8_that_says_it_is_latin_is_told_by_its_dashes(parse: Parse) -> None:
    head = b"Subject: x\nContent-Type: text/plain; charset=iso-8859-1\n\n"
    assert parse(head + "Grüße – alle".encode(), NAME).text == "Grüße – alle"
    assert parse(head + b"\xfcber", NAME).encoding == "iso-8859-1"


@pytest.mark.parametrize(
    "parameter", [b'text/plain; name="%s"', b'text/plain\nContent-Disposition: attachment; filename="%s"']
)
@pytest.mark.parametrize(
    ("name", "encoding"), [("Grüße.txt", "utf-8"), ("Grüße.txt", "cp1252"), ("会议记录和报告.txt", "gbk")]
)
def test_raw_letters_in_attachment_names_are_read(parse: Parse, parameter: bytes, name: str, encoding: str) -> None:
    part = b"Content-Type: " + parameter % name.encode(encoding) + b"\n\nokapi"
    doc = parse(mixed(b"Content-Type: text/plain\n\nGnu.", part), NAME)
    assert [item.filename for item in header_of(doc).attachments] == [name]
    assert f"Attachment: {name}\n" in doc.text
