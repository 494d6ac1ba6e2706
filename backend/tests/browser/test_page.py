"""What the page does in a real browser:

* it asks as one types, drops stale answers, narrows by what the index holds, and pages;
* a passage opens beside the results, where it stands in its document, its words marked;
* mails open as conversations with folded quotes;
* its address is its state: links, back and forth, other browsers;
* everything works by keys, at 360 pixels, in both themes;
* what it remembers stays in the browser; nothing is fetched from elsewhere.
"""

from __future__ import annotations

import json
import time
import urllib.request
from typing import Any

import pytest

from tests.browser.page import Page, shown
from tests.browser.proxy import below
from tests.browser.server import Server

pytestmark = pytest.mark.browser


def test_results_appear_as_one_types_and_follow_the_last_key(page: Page) -> None:
    page.open()
    page.one("#query").send_keys("rotat")
    page.one("#query").send_keys("ing a token")
    page.until("[...document.querySelectorAll('#results mark')].some((one) => one.textContent === 'token')")
    assert page.texts("#results h3 a")[0] == "Access tokens"
    assert "q=rotating" in page.address
    assert page.texts("#results h3 .section")[0] == "Rotating a token"
    assert {"Rotated", "token", "tokens"} <= set(page.texts("#results mark")), "highlighting follows stems"
    assert set(page.texts(".badge")) <= {"Excellent", "Good", "Fair", "Weak"}
    assert "lines 10–18" in page.texts("#results .facts")[0]


#: Answers to questions with this text are held back until `letGo()`.
HELD = """window.hold = (text) => {
  const real = window.fetch;
  window.fetch = async (path, options) => {
    const answer = await real(path, options);
    if (decodeURIComponent(path).includes(text)) await new Promise((go) => { window.letGo = go; });
    return answer;
  };
}"""


def test_an_answer_that_comes_late_is_dropped(page: Page) -> None:
    page.open()
    page.run(f"{HELD}; hold('q=refunds')")
    page.one("#query").send_keys("refunds")
    page.until("window.letGo")
    page.one("#query").clear()
    page.one("#query").send_keys("invoice numbers")
    page.answered()
    page.run("window.letGo()")
    page.until("document.querySelector('#results h3 a').textContent === 'Invoice numbers'")
    assert "Returns" not in page.texts("#results h3 a")[0]


def test_a_search_that_takes_a_while_is_said_to_be_under_way(page: Page) -> None:
    page.open("/?q=refunds").answered()
    page.run(f"{HELD}; hold('invoice')")
    page.one("#query").send_keys(" invoice")
    page.until("window.letGo && document.getElementById('summary').textContent === 'Searching …'")
    page.run("window.letGo()")
    page.until("document.getElementById('summary').textContent.includes('passages')")


def test_filters_count_what_the_question_finds_and_narrow_it(page: Page) -> None:
    page.open("/").until("document.querySelectorAll('[data-filter=product]').length === 3")
    everything = dict(
        zip(page.texts("[data-filter=product]"), page.texts("[data-filter=product] + .count"), strict=True)
    )
    assert everything == {"billing": "3", "security": "2", "shop": "28"}
    page.ask("declined payment reminders")
    found = dict(zip(page.texts("[data-filter=product]"), page.texts("[data-filter=product] + .count"), strict=True))
    assert found != everything, "the numbers are those of this question"
    next(one for one in page.all("[data-filter=product]") if one.text == "billing").click()
    page.until("[...document.querySelectorAll('.place')].every((one) => one.textContent.startsWith('billing'))")
    assert "product=billing" in page.address
    next(one for one in page.all("[data-filter=component]") if one.text == "invoices").click()
    page.until("document.querySelectorAll('#chips .chip').length === 2").answered()
    assert set(page.texts("#chips .chip")) >= {"Component: invoices ✕, remove this filter"}
    page.run("document.querySelector('#chips a').click()")
    page.until("document.querySelectorAll('#chips li').length === 0")
    assert "component=" not in page.address, "a component goes with its product"


