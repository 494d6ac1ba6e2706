"""Maildir: folders of mails without an ending in their names, told by where they lie and how they are called."""

from __future__ import annotations

import os
import re
from collections.abc import Container

#: As the programs that deliver name them: a time, something that no other mail has, the host; flags once it was seen.
_MAIL = re.compile(r"(?:.*/)?(?:cur|new)/(?:[^/]+[:;!]2,[A-Za-z]*|\d{9,11}(?:_\d+)?\.[^/.]*\d[^/.]*\.[^/]+)")


def format_of(file_path: str, known: Container[str]) -> str:
    """The extension that a file is read by, with its dot, lower case; empty where there is none.

    >>> format_of("acme/mail/inbox/cur/1772442000.M20P5.host.example.org:2,RS", {".eml", ".md"})
    '.eml'
    >>> format_of("acme/mail/new/Notes.MD", {".eml", ".md"})
    '.md'
    """
    extension = os.path.splitext(file_path)[1].lower()
    return ".eml" if extension not in known and _MAIL.fullmatch(file_path) else extension
