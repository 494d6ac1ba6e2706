"""What a view of the page is about: its address as fields, and the fields as an address."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, Final
from urllib.parse import urlencode

LABELS: Final = {
    "product": "Product", "component": "Component", "file_types": "File type", "doc_type": "Kind of document",
    "tags": "Tag", "language": "Language", "after": "Changed since", "before": "Changed until", "sender": "From",
    "subject": "Subject contains", "attachments": "Attachments",
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
PER_PAGE: Final = 10
_LINES = re.compile(r"(\d{1,9})(?:-(\d{1,9}))?")


@dataclass(frozen=True, slots=True)
class State:
    """Question, filters and what is open."""

    q: str = ""
    type: str = "documents"
    mode: str = ""
    product: str = ""
    component: str = ""
    doc_type: str = ""
    language: str = ""
    after: str = ""
    before: str = ""
    sender: str = ""
    subject: str = ""
    attachments: str = ""
    page: str = ""
    doc: str = ""
    lines: str = ""
    section: str = ""
    thread: str = ""
    from_line: str = ""  #: where the part of a document begins that is shown
    file_types: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    path: str = field(default="", metadata={"hidden": True})  #: continues a list of documents behind this one

    @classmethod
    def of(cls, parameters: Iterable[tuple[str, str]]) -> State:
        """The state that an address names; what it doesn't know is left out."""
        given: dict[str, Any] = {"file_types": (), "tags": ()}
        for name, value in parameters:
            if name in ("file_types", "tags"):
                given[name] = (*given[name], *filter(None, value.split(",")))
            elif name in _NAMES and value:
                given[name] = value
        if given.get("type") != "emails":
            given["type"] = "documents"
        return cls(**given)

    def address(self, **changes: Any) -> str:
        """The address of this state with some fields changed, relative to the page's folder."""
        state = replace(self, **changes)
        pairs = [(name, value) for name, value in state.pairs() if (name, value) != ("type", "documents")]
        return f"./?{urlencode(pairs)}" if pairs else "./"

    def pairs(self) -> list[tuple[str, str]]:
        """The fields that are set, lists value by value."""
        found: list[tuple[str, str]] = []
        for name in _NAMES:
            value = getattr(self, name)
            found += [(name, one) for one in ((value,) if isinstance(value, str) else value) if one]
        return found

    def closed(self) -> State:
        """The same without what is open."""
        return replace(self, doc="", lines="", section="", thread="", from_line="")

    def filters(self) -> list[tuple[str, str]]:
        """Filters that are set and belong to what is searched, lists value by value."""
        return [(name, value) for name, value in self.pairs() if name in FILTERS[self.type]]

    def without(self, name: str, value: str) -> str:
        """The address without one value of a filter; a component goes with its product."""
        now = getattr(self, name)
        changes: dict[str, Any] = {name: "" if isinstance(now, str) else tuple(one for one in now if one != value)}
        if name == "product":
            changes["component"] = ""
        return self.closed().address(page="", **changes)

    def choices(self, name: str, values: Iterable[str]) -> list[str]:
        """For each value of a filter the address with it, besides those of a list that are chosen."""
        changes: dict[str, Any] = {"page": ""} | ({name: ""} if isinstance(getattr(self, name), str) else {})
        base = self.closed().address(**changes)
        joined = "&" if "?" in base else "?"
        return [f"{base}{joined}{urlencode({name: value})}" for value in values]

    def cleared(self) -> str:
        """The address without any filter."""
        names = FILTERS[self.type]
        return self.closed().address(page="", **{n: () if n in ("file_types", "tags") else "" for n in names})

    @property
    def searches(self) -> bool:
        """Whether there is something to search for, or mails to list."""
        return bool(self.q.strip()) or self.type == "emails"

    @property
    def number(self) -> int:
        """The page of results, from 1."""
        return int(self.page) if re.fullmatch(r"[1-9]\d{0,3}", self.page) else 1

    @property
    def passage(self) -> tuple[int, int] | None:
        """First and last line of what is opened."""
        found = _LINES.fullmatch(self.lines)
        return (int(found[1]), int(found[2] or found[1])) if found else None

    def request(self) -> dict[str, object]:
        """The arguments of the search."""
        arguments: dict[str, object] = {"query": self.q.strip()}
        for name, argument in FILTERS[self.type].items():
            if value := getattr(self, name):
                arguments[argument] = value == "yes" if name == "attachments" else value
        if len(arguments) == 1 and not arguments["query"]:
            arguments["date_after"] = "1970-01-01"  # the newest mails
        if self.mode:
            arguments["mode"] = self.mode
        arguments |= {"brief": True, "explain": True, "facets": True, "max_results": PER_PAGE}
        arguments["offset"] = (self.number - 1) * PER_PAGE
        return arguments | ({"include_weak": True} if self.type == "documents" else {})


_NAMES: Final = tuple(each.name for each in fields(State))
