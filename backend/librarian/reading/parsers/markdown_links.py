"""Links of Markdown and of its dialects: Hugo's and Jekyll's references, wikis' double brackets, MyST's roles and
targets."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from librarian.vocabulary.types import Link

from ..plain_text import plain
from .spans import Inside

_LINK = re.compile(
    r"(?<!!)\[((?:[^\[\]\n]|\n(?!\n)|\[[^\[\]\n]*\]|!\[[^\[\]\n]*\]\([^()\n]*\)){1,400}?)\]\(\s*(?:<([^<>\n]+)>|([^\s()<>]+(?:\([^\s()]*\)[^\s()]*)*))(?:\s+(?:\"[^\"\n]*\"|'[^'\n]*'))?\s*\)"
)
_REFERENCE_LINK = re.compile(r"(?<![!\]])\[([^\[\]]{1,400})\]\[([^\[\]\n]{0,200})\]")
_NAME = re.compile(r"\[([^\[\]]{1,200})\]")
_DEFINITION = re.compile(r"^ {0,3}\[([^\[\]\n]{1,200})\]:[ \t]*<?([^\s<>]+)>?", re.M)
#: Hugo's `[words]({{< ref "page.md" >}})` and Jekyll's `[words]({% link folder/page.md %})`.
_TEMPLATE_LINK = re.compile(
    r"(?<!!)\[([^\[\]\n]{1,400})\]\(\s*(?:\{\{[<%]\s*(?:rel)?ref\s+|\{%-?\s*link\s+)[\"'`]?([^\s\"'`{}%<>]+)[^(){}\n]*\}\}?[^()\n]{0,200}\)"
)
#: `[[Page#Heading|words]]`; embedded files are none.
_WIKI_LINK = re.compile(
    r"(?<!!)\[\[(?=[^\s|])([^\[\]|#\n\\]{1,200})(?:#[^\[\]|\n]{0,200})?(?:\\?\|([^\[\]\n]{1,200}))?\]\]"
)
#: MyST's roles whose words, or what stands in angle brackets, name a page or one of its labels.
_ROLE = re.compile(r"\{(?:ref|doc|any|numref|std:ref|std:doc)\}`([^`<>\n]*?)\s*(?:<([^`<>\n]+)>)?`")
_LABEL = re.compile(r"^\(([\w.:/-][\w.:/ -]*)\)=[ \t]*$", re.M)


def links_in(text: str, start: int, code: Inside) -> list[Link]:
    """The links from `start` on outside blocks of code, by their place."""
    found = [link for link in _found(text, start) if link.start not in code]
    return sorted(found, key=lambda link: link.start)


def labels_in(text: str, start: int, code: Inside) -> tuple[str, ...]:
    """MyST's targets, by which other pages refer to places in this one."""
    if ")=" not in text:
        return ()
    return tuple(match.group(1) for match in _LABEL.finditer(text, start) if match.start() not in code)


def links_told(text: str, start: int) -> Callable[[str], str]:
    """Takes the brackets off links that name what the page defines elsewhere, `[1.2.0] - 2026-05-01`."""
    if "]:" not in text:
        return str
    defined = {match.group(1).casefold() for match in _DEFINITION.finditer(text, start)}

    def shown(name: re.Match[str]) -> str:
        return name.group(1) if name.group(1).casefold() in defined else name.group()

    return lambda words: _NAME.sub(shown, words)


def _found(text: str, start: int) -> Iterator[Link]:
    if "](" in text:
        yield from _shown(_LINK.finditer(text, start))
        if "{%" in text or "{{" in text:
            yield from _shown(_TEMPLATE_LINK.finditer(text, start))
    if "][" in text and "]:" in text:
        targets = {match.group(1).casefold(): match.group(2) for match in _DEFINITION.finditer(text, start)}
        for match in _REFERENCE_LINK.finditer(text, start):
            target = targets.get((match.group(2) or match.group(1)).casefold())
            if target and (words := plain(match.group(1))):
                yield Link(words, target, match.start())
    if "[[" in text:
        for match in _WIKI_LINK.finditer(text, start):
            yield Link(plain(match.group(2) or match.group(1)), match.group(1).strip(), match.start())
    if "}`" in text:
        for match in _ROLE.finditer(text, start):
            words, target = match.groups()
            yield Link(plain(words) if target else "", target or words, match.start())


def _shown(matches: Iterator[re.Match[str]]) -> Iterator[Link]:
    for match in matches:
        if words := plain(match.group(1)):
            yield Link(words, next(filter(None, match.groups()[1:])), match.start())
