"""What mails are made of, as programs really write it: no part's words are lost, nothing is read in wrong letters.

* Of alternatives one that has words is read; what hangs on the mail is listed.
* Parameters and encoded words may be folded.
* Letters are read by the declared character set, by what is meant with its name, or else by what they look like.
* Words stay that stand in a table of HTML and in no cell.
* Encodings with spaces behind them and dates of ISO 8601 are understood.
* What seals a mail is no words of it; a mail without any has its subject.
"""

from __future__ import annotations

import base64

import pytest

from librarian.parsing.email.headers import decoded_by
from librarian.parsing.email.html import html_to_text
from librarian.parsing.email.quotes import excluded_of, own_words

from .conftest import Parse

NAME = "acme/mail/note.eml"
HTML = b"Content-Type: text/html\n\n<p>The pump.</p>"
PICTURE = b"Content-Type: image/png; name=a.png\n\nxx"


def multipart(kind: str, *parts: bytes, boundary: str = "b") -> bytes:
    edge = boundary.encode()
    head = b"Subject: x\n" if boundary == "b" else b""
    lines = b"".join(b"--" + edge + b"\n" + part + b"\n" for part in parts)
    return head + f'Content-Type: multipart/{kind}; boundary="{boundary}"\n\n'.encode() + lines + b"--" + edge + b"--\n"


@pytest.mark.parametrize(
    ("parts", "names"),
    [
        ((HTML, multipart("related", PICTURE, boundary="c")), ["a.png"]),
        ((multipart("related", PICTURE, boundary="c"), HTML), ["a.png"]),
        ((b"Content-Type: text/plain; name=notes.txt\n\nnotes", HTML), ["notes.txt"]),
        ((HTML, b"Content-Type: text/html; name=card.html\n\n<p>card</p>"), ["card.html"]),
        ((b"Content-Type: text/plain\n\nThe pump.", b"Content-Type: text/html; name=card.html\n\ncard"), ["card.html"]),
    ],
)
def test_the_alternative_that_has_words_is_read_and_the_others_hang_on_it(
    parse: Parse, parts: tuple[bytes, ...], names: list[str]
) -> None:
    doc = parse(multipart("alternative", *parts), NAME)
    assert doc.text.startswith("The pump.")
    assert doc.email is not None
    assert [one.filename for one in doc.email.attachments] == names


@pytest.mark.parametrize(("times", "read"), [(200, "The pump"), (50, "You get")])
def test_a_plain_part_of_a_newsletter_that_only_says_how_to_leave_isnt_read(
    parse: Parse, times: int, read: str
) -> None:
    said = "You get this mail because you asked for news of pumps. To leave, write to us. " * 4
    html = f"Content-Type: text/html\n\n<p>{'The pump is repaired again. ' * times}".encode()
    mail = multipart("alternative", f"Content-Type: text/plain\n\n{said}".encode(), html)
    assert parse(mail, NAME).text.startswith(read)


def test_an_attached_mail_is_kept_as_it_was_sent_and_read_though_it_is_encoded(parse: Parse) -> None:
    inner = b"From: b@x.org\nSubject: The\n   valve\nX-Long: " + b"word " * 40 + b"\n\nIt turns left.\n"
    plain = b"Content-Type: message/rfc822\n\n" + inner
    encoded = b"Content-Type: message/rfc822\nContent-Transfer-Encoding: base64\n\n" + base64.encodebytes(inner)
    for part in (plain, encoded):
        doc = parse(multipart("mixed", b"Content-Type: text/plain\n\nThe pump.", part), NAME)
        assert doc.text.endswith("Attachment: message.eml\n\nFrom: b@x.org\nSubject: The valve\n\nIt turns left.")
        assert doc.email is not None
        assert abs(doc.email.attachments[0].size - len(inner)) <= 1


def test_a_boundary_may_be_folded(parse: Parse) -> None:
    data = (
        b'Subject: x\nContent-Type: multipart/mixed; boundary="the\n edge"\n\n--the edge\n\nThe pump.\n--the edge--\n'
    )
    assert parse(data, NAME).text == "The pump."


