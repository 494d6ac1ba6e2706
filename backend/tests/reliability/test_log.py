"""A line of the log is one line, and whoever looks at it in a terminal sees it as it was written."""

from __future__ import annotations

import json
import logging

import pytest

from librarian.daemon.logging_setup import PLAIN, JsonLines, Plain

NAME = "guide\x1b[2J\x9b31m\n2026-01-01 00:00:00,000 ERROR librarian: all is lost\r\u202e.docx"


@pytest.mark.parametrize("formatter", [Plain(PLAIN), JsonLines()])
def test_a_files_name_neither_rewrites_the_terminal_nor_adds_a_line(formatter: logging.Formatter) -> None:
    try:
        raise OSError(f"{NAME} can't be read")
    except OSError as error:
        told = (type(error), error, error.__traceback__)
    record = logging.LogRecord("librarian", logging.WARNING, "", 0, "%s isn't indexed", (NAME,), None)
    failed = logging.LogRecord("librarian", logging.ERROR, "", 0, "%s", (NAME,), told)
    line, lines = formatter.format(record), formatter.format(failed)
    assert len(line.splitlines()) == 1
    assert "isn't indexed" in line
    for text in (line, lines):
        assert not set(text) & set("\x1b\x9b\r\u202e")
    assert "Traceback" in lines
    assert not any(further.startswith("2026-01-01") for further in lines.splitlines())


def test_a_line_of_json_stays_json() -> None:
    record = logging.LogRecord("librarian", logging.WARNING, "", 0, "%s", ("\x85\x7f\u202e\x1b\n",), None)
    assert json.loads(JsonLines().format(record))["message"] == "\ufffd\ufffd\ufffd\x1b\n"
