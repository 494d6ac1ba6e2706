"""AsciiDoc to HTML. Attributes stand in the text already: the parser puts them in. The result is not safe: clean it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from markupsafe import escape

from ..parsing.asciidoc import ATTRIBUTE, BLOCK_ATTRIBUTES, COMMENT_BLOCK, end_of_entry, underline
from .markdown import named

_TITLE = re.compile(r"(={1,6}|#{1,6})[ \t]+(\S.*?)(?:[ \t]+\1)?[ \t]*$")
_BLOCK_TITLE = re.compile(r"\.([^\s.].*)$")
_ANCHOR = re.compile(r"\[\[([\w:.-]+)(?:,[^\]]*)?\]\]\s*$")
_DELIMITER = re.compile(r"(-{4,}|\.{4,}|\+{4,}|={4,}|\*{4,}|_{4,}|--|```)(\w*)\s*$")
_TABLE = re.compile(r"([|,:!])={3,}\s*$")
_NOTE = re.compile(r"(NOTE|TIP|IMPORTANT|WARNING|CAUTION): +")
_ITEM = re.compile(
    r"[ \t]*(?:(?P<bullet>[*-]{1,6})|(?P<dot>\.{1,6})|(?P<number>\d{1,3})\.|(?P<callout><(?:\.|\d{1,3})>))[ \t]+"
    r"(?P<text>\S.*)$"
)
_TERM = re.compile(r"(?P<term>\S.{0,200}?)(?P<mark>:{2,4}|;;)(?:[ \t]+(?P<text>.*))?$")
_MACRO = re.compile(r"(include|image|video|audio)::([^\[]*)\[(.*)\]\s*$")
_HIDDEN = re.compile(r"(?:ifdef|ifndef|ifeval|endif|toc)::.*$|<<<\s*$|//(?!/)")
_CELL = re.compile(
    r"(?:(?P<times>\d+)\*)?(?:(?P<cols>\d+)?(?:\.(?P<rows>\d+))?\+)?[<^>]?(?:\.[<^>])?(?P<style>[adehlmsv])?(?<!\\)\|"
)
_NAMED_TITLE = re.compile(r"^\[(?:\[|#)([\w:.-]+)[^\n]*\]\n=+[ \t]+(\S[^\n]*)", re.MULTILINE)
_BARE_LINK = re.compile(r'(<a href="#([^"]+)">)\2</a>')
_CODE = ("source", "listing", "literal", "pass", "stem", "latexmath", "asciimath")
_QUOTES = ("quote", "verse")


def asciidoc(text: str) -> str:
    """HTML of AsciiDoc; blocks say in `data-line` and `data-end` which lines of `text` they are, counted from 1."""
    lines = text.split("\n")
    made = "\n".join(_Blocks(lines, 1, top=True).html())
    titles: dict[str, str] = dict(_NAMED_TITLE.findall(text))
    return _BARE_LINK.sub(lambda link: f"{link[1]}{inline(titles.get(link[2]) or link[2] or '')}</a>", made)


@dataclass(slots=True)
class _Attributes:
    """What stands above a block about it."""

    first: int = 0
    title: str = ""
    ids: list[str] = field(default_factory=list)
    positional: list[str] = field(default_factory=list)
    named: dict[str, str] = field(default_factory=dict)

    @property
    def style(self) -> str:
        """The first word of the block's attributes, without ids, roles and options."""
        return re.split(r"[#.%]", self.positional[0], maxsplit=1)[0] if self.positional else ""

    def read(self, text: str) -> None:
        """Take over a line of attributes, `[source,python]`."""
        for part in re.findall(r'(?:[^,"]|"[^"]*")+', text):
            name, equals, value = part.strip().partition("=")
            if equals and re.fullmatch(r"[\w-]+", name):
                self.named[name] = value.strip('"')
            else:
                self.positional.append(part.strip().strip('"'))
        if self.positional and (own := re.search(r"#([\w:.-]+)", self.positional[0])):
            self.ids.append(own[1])


