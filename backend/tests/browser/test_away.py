"""The page while its server goes, comes back, has nothing yet, or asks for a token:

* a restart is survived without a reload, and said;
* an empty library tells how to fill it, and what is put in appears by itself;
* the token is asked for once and kept for the tab.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.browser.page import Page
from tests.browser.proxy import below
from tests.browser.server import Server

pytestmark = pytest.mark.browser

WORDS_ALONE = {"enabled": False}


def test_the_page_survives_a_restart_of_its_server(page: Page, server: Server) -> None:
    page.open("/?q=declined").answered()
    server.stop()
    page.one("#query").send_keys(" payment")
    page.until("document.getElementById('message').textContent.includes('can’t be reached')")
    page.all("#results a.open")[0].click()
    page.until("document.querySelector('#panel .notice')?.textContent.includes('can’t be reached')")
    assert page.run("return document.getElementById('state').dataset.word") == "lost"
    server.start()
    page.until("document.getElementById('message').hidden && document.getElementById('state').dataset.word === 'ready'")
    page.until("document.getElementById('summary').textContent.includes('passages')")
    page.until("document.querySelector('#panel .document')")
    assert page.run("return document.getElementById('query').value") == "declined payment"
    page.driver.get_log("browser")  # failed requests


def test_a_server_that_is_away_behind_a_proxy_is_waited_for(page: Page, server: Server) -> None:
    with below("/docs", server.url) as url:
        page = Page(page.driver, url).open("/?q=declined").answered()
        server.stop()
        page.one("#query").send_keys(" payment")
        page.until("document.getElementById('message').textContent.includes('can’t be reached')")
        page.until("document.getElementById('state').dataset.word === 'lost'")
        server.start()
        page.until("document.getElementById('message').hidden")
        page.answered().until("document.getElementById('summary').textContent.includes('passages')")
        page.driver.get_log("browser")  # failed requests


def test_an_empty_library_says_how_to_fill_it_and_shows_what_comes(
    driver: Any, other_server: Callable[..., Server]
) -> None:
    server = other_server(embeddings=WORDS_ALONE).start(ready=False)
    server.wait_for(lambda health: health["status"] == "ok")
    page = Page(driver, server.url).open("/")
    page.until("document.getElementById('home').textContent.includes('Nothing is indexed yet')")
    assert "product/component/file" in page.one("#home").text
    page.ask("parcels")
    assert "Nothing is indexed yet" in page.one("#empty").text
    note = server.folder / "docs" / "shop" / "guides" / "parcels.md"
    note.parent.mkdir(parents=True)
    note.write_text("# Parcels\n\nParcels leave at noon.\n", "utf-8")
    server.wait_for(lambda health: health["documents"] == 1)
    page.run("document.dispatchEvent(new Event('visibilitychange'))")  # look now, not in some seconds
    page.until("document.querySelector('#results h3 a')?.textContent === 'Parcels'")
    page.ask("zeppelin")
    assert page.texts("#empty .tries a") == [], "without embeddings no mode finds other words"
    page.one("#type-emails").click()
    page.until("document.getElementById('filter-sender')").run("document.getElementById('filter-sender').focus()")
    page.press("a", "d")  # not to the element: what there is to choose may come meanwhile, and make it anew
    note.with_name("labels.md").write_text("# Labels\n\nLabels are printed at noon.\n", "utf-8")
    server.wait_for(lambda health: health["documents"] == 2)
    page.run("document.dispatchEvent(new Event('visibilitychange'))")
    page.until("document.getElementById('state').textContent === '2 documents'")
    page.press("a")
    assert page.run("return document.activeElement.value") == "ada", "who is typing isn't interrupted by what comes"


def test_results_stay_under_who_reads_them_and_are_asked_for_anew_by_a_button(
    driver: Any, other_server: Callable[..., Server]
) -> None:
    server = other_server(embeddings=WORDS_ALONE)
    folder = server.folder / "docs" / "shop" / "guides"
    folder.mkdir(parents=True)
    (folder / "parcels.md").write_text("# Parcels\n\nParcels leave at noon.\n", "utf-8")
    server.start(ready=False).wait_for(lambda health: health["documents"] == 1)
    page = Page(driver, server.url).open("/?q=parcels").answered()
    assert not page.one("#again").is_displayed()
    (folder / "labels.md").write_text("# Labels of parcels\n\nThey are printed at noon.\n", "utf-8")
    server.wait_for(lambda health: health["documents"] == 2)
    page.run("document.dispatchEvent(new Event('visibilitychange'))")
    page.until("!document.getElementById('again').hidden")
    assert page.texts("#results h3 a") == ["Parcels"]
    page.one("#again").click()
    page.until("document.querySelectorAll('#results h3 a').length === 2")
    assert not page.one("#again").is_displayed()


def test_the_token_is_asked_for_once(driver: Any, other_server: Callable[..., Server]) -> None:
    server = other_server(embeddings=WORDS_ALONE, security={"token": "öffne € sesame"}).start(ready=False)
    server.wait_for(lambda health: health["status"] == "ok")  # else the page's next look is ten seconds away
    page = Page(driver, server.url)
    driver.get(f"{server.url}/?q=parcels")
    assert not page.all("#token-wrong")
    page.one("#token").send_keys("öffne ¥ sesame")
    page.one("#login button").click()
    page.until("document.getElementById('token-wrong')")
    page.one("#token").send_keys("öffne € sesame")
    page.one("#login button").click()
    page.until("document.getElementById('state')?.dataset.word === 'ready'")
    assert page.address == "/?q=parcels"
    page.open("/")
    assert not page.all("#token")
    assert page.run("return document.cookie") == "", "no script reads the proof"
    assert "sesame" not in server.log()
    driver.get_log("browser")  # the first, refused requests
