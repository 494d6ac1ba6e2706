"""Mails that programs put into files of their own: Outlook's `.msg`, Apple's `.emlx`.

* A mail exported as `.msg` is the mail that it was: headers, text, what is attached, and a copy of its `.eml`.
* What Outlook's headers lack is taken from its properties; code pages are honoured, RTF is read where nothing else is.
* A damaged or hostile file ends in a reason, in little time and memory.
"""

from __future__ import annotations

import struct
import time
from contextlib import suppress
from datetime import UTC, datetime

import pytest
from compressed_rtf import compress
from hypothesis import given, settings
from hypothesis import strategies as st

from librarian.errors import SourceError
from librarian.models import Document, Email, SourceFile
from librarian.parsing.email.parser import EmailParser

from .conftest import Parse
from .makers import attachment, compound, item

NAME = "acme/mail/note.msg"
SUBJECT, HEADERS, BODY, HTML, RTF = 0x0037, 0x007D, 0x1000, 0x1013, 0x1009
CODE_PAGE, INTERNET_CODE_PAGE = 0x3FFD, 0x3FDE
FILE, KIND, DATA = 0x3707, 0x370E, 0x3701
SENT = datetime(2026, 3, 3, 8, tzinfo=UTC)
CONVERSATION = bytes([1]) + bytes(range(21))


def mail_in(doc: Document) -> Email:
    assert doc.email is not None
    return doc.email


def test_a_mail_that_came_in_is_a_copy_of_its_eml(parse: Parse) -> None:
    headers = (
        "From: =?utf-8?q?J=C3=B6rg?= <jm@example.org>\r\nTo: Ann <ann@example.org>,\r\n\tbob@example.org\r\n"
        "Subject: Re: Pump\r\nDate: Tue, 03 Mar 2026 10:00:00 +0200\r\nMessage-ID: <three@x>\r\n"
        "References: <one@x>\r\n <two@x>\r\nMIME-Version: 1.0\r\nContent-Type: text/plain;\r\n charset=utf-8\r\n\r\n"
    )
    body = "The pump in house four is repaired – all of it.\r\n\r\nOn Monday, Ann wrote:\r\n> Is the pump repaired?\r\n"
    sent = parse((headers + body).encode(), "acme/mail/note.eml")
    kept = parse(compound(item({0x001A: "IPM.Note", HEADERS: headers, BODY: body, 0x0071: CONVERSATION})), NAME)
    assert mail_in(kept) == mail_in(sent)
    assert mail_in(kept).references == ("one@x", "two@x")
    assert kept.text == sent.text
    assert kept.excluded == sent.excluded
    assert (kept.kind, kept.file_type) == ("email", ".msg")


def test_a_mail_without_headers_has_outlooks_word_for_them(parse: Parse) -> None:
    ann = {0x3001: "Ann", 0x3003: "/O=ACME/CN=ANN", 0x39FE: "ann@example.org", 0x0C15: 1}
    bob = {0x3001: "'bob@example.org'", 0x3003: "bob@example.org", 0x0C15: 1}
    jane = {0x3001: 'Doe, Jane "JD"', 0x3003: "/O=ACME/CN=JANE", 0x0C15: 2}
    own = {
        SUBJECT: "Überblick",
        0x0042: "Müller, Jörg",
        0x0065: "/O=ACME/OU=X/CN=JM",
        0x5D02: "jm@example.org",
        0x0039: SENT,
        0x1035: "<three@x>",
        0x1042: "<two@x>",
        0x0E04: "Ann; bob@example.org",
        BODY: "Hello.",
    }
    mail = mail_in(parse(compound(item(own, [ann, bob, jane])), NAME))
    assert mail.subject == "Überblick"
    assert mail.sender == "Müller, Jörg <jm@example.org>"
    assert mail.to == ("Ann <ann@example.org>", "bob@example.org")
    assert mail.cc == ('Doe, Jane "JD"',)
    assert mail.date == "2026-03-03T08:00:00Z"
    assert (mail.message_id, mail.in_reply_to) == ("three@x", ("two@x",))


