"""The parts of crawling, one by one: what is proved here.

* Addresses have one spelling; scopes, traps, robots.txt and addresses that aren't public are told apart.
* HTML becomes Markdown with its headings, code, tables and lists, and without a site's decoration.
* Menus give categories; files get names of their own; limits of an answer hold after unpacking.
"""

from __future__ import annotations

import gzip
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import html

from librarian.crawling import pages as page_files
from librarian.crawling import site_maps, urls
from librarian.crawling.fetching import CrawlOptions, Fetched, Fetcher
from librarian.crawling.site_maps import parse_robots
from librarian.crawling.web_page import as_page, read_page, written
from librarian.errors import CallerError
from tests.crawling.site import Site, served


@given(st.text("abAB/.%20?&=#é:", max_size=30))
def test_a_normalised_address_stays_as_it_is(text: str) -> None:
    once = urls.normalised(text, "https://e.org/x/y")
    assert urls.normalised(once) == once
    assert "#" not in once


@pytest.mark.parametrize(
    ("url", "scope", "inside"),
    [
        ("https://e.org/docs/a", "https://e.org/docs/", True),
        ("https://e.org/docs", "https://e.org/docs", True),
        ("https://e.org/docs/a", "https://e.org/docs/index.html", True),
        ("http://e.org/docs/a", "https://e.org/docs/", True),
        ("https://e.org/docsother", "https://e.org/docs", False),
        ("https://evil.org/docs/a", "https://e.org/docs/", False),
        ("https://e.org:8443/docs/a", "https://e.org/docs/", False),
    ],
)
def test_a_site_is_one_host_and_one_folder(url: str, scope: str, inside: bool) -> None:
    assert urls.Scope.of(urls.normalised(scope)).holds(urls.normalised(url)) is inside


@pytest.mark.parametrize(
    ("path", "page"),
    [
        ("/docs/search.html", False),
        ("/docs/search", False),
        ("/docs/research.html", True),
        ("/docs/guide/search.html", True),
        ("/docs/api/search", True),
        ("/docs/en/latest/search.html", False),
        ("/docs/zh-CN/search", False),
        ("/docs/v2.1/search.html", False),
        ("/docs/v2.1/search", True),
        ("/docs/en/genindex.html", False),
    ],
)
def test_a_page_called_search_is_one_unless_it_is_the_sites_own_form(path: str, page: bool) -> None:
    assert urls.Scope.of("https://e.org/docs/").may_be_page(f"https://e.org{path}") is page


@pytest.mark.parametrize(
    ("path", "page"),
    [
        ("/api/System.Collections.Generic.List", True),
        ("/api/torch.nn.Linear", True),
        ("/start.jsp", True),
        ("/notes/v1.2", True),
        ("/logo.svg", False),
        ("/setup.exe", False),
        ("/archive.tar.gz", False),
        ("/app.js", False),
        ("/_sources/a.rst.txt", False),
    ],
)
def test_a_dot_in_a_name_is_no_ending_unless_files_have_it(path: str, page: bool) -> None:
    assert urls.Scope.of("https://e.org/").may_be_page(f"https://e.org{path}") is page


@pytest.mark.parametrize(
    "given",
    [
        "/a.html;jsessionid=0A1B?x=1&PHPSESSID=7",
        "/a.html?osCsid=7ab&x=1&_hsenc=p2A",
        "/a.html?CFID=1&CFTOKEN=2&ASP.NET_SessionId=3&x=1",
        "/a.html?x=1&fbclid=a&dclid=b&_ga=1.2&mtm_campaign=c&srsltid=d",
        "/a.html?x=1&_=1700000000&rnd=0.5",
        f"/a.html?s={'0a1b' * 8}&x=1",
    ],
)
def test_a_session_s_number_is_no_part_of_an_address(given: str) -> None:
    assert urls.normalised(given, "http://e.org") == "http://e.org/a.html?x=1"


def test_what_is_asked_for_stays_in_an_address() -> None:
    address = "http://e.org/a?lang=en&page=2&random_forest=1&s=pump&session=3&title=utm_source&v=1.2"
    assert urls.normalised(address) == address


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("title=Main_Page", True),
        ("id=wiki:syntax", True),
        ("page=2", False),
        ("title=A&action=edit", False),
        ("", False),
    ],
)
def test_wikis_name_their_pages_behind_the_question_mark(query: str, names: bool) -> None:
    assert urls.names_page(f"https://e.org/index.php?{query}") is names


@pytest.mark.parametrize(
    "url", ["mailto:a@e.org", "javascript:x()", "ftp://e.org/", "http://", "http://[::1", "data:,x"]
)
def test_what_is_no_page_s_address_is_empty(url: str) -> None:
    assert urls.normalised(url) == ""


