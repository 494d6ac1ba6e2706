"""What a page includes stands in its text as the site's generator shows it, and nothing comes from elsewhere.

* Expected texts were compared with what Sphinx, docutils 0.23, PyMdown Extensions 13.1 and Asciidoctor.js 4.1 make of
  the same files.
* A missing target is named in one line. Nothing outside the allowed folders is read, and nothing waits or grows without
  end.
"""

from __future__ import annotations

import os
import textwrap
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from librarian.models import ReadResult, SourceFile
from librarian.parsing.chunking import StructureChunker
from librarian.parsing.includes.expansion import Expansion, expanded
from librarian.parsing.includes.files import MOST_TEXT, IncludeRoots
from librarian.parsing.reader import FileReader
from librarian.text.analyzer import StandardAnalyzer

CODE = '''\
"""Module."""
import os

# start one
@decorated
def first(a):
    return a
# end one


class Box:
    size = 1

    def open(self, key):
        return key
'''
RUBY = """\
# tag::all[]
require 'x'
# tag::a[]
def a
    # tag::in[]
    2
    # end::in[]
end
# end::a[]
# end::all[]
puts 1
"""
RUST = """\
fn zero() {}
// ANCHOR: one
fn one() {
    // ANCHOR: two
    two();
    // ANCHOR_END: two
}
// ANCHOR_END: one
"""
PART = """\
# Part

--8<-- [start:mid]
three
  four
--8<-- [end:mid]
--8<-- "inner.txt"
"""


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tree")
    for name, text in {
        "lib/docs/code.py": CODE,
        "lib/docs/code.rb": RUBY,
        "lib/docs/code.rs": RUST,
        "lib/docs/part.md": PART,
        "lib/docs/inner.txt": "inner 1\ninner 2\n",
        "lib/docs/part.rst": "Part\n====\n\n.. literalinclude:: code.py\n   :lines: 2\n",
        "lib/docs/part.adoc": "= Part\n\ninclude::sub/leaf.adoc[]\n",
        "lib/docs/sub/leaf.adoc": "== Leaf\n\n----\n== code\n----\n",
        "lib/docs/note.md": "---\ntitle: Note\n---\n\nBe careful.\n\nReally.\n",
        "lib/docs/modules/ROOT/examples/demo.yaml": "kind: Demo\n",
        "lib/docs/modules/other/partials/hint.adoc": "A hint.\n",
        "lib/_includes/banner.rst": "Read this first.\n",
        "lib/includes/prereqs.md": "You need a cluster.\n",
        "src/examples/pods/web.yaml": "kind: Pod\nname: web\n",
        "src/docs_src/first/app.py": "import api\n\napp = api.App()\n\n\n@app.get('/')\ndef root():\n    return 1\n",
    }.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder


Shown = Callable[..., str]


def expansion(tree: Path, text: str, name: str) -> Expansion | None:
    data = text.encode()
    roots = IncludeRoots(str(tree / "lib"), (str(tree / "src" / "examples"), str(tree / "src" / "docs_src")))
    return expanded(SourceFile(str(tree / "lib" / name), name, "lib", "docs", len(data), 0), data, roots)


@pytest.fixture
def shown(tree: Path) -> Shown:
    def text_of(text: str, name: str) -> str:
        found = expansion(tree, text, name)
        return text if found is None else found.text

    return text_of


@pytest.mark.parametrize(
    ("options", "lines"),
    [
        ("", range(1, 16)),
        (":lines: 1-2,4", [1, 2, 4]),
        (":lines: 13-", [13, 14, 15]),
        (":start-after: start one\n:end-before: end one", [5, 6, 7]),
        (":start-at: class Box\n:end-at: size", [11, 12]),
        (":pyobject: first", [5, 6, 7]),
        (":pyobject: Box\n:lines: 1-2", [11, 12]),
        (":end-before: import os", [1]),
    ],
)
def test_literalinclude_shows_the_lines_that_sphinx_shows(shown: Shown, options: str, lines: list[int]) -> None:
    rows = CODE.splitlines()
    given = textwrap.indent(options + "\n", "   ") if options else ""
    got = shown(f"Title\n=====\n\n.. literalinclude:: code.py\n{given}\nAfter.\n", "docs/page.rst")
    code = "".join(f"   {row}\n" if (row := rows[number - 1]) else "\n" for number in lines)
    assert got == f"Title\n=====\n\n.. code-block:: python\n\n{code}\nAfter.\n"


