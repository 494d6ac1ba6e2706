# ruff: noqa: E501 (payloads stand in one line each)
"""A hundred documents that mean harm, opened in Chromium: no script, no request to elsewhere, no navigation.

Each payload stands in Markdown, HTML, reStructuredText, AsciiDoc, a mail and plain text, some in names, titles and tags.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from tests.browser.page import Page
from tests.browser.server import Server

pytestmark = pytest.mark.browser

ELSEWHERE = "http://198.51.100.7/x"
PAYLOADS = {
    "script": "<script>window.harmed='script'</script>",
    "script-src": f"<script src='{ELSEWHERE}'></script>",
    "img": "<img src=x onerror=\"window.harmed='img'\">",
    "img-remote": f"<img src='{ELSEWHERE}' srcset='{ELSEWHERE} 2x'>",
    "svg": "<svg onload=\"window.harmed='svg'\"><script>window.harmed='svg script'</script></svg>",
    "svg-use": f"<svg><use href='{ELSEWHERE}#a'/><image href='{ELSEWHERE}'/><a href=\"javascript:window.harmed=1\"><text>x</text></a></svg>",
    "math": "<math><mtext><table><mglyph><style><!--</style><img title=\"--&gt;&lt;img src=1 onerror=window.harmed=1&gt;\">",
    "mutation": "<svg></p><style><a id=\"</style><img src=1 onerror=window.harmed='mutation'>\">",
    "noscript": "<noscript><p title=\"</noscript><img src=x onerror=window.harmed='noscript'>\"></noscript>",
    "template": "<template><img src=x onerror=window.harmed='template'></template>",
    "iframe": f"<iframe src=\"javascript:window.harmed='iframe'\" srcdoc=\"<script>parent.harmed=1</script>\"></iframe><iframe src='{ELSEWHERE}'></iframe>",
    "object": f"<object data='{ELSEWHERE}'></object><embed src='{ELSEWHERE}'><applet code='{ELSEWHERE}'></applet>",
    "style": f"<style>@import '{ELSEWHERE}'; body {{ background: url({ELSEWHERE}); display: none }}</style>",
    "style-attribute": f"<p style=\"position: fixed; inset: 0; background: url('{ELSEWHERE}')\">cover</p>",
    "link": f"<link rel=stylesheet href='{ELSEWHERE}'><link rel=prefetch href='{ELSEWHERE}'>",
    "meta": f"<meta http-equiv=refresh content='0; url={ELSEWHERE}'><base href='{ELSEWHERE}'>",
    "form": f"<form action='{ELSEWHERE}'><input autofocus onfocus=\"window.harmed='focus'\" name=query><button>x</button></form>",
    "details": "<details open ontoggle=\"window.harmed='toggle'\"><summary>s</summary></details>",
    "media": f"<video src='{ELSEWHERE}' autoplay onerror=\"window.harmed=1\"></video><audio src='{ELSEWHERE}' onerror=\"window.harmed=1\"></audio>",
    "clobber": "<a id=query name=policy href=#>a</a><form id=search name=trustedTypes></form><img name=documentElement>",
    "entities": "&lt;img src=x onerror=window.harmed=1&gt; <a href=\"java&#115;cript:window.harmed=1\">x</a>",
    "data-url": "<a href=\"data:text/html,<script>opener.harmed=1</script>\" target=_blank>x</a>",
    "vbscript": "<a href=\"vbscript:harmed\">x</a> <a href=\" &#1; javascript:window.harmed=1\">x</a> <a href='jav\tascript:window.harmed=1'>x</a>",
}  # fmt: skip
#: What only its own format takes for markup.
ONLY = {
    "links.md": "[a](javascript:window.harmed=1) [b](<javascript:window.harmed=1>) [c][d] ![e](javascript:window.harmed=1)\n\n"
    f"[d]: javascript:window.harmed=1\n\n![f]({ELSEWHERE} 'x') <javascript:window.harmed=1> [[javascript:window.harmed=1]]\n",
    "fence.md": "```\"><img/src=x/onerror=window.harmed=1>\ncode\n```\n\n~~~<script>\n</script>\n~~~\n",
    "note.md": "!!! note \"<img src=x onerror=window.harmed=1>\"\n    x\n\n:::tip[<script>window.harmed=1</script>]\nx\n:::\n",
    "table.md": "| <img src=x onerror=window.harmed=1> | b |\n|---|---|\n| <script>window.harmed=1</script> | `</code><script>window.harmed=1</script>` |\n",
    "front.md": "---\ntitle: \"<img src=x onerror=window.harmed='title'>\"\ntags: ['<script>window.harmed=1</script>', '\"><b>']\nsource_url: javascript:window.harmed=1\nlang: '\"><script>'\n---\n# x\n\nbody\n",
    "heading.md": "# x {#\"onclick=window.harmed=1}\n\n## <svg onload=window.harmed=1> {#query}\n\n[go](#query)\n",
    "footnote.md": "A[^<script>window.harmed=1</script>] b[^1].\n\n[^1]: <img src=x onerror=window.harmed=1>\n",
    "raw.rst": ".. raw:: html\n\n   <script>window.harmed='raw'</script>\n\n.. role:: raw-html(raw)\n   :format: html\n\n:raw-html:`<img src=x onerror=window.harmed=1>`\n",
    "links.rst": f"`a <javascript:window.harmed=1>`_ |p| :doc:`javascript:window.harmed=1`\n\n.. |p| image:: {ELSEWHERE}\n   :target: javascript:window.harmed=1\n\n.. figure:: {ELSEWHERE}\n   :alt: x\" onerror=\"window.harmed=1\n",
    "directive.rst": ".. \"><script>window.harmed=1</script>:: x\n\n.. foo:: <img src=x onerror=window.harmed=1>\n   :bar: <script>\n\n   x\n\n.. class:: \"><img/src=x/onerror=window.harmed=1>\n\n.. include:: /etc/passwd\n\n.. code:: \"><script>window.harmed=1</script>\n\n   x\n\n.. math::\n\n   \\href{javascript:window.harmed=1}{x}\n",
    "pass.adoc": "++++\n<script>window.harmed='pass'</script>\n++++\n\npass:[<img src=x onerror=window.harmed=1>] +++<svg onload=window.harmed=1>+++\n",
    "links.adoc": f"link:javascript:window.harmed=1[a] javascript:window.harmed=1[b] image:{ELSEWHERE}[c] image::{ELSEWHERE}[\"><script>]\n\nlink:\"onmouseover=window.harmed=1[x] https://example.org/\"onclick=\"window.harmed=1[y]\n\n<<a\"onclick=window.harmed=1,z>>\n",
    "attributes.adoc": "[[\"><script>window.harmed=1</script>]]\n[source,\"><img src=x onerror=window.harmed=1>]\n----\nx\n----\n\n.<script>window.harmed=1</script>\n[quote, <img src=x onerror=window.harmed=1>]\n____\nx\n____\n",
    "table.adoc": "|===\n|<script>window.harmed=1</script> a|<img src=x onerror=window.harmed=1>\n|===\n",
    "picture.svg": "<svg xmlns='http://www.w3.org/2000/svg' onload='window.harmed=1'><script>window.harmed=1</script></svg>",
    "sheet.csv": "name,value\n<script>window.harmed=1</script>,\"=HYPERLINK(\"\"javascript:window.harmed=1\"\")\"\n",
    "notes.ipynb": '{"cells": [{"cell_type": "markdown", "metadata": {}, "source": ["# x\\n", "<img src=x onerror=window.harmed=1>"]}, {"cell_type": "code", "metadata": {}, "outputs": [{"output_type": "display_data", "data": {"text/html": ["<script>window.harmed=1</script>"]}, "metadata": {}}], "source": ["1"], "execution_count": 1}], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}',
    "<img src=x onerror=window.harmed='name'>.md": "# Named\n\nx\n",
    "\"onmouseover=\"window.harmed=1.md": "# Quoted\n\nx\n",
    "'><script>window.harmed=1;.txt": "x\n",
}  # fmt: skip


def written(payload: str) -> dict[str, str]:
    """Files that hold a payload, by their ending."""
    return {
        "md": f"# Title {payload}\n\nchalice {payload}\n\n- {payload}\n\n> {payload}\n\n    {payload}\n",
        "html": f"<html><head><title>{payload}</title></head><body><h1>x</h1><p>chalice {payload}</p><pre>{payload}</pre></body></html>",
        "rst": f"Title {payload[:40]}\n{'=' * 60}\n\nchalice {payload}\n\n.. note:: {payload}\n\n``{payload}``\n",
        "adoc": f"= Title {payload}\n\nchalice {payload}\n\nNOTE: {payload}\n\n|===\n|{payload}\n|===\n",
        "eml": (
            f"From: \"{payload}\" <evil@example.org>\nTo: team@example.org\nSubject: chalice {payload}\nDate: Wed, 04 Mar 2026"
            " 08:00:00 +0100\nMessage-ID: <ID@example.org>\nMIME-Version: 1.0\nContent-Type: text/html; charset=utf-8\n\n"
            f"<html><body onload=\"window.harmed='body'\">chalice {payload}</body></html>\n"
        ),
    }  # fmt: skip


def write(folder: Path) -> list[str]:
    """All of them below `folder`; returns their paths."""
    paths = []
    for name, payload in PAYLOADS.items():
        for ending, text in written(payload.replace("\n", " ")).items():
            path = f"evil/{'mail' if ending == 'eml' else 'files'}/{name}.{ending}"
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(text.replace("<ID@", f"<{name}@"), "utf-8")
            paths.append(path)
    for name, text in ONLY.items():
        path = f"evil/<b onclick=harmed>/{name}"
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, "utf-8")
        paths.append(path)
    return paths


@pytest.fixture(scope="module")
def evil(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Server, list[str]]]:
    folder = tmp_path_factory.mktemp("evil")
    paths = write(folder / "docs")
    server = Server(folder, embeddings={"enabled": False})
    try:
        yield server.start(), paths
    finally:
        server.stop()


#: What a page did that it shouldn't, as a list of words.
HARM = """const found = [];
if (window.harmed !== undefined) found.push(`script: ${window.harmed}`);
const there = [...document.querySelectorAll(':is(main, #panel) :is(script, img, iframe, svg, style, object, embed, form, base, meta, link)')];
found.push(...there.map((one) => `element: ${one.outerHTML.slice(0, 80)}`));
for (const one of document.querySelectorAll('main *, #panel *')) {
  for (const { name, value } of one.attributes) {
    if (/^on|^style$|^srcdoc$/.test(name) || /^\\s*(javascript|data|vbscript):/i.test(value) && name !== 'data-cite') found.push(`attribute: ${name}=${value}`);
  }
}
const entries = performance.getEntriesByType('resource').map((one) => one.name);
found.push(...entries.filter((name) => !name.startsWith(location.origin)).map((name) => `request: ${name}`));
if (new Set([...document.querySelectorAll('[id]')].map((one) => one.id)).size !== document.querySelectorAll('[id]').length) found.push('an id twice');
if (getComputedStyle(document.body).display === 'none') found.push('hidden');
return found;"""


def test_a_hundred_documents_that_mean_harm_do_none(driver: Any, evil: tuple[Server, list[str]]) -> None:
    server, paths = evil
    page = Page(driver, server.url)
    assert len(paths) > 100
    opened, harm = 0, []
    for path in paths:
        mail = path.endswith(".eml")
        name = path.rsplit("/", 1)[-1].removesuffix(".eml")
        address = f"/?doc={quote(path)}" + (f"&type=emails&thread={name}%40example.org" if mail else "")
        page.open(address).until("document.querySelector('#panel .document, #panel article, #panel .notice')")
        opened += len(page.all("#panel .document, #panel article"))
        for link in page.all("#panel :is(.dead, .picture)"):
            if link.is_displayed():
                link.click()
        found = page.run(HARM)
        if not page.driver.current_url.startswith(f"{server.url}/?"):
            found.append(f"navigation: {page.driver.current_url}")
        harm += [f"{path}: {one}" for one in found]
    assert harm == []
    assert opened > 100
    assert len(driver.window_handles) == 1
    refused = [entry["message"] for entry in driver.get_log("browser") if "Content Security Policy" in entry["message"]]
    assert refused == [], "nothing was left to the browser's policy to refuse"


def test_lists_of_them_do_no_harm_either(driver: Any, evil: tuple[Server, list[str]]) -> None:
    page = Page(driver, evil[0].url)
    views = (
        "/",
        "/?product=evil",
        "/?q=chalice",
        "/?q=chalice&page=2",
        "/?q=chalice&type=emails",
        "/?type=emails",
        "/status",
    )
    for address in views:
        page.open(address)
        page.run("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
        assert page.run(HARM) == []
    driver.get_log("browser")


def test_markup_reaches_the_page_through_one_policy_alone(page: Page) -> None:
    page.open("/?q=declined").answered()
    assert (
        page.run(
            """try { document.body.innerHTML = '<b>x</b>'; return 'taken'; } catch (error) { return error.name; }"""
        )
        == "TypeError"
    )
    assert (
        page.run(
            """try { trustedTypes.createPolicy('other', {}); return 'made'; } catch (error) { return error.name; }"""
        )
        == "TypeError"
    )
    page.driver.get_log("browser")  # what the browser refused


def test_an_original_file_runs_nothing(driver: Any, evil: tuple[Server, list[str]]) -> None:
    import httpx

    for path in ("evil/files/script.html", "evil/files/svg.md"):
        answer = httpx.get(f"{evil[0].url}/original", params={"doc": path})
        assert answer.headers["content-type"] == "application/octet-stream"
        assert answer.headers["content-disposition"].startswith("attachment")
        assert answer.headers["content-security-policy"].startswith("sandbox")
    for path in ("../config.json", "/etc/passwd", "evil/../../config.json"):
        assert httpx.get(f"{evil[0].url}/original", params={"doc": path}).status_code in (400, 404)
