"""Documents as safe HTML: Markdown, reStructuredText, AsciiDoc and what parsers wrote, with lines, links and marks."""

from __future__ import annotations

import time

import pytest
from lxml import html

from librarian.web import rendering
from librarian.web.rendering import form_of, snippet
from tests.api.fake_library import result
from tests.browser.asciidoc import SPARS
from tests.browser.library import FILES
from tests.browser.restructured import HOSTILE_RST, MAST
from tests.web.documents import address, answer, bare, rendered, texts, tree


@pytest.mark.parametrize(
    ("text", "markup"),
    [
        ("***ready*** and ***set** go*", "<em><strong>ready</strong></em> and <em><strong>set</strong> go</em>"),
        ("**R**ope **a**nd **K**not", "<strong>R</strong>ope <strong>a</strong>nd <strong>K</strong>not"),
        ("snake_case_name and _one_ __init__", "snake_case_name and <em>one</em> <strong>init</strong>"),
        ("f(*args, **options), 2 * 3 * 4", "f(*args, **options), 2 * 3 * 4"),
        ("costs \\$5 \\= 5\\%", "costs $5 = 5%"),
        ("Gr&ouml;&szlig;e &#8594; &foo;", "Größe → &amp;foo;"),
        ("[wow! ![a](b) !](c.md)", '<a href="./?doc=shop%2Flab%2Fc.md">wow! <span>a</span> !</a>'),
        ("~~gone~~ and <kbd>Esc</kbd>", "<s>gone</s> and <kbd>Esc</kbd>"),
        ("see https://example.org/x.", 'see <a href="https://example.org/x">https://example.org/x</a>.'),
    ],
)
def test_words_are_read_as_commonmark_says(text: str, markup: str) -> None:
    assert bare(text) == f"<p>{markup}</p>"


def test_what_a_link_names_elsewhere_is_found() -> None:
    text = "The [long\nknot], [![badge][picture]][status].\n\n[long knot]:\n  https://example.org/long\n"
    text += "[status]: https://example.org/status\n[picture]: http://example.org/p.png\n"
    assert bare(text) == (
        '<p>The <a href="https://example.org/long">long\nknot</a>, '
        '<a href="https://example.org/status"><span>badge</span></a>.</p>'
    )


def test_tables_of_markdown_and_html_are_tables() -> None:
    assert bare("Knots:\n\n| name | use |\n|---|---|\n| bowline | loop |") == (
        "<p>Knots:</p><div><table><thead><tr><th>name</th><th>use</th></tr></thead>"
        "<tbody><tr><td>bowline</td><td>loop</td></tr></tbody></table></div>"
    )
    root = tree(FILES["shop/lab/odd name.md"], lines=(9, 12))
    assert texts(root, "//tr") == ["FieldMeaning", "spritstring A spar x", "boombelow"]
    assert [one.tag for one in root.xpath("//*[contains(@class, 'chosen')]")] == ["tr"]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("<iframe src='a'></iframe>\n\nEnd.", "End."),
        ("An <svg width='3'><path/></svg> icon.", "An icon."),
        ("<!-- a note --> Behind\nit.", "Behind it."),
        ("<script>\nhidden\n\nhidden\n</script>\n\nEnd.", "End."),
        ("<style>p { color: red }</style>\n\nEnd.", "End."),
    ],
)
def test_tags_that_hold_nothing_to_read_take_nothing_else_with_them(text: str, shown: str) -> None:
    assert " ".join(tree(text).text_content().split()) == shown


def test_notes_of_site_generators_are_notes_with_their_lines() -> None:
    root = tree(FILES["shop/lab/notes.md"], lines=(8, 8))
    assert root.xpath("//*[*[@class='admonition-title']]/@data-line") == [
        *("3", "10", "15", "18", "24", "27", "33", "37", "40")
    ]
    assert texts(root, "//*[contains(@class, 'admonition-title')]") == [
        *("Mind the cable", "Tip", "Of colons", "Info", "Of slashes", "Note", "Note", "Important", "See also")
    ]
    assert texts(root, "//*[contains(@class, 'chosen')]") == ["Wait first."]
    assert texts(root, "./*")[-1] == "a === b and {{< skew currentVersion >}} stay."
    assert texts(root, "//*[@data-line='34']") == ["A pulley and a tackle block."]