def test_literalinclude_dedents_and_captions(shown: Shown) -> None:
    got = shown(
        "* Item\n\n  .. literalinclude:: code.py\n     :pyobject: Box.open\n     :dedent:\n     :language: py3\n"
        "     :caption: How to open\n     :emphasize-lines: 2\n",
        "docs/page.rst",
    )
    assert got == (
        "* Item\n\n  How to open\n\n  .. code-block:: py3\n\n     def open(self, key):\n         return key\n"
    )


def test_include_takes_in_text_and_what_that_includes(shown: Shown) -> None:
    text = ".. include:: part.rst\n\n.. include:: /_includes/banner.rst\n\n"
    text += ".. include:: code.py\n   :code: python\n   :start-line: 1\n   :end-line: 2\n"
    assert shown(text, "docs/page.rst") == (
        "Part\n====\n\n.. code-block:: python\n\n   import os\n\nRead this first.\n\n"
        ".. code-block:: python\n\n   import os\n"
    )
    clipped = ".. include:: code.py\n   :literal:\n   :start-after: start one\n   :end-before: return\n"
    assert shown(clipped, "docs/page.rst") == ".. code-block::\n\n   @decorated\n   def first(a):\n"


def test_directives_that_are_shown_as_code_stay(shown: Shown) -> None:
    text = "Write this::\n\n   .. literalinclude:: code.py\n\n.. code-block:: rst\n\n   .. include:: part.rst\n\n"
    text += ".. a comment\n   .. include:: part.rst\n"
    assert shown(text, "docs/page.rst") == text


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ("inner.txt", "inner 1\ninner 2\n"),
        ("inner.txt:2:2", "inner 2"),
        ("part.md:mid", "three\n  four"),
        ("part.md", "# Part\n\nthree\n  four\ninner 1\ninner 2\n\n"),
        ("part.md:-2:", "inner 1\ninner 2\n\n"),
    ],
)
def test_snippets_of_mkdocs(shown: Shown, target: str, expected: str) -> None:
    assert shown(f'Text\n\n--8<-- "{target}"\nEnd', "docs/page.md") == f"Text\n\n{expected}\nEnd"


def test_a_snippet_in_a_fence(shown: Shown) -> None:
    fence = '- item\n\n    ```text\n    --8<-- "inner.txt:1:1"\n    ```\n'
    assert shown(fence, "docs/page.md") == "- item\n\n    ```text\n    inner 1\n    ```\n"


def test_code_of_fastapi_and_of_mdx_include(shown: Shown) -> None:
    text = "Try:\n\n{* ../../docs_src/first/app.py ln[1:1,6:8] hl[6] *}\n\nEnd"
    assert shown(text, "docs/page.md") == (
        "Try:\n\n```python\nimport api\n\n# Code here omitted\n\n@app.get('/')\ndef root():\n    return 1\n```\n\nEnd"
    )
    bang = "```Python\n{!> ../../docs_src/first/app.py[ln:7-8]!}\n```"
    assert shown(bang, "docs/page.md") == "```Python\ndef root():\n    return 1\n```"


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        (":1", "fn zero() {}"),
        (":5:5", "    two();"),
        (":7:", "}\n// ANCHOR_END: one"),
        (":one", "fn one() {\n    two();\n}"),
        (":two", "    two();"),
    ],
)
def test_includes_of_mdbook(shown: Shown, spec: str, expected: str) -> None:
    text = "```rust\n{{#%s code.rs%s}}\n```\n"
    for kind in ("include", "rustdoc_include"):
        assert shown(text % (kind, spec), "docs/page.md") == f"```rust\n{expected}\n```\n"


