"""Where a process stands: relative paths are meant from there."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from .errors import SetupError


def working_directory() -> Path:
    """The working directory. Raises `SetupError` where it was deleted since the shell went there."""
    try:
        return Path.cwd()
    except OSError as error:
        raise SetupError("The working directory is gone.", hint="Change into a folder that is there (cd).") from error


def leave_deleted() -> None:
    """Stand in the root folder where the working directory was deleted: a child can't be started there."""
    try:
        os.getcwd()
    except OSError:
        with suppress(OSError):
            os.chdir(os.sep)
