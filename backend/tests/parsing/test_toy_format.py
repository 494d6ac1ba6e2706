"""Adding a format takes one file, one line in the registry, one golden document and one row of the manual."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

PARSER = '''
from librarian.parsing.document_builder import new_document
from librarian.parsing.encoding import decode


class ToyParser:
    """Text that is written backwards."""

    extensions = (".toy",)

    def parse(self, source, data):
        decoded = decode(data, source.file_path)
        return new_document(source, "A toy", decoded.text[::-1].strip(), decoded)
'''
SEARCH = """
import sys
from librarian.library import Librarian
with Librarian.open(sys.argv[1]) as library:
    library.refresh()
    print(library.search("zebra", mode="keyword").results[0].file_path)
"""


def test_a_format_is_one_file_and_one_line_in_the_registry(tmp_path: Path) -> None:
    backend = Path(__file__).parents[2]
    copy = tmp_path / "backend" / "librarian"
    shutil.copytree(backend / "librarian", copy, copy_function=os.symlink, ignore=shutil.ignore_patterns("__pycache__"))
    registry = copy / "parsing" / "reader.py"
    written = registry.read_text("utf-8")
    registry.unlink()
    registry.write_text(
        written.replace('    "rtf.RichTextParser",\n', '    "rtf.RichTextParser",\n    "toy.ToyParser",\n')
    )
    (copy / "parsing" / "toy.py").write_text(PARSER)

    (tmp_path / "docs" / "acme" / "toys").mkdir(parents=True)
    (tmp_path / "docs" / "acme" / "toys" / "golden.toy").write_text("arbez a tuoba esarhp nedlog A")
    config = tmp_path / "config.json"
    config.write_text(
        '{"docs": {"root_path": "docs", "watch_for_changes": false}, "embeddings": {"enabled": false},'
        ' "index": {"workers": 1}}'
    )
    done = subprocess.run(
        [sys.executable, "-c", SEARCH, str(config)],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(copy.parent)},
        timeout=300,
    )
    assert done.stdout.strip() == "acme/toys/golden.toy", done.stderr[-2000:]