@pytest.mark.parametrize(
    ("header", "subject"),
    [
        (b"Sent to you =?utf-8?Q?=E2=9C=94?=\n (number 7)", "Sent to you ✔ (number 7)"),
        (b"Re: TEST\n\t=?utf-8?Q?=E2=9C=94?=\n =?utf-8?Q?ed?=", "Re: TEST ✔ed"),
        (b"one\n two\n\tthree", "one two three"),
    ],
)
def test_spaces_of_folded_subjects_stay(parse: Parse, header: bytes, subject: str) -> None:
    assert parse(b"From: a@x.org\nSubject: " + header + b"\n\nbody\n", NAME).title == subject


@pytest.mark.parametrize(
    ("header", "people"),
    [
        ('"Doe, John" <j@x.org> "Roe" <r@x.org>', ("Doe, John <j@x.org>", "Roe <r@x.org>")),
        ('"Doe, John <j@x.org>, Roe <r@x.org>', ("Doe, John <j@x.org>", "Roe <r@x.org>")),
        ('b@x.org, Ann "<a@x.org>, "Roe" <r@x.org>, c@x', ("b@x.org", "Ann <a@x.org>", "Roe <r@x.org>", "c@x")),
        ("Ann (the boss <a@x.org>, Bob <b@x.org>", ("Ann (the boss <a@x.org>", "Bob <b@x.org>")),
        ("a@x.org b@x.org", ("a@x.org", "b@x.org")),
        ('"Roe" r@x.org', ("Roe <r@x.org>",)),
        ("(" * 2_000 + "Ann <a@x.org>, Bob <b@x.org>", ("(" * 2_000 + "Ann <a@x.org>", "Bob <b@x.org>")),
        # What holds another address besides a person's own is part of a name.
        ('"Ann <ann@y.org>" <a@x.org>, b@x.org', ("Ann <ann@y.org> <a@x.org>", "b@x.org")),
        ("\"'ann@y.org' via List\" <list@x.org>", ("'ann@y.org' via List <list@x.org>",)),
        ("Ann (was <old@x.org>) <a@x.org>", ("Ann (was <old@x.org>) <a@x.org>",)),
        ("Mary <@relay.org:mary@x.org>, , jdoe@test . example", ("Mary <mary@x.org>", "jdoe@test.example")),
        ("friends: a@x.org, Bob <b@x.org>;", ("a@x.org", "Bob <b@x.org>")),
    ],
)  # fmt: skip
def test_no_recipient_is_lost_where_a_quote_or_a_comma_is(parse: Parse, header: str, people: tuple[str, ...]) -> None:
    doc = parse(f"Subject: x\nTo: {header}\n\nbody\n", NAME)
    assert doc.email is not None
    assert doc.email.to == people


def test_a_zero_byte_in_a_mail_without_a_character_set_leaves_its_words(parse: Parse) -> None:
    said = "Die Pumpe läuft für Jörg, und die Schlüssel hängen neben der Tür."
    body = said.replace("Pumpe", "Pumpe\0").encode("cp1252")
    assert parse(b"From: ann@x.org\nSubject: Pumps\n\n" + body, NAME).text.split() == said.split()


def test_a_mail_of_wide_letters_is_a_mail(parse: Parse) -> None:
    head = b"MIME-Version: 1.0\nContent-Type: text/plain; charset=utf-16le\n\n"
    assert parse(head + "The pump.".encode("utf-16-le"), NAME).text.strip() == "The pump."


def test_a_zero_byte_in_a_character_sets_name_costs_nothing(parse: Parse) -> None:
    head = b"From: a@x.org\nSubject: x\nContent-Type: text/plain; charset=utf\0-8\n\n"
    assert parse(head + "Grüße".encode(), NAME).text == "Grüße"