@pytest.mark.parametrize(
    ("address", "private"),
    [
        ("127.0.0.1", True),
        ("10.1.2.3", True),
        ("169.254.169.254", True),
        ("::1", True),
        ("::ffff:127.0.0.1", True),
        ("fe80::1%eth0", True),
        ("224.0.0.1", True),
        ("nonsense", True),
        ("0.0.0.0", True),
        ("100.64.0.1", True),
        ("172.31.255.255", True),
        ("192.0.0.170", True),
        ("192.0.2.1", True),
        ("192.88.99.1", True),
        ("198.18.0.1", True),
        ("203.0.113.1", True),
        ("240.0.0.1", True),
        ("255.255.255.255", True),
        ("::", True),
        ("::ffff:0:7f00:1", True),
        ("64:ff9b:1::7f00:1", True),
        ("64:ff9b:1::808:808", True),
        ("100::1", True),
        ("100:0:0:1::1", True),
        ("2001:1::1", True),
        ("2001:2::1", True),
        ("2001:20::1", True),
        ("2001:db8::1", True),
        ("2002:7f00:1::1", True),
        ("2002:c0a8:101::1", True),
        ("3fff::1", True),
        ("3fff:fff:ffff::1", True),
        ("4000::1", True),
        ("5f00::1", True),
        ("fc00::1", True),
        ("fec0::1", True),
        ("feff::1", True),
        ("ff0e::1", True),
        ("8.8.8.8", False),
        ("172.32.0.1", False),
        ("198.17.255.255", False),
        ("2606:4700:4700::1111", False),
        ("2001:4860:4860::8888", False),
        ("2002:808:808::1", False),
        ("64:ff9b::808:808", False),
        ("3fff:1000::1", False),
    ],
)
def test_addresses_that_are_not_public_are_known(address: str, private: bool) -> None:
    assert urls.is_private(address) is private


def test_a_host_with_a_private_address_is_refused() -> None:
    with pytest.raises(CallerError, match="--allow-private"):
        urls.refuse_private("localhost")
    urls.refuse_private("no-such-host.invalid")  # fetching tells


@pytest.mark.parametrize(
    ("text", "path", "allowed"),
    [
        ("User-agent: *\nDisallow: /", "/a", False),
        ("User-agent: *\nDisallow: /\nAllow: /docs", "/docs/a", True),
        ("User-agent: *\nDisallow: /*.pdf$", "/a/b.pdf", False),
        ("User-agent: *\nDisallow: /*.pdf$", "/a/b.pdf.html", True),
        ("User-agent: *\nDisallow:", "/a", True),
        ("User-agent: librarian\nDisallow: /a\n\nUser-agent: *\nAllow: /", "/a", False),
        ("User-agent: other\nUser-agent: *\nDisallow: /a # no", "/a", False),
        ("User-agent: other\nDisallow: /", "/a", True),
        ("User-agent:\nDisallow: /\n\nUser-agent: rarian\nDisallow: /", "/a", True),
        ("User-agent: Librarian/1.0\nDisallow: /a", "/a", False),
        ("Disallow: /a", "/a", True),
        ("User-agent: *\nDisallow: /a?b=", "/a?b=1", False),
        ("User-agent: *\nDisallow: /café", "/caf%C3%A9/a", False),
    ],
)
def test_robots_txt_is_read_as_its_standard_says(text: str, path: str, allowed: bool) -> None:
    assert parse_robots(text).can_fetch(f"https://e.org{path}", "librarian") is allowed


def test_a_site_cannot_stop_the_crawl_by_what_its_robots_txt_or_llms_txt_says() -> None:
    robots = parse_robots(f"User-agent: *\nDisallow: /{'*a' * 40}b\n")
    assert robots.can_fetch(f"https://e.org/{'a' * 500}", "librarian")
    assert not robots.can_fetch(f"https://e.org/{'a' * 500}b", "librarian")
    begun = time.monotonic()
    for piece in ("[", "[](", "[a](x", "[a](", "](", "[a]( ", "[a](<"):
        assert len(list(site_maps.parse_llms(piece * 100_000 + ")", "https://e.org/"))) <= 1
    assert time.monotonic() - begun < 20  # hours, once


@pytest.mark.parametrize("cell", ["<td>", "<td colspan=20>", "<td>a<td>"])
def test_tables_in_tables_cost_no_more_than_what_they_hold(cell: str) -> None:
    begun = time.monotonic()
    written = markdown(f"<table><tr>{cell}" * 60 + "quollwort")
    assert "quollwort" in written
    assert len(written) < 1_000_000
    assert time.monotonic() - begun < 20  # twice as long for each, once


