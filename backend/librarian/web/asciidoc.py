"""AsciiDoc to HTML: its blocks as the parser finds them. The result is not safe: clean it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape

from ..models import Block
from ..parsing.asciidoc import BLOCK_ATTRIBUTES, DELIMITER, blocks_of

_BLOCK_TITLE = re.compile(r"\.([^\s.].*)(?:\n|$)")
_ANCHOR = re.compile(r"\[(?:\[|#|[^\]]*#)([\w:-]+)")
_NOTE = re.compile(r"(NOTE|TIP|IMPORTANT|WARNING|CAUTION)(?:: +|$)")
_ITEM = re.compile(r"[ \t]*(?:([*-]{1,6})|(\.{1,6}|\d{1,3}\.|<(?:\.|\d{1,3})>))[ \t]+(\S.*)$")
_TERM = re.compile(r"[ \t]*(\S.{0,200}?)(:{2,4})(?:[ \t]+(.*))?$")
_PICTURE = re.compile(r"(?:image|video|audio)::([^\[]*)\[(?:\"([^\"]*)\"|([^,\]]*)).*\]\s*$")
_INCLUDE = re.compile(r"include::([^\[]*)\[")
_CELL = re.compile(r"(?:(?<!\S)(?:(\d+)\*)?(?:(\d+)(?:\.\d+)?\+)?[<^>]?(?:\.[<^>])?([adehlmsv])?)?(?<!\\)\|")
_NAMED_TITLE = re.compile(r"^\[(?:\[|#)([\w:.-]+)[^\n]*\]\n=+[ \t]+(\S[^\n]*)", re.MULTILINE)


def asciidoc(text: str, first: int = 1) -> str:
    """HTML of AsciiDoc; blocks say in `data-line` at which line of `text` they begin, counted from `first`.

    Attributes stand in the text already: the parser puts them in.
    """
    page = _Page(text, first)
    for block in blocks_of(text):
        page.add(block, text.count("\n", 0, block.start), text.count("\n", 0, block.end))
    page.close(0)
    return "".join(page.made)


class _Page:
    def __init__(self, text: str, first: int) -> None:
        self.made: list[str] = []
        self._lines, self._first = text.split("\n"), first
        self._titles: dict[str, str] = dict(_NAMED_TITLE.findall(text))
        self._open: list[tuple[str, str]] = []  # mark and tag of each box and list that is open
        self._title, self._attributes = "", ["", ""]  # what stands above the next block
        self._is_attached = False  # whether the next block belongs to the last item of a list

    def _put(self, tag: str, at: int, body: str, attributes: str = "") -> None:
        self.made.append(f'<{tag} data-line="{self._first + at}"{attributes}>{body}</{tag}>\n')

    def _begin(self, mark: str, tag: str, at: int, attributes: str = "") -> None:
        self.made.append(f'<{tag} data-line="{self._first + at}"{attributes}>')
        self._open.append((mark, tag))

    def close(self, place: int) -> None:
        """End what was opened from a place on; the ends of items follow from it."""
        self.made += [f"</{tag}>\n" for _, tag in self._open[place:][::-1]]
        del self._open[place:]

    def _lists(self) -> int:
        """Where the lists begin that are open in the innermost box."""
        return max((place for place, (mark, _) in enumerate(self._open, 1) if DELIMITER.match(mark)), default=0)

    # -- blocks

    def add(self, block: Block, at: int, last: int) -> None:
        """Add a block that stands in lines from `at` to `last`."""
        lines, kind = self._lines[at : last + 1], block.kind
        if kind == "other" or _PICTURE.match(lines[0]):
            self._mark(lines[0], at)
            return
        if kind != "list" and not self._is_attached:
            self.close(self._lists())
        self._is_attached = kind == "list" and lines[-1].strip() == "+"
        if kind == "paragraph":
            if found := _BLOCK_TITLE.match(lines[0]):
                self._title = found[1]
                at, lines = at + 1, lines[1:]
            self._paragraph(lines, at)
            if not lines:
                return
        elif kind == "heading":
            level = "=-~^+".index(lines[1][0]) + 1 if len(lines) > 1 else len(lines[0]) - len(lines[0].lstrip("=#"))
            self._put(f"h{min(level, 6)}", at, self._words(lines[0].strip("=# \t")))
        else:
            self._titled()
            if kind == "list":
                self._list(lines, at)
            elif kind == "table" and lines[0].startswith("|"):
                self._table(lines[1:-1], at)
            else:
                language = lines[0].strip("`").strip() if lines[0].startswith("`") else self._attributes[1]
                self._put("pre", at, escape("\n".join(lines[1:-1])), f' title="{escape(language)}"')
        self._attributes = ["", ""]

    def _mark(self, line: str, at: int) -> None:
        """What isn't text: what stands above the next block, the edge of a note or a quote, or nothing to see."""
        mark = line.strip()
        if line.startswith("//") and not self._is_attached:
            self.close(self._lists())
        if named := _ANCHOR.match(line):
            self.made.append(f'<div class="anchor" id="{named[1]}"></div>')
        if BLOCK_ATTRIBUTES.match(line):
            self._attributes = [*map(str.strip, mark[1:-1].split(",")), ""]
        elif found := _INCLUDE.match(line):
            self._put("p", at, f"(Included file not found: {escape(found[1])})")
        elif found := _PICTURE.match(line):
            self._put("p", at, f'<img alt="{escape(found[2] or found[3])}" src="{escape(found[1])}">')
        elif DELIMITER.match(line):
            marks = [each for each, _ in self._open]
            if mark in marks:
                self.close(marks.index(mark))
            else:
                self._box(mark, at)
                self._attributes = ["", ""]

    def _box(self, mark: str, at: int) -> None:
        """Open a note, a quote or what only holds blocks together."""
        note = _NOTE.match(self._attributes[0])
        if mark[:1] == "_" or self._attributes[0] in ("quote", "verse"):
            self._begin(mark, "blockquote", at)
        elif note or self._title or mark[:1] in ("=", "*"):
            self._title = self._title or (note[1].capitalize() if note else "")
            self._begin(mark, "div", at, ' class="admonition"')
        else:
            self._begin(mark, "div", at)
        self._titled()

    def _titled(self) -> None:
        if self._title:
            self.made.append(f'<p class="admonition-title">{self._words(self._title)}</p>')
            self._title = ""

    def _paragraph(self, lines: Sequence[str], at: int) -> None:
        text = "\n".join(lines)
        if text[:1] in (" ", "\t"):
            self._titled()
            self._put("pre", at, escape(text))
        elif text:
            if note := _NOTE.match(text):
                self._attributes, text = [note[1], ""], text[note.end() :]
            place = len(self._open)
            if self._attributes[0] in ("quote", "verse") or _NOTE.match(self._attributes[0]):
                self._box("", at)
            self._titled()
            self._put("p", at, self._words(text))
            self.close(place)

    # -- lists

    def _list(self, lines: Sequence[str], at: int) -> None:
        """Items with what goes on below them; a paragraph below a `+` belongs to its item."""
        text: list[str] = []
        for number, line in enumerate(lines, at):
            item, term = _ITEM.match(line), _TERM.match(line)
            if item or term or line.strip() == "+":
                self.made.append(self._words("\n".join(text)))
                text = []
            if item:
                mark = item[1] or item[2]
                self._item(mark if item[1] or mark[0] == "." else mark[-1], "ul" if item[1] else "ol", "li", number)
                text = [item[3]]
            elif term:
                self._item(term[2], "dl", "dt", number)
                self.made.append(f"{self._words(term[1])}</dt><dd>")
                text = [term[3] or ""]
            elif line.strip() == "+":
                self.made.append("<br>\n")
            else:
                text.append(line.strip())
        self.made.append(self._words("\n".join(text)))

    def _item(self, mark: str, tag: str, item: str, at: int) -> None:
        """Begin an item: of an open list, which ends those in it, or of a new one in the last item."""
        lists = self._lists()
        marks = [each for each, _ in self._open[lists:]]
        if mark in marks:
            self.close(lists + marks.index(mark) + 1)
        else:
            self._begin(mark, tag, at)
        self.made.append(f'\n<{item} data-line="{self._first + at}">')

    # -- tables

    def _table(self, lines: Sequence[str], at: int) -> None:
        before, *parts = _CELL.split("\n".join(lines))
        number = self._first + at + 1 + before.count("\n")
        cells: list[tuple[int, int, str, str]] = []  # of each: its line, columns, style, text
        for repeated, columns, style, text in zip(*(parts[start::4] for start in range(4)), strict=True):
            cells += [(number, int(columns or 1), style or "", text.strip())] * min(int(repeated or 1), 50)
            number += text.count("\n")
        above = ",".join(self._attributes)
        spec = re.search(r'cols="([^"]*)"', above)
        styles = [part.strip()[-1:] for part in spec[1].split(",")] if spec and "*" not in spec[1] else []
        width = len(styles) or sum(columns for line, columns, *_ in cells if line == cells[0][0])
        has_header = "header" in above or (len(lines) > 2 and bool(lines[0].strip()) and not lines[1].strip())
        rows, place = [""], 0
        for line, columns, style, text in cells:
            if place >= width:
                rows.append("")
                place = 0
            style = style or "".join(styles[place : place + 1])
            tag = "th" if style == "h" or (has_header and len(rows) == 1) else "td"
            text = text.replace("\\|", "|")
            body = asciidoc(text, line) if style == "a" and tag == "td" else self._words(text)
            rows[-1] += f'<{tag} data-line="{line}" colspan="{columns}">{body}</{tag}>'
            place += columns
        rows = [f"<tr>{row}</tr>" for row in rows]
        head = rows.pop(0) if has_header else ""
        self._put("table", at, f"<thead>{head}</thead><tbody>{''.join(rows)}</tbody>")

    # -- words

    def _words(self, text: str) -> str:
        """HTML of some words."""
        return self._marked(escape(text))

    def _marked(self, text: str) -> str:
        return _INLINE.sub(self._element, text)

    def _element(self, found: re.Match[str]) -> str:
        kind = str(found.lastgroup)
        value = found[kind]
        if kind == "passed":
            return next(part for part in found.groups()[::-1] if part)
        if kind == "words":
            words = re.sub(r"(?:^|,)\s*[\w-]+=[^,]*", "", value.strip()).removeprefix("&quot;").removesuffix("&quot;")
            return self._link(found["macro"] or "", found["target"], words.rstrip("^"))
        if kind == "place":
            place, _, label = value.partition(",")
            return self._link("xref", place.lstrip("#"), label.strip())
        if kind == "alt":
            return f'<img alt="{value.split(",")[0]}" src="{found["picture"]}">'
        return _ELEMENTS[kind].format(value if kind in ("code", "anchor") else self._marked(value))

    def _link(self, macro: str, target: str, words: str) -> str:
        if macro == "mailto":
            target = f"mailto:{target}"
        if macro == "xref" and "#" not in target and not re.search(r"\.\w+$", target):
            words = words or escape(self._titles.get(target, ""))
            target = f"#{target}"
        return f'<a href="{target}">{self._marked(words) or target.removeprefix("#")}</a>'


