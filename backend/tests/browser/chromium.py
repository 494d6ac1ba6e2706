"""Debian's Chromium without a window, driven over WebDriver."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from typing import Any

FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-dev-shm-usage",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-extensions",
    "--hide-scrollbars", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
)  # fmt: skip


def missing() -> str:
    """What is needed and isn't there; empty where a browser can be started."""
    try:
        import selenium  # noqa: F401
    except ImportError:
        return "selenium isn't installed: pip install -r requirements-dev.txt"
    for name in ("chromium", "chromedriver"):
        if shutil.which(name) is None:
            return f"{name} isn't installed: run scripts/browser.sh"
    return ""


@contextlib.contextmanager
def browser(*, width: int = 1400, height: int = 900, flags: Sequence[str] = ()) -> Iterator[Any]:
    """A browser with an empty profile of its own."""
    from selenium.webdriver import Chrome, ChromeOptions, ChromeService

    options = ChromeOptions()
    options.binary_location = str(shutil.which("chromium"))
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    with tempfile.TemporaryDirectory(prefix="librarian-browser-", ignore_cleanup_errors=True) as profile:
        for flag in (*FLAGS, f"--user-data-dir={profile}", f"--window-size={width},{height}", *flags):
            options.add_argument(flag)
        environment = {**os.environ, "NO_PROXY": "127.0.0.1,localhost", "HOME": profile}
        service = ChromeService(str(shutil.which("chromedriver")), log_output=os.devnull, env=environment)
        driver = Chrome(options=options, service=service)
        try:
            driver.set_page_load_timeout(60)
            driver.set_script_timeout(60)
            yield driver
        finally:
            driver.quit()