def test_tags_types_and_dates_narrow_too(page: Page) -> None:
    page.open("/?q=tokens+payment+reminders").answered()
    next(one for one in page.all("[data-filter=tags]") if one.text == "security").click()
    page.until("location.search.includes('tags=security')")
    page.until("document.querySelectorAll('#results h3').length === 1")
    page.open("/?q=reminders&file_types=.txt").answered()
    assert page.texts("#results h3 a") == ["Dunning"]
    page.open("/?q=tokens&before=2026-02-03&after=2026-02-03").answered()
    assert page.texts("#results h3 a") == ["Access tokens"]
    page.open("/?q=tokens&after=2027-01-01").answered()
    assert page.texts("#empty .suggestions a")[0] == "Remove “Changed since”"


def test_a_date_is_typed_part_by_part(page: Page) -> None:
    page.open("/?q=tokens").answered().until("document.getElementById('filter-after')")
    page.run("document.getElementById('filter-after').focus()")
    page.press(*"02032026").until("location.search === '?q=tokens&after=2026-02-03'")
    page.press("ARROW_LEFT", "ARROW_LEFT", *"03").until("location.search === '?q=tokens&after=2026-03-03'")
    assert page.run("return document.activeElement.id") == "filter-after"
    page.answered().until("document.querySelector('#chips a')").all("#chips a")[0].click()
    page.until("location.search === '?q=tokens' && document.getElementById('filter-after').value === ''")
    page.driver.back()
    page.until("document.getElementById('filter-after').value === '2026-03-03'")


def test_a_passage_opens_beside_the_results_where_it_stands(page: Page) -> None:
    page.open("/?q=appendix+27").answered()
    link = next(one for one in page.all("#results h3 a.open") if "Appendix 27" in one.find_element("xpath", "..").text)
    link.click()
    page.until("document.querySelector('#panel .chosen')")
    top = page.run("return document.querySelector('#panel .chosen').getBoundingClientRect().top")
    assert 0 < top < 700, "the passage is in view, below the panel's head"
    assert page.texts("#panel .chosen mark")
    assert page.texts("#panel-title") == ["Access tokens"]
    assert page.run("return document.activeElement.id") == "panel"
    page.one(".outline summary").click()
    page.all(".outline a")[1].click()
    page.until("document.querySelector('#panel [data-line=\"10\"]').getBoundingClientRect().top < 300")
    page.until("location.search.includes('section=L10')")
    page.press("ESCAPE").until("document.getElementById('panel').hidden")
    assert page.run("return document.activeElement.parentElement.textContent") == "Access tokens Appendix 27"


def test_markdown_is_shown_as_a_document(page: Page) -> None:
    page.open("/?doc=shop/api/tokens.md").until("document.querySelector('#panel table')")
    assert page.texts("#panel th") == ["field", "meaning"]
    assert page.texts("#panel td code") == ["max_age_s", "scope"]
    assert page.texts("#panel ol > li ul > li") == ["ask for another scope", "or use another token"]
    page.one("#panel .document a.inner").click()
    page.until("document.querySelector('#panel-title').textContent === 'Checkout'")
    assert "doc=shop%2Fguides%2Fcheckout.md" in page.address
    assert page.texts("#panel figcaption") == ["python"]
    assert page.texts("#panel pre code")[0].startswith("cart = Cart.load(cart_id)\ncart.checkout")
    page.open("/?doc=billing/invoices/dunning.txt").until("document.querySelector('#panel pre.prose')")
    assert page.texts("#panel .title-1") == ["Dunning"]


def test_more_results_are_a_page_of_their_own(page: Page) -> None:
    page.open("/?q=release+parcel+labels&mode=keyword").answered()
    first = page.texts("#main a.open")
    page.one("#more").click()
    page.until("location.search.includes('page=2')").until("document.querySelector('[rel=prev]')")
    page.until("document.activeElement === document.querySelector('#main a.open')")
    assert set(page.texts("#main a.open")).isdisjoint(first)
    page.driver.back()
    page.until("!document.querySelector('[rel=prev]')")
    assert page.texts("#main a.open") == first


def test_further_pages_belong_to_the_question_that_is_answered(page: Page) -> None:
    page.open("/?q=release+parcel+labels&mode=keyword").answered()
    page.run(f"{HELD}; hold('stock')")
    page.one("#query").send_keys(" stock counts")
    page.until("window.letGo")
    assert page.run("return document.getElementById('more').inert"), "it belongs to another question"
    page.run("window.letGo()")
    page.answered().until("!document.getElementById('more')?.inert")


