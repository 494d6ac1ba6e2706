"""Where the keyboard is after what it did: never nowhere, and where one goes on.

* a control that goes with what it did hands the focus on: to the question, to what has come, to the result;
* a dialog that is renewed while it is open takes nothing away;
* keys that scroll go on scrolling what was jumped in.
"""

from __future__ import annotations

import pytest

from tests.browser.page import Page

pytestmark = pytest.mark.browser

_FOCUS = "return document.activeElement.id || document.activeElement.textContent"


def test_who_uses_a_button_that_goes_with_the_answer_goes_on_from_the_question(page: Page) -> None:
    page.open("/?q=remnidrs&mode=keyword").answered()
    page.run("document.querySelector('#empty a.button').focus()")
    page.press("ENTER").until("document.querySelector('#results li') && document.activeElement.id === 'query'")
    page.open("/?q=tokens&product=shop&file_types=.md").answered().until("document.querySelector('#chips .clear')")
    page.run("document.querySelector('#chips .clear').focus()")
    page.press("ENTER").until("location.search === '?q=tokens' && document.activeElement.id === 'query'")


def test_back_leads_the_keyboard_to_the_result_that_was_read(page: Page) -> None:
    page.open("/?q=appendix+27").answered()
    page.press("ARROW_DOWN", "ARROW_DOWN")
    title = page.run(_FOCUS)
    page.press("ENTER").until("document.querySelector('#panel .chosen')")
    page.driver.back()
    page.until("document.getElementById('panel').hidden && document.activeElement.textContent === arguments[0]", title)


def test_who_jumps_within_a_document_reads_on_from_there(page: Page) -> None:
    page.open("/?q=tokens&doc=shop/api/tokens.md").answered().until("document.querySelector('.outline')")
    page.run("document.querySelector('.outline').open = true; document.querySelectorAll('.outline a')[5].focus()")
    page.press("ENTER").until("document.activeElement.matches('.document h4')")
    place = page.run(_FOCUS)
    page.press("ARROW_DOWN")
    assert page.run(_FOCUS) == place, "the key scrolls, it doesn't lead to the results"
    page.open("/?doc=shop/lab/links.md").until("document.querySelector('#panel .document a')")
    page.run("[...document.querySelectorAll('#panel a')].find((a) => a.textContent === 'further down').focus()")
    page.press("ENTER").until("document.activeElement.textContent === 'Further down'")


def test_parts_of_a_document_are_gone_on_from(page: Page) -> None:
    page.open("/?doc=shop/lab/berths.md&lines=250-250").until("document.querySelector('#panel .earlier')")
    page.run("document.querySelector('#panel .earlier').focus()")
    page.press("ENTER").until("document.querySelector('#panel [data-line=\"1\"]')")
    assert page.run("return document.activeElement.id") == "panel"
    last = page.run("return Number([...document.querySelectorAll('#panel [data-line]')].at(-1).dataset.line)")
    page.one("#panel .further-part").click()
    page.until("Number(document.querySelector('#panel [data-line]').dataset.line) === arguments[0] + 1", last)


def test_a_document_that_cannot_be_shown_is_told_where_it_would_stand(page: Page) -> None:
    page.open("/?q=tokens&doc=shop/api/toknes.md").until("document.querySelector('#panel [role=alert]')")
    assert page.run(_FOCUS) == "panel"
    page.driver.get_log("browser")  # the refused request


def test_a_list_that_loses_an_item_keeps_the_focus(page: Page) -> None:
    page.open()
    asked = "[...'abc'].map((text) => ({ text, address: `./?q=${text}` }))"
    page.run(f"localStorage.setItem('librarian.history', JSON.stringify({asked}))")
    page.one("#saved-button").click()
    page.run("document.querySelectorAll('#saved-dialog .kept button')[1].focus()")
    page.press("ENTER")
    assert page.run("return document.activeElement.ariaLabel") == "Forget c", "several are forgotten one by one"


def test_the_name_of_the_page_opens_a_tab_of_its_own_where_one_is_asked_for(page: Page) -> None:
    page.open("/?q=tokens").answered()
    page.run(
        """addEventListener('click', (event) => { window.followed = !event.defaultPrevented; event.preventDefault(); });
        const link = document.getElementById('home-link');
        link.dispatchEvent(new MouseEvent('click', { ctrlKey: true, bubbles: true, cancelable: true }));"""
    )
    assert page.run("return window.followed")
    assert page.address == "/?q=tokens"
