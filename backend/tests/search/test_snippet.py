"""Snippets of real Markdown, cut by the real parser and chunker.

* at most 600 characters, and the best match is in them
* fences are balanced, a table's row is whole and its header there, whatever is asked
* what is highlighted is each word of the question, and nothing else
* lines are those of the document
* nothing invisible is shown, nor lines of markup alone
* a passage without a word of the question shows a sentence with a word that holds one
"""

from __future__ import annotations

import re
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from librarian.models import Chunk, Document, Snippet, SourceFile
from librarian.parsing.chunking import StructureChunker
from librarian.parsing.markdown import MarkdownParser
from librarian.search.snippets import CEILING, Excerpts
from librarian.search.truncation import rendered, spans_of
from librarian.text.analyzer import StandardAnalyzer
from librarian.text.sanitizing import without_hidden

ANALYZER = StandardAnalyzer()
PROSE = "The gateway listens on port 8080. It forwards each request to a worker. Workers are started on demand."


def read(text: str) -> Document:
    source = SourceFile("/x/page.md", "a/b/page.md", "a", "b", len(text), 1)
    return MarkdownParser().parse(source, text.encode())


def snippets(text: str, question: str, target: int = 320) -> list[Snippet]:
    document = read(text)
    query = ANALYZER.query(question)
    return [Excerpts(ANALYZER, query).snippet(chunk, target=target) for chunk in StructureChunker().chunk(document)]


def balanced(text: str) -> bool:
    return len(re.findall(r"^[ \t>]*(?:[-*+] |\d+[.)] )?[ \t]*```", text, re.MULTILINE)) % 2 == 0


words = st.sampled_from(["gateway", "worker", "timeout", "retry", "port", "cache", "token", "limit", "queue", "node"])
sentence = st.lists(words, min_size=3, max_size=14).map(lambda some: " ".join(some).capitalize() + ".")
paragraph = st.lists(sentence, min_size=1, max_size=8).map(" ".join)
code = st.lists(st.lists(words, min_size=1, max_size=6).map("_".join), min_size=1, max_size=50).map(
    lambda lines: "```python\n" + "\n".join(f"{line} = 1" for line in lines) + "\n```"
)
table = st.lists(st.tuples(words, sentence), min_size=1, max_size=30).map(
    lambda rows: "| name | meaning |\n|---|---|\n" + "\n".join(f"| {a} | {b} |" for a, b in rows)
)
item = st.lists(words, min_size=1, max_size=9).map(lambda some: "- " + " ".join(some))
listing = st.lists(item, min_size=1, max_size=12).map("\n".join)
nested = st.lists(words, min_size=1, max_size=30).map(
    lambda lines: "1. First step\n\n   ```bash\n" + "\n".join(f"   run {line}" for line in lines) + "\n   ```"
)
page = st.lists(st.one_of(paragraph, code, table, listing, nested), min_size=1, max_size=6).map(
    lambda parts: "# Page\n\n" + "\n\n".join(parts) + "\n"
)


@settings(max_examples=50, deadline=None)
@given(text=page, question=st.lists(words, min_size=1, max_size=4).map(" ".join), target=st.integers(80, 600))
def test_snippets_are_short_balanced_and_hold_the_match(text: str, question: str, target: int) -> None:
    document = read(text)
    query = ANALYZER.query(question)
    wanted = {*query.terms, *query.identifiers}
    for chunk in StructureChunker().chunk(document):
        snippet = Excerpts(ANALYZER, query).snippet(chunk, target=target)
        assert 0 < len(snippet.text) <= CEILING
        assert balanced(snippet.text)
        if wanted & set(ANALYZER.tokens(chunk.text)):
            assert wanted & set(ANALYZER.tokens(snippet.text))
            assert snippet.highlights
        for start, end in snippet.highlights:
            assert wanted & set(ANALYZER.tokens(snippet.text[start:end]))
        assert chunk.line_start <= snippet.line_start <= snippet.line_end <= chunk.line_end


def said_in(text: str, question: str) -> tuple[tuple[int, int], ...]:
    """Where a text says a word of the question, overlapping places taken together: told from the text alone."""
    query = ANALYZER.query(question)
    wanted = {*query.terms, *query.identifiers}
    places: list[tuple[int, int]] = []
    for start, end in sorted((span.start, span.end) for span in ANALYZER.spans(text) if span.token in wanted):
        if places and start < places[-1][1]:
            start, end = places[-1][0], max(places.pop()[1], end)
        places.append((start, end))
    return tuple(places)


#: Put into a page: what isn't shown, blanks of other kinds, lines without blanks, rules, names with a part in common.
odd = st.sampled_from(
    [
        "\u200b",
        "\u202e",
        "\t",
        "\x1c",
        "  \n",
        "\n\n\n",
        "\n \n",
        "\n====\n",
        "x" * 250,
        "。",
        "é",
        "the_worker.port",
        "re-tr",
    ]
)


