"""Markdown as it is written in the wild, shown on the page:

* runs of stars and underscores are emphasis where CommonMark says so, and signs elsewhere;
* what a link names elsewhere is found however it is wrapped;
* a table below a line of words is a table;
* tags that hold nothing to read take nothing else with them;
* no word of a document is taken for one of the program's own.
"""

from __future__ import annotations

import re

import pytest

from tests.browser.page import Page

pytestmark = pytest.mark.browser

RENDER = """return import('/static/markdown.js').then(({ markdown }) => {
  const box = document.createElement('div');
  box.append(...markdown(arguments[0], 1, { from: 'shop/lab/x.md', address: () => '#', follow() {} }));
  return box.innerHTML;
})"""


def rendered(page: Page, text: str) -> str:
    """Markup without the places in the file and what assistive programs need."""
    markup: str = page.open().run(RENDER, text)
    return re.sub(r' (?:data-line|data-end|class|tabindex|role|aria-label|rel|target|title|scope)="[^"]*"', "", markup)


@pytest.mark.parametrize(
    ("text", "markup"),
    [
        ("***ready*** and ***set** go*", "<em><strong>ready</strong></em> and <em><strong>set</strong> go</em>"),
        ("**a *b*** *c **d***", "<strong>a <em>b</em></strong> <em>c <strong>d</strong></em>"),
        ("**R**ope **a**nd **K**not", "<strong>R</strong>ope <strong>a</strong>nd <strong>K</strong>not"),
        ("*_both_* un*be*lievable", "<em><em>both</em></em> un<em>be</em>lievable"),
        ("snake_case_name and _one_ __init__", "snake_case_name and <em>one</em> <strong>init</strong>"),
        ("f(*args, **options), 2 * 3 * 4", "f(*args, **options), 2 * 3 * 4"),
        ("**一说“绳”**再说", "<strong>一说“绳”</strong>再说"),
        ("*a `*` b* [*c](d.md)*", '<em>a <code>*</code> b</em> <a href="#">*c</a>*'),
        ("costs \\$5 \\= 5\\%", "costs $5 = 5%"),
        ("Gr&ouml;&szlig;e &frac12;&deg; &laquo;&Eacute;t&eacute;&raquo; &#8594; &foo;", "Größe ½° «Été» → &amp;foo;"),
        ("&toString; <constructor>x</constructor>", "&amp;toString; x"),
        ("a* b* c* " * 2000, ("a* b* c* " * 2000).strip()),
        ("[wow! ![a](b) !](c.md)", '<a href="#">wow! <span>a</span> !</a>'),
        ("[" + "![a](b)" * 40, "[" + "<span>a</span>" * 40),
    ],
)
def test_words_are_read_as_commonmark_says(page: Page, text: str, markup: str) -> None:
    assert rendered(page, text) == f"<p>{markup}</p>"


def test_what_a_link_names_elsewhere_is_found_however_it_is_wrapped(page: Page) -> None:
    text = """The [long
knot] and [![badge][picture]][status], [plain] and [titled].

[long knot]:
  https://example.org/long
[status]: https://example.org/status
[titled]: https://example.org/titled
  "Its title"
[plain]: <https://example.org/plain> 'Another'
"""
    assert rendered(page, text) == (
        '<p>The <a href="https://example.org/long">long\nknot</a> and '
        '<a href="https://example.org/status"><span>badge</span></a>, '
        '<a href="https://example.org/plain">plain</a> and '
        '<a href="https://example.org/titled">titled</a>.</p>'
    )


@pytest.mark.parametrize(
    ("text", "markup"),
    [
        (
            "Knots:\n| name | use |\n|---|---|\n| bowline | loop |",
            "<p>Knots:</p><div><table><thead><tr><th>name</th><th>use</th></tr></thead>"
            "<tbody><tr><td>bowline</td><td>loop</td></tr></tbody></table></div>",
        ),
        ("Ropes | Knots\n---", "<h4>Ropes | Knots</h4>"),
        ("Ropes\nOne | two\n|---|---|---|", "<p>Ropes\nOne | two\n|---|---|---|</p>"),
        (
            "<div>\n<table>\n<tr><td>bowline</td></tr>\n</table>\n</div>",
            "<p></p><div><table><tbody><tr><td>bowline</td></tr></tbody></table></div><p></p>",
        ),
    ],
)
def test_a_table_below_a_line_of_words_is_a_table(page: Page, text: str, markup: str) -> None:
    assert rendered(page, text) == markup


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("<iframe src='a' />\n\nBehind.\n\n<iframe src='b'></iframe>\n\nEnd.", ["", "Behind.", "End."]),
        ("<iframe\n  src='a'\n/>\n\nBehind.", ["", "Behind."]),
        ("An <svg width='3'/> icon, a <object data='a'> and words.", ["An  icon, a  and words."]),
        ("<object data='a'>\n\nBehind.", ["", "Behind."]),
        ("<!-- a note --> Behind\nit.\n\nEnd.", ["Behind\nit.", "End."]),
        ("<svg>\n<path d='M0'/>\n\n</svg> Behind.", ["Behind."]),
        ("Before\n<!-- hidden\n\nhidden -->\nbehind.", ["Before", "behind."]),
        ("<script>\nhidden\n\nhidden", []),
    ],
)
def test_tags_that_hold_nothing_to_read_take_nothing_else_with_them(page: Page, text: str, shown: list[str]) -> None:
    assert re.findall(r"<p>(.*?)</p>", rendered(page, text), re.DOTALL) == shown


@pytest.mark.parametrize(
    ("module", "text", "shown"),
    [("restructured", ":constructor:`winch`", "winch"), ("asciidoc", "a {constructor} b", "a {constructor} b")],
)
def test_no_name_in_a_document_is_one_of_the_pages_own(page: Page, module: str, text: str, shown: str) -> None:
    script = """const [name, text] = arguments;
    return import(`/static/${name}.js`).then((made) => {
      return made[name](text, 1, [], { from: 'a/b/c', address: () => '#', follow() {} })[0].textContent;
    })"""
    assert page.open().run(script, module, text) == shown
