"""Which folders no library looks into, whatever its rules say: what isn't scanned needn't be watched either."""

from __future__ import annotations

import os
from typing import Final

from .index_folder import is_index

_TOOL_FOLDERS: Final = frozenset({"node_modules", "__pycache__", "__MACOSX"})


def left_out_folder(path: str) -> str:
    """Why the folder at `path` is left out; empty where it isn't."""
    name = os.path.basename(path)
    if name.startswith("."):
        return "hidden folder"
    if name in _TOOL_FOLDERS:
        return f"{name} folder"
    if os.path.lexists(os.path.join(path, "pyvenv.cfg")):
        return "virtual environment"
    if is_index(path):
        return "a library's index"
    return ""
