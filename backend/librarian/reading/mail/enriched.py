"""`text/enriched`, which Eudora, Emacs and NeXT wrote (RFC 1896), as plain text."""

from __future__ import annotations

import re

_PARAMETERS = re.compile(r"<param>.*?</param>", re.I | re.S)
_COMMAND = re.compile(r"(<<)|</?[a-z0-9-]{1,60}>", re.I)
_BREAK = re.compile(r"<nl>|</?paragraph>", re.I)
_NEWLINES = re.compile(r"\n(\n*)")


def enriched_to_text(markup: str) -> str:
    """Without commands and their parameters; lines are broken where one line break follows another."""
    text = _COMMAND.sub(lambda found: "<" if found[1] else "", _PARAMETERS.sub("", markup))
    return _NEWLINES.sub(lambda found: found[1] or " ", text.strip("\n"))


def richtext_to_text(markup: str) -> str:
    """The same for its forerunner (RFC 1341, 7.1.3), in which commands alone break lines."""
    return enriched_to_text(_BREAK.sub("\n\n", markup.strip().replace("\n", " ").replace("<lt>", "<<")))
