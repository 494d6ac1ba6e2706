"""Markdown: structure as markdown-it sees it, front matter, shortcodes and comments left out, links, clean headings."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from librarian.parsing.chunking import StructureChunker
from librarian.parsing.front_matter import read_front_matter
from librarian.parsing.markdown_blocks import parse_blocks

from .conftest import Parse

_ORACLE = MarkdownIt("commonmark", {"html": True}).enable("table")

_DIRECTIVES = {
    f"{{{name}}}" for name in ("note", "tip", "warning", "important", "caution", "admonition", "seealso", "dropdown")
}


def _expected(text: str) -> dict[str, set[tuple[int, int]]]:
    """(line, level) of headings, fences and tables outside quotes, as markdown-it finds them."""
    found: dict[str, set[tuple[int, int]]] = {"heading": set(), "fence": set(), "table": set()}
    quotes = 0
    for token in _ORACLE.parse(text):
        quotes += (token.type == "blockquote_open") - (token.type == "blockquote_close")
        kind = token.type.removesuffix("_open")
        if not quotes and kind in found and token.map:
            found[kind].add((token.map[0] + 1, int(token.tag[1]) if kind == "heading" else 0))
    return found


def _seen(text: str, start: int = 0) -> dict[str, set[tuple[int, int]]]:
    scanner = parse_blocks(text, start)
    found: dict[str, set[tuple[int, int]]] = {"heading": {(head.line, head.level) for head in scanner.headings}}
    for kind in ("fence", "table"):
        lines = (text.count("\n", 0, block.start) + 1 for block in scanner.blocks if block.kind == kind)
        found[kind] = {(line, 0) for line in lines}
    return found


def _unwrapped(text: str) -> str:
    """A page without the lines of MyST's directives of prose, which markdown-it finds, outermost first."""
    lines = text.split("\n")
    while found := [
        token.map for token in _ORACLE.parse("\n".join(lines)) if token.map and token.info.split(" ")[0] in _DIRECTIVES
    ]:
        for first, end in found:
            lines[first] = lines[end - 1] = ""
    return "\n".join(lines)


@pytest.mark.no_cover
def test_headings_fences_and_tables_of_real_pages_are_those_of_markdown_it(real_data: Callable[[str], Path]) -> None:
    pages = sorted(real_data("docs").rglob("*.md"))[::12]
    assert len(pages) > 100
    for page in pages:
        text = page.read_text(encoding="utf-8").replace("\r\n", "\n")
        start = read_front_matter(text).end
        blanked = "\n" * text.count("\n", 0, start) + text[start:]
        assert _seen(text, start) == _expected(_unwrapped(blanked)), page


@pytest.mark.parametrize(
    "text",
    [
        "# a\n## b ##\n### c #d\n####### e\n#f\n\\# g\n    # h\n   # i\n#\n",
        "one\ntwo\n===\nthree\n---\n\n---\n\n- four\n---\n> five\n---\n",
        "```\n# no\n~~~\n```\n# yes\n~~~~ py\n~~~\n# no\n~~~~~\n# yes\n",
        "````\n```\n# no\n````\n# yes\n```unclosed\n# no\n",
        "- item\n\n  ```\n  # no\n  ```\n- two\n  ```\n  open\nafter\n# yes\n",
        "1. one\n   # inside\n2. ## also\n\n# out\n",
        "| a | b |\n|---|---|\n| 1 | 2 |\nno pipe\n\n| a |\n|---|---|\n",
        "words\n| a | b |\n| :-- | --: |\n| `x\\|y` | 2 |\n# head\n",
        "<div>\n# no\n</div>\n\n# yes\n<!-- a\n# no\n\n# no -->\n# yes\n",
        "<pre>\n\n# no\n\n</pre>\n# yes\n\n<b>x</b>\n# yes\n",
        "> # quoted\n> ```\n> code\n> ```\n\n# yes\n",
        "a `b\n# c` d\n- - - deep\n* * *\n# e\n1) x\n12345. y\n",
        "* a\n\n      code\n\n  # b\n\n    * c\n\n      | x | y |\n      |---|---|\n      | 1 | 2 |\n",
        "\t# tab\n\ntext\n\t# lazy\n-\t# item\n",
    ],
)
def test_structure_agrees_with_markdown_it_where_it_is_tricky(text: str) -> None:
    assert _seen(text) == _expected(text)