@pytest.mark.parametrize(
    ("charset", "encoding", "text"),
    [
        ("gb2312", "gbk", "朱镕基 测试"),
        ("big5", "cp950", "碁銹裏墻恒粧嫺 測試"),
        ("ks_c_5601-1987", "cp949", "똠방각하 펲시콜라"),
        ("shift_jis", "cp932", "①の件、髙橋"),
        ("windows-874", "cp874", "สวัสดี"),
        ("x-sjis", "cp932", "日本"),
        ("iso-8859-8-i", "iso8859-8", "שלום"),
        ("gb2312", "utf-8", "Größe in Straßen"),
        ("iso-8859-1", "utf-8", "für"),
        ("windows-1251", "utf-8", "счёт"),
        ("gb18030", "utf-8", "合同已经"),
        ("gb18030", "gb18030", "郎莽"),  # in UTF-8 these bytes are letters of the Latin alphabet
        ("windows-1251", "cp1251", "Её"),  # and these are one
        ("utf-8", "cp1252", "Größe"),
    ],
)
def test_letters_are_read_by_what_is_meant_with_a_character_sets_name(charset: str, encoding: str, text: str) -> None:
    assert decoded_by(text.encode(encoding), charset)[0] == text


def test_a_damaged_letter_doesnt_cost_the_others() -> None:
    text = "你好，公司可以提供各类服务，详情请联系电话"
    assert decoded_by(text.encode("gb18030") + b"\xa1", "gb2312")[0].startswith(text)


def test_words_in_a_table_and_in_no_cell_stay() -> None:
    row = "<tr><td>one</td><td>two</td></tr>"
    assert html_to_text(f"<table><caption>Prices</caption>{row}{row}</table>").split("\n")[0] == "Prices"
    nested = html_to_text(f"<table>{row}<tr><table><tr><td>three</td></tr></table></tr></table>")
    assert {"one", "two", "three"} <= set(nested.replace("|", " ").split())


def test_words_behind_an_address_in_angle_brackets_stay() -> None:
    assert html_to_text("<p>See <http://x.org/a>the pump</p><p>there.</p>").split() == ["See", "the", "pump", "there."]


def own(text: str) -> list[str]:
    """The words that are left."""
    excluded = excluded_of(text)
    return own_words(text, excluded, {span.reason for span in excluded}).split()


def test_an_address_of_a_page_answers_where_blank_lines_part_it_from_the_quote() -> None:
    quoted = "On 3 Mar 2026, Ann wrote:\n> Which?\n{}\n\n> And when?\n>\n"
    assert "https://x.org/pump" in own(quoted.format("https://x.org/pump"))


def test_the_footer_of_a_list_is_no_word_of_a_mail_that_only_quotes() -> None:
    footer = "_______________________________________________\ndev mailing list\ndev@lists.x.org"
    assert own(f"On 3 Mar 2026, Ann wrote:\n\n> Shall we?\n\n{footer}\n")[-2:] == ["Shall", "we?"]


def test_why_a_mail_did_not_arrive_is_read_from_the_report_about_it(parse: Parse) -> None:
    said = b"Content-Type: text/plain\n\nYour mail didn't arrive."
    report = (
        b"Content-Type: message/delivery-status\n\nReporting-MTA: dns; x.org\n\nDiagnostic-Code: smtp; 550 mailbox full"
    )
    doc = parse(multipart("report", said, report), NAME)
    assert "550 mailbox full" in doc.text
    assert doc.email is not None
    assert [one.filename for one in doc.email.attachments] == ["unnamed.delivery-status"]


ARMOUR = b"-----BEGIN PGP MESSAGE-----\n\nhE4DR2b2udXyHrYSAQdA\n=Vp7p\n-----END PGP MESSAGE-----\n"


def test_signatures_and_what_is_encrypted_are_listed_and_no_words(parse: Parse) -> None:
    seal = b"Content-Type: application/pgp-signature; name=signature.asc\n\n" + ARMOUR.replace(b"MESSAGE", b"SIGNATURE")
    doc = parse(multipart("signed", b"Content-Type: text/plain\n\nThe pump.", seal), NAME)
    assert doc.text == "The pump."
    assert doc.email is not None
    assert [one.filename for one in doc.email.attachments] == ["signature.asc"]