@pytest.mark.parametrize("prefix", ["64:ff9b::", "::ffff:", "::", "2002:{}::", "2001:0:808:808:0:0:{!}"])
def test_an_address_that_a_gateway_translates_is_what_it_becomes(prefix: str) -> None:
    def written(first: int, last: int) -> str:
        plain, turned = f"{first:x}:{last:x}", f"{first ^ 0xFFFF:x}:{last ^ 0xFFFF:x}"
        return prefix.replace("{}", plain).replace("{!}", turned) if "{" in prefix else prefix + plain

    for private in ((0xA9FE, 0xA9FE), (0x7F00, 1), (0x0A00, 1), (0xC0A8, 1)):
        assert urls.is_private(written(*private))
    if not prefix.startswith("20"):
        assert not urls.is_private(written(0x0808, 0x0808))
    assert not urls.is_private("2606:4700::1111")


def test_a_pause_and_sitemaps_are_taken_from_robots_txt() -> None:
    robots = parse_robots("User-agent: *\nCrawl-delay: 2\nSitemap: https://e.org/map.xml\nCrawl-delay: x")
    assert robots.crawl_delay("librarian") in (None, 2.0)
    assert list(robots.sitemaps) == ["https://e.org/map.xml"]


def markdown(body: str) -> str:
    root = html.document_fromstring(f"<main>{body}</main>")
    return written(root, "https://e.org/a/b.html", "https://e.org/a/b.html").text


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("<h2>Set <code>x_y</code> up<a class='headerlink' href='#a'>¶</a></h2>", "## Set `x_y` up"),
        ("<p>One<br>two</p>", "One\ntwo"),
        ("<p>A <b>bold</b> and <em>soft</em> <a href='../c'>link</a>.</p>", "A **bold** and *soft* [link](/c)."),
        ("<p><a href='#x'>here</a> <a href='javascript:y'>there</a></p>", "here there"),
        ("<ul><li>a<ul><li>b</li></ul></li><li>c</li></ul>", "- a\n  - b\n- c"),
        ("<ol start='3'><li>x</li><li>y</li></ol>", "3. x\n4. y"),
        ("<ol><li><p>x</p><pre>a\n  b</pre></li></ol>", "1. x\n\n```\na\n  b\n```"),
        ("<pre><code class='language-go'>a &lt; b</code></pre>", "```go\na < b\n```"),
        ("<div class='highlight-default'><pre>x</pre></div>", "```\nx\n```"),
        ("<pre data-lang='sh'><span class='linenos'>1</span>ls</pre>", "```sh\nls\n```"),
        ("<pre>```\nx\n```</pre>", "````\n```\nx\n```\n````"),
        ("<p>a &lt;b&gt; c</p>", "a \\<b> c"),
        ("<p># not a heading</p>", "\\# not a heading"),
        ("<p>Type:<br># apt install x<br>&gt; go</p><div># y</div>", "Type:\n\\# apt install x\n\\> go\n\n\\# y"),
        (
            "<p>~~~</p><h2>After</h2><p>``` js</p><p><code>a``b</code></p>",
            "\\~~~\n\n## After\n\n\\``` js\n\n``` a``b ```",
        ),
        ("<p>1. Open it</p><p>2) Close it</p>", "1. Open it\n\n2) Close it"),
        ("<table><tr><th># of keys</th><th>b</th></tr></table>", "| # of keys | b |\n| --- | --- |"),
        ("<p><code>a`b</code></p>", "`` a`b ``"),
        ("<blockquote><p>said</p></blockquote>", "> said"),
        ("<dl><dt>term</dt><dd>meaning</dd></dl>", "term\n\nmeaning"),
        ("<table><tr><td>1</td><td>2</td></tr></table>", "| 1 | 2 |\n| --- | --- |"),
        (
            "<table><tr><th>a</th><th>b</th></tr><tr><td colspan='2'><pre>x\ny</pre></td></tr></table>",
            "a\n\nb\n\n```\nx\ny\n```",
        ),
        (
            "<table class='highlighttable'><tr><td class='linenos'><pre>1</pre></td><td><pre>x</pre></td></tr></table>",
            "```\nx\n```",
        ),
        ("<div class='admonition'><p class='admonition-title'>Note</p><p>x</p></div>", "Note\n\nx"),
        ("<dl><dt>a</dt><dt>b</dt><dd><pre>x</pre></dd></dl>", "a\n\nb\n\n```\nx\n```"),
        ("<p>x</p><details><summary>More</summary><ul><li>y</li></ul></details>", "x\n\nMore\n\n- y"),
        ("<dl><dt>alone</dt></dl>", "alone"),
        ("<dl><dt><pre>open(x)</pre></dt><dd>Opens.</dd></dl>", "```\nopen(x)\n```\n\nOpens."),
        (
            "<dl><dt><pre>enum Way\n  Up\n  Down</pre></dt><dd>Where to.</dd></dl>",
            "```\nenum Way\n  Up\n  Down\n```\n\nWhere to.",
        ),
        ("<summary><h4>Use</h4><p>So:</p><ul><li>a</li><li>b</li></ul></summary>", "#### Use\n\nSo:\n\n- a\n- b"),
        ("<p>see <img alt='images/a_b.svg' src='a_b.svg'><img alt='A plan' src='b.png'></p>", "see A plan"),
        ("<nav>menu</nav><script>x</script><p hidden>y</p><button>Copy</button><p>z</p>", "z"),
        ("<h2>Learn C#<a class='anchor' href='/a#c'>#</a></h2>", "## Learn C#"),
        ("<h2><a class='doc-anchor' href='#use'>§</a>Use §5</h2>", "## Use §5"),
        ("<h3>impl Open<div class='where'>where T: Big</div></h3>", "### impl Open where T: Big"),
        ("<details><summary><h4>fn open()</h4></summary><p>Opens.</p></details>", "#### fn open()\n\nOpens."),
        ("<p>Type <code>open<br>close</code>.</p>", "Type `open close`."),
        (
            "<div class='admonitionblock warning'><table><tr><td class='icon'><i class='fa' title='Warning'></i></td>"
            "<td class='content'><p>Close it:</p><pre>close()</pre><p>Then go.</p></td></tr></table></div>",
            "Warning\n\nClose it:\n\n```\nclose()\n```\n\nThen go.",
        ),
        (
            "<div class='note'><table><tr><td rowspan='2'><img alt='[Note]' src='n.png'></td><th>Note</th></tr>"
            "<tr><td><p>One.</p><ul><li>x</li></ul></td></tr></table></div>",
            "Note\n\nOne.\n\n- x",
        ),
        ("<table><tr><td><p>Open:</p><pre>open()</pre></td><td>x</td></tr></table>", "Open:\n\n```\nopen()\n```\n\nx"),
        (
            "<p><span><math><mi>e</mi><annotation encoding='application/x-tex'>e^x</annotation></math></span>"
            "<span class='katex-html'>ex</span> and <math alttext='a^2'><mi>a</mi></math>.</p>",
            "$e^x$ and $a^2$.",
        ),
        ("<p>Let <script type='math/tex'>x < y</script> be <math><mi>z</mi></math>.</p>", "Let $x < y$ be z."),
        ("loose <span>text</span><p>then</p> more<!-- not this -->", "loose text\n\nthen\n\nmore"),
    ],
)
def test_html_is_written_as_markdown(body: str, expected: str) -> None:
    assert markdown(body) == expected


