"""What the log says of indexing: what changed, what was left out though nobody said so, and that it is complete."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from librarian.indexing.log import ErrorLog
from tests.storage.library import Library, wait_for

LOGGER = "librarian.indexing"


@pytest.fixture
def library(tmp_path: Path) -> Iterator[Library]:
    made = Library(tmp_path)
    made.write("ray/core/tasks.md", "# Tasks\n\nA task is a stateless function run by wombats.\n")
    yield made
    made.close()


def lines(caplog: pytest.LogCaptureFixture, level: int) -> list[str]:
    """What was logged at this level since the last call of this."""
    said = [
        record.getMessage() for record in caplog.records if record.name.startswith(LOGGER) and record.levelno == level
    ]
    caplog.clear()
    return said


def test_a_look_that_changed_something_has_one_line_and_a_look_that_did_not_has_none(
    library: Library, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, LOGGER)
    library.indexer.refresh()
    (said,) = lines(caplog, logging.INFO)
    assert said.startswith("Indexed in ")
    assert said.endswith("1 added, 0 changed, 0 removed, 0 moved, 0 unchanged, 0 unreadable, 0 left out")
    library.indexer.embed()
    assert lines(caplog, logging.INFO) == ["Embedded what had no vector: 1 passages in all"]
    library.complete()
    assert lines(caplog, logging.INFO) == []


def test_a_file_that_lies_wrong_or_cannot_be_read_is_warned_of_once(
    library: Library, caplog: pytest.LogCaptureFixture
) -> None:
    library.write("loose.md", "# Loose\n")
    library.write("ray/core/zeros.md", "\0" * 4_000)
    library.indexer.refresh()
    said = lines(caplog, logging.WARNING)
    assert [line.partition(":")[0] for line in said] == ["loose.md isn't indexed", "ray/core/zeros.md isn't indexed"]
    assert "in_root (files count from {product}/ on, or with docs.layout flat)" in said[0]
    assert "binary" in said[1]
    library.indexer.refresh()
    assert lines(caplog, logging.WARNING) == []


def test_what_settings_and_ignore_files_leave_out_is_no_warning(
    library: Library, caplog: pytest.LogCaptureFixture
) -> None:
    library.write(".gitignore", "*.txt\n")
    library.write("ray/core/notes.txt", "ignored")
    library.write("ray/core/tool.exe", "MZ")
    library.write("ray/.hidden/page.md", "# Hidden\n")
    assert library.indexer.refresh().skipped
    assert lines(caplog, logging.WARNING) == []


def test_what_does_not_work_is_told_once_and_so_is_that_it_works_again(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, LOGGER)
    errors = ErrorLog()
    errors.note("root", "It is gone.")
    errors.note("root", "It is gone.")
    assert lines(caplog, logging.WARNING) == ["root: It is gone."]
    assert errors == {"root": "It is gone."}
    errors.note("embeddings", "No hub.")
    errors.note("root", "")
    assert [record.getMessage() for record in caplog.records] == ["embeddings: No hub.", "root: works again"]
    assert errors == {"embeddings": "No hub."}


def test_a_root_that_is_gone_is_said_by_the_log(library: Library, caplog: pytest.LogCaptureFixture) -> None:
    library.complete()
    library.root.rename(library.root.with_name("elsewhere"))
    library.indexer.start()
    wait_for(lambda: any(record.getMessage().startswith("root: ") for record in caplog.records))
    library.indexer.stop()
    (said,) = lines(caplog, logging.WARNING)
    assert str(library.root) in said


def test_of_many_files_only_the_first_have_lines_and_the_rest_is_counted(
    library: Library, caplog: pytest.LogCaptureFixture
) -> None:
    for number in range(25):
        library.write(f"loose{number:02}.md", "# Loose\n")
    library.indexer.refresh()
    said = lines(caplog, logging.WARNING)
    assert len(said) == 21
    assert said[-1] == "5 further files aren't indexed: `librarian status` counts them by reason."
