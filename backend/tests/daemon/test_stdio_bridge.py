"""Properties of the stdio bridge, with real processes:

* A host gets its answers through it, whether or not a daemon ran; ten at once start one daemon.
* It ends with its stdin, after the answers that are due; nothing but protocol is on its stdout.
* A daemon killed in mid-request fails that request clearly; the next one is answered by a new daemon.
* What a daemon that shuts down hasn't answered is answered by the next.
* A daemon that can't start, hangs, or is older than the bridge: each ends in a clear answer or a new daemon.
* It is small and quick. Progress, cancellation and subscriptions: `tests/api/test_process.py`, `test_doors.py`.
"""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import psutil
import pytest

from librarian.api.security import MAX_BODY
from librarian.daemon import address, client
from librarian.daemon.address import Address
from librarian.daemon.client import Daemon, connect
from librarian.daemon.discovery import Library
from librarian.daemon.stdio_bridge import LONGEST_LINE, StdioBridge, main, run
from librarian.files.lock import DAEMON, FolderLock
from librarian.files.owned_folder import claim_index
from tests.daemon.conftest import StartBridge
from tests.daemon.processes import BACKEND, ECHO, BridgeProcess, daemon_of, until


def daemon_pid(index: Path) -> int:
    found = address.read(index)
    assert found is not None
    return found.pid


def shake_hands(bridge: BridgeProcess) -> dict[str, Any]:
    answer = bridge.ask(0, "initialize", params={"protocolVersion": "2025-11-25"})
    bridge.send(None, "notifications/initialized")
    return answer


def dead(pid: int) -> bool:
    try:
        os.kill(pid, 0)
        return Path(f"/proc/{pid}/stat").read_text().split()[2] == "Z" if sys.platform == "linux" else False
    except (ProcessLookupError, FileNotFoundError):  # it may go between the two
        return True


def test_a_host_is_answered_and_the_daemon_is_started(bridge: StartBridge, index: Path) -> None:
    one = bridge()
    assert shake_hands(one)["result"]["method"] == "initialize"
    result = one.ask(1, "tools/list")["result"]
    assert result["method"] == "tools/list"
    assert result["pid"] == daemon_pid(index) != one.process.pid
    assert one.end() == 0
    assert one.left() == []


def test_ten_bridges_at_once_start_one_daemon(bridge: StartBridge, index: Path) -> None:
    bridges = [bridge() for _ in range(10)]
    for one in bridges:
        one.send(0, "initialize")
    assert {one.receive()["result"]["pid"] for one in bridges} == {daemon_pid(index)}
    assert (index / "daemon.log").read_bytes().count(b"daemon started") == 1


@pytest.mark.parametrize("before", [None, 0o644])
def test_the_daemons_log_which_may_tell_of_questions_is_for_this_user_alone(
    bridge: StartBridge, index: Path, before: int | None
) -> None:
    log = index / "daemon.log"
    if before is not None:
        claim_index(index)
        log.write_text("of an earlier version\n")
        log.chmod(before)
    shake_hands(bridge())
    assert stat.S_IMODE(log.stat().st_mode) == 0o600
    assert log.read_text("utf-8").startswith("of an earlier" if before else "--- daemon started")


def test_a_log_that_grows_long_under_a_daemon_begins_anew(index: Path) -> None:
    writing = "sys.stderr.write('x' * 100 + '\\n'); sys.stderr.flush(); shorten_log(Path(sys.argv[1]))"
    code = f"import sys; from pathlib import Path; from librarian.daemon.client import shorten_log; {writing}"
    environ = {**os.environ, "PYTHONPATH": str(BACKEND)}
    for before, left in ((1 << 20, 0), (1000, 1101)):
        (index / "daemon.log").write_bytes(b"x" * before)
        with open(index / "daemon.log", "ab") as log:
            subprocess.run([sys.executable, "-c", code, str(index)], stderr=log, check=True, env=environ)
        assert (index / "daemon.log").stat().st_size == left
    with open(index / "other.log", "wb") as log:  # what isn't its own log is left alone
        log.write(b"x" * (1 << 20))
        log.flush()
        subprocess.run([sys.executable, "-c", code, str(index)], stderr=log, check=True, env=environ)
    assert (index / "other.log").stat().st_size == (1 << 20) + 101


def test_the_daemon_is_told_the_revision_and_the_name_of_the_host(bridge: StartBridge) -> None:
    one = bridge()
    one.ask(0, "initialize", params={"protocolVersion": "2025-11-25", "clientInfo": {"name": "mine", "version": "7"}})
    headers = one.ask(1, "tools/list")["result"]["headers"]
    assert (headers["user-agent"], headers["mcp-protocol-version"]) == ("mine/7", "2025-11-25")
    assert "mcp-method" not in headers
    envelope = {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}
    given = {"name": "größe", "_meta": envelope}
    headers = one.ask(2, "tools/call", params=given)["result"]["headers"]
    assert (headers["mcp-protocol-version"], headers["mcp-method"]) == ("2026-07-28", "tools/call")
    assert headers["mcp-name"] == "=?base64?Z3LDtsOfZQ==?="


