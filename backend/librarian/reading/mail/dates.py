"""When a mail was written, as programs really write it: RFC 5322's dates, ISO's, and what is nearly one of them."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from email.utils import mktime_tz, parsedate_tz

from ..metadata import iso_of_ns

_ISO = re.compile(r"\s*\d{4}-\d\d-\d\d[T ]\d\d:\d\d")
#: "+01:00", "GMT+0100", "UTC+2": the standard library knows `+0100` alone, and takes others for UTC.
_OFFSET = re.compile(r"(?<=\s)(?:(?:GMT|UTC)\s*([+-])(\d\d?)(?::?(\d\d))?|([+-])(\d\d):(\d\d))(?![\d:])", re.I)
_HALF_DAY = re.compile(r"\b(\d{1,2})(:\d\d(?::\d\d)?)\s*([AP])\.?M\b\.?", re.I)
#: Names of zones that mean one thing everywhere and that the standard library doesn't know.
_ZONES = {"WET": 0, "WEST": 1, "CET": 1, "MET": 1, "MEZ": 1, "CEST": 2, "MEST": 2, "MESZ": 2, "EET": 2, "EEST": 3,
          "MSK": 3, "MSD": 4, "JST": 9, "KST": 9, "AEST": 10, "AEDT": 11, "NZST": 12, "NZDT": 13}  # fmt: skip
_ZONE = re.compile(rf"(?<=[\d\s])(?:{'|'.join(_ZONES)})(?=\s|$)")


def moment_of(value: str) -> str | None:
    """ISO 8601 in UTC of what a header says; None where that is no date."""
    try:
        if _ISO.match(value):
            said = datetime.fromisoformat(value.strip())
            return _iso((said if said.tzinfo else said.replace(tzinfo=UTC)).timestamp())
        parsed = parsedate_tz(_HALF_DAY.sub(_whole_day, _ZONE.sub(_named, _OFFSET.sub(_offset, value))))
        if parsed is None:
            return None
        if 100 <= parsed[0] < 1000:  # a year counted from 1900 (RFC 5322, 4.3)
            parsed = (parsed[0] + 1900, *parsed[1:])
        return _iso(mktime_tz(parsed))
    except (ValueError, OverflowError, TypeError, IndexError):
        return None


def _iso(seconds: float) -> str:
    return iso_of_ns(int(seconds) * 1_000_000_000)


def _offset(found: re.Match[str]) -> str:
    sign, hours, minutes = found[1] or found[4], found[2] or found[5], found[3] or found[6] or "00"
    return f"{sign}{hours:>02}{minutes}"


def _named(found: re.Match[str]) -> str:
    return f"+{_ZONES[found[0]]:02}00"


def _whole_day(found: re.Match[str]) -> str:
    hour = int(found[1])
    if not 0 < hour <= 12:
        return f"{found[1]}{found[2]}"
    return f"{hour % 12 + (12 if found[3] in 'pP' else 0):02}{found[2]}"
