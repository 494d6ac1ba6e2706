"""The `librarian` command: turns errors into exit codes (`errors`), and starts a host's bridge without the rest."""

from __future__ import annotations

import codecs
import contextlib
import errno
import io
import os
import sys
import traceback
from collections.abc import Sequence
from importlib import import_module
from typing import TextIO

from ..errors import (
    BUG,
    CALLER,
    INTERRUPTED,
    NOTHING_FOUND,
    SETUP,
    UNREADABLE,
    CallerError,
    LibrarianError,
    NotFound,
    SetupError,
    SourceError,
)
from ..text.sanitizing import visible

_FULL = (errno.ENOSPC, errno.EDQUOT)
_FORBIDDEN = (errno.EACCES, errno.EPERM, errno.EROFS)


def exit_code(error: LibrarianError) -> int:
    """The exit code of an error, by which a script knows who can mend it."""
    if isinstance(error, NotFound):
        return NOTHING_FOUND
    if isinstance(error, CallerError):
        return CALLER
    if error.code == "internal":  # the daemon's; its traceback is in the daemon's log
        return BUG
    return UNREADABLE if isinstance(error, SourceError) else SETUP


def run(arguments: Sequence[str]) -> int:
    """Do what the command line says and return its exit code. Errors go to stderr; with `--json` to stdout too."""
    try:
        if arguments[:1] == ["stdio"] and not {"--help", "-h"} & set(arguments):
            from ..daemon.stdio_bridge import main as bridge

            return bridge(list(arguments[1:]))
        from .search import app

        code = app(args=list(arguments), prog_name="librarian", standalone_mode=False)
        return code if isinstance(code, int) else 0
    except SystemExit as stop:
        if isinstance(stop.__context__, BrokenPipeError):  # typer makes it 1, which means that nothing was found
            return _unread()
        return stop.code if isinstance(stop.code, int) else 0 if stop.code is None else CALLER
    except LibrarianError as error:
        return _failed(arguments, error.code, error.message, error.hint, exit_code(error))
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        return _unread()
    except Exception as error:
        if isinstance(error, OSError) and error.errno in (*_FULL, *_FORBIDDEN):
            return _refused(arguments, error)
        if usage := getattr(error, "format_message", None):  # typer's, which isn't imported here
            command = getattr(getattr(error, "ctx", None), "command_path", "librarian")
            if not (message := usage().strip()):  # a group without a command, whose help is printed already
                return CALLER
            end = "" if message[-1] in ".?!)" else "."
            return _failed(arguments, CallerError.code, message + end, f"See {command} --help.", CALLER)
        _tell(arguments, "internal", "This is a bug in Librarian.", "Please report it with the lines on stderr.")
        _say(f"{traceback.format_exc()}This is a bug in Librarian. Please report it with the lines above.\n")
        return BUG


def _failed(arguments: Sequence[str], code: str, message: str, hint: str, exit_code: int) -> int:
    _tell(arguments, code, message, hint)
    _say(f"{visible(f'{message} {hint}'.strip())}\n")
    return exit_code


def _tell(arguments: Sequence[str], code: str, message: str, hint: str) -> None:
    """With `--json`, print the error on stdout as REST gives it."""
    if "--json" in arguments:
        from .output import write_json

        write_json({"error": {"code": code, "message": message, "hint": hint}})


def _refused(arguments: Sequence[str], error: OSError) -> int:
    full = error.errno in _FULL
    hint = "Free some space there." if full else "See that you may read and write there."
    message = f"{error.filename or 'The output'} can't be {'written' if full else 'used'}: {error.strerror}."
    # without a file's name it is the output itself that fails
    return _failed(arguments if error.filename is not None else (), SetupError.code, message, hint, SETUP)


def _say(text: str) -> None:
    """Write to stderr; if it is closed, the exit code still says what is wrong."""
    try:
        sys.stderr.write(text)
        sys.stderr.flush()
    except OSError:
        _unread(sys.stderr)


def _unread(stream: TextIO | None = None) -> int:
    """Discard what is left to flush: the reader of `stream` (stdout) has closed it. Returns the exit code 0."""
    with contextlib.suppress(OSError, ValueError):  # no real file
        os.dup2(os.open(os.devnull, os.O_WRONLY), (stream or sys.stdout).fileno())
    return 0


def _can_write() -> None:
    """Replace closed streams, and characters that the encoding of a stream doesn't have."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115 (until the end)
        elif isinstance(stream, io.TextIOWrapper) and (
            stream.errors == "strict" or codecs.lookup(stream.encoding).name != "utf-8"
        ):
            stream.reconfigure(errors="replace")  # what the C locale has, surrogateescape, fails at letters, too


def main() -> None:
    """The entry point of the `librarian` command."""
    _can_write()
    code = run(sys.argv[1:])
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        _unread()
    except OSError as error:
        _unread()
        code = _refused((), error)
    if sys.argv[1:2] == ["serve"]:  # it ends at once, without waiting for threads
        import_module("librarian.daemon.serve").leave(code)
    sys.exit(code)


if __name__ == "__main__":
    main()