@pytest.mark.parametrize(
    ("code", "language"),
    [
        ("<pre class='sourceCode python'><code class='sourceCode python'>x</code></pre>", "python"),
        ("<div class='highlight highlight-source-shell'><pre>x</pre></div>", "shell"),
        ("<pre class='wide'><code class='hljs copyable'>x</code></pre>", ""),
    ],
)
def test_code_has_the_language_that_its_highlighter_was_told(code: str, language: str) -> None:
    assert markdown(code) == f"```{language}\nx\n```"


@given(st.text("<>/apulidrethcobe=' \n&;", max_size=80))
def test_broken_html_never_raises(text: str) -> None:
    read_page(text.encode(), "https://e.org/")
    read_page(f"<table><tr>{text}".encode(), "https://e.org/")


def test_a_page_says_what_it_is() -> None:
    page = read_page(
        b"""<html><head><title>T - S</title><base href="/x/"><link rel="canonical" href="c"><meta name="keywords"
        content="a, b"><meta name="description" content="D d"></head><body><header>H</header><main><h1>Real</h1>
        <p>Some words that make up a text of a page which is long enough to count as one.</p><a href="y">y</a></main>
        <footer>F</footer></body></html>""",
        "https://e.org/a",
    )
    assert (page.title, page.canonical, page.keywords) == ("Real", "https://e.org/x/c", ("a", "b"))
    assert page.links == ("https://e.org/x/y",)
    assert page.markdown.startswith("# Real\n")
    assert "[y](/x/y)" in page.markdown


MENU = "".join(f"<div><a href='/p{number}'>Chapter {number} about other things</a></div>" for number in range(40))
PROSE = "<p>The gadget is set up with a key of its own, which the server reads when it starts, and keeps.</p>" * 4


def test_text_is_found_where_nothing_says_what_it_is() -> None:
    text = f"<div><h1>Set up</h1>{PROSE}<h2>Code</h2><pre>set(key)</pre>{PROSE}</div>"
    page = read_page(
        f"<body><div><div>{MENU}</div><div>{text}</div></div><div>Legal</div></body>".encode(), "https://e.org/a"
    )
    assert page.markdown.startswith("# Set up\n\nThe gadget")
    assert "## Code\n\n```\nset(key)\n```" in page.markdown
    assert "Chapter" not in page.markdown
    assert "Legal" not in page.markdown
    assert len(page.links) == 40  # its menu is followed all the same


