"""What archives of mailing lists write where they took something out of a mail.

-------------- next part --------------
A non-text attachment was scrubbed...
Name: pump.png
Type: image/png
URL: <http://lists.x.org/pipermail/dev/attachments/20260303/3c71463c/attachment.png>

Programs in front of a list leave a line for the HTML of a mail, `[[alternative HTML version deleted]]`, and the
beginning of a disclaimer with the number of its lines, `This e-mail is confid...{{dropped:12}}`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from .borders import margin_of

_PART = r"-{14} \S.{2,38}\S -{14}"  #: in the language of the list
_ALONE = re.compile(rf"(?:{_PART}|Skipped content of type [\w./+-]+?(?:{_PART})?)\s*$")
_DELETED = re.compile(
    r"\s*\[\[alternat(?:ive|e) HTML version deleted\]\]\s*$|.{10,80}\.\.\. ?\{\{dropped(?::\d+)?\}\}\s*$"
)
_LINK = re.compile(r"\w{2,10} ?: <?\S*/attachments/\S+>?\s*$")
_FIELD = re.compile(r"[^\W\d_][\w -]{1,20} ?: ")
_FIELDS = 8  #: of a notice at most, with its first line
#: What somebody may look for: the name of a file, but of none that is there for programs.
_NAME = re.compile(r"Name ?: \S.*\.(?!(?:asc|pgp|sig|p7s|vcf)\s*$)\w{1,5}\s*$")


def find(lines: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Lines [start, stop) of the notices, in order, without the names of files in them."""
    for place, line in enumerate(lines):
        if _is_whole(line):
            yield place, place + 1
        elif "/attachments/" in line and _LINK.match(line):
            first = _first(lines, place)
            start = place if first is None else first
            for one in range(start, place):
                if _NAME.match(lines[one]):
                    yield start, one
                    start = one + 1
            if first is not None:
                yield start, place + 1


def _is_whole(line: str) -> bool:
    """Whether the line alone is a notice."""
    if line.startswith(("--------------", "Skipped content")):
        return bool(_ALONE.match(line))
    return line.rstrip().endswith(("]]", "}}")) and not margin_of(line) and bool(_DELETED.match(line))


def _first(lines: Sequence[str], link: int) -> int | None:
    """The line that says what was taken out, above the fields that end with the link; None where that is no notice."""
    for place in range(link - 1, max(-1, link - _FIELDS), -1):
        if lines[place].rstrip().endswith(("...", "…")):
            return place
        if not _FIELD.match(lines[place]):
            return None
    return None
