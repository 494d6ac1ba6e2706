"""Judged sets of short documents, made from documents at hand: what a collection of abstracts or notes is like.

Every section of prose becomes a file of a title and a text. Of a third of them the title is taken away and is the
question; of a third the first sentence of the text is; the rest stand by. So each question has one right answer, which
says it in other words.

    python benchmarks/short_documents.py DOCS OUT [--product fastapi --product prometheus]

OUT receives `docs/`, `queries.jsonl` and `qrels.tsv`, as the other benchmarks take them.
"""

from __future__ import annotations

import argparse
import json
import random
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from plain import sections

SEED = 20261122
#: Words of a section's text: fewer answer nothing, more are no short document.
FEWEST, MOST = 30, 350
#: Words of a title or a first sentence that can stand as a question.
TITLE, SENTENCE = (3, 25), (6, 40)
QUESTIONS = 300  #: of each kind, at most

_SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z\"'(])")
_NOT_PROSE = re.compile(
    r"```.*?(```|\Z)|^\s{4,}.*$|^[ \t]*([|:.{<]|//).*$|^\s*[-=~^*]{3,}\s*$", re.DOTALL | re.MULTILINE
)
_LINK = re.compile(r"!?\[([^\]]*)\](\([^)]*\)|\[[^\]]*\]|\{[^}]*\})|\{[^}]*\}|<[^>]*>|[`*]+|:\w+:")


@dataclass(frozen=True, slots=True)
class Short:
    """A section: its title and its prose, without markup."""

    title: str
    sentences: tuple[str, ...]


def prose(text: str) -> str:
    """Text without code, tables and link targets, on one line."""
    return " ".join(_LINK.sub(r"\1", _NOT_PROSE.sub("", text)).split())


def shorts(folder: Path) -> Iterator[Short]:
    """Every section of prose, in the order of the paths; of sections with the same title the first."""
    seen: Counter[str] = Counter()
    for file in sorted(path for path in folder.rglob("*") if path.suffix in (".md", ".rst", ".txt")):
        text = re.sub(r"\A---\n.*?\n---\n", "", file.read_text("utf-8", errors="replace"), flags=re.DOTALL)
        for headings, body in sections(text):
            title = prose(headings[-1]) if headings else ""
            body = prose(body)
            seen[title.lower()] += 1
            if title and seen[title.lower()] == 1 and FEWEST <= len(body.split()) <= MOST:
                yield Short(title, tuple(_SENTENCE_END.split(body)))


def asks(text: str, words: tuple[int, int]) -> bool:
    """Whether a title or a sentence has so many words that it can stand as a question."""
    return words[0] <= len(re.findall(r"[^\W\d_]{2,}", text)) <= words[1]


def main(given: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("docs", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--product", action="append", help="read these folders of DOCS alone")
    parser.add_argument("--most", type=int, default=2000, help="sections at most, drawn with a fixed seed")
    args = parser.parse_args(given)
    draw = random.Random(SEED)
    sections_found = [short for name in args.product or [""] for short in shorts(args.docs / name)]
    draw.shuffle(sections_found)
    folder = args.out / "docs" / "short" / "texts"
    folder.mkdir(parents=True, exist_ok=True)
    asked: dict[str, list[tuple[str, str]]] = {"title": [], "sentence": []}
    for number, short in enumerate(sections_found[: args.most]):
        title, sentences = short.title, short.sentences
        path = f"short/texts/{number:04d}.txt"
        if number % 3 == 0 and asks(title, TITLE) and len(asked["title"]) < QUESTIONS:
            asked["title"].append((title, path))
            title = ""
        elif (
            number % 3 == 1
            and len(sentences) > 2
            and asks(sentences[0], SENTENCE)
            and len(asked["sentence"]) < QUESTIONS
        ):
            asked["sentence"].append((sentences[0], path))
            sentences = sentences[1:]
        head = f"{title}\n{'=' * len(title)}\n\n" if title else ""
        (args.out / "docs" / path).write_text(f"{head}{' '.join(sentences)}\n", "utf-8")
    rows = [(f"{kind} {number}", *one) for kind, found in asked.items() for number, one in enumerate(found)]
    questions = "".join(json.dumps({"_id": name, "text": text}) + "\n" for name, text, _ in rows)
    (args.out / "queries.jsonl").write_text(questions, "utf-8")
    (args.out / "qrels.tsv").write_text("".join(f"{name}\t{path}\t1\n" for name, _, path in rows), "utf-8")
    print(
        {kind: len(questions) for kind, questions in asked.items()},
        "over",
        min(len(sections_found), args.most),
        "documents",
    )


if __name__ == "__main__":
    main()