class _Blocks:
    """Blocks of some lines, of which the first has a number."""

    def __init__(self, lines: Sequence[str], first: int, *, top: bool = False) -> None:
        self._lines, self._first, self._top = list(lines), first, top
        self._at = 0

    def html(self) -> list[str]:
        made: list[str] = []
        about = _Attributes()
        while self._at < len(self._lines):
            line = self._lines[self._at]
            if not line.strip():
                self._at += 1
                continue
            start = self._at
            if self._above(line, about):
                about.first = about.first or start + 1
                continue
            block = self._block(line, about)
            if block:
                places = "".join(f'<span class="anchor" id="{escape(name)}"></span>' for name in about.ids)
                made.append(places + block)
            about = _Attributes()
        return made

    # -- what stands above a block

    def _above(self, line: str, about: _Attributes) -> bool:
        """Whether a line says something about the block below it, or isn't to be seen."""
        if found := _ANCHOR.match(line):
            about.ids.append(found[1])
        elif BLOCK_ATTRIBUTES.match(line):
            about.read(line.strip()[1:-1])
        elif (found := _BLOCK_TITLE.match(line)) and not _DELIMITER.match(line):
            about.title = found[1]
        elif COMMENT_BLOCK.match(line):
            self._at = self._closing(self._at)
        elif _HIDDEN.match(line):
            pass
        elif not self._top and ATTRIBUTE.match(line):
            self._at = end_of_entry(self._lines, self._at)
        else:
            return False
        self._at += 1
        return True

    def _closing(self, at: int) -> int:
        mark = self._lines[at].strip()
        mark = "```" if mark.startswith("```") else mark
        return next(
            (n for n in range(at + 1, len(self._lines)) if self._lines[n].strip() == mark), len(self._lines) - 1
        )

    def _lines_of(self, start: int, end: int) -> str:
        """Attributes for the lines from `start` up to `end`, places in this part."""
        return f'data-line="{self._first + start}" data-end="{self._first + max(start, end - 1)}"'

    # -- blocks

    def _block(self, line: str, about: _Attributes) -> str:
        at = self._at
        if self._top and (entry := self._entries()):
            return entry
        if title := _TITLE.match(line):
            self._at += 1
            header = self._header() if len(title[1]) == 1 and self._top else ""
            return self._heading(len(title[1]), title[2], at, at + 1) + header
        below = self._lines[at + 1] if at + 1 < len(self._lines) else ""
        if (rule := underline(line, below)) and not _DELIMITER.match(line):
            self._at += 2
            return self._heading("=-~^+".index(rule[1]) + 1, line, at, at + 2)
        if found := _TABLE.match(line):
            return self._table(found[1], about)
        if found := _DELIMITER.match(line):
            return self._delimited(found, about)
        if found := _MACRO.match(line):
            self._at += 1
            return self._macro(found, about, at)
        if re.match(r"'{3,}\s*$", line):
            self._at += 1
            return f"<hr {self._lines_of(at, at + 1)}>"
        if _ITEM.match(line) or _TERM.match(line):
            title = f'<p class="note-title">{inline(about.title)}</p>' if about.title else ""  # type: ignore[assignment]
            return f"{title}{self._list()}"
        return self._paragraph(about)

    def _heading(self, level: int, words: str, start: int, end: int) -> str:
        level = min(level, 6)
        return f"<h{level} {self._lines_of(start, end)}>{inline(words)}</h{level}>"

    def _header(self) -> str:
        """Author and revision below the document's title."""
        start = self._at
        while self._at < len(self._lines) and (line := self._lines[self._at]).strip():
            if ATTRIBUTE.match(line) or line.startswith("//") or self._at - start == 2:
                break
            self._at += 1
        if self._at == start:
            return ""
        text = "<br>".join(str(escape(line)) for line in self._lines[start : self._at])
        return f'\n<p class="as-written" {self._lines_of(start, self._at)}>{text}</p>'

    def _entries(self) -> str:
        """Attributes that stand by themselves, folded."""
        start = self._at
        while self._at < len(self._lines) and ATTRIBUTE.match(self._lines[self._at]):
            self._at = end_of_entry(self._lines, self._at) + 1
        if self._at == start:
            return ""
        text = escape("\n".join(self._lines[start : self._at]))
        lines = self._lines_of(start, self._at)
        return f'<details class="front" {lines}><summary>Front matter</summary><pre>{text}</pre></details>'

    def _delimited(self, opening: re.Match[str], about: _Attributes) -> str:
        start, closing = self._at, self._closing(self._at)
        closed = closing > start and self._lines[closing].strip() == (
            "```" if opening[1] == "```" else opening[0].strip()
        )
        inner = self._lines[start + 1 : closing if closed else closing + 1]
        self._at = closing + 1
        lines = self._lines_of(start, self._at)
        mark, style = opening[1][:2], about.style
        if mark in ("..", "++", "``") or opening[1].startswith("----") or style in _CODE:
            return self._code(inner, about, lines, opening[2])
        nested = "\n".join(_Blocks(inner, self._first + start + 1).html())
        if opening[1].startswith("_") or style in _QUOTES:
            return self._quote(nested if style != "verse" else _verse(inner), about, lines)
        title = f'<p class="note-title">{inline(about.title)}</p>' if about.title else ""
        if style in ("NOTE", "TIP", "IMPORTANT", "WARNING", "CAUTION"):
            title = (
                f'<p class="note-title">{named(style.lower())}{": " + inline(about.title) if about.title else ""}</p>'
            )
        if title or opening[1].startswith(("====", "****")):
            return f'<div class="note" {lines}>{title}{nested}</div>'
        return f"<div {lines}>{nested}</div>"

    def _code(self, inner: Sequence[str], about: _Attributes, lines: str, language: str = "") -> str:
        named_ = language or (about.positional[1] if len(about.positional) > 1 else about.named.get("language", ""))
        caption = " · ".join(str(escape(part)) for part in (about.title, named_) if part)
        caption = f"<figcaption>{caption}</figcaption>" if caption else ""
        body = escape("\n".join(inner))
        return f'<figure class="code" {lines}>{caption}<pre><code>{body}</code></pre></figure>'

    def _quote(self, inner: str, about: _Attributes, lines: str) -> str:
        by = ", ".join(part for part in about.positional[1:3] if part)
        source = f"<p>— {inline(by)}</p>" if by else ""
        return f"<blockquote {lines}>{inner}{source}</blockquote>"

    def _macro(self, found: re.Match[str], about: _Attributes, at: int) -> str:
        name, target, attributes = found.groups()
        lines = self._lines_of(at, at + 1)
        if name == "include":
            return f"<p {lines}>(Included file not found: {escape(target)})</p>"
        given = _Attributes()
        given.read(attributes)
        text = given.named.get("alt") or (given.positional[0] if given.positional else "") or target
        caption = f"<br>{inline(about.title)}" if about.title else ""
        return f'<p {lines}><span class="picture">{escape(text)}</span>{caption}</p>'

    def _paragraph(self, about: _Attributes) -> str:
        start = self._at
        literal = self._lines[start].startswith((" ", "\t"))
        while self._at < len(self._lines) and (line := self._lines[self._at]).strip():
            if self._at > start and (_DELIMITER.match(line) or _TABLE.match(line) or BLOCK_ATTRIBUTES.match(line)):
                break
            self._at += 1
        inner = self._lines[start : self._at]
        lines = self._lines_of(start, self._at)
        if literal or about.style in _CODE:
            margin = min(len(line) - len(line.lstrip()) for line in inner)
            return self._code([line[margin:] for line in inner], about, lines)
        if about.style in _QUOTES:
            return self._quote(
                _verse(inner) if about.style == "verse" else f"<p>{inline(' '.join(inner))}</p>", about, lines
            )
        text = "\n".join(inner)
        kind = about.style if about.style in ("NOTE", "TIP", "IMPORTANT", "WARNING", "CAUTION") else ""
        if note := _NOTE.match(text):
            kind, text = note[1], text[note.end() :]
        title = f'<p class="note-title">{inline(about.title)}</p>' if about.title else ""
        if kind:
            name = f'<p class="note-title">{named(kind.lower())}</p>'
            return f'<div class="note" {lines}>{name}{title}<p>{inline(text)}</p></div>'
        return f"{title}<p {lines}>{inline(text)}</p>"

    # -- lists

    def _list(self) -> str:
        """A list with those inside it."""
        kind, start = self._kind(self._lines[self._at]), self._at
        items: list[str] = []
        while self._at < len(self._lines) and self._kind(self._lines[self._at]) == kind:
            items.append(self._item(kind))
            ahead = self._at
            while ahead < len(self._lines) and not self._lines[ahead].strip():
                ahead += 1
            if ahead < len(self._lines) and self._kind(self._lines[ahead]) == kind:
                self._at = ahead
        tag = "dl" if kind[0] == ":" or kind[0] == ";" else "ul" if kind[0] in "*-" else "ol"
        return f"<{tag} {self._lines_of(start, self._at)}>{''.join(items)}</{tag}>"

    @staticmethod
    def _kind(line: str) -> str:
        """What marks a list's items apart from another list's; empty where a line begins none."""
        if item := _ITEM.match(line):
            return item["bullet"] or item["dot"] or ("<" if item["callout"] else "1")
        term = None if line.startswith((" ", "\t")) else _TERM.match(line)
        return term["mark"] if term else ""

    def _item(self, kind: str) -> str:
        start, line = self._at, self._lines[self._at]
        match = _ITEM.match(line) or _TERM.match(line)
        assert match is not None
        text, parts = [match["text"] or ""], []
        self._at += 1
        above = getattr(self, "_open", [])
        self._open = [*above, kind]
        while self._at < len(self._lines):
            line = self._lines[self._at]
            other = self._kind(line)
            if line.strip() == "+":
                self._at += 1
                parts.append(self._attached())
            elif other and other not in self._open:
                parts.append(self._list())
            elif other:
                break
            elif not line.strip():
                if not self._goes_on():
                    break
                self._at += 1
            elif parts or _DELIMITER.match(line) or BLOCK_ATTRIBUTES.match(line) or _TITLE.match(line):
                break
            else:
                text.append(line.strip())
                self._at += 1
        self._open = above
        lines = self._lines_of(start, self._at)
        body = inline("\n".join(text).strip()) + "".join(parts)
        if "term" in match.groupdict():
            return f"<div {lines}><dt>{inline(match['term'])}</dt><dd>{body}</dd></div>"
        return f"<li {lines}>{body}</li>"

    def _goes_on(self) -> bool:
        """Whether an item inside the present one, or its text, follows behind empty lines."""
        ahead = next((line for line in self._lines[self._at :] if line.strip()), "")
        kind = self._kind(ahead)
        return bool(kind) and kind not in self._open

    def _attached(self) -> str:
        """The block behind a `+`."""
        about = _Attributes()
        while self._at < len(self._lines) and self._above(self._lines[self._at], about):
            pass
        if self._at >= len(self._lines) or not self._lines[self._at].strip():
            return ""
        start = self._at
        if _DELIMITER.match(self._lines[start]) or _TABLE.match(self._lines[start]):
            return self._block(self._lines[start], about)
        while self._at < len(self._lines) and (line := self._lines[self._at]).strip():
            if line.strip() == "+" or self._kind(line):
                break
            self._at += 1
        inner = _Blocks(self._lines[start : self._at], self._first + start)
        return "".join(inner.html())

    # -- tables

    def _table(self, mark: str, about: _Attributes) -> str:
        start, closing = self._at, self._closing(self._at)
        self._at = closing + 1
        inner = self._lines[start + 1 : closing]
        cells = self._cells(inner, start + 1) if mark in "|!" else self._values(inner, mark, start + 1)
        columns = _columns(about.named.get("cols", ""))
        blank = next((n for n, line in enumerate(inner) if not line.strip()), 0)
        first_row = sum(1 for cell in cells if cell.line == cells[0].line) if cells else 1
        count = len(columns) or max(1, first_row)
        options = f"{about.named.get('options', '')},{about.named.get('opts', '')},{about.positional}"
        has_header = "header" in options or (blank == 1 and bool(inner) and bool(inner[0].strip()))
        rows: list[list[_Cell]] = []
        left = 0
        for cell in cells:
            if left <= 0:
                rows.append([])
                left = count
            rows[-1].append(cell)
            left -= cell.columns
        made = [self._row(row, columns, head=has_header and number == 0) for number, row in enumerate(rows)]
        head = f"<thead>{made.pop(0)}</thead>" if has_header and made else ""
        caption = f"<caption>{inline(about.title)}</caption>" if about.title else ""
        lines = self._lines_of(start, self._at)
        return f"<table {lines}>{caption}{head}<tbody>{''.join(made)}</tbody></table>"

    def _row(self, row: Sequence[_Cell], columns: Sequence[str], *, head: bool) -> str:
        made = []
        for place, cell in enumerate(row):
            tag = "th" if head or cell.style == "h" else "td"
            spans = f' colspan="{cell.columns}"' if cell.columns > 1 else ""
            spans += f' rowspan="{cell.rows}"' if cell.rows > 1 else ""
            style = cell.style or (columns[place] if place < len(columns) else "")
            text = cell.text.strip("\n")
            if style == "a" and not head:
                body = "".join(_Blocks(text.strip().split("\n"), cell.line).html())
            else:
                body = inline(text.strip())
            made.append(f"<{tag}{spans}>{body}</{tag}>")
        last = max(cell.line + cell.text.rstrip().count("\n") for cell in row)
        return f'<tr data-line="{row[0].line}" data-end="{last}">{"".join(made)}</tr>'

    def _cells(self, lines: Sequence[str], start: int) -> list[_Cell]:
        cells: list[_Cell] = []
        for number, line in enumerate(lines, self._first + start):
            position, marks = 0, list(_CELL.finditer(line))
            for mark in marks:
                if mark.start() > position and mark.start() > 0 and line[mark.start() - 1] not in " \t":
                    mark = (
                        _CELL.match(line, mark.end() - 1) or mark
                    )  # a letter or digit before it is the cell's own text
                if cells and (text := line[position : mark.start()]):
                    cells[-1].text += text
                times = int(mark["times"] or 1)
                made = [
                    _Cell(number, "", int(mark["cols"] or 1), int(mark["rows"] or 1), mark["style"] or "")
                    for _ in range(min(times, 50))
                ]
                cells.extend(made)
                position = mark.end()
            if cells:
                cells[-1].text += line[position:] + "\n"
        for cell in cells:
            cell.text = cell.text.replace("\\|", "|")
        return cells

    def _values(self, lines: Sequence[str], mark: str, start: int) -> list[_Cell]:
        import csv

        found = []
        for number, line in enumerate(lines, self._first + start):
            for value in next(csv.reader([line], delimiter="," if mark == "," else ":"), []):
                found.append(_Cell(number, value))
        return found


