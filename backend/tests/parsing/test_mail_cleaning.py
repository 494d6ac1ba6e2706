"""Which words of a mail are its own: what is proved here.

* History is told in a dozen languages and layouts, and stands with its reason; nothing is deleted.
* Inline answers stay; so do sentences that merely look like an attribution, a header or a signature.
* Footers of lists, signatures, closings and PGP armour have their own reasons; what is said below a closing stays.
* The cases of three reply parsers are reproduced as often as promised (real data).
* No text makes it fail or slow.
"""

from __future__ import annotations

import textwrap
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from librarian.models import SourceFile
from librarian.parsing.email.headers import answers, topic_of
from librarian.parsing.email.html import html_to_text
from librarian.parsing.email.parser import MboxArchive, messages
from librarian.parsing.email.quotes import excluded_of, own_words


def own(text: str) -> str:
    return own_words(text, excluded_of(text)).strip()


def reasons(text: str) -> list[str]:
    return [span.reason for span in excluded_of(text)]


ATTRIBUTIONS = [
    "On Tue, 3 Mar 2026 at 10:00, Ann <ann@x.org> wrote:",
    "Am 03.03.2026 um 10:00 schrieb Ann <ann@x.org>:",
    "Le 3 mars 2026 à 10:00, Ann <ann@x.org> a écrit :",
    "El mar, 3 mar 2026 a las 10:00, Ann (<ann@x.org>) escribió:",
    "2026. márc. 3. 10:00, Ann <ann@x.org> ezt írta:",
    "Il giorno mar 3 mar 2026 alle ore 10:00 Ann <ann@x.org> ha scritto:",
    "Op di 3 mrt 2026 om 10:00 schreef Ann <ann@x.org>:",
    "Em ter., 3 de mar. de 2026 às 10:00, Ann <ann@x.org> escreveu:",
    "wt., 3 mar 2026 o 10:00 Ann <ann@x.org> napisał(a):",
    "вт, 3 мар. 2026 г. в 10:00, Ann <ann@x.org> написал:",
    "在 2026年3月3日，上午10:00，Ann <ann@x.org> 写道：",
    "2026年3月3日(火) 10:00 Ann <ann@x.org>:",
    "вт, 3 мар. 2026 г. в 10:00, Ann <ann@x.org>:",
    "вт, 3 мар. 2026 г. в 10:00, Ann <\nann@x.org>:",
    "Вторник, 3 марта 2026, 10:00 +03:00 от Ann <ann@x.org>:",
    "Вторник,  3 марта 2026, 10:00 +03:00 от Ann\n<ann@x.org>:",
    "2026/3/3 Ann Lee <ann at x.org>:",
    "2026/03/03 10:00、Ann ‹ann@x.org›のメール:",
    '03.03.2026, 10:00, "Ann" <ann@x.org>:',
    '11:00 AM, March 3, 2026, "Ann - ACME" <ann@x.org>:',
    "Wiadomość napisana przez Ann <ann@x.org> w dniu 03.03.2026, o godz. 10:00:",
]
NAME_FIRST = [
    "Ann Lee <ann.lee@example.org> ezt írta (időpont: 2026. márc. 3., K, 10:00):",
    "Ann Lee <ann.lee@example.org> escreveu (terça, 3/03/2026 à(s) 10:00):",
    "Ann Lee <ann.lee@example.org> schrieb am 10:00 Dienstag, 3.März 2026:",
    "李安 <ann.lee@example.org> 于2026年3月3日周二 10:00写道：",
]
BLOCKS = [
    ("From", "Sent", "To", "Subject"),
    ("Von", "Gesendet", "An", "Betreff"),
    ("De", "Envoyé", "À", "Objet"),
    ("De", "Enviado", "Para", "Asunto"),
    ("Feladó", "Elküldve", "Címzett", "Tárgy"),
    ("Da", "Inviato", "A", "Oggetto"),
    ("Van", "Verzonden", "Aan", "Onderwerp"),
    ("De", "Enviada em", "Para", "Assunto"),
    ("Od", "Wysłano", "Do", "Temat"),
    ("От", "Отправлено", "Кому", "Тема"),
    ("发件人", "发送时间", "收件人", "主题"),
    ("差出人", "送信日時", "宛先", "件名"),
]


