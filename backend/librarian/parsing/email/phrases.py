"""What mail programs write around quotes and signatures, in the languages that they speak. The words are in
`phrases.toml`.

Collected from the resource strings and answers of common programs (Gmail, Outlook, Apple Mail, Thunderbird, Yahoo,
K-9, mobile ones): English, German, French, Spanish, Italian, Dutch, Portuguese, Polish, Russian, Ukrainian, Czech,
Hungarian, Swedish, Norwegian, Danish, Finnish, Turkish, Vietnamese, Chinese, Japanese and Korean; their words above
quotes alone in Catalan, Galician, Basque, Bulgarian, Serbian, Croatian, Slovene, Greek, Estonian, Latvian, Lithuanian,
Hebrew, Arabic, Persian, Hindi, Thai and Indonesian.
"""

from __future__ import annotations

import tomllib
from importlib.resources import files
from typing import Any

_DATA: dict[str, Any] = tomllib.loads(files(__package__).joinpath("phrases.toml").read_text("utf-8"))

OPENINGS: tuple[str, ...] = tuple(_DATA["openings"])
WROTE: tuple[str, ...] = tuple(_DATA["wrote"])
WROTE_CJK: tuple[str, ...] = tuple(_DATA["wrote_cjk"])
ORIGINAL_MESSAGE: tuple[str, ...] = tuple(_DATA["original_message"])
FORWARDED_MESSAGE: tuple[str, ...] = tuple(_DATA["forwarded_message"])
SENT_FROM: tuple[str, ...] = tuple(_DATA["sent_from"])
CLOSINGS: tuple[str, ...] = tuple(_DATA["closings"])
POSTSCRIPTS: tuple[str, ...] = tuple(_DATA["postscripts"])
PARTICLES: frozenset[str] = frozenset(_DATA["particles"])
SNIPS: tuple[str, ...] = tuple(_DATA["snips"])
SECRET: tuple[str, ...] = tuple(_DATA["secret"])
FOR_WHOM: tuple[str, ...] = tuple(_DATA["for_whom"])
FORBIDDEN: tuple[str, ...] = tuple(_DATA["forbidden"])
BESIDES: tuple[str, ...] = tuple(_DATA["besides"])
DISCLAIMER_OPENINGS: tuple[str, ...] = tuple(_DATA["disclaimer_openings"])
DISCLAIMER_TITLES: tuple[str, ...] = tuple(_DATA["disclaimer_titles"])
HEADER_NAMES: dict[str, tuple[str, ...]] = {name: tuple(words) for name, words in _DATA["header_names"].items()}
