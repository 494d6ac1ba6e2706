"""Lines that stand in a document in place of what it includes and what isn't there."""

from __future__ import annotations

import re
from typing import Final

LONGEST_SHOWN: Final = 200  #: characters of a target

#: Such a line, wherever it stands.
MESSAGE: Final = re.compile(r"\(Included (?:file|part) [^\n]{1,400}?\)")

#: A shortcode that includes a file. It stays as it is typed where that isn't there: its path says what belongs there.
SHORTCODE: Final = re.compile(r"\{\{[<%]\s*(?:include|readfile|code_sample|codenew)\s")


def message(what: str, target: str) -> str:
    """The line for a target. Parentheses, because brackets are markup in some formats.

    >>> message("Included file not found", "code/a.py")
    '(Included file not found: code/a.py)'
    """
    return f"({what}: {' '.join(target.split())[:LONGEST_SHOWN]})"


def paths_alone(text: str) -> str:
    """The text as it is embedded: of such lines the path, which says what belongs there, with blanks before it.

    >>> paths_alone("Run it: (Included file not found: a.sh)").split()
    ['Run', 'it:', 'a.sh']
    """
    return MESSAGE.sub(_path, text) if "(Included " in text else text


def _path(match: re.Match[str]) -> str:
    return match.group().partition(": ")[2].rstrip(")").rjust(len(match.group()))