def test_what_a_parser_wrote_is_shown_with_its_words_as_they_are() -> None:
    text = "# Hoist\n\nA List<Rope> of 2*3*4, see __init__.\n\n| rope | a\\|b |\n|---|---|\n| <b>thick</b> | 2 |\n"
    root = tree(text, "shop/lab/hoist.html")
    assert texts(root, "./p") == ["A List<Rope> of 2*3*4, see __init__."]
    assert texts(root, "//th | //td") == ["rope", "a|b", "<b>thick</b>", "2"]


def test_plain_text_has_headings_and_lines() -> None:
    from librarian.schemas import HeadingItem
    from librarian.web.rendering import plain

    title = HeadingItem(level=1, text="Dunning", line=1)
    markup = plain("Dunning\n=======\n\nFirst.\nSecond.", {1: title}, "prose")
    assert '<h1 data-line="1">Dunning</h1><pre class="prose">' in markup
    assert '<span data-line="4">First.\n</span><span data-line="5">Second.\n</span></pre>' in markup
    assert "===" not in markup


def test_a_files_name_tells_how_it_is_read() -> None:
    names = ["a.md", "a.Rmd", "a.qmd", "a.rst", "a.rst.txt", "a.adoc", "a.asc", "a.docx", "a.py", "a.txt"]
    forms = [*["markdown"] * 3, *["restructured"] * 2, *["asciidoc"] * 2, "written", "code", "text"]
    assert [form_of(name) for name in names] == forms
    assert form_of("rope.txt", text=".. note:: Keep it dry.\n") == "restructured"


@pytest.mark.parametrize(
    ("path", "text", "shown"),
    [
        ("a.md", "## Top\n\nA **bold** [link](x.md), <b>b</b>\n\n## Next\n\n- one", "A bold link, b Next: • one"),
        ("a.md", "| a | b |\n|---|---|\n| x \\| y | 2 |\n| z | |\n", "a: x | y · b: 2. a: z."),
        ("a.rst", "Top\n===\n\n.. note:: hi\n\n:func:`~x.y`, `text <http://a.b>`_ ``code`` **x**", "x.y, text code x"),
        ("a.rst", ".. toctree::", ""),
        ("a.adoc", "== Top\n\n|===\n|a |b\n\n|1 |2\n|===\n\nUse *y* link:http://x[go]", "a: 1 · b: 2. Use y go"),
        ("a.txt", "a <b> & *c*", "a &lt;b&gt; &amp; *c*"),
    ],
)  # fmt: skip
def test_a_snippet_reads_without_its_markup(path: str, text: str, shown: str) -> None:
    assert snippet(result(file_path=path, heading_path=["Top"], snippet=text, highlights=[])) == shown


def test_the_matches_of_a_snippet_are_marked() -> None:
    found = result(file_path="a.md", snippet="A **key** and `x`", highlights=[(4, 7)])
    assert snippet(found) == "A <mark>key</mark> and x"


# -- links and places


def test_links_lead_to_this_page_or_out_of_it() -> None:
    text = "[a](gauges/#calibration) [b](../guides/x.md) [c](/docs/lab/#l) [d](#own) [e](javascript:x) [f](../../../x) "
    text += "[[odd name]] [[gauges/_index#Limits|wiki]] [g](//evil.example/x) [h](mailto:a@example.org)"
    links = {one.text_content(): one.get("href") for one in tree(text).iter("a")}
    assert links == {
        "a": "./?doc=shop%2Flab%2Fgauges&section=calibration",
        "b": "./?doc=shop%2Fguides%2Fx.md",
        "c": "./?doc=%2Fdocs%2Flab%2F&section=l",
        "d": "./?doc=shop%2Flab%2Fx.md&section=own",
        "odd name": "./?doc=shop%2Flab%2Fodd+name",
        "wiki": "./?doc=shop%2Flab%2Fgauges%2F_index&section=Limits",
        "h": "mailto:a@example.org",
    }


@pytest.mark.parametrize(
    ("section", "text"), [("two", "Two"), ("Own", "Named"), ("L7", "Two"), ("two_words", "Two words"), ("place", "")]
)
def test_a_section_is_found_by_its_anchor_its_own_id_or_a_line(section: str, text: str) -> None:
    document = "# One\n\n## Named {#own}\n\nx <a name='place'></a>\n\n## Two\n\n## Two words\n"
    assert texts(tree(document, section=section), "//*[@id='s-passage']") == [text]