def test_an_escaped_include_of_mdbook_stays(shown: Shown) -> None:
    for text in (r"Write \{{#include code.rs}} there.", "Write `{{#include code.rs}}` there."):
        assert shown(text, "docs/page.md") == text


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ("lines=2;4..5", "require 'x'\ndef a\n    # tag::in[]"),
        ("tag=a", "def a\n    2\nend"),
        ("tags=in;none", "    2"),
        ("tag=in,indent=0", "2"),
    ],
)
def test_includes_of_asciidoctor(shown: Shown, options: str, expected: str) -> None:
    text = f"[source,ruby]\n----\ninclude::code.rb[{options}]\n----\n"
    assert shown(text, "docs/page.adoc") == f"[source,ruby]\n----\n{expected}\n----\n"


def test_asciidoc_with_level_offset_attributes_and_resources_of_antora(shown: Shown) -> None:
    text = ":where: sub\n\ninclude::{where}/leaf.adoc[leveloffset=+1]\n\ninclude::part.adoc[]\n"
    leaf = "== Leaf\n\n----\n== code\n----"
    assert shown(text, "docs/page.adoc") == f":where: sub\n\n={leaf}\n\n= Part\n\n{leaf}\n"
    text = "include::example$demo.yaml[]\ninclude::other:partial$hint.adoc[]\ninclude::{examplesdir}/demo.yaml[]\n"
    assert shown(text, "docs/modules/ROOT/pages/page.adoc") == "kind: Demo\nA hint.\nkind: Demo\n"


def test_shortcodes_of_hugo_and_quarto(shown: Shown) -> None:
    fence = "```yaml\nkind: Pod\nname: web\n```"
    for name in ("code_sample", "codenew", "code"):
        got = shown(f'See:\n\n{{{{% {name} file="pods/web.yaml" %}}}}\n', "docs/page.md")
        assert got == f"See:\n\n`pods/web.yaml`\n\n{fence}\n"
    text = '1. Apply:\n   {{< code_sample language="yaml" file="pods/web.yaml" >}}\n'
    assert (
        shown(text, "docs/page.md") == f"1. Apply:\n{textwrap.indent(f'`pods/web.yaml`{chr(10) * 2}{fence}', '   ')}\n"
    )
    assert shown('{{< readfile file="code.rs" code="true" lang="go" >}}', "docs/p.md") == f"```go\n{RUST}```"
    assert shown("* {{% include note.md %}}\n* b", "docs/page.md") == "* Be careful.\n\n  Really.\n* b"
    assert shown('{{< include "prereqs.md" >}} Go on.', "docs/page.md") == "You need a cluster. Go on."
    for text in (
        '{{</* include "note.md" */>}}',
        '`{{< include "note.md" >}}`',
        '{{< code file="no" >}}x{{< /code >}}',
    ):
        assert shown(text, "docs/page.md") == text