@dataclass(slots=True)
class _Cell:
    line: int
    text: str
    columns: int = 1
    rows: int = 1
    style: str = ""


def _columns(spec: str) -> list[str]:
    """The style of each column, `1,2a` or `3*`."""
    found: list[str] = []
    for part in re.split(r"[,;]", spec) if spec else []:
        times, star, rest = part.strip().partition("*")
        style = re.search(r"([adehlmsv])$", rest if star else part.strip())
        found.extend([style[1] if style else ""] * (min(int(times), 50) if star and times.isdecimal() else 1))
    return found


def _verse(lines: Sequence[str]) -> str:
    return f"<p>{'<br>'.join(inline(line) for line in lines)}</p>"


# -- words

_MARKS = (("`", "code"), ("*", "strong"), ("_", "em"), ("#", "mark"))
_ESCAPED = re.compile(r"\\([*_`#^~{<\[+:]|https?:|link:|xref:)")
_PASSED = re.compile(
    r"\+\+\+(.{1,600}?)\+\+\+|\+\+(.{1,600}?)\+\+|pass:[a-z,]{0,40}\[(.{0,600}?)\]|(?<![\w+])\+(?=\S)([^+\n]{1,400}?)(?<=\S)\+(?![\w+])"
)
_LINK = re.compile(
    r"(?P<macro>link|xref|mailto):(?P<target>[^\s\[\]]{1,1000}+)\[(?P<text>[^\[\]]{0,600}(?:\[[^\[\]]{0,200}\][^\[\]]{0,400})?)\]"
    r"|(?P<url>https?://[^\s\[\]<>]{1,1000}+)\[(?P<words>[^\[\]]{0,600})\]"
    r"|&lt;&lt;(?P<place>[^<>,&]{1,400})(?:,(?P<label>[^<>&]{1,400}))?&gt;&gt;"
)
_FOOTNOTE = re.compile(r"footnote(?:ref)?:[\w-]{0,80}\[([^\[\]]{0,1000})\]")
_PICTURE = re.compile(r"(?:image|icon):(?!:)([^\s\[\]]{1,1000}+)\[([^\[\]]{0,400})\]")
_KEYS = re.compile(r"(?:kbd|btn|menu):([^\s\[\]]{0,200})\[([^\[\]]{0,200})\]")


