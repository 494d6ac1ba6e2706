"""Words without their markup: headings, summaries and link texts as a reader sees them. Knows no offsets."""

from __future__ import annotations

import html
import re

from ..text.characters import SOFT_HYPHEN, UNSEEN

#: Without one of these a text has no markup to remove.
_MARKUP = re.compile(r"[*_`\[<&\\{~$!:]")
#: With MyST's role before it, or the underscore behind it that makes a reference of reStructuredText.
_CODE = re.compile(r"(?:\{[a-z][\w+:.-]*\}(?=`))?(`+)(.+?)\1(?!`)(?:__?(?!\w))?")
_PLAIN_ROLE_TARGET = re.compile(r"(?<=\S)[ \t]*<[^<>]+>$")
_SHORTCODE = re.compile(r"\{\{[<%-]?(.*?)[%>-]?\}\}")
_QUOTED = re.compile(r"\b(?:text|title|caption|alt)\s*=\s*\"([^\"]*)\"|(?<![=\w])\"([^\"]*)\"")
_ANCHOR = re.compile(r"\s*\{:?\s*[#.][^{}]*\}\s*$")
_REMARK = re.compile(r"\s*\{/\*.*?\*/\}")  #: of MDX
_IMAGE = re.compile(r"!\[([^\[\]]*)\](?:\([^()]*(?:\([^()]*\)[^()]*)*\)|\[[^\[\]]*\])?")
_PLAIN_LINK = re.compile(r"\[([^\[\]]+)\](?:\([^()]*(?:\([^()]*\)[^()]*)*\)|\[[^\[\]]*\])")
_WIKI_LINK = re.compile(r"!?\[\[(?:[^\[\]|\n]*\|)?([^\[\]|\s](?:[^\[\]|\n]*[^\[\]|\s])?)\]\](?![(\[])")
_PLAIN_ROLE = re.compile(r":[a-z][\w+.:-]*:(?=`)")
_NAMED_TARGET = re.compile(r"(?::[a-z][\w+.:-]*:`([^`<>]+?)\s*<[^<>`]*>`|`([^`<>]+?)\s*<[^<>`\s]*>`__?(?!\w))")
#: What follows a tag's name parts it from text such as `Map<K, V>`, `<a_b>` and `<host:port>`; a second bracket makes
#: AsciiDoc's `<<reference>>`.
_TAG = re.compile(r"(?<!<)</?[A-Za-z][A-Za-z0-9.-]*(?:\s[^<>]{0,500})?/?>|<!--.*?-->")
_PICTURE_NAME = re.compile(r"<img\s(?:[^<>]{0,500}?\s)??(title|alt)=\"([^\"<>]*[^\W\d_][^\"<>]*)\"", re.I)
_RAISED = re.compile(r"(?<=\w)<sup>(?=[+-]?\d+</sup>)")
_AUTOLINK = re.compile(r"<((?:https?|mailto):[^<>\s]*)>")
_STRONG = re.compile(r"(\*\*|__|~~)(?=\S)(.+?)(?<=\S)\1")
#: Asterisks may touch letters of scripts that put no blanks between words.
_EMPHASIS = re.compile(
    r"(?<![A-Za-z0-9_*])\*(?=[^\s*_])(.+?)(?<=[^\s*_])\*(?![A-Za-z0-9_*])|(?<![\w*])_(?=[^\s*_])(.+?)(?<=[^\s*_])_(?![\w*])"
)
_ESCAPE = re.compile(r"\\([!-/:-@\[-`{-~])")
_SPACES = re.compile(r"\s+")
_UNSEEN = re.compile(f"[{UNSEEN}]")
#: A word that is parted at the end of a line, and goes on in the next, perhaps behind the mark of a quote.
_PARTED = re.compile(rf"(?<=\w){SOFT_HYPHEN}[ \t]*\n[ \t>]*(?=[^\W\d_])")
_MAX_CHARACTERS = 1_000


def plain(text: str) -> str:
    """The words of a piece of inline markup, on one line; of more than 1,000 characters only those are looked at.

    >>> plain("The `kubectl` **command** {#kubectl}")
    'The kubectl command'
    """
    text = _SPACES.sub(" ", unparted(text[:_MAX_CHARACTERS]))  # markup goes on over the ends of lines
    if _MARKUP.search(text):
        text = _SPACES.sub(" ", _without_markup(text))
    return text.strip() if text.isascii() else _UNSEEN.sub("", text).strip()


def picture_words(markup: str) -> str:
    """What pictures of HTML are called; empty where none has a name.

    >>> picture_words('<img src="a.png" alt="The logo">')
    'The logo'
    """
    return " ".join(html.unescape(found.group(2)) for found in _PICTURE_NAME.finditer(markup[:_MAX_CHARACTERS])).strip()


def unparted(text: str) -> str:
    """The text with words whole that a soft hyphen parts at the end of a line.

    >>> unparted("Of docu\\u00ad\\n  mentation")
    'Of documentation'
    """
    return _PARTED.sub("", text) if SOFT_HYPHEN in text else text


def shortcode_words(inner: str) -> str:
    """What a shortcode shows: its text, title, caption or alt argument, else its first bare quoted argument."""
    found = _QUOTED.search(inner)
    return (found.group(1) or found.group(2) or "") if found else ""


def _without_markup(text: str) -> str:
    if "{{" in text:
        text = _SHORTCODE.sub(lambda match: shortcode_words(match.group(1)), text)
    if "{" in text:
        text = _ANCHOR.sub("", text)
    protected: list[str] = []

    def protect(match: re.Match[str]) -> str:
        # Code, and characters behind a backslash, so that what looks like markup in them stays.
        words = match.group(match.lastindex or 0).strip()
        protected.append(_PLAIN_ROLE_TARGET.sub("", words) if match.group().startswith("{") else words)
        return f"\x00{len(protected) - 1}\x00"

    if "`" in text:
        text = _NAMED_TARGET.sub(lambda match: match.group(1) or match.group(2), text)
        text = _CODE.sub(protect, _PLAIN_ROLE.sub("", text))
    if "{/*" in text:
        text = _REMARK.sub("", text)
    if "\\" in text:
        text = _ESCAPE.sub(protect, text)
    if "[[" in text:
        text = _WIKI_LINK.sub(r"\1", text)
    if "[" in text:
        text = _PLAIN_LINK.sub(r"\1", _IMAGE.sub(r"\1", text))
    if "<" in text:
        text = _RAISED.sub("^", text)
        text = _TAG.sub("", _AUTOLINK.sub(r"\1", text))
    if "*" in text or "_" in text or "~" in text:
        text = _EMPHASIS.sub(r"\1\2", _STRONG.sub(r"\2", text))
    if "&" in text:
        text = html.unescape(text)
    for place, code in enumerate(protected):
        text = text.replace(f"\x00{place}\x00", code)
    return text
