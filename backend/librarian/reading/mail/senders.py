"""Who wrote a mail that a list passes on under its own address, so that DMARC of the writer's host lets it through."""

from __future__ import annotations

import re
from collections.abc import Iterable

from .headers import Headers

_PERSON = re.compile(r"(?P<name>.*\S)\s*<(?P<address>[^<>]+)>")
#: "'Ann Lee' via Dev": Google Groups, Mailman's from_is_list, groups.io, B4.
_VIA = re.compile(r"['\"]?(?P<name>.*?\S)['\"]?\s+via\s+\S", re.I)
#: The writer's address inside the list's: of lists of the IETF, and of groups.io.
_INSIDE = re.compile(
    r"(?P<local>[^\s=@]+)=40(?P<host>[\w.-]+)@dmarc\.ietf\.org|(?P<user>[^\s=@]+)=(?P<site>[\w.-]+\.\w+)@groups\.io",
    re.I,
)


def writer_of(headers: Headers) -> str:
    """`Name <address>` of who wrote it; as From has it where no list stands before them, or nothing tells them."""
    shown = next(iter(headers.addresses("from") or headers.addresses("sender")), "")
    person = _PERSON.fullmatch(shown)
    address = person["address"] if person else shown
    via = _VIA.match(person["name"]) if person else None
    if inside := _INSIDE.fullmatch(address):
        own = f"{inside['local'] or inside['user']}@{inside['host'] or inside['site']}"
        name = via["name"] if via else person["name"] if person else ""
        return f"{name} <{own}>" if name else own
    if via is None:
        return shown
    told = [one for name in ("x-original-from", "x-original-sender") for one in headers.addresses(name)]
    if not told and _is_list(headers, address):
        others = [one for one in headers.addresses("reply-to") if _address(one) != address.casefold()]
        named = [one for one in (*others, *headers.addresses("cc")) if _is_named(one, via["name"])]
        told = named or (others if len(others) == 1 else [])
    if not told or _address(told[0]) == address.casefold():
        return shown
    return told[0] if _PERSON.fullmatch(told[0]) else f"{via['name']} <{told[0]}>"


def _is_list(headers: Headers, address: str) -> bool:
    written_to = _addresses((*headers.addresses("to"), *headers.addresses("cc")))
    return bool(headers.raw("list-id") or headers.raw("list-post")) or address.casefold() in written_to


def _is_named(person: str, name: str) -> bool:
    """Whether it is somebody of this name; where a mail has none, lists take what stands before the `@`."""
    found = _PERSON.fullmatch(person)
    own = found["name"] if found else person.partition("@")[0]
    return "@" in person and own.casefold() == name.casefold()


def _addresses(people: Iterable[str]) -> set[str]:
    return {_address(one) for one in people}


def _address(person: str) -> str:
    found = _PERSON.fullmatch(person)
    return (found["address"] if found else person).casefold()
