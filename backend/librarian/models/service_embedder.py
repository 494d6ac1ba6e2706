"""What embedders have in common whose model stands at a service."""

from __future__ import annotations

from librarian.vocabulary.models import ModelSpec
from librarian.vocabulary.types import Window

from . import windowing


class ServiceEmbedder:
    """The part of an embedder that needs no service: nothing is computed here, and a text's tokens are estimated."""

    spec: ModelSpec

    @property
    def device(self) -> str:
        return "remote"

    def windows(self, prefix: str, text: str) -> list[Window]:
        """Windows sized by an estimate that never counts fewer tokens than there are."""
        return windowing.cut(prefix, text, windowing.estimated, self.spec.window_limit)


def first_line(said: object, otherwise: str) -> str:
    """A service's own words: one line of at most 200 letters, without its full stop; `otherwise` where it is silent."""
    lines = str(said).strip().splitlines()
    return lines[0][:200].rstrip(".") if lines else otherwise
