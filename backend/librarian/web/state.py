"""What a view of the page is about: the parameters of its address."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final
from urllib.parse import urlencode

LABELS: Final = {
    "product": "Product", "component": "Component", "doc_type": "Kind of document", "language": "Language",
    "after": "Changed since", "before": "Changed until", "sender": "From", "subject": "Subject contains",
    "attachments": "Attachments", "file_types": "File type", "tags": "Tag",
}  # fmt: skip
#: Filters by what is searched, with the names of the request's fields.
FILTERS: Final[Mapping[str, Mapping[str, str]]] = {
    "documents": {
        "product": "product", "component": "component", "file_types": "file_types", "doc_type": "doc_type",
        "tags": "tags", "language": "language", "after": "modified_after", "before": "modified_before",
    },
    "emails": {
        "product": "product", "component": "component", "sender": "sender", "subject": "subject_contains",
        "attachments": "has_attachments", "after": "date_after", "before": "date_before",
    },
}  # fmt: skip
LISTS: Final = frozenset({"file_types", "tags"})  #: parameters that hold several values
#: What is open, and the part of it that is shown.
OPENED: Final = ("doc", "lines", "section", "thread", "from_line")
_NAMES: Final = ("q", "type", "mode", *LABELS, "page", *OPENED, "path")  #: `path` continues a list of documents
PER_PAGE: Final = 10
_LINES = re.compile(r"(\d{1,9})(?:-(\d{1,9}))?")


class State(dict[str, Any]):
    """Question, filters and what is open, by the names of the parameters; what isn't set is empty."""

    def __missing__(self, name: str) -> Any:
        return () if name in LISTS else ""

    @classmethod
    def of(cls, parameters: Iterable[tuple[str, str]]) -> State:
        """The state that an address names; what it doesn't know is left out."""
        state = cls()
        for name, value in parameters:
            if name in LISTS:
                state[name] = (*state[name], *filter(None, value.split(",")))
            elif name in _NAMES and value:
                state[name] = value
        return state | {"type": "emails" if state["type"] == "emails" else "documents"}

    def __or__(self, changes: Mapping[str, Any]) -> State:  # type: ignore[override]
        return State({**self, **changes})

    def address(self, **changes: Any) -> str:
        """The address of this state with some parameters changed, relative to the page's folder."""
        state = self | changes
        given = {name: state[name] for name in _NAMES if state[name] and (name, state[name]) != ("type", "documents")}
        return f"./?{urlencode(given, doseq=True)}" if given else "./"

    def only(self, *names: str, **changes: Any) -> str:
        """The address with some of these parameters alone, and with changes."""
        return (State({name: self[name] for name in names}) | changes).address()

    def closed(self) -> State:
        """The same without what is open."""
        return State({name: value for name, value in self.items() if name not in OPENED})

    def filters(self) -> list[tuple[str, str]]:
        """Filters that are set and belong to what is searched, lists value by value."""
        found = [(name, self[name]) for name in FILTERS[self["type"]]]
        return [(name, one) for name, value in found for one in (value if name in LISTS else (value,)) if one]

    def toggled(self, name: str, value: str) -> str:
        """The address with a value of a filter, or without it where it is set; a component goes with its product."""
        now = self[name]
        if name in LISTS:
            changed: Any = tuple(one for one in now if one != value) if value in now else (*now, value)
        else:
            changed = "" if value == now else value
        component = "" if name == "product" else self["component"]
        return self.closed().address(**{"page": "", "component": component, name: changed})

    @property
    def searches(self) -> bool:
        """Whether there is something to search for, or mails to list."""
        return bool(self["q"].strip()) or self["type"] == "emails"

    @property
    def number(self) -> int:
        """The page of results, from 1."""
        return int(self["page"]) if re.fullmatch(r"[1-9]\d{0,3}", self["page"]) else 1

    @property
    def passage(self) -> tuple[int, int] | None:
        """First and last line of what is opened."""
        found = _LINES.fullmatch(self["lines"])
        return (int(found[1]), int(found[2] or found[1])) if found else None

    def request(self) -> dict[str, object]:
        """The arguments of the search."""
        arguments: dict[str, object] = {"query": self["q"].strip()}
        for name, argument in FILTERS[self["type"]].items():
            if value := self[name]:
                arguments[argument] = value == "yes" if name == "attachments" else value
        if len(arguments) == 1 and not arguments["query"]:
            arguments["date_after"] = "1970-01-01"  # the newest mails
        arguments |= {"brief": True, "explain": True, "facets": True, "max_results": PER_PAGE}
        arguments |= {"mode": self["mode"] or None, "offset": (self.number - 1) * PER_PAGE}
        return arguments | ({"include_weak": True} if self["type"] == "documents" else {})