@settings(max_examples=150, deadline=None)
@given(
    text=page,
    additions=st.lists(st.tuples(st.floats(0, 1), odd), max_size=8),
    question=st.lists(st.one_of(words, st.just("`worker.port`")), min_size=1, max_size=4).map(" ".join),
    target=st.integers(80, 600),
    context_lines=st.integers(0, 12),
)
def test_what_is_highlighted_is_what_the_shown_text_says_of_the_question(
    text: str, additions: list[tuple[float, str]], question: str, target: int, context_lines: int
) -> None:
    for share, addition in additions:
        place = int(share * len(text))
        text = f"{text[:place]}{addition}{text[place:]}"
    cut = Excerpts(ANALYZER, ANALYZER.query(question)).snippet
    for chunk in StructureChunker().chunk(read(text)):
        snippet = cut(chunk, "", target, context_lines)
        assert snippet.highlights == said_in(snippet.text, question)


@settings(max_examples=100, deadline=None)
@given(text=page, data=st.data())
def test_every_line_of_a_window_is_shown_in_order(text: str, data: st.DataObject) -> None:
    for chunk in StructureChunker().chunk(read(text)):
        spans = spans_of(chunk)
        first = data.draw(st.integers(0, len(spans) - 1))
        last = data.draw(st.integers(first, len(spans) - 1))
        lines = rendered(chunk.text, spans[first : last + 1]).splitlines()
        window = chunk.text[spans[first].start : spans[last].end]
        shown = [line.rstrip() for line in window.split("\n") if line.strip()]
        below = iter(lines)
        assert all(line in below for line in shown)


def test_words_between_which_no_blank_stands_are_highlighted_in_the_part_that_is_shown() -> None:
    text = f"{'y' * 235}.port.worker.{'z' * 300} worker"
    query = "port worker"
    snippet = Excerpts(ANALYZER, ANALYZER.query(query)).snippet(Chunk(0, 0, len(text), text), target=80)
    assert snippet.text in text
    assert snippet.highlights == said_in(snippet.text, query) != ()


@pytest.mark.parametrize("sign", ["ក្ម៉ុ", "น้ำ", "क्षि", "👩‍👩‍👧‍👦", "👍🏽", "o\u0301"])
@pytest.mark.parametrize("shift", range(7))
def test_no_snippet_of_a_text_without_blanks_begins_or_ends_inside_a_sign(sign: str, shift: int) -> None:
    for kind in ("{}", "| name | meaning |\n|---|---|\n| a | {} |"):
        text = kind.format("x" * shift + sign * 300 + " zebra " + sign * 300)
        for chunk in StructureChunker().chunk(read(text)):
            for piece in (
                chunk.text,
                *(text[unit.start : unit.end] for text in [chunk.text] for unit in spans_of(chunk)),
            ):
                assert _whole_signs(piece, sign)
        for snippet in snippets(text, "zebra"):
            assert len(snippet.text) <= CEILING
            assert all(_whole_signs(line, sign) for line in re.split(r"[…|\n]", snippet.text))


def _whole_signs(text: str, sign: str) -> bool:
    return not set(sign) & set(without_hidden(text).replace(without_hidden(sign), "").replace("zebra", "").lower())


@settings(max_examples=50, deadline=None)
@given(text=table, question=words)
def test_rows_of_tables_are_whole_and_under_their_header(text: str, question: str) -> None:
    rows = set(text.splitlines())
    found = snippets(text, question)
    assert found
    for snippet in found:
        lines = snippet.text.splitlines()
        assert lines[:2] == ["| name | meaning |", "|---|---|"]
        assert all(line in rows or line == "| … |" for line in lines)


def test_a_header_that_is_the_match_keeps_the_rule_below_it() -> None:
    header = "| Management technique | Operates on | Recommended environment | Supported writers | Learning curve |"
    rule = "|---|---|---|---|---|"
    rows = "\n".join(f"| Imperative commands {n} | Live objects | Projects {n} | 1+ | Lowest |" for n in range(20))
    for target in (80, 120):
        lines = snippets(f"{header}\n{rule}\n{rows}\n", "technique", target)[0].text.splitlines()
        assert lines[:2] == [header, rule]


@pytest.mark.parametrize("more", [4, 6])
def test_rows_that_dont_fit_under_their_wide_header_give_way_to_those_that_say_more(more: int) -> None:
    header = f"| {'h' * 150} | {'k' * 150} |"
    words = {4: "needle", 5: "needle", 6: "needle", more: "needle haystack"}
    rows = [f"| r{number} {words.get(number, '')} {'x' * 80} | y |" for number in range(12)]
    table = "\n".join([header, "|---|---|", *rows]) + "\n"
    (snippet,) = snippets(table, "needle haystack")
    assert len(snippet.text) <= CEILING
    assert snippet.text.splitlines()[0] == header
    assert [number for number, row in enumerate(rows) if row in snippet.text.splitlines()] == sorted([5, more])


