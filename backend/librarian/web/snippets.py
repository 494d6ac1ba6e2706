"""Snippets as one reads them: words that flow, rows of tables as `Name: value`, no signs of markup, matches marked."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from markupsafe import Markup, escape

from ..schemas import EmailResult, Result
from ..text.sanitizing import visible
from .rendering import Form, clean, form_of

_OPEN, _CLOSE = "\ue000", "\ue001"  #: around a match, while markup is taken off
_MARKS = re.compile(f"[{_OPEN}{_CLOSE}]")
_FENCE = re.compile(r"\s*(?:`{3,}|~{3,}|-{4,}$|\.{4,}$|={4,}$|\|={3,}$)")
_HEADING = re.compile(r"^\s{0,3}(?:#{1,6}|={1,6})\s+(.*?)[\s#]*$")
_RULE = re.compile(r"\s*\|?\s*:?-{2,}:?\s*(?:\|\s*:?-+:?\s*)*\|?\s*$|\s*[+=~^-]{4,}[+=~^ -]*$")
_ROW = re.compile(r"\s*\|.*\|\s*$")
_BAR = re.compile(r"(?<!\\)\|")
_ITEM = re.compile(r"\s*(?:[-*+]|\d{1,3}[.)])\s+")
_DIRECTIVE = re.compile(r"\s*(?:\.\. [\w:|-]+.*$|:[\w-]+:(?: .*)?$|\[[\w.,#%=\" -]+\]\s*$|:{3,}.*$)")
_QUOTE = re.compile(r"^\s{0,3}>\s?")
_TAG = re.compile(
    r"</?(?:a|abbr|b|blockquote|br|caption|center|code|col|colgroup|dd|details|div|dl|dt|em|font|h[1-6]|hr|i|img|kbd|li|ol"
    r"|p|pre|small|span|strong|sub|summary|sup|table|tbody|td|tfoot|th|thead|tr|u|ul)(?:\s[^<>]*)?/?>",
    re.IGNORECASE,
)
_LINK = re.compile(r"!?\[([^\[\]\n]*)\]\([^()\n]*\)|!?\[\[(?:[^\[\]|\n]*\|)?([^\[\]\n]+)\]\]")
_AUTOLINK = re.compile(r"<(https?:[^<>\s]*)>?")
_STRONG = re.compile(r"\*\*(?=\S)|(?<=\S)\*\*|(?<!\w)__(?=\S)|(?<=\S)__(?!\w)")
_CODE = re.compile(r"(`+)(?!`)(.{1,300}?)(?<!`)\1(?!`)", re.DOTALL)
_ROLE = re.compile(r":[a-z][\w+.:-]{0,40}:(?=`)", re.IGNORECASE)
_NUMERIC_ROLE = re.compile(r":[a-z][\w+.:-]{0,40}:`\d+`", re.IGNORECASE)
_REFERENCE = re.compile(
    r"(?<![`:\w])`([^`<>]{1,300}?)(?:\s*<[^<>`]{1,300}>)?`__?(?!\w)|`~?([^`<>]{1,300}?)\s*<[^<>`]{1,300}>`"
)


def snippet(result: Result) -> Markup:
    """A result's snippet as HTML."""
    heading = result.heading_path[-1] if result.heading_path else result.title
    form: Form = "text" if isinstance(result, EmailResult) else form_of(result.file_path, bool(result.heading_path))
    lines = _read(_lines(visible(_marked(result.snippet, result.highlights)), heading, form), form)
    text = re.sub(r"\s+", " ", " ".join(lines)).strip()
    text = str(escape(text)).replace(_OPEN, "<mark>").replace(_CLOSE, "</mark>")
    return clean(text)


def marked_words(results: Sequence[Result]) -> list[str]:
    """The words that snippets have marked, in lower case."""
    return list({one.snippet[start:end].lower() for one in results for start, end in one.highlights})


def _marked(text: str, highlights: Sequence[tuple[int, int]]) -> str:
    """The text with its matches between two characters that no text has."""
    parts, last = [], 0
    for start, end in highlights:
        if start >= last:
            parts += [_MARKS.sub("", text[last:start]), _OPEN, _MARKS.sub("", text[start:end]), _CLOSE]
            last = end
    return "".join((*parts, _MARKS.sub("", text[last:])))


def _lines(text: str, heading: str, form: Form) -> list[str]:
    """The lines of a snippet without the heading that stands above it anyway; rows of tables as `Name: value`."""
    if form in ("code", "text"):
        return text.split("\n")
    found: list[str] = []
    names: list[str] = []
    rows: list[list[str]] = []
    in_code = False

    def flush() -> None:
        for row in rows:
            found.append(_row(names, row))
        rows.clear()

    for number, line in enumerate(text.split("\n")):
        bare = _MARKS.sub("", line)
        if _FENCE.match(bare):
            in_code = not in_code
        elif in_code:
            found.append(line)
        elif _ROW.match(bare):
            rows.append([cell.strip().replace("\\|", "|") for cell in _BAR.split(line.strip().strip("|"))])
            if len(rows) == 2 and _RULE.match(bare):
                names = [_MARKS.sub("", name) for name in rows[0]]
                rows.clear()
            elif _RULE.match(bare):
                rows.pop()
        else:
            flush()
            title = _HEADING.match(bare)
            same = title is not None and title[1].strip() == heading.strip()
            if _RULE.match(bare) or (number == 0 and same) or (form == "restructured" and _DIRECTIVE.match(bare)):
                continue
            line = _HEADING.sub(lambda match: match[1] + ":", line) if title else _QUOTE.sub("", line)
            item = _ITEM.match(line)
            found.append(f"• {line[item.end() :]}" if item else line)
    flush()
    return found


def _row(names: Sequence[str], cells: Sequence[str]) -> str:
    named = [
        f"{names[place]}: {cell}" if place < len(names) and names[place] else cell
        for place, cell in enumerate(cells)
        if cell
    ]
    text = " · ".join(named)
    return text if text.endswith((".", "…", "!", "?")) else f"{text}."


def _read(lines: Sequence[str], form: Form) -> list[str]:
    """The lines without the signs that a renderer turns into looks; code stays as it is."""
    text = "\n".join(lines)
    if form == "markdown":
        return [
            _outside_code(
                text, lambda part: _TAG.sub("", _STRONG.sub("", _LINK.sub(r"\1\2", _AUTOLINK.sub(r"\1", part))))
            )
        ]
    if form == "restructured":
        numeric = _NUMERIC_ROLE.findall(text)
        text = _NUMERIC_ROLE.sub("\ue002", text)
        text = _CODE.sub(r"\2", _REFERENCE.sub(r"\1\2", _ROLE.sub("", text)))
        text = _STRONG.sub("", text)
        return [re.sub("\ue002", lambda _: numeric.pop(0), text)]
    if form == "asciidoc":
        return [_STRONG.sub("", _CODE.sub(r"\2", text))]
    return [text]


def _outside_code(text: str, change: Callable[[str], str]) -> str:
    made: list[str] = []
    last = 0
    for code in _CODE.finditer(text):
        made += [change(text[last : code.start()]), code[2]]
        last = code.end()
    return "".join((*made, change(text[last:])))