@pytest.mark.parametrize("line", ATTRIBUTIONS)
def test_attributions_are_told_in_every_language_with_and_without_marks(line: str) -> None:
    assert own(f"Yes.\n\n{line}\n> Shall we?\n") == "Yes."
    assert own(f"Yes.\n\n{line}\n\nShall we?\n") == "Yes."


@pytest.mark.parametrize("names", BLOCKS, ids=lambda names: names[3])
def test_copied_headers_are_told_in_every_language(names: tuple[str, ...]) -> None:
    values = ("Ann <ann@x.org>", "Tuesday, 3 March 2026 10:00", "bob@x.org", "RE: Plan")
    block = "\n".join(f"{name}: {value}" for name, value in zip(names, values, strict=True))
    text = f"Yes.\n\n________________________________\n{block}\n\nShall we?\n"
    assert own(text) == "Yes."
    assert reasons(text) == ["quote header", "quote"]


def test_recipients_of_copied_headers_may_fill_many_lines() -> None:
    people = "".join(f"Ann Bee Number {one}/HQ/Acme@ACME, \nEve Lee Number {one}/HQ/Acme@ACME, " for one in range(12))
    block = f"From: Ann Lee@ACME on 02-03-2026 10:00 CST\nTo: {people}Bob@ACME\ncc:  \nSubject: Plan"
    assert own(f"{block}\n\nShall we?\n") == "Shall we?"
    assert own(f"Yes.\n\n{block}\n\nShall we?\n") == "Yes."


@pytest.mark.parametrize("width", range(40, 100, 4))
@pytest.mark.parametrize("line", [*ATTRIBUTIONS, *NAME_FIRST])
def test_an_attribution_may_be_wrapped_anywhere(line: str, width: int) -> None:
    whole = "\n".join(textwrap.wrap(line, width, break_long_words=False, break_on_hyphens=False))
    for wrapped in (whole, line.replace("<a", "<\na", 1)):
        assert own(f"Yes.\n\n{wrapped}\n\n> Shall we?\n") == "Yes."
        text = f"Dear Ann,\n\n{wrapped}\n> Shall we?\n\nYes.\n\n> When?\n\nSoon.\n"
        assert own(text).split() == ["Dear", "Ann,", ">", "Shall", "we?", "Yes.", ">", "When?", "Soon."]


@pytest.mark.parametrize(
    "block",
    [
        "----- Weitergeleitete Nachricht ----- Von: Ann <ann@x.org>An: bob@x.org Gesendet: 3.3.2026Betreff: Plan",
        "-------- Oprindelig besked --------\nFra: Ann <ann@x.org>\nDato: 03.03.2026 10.00\nEmne: Plan",
        "====\n\nMessage du : 03/03/2026 10:00\nDe : Ann <ann@x.org>\nA : bob@x.org\nCopie à : \nSujet : Plan",
    ],
)
def test_a_heading_above_copied_headers_belongs_to_them(block: str) -> None:
    assert own(f"Yes.\n\n{block}\n\nShall we?\n") == "Yes."


def test_inline_answers_stay_and_so_does_what_they_answer() -> None:
    text = "On 3 Mar 2026, Ann wrote:\n> One?\n\nYes.\n\n> Two?\n\nNo.\n\n> Three?\n"
    assert reasons(text) == ["quote header", "inline quote", "inline quote", "quote"]
    assert own(text) == "> One?\n\nYes.\n\n> Two?\n\nNo."


@pytest.mark.parametrize("cut", ["[...]", "[snip]", "<snip the rest>", "…", "(gekürzt)", "*вырезано*", "[中略]"])
def test_answers_below_a_cut_quote_stay(cut: str) -> None:
    text = f"Bob,\n\nAm 3. März 2026 um 10:00 schrieb Ann:\n\n{cut}\n> Wann?\n\nUm neun.\n\n> Wo?\n\nAm Hafen.\n"
    assert reasons(text) == ["quote header", "inline quote", "inline quote"]
    assert own(f"Bob,\n\nOn 3 Mar 2026, Ann wrote:\n> {cut}\n\nAt nine.\n").split() == ["Bob,", "At", "nine."]
    assert reasons(f"> Wann und\n{cut}\n> wo?\n\nUm neun am Hafen.\n") == ["inline quote"]


