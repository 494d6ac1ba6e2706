"""The scanner finds what makes up the library, says why the rest is left out, and survives every tree."""

from __future__ import annotations

import itertools
import os
import socket
import unicodedata
from pathlib import Path

import pytest

from librarian.errors import SetupError, SourceError
from librarian.indexing.scanner import Chosen, FolderScanner
from librarian.models import Failure, SourceFile

KNOWN = frozenset({".md", ".txt"})


def scanner(root: Path, **options: object) -> FolderScanner:
    return FolderScanner(root, known_extensions=KNOWN, **options)  # type: ignore[arg-type]


def put(root: Path, *names: str, text: str = "words") -> None:
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def found(root: Path, **options: object) -> list[str]:
    return [item.file_path for item in scanner(root, **options).scan() if isinstance(item, SourceFile)]


def left_out(root: Path, **options: object) -> dict[str, str]:
    return {item.file_path: item.reason for item in scanner(root, **options).scan() if isinstance(item, Failure)}


def test_product_and_component_come_from_the_first_two_folders(tmp_path: Path) -> None:
    put(tmp_path, "acme/auth/deep/er/a.md", "acme/b.md", "c.md")
    placed = {s.file_path: (s.product, s.component) for s in scanner(tmp_path).scan() if isinstance(s, SourceFile)}
    assert placed == {"acme/auth/deep/er/a.md": ("acme", "auth"), "acme/b.md": ("acme", "general")}
    assert left_out(tmp_path) == {"c.md": "in_root"}


def test_a_flat_library_is_one_product_named_after_its_folder(tmp_path: Path) -> None:
    root = tmp_path / "notes"
    put(root, "a.md", "sub/b.md", "sub/deep/c.md")
    placed = [(s.product, s.component) for s in scanner(root, layout="flat").scan() if isinstance(s, SourceFile)]
    assert placed == [("notes", "general"), ("notes", "sub"), ("notes", "sub")]


def test_files_come_sorted_by_path(tmp_path: Path) -> None:
    put(tmp_path, "p/a-b.md", "p/a/x.md", "p/a.md", "p/B.md", "p/a/b/y.md", "p/ä.md", "o/z.md")
    assert found(tmp_path) == sorted(found(tmp_path))
    assert len(found(tmp_path)) == 7


def test_size_and_extension_are_chosen_and_counted(tmp_path: Path) -> None:
    put(tmp_path, "p/c/small.md", "p/c/page.TXT", "p/c/photo.png", "p/c/LICENSE")
    put(tmp_path, "p/c/large.md", text="x" * 3000)
    options = {"max_file_size_mb": 0.001, "extensions": ["MD"]}
    assert found(tmp_path, **options) == ["p/c/small.md"]
    assert left_out(tmp_path, **options) == {
        "p/c/large.md": "too_large",
        **dict.fromkeys(["p/c/page.TXT", "p/c/photo.png", "p/c/LICENSE"], "extension"),
    }
    assert found(tmp_path) == ["p/c/large.md", "p/c/page.TXT", "p/c/small.md"]


def test_mails_of_a_maildir_are_taken_as_mails_and_other_files_beside_them_as_what_they_are(tmp_path: Path) -> None:
    mails = [
        "p/inbox/cur/1772442000.M20P5.host.example.org:2,RS",
        "p/inbox/cur/1772442000_0.1234.host,U=5,FMD5=7e33429f656f1e6e9d79b29c3f82c57e;2,",
        "p/inbox/cur/18c2f0e6c5a1b2d3:2,S",
        "p/inbox/new/1772442001.20_1.host",
    ]
    others = ["p/inbox/dovecot-uidlist", "p/inbox/cur/notes", "p/new/1772442000.png", "p/c/1772442001.20_1.host"]
    put(tmp_path, *mails, *others, "p/new/1772442000.5.md")
    known = KNOWN | {".eml"}
    taken = [item.file_path for item in FolderScanner(tmp_path, known_extensions=known).scan()
             if isinstance(item, SourceFile)]  # fmt: skip
    assert taken == sorted([*mails, "p/new/1772442000.5.md"])
    assert found(tmp_path) == ["p/new/1772442000.5.md"], "where mails aren't read, nor are those of a Maildir"


def test_hidden_and_tool_folders_count_once_each(tmp_path: Path) -> None:
    put(
        tmp_path,
        "p/.git/a.md",
        "p/.git/b.md",
        "p/node_modules/x/y.md",
        "p/env/pyvenv.cfg",
        "p/env/lib/z.md",
        "p/c/ok.md",
    )
    put(tmp_path, "p/c/.draft.md")
    assert found(tmp_path) == ["p/c/ok.md"]
    assert left_out(tmp_path) == {
        "p/.git": "ignored", "p/node_modules": "ignored", "p/env": "ignored", "p/c/.draft.md": "hidden",
    }  # fmt: skip