def test_a_long_fence_is_cut_between_lines_closed_and_marked() -> None:
    body = "\n".join(f"step_{n} = compute(input_{n}, factor={n})" for n in range(60))
    found = [s for s in snippets(f"# Code\n\n```python\n{body}\n```\n", "step_41") if "step_41" in s.text]
    lines = found[0].text.splitlines()
    assert lines[0] == "```python"
    assert lines[1] == "…"
    assert lines[-2:] == ["…", "```"]
    assert all(line in {*body.splitlines(), "```python", "…", "```"} for line in lines)


def test_a_chunk_that_begins_inside_a_fence_gets_its_opening_line() -> None:
    body = "\n".join(f"value_{n} = {n}" for n in range(300))
    document = read(f"# Code\n\n~~~sql\n{body}\n~~~\n")
    chunk = next(chunk for chunk in StructureChunker().chunk(document) if "value_160" in chunk.text)
    assert "~~~" not in chunk.text
    shown = Excerpts(ANALYZER, ANALYZER.query("value_160")).snippet(chunk).text.splitlines()
    assert shown[0] == "~~~sql"
    assert shown[-1] == "~~~"
    assert "value_160 = 160" in shown


def test_lines_are_those_of_the_document() -> None:
    text = "# Top\n\nIntroduction of no interest.\n\nThe worker restarts.\n\nThe end.\n"
    snippet = snippets(text, "worker restart", target=80)[0]
    document_lines = text.splitlines()
    assert "worker restarts" in " ".join(document_lines[snippet.line_start - 1 : snippet.line_end])


@pytest.mark.parametrize(("lines", "shown"), [(0, "5"), (1, "4 5 6"), (2, "3 4 5 6 7"), (99, "1 2 3 4 5 6 7 8 9")])
def test_so_many_lines_are_shown_on_each_side_of_the_match(lines: int, shown: str) -> None:
    text = "\n\n".join("the needle 5" if number == 5 else f"line {number}" for number in range(1, 10))
    snippet = Excerpts(ANALYZER, ANALYZER.query("needle")).snippet(Chunk(0, 0, len(text), text), context_lines=lines)
    assert re.findall(r"\d", snippet.text) == shown.split()


def test_a_passage_without_the_words_shows_its_opening_not_its_heading() -> None:
    assert snippets(f"# Gateway\n\n{PROSE}\n", "kubernetes")[0].text.startswith("The gateway listens")


def test_words_that_begin_alike_choose_the_sentence() -> None:
    text = "# Page\n\n" + PROSE * 4 + " Configurations are read once. " + PROSE * 4 + "\n"
    assert any("Configurations" in s.text for s in snippets(text, "configuring the server", target=100))


def test_a_single_endless_line_is_cut_around_the_match_and_marked() -> None:
    document = read("```\n" + "x " * 400 + "needle" + " y" * 400 + "\n```\n")
    whole = StructureChunker(enabled=False).chunk(document)[0]
    assert whole.text.strip() == document.text.strip()
    shown = Excerpts(ANALYZER, ANALYZER.query("needle")).snippet(whole)
    assert shown.highlights
    assert len(shown.text) <= CEILING
    opening, line, closing = shown.text.splitlines()
    assert (opening, closing) == ("```", "```")
    assert line.startswith("… x x")
    assert line.endswith("y y …")


@pytest.mark.parametrize(("blank", "match"), [(" ", "the needle"), ("", "needle")])
def test_a_wide_row_shows_the_cell_with_the_match_beside_its_first_one_under_their_columns(
    blank: str, match: str
) -> None:
    names = [f"column{blank}{n}" for n in range(120)]
    cells = [f"cell{blank}{n}" for n in range(120)]
    cells[70] = match
    text = f"|{'|'.join(names)}|\n|{'---|' * 120}\n|{'|'.join(cells)}|\n"
    shown = next(snippet for snippet in snippets(text, "needle") if snippet.highlights)
    header, rule, row = (line.strip("|").split("|") for line in shown.text.splitlines())
    assert len(header) == len(rule) == len(row)
    assert set(rule) <= {"---", " --- "}
    assert (header[0], row[0]) == (names[0], cells[0])
    assert header[row.index(match)] == names[70]
    assert row[1] == " … " == row[-1]
    assert len(shown.text) <= CEILING


