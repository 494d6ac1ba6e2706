"""Code in pages: its lines as they stand there, and its language as a highlighter was told it."""

from __future__ import annotations

import re

from lxml import html

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