@pytest.mark.parametrize(
    "text",
    [
        "On your remote host run this:\n\n    ls 2026\n\nThat wrote nothing.",
        "Planned for 3 March 2026\nwith Ann <ann@x.org>:\n\ncake and tea",
        "3 марта 2026 в музее выступает Ann <ann@x.org>: приходите",
        "新しいメール:\nann@x.org を使ってください",
        "From: the harbour\nto the hills we walked.",
        "It hears what was sent on 2.48 GHz\n\nCase 2:\n\nIt hears nothing.",
        "Date: 3 March\nTime: 10:00\nAddress: Main Street",
        "Sent from my desk, is much easier than my phone.",
        "a -- b is no signature",
        "> only\n> quotes\n> here",
        "See >>> http://x.org <<< now\nor later",
        "- one\n- two\n- three",
    ],
)
def test_what_only_looks_like_history_stays(text: str) -> None:
    assert own(text) == text


@pytest.mark.parametrize(
    ("tail", "reason"),
    [
        ("-- \nAnn\nACME", "signature"),
        ("Sent from my iPhone", "signature"),
        ("Von meinem Mobilgerät gesendet", "signature"),
        ("Verzonden vanuit Outlook voor iOS", "signature"),
        ("Az iPhone-omról küldve", "signature"),
        ("Outlook für iOS beziehen <https://aka.ms/x>", "signature"),
        ("_______________________________________________\ndev mailing list\ndev@lists.x.org", "footer"),
        ("-- \nTo unsubscribe from this group, send mail to dev+unsubscribe@x.org", "footer"),
        ("Ciao,\nAnn", "closing"),
        ("-----BEGIN PGP SIGNATURE-----\n\niQEz\n=abcd\n-----END PGP SIGNATURE-----", "pgp"),
        ("Best regards,\nAnn", "closing"),
        ("Freundliche Grüsse\nAnn", "closing"),
        ("Com os melhores cumprimentos,\nAnn", "closing"),
        ("Med venlig hilsen\nAnn", "closing"),
    ],
)
def test_what_hangs_below_has_its_reason(tail: str, reason: str) -> None:
    assert reasons(f"The pump is old.\nReplace it.\n\n{tail}\n") == [reason]


@pytest.mark.parametrize(
    "below",
    [
        "P.S. Die Sitzung fällt am Freitag aus.",
        "PS: le budget passe à 40 euros",
        "[1] http://x.org/pumps",
        "Ich komme am Montag noch einmal vorbei.",
        "By the way, the valve is open",
        "ЗЫ ключ лежит под ковриком",
        "Is the old one still there?",
    ],
)
@pytest.mark.parametrize("name", ["", "Ann\n", "Ann Lee, ACME Corp.\nHead of Pumps\nTel. +49 30 1234567\n"])
@pytest.mark.parametrize("words", ["Best regards,", "Viele Grüße", "Cordialement,", "С уважением,"])
def test_a_closing_ends_where_something_is_said_again(words: str, name: str, below: str) -> None:
    text = f"The pump is old.\n\n{words}\n{name}\n{below}\n"
    left = own_words(text, excluded_of(text), {"closing"})
    assert below in left
    assert not name or (name not in left and words not in left)


@pytest.mark.parametrize(
    "text",
    [
        "Hi Bob,\n\nThanks!\nThe harbour gate is number 12 now.\nRing before you come.",
        "Hallo Bob,\n\nDanke!\nDer Schlüssel hängt jetzt neben der Tür.",
        "It fails here:\n\n    if (valve) {\n        // count pumps\n    }\n}",
        "The log says:\n\n-- opening valve\n-- closing valve",
    ],
)
def test_thanks_that_begin_a_mail_close_nothing(text: str) -> None:
    assert reasons(text) == []


@pytest.mark.parametrize(
    "tail", ["Thanks!\n\n-ann", "Cheers,\nAnn\nwww.x.org", "Grüße\nProf. Dr. Ann Lee\nInstitut für Pumpen"]
)
def test_names_titles_and_addresses_belong_to_the_closing(tail: str) -> None:
    text = f"The pump is old.\nReplace it.\n\n{tail}"
    assert own_words(text, excluded_of(text), {"closing"}).strip() == "The pump is old.\nReplace it."


def test_a_forward_without_a_word_of_its_own_is_read_as_what_it_forwards() -> None:
    text = "---------- Forwarded message ---------\nFrom: Ann <ann@x.org>\nDate: 3 Mar 2026\nSubject: x\n\nThe pump."
    assert own(text) == "The pump."
    assert own(f"FYI\n\n{text}") == "FYI"


