"""reStructuredText to HTML by docutils, with what Sphinx adds. The result is not safe: clean it."""

from __future__ import annotations

import re
import threading
from typing import Any, ClassVar

from docutils import nodes
from docutils.core import publish_doctree, publish_from_doctree
from docutils.parsers.rst import Directive, directives, roles
from docutils.parsers.rst.languages import en
from docutils.writers.html5_polyglot import HTMLTranslator, Writer

from .markdown import named

_SETTINGS = {
    "raw_enabled": False,
    "file_insertion_enabled": False,
    "report_level": 3,
    "warning_stream": False,
    "halt_level": 5,
    "syntax_highlight": "none",
    "doctitle_xform": False,
    "docinfo_xform": False,
    "initial_header_level": 1,
    "embed_stylesheet": False,
    "stylesheet_path": "",
    "math_output": "LaTeX",
    "_disable_config": True,
    "auto_id_prefix": "id",
    "toc_backlinks": False,
    "footnote_backlinks": False,
}
_DIRECTIVE = re.compile(
    r"^[ \t]*(?:\.\. |\* - |- )(?:\|[^|\n]*\| )?([a-zA-Z][\w.:+-]{0,60}?) ?::(?:[ \t]|$)", re.MULTILINE
)
_ROLE = re.compile(r":([a-zA-Z][\w.:+-]{0,60}):`|`:([a-zA-Z][\w.:+-]{0,60}):")
#: Names of docutils too, which reads files or takes markup as it is.
_CODE = frozenset({"code-block", "sourcecode", "code", "literalinclude", "parsed-literal", "prompt", "include", "raw"})
_UNSEEN = frozenset(
    {"index", "highlight", "currentmodule", "module", "default-domain", "tabularcolumns"}
    | {"class", "title", "meta", "role", "default-role", "date"}
)
#: Notes by what their titles begin with; without a word of theirs they are named by their directive.
_NOTES = dict.fromkeys(("seealso", "todo", "tab", "dropdown"), "") | {
    "versionadded": "New in version ", "versionchanged": "Changed in version ", "deprecated": "Deprecated since ",
}  # fmt: skip
_PAGES = frozenset({"doc", "any", "download"})
_PLACES = frozenset({"ref", "numref", "term", "option", "std:ref"})
_STRONG = frozenset({"guilabel", "menuselection", "abbr", "dfn", "command", "program"})
_TITLE_AND_TARGET = re.compile(r"(.*?)\s*<([^<>]+)>$", re.DOTALL)
_MOST_NAMES = 2000  #: of directives and roles that are made known; more stay unknown

_lock = threading.Lock()  #: docutils keeps directives and roles in one place for all documents


def restructured(text: str) -> str:
    """HTML of reStructuredText; blocks say in `data-line` which line of `text` they begin at, counted from 1.

    Directives and roles of Sphinx that say more than their words are shown as such, unknown ones with their content.
    """
    with _lock:
        _make_known(text)
        tree = publish_doctree(text, settings_overrides=_SETTINGS)
        for message in list(tree.findall(nodes.system_message)):
            written = list(message.findall(nodes.literal_block))  # what can't be read, as it is written
            message.parent.replace(message, written)
        writer = Writer()
        writer.translator_class = _Translator
        publish_from_doctree(tree, writer=writer, settings_overrides=_SETTINGS)
    body: str = writer.parts["body"]
    return body


def _make_known(text: str) -> None:
    """Register what this text names and docutils doesn't know, so that its content is shown."""
    for name in {match.lower() for match in _DIRECTIVE.findall(text)}:
        if (name in _CODE | _UNSEEN or name not in en.directives) and len(directives._directives) < _MOST_NAMES:
            directives.register_directive(name, _Shown)
    for name in {(first or second).lower() for first, second in _ROLE.findall(text)}:
        if (name == "raw" or name not in en.roles) and len(roles._roles) < _MOST_NAMES:
            roles.register_local_role(name, _role)


# -- directives


class _AnyOption(dict[str, Any]):
    """Takes any option as text."""

    def __bool__(self) -> bool:
        return True

    def __contains__(self, _: object) -> bool:
        return True

    def __getitem__(self, _: str) -> Any:
        return directives.unchanged


