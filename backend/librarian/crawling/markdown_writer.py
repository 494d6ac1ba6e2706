"""HTML as Markdown: headings, code with its language, tables, lists and links survive; decoration doesn't."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from urllib.parse import urlsplit

from lxml import html

from . import urls

LABEL = "librarian-tab-label"  #: class of the paragraph that names a panel
_PANELS = (
    ".//*[@role='tabpanel'] | .//*[contains(concat(' ', @class, ' '), ' tabbed-block ')]"
    " | .//*[contains(concat(' ', @class, ' '), ' tab-pane ')]"
    " | .//*[contains(concat(' ', @class, ' '), ' tabpanel ')]"
    " | .//*[contains(concat(' ', @class, ' '), ' vp-code-group ')]/div[@class='blocks']/div"
)
_TABS = (
    ".//*[@role='tab'] | .//*[contains(concat(' ', @class, ' '), ' tablist ')]//li[@class='tab']"
    " | .//*[contains(concat(' ', @class, ' '), ' tabbed-labels ')]/label"
    " | .//*[contains(concat(' ', @class, ' '), ' vp-code-group ')]/div[@class='tabs']/label"
)
_FAR = 3  #: a set of tabs stands no further above its panels' parent


def unfold(main: html.HtmlElement) -> None:
    """Put each tab's label in front of its panel and show the panels that wait for a click.

    A tab names its panel as WAI-ARIA says (`aria-labelledby`, `aria-controls`), by a link to it, or by its place
    among as many tabs as there are panels next to each other. A label without a panel stays where it is.
    """
    panels = main.xpath(_PANELS)
    if not panels:
        return
    tabs = main.xpath(_TABS)
    by_name = {str(tab.get("id")): tab for tab in tabs if tab.get("id")}
    by_target = {target: tab for tab in reversed(tabs) for target in _targets(tab)}  # the first of several shows all
    by_place = dict(_by_place(panels))
    used = []
    for panel in panels:
        panel.attrib.pop("hidden", None)
        tab = by_name.get(str(panel.get("aria-labelledby")))
        tab = by_target.get(str(panel.get("id"))) if tab is None else tab
        tab = by_place.get(panel) if tab is None else tab
        if tab is not None and (words := " ".join(str(tab.text_content()).split())):
            label = html.Element("p", {"class": LABEL})
            label.text, label.tail, panel.text = words, panel.text, None
            panel.insert(0, label)
            used.append(tab)
    for tab in dict.fromkeys(used):
        if tab.getparent() is not None:
            tab.drop_tree()


def _targets(tab: html.HtmlElement) -> set[str]:
    """Ids of the panels that a tab, or the link in it, says it opens."""
    named = [str(tab.get("aria-controls") or "")]
    for element in (tab, *tab.iter("a")):
        named += [str(element.get(name) or "").partition("#")[2] for name in ("href", "data-bs-target", "data-target")]
    return {name for name in named if name}


def _by_place(panels: list[html.HtmlElement]) -> Iterator[tuple[html.HtmlElement, html.HtmlElement]]:
    """(panel, its tab) where panels next to each other are as many as the tabs of their set."""
    known = set(panels)
    groups: dict[html.HtmlElement, list[html.HtmlElement]] = {}
    for panel in panels:
        groups.setdefault(panel.getparent(), []).append(panel)
    for parent, group in groups.items():
        home = _panel_of(parent, known)
        for around in [parent, *parent.iterancestors()][:_FAR]:
            tabs = [tab for tab in around.xpath(_TABS) if _panel_of(tab, known) is home]
            if len(tabs) == len(group):
                yield from zip(group, tabs, strict=True)
            if tabs or around is home:
                break


def _panel_of(element: html.HtmlElement, panels: set[html.HtmlElement]) -> html.HtmlElement | None:
    """The innermost panel that holds an element or is it."""
    return next((around for around in (element, *element.iterancestors()) if around in panels), None)


LINE_NUMBERS = re.compile(r"(^|\s)(linenos?|linenodiv|gutter|line-numbers-rows|line-number|ln-num|lnt?|lineno)(\s|$)")
_LANGUAGE = re.compile(
    r"(?:^|\s)(?:mw-highlight-lang|language|lang|highlight-(?:source|text)|highlight|brush:?|source(?:code)?)[-_ ]"
    r"(?!highlight[- ])([\w+#.-]+)"
)
_NO_LANGUAGE = frozenset({"default", "none", "text", "plain", "plaintext", "notranslate", "source", "wrapper", "txt"})
_BARE_NAMES = """
bash c clojure console cpp csharp css dart diff elixir erlang go graphql groovy haskell html http ini java javascript js
json julia kotlin lua makefile nginx ocaml perl php powershell python r ruby rust scala sh shell sql swift toml
typescript xml yaml zig
"""
#: Classes of code that are a language and nothing else, as rustdoc, YARD, R Markdown and older highlighters have it.
_BARE = frozenset(_BARE_NAMES.split())


def classes(element: html.HtmlElement) -> str:
    """The element's class attribute, empty where it has none."""
    return str(element.get("class") or "")


