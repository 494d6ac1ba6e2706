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
_OPTIONS = {
    "date_after": "--after",
    "date_before": "--before",
    "doc_type": "--doc-type",
    "file_types": "--file-type",
    "has_attachments": "--attachments",
    "hypothetical_answer": "--hypothetical-answer",
    "include_parent_context": "--context",
    "include_weak": "--all",
    "line_end": "--lines",
    "line_start": "--lines",
    "max_chars": "--max-chars",
    "max_per_document": "--max-per-document",
    "max_per_thread": "--max-per-thread",
    "max_results": "--max-results",
    "max_tokens": "--max-tokens",
    "modified_after": "--after",
    "modified_before": "--before",
    "semantic_weight": "--semantic-weight",
    "subject_contains": "--subject",
    "thread_id": "--thread",
}
#: Arguments that are also everyday words: translated only where a message uses them as a name.
_WORDS = {name: f"--{name}" for name in ("component", "language", "mode", "offset", "product", "section", "sender")} | {
    "tags": "--tag",
    "query": "The question",
    "path": "PATH",
}
_QUOTED = r"(?<!\w)'[^']*'(?!\w)|“[^”]*”|`[^`]*`"
_NAMES = re.compile(
    rf"{_QUOTED}|(?:(?<![\w.-])(?P<name>{'|'.join(_COMMANDS | _OPTIONS)})\b"
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
    return (_OPTIONS | _WORDS)[name] + " " * (match["value"] == "=")