def test_paths_with_blanks_and_a_configuration_reach_the_daemon(bridge: StartBridge, index: Path) -> None:
    config = index.parent / "my config.json"
    config.write_text('{"docs": {"root_path": "my docs"}}')
    shake_hands(bridge("--config=my config.json", "--root", "the root"))
    command = client.call(Library(index), "echo", {})["command"]
    assert command[1:] == ["--config", str(config), "--root", str(index.parent / "the root"), "--index", str(index)]


# -- its end -------------------------------------------------------------------------------------------------------


def test_answers_that_are_due_come_before_it_ends(bridge: StartBridge) -> None:
    one = bridge()
    for number in range(20):
        one.send(number, "tools/call", params={"size": 100_000})
    assert one.end() == 0
    assert sorted(json.loads(line)["id"] for line in one.left()) == list(range(20))


def test_it_ends_with_stdin_although_the_daemon_lives(bridge: StartBridge, index: Path) -> None:
    one = bridge()
    shake_hands(one)
    assert one.end() == 0
    assert daemon_of(index) is not None


def test_it_ends_where_the_host_no_longer_reads() -> None:
    # nobody reads the pipe's other end
    reading, writing = os.pipe()
    os.close(reading)

    def write(data: bytes) -> None:
        os.write(writing, data)

    host_reading, host_writing = os.pipe()
    os.write(host_writing, b"no json\n" * 3)
    os.close(host_writing)
    with os.fdopen(host_reading, "rb") as source:
        library = Library(Path("/dev/null/index"), program=ECHO)
        assert run(library, source, write) == 0
    os.close(writing)


def test_nothing_but_protocol_is_on_stdout_whatever_a_library_prints(bridge: StartBridge) -> None:
    one = bridge(environ={"NOISE": "1"})
    shake_hands(one)
    one.end()
    assert one.left() == []
    assert "a library prints" in one.errors()
    assert "so does a child" in one.errors()


# -- the daemon's end ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("death", ["kill", "die"])
def test_a_daemon_that_dies_in_mid_request_fails_it_and_the_next_is_answered(
    bridge: StartBridge, index: Path, death: str
) -> None:
    one = bridge()
    shake_hands(one)
    first = daemon_pid(index)
    one.send("open", "silence" if death == "kill" else "die")
    if death == "kill":
        assert one.receive()["method"] == "begun"
        os.kill(first, signal.SIGKILL)
    failed = one.receive()
    assert failed["id"] == "open"
    assert failed["error"]["code"] == -32000
    assert "Send the request again" in failed["error"]["message"]
    assert one.ask(6, "tools/list")["result"]["pid"] != first
    one.end()
    assert one.left() == []


def test_a_handshake_that_a_killed_daemon_has_not_answered_is_sent_to_the_next(
    bridge: StartBridge, index: Path
) -> None:
    one = bridge()
    assert one.ask(0, "tools/list")["id"] == 0
    first = daemon_pid(index)
    os.kill(first, signal.SIGSTOP)
    one.send(1, "initialize")
    os.kill(first, signal.SIGKILL)
    answer = one.receive()
    assert answer["id"] == 1
    assert answer["result"]["pid"] != first


def test_a_daemon_that_shuts_down_leaves_its_open_requests_to_the_next(bridge: StartBridge, index: Path) -> None:
    one = bridge()
    shake_hands(one)
    first = daemon_pid(index)
    one.send("open", "silence-once")
    assert one.receive()["method"] == "begun"
    assert client.shut_down_daemon(index)
    answer = one.receive()
    assert answer["id"] == "open"
    assert answer["result"]["method"] == "silence-once"
    assert answer["result"]["pid"] != first
    assert one.ask(2, "tools/list")["result"]["pid"] != first


def test_a_cancelled_request_is_not_answered(bridge: StartBridge, index: Path) -> None:
    one = bridge()
    shake_hands(one)
    one.send("open", "silence")
    assert one.receive()["method"] == "begun"
    one.send(None, "notifications/cancelled", params={"requestId": "open"})
    assert one.ask(1, "tools/list")["id"] == 1
    assert one.end() == 0
    assert one.left() == []


def test_what_is_sent_after_a_daemons_death_is_answered_by_the_next(bridge: StartBridge, index: Path) -> None:
    one = bridge()
    shake_hands(one)
    first = daemon_pid(index)
    os.kill(first, signal.SIGKILL)
    until(lambda: dead(first), "its death")
    assert one.ask(1, "tools/list")["result"]["pid"] != first


