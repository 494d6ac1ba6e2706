"""An embedder whose meanings are written down: words of one concept share an axis, every other word has its own.

It knows that "undelete" and "trash" belong together and nothing else that a model knows; the same on every machine.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections import Counter
from collections.abc import Sequence

import numpy as np

from librarian.models import ModelSpec, Vector, Vectors, Window

#: Words by their beginning; those of one line mean about the same.
CONCEPTS: tuple[tuple[str, ...], ...] = (
    ("messag", "order", "event"),
    ("lane", "queue"),
    ("twice", "duplic", "again", "repeat", "idempot"),
    ("backup", "snapshot", "copy", "copies"),
    ("restor", "undelet", "recover", "undo", "back"),
    ("delet", "remov", "trash", "gone", "drop"),
    ("revok", "withdraw", "unshar"),
    ("encrypt", "tls", "certificat"),
    ("leader", "election", "cluster", "node"),
    ("lost", "fail", "crash", "disaster", "dies", "die"),
    ("site", "centre", "replicat", "follow"),
    ("upload", "transfer", "send", "sent"),
    ("resum", "continu", "interrupt", "stopped", "broken"),
    ("file", "document", "imag"),
    ("link", "shar", "public"),
    ("install", "set up", "setup"),
    ("slow", "latenc", "lag"),
    ("space", "quota", "disk"),
    ("metric", "alarm", "monitor"),
    ("upgrad", "version"),
)
_SPREAD = 108  #: axes for the words without a concept
_WORD = re.compile(r"[a-z0-9]+")
_SILENT = frozenset(
    re.findall(
        r"\w+",
        """a an and are as at be by do does for from had has have how i in is it its of on or so than that the them then
        there they this to was what when where which who why will with you""",
    )
)


class ConceptEmbedder:
    """Counts concepts and words, damped by the logarithm, as a unit vector."""

    spec = ModelSpec("concepts", len(CONCEPTS) + _SPREAD, 256)
    fingerprint = "concepts"
    backend = "test"
    device = "cpu"

    def windows(self, prefix: str, text: str) -> list[Window]:
        whole = f"{prefix}\n{text}"
        return [Window(whole, hashlib.sha256(whole.encode()).hexdigest()[:32], 0, len(text))]

    def embed_chunks(self, texts: Sequence[str]) -> Vectors:
        return np.stack([self.embed_query(text) for text in texts])

    def embed_query(self, text: str) -> Vector:
        counts: Counter[int] = Counter()
        for word in _WORD.findall(text.lower()):
            if word not in _SILENT:
                counts[_axis(word)] += 1
        row = np.zeros(self.spec.dimension, dtype=np.float64)
        for axis, count in counts.items():
            row[axis] = (2.0 if axis < len(CONCEPTS) else 1.0) * (1 + math.log(count))
        length = float(np.linalg.norm(row))
        row[0] += 0.0 if length else 1.0
        return np.asarray(row / (length or 1.0), dtype=np.float32)

    def close(self) -> None: ...


def _axis(word: str) -> int:
    for number, concept in enumerate(CONCEPTS):
        if any(word.startswith(beginning) for beginning in concept):
            return number
    digest = hashlib.sha256(word[:6].encode()).digest()
    return len(CONCEPTS) + int.from_bytes(digest[:4], "big") % _SPREAD
