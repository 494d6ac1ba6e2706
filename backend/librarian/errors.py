"""The errors that every package may raise, drawn as a tree.

::

    LibrarianError
    ├── CallerError            a smarter caller could have avoided it     MCP tool error · REST 4xx · exit 2
    │   ├── NotFound           no such document, product, section, thread REST 404 · exit 1
    │   └── Busy               too many searches at once; try again       REST 503
    ├── SourceError            one file can't be read; listed, never fatal
    ├── SetupError             configuration, missing model, index in use exit 78
    └── Unavailable            a part (model, store, LLM) doesn't work now; the answer says `degraded`

Each message names the culprit and ends with the next step. Anything else that is raised is a bug, exit 70.
"""

from __future__ import annotations

import reprlib
import shlex
import sys
from collections.abc import Iterable, Sequence

#: Exit codes by which a script knows whose turn it is; 0 is done, 130 is what shells make of Ctrl-C.
NOTHING_FOUND, CALLER, UNREADABLE, BUG, SETUP, INTERRUPTED = 1, 2, 3, 70, 78, 130

LONGEST_MESSAGE = 1000  #: characters: it quotes what was asked, and comes back into a model's window


def abridged(text: str, most: int = LONGEST_MESSAGE) -> str:
    """A text of at most `most` characters: of a longer one the middle is left out, for what matters ends it, too.

    >>> abridged("No document 'aaaaaaaaaaaaaaaaaaaa'.", 20)
    "No documen…aaaaaaa'."
    """
    if len(text) <= most:
        return text
    begins = most // 2
    return f"{text[:begins]}…{text[len(text) - (most - begins - 1) :]}"


class LibrarianError(Exception):
    """Base of all errors that Librarian raises on purpose."""

    code = "error"
    exit_code = SETUP  #: by which a script knows who can mend it
    http_status = 503  #: whose fault it is

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message} {self.hint}".strip()

    def __reduce__(self) -> tuple[object, ...]:
        fields = {name: value for name, value in vars(self).items() if name in ("message", "hint", "reason")}
        return (_rebuild, (type(self), fields))


def _rebuild(kind: type[LibrarianError], fields: dict[str, str]) -> LibrarianError:
    return kind(**fields)


class CallerError(LibrarianError):
    """The caller asked for something that can't be; the message says what would be right."""

    code = "bad_request"
    exit_code = CALLER
    http_status = 400

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(abridged(message), hint=hint)


class NotFound(CallerError):
    """What was asked for by name isn't there; the hint names the nearest."""

    code = "not_found"
    exit_code = NOTHING_FOUND
    http_status = 404


class Busy(CallerError):
    """More work is queued than can be answered in time."""

    code = "busy"
    http_status = 503


class SourceError(LibrarianError):
    """A file can't be read or isn't what it says; `reason` is a short stable word for statistics."""

    code = "unreadable"
    exit_code = UNREADABLE

    def __init__(self, message: str, *, hint: str = "", reason: str = "unreadable") -> None:
        super().__init__(message, hint=hint)
        self.reason = reason


class SetupError(LibrarianError):
    """Librarian can't start like this; the hint says what to change."""

    code = "setup"


class Damaged(SetupError):
    """A stored file can't be read; a derived one may be deleted and is then rebuilt."""

    code = "damaged"


class Internal(LibrarianError):
    """A bug that the daemon has met; its log has the traceback."""

    code = "internal"
    exit_code = BUG


class Unavailable(LibrarianError):
    """A part that was configured doesn't work at the moment."""

    code = "unavailable"


# -- sentences of error messages

NAMES_SHOWN = 8  #: names that an error lists where none resembles what was asked for
_REPR = reprlib.Repr()
_REPR.fillvalue = "…"
_REPR.maxlevel = 4
_REPR.maxlist = _REPR.maxtuple = _REPR.maxset = _REPR.maxdict = 40
_REPR.maxlong = _REPR.maxother = 78


def shortened(value: object) -> str:
    """A value as it may stand in an error message: at most 80 characters, however large or deep it is."""
    text = repr(value[:100]) if isinstance(value, str) else _REPR.repr(value)
    return text if len(text) <= 80 else text[:79] + "…"


def nearest(word: str, names: Iterable[str], count: int = 3) -> list[str]:
    """The names most like `word`, best first (difflib ratio ≥ 0.5, any case)."""
    import difflib  # not at the top: the stdio bridge needs none

    by_lower = {name.lower(): name for name in names}
    return [by_lower[found] for found in difflib.get_close_matches(word.lower(), list(by_lower), count, 0.5)]


def some_of(names: Sequence[str], wanted: str, what: str) -> str:
    """A sentence with the names that `wanted` may have meant, else the first; some are never listed as if all.

    >>> some_of(["Install", "Use"], "Instal", "headings"), some_of(["a", "b"], "zzz", "categories")
    ("Nearest of 2 headings: 'Install'.", "All categories: 'a', 'b'.")
    """
    near = nearest(wanted, names)
    shown = ", ".join(map(repr, near or names[:NAMES_SHOWN]))
    if near:
        return f"Nearest of {len(names)} {what}: {shown}."
    return f"All {what}: {shown}." if len(names) <= NAMES_SHOWN else f"The first of {len(names)} {what}: {shown}."


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """A sentence with the nearest names, or an empty one."""
    names = nearest(word, known)
    return f"Did you mean {' or '.join(repr(name) for name in names)}?" if names else ""


def one_of(known: Sequence[str], given: object, more: str = "") -> str:
    """Sentences with all names there are (`more` says what else is taken), and the nearest to the one given.

    >>> one_of(("vector", "hybrid"), "hibrid")
    "Use one of vector, hybrid. Did you mean 'hybrid'?"
    """
    return f"Use one of {', '.join(known)}{more}. {did_you_mean(str(given), known)}".strip()


def install(extra: str) -> str:
    """With this environment's own Python: another `pip` would install elsewhere, and another package of that name."""
    return f"`{shlex.quote(sys.executable)} -m pip install 'librarian-docs[{extra}]'`"


def missing_extra(extra: str, error: ImportError) -> SetupError:
    """The error for a library of `extra` that can't be imported."""
    return SetupError(
        f"This storage needs the extra librarian-docs[{extra}], which isn't installed ({error}).",
        hint=f"Run {install(extra)}, or choose another storage (storage.catalog, vector_db.store).",
    )


def counted(number: int, word: str) -> str:
    """A number with its word, which makes its plural with an s.

    >>> counted(1, "passage"), counted(2_000, "passage")
    ('1 passage', '2000 passages')
    """
    return f"{number} {word}" if number == 1 else f"{number} {word}s"
