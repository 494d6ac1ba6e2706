"""ISO 8601 dates as microseconds since 1970, the one notation in which shelves compare them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import lru_cache

NO_DATE = -(2**63)  #: of a document without a date, or with one that can't be read; outside every range
FIRST = NO_DATE + 1
LAST = 2**63 - 1

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_DATE_LENGTH = len("2026-01-31")


def micros(date: str, *, end_of_day: bool = False) -> int:
    """Microseconds since 1970 of an ISO 8601 date; UTC where it names no zone.

    With `end_of_day`, a date without a time is its last microsecond, so that an upper bound includes the whole day.
    Raises `ValueError` (or `OverflowError`, past the year 9999) where it isn't a date.

    >>> micros("1970-01-01T00:00:01Z")
    1000000
    >>> micros("1970-01-01", end_of_day=True)
    86399999999
    """
    moment = datetime.fromisoformat(date)
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    if end_of_day and len(date) <= _DATE_LENGTH:
        moment += timedelta(days=1) - _MICROSECOND
    return (moment - _EPOCH) // _MICROSECOND


@lru_cache(maxsize=256)
def micros_or_no_date(date: str) -> int:
    """Like `micros`, but `NO_DATE` where a document's date is empty or unreadable.

    Remembered, since the keyword index asks it for each passage of a document.
    """
    try:
        return micros(date)
    except (ValueError, OverflowError):
        return NO_DATE