@settings(deadline=None, max_examples=50)
@given(st.lists(st.text(alphabet="#`~-=>|*_ \n\ta1.<!{%}[]():\\", max_size=30), max_size=12).map("\n".join))
def test_blocks_are_in_order_and_never_overlap_whatever_the_text(text: str) -> None:
    scanner = parse_blocks(text)
    reached = 0
    for block in scanner.blocks:
        assert reached <= block.start < block.end <= len(text)
        reached = block.end
    for heading in scanner.headings:
        assert text.count("\n", 0, heading.start) + 1 == heading.line


def test_a_page_keeps_its_text_and_gives_up_its_front_matter(parse: Parse) -> None:
    text = (
        "---\ntitle: Single sign-on\ntags: [auth, sso]\nlastmod: 2026-03-01T12:00:00+02:00\nweight: 3\n---\n"
        "# Overview\n\nSign in once. Use it everywhere.\n\n```sh\n# not a heading\n```\n\n"
        "| a | b |\n|---|---|\n| 1 | 2 |\n"
    )
    doc = parse(text)
    assert doc.text == text
    assert (doc.title, doc.title_in_text, doc.tags) == ("Single sign-on", True, ("auth", "sso"))
    assert doc.last_modified == "2026-03-01T10:00:00Z"
    assert doc.front_matter["weight"] == 3
    assert [(head.level, head.text, head.line) for head in doc.headings] == [(1, "Overview", 7)]
    assert [block.kind for block in doc.blocks] == ["heading", "paragraph", "fence", "table"]
    fence, table = doc.blocks[2], doc.blocks[3]
    assert text[fence.start : fence.header_end] == "```sh"
    assert text[table.start : table.header_end] == "| a | b |\n|---|---|"
    assert [(span.start, span.reason) for span in doc.excluded] == [(0, "front_matter")]
    assert doc.summary == "Sign in once. Use it everywhere."
    assert doc.file_type == ".md"


@pytest.mark.parametrize(
    ("tags", "expected"),
    [("a, b ,a", ("a", "b")), ("[a, 2, true]", ("a", "2", "True")), ("", ()), ("{x: 1}", ("x",)), ("7", ("7",))],
)
def test_tags_are_a_list_or_comma_separated(parse: Parse, tags: str, expected: tuple[str, ...]) -> None:
    assert parse(f"---\ntags: {tags}\n---\ntext\n").tags == expected


def test_broken_front_matter_is_said_and_left_out(parse: Parse) -> None:
    doc = parse('---\ntitle: "open\nx: [1\n---\n# Real\n\nWords.\n')
    assert doc.title == "Real"
    assert doc.excluded[0].reason == "front_matter"
    assert "front matter" in doc.notes[0]


def test_plain_lines_of_broken_front_matter_are_taken(parse: Parse) -> None:
    doc = parse("---\ntitle: Mail: the basics\nname: @acme/ui\ntags: [a\ndate: 2026-01-02\n  deep: no\n---\n# Else\n")
    assert (doc.title, doc.last_modified[:10], doc.tags) == ("Mail: the basics", "2026-01-02", ())
    assert doc.front_matter == {"title": "Mail: the basics", "name": "@acme/ui", "date": "2026-01-02"}
    assert "its lines are taken by themselves" in doc.notes[0]


def test_toml_front_matter_is_read(parse: Parse) -> None:
    doc = parse('+++\ntitle = "Hugo page"\ndate = 2026-01-02\n+++\nWords.\n')
    assert (doc.title, doc.last_modified) == ("Hugo page", "2026-01-02T00:00:00Z")


def test_json_front_matter_is_read(parse: Parse) -> None:
    doc = parse(
        '{\n  "title": "Hugo {page}",\n  "date": "2026-01-02",\n  "tags": ["a", "b"]\n}\n\nWords of the page.\n'
    )
    assert (doc.title, doc.last_modified, doc.tags) == ("Hugo {page}", "2026-01-02T00:00:00Z", ("a", "b"))
    assert [doc.text[span.start : span.end].strip()[-1] for span in doc.excluded] == ["}"]
    assert doc.summary == "Words of the page."
    deep = '{"a": ' * 5_000 + "1" + "}" * 5_000
    for text in ('{"a": 1} is JSON.\n', '{"a": 1}\nand so on\n', '{"a": 1,}\n\nx\n', "{}\n\nx\n", f"{deep}\n\nx\n"):
        assert not parse(text).front_matter
        assert parse(text).excluded == ()


