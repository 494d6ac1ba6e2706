"""Whether everybody can use the page: axe finds nothing on any view, in both themes and on a phone.

axe-core comes with `scripts/node_tools.sh`. Besides, without it: every control has a name, and ids are unique.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.browser.page import Page

pytestmark = pytest.mark.browser

TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]  # of axe's own, 2.2 is off
AXE = Path(__file__).resolve().parents[3] / ".node" / "node_modules" / "axe-core" / "axe.min.js"

VIEWS = {
    "home": ("/", "document.querySelectorAll('.product').length"),
    "results": ("/?q=rotating+a+token&product=shop", "document.querySelector('#results li')"),
    "document": ("/?q=rotating+a+token&doc=shop/api/tokens.md&lines=10-18", "document.querySelector('#panel .chosen')"),
    "table": ("/?doc=shop/lab/ballast.csv&lines=210-212", "document.querySelector('#panel tr.chosen')"),
    "code": ("/?doc=shop/lab/hoist.html", "document.querySelector('#panel pre code')"),
    "hostile": ("/?doc=security/notes/hostile.md", "document.querySelector('#panel table')"),
    "emails": ("/?q=refund&type=emails", "document.querySelector('#results li')"),
    "browsing": ("/?product=shop", "document.querySelector('.crumbs')"),
    "thread": (
        "/?q=refund&type=emails&doc=mail/support/0002.eml&thread=one@example.org",
        "document.querySelector('.mail')",
    ),
    "empty": ("/?q=zzqqxy&mode=keyword", "document.querySelector('#empty h2')"),
}

_NAMELESS = """return [...document.querySelectorAll('button, a, input, select, textarea, summary')]
    .filter((one) => one.checkVisibility() && !(one.textContent.trim() || one.getAttribute('aria-label')
        || one.labels?.length || one.getAttribute('title')))
    .map((one) => one.outerHTML)"""
_TWICE = """const ids = [...document.querySelectorAll('[id]')].map((one) => one.id);
    return ids.filter((id, place) => ids.indexOf(id) !== place)"""


@pytest.mark.parametrize("view", VIEWS)
def test_every_control_has_a_name_and_every_id_is_one_of_its_kind(page: Page, view: str) -> None:
    address, ready = VIEWS[view]
    page.open(address).until(ready)
    assert page.run(_NAMELESS) == []
    assert page.run(_TWICE) == []


def test_what_documents_say_is_told_to_be_in_their_language(page: Page) -> None:
    page.open("/?q=rotating+a+token&doc=shop/api/tokens.md").answered().until(
        "document.querySelector('#panel .document')"
    )
    spoken = page.run(
        """return ['#results h3 a', '.snippet', '#panel-title', '.document'].map(
            (one) => document.querySelector(one).closest('[lang]').lang)"""
    )
    assert spoken == ["en"] * 4


def test_what_is_chosen_is_seen_where_the_system_chooses_the_colours(page: Page) -> None:
    features = {"features": [{"name": "forced-colors", "value": "active"}]}
    page.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", features)
    try:
        page.open("/?q=ballast&doc=shop/lab/ballast.csv&lines=210-212").until(
            "document.querySelector('#panel .chosen')"
        )
        colours = page.run(
            "return [...document.querySelectorAll('.kinds label')].map((one) => getComputedStyle(one).backgroundColor)"
        )
        assert len(set(colours)) == 2
        assert page.run("return getComputedStyle(document.querySelector('#panel .chosen')).outlineStyle") == "solid"
    finally:
        page.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


def test_the_bar_of_the_question_hides_nothing_that_has_the_focus(page: Page) -> None:
    with page.sized(360, 640):
        page.open("/?q=rotating+a+token").answered()
        page.run("[...document.querySelectorAll('#results summary')].at(-1).focus()")
        while page.back_tab().run("return document.activeElement.closest('#results') !== null"):
            seen, bar = page.run(
                """return [document.activeElement, document.querySelector('body > search')]
                    .map((one) => one.getBoundingClientRect().bottom)"""
            )
            assert seen > bar, page.run("return document.activeElement.outerHTML")


@pytest.mark.skipif(not AXE.is_file(), reason="axe-core isn't installed: run scripts/node_tools.sh")
@pytest.mark.parametrize(("theme", "width"), [("light", 1400), ("dark", 1400), ("light", 360)])
def test_axe_finds_nothing(page: Page, theme: str, width: int) -> None:
    page.run("localStorage.setItem('librarian.theme', arguments[0])", theme)
    with page.sized(width, 900):
        found = _found(page)
    assert not found, "\n".join(found)


def _found(page: Page) -> list[str]:
    """What axe finds in every view and dialog."""
    found = []
    for view, (address, ready) in VIEWS.items():
        page.open(address).until(ready)
        page.run("document.querySelectorAll('#main details').forEach((one) => { one.open = true; })")
        page.run("document.getElementById('filters').classList.add('open')")
        found += [f"{view}: {one}" for one in _violations(page)]
    page.one("#help-link").click()
    found += [f"help: {one}" for one in _violations(page)]
    page.open("/status")
    return found + [f"status: {one}" for one in _violations(page)]


def _violations(page: Page) -> list[str]:
    page.run(AXE.read_text("utf-8"))
    result = page.driver.execute_async_script(
        """const done = arguments[1];
        axe.run(document, {resultTypes: ['violations'], runOnly: {type: 'tag', values: arguments[0]}})
            .then(done, (error) => done({error: String(error)}));""",
        TAGS,
    )
    assert "error" not in result, result
    return [
        f"{rule['impact']} {rule['id']}: {rule['help']}: {node['html'][:160]} {node['failureSummary']}"
        for rule in result["violations"]
        for node in rule["nodes"][:3]
    ]
