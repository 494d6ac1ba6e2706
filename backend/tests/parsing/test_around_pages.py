"""What stands around the text of a web page: what is proved here.

* Links to neighbours are told by their relations and keys, wherever they stand; links in sentences are text.
* A site's name above a page's title is neither its title nor part of its text.
* A page that sends its readers on holds nothing to be found.
* What stands above the title is no summary, and a title isn't a tag; a note's title is no heading.
"""

from __future__ import annotations

import time

import pytest

from librarian.parsing.chunking import StructureChunker

from .conftest import Parse

TEXT = "<p>A pump moves water through the house, see <a rel='next' href='b'>what follows</a> for the valves of it.</p>"


def page(title: str, body: str, head: str = "") -> str:
    return f"<html><head><title>{title}</title>{head}</head><body>{body}</body></html>"


@pytest.mark.parametrize(
    "links",
    [
        'Next: <a href="b" accesskey="n" rel="next">The valve</a>, Previous: <a href="a" rel="prev">Oil</a> '
        '&nbsp; [<a href="c" rel="contents">Contents</a>][<a href="i" rel="index">Index</a>]',
        '<table><tr><td>[<a href="a" accesskey="p"> &lt; Oil </a>]</td><td>[<a href="u">Up: Oil</a>]</td></tr></table>',
        '<p><span>Languages: </span><a href="de" hreflang="de" rel="alternate">de</a> | '
        '<a href="fr" hreflang="fr" rel="alternate">fr</a></p>',
        '<div><a href="a" accesskey="P">previous</a> | <a href="b" accesskey="N">next</a> | <a href="s">All</a></div>',
        '<a class="previous_page" href="a">&lt;-previous</a><a class="next_page" href="b">next-&gt;</a>',
        '<div id="path"><a href="/">Shop</a> &gt; <a href="/parts">Parts</a></div>',
    ],
)
def test_links_to_the_pages_around_one_are_no_text_and_links_in_a_sentence_are(parse: Parse, links: str) -> None:
    box = f"<div class='header'>{links}</div>"
    doc = parse(page("Pump", f"{box}<h2>The pump</h2>{TEXT}{box}"), "a/b/c.html")
    assert doc.text == ("## The pump\n\nA pump moves water through the house, see what follows for the valves of it.")


@pytest.mark.parametrize("name", ["<h1><a href='../index.html'>Shop 3.2 manual</a></h1>", "<h1>Shop 3.2 manual</h1>"])
def test_a_sites_name_is_not_the_title_of_its_pages(parse: Parse, name: str) -> None:
    head = f"<div id='hd'>{name}<div><a href='/'>Home</a> | <a href='/all'>All</a></div></div>"
    doc = parse(
        page("The pump &#8212; Shop 3.2 manual", f"{head}<h1>The pump<a href='#p'>¶</a></h1>{TEXT}"), "a/b/c.html"
    )
    assert doc.title == "The pump"
    assert [heading.text for heading in doc.headings] == ["The pump"]
    assert doc.text.startswith("# The pump\n\nA pump")


def test_titles_that_no_others_stand_above_stay(parse: Parse) -> None:
    doc = parse(page("Shop 3.2 manual", f"<h1><a href='a'>Shop 3.2 manual</a></h1>{TEXT}<h1>Parts</h1>"), "a/b/c.html")
    assert [heading.text for heading in doc.headings] == ["Shop 3.2 manual", "Parts"]
    doc = parse(page("Parts of the pump", f"<h1>The pump</h1>{TEXT}<h1>Oil</h1>"), "a/b/c.html")
    assert [heading.text for heading in doc.headings] == ["The pump", "Oil"]


def test_what_stands_below_a_note_is_not_of_the_note(parse: Parse) -> None:
    note = '<div class="note"><h3 class="title">Note</h3><p>It is hot.</p></div>'
    doc = parse(page("", f"<h1>Pump</h1>{TEXT}<h2>Oil</h2>{note}<p>Change it in spring.</p>"), "a/b/c.html")
    assert [heading.text for heading in doc.headings] == ["Pump", "Oil"]
    assert doc.text.endswith("## Oil\n\nNote\n\nIt is hot.\n\nChange it in spring.")


def test_a_main_text_may_be_far_shorter_than_what_stands_around_it(parse: Parse) -> None:
    around = "".join(f"<p><a href='{number}'>Page number {number} of the manual</a></p>" for number in range(90))
    body = f"<div role='main'><h1>pump_t</h1><p>A struct.</p></div><div class='bar'>{around}</div>"
    assert parse(page("pump_t", body), "a/b/c.html").text == "# pump_t\n\nA struct."


@pytest.mark.parametrize(
    ("refresh", "found"),
    [("0; url=parts.html#pump", False), ("5;URL='parts.html'", False), ("0", True), ("300; url=x.html", True)],
)
def test_a_page_that_only_sends_its_readers_on_is_not_found(parse: Parse, refresh: str, found: bool) -> None:
    head = f'<meta http-equiv="Refresh" content="{refresh}">'
    doc = parse(page("Pump (Parts)", "<p>The node you are looking for is at Pump.</p>", head), "a/b/c.html")
    assert bool(StructureChunker().chunk(doc)) == found
    assert doc.text == "The node you are looking for is at Pump."


def test_a_motto_above_the_title_is_no_summary_and_a_title_no_tag(parse: Parse) -> None:
    head = '<meta name="keywords" content="The pump (Shop 3.2, parts)">'
    doc = parse(
        page("The pump (Shop 3.2, parts)", f"<p>Small parts, great prices.</p><h1>The pump</h1>{TEXT}", head),
        "a/b/c.html",
    )
    assert doc.summary.startswith("A pump moves")
    assert doc.tags == ()
    assert parse(page("Pump", TEXT, '<meta name="keywords" content="pump, oil">'), "a/b/c.html").tags == ("pump", "oil")


@pytest.mark.no_cover
def test_however_many_links_lead_to_neighbours_each_costs_the_same(parse: Parse) -> None:
    boxes = "<div>" * 40 + "<a rel='next' href='x'>next</a> | " * 20_000
    started = time.process_time()
    parse(boxes, "a/b/c.html")
    assert time.process_time() - started < 5