def test_rules_around_prose_are_not_front_matter(parse: Parse) -> None:
    for text in ("---\nJust prose here.\n---\nMore.\n", "---\nnever closed\n", "---\n- a\n---\nx\n", "+++\nbroken =\n"):
        assert not parse(text).front_matter
    assert parse("---\nJust prose: [here.\n---\nMore.\n").notes == ()


def test_a_page_of_front_matter_alone_is_found_by_it(parse: Parse) -> None:
    doc = parse("---\ntitle: Tasks\ndescription: What you can do.\n---\n\n")
    assert doc.excluded == ()
    assert doc.summary == "What you can do."
    assert doc.blocks[0].end > 20


def test_shortcodes_comments_and_imports_are_left_out_but_words_that_they_show_stay(parse: Parse) -> None:
    text = (
        'import Tabs from "@theme/Tabs";\n\nA {{< glossary_tooltip text="pod" term_id="pod" >}} runs. <!-- why? -->\n\n'
        "{{% note %}}\nKept.\n{{% /note %}}\n\n{{< comment >}}\nGone.\n{{< /comment >}}\n\n"
        "```\n{{< kept >}} <!-- kept -->\n```\n"
    )
    doc = parse(text)
    visible = "".join(
        char for place, char in enumerate(text) if not any(s.start <= place < s.end for s in doc.excluded)
    )
    assert visible.split() == ["A", "pod", "runs.", "Kept.", "```", "{{<", "kept", ">}}", "<!--", "kept", "-->", "```"]
    assert {span.reason for span in doc.excluded} == {"shortcode", "comment"}


def test_targets_of_links_that_stand_apart_are_left_out_as_markdown_it_finds_them(parse: Parse) -> None:
    text = (
        '# Page\n\nSee [the docs][docs].\n\n[docs]: https://example.org/docs\n[1]: <../a b.md> "Title"\n\n'
        "Some text\n[said]: https://in.a.paragraph/\n\n[note]: a/path with words behind it\n\n[^1]: A footnote.\n\n"
        "## Links\n[a]: /x\n   [b]: #y 'Z'\n\n```\n[in]: /code\n```\n\n    [in]: /code\n"
    )
    doc = parse(text)
    told = {(text.count("\n", 0, s.start), text.count("\n", 0, s.end) + 1): s.reason for s in doc.excluded}
    lines = {line: reason for span, reason in told.items() for line in range(*span)}
    env: dict[str, Any] = {}
    _ORACLE.parse(text.replace("[^1]:", "1"), env)
    assert set(lines) == {known["map"][0] for known in env["references"].values()}
    assert set(lines.values()) == {"link definition"}
    assert [link.target for link in doc.links] == ["https://example.org/docs"]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("See [[Settings]] and [[Importer|the importer]].", "See Settings and the importer."),
        ("[[Sync#Set it up]]: [[#Local]], [[Sync#^a1b2]], [[#^a1b2]].", "Sync#Set it up: Local, Sync, ."),
        ("![[Sync#Set it up]] ![[cog.svg#icon]] ![[a.jpg|100x145]] ![[a.jpg|A cat]]", "Sync#Set it up A cat"),
        ("| [[Syntax\\|Markdown]] | ![[a.jpg\\|200]] |", "| Markdown | |"),
        ("if [[ -f x ]]; then `[[code]]`, [[1, 2], [3]], [[1]](#one)", ""),
    ],
)
def test_of_a_wikis_links_what_they_show_stays(parse: Parse, text: str, shown: str) -> None:
    doc = parse(f"# The [[Sync|pages]] of [[Ann]]\n\n{text}\n")
    excluded = [place for span in doc.excluded for place in range(span.start, span.end)]
    kept = "".join(char for place, char in enumerate(doc.text) if place not in excluded)
    assert doc.headings[0].text == doc.title == "The pages of Ann"
    assert " ".join(kept.split()) == f"# The pages of Ann {shown or text}"