def test_ids_of_a_document_do_not_reach_the_page() -> None:
    text = "<p id='query'>a</p>\n\n<p id='query'>b</p>\n\n<p id='s-passage'>c</p>\n"
    assert tree(text).xpath("//@id") == []
    assert texts(tree(text, section="query"), "//*[@id]") == ["a"]


def test_lines_of_a_later_part_are_counted_from_its_first_one() -> None:
    part = answer("One.\n\n```python\nx\n```\n\n- two\n").model_copy(update={"line_start": 41, "line_end": 48})
    markup, found = rendering.document(part, address, (43, 45))
    root = html.fragment_fromstring(str(markup), create_parent="div")
    assert root.xpath("./*/@data-line") == ["41", "43", "47"]
    assert found
    assert texts(root, "//*[contains(@class, 'chosen')]") == ["pythonx"]


def test_words_are_marked_in_the_passage_alone() -> None:
    root = tree("First token.\n\nA **token** and `token`, tokens.\n", lines=(3, 3), words=["token"])
    assert texts(root, "//mark") == ["token", "token"]


def test_a_passage_in_a_long_list_is_its_items() -> None:
    root = tree("".join(f"- item {n}\n" for n in range(1, 50)), lines=(10, 11))
    assert texts(root, "//*[contains(@class, 'chosen')]") == ["item 10", "item 11"]


# -- reStructuredText


def test_restructured_text_is_shown_as_docutils_and_sphinx_would() -> None:
    root = tree(MAST, "shop/lab/mast.rst")
    blocks = [
        (one.get("class") or one.tag, int(one.get("data-line") or 0), " ".join(one.text_content().split()))
        for one in root
    ]
    shown = [block for block in blocks if block[2]]
    assert shown[1:4] == [
        ("title-1", 7, "Mast"),
        (
            "p", 9, "A mast is stepped on the keel; see step, the spars, rope, the gauges, the-mast, elsewhere, PEP 8,"
            " H2O, the boom and stays [1] [2]. It is hoisted so:",
        ),
        ("code", 13, "hoist(mast) then(boom)"),
    ]  # fmt: skip
    assert shown[4:] == [
        ("ul", 22, "light spruce fir strong"),
        ("loweralpha", 28, "first again second"),
        ("dl", 34, "peakangle The upper end. throat The lower end."),
        ("dl", 39, "Height: nine metres Weight: none"),
        ("dl", 42, "-v, --verbose says more"),
        ("code", 44, ">>> step() True"),
        ("div", 47, "Two lines of verse"),
        ("title-2", 51, "The spars"),
        ("admonition", 53, "Warning Never alone. ask"),
        ("admonition", 57, "Changed in version 2.1 It bends."),
        ("admonition", 59, "Of ropes Wet ones shrink."),
        ("code", 63, "step.py · pythonstep(1 < 2)"),
        ("object", 68, "step(mast) step(mast, keel) Steps it. param mast: what is stepped"),
        ("object", 76, "by hand Unknown, but shown."),
        ("table", 81, "Spar Use gaff peak sail boom foot clew"),
        ("table", 90, "Rope Metres main 40 spare jib 30"),
        ("table", 98, "Blocks Name Sheaves tack 2"),
        ("table", 106, 'Knot Turns, all hitch two "half" ones'),
        ("figure", 111, "A mast, stepped On the keel."),
        ("div", 116, "More gauges/index Far"),
        ("div", 122, "[1] Of steel. [2] Of rope."),
        ("code", 0, "+-----+ | torn"),
    ]
    assert texts(root, "./p//em | ./p//strong") == ["mast", "stepped", "boom"]
    assert texts(root, "./p//code | ./p//sub") == ["keel", "step", "2"]


def test_links_of_restructured_text_lead_to_places_and_pages() -> None:
    links = [(one.text_content(), one.get("href")) for one in tree(MAST, "shop/lab/mast.rst").iter("a")]
    base = "./?doc=shop%2Flab%2F"
    assert [link for link in links if not link[0].startswith("[")] == [
        ("the spars", f"{base}mast.rst&section=the-spars"),
        ("rope", "https://example.org/rope"),
        ("the gauges", f"{base}gauges%2Findex.rst"),
        ("the-mast", f"{base}mast.rst&section=the-mast"),
        ("PEP 8", "https://peps.python.org/pep-0008"),
        ("stays", "https://example.org/stays"),
        ("gauges/index", f"{base}gauges%2Findex.rst"),
        ("Far", "https://example.org/far"),
    ]


