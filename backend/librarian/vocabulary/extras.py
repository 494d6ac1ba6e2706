"""Parts that not everyone needs, and the command that brings one into the environment that runs."""

from __future__ import annotations

import shlex
import sys


def install(extra: str) -> str:
    """With this environment's own Python: another `pip` would install elsewhere, and another package of that name."""
    return f"`{shlex.quote(sys.executable)} -m pip install 'librarian[{extra}]'`"
