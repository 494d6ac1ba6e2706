"""The terminal's door: the `librarian` command.

`main` turns errors into exit codes; the commands themselves are in `librarian.terminal`. A host's relay
(`librarian stdio`) takes a short cut here, so that it costs no more than the standard library.

Exit codes: 0 done · 1 nothing found · 2 the caller's mistake · 3 done with unreadable files · 70 a bug · 78 set-up.
"""

from __future__ import annotations

import json
import os
import sys
import traceback
from collections.abc import Sequence
from importlib import import_module

from librarian.vocabulary.errors import CallerError, LibrarianError, NotFound, SourceError

NOTHING_FOUND, CALLER, UNREADABLE, INTERRUPTED, BUG, SETUP = 1, 2, 3, 130, 70, 78


def exit_code(error: LibrarianError) -> int:
    """The exit code that tells a script whose turn it is."""
    if isinstance(error, NotFound):
        return NOTHING_FOUND
    if isinstance(error, CallerError):
        return CALLER
    return UNREADABLE if isinstance(error, SourceError) else SETUP


def run(arguments: Sequence[str]) -> int:
    """Does what the command line says and returns its exit code. Errors go to stderr; with `--json` to stdout too."""
    try:
        if arguments[:1] == ["stdio"] and not {"--help", "-h"} & set(arguments):
            from librarian.keeper.relay import main as relay

            return relay(list(arguments[1:]))
        from librarian.terminal.commands import app

        app(args=list(arguments), prog_name="librarian")
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else 0 if stop.code is None else CALLER
    except LibrarianError as error:
        if "--json" in arguments:
            body = {"error": {"code": error.code, "message": error.message, "hint": error.hint}}
            sys.stdout.write(json.dumps(body, ensure_ascii=False) + "\n")
        sys.stderr.write(f"{error}\n")
        return exit_code(error)
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # Whoever read our output has enough of it; what Python would still flush goes nowhere.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception:
        traceback.print_exc()
        sys.stderr.write("This is a bug in Librarian. Please report it with the lines above.\n")
        return BUG
    return 0


def main() -> None:
    """The entry point of the `librarian` command."""
    code = run(sys.argv[1:])
    if sys.argv[1:2] == ["serve"]:  # who stops a server waits for it
        import_module("librarian.ending").leave(code)
    sys.exit(code)


if __name__ == "__main__":
    main()
