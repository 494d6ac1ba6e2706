"""The page's pictures: this manual and a few mails, served and looked at by a real browser. See screenshots.sh."""

from __future__ import annotations

import shutil
import statistics
import sys
import tempfile
from pathlib import Path

from tests.browser.chromium import browser, missing
from tests.browser.library import FILES
from tests.browser.page import Page
from tests.browser.server import Server

DOCS = Path(__file__).resolve().parents[1] / "docs"
PAINTS = 9
QUESTION = "/?q=how+do+I+connect+Claude+Code"


def library(folder: Path) -> None:
    """The manual, and the mails that mean no harm."""
    shutil.copytree(DOCS, folder / "docs", dirs_exist_ok=True)
    for name, text in FILES.items():
        if name.startswith("mail/") and "evil" not in text:
            path = folder / "docs" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, "utf-8")


def sized(page: Page, width: int, height: int) -> None:
    """In a window of this size; a phone's has two pixels for each of its points."""
    phone = width < 600
    metrics = {"width": width, "height": height, "deviceScaleFactor": 2 if phone else 1, "mobile": phone}
    page.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)


def first_paints(page: Page) -> list[float]:
    """First contentful paint of a page that nothing of is cached, milliseconds."""
    times = []
    page.driver.execute_cdp_cmd("Network.enable", {})
    page.driver.execute_cdp_cmd("Network.setCacheDisabled", {"cacheDisabled": True})
    for _ in range(PAINTS):
        page.open("/").until("performance.getEntriesByName('first-contentful-paint').length")
        times.append(page.run("return performance.getEntriesByName('first-contentful-paint')[0].startTime"))
    return times


def weight(page: Page) -> int:
    """Bytes over the wire of the page and all that it loads to show its start."""
    page.open("/").until("document.querySelectorAll('.product').length")
    return int(
        page.run(
            """return [...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')]
            .reduce((sum, one) => sum + one.transferSize, 0)"""
        )
    )


def main(target: Path) -> int:
    """Take all pictures; returns the exit code."""
    if reason := missing():
        print(reason, file=sys.stderr)
        return 78
    target.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="librarian-pictures-") as name:
        folder = Path(name)
        library(folder / "full")
        full, empty = Server(folder / "full"), Server(folder / "empty", embeddings={"enabled": False})
        try:
            # Taken while the first index is being made: nothing else waits for it.
            full.start(ready=False)
            with browser(width=1440, height=900) as driver:
                page = Page(driver, full.url)
                sized(page, 1440, 900)

                def picture(file: str) -> None:
                    page.run("document.activeElement.blur()")
                    driver.save_screenshot(str(target / f"{file}.png"))
                    print(target / f"{file}.png")

                page.open("/?q=connect").until("document.getElementById('progress')").answered()
                picture("indexing")
                full.wait_for(lambda health: health["status"] == "ok")
                page.open("/")
                picture("home")
                page.open(QUESTION).answered().one("#results a.open").click()
                page.until("document.querySelector('#panel .chosen')")
                picture("light")
                page.run("localStorage.setItem('librarian.theme', 'dark')")
                page.open("/?q=which+modes+of+search+are+there").answered().one(".why summary").click()
                picture("dark")
                page.run("localStorage.removeItem('librarian.theme')")
                page.open("/?q=refund&type=emails").answered().one("#results a.open").click()
                page.until("document.querySelector('#panel article')")
                page.run("document.querySelectorAll('#panel details').forEach((one) => { one.open = true; })")
                picture("email")
                page.open("/?q=conecting+hsots&mode=keyword").answered()
                picture("nothing-found")
                sized(page, 820, 1100)
                page.open(QUESTION).answered()
                picture("tablet")
                sized(page, 375, 812)
                page.open(QUESTION).answered()
                picture("phone")
                driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
                times = first_paints(page)
                print(f"over the wire: {weight(page) / 1000:.1f} kB")
                print(f"first paint: median {statistics.median(times):.0f} ms, slowest of {PAINTS} {max(times):.0f} ms")
                empty.start(ready=False)
                Page(driver, empty.url).open("/").until(
                    "document.getElementById('home').textContent.includes('Nothing')"
                )
                picture("empty")
        finally:
            full.stop()
            empty.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
