"""AsciiDoc and web pages: what is proved here.

* A title of two lines is told from block attributes, block titles and delimiters; delimiters stand alone.
* Boxes of the text are kept, boxes of links around it are not, whatever both are called; a page made by AsciiDoc keeps
  its title, purpose and footnotes.
"""

from __future__ import annotations

import time

import pytest

from librarian.models import Document

from .conftest import Parse


def heads(doc: Document) -> list[tuple[int, str]]:
    return [(head.level, head.text) for head in doc.headings]


def fences(doc: Document) -> list[str]:
    return [doc.text[block.start : block.end] for block in doc.blocks if block.kind == "fence"]


@pytest.mark.parametrize("above", ["[NOTE]", "[[here]]", ".Tips", "[quote, Ann]", "// remark", ":name: x"])
def test_what_stands_above_a_delimiter_is_no_title(parse: Parse, above: str) -> None:
    for rule in ("=" * len(above), "====", "-" * len(above)):
        doc = parse(f"= Guide\n\n{above}\n{rule}\nWords inside.\n{rule}\n\n== Next\n\nWords below.\n", "a/b/c.adoc")
        assert heads(doc) == [(1, "Guide"), (2, "Next")], rule


def test_code_under_a_name_or_a_short_line_stays_code(parse: Parse) -> None:
    code = "----\n<dependency>\n----"
    doc = parse(f"= Setup\n\n.Maven\n{code}\n\nThen build.\n\nOutput:\n{code}\n\n== Run\n\nGo.\n", "a/b/c.adoc")
    assert heads(doc) == [(1, "Setup"), (2, "Run")]
    assert fences(doc) == [code, code]


def test_delimiters_stand_alone(parse: Parse) -> None:
    doc = parse("= T\n\n.... deep item\n---- no rule\n\n```sh\nls\n```\n\n== Next\n", "a/b/c.adoc")
    assert heads(doc) == [(1, "T"), (2, "Next")]
    assert fences(doc) == ["```sh\nls\n```"]


def test_two_line_titles_may_be_short(parse: Parse) -> None:
    doc = parse("GIT\n===\n\nUse it\n------\n\nWords.\n\nLong line of words\n----\ncode\n----\n", "a/b/c.adoc")
    assert heads(doc) == [(1, "GIT"), (2, "Use it")]
    assert fences(doc) == ["----\ncode\n----"]


@pytest.mark.parametrize("inside", ['<div role="main">{}</div>', "<main>{}</main>", "{}"])
def test_boxes_of_a_text_are_kept_and_boxes_of_links_are_not(parse: Parse, inside: str) -> None:
    text = (
        "<h1>Login</h1><p>Keys are safer than passwords, and quicker to use every day.</p>"
        '<div class="sidebar"><p>CULTURE</p><p>Telnet sends a ptarmigan in clear, see <a href="t">Telnet</a>.</p></div>'
        '<aside class="sidebar"><p>Tip: a plover.</p></aside><div class="related">Compare the heron.</div>'
        '<div class="sidebar"><h4>Pages</h4><ul><li><a href="a">First albatross</a></li>'
        '<li><a href="b">Second albatross</a></li></ul></div>'
    )
    page = parse(f"<html><body>{inside.format(text)}</body></html>", "a/b/c.html").text
    for kept in ("CULTURE", "ptarmigan", "plover", "heron"):
        assert kept in page
    assert "albatross" not in page


@pytest.mark.no_cover
def test_boxes_in_boxes_cost_no_more_than_they_hold(parse: Parse) -> None:
    page = '<div class="sidebar">word <i>word</i>' * 250 + "<p>x <a>y</a></p>" * 20_000
    began = time.thread_time()
    assert "word" in parse(page, "a/b/c.html").text
    assert time.thread_time() - began < 5


MANUAL = """<html><head><title>wombat(1)</title></head><body class="manpage">
<div id="header"><h1>wombat(1) Manual Page</h1>
<div id="toc"><a href="#a">Contents</a></div><h2>NAME</h2><p>wombat - digs tunnels</p></div>
<div id="content"><h2>SYNOPSIS</h2><p>Run it with a depth, a width and a direction of digging.</p></div>
<div id="footnotes"><p>1. Not below houses.</p></div><div id="footer">Last updated today</div></body></html>"""


def test_a_page_made_by_asciidoc_keeps_its_title_and_purpose(parse: Parse) -> None:
    doc = parse(MANUAL, "a/b/wombat.html")
    assert heads(doc) == [(1, "wombat(1) Manual Page"), (2, "NAME"), (2, "SYNOPSIS")]
    assert "digs tunnels" in doc.text
    assert "Not below houses" in doc.text
    assert "Contents" not in doc.text
    assert "Last updated" not in doc.text


def test_the_head_of_any_other_page_stays_outside(parse: Parse) -> None:
    doc = parse(MANUAL.replace("manpage", "site"), "a/b/wombat.html")
    assert heads(doc) == [(2, "SYNOPSIS")]


