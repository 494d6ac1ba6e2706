"""`librarian add` and `librarian libraries`, with a Git server on this machine."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tarfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from librarian.cli import main
from librarian.library import Librarian
from librarian.sources import git

REPOSITORY = Path(__file__).resolve().parents[3]
Page = dict[str, str]


def run_git(*arguments: str, at: Path) -> str:
    identity = ("-c", "user.name=Ann", "-c", "user.email=ann@example.org", "-c", "init.defaultBranch=main")
    done = subprocess.run(["git", *identity, *arguments], cwd=at, capture_output=True, text=True, check=True)
    return done.stdout.strip()


@dataclass(frozen=True)
class Upstream:
    """Repositories below a folder, which `git daemon` serves at `url`."""

    folder: Path
    url: str

    def commit(self, name: str, files: Page, tag: str = "") -> str:
        """Make the repository's files exactly these; the address of the repository."""
        place = self.folder / name
        if not place.exists():
            place.mkdir()
            run_git("init", "--quiet", at=place)
            run_git("config", "uploadpack.allowFilter", "true", at=place)
        for old in place.iterdir():
            if old.name != ".git":
                shutil.rmtree(old) if old.is_dir() else old.unlink()
        for path, text in files.items():
            (place / path).parent.mkdir(parents=True, exist_ok=True)
            (place / path).write_text(text, "utf-8")
        run_git("add", "--all", at=place)
        run_git("commit", "--quiet", "--allow-empty", "--message", "Change the documentation", at=place)
        if tag:
            run_git("tag", tag, at=place)
        return f"{self.url}/{name}"


@pytest.fixture(scope="module")
def upstream(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Upstream]:
    folder = tmp_path_factory.mktemp("upstream")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [
        "git",
        "daemon",
        "--export-all",
        "--reuseaddr",
        "--listen=127.0.0.1",
        f"--port={port}",
        f"--base-path={folder}",
    ]
    try:
        server = subprocess.Popen([*command, str(folder)], stderr=subprocess.DEVNULL, start_new_session=True)
        end = time.monotonic() + 60
        while True:
            try:
                socket.create_connection(("127.0.0.1", port), timeout=5).close()
                break
            except OSError:
                assert server.poll() is None, "git daemon doesn't start"
                assert time.monotonic() < end, "git daemon doesn't listen"
                time.sleep(0.05)
        yield Upstream(folder, f"git://127.0.0.1:{port}")
    finally:
        os.killpg(server.pid, signal.SIGTERM)
        server.wait(60)


@dataclass(frozen=True)
class Reader:
    """A library that runs commands, and what they print with `--json`."""

    folder: Path
    output: Callable[[], str]

    @property
    def places(self) -> list[str]:
        return ["--root", str(self.folder / "docs"), "--index", str(self.folder / "index")]

    def run(self, *arguments: str) -> int:
        return main.run([*arguments, *self.places])

    def answer(self, *arguments: str, code: int = 0) -> dict[str, object]:
        assert self.run(*arguments, "--json") == code
        answer: dict[str, object] = json.loads(self.output())
        return answer

    def files(self) -> set[str]:
        root = self.folder / "docs"
        return {path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file()}


