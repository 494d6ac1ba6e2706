"""Long conversations as mailing lists hold them: are they read fast, put together rightly, and found once?

    python benchmarks/mailing_lists.py --mails 150 --threads 4

Every conversation is written by several programs in twelve languages: answers above, below and between what they
quote, nested quotes wrapped anew at other widths, Outlook's copied headers, HTML, changed subjects, attachments,
parents that nobody has kept. It lies in three exports that overlap: single files, an mbox, and an mbox of the list with
its footers and tags. Every mail says a word that no other says, so what is found tells who is taken to have said it.
"""

from __future__ import annotations

import argparse
import html
import random
import sys
import tempfile
import textwrap
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email.message import EmailMessage
from email.utils import format_datetime
from pathlib import Path

from librarian import Librarian
from librarian.models import SourceFile
from librarian.parsing.chunking import StructureChunker
from librarian.parsing.reader import FileReader
from librarian.text.analyzer import StandardAnalyzer


@dataclass(frozen=True)
class Language:
    """How its speakers' programs introduce a quote, copy headers and mark a reply; words to fill mails with."""

    attribution: str
    headers: tuple[str, str, str, str]  #: From, Sent, To, Subject
    reply: str
    words: str
    charset: str = "utf-8"
    space: str = " "


LANGUAGES = {
    "en": Language("On {d:%a, %d %b %Y} at {d:%H:%M}, {n} <{a}> wrote:", ("From", "Sent", "To", "Subject"), "Re:",
                   "the release of this driver should wait until somebody has measured how long a restart takes"),
    "de": Language("Am {d:%d.%m.%y} um {d:%H:%M} schrieb {n}:", ("Von", "Gesendet", "An", "Betreff"), "AW:",
                   "wir sollten den Treiber für die Anlage erst später prüfen weil niemand über Änderungen weiß",
                   "iso-8859-1"),
    "fr": Language("Le {d:%d/%m/%Y} à {d:%H:%M}, {n} a écrit :", ("De", "Envoyé", "À", "Objet"), "Re :",
                   "nous devrions vérifier le pilote après la mise à jour parce que personne ne connaît la durée",
                   "iso-8859-1"),
    "es": Language("El {d:%d/%m/%Y} a las {d:%H:%M}, {n} <{a}> escribió:", ("De", "Enviado", "Para", "Asunto"), "RE:",
                   "deberíamos probar el controlador después de la actualización porque nadie sabe cuánto tarda"),
    "hu": Language("{n} <{a}> ezt írta (időpont: {d:%Y. %m. %d. %H:%M}):", ("Feladó", "Elküldve", "Címzett", "Tárgy"),
                   "Re:", "szerintem később kellene kipróbálni ezt az illesztőt mert senki sem tudja mennyi idő",
                   "iso-8859-2"),
    "it": Language("Il giorno {d:%d/%m/%Y} alle ore {d:%H:%M} {n} <{a}> ha scritto:",
                   ("Da", "Inviato", "A", "Oggetto"), "R:",
                   "dovremmo provare il driver dopo l'aggiornamento perché nessuno sa quanto tempo richiede"),
    "nl": Language("Op {d:%d-%m-%Y} om {d:%H:%M} schreef {n}:", ("Van", "Verzonden", "Aan", "Onderwerp"), "Antw:",
                   "we moeten het stuurprogramma later testen omdat niemand weet hoe lang een herstart duurt"),
    "pt": Language("Em {d:%d/%m/%Y} {d:%H:%M}, {n} escreveu:", ("De", "Enviada em", "Para", "Assunto"), "RES:",
                   "devemos testar o controlador depois da atualização porque ninguém sabe quanto tempo demora"),
    "pl": Language("W dniu {d:%d.%m.%Y} o {d:%H:%M}, {n} pisze:", ("Od", "Wysłano", "Do", "Temat"), "Odp:",
                   "powinniśmy sprawdzić sterownik później ponieważ nikt nie wie jak długo trwa restart",
                   "iso-8859-2"),
    "ru": Language("{d:%d.%m.%Y} {d:%H:%M}, {n} пишет:", ("От", "Отправлено", "Кому", "Тема"), "Re:",
                   "нам нужно проверить драйвер позже потому что никто не знает сколько времени займет запуск",
                   "koi8-r"),
    "zh": Language("在 {d:%Y}年{d:%m}月{d:%d}日 {d:%H:%M}，{n} <{a}> 写道：",
                   ("发件人", "发送时间", "收件人", "主题"), "回复:",
                   "我们 应该 稍后 测试 驱动 程序 因为 没有 人 知道 重启 需要 多长 时间", "gb18030", ""),
    "ja": Language("{d:%Y}年{d:%m}月{d:%d}日({w}) {d:%H:%M} {n} <{a}>:", ("差出人", "送信日時", "宛先", "件名"), "Re:",
                   "ドライバ の 確認 は 後 で 行う 予定 です が 再起動 の 時間 を 誰 も 知りません", "iso-2022-jp", ""),
}  # fmt: skip
NAMES = (
    "Ann Lee",
    "Bob Stone",
    "Cléo Roux",
    "Dan Weiß",
    "Eve Nagy",
    "Finn Berg",
    "Gus Conti",
    "Hana Mori",
    "Ivo Novák",
)
FOOTER = f"\n{'_' * 47}\ndev mailing list\ndev@lists.example.org\nhttps://lists.example.org/listinfo/dev\n"
BEGIN = datetime(2025, 1, 6, 8, tzinfo=UTC)


