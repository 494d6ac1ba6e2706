"""Addresses of pages: one spelling each, which belong to the site, and which lead nowhere good."""

from __future__ import annotations

import ipaddress
import posixpath
import re
import socket
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import parse_qsl, quote, unquote, urlencode, urljoin, urlsplit, urlunsplit

from ..errors import CallerError

MOST_CHARACTERS = 1_000
MOST_SEGMENTS = 16
MOST_REPEATS = 3  #: a path that says the same segment this often goes in circles
#: Parameters that say who comes from where, not what is asked for: of advertisements, newsletters and counters, of
#: sessions, and of what keeps caches out.
_TRACKING = re.compile(
    r"utm_.*|(pk|mtm|piwik|matomo|hsa|vero|cf_chl|__cf_chl|gad|ga|_hs|__hs)_.*|_hs(enc|mi)|hsctatracking|_g(a|ac|l)|"
    r"(fb|g|ms|y|tt|tw)clid|dclid|[gw]braid|gclsrc|igshid|igsh|li_fat_id|mc_[ce]id|mkt_tok|ml_subscriber(_hash)?|"
    r"oly_(enc|anon)_id|ref|rb_clickid|s_kwcid|spm|srsltid|wickedid|"
    r"(php|asp\.net)?_?sess(ion)?_?id|phpsessionid|jsessionid|aspsessionid.*|sid|oscsid|zenid|cfid|cftoken|"
    r"_|rnd|rand|random|no_?cache|cache_?bust(er)?|timestamp",
    re.I,
)
_BARE_SESSION = re.compile(r"[0-9a-f]{32}", re.I)  #: the value of forums' `s`, which is a search elsewhere
#: In a path, as servers of Java write it.
_SESSION = re.compile(r";(jsessionid|phpsessid|sessionid|sid|cfid|cftoken)=[^/;]*", re.I)
_NAMES = re.compile(
    r"article|doc|document|entry|file|help|id|n|name|node|p|page|page_?name|path|title|topic|wiki", re.I
)
_WORD = re.compile(r"[^\W\d_]{3}")
_FILES = """
7z adoc apk avi avif bat bib bin bmp bz2 c cc cer cfg class conf cpp cs css csv dat db deb diff dll dmg doc docx dylib
ear eot eps epub exe f90 gif go gz h hpp ico ics img ini ipynb iso jar java jpeg jpg js json jsonl lock log lua m4a
m4v map mjs mkv mov mp3 mp4 mpeg mpg msi odp ods odt ogg otf parquet patch pdf pkl pl png pom ppt pptx proto ps psd py
pyc pyi r rar rb rpm rs rss rst rtf sh sha256 sig so sql sqlite svg swf tar tex tgz tif tiff toml ts tsv tsx ttf wasm
wav webm webmanifest webp whl woff woff2 xls xlsx xml xpi xsd xsl xz yaml yml zip zst
"""
#: Of files that aren't pages; what follows a dot otherwise belongs to a name (`System.Text`).
_FILE_ENDINGS = frozenset(_FILES.split())
_MACHINERY = re.compile(r"/(_sources|_static|_images|_downloads)/|/(genindex|py-modindex)(\.html)?$")
#: A generator's own directly below the site's folder, or those of its languages and versions; a page's name deeper.
_SEARCH = re.compile(
    r"(?:[a-z]{2}(?:[-_][A-Za-z]{2,4})?/)?(?:search(?:\.html)?|(?:latest|stable|main|master|v?\d[\w.-]*)/search\.html)"
)
_INDEX = re.compile(r"/(index|default)\.(html?|xhtml|php|aspx)$", re.I)
_NAT64, _COMPATIBLE = ipaddress.IPv6Network("64:ff9b::/96"), ipaddress.IPv6Network("::/96")
#: All public unicast addresses of IPv6 (RFC 4291).
_PUBLIC_IPV6 = ipaddress.IPv6Network("2000::/3")
#: Special ranges of IANA's registries that `ipaddress` of some supported Python versions counts as public.
_SPECIAL = tuple(
    map(ipaddress.ip_network, ("192.0.0.0/24", "192.88.99.0/24", "2001::/23", "2001:db8::/32", "3fff::/20"))
)
_SAFE = "/%:@!$&'()*+,;=~-._"


def normalised(url: str, base: str = "") -> str:
    """The one spelling of an http(s) address without its fragment; empty where it is none.

    Host in lower case, default port left out, `.` and `..` resolved, percent-encoding as needed, parameters of tracking
    and those of sessions gone, the others sorted.

    >>> normalised("../B/./c?b=2&utm_source=x&a=1#top", "HTTP://Example.org:80/a/x/")
    'http://example.org/a/B/c?a=1&b=2'
    """
    try:
        return _spelt(urljoin(base, url.strip()))
    except ValueError:
        return ""


