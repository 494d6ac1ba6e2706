"""Who has called: what is proved here.

* A program's name, version and last call outlive the daemon; the last caller is last.
* The list stays short, whatever programs call themselves; one that can't be read counts as empty.
"""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from librarian.daemon.client_log import CLIENTS, MOST, WRITE_S, Client, ClientLog, read


def test_what_is_noted_outlives_the_daemon(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = 1000.0
    monkeypatch.setattr(time, "time", lambda: now)
    clients = ClientLog(tmp_path)
    clients.note("a", "1")
    clients.note("b", "1")
    now = 1010.0
    clients.note("a", "2")
    assert list(read(tmp_path).items()) == [("a", Client("1", 1000.0)), ("b", Client("1", 1000.0))]
    now = 1000.0 + WRITE_S
    ClientLog(tmp_path).note("a", "2")
    assert list(read(tmp_path).items()) == [("b", Client("1", 1000.0)), ("a", Client("2", now))]


def test_the_list_stays_short(tmp_path: Path) -> None:
    clients = ClientLog(tmp_path)
    for number in range(MOST + 5):
        clients.note(f"{number}" + "x" * 1000, "y" * 1000)
    clients.note("", "")
    found = list(read(tmp_path))
    assert len(found) == MOST
    assert found[-1] == "unknown"
    assert max(map(len, found)) == 100


@pytest.mark.parametrize("content", ["", "{}", "[1]", '{"a": 1}', '{"a": ["1", "x"]}'])
def test_a_list_that_cannot_be_read_counts_as_empty(tmp_path: Path, content: str) -> None:
    (tmp_path / CLIENTS).write_text(content)
    assert read(tmp_path) == {}
    ClientLog(tmp_path).note("a", "1")
    assert list(read(tmp_path)) == ["a"]


def test_a_folder_that_is_gone_is_logged_and_nothing_more(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    ClientLog(tmp_path / "gone").note("a", "1")
    assert "can't be kept" in caplog.text