@settings(max_examples=100, deadline=None)
@given(
    before=st.integers(0, 2_000),
    after=st.integers(0, 2_000),
    kind=st.sampled_from(
        ["| a | b |\n|---|---|\n| {} | x |", "```sh\n{}\n```", "{}", "| {} | b |\n|---|---|\n| c | d |"]
    ),
    filler=st.sampled_from(["pad ", "p", "a\\|b ", "p|"]),
)
def test_however_long_a_line_is_its_match_is_shown(before: int, after: int, kind: str, filler: str) -> None:
    line = f"{(filler * before)[:before]} needle {(filler * after)[:after]}"
    text = kind.format(line) + "\n"
    for snippet in snippets(text, "needle"):
        assert len(snippet.text) <= CEILING
        assert balanced(snippet.text)
        assert snippet.line_start <= snippet.line_end
    assert any("needle" in snippet.text and snippet.highlights for snippet in snippets(text, "needle"))


def test_of_a_passage_without_anything_nothing_is_shown() -> None:
    assert Excerpts(ANALYZER, ANALYZER.query("worker")).snippet(Chunk(0, 0, 2, "\n\n")).text == ""


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("safe\u202eevil\u202c", "safeevil"),
        ("a\u200bb\u2060c\ufeffd", "abcd"),
        ("tag\U000e0041\U000e007f", "tag"),
        ("bell\x07 esc\x1b[31m \x85", "bell esc[31m "),
        ("tab\tline\n", "tab\tline\n"),
        (
            "\u0646\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",
            "\u0646\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",
        ),
        ("👩\u200d👧", "👩\u200d👧"),
    ],
)
def test_only_what_a_person_would_see_is_shown(text: str, shown: str) -> None:
    assert without_hidden(text) == shown


def test_nothing_that_is_hidden_could_be_printed() -> None:
    """A text that could be printed is passed over at once."""
    for character in map(chr, range(sys.maxunicode + 1)):
        assert character.isprintable() <= (without_hidden(f"a{character} ") == f"a{character} ")


def test_without_a_word_of_the_question_a_sentence_with_a_word_that_holds_one_is_shown() -> None:
    text = f"# Page\n\n{PROSE} {PROSE} Gradients are summed over minibatches. {PROSE} {PROSE}\n"
    (shown,) = snippets(text, "batch", target=80)
    assert "summed over minibatches" in shown.text
    assert not shown.highlights
    (shown,) = snippets(text, "zebra", target=80)
    assert shown.text.startswith("The gateway listens")


HIDDEN = """\
# Ports

{{< details title="Since version two" >}}

The gateway listens on port 8080.

{{< /details >}}
<!-- TODO: say more
of it -->

> [!note]
> <div class="wide">
> Change it in the file.
> </div>

<Tabs group="os">
<Tab label="Linux">Run it.</Tab>
</Tabs>
"""


def test_of_the_line_that_opens_a_directive_only_its_title_is_shown() -> None:
    text = "# Clusters\n\nStart them.\n\n```{admonition} Scale-down\nIdle workers end after a timeout.\n```\n"
    assert [snippet.text for snippet in snippets(text, "scale-down timeout")] == [
        "Start them.\n\nScale-down\nIdle workers end after a timeout."
    ]


def test_lines_that_show_nothing_are_in_no_snippet() -> None:
    (snippet,) = snippets(HIDDEN, "port of the gateway", target=600)
    assert snippet.text == (
        '# Ports\n\n{{< details title="Since version two" >}}\n\nThe gateway listens on port 8080.\n\n'
        '> Change it in the file.\n\n<Tab label="Linux">Run it.</Tab>'
    )
    assert (snippet.line_start, snippet.line_end) == (1, 17)
    (fence,) = snippets("```html\n<div>\n</div>\n```\n", "div")
    assert fence.text == "```html\n<div>\n</div>\n```"


@pytest.mark.parametrize(
    ("written", "question"),
    [
        ("zebra\u00adfish", "zebrafish"),
        ("zebra&shy;fish", "zebrafish"),
        ("z&#173;ebra<wbr>fish", "zebrafish"),
        ("zebra\u2060fish", "zebrafish"),
        ("Gr&ouml;&szlig;e", "größe"),
        ("get&shy;User", "getuser"),
    ],
)
def test_words_are_highlighted_that_say_how_they_may_be_parted_or_spell_their_letters(
    written: str, question: str
) -> None:
    (snippet,) = snippets(f"# Fish\n\nA&nbsp;pump. The ({written}), at &lt;home&gt;, swims.\n", question)
    shown = without_hidden(written)
    assert [snippet.text[start:end] for start, end in snippet.highlights] == [shown]


def test_the_sentence_is_shown_whose_words_spell_their_letters() -> None:
    other = "The keeper feeds all of them at noon, whatever the day brings. "
    (snippet,) = snippets(f"{other * 4}The z&shy;ebrafish swims. {other * 4}\n", "zebrafish", target=80)
    assert "z&shy;ebrafish" in snippet.text
