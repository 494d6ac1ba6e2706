"""A documentation site of 300 pages with everything that makes crawling hard, served on this machine."""

from __future__ import annotations

import gzip
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

SECTIONS = (
    "Getting Started",
    "Guides",
    "Networking",
    "Storage",
    "Security",
    "Operations",
    "API",
    "Tutorials",
    "FAQ",
    "More",
)
PAGES = 30  #: per section


def slug(section: str) -> str:
    return section.lower().replace(" ", "-")


def words(section: str, number: int) -> str:
    return f"The {section.lower()} page {number} explains how gadget{number} of {section.lower()} is set up and mended."


class Site:
    """What is served, and what was asked for. Attributes may be changed while it runs."""

    def __init__(self) -> None:
        self.asked: Counter[str] = Counter()
        self.answered: Counter[int] = Counter()
        self.version = 1  #: of the page that changes
        self.gone: set[str] = set()
        self.failing: set[str] = set()
        self.released = threading.Event()  #: ends the slow page's silence
        self.reached = threading.Event()  #: set once `watch_after` requests have come
        self.watch_after = 10**9
        self.robots = "User-agent: *\nDisallow: /docs/private/\nSitemap: /docs/sitemap.xml\n"
        self.extra: dict[str, tuple[str, bytes]] = {}
        self.url = ""

    def menu(self, here: str) -> str:
        items = []
        for section in SECTIONS:
            first = f"/docs/{slug(section)}/page-0.html"
            inner = "".join(
                f'<li><a href="/docs/{slug(section)}/page-{number}.html">{section} {number}</a></li>'
                for number in range(PAGES if section == here else 1)
            )
            items.append(f'<li><a href="{first}">{section}</a><ul>{inner}</ul></li>')
        return f'<nav class="menu"><ul>{"".join(items)}</ul></nav>'

    def html(self, title: str, body: str, here: str = "", head: str = "") -> bytes:
        text = f"""<!doctype html><html><head><meta charset="utf-8"><title>{title} - Site</title>{head}
        <script>var tracked = 1;</script></head><body><header>Site header</header>{self.menu(here)}
        <main><article><h1>{title}<a class="headerlink" href="#x">¶</a></h1>{body}</article></main>
        <footer>Copyright <a href="/docs/imprint.html">Imprint</a></footer></body></html>"""
        return text.encode()

    def page(self, path: str, query: str) -> tuple[int, dict[str, str], bytes]:
        if path in self.failing:
            return 503, {"Retry-After": "0"}, b""
        if path in self.gone:
            return 404, {}, b"gone"
        html_ = {"Content-Type": "text/html; charset=utf-8"}
        if path in self.extra:
            kind, data = self.extra[path]
            return 200, {"Content-Type": kind}, data
        if path == "/robots.txt":
            return 200, {"Content-Type": "text/plain"}, self.robots.encode()
        if path == "/docs/":
            links = [
                *ODD,
                "/elsewhere/x.html",
                "https://example.org/",
                "/docs/manual.pdf",
                "/docs/getting-started/page-4.html#a",
            ]
            body = "<p>Welcome to the documentation of the gadgets, which are many and useful.</p>" + "".join(
                f'<p><a href="{link}">{link}</a></p>' for link in links
            )
            return 200, html_, self.html("Home", body)
        if path == "/docs/sitemap.xml":
            places = "".join(
                f"<url><loc>{self.url}/docs/more/page-{number}.html</loc></url>" for number in range(PAGES)
            )
            data = f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{places}</urlset>'
            return 200, {"Content-Type": "application/gzip"}, gzip.compress(data.encode())
        for section in SECTIONS:
            for number in range(PAGES):
                if path == f"/docs/{slug(section)}/page-{number}.html":
                    return 200, html_ | self.validators(section, number), self.numbered(section, number)
        return self.odd(path, query, html_)

    def validators(self, section: str, number: int) -> dict[str, str]:
        version = self.version if (section, number) == ("Guides", 5) else 1
        if number % 3 == 0:
            return {"ETag": f'"{section}-{number}-{version}"'.replace(" ", "")}
        return {"Last-Modified": f"Mon, 02 Mar 2026 10:00:0{version} GMT"} if number % 3 == 1 else {}

    def numbered(self, section: str, number: int) -> bytes:
        changed = self.version if (section, number) == ("Guides", 5) else 1
        body = f"""<p>{words(section, number)}</p><h2 id="setup">Set up gadget{number}</h2>
        <div class="highlight-python"><div class="highlight">
        <pre><span>gadget{number}</span> = setup(&quot;{section}&quot;)
if gadget{number} &lt; {changed}:
    mend()</pre></div></div>
        <p>See <a href="/docs/{slug(section)}/page-{(number + 1) % PAGES}.html">the next page</a>.</p>
        <table><thead><tr><th>key</th><th>meaning</th></tr></thead><tbody><tr><td><code>size_{number}</code></td>
        <td>how large | wide</td></tr></tbody></table>"""
        return self.html(f"{section} {number}", body, section)

    def odd(self, path: str, query: str, html_: dict[str, str]) -> tuple[int, dict[str, str], bytes]:
        moved = {
            "/docs/old.html": "/docs/guides/page-1.html",
            "/docs/away.html": "https://example.org/elsewhere",
            "/docs/outside.html": "/elsewhere/page.html",
            "/docs/round.html": "/docs/round2.html",
            "/docs/round2.html": "/docs/round.html",
        }
        if path in moved:
            return 302, {"Location": moved[path]}, b""
        if path == "/docs/calendar":
            month = int(query.partition("=")[2] or 0)
            body = f'<p>Month {month} has days in it, each with many hours.</p><a href="?month={month + 1}">next</a>'
            return 200, html_, self.html(f"Calendar {month}", body)
        if path.startswith("/docs/loop/"):
            return 200, html_, self.html("Loop", '<p>Round and round it goes for ever.</p><a href="loop/">deeper</a>')
        if path == "/docs/printed.html":
            head = '<link rel="canonical" href="/docs/guides/page-2.html">'
            data = self.numbered("Guides", 2).replace(b"</title>", f"</title>{head}".encode())
            return 200, html_, data
        if path == "/docs/copy.html":
            return 200, html_, self.numbered("Guides", 3)
        if path == "/docs/browser.html":
            return (
                200,
                html_,
                b'<html><head><title>App</title></head><body><div id="root"></div><script src="a.js"></script></body>',
            )
        if path == "/docs/offered.html":
            head = '<link rel="alternate" type="text/markdown" href="offered.html.md">'
            return 200, html_, self.html("Offered", "<p>Rendered text of the page, as browsers see it.</p>", head=head)
        if path == "/docs/offered.html.md":
            text = "---\nlayout: x\n---\n# Offered\n\nThe page as its authors wrote it, for readers of text.\n"
            return 200, {"Content-Type": "text/markdown"}, text.encode()
        if path == "/docs/hidden.html":
            head = '<meta name="robots" content="noindex">'
            return 200, html_, self.html("Hidden", "<p>Not for any index, says the page.</p>", head=head)
        if path == "/docs/slow.html":
            self.released.wait(20)
            return 200, html_, self.html("Slow", "<p>At last.</p>")
        if path == "/docs/huge.html":
            return 200, html_, b"<p>" + b"x" * 3_000_000
        if path == "/docs/imprint.html":
            return 200, html_, self.html("Imprint", "<p>Made by people who like gadgets and their documentation.</p>")
        return 404, {}, b"none"