def test_no_passage_holds_targets_of_links_alone(parse: Parse) -> None:
    words = "A pod runs on a node until it is done. " * 40
    targets = "".join(f"[issue {number}]: https://example.org/issues/{number}\n" for number in range(60))
    doc = parse(f"# Page\n\n{words}\n\n{targets}")
    chunks = StructureChunker().chunk(doc)
    assert chunks
    assert all("pod" in chunk.text for chunk in chunks)


def test_mdx_leaves_out_exports_and_lines_of_components(parse: Parse) -> None:
    doc = parse("export const a = 1;\n\n<Tabs values={x}>\n\nWords.\n\n</Tabs>\n", "a/b/page.mdx")
    assert [doc.text[span.start : span.end].split()[0] for span in doc.excluded] == ["export", "<Tabs", "</Tabs>"]


def test_links_carry_what_a_reader_sees_and_where_they_lead(parse: Parse) -> None:
    text = (
        "See [the **guide**](../guide.md#start) and [spec](<a b.md> 'Title'), ![no](x.png), [ref][r], [short][].\n\n"
        "```\n[no](no.md)\n```\n\n[r]: https://example.org/r\n[short]: s.md\n[a [nested] one](n_(x).md)\n"
    )
    doc = parse(text)
    assert [(link.text, link.target) for link in doc.links] == [
        ("the guide", "../guide.md#start"), ("spec", "a b.md"), ("ref", "https://example.org/r"), ("short", "s.md"),
        ("a [nested] one", "n_(x).md"),
    ]  # fmt: skip
    assert all(text[link.start] == "[" for link in doc.links)


@pytest.mark.parametrize(
    ("text", "links"),
    [
        ('[the pump]({{< ref "pump.md#oil" >}} "Oil")', [("the pump", "pump.md#oil")]),
        ("[the pump]({{% relref pump %}}), [no]({{< param x >}})", [("the pump", "pump")]),
        ("[the pump]({% link _docs/pump.md %}) and [a](b.md)", [("the pump", "_docs/pump.md"), ("a", "b.md")]),
        (
            "[[Pump]], ![[cog.svg]], [[Pump#Oil|the oil]], [[a\\|b]]",
            [("Pump", "Pump"), ("the oil", "Pump"), ("b", "a")],
        ),
        ("if [[ -f x ]]; then", []),
        (
            "{ref}`the pump <pump-oil>`, {doc}`/guide/pump`, {func}`run`",
            [("the pump", "pump-oil"), ("", "/guide/pump")],
        ),
        ("```\n[[Code]] {ref}`code`\n```", []),
    ],
)
def test_links_of_dialects_lead_where_their_generators_lead(
    parse: Parse, text: str, links: list[tuple[str, str]]
) -> None:
    assert [(link.text, link.target) for link in parse(f"# Page\n\n{text}\n").links] == links


def test_targets_of_myst_are_labels_outside_code(parse: Parse) -> None:
    doc = parse("(pump-oil)=\n# Page\n\n(ops:cooling)=\n## Cooling\n\n```\n(code)=\n```\n\n(a)=b\n")
    assert doc.labels == ("pump-oil", "ops:cooling")


@pytest.mark.parametrize(
    ("markup", "words"),
    [
        ("The `kubectl` **command** {#kubectl}", "The kubectl command"),
        ("[Link](x.md) to _it_ and snake_case_name", "Link to it and snake_case_name"),
        ('{{% heading "whatsnext" %}}', "whatsnext"),
        ('<a name="x"></a>Title &amp; more \\# end', "Title & more # end"),
        ("`List<T>` and `a*b*c`", "List<T> and a*b*c"),
        ("Map<K, V> of <tls_config> at <host:port>", "Map<K, V> of <tls_config> at <host:port>"),
        ('Props<br/> <a id="p"></a>of <Tab items={[1]} />it', "Props of it"),
        ("![logo](l.png) Name ~~old~~ ***new***", "logo Name old new"),
        ("Using :doc:`the guide <g>` with ``code``", "Using the guide with code"),
        ("*部品*は**大事**です。a*b*c _d_は snake_case_名", "部品は大事です。a*b*c _d_は snake_case_名"),
        ("2 * 3 * 4 and <https://a.b>", "2 * 3 * 4 and https://a.b"),
        ("Permissions { #permissions }", "Permissions"),
        ("`use()` in *it* {/*use-in-it*/}", "use() in it"),
        ("The `{/* x */}` remark", "The {/* x */} remark"),
        (r"\<script setup> {#script-setup}", "<script setup>"),
        (r"The \*real\* \_\_init\_\_ of \[b\](c)", "The *real* __init__ of [b](c)"),
        (r"`C:\*` and *\*args*", r"C:\* and *args"),
    ],
)
def test_headings_are_plain_words(parse: Parse, markup: str, words: str) -> None:
    assert parse(f"# {markup}\n").headings[0].text == words