def test_text_in_several_parts_is_kept_whole() -> None:
    parts = "".join(f"<div><h2>Part {number}</h2>{PROSE}</div>" for number in range(3))
    page = read_page(f"<body><div>{parts}</div></body>".encode(), "https://e.org/a")
    assert [f"## Part {number}" in page.markdown for number in range(3)] == [True] * 3


@pytest.mark.parametrize("section", ["h2 id='main'", "section id='main'", "div class='part' id='content'"])
def test_a_section_that_is_called_main_is_not_the_page(section: str) -> None:
    tag, other = section.partition(" ")[0], section.replace("main", "x").replace("content", "x")
    parts = f"<{section}>The main server</{tag}>{PROSE}<{other}><h3>Others</h3></{tag}><p>They are set up alike.</p>"
    page = read_page(f"<body><div><h1>Servers</h1>{parts}</div></body>".encode(), "https://e.org/a")
    assert page.markdown.startswith("# Servers")
    assert "The gadget is set up" in page.markdown
    assert "They are set up alike." in page.markdown


LINKS = "<ul><li><a href='/a'>Buffers</a></li><li><a href='/b'>Clusters</a></li><li><a href='/c'>Timers</a></li></ul>"
LEAD = "<p>Paths of files are joined, split and compared, whatever the system is that they belong to.</p>"


def test_lists_of_links_that_are_the_text_stay() -> None:
    index = read_page(f"<body>{LINKS}<p>Last made today.</p></body>".encode(), "https://e.org/a")
    assert "[Clusters](/b)" in index.markdown
    contents = "<div>Paths<ul><li><a href='#x'>Joining</a></li><li><a href='#y'>Splitting</a></li></ul></div>"
    page = read_page(f"<body>{contents}<h2>Joining</h2>{LEAD}{LINKS}</body>".encode(), "https://e.org/a")
    assert page.markdown.startswith("Paths\n\n- Joining")
    assert "[Clusters](/b)" in page.markdown


def test_tabs_are_shown_with_what_waits_for_a_click() -> None:
    tabs = (
        "<div role=tablist><button role=tab id=t1>Go</button><button role=tab id=t2>Rust</button></div>"
        "<div role=tabpanel aria-labelledby=t1><p>one</p></div>"
        "<div role=tabpanel aria-labelledby=t2 hidden><pre>two</pre></div>"
    )
    page = read_page(f"<main><h1>T</h1><p>Words.</p>{tabs}<p>end</p></main>".encode(), "https://e.org/a")
    assert page.markdown.endswith("\n\nGoRust\n\none\n\n```\ntwo\n```\n\nend\n")


