"""Whether a question that names who wrote a mail finds that mail: MRR@10 by the points that mails of others lose.

The questions are made from mails that lie in a folder (lists' archives, say): by name and subject of a mail with words
enough of its own, whose sender wrote four at least; by subject alone, which nothing may change; and, for what naming
somebody costs where it means no sender, by the name of somebody whom the mail speaks to, one of those who write most.

    python benchmarks/mail_senders.py --mails FOLDER --work FOLDER
"""

from __future__ import annotations

import argparse
import random
import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from statistics import mean

import judged_sets
from judged_sets import JudgedSet, engine_of
from librarian.documents.dependencies import Dependencies
from librarian.models import Deadline, Document, Filters, Query
from librarian.search import ranker

SEED = 7
QUESTIONS, CONTROLS = 200, 150
WRITTEN, WORDS = 4, 40  #: mails of a sender, and words of a mail, from which questions are made of them
OFTEN = 25  #: of so many senders who write most names are looked for in others' mails
EACH = 4  #: questions of one sender at most
POINTS = (0.0, -2.0, -3.0, -4.0, -6.0)
_FULL = re.compile(r"[A-Z][\w.'-]+(?: [A-Z][\w.'-]+)+")
_ANSWER = re.compile(r"^(?:(?:re|aw|fwd?): *)+", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class VectorRequest:
    """A question and the mail that it is after."""

    text: str
    path: str


def own_words(document: Document) -> str:
    """A mail's text without what is quoted."""
    pieces, last = [], 0
    for part in sorted(document.excluded, key=lambda part: part.start):
        pieces.append(document.text[last : part.start])
        last = max(last, part.end)
    return "".join((*pieces, document.text[last:]))


def asked_of(mails: list[Document]) -> dict[str, list[VectorRequest]]:
    """The questions by kind."""
    random.Random(SEED).shuffle(mails)
    senders = Counter(mail.email.sender for mail in mails if mail.email)
    often = {sender.rpartition(" <")[0]: sender for sender, _ in senders.most_common(OFTEN)}
    made: dict[str, list[VectorRequest]] = {"{name}: {subject}": [], "{subject}": [], "to {other}: {subject}": []}
    of_sender: Counter[str] = Counter()
    for mail in mails:
        if mail.email is None or len((text := own_words(mail)).split()) < WORDS:
            continue
        sender, subject = mail.email.sender, _ANSWER.sub("", mail.email.subject)[:200]
        name = sender.rpartition(" <")[0]
        if _FULL.fullmatch(name) and senders[sender] >= WRITTEN and of_sender[sender] < EACH:
            of_sender[sender] += 1
            made["{name}: {subject}"].append(VectorRequest(f"mail from {name} about {subject}", mail.file_path))
            made["{subject}"].append(VectorRequest(subject, mail.file_path))
        spoken_to = (
            other
            for other, address in often.items()
            if address != sender and _FULL.fullmatch(other) and re.search(rf"\b{re.escape(other.split()[0])}\b", text)
        )
        if (other := next(spoken_to, "")) and len(made["to {other}: {subject}"]) < CONTROLS:
            made["to {other}: {subject}"].append(VectorRequest(f"{other} {subject}", mail.file_path))
    return {kind: asked[:QUESTIONS] for kind, asked in made.items()}


def reciprocal_rank(parts: Dependencies, asked: VectorRequest) -> float:
    """Of the asked mail among ten."""
    query = Query(asked.text, mode="hybrid", filters=Filters(kind="email"), max_results=10, max_per_document=0)
    hits = engine_of(parts).search(query, Deadline()).hits
    paths = list(dict.fromkeys(hit.document.document.file_path for hit in hits))
    return 1 / (paths.index(asked.path) + 1) if asked.path in paths else 0.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])  # type: ignore[union-attr]
    parser.add_argument("--mails", type=Path, required=True, help="a folder of mails")
    parser.add_argument("--work", type=Path, required=True, help="where the index is kept")
    given = parser.parse_args()
    one = JudgedSet("mails", given.mails, (), Path("-"), Path("-"))
    with judged_sets.opened(one, given.work) as parts:
        mails = [document for document in judged_sets.documents(parts) if document.kind == "email"]
        made = asked_of(mails)
        print(f"{len(mails):,} mails\n\n| points | {' | '.join(made)} |\n|---|{'---|' * len(made)}")
        for points in POINTS:
            ranker.GIVEN = {**ranker.GIVEN, "other_sender": points}
            found = (mean(reciprocal_rank(parts, asked) for asked in questions) for questions in made.values())
            print(f"| {points} | {' | '.join(f'{value:.3f}' for value in found)} |", flush=True)


if __name__ == "__main__":
    main()
