"""Documents beside the results, as one reads them:

* links lead to the right document and place, however a site spells them, and back;
* a passage is in view and marked wherever it stands, in a long table, too;
* words of what isn't Markdown are shown as they are;
* text goes in the direction of its script; what is printed is whole.
"""

from __future__ import annotations

import base64
import re

import pytest

from tests.browser.page import Page, follow, shown

pytestmark = pytest.mark.browser

LINKS = "/?doc=shop/lab/links.md"


def in_view(text: str) -> str:
    """A heading with these words stands at the panel's top, below its head."""
    return (
        "[...document.querySelectorAll('#panel .document :is(h3, h4)')].some((one) =>"
        f" one.textContent.trim() === '{text}'"
        " && Math.abs(one.getBoundingClientRect().top - document.querySelector('.panel-head').offsetHeight) < 40)"
    )


@pytest.mark.parametrize(
    ("link", "section"),
    [
        ("calibration", "Calibration"),
        ("site", "Limits"),
        ("as a site serves it", "Limits"),
        ("raw", "Own"),
        ("by a wiki", "Limits"),
        ("a line", "Calibration"),
    ],
)
def test_a_link_leads_to_its_place_in_another_document(page: Page, link: str, section: str) -> None:
    shown(page.open(LINKS), "Ways")
    follow(page, link)
    shown(page, "Gauges").until(in_view(section))
    assert page.address.startswith("/?doc=shop%2Flab%2Fgauges%2F_index.md&section=")
    page.driver.back()
    shown(page, "Ways")
    page.driver.get_log("browser")  # places where nothing was are logged by the browser


def test_a_place_that_a_document_does_not_have_is_said_to_be_missing(page: Page) -> None:
    shown(page.open(LINKS), "Ways")
    follow(page, "lost")
    shown(page, "Gauges").until("document.querySelector('#panel .notice')?.textContent.includes('no section “lost”')")
    page.one(".outline summary").click()
    page.all(".outline a")[1].click()
    page.until(in_view("Calibration")).until("!document.querySelector('#panel .notice')")


def test_links_to_folders_pages_of_sites_and_odd_names_find_their_documents(page: Page) -> None:
    for link, title in (
        ("folder", "Gauges"),
        ("page", "Gauges"),
        ("spaced", "Odd name"),
        ("odd name", "Odd name"),
        ("nowhere", "Not shown"),
    ):
        shown(page.open(LINKS), "Ways")
        follow(page, link)
        shown(page, title)
    page.driver.get_log("browser")  # what wasn't found is logged by the browser


def test_a_place_in_the_same_document_is_gone_to_and_shared(page: Page) -> None:
    shown(page.open(LINKS), "Ways")
    follow(page, "further down")
    page.until(in_view("Further down"))
    follow(page, "own")
    page.until(in_view("Named"))
    shared = page.address
    page.driver.back()
    page.until(in_view("Further down"))
    page.open("/")
    shown(page.open(shared), "Ways").until(in_view("Named"))
    assert page.run("return document.title") == "Ways – Librarian"
    link = page.one("#panel .document a.inner").get_attribute("href")
    assert link == f"{page.url}/?doc=shop%2Flab%2Fgauges&section=calibration#s-passage", (
        "it can be opened in another tab"
    )


def test_a_passage_inside_a_long_table_is_in_view(page: Page) -> None:
    page.open("/?q=crate207+ballast&mode=keyword").answered()
    page.all("#results a.open")[0].click()
    page.until("document.querySelector('#panel .chosen mark')")
    places = """return [...document.querySelectorAll(arguments[0])].map((one) => {
        const box = one.getBoundingClientRect();
        return box.top > 0 && box.top < 900;
      })"""
    assert any(page.run(places, "#panel mark"))
    page.open("/?doc=shop/lab/ballast.csv&lines=210-212").until("document.querySelector('#panel .chosen')")
    assert set(page.run("return [...document.querySelectorAll('#panel .chosen')].map((one) => one.tagName)")) == {"TR"}
    assert all(page.run(places, "#panel .chosen"))


def test_a_passage_far_down_among_very_long_lines_is_shown(page: Page) -> None:
    page.open("/?doc=shop/lab/berths.md&lines=270-270").until("document.querySelector('#panel .chosen')")
    assert page.texts("#panel .chosen")[0].startswith("berth270 keel")


def test_words_that_are_no_markdown_are_shown_as_they_are(page: Page) -> None:
    shown(page.open("/?doc=shop/lab/hoist.html"), "Hoist")
    text = page.texts("#panel .document p")[0]
    assert text == "A hoist takes a List<Rope> of 2*3*4 ropes, see __init__ and https://example.org/hoist."
    assert page.texts("#panel .document p a") == ["https://example.org/hoist"]
    assert page.texts("#panel th") == ["rope", "a|b"]
    assert page.texts("#panel td") == ["<b>thick</b>", "2"]
    assert page.texts("#panel .document li") == ["[x] not a task"]
    assert page.texts("#panel pre code") == ["hoist --up"]
    page.open("/?q=hoist+ropes&mode=keyword").answered()
    assert "2*3*4 ropes, see __init__ and" in page.texts(".snippet")[0]