def test_subjects_are_normalised() -> None:
    latin = ("Re: Plan", "AW: [dev] Plan", "[dev] Re: Plan", "Fwd: RE[2]: plan", "R: [dev] VÁ: Plan", "PD: Plan")
    others = ("ΑΠ: ΠΡΘ: plan", "Odg: Prosl: plan", "Отв: Пересл: plan", "YNT: İLT: plan", "תגובה: plan", "رد: plan")
    asian = ("답장: 전달: plan", "ตอบกลับ: plan", "転送: Plan", "回复: Plan", "Re：Plan")
    for subject in (*latin, *others, *asian, "VL: I: Válasz: plan", "Re^2: Antw.: plan"):
        assert topic_of(subject) == "plan"
    assert topic_of("[dev]") == "[dev]"
    for subject in ("Report: Plan", "r: plan", "i: plan", "R:plan", "R: ", "R (language)", "C: plan", "Re2: plan"):
        assert topic_of(subject) == subject.strip().lower()
    assert all(answers(one) for one in ("Re: x", "[dev] AW: x", "VÁ: x", "R: x", *others, *asian[:2]))
    assert not any(answers(one) for one in ("Fwd: x", "PD: x", "I: x", "VL: x", "x", "r: x", "Regarding: x"))


def test_html_history_is_quoted_and_structure_kept() -> None:
    markup = (
        "<div>Yes.</div><table><tr><th>Part</th><th>Cost</th></tr><tr><td>Pump</td><td>9|1</td></tr></table>"
        "<ol><li>one<ul><li>inner</li></ul></li><li>two</li></ol><div style='display: none'>secret</div>"
        "<div class='gmail_quote'><div>On Tue, 3 Mar 2026, Ann &lt;ann@x.org&gt; wrote:<br></div>"
        "<blockquote type='cite'><p>Shall we?</p></blockquote></div>"
    )
    text = html_to_text(markup)
    assert "| Part | Cost |\n| Pump | 9\\|1 |" in text
    assert "1. one\n  - inner\n2. two" in text
    assert "secret" not in text
    assert "Shall we?" not in own(text)
    assert (
        own(html_to_text("<p>Yes.</p><hr><p><b>From:</b> Ann<br><b>Sent:</b> 3 March<br><b>To:</b> Bob</p><p>Old.</p>"))
        == "Yes."
    )


def test_an_mbox_is_cut_at_true_separators_alone() -> None:
    data = (
        b"From ann at x.org  Thu Jan  1 10:00:00 2026\nSubject: a\n\nFrom here on, 10:00 it is.\n>From me\n\n"
        b"From bob@x.org Thu Jan  1 11:00:00 2026\nSubject: b\n\nFrom nowhere\n\nFrom the past at 9:30 nothing: came\n"
    )
    found = list(messages(data))
    assert [message.split(b"\n")[0] for message in found] == [b"Subject: a", b"Subject: b"]
    assert b"\nFrom me\n" in found[0]
    assert list(messages(b"")) == []
    assert list(messages(b"Subject: lone\n\nbody\n")) == [b"Subject: lone\n\nbody\n"]


def subjects(data: bytes) -> list[str]:
    return [line[9:].decode() for mail in messages(data) for line in mail.split(b"\n") if line.startswith(b"Subject: ")]


def test_a_separator_with_sender_and_date_needs_no_blank_line_above() -> None:
    data = (
        b"From ann at x.org  Wed Feb  1 10:00:00 2006\nFrom: ann at x.org\nSubject: a\n\nThe scrubbed part\nURL: y\n"
        b"From bob at x.org  Wed Feb  1 11:00:00 2006\nFrom: bob at x.org\nSubject: b\n\nGnu.\n"
        b"From eve at x.org  Wed Feb  1 12:00:00 2006\nshe has been away.\nFrom 9:30 in 2006\nSubject: she came\n"
    )
    assert subjects(data) == ["a", "b", "she came"]
    assert len(list(messages(data))) == 2


@pytest.mark.parametrize("above", [b"\n", b""])
def test_separators_of_netscape_hold_no_date(above: bytes) -> None:
    data = above.join(
        (b"From - \nFrom: a@x.org\nSubject: a\n\nGnu.\n", b"From -\r\nX-Z: 1\n y\nDate: x\nSubject: b\n\nOkapi.\n")
    )
    assert subjects(data) == ["a", "b"]
    assert len(list(messages(data))) == 2