def test_mails_of_a_conversation_that_outlook_knows_belong_together(parse: Parse) -> None:
    first, second = (
        mail_in(parse(compound(item({SUBJECT: subject, 0x0071: CONVERSATION + more, BODY: subject})), NAME))
        for subject, more in (("Pump", b""), ("Re: Pump", b"\0" * 5))
    )
    assert first.thread_id == second.thread_id


def test_what_hangs_on_a_mail_is_listed_and_searched_and_so_are_mails_in_mails(parse: Parse) -> None:
    notes = attachment({FILE: "Notizen für heute.txt", KIND: "text/plain", DATA: b"Valves are closed."})
    picture = attachment({0x3704: "a.png", DATA: b"\x89PNG"})
    innermost = item({SUBJECT: "Deepest", BODY: "The key lies under the mat."}, inside=True)
    inner = item({SUBJECT: "Inner", BODY: "See below."}, [], [attachment({0x3001: "Deepest"}, innermost)], inside=True)
    outer = item({SUBJECT: "Outer", BODY: "Attached."}, [], [notes, picture, attachment({0x3001: "Inner"}, inner)])
    doc = parse(compound(outer), NAME)
    assert [(one.filename, one.content_type) for one in mail_in(doc).attachments] == [
        ("Notizen für heute.txt", "text/plain"),
        ("a.png", "application/octet-stream"),
        ("Inner", "message/rfc822"),
    ]
    assert mail_in(doc).attachments[0].size == 18
    assert "Attachment: Notizen für heute.txt\n\nValves are closed." in doc.text
    assert "Subject: Deepest\n\nThe key lies under the mat." in doc.text


def test_an_item_that_hangs_on_another_mail_as_a_file_is_read(parse: Parse) -> None:
    inner = compound(item({SUBJECT: "Inner", BODY: "The key lies under the mat."}))
    outer = compound(item({SUBJECT: "Outer"}, [], [attachment({FILE: "inner.msg", DATA: inner})]))
    assert "The key lies under the mat." in parse(outer, NAME).text


@pytest.mark.parametrize(
    ("properties", "narrow"),
    [
        ({CODE_PAGE: 1251, BODY: "Привет, мир"}, "cp1251"),
        ({INTERNET_CODE_PAGE: 932, BODY: "Привет, мир"}, "cp932"),
        ({CODE_PAGE: 1200, INTERNET_CODE_PAGE: 65001, BODY: "Привет, мир\0"}, "utf-8"),
        ({BODY: "Привет, мир! Насос в четвёртом доме починен.\0"}, "cp1251"),
        ({INTERNET_CODE_PAGE: 1251, HTML: "<p>Привет, мир".encode("cp1251")}, ""),
        ({INTERNET_CODE_PAGE: 65001, HTML: "<p>Привет, мир".encode()}, ""),
        ({HTML: "<p>Привет, мир"}, ""),
    ],
)
def test_letters_are_read_by_the_code_page(parse: Parse, properties: dict[int, str | bytes | int], narrow: str) -> None:
    assert "Привет, мир" in parse(compound(item(properties, narrow=narrow)), NAME).text


def test_rtf_is_read_where_nothing_else_is(parse: Parse) -> None:
    rtf = b"{\\rtf1\\ansi\\fromhtml1 {\\*\\htmltag64 <p>}The pump is \\b repaired\\b0 .{\\*\\htmltag72 </p>}\\par }"
    assert parse(compound(item({RTF: compress(rtf)})), NAME).text == "The pump is repaired."
    assert parse(compound(item({RTF: compress(rtf), BODY: "Plain."})), NAME).text == "Plain."


