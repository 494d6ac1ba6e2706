"""Snippets as one reads them: words that flow, rows of tables as `Name: value`, no signs of markup, matches marked."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from markupsafe import Markup

from ..schemas import EmailResult, Result
from ..text.sanitizing import visible
from . import rendering
from .rendering import Form

#: Lines of reStructuredText that no reader sees: directives, options and rules.
_UNSEEN = re.compile(r"\s*(?:\.\. [\w:|-]+.*|:[\w-]+:(?: .*)?|[-=+~^\"'#* ]{3,})$")
_REFERENCE = re.compile(
    r"(?::[a-z][\w+.:-]{0,40}:)?(?<!`)`~?([^`<>]{1,300}?)(?:\s*<[^<>`]{1,300}>)?`(?!`)(?:__?(?!\w))?"
)
_QUOTED = re.compile(r"``(.{1,300}?)``|\*\*?(?=\S)(.{1,300}?)(?<=\S)\*\*?")


def snippet(result: Result) -> Markup:
    """A result's snippet as HTML."""
    heading = result.heading_path[-1] if result.heading_path else result.title
    form: Form = "text"
    if not isinstance(result, EmailResult):
        form = rendering.form_of(result.file_path, bool(result.heading_path))
    text = visible(result.snippet)
    if form == "restructured":
        lines = [line for line in text.split("\n") if not _UNSEEN.match(line)]
        text = "\n".join(lines[1:] if lines and lines[0].strip() == heading.strip() else lines)
        text = _QUOTED.sub(r"\1\2", _REFERENCE.sub(r"\1", text))
    elif form not in ("code", "text"):
        text = _flat(rendering.tree(form, text), heading.strip())
    return rendering.words(" ".join(text.split()), marked_words([result]), links=False)


def marked_words(results: Sequence[Result]) -> list[str]:
    """The words that snippets have marked, in lower case."""
    return list({one.snippet[start:end].lower() for one in results for start, end in one.highlights})


def _flat(root: Any, heading: str) -> str:
    """The words of a rendered snippet without the heading that stands above it anyway."""
    for place, title in enumerate(list(root.iter(*rendering.HEADINGS))):
        if place == 0 and title.text_content().strip() == heading:
            title.drop_tree()
        else:
            title.tail = f": {title.tail or ''}"
    for item in root.iter("li"):
        item.text = f"• {item.text or ''}"
    for table in root.iter("table"):
        names = [name.text_content().strip() for name in table.iterfind("thead/tr/th")]
        for row in list(table.iter("tr")):
            cells = [" ".join(cell.text_content().split()) for cell in row]
            named = [f"{name}: {cell}" if name else cell for name, cell in zip(names, cells, strict=False) if cell]
            text = " · ".join(named or filter(None, cells))
            is_head = row.getparent().tag == "thead"
            row.clear(keep_tail=True)
            row.text = "" if is_head else text if text.endswith((".", "…", "!", "?")) else f"{text}."
    words: str = root.text_content()
    return words