def test_a_server_that_is_busy_is_asked_again(page: Page) -> None:
    page.open()
    page.run(
        """const real = window.fetch;
        window.refused = 0;
        window.fetch = async (path, options) => {
          if (!path.includes('q=') || window.refused++) return real(path, options);
          const policy = (await real('./')).headers.get('content-security-policy');
          const markup = '<main id="main"><p id="message">Too many questions at once.</p></main>';
          const headers = { 'retry-after': '1', 'content-security-policy': policy };
          return new Response(markup, { status: 503, headers });
        };"""
    )
    page.one("#query").send_keys("refunds")
    page.until("document.getElementById('message').textContent.includes('Too many questions')")
    page.answered().until("document.getElementById('message').hidden")


def test_what_was_wrong_goes_with_what_was_asked(page: Page) -> None:
    page.open("/?q=refunds").answered()
    page.run("history.pushState(null, '', '/?q=refunds&mode=nonsense'); dispatchEvent(new Event('popstate'))")
    page.until("document.getElementById('message').textContent.includes('nonsense')")
    assert not page.all("#results li"), "they belong to another question"
    page.press(*["BACKSPACE"] * 7).until("document.getElementById('home')")
    assert not page.one("#message").is_displayed()
    page.driver.get_log("browser")  # the refused request


def test_a_text_too_long_to_be_asked_is_said_to_be_cut(page: Page) -> None:
    page.open()
    page.driver.execute_cdp_cmd("Input.insertText", {"text": "refunds of the original card " * 100})
    page.answered()
    assert "A question has at most 2,000 characters" in page.one("#notices").text


def test_a_mail_opens_as_a_conversation_with_its_quotes_folded(page: Page) -> None:
    page.open("/?q=refunds+always+original&type=emails").answered()
    page.all("#results a.open")[0].click()
    page.until("document.querySelectorAll('#panel article').length === 2")
    assert "2 emails" in page.one("#panel .facts").text
    chosen = page.one("#panel article.chosen")
    assert "refunds always go to the original card" in chosen.text
    assert "wants the refund" not in chosen.text, "what it quotes is folded"
    page.one("#panel article.chosen .quoted summary").click()
    assert "wants the refund" in chosen.text
    page.one("#panel article:not(.chosen) summary").click()
    assert "order-17.pdf application/pdf" in page.one("#panel article:not(.chosen)").text
    assert "thread=" in page.address


def test_mails_are_listed_by_filter_alone(page: Page) -> None:
    page.open("/?type=emails&sender=ada").answered()
    assert page.texts("#results h3 a") == ["Refund for order 17"]
    assert "one of 2 emails in this thread" in page.one("#results .facts").text
    assert not page.all(".badge"), "nothing was searched for, so nothing is graded"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_theme_switches_and_stays(page: Page, scheme: str) -> None:
    page.open()
    while page.run("return document.documentElement.dataset.theme") != scheme:
        page.one("#theme").click()
    colour = page.run("return getComputedStyle(document.body).backgroundColor")
    assert colour == {"light": "rgb(245, 246, 248)", "dark": "rgb(17, 21, 26)"}[scheme]
    page.open()
    assert page.run("return getComputedStyle(document.body).backgroundColor") == colour


def test_a_shared_link_shows_the_same_page_and_back_leads_back(page: Page) -> None:
    page.open("/?q=declined+payment&product=shop").answered()
    page.all("#results a.open")[0].click()
    page.until("document.querySelector('#panel .chosen')")
    shared, title = page.address, page.texts("#panel-title")
    page.driver.back()
    page.until("document.getElementById('panel').hidden")
    page.driver.forward()
    page.until("!document.getElementById('panel').hidden")
    page.driver.get(f"{page.url}/static/icon.svg")
    page.run("localStorage.clear(); sessionStorage.clear()")
    page.open(shared).answered().until("document.querySelector('#panel .chosen')")
    assert page.texts("#panel-title") == title
    assert page.run("return document.getElementById('query').value") == "declined payment"
    assert page.texts(".facet a.selected") == ["shop ✕, remove"]
    assert page.all("#results a[aria-current]")


