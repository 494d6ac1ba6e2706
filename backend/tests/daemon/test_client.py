"""Properties of the command line's client, against real daemons:

* An operation is answered, with its progress, by a daemon that is started where there is none.
* A daemon that nobody uses makes way where it was started with other settings; one that somebody uses stays, and who
  asks is told.
* What the operation raised is raised here, by its code; a daemon that dies or takes too long is a clear error.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from librarian.daemon import client
from librarian.daemon.address import as_error
from librarian.daemon.client import acquire_index, connect
from librarian.daemon.discovery import Library
from librarian.daemon.unix_http import Response, request
from librarian.errors import Busy, Internal, LibrarianError, NotFound, SetupError, SourceError, Unavailable
from tests.daemon.processes import daemon_of, until


def call(library: Library, operation: str, **more: Any) -> dict[str, Any]:
    arguments = more.pop("arguments", {})
    return client.call(library, operation, arguments, **more)


def test_an_operation_is_answered_by_a_daemon_that_is_started_for_it(library: Library) -> None:
    assert daemon_of(library.index) is None
    first = call(library, "search", arguments={"query": "Fuß"})
    assert first["arguments"] == {"query": "Fuß"}
    assert call(library, "search")["pid"] == first["pid"]
    daemon = daemon_of(library.index)
    assert daemon is not None
    assert (daemon.address.pid, daemon.address.url) == (first["pid"], "")
    assert client.shut_down_daemon(library.index)
    assert daemon_of(library.index) is None
    assert not client.shut_down_daemon(library.index)


def unused(library: Library) -> bool:
    daemon = daemon_of(library.index)
    return daemon is not None and not daemon.clients


def in_use(library: Library) -> Response:
    """A request to the library's daemon that isn't answered before it is closed."""
    address = connect(library).address
    message = {"jsonrpc": "2.0", "id": 1, "method": "silence"}
    response = request(address.path, "POST", address.endpoint, json.dumps(message).encode())
    response.read_head()
    return response


def with_settings(library: Library, settings: str, monkeypatch: pytest.MonkeyPatch) -> Library:
    """The library as one asks for it who finds these settings; a daemon started for it has them."""
    monkeypatch.setenv("ECHO_SETTINGS", settings)
    return library._replace(settings=settings)


def test_a_daemon_that_nobody_uses_makes_way_where_the_settings_are_others(
    library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    notes: list[str] = []
    first = call(with_settings(library, "old", monkeypatch), "search", on_note=notes.append)["pid"]
    assert call(library._replace(settings="old"), "search", on_note=notes.append)["pid"] == first
    assert call(library, "search", on_note=notes.append)["pid"] == first, "who doesn't say takes what there is"
    second = call(with_settings(library, "new", monkeypatch), "search", on_note=notes.append)["pid"]
    assert second != first
    assert not notes


def test_a_daemon_that_somebody_uses_stays_and_the_others_hear_that_its_settings_are_not_theirs(
    library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    used = in_use(with_settings(library, "old", monkeypatch))
    pid = call(library, "search")["pid"]
    notes: list[str] = []
    answer = call(with_settings(library, "new", monkeypatch), "search", on_note=notes.append)
    assert answer["pid"] == pid
    assert [f"kill {pid}" in note for note in notes] == [True]
    used.close()
    until(lambda: unused(library), "its leaving")
    assert call(library._replace(settings="new"), "search", on_note=notes.append)["pid"] != pid
    assert len(notes) == 1


def test_a_server_that_a_person_started_stays_whatever_the_settings(
    library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ECHO_ROLE", "serve")
    first = call(with_settings(library, "old", monkeypatch), "search")["pid"]
    notes: list[str] = []
    assert call(with_settings(library, "new", monkeypatch), "search", on_note=notes.append)["pid"] == first
    assert "the server at" in notes[0]


def test_a_daemon_that_was_left_behind_makes_way_for_a_program_and_one_in_use_does_not(
    library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    def is_refused() -> None:
        with pytest.raises(SetupError, match="owns the index") as caught:
            acquire_index(library.index, if_idle=True, hint="Wait.")
        assert caught.value.hint == "Wait."

    used = in_use(library)
    is_refused()
    used.close()
    until(lambda: unused(library), "its leaving")
    lock = acquire_index(library.index, if_idle=True)
    is_refused()
    lock.release()
    monkeypatch.setenv("ECHO_ROLE", "serve")
    call(library, "search")
    is_refused()


def test_progress_is_passed_on(library: Library) -> None:
    seen: list[Mapping[str, Any]] = []
    assert call(library, "count", arguments={"to": 3}, on_progress=seen.append)["operation"] == "count"
    assert {"done": 1} in seen


def test_what_the_operation_raised_is_raised_here(library: Library) -> None:
    with pytest.raises(NotFound, match="No document 'x'") as caught:
        call(library, "missing")
    assert caught.value.hint == "Nearest: 'y'."
    with pytest.raises(LibrarianError, match="by zero") as bug:
        call(library, "bug")
    assert (type(bug.value), bug.value.code) == (Internal, "internal")


def test_a_daemon_that_dies_is_a_clear_error_and_the_next_call_works(library: Library) -> None:
    with pytest.raises(Unavailable, match=r"ended before.*daemon\.log"):
        call(library, "die")
    assert call(library, "search")["operation"] == "search"


def test_an_operation_that_takes_too_long_is_given_up_and_cancelled(library: Library, tmp_path: Path) -> None:
    file = tmp_path / "told"
    call(library, "search")
    with pytest.raises(Unavailable, match=r"wait wasn't answered within 0\.2 s"):
        call(library, "wait", arguments={"file": str(file)}, timeout=0.2)
    until(file.exists, "the cancellation")


def test_a_daemon_that_cannot_start_says_why(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ECHO_MODE", "setup")
    with pytest.raises(SetupError, match="Nearest: 'y'"):
        call(library, "search")


def test_an_idle_daemon_ends_by_itself(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ECHO_IDLE_S", "0.05")
    call(library, "search")
    until(lambda: daemon_of(library.index) is None, "its end")


@pytest.mark.parametrize("kind", [NotFound, Busy, SetupError, SourceError, Unavailable])
def test_every_family_of_errors_survives_the_wire(kind: type[LibrarianError]) -> None:
    error = as_error({"code": kind.code, "message": "No.", "hint": "Yes."})
    assert (type(error), str(error)) == (kind, "No. Yes.")


def test_an_error_without_words_is_still_one() -> None:
    assert as_error("nonsense").message == "The daemon gave no reason."
