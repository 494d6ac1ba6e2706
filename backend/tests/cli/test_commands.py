"""The command line: what is proved here.

* Each command asks its verb with exactly the arguments given, and prints the answer's own fields with --json.
* Exit codes mean what they say; errors come as one line with the next step, without a traceback.
* On a terminal matches are marked; in a pipe there are plain lines.

The daemon is stood in for by a recorder that answers with real wire models.
"""

from __future__ import annotations

import errno
import io
import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import typer.main

from librarian import __version__, schemas
from librarian.cli import main, rendering
from librarian.cli.output import Page
from librarian.cli.search import app
from librarian.daemon import client
from librarian.daemon.address import as_error
from librarian.daemon.discovery import Library
from librarian.errors import (
    CALLER,
    SETUP,
    Busy,
    CallerError,
    LibrarianError,
    NotFound,
    SetupError,
    SourceError,
    Unavailable,
)
from librarian.evaluation.evaluate import RatedQuery, as_dict, evaluate


def result(**changes: Any) -> dict[str, Any]:
    return {
        "rank": 1,
        "id": "books/guide/a.md#chunk-1@12345678",
        "file_path": "books/guide/a.md",
        "file_name": "a.md",
        "file_type": ".md",
        "product": "books",
        "component": "guide",
        "title": "Lending",
        "heading_path": ["Lending", "How long"],
        "line_start": 3,
        "line_end": 5,
        "snippet": "Books are lent\nfor four weeks.",
        "highlights": [(0, 5)],
        "uri": "librarian://docs/books/guide/a.md#how-long",
        "relevance_score": 0.81,
        "match_type": "both",
        "doc_type": "guide",
        "last_modified": "2026-01-02T00:00:00Z",
        "stale": True,
        "page": 7,
        "also_in": ["books/old/a.md"],
        "why": [{"source": "keyword", "rank": 1, "raw": 7.25, "points": 0.5}, {"source": "identifier", "points": 1.0}],
    } | changes


def answer(results: list[dict[str, Any]], **changes: Any) -> dict[str, Any]:
    retriever = {"status": "ok"}
    return {
        "query": "lent",
        "mode": "hybrid",
        "requested_mode": "auto",
        "total": len(results),
        "results": results,
        "answerable": "unlikely",
        "retrievers": {"keyword": retriever, "semantic": retriever, "rerank": retriever, "hyde": retriever},
        "coverage": {"documents": 1, "chunks": 1, "embedded_chunks": 0},
        "took_ms": 4.2,
        "tokens_used": 9,
        "generation": 1,
    } | changes


MAIL = {
    "subject": "Overdue",
    "sender": "ann@example.org",
    "date": "2026-01-02T10:00:00Z",
    "thread_id": "t1",
    "message_id": "m1",
}
FAILURE = {"path": "books/guide/b.md", "reason": "unreadable"}
ANSWERS: dict[str, schemas.ResponseModel] = {
    "search_documentation": schemas.SearchResponse.model_validate(
        answer([result()], capped=True, next_offset=1, degraded=["embeddings: no model"])
    ),
    "bench": schemas.SearchResponse.model_validate(answer([result()])),
    "search_emails": schemas.EmailSearchResponse.model_validate(answer([result(**MAIL)], mode="auto")),
    "get_document": schemas.DocumentResponse(
        file_path="books/guide/a.md",
        title="Lending",
        product="books",
        component="guide",
        doc_type="guide",
        encoding="utf-8",
        content="Books are lent\nfor four weeks.",
        line_start=3,
        line_end=4,
        truncated=True,
        next_line=5,
        last_modified="2026-01-02",
        indexed_at="2026-01-03",
    ),
    "get_email_thread": schemas.ThreadResponse.model_validate(
        {
            "thread_id": "t1",
            "subject": "Overdue",
            "participants": ["ann@example.org"],
            "total": 3,
            "next_offset": 1,
            "emails": [
                {
                    "subject": "Overdue",
                    "sender": "ann@example.org",
                    "message_id": "m1",
                    "body": "Please return it.",
                    "file_path": "books/mail/1.eml",
                    "attachments": [{"filename": "list.txt", "content_type": "text/plain", "size": 3}],
                }
            ],
        }
    ),
    "analyze_query": schemas.AnalyzeResponse.model_validate(
        {
            "query": "lent",
            "query_type": "factual",
            "complexity": 0.1,
            "word_count": 1,
            "technical_terms": ["ISBN"],
            "recommended_mode": "keyword",
            "confidence": 0.8,
            "reasons": ["one word"],
            "why_not": {
                "file_path": "books/guide/a.md",
                "stage": "below_cut",
                "explanation": "It has rank 12.",
                "retrievers": [{"retriever": "keyword", "rank": 12, "reason": "few words"}],
            },
        }
    ),
    "list_products": schemas.ProductsResponse.model_validate(
        {"products": [{"name": "books", "component_count": 1, "document_count": 12}], "total": 1}
    ),
    "list_components": schemas.ComponentsResponse.model_validate(
        {"product": "books", "components": [{"name": "guide", "document_count": 12}], "total": 1}
    ),
    "get_index_status": schemas.StatusResponse.model_validate(
        {
            "status": "degraded",
            "reasons": ["the folder is gone"],
            "documents": 1,
            "chunks": 2,
            "embedded_chunks": 1,
            "emails": 0,
            "products": 1,
            "generation": 3,
            "embeddings": {"enabled": True, "model": "all-MiniLM-L6-v2", "dimension": 384},
            "index_path": "/i",
            "storage": {"catalog": "sqlite", "keyword": "tantivy", "vectors": "exact"},
            "progress": {"phase": "embedding", "chunks_embedded": 1, "chunks_total": 2, "eta_s": 3.0},
            "skipped": {"total": 1, "examples": [FAILURE]},
            "failures": {"total": 1, "items": [FAILURE]},
            "notes": ["See list_products for those that are indexed."],
        }
    ),
    "refresh": schemas.RefreshResponse.model_validate(
        {"added": 2, "documents": 2, "chunks": 3, "embedded": 3, "took_ms": 1500.0, "notes": ["rebuilt"]}
    ),
    "check": schemas.CheckResponse(ok=False, problems=["2 orphans"], repaired=["2 orphans"], documents=1),
    "health": schemas.HealthResponse(status="ok", version="1", documents=1, chunks=1, embedded_chunks=1, uptime_s=1.0),
    "clear_search_cache": schemas.ClearCacheResponse(cleared=0),
}