def code_text(element: html.HtmlElement) -> str:
    """The lines of a `pre`, without line numbers."""
    parts: list[str] = []

    def walk(node: html.HtmlElement) -> None:
        if isinstance(node.tag, str) and not LINE_NUMBERS.search(classes(node)) and node.tag not in ("button", "svg"):
            before = next((part for part in reversed(parts) if part), "\n")
            if node.tag == "br" or (node.tag == "div" and not before.endswith("\n")):
                parts.append("\n")
            parts.append(node.text or "")
            for child in node:
                walk(child)
                parts.append(child.tail or "")

    walk(element)
    return "".join(parts).replace("\r\n", "\n").replace("\u200b", "").strip("\n").rstrip()


def code_language(element: html.HtmlElement) -> str:
    """What a highlighter left in the classes of a `pre`, of its code, or of what is around it."""
    around = [element, *element.iter("code"), *list(element.iterancestors())[:6]]
    for node in around:
        for name in ("data-lang", "data-language"):
            if (given := str(node.get(name) or "").strip().lower()) and given not in _NO_LANGUAGE:
                return given
        for found in _LANGUAGE.findall(classes(node).lower()):
            if found not in _NO_LANGUAGE:
                return str(found)
    bare = (name for node in (element, *element.iter("code")) for name in classes(node).lower().split())
    return next((name for name in bare if name in _BARE), "")


_SPACE = re.compile(r"[ \t\r\n\f\u00a0\u200b]+")
_BLOCK_NAMES = """
address article aside blockquote body center dd details div dl dt fieldset figcaption figure footer form h1 h2 h3 h4 h5
h6 header hr html li main menu nav ol p pre section summary table tbody td tfoot th thead tr ul
"""
_DROPPED_NAMES = """
script style noscript template svg canvas iframe object button input select textarea nav dialog link meta head audio
video
"""
_BLOCKS = frozenset(_BLOCK_NAMES.split())
_DROPPED = frozenset(_DROPPED_NAMES.split())
_PERMALINK = re.compile(
    r"footnote-backref|katex-html|hideme|headerlink|anchorjs|hash-link|header-anchor|heading-anchor|sr-only|visually-hidden|copybtn|line-numbers-wrapper"
)
_SELF = frozenset("¶§#🔗")  #: what a heading's link to itself shows
_MARKUP = re.compile(r"<(?=[A-Za-z/!?])")
_FENCE = re.compile(r"`{3,}")
_LABEL_CLASS = re.compile(
    rf"admonition-title|admonition-?heading|alert-(?:title|heading)|custom-block-title|aside__title|blockquote-tag-title|sd-tab-label"
    rf"|{LABEL}",
    re.I,
)
_OUTSIDE_CODE = ".//text()[normalize-space()][not(ancestor::pre)]"
_ROWS = ".//*[@role='row']"
_CELLS = ".//*[@role='cell' or @role='columnheader' or @role='rowheader']"
_SECTION = ("h3", "h4", "h5", "h6")
_LABELS = frozenset({"dt", "summary"})
_NO_PARAGRAPH = re.compile(r"#{1,6} |[-+*>|] ?|\d+[.)] |`{3}|!\[")
_REPEATED = 2_000  #: characters of a cell that are given for each of its columns: tables nest, and it multiplies
_IMAGE_NAME = re.compile(r"\S*\.(png|jpe?g|gif|svg|webp|avif|bmp)", re.I)