def test_an_index_that_lies_below_the_root_is_left_out(tmp_path: Path) -> None:
    put(tmp_path, "p/c/ok.md", "index/daemon.lock", "index/introduction.txt", "index/keyword/meta.json")
    put(tmp_path, "p/other/catalog.sqlite", "p/other/vectors.sqlite", "p/other/notes.txt")
    assert found(tmp_path) == ["p/c/ok.md"]
    assert left_out(tmp_path) == {"index": "ignored", "p/other": "ignored"}


def test_ignore_files_hold_at_every_depth_and_the_inner_one_decides(tmp_path: Path) -> None:
    put(tmp_path, "p/c/keep.md", "p/c/drop.md", "p/c/old/a.md", "p/d/drop.md", "p/d/build/b.md", "p/c/x.tmp.md")
    put(tmp_path, ".gitignore", text="drop.md\nbuild/\n*.tmp.md\n")
    put(tmp_path, "p/d/.gitignore", text="!drop.md\n")
    put(tmp_path, "p/c/.librarianignore", text="old\n")
    assert found(tmp_path) == ["p/c/keep.md", "p/d/drop.md"]
    assert left_out(tmp_path) == dict.fromkeys(["p/c/drop.md", "p/c/old", "p/c/x.tmp.md", "p/d/build"], "ignored")


def test_include_and_exclude_choose_by_pattern(tmp_path: Path) -> None:
    put(tmp_path, "p/c/a.md", "p/c/b.txt", "p/archive/c.md", "q/c/d.md")
    assert found(tmp_path, include=["p/**"], exclude=["archive/", "*.txt"]) == ["p/c/a.md"]
    assert left_out(tmp_path, exclude=["archive/"]) == {"p/archive": "excluded"}


def test_a_pattern_of_a_setting_may_begin_with_a_dot_and_a_slash_for_the_root(tmp_path: Path) -> None:
    put(tmp_path, "a/b/x.md", "c/a/y.md", "d/z.md", "d/old/v.md")
    include = ["./a", ".//./d/", "!./d/old"]
    assert (
        found(tmp_path, include=include) == found(tmp_path, include=["/a", "/d/", "!/d/old"]) == ["a/b/x.md", "d/z.md"]
    )
    assert left_out(tmp_path, exclude=["./a"]) == {"a": "excluded"}
    assert Chosen("docs.include", ["./a"]).reaches("c") is False


def test_a_folder_that_holds_nothing_of_what_is_included_is_left_out_as_a_whole(tmp_path: Path) -> None:
    put(tmp_path, "handbook/a.md", "projects/shop/docs/b.md", "projects/shop/src/c.md", "mail/2026/d.md", "e.md")
    include = ["/handbook", "/projects/*/docs", "!/handbook/old"]
    assert found(tmp_path, include=include) == ["handbook/a.md", "projects/shop/docs/b.md"]
    assert left_out(tmp_path, include=include) == dict.fromkeys(["mail", "projects/shop/src", "e.md"], "excluded")


NAMES = ("a", "b", "docs", "x.md")


@pytest.mark.parametrize(
    "pattern",
    [
        *("a", "/a", "/a/", "a/", "a/b", "/a/*/docs", "/*/docs", "/**/docs", "/a/**/docs", "/a/**", "**", "*.md"),
        *(
            "/a/*.md",
            "/a/b/../docs",
            "a//b",
            "/[ab]/docs",
            "/a/\\b",
            "/d*s/**",
            "/a/x.md",
            " /a/b",
            "#a/b",
            "/a/b ",
            "./a/*/docs",
        ),
    ],
)
def test_whatever_is_included_lies_in_folders_that_are_looked_into(pattern: str) -> None:
    chosen = Chosen("docs.include", [pattern, "!/b/docs"])
    for depth in range(1, 5):
        for parts in itertools.product(NAMES, repeat=depth):
            if chosen.match_file("/".join(parts)):
                assert all(chosen.reaches("/".join(parts[:above])) for above in range(1, depth))


@pytest.mark.parametrize("line", ["!", "a\\", "[z-a].md"])
def test_a_line_that_is_no_pattern_is_passed_over_in_an_ignore_file_and_named_in_a_setting(
    line: str, tmp_path: Path
) -> None:
    put(tmp_path, "p/c/a.md", "p/c/b.md")
    put(tmp_path, ".gitignore", text=f"{line}\nb.md\n")
    assert found(tmp_path) == ["p/c/a.md"]
    with pytest.raises(SetupError, match=r"docs\.exclude holds .* isn't a pattern"):
        scanner(tmp_path, exclude=["drafts", line])