_ELEMENTS = {
    "sign": "{}", "code": "<code>{}</code>", "quoted": "“{}”", "strong": "<strong>{}</strong>", "em": "<em>{}</em>",
    "mark": "<mark>{}</mark>", "sup": "<sup>{}</sup>", "sub": "<sub>{}</sub>", "key": "<kbd>{}</kbd>",
    "footnote": " [{}]", "anchor": '<span id="{}"></span>', "end": "<br>{}",
}  # fmt: skip
_ROLE = r"(?:\[[\w.#%, -]*\])?"
#: In text whose `<`, `>`, `&` and quotes are escaped.
_INLINE = re.compile(
    r"\\(?P<sign>[*_`#^~{\[+:]|&lt;)"
    r"|(?P<passed>\+\+\+(.{1,600}?)\+\+\+|\+\+(.{1,600}?)\+\+|pass:[a-z,]{0,40}\[(.{0,600}?)\]"
    r"|(?<![\w+])\+(?=\S)([^+\n]{1,400}?)(?<=\S)\+(?![\w+]))"
    rf"|&quot;`(?P<quoted>.{{1,600}}?)`&quot;|{_ROLE}`\+?(?P<code>[^`\n]{{1,600}}?)\+?`"
    r"|(?:(?P<macro>link|xref|mailto):|(?=https?://))(?P<target>[^\s\[\]]{1,1000}+)\[(?P<words>[^\[\]]{0,600})\]"
    r"|&lt;&lt;(?P<place>.{1,800}?)&gt;&gt;|\[\[(?P<anchor>[\w:.-]+)(?:,[^\]]*)?\]\]"
    r"|(?:image|icon):(?!:)(?P<picture>[^\s\[\]]{1,1000}+)\[(?P<alt>[^\[\]]{0,400})\]"
    r"|footnote:[\w-]{0,80}\[(?P<footnote>[^\[\]]{0,1000})\]|(?:kbd|btn):\[(?P<key>[^\[\]]{0,200})\]"
    rf"|{_ROLE}(?<![\w*])\*{{1,2}}(?=[^\s*])(?P<strong>(?s:.){{1,600}}?)(?<=\S)\*{{1,2}}(?![\w*])"
    rf"|{_ROLE}(?<![\w_])_{{1,2}}(?=[^\s_])(?P<em>(?s:.){{1,600}}?)(?<=\S)_{{1,2}}(?![\w_])"
    rf"|{_ROLE}(?<![\w#&])#(?=[^\s#])(?P<mark>.{{1,600}}?)(?<=\S)#(?![\w#])"
    r"|\^(?P<sup>\S{1,80}?)\^|~(?P<sub>\S{1,80}?)~| \+(?P<end>\n)"
)