def test_a_bridge_says_where_other_settings_are_in_force_and_takes_those_of_later_daemons(
    library: Library, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    answers: list[dict[str, Any]] = []
    monkeypatch.setenv("ECHO_SETTINGS", "the server's")
    monkeypatch.setenv("ECHO_ROLE", "serve")
    first = connect(library).address.pid
    bridge = StdioBridge(library._replace(settings="the host's"), lambda line: answers.append(json.loads(line)))
    bridge.open()
    assert "The settings in force are those that" in capsys.readouterr().err
    os.kill(first, signal.SIGKILL)
    until(lambda: dead(first), "its death")
    monkeypatch.setenv("ECHO_SETTINGS", "changed since")
    monkeypatch.delenv("ECHO_ROLE")
    later = connect(library._replace(settings="changed since"))
    bridge.forward(b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}\n')
    until(lambda: len(answers) == 1, "an answer")
    bridge.close()
    assert answers[0]["result"]["pid"] == later.address.pid


def test_where_one_daemon_after_the_other_makes_way_it_is_said(
    library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers: list[dict[str, Any]] = []
    gone = Daemon(Address(1, "1.0", str(library.index / "gone")))
    monkeypatch.setattr("librarian.daemon.stdio_bridge.connect", lambda *given, **more: gone)
    bridge = StdioBridge(library, lambda line: answers.append(json.loads(line)))
    bridge.forward(b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}\n')
    until(lambda: len(answers) == 1, "an answer")
    assert "5 daemons have made way, one after another." in answers[0]["error"]["message"]
    bridge.close()


# -- daemons that don't work ---------------------------------------------------------------------------------------


def test_a_wrong_configuration_is_the_answer_and_ends_with_78(bridge: StartBridge) -> None:
    one = bridge(environ={"ECHO_MODE": "setup"})
    error = one.ask(0, "initialize")["error"]
    assert error == {"code": -32000, "message": "embeddings.model 'x' is unknown. Nearest: 'y'."}
    assert one.end() == 78
    assert "Nearest: 'y'" in one.errors()


def test_a_daemon_that_crashes_while_starting_is_named_with_its_last_words(bridge: StartBridge) -> None:
    one = bridge(environ={"ECHO_MODE": "crash"})
    message = one.ask(0, "initialize")["error"]["message"]
    assert "out of luck" in message
    assert "daemon.log" in message
    assert one.end() == 0


def test_a_daemon_that_hangs_gives_a_clear_answer(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ECHO_MODE", "deaf")
    answers: list[bytes] = []
    tries: list[str] = []

    def counted(*given: Any, **more: Any) -> Any:
        tries.append("tried")
        return connect(*given, **more)

    monkeypatch.setattr("librarian.daemon.stdio_bridge.connect", counted)
    bridge = StdioBridge(library, answers.append, reply_s=0.2)
    bridge.open()
    bridge.forward(b'{"jsonrpc":"2.0","id":7,"method":"initialize"}\n')
    bridge.close()
    pid = daemon_pid(library.index)
    assert len(tries) == 1, "a line that came meanwhile waited once more"
    (answer,) = (json.loads(line) for line in answers)
    assert answer["id"] == 7
    assert f"`kill -9 {pid}`" in answer["error"]["message"]
    os.kill(pid, signal.SIGKILL)


def test_an_index_folder_that_cannot_be_written_is_named(tmp_path: Path, bridge: StartBridge) -> None:
    (tmp_path / "file").write_text("")
    folder = tmp_path / "file" / "index"
    one = bridge("--index", str(folder))
    message = one.ask(0, "initialize")["error"]["message"]
    assert str(folder) in message
    assert "INDEX_PATH" in message
    assert one.end() == 78


def test_what_a_dead_daemon_left_behind_is_no_obstacle(bridge: StartBridge, index: Path) -> None:
    one = bridge()
    shake_hands(one)
    one.end()
    first = daemon_pid(index)
    os.kill(first, signal.SIGKILL)
    until(lambda: dead(first), "its death")
    assert address.read(index) is not None
    assert shake_hands(bridge())["result"]["pid"] != first


def test_who_holds_the_folder_without_an_address_is_waited_for_and_followed(
    library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = FolderLock(library.index, DAEMON)
    looks: list[bool] = []

    def looking(*given: Any, **more: Any) -> Any:
        looks.append(True)
        if len(looks) == 5:
            assert not (library.index / "daemon.log").exists(), "another was started beside it"
            other.release()
        return look(*given, **more)

    look = client._reach
    monkeypatch.setattr(client, "_reach", looking)
    assert other.acquire(version="1.0")
    assert connect(library).started
    assert (library.index / "daemon.log").read_bytes().count(b"daemon started") == 1


def test_a_daemon_that_ends_because_another_has_the_folder_is_no_failure(
    library: Library, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    other = FolderLock(library.index, DAEMON)
    mark, gate = tmp_path / "started once", tmp_path / "gate"
    os.mkfifo(gate)
    ends_once_let = ("sh", "-c", f'if [ -e "{mark}" ]; then exec "$@"; else cat "{gate}"; touch "{mark}"; fi', "sh")
    looks: list[bool] = []

    def looking(*given: Any, **more: Any) -> Any:
        if mark.exists() and not any(thread.name == "daemon's end" for thread in threading.enumerate()):
            looks.append(True)
        if len(looks) == 3:
            other.release()
        elif not looks:
            spawned.append(True)
            if len(spawned) == 3:
                assert other.acquire(version="1.0")
                gate.write_text("")  # now it may end
        return look(*given, **more)

    spawned: list[bool] = []
    look = client._reach
    monkeypatch.setattr(client, "_reach", looking)
    assert connect(library._replace(program=(*ends_once_let, *library.program))).started


# -- versions ------------------------------------------------------------------------------------------------------


def test_an_older_daemon_makes_way_for_a_newer_bridge(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ECHO_VERSION", "0.9")
    old = connect(library).address
    monkeypatch.setenv("ECHO_VERSION", "1.0")
    new = connect(library).address
    assert (old.version, new.version) == ("0.9", "1.0")
    assert old.pid != new.pid


def test_a_newer_daemon_serves_an_older_bridge(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ECHO_VERSION", "1.10")
    first = connect(library)
    again = connect(library)
    assert first.address == again.address
    assert (first.started, again.started) == (True, False)


def test_an_older_server_that_a_person_started_stays(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ECHO_VERSION", "0.9")
    monkeypatch.setenv("ECHO_ROLE", "serve")
    assert connect(library).address.pid == connect(library).address.pid


# -- its own words -------------------------------------------------------------------------------------------------


def test_a_line_that_is_no_message_is_answered_and_the_next_one_works(bridge: StartBridge) -> None:
    one = bridge()
    one.send_line(b'\n[1, 2]\n{nonsense\n{"jsonrpc":"2.0","id":[1],"method":"ping"}\n')
    assert [one.receive()["error"]["code"] for _ in range(3)] == [-32700, -32700, -32600]
    assert shake_hands(one)["id"] == 0


def test_a_line_without_bottom_ends_nothing(bridge: StartBridge) -> None:
    one = bridge()
    one.send_line(b"[" * 200_000 + b"\n")
    assert one.receive()["error"]["code"] == -32700
    assert shake_hands(one)["id"] == 0


def test_a_message_that_is_too_long_is_refused_by_its_id_and_the_daemon_lives_on(bridge: StartBridge) -> None:
    assert LONGEST_LINE == MAX_BODY
    one = bridge()
    pid = shake_hands(one)["result"]["pid"]
    error = one.ask(1, "tools/call", params={"text": "x" * LONGEST_LINE})["error"]
    assert error["code"] == -32600
    assert "at most 4,194,304 are taken. Send less at once." in error["message"]
    assert one.ask(2, "tools/list")["result"]["pid"] == pid


def test_an_unknown_option_is_an_error_with_the_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--root"]) == 2
    assert "--root: expected one argument" in capsys.readouterr().err
    assert main(["--rot", "x"]) == 2
    assert "[--config FILE] [--root DIR] [--index DIR]" in capsys.readouterr().err
    assert main(["--help"]) == 0
    assert capsys.readouterr().out.startswith("usage: librarian stdio")


def test_a_missing_configuration_file_ends_with_78(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--config", "/nowhere/config.json"]) == 78
    assert "Correct --config" in capsys.readouterr().err


# -- its cost ------------------------------------------------------------------------------------------------------


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_it_is_small_and_quick(bridge: StartBridge, tmp_path: Path) -> None:
    compiled = {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": str(tmp_path / "bytecode")}  # as when installed
    shake_hands(bridge(environ=compiled))
    times = []
    measured_for_coverage = any(name.startswith("COV") for name in os.environ)
    for _ in range(5):
        one = bridge(environ=compiled)
        shake_hands(one)
        times.append(sum(psutil.Process(one.process.pid).cpu_times()[:2]))
        status = Path(f"/proc/{one.process.pid}/status").read_text()
        resident = int(status.split("VmRSS:")[1].split()[0]) / 1024
        assert resident < 14.5 or measured_for_coverage, f"{resident} MB"
    # seconds of the processor, because the clock on the wall counts what else runs here
    assert min(times) < 0.5, times
