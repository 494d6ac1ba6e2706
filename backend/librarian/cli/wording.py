"""Messages of the library, which name tools and their arguments, in the words of the command line."""

from __future__ import annotations

import re

_COMMANDS = {
    "list_products": "librarian products",
    "list_components": "librarian products PRODUCT",
    "get_index_status": "librarian status",
    "search_documentation": "librarian search",
    "search_emails": "librarian search --emails",
    "get_document": "librarian show",
    "get_email_thread": "librarian thread",
    "analyze_query": "librarian analyze",
}
#: Options that aren't their argument with dashes.
_OPTIONS = {
    "date_after": "--after",
    "date_before": "--before",
    "file_types": "--file-type",
    "has_attachments": "--attachments",
    "include_parent_context": "--context",
    "include_weak": "--all",
    "line_end": "--lines",
    "line_start": "--lines",
    "modified_after": "--after",
    "modified_before": "--before",
    "query": "The question",
    "path": "PATH",
    "subject_contains": "--subject",
    "tags": "--tag",
    "thread_id": "--thread",
}
_REGULAR = "doc_type|hypothetical_answer|max_(?:chars|per_document|per_thread|results|tokens)|semantic_weight"
#: Arguments that are also everyday words: translated only where a message uses them as a name.
_WORDS = ("component", "language", "mode", "offset", "product", "section", "sender", "tags", "query", "path")
_QUOTED = r"(?<!\w)'[^']*'(?!\w)|“[^”]*”|`[^`]*`"
_NAMED = [name for name in _COMMANDS | _OPTIONS if name not in _WORDS]
_NAMES = re.compile(
    rf"{_QUOTED}|(?:(?<![\w.-])(?P<name>{'|'.join(_NAMED)}|{_REGULAR})\b"
    rf"|(?:^|(?<=Drop )|(?<=with )|(?<=at ))(?P<word>{'|'.join(_WORDS)})\b(?= is | '|[:=.]| \d))"
    r"(?P<value>=(?:true\b)?)?"
)


def in_own_words(text: str) -> str:
    """A message with commands and options in place of tools and arguments. What it quotes stays as it is.

    >>> in_own_words("max_results is 0; see list_products. Search with mode=hybrid.")
    '--max-results is 0; see `librarian products`. Search with --mode hybrid.'
    """
    return _NAMES.sub(_translated, text)


def _translated(match: re.Match[str]) -> str:
    name = match["name"] or match["word"]
    if name is None:
        return match[0]
    if name in _COMMANDS:
        return f"`{_COMMANDS[name]}`"
    return option_of(name) + " " * (match["value"] == "=")


def option_of(argument: str) -> str:
    """The option that gives an argument of an operation."""
    return _OPTIONS.get(argument, f"--{argument.replace('_', '-')}")
