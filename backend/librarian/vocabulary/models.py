"""What must be known of a model before it is loaded."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

MANY = 5  #: a model of more languages is taken to know them all


@dataclass(frozen=True, slots=True)
class ModelSpec:
    """A row of the model table: what must be known to embed with a model."""

    name: str
    dimension: int
    max_tokens: int
    query_prefix: str = ""
    passage_prefix: str = ""
    pooling: Literal["mean", "cls", "last"] = "mean"
    languages: tuple[str, ...] = ("en",)
    provider: Literal["local", "openai", "bedrock"] = "local"
    window_tokens: int = 0  #: most that a window should hold, where less than `max_tokens` finds better; 0 = no less

    def knows(self, language: str) -> bool:
        """Whether it was trained on texts in a language (ISO 639-1)."""
        return language in self.languages or len(self.languages) > MANY

    @property
    def window_limit(self) -> int:
        """Tokens of a window at most, special tokens included."""
        return min(self.window_tokens or self.max_tokens, self.max_tokens)
