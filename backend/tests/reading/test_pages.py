"""AsciiDoc and web pages: what is proved here.

* A title of two lines is told from block attributes, block titles and delimiters; delimiters stand alone.
* Boxes of the text are kept, boxes of links around it are not, whatever both are called; a page made by AsciiDoc keeps
  its title, purpose and footnotes.
"""

from __future__ import annotations

import time

import pytest

from librarian.vocabulary.types import Document

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