@pytest.mark.parametrize("rest", [b"\n", multipart("mixed", PICTURE)[len(b"Subject: x\n") :]])
def test_a_mail_without_words_is_found_by_its_subject(parse: Parse, rest: bytes) -> None:
    doc = parse(b"Subject: Pump in house four\n" + rest, NAME)
    assert doc.text == "Pump in house four"
    assert [doc.text[block.start : block.end] for block in doc.blocks] == ["Pump in house four"]


@pytest.mark.parametrize("encoding", ["quoted-printable  \t", '"quoted-printable"', "Quoted-Printable;"])
def test_an_encoding_counts_with_spaces_or_quotes_around_it(parse: Parse, encoding: str) -> None:
    headers = f"Content-Type: text/plain; charset=utf-8\nContent-Transfer-Encoding: {encoding}\n"
    assert parse(f"Subject: x\n{headers}\nGr=C3=BC=C3=9Fe\n".encode(), NAME).text == "Grüße"


def test_a_mail_that_was_saved_as_a_text_of_an_editor_is_read(parse: Parse) -> None:
    doc = parse("From: ann@example.org\nSubject: Grüße\n\nDie Pumpe läuft.\n".encode("utf-8-sig"), NAME)
    assert (doc.title, doc.text) == ("Grüße", "Die Pumpe läuft.")


@pytest.mark.parametrize(
    ("said", "date"),
    [
        ("2026-03-03T10:00:00.000+02:00", "2026-03-03T08:00:00Z"),
        ("2026-03-03T08:00:00Z", "2026-03-03T08:00:00Z"),
        ("2026-03-03 08:00", "2026-03-03T08:00:00Z"),
        ("2026-13-03 08:00", None),
    ],
)
def test_dates_of_other_forms_are_dates(parse: Parse, said: str, date: str | None) -> None:
    mail = parse(f"Subject: x\nDate: {said}\n\nThe pump.\n".encode(), NAME).email
    assert mail is not None
    assert mail.date == date


@pytest.mark.parametrize(
    ("said", "read"),
    [
        ("This is an HTML message. Please use an HTML capable mail program to read this message.", "The pump"),
        ("Please read the message that I wrote to you today about all of the pumps. Thank you!", "Please read"),
    ],
)
def test_a_plain_part_that_only_says_that_there_is_html_isnt_read(parse: Parse, said: str, read: str) -> None:
    words = "<p>" + "The pump is repaired again. " * 10
    html = f"Content-Type: text/html\n\n{words}".encode()
    mail = multipart("alternative", f"Content-Type: text/plain\n\n{said}".encode(), html)
    assert parse(mail, NAME).text.startswith(read)


def test_copied_headers_may_have_blank_lines_between_them() -> None:
    headers = "From: Ann [mailto:ann@x.org]\n\nSent: Tue 27 May 2014 18:46\n\nTo: Bob\n\nSubject: Pumps"
    assert own(f"The second one.\n\n{headers}\n\nWhich pump?\n") == ["The", "second", "one."]


def test_words_between_a_rule_and_what_a_list_adds_are_somebodys() -> None:
    said = ["They're", "of", "steel.", "-----", "Or", "of", "iron?"]
    assert own("They're of steel.\n-----\nOr of iron?\n\nTo unsubscribe, write to us.\n")[:7] == said


def test_two_hyphens_further_in_are_comments_of_a_program() -> None:
    text = "It fails:\n\nbegin\n    --\n    value := now();\nend;\n"
    assert own(text) == text.split()


