"""Text without what eyes don't see but terminals and models obey.

Control characters can rewrite a terminal, bidirectional overrides can show a text in another order than it is read in,
and the tag characters of plane 14 spell ASCII that no font draws: all of them carry instructions past whoever looks at
a document. Each becomes U+FFFD, which shows that something was there. Marks of direction, spaces of zero width and byte
order marks, which ordinary texts hold too, are left out; joiners stay, for scripts and emoji need them.
"""

from __future__ import annotations

import re
from typing import Any, Final

_HIDDEN: Final = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ufff9-\ufffb\U000e0000-\U000e007f]"
)
_UNSEEN: Final = re.compile("[\u061c\u200b\u200e\u200f\u2060\ufeff]")


def visible(text: str) -> str:
    """The text with each hidden character replaced, and without those of no width.

    >>> visible("safe \\x1b[31mred, un\\u200bseen")
    'safe �[31mred, unseen'
    """
    shown = _HIDDEN.sub("\ufffd", text)
    return shown if shown.isascii() else _UNSEEN.sub("", shown)  # most texts are: that is asked in no time


def hides(written: str) -> bool:
    """Whether JSON may hold a hidden character anywhere; sometimes also true of one that holds none.

    >>> hides('{"text": "plain"}'), hides('{"text": "\\u001b[31m"}')
    (False, True)
    """
    # the escapes of backspace and form feed, and of all other control characters
    return not written.isprintable() or "\\u" in written or "\\b" in written or "\\f" in written


def visible_within(value: Any) -> Any:
    """The same for every text in a value made of dicts, lists and plain values."""
    if isinstance(value, str):
        # None of the hidden characters is printable; that is quickly asked, and most texts are.
        return value if value.isprintable() else visible(value)
    if isinstance(value, dict):
        return {visible_within(key): visible_within(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [visible_within(inner) for inner in value]
    return value
