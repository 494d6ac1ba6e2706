"""Mails of a library together: conversations, copies, quotes and archives.

* Threads follow References and In-Reply-To, whatever order mails come in; missing parents and circles survive; the
  subject joins only replies that name nothing. A thread keeps its id when its first mail arrives late.
* A mail that lies twice is indexed once, with all its paths; when one goes, the other takes its place.
* A quote is indexed where nothing else in the conversation says it, and only once.
* An archive's mails come, change, move and go with its file; those that stay keep their ids.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from librarian.indexing.emails import Linked, parents_of, threads_of
from librarian.models import ReadResult, SourceFile

from .library import Library, Refusing


def linked(name: str, *parents: str, subject: str = "", answer: bool = False, day: int = 1, place: str = "p") -> Linked:
    return Linked(f"key-{name}", name, parents, subject, answer, f"2026-01-{day:02}T00:00:00Z", place)


def groups(*mails: Linked) -> set[frozenset[str]]:
    found: dict[str, set[str]] = {}
    for key, thread in threads_of(mails).items():
        found.setdefault(thread, set()).add(key.removeprefix("key-"))
    return {frozenset(names) for names in found.values()}


# -- threads -----------------------------------------------------------------------------------------------------------


def test_replies_join_their_parents_and_strangers_stay_apart() -> None:
    mails = (linked("a"), linked("b", "a"), linked("c", "a", "b"), linked("x"), linked("y", "x"))
    assert groups(*mails) == {frozenset("abc"), frozenset("xy")}


def test_missing_parents_hold_their_place() -> None:
    assert groups(linked("b", "a"), linked("c", "a")) == {frozenset("bc")}
    before = threads_of([linked("b", "a")])["key-b"]
    assert threads_of([linked("b", "a"), linked("a")]) == {"key-a": before, "key-b": before}


def test_truncated_references_are_completed_by_what_others_say() -> None:
    mails = (linked("a"), linked("b", "a"), linked("c", "a", "b"), linked("d", "b", "c"), linked("e", "d"))
    assert groups(*mails) == {frozenset("abcde")}


def test_circles_and_mails_that_answer_themselves_end() -> None:
    assert groups(linked("a", "b"), linked("b", "a")) == {frozenset("ab")}
    assert groups(linked("a", "a")) == {frozenset("a")}


def test_a_mail_that_names_two_conversations_doesnt_weld_them() -> None:
    mails = (linked("a"), linked("b", "a"), linked("x"), linked("y", "x"), linked("z", "b", "y"))
    assert groups(*mails) == {frozenset("ab"), frozenset("xyz")}


def test_the_subject_joins_replies_that_name_nothing_and_only_those() -> None:
    root = linked("a", subject="release plan", day=1)
    orphan = linked("b", subject="release plan", answer=True, day=3)
    assert groups(root, orphan) == {frozenset("ab")}
    assert len(groups(root, linked("c", subject="release plan", day=3))) == 2, "no reply"
    assert len(groups(root, linked("d", subject="other", answer=True, day=3))) == 2, "another subject"
    assert len(groups(root, linked("e", subject="release plan", answer=True, day=3, place="q"))) == 2, "another product"
    old = Linked("key-f", "f", (), "release plan", True, "2027-01-01T00:00:00Z", "p")
    assert len(groups(root, old)) == 2, "a year later"
    assert groups(orphan, linked("g", subject="release plan", answer=True, day=4)) == {frozenset("bg")}, "no root"


def test_two_replies_with_missing_originals_and_answers_to_both_become_one_thread() -> None:
    def reply(name: str, *parents: str, day: int) -> Linked:
        return linked(name, *parents, subject="release plan", answer=True, day=day)

    mails = (reply("c", "a", day=1), reply("d", "b", day=2), reply("a", day=3), reply("b", day=4))
    assert groups(*mails) == {frozenset("abcd")}


def test_a_chain_of_thousands_of_replies_is_one_thread() -> None:
    mails = [linked(str(number), str(number + 1)) for number in range(20_000)]
    assert len(set(threads_of(mails).values())) == 1


def test_parents_are_references_and_then_what_is_answered() -> None:
    assert parents_of("c", ("a", "b"), ("b",)) == ("a", "b")
    assert parents_of("c", ("a",), ("b",)) == ("a", "b")
    assert parents_of("c", ("c", "a"), ()) == ("a",)


_forests = st.lists(st.tuples(st.integers(0, 20), st.booleans()), min_size=1, max_size=20)


@settings(deadline=None, max_examples=50)
@given(_forests, st.randoms(use_true_random=False))
def test_the_order_of_mails_doesnt_matter_and_chains_stay_whole(
    shape: list[tuple[int, bool]], chance: random.Random
) -> None:
    mails: list[Linked] = []
    roots: list[int] = []
    for number, (pick, new) in enumerate(shape):
        if new or not mails:
            mails.append(linked(str(number)))
            roots.append(number)
        else:
            parent = pick % number
            mails.append(linked(str(number), *mails[parent].parents, str(parent)))
            roots.append(roots[parent])
    names = threads_of(mails)
    assert [names[f"key-{n}"] == names[f"key-{roots[n]}"] for n in range(len(mails))] == [True] * len(mails)
    assert len(set(names.values())) == len(set(roots))
    shuffled = list(mails)
    chance.shuffle(shuffled)
    assert threads_of(shuffled) == names


# -- in a library ------------------------------------------------------------------------------------------------------

WALRUS = "The walrus pump must be replaced before the winter season begins at all stations."


@pytest.fixture
def library(tmp_path: Path) -> Iterator[Library]:
    made = Library(tmp_path)
    made.make = None
    yield made
    made.close()


def source(name: str, body: str, *, subject: str = "Pump", references: str = "", more: str = "", day: int = 1) -> str:
    head = f"From: Ann <ann@x.org>\nSubject: {subject}\nMessage-ID: <{name}@x>\nDate: {day} Jan 2026 10:00:00 +0000\n"
    head += f"References: {references}\n" if references else ""
    return f"{head}{more}\n{body}\n"


def reply(name: str, own: str, quote: str, references: str, **more: object) -> str:
    quoted = "".join(f"> {line}\n" for line in quote.split("\n"))
    return source(name, f"{own}\n\nOn 1 Jan 2026, Ann wrote:\n{quoted}", references=references, **more)  # type: ignore[arg-type]


def mbox(*mails: str) -> str:
    return "\n".join(f"From ann at x.org  Thu Jan  1 10:00:00 2026\n{mail}" for mail in mails)


def threads(library: Library) -> dict[str, str]:
    with library.catalog.read() as reader:
        found = [stored.document for stored in reader.iter_documents()]
    return {document.file_path: document.email.thread_id for document in found if document.email is not None}


def refreshed(library: Library) -> None:
    library.indexer.refresh()
    assert library.catalog.verify() == []
    assert library.indexer.check() == []


def test_a_parent_that_arrives_later_pulls_its_thread_together(library: Library) -> None:
    library.write("p/m/1.eml", source("c", "Third.", references="<b@x>"))
    library.write("p/m/2.eml", source("d", "Fourth.", references="<a@x>"))
    refreshed(library)
    assert len(set(threads(library).values())) == 2
    library.write("p/m/3.eml", source("b", "Second.", references="<a@x>"))
    refreshed(library)
    assert len(set(threads(library).values())) == 1
    (thread,) = set(threads(library).values())
    with library.catalog.read() as reader:
        assert len(reader.thread(thread)) == 3
    (library.root / "p/m/3.eml").unlink()
    refreshed(library)
    assert len(set(threads(library).values())) == 2


def test_a_quote_is_found_until_its_original_is_there(library: Library) -> None:
    library.write("p/m/2.eml", reply("b", "Agreed.", WALRUS, "<a@x>"))
    refreshed(library)
    assert library.find("walrus") == {"p/m/2.eml"}
    library.write("p/m/3.eml", reply("c", "Me too.", WALRUS, "<a@x>"))
    refreshed(library)
    assert library.find("walrus") == {"p/m/2.eml"}, "once per thread"
    library.write("p/m/1.eml", source("a", WALRUS))
    refreshed(library)
    assert library.find("walrus") == {"p/m/1.eml"}
    (library.root / "p/m/1.eml").unlink()
    refreshed(library)
    assert len(library.find("walrus")) == 1, "the original is gone, what was said is not"


OKAPI = "The okapi enclosure gets a heater that somebody has to switch on before it freezes."


def test_of_a_nested_quote_each_block_is_judged_by_itself(library: Library) -> None:
    history = f"{OKAPI}\n\nOn 1 Jan 2026, Bob Bobson\n<bob@x> wrote:\n" + "> " + WALRUS
    library.write("p/m/1.eml", source("a", WALRUS))
    library.write("p/m/3.eml", reply("c", "Agreed.", history, "<a@x> <b@x>"))
    refreshed(library)
    assert library.find("walrus") == {"p/m/1.eml"}
    assert library.find("okapi") == {"p/m/3.eml"}, "its original is missing"
    assert library.find("bobson") == set(), "who wrote it is no quote"
    before = library.documents()
    with library.catalog.read() as reader:
        quoting = reader.document_by_path("p/m/3.eml")
    library.write("p/m/2.eml", reply("b", OKAPI, WALRUS, "<a@x>"))
    refreshed(library)
    assert library.find("okapi") == {"p/m/2.eml"}
    with library.catalog.read() as reader:
        now = reader.document_by_path("p/m/3.eml")
    assert quoting is not None
    assert now is not None
    assert (now.doc_id, now.chunk_count) == (quoting.doc_id, quoting.chunk_count - 1), "it isn't read again"
    assert library.documents() == {*before, "p/m/2.eml"}


def test_scripts_without_spaces_are_quoted_like_others(library: Library) -> None:
    chinese = "水泵必须在冬季开始之前更换因为河流会结冰"
    library.write("p/m/2.eml", reply("b", "同意。", chinese, "<a@x>"))
    refreshed(library)
    assert library.find("冬季") == {"p/m/2.eml"}
    library.write("p/m/1.eml", source("a", f"大家好，{chinese}。"))
    refreshed(library)
    assert library.find("冬季") == {"p/m/1.eml"}


def test_a_quote_in_another_conversation_is_another_matter(library: Library) -> None:
    library.write("p/m/1.eml", source("a", WALRUS))
    library.write("p/m/2.eml", reply("z", "Elsewhere.", WALRUS, "<y@x>", subject="Other"))
    refreshed(library)
    assert library.find("walrus") == {"p/m/1.eml", "p/m/2.eml"}


def test_copies_from_two_exports_are_one_mail_with_both_paths(library: Library) -> None:
    library.write("p/m/1.eml", source("a", WALRUS))
    library.write("p/m/2.eml", source("a", WALRUS, more="X-Export: 2\n"))
    library.write("p/m/3.eml", source("a", "Another text under the same id."))
    refreshed(library)
    assert library.find("walrus") == {"p/m/1.eml"}
    assert library.find("another text") == {"p/m/3.eml"}
    with library.catalog.read() as reader:
        stored = reader.document_by_path("p/m/1.eml")
    assert stored is not None
    assert stored.also_in == ("p/m/2.eml",)
    (library.root / "p/m/1.eml").unlink()
    refreshed(library)
    assert library.find("walrus") == {"p/m/2.eml"}


@pytest.mark.parametrize("together", [False, True])
def test_a_mail_that_lies_in_two_components_is_found_in_each(library: Library, together: bool) -> None:
    library.write("p/m/1.eml", source("a", WALRUS))
    library.write("p/m/2.eml", source("a", WALRUS))
    if not together:
        refreshed(library)
    library.write("p/n/1.eml", source("a", WALRUS))
    library.write("p/n/2.eml", source("a", WALRUS, more="X-Export: 2\n"))
    library.write("q/m/1.eml", source("a", WALRUS))
    refreshed(library)
    assert library.find("walrus") == {"p/m/1.eml", "p/n/1.eml", "q/m/1.eml"}
    with library.catalog.read() as reader:
        stored = reader.document_by_path("q/m/1.eml")
    assert stored is not None
    assert stored.also_in == ("p/m/1.eml", "p/m/2.eml", "p/n/1.eml", "p/n/2.eml")
    (library.root / "p/n/1.eml").rename(library.root / "q/m/3.eml")
    refreshed(library)
    assert library.find("walrus") == {"p/m/1.eml", "p/n/2.eml", "q/m/1.eml"}, "a mail that moves goes and comes"
    (library.root / "p/m/1.eml").unlink()
    refreshed(library)
    assert sorted(path[:3] for path in library.find("walrus")) == ["p/m", "p/n", "q/m"]


def test_a_copy_that_cannot_be_read_when_the_other_goes_is_listed_and_taken_up_later(library: Library) -> None:
    library.write("p/m/1.eml", source("a", WALRUS))
    library.write("p/m/2.eml", source("a", WALRUS, more="X-Export: 2\n"))
    library.reader = reader = Refusing(library.reader)
    library.reopen()
    refreshed(library)
    (library.root / "p/m/1.eml").unlink()
    library.write("p/m/3.eml", source("b", "All is well."))
    reader.refused = {"p/m/2.eml": "access"}
    library.indexer.refresh()
    assert library.find("well") == {"p/m/3.eml"}
    assert [failure.file_path for failure in library.indexer.refresh().failed] == ["p/m/2.eml"]
    reader.refused = {}
    refreshed(library)
    assert library.find("walrus") == {"p/m/2.eml"}


@pytest.mark.parametrize("together", [False, True])
def test_of_copies_the_one_with_the_attachments_is_kept(library: Library, together: bool) -> None:
    mime = "MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=b\n"
    sheet = "--b\nContent-Type: text/plain; name=sheet.txt\n\nThe okapi has a sheet of its own.\n--b--"
    library.write("p/m/1.eml", source("a", WALRUS))
    if not together:
        refreshed(library)
    library.write("p/m/2.eml", source("a", f"--b\n\n{WALRUS}\n{sheet}", more=mime))
    refreshed(library)
    assert library.find("walrus") == library.find("okapi") == {"p/m/2.eml"}
    library.write("p/m/3.eml", source("a", WALRUS, more="X-Export: 3\n"))
    refreshed(library)
    assert library.find("walrus") == {"p/m/2.eml"}
    (library.root / "p/m/2.eml").unlink()
    refreshed(library)
    assert len(library.find("walrus")) == 1


def test_an_archive_is_many_mails_that_follow_its_file(library: Library) -> None:
    first, second = source("a", WALRUS + "\n\n>From here on."), source("b", "Okapi.", references="<a@x>")
    library.write("p/m/list.mbox", mbox(first, second))
    refreshed(library)
    members = library.documents()
    assert len(members) == 2
    assert all(path.startswith("p/m/list.mbox/") for path in members)
    assert len(set(threads(library).values())) == 1
    (found,) = library.find("walrus")
    with library.catalog.read() as reader:
        stored = reader.document_by_path(found)
        assert stored is not None
        assert "\nFrom here on." in stored.document.text
        before = {item.document.file_path: item.doc_id for item in reader.iter_documents()}
    library.write("p/m/list.mbox", mbox(first, second, source("c", "Gnu.", references="<b@x>")))
    refreshed(library)
    with library.catalog.read() as reader:
        after = {item.document.file_path: item.doc_id for item in reader.iter_documents()}
    assert before.items() <= after.items(), "mails that stay keep their ids"
    assert len(library.find("gnu")) == 1
    assert library.indexer.refresh().unchanged == 1
    (library.root / "p/m/list.mbox").rename(library.root / "p/m/old.mbox")
    report = library.indexer.refresh()
    assert (report.moved, report.added, report.removed) == (1, 0, 0)
    assert {path.rsplit("/", 1)[0] for path in library.documents()} == {"p/m/old.mbox"}
    library.write("p/m/old.mbox", mbox(first))
    refreshed(library)
    assert len(library.documents()) == 1
    (library.root / "p/m/old.mbox").unlink()
    refreshed(library)
    assert library.documents() == set()


def test_new_rules_of_reading_hold_for_an_archives_mails_whose_passages_stay(library: Library) -> None:
    """Of a mail that is read otherwise, title and keyword entries change even where no passage does."""
    library.write("p/m/list.mbox", mbox(source("a", WALRUS), reply("b", "Okapi.", WALRUS, "<a@x>")))
    refreshed(library)
    calls = library.embedder.calls

    class Other:
        fingerprint = "other"

        def read(self, source: SourceFile) -> ReadResult:
            whole = given.read(source)
            assert whole.members is not None
            return replace(whole, members=tuple(map(self._member, whole.members)))

        def _member(self, one: ReadResult) -> ReadResult:
            entries = tuple(replace(entry, path=f"{entry.path} gnu") for entry in one.entries)
            return replace(one, document=replace(one.document, title="Another"), entries=entries)

    given, library.reader = library.reader, Other()
    library.reopen()
    refreshed(library)
    assert library.find("gnu") == library.documents()
    with library.catalog.read() as reader:
        assert {stored.document.title for stored in reader.iter_documents()} == {"Another"}
    assert len(library.find("walrus")) == 1
    assert library.embedder.calls == calls, "no text has changed"


def test_a_kill_between_an_archives_mails_and_itself_loses_nothing(library: Library) -> None:
    library.write("p/m/list.mbox", mbox(source("a", WALRUS), source("b", "Okapi.")))
    library.indexer.refresh()
    with library.catalog._database.write() as session:  # as if it had been killed before it was written
        session.rows("DELETE FROM archives")
    library.reopen().refresh()
    assert len(library.documents()) == 2
    with library.catalog._database.write() as session:
        session.rows("DELETE FROM archives")
    (library.root / "p/m/list.mbox").unlink()
    library.reopen().refresh()
    assert library.documents() == set()


def test_a_kill_before_a_quotes_entry_went_is_noticed_and_that_mail_alone_read_again(library: Library) -> None:
    library.write("p/m/1.eml", source("a", OKAPI))
    library.write("p/m/2.eml", reply("b", "Agreed.", WALRUS, "<y@x>"))
    refreshed(library)
    with library.catalog.read() as reader:
        (quote,) = [one for one in reader.iter_documents() if one.document.file_path == "p/m/2.eml"]
        doomed = reader.chunks_of(quote.doc_id)[-1].chunk_id
    library.catalog.withdraw([doomed])  # and killed before the keyword index heard of it
    found = library.reopen().check()
    assert "The keyword index lacks 1 documents or holds other passages of them." in found
    library.indexer.check(repair=True)
    assert library.find("okapi") == {"p/m/1.eml"}
    assert library.find("walrus") == {"p/m/2.eml"}


def test_a_lost_keyword_index_is_filled_again_from_archives(library: Library) -> None:
    library.write("p/m/list.mbox", mbox(source("a", WALRUS), reply("b", "Okapi.", WALRUS, "<a@x>")))
    refreshed(library)
    library.lexical.clear()
    library.lexical.commit(1)
    library.reopen().refresh()
    assert len(library.find("walrus")) == len(library.find("okapi")) == 1
    assert library.indexer.check() == []