class _Shown(Directive):  # type: ignore[misc]
    """A directive that isn't docutils' own: its arguments as titles, its content below."""

    has_content = True
    optional_arguments = 1
    final_argument_whitespace = True
    option_spec: ClassVar[Any] = _AnyOption()

    def run(self) -> list[nodes.Node]:
        if self.name in _UNSEEN:
            return []
        shown: nodes.Element
        if self.name in _CODE:
            caption = " · ".join(filter(None, (self.options.get("caption", ""), " ".join(self.arguments).strip())))
            text = "\n".join(self.content) or f"(Included file not found: {caption})"
            shown = nodes.literal_block(text, text, caption=caption)
        else:
            shown = nodes.container()
            if self.name == "toctree":
                shown += self._contents()
            else:
                self._fill(shown)
        shown.source, shown.line = self.state_machine.get_source_and_line(self.lineno)
        return [shown]

    def _fill(self, box: nodes.Element) -> None:
        """A note, or a description of a function or of anything unknown."""
        text = " ".join(self.arguments)
        if self.name in _NOTES:
            box["classes"] = ["note"]
            title = _NOTES[self.name] + text or named(self.name.replace("-", " "))
            box += nodes.paragraph("", "", *self.state.inline_text(title, self.lineno)[0], classes=["note-title"])
        else:
            box["classes"] = ["object"]
            for line in filter(None, map(str.strip, (text or self.name).split("\n"))):
                box += nodes.paragraph("", "", nodes.literal("", line))
        self.state.nested_parse(self.content, self.content_offset, box)

    def _contents(self) -> list[nodes.Node]:
        """Links to other pages."""
        entries = nodes.bullet_list()
        for title, target in map(_parted, filter(None, map(str.strip, self.content))):
            if target != "self" and "*" not in target:
                link = nodes.reference("", title, refuri=target if "://" in target else _page(target))
                entries += nodes.list_item("", nodes.paragraph("", "", link))
        caption = self.options.get("caption", "")
        heading = nodes.paragraph(caption, caption, classes=["note-title"])
        return [*([heading] if caption else []), *([entries] if len(entries) else [])]


# -- roles


def _parted(text: str) -> tuple[str, str]:
    """Title and target of `title <target>`, or of a target alone."""
    match = _TITLE_AND_TARGET.match(text)
    return (match[1], match[2]) if match else (text, text)


def _page(target: str) -> str:
    return target if re.search(r"\.\w{1,5}$", target) else f"{target}.rst"


def _role(
    name: str, rawtext: str, text: str, lineno: int, inliner: Any, options: object = None, content: object = None
) -> tuple[list[nodes.Node], list[nodes.Node]]:
    """A role of Sphinx: pages and places as links, all others as code without what only programs need."""
    title, target = _parted(nodes.unescape(text))
    if name in _PAGES:
        return [nodes.reference(rawtext, title, refuri=_page(target))], []
    if name in _PLACES:
        return [nodes.inline(rawtext, title, classes=["xref"], target=target)], []
    if title == target:
        title = target.lstrip("!~").rpartition(".")[2] if text.startswith("~") else target.lstrip("!")
    if name in _STRONG:
        return [nodes.strong(rawtext, title)], []
    return [nodes.literal(rawtext, title)], []


# -- HTML


class _Translator(HTMLTranslator):  # type: ignore[misc]
    """docutils' HTML5 with the line of each block, in the classes of this page."""

    def starttag(self, node: Any, tagname: str, suffix: str = "\n", empty: bool = False, **attributes: Any) -> str:
        if getattr(node, "line", None) and not isinstance(node, nodes.Inline):
            attributes["data-line"] = node.line
        made: str = super().starttag(node, tagname, suffix, empty, **attributes)
        return made

    def visit_section(self, node: Any) -> None:
        """Sections aren't boxes: their blocks follow one another."""
        self.section_level += 1
        self.body.extend(f'<span class="anchor" id="{self.attval(name)}"></span>' for name in node["ids"])

    def depart_section(self, node: Any) -> None:
        self.section_level -= 1

    def visit_title(self, node: Any) -> None:
        if isinstance(node.parent, nodes.Admonition):
            self.body.append(self.starttag(node, "p", "", CLASS="note-title"))
            self.context.append("</p>\n")
        else:
            super().visit_title(node)

    def visit_admonition(self, node: Any) -> None:
        self.body.append(self.starttag(node, "div", CLASS="note"))

    def depart_admonition(self, node: Any = None) -> None:
        self.body.append("</div>\n")

    def visit_literal(self, node: Any) -> None:
        self.body.append(f"<code>{self.encode(node.astext())}</code>")
        raise nodes.SkipNode

    def visit_literal_block(self, node: Any) -> None:
        names = [name for name in node.get("classes", ()) if name != "code"]
        caption = node.get("caption") or " ".join(names)
        self.body.append(self.starttag(node, "figure", CLASS="code"))
        if caption:
            self.body.append(f"<figcaption>{self.encode(caption)}</figcaption>")
        self.body.append("<pre><code>")

    def depart_literal_block(self, node: Any) -> None:
        self.body.append("</code></pre></figure>\n")

    visit_doctest_block = visit_literal_block
    depart_doctest_block = depart_literal_block

    def visit_inline(self, node: Any) -> None:
        if target := node.get("target"):
            place = self.document.nameids.get(nodes.fully_normalize_name(target))
            if place:
                self.body.append(f'<a href="#{self.attval(place)}">')
                self.context.append("</a>")
                return
        self.body.append("<span>")
        self.context.append("</span>")

    def depart_inline(self, node: Any) -> None:
        self.body.append(self.context.pop())
