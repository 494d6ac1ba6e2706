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

from ..errors import CALLER, INTERRUPTED, CallerError, Internal, LibrarianError, SetupError
from ..text.sanitizing import visible

_FULL = (errno.ENOSPC, errno.EDQUOT)
_FORBIDDEN = (errno.EACCES, errno.EPERM, errno.EROFS)


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
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        return _unread()
    except Exception as error:
        return _failed(arguments, error)


def _failed(arguments: Sequence[str], error: Exception) -> int:
    """Tell of an error, with `--json` on stdout too, as REST gives it. Returns its exit code."""
    known, trace = _in_words(error), ""
    if known is None:
        known = Internal("This is a bug in Librarian.", hint="Please report it with the lines on stderr.")
        trace = traceback.format_exc()
    output_fails = isinstance(error, OSError) and error.filename is None
    if "--json" in arguments and not output_fails and known.message:
        from .output import write_json

        write_json({"error": {"code": known.code, "message": known.message, "hint": known.hint}})
    if known.message:  # else of a group without a command, whose help is printed already
        _say(f"{trace}{visible(str(known))}\n")
    return known.exit_code


def _in_words(error: Exception) -> LibrarianError | None:
    """The error as one of ours: of a wrong command line, a full disk, or what the system forbids. None for a bug."""
    if isinstance(error, LibrarianError):
        return error
    if isinstance(error, OSError) and error.errno in (*_FULL, *_FORBIDDEN):
        full = error.errno in _FULL
        hint = "Free some space there." if full else "See that you may read and write there."
        what = f"{error.filename or 'The output'} can't be {'written' if full else 'used'}"
        return SetupError(f"{what}: {error.strerror}.", hint=hint)
    if usage := getattr(error, "format_message", None):  # typer's, which isn't imported here
        command = getattr(getattr(error, "ctx", None), "command_path", "librarian")
        message = usage().strip()
        end = "" if message.endswith((".", "?", "!", ")")) or not message else "."
        return CallerError(message + end, hint=f"See {command} --help.")
    return None


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
        code = _failed((), error)
    if sys.argv[1:2] == ["serve"]:  # it ends at once, without waiting for threads
        import_module("librarian.daemon.serve").leave(code)
    sys.exit(code)


if __name__ == "__main__":
    main()
