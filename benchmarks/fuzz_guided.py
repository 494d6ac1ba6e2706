"""Inputs that grow towards code not yet reached: parsers, front matter, mails and questions, fuzzed by coverage.

    pip install atheris
    PYTHONPATH=backend python benchmarks/fuzz_guided.py --minutes 30
    PYTHONPATH=backend python benchmarks/fuzz_guided.py --minutes 5 --only questions mail

Where `fuzz.py` draws inputs by chance, this one (libFuzzer through Atheris) keeps those that reach new branches and
changes them further. Each target has a process of its own with limits: anything but an answer or a refusal in words, an
input that takes longer than twenty seconds, or one that takes two gigabytes counts as found, is kept in a file, and
the target goes on. The seeds are the good files of `tests/reliability/hostile.py`, the dictionary its pieces.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

BACKEND = Path(__file__).resolve().parents[1] / "backend"
sys.path.insert(0, str(BACKEND))

INPUT_S = 20
INPUT_MB = 2048
LONGEST = 4096  #: bytes of one input: enough for every construct, little enough to try many
PLAIN = (".md", ".mdx", ".txt", ".html", ".rtf", ".adoc", ".json", ".yaml", ".ipynb", ".csv", ".pdf", ".eml")
TARGETS = (*(f"file{extension}" for extension in PLAIN), "file.docx", "front matter", "mail", "questions")


@dataclass(slots=True)
class Outcome:
    """What came of a target."""

    tried: int = 0
    reached: int = 0  #: edges of the program
    kept: int = 0  #: inputs that reached something new


def main() -> int:
    """Prints the figures; returns 1 where something was found."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--minutes", type=float, default=30, help="for all targets together")
    parser.add_argument("--only", nargs="*", default=[], help=f"some of: {', '.join(TARGETS)}")
    parser.add_argument("--keep", type=Path, help="folder for inputs that were found (default: a temporary one)")
    parser.add_argument("--target", help=argparse.SUPPRESS)
    parser.add_argument("--fuzzer", nargs=argparse.REMAINDER, default=[], help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.target:
        return run(given.target, given.fuzzer)
    chosen = [name for name in TARGETS if not given.only or any(word in name for word in given.only)]
    keep = given.keep or Path(tempfile.mkdtemp(prefix="fuzz-"))
    found: list[str] = []
    tried = 0
    for name in chosen:
        outcome, errors = supervise(name, given.minutes * 60 / len(chosen), keep)
        print(
            f"{name}: {outcome.tried:,} inputs, {outcome.kept:,} of them reached something new ({outcome.reached:,} "
            f"branches in all), {len(errors)} found",
            flush=True,
        )
        for error in errors:
            print("FOUND", name, error, flush=True)
        found += errors
        tried += outcome.tried
    print(f"{tried:,} inputs, {len(found)} found; kept in {keep}")
    return int(bool(found))


def supervise(name: str, seconds: float, keep: Path) -> tuple[Outcome, list[str]]:
    """Run one target for that long, again after everything that ends it."""
    corpus, words = keep / "seeds" / name, keep / "dictionary"
    corpus.mkdir(parents=True, exist_ok=True)
    outcome, found, end = Outcome(), [], time.monotonic() + seconds
    while (left := end - time.monotonic()) > 1:
        fuzzer = [
            *(str(corpus), f"-dict={words}", f"-max_total_time={int(left)}", f"-max_len={LONGEST}"),
            *(f"-timeout={INPUT_S}", f"-rss_limit_mb={INPUT_MB}", f"-artifact_prefix={keep}/{name}-".replace(" ", "-")),
            *("-print_final_stats=1",),
        ]
        seeds(name, corpus, words)
        program = [sys.executable, __file__, "--target", name, "--fuzzer", *fuzzer]
        ended = subprocess.run(program, capture_output=True, text=True, errors="replace", check=False)
        outcome.tried += number(r"stat::number_of_executed_units: +(\d+)", ended.stderr)
        outcome.kept += number(r"stat::new_units_added: +(\d+)", ended.stderr)
        outcome.reached = max(outcome.reached, number(r".*cov: (\d+)", ended.stderr))
        if ended.returncode == 0:
            break
        said = [
            line for line in ended.stderr.splitlines() if re.match(r"(\w+\.)*\w+(Error|Exception)\b|.*ERROR: ", line)
        ]
        what = (said[0] if said else ended.stderr[-300:])[:300]
        if what in found:
            break  # it comes back at once: one is enough
        found.append(what)
    return outcome, found


def number(pattern: str, text: str) -> int:
    """The last number that the pattern finds; 0 where there is none."""
    numbers = re.findall(pattern, text)
    return int(numbers[-1]) if numbers else 0


def seeds(name: str, corpus: Path, words: Path) -> None:
    """Good files to begin with, and pieces to build from."""
    from tests.reliability.hostile import GOOD, PIECES, by_hand
    from tests.reliability.queries import PIECES as ASKED

    extension = name.removeprefix("file")
    if good := GOOD.get(".eml" if name == "mail" else extension):
        (corpus / "good").write_bytes(good if extension != ".docx" else b"<w:p><w:r><w:t>Hello</w:t></w:r></w:p>")
    for title, content in by_hand(0.0001):
        if Path(title).suffix == extension and extension != ".docx":
            (corpus / title).write_bytes(content[:LONGEST])
    if name == "questions":
        for place, piece in enumerate(ASKED):
            (corpus / str(place)).write_bytes(piece.encode("utf-8", "surrogatepass"))
    pieces = {piece.encode("utf-8", "surrogatepass")[:60] for piece in (*PIECES, *ASKED)}
    escaped = ("".join(f"\\x{byte:02x}" for byte in piece) for piece in sorted(pieces))
    words.write_text("".join(f'"{piece}"\n' for piece in escaped if piece))


def run(name: str, fuzzer: list[str]) -> int:
    """Inside the process of one target; ends with it."""
    import logging
    import warnings

    import atheris

    with atheris.instrument_imports(include=["librarian"]):
        attempt = attempt_of(name)
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    atheris.Setup([sys.argv[0], *fuzzer], attempt)
    atheris.Fuzz()
    return 0


def attempt_of(name: str) -> Callable[[bytes], None]:
    """What is done with each input; it raises where neither an answer nor a refusal comes of it."""
    from librarian.parsing.chunking import StructureChunker
    from librarian.parsing.email.quotes import excluded_of, own_words
    from librarian.parsing.front_matter import read_front_matter
    from librarian.parsing.reader import FileReader
    from librarian.text.analyzer import StandardAnalyzer
    from tests.reliability.hostile import word
    from tests.reliability.queries import VectorRequest
    from tests.reliability.test_hostile_files import read

    def text_of(data: bytes) -> str:
        return data.decode("utf-8", "surrogateescape").replace("\r\n", "\n")

    if name == "questions":
        asked = VectorRequest()
        return lambda data: asked(text_of(data))
    if name == "front matter":

        def front_matter(data: bytes) -> None:
            rule = "+++" if data[:1] > b"\x7f" else "---"
            text = f"{rule}\n{text_of(data)}\n{rule}\ntext\n"
            assert 0 <= read_front_matter(text).end <= len(text)

        return front_matter
    if name == "mail":

        def mail(data: bytes) -> None:
            text = text_of(data)
            excluded = excluded_of(text)
            assert all(0 <= one.start <= one.end <= len(text) for one in excluded)
            own_words(text, excluded)

        return mail
    reader, extension = FileReader(StandardAnalyzer(), StructureChunker()), name.removeprefix("file")

    def file(data: bytes) -> None:
        read(reader, extension, word(data.decode("utf-8", "replace")) if extension == ".docx" else data)

    return file


if __name__ == "__main__":
    sys.exit(main())