def test_links_inside_the_root_are_followed_once_and_loops_end(tmp_path: Path) -> None:
    put(tmp_path, "p/v2/a.md", "p/v2/b.md")
    (tmp_path / "p/latest").symlink_to(tmp_path / "p/v2")
    (tmp_path / "p/newest").symlink_to(tmp_path / "p/v2")
    (tmp_path / "p/v2/loop").symlink_to(tmp_path / "p")
    (tmp_path / "p/v2/self.md").symlink_to(tmp_path / "p/v2/a.md")
    (tmp_path / "p/root").symlink_to(tmp_path)
    assert found(tmp_path) == ["p/latest/a.md", "p/latest/b.md", "p/latest/self.md", "p/v2/a.md", "p/v2/b.md"]
    assert set(left_out(tmp_path).values()) == {"symlink"}


def test_links_that_leave_the_root_or_lead_nowhere_are_skipped(tmp_path: Path) -> None:
    root, outside = tmp_path / "root", tmp_path / "outside"
    put(root, "p/c/a.md")
    put(outside, "secret.md")
    put(tmp_path / "root-sibling", "x.md")
    (root / "p/c/secret.md").symlink_to(outside / "secret.md")
    (root / "p/out").symlink_to(outside)
    (root / "p/sibling").symlink_to(tmp_path / "root-sibling")
    (root / "p/nowhere.md").symlink_to(root / "missing.md")
    assert found(root) == ["p/c/a.md"]
    assert left_out(root) == dict.fromkeys(["p/c/secret.md", "p/out", "p/sibling", "p/nowhere.md"], "symlink")


def test_pipes_and_sockets_are_never_opened(tmp_path: Path) -> None:
    put(tmp_path, "p/c/a.md")
    os.mkfifo(tmp_path / "p/c/pipe.md")
    with socket.socket(socket.AF_UNIX) as listener:
        before = Path.cwd()
        os.chdir(tmp_path / "p/c")
        try:
            listener.bind("sock.md")
        finally:
            os.chdir(before)
        assert left_out(tmp_path) == {"p/c/pipe.md": "special", "p/c/sock.md": "special"}


def test_names_with_newlines_quotes_and_other_bytes_survive(tmp_path: Path) -> None:
    decomposed = unicodedata.normalize("NFD", "p/c/über.md")
    put(tmp_path, 'p/c/a "quoted"\nname.md', decomposed)
    with open(os.path.join(os.fsencode(tmp_path), b"p/c/bad\xff.md"), "wb") as file:
        file.write(b"x")
    names = found(tmp_path)
    assert names == ['p/c/a "quoted"\nname.md', "p/c/bad\ufffd.md", "p/c/über.md"]
    for item in scanner(tmp_path).scan():
        assert isinstance(item, SourceFile)
        assert os.path.exists(item.path)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_folder_that_cannot_be_listed_is_a_failure(tmp_path: Path) -> None:  # pragma: no cover - not as root
    put(tmp_path, "p/closed/a.md", "p/open/b.md")
    (tmp_path / "p/closed").chmod(0)
    try:
        assert found(tmp_path) == ["p/open/b.md"]
        assert left_out(tmp_path) == {"p/closed": "unreadable"}
    finally:
        (tmp_path / "p/closed").chmod(0o700)


def test_a_very_deep_tree_is_walked(tmp_path: Path) -> None:
    put(tmp_path, "p/" + "d/" * 300 + "a.md")
    assert len(found(tmp_path)) == 1


def test_a_missing_root_is_an_error_of_its_own(tmp_path: Path) -> None:
    with pytest.raises(SourceError) as caught:
        list(scanner(tmp_path / "gone").scan())
    assert caught.value.reason == "root"


def test_an_unknown_layout_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SetupError, match=r"product/component, flat"):
        scanner(tmp_path, layout="deep")


def test_looking_at_one_path_agrees_with_the_scan(tmp_path: Path) -> None:
    root = tmp_path / "root"
    put(root, "p/c/a.md", "p/.git/b.md", "p/c/d.png", "e.md", "p/c/ignored.md", "p/v/x.md")
    put(root, ".gitignore", text="ignored.md\n")
    (root / "p/w").symlink_to(root / "p/v")
    (root / "p/z").symlink_to(root / "p/v")
    look = scanner(root)
    for item in look.scan():
        path = item.path if isinstance(item, SourceFile) else str(root / item.file_path)
        assert look.look(path) == item
    assert look.look(str(root / "p/.git/b.md")) == Failure("p/.git", "skipped", "ignored", "hidden folder")
    assert look.look(str(root / "p/z/x.md")) is not None
    assert isinstance(look.look(str(root / "p/z/x.md")), Failure)
    for path in (root / "p/c/gone.md", root / "p/c", root, tmp_path / "other.md", root / "p/c/a.md/b.md"):
        assert look.look(str(path)) is None
    assert look.look(str(root / ".gitignore")) is None


def test_a_pattern_that_is_none_is_passed_over(tmp_path: Path) -> None:
    put(tmp_path, "p/c/a.md", "p/c/b.md")
    put(tmp_path, ".gitignore", text="!\nb.md\n")
    assert found(tmp_path) == ["p/c/a.md"]
