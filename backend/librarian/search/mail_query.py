"""Operators as mail users type them: `from:ann subject:"release plan" after:2026-01-31 has:attachment budget`; and the
senders that a question names in its own words.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterable, Mapping
from typing import Any

from dateutil.relativedelta import relativedelta

from ..errors import CallerError, shortened
from ..text.characters import unaccented

_NAMES = "from|to|cc|subject|before|after|since|until|older|newer|has|thread"
#: As keyboards and programs have them, and as a shell leaves them: `"from:'ann lee' plan"`.
_OTHER_QUOTES = (
    r"(?:'(?P<single>[^']*)'|[“”„‟](?P<curly>[^“”„‟]*)[“”]|[‘‚](?P<half>[^‘’‚]*)[‘’]|[«»](?P<angled>[^«»]*)[«»])"
)
_OPERATOR = re.compile(
    rf"""(?<!\S)(?P<not>-|(?-i:NOT)\s+|)(?P<name>{_NAMES}):(?P<gap>\s*)"""
    rf"""(?:"(?P<quoted>[^"]*)"|{_OTHER_QUOTES}|\((?P<bracketed>[^()]*)\)|"""
    rf"""(?!-?(?:{_NAMES}):|(?<=\s)-)(?P<plain>[^\s"]+))[,;]*(?!\S)""",
    re.I,
)
#: Operators of mail programs that nothing here answers; as words they would find what nobody asked for.
_UNSUPPORTED = re.compile(
    r"(?<!\S)-?(?:(?:older_than|newer_than|filename|larger|smaller|deliveredto|bcc|rfc822msgid):[^\s:]\S*"
    r"|is:(?:unread|read|starred|important|flagged)|in:(?:inbox|sent|trash|spam|drafts|anywhere))(?!\S)",
    re.I,
)
_TAKEN = " \0 "  #: stands for an operator
_OR = re.compile(r"\0\s+OR(?!\S)|(?<!\S)OR\s+\0")
_AND = re.compile(r"(?<=\0) +AND(?= +\S)|(?<!\S)AND +(?=\0)")
_QUOTED = re.compile('"[^"]*"')
_ARGUMENTS = {
    "from": "sender",
    "to": "recipients",
    "cc": "recipients",
    "subject": "subject_contains",
    "thread": "thread_id",
    "before": "date_before",
    "older": "date_before",
    "until": "date_before",
    "after": "date_after",
    "newer": "date_after",
    "since": "date_after",
    "has": "has_attachments",
}
_DATE = re.compile(r"(\d{4})(?:[-/.](\d{1,2})(?:[-/.](\d{1,2}))?)?$")
_STOPS = ",;.?! "
_ATTACHMENTS = {"attachment", "attachments"}