VITEPRESS = """<div class="vp-code-group"><div class="tabs"><input type="radio" id="1"><label for="1">npm</label>
<input type="radio" id="2"><label for="2">yarn</label></div><div class="blocks"><div class="language-sh active">
<button class="copy"></button><span class="lang">sh</span><pre class="shiki"><code>npm add x</code></pre></div>
<div class="language-sh"><span class="lang">sh</span><pre><code>yarn add x</code></pre>
<div class="line-numbers-wrapper"><span>1</span></div></div></div></div>"""
JAVADOC = """<ul class="summary-list"><li><section><h2>Methods</h2><ul class="member-list"><li><section><h3>open</h3>
<p>Opens it.</p></section></li></ul></section></li></ul>"""
STARLIGHT = """<pre data-language="js"><code><div class="ec-line"><div class="gutter"><div class="ln">1</div></div>
<div class="code">let a</div></div><div class="ec-line"><div class="code">
</div></div><div class="ec-line"><div class="code">  b()</div></div></code></pre><aside class="starlight-aside">
<p class="starlight-aside__title"><svg></svg>Caution</p><div class="starlight-aside__content"><p>Take care.</p></div>
</aside>""".replace('</div>\n<div class="code">', '</div><div class="code">')
DOXYGEN = """<div class="fragment"><div class="line"><span class="lineno"> 1</span>Box b;</div>
<div class="line"><span class="lineno"> 2</span>b.open();</div></div>"""


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (VITEPRESS, "npm yarn\n\n```sh\nnpm add x\n```\n\n```sh\nyarn add x\n```"),
        (JAVADOC, "## Methods\n\n### open\n\nOpens it."),
        (
            "<div><table class='lntable'><tr><td><pre><code><span class='lnt'>1\n</span></code></pre></td>"
            "<td><pre><code class='language-go'>x := 1</code></pre></td></tr></table></div>",
            "```go\nx := 1\n```",
        ),
        (
            "<div role='table'><div role='row'><div role='columnheader'>No</div><div role='columnheader'>By</div></div>"
            "<div><div role='row'><div role='cell'><p>a</p></div><div role='cell'>b</div></div></div></div>",
            "| No | By |\n| --- | --- |\n| a | b |",
        ),
        ("<pre><code data-lang='go'><span class='ln'> 1</span>x := 1</code></pre>", "```go\nx := 1\n```"),
        (
            "<div class='alert'><div class='h4 alert-heading'>Take care</div><p>It bites.</p></div>",
            "Take care\n\nIt bites.",
        ),
        (STARLIGHT, "```js\nlet a\n\n  b()\n```\n\nCaution\n\nTake care."),
        ("<p>x <img alt='A plan' src='data:image/gif;base64,AA' data-src='b.png'></p>", "x A plan"),
        (DOXYGEN, "```\nBox b;\nb.open();\n```"),
        ('<div class="tip"><p class="custom-block-title">TIP</p><p>Read it.</p></div>', "TIP\n\nRead it."),
        (
            '<pre><code class="language-rust"><span class="boring">use a;\n</span>b();</code></pre>',
            "```rust\nb();\n```",
        ),
        (
            "<h2>History<span class='mw-editsection'>[<a href='/e'>edit</a>]</span></h2><p>Old.</p>",
            "## History\n\nOld.",
        ),
        ('<div class="mw-highlight-lang-python"><pre>x = 1</pre></div>', "```python\nx = 1\n```"),
        ("<p>Words.</p><div class='feedback'><h2>Feedback</h2><p>Was this helpful?</p></div>", "Words."),
        (
            "<table><tr><th>a</th><th>b</th></tr><tr><td rowspan='2'>1</td><td>2</td></tr><tr><td>3</td></tr></table>",
            "| a | b |\n| --- | --- |\n| 1 | 2 |\n|  | 3 |",
        ),
        ("<p>See it<sup><a href='#f'>1</a></sup>, x<sup>2</sup>.</p>", "See it[1], x^2."),
        ("<ol><li><p>Foot.<a class='footnote-backref' href='#r'>↩</a></p></li></ol>", "1. Foot."),
        (
            "<table class='highlighttable'><tr><th class='filename'>a.py</th></tr><tr><td><pre>x = 1</pre></td></tr>",
            "a.py\n\n```\nx = 1\n```",
        ),
        (
            "<h1>Home of it all</h1><p>Welcome, see tabs.</p><script>x</script>",
            "# Home of it all\n\nWelcome, see tabs.",
        ),
        ("<h1>Home</h1><script>x</script>", ""),
        ("<table><tr><td><h2>Functions</h2></td><td>x</td></tr></table>", "## Functions\n\nx"),
    ],
)
def test_pages_of_the_usual_generators_read_as_they_look(body: str, expected: str) -> None:
    page = read_page(f"<html><body><main>{body}</main></body></html>".encode(), "https://e.org/")
    assert page.markdown.strip() == expected


@pytest.mark.parametrize(
    ("body", "title"),
    [
        ("<h1>The Book</h1><main><h2>Variables</h2><p>x</p></main>", "Variables"),
        ("<h1>The Book</h1><main><h1>Loops</h1><p>x</p></main>", "Loops"),
        ("<main><h1>Config <a class='header-anchor'>\u200b</a></h1></main>", "Config"),
        ("<h1>Variables</h1><p>x</p>", "Variables"),
    ],
)
def test_a_page_s_title_is_its_own_and_not_its_site_s(body: str, title: str) -> None:
    page = f"<html><head><title>Variables - The Book</title></head><body>{body}</body></html>"
    assert read_page(page.encode(), "https://e.org/").title == title


@pytest.mark.parametrize(
    ("named", "body", "title"),
    [
        ("Path | Gadget V2 Docs", "<header><h1>Gadget v2 docs</h1></header><article><h2>Path</h2></article>", "Path"),
        (
            "61. Events",
            "<h1><a href='/'>Gadgets</a></h1><div id=content><h2>Events</h2><p>They are sent.</p></div>",
            "61. Events",
        ),
        ("Box - 1.6", "<div><h1>Gadgets</h1></div><div id=main><h1>class Box</h1><p>x</p></div>", "class Box"),
        ("Box - Gadgets 2 - gadgets.Box", "<h1>Box</h1><p>x</p>", "Box"),
        ("Gadget.Box.open", "<main><h1><a href='g'>Gadget</a><a href='b'>Box</a>open</h1></main>", "Gadget.Box.open"),
        ("Box", "<main><h1>Class Box</h1><p><span>Box</span></p></main>", "Class Box"),
        ("x - Rust", "<main><h1>Struct Box <button>Copy</button></h1><p>x</p></main>", "Struct Box"),
        ("F# in short", "<main><h1>Short F#<a class='anchor' href='#f'>#</a></h1></main>", "Short F#"),
        ("Gadgets", "<p><a href='/'>Gadgets</a></p><h1>Install</h1><p>x</p><h1>Use</h1><p>y</p>", "Install"),
        (
            "Gadget: Box Class",
            "<div class=headertitle><div class=title>Box Class<div class=ingroups><a href=g>In</a></div></div></div>",
            "Box Class",
        ),
    ],
)
def test_each_page_of_a_site_has_a_title_of_its_own(named: str, body: str, title: str) -> None:
    page = f"<html><head><title>{named}</title></head><body>{body}</body></html>"
    assert read_page(page.encode(), "https://e.org/").title == title


