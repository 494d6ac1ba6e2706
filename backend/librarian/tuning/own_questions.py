"""Rated questions that a library holds about itself: what its links call a page, and its headings.

A link's text is how an author refers to another page, so the page it leads to is the answer; the pages that hold the
link hold its words too and are left out of the results. A heading that only one page has asks for that page.

A library may hold a manual in several versions. A page's editions, one in each of them, are one page here: the first
of them by path stands for all.
"""

from __future__ import annotations

import random
import re
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, TypeVar

from ..evaluation.evaluate import SEED, RatedQuery
from ..models import Document
from ..storage.base import Catalog
from ..text.cross_references import Places

Source = Literal["links", "headings"]
T = TypeVar("T")

#: What links say where they say nothing about their page.
_EMPTY = re.compile(
    r"^(click |see |read |learn )?(here|this|that|more|link|page|docs?|documentation|guide|next|back)\b.*"
)
_WORD = re.compile(r"[^\W\d_]{2,}")
_FEWEST_WORDS, _MOST_WORDS = 2, 14
_HELD_OUT = 4  #: one page of so many
_READ_AT_ONCE = 64  #: documents with their texts
_CHANGED = 0.2  #: once it has grown or shrunk by this share, a library asks itself other questions
#: A version in a folder's name: *v1*, *1.28*, *2.x*, *latest*; a number alone may be a ticket's or a step's.
_VERSION = re.compile(
    r"\bv\d+(?:\.\d+)*|\d+(?:\.(?:\d+|x))+|\b(?:latest|stable|current|main|master|dev|next|lts)\b", re.I
)
_COMMON_WORDS = """
overview introduction summary usage example examples prerequisites installation options see also what is next steps
before you begin cleaning up cleanup related resources references further reading notes note
"""
_COMMON = frozenset(_COMMON_WORDS.split())


@dataclass(frozen=True, slots=True)
class OwnQuestion:
    """A question with its answers, and the files whose place in the results says nothing."""

    rated: RatedQuery
    ignored: frozenset[str]
    source: Source
    #: Of answers with several editions: each one's path, and the path that stands for it among the answers.
    editions: Mapping[str, str] = field(default_factory=dict)

    @property
    def answers(self) -> frozenset[str]:
        """All files that answer it."""
        return frozenset(self.editions) | (self.rated.grades.keys() - self.ignored)

    def pages_of(self, paths: Iterable[str]) -> list[str]:
        """What found files count as, best first, each page where it comes first."""
        return list(dict.fromkeys(page for path in paths if (page := self.page_of(path)) is not None))

    def page_of(self, path: str) -> str | None:
        """What a found file counts as; None where it doesn't count."""
        return self.editions.get(path) or (None if path in self.ignored else path)


def of_links(documents: Iterable[Document]) -> list[OwnQuestion]:
    """One question per link text of two to fourteen words that leads to other pages of the library, in text order."""
    documents = list(documents)
    places, editions = Places(documents), _Editions(documents)
    answers: dict[str, dict[str, int]] = {}
    sources: dict[str, set[str]] = {}
    spelled: dict[str, str] = {}
    for document in documents:
        for link in document.links:
            text = " ".join(link.text.split()).strip("`*_\"'")
            if not _asks(text) or not (target := places.of(document, link.target)):
                continue
            key = text.lower()
            spelled.setdefault(key, text)
            sources.setdefault(key, set()).add(document.file_path)
            if (page := editions.first(target)) != editions.first(document.file_path):
                answers.setdefault(key, {})[page] = 1
    found = []
    for number, (key, grades) in enumerate(sorted(answers.items())):
        if len(grades) <= 3:  # a text that leads everywhere asks for nothing
            same = editions.of(grades)
            ignored = frozenset(sources[key] - grades.keys() - same.keys())
            found.append(OwnQuestion(RatedQuery(f"link {number}", spelled[key], grades), ignored, "links", same))
    return found