def test_directives_of_myst(shown: Shown) -> None:
    text = "```{literalinclude} code.py\n:language: python\n:start-after: start one\n:end-before: end one\n```\n"
    assert shown(text, "docs/page.md") == "```python\n@decorated\ndef first(a):\n    return a\n```\n"
    tabs = "````{{tab-set}}\n```{{tab-item}} One\n{}\n```\n````\n\n```text\n```{{include}} inner.txt\n```\n"
    assert shown(tabs.format('--8<-- "inner.txt:1:1"'), "docs/page.md") == tabs.format("inner 1")
    assert shown(":::{include} inner.txt\n:::\nEnd", "docs/page.md") == "inner 1\ninner 2\nEnd"


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("A.\n\n.. literalinclude:: gone.py\n   :lines: 1-2\n\nB.\n", "docs/page.rst"),
        ("A.\n\n.. include:: gone.py\n\nB.\n", "docs/page.rst.txt"),
        ('A.\n\n--8<-- "gone.py"\n\nB.\n', "docs/page.md"),
        ("A.\n\n{* ../gone.py hl[1] *}\n\nB.\n", "docs/page.md"),
        ("A.\n\n{{#include gone.py:2}}\n\nB.\n", "docs/page.md"),
        ('A.\n\n{{% code_sample file="gone.py" %}}\n\nB.\n', "docs/page.md"),
        ("A.\n\n```{literalinclude} gone.py\n:lines: 1\n```\n\nB.\n", "docs/page.md"),
        ("A.\n\ninclude::gone.py[]\n\nB.\n", "docs/page.adoc"),
    ],
)
def test_a_missing_file_is_named_in_one_line_and_lines_keep_their_numbers(tree: Path, text: str, name: str) -> None:
    source = SourceFile(str(tree / "lib" / name), name, "lib", "docs", 0, 0)
    Path(source.path).write_text(text)
    reader = FileReader(StandardAnalyzer(), StructureChunker(), includes=IncludeRoots(str(tree / "lib")))
    result = reader.read(source)
    os.unlink(source.path)
    [line] = [row for row in result.document.text.split("\n") if "gone.py" in row]
    kept = '{{% code_sample file="gone.py" %}}'  # a shortcode stays as it is
    assert line in ("(Included file not found: gone.py)", "(Included file not found: ../gone.py)", kept)
    assert result.document.text.split("\n").index("B.") == text.split("\n").index("B.")
    assert line in "\n".join(chunk.text for chunk in result.chunks)
    hidden = [chunk.text[start:end] for chunk in result.chunks for start, end in chunk.unseen]
    assert not any("gone.py" in text for text in hidden), "a reader is shown the line"


def test_a_missing_part_is_named_too(shown: Shown) -> None:
    text = ".. literalinclude:: code.py\n   :start-after: nowhere\n"
    assert shown(text, "docs/page.rst") == "(Included part not found, start-after nowhere: code.py)\n\n"


# -- safety ----------------------------------------------------------------------------------------------------------