def rare(thread: int, number: int) -> str:
    """A word of letters that no language has and no stemmer shortens."""
    return "xq" + "".join("bcdfgjkvwz"[int(digit)] for digit in f"{thread:02}{number:04}") + "kx"


@dataclass
class Mail:
    """A generated mail; `said` are its paragraphs, each with a word of its own, `body` is what its program sends."""

    number: int
    thread: int
    parent: Mail | None
    language: Language
    sender: str
    date: datetime
    subject: str
    said: list[str] = field(default_factory=list)
    body: str = ""
    markup: str = ""
    references: list[str] = field(default_factory=list)
    missing: bool = False
    attached: str = ""
    named: bool = True  #: says what it answers

    @property
    def message_id(self) -> str:
        return f"{self.thread}.{self.number}.{self.date:%Y%m%d}@mail.example.org"

    @property
    def address(self) -> str:
        return f"{self.sender.split()[0].encode('ascii', 'ignore').decode().lower()}@example.org"

    @property
    def word(self) -> str:
        """Said by this mail and quoted by others."""
        return rare(self.thread, self.number)

    def introduced(self) -> str:
        weekday = "月火水木金土日"[self.date.weekday()]
        return self.language.attribution.format(d=self.date, n=self.sender, a=self.address, w=weekday)


# -- how programs write ------------------------------------------------------------------------------------------------


def quoted(text: str, width: int, mark: str = "> ") -> str:
    """Every line marked; what grows longer than `width` is wrapped anew with the marks that it had."""
    lines: list[str] = []
    for line in text.rstrip().split("\n"):
        bare = line.lstrip("> ")
        depth = line[: len(line) - len(bare)].count(">")
        margin = mark if not depth else (">" * (depth + 1) + " " if mark == ">" else "> " * (depth + 1))
        for one in textwrap.wrap(bare, max(20, width - len(margin)), break_long_words=False) or [""]:
            lines.append((margin + one).rstrip())
    return "\n".join(lines)


def above(mail: Mail, parent: Mail, chance: random.Random) -> str:
    """Gmail: the answer, then everything."""
    attribution = "\n".join(textwrap.wrap(parent.introduced(), 76))
    return own(mail) + f"\n\n{attribution}\n\n{quoted(parent.body, 400)}\n"


def below(mail: Mail, parent: Mail, chance: random.Random) -> str:
    """Thunderbird: what is answered, shortened a little, then the answer."""
    lines = quoted(parent.body, chance.choice((72, 76, 998)), ">").split("\n")
    return (
        f"{parent.introduced()}\n"
        + "\n".join(lines[: chance.randrange(8, 60)])
        + f"\n\n{own(mail)}\n\n-- \n{mail.sender}\n"
    )