def test_a_signed_mail_is_read_in_what_was_signed(parse: Parse) -> None:
    signed = (
        b'Content-Type: multipart/signed; boundary="b"\r\n\r\n--b\r\nContent-Type: text/plain\r\n\r\nThe pump.\r\n'
        b"--b\r\nContent-Type: application/pkcs7-signature; name=smime.p7s\r\n\r\nxx\r\n--b--\r\n"
    )
    hung = attachment({FILE: "smime.p7m", KIND: "multipart/signed", DATA: signed})
    doc = parse(compound(item({0x001A: "IPM.Note.SMIME.MultipartSigned", SUBJECT: "Signed"}, [], [hung])), NAME)
    assert doc.text == "The pump."
    assert [one.filename for one in mail_in(doc).attachments] == ["smime.p7s"]


def test_a_large_text_lies_in_sectors_of_its_own(parse: Parse) -> None:
    text = "".join(f"Valve {number} is closed.\n" for number in range(3_000))
    assert parse(compound(item({SUBJECT: "Valves", BODY: text})), NAME).text == text.strip()


def test_the_text_as_rtf_is_no_attachment_of_a_mail_that_was_converted(parse: Parse) -> None:
    eml = (
        b'Subject: x\nContent-Type: multipart/alternative; boundary="b"\n\n--b\nContent-Type: text/plain\n\nThe pump.\n'
        b"--b\nContent-Type: application/rtf\nContent-Transfer-Encoding: 8bit\n\n{\\rtf1 The pump.}\n--b--\n"
    )
    doc = parse(eml, "acme/mail/note.eml")
    assert (doc.text, mail_in(doc).attachments) == ("The pump.", ())


def test_files_named_so_that_are_plain_mails_are_read_as_those(parse: Parse) -> None:
    assert parse(b"Subject: Pump\n\nThe pump.\n", NAME).text == "The pump."
    with pytest.raises(SourceError) as refused:
        parse(b"string name\nuint8 count\n", NAME)
    assert refused.value.reason == "not_a_mail"


# -- Apple's -----------------------------------------------------------------------------------------------------------

PLIST = b'<?xml version="1.0" encoding="UTF-8"?>\n<plist version="1.0"><dict><key>flags</key></dict></plist>\n'


@pytest.mark.parametrize("counted", [lambda mail: len(mail), lambda mail: len(mail) + 7, lambda mail: len(mail) - 7])
@pytest.mark.parametrize("name", ["acme/mail/17.emlx", "acme/mail/17.partial.emlx"])
def test_a_mail_between_its_length_and_apples_notes_is_read(parse: Parse, name: str, counted: object) -> None:
    mail = b"From: ann@example.org\nSubject: Pump\n\n4711\n\nThe pump is repaired.\n"
    assert callable(counted)
    doc = parse(b"%-10d\n" % counted(mail) + mail + PLIST, name)
    assert doc.text == "4711\n\nThe pump is repaired."
    assert (mail_in(doc).sender, doc.file_type) == ("ann@example.org", ".emlx")


def test_a_mail_that_apple_left_no_notes_on_is_read(parse: Parse) -> None:
    mail = b"Subject: Pump\n\nThe pump.\n"
    assert parse(b"%d\n" % len(mail) + mail, "acme/mail/17.emlx").text == "The pump."


# -- damaged and hostile -----------------------------------------------------------------------------------------------

WHOLE = compound(
    item(
        {
            SUBJECT: "Outer",
            BODY: "The pump. " * 1_000,
            HTML: b"<p>The pump.",
            RTF: compress(b"{\\rtf1\\ansi The pump.}"),
        },
        [{0x3001: "Ann"}],
        [attachment({FILE: "a.txt", DATA: b"x" * 5_000}), attachment({}, item({SUBJECT: "Inner"}, inside=True))],
    )
)


