"""The view of results in a host with MCP Apps: a page that answers it as the protocol says, in a sandboxed frame."""

from __future__ import annotations

import asyncio
import base64
import json
from pathlib import Path
from typing import Any

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

from librarian.api.mcp import RESULTS_APP, McpServer
from tests.api.fake_library import FakeLibrary

HOST = """<!doctype html><meta charset="utf-8"><title>host</title>
<iframe sandbox="allow-scripts" style="width: 900px; height: 600px"></iframe>
<script>
  const {html, result, document: read, canCall} = JSON.parse(atob("DATA"));
  const frame = document.querySelector("iframe"), log = window.log = [];
  addEventListener("message", event => {
    if (event.source !== frame.contentWindow) return;
    const {id, method, params} = event.data;
    log.push({method, params});
    const send = message => frame.contentWindow.postMessage({jsonrpc: "2.0", ...message}, "*");
    if (method === "ui/initialize") send({id, result: {
      protocolVersion: params.protocolVersion, hostInfo: {name: "host", version: "1"},
      hostCapabilities: canCall ? {serverTools: {}} : {}, hostContext: {theme: "dark"},
    }});
    if (method === "ui/notifications/initialized") send({method: "ui/notifications/tool-result", params: result});
    if (method === "tools/call") send({id, result: read});
  });
  const policy = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'";
  frame.srcdoc = html.replace("<meta ", `<meta http-equiv="Content-Security-Policy" content="${policy}"><meta `);
</script>
"""
EVIL = "<img src=x onerror=parent.postMessage('hurt','*')>\n# Config\n\nRotate a token with `ray token rotate`.\nEnd\n"


def app_html() -> str:
    async def read() -> str:
        (contents,) = await McpServer(FakeLibrary()).read_resource(RESULTS_APP)  # type: ignore[misc]
        assert contents.mime_type == "text/html;profile=mcp-app"
        return str(contents.content)

    return asyncio.run(read())


@pytest.fixture
def shown(driver: Any, tmp_path: Path, request: pytest.FixtureRequest) -> Any:
    """The driver inside of the frame, once results are there."""
    results = [
        {"rank": 1, "id": f"ray/core/{name}:4-4", "file_path": f"ray/core/{name}", "title": name, "snippet": EVIL}
        | {"line_start": 4, "line_end": 4, "heading_path": [name, "<b>Tokens</b>"]}
        for name in ("config.md", "install.md")
    ]
    document = {"structuredContent": {"title": "Config", "content": EVIL, "line_start": 1, "line_end": 5}}
    data = {
        "html": app_html(),
        "result": {"content": [], "structuredContent": {"total": 7, "results": results}},
        "document": document,
        "canCall": request.param,
    }
    page = tmp_path / "host.html"
    page.write_text(HOST.replace("DATA", base64.b64encode(json.dumps(data).encode()).decode()), encoding="utf-8")
    driver.get(page.as_uri())
    driver.switch_to.frame(driver.find_element(By.TAG_NAME, "iframe"))
    WebDriverWait(driver, 20).until(lambda browser: browser.find_elements(By.CSS_SELECTOR, "#results button"))
    yield driver
    driver.switch_to.default_content()


@pytest.mark.parametrize("shown", [True], indirect=True)
def test_results_are_listed_with_the_document_beside_them(shown: Any) -> None:
    WebDriverWait(shown, 20).until(lambda browser: browser.find_elements(By.TAG_NAME, "mark"))
    buttons = shown.find_elements(By.CSS_SELECTOR, "#results button")
    assert [one.text.splitlines()[:2] for one in buttons] == [
        ["config.md › <b>Tokens</b>", "ray/core/config.md:4-4"],
        ["install.md › <b>Tokens</b>", "ray/core/install.md:4-4"],
    ]
    assert shown.find_element(By.ID, "about").text == "2 of 7 results"
    assert shown.find_element(By.TAG_NAME, "mark").text == "Rotate a token with `ray token rotate`."
    buttons[1].click()
    shown.switch_to.default_content()

    def opened(browser: Any) -> list[str]:
        return [
            one["params"]["arguments"]["path"]
            for one in browser.execute_script("return log")
            if one["method"] == "tools/call"
        ]

    WebDriverWait(shown, 20).until(lambda browser: len(opened(browser)) == 2)
    assert opened(shown) == ["ray/core/config.md", "ray/core/install.md"]
    assert not [one for one in shown.execute_script("return log") if one["method"] is None], "text became markup"


@pytest.mark.parametrize("shown", [False], indirect=True)
def test_without_calls_of_tools_the_passage_itself_is_shown(shown: Any) -> None:
    shown.find_element(By.CSS_SELECTOR, "#results button").click()
    WebDriverWait(shown, 20).until(lambda browser: browser.find_elements(By.TAG_NAME, "mark"))
    assert "ray token rotate" in shown.find_element(By.ID, "document").text
    assert shown.execute_script("return getComputedStyle(document.documentElement).colorScheme") == "dark"
