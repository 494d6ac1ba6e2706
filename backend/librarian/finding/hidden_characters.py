"""What of a document's text may be shown: everything a person would see, nothing that only a model would.

Text from documents is data. Characters that are invisible, reorder what is read, or smuggle instructions are taken out
before a passage is shown: bidirectional controls, the tag block, zero-width characters and C0/C1 controls but tab and
newline. ZWJ and ZWNJ stay between letters, where Persian and Indic scripts need them. In what isn't a passage (titles,
whole documents) doors mark such characters: `vocabulary.visible`.
"""

from __future__ import annotations

import re
import unicodedata

_HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f"  # C0 and C1 but tab and newline
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # bidirectional controls
    "\u200b\u2060\ufeff"  # zero-width space, word joiner, byte order mark
    "\U000e0000-\U000e007f]"  # tags
)
_JOINER = re.compile("[\u200c\u200d]")


def without_hidden(text: str) -> str:
    """The text without what a reader can't see.

    >>> without_hidden("pay\\u202e evil\\u200b\\x07!")
    'pay evil!'
    """
    if text.replace("\n", "").isprintable():  # none of those is
        return text
    text = _HIDDEN.sub("", text)
    if not _JOINER.search(text):
        return text
    # Whether a joiner stands between letters is asked of the text without hidden characters, so that one of those
    # beside it changes nothing.
    return "".join(
        character
        for place, character in enumerate(text)
        if character not in "\u200c\u200d" or (_letter(text, place - 1) and _letter(text, place + 1))
    )


def _letter(text: str, place: int) -> bool:
    # Combining marks count as letters: a virama stands before most joiners of Indic scripts.
    return 0 <= place < len(text) and unicodedata.category(text[place])[0] in "LM"
