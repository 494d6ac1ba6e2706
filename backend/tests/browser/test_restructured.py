"""reStructuredText beside the results: shown as docutils and Sphinx would show it, and harmless."""

from __future__ import annotations

import pytest

from tests.browser.page import Page, follow, shown

pytestmark = pytest.mark.browser

MAST = "/?doc=shop/lab/mast.rst"
BLOCKS = [
    ["front", 1, 1, "Front matter"],
    ["title-1", 5, 7, "Mast"],
    [
        "P",
        9,
        11,
        "A mast is stepped on the keel; see step, the spars, rope, the gauges, Mast, elsewhere, PEP 8, H2O, the boom"
        " and stays [1] [2]. It is hoisted so:",
    ],
    ["code", 13, 14, "hoist(mast) then(boom)"],
    ["UL", 22, 26, "light spruce fir strong"],
    ["lower-alpha", 28, 32, "first again second"],
    ["DL", 34, 37, "peak : angle The upper end. throat The lower end."],
    ["fields", 39, 40, "Height nine metres Weight none"],
    ["fields", 42, 42, "-v, --verbose says more"],
    ["code", 44, 45, ">>> step() True"],
    ["P", 47, 48, "Two lines of verse"],
    ["title-2", 50, 51, "The spars"],
    ["note", 53, 55, "Warning Never alone. ask"],
    ["note", 57, 57, "Changed in version 2.1 It bends."],
    ["note", 59, 61, "Of ropes Wet ones shrink."],
    ["code", 63, 66, "step.py · python step(1 < 2)"],
    ["object", 68, 74, "step(mast) step(mast, keel) Steps it. param mast what is stepped"],
    ["object", 76, 79, "rigging by hand :crew: two Unknown, but shown."],
    ["table", 81, 88, "Spar Use gaff peak sail boom foot clew"],
    ["table", 90, 96, "Rope Metres main 40 spare jib 30"],
    ["table", 98, 104, "Blocks Name Sheaves tack 2"],
    ["table", 106, 109, 'Knot Turns, all hitch two "half" ones'],
    ["FIGURE", 111, 114, "A mast, stepped On the keel."],
    ["note-title", 116, 120, "More"],
    ["UL", 116, 120, "gauges/index Far"],
    ["footnote", 122, 122, "[1] Of steel."],
    ["footnote", 123, 123, "[2] Of rope."],
    ["PRE", 125, 126, "+-----+ | torn"],
]


def test_it_is_shown_as_a_document_with_the_lines_of_each_block(page: Page) -> None:
    shown(page.open(MAST), "Mast")
    blocks = page.run(
        """return [...document.querySelectorAll('#panel .document > [data-line]')].map((one) =>
        [one.className.split(' ')[0] || one.tagName, Number(one.dataset.line), Number(one.dataset.end),
         one.innerText.replace(/\\s+/g, ' ').trim()])"""
    )
    assert blocks == BLOCKS
    assert page.texts("#panel .document > p em, #panel .document > p strong") == ["mast", "stepped", "boom"]
    assert page.texts("#panel .document > p code, #panel sub") == ["keel", "step", "2"]
    assert page.texts("#panel ul > li > ol > li") == ["spruce", "fir"]
    assert page.texts("#panel th[colspan='2'], #panel td ul, #panel caption") == ["Use", "footclew", "Blocks"]
    assert page.texts("#panel .object code") == ["step(mast)", "step(mast, keel)", "rigging by hand"]
    assert page.run("return getComputedStyle(document.querySelector('.lower-alpha')).listStyleType") == "lower-alpha"
    shown(page.open("/?doc=shop/lab/rope.txt"), "Rope")
    assert page.texts("#panel .note") == ["NoteKeep it dry."], "its directive tells what this text is"


def test_its_links_lead_to_places_and_pages(page: Page) -> None:
    shown(page.open(MAST), "Mast")
    links = page.run("return [...document.querySelectorAll('#panel .document a')].map((a) => [a.textContent, a.href])")
    base = f"{page.url}/?doc=shop%2Flab%2F"
    assert links == [
        ["the spars", f"{base}mast.rst&section=the-spars"],
        ["rope", "https://example.org/rope"],
        ["the gauges", f"{base}gauges%2Findex.rst"],
        ["Mast", f"{base}mast.rst&section=the-mast"],
        ["PEP 8", "https://peps.python.org/pep-0008/"],
        ["stays", "https://example.org/stays"],
        ["[1]", f"{base}mast.rst&section=note-1"],
        ["[2]", f"{base}mast.rst&section=note-2"],
        ["gauges/index", f"{base}gauges%2Findex.rst"],
        ["Far", "https://example.org/far"],
    ]
    follow(page, "[2]")
    page.until("new URLSearchParams(location.search).get('section') === 'note-2'")
    follow(page, "the gauges")
    shown(page, "Gauges")
    page.driver.get_log("browser")  # a spelling that is no document's is logged by the browser


def test_a_snippet_has_no_roles_and_targets(page: Page) -> None:
    page.open("/?q=elsewhere&mode=keyword").answered()
    assert "the gauges, the-mast, elsewhere, :pep:`8`, H" in page.texts(".snippet")[0]
    assert page.texts(".snippet mark") == ["elsewhere"]


@pytest.mark.parametrize(
    ("lines", "chosen"),
    [("95-95", ["TR jib 30"]), ("36-37", ["DIV throat The lower end."]), ("25-26", ["LI fir", "LI strong"])],
)
def test_a_passage_inside_is_marked(page: Page, lines: str, chosen: list[str]) -> None:
    page.open(f"{MAST}&lines={lines}").until("document.querySelector('#panel .chosen')")
    marked = """return [...document.querySelectorAll('#panel .chosen')].map((one) =>
        `${one.tagName} ${one.innerText.replace(/\\s+/g, ' ').trim()}`)"""
    assert page.run(marked) == chosen


def test_a_hostile_one_is_shown_as_text_and_does_nothing(page: Page) -> None:
    shown(page.open("/?doc=security/notes/hostile.rst"), "Bitter cup")
    for link in page.all("#panel .document :is(a, .dead, .picture)"):
        if not (link.get_attribute("href") or "").startswith(page.url):
            link.click()
    assert page.run("return window.harmed") is None
    assert not page.all("#panel :is(img, script, iframe, svg, style, object)")
    links = page.run("return [...document.querySelectorAll('#panel .document a')].map((a) => a.href)")
    assert [link for link in links if not link.startswith(f"{page.url}/?doc=")] == []
    fetched = page.run("return performance.getEntriesByType('resource').map((one) => one.name)")
    assert all(name.startswith(page.url) for name in fetched)
    assert page.texts("#panel pre code")[0].startswith("<script>window.harmed = 'raw'</script>")
    assert "(Included file not found: /etc/passwd)" in page.texts("#panel")[0]