def to_markdown(element: html.HtmlElement, base: str, page: str = "") -> str:
    """The element's content. Addresses become absolute by `base`; those of the `page`'s site begin with their path.

    They name the page and no place in it: a site's name and the ids of its headings would be in the vectors of all
    passages, with which fewer questions find their page (`benchmarks/crawl_quality.py`).
    """
    return _Writer(base, urlsplit(page or base)[:2]).blocks(element).strip() + "\n"


def is_dropped(element: html.HtmlElement) -> bool:
    """Whether nothing of an element is for readers of the text."""
    tag = element.tag
    if not isinstance(tag, str) or (tag in _DROPPED and not _formula(element)):
        return True
    if element.get("hidden") is not None or element.get("role") in ("navigation", "search", "banner", "contentinfo"):
        return True
    if tag == "span" and element.get("class") == "lang" and _precedes_code(element):
        return True
    if tag == "a" and "#" in str(element.get("href")) and str(element.text_content()).strip() in _SELF:
        return True
    return bool(_PERMALINK.search(classes(element))) and tag in ("a", "span", "button", "div", "summary")


def _formula(element: html.HtmlElement) -> str:
    """What a formula is written as, in TeX where the page knows that; empty where an element is none."""
    if element.tag == "math":
        tex = element.xpath("string(.//annotation[@encoding='application/x-tex'])") or element.get("alttext")
        text = " ".join(str(tex or element.text_content()).split())
        return f"${text}$" if tex else text
    if element.tag == "script" and (kind := str(element.get("type"))).startswith("math/tex"):
        mark = "$$" if "display" in kind else "$"
        return f"{mark}{' '.join((element.text or '').split())}{mark}"
    return ""


def _precedes_code(element: html.HtmlElement) -> bool:
    following = element.getnext()
    return following is not None and following.tag == "pre"