def test_everything_goes_by_keys(page: Page) -> None:
    page.open()
    page.run("document.activeElement.blur()")
    page.press("/", *"declined").answered()
    page.press("ARROW_DOWN")
    assert page.run("return document.activeElement === document.querySelector('#results a.open')")
    page.press("s")
    assert page.texts(".star")[0] == "★"
    page.press("ENTER").until("document.querySelector('#panel .chosen')")
    page.press("ESCAPE").until("document.getElementById('panel').hidden")
    page.press("ARROW_UP")
    assert page.run("return document.activeElement.id") == "query"
    page.press("ENTER").until("document.querySelector('#panel .chosen')")
    page.press("ESCAPE").press("ESCAPE").press("ESCAPE")
    assert page.run("return document.activeElement.id") == "query"
    page.run("document.activeElement.blur()")
    page.press("?").until("document.getElementById('help-dialog').open")
    page.press("ESCAPE").until("!document.getElementById('help-dialog').open")


def test_single_keys_can_be_switched_off_and_stay_so(page: Page) -> None:
    page.open("/").until("document.getElementById('query')")
    page.run("document.activeElement.blur()")
    page.press("?").until("document.getElementById('help-dialog').open")
    page.one("#single-keys").click()
    page.press("ESCAPE").until("!document.getElementById('help-dialog').open")
    page.open("/").until("document.getElementById('query')")
    page.run("document.activeElement.blur()")
    page.press("?").press("/")
    assert not page.run("return document.getElementById('help-dialog').open || document.activeElement.id === 'query'")
    page.one("#help-link").click()
    assert page.one("#single-keys").get_attribute("checked") is None
    page.one("#single-keys").click()
    page.press("ESCAPE").press("/")
    assert page.run("return document.activeElement.id") == "query"


def test_keys_of_a_control_are_its_own(page: Page) -> None:
    page.open("/?q=refund").answered()
    page.run("document.getElementById('type-documents').focus()")
    page.press("ARROW_DOWN").until("location.search.includes('type=emails')")
    assert page.run("return document.activeElement.id") == "type-emails"
    page.until("document.getElementById('filter-subject')").one("#filter-subject").send_keys("c/s?")
    assert page.run("return document.activeElement.value") == "c/s?"


def test_back_leads_through_questions_and_documents_one_by_one(page: Page) -> None:
    page.open("/")
    page.press(*"declined").answered()
    page.press("ENTER").until("document.querySelector('#panel .chosen')")
    document = page.address
    page.one("#query").send_keys(" invoice")
    page.answered().until("location.search === '?q=declined+invoice'")
    page.driver.back()
    page.until("document.querySelector('#panel .chosen')")
    assert page.address == document
    page.driver.back()
    page.until("document.getElementById('panel').hidden")
    assert page.address == "/?q=declined"
    page.driver.back()
    page.until("!location.search.includes('declined')")


def test_ways_to_search_are_chosen_under_advanced_and_explained(page: Page) -> None:
    page.open("/?q=declined").answered()
    assert not page.one("#mode").is_displayed()
    assert "hybrid" not in page.one("body").text
    page.one(".advanced summary").click()
    page.choose("#mode", "keyword").until("document.querySelector('.how').textContent.includes('Mode keyword;')")
    assert "mode=keyword" in page.address
    page.one("#help-link").click()
    page.until("document.getElementById('help-dialog').open")
    assert page.texts("#help-dialog .modes dt") == ["auto", "hybrid", "keyword", "semantic", "rerank", "hyde"]
    box, label = (page.one(f"#help-dialog .switch {name}").rect for name in ("input", "label"))
    assert abs(box["y"] - label["y"]) < 20, "a box stands beside its words"


def test_a_result_says_why_and_can_be_cited(page: Page) -> None:
    page.open("/?q=E4021").answered()
    page.one(".why summary").click()
    rows = [row.text for row in page.all(".why tbody tr") if row.text]
    assert any(row.startswith("exact name") for row in rows)
    page.run("Object.defineProperty(navigator, 'clipboard', {value: {writeText: async (t) => { window.copied = t; }}})")
    page.one("#results .cite").click()
    page.until("window.copied")
    assert page.run("return window.copied").endswith(
        "shop/guides/checkout.md, lines 4–13. librarian://docs/shop/guides/checkout.md#checkout"
    )


