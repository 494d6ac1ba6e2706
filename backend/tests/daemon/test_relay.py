"""Properties of the relay, with real processes:

* A host gets its answers through it, whether or not a daemon ran; ten at once start one daemon.
* It ends with its stdin, after the answers that are due; nothing but protocol is on its stdout.
* A daemon killed in mid-request fails that request clearly; the next one is answered by a new daemon, which was told
  the same handshake, level and subscriptions; the host sees none of it.
* A daemon that can't start, hangs, or is older than the relay: each ends in a clear answer or a new daemon.
* It is small and quick.
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

from librarian.api.mcp_transports import LONGEST_LINE as LONGEST_TAKEN
from librarian.daemon import address, client
from librarian.daemon.client import Library, connect
from librarian.daemon.stdio_bridge import LONGEST_LINE, StdioBridge, main, run
from librarian.errors import Unavailable
from librarian.files.lock import DAEMON, FolderLock
from librarian.files.owned_folder import claim_index
from tests.daemon.conftest import StartRelay
from tests.daemon.processes import BACKEND, ECHO, RelayProcess, keeper_of, until


def keeper_pid(index: Path) -> int:
    found = address.read(index)
    assert found is not None
    return found.pid


def shake_hands(bridge: RelayProcess) -> dict[str, Any]:
    answer = bridge.ask(0, "initialize", params={"protocolVersion": "2025-11-25"})
    bridge.send(None, "notifications/initialized")
    return answer


def dead(pid: int) -> bool:
    try:
        os.kill(pid, 0)
        return Path(f"/proc/{pid}/stat").read_text().split()[2] == "Z" if sys.platform == "linux" else False
    except (ProcessLookupError, FileNotFoundError):  # it may go between the two
        return True


def test_a_host_is_answered_and_the_keeper_is_started(bridge: StartRelay, index: Path) -> None:
    one = bridge()
    assert shake_hands(one)["result"]["method"] == "initialize"
    result = one.ask(1, "tools/list")["result"]
    assert result["seen"] == ["initialize", "notifications/initialized", "tools/list"]
    assert result["pid"] == keeper_pid(index) != one.process.pid
    assert one.end() == 0
    assert one.left() == []


def test_ten_relays_at_once_start_one_keeper(bridge: StartRelay, index: Path) -> None:
    relays = [bridge() for _ in range(10)]
    for one in relays:
        one.send(0, "initialize")
    assert {one.receive()["result"]["pid"] for one in relays} == {keeper_pid(index)}
    assert (index / "daemon.log").read_bytes().count(b"daemon started") == 1


@pytest.mark.parametrize("before", [None, 0o644])
def test_the_keepers_log_which_may_tell_of_questions_is_for_this_user_alone(
    bridge: StartRelay, index: Path, before: int | None
) -> None:
    log = index / "daemon.log"
    if before is not None:
        claim_index(index)
        log.write_text("of an earlier version\n")
        log.chmod(before)
    shake_hands(bridge())
    assert stat.S_IMODE(log.stat().st_mode) == 0o600
    assert log.read_text("utf-8").startswith("of an earlier" if before else "--- daemon started")


def test_a_log_that_grows_long_under_a_keeper_begins_anew(index: Path) -> None:
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


def test_two_libraries_lie_side_by_side(bridge: StartRelay, index: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    try:
        first, second = bridge(), bridge(at=other)
        assert shake_hands(first)["result"]["pid"] != shake_hands(second)["result"]["pid"]
    finally:
        client.shut_down_daemon(other)


def test_paths_with_blanks_and_a_configuration_reach_the_keeper(bridge: StartRelay, index: Path) -> None:
    config = index.parent / "my config.json"
    config.write_text('{"docs": {"root_path": "my docs"}}')
    shake_hands(bridge("--config=my config.json", "--root", "the root"))
    command = client.call(index, "echo", {})["command"]
    assert command[1:] == ["--config", str(config), "--root", str(index.parent / "the root"), "--index", str(index)]


# -- its end -------------------------------------------------------------------------------------------------------


def test_answers_that_are_due_come_before_it_ends(bridge: StartRelay) -> None:
    one = bridge()
    for number in range(20):
        one.send(number, "tools/call", params={"size": 100_000})
    assert one.end() == 0
    assert [json.loads(line)["id"] for line in one.left()] == list(range(20))


def test_it_ends_with_stdin_although_the_keeper_lives(bridge: StartRelay, index: Path) -> None:
    one = bridge()
    shake_hands(one)
    assert one.end() == 0
    assert keeper_of(index) is not None


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


def test_nothing_but_protocol_is_on_stdout_whatever_a_library_prints(bridge: StartRelay) -> None:
    one = bridge(environ={"NOISE": "1"})
    shake_hands(one)
    one.end()
    assert one.left() == []
    assert "a library prints" in one.errors()
    assert "so does a child" in one.errors()


# -- the daemon's end ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("death", ["kill", "die"])
def test_a_keeper_that_dies_in_mid_request_fails_it_and_the_next_is_answered(
    bridge: StartRelay, index: Path, death: str
) -> None:
    one = bridge()
    shake_hands(one)
    one.ask(1, "logging/setLevel", params={"level": "debug"})
    one.ask(2, "resources/subscribe", params={"uri": "librarian://docs/a.md"})
    one.ask(3, "resources/subscribe", params={"uri": "librarian://docs/b.md"})
    one.ask(4, "resources/unsubscribe", params={"uri": "librarian://docs/a.md"})
    first = keeper_pid(index)
    one.send("open", "silence" if death == "kill" else "die")
    if death == "kill":
        assert one.ask(5, "ping")["result"]["seen"][-2:] == ["silence", "ping"]
        os.kill(first, signal.SIGKILL)
    failed = one.receive()
    assert failed["id"] == "open"
    assert failed["error"]["code"] == -32000
    assert "Send the request again" in failed["error"]["message"]
    result = one.ask(6, "tools/list")["result"]
    assert result["pid"] != first
    assert result["seen"] == [
        "initialize",
        "notifications/initialized",
        "logging/setLevel",
        "resources/subscribe",
        "tools/list",
    ]
    one.end()
    assert one.left() == []


def test_an_unanswered_handshake_is_repeated_to_the_next_keeper(bridge: StartRelay, index: Path) -> None:
    other = bridge()
    shake_hands(other)
    first = keeper_pid(index)
    os.kill(first, signal.SIGSTOP)
    one = bridge()
    one.send(0, "initialize")
    os.kill(first, signal.SIGKILL)
    answer = one.receive()
    assert answer["id"] == 0
    assert answer["result"]["pid"] != first


def test_a_keeper_that_retires_hands_its_open_requests_to_the_next(bridge: StartRelay, index: Path) -> None:
    one = bridge()
    shake_hands(one)
    first = keeper_pid(index)
    one.send("open", "silence-once")
    assert one.ask(1, "ping")["result"]["seen"][-1] == "ping"
    assert client.shut_down_daemon(index)
    answer = one.receive()
    assert answer["id"] == "open"
    assert answer["result"]["seen"] == ["initialize", "notifications/initialized", "silence-once"]
    assert answer["result"]["pid"] != first
    assert one.ask(2, "tools/list")["result"]["pid"] != first


def test_a_keeper_that_retires_during_the_handshake_is_followed_by_the_next(
    bridge: StartRelay, index: Path, tmp_path: Path
) -> None:
    shaken = tmp_path / "shaken"
    one = bridge(environ={"ECHO_MUTE": str(shaken)})
    shake_hands(one)
    first = keeper_pid(index)
    one.send("lost", "silence")
    assert "silence" in one.ask("after", "tools/list")["result"]["seen"]
    os.kill(first, signal.SIGKILL)
    assert one.receive()["id"] == "lost"  # what is sent from now on goes to the next daemon
    one.send("open", "tools/list")
    until(lambda: shaken.read_text() == "..", "the second handshake")
    second = keeper_pid(index)
    assert client.shut_down_daemon(index)
    answer = one.receive()
    assert answer["id"] == "open"
    assert answer["result"]["pid"] not in (first, second)
    assert answer["result"]["seen"] == ["initialize", "notifications/initialized", "tools/list"]


def test_a_line_that_meets_a_keepers_death_is_answered(library: Library) -> None:
    answers: list[dict[str, Any]] = []
    go_on = threading.Event()

    def write(line: bytes) -> None:
        answers.append(json.loads(line))
        assert go_on.wait(30)

    bridge = StdioBridge(library, write)
    bridge.forward(b'{"jsonrpc":"2.0","id":0,"method":"initialize"}\n')
    until(lambda: len(answers) == 1, "the handshake")
    pid = keeper_pid(library.index)
    os.kill(pid, signal.SIGKILL)
    until(lambda: dead(pid), "its death")
    bridge.forward(b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}\n')  # before the end of the connection was read
    go_on.set()
    until(lambda: len(answers) == 2, "an answer")
    bridge.close()
    assert answers[1]["id"] == 1
    assert "Send the request again" in answers[1]["error"]["message"]


def test_a_relay_says_where_other_settings_are_in_force_and_takes_those_of_later_keepers(
    library: Library, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    answers: list[dict[str, Any]] = []
    monkeypatch.setattr("librarian.daemon.stdio_bridge.BRIEF_S", 60.0)  # it isn't followed before it is needed
    monkeypatch.setenv("ECHO_SETTINGS", "the server's")
    monkeypatch.setenv("ECHO_ROLE", "serve")
    connect(library, "ping").lines.close()
    bridge = StdioBridge(library._replace(settings="the host's"), lambda line: answers.append(json.loads(line)))
    bridge.open()
    assert "The settings in force are those that" in capsys.readouterr().err
    first = keeper_pid(library.index)
    os.kill(first, signal.SIGKILL)
    until(lambda: dead(first) and relay_has_noticed(bridge), "its death")
    monkeypatch.setenv("ECHO_SETTINGS", "changed since")
    monkeypatch.delenv("ECHO_ROLE")
    later = connect(library._replace(settings="changed since"), "ping")
    later.lines.close()
    bridge.forward(b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}\n')
    until(lambda: len(answers) == 1, "an answer")
    bridge.close()
    assert answers[0]["result"]["pid"] == later.info.pid


def relay_has_noticed(bridge: StdioBridge) -> bool:
    return bridge._lines is None


def test_where_one_keeper_after_the_other_makes_way_it_is_said(
    library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers: list[dict[str, Any]] = []
    monkeypatch.setattr(StdioBridge, "_repeat", lambda self, lines: False)
    bridge = StdioBridge(library, lambda line: answers.append(json.loads(line)))
    bridge.forward(b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}\n')
    assert "5 daemons have made way, one after another." in answers[0]["error"]["message"]
    bridge.close()


# -- daemons that don't work ---------------------------------------------------------------------------------------


def test_a_wrong_configuration_is_the_answer_and_ends_with_78(bridge: StartRelay) -> None:
    one = bridge(environ={"ECHO_MODE": "setup"})
    error = one.ask(0, "initialize")["error"]
    assert error == {"code": -32000, "message": "embeddings.model 'x' is unknown. Nearest: 'y'."}
    assert one.end() == 78
    assert "Nearest: 'y'" in one.errors()


def test_a_keeper_that_crashes_while_starting_is_named_with_its_last_words(bridge: StartRelay) -> None:
    one = bridge(environ={"ECHO_MODE": "crash"})
    message = one.ask(0, "initialize")["error"]["message"]
    assert "out of luck" in message
    assert "daemon.log" in message
    assert one.end() == 0


def test_a_keeper_that_hangs_gives_a_clear_answer(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
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
    pid = keeper_pid(library.index)
    assert len(tries) == 1, "a line that came meanwhile waited once more"
    (answer,) = (json.loads(line) for line in answers)
    assert answer["id"] == 7
    assert f"`kill -9 {pid}`" in answer["error"]["message"]
    os.kill(pid, signal.SIGKILL)


def test_an_index_folder_that_cannot_be_written_is_named(tmp_path: Path, bridge: StartRelay) -> None:
    (tmp_path / "file").write_text("")
    folder = tmp_path / "file" / "index"
    one = bridge("--index", str(folder))
    message = one.ask(0, "initialize")["error"]["message"]
    assert str(folder) in message
    assert "INDEX_PATH" in message
    assert one.end() == 78


def test_what_a_dead_keeper_left_behind_is_no_obstacle(bridge: StartRelay, index: Path) -> None:
    one = bridge()
    shake_hands(one)
    one.end()
    first = keeper_pid(index)
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
    greeted = connect(library, "ping")
    greeted.lines.close()
    assert greeted.started
    assert (library.index / "daemon.log").read_bytes().count(b"daemon started") == 1


def test_a_keeper_that_ends_because_another_has_the_folder_is_no_failure(
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
    greeted = connect(library._replace(program=(*ends_once_let, *library.program)), "ping")
    greeted.lines.close()
    assert greeted.started


# -- versions ------------------------------------------------------------------------------------------------------


def test_an_older_keeper_makes_way_for_a_newer_relay(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ECHO_VERSION", "0.9")
    old = connect(library, "ping")
    old.lines.close()
    monkeypatch.setenv("ECHO_VERSION", "1.0")
    new = connect(library, "mcp")
    new.lines.close()
    assert (old.info.version, new.info.version) == ("0.9", "1.0")
    assert old.info.pid != new.info.pid


def test_a_newer_keeper_serves_an_older_relay(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ECHO_VERSION", "1.10")
    first = connect(library, "ping")
    again = connect(library, "ping")
    assert first.info == again.info
    assert (first.started, again.started) == (True, False)
    for greeted in (first, again):
        greeted.lines.close()


def test_an_older_server_that_a_person_started_stays(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ECHO_VERSION", "0.9")
    monkeypatch.setenv("ECHO_ROLE", "serve")
    pids = set()
    for _ in range(2):
        greeted = connect(library, "ping")
        pids.add(greeted.info.pid)
        greeted.lines.close()
    assert len(pids) == 1


def test_none_is_started_where_that_is_not_wanted(library: Library) -> None:
    with pytest.raises(Unavailable, match="librarian serve"):
        connect(library, "mcp", may_start=False)


# -- its own words -------------------------------------------------------------------------------------------------


def test_a_line_that_is_no_message_is_answered_and_the_next_one_works(bridge: StartRelay) -> None:
    one = bridge()
    one.send_line(b'\n[1, 2]\n{nonsense\n{"jsonrpc":"2.0","id":[1],"method":"ping"}\n')
    assert [one.receive()["error"]["code"] for _ in range(3)] == [-32700, -32700, -32600]
    assert shake_hands(one)["id"] == 0


def test_a_line_without_bottom_ends_nothing(bridge: StartRelay) -> None:
    one = bridge()
    one.send_line(b"[" * 200_000 + b"\n")
    assert one.receive()["error"]["code"] == -32700
    assert shake_hands(one)["id"] == 0


def test_a_message_that_is_too_long_is_refused_by_its_id_and_the_keeper_lives_on(bridge: StartRelay) -> None:
    assert LONGEST_LINE == LONGEST_TAKEN
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
def test_it_is_small_and_quick(bridge: StartRelay, tmp_path: Path) -> None:
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