class _Writer:
    def __init__(self, base: str, site: tuple[str, ...]) -> None:
        self._base = base
        self._site = site
        self._by_tag: dict[str, Callable[[html.HtmlElement], str]] = {
            **{f"h{level}": self._heading for level in range(1, 7)},
            "pre": self._fence,
            "table": self._table,
            "ul": self._list,
            "ol": self._list,
            "menu": self._list,
            "dd": self.blocks,
            "blockquote": self._quote,
            "hr": lambda _: "---",
        }

    # -- blocks ------------------------------------------------------------------------------------------------------

    def blocks(self, element: html.HtmlElement) -> str:
        """The blocks inside an element, with blank lines between them; loose text between blocks is a paragraph.

        What names the block after it (a term, an admonition's title, a tab's label) is the first line of its paragraph:
        a passage that is cut out of the page keeps its name.
        """
        parts: list[str] = []
        labels: list[str] = []
        for is_label, block in self._blocks(element):
            if is_label:
                labels.append(block)
                continue
            named = "\n".join(labels)
            parts.append(f"{named}{_gap(block)}{block}" if named else block)
            labels = []
        return "\n\n".join([*parts, *(["\n".join(labels)] if labels else [])])

    def _blocks(self, element: html.HtmlElement) -> Iterator[tuple[bool, str]]:
        """(whether it names what follows, text) of each block."""
        loose = [self._text(element.text)]
        for child in element:
            if is_dropped(child):
                pass
            elif (is_label := _is_label(child)) or self._is_block(child):
                if paragraph := _prose("".join(loose)):
                    yield False, paragraph
                loose = []
                write = self._term if is_label else self._fence if _is_listing(child) else self._writer(child)
                if block := write(child):
                    yield is_label, block
            else:
                loose.append(self._inline(child))
            loose.append(self._text(child.tail))
        if paragraph := _prose("".join(loose)):
            yield False, paragraph

    def _writer(self, element: html.HtmlElement) -> Callable[[html.HtmlElement], str]:
        return self._table if _is_grid(element) else self._by_tag.get(element.tag, self.blocks)

    @staticmethod
    def _is_block(element: html.HtmlElement) -> bool:
        if element.tag in _BLOCKS:
            return True
        return any(isinstance(inner.tag, str) and inner.tag in _BLOCKS for inner in element.iterdescendants())

    def _heading(self, element: html.HtmlElement) -> str:
        text = re.sub(r"(¶|\s#+)+$", "", " ".join(self._children(element).split())).strip("◆ ")
        return f"{'#' * int(element.tag[1])} {text}" if text else ""

    def _term(self, element: html.HtmlElement) -> str:
        text = " ".join(_tidy(self._children(element)).split())
        return f"**{text}**" if text and "**" not in text else text

    def _quote(self, element: html.HtmlElement) -> str:
        return "\n".join(f"> {line}".rstrip() for line in self.blocks(element).splitlines())

    def _fence(self, element: html.HtmlElement) -> str:
        text = code_text(element)
        if not text:
            return ""
        ticks = "`" * max([3, *(len(run) + 1 for run in _FENCE.findall(text))])
        return f"{ticks}{code_language(element)}\n{text}\n{ticks}"

    def _list(self, element: html.HtmlElement) -> str:
        if any(child.tag == "li" and child.find(".//h2") is not None for child in element) or any(
            section.find(f"./{level}") is not None for section in element.xpath("./li/section") for level in _SECTION
        ):
            return "\n\n".join(block for child in element if (block := self.blocks(child)))  # a layout, as Javadoc's
        items: list[str] = []
        number = int(start) if (start := str(element.get("start") or "1")).isdigit() else 1
        for child in element:
            if not isinstance(child.tag, str) or is_dropped(child):
                continue
            text = self.blocks(child) if child.tag == "li" else self._by_tag.get(child.tag, self.blocks)(child)
            if not text.strip():
                continue
            mark = f"{number}. " if element.tag == "ol" else "- "
            number += 1
            items.append(mark + text.replace("\n", "\n" + " " * len(mark)))
        loose = any("\n\n" in item for item in items)
        return re.sub(r"\n[ ]+(?=\n|$)", "\n", ("\n\n" if loose else "\n").join(items))

    def _table(self, element: html.HtmlElement) -> str:
        fences = list(element.iter("pre"))
        if _is_admonition(element):
            return self._admonition(element)
        if "highlighttable" in classes(element) or (
            len(list(element.iter("tr"))) == 1 and fences and not element.xpath(_OUTSIDE_CODE)
        ):
            blocks = [block for pre in fences if (block := self._fence(pre)) and not _is_gutter(pre)]
            named = _tidy("".join(str(name.text_content()) for name in element.xpath(".//th[@class='filename']")))
            return "\n\n".join([named, *blocks] if named else blocks)
        if not (rows := _rows(element)):
            return ""
        width = max(map(len, self._grid(rows, lambda _: "")))  # cells written here too would cost 2ⁿ where tables nest
        if width == 1 or (len(rows) == 1 and fences):  # a layout
            return "\n\n".join(block for row in rows for cell in row if (block := self.blocks(cell)))
        lines = self._grid(rows, self._cell)
        headed = any(cell.tag == "th" or _is_box(cell) for cell in rows[0])
        if not headed and rows[0][0].getparent().getparent().tag != "thead":
            lines.insert(0, [""] * width)
        lines.insert(1, ["---"] * width)
        table = ["| " + " | ".join([*row, *[""] * (width - len(row))]) + " |" for row in lines]
        caption = next((_tidy(self._children(found)) for found in element.iter("caption")), "")
        return "\n".join([*([caption, ""] if caption else []), *table])

    def _admonition(self, table: html.HtmlElement) -> str:
        """A note beside its sign or its name, as AsciiDoctor and DocBook write it."""
        *signs, content = [cell for row in _rows(table) for cell in row] or [table]
        named = (name for sign in signs for name in (_tidy(self._children(sign)), *sign.xpath(".//@title | .//@alt")))
        label = next((name for name in (name.strip("[] ") for name in named) if name and "](" not in name), "")
        block = self.blocks(content)
        return f"**{label}**{_gap(block)}{block}" if label else block

    @staticmethod
    def _grid(rows: list[list[html.HtmlElement]], write: Callable[[html.HtmlElement], str]) -> list[list[str]]:
        """The cells' texts, each in all columns that it reaches over (long ones in the first), blank in rows below."""
        hanging: dict[int, int] = {}  # column → rows to come that a cell above reaches into
        lines = []
        for row in rows:
            taken = {column for column, left in hanging.items() if left}
            hanging = {column: hanging[column] - 1 for column in taken}
            line: list[str] = []
            for cell in row:
                text, rows_below = write(cell), _span(cell, "rowspan") - 1
                for _ in range(_span(cell)):
                    while len(line) in taken:
                        line.append("")
                    if rows_below:
                        hanging[len(line)] = rows_below
                    line.append(text)
                    text = text if len(text) <= _REPEATED else ""
            lines.append(line)
        return lines

    def _cell(self, cell: html.HtmlElement) -> str:
        text = re.sub(
            r"^(`{3,})[\w+#.-]*\n(.*?)\n\1$",
            lambda found: f"`{' '.join(found[2].split())}`",
            re.sub(r"^(#{1,6} |\\(?=[#>~`]))", "", self.blocks(cell), flags=re.M),
            flags=re.S | re.M,
        )
        return " ".join(text.replace("|", "\\|").split())

    # -- within a line -------------------------------------------------------------------------------------------------

    @staticmethod
    def _text(text: str | None) -> str:
        return _MARKUP.sub(r"\\<", _SPACE.sub(" ", text)) if text else ""

    def _children(self, element: html.HtmlElement) -> str:
        parts = [self._text(element.text)]
        for child in element:
            if not is_dropped(child):
                parts.append(self._inline(child))
            parts.append(self._text(child.tail))
        return "".join(parts)

    def _inline(self, element: html.HtmlElement) -> str:
        tag = element.tag
        if tag == "br":
            return "\n"
        if tag in ("code", "kbd", "samp", "tt"):
            return _code(code_text(element) if element.find(".//br") is not None else str(element.text_content()))
        if tag in ("math", "script"):
            return self._text(_formula(element))
        if tag == "img":
            alt = " ".join(str(element.get("alt") or "").split())
            target = self._address(str(element.get("data-src") or element.get("src") or ""))
            shown = alt and not _IMAGE_NAME.fullmatch(alt) and "mwe-math" not in classes(element)
            return f"![{alt}]({target})" if target and shown else ""
        text = self._children(element)
        if not text.strip():
            return text
        if tag in _BLOCKS:
            return f" {text} "  # a box within a heading or a term
        if tag in ("strong", "b"):
            return _wrapped(text, "**")
        if tag in ("em", "i"):
            return _wrapped(text, "*")
        if tag == "a":
            return self._link(element, text)
        if tag == "sup" and text.strip().isdigit() and element.find("a[@href]") is not None:
            return f"[{text.strip()}]"  # a footnote's number, which would be one with the word before it
        return text

    def _link(self, element: html.HtmlElement, text: str) -> str:
        target = str(element.get("href") or "").strip()
        if not target or target.startswith(("#", "javascript:", "data:")):
            return text
        target = target if target.startswith("mailto:") else self._address(target)
        label = " ".join(text.split()).replace("]", "\\]") if "](" not in text else " ".join(text.split())
        lead = " " if text[:1].isspace() else ""
        return f"{lead}[{label}]({target}){' ' if text[-1:].isspace() else ''}" if target and label else text

    def _address(self, target: str) -> str:
        """Where a link leads: within the site only the path of a page, elsewhere all of it; empty where nowhere."""
        path, hash_, fragment = target.partition("#")
        url = urls.normalised(path, self._base)
        if url and urlsplit(url)[:2] == self._site:
            return url[url.index("/", url.index("//") + 2) :]
        return f"{url}{hash_}{fragment}" if url else ""