def test_nothing_found_says_what_to_try(page: Page) -> None:
    page.open("/?q=remnidrs&mode=keyword").answered()
    assert "Nothing found for “remnidrs”" in page.one("#empty").text
    assert "the nearest word is “Reminders”" in page.one("#empty").text
    page.run("[...document.querySelectorAll('#empty a')].find((one) => /Search for/.test(one.textContent)).click()")
    page.until("document.querySelector('#results h3 a')?.textContent === 'Dunning'")
    page.open('/?q="zzz+qqq"').answered()
    assert page.texts("#empty h2") == ['Nothing found for "zzz qqq"']


def test_the_library_shows_itself(page: Page) -> None:
    page.open()
    assert "33 documents, 3 emails" in page.one("#state").text
    page.one("#state").click()
    page.until("document.querySelector('.rows')")
    text = page.one("#main").text
    assert "33 documents, 3 emails" in text
    assert "Language model\noff" in text


def test_a_page_is_found_by_browsing_in_three_clicks(page: Page) -> None:
    page.open()
    assert page.texts(".product strong") == ["billing", "security", "shop", "Emails"]
    assert len(page.all(".examples a")) <= 3
    assert page.all("#home .documents a"), "what changed last"
    page.one(".product a").click()
    page.until("document.querySelector('.crumbs [aria-current]')?.textContent === 'billing'")
    page.run("[...document.querySelectorAll('.components a')].find((one) => one.textContent === 'invoices').click()")
    page.until("document.querySelector('.crumbs [aria-current]').textContent === 'invoices'")
    assert page.texts("#home .documents a") == ["Dunning", "Invoice numbers"]
    page.all("#home .documents a")[1].click()
    shown(page, "Invoice numbers")
    page.press("ESCAPE").until("document.getElementById('panel').hidden")
    page.one("#home").find_element("link text", "All products").click()
    page.until("document.querySelectorAll('.product').length === 4")


def test_what_is_hardly_likely_is_folded(page: Page) -> None:
    page.open("/?q=rotating+a+token").answered()
    grades = page.run(
        "return [...document.querySelectorAll('#results > li > .facts .badge')].map((one) => one.textContent)"
    )
    assert grades
    assert "Weak" not in grades
    assert not page.one("#weak ol").is_displayed()
    page.one("#weak > summary").click()
    assert page.one("#weak ol").is_displayed()


def test_closing_a_document_adds_nothing_to_the_browsers_history(page: Page) -> None:
    page.open("/?q=refunds").open("/?q=declined").answered()
    page.all("#results a.open")[0].click()
    page.until("document.querySelector('#panel .chosen')")
    page.press("ESCAPE").until("document.getElementById('panel').hidden")
    assert page.address == "/?q=declined"
    page.driver.back()
    page.until("location.search === '?q=refunds'")
    page.open("/?q=declined&doc=shop/guides/checkout.md").until("document.querySelector('#panel .document')")
    page.one("#panel .close").click()
    page.until("document.getElementById('panel').hidden")
    assert page.address == "/?q=declined"
    page.driver.back()
    page.until("location.search === '?q=refunds'")


def test_code_is_copied_and_the_original_file_is_had(page: Page, server: Server) -> None:
    shown(page.open("/?doc=shop/guides/checkout.md"), "Checkout")
    page.run("Object.defineProperty(navigator, 'clipboard', {value: {writeText: async (t) => { window.copied = t; }}})")
    page.one("#panel .copy-code").click()
    page.until("window.copied")
    assert page.run("return window.copied").startswith("cart = Cart.load(cart_id)")
    link = page.one("#panel a[download]").get_attribute("href")
    with urllib.request.urlopen(link) as answer:
        assert answer.read() == (server.folder / "docs" / "shop/guides/checkout.md").read_bytes()
        assert answer.headers["content-disposition"] == "attachment; filename*=utf-8''checkout.md"


def test_it_works_without_scripts(driver: Any, server: Server) -> None:
    from selenium.webdriver.support.expected_conditions import staleness_of
    from selenium.webdriver.support.ui import WebDriverWait

    def go(by: str, value: str) -> Any:
        """Follow a link or press a button, and wait for the next page."""
        before = driver.find_element("css selector", "html")
        driver.find_element(by, value).click()
        WebDriverWait(driver, 30).until(staleness_of(before))
        return driver

    def text(selector: str) -> str:
        return str(driver.find_element("css selector", selector).text)

    driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        driver.get(server.url)
        driver.find_element("css selector", "#query").send_keys("declined payment")
        assert go("css selector", ".go").current_url.startswith(f"{server.url}/?q=declined+payment")
        go("css selector", "#results h3 a")
        assert text("#panel-title") == "Checkout"
        assert text("#s-passage").startswith("Checkout")
        go("css selector", "#panel .close")
        assert "product=" in go("css selector", "[data-filter=product]").current_url
        driver.find_element("css selector", "#type-emails + label").click()
        assert "type=emails" in go("css selector", ".go").current_url
        go("css selector", "#home-link")
        go("link text", "invoices")
        go("link text", "Dunning")
        assert text("#panel-title") == "Dunning"
        go("css selector", "#panel .place a")
        go("css selector", "#help-link")
        assert "Keys" in text("main")
    finally:
        driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})