def between(mail: Mail, parent: Mail, chance: random.Random) -> str:
    """Mutt: each paragraph answered where it stands, the rest cut."""
    pieces = [parent.introduced()]
    for said, answer in zip(parent.said, [*mail.said, ""], strict=False):
        pieces += [quoted(textwrap.fill(said, 66), 72), "", textwrap.fill(answer, 72), ""]
    return "\n".join([*pieces, *(textwrap.fill(said, 72) for said in mail.said[len(parent.said) :])]) + "\n"


def copied(mail: Mail, parent: Mail, chance: random.Random) -> str:
    """Outlook: no marks, the headers copied."""
    sender, sent, to, subject = parent.language.headers
    rule = chance.choice(("_" * 32, "-----Original Message-----", ""))
    head = (
        f"{sender}: {parent.sender} <{parent.address}>\n{sent}: {parent.date:%d %B %Y %H:%M}\n"
        f"{to}: dev@lists.example.org\n{subject}: {parent.subject}\n"
    )
    return own(mail) + f"\n\n{rule}\n{head}\n{parent.body}"


def apple(mail: Mail, parent: Mail, chance: random.Random) -> str:
    """Apple Mail: the attribution is quoted with the rest."""
    return own(mail) + f"\n\n{quoted(parent.introduced(), 900)}\n> \n{quoted(parent.body, 900)}\n"


def rich(mail: Mail, parent: Mail, chance: random.Random) -> str:
    """Gmail's page: the history in a blockquote; sent beside a plain text, or alone."""
    plain = above(mail, parent, chance)
    inner = parent.markup or "".join(f"<p>{html.escape(line)}</p>" for line in parent.body.split("\n") if line)
    mail.markup = (
        "".join(f"<div>{html.escape(said)}</div><br>" for said in mail.said)
        + f'<div class="gmail_quote"><div class="gmail_attr">{html.escape(parent.introduced())}<br></div>'
        + f'<blockquote class="gmail_quote">{inner}</blockquote></div>'
    )
    return plain


def own(mail: Mail) -> str:
    return "\n\n".join(mail.said)


STYLES: tuple[Callable[[Mail, Mail, random.Random], str], ...] = (
    above,
    below,
    below,
    between,
    between,
    copied,
    apple,
    rich,
)


# -- conversations -----------------------------------------------------------------------------------------------------


def generate(mails: int, threads: int, seed: int = 1) -> list[Mail]:
    """`threads` conversations of `mails` each, in the order of their dates within each."""
    chance = random.Random(seed)
    made: list[Mail] = []
    for thread in range(threads):
        inside: list[Mail] = []
        date = BEGIN + timedelta(days=40 * thread)
        for number in range(mails):
            parent = chance.choice(inside[-6:]) if inside else None
            date += timedelta(minutes=chance.randrange(2, 300))
            inside.append(_mail(number, thread, parent, date, chance))
        answered = {id(mail.parent) for mail in inside if not mail.named or len(mail.references) < 2}
        for mail in inside[1:]:  # gone, but only where its answers name something older
            mail.missing = id(mail) not in answered and chance.random() < 0.05
        made += inside
    return made


