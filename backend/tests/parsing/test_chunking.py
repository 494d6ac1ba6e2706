"""Chunks: each is a slice of the text, together they hold all that isn't excluded, and they keep to the structure."""

from __future__ import annotations

import itertools
import time
from dataclasses import replace

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from librarian.models import Block, Chunk, Document, Excluded, SourceFile
from librarian.parsing.chunking import HARD_CEILING_CHARACTERS, StructureChunker
from librarian.parsing.reader import PARSERS


def document(text: str, name: str = "acme/auth/page.md") -> Document:
    data = text.encode("utf-8", "surrogatepass")
    extension = "." + name.rsplit(".", 1)[1]
    return PARSERS[extension].parse(SourceFile(f"/{name}", name, "acme", "auth", len(data), 0), data)


def check(doc: Document, chunks: tuple[Chunk, ...]) -> None:
    covered = bytearray(len(doc.text))
    for ordinal, chunk in enumerate(chunks):
        assert doc.text[chunk.start : chunk.end] == chunk.text
        assert chunk.text
        assert chunk.text == chunk.text.strip()
        assert chunk.ordinal == ordinal
        assert chunk.line_start == doc.text.count("\n", 0, chunk.start) + 1
        assert chunk.line_end == doc.text.count("\n", 0, chunk.end) + 1
        covered[chunk.start : chunk.end] = b"\1" * (chunk.end - chunk.start)
    for span in doc.excluded:
        covered[span.start : span.end] = b"\1" * (span.end - span.start)
    missing = [place for place, char in enumerate(doc.text) if not covered[place] and not char.isspace()]
    assert not missing, doc.text[missing[0] : missing[0] + 60]


line = st.one_of(
    st.text(alphabet=st.characters(codec="utf-8", exclude_categories=("Cc", "Cs")), max_size=80),
    st.sampled_from(
        [
            *(
                "",
                "# Title",
                "## Part",
                "### Deep",
                "Title\n=====",
                "```",
                "~~~~",
                "| a | b |",
                "|---|---|",
                "> quoted",
            ),
            *(
                "> quoted",
                "- item",
                "  - inner",
                "1. one",
                "    code",
                "---",
                "<!-- note",
                "-->",
                "<div>",
                "{{< note >}}",
            ),
            *("{{< /note >}}", "Words and words. " * 60, "word" * 200, "汉字" * 300, "![x](y)", "import A from 'b'"),
            *("\t", "...", "\x0b \u2003"),
        ]
    ),
)
markdown = st.lists(line, max_size=40).map("\n".join)


@settings(deadline=None, max_examples=150)
@given(markdown, st.sampled_from([(200, 400, 32), (20, 40, 8), (8, 8, 0), (1000, 1000, 500)]))
def test_every_visible_character_lies_in_a_chunk_that_is_a_slice_of_the_text(
    text: str, sizes: tuple[int, int, int]
) -> None:
    target, ceiling, overlap = sizes
    doc = document(text)
    chunker = StructureChunker(target_tokens=target, ceiling_tokens=ceiling, overlap_tokens=overlap)
    chunks = chunker.chunk(doc)
    check(doc, chunks)
    assert chunks == chunker.chunk(doc)
    assert all(len(chunk.text) <= HARD_CEILING_CHARACTERS for chunk in chunks)
    assert [c.start for c in chunks] == sorted(c.start for c in chunks)


@settings(deadline=None, max_examples=50)
@given(markdown, st.booleans())
def test_the_same_holds_without_structure_and_without_chunking(text: str, enabled: bool) -> None:
    doc = document(text)
    chunks = StructureChunker(respect_boundaries=False, enabled=enabled).chunk(doc)
    check(doc, chunks)
    if not enabled and len(doc.text) < 12_000 and not doc.excluded:
        assert len(chunks) <= 1


