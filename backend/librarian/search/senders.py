"""Whose mails a question asks for: senders that it names, as people name them."""

from __future__ import annotations

import re
from collections.abc import Iterable

from ..text.characters import unaccented

_WORD = re.compile(r"[^\W\d_][\w'’.-]*")
_POSSESSIVE = re.compile(r"['’]s?$")
_words = re.compile(r"\w+").findall
#: What stands before the name of one who wrote, in the languages of most mails.
_BEFORE = frozenset(_words("from by von vom de du par por da di dal van door od przez от"))
#: What stands behind it, or in a question behind "did" and the name; `unaccented`.
_BEHIND = frozenset(
    _words(
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
_SHORTEST = 3  #: letters of a name that counts alone


def named(question: str, senders: Iterable[str]) -> frozenset[str]:
    """Those of these senders, `Name <address>` in `unaccented` form, whom a question names as ones who wrote.

    A whole name, or its first and last word, tells by itself. One word of it may be anything (Will, Page, Debian): it
    counts behind "from" and the like in capitals, before "said" and the like, and with a possessive s in capitals.

    >>> senders = ("ann lee <ann@x.org>", "will page <will@y.org>")
    >>> sorted(named("ann lee pump order", senders)), sorted(named("will the page load", senders))
    (['ann lee <ann@x.org>'], [])
    >>> [sorted(named(text, senders)) for text in ("what did ann say of it", "Ann's plan", "mail from Will")]
    [['ann lee <ann@x.org>'], ['ann lee <ann@x.org>'], ['will page <will@y.org>']]
    """
    everybody = frozenset(senders)
    if not everybody:
        return everybody
    asked = _WORD.findall(question)
    words = [_POSSESSIVE.sub("", unaccented(word)).strip(".-") for word in asked]
    said = f" {' '.join(words)} "
    alone = {
        word
        for place, word in enumerate(words)
        if len(word) >= _SHORTEST and _is_cued(asked[place], words[place - 1 : place], words[place + 1 : place + 2])
    }
    return frozenset(sender for sender in everybody if _is_named(_name_of(sender), said, alone))


def _is_cued(word: str, before: list[str], behind: list[str]) -> bool:
    """Whether a word stands where the name of one who wrote does."""
    if behind and behind[0] in _BEHIND:
        return True
    return word[0].isupper() and (_POSSESSIVE.search(word) is not None or bool(before and before[0] in _BEFORE))


def _name_of(sender: str) -> list[str]:
    """The words of a sender's name, first name first; none where the header has an address alone."""
    name, _, _ = sender.rpartition(" <")
    last, comma, first = name.partition(",")
    return [word.strip(".-") for word in _WORD.findall(f"{first} {last}" if comma else name)]


def _is_named(name: list[str], said: str, alone: set[str]) -> bool:
    if not name:
        return False
    whole = len(name) > 1 and any(f" {one} " in said for one in (" ".join(name), f"{name[0]} {name[-1]}"))
    return whole or name[0] in alone or name[-1] in alone