def _mail(number: int, thread: int, parent: Mail | None, date: datetime, chance: random.Random) -> Mail:
    language = LANGUAGES[chance.choice(list(LANGUAGES))]
    subject = f"Driver restart {thread}"
    if parent is not None:
        bare = parent.subject.rsplit(": ", 1)[-1].removeprefix("[dev] ")
        changed = chance.random() < 0.04
        subject = f"{language.reply} {chance.choice(('', '[dev] '))}{bare}"
        subject = f"Restart times {number} (was: {bare})" if changed else subject
    mail = Mail(number, thread, parent, language, chance.choice(NAMES), date, subject)
    words = language.words.split()
    for place in range(chance.randrange(1, 4)):
        said = [chance.choice(words) for _ in range(chance.randrange(9, 50))]
        said.insert(chance.randrange(2, 7), f" {mail.word} " if not place else f" {mail.word}{'bcd'[place]} ")
        mail.said.append(" ".join(language.space.join(said).split(" ")).strip() + ".")
    mail.said = [" ".join(said.split()) for said in mail.said]
    if parent is None:
        mail.body = "Hello,\n\n" + own(mail) + f"\n\nRegards,\n{mail.sender}\n"
    else:
        mail.references = [*parent.references, parent.message_id]
        mail.named = not (chance.random() < 0.02 and "was:" not in subject)
        mail.body = chance.choice(STYLES)(mail, parent, chance)
    if chance.random() < 0.05:
        mail.attached = f"The measured log holds {rare(thread, number)}j and more lines."
    return mail


def message(mail: Mail, chance: random.Random, *, of_the_list: bool = False) -> EmailMessage:
    """The mail as its program sends it; with `of_the_list`, as the list hands it on."""
    made = EmailMessage()
    made["From"] = f"{mail.sender} <{mail.address}>"
    made["To"] = "dev@lists.example.org"
    made["Subject"] = f"[dev] {mail.subject}" if of_the_list and "[dev]" not in mail.subject else mail.subject
    made["Date"] = format_datetime(mail.date.astimezone(tz=None))
    made["Message-ID"] = f"<{mail.message_id}>"
    if mail.named and mail.references:
        style = mail.number % 5
        if style != 1:
            kept = mail.references if style != 2 else [mail.references[0], *mail.references[-3:]]
            made["References"] = " ".join(f"<{one}>" for one in dict.fromkeys(kept))
        if style != 3:
            made["In-Reply-To"] = f"<{mail.references[-1]}>"
    body = mail.body + FOOTER if of_the_list else mail.body
    made.set_content(
        body, charset=_charset(body, mail.language.charset), cte=chance.choice(("base64", "quoted-printable"))
    )
    if mail.markup and not of_the_list:
        made.add_alternative(f"<html><body>{mail.markup}</body></html>", subtype="html")
    if mail.attached and not of_the_list:
        made.add_attachment(mail.attached, filename=f"log{mail.number}.txt")
    return made


def _charset(text: str, wanted: str) -> str:
    try:
        text.encode(wanted)
    except UnicodeEncodeError:
        return "utf-8"
    return wanted


def write(made: list[Mail], root: Path, seed: int = 2) -> None:
    """Three exports: every third mail in one only, the others in two or three."""
    chance = random.Random(seed)
    boxes: dict[str, list[bytes]] = defaultdict(list)
    for mail in made:
        if mail.missing:
            continue
        choice = mail.number % 3
        if choice == 0 or mail.attached or mail.markup:
            path = root / "team" / f"files{mail.thread}" / f"{mail.number:04}.eml"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(message(mail, chance).as_bytes())
        if choice in (1, 2):
            boxes["own.mbox"].append(_boxed(mail, message(mail, chance)))
        if choice in (0, 2):
            boxes[f"{mail.date:%Y-%m}.mbox"].append(_boxed(mail, message(mail, chance, of_the_list=True)))
    (root / "team" / "list").mkdir(parents=True, exist_ok=True)
    for name, mails in boxes.items():
        (root / "team" / "list" / name).write_bytes(b"\n".join(mails))


def _boxed(mail: Mail, made: EmailMessage) -> bytes:
    lines = made.as_bytes().replace(b"\nFrom ", b"\n>From ")
    return f"From {mail.address} {mail.date:%a %b %d %H:%M:%S %Y}\n".encode() + lines + b"\n"


# -- looking -----------------------------------------------------------------------------------------------------------


def wrong_threads(library: Librarian, made: list[Mail]) -> list[str]:
    """Sentences about conversations that aren't as generated."""
    truth = {mail.message_id: mail.thread for mail in made}
    names: dict[int, set[str]] = defaultdict(set)
    with library._parts.catalog.read() as reader:
        for stored in reader.iter_documents():
            if stored.document.email is not None:
                names[truth[stored.document.email.message_id]].add(stored.document.email.thread_id)
    split = [f"conversation {number} is in {len(found)} pieces" for number, found in names.items() if len(found) > 1]
    every = [name for found in names.values() for name in found]
    return split + [f"{name} joins several" for name in set(every) if every.count(name) > 1]