def test_questions_and_favourites_are_remembered_in_the_browser_alone(page: Page) -> None:
    page.open("/?q=declined+payment").answered()
    page.one(".star").click()
    page.all("#results a.open")[0].click()
    page.until("document.querySelector('#panel .chosen')")
    page.open("/").until("document.querySelectorAll('.kept a').length === 2")
    assert page.texts("#home .kept a")[0] == "declined payment"
    page.one("#saved-button").click()
    for _ in range(2):
        next(one for one in page.all("#saved-dialog button") if one.text == "Forget all").click()
    assert page.run("return localStorage.getItem('librarian.history')") == "[]"
    sent: list[str] = page.run("return performance.getEntriesByType('resource').map((one) => one.name)")
    assert all(name.startswith(page.url) for name in sent)


#: The timer of a question that rests fires when `rest()` is called.
RESTING = """const real = window.setTimeout;
window.setTimeout = (run, wait, ...given) => wait === 2000 ? (window.rest = run, 0) : real(run, wait, ...given)"""


def test_the_question_log_keeps_only_finished_questions(page: Page, server: Server) -> None:
    def kept() -> list[str]:
        lines = (server.folder / "index" / "questions.jsonl").read_text("utf-8").splitlines()
        return [query for line in lines if (query := json.loads(line)["query"]).startswith("zebra")]

    def until_kept(*questions: str) -> None:
        until = time.monotonic() + 20
        while kept() != list(questions) and time.monotonic() < until:
            time.sleep(0.05)
        assert kept() == list(questions)

    page.open("/?q=refunds").answered().run(RESTING)
    page.ask("zebra sto").one("#query").send_keys("rage")
    page.until("document.querySelector('#search.busy')").answered()
    assert kept() == []
    page.run("window.rest()")
    until_kept("zebra storage")
    page.one("#query").send_keys(" box")
    page.press("ENTER")
    until_kept("zebra storage", "zebra storage box")
    page.one("#saved-button").click()
    assert "keeps each finished question" in page.one("#saved-dialog").text


def test_it_fits_a_phone(page: Page) -> None:
    page.driver.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride", {"width": 360, "height": 740, "deviceScaleFactor": 1, "mobile": True}
    )
    try:
        for address in (
            "/",
            "/?q=tokens",
            "/?doc=shop/api/tokens.md&lines=10-18",
            "/?doc=shop/lab/mast.rst&lines=9-9",
            "/?q=refund&type=emails",
            f"/?q=tokens&tags={'unbreakable' * 9}",
        ):
            page.open(address)
            if "q=" in address:
                page.answered()
            elif "doc=" in address:
                page.until("document.querySelector('#panel .chosen')")
            wide = page.run(
                """return [...document.querySelectorAll('body *')].filter((one) => one.offsetParent
                && one.getBoundingClientRect().right > 361 && !one.closest('pre, .table, .skip, .copy-code'))
                .map((one) => one.outerHTML.slice(0, 120))"""
            )
            assert not wide, json.dumps(wide)
            assert page.run("return document.documentElement.scrollWidth") <= 360
        page.open("/?q=tokens").answered()
        assert page.run("return document.querySelector('#results .card').getBoundingClientRect().top") < 170
        page.one("#filters-button").click()
        assert page.one("[data-filter=product]").is_displayed()
    finally:
        page.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def _harm(page: Page) -> tuple[Any, Any, list[str]]:
    return (
        page.run("return window.harmed"),
        len(page.all(":is(main, #panel) :is(img, script, iframe, svg, style, object)")),
        page.run("return performance.getEntriesByType('resource').map((one) => one.name)"),
    )


