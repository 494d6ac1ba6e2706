"""Includes: the files that a page shows parts of, put into its text as the site's generator would.

`expanded` is the entry. One module per family of formats finds the directives; `files` finds and reads what they name,
inside the library's folder and those of `docs.include_roots` alone; `parts` picks lines, markers and tags.
"""

from __future__ import annotations

from .expansion import Expansion, expanded
from .files import IncludeRoots

__all__ = ["Expansion", "IncludeRoots", "expanded"]
