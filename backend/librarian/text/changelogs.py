"""Changelogs and release notes: files that tell what changed, not how things are, known by their names.

They name everything that a product ever had, often in the words that people ask with, and answer hardly any question
but those on versions.
"""

from __future__ import annotations

import re
from typing import Final

_NAMES: Final = re.compile(
    r"""(?ix)
      (?:^|[/_.\ -])
      (?: change[-_ ]?logs? | rel(?:ease)?[-_ ]?notes? | what'?s[-_ ]?new | porting[-_ ]?guides? ) (?:[/_.\ -]|$)
    | (?:^|/) (?: changes | (?-i:NEWS|HISTORY) | releases/v?\d[^/]* ) (?:\.\w+)? $"""
)
#: Of several languages: a version's number, and words that ask for one or for what it changed.
_ASKED: Final = re.compile(
    r"(?i)versi[oó]n|releas|change|what['’]?s new|new in|since|deprecat|removed|introduced|added in|breaking|upgrad"
    r"|migrat|backport|\d\.\d"
)


def is_changelog(file_path: str) -> bool:
    """Whether a document is one by its name below its product's folder.

    >>> [is_changelog(path) for path in ("shop/CHANGELOG.md", "shop/releases/5.1.txt", "shop/api/changes-feed.md")]
    [True, True, False]
    """
    return _NAMES.search(file_path[file_path.find("/") + 1 :]) is not None


def asks_what_changed(question: str) -> bool:
    """Whether a question names a version, or asks for one or for changes.

    >>> asks_what_changed("what changed in 2.0"), asks_what_changed("how do I add a route")
    (True, False)
    """
    return _ASKED.search(question) is not None