def test_what_links_to_what_the_page_defines_has_no_brackets_in_headings_and_summaries(parse: Parse) -> None:
    links = "[unreleased]: x.md\n[1.2.0]: y.md\n"
    text = f"# Changes\n\n## [Unreleased]\n\n## [1.2.0] - 2026-05-01\n\n## [DRAFT] Next\n\n{links}"
    assert [head.text for head in parse(text).headings] == [
        "Changes",
        "Unreleased",
        "1.2.0 - 2026-05-01",
        "[DRAFT] Next",
    ]

    assert parse(f"As [Unreleased] says of [DRAFT] in it.\n\n{links}").summary == "As Unreleased says of [DRAFT] in it."


def test_markup_that_is_wrapped_is_in_neither_headings_nor_summaries(parse: Parse) -> None:
    doc = parse("The *whole\nbook*\n===\n\nKeep **all the\nwords** of `a\nb` and [this\nlink](x.md) in the summary.\n")
    assert doc.headings[0].text == "The whole book"
    assert doc.summary == "Keep all the words of a b and this link in the summary."


def test_a_summary_has_blanks_between_words_that_tags_part_and_none_before_commas(parse: Parse) -> None:
    doc = parse("Press <kbd>Ctrl</kbd>, then <b>Enter</b>. One line<br>and the next (<i>both</i>) follow.\n")
    assert doc.summary == "Press Ctrl, then Enter. One line and the next (both) follow."


def test_a_title_is_taken_from_the_best_place_there_is(parse: Parse) -> None:
    assert parse("## Second\n\n# First\n").title == "First"
    assert parse("## Second\n").title == "Second"
    assert parse("Text.\n\n## Second\n\n### Third\n").title == "Second"
    parts = "Text.\n\n## Controls\n\n## Saves\n"
    assert (parse(parts, "wiki/docs/Atari-2600.md").title, parse(parts, "wiki/docs/0042.md").title) == (
        "Atari 2600",
        "Controls",
    )
    assert parse(parts, "wiki/docs/index.md").title == parse(parts, "wiki/docs/README.md").title == "Controls"
    command = "Set `key` to hold a string and to be forgotten after so many seconds.\n\n## See also\n"
    assert parse(command, "redis/commands/SETEX.md").title == "SETEX"
    assert parse(command, "redis/commands/index.md").title == "See also"
    badges = "[![Tests pass](a.svg)](b) [![A version of it](c.svg)](d)\n" * 3 + "\n## Pump\n"
    assert parse(badges, "acme/pump/about.md").title == "Pump"
    doc = parse("no heading", "acme/auth/single-sign_on.md")
    assert (doc.title, doc.title_in_text) == ("Single sign on", False)
    assert parse("x", "acme/auth/_index.md").title == "Auth"
    assert parse("x", "acme/auth/README.md").title == "Auth README"
    assert parse("---\ntitle: true\n---\n# H\n").title == "H"


@pytest.mark.parametrize(
    ("text", "name", "title"),
    [
        (
            '<h1 align="center">\n  <img src="a" alt="The logo"><br>\n  Wobbler\n</h1>\n\n## Install\n\n## Use\n',
            "README.md",
            "Wobbler",
        ),
        ('<h1><a href="b"><img src="a" alt="Wobbler"></a></h1>\n\nIt wobbles.\n', "readme.md", "Wobbler"),
        ('# <img src="a.png" title="Wobbler" alt="The logo" width="9">\n\n## Why it wobbles\n', "README.md", "Wobbler"),
        ("<h1>Shop</h1>\n\n# The pump\n\n## Oil\n", "README.md", "The pump"),
        ("<h1>Shop</h1>\n\n## Oil\n\n## Water\n", "pump.md", "Pump"),
    ],
)
def test_a_readme_is_called_as_its_heading_of_html_or_its_picture_is(
    parse: Parse, text: str, name: str, title: str
) -> None:
    doc = parse(text, f"acme/wobble/{name}")
    assert (doc.title, doc.title_in_text) == (title, name != "pump.md")


