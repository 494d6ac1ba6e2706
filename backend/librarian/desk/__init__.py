"""The verbs: search, read, list, thread, refresh, status. Doors know this room and nothing behind it."""

from .librarian import Librarian
from .parts import DeskOptions, Parts

__all__ = ["DeskOptions", "Librarian", "Parts"]