@settings(deadline=None, max_examples=50)
@given(st.text(max_size=400), st.lists(st.tuples(st.integers(0, 400), st.integers(0, 400)), max_size=4))
def test_blocks_and_exclusions_may_lie_anywhere(text: str, spans: list[tuple[int, int]]) -> None:
    reached = 0
    excluded: list[Excluded] = []
    for first, last in sorted(spans):
        if reached <= first < last <= len(text):
            excluded.append(Excluded(first, last, "test"))
            reached = last
    half = len(text) // 2
    doc = Document(
        "a/b/c.txt", "a", "b", "document", ".txt", "T", text,
        blocks=(Block("table", half // 2, half),) if half > half // 2 else (), excluded=tuple(excluded),
    )  # fmt: skip
    check(doc, StructureChunker(target_tokens=8, ceiling_tokens=16).chunk(doc))


def test_a_heading_opens_the_chunk_of_its_section() -> None:
    doc = document("# Guide\n\nWords of the guide.\n\n## Install\n\nRun the installer.\n\n## Remove\n\nRun it again.\n")
    chunks = StructureChunker(target_tokens=8, ceiling_tokens=20).chunk(doc)
    assert [chunk.text.split("\n")[0] for chunk in chunks] == ["# Guide", "## Install", "## Remove"]
    assert [chunk.heading_path for chunk in chunks] == [("Guide",), ("Guide", "Install"), ("Guide", "Remove")]
    assert [chunk.heading_level for chunk in chunks] == [1, 2, 2]


@settings(max_examples=100, deadline=None)
@given(st.lists(line, max_size=60).map("\n".join))
@example("```\na\n```\n\n| a | b |\n|---|---|\n| c | d |\n")  # both in one passage, which chance hardly makes
def test_a_passage_knows_the_fences_and_tables_that_it_is_in_and_where_its_headings_stand(text: str) -> None:
    doc = document(text)
    for chunk in StructureChunker(target_tokens=20, ceiling_tokens=40, overlap_tokens=4).chunk(doc):
        length = len(chunk.text)
        for frame in chunk.frames:
            assert frame.start < length
            assert frame.end > 0
            assert frame.start <= frame.opening_end <= frame.closing_start <= frame.end
            assert doc.text.startswith(frame.opening, chunk.start + frame.start)
            closing = doc.text[chunk.start + frame.closing_start : chunk.start + frame.end]
            assert closing.strip(" \t>") == frame.closing.strip(" \t>") or frame.closing_start == frame.end
        assert all(before.end <= after.start for before, after in itertools.pairwise(chunk.frames))
        titles = [chunk.text[max(0, start) : end] for start, end in chunk.titles]
        assert all(titles)
        blocks = [block for block in doc.blocks if block.kind == "heading"]
        assert len(titles) == sum(block.end > chunk.start and block.start < chunk.end for block in blocks)


def test_a_passage_knows_which_of_its_lines_show_nothing() -> None:
    text = "# Ports\n\n<div>\n<!-- a\nb --> Words <!-- c\nd -->\n\n> <br/>\n> More <!-- e -->\n</div>\n\n`<div>`\n"
    (chunk,) = StructureChunker().chunk(document(text))
    assert [chunk.text[start:end] for start, end in chunk.unseen] == ["<div>\n<!-- a", "d -->", "> <br/>", "</div>"]


def test_a_passage_from_the_middle_of_a_fence_knows_how_it_opens_and_closes() -> None:
    body = "\n".join(f"   run step_{n} --with {'word ' * 8}" for n in range(80))
    doc = document(f"# Steps\n\n1. First\n\n   ```bash\n{body}\n   ```\n\nThe end.\n")
    middle = [chunk for chunk in StructureChunker().chunk(doc) if "```" not in chunk.text and "run step_" in chunk.text]
    assert middle
    for chunk in middle:
        (frame,) = chunk.frames
        assert (frame.kind, frame.opening, frame.closing) == ("fence", "   ```bash", "   ```")
        assert frame.start < frame.opening_end < 0
        assert frame.closing_start > len(chunk.text)


ABSTRACT = "# On drops\n\n" + " ".join(f"Sentence {n} of the abstract says what was seen of drops." for n in range(36))


def test_a_short_document_without_parts_is_one_chunk_though_it_is_longer_than_the_ceiling() -> None:
    (chunk,) = StructureChunker().chunk(document(ABSTRACT))
    assert 400 * 4.4 < len(chunk.text) <= HARD_CEILING_CHARACTERS
    assert chunk.heading_path == ("On drops",)
    paragraphs = ABSTRACT.replace(" Sentence 18", "\n\nSentence 18")
    assert [chunk.text for chunk in StructureChunker().chunk(document(paragraphs))] == [paragraphs]


@pytest.mark.parametrize(
    "text",
    [
        ABSTRACT.replace(" Sentence 18", "\n\n## More\n\nSentence 18"),
        ABSTRACT.replace(" Sentence 18", f"\n\n<!-- {'left out ' * 20} -->\n\nSentence 18"),
        ABSTRACT + " And a few words more to pass what any chunk may hold." * 10,
        "```\n" + "x = 1; print(x)\n" * 130 + "```",
    ],
    ids=["sections", "gap", "too long", "too many tokens"],
)
def test_a_document_with_parts_or_more_text_is_cut(text: str) -> None:
    assert len(StructureChunker().chunk(document(text))) > 1


def test_a_short_document_of_several_pages_keeps_them_apart() -> None:
    doc = document(ABSTRACT)
    pages = replace(doc, page_starts=(0, doc.text.index("Sentence 18")))
    assert len(StructureChunker().chunk(pages)) > 1


def test_headings_without_text_of_their_own_go_with_what_follows_them() -> None:
    (chunk,) = StructureChunker().chunk(document("# Guide\n\n## Install\n\nRun the installer.\n"))
    assert chunk.text.startswith("# Guide")
    assert chunk.heading_path == ("Guide", "Install")


def test_a_fence_and_a_table_that_fit_are_kept_whole() -> None:
    code = "```python\n" + "value = compute()\n" * 30 + "```"
    table = "| name | meaning |\n|---|---|\n" + "| alpha | the first letter |\n" * 25
    doc = document(f"# A\n\n{'Some words here. ' * 30}\n\n{code}\n\n{'More words. ' * 40}\n\n{table}")
    chunks = StructureChunker().chunk(doc)
    assert any(code in chunk.text for chunk in chunks)
    assert any(table.strip() in chunk.text for chunk in chunks)


def test_a_fence_or_table_that_is_too_long_is_cut_between_lines() -> None:
    rows = [f"| key{number} | value of the key number {number} |" for number in range(400)]
    doc = document("| key | value |\n|---|---|\n" + "\n".join(rows))
    chunks = StructureChunker().chunk(doc)
    assert len(chunks) > 3
    assert [row for chunk in chunks for row in chunk.text.split("\n")][2:] == rows


def test_the_padding_of_a_table_takes_no_room() -> None:
    rows = [["Option", "Meaning"], ["-" * 150, "-" * 400], *([f"--flag-{n}", f"Sets the value {n}."] for n in range(2))]
    table = "\n".join(f"| {name:<150} | {words:<400} |" for name, words in rows)
    chunks = StructureChunker().chunk(document(f"# Options\n\nWords above.\n\n## All\n\n{table}\n"))
    assert [chunk.text.count("\n") for chunk in chunks] == [2, 5]


def test_the_header_of_a_long_table_stands_with_a_row() -> None:
    header = f"| {' | '.join(f'column {n}' for n in range(20))} |\n|{'---|' * 20}"
    row = f"| {' | '.join('some longer value' for _ in range(20))} |"
    chunks = StructureChunker(target_tokens=80, ceiling_tokens=400).chunk(document("\n".join([header, *[row] * 9])))
    assert len(chunks) > 2
    assert chunks[0].text == f"{header}\n{row}"


def test_long_prose_is_cut_between_sentences_and_overlaps_by_whole_sentences() -> None:
    sentences = [f"Sentence number {number} says a little of this and that." for number in range(120)]
    chunks = StructureChunker().chunk(document(" ".join(sentences)))
    assert len(chunks) > 4
    for before, after in itertools.pairwise(chunks):
        assert before.text.endswith(".")
        assert after.text.startswith("Sentence number")
        assert after.start < before.end
        assert before.text[after.start - before.start :] in before.text
        assert before.end - after.start <= 160


@pytest.mark.parametrize(
    ("sentence", "end"),
    [
        ("यह पृष्ठ सर्वर को चालू करने का तरीका बताता है।", "।"),
        ("هل يعمل الخادم بعد التحديث أم لا يعمل؟", "؟"),
        ("ይህ ገጽ አገልጋዩን እንዴት እንደሚያስነሱ ያብራራል።", "።"),
    ],
)
def test_long_prose_is_cut_between_sentences_of_any_script(sentence: str, end: str) -> None:
    chunks = StructureChunker(overlap_tokens=0).chunk(document(" ".join([sentence] * 150)))
    assert len(chunks) > 2
    assert all(chunk.text.endswith(end) for chunk in chunks)


def test_overlap_can_be_switched_off() -> None:
    chunks = StructureChunker(overlap_tokens=0).chunk(document("A short sentence stands here. " * 200))
    assert len(chunks) > 1
    assert all(before.end <= after.start for before, after in itertools.pairwise(chunks))


def test_long_excluded_text_is_in_no_chunk() -> None:
    hidden = "<!-- " + "secret " * 60 + "-->"
    chunks = StructureChunker().chunk(document(f"Before.\n\n{hidden}\n\nAfter.\n"))
    assert [chunk.text for chunk in chunks] == ["Before.", "After."]


def test_hidden_lines_alone_make_no_chunk() -> None:
    options = ".. meta::\n   :robots: none\n   :http-equiv: x\n"
    chunks = StructureChunker().chunk(document(f"{options}\nTitle\n=====\n\nWords.\n", "acme/auth/page.rst"))
    assert [chunk.text for chunk in chunks] == ["Title\n=====\n\nWords."]


@pytest.mark.parametrize("body", ["Words.", "<!-- overview -->\n\nWords.", "\nWords.", "# Title\nWords.", "- item"])
@pytest.mark.parametrize("rule", ["---", "+++"])
@pytest.mark.parametrize("options", [{}, {"respect_boundaries": False}, {"enabled": False}])
def test_front_matter_however_short_is_in_no_chunk(body: str, rule: str, options: dict[str, bool]) -> None:
    value = "weight: 3" if rule == "---" else "weight = 3"
    chunks = StructureChunker(**options).chunk(document(f"{rule}\n{value}\n{rule}\n{body}\n"))  # type: ignore[arg-type]
    text = "".join(chunk.text for chunk in chunks)
    assert value not in text
    assert text.endswith(body.split("\n")[-1])


def test_ideograms_count_as_tokens() -> None:
    chunks = StructureChunker().chunk(document("文書を検索する。" * 400))
    assert all(len(chunk.text) <= 420 for chunk in chunks)
    assert chunks[-1].end == 3200


def test_the_hash_covers_the_prefix_and_the_text_but_not_the_path() -> None:
    chunker = StructureChunker()
    text = "# One\n\nThe same words.\n\n# Two\n\nThe same words.\n"
    here, there = (chunker.chunk(document(text, name)) for name in ("a/b/c.md", "x/y/z.md"))
    assert [chunk.hash for chunk in here] == [chunk.hash for chunk in there]
    assert len({chunk.hash for chunk in here}) == len(here)
    assert all(len(chunk.hash) == 16 for chunk in here)


def test_each_option_changes_the_fingerprint() -> None:
    options: list[dict[str, int]] = [
        *({}, {"target_tokens": 100}, {"ceiling_tokens": 300}, {"overlap_tokens": 0}),
        *({"respect_boundaries": 0}, {"enabled": 0}),
    ]
    assert len({StructureChunker(**option).fingerprint for option in options}) == len(options)  # type: ignore[arg-type]


@pytest.mark.parametrize("unit", ["x", ".", "a b ", "汉", "| ", "`", "- "])
@pytest.mark.no_cover
def test_a_huge_line_costs_no_more_than_its_length(unit: str) -> None:
    text = unit * (2_000_000 // len(unit))
    started = time.process_time()
    doc = document(text)
    chunks = StructureChunker().chunk(doc)
    assert time.process_time() - started < 10
    assert chunks[0].start == 0
    assert chunks[-1].end == len(text.rstrip())


@pytest.mark.no_cover
def test_however_many_links_stand_on_one_line_each_costs_the_same() -> None:
    text = "[[page|the words that a link shows a reader of this page]] " * 30_000
    doc = document(text)
    started = time.process_time()
    chunks = StructureChunker().chunk(doc)
    assert time.process_time() - started < 10
    assert chunks[-1].end == len(text.rstrip())