def test_badges_are_no_summary_and_pictures_in_sentences_are_named(parse: Parse) -> None:
    badges = "[![npm version](https://a/b.svg)](https://a) [![Build Status][ci]][ci-url]\n![The code style](c.svg)"
    doc = parse(f"# Wobbler\n{badges}\n\n![A picture of it](d.png)\n\nPress ![the gear](e.png) to make it wobble.\n")
    assert doc.summary == "Press the gear to make it wobble."


def test_what_hugo_highlights_is_code(parse: Parse) -> None:
    opening = '{{< highlight yaml "linenos=false" >}}'
    text = f"Deny all:\n\n{opening}\n# Deny everything\n- name: pump\n{{{{< /highlight >}}}}\n\nEnd.\n"
    doc = parse(text)
    assert not doc.headings
    assert [doc.text[block.start : block.end] for block in doc.blocks if block.kind == "fence"] == [
        "# Deny everything\n- name: pump"
    ]
    assert [doc.text[span.start : span.end] for span in doc.excluded] == [opening, "{{< /highlight >}}"]
    unclosed = parse("{{% highlight sh %}}\n\n# A heading\n\n{{< highlight >}}\n{{< /highlight >}}\n")
    assert [heading.text for heading in unclosed.headings] == ["A heading"]
    on_one_line = parse(f"{opening}name: pump{{{{< /highlight >}}}}\n\n# A heading\n\n{text}")
    assert [heading.text for heading in on_one_line.headings] == ["A heading"]


def test_tabs_of_hugo_that_show_code_hold_no_headings(parse: Parse) -> None:
    doc = parse('## Next\n\n{{< tab name="A" codelang="sh" >}}\n# copy\n{{< /tab >}}\n')
    assert [heading.text for heading in doc.headings] == ["Next"]
    assert [doc.text[block.start : block.end] for block in doc.blocks if block.kind == "fence"] == ["# copy"]
    hidden = {place for span in doc.excluded for place in range(span.start, span.end)}
    shown = "".join(char for place, char in enumerate(doc.text) if place not in hidden)
    assert shown.split() == ["##", "Next", "A", "#", "copy"]


@pytest.mark.parametrize(
    ("pane", "tab", "body"),
    [
        ("{{< tabpane text=true >}}", '{{< tab header="A" >}}', "# Heading"),
        ("{{< tabpane >}}", '{{< tab header="A" text=true >}}', "# Heading"),
        ("{{< tabpane >}}", '{{% tab header="A" %}}', "# Heading"),
        ("{{< tabs >}}", '{{< tab "A" >}}', "# Heading"),
        ("{{< tabpane >}}", '{{< tab "A" >}}', "# Heading\n\n```sh\n# code\n```"),
        ("{{< tabpane >}}\n{{< /tabpane >}}", '{{< tab "A" >}}', "# Heading"),
    ],
)
def test_tabs_of_hugo_that_show_text_keep_their_headings(parse: Parse, pane: str, tab: str, body: str) -> None:
    doc = parse(f"{pane}\n{tab}\n\n{body}\n\n{tab[:3]} /tab {tab[-3:]}\n")
    assert [heading.text for heading in doc.headings] == ["Heading"]


TABLE = "| Pump | Oil |\n|---|---|\n| A1 | red |\n"


@pytest.mark.parametrize(
    ("above", "indent", "below"),
    [
        ("!!! note\n", 4, "\nAfter.\n"),
        ('!!! note "Title"\n\n    Words.\n\n', 4, "\n    More words.\n\nAfter.\n"),
        ('=== "Tab"\n\n    !!! tip\n\n', 8, "\n    Words.\n"),
        ("- item\n\n    ??? note\n        Words\n\n", 8, "\n    More of the item.\n\n- item\n"),
        ("[^1]: Of pumps:\n\n", 4, ""),
    ],
)
def test_a_table_in_a_note_is_a_table(parse: Parse, above: str, indent: int, below: str) -> None:
    rows = "".join(f"{' ' * indent}{row}\n" for row in TABLE.splitlines())
    doc = parse(f"{above}{rows}{below}")
    (table,) = (block for block in doc.blocks if block.kind == "table")
    assert doc.text[table.start : table.end] == rows.rstrip("\n")
    assert doc.text[table.start : table.header_end].endswith("|---|---|")
    around = [doc.text[block.start : block.end].strip() for block in doc.blocks if block.kind != "table"]
    assert " ".join(" ".join(around).split()) == " ".join(f"{above} {below}".split())


