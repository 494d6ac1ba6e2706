"""Which mails make a conversation: Jamie Zawinski's message threading (jwz.org/doc/threading.html), order-independent.

Links come from References and In-Reply-To; the subject joins only replies that carry neither. Messages that are named
but missing hold their place, so that a thread keeps its name when its first mail arrives late.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

_APART_S = 90 * 86_400  #: a reply joins a conversation by its subject where this is the longest silence between
_SHORTEST_TOPIC = 3


@dataclass(frozen=True, slots=True)
class Linked:
    """What threading looks at. `key` is any name that is unique among the mails; `parents` are the oldest first.

    `given` names a mail without a Message-ID: mails of one given name are taken as one conversation.
    """

    key: str
    message_id: str
    parents: tuple[str, ...]
    topic: str
    is_answer: bool
    date: str | None
    place: str = ""  #: the product: subjects join within it alone
    given: str = ""

    @property
    def is_orphan(self) -> bool:
        """A reply that doesn't say to what."""
        return self.is_answer and not self.parents and len(self.topic) >= _SHORTEST_TOPIC


def parents_of(message_id: str, references: Sequence[str], in_reply_to: Sequence[str]) -> tuple[str, ...]:
    """The chain of ancestors, oldest first: the references, and the message answered where they lack it."""
    chain = [one for one in references if one != message_id]
    answered = next((one for one in in_reply_to if one != message_id), None)
    if answered is not None and answered not in chain:
        chain.append(answered)
    return tuple(dict.fromkeys(chain))


def threads_of(mails: Iterable[Linked]) -> dict[str, str]:
    """key → thread id, 16 hex digits of SHA-256 over the root's Message-ID. The order of the mails doesn't matter."""
    ordered = sorted(mails, key=lambda mail: (mail.date or "", mail.message_id, mail.key))
    forest = _Forest()
    for mail in ordered:  # what a mail says of its own parent counts first …
        if mail.parents:
            forest.link(mail.parents[-1], _name(mail))
    for mail in ordered:  # … then what others say of their ancestors' parents
        for parent, child in zip(mail.parents, mail.parents[1:], strict=False):
            forest.link(parent, child)
    joined = _by_subject(ordered, forest)
    names: dict[str, str] = {}
    for mail in ordered:
        root = forest.root(_name(mail))
        while root in joined:
            root = joined[root]
        names[mail.key] = hashlib.sha256(root.encode("utf-8", "replace")).hexdigest()[:16]
    return names


def _name(mail: Linked) -> str:
    return mail.message_id or mail.given or mail.key


class _Forest:
    """Parents by message id."""

    def __init__(self) -> None:
        self._parent: dict[str, str] = {}

    def link(self, parent: str, child: str) -> None:
        """Make one message the other's parent, unless it has one or a circle would close."""
        if not self._parent.get(child) and self.root(parent) != child:
            self._parent[child] = parent

    def root(self, name: str) -> str:
        """The message at the top; paths are shortened only by walking, trees are shallow."""
        while above := self._parent.get(name, ""):
            name = above
        return name


def _by_subject(ordered: Sequence[Linked], forest: _Forest) -> dict[str, str]:
    """Root → the root of the conversation of the same topic that it continues."""
    if not any(mail.is_orphan for mail in ordered):
        return {}
    joined: dict[str, str] = {}
    latest: dict[tuple[str, str], dict[str, float]] = {}  # (place, topic) → root → when it was last heard of
    for mail in ordered:
        root = forest.root(_name(mail))
        now = _seconds(mail.date)
        latest_of = latest.setdefault((mail.place, mail.topic), {})
        if mail.is_orphan and root == _name(mail) and root not in joined:
            near = [(when, other) for other, when in latest_of.items() if other != root and now - when <= _APART_S]
            if near:
                joined[root] = max(near)[1]
        while root in joined:
            root = joined[root]
        latest_of[root] = now
    return joined


def _seconds(date: str | None) -> float:
    try:
        return datetime.fromisoformat(date).timestamp() if date else 0.0
    except ValueError:
        return 0.0
