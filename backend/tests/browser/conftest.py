"""One server and one browser for all tests of the page; each test begins with an empty storage."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.browser.chromium import browser, missing
from tests.browser.library import write_library
from tests.browser.page import Page
from tests.browser.server import Server


@pytest.fixture(scope="session", autouse=True)
def _chromium() -> None:
    if reason := missing():
        pytest.skip(reason)


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory, _chromium: None) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("browser")
    write_library(folder / "docs")
    server = Server(folder, analytics={"enabled": True})
    try:
        yield server.start()
    finally:
        server.stop()


@pytest.fixture(scope="session")
def driver(_chromium: None) -> Iterator[Any]:
    with browser() as driver:
        yield driver


@pytest.fixture
def page(driver: Any, server: Server) -> Iterator[Page]:
    """The page, with nothing remembered, at its usual size."""
    driver.set_window_size(1400, 1000)
    driver.get(f"{server.url}/static/icon.svg")  # an address of the same origin that runs nothing
    driver.execute_script("localStorage.clear(); sessionStorage.clear()")
    yield Page(driver, server.url)
    problems = [entry for entry in driver.get_log("browser") if entry["level"] == "SEVERE"]
    unexpected = [entry for entry in problems if "ERR_CONNECTION" not in entry["message"]]
    assert not unexpected, unexpected


@pytest.fixture
def other_server(tmp_path: Path) -> Iterator[Callable[..., Server]]:
    """Makes further servers; they are ended with the test."""
    made: list[Server] = []

    def make(**settings: dict[str, Any]) -> Server:
        made.append(Server(tmp_path / f"server-{len(made)}", **settings))
        return made[-1]

    yield make
    for server in made:
        server.stop()