JUDGED = [RatedQuery("1", "a.md", {"a.md": 1}), RatedQuery("2", "b.md", {"b.md": 1})]


class Keeper:
    """Records what is asked; answers from `ANSWERS`, or raises `error`."""

    def __init__(self) -> None:
        self.calls: list[tuple[Path, str, dict[str, Any]]] = []
        self.changes: dict[str, dict[str, Any]] = {}
        self.error: BaseException | None = None
        self.progress: list[dict[str, Any]] = []

    def call(
        self, library: Library, verb: str, arguments: dict[str, Any], *, on_progress: Any = None, **_: Any
    ) -> dict[str, Any]:
        self.calls.append((library.index, verb, arguments))
        if self.error:
            raise self.error
        for item in self.progress:
            if on_progress:
                on_progress(item)
        if verb == "evaluate":
            return as_dict(evaluate(JUDGED, lambda text, mode: [text], ["keyword", "hybrid"]))
        return ANSWERS[verb].model_dump(mode="json") | self.changes.get(verb, {})


@pytest.fixture
def keeper(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Keeper:
    recorder = Keeper()
    monkeypatch.setattr(client, "call", recorder.call)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CONFIG_FILE", str(tmp_path / "config.json"))
    (tmp_path / "docs").mkdir()
    (tmp_path / "config.json").write_text('{"index": {"path": "cards"}}')
    return recorder


def run(*arguments: str) -> int:
    return main.run(arguments)


@pytest.mark.parametrize(
    ("line", "verb", "arguments", "printed"),
    [
        (
            "search lent --mode keyword --product books -n 3 --offset 1 --semantic-weight 0.5 --max-tokens 90 "
            "--file-type .md --file-type txt --doc-type guide --tag a --language en --after 2026-01-01 "
            "--before 2026-02-01 --max-per-document 0 --hypothetical-answer x --context --component guide",
            "search_documentation",
            {
                "query": "lent",
                "mode": "keyword",
                "product": "books",
                "component": "guide",
                "max_results": 3,
                "offset": 1,
                "semantic_weight": 0.5,
                "max_tokens": 90,
                "file_types": [".md", "txt"],
                "doc_type": "guide",
                "tags": ["a"],
                "language": "en",
                "modified_after": "2026-01-01",
                "modified_before": "2026-02-01",
                "max_per_document": 0,
                "hypothetical_answer": "x",
                "include_parent_context": True,
                "explain": True,
            },
            [
                "1. Lending › How long  Excellent 0.81",
                "books/guide/a.md:3-5  page 7  stale",
                "   Books are lent\n   for four weeks.",
            ],
        ),
        (
            "search lent --emails --sender ann --subject over --thread t1 --no-attachments --after 2026-01-01 "
            "--max-per-thread 2",
            "search_emails",
            {
                "query": "lent",
                "sender": "ann",
                "subject_contains": "over",
                "thread_id": "t1",
                "has_attachments": False,
                "date_after": "2026-01-01",
                "max_per_thread": 2,
                "explain": True,
            },
            ["ann@example.org  2026-01-02  Overdue"],
        ),
        (
            "search --emails -has:attachment lent -networking -n2 -- --json",
            "search_emails",
            {"query": "-has:attachment lent -networking --json", "max_results": 2, "explain": True},
            ["ann@example.org  2026-01-02  Overdue  Excellent 0.81", "books/guide/a.md:3-5  page 7  thread t1"],
        ),
        ("analyze -lent", "analyze_query", {"query": "-lent"}, []),
        (
            "search lent --why",
            "search_documentation",
            {"query": "lent", "explain": True},
            ["keyword              rank 1    raw 7.250    +0.5000"],
        ),
        (
            "search lent",
            "search_documentation",
            {"query": "lent", "explain": True},
            ["1 result · hybrid (asked: auto) · 4 ms"],
        ),
        (
            "search lent --all --limit 1",
            "search_documentation",
            {"query": "lent", "explain": True, "include_weak": True, "max_results": 1},
            ["1 of the best 1 · hybrid (asked: auto) · 4 ms", "--offset 1"],
        ),
        (
            "search lent",
            "search_documentation",
            {"query": "lent", "explain": True},
            ["also in", "degraded: embeddings: no model", "Probably nothing in "],
        ),
        (
            "show books/guide/a.md --section Lending --lines 3-4",
            "get_document",
            {"path": "books/guide/a.md", "section": "Lending", "line_start": 3, "line_end": 4, "max_chars": 0},
            ["Books are lent\nfor four weeks.\n", "--lines 5-"],
        ),
        (
            "show a.md --query lent --max-tokens 90",
            "get_document",
            {"path": "a.md", "query": "lent", "max_tokens": 90},
            [],
        ),
        ("show a.md --lines 3-", "get_document", {"path": "a.md", "line_start": 3, "max_chars": 0}, []),
        ("show a.md --lines 3", "get_document", {"path": "a.md", "line_start": 3, "line_end": 3, "max_chars": 0}, []),
        ("show a.md:3-4", "get_document", {"path": "a.md", "line_start": 3, "line_end": 4, "max_chars": 0}, []),
        (
            "thread t1 --offset 0",
            "get_email_thread",
            {"thread_id": "t1", "offset": 0, "max_chars": 0},
            ["Overdue  3 mails", "Please return it.", "attached: list.txt", "2 more: --offset 1"],
        ),
        (
            "analyze lent --path books/guide/a.md",
            "analyze_query",
            {"query": "lent", "path": "books/guide/a.md"},
            ["recommended_mode: keyword", "explanation: It has rank 12.", "technical_terms:\n  ISBN\n", "keyword | 12"],
        ),
        (
            "products",
            "list_products",
            {},
            ["product  components  documents and emails\nbooks             1                    12"],
        ),
        (
            "products books",
            "list_components",
            {"product": "books"},
            ["books  documents and emails\nguide                    12"],
        ),
        (
            "status",
            "get_index_status",
            {},
            [
                "State: Degraded: the folder is gone\n",
                "Searchable by meaning: 1 of 2 passages\n",
                "skipped: 1",
                "note: See `librarian products`",
            ],
        ),
        ("index --rebuild", "refresh", {"rebuild": True, "prune": False}, ["2 added", "3 of 3 passages", "1.5 s"]),
    ],
)
def test_a_command_asks_its_verb_and_shows_the_answer(
    line: str,
    verb: str,
    arguments: dict[str, Any],
    printed: list[str],
    keeper: Keeper,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(*line.split()) == 0
    assert keeper.calls == [(tmp_path / "cards", verb, arguments)]
    out = capsys.readouterr().out
    for piece in printed:
        assert piece in out
    assert "\x1b" not in out


@pytest.mark.parametrize(
    "line",
    ["search lent", "search --emails", "show a.md", "thread t1", "analyze a", "products", "products books", "status"],
)
def test_json_is_the_verbs_own_answer(line: str, keeper: Keeper, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(*line.split(), "--json") == 0
    verb = keeper.calls[0][1]
    assert json.loads(capsys.readouterr().out) == ANSWERS[verb].model_dump(mode="json")


def test_a_product_that_is_left_empty_is_none(keeper: Keeper) -> None:
    assert run("products", "") == 0
    assert [call[1:] for call in keeper.calls] == [("list_products", {})]


def test_every_command_takes_root_index_config_and_json_and_shows_an_example() -> None:
    group: Any = typer.main.get_command(app)
    commands = dict(group.commands)
    commands |= commands.pop("models").commands
    assert len(commands) == 23
    del commands["trust"]  # it is about a file, not about a library
    for name, command in commands.items():
        options = {option for parameter in command.params for option in parameter.opts}
        assert {"--root", "--index", "--config", "--plain"} <= options, name
        assert "--json" in options or name == "stdio"
        assert "Example" in command.epilog, name
        assert "librarian" in command.epilog, name


def test_options_name_the_index_without_a_configuration(keeper: Keeper, tmp_path: Path) -> None:
    run("status", "--index", str(tmp_path / "other"))
    assert keeper.calls[0][0] == tmp_path / "other"


# -- exit codes ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (NotFound("No document 'x'.", hint="Nearest: 'y'."), 1),
        (CallerError("mode is 'x'.", hint="Choose keyword."), 2),
        (Busy("Too much at once."), 2),
        (SourceError("x.md can't be read."), 3),
        (SetupError("The index is in use.", hint="Stop the other one."), 78),
        (Unavailable("The model doesn't work."), 78),
    ],
)
def test_each_family_of_errors_has_its_exit_code(
    error: LibrarianError, code: int, keeper: Keeper, capsys: pytest.CaptureFixture[str]
) -> None:
    keeper.error = error
    assert run("status") == code
    assert capsys.readouterr() == ("", f"{error}\n")
    assert run("status", "--json") == code
    assert json.loads(capsys.readouterr().out)["error"] == {
        "code": error.code,
        "message": error.message,
        "hint": error.hint,
    }


def test_a_bug_shows_its_traceback_and_ends_with_70(keeper: Keeper, capsys: pytest.CaptureFixture[str]) -> None:
    keeper.error = ZeroDivisionError()
    assert run("status") == 70
    assert "ZeroDivisionError" in capsys.readouterr().err
    assert run("status", "--json") == 70
    assert json.loads(capsys.readouterr().out)["error"]["code"] == "internal"
    keeper.error = as_error({"code": "internal", "message": "KeyError: 'x'", "hint": "See daemon.log."})
    assert run("status") == 70, "where the daemon met it, too"


@pytest.mark.parametrize(
    ("line", "words", "hint"),
    [
        ("products --nope", "--nope", "librarian products --help"),
        ("show", "Missing argument", "librarian show --help"),
        ("search cards --max-results", "--max-results", "librarian search --help"),
        ("search cards --offset many", "--offset", "librarian search --help"),
        ("nosuch", "nosuch", "librarian --help"),
        ("models list --nope", "--nope", "librarian models list --help"),
    ],
)
def test_a_command_that_cannot_be_understood_is_told_as_json_too(
    line: str, words: str, hint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(*line.split(), "--json") == 2
    error = json.loads(capsys.readouterr().out)["error"]
    assert error["code"] == "bad_request"
    assert words in error["message"]
    assert hint in error["hint"]
    assert run(*line.split()) == 2
    assert capsys.readouterr().out == ""


def test_interrupting_and_a_reader_who_left_are_no_errors(keeper: Keeper) -> None:
    keeper.error = KeyboardInterrupt()
    assert run("status") == 130


def test_ctrl_c_while_the_command_is_imported_shows_no_traceback() -> None:
    script = """
import builtins, sys
real = builtins.__import__
def interrupted(name, *given):
    if name == "traceback":
        raise KeyboardInterrupt
    return real(name, *given)
builtins.__import__ = interrupted
from librarian.__main__ import main
main()
"""
    backend = Path(main.__file__).parents[2]
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=backend)
    assert (done.returncode, done.stderr) == (130, "")
    scripts = tomllib.loads((backend.parent / "pyproject.toml").read_text())["project"]["scripts"]
    assert scripts["librarian"] == "librarian.__main__:main"


def in_shell(line: str, **environ: str) -> subprocess.CompletedProcess[str]:
    """A line of bash, in which `librarian` is the command; a failure within a pipe is the line's."""
    line = f'set -o pipefail; librarian() {{ {sys.executable} -m librarian "$@"; }}; {line}'
    backend = Path(main.__file__).parents[2]
    env = {**os.environ, **environ}
    return subprocess.run(["bash", "-c", line], capture_output=True, text=True, cwd=backend, env=env)


@pytest.mark.parametrize("command", ["config", "--help", "search --help"])
def test_a_reader_who_had_enough_is_no_error(command: str) -> None:
    done = in_shell(f"librarian {command} | {{ head -c 5; }}")
    assert (done.returncode, done.stderr, len(done.stdout)) == (0, "", 5)
    done = in_shell(f"librarian {command} | true")
    assert (done.returncode, done.stderr) == (0, "")


def test_who_reads_no_errors_still_gets_their_exit_code() -> None:
    assert in_shell("librarian config nope 2>&1 | exec 0<&-").returncode == CALLER


def test_an_output_that_is_closed_or_full_is_no_bug() -> None:
    assert in_shell("librarian config >&-").returncode == 0
    done = in_shell("librarian config search.mode >/dev/full")
    assert done.returncode == SETUP
    assert done.stderr == "The output can't be written: No space left on device. Free some space there.\n"


@pytest.mark.parametrize("number", [errno.EACCES, errno.EROFS])
def test_what_the_system_forbids_is_no_bug(
    number: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refused(**_: object) -> None:
        raise OSError(number, os.strerror(number), "/elsewhere/file")

    monkeypatch.setattr("librarian.cli.search.app", refused)
    assert run("config") == SETUP
    said = f"/elsewhere/file can't be used: {os.strerror(number)}. See that you may read and write there.\n"
    assert capsys.readouterr().err == said
    assert run("config", "--json") == SETUP
    told = json.loads(capsys.readouterr().out)["error"]
    assert (told["code"], f"{told['message']} {told['hint']}\n") == ("setup", said)


@pytest.mark.parametrize("encoding", ["ascii", "ascii:surrogateescape"])
def test_an_output_without_umlauts_shows_what_it_can_and_json_escapes_the_others(encoding: str) -> None:
    given = {"PYTHONIOENCODING": encoding, "EMBEDDING_MODEL": "Größe"}
    assert 'embeddings.model = "Gr??e"' in in_shell("librarian config embeddings.model", **given).stdout
    found = json.loads(in_shell("librarian config embeddings.model --json", **given).stdout)
    assert found["settings"][0]["value"] == "Größe"


def test_nothing_found_ends_with_1_and_shows_suggestions(keeper: Keeper, capsys: pytest.CaptureFixture[str]) -> None:
    suggestion = {"kind": "term", "value": "lend", "text": "Search for 'lend'."}
    keeper.changes["search_documentation"] = {"results": [], "suggestions": [suggestion]}
    assert run("search", "lnet") == 1
    assert "Search for 'lend'." in capsys.readouterr().out


def test_unreadable_files_end_with_3(keeper: Keeper, capsys: pytest.CaptureFixture[str]) -> None:
    keeper.changes["refresh"] = {"failed": [FAILURE]}
    assert run("index") == 3
    assert "unreadable: books/guide/b.md" in capsys.readouterr().out


def test_an_index_run_that_found_no_file_says_so(keeper: Keeper, capsys: pytest.CaptureFixture[str]) -> None:
    keeper.changes["refresh"] = {"documents": 0, "skipped": {"total": 0, "examples": []}}
    assert run("index") == 0
    assert "note: no file to index was found" in capsys.readouterr().out
    keeper.changes["refresh"] = {"documents": 1, "skipped": {"total": 0, "examples": []}}
    assert run("index") == 0
    assert "no file to index" not in capsys.readouterr().out


def test_an_index_run_counts_mails_beside_documents(keeper: Keeper, capsys: pytest.CaptureFixture[str]) -> None:
    keeper.changes["refresh"] = {"documents": 0, "emails": 213, "skipped": {"total": 0, "examples": []}}
    assert run("index") == 0
    out = capsys.readouterr().out
    assert "0 documents and 213 emails, " in out
    assert "no file to index" not in out


def test_an_index_run_that_could_not_be_done_ends_with_78(keeper: Keeper, capsys: pytest.CaptureFixture[str]) -> None:
    keeper.changes["refresh"] = {"reasons": ["root: no such folder"], "notes": ["no such folder"], "failed": [FAILURE]}
    assert run("index") == 78
    assert "not done: root: no such folder" in (printed := capsys.readouterr().out)
    assert "note: " not in printed


def test_an_index_that_is_not_in_order_ends_with_78(keeper: Keeper, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("check") == 78
    assert "ok: false\nproblems:\n  2 orphans\n" in capsys.readouterr().out
    keeper.changes["check"] = {"ok": True}
    assert run("check", "--repair") == 0
    assert keeper.calls[-1][2] == {"repair": True}


@pytest.mark.parametrize(
    ("line", "piece"),
    [
        ("search a --sender ann", "Add --emails."),
        ("search a --emails --tag x", "--tag is for documents"),
        ("show a.md --lines x", "10-20"),
        ("evaluate", "--queries is missing"),
        ("evaluate --queries gone.jsonl --qrels gone.tsv", "gone.jsonl"),
        ("connect clade", "Did you mean 'claude-code'"),
        ("connect zzz", "Use one of claude-desktop"),
        ("connect claude-desktop --http", "Leave --http out"),
        ("nope", "nope"),
        ("search a --emial", "No such option: --emial (Possible options: --all, --emails, --help)"),
        ("search a --max-result 3", "--max-results"),
        ("analyze a --pth x", "--path"),
        ("search what does --dry-run do", "librarian search --help, or put '--' before the question"),
        ("search --format=json tar", "No such option: --format"),
        ("search tar -x", "No such option: -x"),
        ("search a --layout deep", "--layout"),
        ("search a -n", "-n"),
        ("status --nope", "--nope"),
        ("search a -n many", "max-results"),
    ],
)
def test_the_callers_mistakes_end_with_2_and_the_next_step(
    line: str, piece: str, keeper: Keeper, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(*line.split()) == 2
    captured = capsys.readouterr()
    assert piece in captured.err
    assert "Traceback" not in captured.err
    assert keeper.calls == []


def test_a_broken_configuration_ends_with_78(
    keeper: Keeper, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "config.json").write_text('{"serch": {}, "search": {"mod": 1}}')
    assert run("config") == 78
    assert "Nearest" in capsys.readouterr().err


# -- long work, and the look on a terminal -------------------------------------------------------------------------


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_on_a_terminal_matches_are_marked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    screen = Terminal()
    rendering.search(Page(screen), ANSWERS["search_documentation"].model_dump(mode="json"), why=True)
    rendering.document(Page(screen), ANSWERS["get_document"].model_dump(mode="json"))
    assert "\x1b[1;33mBooks\x1b[0m are lent" in screen.getvalue()
    assert "goes on at line 5" in screen.getvalue()


def test_plain_is_plain_on_a_terminal(keeper: Keeper, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    for options, styled in (([], True), (["--plain"], False), ([], True)):
        screen = Terminal()
        monkeypatch.setattr(sys, "stdout", screen)
        assert run("search", "lent", *options) == 0
        assert ("\x1b" in screen.getvalue()) is styled


@pytest.mark.parametrize("screen", [io.StringIO(), Terminal()])
def test_a_files_name_breaks_no_line(screen: io.StringIO) -> None:
    response = ANSWERS["search_documentation"].model_dump(mode="json")
    found = {**response["results"][0], "file_path": "books/a\n2. Fake  1.00\r/x.md"}
    rendering.search(Page(screen), {**response, "results": [found]})
    assert "books/a\ufffd2. Fake  1.00\ufffd/x.md" in screen.getvalue()


def test_a_document_in_markdown_is_rendered_on_a_terminal_and_stays_as_it_is_in_a_pipe(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    response = ANSWERS["get_document"].model_dump(mode="json") | {"content": "# Lending\n\n* **four** weeks"}
    pipe, screen = io.StringIO(), Terminal()
    rendering.document(Page(pipe), response)
    rendering.document(Page(screen), response)
    assert "# Lending\n\n* **four** weeks\n" in pipe.getvalue()
    assert " • " in screen.getvalue()
    assert "**" not in screen.getvalue()


def test_measures_are_a_table_on_a_terminal_and_in_a_pipe(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "140")
    measured = {"mean": 0.9, "low": 0.85, "high": 0.95, "p": 0.01}
    answer = {"questions": 7, "modes": {"hybrid": {"nDCG@10": measured, "P@10": measured, "p50_ms": 3.0}}}
    for stream in (io.StringIO(), Terminal()):
        rendering.evaluation(Page(stream), answer)
        shown = [" ".join(line.split()) for line in stream.getvalue().splitlines()]
        assert any(line.endswith("hybrid " + "0.900 [0.850, 0.950] p=0.010 " * 2 + "3.00") for line in shown)


def test_a_question_needs_no_quotes(keeper: Keeper) -> None:
    assert run("search", "how", "long", "-n", "2", "lent?") == 0
    assert run("analyze", "how", "long", "lent?") == 0
    assert [arguments["query"] for _, _, arguments in keeper.calls] == ["how long lent?"] * 2


@pytest.mark.parametrize(
    ("words", "query"),
    [
        (["kubectl --dry-run --limit 2"], "kubectl --dry-run --limit 2"),
        (["--dry-run of kubectl"], "--dry-run of kubectl"),
        (["--", "--limit", "2"], "--limit 2"),
        (["cards", "-lent"], "cards -lent"),
        (["cards", "-x509"], "cards -x509"),
    ],
)
def test_words_with_dashes_that_are_no_options_are_searched_for(
    words: list[str], query: str, keeper: Keeper, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("search", "--json", *words) == 0
    assert keeper.calls[0][2] == {"query": query}
    assert capsys.readouterr().err == ""


def test_a_value_may_begin_with_a_dash(keeper: Keeper) -> None:
    assert run("search", "a", "--emails", "--subject", "-old", "--offset", "-3") == 0
    assert keeper.calls[0][2]["subject_contains"] == "-old"
    assert keeper.calls[0][2]["offset"] == -3


def test_a_dash_reads_the_question_from_stdin(keeper: Keeper, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("how long is a\nbook lent?\n"))
    assert run("search", "-") == 0
    assert keeper.calls[0][2]["query"] == "how long is a\nbook lent?\n"


def scored(*scores: float) -> list[dict[str, Any]]:
    return [result(rank=rank, title=f"Page {rank}", relevance_score=score) for rank, score in enumerate(scores, 1)]


def test_five_results_that_are_at_least_fair_are_shown_and_the_others_counted(
    keeper: Keeper, capsys: pytest.CaptureFixture[str]
) -> None:
    found = {"results": scored(0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.1), "total": 12, "weak_hidden": 3, "capped": False}
    keeper.changes["search_documentation"] = found | {"answerable": "yes"}
    assert run("search", "lent") == 0
    out = capsys.readouterr().out
    assert "5. Page 5" in out
    assert "6. Page 6" not in out
    assert "5 results · 10 weaker: --all · " in out
    for options in (["--all"], ["-n", "7"], ["--offset", "0"]):
        assert run("search", "lent", *options) == 0
        assert "7. Page 7 › Lending › How long  Weak 0.10" in capsys.readouterr().out


def test_where_nothing_is_likely_to_answer_the_nearest_places_are_named(
    keeper: Keeper, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    keeper.changes["search_documentation"] = {"results": scored(0.2, 0.1, 0.1, 0.0), "total": 4, "capped": False}
    assert run("search", "lent") == 1
    out = capsys.readouterr().out
    assert out.startswith(f"Probably nothing in {tmp_path / 'docs'} answers this. The nearest:\n\n1. Page 1 ")
    assert "Books are lent" not in out
    assert "4. Page 4" not in out
    assert "\n4 weak: --all · " in out
    assert run("search", "lent", "--json") == 1
    assert run("search", "lent", "--all") == 0
    keeper.changes["search_documentation"]["answerable"] = "unknown"
    assert run("search", "lent") == 0


def test_relevance_that_is_not_calibrated_hides_nothing(keeper: Keeper, capsys: pytest.CaptureFixture[str]) -> None:
    for reason in ({"calibrated": False}, {"semantic_weight": 0.5}):
        keeper.changes["search_documentation"] = {"results": scored(0.1), "answerable": "yes"} | reason
        assert run("search", "lent") == 0
        assert "How long  relevance 0.10" in capsys.readouterr().out


def test_nothing_found_names_the_folder(keeper: Keeper, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    keeper.changes["search_documentation"] = {"results": [], "total": 0}
    assert run("search", "lent") == 1
    assert f"Nothing found in {tmp_path / 'docs'}.\n" in capsys.readouterr().out


def test_a_root_that_is_not_there_is_refused(keeper: Keeper, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("search", "lent", "--root", "dcos") == 2
    assert "--root is 'dcos', and there is no such folder." in capsys.readouterr().err
    assert keeper.calls == []


def test_results_on_a_terminal_have_a_blank_line_between_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    screen = Terminal()
    rendering.search(Page(screen), answer(scored(0.9, 0.8), total=2, answerable="yes"))
    plain = [re.sub("\x1b.*?m", "", line) for line in screen.getvalue().split("\n")]
    second = next(number for number, line in enumerate(plain) if line.startswith("2. "))
    assert plain[second - 1] == ""
    assert plain[second - 2].strip()
    assert not any(line.endswith(" ") for line in plain)


def test_markdown_in_a_passage_is_rendered_on_a_terminal_with_its_matches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    screen = Terminal()
    table = "## Codes\n\n| Code | Meaning |\n|---|---|\n| **401** | no token |"
    found = result(snippet=table, highlights=[(table.index("token"), len(table) - 2)])
    rendering.search(Page(screen), answer([found]))
    assert "|" not in screen.getvalue()
    assert "**" not in screen.getvalue()
    assert "##" not in screen.getvalue()
    assert "\x1b[1;33mtoken\x1b[0m" in screen.getvalue()


@pytest.mark.parametrize(
    ("message", "hint", "said"),
    [
        ("No product 'list_products'.", "Use list_products.", "No product 'list_products'. Use `librarian products`."),
        ("max_results is 0; it must be 1 or more.", "", "--max-results is 0; it must be 1 or more."),
        ("modified_after 'x' is not a date.", "", "--after 'x' is not a date."),
        ("mode 'x' is unknown.", "In this mode nothing helps.", "--mode 'x' is unknown. In this mode nothing helps."),
        ("query is empty.", "A query isn't here; don't ask.", "The question is empty. A query isn't here; don't ask."),
    ],
)
def test_errors_are_in_the_words_of_the_command_line(
    message: str, hint: str, said: str, keeper: Keeper, capsys: pytest.CaptureFixture[str]
) -> None:
    keeper.error = CallerError(message, hint=hint)
    assert run("search", "x") == 2
    assert capsys.readouterr().err == f"{said}\n"
    keeper.error = CallerError(message, hint=hint)
    assert run("search", "x", "--json") == 2
    error = json.loads(capsys.readouterr().out)["error"]
    assert f"{error['message']} {error['hint']}".strip() == said


def test_suggestions_are_in_the_words_of_the_command_line(keeper: Keeper, capsys: pytest.CaptureFixture[str]) -> None:
    texts = ["Search with mode=hybrid: exact words count there too.", "Ask with include_weak=true.", "Drop product: 3."]
    suggestions = [{"kind": "mode", "value": "x", "text": text} for text in texts]
    keeper.changes["search_documentation"] = {"results": [], "total": 0, "suggestions": suggestions}
    run("search", "lent")
    out = capsys.readouterr().out
    assert "   Search with --mode hybrid: exact words" in out
    assert "   Ask with --all.\n   Drop --product: 3.\n" in out


@pytest.mark.parametrize(("typed", "code"), [("y\n", 0), ("n\n", 78), ("", 78)])
def test_a_question_is_asked_before_an_unconfigured_folder_is_indexed(
    typed: str,
    code: int,
    keeper: Keeper,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.delenv("CONFIG_FILE")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "none"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.chdir(tmp_path / "docs")
    assert run("search", "lent") == 78, "nobody can be asked"
    monkeypatch.setattr(sys, "stdin", Terminal(typed))
    monkeypatch.setattr(sys, "stderr", Terminal())
    assert run("search", "lent", "--json") == 78, "a program reads the answer"
    assert keeper.calls == []
    assert run("search", "lent") == code
    assert f"Index the documents in {tmp_path / 'docs'}?" in sys.stderr.getvalue()  # type: ignore[attr-defined]
    assert [call[0].parent for call in keeper.calls] == [tmp_path / "data" / "librarian" / "indexes"] * (typed == "y\n")


def test_the_layout_reaches_the_process_that_reads_the_folder(keeper: Keeper, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCS_LAYOUT", "")
    assert run("search", "lent", "--layout", "flat") == 0
    assert os.environ["DOCS_LAYOUT"] == "flat"


def test_the_program_says_its_version_and_flags_stand_alone(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--version") == 0
    assert capsys.readouterr().out == f"librarian {__version__}\n"
    for words in ([], ["search"], ["models", "fetch"]):
        assert run(*words, "--help") == 0
        assert "<bool>" not in capsys.readouterr().out


def completions(words: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> list[str]:
    monkeypatch.setenv("_LIBRARIAN_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", words)
    monkeypatch.setenv("COMP_CWORD", str(words.count(" ")))
    run()
    return capsys.readouterr().out.split()


@pytest.mark.parametrize(
    ("shell_words", "completed"),
    [
        ("librarian connect cla", ["claude-desktop", "claude-code"]),
        ("librarian config search.mo", ["search.mode"]),
        ("librarian models use all-", ["all-MiniLM-L6-v2", "all-mpnet-base-v2"]),
        ("librarian search --mode ", ["keyword", "semantic", "hybrid", "rerank", "hyde", "auto"]),
        ("librarian sta", ["status"]),
    ],
)
def test_a_shell_completes(
    shell_words: str, completed: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert completions(shell_words, monkeypatch, capsys) == completed


def test_a_shell_completes_products_while_the_daemon_runs(
    keeper: Keeper, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words = "librarian search --product bo"
    assert completions(words, monkeypatch, capsys) == []
    monkeypatch.setattr("librarian.daemon.address.read", lambda index: object())
    assert completions(words, monkeypatch, capsys) == ["books"]
    keeper.error = SetupError("The index is in use.")
    assert completions(words, monkeypatch, capsys) == []


PROGRESS = [
    {"phase": "idle"},
    {"phase": "reading", "files_done": 1, "files_total": 4, "files_per_s": 9.0},
    {"phase": "reading", "files_done": 1, "files_total": 4, "files_per_s": 9.0},
    {"phase": "embedding", "chunks_embedded": 5, "chunks_total": 10, "chunks_per_s": 50.0},
]
PROGRESS_LINES = "Reading files: 1 of 4\nPreparing search by meaning: 5 of 10 passages\n"


def test_progress_is_plain_lines_in_a_pipe_and_one_line_on_a_terminal(
    keeper: Keeper, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    keeper.progress = PROGRESS
    run("index")
    assert capsys.readouterr().err == PROGRESS_LINES
    run("index", "--json")
    assert capsys.readouterr().err == ""
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setenv("TERM", "xterm")
    run("index")
    assert PROGRESS_LINES.splitlines()[1] in screen.getvalue()
    assert screen.getvalue().endswith("\x1b[2K")


def test_a_terminal_that_knows_no_escapes_gets_lines(keeper: Keeper, monkeypatch: pytest.MonkeyPatch) -> None:
    keeper.progress = PROGRESS
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setenv("TERM", "dumb")
    run("index")
    assert screen.getvalue() == PROGRESS_LINES


def test_evaluate_asks_for_files_by_absolute_path(
    keeper: Keeper, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("q.jsonl", "q.tsv"):
        (tmp_path / name).write_text("")
    assert (
        run(
            "evaluate", "--queries", "q.jsonl", "--qrels", "q.tsv", "--modes", "keyword, semantic", "--product", "books"
        )
        == 0
    )
    assert keeper.calls[0][2] == {
        "queries": str(tmp_path / "q.jsonl"),
        "qrels": str(tmp_path / "q.tsv"),
        "modes": "keyword, semantic",
        "product": "books",
    }
    assert "1.000 [1.000, 1.000]" in capsys.readouterr().out


def test_bench_counts_every_search_that_no_cache_answered(
    keeper: Keeper, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "q.txt").write_text("one\n\ntwo\n")
    assert run("bench", "--rounds", "2", "--modes", "keyword", "--queries", "q.txt", "--json") == 0
    found = json.loads(capsys.readouterr().out)["modes"]["keyword"]
    assert (found["searches"], found["inside p50 ms"]) == (4, 4.2)
    assert {arguments["llm"] for _, verb, arguments in keeper.calls if verb == "bench"} == {False}
    assert run("bench", "--rounds", "1", "--modes", "hybrid", "--llm") == 0
    assert keeper.calls[-1][2]["llm"] is True
    (tmp_path / "empty.txt").write_text("\n")
    (tmp_path / "picture").write_bytes(b"\x89PNG")
    for name, problem in (("no.txt", "No such file"), ("empty.txt", "no question"), ("picture", "UTF-8")):
        assert run("bench", "--queries", name) == CALLER
        assert problem in capsys.readouterr().err
    keeper.changes["bench"] = {"cache": "exact"}
    assert run("bench", "--modes", ",") == CALLER
    assert "--modes is empty" in capsys.readouterr().err
    assert run("bench", "--rounds", "1", "--modes", "keyword") == 0
    assert "keyword  0  " in capsys.readouterr().out


def test_a_relay_costs_only_the_standard_library(tmp_path: Path) -> None:
    code = (
        "import sys, types; from librarian.cli import main; m = types.ModuleType('librarian.daemon.stdio_bridge');"
        "m.main = lambda a: print(a) or 0; sys.modules['librarian.daemon.stdio_bridge'] = m;"
        "code = main.run(['stdio', '--config', 'x']);"
        "assert not {'typer', 'rich', 'pydantic', 'numpy'} & set(sys.modules); sys.exit(code)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=Path(main.__file__).parents[2]
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "['--config', 'x']\n", "")


def test_asking_the_keeper_loads_no_settings_and_no_arrays(tmp_path: Path) -> None:
    code = (
        "import sys; from librarian.cli import main; from librarian.daemon import client;"
        "client.call = lambda *a, **k: {'products': [], 'total': 0};"
        "code = main.run(['products']);"
        "assert not {'rich', 'numpy', 'pydantic_settings', 'librarian.settings'} & set(sys.modules); sys.exit(code)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=Path(main.__file__).parents[2]
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(("score", "line"), [(0.81, "Overdue  Excellent 0.81\n"), (None, "Overdue\n")])
def test_mails_that_filters_alone_chose_show_no_score(score: float | None, line: str) -> None:
    out = io.StringIO()
    rendering.search(Page(out), answer([result(**MAIL, relevance_score=score)]))
    assert line in out.getvalue()


def test_a_mail_with_replies_names_the_command_that_shows_them() -> None:
    out = io.StringIO()
    rendering.search(Page(out), answer([result(**MAIL, thread_size=3)]))
    assert "  1 of 3 emails: librarian thread t1" in out.getvalue()


def test_words_that_a_mail_quotes_arent_told_as_its_senders() -> None:
    out = io.StringIO()
    rendering.search(Page(out), answer([result(**MAIL, heading_path=["Quoted"], why=[])]))
    assert "1. quoted by ann@example.org  2026-01-02  Overdue" in out.getvalue()