def without_operators(query: str, given: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """(the words that are left, the arguments with what the operators say).

    `before:` a day ends before it begins, `after:` begins with it, as mail programs have it; `until:` includes it. All
    of several recipients must be meant. A blank may follow the colon, and brackets stand around the value.
    Raises `CallerError` where an operator and an argument, or two operators, say different things, for a `-` before
    another operator than `has:`, and for operators of mail programs that are none here.
    """
    found: dict[str, Any] = {}
    if ":" not in query:
        return query, dict(given)
    if unsupported := _UNSUPPORTED.search(_QUOTED.sub('""', query)):
        raise CallerError(
            f"'{unsupported[0]}' is no operator here.",
            hint="There are from:, to:, cc:, subject:, before:, after:, until: (with a date as 2026-03), has:attachment"
            " and thread:. In quotes it is searched as words.",
        )

    def take(match: re.Match[str]) -> str:
        name = match["name"].lower()
        quoted = next((match[name] for name in ("quoted", "single", "curly", "half", "angled") if match[name]), "")
        value: object = (quoted or (match["bracketed"] or match["plain"] or "").rstrip(_STOPS)).strip("<>()\"' ")
        argument = _ARGUMENTS[name]
        is_date, is_attachment = argument.startswith("date_"), argument == "has_attachments"
        if not value or (is_attachment and str(value).lower() not in _ATTACHMENTS):
            return match.group()
        if match["gap"] and (argument == "thread_id" or (is_date and not _DATE.match(str(value)))):
            return match.group()  # "since: the day": a sentence's colon
        if match["not"] and not is_attachment:
            raise CallerError(
                f"'{match.group()}' can't be asked: mails are left out by attachment alone.",
                hint="Drop it; -word leaves out passages that hold a word.",
            )
        if argument == "recipients":
            found[argument] = (*found.get(argument, ()), value)
            return _TAKEN
        value = not match["not"] if is_attachment else _moment(name, str(value)) if is_date else value
        other = found.get(argument, given.get(argument))
        if other is not None and other != value:
            raise CallerError(
                f"{match.group()} contradicts another operator or argument: {argument} is {shortened(other)}.",
                hint="Give one of them.",
            )
        found[argument] = value
        return _TAKEN

    rest = _OPERATOR.sub(take, query)
    if _OR.search(rest):
        raise CallerError("OR can't stand beside an operator: mails pass all filters.", hint="Ask once for each.")
    return " ".join(_AND.sub("", rest).replace("\0", " ").split()), {**given, **found}


def _moment(operator: str, value: str) -> str:
    """ISO 8601 of a day, month or year as the bound that the operator means; anything else is left to be checked."""
    match = _DATE.match(value)
    if match is None:
        return value
    year, month, day = (int(part) if part else None for part in match.groups())
    try:
        first = dt.datetime(year or 1, month or 1, day or 1, tzinfo=dt.UTC)
        if operator == "until":
            first += relativedelta(days=1) if day else relativedelta(months=1) if month else relativedelta(years=1)
        if _ARGUMENTS[operator] == "date_after":
            return first.isoformat()
        return (first - dt.timedelta(microseconds=1)).isoformat()
    except (ValueError, OverflowError):
        return value


_NAME_WORD = re.compile(r"[^\W\d_][\w'’.-]*")
_POSSESSIVE = re.compile(r"['’]s?$")
_split = re.compile(r"\w+").findall
#: What stands before the name of one who wrote, in the languages of most mails.
_BEFORE_NAME = frozenset(_split("from by von vom de du par por da di dal van door od przez от"))
#: What stands behind it, or in a question behind "did" and the name; `unaccented`.
_BEHIND_NAME = frozenset(
    _split(
        """
        say says said write writes wrote written ask asks asked answer answers answered reply replies replied
        suggest suggests suggested propose proposes proposed recommend recommends recommended explain explains explained
        mention mentions mentioned report reports reported announce announced think thinks thought send sends sent
        post posts posted sagt sagte gesagt schreibt schrieb geschrieben meint meinte fragt fragte antwortet antwortete
        dit ecrit demande repond propose dijo escribio pregunto respondio disse scrive scrisse escreveu
        zei schreef vroeg napisal napisala pisze mondta irta kerdezte написал написала сказал спросил
        """
    )
)
_SHORTEST_NAME = 3  #: letters of a name that counts alone


def named_senders(question: str, senders: Iterable[str]) -> frozenset[str]:
    """Those of these senders, `Name <address>` in `unaccented` form, whom a question names as ones who wrote.

    A whole name, or its first and last word, tells by itself. One word of it may be anything (Will, Page, Debian): it
    counts behind "from" and the like in capitals, before "said" and the like, and with a possessive s in capitals.
    """
    asked = _NAME_WORD.findall(question)
    words = ["", *[_POSSESSIVE.sub("", unaccented(word)).strip(".-") for word in asked], ""]
    alone = set()  # words that stand where the name of one who wrote does
    for place, word in enumerate(asked, 1):
        cued = word[0].isupper() and (_POSSESSIVE.search(word) or words[place - 1] in _BEFORE_NAME)
        if len(words[place]) >= _SHORTEST_NAME and (cued or words[place + 1] in _BEHIND_NAME):
            alone.add(words[place])
    question_words, found = f" {' '.join(words)} ", set()
    for sender in senders:
        # first name first; none where the header has an address alone
        last, _, first = sender.rpartition(" <")[0].partition(",")
        name = [word.strip(".-") for word in _NAME_WORD.findall(f"{first} {last}")]
        wholes = {" ".join(name), " ".join([*name[:1], *name[-1:]])} if len(name) > 1 else set()
        if any(f" {whole} " in question_words for whole in wholes) or not alone.isdisjoint([*name[:1], *name[-1:]]):
            found.add(sender)
    return frozenset(found)