def test_nothing_outside_the_allowed_folders_is_read(tree: Path, shown: Shown, tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("swordfish")
    (tree / "secret.txt").write_text("swordfish")
    (tree / "lib" / "docs" / ".env").write_text("swordfish")
    (tree / "lib" / "docs" / "link.txt").symlink_to(tmp_path / "secret.txt")
    (tree / "lib" / "docs" / "folder").symlink_to(tmp_path)
    (tree / "lib" / "docs" / "inside.txt").symlink_to("inner.txt")
    os.mkfifo(tree / "lib" / "docs" / "pipe.txt")
    targets = (
        f"{tmp_path}/secret.txt",
        "../../secret.txt",
        "docs/../../../secret.txt",
        "link.txt",
        "folder/secret.txt",
        ".env",
        "pipe.txt",
        "/dev/zero",
        "../../../../../../dev/zero",
        "sub",
        "x" * 400,
    )
    began = time.monotonic()
    for target in targets:
        for form, name in (
            (f".. literalinclude:: {target}", "docs/page.rst"),
            (f'--8<-- "{target}"', "docs/page.md"),
            (f"{{{{#include {target}}}}}", "docs/page.md"),
            (f'{{{{% code_sample file="{target}" %}}}}', "docs/page.md"),
            (f"include::{target}[]", "docs/page.adoc"),
        ):
            assert shown(form, name).startswith(("(Included file not found: ", "{{% code_sample")), form
            assert "swordfish" not in shown(form, name), form
    assert time.monotonic() - began < 30  # a pipe or a device would have been waited for
    assert shown('--8<-- "inside.txt"', "docs/page.md") == "inner 1\ninner 2\n"


def test_size_depth_cycles_and_number_are_bounded(tree: Path, shown: Shown) -> None:
    docs = tree / "lib" / "docs"
    with open(docs / "huge.txt", "wb") as file:
        file.truncate(1 << 30)
    (docs / "large.txt").write_text("row\n" * 30_000)
    (docs / "self.rst").write_text("Again.\n\n.. include:: self.rst\n")
    for number in range(9):
        (docs / f"deep{number}.md").write_text(f'level {number}\n\n--8<-- "deep{number + 1}.md"\n')
    assert shown('--8<-- "huge.txt"', "docs/page.md") == "(Included file left out, larger than 1 MB: huge.txt)"
    assert shown(".. include:: self.rst\n", "docs/page.rst").count("Again.") == 1
    deep = shown('--8<-- "deep0.md"', "docs/page.md")
    assert "level 2" in deep
    assert "level 3" not in deep
    assert "(Included file left out, nested too deeply: deep3.md)" in deep
    many = shown('--8<-- "large.txt"\n' * 1_200, "docs/page.md")
    assert 4 * many.count("row") <= MOST_TEXT
    assert "(Included file left out, more than 200 KB: large.txt)" in many
    assert "(Included file left out, there are more than 1,000: large.txt)" in many


@pytest.mark.parametrize(
    ("unit", "name"),
    [
        ("{{< include ", "p.md"),
        ("{{#include a", "p.md"),
        ('--8<-- "a:1,', "p.md"),
        ("~", "p.md"),
        ("{* a b[", "p.md"),
        ("```{include} a\n", "p.md"),
        (".. include:: a\n", "p.rst"),
        ("..  ", "p.rst"),
        ("include::a{b}[", "p.adoc"),
        (":a: {a}{a}x\n", "p.adoc"),
    ],
)
def test_a_hostile_page_takes_linear_time(shown: Shown, unit: str, name: str) -> None:
    lead = {"p.md": '--8<-- "no"\n', "p.rst": ".. include:: no\n", "p.adoc": "include::no[]\n"}[name]
    began = time.process_time()
    shown(lead + unit * (400_000 // len(unit)), name)
    assert time.process_time() - began < 5


# -- documents ------------------------------------------------------------------------------------------------------


def read(tree: Path, name: str, text: str) -> ReadResult:
    path = tree / "lib" / name
    path.write_text(text)
    reader = FileReader(StandardAnalyzer(), StructureChunker(), includes=IncludeRoots(str(tree / "lib")))
    return reader.read(SourceFile(str(path), name, "lib", "docs", len(text), 0))


def test_a_document_tells_what_it_depends_on_and_counts_lines_with_it(tree: Path) -> None:
    result = read(
        tree, "docs/told.rst", "Told\n====\n\n.. literalinclude:: code.py\n   :pyobject: first\n\nPorcupines.\n"
    )
    document = result.document
    assert [(one.path, one.size) for one in document.included] == [("docs/code.py", len(CODE))]
    assert document.notes == ("1 part of another file is included: lines are counted with them",)
    assert all(document.text[chunk.start : chunk.end] == chunk.text for chunk in result.chunks)
    [fence] = [block for block in document.blocks if block.kind == "fence"]
    assert "return a" in document.text[fence.start : fence.end]
    assert document.text.split("\n")[9] == "Porcupines."
    assert "decorated" in " ".join(entry.body for entry in result.entries)


def test_equal_pages_that_include_other_files_are_no_copies(tree: Path) -> None:
    page = 'Page\n\n--8<-- "own.txt"\n'
    for folder in ("one", "two"):
        (tree / "lib" / folder).mkdir()
        (tree / "lib" / folder / "own.txt").write_text(folder)
    one, two = (read(tree, f"{folder}/page.md", page).document for folder in ("one", "two"))
    assert one.content_hash != two.content_hash
    assert one.content_hash.split("+")[0] == two.content_hash.split("+")[0]


def test_a_crawled_page_is_left_as_it_is(tree: Path) -> None:
    page = '---\ntitle: "Snippets"\nsource_url: "https://example.org/"\n---\n\n--8<-- "inner.txt"\n'
    assert read(tree, "docs/crawled.md", page).document.text == page
