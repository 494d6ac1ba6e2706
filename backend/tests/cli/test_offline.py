"""The proof that no other machine is needed: what is proved here of the proof.

* What a watched process and its children look up, connect or send to is written down, but for this machine.
* Indexing and searching ask for nothing; the trial leaves nothing behind in the library.
* A trial that can't be finished says why.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from librarian.settings import Settings
from librarian.terminal import offline
from librarian.terminal.doctor import examine

ASKING = """
import multiprocessing, socket, sys

def ask(name):
    for call in (
        lambda: socket.getaddrinfo(name, 80),
        lambda: socket.create_connection(("127.0.0.1", 9), 0.1),
        lambda: socket.getaddrinfo("localhost", 80),
    ):
        try:
            call()
        except OSError:
            pass

if __name__ == "__main__":
    ask("parent.invalid")
    child = multiprocessing.get_context(sys.argv[1]).Process(target=ask, args=("child.invalid",))
    child.start()
    child.join()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        try:
            sender.sendto(b"x", ("192.0.2.1", 9))
        except OSError:
            pass
"""


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_every_process_of_a_trial_is_watched(tmp_path: Path, method: str) -> None:
    script = tmp_path / "asking.py"
    script.write_text(ASKING)
    environment, written = offline.watched(tmp_path)
    subprocess.run([sys.executable, str(script), method], env=environment, check=True, timeout=300)
    assert set(written.read_text().split()) == {"parent.invalid", "child.invalid", "192.0.2.1"}


def test_indexing_and_searching_ask_for_nobody(tmp_path: Path) -> None:
    config = tmp_path / "config.json"
    config.write_text(json.dumps({"embeddings": {"enabled": False}}))
    proof = offline.prove(Settings.load(config))
    assert proof.problem == ""
    assert proof.hosts == ()
    assert proof.documents == 2
    assert proof.searches == 4
    assert sorted(path.name for path in tmp_path.iterdir()) == ["config.json"]


@pytest.mark.parametrize("store", ["auto", "sqlite-vec", "qdrant"])
def test_every_vector_store_without_a_server_is_tried_beside_the_library(tmp_path: Path, store: str) -> None:
    config = tmp_path / "config.json"
    config.write_text(json.dumps({"embeddings": {"enabled": False}, "vector_db": {"store": store}}))
    found = [item for item in examine(Settings.load(config), offline=True) if item.what == "offline"]
    assert [item.verdict for item in found] == ["ok", "ok"]
    assert "2 documents indexed" in found[1].detail
    assert sorted(path.name for path in tmp_path.iterdir()) == ["config.json"]


def test_a_server_of_vectors_is_not_written_to_by_a_trial(tmp_path: Path) -> None:
    config = tmp_path / "config.json"
    config.write_text(
        json.dumps({"vector_db": {"store": "qdrant"}, "storage": {"qdrant_url": "http://127.0.0.1:6333"}})
    )
    *_, last = examine(Settings.load(config), offline=True)
    assert (last.verdict, last.detail) == ("note", "no trial: it would write into the database of this library")


def test_a_trial_that_cannot_be_finished_says_why(tmp_path: Path) -> None:
    config = tmp_path / "config.json"
    config.write_text(json.dumps({"embeddings": {"enabled": False}}))
    settings = Settings.load(config)
    config.write_text("{")
    assert "config.json" in offline.prove(settings).problem