@pytest.mark.parametrize(
    ("lines", "chosen"),
    [((95, 95), ["jib 30"]), ((36, 37), ["throat", "The lower end."]), ((25, 26), ["fir", "strong"])],
)
def test_a_passage_inside_is_marked(lines: tuple[int, int], chosen: list[str]) -> None:
    assert texts(tree(MAST, "shop/lab/mast.rst", lines=lines), "//*[contains(@class, 'chosen')]") == chosen


def test_a_hostile_one_is_shown_as_text() -> None:
    root = tree(HOSTILE_RST, "security/notes/hostile.rst")
    assert not list(root.iter("img", "script", "iframe", "svg", "style", "object"))
    assert all(one.get("href").startswith("./?doc=security%2Fnotes%2Fhostile.rst") for one in root.iter("a"))
    assert texts(root, "//pre")[0].startswith("<script>window.harmed = 'raw'</script>")
    assert "(Included file not found: /etc/passwd)" in root.text_content()


# -- AsciiDoc


def test_asciidoc_is_shown_with_the_lines_of_each_block() -> None:
    root = tree(SPARS, "shop/lab/spars.adoc", lines=(51, 52))
    blocks = [(one.get("class") or one.tag, int(one.get("data-line"))) for one in root if one.get("data-line")]
    assert blocks == [
        *(("title-1", 1), ("p", 2), ("p", 6), ("title-2", 11), ("admonition", 13), ("code", 17)),
        *(("ol", 20), ("ul", 24), ("admonition", 40), ("table", 47), ("blockquote", 58)),
        *(("code", 62), ("p", 64), ("p", 66), ("code", 68), ("title-2", 72), ("p", 74)),
    ]
    assert texts(root, "./p[@data-line]")[1] == (
        "A spar of oak with bolts, “quoted”, H2O, {unknown}, rope, limits, The boom and Rigging."
        " Next line. https://example.org/bare."
    )
    assert texts(root, "//strong | //em") == ["spar", "oak", "alone"]
    assert texts(root, "//ul/li/ul/li/ol/li") == ["one", "two Attached."]
    assert texts(root, "//*[@class='admonition-title']") == ["Note", "Steps", "Wet ones", "Blocks"]
    assert texts(root, "//thead//th | //td//li | //td[@colspan=2]") == [
        *("Name", "Sheaves", "two", "three", "both | bars")
    ]
    assert texts(root, "//*[contains(@class, 'chosen')]") == ["two three"]
    assert texts(root, "//*[@class='picture']") == ["A boom, rigged"]
    assert texts(root, "//*[@class='dead']") == ["bad"]


def test_links_of_asciidoc_lead_to_places_and_pages() -> None:
    links = [(one.text_content(), one.get("href")) for one in tree(SPARS, "shop/lab/spars.adoc").iter("a")]
    base = "./?doc=shop%2Flab%2F"
    assert links == [
        ("rope", "https://example.org/rope"),
        ("limits", f"{base}masts.adoc&section=limits"),
        ("The boom", f"{base}spars.adoc&section=boom"),
        ("Rigging", f"{base}spars.adoc&section=Rigging"),
        ("https://example.org/bare", "https://example.org/bare"),
    ]


@pytest.mark.parametrize("path", ["a.md", "a.adoc", "a.rst", "a.html", "a.txt"])
@pytest.mark.parametrize(
    "piece",
    ["*a ", "[", "`", "_x_ ", "<b>", "- x\n", "|", "> ", ":::", "http://", "![", "{{< ", "+", "#", "link:a[", "\n\n* "],
)
def test_repeated_signs_cost_no_more_than_their_length(path: str, piece: str) -> None:
    def seconds(count: int) -> float:
        start = time.thread_time()
        rendered(piece * count, f"shop/lab/{path}")
        return time.thread_time() - start

    seconds(10)
    count = 8000 // len(piece)
    assert min(seconds(count) for _ in range(2)) < 2.5
