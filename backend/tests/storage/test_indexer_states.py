"""Whatever is done to a folder, after a refresh the index equals it: catalog, keyword index and vector store.

A state machine does to real files what people do, in any order, and compares with a dict. Whether the refresh looks at
everything or only where events would tell it to makes no difference, nor does a restart.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from tests.storage.library import Library

FOLDERS = st.sampled_from(["ray/core", "ray/serve", "ray/core/deep", "sun/core", "moon"])
NAMES = st.sampled_from(["a.md", "b.md", "c.md"])
WORDS = st.sampled_from(["wombat", "ocelot", "capybara", "axolotl"])
TITLES = st.sampled_from(["# Title\n\n", "", "# Other\n\n## Part\n\n"])


class Folder(RuleBasedStateMachine):
    """The model: file path → text. `events`: absolute paths that a watcher would have told."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.library = Library(self.folder)
        self.files: dict[str, str] = {}
        self.events: set[str] = set()
        self.embedded: set[str] = set()

    def teardown(self) -> None:
        self.library.close()
        shutil.rmtree(self.folder)

    def _told(self, *file_paths: str) -> None:
        self.events.update(str(self.library.root / path) for path in file_paths)

    @rule(folder=FOLDERS, name=NAMES, title=TITLES, words=st.lists(WORDS, min_size=1, max_size=60))
    def write(self, folder: str, name: str, title: str, words: list[str]) -> None:
        path = f"{folder}/{name}"
        self.files[path] = f"{title}{' '.join(words)}\n"
        self.library.write(path, self.files[path])
        self._told(path)

    @precondition(lambda self: self.files)
    @rule(data=st.data())
    def delete(self, data: st.DataObject) -> None:
        path = data.draw(st.sampled_from(sorted(self.files)))
        del self.files[path]
        (self.library.root / path).unlink()
        self._told(path)

    @precondition(lambda self: self.files)
    @rule(data=st.data(), folder=FOLDERS, name=NAMES)
    def move(self, data: st.DataObject, folder: str, name: str) -> None:
        old = data.draw(st.sampled_from(sorted(self.files)))
        new = f"{folder}/{name}"
        self.files[new] = self.files.pop(old)
        (self.library.root / folder).mkdir(parents=True, exist_ok=True)
        (self.library.root / old).rename(self.library.root / new)
        self._told(old, new)

    @precondition(lambda self: self.files)
    @rule(data=st.data(), folder=FOLDERS, name=NAMES)
    def copy(self, data: st.DataObject, folder: str, name: str) -> None:
        old = data.draw(st.sampled_from(sorted(self.files)))
        new = f"{folder}/{name}"
        self.files[new] = self.files[old]
        self.library.write(new, self.files[new])
        self._told(new)

    @precondition(lambda self: self.files)
    @rule(data=st.data(), to=st.sampled_from(["star", "comet"]))
    def rename_product(self, data: st.DataObject, to: str) -> None:
        old = data.draw(st.sampled_from(sorted({path.split("/")[0] for path in self.files})))
        if (self.library.root / to).exists():
            return
        (self.library.root / old).rename(self.library.root / to)
        self.files = {
            to + path[len(old) :] if path.startswith(old + "/") else path: text for path, text in self.files.items()
        }
        self._told(old, to)

    @precondition(lambda self: self.files)
    @rule(data=st.data())
    def delete_folder(self, data: st.DataObject) -> None:
        folder = data.draw(st.sampled_from(sorted({path.rsplit("/", 1)[0] for path in self.files})))
        shutil.rmtree(self.library.root / folder)
        self.files = {path: text for path, text in self.files.items() if not path.startswith(folder + "/")}
        self._told(folder)

    @precondition(lambda self: self.files)
    @rule(data=st.data(), seconds=st.integers(1, 10**9))
    def touch(self, data: st.DataObject, seconds: int) -> None:
        path = data.draw(st.sampled_from(sorted(self.files)))
        os.utime(self.library.root / path, (seconds, seconds))
        self._told(path)

    @rule()
    def restart(self) -> None:
        self.library.reopen()

    @rule(everything=st.booleans())
    def refresh(self, everything: bool) -> None:
        self.library.indexer.refresh(None if everything else sorted(self.events))
        self.library.indexer.embed()
        self.events.clear()
        assert self.library.documents() == set(self.files)
        self.library.assert_whole()
        for word in ("wombat", "ocelot"):
            assert self.library.find(word) == {path for path, text in self.files.items() if word in text}

    @invariant()
    def nothing_is_embedded_twice(self) -> None:
        assert self.library.embedder.calls == self.library.archive.count()


TestFolder = Folder.TestCase
TestFolder.settings = settings(
    max_examples=20, stateful_step_count=15, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
