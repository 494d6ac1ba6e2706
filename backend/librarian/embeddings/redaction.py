"""What errors may tell of a service: its address and its own words, without keys and passwords."""

from __future__ import annotations

import re

_KEY = re.compile(r"\bsk-[\w*-]{4,}")
_USER = re.compile(r"//[^/@\s]*@")


def address(url: str) -> str:
    """A URL without the user and the password that some hold.

    >>> address("https://me:secret@models.example.org/v1")
    'https://models.example.org/v1'
    """
    return _USER.sub("//", url)


def words(said: object, *secrets: str) -> str:
    """What a service said, as one line of at most 200 letters: without these secrets, which some repeat, and without
    what looks like a key.

    >>> words("Wrong key:  s3cret!", "s3cret")
    'Wrong key: …!'
    """
    line = " ".join(str(said).split())
    for secret in filter(None, secrets):
        line = line.replace(secret, "…")
    return _KEY.sub("…", address(line))[:200]