def test_what_stands_around_the_text_of_doxygen_and_mediawiki_is_left_out() -> None:
    doxygen = """<div id="top"><div id="projectname">Gadget</div></div><div class="header"><div class="headertitle">
    <div class="title">Box Class</div></div></div><div class="contents"><p>A box.</p></div>
    <address class="footer">Made by</address>"""
    page = read_page(f"<html><body>{doxygen}</body></html>".encode(), "https://e.org/")
    assert (page.title, page.markdown) == ("Box Class", "# Box Class\n\nA box.\n")
    wiki = """<main><h1>Foo</h1><ul><li>Deutsch</li></ul><p>From Wiki</p><div class="mw-content-ltr mw-parser-output">
    <p>Foo is a bar.</p></div><div id="catlinks">Categories: Bars</div></main>"""
    page = read_page(f"<html><body>{wiki}</body></html>".encode(), "https://e.org/")
    assert (page.title, page.markdown) == ("Foo", "Foo is a bar.\n")


@pytest.mark.parametrize(
    ("meta", "header", "kept", "followed"),
    [
        ("noindex, follow", "", False, True),
        ("none", "", False, False),
        ("index", "noindex", False, True),
        ("", "all, nofollow", True, False),
        ("", "googlebot: noindex, nofollow", True, True),
        ("max-snippet:-1, noindex", "", False, True),
        ("", "googlebot: noindex, librarian: none", False, False),
    ],
)
def test_what_a_page_or_its_server_asks_of_robots_is_kept(meta: str, header: str, kept: bool, followed: bool) -> None:
    html_ = (
        f"<html><head><meta name='robots' content='{meta}'></head><body><main><h1>Box</h1><p>x</p></main></body></html>"
    )
    for body, kind in ((html_, "text/html"), (f"# Box\n\n{PROSE}", "text/markdown")):
        told = {"content-type": kind, "x-robots-tag": header}
        page = as_page(Fetched("https://e.org/a", 200, body.encode(), told))
        if kind == "text/html":
            assert (page.indexable, page.follow) == (kept, followed)
        elif not meta:
            assert page.indexable == kept


def test_a_page_that_leads_on_is_a_link() -> None:
    page = read_page(b'<meta http-equiv="refresh" content="0; url=new.html"><p>Moved.</p>', "https://e.org/a/")
    assert page.links == ("https://e.org/a/new.html",)
    assert not page.indexable


def test_old_encodings_are_read() -> None:
    body = "<html><body><h1>Größe</h1><p>Maß und Übermaß.</p></body></html>".encode("latin-1")
    assert read_page(body, "https://e.org/", "iso-8859-1").title == "Größe"
    assert read_page("<h1>Größe</h1>".encode(), "https://e.org/", "no-such").title == "Größe"


@pytest.mark.parametrize(
    ("written", "header", "meta"),
    [
        ("cp1252", "iso-8859-1", ""),
        ("cp1252", "", "iso-8859-1"),
        ("cp1252", "", ""),
        ("utf-8-sig", "iso-8859-1", ""),
        ("utf-16", "", ""),
        ("utf-8", "base64", "utf-16"),
    ],
)
def test_character_sets_mean_what_browsers_take_them_for(written: str, header: str, meta: str) -> None:
    head = f'<meta charset="{meta}">' if meta else ""
    body = f"<html><head>{head}</head><body><h1>“Größe” – 5 €</h1><p>Maß.</p></body></html>".encode(written)
    assert read_page(body, "https://e.org/", header).title == "“Größe” – 5 €"


def test_gb2312_and_shift_jis_hold_what_is_written_in_their_names() -> None:
    assert "镕" in read_page("<p>朱镕基</p>".encode("gbk"), "https://e.org/", "gb2312").markdown
    assert "①" in read_page("<meta charset=shift_jis><p>第①</p>".encode("cp932"), "https://e.org/").markdown