def _code(text: str) -> str:
    text = " ".join(text.replace("\u200b", "").split())
    if not text:
        return ""
    ticks = "`" * (max((len(run) for run in re.findall(r"`+", text)), default=0) + 1)
    return f"{ticks} {text} {ticks}" if "`" in text else f"`{text}`"


def _wrapped(text: str, mark: str) -> str:
    inner = text.strip()
    if mark in inner:
        return text
    lead, tail = text[: len(text) - len(text.lstrip())], text[len(text.rstrip()) :]
    return f"{lead}{mark}{inner}{mark}{tail}"


def _is_label(element: html.HtmlElement) -> bool:
    """Whether an element names what follows it; not where it holds lines of code or lists of its own."""
    if element.tag == "summary" and any(element.find(f".//h{level}") is not None for level in range(1, 7)):
        return False
    if element.tag in _LABELS:
        lines = any("\n" in code_text(pre) for pre in element.iter("pre"))
        return not lines and element.find(".//li") is None
    return bool(_LABEL_CLASS.search(classes(element))) and element.tag in ("p", "div", "label", "span", "h5", "h6")


def _is_listing(element: html.HtmlElement) -> bool:
    """Code whose lines are boxes, as Doxygen writes it, or a paragraph that is nothing but code with line breaks."""
    if element.tag == "p" and len(element) == 1 and element[0].tag in ("code", "samp", "tt"):
        return element.find(".//br") is not None and not f"{element.text or ''}{element[0].tail or ''}".strip()
    return "fragment" in classes(element).split() and element.find("div[@class='line']") is not None