@pytest.fixture
def reader(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Reader:
    (tmp_path / "docs" / "own" / "guide").mkdir(parents=True)
    (tmp_path / "docs" / "own" / "guide" / "mine.md").write_text("# Mine\n\nMy own words.\n", "utf-8")
    return Reader(tmp_path, lambda: capsys.readouterr().out)


MINE = "own/guide/mine.md"
V1 = {
    "README.md": "# Tool\n",
    "docs/guide/start.md": "# Start\n\nThe zebra begins.\n",
    "docs/old.md": "# Old\n",
    "src/a.py": "x = 1\n",
}
V2 = {
    "README.md": "# Tool\n",
    "docs/guide/begin.md": "# Start\n\nThe zebra begins.\n",
    "docs/new.md": "# New\n\nA quagga.\n",
}


def test_a_repository_becomes_a_product_that_is_searched(upstream: Upstream, reader: Reader) -> None:
    address = upstream.commit("searched", V1)
    answer = reader.answer("add", address)
    assert (answer["product"], answer["added"]) == ("searched", 2)
    assert reader.files() == {MINE, "searched/guide/start.md", "searched/old.md"}
    with Librarian.open(root=reader.folder / "docs", index=reader.folder / "index") as library:
        first = library.search("zebra", mode="keyword").results[0]
        assert (first.product, first.file_path) == ("searched", "searched/guide/start.md")


def test_an_update_follows_renamed_new_and_deleted_pages(upstream: Upstream, reader: Reader) -> None:
    address = upstream.commit("moving", V1)
    assert reader.run("add", address) == 0
    upstream.commit("moving", V2)
    reader.output()
    (report,) = reader.answer("libraries", "--update")["libraries"]  # type: ignore[misc]
    assert (report["added"], report["removed"]) == (2, 2)
    assert reader.files() == {MINE, "moving/guide/begin.md", "moving/new.md"}
    (again,) = reader.answer("libraries", "--update", "moving")["libraries"]  # type: ignore[misc]
    assert (again["unchanged"], again["added"], again["changed"]) == (2, 0, 0)


def test_git_settings_of_the_working_directory_are_not_read(
    upstream: Upstream, reader: Reader, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = upstream.commit("plain", V1)
    here = tmp_path / "clone"
    here.mkdir()
    run_git("init", "--quiet", at=here)
    run_git("config", "url.git://127.0.0.1:1/.insteadOf", f"{upstream.url}/", at=here)
    monkeypatch.chdir(here)
    assert reader.run("add", address) == 0
    assert reader.run("libraries", "--update") == 0


def test_a_tag_is_part_of_the_products_name_and_stays(upstream: Upstream, reader: Reader) -> None:
    address = upstream.commit("tagged", V1, tag="v1.0")
    upstream.commit("tagged", V2)
    assert reader.answer("add", address, "--version", "v1.0")["product"] == "tagged-v1.0"
    assert "tagged-v1.0/old.md" in reader.files()
    (report,) = reader.answer("libraries", "--update")["libraries"]  # type: ignore[misc]
    assert report["unchanged"] == 2


def test_removal_leaves_nothing_behind_but_what_somebody_changed(upstream: Upstream, reader: Reader) -> None:
    for name in ("first", "second"):
        assert reader.run("add", upstream.commit(name, V1)) == 0
    changed = reader.folder / "docs" / "second" / "old.md"
    changed.write_text("# Old\n\nMy remark.\n", "utf-8")
    assert reader.run("libraries", "first", "second", "--remove") == 0
    assert reader.files() == {MINE, "second/old.md"}
    assert not (reader.folder / "docs" / "first").exists()
    reader.output()
    assert reader.answer("libraries") == {"libraries": []}
    assert [path.name for path in (reader.folder / "index" / "sources").iterdir()] == ["lock"]


def test_an_update_keeps_a_page_that_somebody_changed_and_says_so(upstream: Upstream, reader: Reader) -> None:
    assert reader.run("add", upstream.commit("edited", V1)) == 0
    (reader.folder / "docs" / "edited" / "old.md").write_text("# Old\n\nMy remark.\n", "utf-8")
    upstream.commit("edited", V2)
    reader.output()
    (report,) = reader.answer("libraries", "--update")["libraries"]  # type: ignore[misc]
    assert report["preserved"] == ["old.md"]
    assert "My remark." in (reader.folder / "docs" / "edited" / "old.md").read_text("utf-8")


def test_a_folder_of_the_library_is_not_overwritten(upstream: Upstream, reader: Reader) -> None:
    address = upstream.commit("taken", V1)
    assert reader.run("add", address, "--name", "own") == 2
    assert reader.files() == {MINE}


def test_a_plain_folder_is_copied_without_hidden_files_and_links(reader: Reader, tmp_path: Path) -> None:
    folder = tmp_path / "handbook"
    (folder / "rules").mkdir(parents=True)
    (folder / "rules" / "one.md").write_text("# One\n", "utf-8")
    (folder / ".secret.md").write_text("# Secret\n", "utf-8")
    (tmp_path / "outside.md").write_text("# Outside\n", "utf-8")
    (folder / "link.md").symlink_to(tmp_path / "outside.md")
    assert reader.answer("add", str(folder))["added"] == 1
    assert reader.files() == {MINE, "handbook/rules/one.md"}


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["nowhere"], 2, "no folder, repository or site"),
        (["{url}/missing.git"], 78, "git fetch failed"),
        (["{url}/known", "--version", "v9"], 2, "has no 'v9'"),
        (["{url}/known", "--path", "nothing"], 2, "Its folders: docs, src"),
        (["{url}/known", "--version=--upload-pack=touch x"], 2, "can't begin with '-'"),
        (["ext::sh -c touch% x"], 2, "can't be a folder's name"),
    ],
)
def test_what_cannot_be_added_is_refused_and_leaves_nothing(
    arguments: list[str], code: int, said: str, upstream: Upstream, reader: Reader, capsys: pytest.CaptureFixture[str]
) -> None:
    upstream.commit("known", {**V1, "docs/more.md": "# More\n"}) if not (upstream.folder / "known").exists() else None
    assert reader.run("add", *(word.format(url=upstream.url) for word in arguments)) == code
    assert said in capsys.readouterr().err
    assert reader.files() == {MINE}