@pytest.mark.parametrize(
    "line",
    [
        "El dl., 2 de març 2026 a les 9:15, Ann Lee (<ann@x.org>) va escriure:",
        "O luns, 2 de mar. de 2026 ás 9:15, Ann Lee (<ann@x.org>) escribiu:",
        "На пн, 2.03.2026 г. в 9:15 Ann Lee <ann@x.org> написа:",
        "пон, 2. мар 2026. у 09:15 Ann Lee <ann@x.org> је написао/ла:",
        "Dana 2.3.2026. u 9:15, Ann Lee je napisao/la:",
        "V pon., 2. mar. 2026 ob 09:15 je oseba Ann Lee <ann@x.org> napisala:",
        "Kuupäev E, 2. märts 2026 kell 09:15 kirjutas Ann Lee <ann@x.org>:",
        "2026-03-02, pr, 09:15 Ann Lee <ann@x.org> rašė:",
        "ในวันที่ จ. 2 มี.ค. 2026 เวลา 09:15 Ann Lee <ann@x.org> เขียนว่า:",
        "सोम, 2 मार्च 2026 को 9:15 am बजे को Ann Lee <ann@x.org> ने लिखा:",
        "Από: Ann Lee <ann@x.org>\nΑποστολή: 2/3/2026 9:15\nΠρος: Bob\nΘέμα: Pumps",
        "От: Ann Lee <ann@x.org>\nИзпратено: 2.3.2026 9:15\nДо: Bob\nОтносно: Pumps",
        "Saatja: Ann Lee <ann@x.org>\nSaadetud: 2. märts 2026 9:15\nAdressaat: Bob\nTeema: Pumps",
        "De: Ann Lee <ann@x.org>\nEnviat: 2/3/2026 9:15\nPer a: Bob\nAssumpte: Pumps",
        "מאת: Ann Lee <ann@x.org>\nנשלח: 2/3/2026 9:15\nאל: Bob\nנושא: Pumps",
        "من: Ann Lee <ann@x.org>\nتم الإرسال: 2/3/2026 9:15\nإلى: Bob\nالموضوع: Pumps",
    ],
)
def test_history_without_marks_is_told_in_further_languages(line: str) -> None:
    assert own(f"The second one.\n\n{line}\n\nWhich pump?\n") == ["The", "second", "one."]


INVITATION = """\
BEGIN:VCALENDAR
PRODID:-//x//EN
BEGIN:VTIMEZONE
TZID:Europe/Rome
BEGIN:STANDARD
DTSTART:19701025T030000
END:STANDARD
END:VTIMEZONE
BEGIN:VEVENT
SUMMARY;LANGUAGE=en:Pump\\, again
DTSTART;TZID=Europe/Rome:20260310T100000
DTEND:20260310T100000Z
ATTENDEE;RSVP=TRUE;CN="Stone, Bob":mailto:bob@x.org
DESCRIPTION:We look at the maint
 enance plan.\\n\\nBring the draw
\tings to the K\xfc
 che.
BEGIN:VALARM
DESCRIPTION:Reminder
END:VALARM
END:VEVENT
END:VCALENDAR
"""


@pytest.mark.parametrize("lines", ["\n", "\r\n"])
def test_an_invitation_is_read_as_people_read_it(parse: Parse, lines: str) -> None:
    data = INVITATION.encode().replace(b"\xbc\n ", b"\n \xbc").replace(b"\n", lines.encode())
    doc = parse(b"Subject: x\nContent-Type: text/calendar; charset=utf-8; name=invite.ics\n\n" + data, NAME)
    said = doc.text.removeprefix("Attachment: invite.ics").strip().splitlines()
    assert said == [
        "Pump, again",
        "Start: 2026-03-10 10:00 Europe/Rome",
        "End: 2026-03-10 10:00 UTC",
        "Attendee: Stone, Bob <bob@x.org>",
        "We look at the maintenance plan.",
        "",
        "Bring the drawings to the Küche.",
    ]


def test_what_says_to_be_an_invitation_and_is_none_is_read_as_it_is(parse: Parse) -> None:
    doc = parse("Subject: x\nContent-Type: text/calendar\n\nWe meet in Rome.\n", NAME)
    assert doc.text.rstrip().endswith("We meet in Rome.")


@pytest.mark.parametrize("charset", ["base64", "rot13", "hex"])
def test_a_codec_that_encodes_no_text_is_no_character_set(charset: str) -> None:
    assert decoded_by("Grüße".encode(), charset)[0] == "Grüße"