def inline(text: str) -> str:
    """HTML of some words of AsciiDoc."""
    stored: list[str] = []

    def keep(markup: str) -> str:
        stored.append(markup)
        return f"\ue000{len(stored) - 1}\ue001"

    text = text.replace("\ue000", "").replace("\ue001", "")
    text = _PASSED.sub(lambda found: keep(str(escape(next(part for part in found.groups() if part is not None)))), text)
    text = _ESCAPED.sub(lambda found: keep(str(escape(found[1]))), text)
    text = str(escape(text)).replace("&#34;", '"').replace("&#39;", "'")
    text = re.sub(r'"`(.{1,600}?)`"', "“\\1”", text)
    text = re.sub(r"'`(.{1,600}?)`'", "‘\\1’", text)
    text = _LINK.sub(lambda found: keep(_link(found)), text)
    text = _PICTURE.sub(lambda found: keep(f'<span class="picture">{found[2].split(",")[0] or found[1]}</span>'), text)
    text = _FOOTNOTE.sub(r"[\1]", text)
    text = _KEYS.sub(lambda found: f"<kbd>{' › '.join(filter(None, found.groups()))}</kbd>", text)
    text = _marked(text)
    text = re.sub(r"\[\[([\w:.-]+)(?:,[^\]]*)?\]\]", lambda found: keep(f'<span id="{found[1]}"></span>'), text)
    text = re.sub(r" \+(?:\n|$)", "<br>", text)
    for _ in range(3):  # links in what was stored
        text = re.sub("\ue000(\\d+)\ue001", lambda found: stored[int(found[1])], text)
    return text