def test_a_sender_alone_parts_mails_where_headers_follow() -> None:
    data = (
        b"From 18443@xxx\nMIME-Version: 1.0\nSubject: a\n\nFilms:\n\nFrom Russia with love\nYear: 1963\n\nFrom Ann:\n"
        b"Subject: lunch\n\nFrom afar\n\nFrom 18444@xxx\nMIME-Version: 1.0\nDate: x\nSubject: b\n\nGnu.\n"
    )
    assert len(list(messages(data))) == 2
    (alone,) = messages(b"From : ann1999@x.org\nSubject: spaced\n\nGnu.\n")
    assert alone.startswith(b"From : ann1999")


def test_prose_with_a_time_is_no_separator() -> None:
    data = b"From a@x.org Mon Mar  2 09:00:00 2026\nSubject: a\n\nHello,\n\nFrom 10:00 to 12:30 it is down.\n\nBye\n"
    assert len(list(messages(data))) == 1
    assert len(list(messages(data.replace(b"down.\n", b"down.\nNote: it is.\n")))) == 1


def test_the_cases_of_three_reply_parsers_are_reproduced(
    real_data: Callable[[str], Path], benchmark: Callable[[str], ModuleType]
) -> None:
    folder = real_data("files") / "email"
    bench = benchmark("email_cleaning")
    for cases, promised in (
        (bench.trimmer_cases(folder / "email_reply_trimmer"), 0.95),
        (bench.talon_cases(folder / "talon"), 0.95),
        (bench.talon_signature_cases(folder / "talon"), 0.95),
        (bench.zapier_cases(folder / "zapier_email_reply_parser"), 0.95),
    ):
        every = list(cases)
        passed = sum(bench.passes(case, bench.reply(case.text, case.kind)) for case in every)
        assert passed >= promised * len(every)


_lines = st.sampled_from(
    ["> q", ">> q", "", "words here", "On 3 Mar 2026, Ann wrote:", "-- ", "From: a", "Date: 2026", "_______", "Thanks,",
     "-----BEGIN PGP SIGNATURE-----", "<", "> wrote:", "2026-01-01 10:00 GMT+1 Ann", "\u3000写道："]
)  # fmt: skip


@settings(deadline=None, max_examples=50)
@given(st.lists(_lines, max_size=20).map("\n".join))
def test_spans_are_in_order_and_leave_words_where_there_were_any(text: str) -> None:
    reached = 0
    for span in excluded_of(text):
        assert reached <= span.start < span.end <= len(text)
        reached = span.end
    if any(char.isalnum() for char in text):
        assert any(char.isalnum() for char in own(text))


@pytest.mark.parametrize(
    "text",
    [
        "> " * 50_000,
        "On 1 " * 20_000,
        ("a" * 400 + " wrote:\n") * 500,
        "-" * 100_000,
        "From: x\n" * 5_000,
        "To: a@x.org,\nb@x.org\n" * 5_000,
        "1.1.2026 1:11\n\nTo: a\n\n" * 5_000,
        ">\n" * 50_000,
        "-----\nlist http://lists.x.org\n" * 5_000,
        "--\nword\n" * 5_000,
    ],
)
@pytest.mark.no_cover
def test_no_text_takes_long(text: str) -> None:
    started = time.process_time()
    excluded_of(text)
    assert time.process_time() - started < 2


@pytest.mark.parametrize(
    "line", [b">From :\n", b"From x\n\n", b"From a Mon Jan  1 1:11\n", b" x\n", b"From mon mar ", b"x:\n"]
)
@pytest.mark.no_cover
def test_no_archive_takes_long(line: bytes) -> None:
    started = time.process_time()
    list(messages(b"From - \n" + line * (400_000 // len(line))))
    assert time.process_time() - started < 2


@pytest.mark.no_cover
def test_an_archive_of_many_equal_mails_names_each_in_little_time() -> None:
    data = b"From a@x.org Mon Mar  2 09:00:00 2026\nSubject: a\n\nGnu.\n\n" * 20_000
    started = time.process_time()
    names = {member.file_path for member, _ in MboxArchive().members(SourceFile("", "x.mbox", "", "", 0, 0), data)}
    assert len(names) == 20_000
    assert time.process_time() - started < 4