def test_a_hostile_document_is_shown_as_text_and_does_nothing(page: Page) -> None:
    page.open("/?q=poisoned+chalice").answered()
    page.all("#results a.open")[0].click()
    page.until("document.querySelector('#panel .document')")
    harmed, elements, fetched = _harm(page)
    assert harmed is None
    assert elements == 0
    assert all(name.startswith(page.url) for name in fetched)
    assert page.texts("#panel pre code") == ["<script>window.harmed = 'fence'</script>"]
    assert {one.get_attribute("href") for one in page.all("#panel .document a")} == {
        f"{page.url}/?q=poisoned+chalice&doc=security%2Fnotes%2Ftokens.md&section=rotating-a-token#s-passage",
        "https://example.org/",
    }
    for link in page.all("#panel .document .dead"):
        link.click()
    assert page.run("return window.harmed") is None
    assert page.run("return getComputedStyle(document.body).display") != "none"


def test_a_hostile_mail_is_shown_as_text_and_does_nothing(page: Page) -> None:
    page.open("/?q=cheap+rings&type=emails").answered()
    page.all("#results a.open")[0].click()
    page.until("document.querySelector('#panel article')")
    harmed, elements, fetched = _harm(page)
    assert (harmed, elements) == (None, 0)
    assert all(name.startswith(page.url) for name in fetched)
    assert page.texts("#panel-title") == ["<script>window.harmed='subject'</script> Cheap rings"]


def test_an_address_that_means_harm_does_nothing(page: Page) -> None:
    for address in (
        "/?q=%3Cimg%20src%3Dx%20onerror%3Dharmed%3D1%3E",
        "/?doc=javascript:harmed=1&lines=%3Cscript%3E",
        "/?doc=../../etc/passwd",
        "/?type=%22%3E%3Cscript%3E&mode=nonsense&q=a",
        "/?q=a&product=%22%3E%3Cscript%3Eharmed%3D1%3C/script%3E",
    ):
        page.open(address).until(
            "document.querySelector('#panel .notice, #results li, #message:not([hidden]), #empty h2')"
        )
        assert page.run("return window.harmed") is None
    page.driver.get_log("browser")  # the refused requests are logged by the browser


def sent(url: str) -> int:
    """Bytes of a body as a browser gets it, compressed where the server can."""
    request = urllib.request.Request(url, headers={"Accept-Encoding": "gzip, br"})
    with urllib.request.urlopen(request) as answer:
        return len(answer.read())


def test_it_is_small_and_all_its_own(page: Page) -> None:
    page.open("/").until("document.querySelectorAll('.product').length === 4")
    entries = "[...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')]"
    # A module that is still on its way is in no entry yet, or in one without a size.
    wanted = "link[rel=stylesheet], link[rel=modulepreload], script[src]"
    modules = f"[...document.querySelectorAll('{wanted}')].map((one) => one.href || one.src)"
    page.until(f"document.readyState === 'complete' && {entries}.every((one) => one.responseEnd > 0)")
    page.until(f"{modules}.every((name) => {entries}.some((one) => one.name === name))")
    # What the browser kept from an earlier page has no size there: the server tells it.
    names = page.run(f"return {entries}.map((one) => one.name)")
    assert all(name.startswith(page.url) for name in names)
    sizes = [sent(name) + 600 for name in names]
    assert 20_000 < sum(sizes) <= 150_000, "with 600 bytes of headers each"


def test_it_works_below_a_path_of_another_server(page: Page, server: Server) -> None:
    with below("/docs", server.url) as url:
        page = Page(page.driver, url).open("/?q=rotating+a+token").answered()
        page.one(".star").click()
        page.all("#results a.open")[0].click()
        page.until("document.querySelector('#panel .chosen')")
        assert page.address.startswith("/?q=rotating+a+token&doc=")
        page.run("[...document.querySelectorAll('#panel .document a.inner')][0].click()")
        page.until("document.getElementById('panel-title').textContent === 'Checkout'")
        page.one("#home-link").click()
        page.until("document.querySelectorAll('#home .kept a').length === 2").all("#home .kept a")[1].click()
        page.until("document.querySelector('#panel .chosen')")
        page.open("/").until("document.querySelectorAll('.product').length === 4")
        sent = page.run("return performance.getEntriesByType('resource').map((one) => one.name)")
        assert all(name.startswith(url) for name in sent)
