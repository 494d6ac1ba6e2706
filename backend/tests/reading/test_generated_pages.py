"""Pages that generators of documentation write: what is proved here.

* What follows the first words of an item stands under them, however many paragraphs it has.
* Lists of links to a page's own headings are no text, nor arrows to its neighbours; links in sentences and tables are.
"""

from __future__ import annotations

import time

import pytest

from .conftest import Parse


def test_all_that_follows_the_first_words_of_an_item_stands_under_them(parse: Parse) -> None:
    item = "<li>Turns it.<dl><dt>Parameters:</dt><dd>speed - in turns</dd><dt>Returns:</dt><dd>the heat</dd></dl></li>"
    assert parse(f"<ul>{item}<li>Stops it.</li></ul>", "acme/auth/pump.html").text == (
        "- Turns it.\n  Parameters:\n  speed - in turns\n  Returns:\n  the heat\n- Stops it."
    )


PARTS = "<h2>Oil</h2><p>Black.</p><h2>Air</h2><p>Clean.</p><h2>Oil</h2><p>Again.</p>"


@pytest.mark.parametrize(
    "contents",
    [
        '<ul id="parts"><li><a href="#o">Oil</a><ul><li><a href="#a">Air</a></li></ul></li></ul>',
        '<a href="#o">Oil</a><br>\n<a href="#a">Air</a><br>',
        '<div><a href="all">All</a> | <a href="#o">Oil</a> | <a href="#a">Air</a></div>',
        '<ol><li>1. <a href="#o">Oil</a></li><li>2. <a href="#a">Air</a></li></ol>',
    ],
)
def test_links_to_the_headings_of_a_page_are_no_text(parse: Parse, contents: str) -> None:
    doc = parse(f"<h1>Pump</h1>{contents}{PARTS}", "acme/auth/pump.html")
    assert doc.text == "# Pump\n\n## Oil\n\nBlack.\n\n## Air\n\nClean.\n\n## Oil\n\nAgain."


@pytest.mark.parametrize(
    ("words", "kept"),
    [
        ('<p>It needs <a href="#o">Oil</a> and <a href="#a">Air</a> of good quality.</p>', "It needs Oil and Air of"),
        ('<table><tr><td><a href="#o">Oil</a></td><td><a href="#a">Air</a></td></tr></table>', "| Oil | Air |"),
        ('<ul><li><a href="#o">Oil</a></li></ul>', "- Oil"),
        ('<ul><li><a href="o.html">Oil</a></li><li><a href="a.html">Air</a></li></ul>', "- Oil\n- Air"),
        ('<a href="#o"><h2>Oil</h2></a>', "## Oil"),
        ('<p>Alias for: <a href="#shl">&lt;&lt;</a></p>', "Alias for: <<"),
    ],
)
def test_links_to_headings_in_sentences_and_tables_and_single_ones_are_text(
    parse: Parse, words: str, kept: str
) -> None:
    assert kept in parse(f"<h1>Pump</h1>{words}{PARTS}", "acme/auth/pump.html").text


def test_arrows_in_brackets_lead_to_the_pages_around_one(parse: Parse) -> None:
    cells = "".join(f'<td>[<a href="{to}.html">{words}</a>]</td>' for to, words in (("a", " &lt; "), ("t", "Top")))
    bar = f"<table><tr>{cells}<td> &nbsp; </td></tr></table>"
    assert parse(f"{bar}<h1>Pump</h1><p>It turns.</p>{bar}", "acme/auth/pump.html").text == "# Pump\n\nIt turns."


@pytest.mark.no_cover
def test_however_many_links_lead_to_headings_each_costs_the_same(parse: Parse) -> None:
    links = "".join(f'<div><p><a href="#{n}">{n}</a> and so on and on</p>' for n in range(5_000))
    heads = "".join(f"<h2>{n}</h2>" for n in range(5_000))
    started = time.thread_time()
    parse(f"<div>{links}{heads}</div>", "acme/auth/pump.html")
    assert time.thread_time() - started < 5
