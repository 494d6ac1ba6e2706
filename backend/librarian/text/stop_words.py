"""Words too common to tell one passage from another, per language (ISO 639-1), kept in `stop_words.json`.

Articles, pronouns, prepositions, conjunctions, auxiliary verbs, question words and the remains of contractions that a
split at the apostrophe leaves ("don", "isn", "qu"), or that are typed without one ("dont"). None can be a topic.
"""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files

from .scripts import fold_accents, normal

_WORDS: dict[str, str] = json.loads(files(__package__).joinpath("stop_words.json").read_text("utf-8"))

#: Languages that have a list, in the order that breaks ties when a text fits two.
LANGUAGES: tuple[str, ...] = tuple(_WORDS)


@cache
def raw_stop_words(language: str) -> frozenset[str]:
    """The list as written, lower case, with accents; empty for a language without one."""
    return frozenset(_WORDS.get(language, "").split())


@cache
def stop_words(language: str) -> frozenset[str]:
    """Stop words as the index writes words, with and without their accents: a hurried "fur" counts as "für"."""
    words = {normal(word) for word in raw_stop_words(language)}
    return frozenset(words | {fold_accents(word) for word in words})