@pytest.mark.parametrize("written", ["utf-8", "utf-8-sig", "utf-16"])
def test_markdown_is_read_in_any_encoding_and_with_any_line_ends(written: str) -> None:
    body = "---\r\ntitle: x\r\n---\r\n# Größe\r\n\r\nMaß.\r\n".encode(written)
    page = as_page(Fetched("https://e.org/a.md", 200, body, {"content-type": "text/markdown"}))
    assert (page.title, page.markdown) == ("Größe", "# Größe\n\nMaß.\n")


def test_menus_nest_categories() -> None:
    page = html.document_fromstring(
        """<nav><p class="caption">Start</p><ul><li><a href="/i">Install</a></li></ul>
        <ul><li><label>Guides</label><ul><li><a href="/g/">Deep</a><ul><li><a href="/g/x">X</a></li></ul></li></ul></li>
        <li><a href="/top">Top</a></li><li><a href="#here">Here</a></li></ul></nav>"""
    )
    assert site_maps.navigation(page, "https://e.org/") == {
        "https://e.org/i": ("Start",),
        "https://e.org/g/": ("Guides", "Deep"),
        "https://e.org/g/x": ("Guides", "Deep"),
        "https://e.org/top": (),
    }


def test_sections_that_a_menu_lists_below_a_page_are_no_group() -> None:
    page = html.document_fromstring(
        """<nav><ul><li><a href="/a.html">Page</a><ul><li><a href="/a.html#x">Part</a><ul><li><a href="a.html#y">Sub</a>
        </li></ul></li></ul></li><li><a href="/g/">Group</a><ul><li><a href="/g/b.html">B</a><ul><li><a href="#z">Z</a>
        </li></ul></li></ul></li></ul></nav>"""
    )
    assert site_maps.navigation(page, "https://e.org/") == {
        "https://e.org/a.html": (),
        "https://e.org/g/": ("Group",),
        "https://e.org/g/b.html": ("Group",),
    }


def test_sitemaps_of_all_kinds_are_read() -> None:
    index = b"<sitemapindex><sitemap><loc>https://e.org/2.xml</loc></sitemap></sitemapindex>"
    assert site_maps.parse_sitemap(index) == ([], ["https://e.org/2.xml"])
    pages = b"<urlset><url><loc> https://e.org/a </loc></url></urlset>"
    assert site_maps.parse_sitemap(gzip.compress(pages)) == (["https://e.org/a"], [])
    assert site_maps.parse_sitemap(b"https://e.org/a\r\nhttps://e.org/b\n") == (
        ["https://e.org/a", "https://e.org/b"],
        [],
    )
    assert site_maps.parse_sitemap(b"no xml") == ([], [])
    assert site_maps.parse_sitemap(b"\x1f\x8bbroken") == ([], [])


def test_names_fit_file_systems_in_any_script() -> None:
    for letter in ("文", "𠀀", "x"):
        *folders, name = page_files.place("p", [letter * 300], [letter * 300], letter * 300, lambda _: True).split("/")
        assert all(20 < len(part.encode()) < 220 for part in (folders[-1], name))


@given(st.lists(st.tuples(st.text("aB /.é", max_size=6), st.text("x/.?", max_size=5)), max_size=10))
def test_pages_get_files_of_their_own(pages: list[tuple[str, str]]) -> None:
    taken: list[str] = []
    for category, path in pages:
        name = page_files.place("p", category.split("/"), path.split("/"), "", lambda path: path not in taken)
        assert name not in taken
        assert ".." not in name.split("/")
        assert not any(part.startswith((".", " ")) or not part for part in name.split("/"))
        taken.append(name)


def test_removing_the_last_file_removes_its_folders(tmp_path: Path) -> None:
    page_files.write(tmp_path, "p/a/b/c.md", '---\nsource_url: "https://docs.example.org/c"\n---\nx')
    page_files.write(tmp_path, "p/d.md", "x")
    page_files.remove(tmp_path, "p/a/b/c.md")
    assert [path.name for path in (tmp_path / "p").iterdir()] == ["d.md"]


def test_limits_hold_after_unpacking_and_busy_sites_are_asked_again() -> None:
    site = Site()
    site.extra = {"/bomb": ("text/html", b"x" * 3_000_000)}
    site.failing = {"/busy"}
    waited: list[float] = []
    with served(site):
        options = CrawlOptions(allow_private=True, per_second=1, timeout_s=5, most_bytes=1_000_000)
        fetcher = Fetcher(options, sleep=waited.append)
        try:
            assert fetcher.get(f"{site.url}/bomb").error == "larger than 1,000,000 bytes"
            assert fetcher.get(f"{site.url}/busy").status == 503
        finally:
            fetcher.close()
        assert site.asked["/busy"] == 3
        assert len([wait for wait in waited if wait > 0]) >= 2  # a second between requests