def test_tables_in_html_are_tables_and_their_tags_in_no_snippet(page: Page) -> None:
    shown(page.open("/?doc=shop/lab/odd name.md&lines=9-12"), "Odd name")
    assert page.texts("#panel .document h3") == ["Odd name"]
    rows = page.run(
        """return [...document.querySelectorAll('#panel tr')].map((one) => [one.dataset.line,
        ...[...one.cells].map((cell) => cell.innerText.trim())])"""
    )
    assert rows == [["6", "Field", "Meaning"], ["9", "sprit\nstring", "A spar x"], ["13", "boom", "below"]]
    assert page.run("return [...document.querySelectorAll('#panel .chosen')].map((one) => one.dataset.line)") == ["9"]
    assert page.texts("#panel .document > ul > li") == ["one", "two"]
    page.open("/?q=sprit&mode=keyword").answered()
    assert "<" not in page.texts(".snippet")[0]
    assert page.run("return window.harmed") is None


def test_code_in_a_snippet_keeps_its_signs(page: Page) -> None:
    page.open("/?q=winch&mode=keyword").answered()
    assert page.texts(".snippet")[0].endswith("Call __winch__ and now.")


def test_scripts_go_their_way_and_their_words_are_marked(page: Page) -> None:
    page.open("/?q=%E8%AF%81%E4%B9%A6&doc=shop/lab/scripts.md&lines=3-7").until(
        "document.querySelector('#panel .chosen')"
    )
    assert "\u8bc1\u4e66" in page.texts("#panel mark"), "words that stand in a row without spaces"
    ends = page.run(
        """return [...document.querySelectorAll('#panel .document > p')].slice(0, 2).map((one) => {
          const range = document.createRange();
          range.selectNodeContents(one);
          const [line, box] = [range.getBoundingClientRect(), one.getBoundingClientRect()];
          return Math.round(box.right - line.right) < Math.round(line.left - box.left) ? 'right' : 'left';
        })"""
    )
    assert ends == ["right", "left"]


def test_lists_quotes_and_tables_begin_where_their_script_does(page: Page) -> None:
    shown(page.open("/?doc=billing/overview.md&q=%D7%A9%D7%93%D7%94"), "Billing")
    sides = page.run(
        """return ['ul', 'ol', 'blockquote', 'table', 'pre'].map(
          (name) => getComputedStyle(document.querySelector(`#panel .document ${name}`)).direction)"""
    )
    assert sides == ["ltr", "rtl", "rtl", "rtl", "ltr"], "code goes its own way wherever it stands"
    assert page.run("return getComputedStyle(document.getElementById('query')).direction") == "rtl"
    page.open("/?q=refund&type=emails").answered().all("#results a.open")[0].click()
    page.until("document.querySelector('#panel article')")
    assert page.run("return getComputedStyle(document.querySelector('.mail summary strong')).unicodeBidi") == "isolate"


def test_what_is_printed_is_dark_on_light_whatever_the_theme(page: Page) -> None:
    page.open("/?q=tokens").answered()
    page.run("document.documentElement.dataset.theme = 'dark'")
    page.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    try:
        assert page.run("return getComputedStyle(document.body).color") == "rgb(26, 31, 38)"
    finally:
        page.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
    assert page.run("return getComputedStyle(document.body).color") == "rgb(229, 233, 238)"


def test_a_document_is_printed_whole_and_alone(page: Page) -> None:
    shown(page.open("/?q=gauges&doc=shop/lab/gauges/_index.md"), "Gauges")
    page.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    try:
        assert not page.one("#main").is_displayed()
        assert not page.one("#query").is_displayed()
    finally:
        page.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
    sheet = page.driver.execute_cdp_cmd("Page.printToPDF", {"paperWidth": 5, "paperHeight": 5})
    pages = re.findall(rb"/Type\s*/Page\b", base64.b64decode(sheet["data"]))
    assert len(pages) > 5, "not the part that was in view"


def test_the_panels_head_hides_no_passage_however_large_the_letters(page: Page) -> None:
    metrics = {"width": 320, "height": 256, "deviceScaleFactor": 4, "mobile": False}  # 400 % of 1280 × 1024
    page.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    try:
        for size in (256, 640):
            page.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics | {"height": size})
            page.open("/?doc=shop/lab/gauges/_index.md&lines=51-51").until("document.querySelector('#panel .chosen')")
            page.run("window.one = document.querySelector('#panel .chosen').getBoundingClientRect()")
            assert page.run("return document.elementFromPoint(one.left + 20, one.top + 2).closest('.chosen') !== null")
            page.press("TAB", "TAB", "TAB", "TAB", "TAB", "TAB")
            assert page.run(
                "return document.activeElement.closest('#panel') || document.activeElement === document.body"
            ), "nothing behind the panel takes the focus"
        page.press("ESCAPE").until("document.getElementById('panel').hidden && document.activeElement.id === 'query'")
    finally:
        page.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
