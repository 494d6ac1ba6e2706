"""The manual's prose: proselint's checks, retired words, the length of sentences, the size of the README."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from . import blocks

GENERATED = "what-a-model-sees.md"
TEXTS = {page.relative_to(blocks.REPOSITORY).as_posix(): page for page in blocks.ALL if page.name != GENERATED}
CHECKS = Path(__file__).with_name("proselint.json")
RETIRED = re.compile(
    r"\b(besides?|whoever|so many|anew|is told|are told|is said|are said|hears|heard|keepers?|relays?|desks?|doors?"
    r"|a look at|looks at the folder|mended|left aside|steps aside)\b",
    re.IGNORECASE,
)


def prose(page: Path) -> str:
    """The page's text without front matter, blocks of code, tables, headings and markup; code in a line is CODE."""
    text = re.sub(r"\A---\n.*?\n---\n", "", page.read_text("utf-8"), flags=re.DOTALL)
    text = re.sub(r"<!--.*?-->", "", blocks.prose(text), flags=re.DOTALL)
    text = "\n".join("" if re.match(r"\s*(\||#|!\[)", line) else line for line in text.split("\n"))
    text = re.sub(r"(`+)[^`\n]+\1", "CODE", text)
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text)
    return re.sub(r"\*{1,2}([^*]+)\*{1,2}", r"\1", text)


def sentences(text: str) -> Iterator[str]:
    for block in re.split(r"\n\s*\n|\n(?=\s*[*-] )", text):
        yield from filter(None, re.split(r"(?<=[.!?:;])\s+(?=[A-Z*“\"(])", " ".join(block.split())))


def test_proselint_finds_nothing(tmp_path: Path) -> None:
    for name, page in TEXTS.items():
        (tmp_path / name.replace("/", "-")).write_text(prose(page), "utf-8")
    done = subprocess.run(
        [Path(sys.executable).with_name("proselint"), "check", "--config", CHECKS, "-o", "compact", tmp_path],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert (done.returncode, done.stdout) == (0, ""), done.stderr


@pytest.mark.parametrize("name", TEXTS)
def test_no_page_uses_a_retired_word(name: str) -> None:
    assert RETIRED.findall(prose(TEXTS[name])) == []


def test_nearly_all_sentences_have_at_most_thirty_words() -> None:
    lengths = [
        (len(re.findall(r"\w[\w'’.-]*", sentence)), sentence)
        for page in TEXTS.values()
        for sentence in sentences(prose(page))
    ]
    longer = [sentence for length, sentence in lengths if length > 30]
    assert len(longer) <= 0.05 * len(lengths), longer


def test_the_readme_has_at_most_ninety_lines() -> None:
    assert len((blocks.REPOSITORY / "README.md").read_text("utf-8").splitlines()) <= 90
