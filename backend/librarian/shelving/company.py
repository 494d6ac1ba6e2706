"""Who else writes to the stores of a library: nobody where one process owns it, other servers and workers elsewhere."""

from __future__ import annotations

import threading
from contextlib import AbstractContextManager
from typing import Protocol


class Company(Protocol):
    """How those who store vectors and those who delete or compare them keep out of each other's way.

    A vector is stored first and marked in the catalog afterwards. Whoever looked or deleted between the two would take
    a vector for one too many, or leave one behind whose passage has just gone.
    """

    shared: bool  #: whether there are others at all

    def storing(self) -> AbstractContextManager[object]:
        """While vectors are stored and marked; any number of processes at once."""
        ...

    def alone(self) -> AbstractContextManager[object]:
        """While nobody is storing, and nothing that a killed process had begun is still under way."""
        ...


class Nobody:
    """No company: the one process stores, or looks, but not both at once."""

    shared = False

    def __init__(self) -> None:
        self._lock = threading.RLock()

    def storing(self) -> AbstractContextManager[object]:
        """From a batch's way into the stores until it is marked."""
        return self._lock

    def alone(self) -> AbstractContextManager[object]:
        """While no batch is between the stores and its mark."""
        return self._lock
