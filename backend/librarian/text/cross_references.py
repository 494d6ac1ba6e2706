"""Where links between a library's pages lead, from what each page says by itself.

A page has names: its path, the ends of its path, the labels that it gives its places, the address that it was fetched
from or is published at. What stands in a link may mean several names; it leads to the page that alone has one of them.
So nothing has to be known of other pages when one is stored, and a page that comes later is found by links before it.

A site's address has parts of its own in front (`/docs/concepts/pods` for `concepts/pods.md`), and file names lose their
endings in it; labels are those of Sphinx, which `ref` means from any page.
"""

from __future__ import annotations

import hashlib
import posixpath
import re
from collections.abc import Iterable, Iterator
from typing import Final
from urllib.parse import SplitResult, unquote, urlsplit

from ..models import SCHEME, Document
from .characters import caseless

_ENDING = re.compile(r"\.(?:adoc|asc|asciidoc|aspx|html?|ipynb|jsp|markdown|mdown|mdx?|mkd|php|qmd|rmd|rst|txt|xhtml)$")
_ENDINGS = re.compile(f"(?:{_ENDING.pattern[:-1]})+$")
_INDEXES = frozenset(("index", "_index", "readme"))
#: Of a page's front matter, where it is published: Hugo's, Jekyll's and Docusaurus' names for it.
_PUBLISHED = ("url", "permalink", "slug")
_FETCHED_FROM = "source_url"  #: as `librarian crawl` writes it
_LONGEST = 500  #: characters of a target; data in a link is longer


#: Around a path that is asked for, and what may follow it: an anchor, lines, the end of a sentence.
_AROUND = "`'\"“”‘’«»<>()[] \t\n"
_BEHIND = re.compile(r"(?:#.*|:L?\d+(?:[-–]L?\d+)?|[?!,;:]+)$")
_EXTENSION = re.compile(r"\.[^./\s]{1,10}$")
_TITLE_WORD = re.compile(r"[\w+#]+")


def own_names(file_path: str, title: str = "") -> frozenset[str]:
    """What a question may call a document: its path, the ends of it with and without extension, its title."""
    path = caseless(file_path)
    parts = path.split("/")
    ends = {"/".join(parts[start:]) for start in range(len(parts))}
    ends |= {_EXTENSION.sub("", end) for end in ends} | {_ENDINGS.sub("", end) for end in ends}
    names = {f"=path:{path}", *(f"=file:{end}" for end in ends)}
    words = " ".join(_TITLE_WORD.findall(caseless(title)))
    return frozenset({*names, f"=title:{words}"} if words else names)


def names_asked(question: str) -> tuple[frozenset[str], frozenset[str]]:
    """Those of `own_names` that a question may be as a whole, of titles and of files; none of a long one.

    >>> [sorted(names) for names in names_asked("`/srv/setup.md:10`?")]
    [['=title:srv setup md 10'], ['=file:srv/setup.md', '=path:setup.md', '=path:srv/setup.md']]
    """
    asked = caseless(question.strip(_AROUND))
    if len(asked) > _LONGEST:
        return frozenset(), frozenset()
    path = asked.removeprefix(SCHEME).rstrip("?!,;:").strip(_AROUND)
    path = unquote(_BEHIND.sub("", path)).replace("\\", "/").removeprefix("./").strip("/")
    parts = path.split("/")
    places = {"/".join(parts[start:]) for start in range(len(parts))}
    names = {f"=file:{path}", *(f"=path:{place}" for place in places)} if path else set[str]()
    words = " ".join(_TITLE_WORD.findall(asked))
    return frozenset({f"=title:{words}"} if words else ()), frozenset(names)


def names_of(document: Document) -> frozenset[str]:
    """What links may call a document: those of equal product and component may use shorter names."""
    stem = stem_of(document.file_path)
    names = {f"/{stem}", *_ends(document, stem)}
    for label in document.labels:
        names.update(_scoped(document, _label(label)))
    for key in _PUBLISHED:
        address = document.front_matter.get(key)
        if isinstance(address, str) and address.startswith("/"):
            names.update(_ends(document, stem_of(address)))
    fetched_from = document.front_matter.get(_FETCHED_FROM)
    if isinstance(fetched_from, str) and (parts := _split(fetched_from)) is not None and parts.netloc:
        names.update((_address(parts), *_ends(document, stem_of(unquote(parts.path)))))
    return frozenset(names)