def _marked(text: str) -> str:
    for mark, tag in _MARKS:
        sign = re.escape(mark)
        role = r"(?:\[[\w.#%, -]*\])?"
        text = re.sub(rf"{role}{sign}{sign}(?=\S)(.{{1,600}}?)(?<=\S){sign}{sign}", rf"<{tag}>\1</{tag}>", text)
        text = re.sub(
            rf"(?<![\w\\]){role}(?<![\w\\{sign}]){sign}(?=[^\s{sign}])(.{{1,600}}?)(?<=[^\s]){sign}(?![\w{sign}])",
            rf"<{tag}>\1</{tag}>",
            text,
            flags=re.DOTALL,
        )
    text = re.sub(r"\^(\S{1,80}?)\^", r"<sup>\1</sup>", text)
    return re.sub(r"~(\S{1,80}?)~", r"<sub>\1</sub>", text)


def _link(found: re.Match[str]) -> str:
    if found["place"]:
        place = found["place"].lstrip("#")
        target = place if re.search(r"\.\w+(?:#|$)", place) else f"#{place}"
        return f'<a href="{target}">{_marked(found["label"] or place.rpartition("#")[2])}</a>'
    target = found["url"] or found["target"]
    words = found["words"] if found["url"] else found["text"]
    words = re.sub(r"(?:^|,)\s*[\w-]+=[^,]*", "", words.strip()).strip('"').rstrip("^")
    if found["macro"] == "mailto":
        target = f"mailto:{target}"
    if found["macro"] == "xref" and "#" not in target and not re.search(r"\.\w+$", target):
        target = f"#{target}"
    return f'<a href="{target}">{_marked(words) or target.lstrip("#")}</a>'
