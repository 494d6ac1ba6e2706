"""The page in a browser, by what a reader does with it. What a selector means is the test's to know."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

PATIENCE_S = 60


class Page:
    """The page in a browser, by what a reader does with it."""

    def __init__(self, driver: Any, url: str) -> None:
        self.driver = driver
        self.url = url

    def open(self, address: str = "/") -> Page:
        """Load an address; the page is ready once its script runs."""
        self.driver.get(self.url + address)
        return self.until("document.documentElement.classList.contains('scripted')")

    def run(self, script: str, *given: Any) -> Any:
        """What a script returns."""
        return self.driver.execute_script(script, *given)

    def until(self, expression: str, *given: Any) -> Page:
        """Wait until a JavaScript expression holds."""
        from selenium.common.exceptions import TimeoutException
        from selenium.webdriver.support.ui import WebDriverWait

        try:
            WebDriverWait(self.driver, PATIENCE_S, 0.05).until(
                lambda _: self.run(f"return Boolean({expression})", *given)
            )
        except TimeoutException:
            shown = self.run("return document.body.innerText")
            raise AssertionError(f"never: {expression}\nat {self.driver.current_url}\n{shown[:2000]}") from None
        return self

    def all(self, selector: str) -> list[Any]:
        found: list[Any] = self.driver.find_elements("css selector", selector)
        return found

    def one(self, selector: str) -> Any:
        return self.driver.find_element("css selector", selector)

    def texts(self, selector: str) -> list[str]:
        """Texts of all elements, shown or not."""
        found: list[str] = self.run(
            "return [...document.querySelectorAll(arguments[0])].map((one) => one.textContent)", selector
        )
        return found

    def back_tab(self) -> Page:
        """To the control before."""
        from selenium.webdriver import ActionChains, Keys

        ActionChains(self.driver, duration=0).key_down(Keys.SHIFT).send_keys(Keys.TAB).key_up(Keys.SHIFT).perform()
        return self

    def press(self, *keys: str) -> Page:
        """Keys to whatever has the focus, by selenium's names (ENTER) or as characters."""
        from selenium.webdriver import ActionChains, Keys

        for key in keys:
            ActionChains(self.driver, duration=0).send_keys(getattr(Keys, key, key)).perform()
        return self

    def choose(self, selector: str, value: str) -> Page:
        """An option of a select, by its value."""
        from selenium.webdriver.support.ui import Select

        Select(self.one(selector)).select_by_value(value)
        return self

    def ask(self, question: str) -> Page:
        """Type a question and wait for its answer."""
        self.one("#query").clear()
        self.one("#query").send_keys(question)
        return self.answered()

    def answered(self) -> Page:
        """Wait for the answer to what the address asks."""
        return self.until(
            "!document.getElementById('search').classList.contains('busy')"
            " && document.querySelector('#results li, #empty')"
        )

    @contextlib.contextmanager
    def sized(self, width: int, height: int) -> Iterator[None]:
        """In a window of this size, of a phone too, which a browser's own windows don't get."""
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        try:
            yield
        finally:
            self.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})

    @property
    def address(self) -> str:
        """What a reader would share."""
        return str(self.driver.current_url).removeprefix(self.url)


def shown(page: Page, title: str) -> Page:
    """Once the document of this title stands beside the results."""
    return page.until("document.getElementById('panel-title')?.textContent === arguments[0]", title)


def follow(page: Page, link: str) -> None:
    """Click the document's link of these words to another page of the library."""
    links = "[...document.querySelectorAll('#panel .document a.inner')]"
    page.run(f"{links}.find((a) => a.textContent === arguments[0]).click()", link)
