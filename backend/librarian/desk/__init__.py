"""What `Librarian` uses to answer: queries, responses, reading, threads, freshness and status."""

from .parts import DeskOptions, Parts

__all__ = ["DeskOptions", "Parts"]
