"""AsciiDoc beside the results: shown as Asciidoctor would show it, and harmless."""

from __future__ import annotations

import pytest

from tests.browser.page import Page, shown

pytestmark = pytest.mark.browser

SPARS = "/?doc=shop/lab/spars.adoc"
BLOCKS = [
    ["title-1", 1, 1, "Spars"],
    ["as-written", 2, 2, "Ada Mast <ada@example.org>"],
    ["front", 3, 4, "Front matter"],
    [
        "P",
        6,
        8,
        "A spar of oak with bolts, “quoted”, H2O, {unknown}, rope, limits, The boom and Rigging. Next line."
        " https://example.org/bare.",
    ],
    ["title-2", 11, 11, "The boom"],
    ["note", 13, 13, "Note Never alone."],
    ["note-title", 15, 15, "Steps"],
    ["code", 17, 19, "python step(1 < 2) # <1>"],
    ["OL", 20, 20, "Steps it."],
    ["UL", 24, 36, "light spruce one two Attached. strong ☑ done peak The upper end. throat The lower end."],
    ["note", 40, 43, "Warning: Wet ones They shrink."],
    ["table", 47, 55, "Blocks Name Sheaves tack two three both | bars"],
    ["BLOCKQUOTE", 58, 60, "All hands. — Ada, Log"],
    ["code", 62, 62, "literal line"],
    ["P", 64, 64, "A boom, rigged"],
    ["P", 66, 66, "(Included file not found: other.adoc)"],
    ["code", 68, 70, "raw <script>window.harmed = 'pass'</script>"],
    ["title-2", 72, 72, "Rigging"],
    ["P", 74, 74, "[Of rope.] bad <img src=x onerror=\"window.harmed='p'\">"],
]


def test_it_is_shown_as_a_document_with_the_lines_of_each_block(page: Page) -> None:
    shown(page.open(SPARS), "Spars")
    blocks = page.run(
        """return [...document.querySelectorAll('#panel .document > [data-line]')].map((one) =>
        [one.className.split(' ')[0] || one.tagName, Number(one.dataset.line), Number(one.dataset.end),
         one.innerText.replace(/\\s+/g, ' ').trim()])"""
    )
    assert blocks == BLOCKS
    assert page.texts("#panel .document strong, #panel .document em") == ["spar", "oak", "alone"]
    assert page.texts("#panel ul > li > ul > li > ol > li") == ["one", "twoAttached."]
    assert page.texts("#panel thead th, #panel td li, #panel td[colspan='2']") == [
        "Name", "Sheaves", "two", "three", "both | bars",
    ]  # fmt: skip
    assert page.run("return window.harmed") is None
    assert not page.all("#panel :is(img, script, iframe, svg, style, object)")
    assert page.texts("#panel .dead") == ["bad"]


def test_its_links_lead_to_places_and_pages_and_passages_inside_are_marked(page: Page) -> None:
    shown(page.open(f"{SPARS}&lines=51-52"), "Spars")
    marked = "return [...document.querySelectorAll('#panel .chosen')].map((one) => one.innerText.trim())"
    assert page.run(marked) == ["two\nthree"]
    links = page.run("return [...document.querySelectorAll('#panel .document a')].map((a) => [a.textContent, a.href])")
    base = f"{page.url}/?doc=shop%2Flab%2F"
    assert links == [
        ["rope", "https://example.org/rope"],
        ["limits", f"{base}masts.adoc&section=limits"],
        ["The boom", f"{base}spars.adoc&section=boom"],
        ["Rigging", f"{base}spars.adoc&section=Rigging"],
        ["https://example.org/bare", "https://example.org/bare"],
    ]