def of_headings(documents: Iterable[Document]) -> list[OwnQuestion]:
    """One question per heading of two to fourteen words that one page alone has, in text order."""
    documents = [document for document in documents if document.kind == "document"]
    editions = _Editions(documents)
    holders: dict[str, set[str]] = {}
    spelled: dict[str, str] = {}
    for document in documents:
        for heading in document.headings:
            text = " ".join(heading.text.split())
            if _asks(text) and not {word.lower() for word in _WORD.findall(text)} <= _COMMON:
                spelled.setdefault(text.lower(), text)
                holders.setdefault(text.lower(), set()).add(document.file_path)
    found = []
    for number, (key, paths) in enumerate(sorted(holders.items())):
        pages = set(map(editions.first, paths))
        if len(pages) == 1:
            all_editions = editions.of(pages)
            same = {path: page for path, page in all_editions.items() if path in paths}
            rated = RatedQuery(f"heading {number}", spelled[key], dict.fromkeys(pages, 1))
            found.append(OwnQuestion(rated, frozenset(all_editions.keys() - paths), "headings", same))
    return found


class _Editions:
    """Which documents are one page in several versions: those of one title whose paths differ by versions in folders'
    names alone.
    """

    def __init__(self, documents: Iterable[Document]) -> None:
        alike: dict[tuple[str, str, str], list[str]] = {}
        for document in documents:
            folder, _, name = document.file_path.rpartition("/")
            alike.setdefault((_VERSION.sub("#", folder), name, document.title), []).append(document.file_path)
        self._paths = {min(paths): sorted(paths) for paths in alike.values() if len(paths) > 1}
        self._first = {path: first for first, paths in self._paths.items() for path in paths}

    def first(self, path: str) -> str:
        """What stands for a page; itself where it has no other edition."""
        return self._first.get(path, path)

    def of(self, pages: Iterable[str]) -> dict[str, str]:
        """Every edition's path of those of these pages that have several, with the page."""
        return {path: page for page in pages for path in self._paths.get(page, ())}


def documents_of(catalog: Catalog, *, mails: bool = False) -> list[Document]:
    """The library's documents with headings and links, but without their texts; few texts are in memory at once."""
    found = []
    with catalog.read() as reader:
        ids = [stored.doc_id for stored in reader.iter_documents() if mails or stored.document.kind == "document"]
        for start in range(0, len(ids), _READ_AT_ONCE):
            read = reader.documents(ids[start : start + _READ_AT_ONCE], text=True)
            found += [replace(stored.document, text="", blocks=()) for stored in read.values()]
    return found


def is_another(chunks: int, before: int) -> bool:
    """Whether a library of so many passages is to be learned anew, that had `before` when that was done."""
    return abs(chunks - before) > _CHANGED * chunks


def sample(questions: Sequence[T], most: int) -> list[T]:
    """At most so many, drawn with a fixed seed, in their order."""
    if len(questions) <= most:
        return list(questions)
    drawn = sorted(random.Random(SEED).sample(range(len(questions)), most))
    return [questions[place] for place in drawn]


def held_out(page: str) -> bool:
    """Whether nothing is learned from a page's questions where a library learns from its own: of a quarter of them all.

    By a hash of its path, so that a library that grows keeps apart what it kept apart.
    """
    return zlib.crc32(page.encode("utf-8", "surrogatepass")) % _HELD_OUT == 0


def taught(questions: Iterable[OwnQuestion]) -> list[OwnQuestion]:
    """Those that may be learned from: none of their answers is held out."""
    return [question for question in questions if not any(map(held_out, question.rated.grades))]


def untaught(questions: Iterable[OwnQuestion]) -> list[OwnQuestion]:
    """Those to measure with: all of their answers are held out."""
    return [question for question in questions if all(map(held_out, question.rated.grades))]


def _asks(text: str) -> bool:
    return _FEWEST_WORDS <= len(_WORD.findall(text)) <= _MOST_WORDS and not _EMPTY.match(text.lower())
