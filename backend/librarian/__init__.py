"""Librarian finds the right passage in a folder of documentation and email.

>>> from librarian import Librarian                                    # doctest: +SKIP
>>> with Librarian.open("config.json") as library:                     # doctest: +SKIP
...     answer = library.search("how do I rotate a token", mode="hybrid")
...     print(answer.results[0].file_path)
"""

from __future__ import annotations

TYPE_CHECKING = False  # typing's own takes longer to import than all that the stdio bridge needs
__version__ = "0.1.0"
__all__ = ["FileIndexer", "HybridSearchEngine", "Librarian", "Settings", "__version__"]

if TYPE_CHECKING:
    from typing import Any

    from .library import FileIndexer, Librarian
    from .search.engine import HybridSearchEngine
    from .settings import Settings


def __getattr__(name: str) -> Any:
    """Import the public classes when they are asked for: `import librarian` alone must stay instant."""
    if name in ("FileIndexer", "Librarian"):
        from . import library

        return getattr(library, name)
    if name == "HybridSearchEngine":
        from .search.engine import HybridSearchEngine

        return HybridSearchEngine
    if name == "Settings":
        from .settings import Settings

        return Settings
    raise AttributeError(f"module 'librarian' has no attribute {name!r}")