@lru_cache(maxsize=50_000)
def _spelt(url: str) -> str:
    """A site's pages repeat the same few hundred addresses."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
        host = host if host.isascii() else host.encode("idna").decode()
    except ValueError:  # a UnicodeError is one
        return ""
    if parts.scheme not in ("http", "https") or not host:
        return ""
    shown = f"[{host}]" if ":" in host else host
    if port not in (None, {"http": 80, "https": 443}[parts.scheme]):
        shown = f"{shown}:{port}"
    parts = parts._replace(path=_SESSION.sub("", parts.path))
    path = quote(unquote(parts.path), safe=_SAFE.replace("%", "")) if "%" in parts.path else quote(parts.path, _SAFE)
    slash = path.endswith(("/", "/.", "/.."))
    path = posixpath.normpath("/" + path.lstrip("/")) if path else "/"
    path = "/" + path.lstrip("/") + ("/" if slash and path != "/" else "")
    query = [
        (key, value)
        for key, value in parse_qsl(parts.query, True)
        if not _TRACKING.fullmatch(key) and not (key == "s" and _BARE_SESSION.fullmatch(value))
    ]
    return urlunsplit((parts.scheme, shown, path, urlencode(sorted(query)), ""))


def page_key(url: str) -> str:
    """Equal for addresses that by custom give the same page: with and without `index.html`, `.md`, or a last slash.

    >>> page_key("https://e.org/a/index.html") == page_key("https://e.org/a/") == page_key("https://e.org/a.md")
    True
    """
    parts = urlsplit(url)
    path = re.sub(r"(\.md|\.markdown|\.mdx)+$", "", parts.path)
    path = re.sub(r"\.(html?|xhtml)$", "", path, flags=re.I)
    path = re.sub(r"/index$", "/", path, flags=re.I).rstrip("/")
    return urlunsplit(("", parts.netloc, path, parts.query, ""))


@dataclass(frozen=True, slots=True)
class Scope:
    """The site: one host, and the folder of the address that the crawl began at."""

    origin: str
    prefix: str  #: begins and ends with a slash

    @classmethod
    def of(cls, url: str) -> Scope:
        """The scope of a crawl that begins at `url`: its folder, or itself where it looks like one."""
        parts = urlsplit(url)
        path = _INDEX.sub("/", parts.path or "/")
        last = path.rsplit("/", 1)[-1]
        prefix = path if not last else path[: -len(last)] if "." in last else f"{path}/"
        return cls(f"{parts.scheme}://{parts.netloc}", prefix)

    def holds(self, url: str) -> bool:
        """Whether a normalised address belongs to the site. http and https are one site."""
        parts = urlsplit(url)
        mine = urlsplit(self.origin)
        same = parts.netloc == mine.netloc if parts.scheme == mine.scheme else parts.hostname == mine.hostname
        return same and f"{parts.path}/".startswith(self.prefix)

    def below(self, url: str) -> list[str]:
        """The path's segments below the prefix."""
        return [part for part in unquote(urlsplit(url).path[len(self.prefix) :]).split("/") if part]

    def may_be_page(self, url: str) -> bool:
        """Whether one of the site's addresses is a page's, not a file's or a generator's own index or form to search.

        >>> scope = Scope.of("https://e.org/docs/")
        >>> [scope.may_be_page(f"https://e.org/docs/{name}") for name in ("v1.2/notes", "logo.png", "search.html")]
        [True, False, False]
        """
        path = urlsplit(url).path
        ending = posixpath.splitext(path.rsplit("/", 1)[-1])[1].lower()[1:]
        is_own = _MACHINERY.search(path) or _SEARCH.fullmatch("/".join(self.below(url)))
        return not is_own and ending not in _FILE_ENDINGS


def trap(url: str) -> str:
    """Why an address looks like one of endlessly many; empty where it doesn't."""
    parts = urlsplit(url)
    segments = [part for part in parts.path.split("/") if part]
    if len(url) > MOST_CHARACTERS:
        return "its address is longer than any page's"
    if len(segments) > MOST_SEGMENTS:
        return "its path is deeper than any page's"
    if segments and Counter(segments).most_common(1)[0][1] >= MOST_REPEATS:
        return "its path goes in circles"
    return ""


def names_page(url: str) -> bool:
    """Whether all behind the question mark is a page's name, as many wikis have it.

    >>> names_page("https://e.org/w?title=Main_Page"), names_page("https://e.org/cal?month=7")
    (True, False)
    """
    query = parse_qsl(urlsplit(url).query)
    return len(query) == 1 and bool(_NAMES.fullmatch(query[0][0]) and _WORD.search(query[0][1]))


def refuse_private(host: str) -> None:
    """Raises `CallerError` where a host's name means an address that isn't on the public internet."""
    try:
        found = {entry[4][0] for entry in socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)}
    except OSError:
        return  # fetching says that there is no such host
    for address in found:
        if is_private(str(address)):
            what = host if host == address else f"{host}, which is {address},"
            raise CallerError(f"{what} isn't public.", hint="Pass --allow-private to allow it.")


def is_private(address: str) -> bool:
    """Whether an address isn't on the public internet: loopback, local, link-local (where clouds keep secrets) …

    An address of IPv6 that a gateway translates to one of IPv4 is what that one is.

    >>> is_private("10.0.0.1"), is_private("64:ff9b::a00:1"), is_private("64:ff9b::808:808"), is_private("fec0::1")
    (True, True, False, True)
    """
    try:
        parsed = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return True
    resolved = _translated(parsed) if isinstance(parsed, ipaddress.IPv6Address) else parsed
    if isinstance(resolved, ipaddress.IPv6Address) and resolved not in _PUBLIC_IPV6:
        return True
    special = any(resolved in network for network in _SPECIAL if network.version == resolved.version)
    return special or not resolved.is_global or resolved.is_multicast


def _translated(address: ipaddress.IPv6Address) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    """The address of IPv4 that one of IPv6 carries, where it carries one: mapped, by NAT64, 6to4 or Teredo."""
    if address in _NAT64 or address in _COMPATIBLE:
        return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    return address.ipv4_mapped or address.sixtofour or (address.teredo or [None, None])[1] or address
