"""reStructuredText to HTML by docutils, with what Sphinx adds. The result is not safe: clean it."""

from __future__ import annotations

import re
import threading
from collections import defaultdict
from typing import Any, ClassVar

from docutils import nodes
from docutils.core import publish_parts
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
    "doctitle_xform": False,
    "docinfo_xform": False,
    "initial_header_level": 1,
    "embed_stylesheet": False,
    "math_output": "LaTeX",
    "_disable_config": True,
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
_TITLE_AND_TARGET = re.compile(r"(.*?)\s*<([^<>]+)>$", re.DOTALL)
_MOST_NAMES = 2000  #: of directives and roles that are made known; more stay unknown

_lock = threading.Lock()  #: docutils keeps directives and roles in one place for all documents


def restructured(text: str) -> str:
    """HTML of reStructuredText; blocks say in `data-line` which line of `text` they begin at, counted from 1.

    Directives and roles of Sphinx that say more than their words are shown as such, unknown ones with their content.
    """
    writer = Writer()
    writer.translator_class = _Translator
    with _lock:
        _make_known(text)
        body: str = publish_parts(text, writer=writer, settings_overrides=_SETTINGS)["body"]
    return body


def _make_known(text: str) -> None:
    """Register what this text names and docutils doesn't know, so that its content is shown."""
    for name in {match.lower() for match in _DIRECTIVE.findall(text)}:
        if (name in _CODE | _UNSEEN or name not in en.directives) and len(directives._directives) < _MOST_NAMES:
            directives.register_directive(name, _Shown)
    for name in {(first or second).lower() for first, second in _ROLE.findall(text)}:
        if (name == "raw" or name not in en.roles) and len(roles._roles) < _MOST_NAMES:
            roles.register_local_role(name, _role)


class _Shown(Directive):  # type: ignore[misc]
    """A directive that isn't docutils' own: its arguments as titles, its content below."""

    has_content = True
    optional_arguments = 1
    final_argument_whitespace = True
    option_spec: ClassVar[Any] = defaultdict(lambda: directives.unchanged, name=directives.unchanged)

    def run(self) -> list[nodes.Node]:
        text, content = " ".join(self.arguments).strip(), "\n".join(self.content)
        shown: nodes.Element = nodes.container()
        if self.name in _UNSEEN:
            return []
        if self.name in _CODE:
            caption = " · ".join(filter(None, (self.options.get("caption"), text)))
            code = content or f"(Included file not found: {caption})"
            shown = nodes.literal_block(code, code, caption=caption)
        elif self.name == "toctree":
            entries = [_parted(line.strip()) for line in self.content if line.strip() and "*" not in line]
            links = [nodes.reference("", title, refuri=_page(target)) for title, target in entries if target != "self"]
            shown += self._title(self.options.get("caption", ""))
            shown += nodes.bullet_list("", *(nodes.list_item("", nodes.paragraph("", "", link)) for link in links))
        else:
            if self.name in _NOTES:
                shown["classes"] = ["admonition"]
                shown += self._title(_NOTES[self.name] + text or named(self.name.replace("-", " ")))
            else:  # a description of a function, or anything unknown
                shown["classes"] = ["object"]
                lines = filter(None, map(str.strip, (text or self.name).split("\n")))
                shown += [nodes.paragraph("", "", nodes.literal("", line)) for line in lines]
            self.state.nested_parse(self.content, self.content_offset, shown)
        shown.source, shown.line = self.state_machine.get_source_and_line(self.lineno)
        return [shown]

    def _title(self, text: str) -> nodes.Node:
        return nodes.paragraph("", "", *self.state.inline_text(text, self.lineno)[0], classes=["admonition-title"])


def _parted(text: str) -> tuple[str, str]:
    """Title and target of `title <target>`, or of a target alone."""
    match = _TITLE_AND_TARGET.match(text)
    return (match[1], match[2]) if match else (text, text)


def _page(target: str) -> str:
    return target if re.search(r"\.\w{1,5}$|://", target) else f"{target}.rst"


def _role(
    name: str, rawtext: str, text: str, lineno: int, inliner: Any, options: object = None, content: object = None
) -> tuple[list[nodes.Node], list[nodes.Node]]:
    """A role of Sphinx: pages and places as links, all others as code without what only programs need."""
    title, target = _parted(nodes.unescape(text))
    if name in _PAGES:
        return [nodes.reference(rawtext, title, refuri=_page(target))], []
    if name in _PLACES:
        return [nodes.inline(rawtext, title, target=target)], []
    if title == target:
        title = target.lstrip("!~").rpartition(".")[2] if text.startswith("~") else target.lstrip("!")
    return [nodes.literal(rawtext, title)], []


class _Translator(HTMLTranslator):  # type: ignore[misc]
    """docutils' HTML5 with the line of each block, captions of code, and references to places as links."""

    def starttag(self, node: Any, tagname: str, suffix: str = "\n", empty: bool = False, **attributes: Any) -> str:
        if getattr(node, "line", None) and not isinstance(node, nodes.Inline | nodes.section):
            attributes["data-line"] = node.line
        if isinstance(node, nodes.literal_block) and node.get("caption"):
            attributes["title"] = node["caption"]
        made: str = super().starttag(node, tagname, suffix, empty, **attributes)
        return made

    def visit_literal(self, node: Any) -> None:
        self.body.append(f"<code>{self.encode(node.astext())}</code>")
        raise nodes.SkipNode

    def visit_inline(self, node: Any) -> None:
        place = self.document.nameids.get(nodes.fully_normalize_name(node.get("target", "")))
        self.body.append(f'<a href="#{self.attval(place)}">' if place else "<a>")

    def depart_inline(self, node: Any) -> None:
        self.body.append("</a>")

    def visit_system_message(self, node: Any) -> None:
        """What can't be read stands as it is written, without what docutils says of it."""
        self.body += [f"<pre>{self.encode(one.astext())}</pre>" for one in node.findall(nodes.literal_block)]
        raise nodes.SkipNode
