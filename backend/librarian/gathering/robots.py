"""What a site's robots.txt allows (RFC 9309): the longest rule that matches decides, and `Allow` wins a tie."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import quote, urlsplit

LONGEST_DELAY_S = 30.0


@dataclass(frozen=True, slots=True)
class Pattern:
    """What stands between a rule's `*`, in order; `ends` where the address must end with the last of it.

    Not a regular expression: of thirty `*` one takes longer than anybody waits, and a site writes what it likes.
    """

    parts: tuple[str, ...]
    ends: bool

    def matches(self, target: str) -> bool:
        """Whether the address, without its host, is one of the rule's."""
        first, *others = self.parts
        if not target.startswith(first):
            return False
        at = len(first)
        last = others.pop() if self.ends and others else None
        for part in others:
            found = target.find(part, at)
            if found < 0:
                return False
            at = found + len(part)
        if last is not None:
            return target.endswith(last) and len(target) - len(last) >= at
        return not self.ends or at == len(target)


@dataclass(frozen=True, slots=True)
class Robots:
    """`rules` are (allowed, length of the pattern, pattern); `delay_s` is what the site asks for between requests."""

    rules: tuple[tuple[bool, int, Pattern], ...] = ()
    delay_s: float = 0.0
    sitemaps: tuple[str, ...] = ()

    def allows(self, url: str) -> bool:
        """Whether the address may be fetched."""
        parts = urlsplit(url)
        target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        matching = [(length, allowed) for allowed, length, pattern in self.rules if pattern.matches(target)]
        return max(matching)[1] if matching else True


EVERYTHING = Robots()


def parse_robots(text: str, agent: str) -> Robots:
    """The group of `agent`, else that of `*`.

    >>> parse_robots("User-agent: *\\nDisallow: /a\\nAllow: /a/b$", "x").allows("http://e.org/a/b")
    True
    """
    groups: dict[str, list[tuple[str, str]]] = {}
    sitemaps: list[str] = []
    current: list[str] = []
    in_rules = False
    for line in text.lstrip("\ufeff").splitlines():
        name, colon, value = line.partition("#")[0].partition(":")
        name, value = name.strip().lower(), value.strip()
        if not colon:
            continue
        if name == "sitemap":
            sitemaps.append(value)
        elif name == "user-agent":
            current = [value.lower()] if in_rules or not current else [*current, value.lower()]
            in_rules = False
            groups.setdefault(value.lower(), [])
        elif name in ("allow", "disallow", "crawl-delay"):
            in_rules = True
            for group in current:
                groups[group].append((name, value))
    named = [rules for name, rules in groups.items() if name.partition("/")[0].rstrip() == agent.lower()]
    mine = [rule for rules in named for rule in rules] if named else groups.get("*", [])
    delay = 0.0
    rules = []
    for name, value in mine:
        if name == "crawl-delay":
            delay = _seconds(value)
        elif value:
            rules.append((name == "allow", len(value), _pattern(value)))
    return Robots(tuple(rules), delay, tuple(sitemaps))


def _pattern(value: str) -> Pattern:
    value = quote(value, safe="/%:@!$&'()*+,;=~-._?#[]")  # addresses are compared as they are sent
    return Pattern(tuple(re.split(r"\*+", value.removesuffix("$"))), value.endswith("$"))


def _seconds(value: str) -> float:
    try:
        return min(max(float(value), 0.0), LONGEST_DELAY_S)
    except ValueError:
        return 0.0