DOXYGEN = """<html><head><title>Acme: node.c File Reference</title></head><body>
<div id="top"><div id="titlearea"><table><tr><td id="projectalign">Acme 1.2</td></tr></table></div>
<div id="navrow1" class="tabs"><ul class="tablist"><li><a href="i.html">Main Page</a></li></ul></div></div>
<div class="header"><div class="headertitle"><div class="title">node.c File Reference<div class="ingroups">
<a href="g.html">Nodes</a></div></div></div></div>
<div class="contents"><p>Numbers of nodes.</p><div class="fragment">
<div class="line"><a id="l1"></a><span class="lineno">    1</span><span>#include</span> &lt;node.h&gt;</div>
<div class="line"><span class="lineno">    2</span>int f() {</div><div class="line">  return 1;</div>
<div class="line">}</div></div><!-- fragment -->
<p>After.</p></div><div class="ttc" id="x"><div class="ttdef">Definition node.h:8</div></div>
<div id="nav-path" class="navpath"><ul><li>src</li></ul></div></body></html>"""


def test_a_page_made_by_doxygen_has_its_title_and_its_code_in_lines(parse: Parse) -> None:
    doc = parse(DOXYGEN, "acme/auth/node_8c.html")
    assert doc.text == (
        "# node.c File Reference\n\nNumbers of nodes.\n\n"
        "```\n#include <node.h>\nint f() {\n  return 1;\n}\n```\n\nAfter."
    )
    assert doc.title == "node.c File Reference"


def test_the_bars_above_and_below_a_page_made_by_javadoc_are_left_out(parse: Parse) -> None:
    bar = '<div class="{}Nav"><ul><li>Overview</li></ul></div><div class="subNav"><ul><li>Nested</li></ul></div>'
    page = f"{bar.format('top')}<h2>Class Node</h2><p>A node.</p>{bar.format('bottom')}"
    assert parse(page, "acme/auth/Node.html").text == "## Class Node\n\nA node."


def test_rows_that_begin_with_their_name_are_no_columns(parse: Parse) -> None:
    long = "where it stands, " * 20
    page = (
        f"<table><tr><th>Parameters:</th><td>a : int, {long}</td></tr><tr><th>Returns:</th><td>int</td></tr>"
        "<tr><th>Raises</th><td></td></tr></table>"
    )
    assert parse(page, "acme/auth/f.html").text == f"- Parameters: a : int, {long.strip()}\n- Returns: int\n- Raises"


def test_a_cell_that_reaches_over_rows_keeps_the_others_under_their_columns(parse: Parse) -> None:
    page = (
        "<table><tr><th>system</th><th>port</th><th>use</th></tr>"
        '<tr><td rowspan="2">linux</td><td>22</td><td rowspan="3">remote</td></tr><tr><td>23</td></tr>'
        "<tr><td>mac</td><td>24</td></tr><tr><td>other</td><td>25</td><td>none</td></tr></table>"
    )
    assert parse(page, "acme/auth/ports.html").text == (
        "| system | port | use |\n| --- | --- | --- |\n| linux | 22 | remote |\n|  | 23 |  |\n| mac | 24 |  |\n"
        "| other | 25 | none |"
    )


def test_a_page_of_frames_holds_no_advice_about_browsers(parse: Parse) -> None:
    frames = "<frameset><frame src=a.html><noframes><body>Use a browser.</body></noframes></frameset>"
    doc = parse(f"<html><head><title>Manual</title></head>{frames}</html>", "a/b/c.html")
    assert (doc.title, "browser" in doc.text) == ("Manual", False)


def test_front_matter_of_a_page_for_a_site_generator_tells_of_it_and_is_no_text(parse: Parse) -> None:
    head = (
        "---\ntitle: 'Convert: *formats*'\ntags: [a, b]\ndescription: It converts.\nlang: de\ndate: 2026-05-01\n---\n"
    )
    doc = parse(f"{head}{{% include top.html %}}<h1>Summary</h1><p>Use it at {{{{ x }}}}.</p>", "a/b/c.html")
    assert doc.text == "# Summary\n\nUse it at {{ x }}."
    assert (doc.title, doc.tags, doc.summary, doc.language) == ("Convert: formats", ("a", "b"), "It converts.", "de")
    assert doc.last_modified.startswith("2026-05-01")
    assert parse("--- <p>a rule</p> ---", "a/b/c.html").text == "---\n\na rule\n\n---"


def test_the_summary_of_a_page_begins_below_its_title_also_where_front_matter_gives_that(parse: Parse) -> None:
    page = "<p>All that a pump of ours can do.</p><h1>Setup</h1><p>Bolt the pump to its plate.</p>"
    assert parse(f"---\ntitle: Setup\n---\n{page}", "a/b/c.html").summary == "Bolt the pump to its plate."


def test_what_a_heading_links_to_itself_with_is_left_out(parse: Parse) -> None:
    link = '<a title="Permanent link" class="permalink" href="#a">&para;</a>'
    page = f'<h2><a id="a">Setup</a> {link}</h2><p>See <a href="#b">§ 5</a>.</p>'
    assert parse(page, "a/b/c.html").text == "## Setup\n\nSee § 5."
