"""What is read in a child arrives in its parent as it was.

* A parcel gives back every field of every document, passage and entry, of archives too, after going through a pipe.
* It carries the text of a passage only once.
* A child that opens none of the library's stores starts without numpy.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from dataclasses import fields, replace
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from librarian.indexing.codec import pack, unpack
from librarian.models import Block, Chunk, Document, Email, Excluded, Frame, Heading, KeywordEntry, Link, ReadResult

WORDS = st.text(max_size=8)
NUMBERS = st.integers(0, 9)
DOCUMENTS = st.builds(
    Document,
    file_path=WORDS,
    product=WORDS,
    component=WORDS,
    kind=st.just("document"),
    file_type=WORDS,
    title=WORDS,
    text=st.text(max_size=60),
    headings=st.lists(st.builds(Heading, NUMBERS, WORDS, NUMBERS, NUMBERS, st.none() | NUMBERS), max_size=3).map(tuple),
    blocks=st.lists(st.builds(Block, st.just("table"), NUMBERS, NUMBERS, st.none() | NUMBERS), max_size=3).map(tuple),
    excluded=st.lists(st.builds(Excluded, NUMBERS, NUMBERS, WORDS), max_size=3).map(tuple),
    links=st.lists(st.builds(Link, WORDS, WORDS, NUMBERS), max_size=3).map(tuple),
    email=st.none() | st.builds(Email, WORDS, WORDS),
    front_matter=st.dictionaries(WORDS, NUMBERS, max_size=2),
)
FRAMES = st.lists(
    st.builds(Frame, st.just("table"), NUMBERS, NUMBERS, WORDS, NUMBERS, st.just(""), NUMBERS), max_size=2
).map(tuple)


@st.composite
def results(draw: st.DrawFn) -> ReadResult:
    document = draw(DOCUMENTS)
    places = draw(st.lists(st.tuples(st.integers(0, 60), st.integers(0, 60)).map(sorted), max_size=4))
    chunks = tuple(
        Chunk(
            ordinal,
            start,
            end,
            document.text[start:end],
            (draw(WORDS),),
            page=draw(st.none() | NUMBERS),
            hash="ab",
            frames=draw(FRAMES),
            titles=draw(st.lists(st.tuples(NUMBERS, NUMBERS), max_size=2).map(tuple)),
            unseen=draw(st.lists(st.tuples(NUMBERS, NUMBERS), max_size=2).map(tuple)),
        )
        for ordinal, (start, end) in enumerate(places)
    )
    entries = tuple(KeywordEntry(chunk.text, "title", draw(WORDS), "path", "") for chunk in chunks)
    return ReadResult(document, chunks, entries, 1.5)


@settings(max_examples=50, deadline=None)
@given(results(), st.none() | st.lists(results(), max_size=2).map(tuple))
def test_a_parcel_gives_back_what_was_packed(result: ReadResult, members: tuple[ReadResult, ...] | None) -> None:
    whole = replace(result, members=members)
    arrived = unpack(pickle.loads(pickle.dumps(pack(whole))))
    assert arrived == whole
    assert all(type(getattr(arrived, field.name)) is type(getattr(whole, field.name)) for field in fields(ReadResult))


def test_a_passage_s_text_is_not_carried_beside_its_document_s() -> None:
    document = Document("a.md", "p", "c", "document", ".md", "T", "word " * 1000)
    chunks = tuple(Chunk(n, n, 5000, document.text[n:5000]) for n in range(20))
    assert len(pickle.dumps(pack(ReadResult(document, chunks, ())))) < 2 * len(document.text)


def test_a_child_that_reads_files_starts_without_numpy() -> None:
    code = "import sys, librarian.indexing.codec, librarian.parsing.reader; print('numpy' in sys.modules)"
    backend = str(Path(__file__).parents[2])
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=backend,
        env={**os.environ, "PYTHONPATH": backend},
        capture_output=True,
        text=True,
    )
    assert done.stdout.strip() == "False", done.stderr
