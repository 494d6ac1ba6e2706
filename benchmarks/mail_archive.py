"""A synthetic archive of mails: are the threads exactly as generated, and how long do indexing and searching take?

    python benchmarks/mail_archive.py --mails 20000 --threads 3000 [--meaning]

Mails come from several programs: with References, with In-Reply-To alone, with truncated References, with Outlook's
Thread-Index alone, and with nothing but "Re:". Some parents are missing, some mails lie twice under other names, and
half of the archive is one mbox per month, the other half single files. Nothing is embedded: this is about text and
threads. Seconds are the processor's unless the clock is named, so that a busy machine doesn't spoil them. `--meaning`
gives the mails vectors, a sample of real ones with noise, and compares hybrid searches with the raw parts they need.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import random
import re
import resource
import statistics
import sys
import tempfile
import time
from collections import defaultdict
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from functools import partial
from pathlib import Path
from typing import Any

from librarian import Librarian
from librarian.settings import Settings
from speed_library import noisy_vectors
from speed_parts import RawParts, timed

WORDS = [
    "release",
    "build",
    "cluster",
    "node",
    "ticket",
    "budget",
    "invoice",
    "meeting",
    "agenda",
    "deploy",
    "rollback",
    "schema",
    "index",
    "shard",
    "replica",
    "quota",
    "latency",
    "backup",
    "restore",
    "certificate",
    "proxy",
    "gateway",
    "token",
    "session",
    "cache",
    "queue",
    "worker",
    "pipeline",
    "parser",
    "driver",
    "patch",
    "branch",
    "merge",
    "review",
    "design",
    "draft",
    "contract",
    "supplier",
    "delivery",
    "warehouse",
    "customer",
    "refund",
    "reminder",
    "deadline",
    "holiday",
]
PEOPLE = [
    f"{name} <{name.lower()}@example.org>"
    for name in ["Ann", "Bob", "Cleo", "Dan", "Eve", "Finn", "Gus", "Hana", "Ivo", "Jun", "Kim", "Lea"]
]
BEGIN = datetime(2024, 1, 1, 8, tzinfo=UTC)


@dataclass
class Mail:
    """A generated mail; `thread` is the truth."""

    number: int
    thread: int
    date: datetime
    subject: str
    sender: str
    parent: Mail | None = None
    headers: list[str] = field(default_factory=list)
    body: str = ""
    missing: bool = False
    references: list[str] = field(default_factory=list)

    @property
    def message_id(self) -> str:
        return f"{hashlib.sha256(str(self.number).encode()).hexdigest()[:16]}@mail.example.org"

    def source(self) -> str:
        head = [f"From: {self.sender}", "To: team@example.org", f"Subject: {self.subject}",
                f"Date: {format_datetime(self.date)}", f"Message-ID: <{self.message_id}>", *self.headers]  # fmt: skip
        return "\n".join(head) + "\n\n" + self.body


def words(chance: random.Random, count: int) -> str:
    return " ".join(chance.choice(WORDS) for _ in range(count))


def generate(mails: int, threads: int, seed: int = 1) -> list[Mail]:
    """Threads of very different lengths; every reply answers a mail before it in its thread."""
    chance = random.Random(seed)
    # Most threads are short, some long: shares drawn from a log-normal distribution.
    shares = [chance.lognormvariate(0, 1.2) for _ in range(threads)]
    sizes = [1 + int((mails - threads) * share / sum(shares)) for share in shares]
    for place in range(mails - sum(sizes)):
        sizes[place % threads] += 1
    chance.shuffle(sizes)
    made: list[Mail] = []
    for thread, size in enumerate(sizes):
        topic = f"{words(chance, 3)} {thread}"
        date = BEGIN + timedelta(hours=chance.randrange(20_000))
        conversation = base64.b64encode(hashlib.sha256(f"t{thread}".encode()).digest()[:22]).decode()
        outlook = chance.random() < 0.1
        inside: list[Mail] = []
        for place in range(size):
            parent = chance.choice(inside[-8:]) if place else None
            date += timedelta(minutes=chance.randrange(1, 600))
            mark = chance.choice(("Re: ", "RE: ", "AW: ", "Re: [team] ", "[team] Re: ")) if parent else ""
            mail = Mail(len(made), thread, date, f"{mark}{topic}", chance.choice(PEOPLE), parent)
            link(mail, outlook, conversation, chance)
            own = f"{words(chance, chance.randrange(8, 60))} mail{mail.number}"
            mail.body = own + "\n"
            if parent is not None:
                quoted = "\n".join(f"> {line}" for line in parent.body.rstrip().split("\n"))
                mail.body += f"\nOn {parent.date:%a, %d %b %Y}, {parent.sender} wrote:\n{quoted}\n"
            mail.body += "\n-- \n" + mail.sender.split()[0] + "\nExample Org\n"
            inside.append(mail)
            made.append(mail)
        for mail in inside[1:-1]:  # gaps: others still name them
            mail.missing = len(inside) > 3 and chance.random() < 0.02 and named_by_others(mail, inside)
    return made


def link(mail: Mail, outlook: bool, conversation: str, chance: random.Random) -> None:
    """Headers as one of several programs writes them."""
    parent = mail.parent
    if outlook:
        mail.headers.append(f"Thread-Index: {conversation}")
        return
    if parent is None:
        return
    mail.references = [*parent.references, parent.message_id]
    style = chance.random()
    if style < 0.15:
        mail.headers.append(f"In-Reply-To: <{parent.message_id}>")
    elif style < 0.25 and len(mail.references) > 3:
        kept = [mail.references[0], *mail.references[-2:]]
        mail.headers.append("References: " + "\n ".join(f"<{one}>" for one in kept))
    elif style < 0.28:
        pass  # nothing but the subject
    else:
        mail.headers.append("References: " + "\n ".join(f"<{one}>" for one in mail.references))
        mail.headers.append(f"In-Reply-To: <{parent.message_id}>")


def named_by_others(mail: Mail, inside: list[Mail]) -> bool:
    """Whether the thread holds together without the mail: its answers name something older too."""
    answers = [one for one in inside if one.parent is mail]
    return all(any(line.startswith("References") for line in one.headers) for one in answers)


def write(made: list[Mail], root: Path, seed: int = 2) -> int:
    """Half as files, half as archives by month; one in a hundred twice. Returns the number of copies."""
    chance = random.Random(seed)
    archives: dict[str, list[Mail]] = defaultdict(list)
    copies = 0
    for mail in made:
        if mail.missing:
            continue
        if mail.number % 2:
            archives[f"{mail.date:%Y-%m}"].append(mail)
        else:
            save(root / "team" / f"box{mail.number % 50}" / f"{mail.number}.eml", mail.source())
        if chance.random() < 0.01:
            copies += 1
            save(root / "team" / "export" / f"{mail.number}.eml", "X-Exported: yes\n" + mail.source())
    for month, mails in archives.items():
        text = "\n".join(
            f"From {m.sender.split('<')[1][:-1]} {m.date:%a %b %d %H:%M:%S %Y}\n{m.source()}" for m in mails
        )
        save(root / "team" / "archive" / f"{month}.mbox", text)
    return copies


def save(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def wrong_threads(library: Librarian, made: list[Mail]) -> list[str]:
    """Sentences about threads that aren't as generated."""
    truth = {mail.message_id: mail.thread for mail in made}
    found: dict[str, set[int]] = defaultdict(set)
    back: dict[int, set[str]] = defaultdict(set)
    with library._parts.catalog.read() as reader:
        for stored in reader.iter_documents():
            email = stored.document.email
            if email is not None:
                found[email.thread_id].add(truth[email.message_id])
                back[truth[email.message_id]].add(email.thread_id)
    merged = [f"{name} joins {sorted(of)}" for name, of in found.items() if len(of) > 1]
    split = [f"thread {number} is in {len(names)} pieces" for number, names in back.items() if len(names) > 1]
    return merged + split


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mails", type=int, default=20_000)
    parser.add_argument("--threads", type=int, default=3_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--meaning", action="store_true", help="time hybrid searches too, by the clock")
    given = parser.parse_args()
    made = generate(given.mails, given.threads, given.seed)
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "library"
        copies = write(made, root)
        sizes = sorted((sum(1 for _ in group) for group in by_thread(made).values()), reverse=True)
        print(f"{len(made):,} mails in {given.threads:,} threads (longest {sizes[0]}), {copies} copies, "
              f"{sum(mail.missing for mail in made)} missing")  # fmt: skip
        started, worked = time.monotonic(), time.process_time()
        quiet: dict[str, object] = {"embeddings.enabled": False, "docs.watch_for_changes": False}
        library = Librarian.open(root=root, index=Path(folder) / "index", **quiet)  # type: ignore[arg-type]
        with library:
            took, writing = time.monotonic() - started, time.process_time() - worked
            status = library.status()
            print(f"indexed {status.emails:,} mails, {status.chunks:,} passages in {took:.1f} s by the clock, "
                  f"{status.emails / took:.0f} mails/s; failures {status.failures.total}")  # fmt: skip
            wrong = wrong_threads(library, made)
            print(f"threads not as generated: {len(wrong)}", *wrong[:5], sep="\n    ")
            looked = range(0, len(made), 97)
            twice = sum(1 for number in looked if hits(library, f"mail{number}") > 1)
            print(f"quoted words found in more than one mail: {twice} of {len(looked)}")
            for name, arguments in (
                ("words", {}),
                ("words and sender", {"sender": "ann"}),
                ("words and dates", {"date_after": "2025-01-01", "date_before": "2025-12-31"}),
                ("filters alone", {"query": "", "sender": "bob", "has_attachments": False}),
            ):
                median, slow = latency(library, arguments)
                print(f"search by {name:18} p50 {median:5.1f} ms  p95 {slow:5.1f} ms")
            print(f"the longest conversation, read whole: {reading(library, made):.1f} ms")
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        children = used.ru_utime + used.ru_stime
        print(f"writing took {writing:.1f} s, reading {children:.1f} s of the processor: "
              f"{status.emails / (writing + children):.0f} mails/s")  # fmt: skip
        if given.meaning:
            by_meaning(root, Path(folder) / "index")
    return 1 if wrong else 0


def by_meaning(root: Path, index: Path) -> None:
    """Print what searches of the mails take by the clock, beside raw tantivy, model and scan."""
    settings = Settings.load(overrides={"docs.root_path": str(root), "index.path": str(index)})
    made = noisy_vectors(settings)
    chance = random.Random(4)
    questions = [words(chance, 5) for _ in range(100)]
    fresh = (f"{question} {number}" for number in range(100) for question in questions)
    given: dict[str, Any] = {"docs.watch_for_changes": False, "vector_db.store": "exact"}
    with Librarian.open(root=root, index=index, **given) as library:
        raw = RawParts(library)
        tantivy, model = timed(raw.keyword, questions), timed(lambda _: raw.embed(next(fresh)), questions)
        vectors = iter([raw.embed(question) for question in questions] * 5)
        scan = timed(lambda _: raw.store().search(next(vectors), 100, raw.everything()), questions)
        print(f"{made:,} vectors; raw tantivy {tantivy[0]:.1f}, model {model[0]:.1f}, scan {scan[0]:.1f} ms (p50)")

        def asked(question: str, **more: Any) -> None:
            library.clear_cache()
            answer = library.search_emails(question, **more)
            assert more.get("mode") == "keyword" or answer.retrievers.semantic.status == "ok", answer.retrievers

        for name, more in (
            ("words", {"mode": "keyword"}),
            ("hybrid", {"mode": "hybrid"}),
            ("hybrid and sender", {"mode": "hybrid", "sender": "ann"}),
        ):
            half, most = timed(partial(asked, **more), questions)
            print(f"search by {name:18} p50 {half:5.1f} ms  p95 {most:5.1f} ms by the clock")


def by_thread(made: list[Mail]) -> dict[int, list[Mail]]:
    groups: dict[int, list[Mail]] = defaultdict(list)
    for mail in made:
        groups[mail.thread].append(mail)
    return groups


def hits(library: Librarian, word: str) -> int:
    """How many mails are found for a word that one mail said first and others quote."""
    answer = library.search_emails(word, mode="keyword", max_per_thread=0)
    said = re.compile(rf"\b{word}\b")
    return len({result.message_id for result in answer.results if said.search(result.snippet)})


def latency(library: Librarian, arguments: dict[str, object]) -> tuple[float, float]:
    chance = random.Random(3)
    times = []
    for _ in range(60):
        asked = {"query": words(chance, 3), "mode": "keyword", **arguments}
        started = time.process_time()
        library.search_emails(**asked)  # type: ignore[arg-type]
        times.append((time.process_time() - started) * 1000)
    return statistics.median(times), statistics.quantiles(times, n=20)[18]


def reading(library: Librarian, made: list[Mail]) -> float:
    """Milliseconds for the thread with the most mails."""
    longest = max(by_thread(made).values(), key=len)
    thread = library.search_emails(f"mail{longest[0].number}", mode="keyword").results[0].thread_id
    times = []
    for _ in range(5):
        started = time.process_time()
        found = library.get_thread(thread)
        times.append((time.process_time() - started) * 1000)
    print(f"{len(found.emails)} mails in the longest conversation")
    return statistics.median(times)


if __name__ == "__main__":
    sys.exit(main())
