"""Words without their markup: headings, summaries and link texts as a reader sees them. Knows no offsets."""

from __future__ import annotations

import html
import re

from ..text.characters import SOFT_HYPHEN, UNSEEN

#: Without one of these a text has no markup to remove.
_MARKUP = re.compile(r"[*_`\[<&\\{~$!:]")
_QUOTED = re.compile(r"\b(?:text|title|caption|alt)\s*=\s*\"([^\"]*)\"|(?<![=\w])\"([^\"]*)\"")
_PICTURE_NAME = re.compile(r"<img\s(?:[^<>]{0,500}?\s)??(title|alt)=\"([^\"<>]*[^\W\d_][^\"<>]*)\"", re.I)
_ROLE_TARGET = re.compile(r"(?<=\S)[ \t]*<[^<>]+>$")
#: Where the words of a link or a picture lead.
_TARGET = r"(?:\([^()]*(?:\([^()]*\)[^()]*)*\)|\[[^\[\]]*\])"
_NAMED_TARGET = r":[a-z][\w+.:-]*:`([^`<>]+?)\s*<[^<>`]*>`|`([^`<>]+?)\s*<[^<>`\s]*>`__?(?!\w)"
#: What is taken away, in this order: a sign of it, the markup, and what stays; None: the last group, as it is.
_REMOVED: tuple[tuple[str, re.Pattern[str], str | None], ...] = tuple(
    (sign, re.compile(markup), rest)
    for sign, markup, rest in (
        ("{", r"\s*\{:?\s*[#.][^{}]*\}\s*$", ""),  # an anchor
        ("`", _NAMED_TARGET, r"\1\2"),
        ("`", r":[a-z][\w+.:-]*:(?=`)", ""),
        # Code, with MyST's role before it, or the underscore behind it that makes a reference of reStructuredText.
        ("`", r"(?:\{[a-z][\w+:.-]*\}(?=`))?(`+)(.+?)\1(?!`)(?:__?(?!\w))?", None),
        ("{/*", r"\s*\{/\*.*?\*/\}", ""),  # a remark of MDX
        ("\\", r"\\([!-/:-@\[-`{-~])", None),
        ("[[", r"!?\[\[(?:[^\[\]|\n]*\|)?([^\[\]|\s](?:[^\[\]|\n]*[^\[\]|\s])?)\]\](?![(\[])", r"\1"),
        ("[", rf"!\[([^\[\]]*)\]{_TARGET}?", r"\1"),
        ("[", rf"\[([^\[\]]+)\]{_TARGET}", r"\1"),
        ("<", r"(?<=\w)<sup>(?=[+-]?\d+</sup>)", "^"),
        ("<", r"<((?:https?|mailto):[^<>\s]*)>", r"\1"),
        # What follows a tag's name parts it from text such as `Map<K, V>`, `<a_b>` and `<host:port>`; a second bracket
        # makes AsciiDoc's `<<reference>>`.
        ("<", r"(?<!<)</?[A-Za-z][A-Za-z0-9.-]*(?:\s[^<>]{0,500})?/?>|<!--.*?-->", ""),
        ("", r"(\*\*|__|~~)(?=\S)(.+?)(?<=\S)\1", r"\2"),
        # Asterisks may touch letters of scripts that put no blanks between words.
        ("*", r"(?<![A-Za-z0-9_*])\*(?=[^\s*_])(.+?)(?<=[^\s*_])\*(?![A-Za-z0-9_*])", r"\1"),
        ("_", r"(?<![\w*])_(?=[^\s*_])(.+?)(?<=[^\s*_])_(?![\w*])", r"\1"),
    )
)
_SHORTCODE = re.compile(r"\{\{[<%-]?(.*?)[%>-]?\}\}")
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
    text = _SHORTCODE.sub(lambda match: shortcode_words(match.group(1)), text)
    protected: list[str] = []

    def protect(match: re.Match[str]) -> str:
        # Code, and characters behind a backslash, so that what looks like markup in them stays.
        words = match.group(match.lastindex or 0).strip()
        protected.append(_ROLE_TARGET.sub("", words) if match.group().startswith("{") else words)
        return f"\x00{len(protected) - 1}\x00"

    for sign, markup, rest in _REMOVED:
        if sign in text:
            text = markup.sub(protect if rest is None else rest, text)
    text = html.unescape(text)
    for place, code in enumerate(protected):
        text = text.replace(f"\x00{place}\x00", code)
    return text
