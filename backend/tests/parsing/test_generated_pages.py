"""Pages that generators of documentation write: what is proved here.

* What follows the first words of an item stands under them, however many paragraphs it has.
* A page's title is its own: not its site's, not the first of its parts, and without its site's name behind it.
* Logos and numbers of a notebook's cells are not found.
* What is shown around code, or only to one who searches, is no text.
* Frames around text are no tables.
"""

from __future__ import annotations

import pytest

from .conftest import Parse


def test_all_that_follows_the_first_words_of_an_item_stands_under_them(parse: Parse) -> None:
    item = "<li>Turns it.<dl><dt>Parameters:</dt><dd>speed - in turns</dd><dt>Returns:</dt><dd>the heat</dd></dl></li>"
    assert parse(f"<ul>{item}<li>Stops it.</li></ul>", "acme/auth/pump.html").text == (
        "- Turns it.\n  Parameters:\n  speed - in turns\n  Returns:\n  the heat\n- Stops it."
    )


@pytest.mark.parametrize("title", ["The pump | Shop 3.2 manual", "The pump"])
def test_a_sites_name_may_stand_above_a_title_of_the_second_level(parse: Parse, title: str) -> None:
    doc = parse(
        f"<title>{title}</title><h1>Shop 3.2 manual</h1><h2>The pump<a href='#p'>#</a></h2><p>It turns.</p>",
        "acme/auth/p.html",
    )
    assert (doc.title, doc.text) == ("The pump", "## The pump\n\nIt turns.")


def test_a_heading_above_the_others_stays_where_the_title_is_its_own(parse: Parse) -> None:
    for title in ("Pumps", "Pumps and oil", ""):
        doc = parse(f"<title>{title}</title><h1>Pumps</h1><h2>Oil</h2><p>Black.</p>", "acme/auth/p.html")
        assert (doc.title, doc.text) == ("Pumps", "# Pumps\n\n## Oil\n\nBlack.")


@pytest.mark.parametrize(
    ("title", "own"),
    [
        ("Signals: Pump Reference Manual", "Signals"),
        ("Signals - The Book of Pumps", "Signals"),
        ("Signals — Pumps 3.2", "Signals"),
        ("Signals: how to send them", "Signals: how to send them"),
        ("Signals-based pumps", "Signals-based pumps"),
        ("All signals", "All signals"),
    ],
)
def test_a_title_ends_where_the_name_of_the_site_begins(parse: Parse, title: str, own: str) -> None:
    assert parse(f"<title>{title}</title><h2>Signals</h2><p>It rings.</p>", "acme/auth/p.html").title == own


def page_of(parse: Parse, body: str) -> str:
    return parse(f"<h1>Pump</h1>{body}<p>It turns.</p>", "acme/auth/p.html").text


@pytest.mark.parametrize(
    "mark",
    [
        '<a class="reference internal" href="_modules/pump.html"><span class="viewcode-link">[source]</span></a>',
        '<a class="test-arrow" href="https://play/pump">Run</a>',
        '<span class="permalink"><a href="#p">&#9670;&nbsp;</a></span>',
        '<a href="pump.html#p">More...</a>',
        '<img class="toplogo" src="r.png" alt="[R logo]">',
        '<div class="jp-InputPrompt">In&nbsp;[ ]:</div>',
    ],
)
def test_links_to_a_place_itself_logos_and_numbers_of_cells_are_no_text(parse: Parse, mark: str) -> None:
    assert page_of(parse, f"<div>{mark}</div>") == "# Pump\n\nIt turns."
    assert page_of(parse, f"<h2>Oil {mark}</h2><p>Black.</p>").startswith("# Pump\n\n## Oil\n\nBlack.")


@pytest.mark.parametrize(
    ("words", "kept"),
    [
        ('See the <a class="reference external" href="s">source</a> of it.', "See the source of it."),
        ('<span class="rightside">On the right.</span>', "On the right."),
        ('<span class="prompt">[user@host]:</span>', "[user@host]:"),
        ('<img alt="A pump">', "A pump"),
        ('<a href="#p">Read more...</a>', "Read more..."),
    ],
)
def test_words_that_only_look_like_such_marks_are_text(parse: Parse, words: str, kept: str) -> None:
    assert page_of(parse, f"<p>{words}</p>") == f"# Pump\n\n{kept}\n\nIt turns."


def test_text_in_a_frame_is_no_table(parse: Parse) -> None:
    rows = "<tr><td>It may be empty.</td></tr><tr><td><p>It ends:</p><ul><li>here</li></ul></td></tr>"
    text = page_of(parse, f"<table>{rows}</table>")
    assert text == "# Pump\n\nIt may be empty.\n\nIt ends:\n\n- here\n\nIt turns."
    assert "| Rules |\n| --- |" in page_of(parse, f"<table><tr><th>Rules</th></tr>{rows}</table>")
    assert "| a | b |\n| --- | --- |" in page_of(parse, f"<table><tr><td>a</td><td>b</td></tr>{rows}</table>")


def test_what_is_shown_around_code_is_no_text(parse: Parse) -> None:
    code = '<pre><code class="language-js">turn()</code></pre>'
    expected = "# Pump\n\n```js\nturn()\n```\n\nIt turns."
    assert page_of(parse, f'<div class="language-js"><span class="lang">js</span>{code}</div>') == expected
    assert page_of(parse, "<details><summary>Code of conduct</summary></details>").startswith(
        "# Pump\n\nCode of conduct"
    )
    assert page_of(parse, '<p><span class="lang">js</span></p>').startswith("# Pump\n\njs")


def test_what_a_page_shows_only_to_one_who_searches_is_no_text(parse: Parse) -> None:
    assert page_of(parse, '<div class="modal" role="dialog"><h4>Search</h4>Type to search.</div>') == (
        "# Pump\n\nIt turns."
    )
