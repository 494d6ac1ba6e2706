"""Who has called: what is proved here.

* A program's name, version, number of calls and last time outlive the daemon; the last caller is last.
* The list stays short, whatever programs call themselves; one that can't be read counts as empty.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from librarian.daemon.client_log import CLIENTS, MOST, WRITE_S, ClientEntry, ClientLog, read


def test_what_is_noted_outlives_the_keeper(tmp_path: Path) -> None:
    now = 1000.0
    visitors = ClientLog(tmp_path, clock=lambda: now)
    visitors.note("a", "1")
    visitors.note("b", "1")
    now = 1010.0
    visitors.note("a", "2")
    assert read(tmp_path) == [ClientEntry("a", "1", 1, 1000.0), ClientEntry("b", "1", 1, 1000.0)]
    now += WRITE_S
    visitors.note("b", "1")
    assert read(tmp_path) == [ClientEntry("a", "2", 2, 1010.0), ClientEntry("b", "1", 2, now)]
    visitors.note("a", "2")
    visitors.write()
    later = ClientLog(tmp_path, clock=lambda: now)
    later.note("b", "1")
    later.write()
    assert read(tmp_path) == [ClientEntry("a", "2", 3, now), ClientEntry("b", "1", 3, now)]


def test_the_list_stays_short(tmp_path: Path) -> None:
    visitors = ClientLog(tmp_path)
    for number in range(MOST + 5):
        visitors.note(f"{number}" + "x" * 1000, "y" * 1000)
    visitors.note("", "")
    found = read(tmp_path)
    assert len(found) == MOST
    assert found[-1].name == "unknown"
    assert max(len(client_entry.name) for client_entry in found) == 100


@pytest.mark.parametrize(
    "content", ["", "{}", "[1]", '[{"name": "a"}]', '[{"name":"a","version":"","calls":"x","last":1}]']
)
def test_a_list_that_cannot_be_read_counts_as_empty(tmp_path: Path, content: str) -> None:
    (tmp_path / CLIENTS).write_text(content)
    assert read(tmp_path) == []
    ClientLog(tmp_path).note("a", "1")
    assert [client_entry.name for client_entry in read(tmp_path)] == ["a"]


def test_a_folder_that_is_gone_is_logged_and_nothing_more(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    ClientLog(tmp_path / "gone").note("a", "1")
    assert "can't be kept" in caplog.text
