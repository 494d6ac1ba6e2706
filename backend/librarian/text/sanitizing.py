"""Text without what eyes don't see but terminals and models obey.

Control characters can rewrite a terminal, bidirectional overrides can show a text in another order than it is read in,
and the tag characters of plane 14 spell ASCII that no font draws: all of them carry instructions past a reader of
a document. Each becomes U+FFFD, which shows that something was there. Marks of direction, spaces of zero width and byte
order marks, which ordinary texts hold too, are left out; joiners stay, for scripts and emoji need them.
"""

from __future__ import annotations

import json
import re
from typing import Any, Final

_HIDDEN: Final = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ufff9-\ufffb\U000e0000-\U000e007f]"
)
_UNSEEN: Final = re.compile("[\u061c\u200b\u200e\u200f\u2060\ufeff]")


def visible(text: str) -> str:
    """The text with each hidden character replaced, and without those of no width."""
    shown = _HIDDEN.sub("\ufffd", text)
    return shown if shown.isascii() else _UNSEEN.sub("", shown)  # most texts are: that is asked in no time


def has_control_characters(written: str) -> bool:
    """Whether JSON may hold a hidden character anywhere; sometimes also true of one that holds none."""
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


FENCES = ("passages", "documents", "document", "thread", "names", "fields", "error")
"""Every mark that `fenced` writes."""

# Between the characters of a mark: blanks, U+FFFD (what cleaning puts in place of a hidden character) and characters
# that take up no room. Possessive, so that a long run of them is read once.
_GAP = (
    "[\\s\ufffd\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\U000e0000-\U000e0fff]*+"
)


#: The marks in any case and width, with gaps.
_SPELLED = "|".join(_GAP.join(f"[{letter}{chr(ord(letter) + 0xFEE0)}]" for letter in name) for name in FENCES)
_END = "(?![^\\W\u115f\u1160\u3164\uffa0])"  # no further letter but one that is blank
_MARK = re.compile(f"[<\uff1c\ufe64](?={_GAP}(?:[/\uff0f]{_GAP})?(?:{_SPELLED}){_END})", re.IGNORECASE)


def escaped(text: str) -> str:
    """`text` without hidden characters, with a backslash in each mark (opening or closing) that it holds."""
    return _MARK.sub(r"\g<0>\\", visible(text))


def wrap_untrusted(name: str, text: str) -> str:
    """`text` between marks that it can't close or open itself."""
    return f"<{name}>\n{escaped(text)}\n</{name}>"


def inline(text: str) -> str:
    """`text` on one line, for a sentence of Librarian's own: a line break in it could begin a line of ours."""
    return escaped(" ".join(text.split()))


def quoted(text: str) -> str:
    """A name on one line between double quotes, the quotes in it escaped."""
    return json.dumps(inline(text), ensure_ascii=False)


def without_hidden(text: str) -> str:
    """The text without what a reader can't see."""
    if text.replace("\n", "").isprintable():  # none of those is
        return text
    return _UNSEEN.sub("", _HIDDEN.sub("", text)).replace("\r", "")
