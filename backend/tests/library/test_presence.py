"""What is gone from the folder is gone from answers at once, before the index has been brought up to date.

* others take the place of what is gone, and the verdict is about what is shown
* where nothing else answers, the answer says so as it does for anything that isn't in the library
* a copy that is still there is shown in place of one that is gone, and paths that are gone aren't named
* a document that is read is held against its file likewise
* a folder that is gone goes with all that it held; without a root nothing counts as gone, nor where it can't be looked
  into, nor where nothing is left in it: each answer says so
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from librarian.api.mcp import read as resource
from librarian.api.model_text import render
from librarian.documents.status import unread
from librarian.errors import NotFound
from librarian.library import Librarian
from librarian.models import Progress

ROTATE = "# Tokens\n\nCall rotate to rotate a token.\n"


@pytest.fixture
def library(tmp_path: Path) -> Iterator[Librarian]:
    """Words alone, and nothing watches."""
    files = {"app/en/tokens.md": ROTATE, "app/copy/tokens.md": ROTATE, "app/en/keys.md": "# Keys\n\nTurn a key.\n"}
    files |= {f"app/many/{n}.md": f"# Part {n}\n\nThe widget of part {n} is made of brass.\n" for n in range(90)}
    files["app/few/one.md"] = "# Spare\n\nA widget may be made of brass or of tin, as the order says.\n"
    mail = "From: Ada <ada@example.org>\nSubject: Lunch\nMessage-ID: <{0}@x>\nReferences: <1@x>\n"
    mail += "Date: Mon, 0{0} Mar 2026 10:00:00 +0100\n"
    files |= {f"mail/in/{n}.eml": f"{mail.format(n)}\nLunch number {n}.\n" for n in (1, 2)}
    for name, text in files.items():
        path = tmp_path / "docs" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    settings = {"embeddings.enabled": False, "index.workers": 1, "docs.watch_for_changes": False}
    with Librarian.open(root=tmp_path / "docs", index=tmp_path / "index", **settings) as opened:
        yield opened


def paths(answer: object) -> list[str]:
    return [result.file_path for result in answer.results]  # type: ignore[attr-defined]


def test_what_is_gone_leaves_no_trace_in_the_answer(library: Librarian) -> None:
    shutil.rmtree(library.root / "app" / "copy")
    (library.root / "app" / "en" / "tokens.md").unlink()
    answer = library.search("rotate token", max_results=1)
    asked_of_nothing = library.search("unheard", max_results=1)
    assert (answer.results, answer.total) == ([], 0)
    assert answer.answerable == asked_of_nothing.answerable != "yes"
    assert answer.suggestions


def test_a_copy_that_is_there_takes_the_place_of_one_that_is_gone(library: Librarian) -> None:
    (shown,) = library.search("rotate token").results
    (copy,) = shown.also_in
    (library.root / shown.file_path).unlink()
    (left,) = library.search("rotate token").results
    assert (left.file_path, left.rank, left.also_in) == (copy, 1, [])


def test_a_folder_goes_with_all_that_it_held(library: Librarian) -> None:
    assert library.search("widget brass", max_results=3).total > 50
    shutil.rmtree(library.root / "app" / "many")
    answer = library.search("widget brass", max_results=3)
    assert paths(answer) == ["app/few/one.md"]
    assert (answer.results[0].rank, answer.total, answer.next_offset) == (1, 1, None)


def test_of_more_than_can_be_asked_again_nothing_that_is_gone_is_shown(library: Librarian) -> None:
    for page in (library.root / "app" / "many").iterdir():
        page.unlink()
    answer = library.search("widget brass", max_results=2)
    assert all((library.root / path).exists() for path in paths(answer))
    assert answer.results or answer.answerable == "unknown"


def test_mails_that_are_gone_are_left_out_of_those_by_filter_alone(library: Librarian) -> None:
    assert [mail.message_id for mail in library.search_emails(sender="ada", max_per_thread=0).results] == ["2@x", "1@x"]
    (library.root / "mail" / "in" / "2.eml").unlink()
    answer = library.search_emails(sender="ada", max_per_thread=0, max_results=1)
    assert [mail.message_id for mail in answer.results] == ["1@x"]


def test_mails_that_are_gone_are_left_out_of_their_conversation(library: Librarian) -> None:
    assert library.get_thread("1@x").total == 2
    (library.root / "mail" / "in" / "1.eml").unlink()
    left = library.get_thread("1@x")
    assert ([mail.message_id for mail in left.emails], left.total) == (["2@x"], 1)
    (library.root / "mail" / "in" / "2.eml").unlink()
    with pytest.raises(NotFound, match="were deleted or moved since they were indexed"):
        library.get_thread("1@x")


def test_a_changed_file_is_marked_stale_and_an_absent_root_hides_nothing(library: Librarian) -> None:
    page = library.root / "app" / "en" / "keys.md"
    page.write_text("# Keys\n\nTurn a key, twice.\n")
    assert [result.stale for result in library.search("turn a key").results] == [True]
    library.root.rename(library.root.with_name("elsewhere"))
    assert paths(library.search("turn a key")) == ["app/en/keys.md"]


def test_a_repeated_question_makes_results_anew_only_where_a_file_has_changed(library: Librarian) -> None:
    first, again = (library.search("turn a key").results for _ in range(2))
    assert first
    assert first is not again  # whoever was given the list may do with it what they like
    assert all(one is other for one, other in zip(first, again, strict=True))
    path = library.root / first[0].file_path
    path.write_text(path.read_text("utf-8") + "\nTurn it twice.\n", "utf-8")
    assert library.search("turn a key").results[0].stale


def test_a_document_that_is_read_is_marked_stale_or_told_as_gone(library: Librarian) -> None:
    page = library.root / "app" / "en" / "tokens.md"
    assert not library.get_document("app/en/tokens.md").stale
    page.write_text(f"{ROTATE}\nTwice.\n")
    read = library.get_document("app/en/tokens.md")
    assert (read.stale, "Twice" in read.content) == (True, False)
    assert "The file has changed since it was read" in render(read)
    assert "The file has changed" in str(resource(library, "librarian://docs/app/en/tokens.md").content)
    page.unlink()
    with pytest.raises(NotFound, match=r"deleted or moved since it was indexed.* same text is in 'app/copy/tokens.md'"):
        library.get_document("app/en/tokens.md")
    library.root.rename(library.root.with_name("elsewhere"))
    assert not library.get_document("app/en/tokens.md").stale


def test_the_knowledge_base_leaves_out_what_is_gone(library: Librarian) -> None:
    assert library.search_knowledge_base("turn a key").results
    (library.root / "app" / "en" / "keys.md").unlink()
    found = [item.metadata["document_id"] for item in library.search_knowledge_base("turn a key").results]
    assert "app/en/keys.md" not in found


def test_an_answer_says_that_files_are_still_being_read(library: Librarian, monkeypatch: pytest.MonkeyPatch) -> None:
    reading = Progress("reading", files_done=64, files_total=300)
    assert not [one for one in library.search("turn a key").degraded if one.startswith("reading:")]
    monkeypatch.setattr(library._parts.indexing, "progress", lambda: reading)
    told = "reading: 64 of 300 new or changed files are read so far, passages of the others are missing."
    assert told in library.search("turn a key").degraded
    assert told in library.search_emails(sender="ada").degraded
    few = Progress("reading", files_done=290, files_total=300)
    assert (unread(few, first_look=False), len(unread(few, first_look=True))) == ([], 1)
    assert unread(Progress("embedding", chunks_total=9), first_look=True) == []


@pytest.mark.parametrize("left", ["nothing", "an empty folder"])
def test_answers_of_a_library_whose_folder_is_away_are_whole_and_say_so(library: Librarian, left: str) -> None:
    before, mails = paths(library.search("widget brass")), library.get_thread("1@x").total
    away = library.root.with_name("away")
    library.root.rename(away)
    if left != "nothing":
        library.root.mkdir()
    for _ in range(2):  # before and after the indexer has looked
        answer, knowledge = library.search("widget brass"), library.search_knowledge_base("turn a key")
        assert paths(answer) == before
        assert not any(result.stale for result in answer.results)
        for said in (answer.degraded, library.search_emails(sender="ada").degraded, knowledge.degraded):
            assert len([reason for reason in said if reason.startswith("root: ")]) == 1
        assert "Lunch number 2." in library.get_document("mail/in/2.eml").content
        assert library.get_thread("1@x").total == mails
        assert library.wait_until_ready(60)
    assert "kept" in " ".join(library.status().reasons)
    assert library.status().documents == 94
    if left != "nothing":
        library.root.rmdir()
    away.rename(library.root)
    library.refresh()
    assert (library.status().reasons, library.search("widget brass").degraded) == ([], [])


def test_a_root_that_cannot_be_looked_into_keeps_its_answers(library: Librarian) -> None:
    before = paths(library.search("widget brass"))
    library.root.chmod(0)
    try:
        if os.access(library.root, os.X_OK):
            pytest.skip("whoever runs this may look everywhere")
        assert paths(library.search("widget brass")) == before
        assert "Lunch number 2." in library.get_document("mail/in/2.eml").content
    finally:
        library.root.chmod(0o700)