def test_links_of_a_repository_are_not_followed(upstream: Upstream, reader: Reader, tmp_path: Path) -> None:
    (tmp_path / "secret.md").write_text("# Secret\n", "utf-8")
    upstream.commit("linked", V1)
    (upstream.folder / "linked" / "docs" / "link.md").symlink_to(tmp_path / "secret.md")
    run_git("add", "--all", at=upstream.folder / "linked")
    run_git("commit", "--quiet", "--message", "Add a link", at=upstream.folder / "linked")
    assert reader.run("add", f"{upstream.url}/linked") == 0
    text = "".join((reader.folder / "docs" / name).read_text("utf-8") for name in reader.files())
    assert "Secret" not in text


KILLED = """
import os, signal, sys
import shutil
from librarian.cli import main

copy, copied = shutil.copyfile, []

def copy_some(origin, target, **given):
    copied.append(copy(origin, target, **given))
    if len(copied) == 21:
        os.kill(os.getpid(), signal.SIGKILL)

shutil.copyfile = copy_some
main.run(sys.argv[1:])
"""


@pytest.fixture
def killed(upstream: Upstream, reader: Reader) -> str:
    """The address of a repository whose 21st page was being written when `add` was killed."""
    address = upstream.commit("large", {f"docs/part{number % 5}/page{number}.md": "# Page\n" for number in range(50)})
    command = [sys.executable, "-c", KILLED, "add", address, *reader.places]
    done = subprocess.run(command, env=os.environ | {"PYTHONPATH": str(REPOSITORY / "backend")}, timeout=300)
    assert done.returncode == -signal.SIGKILL
    assert len(reader.files()) == 22
    return address


def test_an_add_that_was_killed_is_continued(killed: str, reader: Reader) -> None:
    assert reader.run("add", killed) == 0
    assert len(reader.files()) == 51
    assert not [path for path in reader.files() if path.endswith(".part")]


def test_pages_of_a_killed_add_are_followed_when_the_repository_has_changed_since(
    killed: str, upstream: Upstream, reader: Reader
) -> None:
    upstream.commit("large", {"docs/part0/page0.md": "# Changed\n", "docs/other.md": "# Other\n"})
    assert reader.answer("add", killed)["preserved"] == []
    assert reader.files() == {MINE, "large/other.md", "large/part0/page0.md"}


def test_what_a_killed_add_left_is_removed(killed: str, reader: Reader) -> None:
    assert reader.run("libraries", "large", "--remove") == 0
    assert reader.files() == {MINE}
    assert not (reader.folder / "docs" / "large").exists()
    assert [path.name for path in (reader.folder / "index" / "sources").iterdir()] == ["lock"]


def test_three_real_manuals_are_added_updated_and_removed(upstream: Upstream, reader: Reader, tmp_path: Path) -> None:
    data = Path(os.environ.get("LIBRARIAN_TEST_DATA") or REPOSITORY.parent / "shared" / "data") / "docs.tar.xz"
    if not data.is_file():
        pytest.skip("no docs.tar.xz; set LIBRARIAN_TEST_DATA to the folder that holds it")
    with tarfile.open(data) as archive:
        archive.extractall(tmp_path / "data", filter="data")
    shutil.copytree(REPOSITORY / "docs" / "librarian", tmp_path / "data" / "librarian")
    for name in ("fastapi", "prometheus", "librarian"):
        folder = tmp_path / "data" / name
        readable = {path.relative_to(folder).as_posix() for path in folder.rglob("*.md")}
        pages = {f"docs/{path}": (folder / path).read_text("utf-8") for path in readable}
        address = upstream.commit(name, pages)
        assert reader.run("add", address) == 0
        assert {path for path in reader.files() if path.startswith(f"{name}/")} == {
            f"{name}/{path}" for path in readable
        }
        renamed = {path.replace("docs/", "docs/moved/"): text for path, text in pages.items()}
        upstream.commit(name, renamed)
        assert reader.run("libraries", name, "--update") == 0
        assert {path for path in reader.files() if path.startswith(f"{name}/")} == {
            f"{name}/moved/{path}" for path in readable
        }
    assert reader.run("libraries", "fastapi", "prometheus", "librarian", "--remove") == 0
    assert reader.files() == {MINE}


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("https://github.com/a/b.git", git.Address("https://github.com/a/b.git")),
        ("https://github.com/a/b/tree/v1.2/docs/en", git.Address("https://github.com/a/b", "docs/en", "v1.2")),
        ("https://gitlab.com/a/b/-/tree/main/docs", git.Address("https://gitlab.com/a/b", "docs", "main")),
        ("ssh://git@example.org/a/b", git.Address("ssh://git@example.org/a/b")),
        ("https://github.com/", None),
        ("https://example.org/docs/", None),
        ("./folder", None),
    ],
)
def test_an_address_names_repository_folder_and_version(text: str, address: git.Address | None) -> None:
    assert git.parse(text) == address
