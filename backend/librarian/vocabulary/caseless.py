"""Names in one form, so that equals are equal however they are typed."""

from __future__ import annotations

import unicodedata


def caseless(name: str) -> str:
    """A name in one case and one form of its accents, so that equals are equal (canonical caseless matching).

    >>> caseless("Zoe\u0308 GÄRTNER") == caseless("zoë gärtner")
    True
    """
    if name.isascii():
        return name.lower()
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())


#: Canonical combining class from which a mark is an accent above or below its letter; less have those that make another
#: sign (Japanese voiced sounds, vowels of Arabic and Hebrew).
_ACCENTS = 200


def unaccented(name: str) -> str:
    """A name in its `caseless` form without accents: who looks for Jörg may have no key for it.

    >>> unaccented("Jörg ČERNÝ"), unaccented("ガス") == unaccented("カス")
    ('jorg cerny', False)
    """
    if name.isascii():
        return name.lower()
    letters = unicodedata.normalize("NFD", caseless(name))
    return unicodedata.normalize("NFC", "".join(c for c in letters if unicodedata.combining(c) < _ACCENTS))
