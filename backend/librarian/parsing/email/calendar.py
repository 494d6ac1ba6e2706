"""Invitations (`text/calendar`, RFC 5545) as lines that people read: what, when, where, who."""

from __future__ import annotations

import re

from .headers import decoded_by

_FOLD = re.compile(rb"\r?\n[ \t]")  #: every 75 bytes, in words and perhaps in letters
_LINE = re.compile(r'(?P<name>[A-Za-z-]+)(?P<parameters>(?:;[^=;:]+=(?:"[^"]*"|[^":;])*)*):(?P<value>.*)')
_ESCAPED = re.compile(r"\\([\\;,nN])")
_NAME = re.compile(r';CN=(?:"([^"]*)"|([^";:]*))', re.I)
_ZONE = re.compile(r";TZID=(?:\"([^\"]*)\"|([^\";:]*))", re.I)
_TIME = re.compile(r"(\d{4})(\d\d)(\d\d)(?:T(\d\d)(\d\d)\d\d(Z?))?")
_LABELS = {
    "SUMMARY": "", "DESCRIPTION": "", "COMMENT": "", "DTSTART": "Start", "DTEND": "End", "DUE": "Due",
    "LOCATION": "Location", "ORGANIZER": "Organizer", "ATTENDEE": "Attendee", "CONTACT": "Contact",
}  # fmt: skip
_ASIDE = ("VTIMEZONE", "VALARM")  #: in which nothing is said
_PEOPLE, _TIMES = ("ORGANIZER", "ATTENDEE"), ("DTSTART", "DTEND", "DUE")


def calendar_to_text(data: bytes, charset: str) -> str:
    r"""Empty where it is no calendar.

    >>> calendar_to_text(b"BEGIN:VCALENDAR\nSUMMARY:Pu\n mps\\, again\nDTSTART;TZID=Europe/Rome:20260310T100000", "")
    'Pumps, again\nStart: 2026-03-10 10:00 Europe/Rome'
    """
    source = decoded_by(_FOLD.sub(b"", data), charset)[0]
    if not source.lstrip().upper().startswith("BEGIN:VCALENDAR"):
        return ""
    lines: list[str] = []
    aside = ""
    for line in source.splitlines():
        found = _LINE.match(line)
        if found is None:
            continue
        name, value = found["name"].upper(), found["value"].strip()
        if name in ("BEGIN", "END"):
            inside = value.upper()
            aside = aside or (inside if name == "BEGIN" and inside in _ASIDE else "")
            aside = "" if name == "END" and inside == aside else aside
        elif name in _LABELS and not aside and (said := _said(name, found["parameters"], value)):
            lines.append(f"{_LABELS[name]}: {said}" if _LABELS[name] else said)
    return "\n".join(lines)


def _said(name: str, parameters: str, value: str) -> str:
    if name in _PEOPLE:
        known, address = _first(_NAME, parameters), re.sub(r"^mailto:", "", value, flags=re.I)
        return f"{known} <{address}>" if known and known != address else address
    if name in _TIMES and (found := _TIME.fullmatch(value)):
        year, month, day, hour, minute, utc = found.groups()
        zone = " UTC" if utc else f" {known}" if (known := _first(_ZONE, parameters)) else ""
        return f"{year}-{month}-{day}" + (f" {hour}:{minute}{zone}" if hour else "")
    return _ESCAPED.sub(lambda found: "\n" if found[1] in "nN" else found[1], value).strip()


def _first(pattern: re.Pattern[str], parameters: str) -> str:
    found = pattern.search(parameters)
    return (found[1] or found[2] or "").strip() if found else ""