def misplaced(library: Librarian, made: list[Mail]) -> Iterator[str]:
    """Sentences about words that are found in another mail than the one that said them, in several, or not at all."""
    for mail in made:
        answer = library.search_emails(mail.word, mode="keyword", max_per_thread=0, max_results=50)
        found = {result.file_path: result.message_id for result in answer.results}
        if not mail.missing and list(found.values()) != [mail.message_id]:
            yield f"{mail.word} is said by {mail.message_id} and found in {len(found)}: {sorted(found.items())[:3]}"
        elif mail.missing and len(found) > 1:
            yield f"{mail.word}, whose mail is missing, is found in {len(found)} mails"


def repeated(library: Librarian, made: list[Mail]) -> list[str]:
    """Sentences about conversations that show a mail twice or lack one."""
    told = []
    for thread in {mail.thread for mail in made}:
        there = {mail.message_id for mail in made if mail.thread == thread and not mail.missing}
        some = next(iter(sorted(there)))
        shown = [mail.message_id for mail in library.get_thread(some).emails]
        if sorted(shown) != sorted(there):
            told.append(
                f"conversation {thread} shows {len(shown)} mails, {len(set(shown))} of {len(there)} different ones"
            )
    return told


def read_all(root: Path) -> tuple[int, float, float]:
    """(mails, seconds of the processor for all, for the slowest file a mail)."""
    reader = FileReader(StandardAnalyzer(), StructureChunker())
    count, total, slowest = 0, 0.0, 0.0
    for path in sorted(one for one in root.rglob("*") if one.is_file()):
        file_path, stat = path.relative_to(root).as_posix(), path.stat()
        source = SourceFile(str(path), file_path, "team", "list", stat.st_size, stat.st_mtime_ns)
        started = time.process_time()
        result = reader.read(source)
        took = time.process_time() - started
        inside = len(result.members) if result.members is not None else 1
        count, total, slowest = count + inside, total + took, max(slowest, took / inside)
    return count, total, slowest


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mails", type=int, default=150, help="in each conversation")
    parser.add_argument("--threads", type=int, default=4)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    made = generate(given.mails, given.threads, given.seed)
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "library"
        write(made, root)
        size = sum(path.stat().st_size for path in root.rglob("*") if path.is_file())
        count, total, slowest = read_all(root)
        megabytes, missing = size / 1e6, sum(mail.missing for mail in made)
        print(f"{len(made):,} mails, {missing} of them missing; {count:,} in the exports, {megabytes:.1f} MB")
        print(f"read in {total:.1f} s of the processor: {megabytes / total:.1f} MB/s,"
              f" {total / count * 1000:.1f} ms a mail, {slowest * 1000:.0f} ms the slowest")  # fmt: skip
        quiet: dict[str, object] = {"embeddings.enabled": False, "docs.watch_for_changes": False}
        with Librarian.open(root=root, index=Path(folder) / "index", **quiet) as library:  # type: ignore[arg-type]
            wrong = wrong_threads(library, made) + repeated(library, made)
            lost = list(misplaced(library, made))
            attached = [mail for mail in made if mail.attached and not mail.missing]
            words = [f"{mail.word}j" for mail in attached]
            found = sum(1 for word in words if library.search_emails(word, mode="keyword").results)
            status = library.status()
            print(f"{status.emails:,} mails indexed in {status.chunks:,} passages; failures {status.failures.total}")
        print(f"conversations not as generated: {len(wrong)}", *wrong[:5], sep="\n    ")
        print(f"words not found in their mail alone: {len(lost)} of {len(made)}", *lost[:8], sep="\n    ")
        print(f"attachments found: {found} of {len(attached)}")
    return 1 if wrong or lost else 0


if __name__ == "__main__":
    sys.exit(main())
