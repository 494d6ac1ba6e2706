"""Librarian finds the right passage in a folder of documentation and email.

>>> from librarian import Librarian                                    # doctest: +SKIP
>>> with Librarian.open("config.json") as library:                     # doctest: +SKIP
...     answer = library.search("how do I rotate a token", mode="hybrid")
...     print(answer.results[0].file_path)
"""

from __future__ import annotations

TYPE_CHECKING = False  # typing's own takes longer to import than all that a relay needs
__version__ = "0.1.0"
__all__ = ["FileIndexer", "HybridSearchEngine", "Librarian", "__version__"]

if TYPE_CHECKING:
    from typing import Any

    from .bootstrap import Librarian
    from .indexing.indexer import FileIndexer
    from .search.engine import HybridSearchEngine


def __getattr__(name: str) -> Any:
    """Import the public classes when they are asked for: `import librarian` alone must stay instant for relays."""
    if name == "Librarian":
        from .bootstrap import Librarian

        return Librarian
    if name == "FileIndexer":
        from .indexing.indexer import FileIndexer

        return FileIndexer
    if name == "HybridSearchEngine":
        from .search.engine import HybridSearchEngine

        return HybridSearchEngine
    raise AttributeError(f"module 'librarian' has no attribute {name!r}")