def targets_of(document: Document, target: str) -> frozenset[str]:
    """The names that a link in a document may mean; none where it leads out of the library or nowhere."""
    parts = _split(target)
    if parts is None:
        return frozenset()
    if parts.netloc:
        return frozenset((_address(parts),)) if parts.scheme in ("http", "https", "") else frozenset()
    path = unquote(parts.path).strip()
    if parts.scheme:  # Antora's component:module:page.adoc
        end = path.rpartition(":")[2]
        return frozenset(_ends(document, stem_of(end))) if end.endswith(".adoc") else frozenset()
    if not path.strip("/"):
        return frozenset()
    stem = stem_of(path)
    if path.startswith("/"):
        return frozenset((f"/{stem}", *_ends(document, stem, fewest=2)))
    sibling = posixpath.join(posixpath.dirname(document.file_path), path)  # as files lie
    below = posixpath.join(stem_of(document.file_path), path)  # as a site's addresses end with a slash
    names = {f"/{stem_of(posixpath.normpath(place))}" for place in (sibling, below)}
    if "/" not in path:
        names.update(_scoped(document, _label(path)))
        names.update(_scoped(document, stem))
    elif path.endswith(".adoc") and not path.startswith("."):
        names.update(_ends(document, stem, fewest=2))
    return frozenset(names)


class Places:
    """Where links lead in a library whose documents are all at hand."""

    def __init__(self, documents: Iterable[Document]) -> None:
        holders: dict[str, list[str]] = {}
        for document in documents:
            for name in names_of(document):
                holders.setdefault(name, []).append(document.file_path)
        self._paths = {name: paths[0] for name, paths in holders.items() if len(paths) == 1}

    def of(self, document: Document, target: str) -> str | None:
        """The path of the one document that a link in a document leads to, of itself where no other is meant; None for
        other places."""
        found = self.targets(document, target)
        found = found - {document.file_path} or found
        return next(iter(found)) if len(found) == 1 else None

    def targets(self, document: Document, target: str) -> frozenset[str]:
        """The paths of all documents that a link may lead to: two where one lies beside the file and another where the
        site's addresses would have it."""
        return frozenset(self._paths[name] for name in targets_of(document, target) if name in self._paths)


def stem_of(path: str) -> str:
    """A path or address in one case without endings of documents and without `/index`.

    >>> stem_of("Ray/serve/index.rst.txt"), stem_of("/docs/v1.2/"), stem_of("notes/ray.data.Dataset.html")
    ('ray/serve', 'docs/v1.2', 'notes/ray.data.dataset')
    """
    folder, _, name = path.strip("/").lower().rpartition("/")
    while (shorter := _ENDING.sub("", name)) and shorter != name:
        name = shorter
    if name in _INDEXES:
        return folder
    return f"{folder}/{name}".lstrip("/")


def key_of(name: str) -> int:
    """A name as 64 bits, signed; two of ten million names share one with a probability of 3 in a million."""
    return int.from_bytes(
        hashlib.blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big", signed=True
    )


def _split(target: str) -> SplitResult | None:
    try:
        return urlsplit(target.strip()) if len(target) <= _LONGEST else None
    except ValueError:  # an address in brackets that is none
        return None


def _address(parts: SplitResult) -> str:
    return f"//{parts.netloc.lower().removeprefix('www.')}/{stem_of(unquote(parts.path))}"


def _ends(document: Document, stem: str, fewest: int = 1) -> Iterator[str]:
    """The path's ends of so many parts and more; the last part of a longer path alone means too much in a link."""
    parts = stem.split("/")
    for start in range(max(1, len(parts) + 1 - fewest)):
        yield from _scoped(document, "/".join(parts[start:]))


def _label(name: str) -> str:
    return ":" + " ".join(name.lower().split())


def _scoped(document: Document, name: str) -> Iterator[str]:
    """The same in the document's product, and in its component: versions and languages repeat each other's names."""
    yield f"{document.product}\n{name}"
    yield f"{document.product}\n{document.component}\n{name}"


LONGEST_SHOWN: Final = 200  #: characters of a target

#: Such a line, wherever it stands.
MESSAGE: Final = re.compile(r"\(Included (?:file|part) [^\n]{1,400}?\)")

#: A shortcode that includes a file. It stays as it is typed where that isn't there: its path says what belongs there.
SHORTCODE: Final = re.compile(r"\{\{[<%]\s*(?:include|readfile|code_sample|codenew)\s")


def message(what: str, target: str) -> str:
    """The line for a target. Parentheses, because brackets are markup in some formats."""
    return f"({what}: {' '.join(target.split())[:LONGEST_SHOWN]})"


def paths_alone(text: str) -> str:
    """The text as it is embedded: of such lines the path, which says what belongs there, with blanks before it."""
    return MESSAGE.sub(lambda match: match[0].partition(": ")[2].rstrip(")").rjust(len(match[0])), text)