@settings(max_examples=300, deadline=None)
@given(st.lists(st.tuples(st.integers(0, len(WHOLE) - 4), st.integers(0, 2**32 - 1)), max_size=8), st.integers(0, 99))
def test_a_damaged_file_is_read_or_refused(damage: list[tuple[int, int]], cut: int) -> None:
    data = bytearray(WHOLE)
    for place, value in damage:
        data[place : place + 4] = struct.pack("<I", value)
    data = data[: len(data) * (100 - cut) // 100] if cut > 50 else data
    source = SourceFile(f"/{NAME}", NAME, "acme", "mail", len(data), 0)
    begun = time.thread_time()
    with suppress(SourceError):
        EmailParser().parse(source, bytes(data))
    assert time.thread_time() - begun < 1


def hostile_table() -> bytes:
    """A table of sectors that lists one sector over and over, in a chain that leads back to itself."""
    header = WHOLE[:44] + struct.pack("<IIIIIIII", 2**32 - 1, 1, 0, 4096, 0xFFFFFFFE, 0, 0, 2**25)
    return header + struct.pack("<109I", *[1] * 109) + struct.pack("<128I", *[1] * 127, 0) + b"\xfe\xff\xff\xff" * 128


def endless_tables() -> bytes:
    """Two billion tables of sectors, each of which says that it is the next."""
    tables, more = 2**31, -(-(2**31 - 109) // 127)
    header = WHOLE[:44] + struct.pack("<IIIIIIII", tables, 1, 0, 4096, 0xFFFFFFFE, 0, 0, more)
    return header + struct.pack("<109I", *[1] * 109) + struct.pack("<128I", *[1] * 127, 0) + b"\xfe\xff\xff\xff" * 128


def shared_bytes() -> bytes:
    """A thousand attachments that all say that they are the first one's megabyte."""
    files = [b"x" * 2**20, *[b"y"] * 999]
    whole = compound(item({}, [], [attachment({DATA: data}) for data in files]))
    pieces = whole.split("__substg1.0_37010102".encode("utf-16-le"))
    place = struct.pack("<II", 0, 2**20)  # 76 bytes below the name
    return "__substg1.0_37010102".encode("utf-16-le").join(
        [pieces[0], *(piece[:76] + place + piece[84:] for piece in pieces[1:])]
    )


@pytest.mark.parametrize("make", [hostile_table, endless_tables, shared_bytes])
def test_tables_without_end_and_shared_bytes_cost_nothing(make: object) -> None:
    assert callable(make)
    data = make()
    source = SourceFile(f"/{NAME}", NAME, "acme", "mail", len(data), 0)
    begun = time.thread_time()
    with pytest.raises(SourceError) as refused:
        EmailParser().parse(source, data)
    assert refused.value.reason == "corrupt"
    assert NAME in str(refused.value)
    assert time.thread_time() - begun < 1


def test_a_folder_of_endless_names_is_refused_in_no_time(parse: Parse) -> None:
    begun = time.thread_time()
    with pytest.raises(SourceError) as refused:
        parse(compound({f"{place:05}": b"x" for place in range(10_000)}), NAME)
    assert refused.value.reason == "corrupt"
    assert time.thread_time() - begun < 1


def test_another_compound_file_is_no_mail(parse: Parse) -> None:
    with pytest.raises(SourceError) as refused:
        parse(compound({"WordDocument": b"x"}), NAME)
    assert refused.value.reason == "not_a_mail"


def test_a_mail_in_a_mail_that_is_damaged_costs_itself_alone(parse: Parse) -> None:
    inner = item({SUBJECT: "Inner", RTF: b"nothing that is compressed"}, inside=True)
    doc = parse(compound(item({BODY: "The pump."}, [], [attachment({0x3001: "Inner"}, inner)])), NAME)
    assert doc.text == "The pump."
    assert doc.notes == ("attachment Inner wasn't read: not_a_mail",)
    with pytest.raises(SourceError) as refused:
        parse(compound(item({SUBJECT: "Inner", RTF: b"nothing that is compressed"})), NAME)
    assert refused.value.reason == "corrupt"