@pytest.mark.parametrize(
    "text",
    [
        "Words.\n\n    | a | b |\n    |---|---|\n",
        "!!! note\n    ```\n    | a | b |\n    |---|---|\n    ```\n",
        "!!! note\n    | a | b |\n    |---|\n",
        "- item\n\n    !!! note\n\n- item\n\n        | a | b |\n        |---|---|\n",
    ],
)
def test_rows_in_code_and_rows_with_no_rule_are_no_table(parse: Parse, text: str) -> None:
    assert "table" not in {block.kind for block in parse(text).blocks}


def test_of_a_myst_directive_the_body_is_text_unless_it_is_code(parse: Parse) -> None:
    text = (
        "# Page\n\n````{admonition} Mind *this*\n:class: hidden\n\nThe [pump](a.md).\n\n```python\n# code\n```\n\n"
        "- one\n````\n\n- item\n\n  ```{warning}\n  Beware.\n  ```\n\n```{grid} 1 2\n## Inside\n```\n\n"
        ":::{tip}\n:open:\nWords\n:::\n\n"
        "```{code-block} sh\n:linenos:\n# more code\n```\n\n```{note}\nunclosed\n"
    )
    doc = parse(text)
    assert [heading.text for heading in doc.headings] == ["Page", "Inside"]
    assert [link.target for link in doc.links] == ["a.md"]
    fences = [text[block.start : block.end].split("\n")[0] for block in doc.blocks if block.kind == "fence"]
    assert fences == ["```python", "```{code-block} sh", "```{note}"]
    hidden = {place for span in doc.excluded for place in range(span.start, span.end)}
    shown = " ".join("".join(char for place, char in enumerate(text) if place not in hidden).split())
    assert shown.startswith(
        "# Page Mind *this* The [pump](a.md). ```python # code ``` - one - item Beware. ## Inside Words"
    )
    assert ":linenos:" in shown


def test_what_a_note_or_a_tab_of_mkdocs_holds_is_text_and_what_else_is_indented_is_code(parse: Parse) -> None:
    doc = parse(
        '??? "Why it is so slow"\n\n    The pump is cold.\n\n    ```sh\n    heat\n    ```\n\n'
        '=== "Linux"\n\n    Wait a while.\n\nSo:\n\n    code\n'
    )
    kinds = [(block.kind, doc.text[block.start : block.end].split("\n")[0].strip()) for block in doc.blocks]
    assert ("paragraph", "The pump is cold.") in kinds
    assert ("fence", "```sh") in kinds
    assert ("paragraph", "Wait a while.") in kinds
    assert ("other", "code") in kinds
    assert doc.summary.startswith("Why it is so slow The pump is cold.")


@pytest.mark.parametrize(
    "text",
    [
        "$$\n" + "=\n" * 50_000,
        "```{note}\n" * 20_000 + "```\n",
        "{{< tabpane >}}\n" + "{{< tab >}}\n" * 20_000,
        "{{< tabpane >}}\n" + "{{< tab >}}\n" * 20_000 + "```\n{{< /tab >}}",
        "```{a}\n" + ":b: c\n" * 20_000,
        "[" * 50_000,
        "<!--" * 20_000,
        "{{<" * 20_000,
        "{{< highlight a >}}\n" * 20_000,
        "`" * 50_000,
        "](" * 30_000,
        "*_" * 30_000,
        "[a](" * 20_000,
        "[[a]" * 20_000,
        "[[a#" * 20_000,
        "[[" + "a#" * 30_000,
        "<!--\n" * 20_000,
        "|" * 50_000,
        "{{< comment >}}" * 9_000,
        "- " * 90_000 + "\n- a\n# b\n" * 9_000,
    ],
)
@pytest.mark.no_cover
def test_hostile_repetition_takes_linear_time(parse: Parse, text: str) -> None:
    started = time.process_time()
    parse(text)
    parse("# " + text[:5000])
    assert time.process_time() - started < 5