def _is_admonition(table: html.HtmlElement) -> bool:
    around = table.getparent()
    if around is not None and "admonitionblock" in classes(around).split():
        return True
    rows = _rows(table)
    return (
        [len(row) for row in rows] == [2, 1] and rows[0][0].get("rowspan") == "2" and bool(rows[0][0].xpath(".//img"))
    )


def _is_grid(element: html.HtmlElement) -> bool:
    """Whether boxes next to each other look like a table, as Javadoc's summaries and GitBook's tables do."""
    if element.get("role") == "table":
        return element.tag == "table" or bool(element.xpath(_ROWS))
    return "summary-table" in classes(element).split() and any(map(_is_box, element))


def _is_box(cell: html.HtmlElement) -> bool:
    return cell.tag == "div" and ("table-header" in classes(cell).split() or cell.get("role") == "columnheader")


def _rows(table: html.HtmlElement) -> list[list[html.HtmlElement]]:
    if table.tag != "table" and (rows := table.xpath(_ROWS)):
        return [cells for row in rows if (cells := row.xpath(_CELLS))]
    if table.tag != "table":
        width = sum(map(_is_box, table))
        return [list(table[start : start + width]) for start in range(0, len(table), width)]
    own = (row for row in table.iter("tr") if next(row.iterancestors("table"), None) is table)
    lines = ([cell for cell in row if isinstance(cell.tag, str) and cell.tag in ("td", "th")] for row in own)
    return [line for line in lines if line]


def _gap(block: str) -> str:
    """What stands between a label and its block: a line break only where both are one paragraph then."""
    return "\n\n" if _NO_PARAGRAPH.match(block) else "\n"


def _tidy(text: str) -> str:
    return "\n".join(line.strip() for line in text.split("\n")).strip()


def _prose(text: str) -> str:
    """Text whose lines are no headings, quotations, fences or bullets of Markdown, whatever they begin with."""
    text = re.sub(r"^(#{1,6} |>|~{3}|`{3,}(?![^\n]*`))", r"\\\1", _tidy(text), flags=re.M)
    return re.sub(r"\A([-+*] )", r"\\\1", text)


def _is_gutter(pre: html.HtmlElement) -> bool:
    return any(LINE_NUMBERS.search(classes(node)) for node in (pre, *list(pre.iterancestors())[:3]))


def _span(cell: html.HtmlElement, name: str = "colspan") -> int:
    given = str(cell.get(name) or "1")
    return min(max(int(given), 1), 20) if given.isdigit() else 1