ODD = (
    *("/docs/old.html", "/docs/away.html", "/docs/outside.html", "/docs/round.html", "/docs/calendar", "/docs/loop/"),
    *("/docs/printed.html", "/docs/copy.html", "/docs/browser.html", "/docs/offered.html", "/docs/hidden.html"),
    *("/docs/slow.html", "/docs/huge.html", "/docs/private/secret.html", "/docs/missing.html"),
    "/docs/guides/page-7.html?utm_source=home",
)


@contextmanager
def served(site: Site) -> Iterator[Site]:
    """The site at `site.url` while the body runs."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True  # else each body waits 40 ms for the receipt of its headers

        def do_GET(self) -> None:
            path, _, query = self.path.partition("?")
            site.asked[path] += 1
            if sum(site.asked.values()) >= site.watch_after:
                site.reached.set()
            status, headers, body = site.page(path, query)
            tag, date = headers.get("ETag"), headers.get("Last-Modified")
            if (tag and self.headers.get("If-None-Match") == tag) or (
                date and self.headers.get("If-Modified-Since") == date
            ):
                status, body = 304, b""
            site.answered[status] += 1
            if not status:
                self.close_connection = True  # a lost connection
                return
            packs = "gzip" in self.headers.get("Accept-Encoding", "") and "Content-Encoding" not in headers
            if body and packs and not path.endswith(".xml"):
                body = gzip.compress(body, 1)
                headers = headers | {"Content-Encoding": "gzip"}
            try:
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                if status != 304:
                    self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)
            except (BrokenPipeError, ConnectionResetError):
                self.close_connection = True

        def log_message(self, format: str, *args: object) -> None:
            pass

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, request: object, client_address: object) -> None:
            pass  # a client that was killed

    server = Server(("127.0.0.1", 0), Handler)
    site.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield site
    finally:
        site.released.set()
        server.shutdown()
        thread.join()
        server.server_close()
