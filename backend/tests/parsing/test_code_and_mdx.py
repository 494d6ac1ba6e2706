"""Markup that is shown and markup that isn't: what is proved here.

* What stands in a code span, in indented code or in a fence is shown as it is; beside them it is left out as ever.
* Code spans are those of markdown-it.
* Statements, tags and comments of MDX are left out over several lines, and words that components show stay.
* A cell of a notebook ends its fences.
"""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from librarian.models import Document
from librarian.parsing.chunking import StructureChunker
from librarian.parsing.markdown_blocks import parse_blocks
from librarian.parsing.spans import code_spans

from .conftest import Parse

_ORACLE = MarkdownIt("commonmark", {"html": False}).disable(["link", "image", "autolink", "reference", "entity"])


def seen(doc: Document) -> str:
    hidden = {place for span in doc.excluded for place in range(span.start, span.end)}
    return "".join(char for place, char in enumerate(doc.text) if place not in hidden)


@pytest.mark.parametrize(
    "text",
    [
        "Write `{% gazelle %}` to loop, `<a> <!-- ` opens and ` -->` closes.",
        "- `{% a %}`\n- ``{% b ` %} <!-- c -->``\n",
        "| a | b |\n|---|---|\n| `<!--` | `-->` |\n",
        "Example:\n\n    {% for a in b %}\n    <!-- remark -->\n    {{< note >}}\n    !!! note\n",
        "```\n{% a %} <!-- b\n```\n\nThen `-->`.",
    ],
)
def test_code_is_shown_as_it_is(parse: Parse, text: str) -> None:
    assert seen(parse(text)) == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("A `<!--` and <!-- hidden --> words", "A `<!--` and  words"),
        ("A ` stray\n\nand <!-- hidden --> ` another", "A ` stray\n\nand  ` another"),
        ("- a ` stray\n- b <!-- hidden --> ` c", "- a ` stray\n- b  ` c"),
        ("An \\` escaped <!-- hidden --> ` tick", "An \\` escaped  ` tick"),
        ("`a` {% hidden %} `b`", "`a`  `b`"),
        ("In `v{{< version >}}` of Hugo", "In `v` of Hugo"),
        ("!!! note\n\n    Text <!-- hidden -->\n\nEnd\n", "\n\n    Text \n\nEnd\n"),
        ('!!! note "Mind"\n    it\n\n??? "Why so"\n    !!!\n', "Mind\n    it\n\nWhy so\n    !!!\n"),
        ('???+ tip inline "A "big" one"\n    it\n!!! "Bare"\n', 'A "big" one\n    it\nBare\n'),
        ('Wow!!! "quoted"\n??? what "is\n!!!', 'Wow!!! "quoted"\n??? what "is\n!!!'),
        ("> [!tip]- Title\n> Body\n\n>[!faq|wide]\n>x", ">  Title\n> Body\n\n>\n>x"),
        ('- > > [!NOTE]+ T\n\n> [!div class="steps"]\n> [Next](a.md)', "- > >  T\n\n> \n> [Next](a.md)"),
        ("> of [!tip] and [!tip](a.md)\n\n[!tip]", "> of [!tip] and [!tip](a.md)\n\n[!tip]"),
        ("[^1]: Note\n\n    {% hidden %}more\n", "[^1]: Note\n\n    more\n"),
        ("A<br/>B `<br>` <token>", "AB `<br>` <token>"),
        (r"A \<br/> of <b>Promise\<Kept></b>, \</Kept\>", r"A \<br/> of Promise\<Kept>, \</Kept\>"),
        ('Pick <label for="a">*Red*</label> <input id="a" checked> of <option>', "Pick *Red* of <option>"),
        ("Of <Key> a <Badge /> in Map<K, V>: <span v-pre>it</span><Toc/>", "Of <Key> a  in Map<K, V>: it"),
        ("<button\n  data-color=\"red\">red</button> <x-note lang='en'>", "red"),
        ("## ARIA – roles {#aria-–-roles}", "## ARIA – roles "),
        ('<a href="x"><img src="logo.png" alt="The logo" width="9"></a>', "The logo"),
        ("if a <b and c> d", "if a <b and c> d"),
        ("R&amp;D&nbsp;&#39;x&#39;, a&b;", "RDx, a&b;"),
        ('## Ports {#ports .wide}\n{: .note key=1}\n\n[x]{.underline} {job="a"}', '## Ports \n\n\n[x] {job="a"}'),
        (":octicons-arrow-right-24: Next :warning:", " Next :warning:"),
    ],
)
def test_markup_beside_code_is_left_out(parse: Parse, text: str, shown: str) -> None:
    assert seen(parse(text)) == shown


@settings(deadline=None, max_examples=50)
@given(st.text(alphabet="``` \\a\n", max_size=40))
def test_code_spans_are_those_of_markdown_it(text: str) -> None:
    text = "a" + text
    tokens = [child for token in _ORACLE.parse(text) for child in token.children or ()]
    expected = sum(token.type == "code_inline" for token in tokens)
    assert sum(len(list(code_spans(text, block))) for block in parse_blocks(text).blocks) == expected


MDX = """import {
  Alpha,
} from '@x/hidden'

export const meta = {
  by: 'hidden }',
  deep: {a: [1, 2]},
}

export const shout = (words) =>
  `hidden ${words}`

# Real

<Tabs
  values={[{label: 'Macaw', value: 'hidden'}]}
  onChange={(to) => hidden(to)}
>

<Tab label="Toucan" id="hidden">

Text for export const.

</Tab>
</Tabs>

{/* hidden
remark */}

```jsx
<Kept
  a="kept"
>
```

End.
"""


def test_mdx_over_several_lines_is_left_out_and_labels_stay(parse: Parse) -> None:
    shown = seen(parse(MDX, "a/b/page.mdx"))
    assert "hidden" not in shown
    fence = '```jsx <Kept a= "kept" > ```'.replace("= ", "=")
    assert " ".join(shown.split()) == f"# Real Macaw Toucan Text for export const. {fence} End."


def test_a_tag_behind_a_backslash_is_text_in_mdx_too(parse: Parse) -> None:
    assert seen(parse("A \\<Tab a> is a <Tab />.\n", "a/b/page.mdx")) == "A \\<Tab a> is a .\n"


def test_what_a_component_holds_is_no_code_for_being_indented(parse: Parse) -> None:
    text = '<Steps>\n\n    <Warning>Keep `<It>`.</Warning>\n\n    ## Ports <New v="2" />\n\n    Open one.\n\n</Steps>'
    doc = parse(text, "a/b/page.mdx")
    assert seen(doc).split() == ["Keep", "`<It>`.", "##", "Ports", "Open", "one."]
    assert [(head.level, head.text) for head in doc.headings] == [(2, "Ports")]
    assert parse(text, "a/b/page.md").headings == ()


@pytest.mark.parametrize("sign", ["## Usage {/*usage*/}", "import Tabs from '@theme/Tabs'\n\n## Usage"])
def test_a_page_that_imports_or_has_remarks_as_mdx_does_is_mdx_whatever_its_file_is_called(
    parse: Parse, sign: str
) -> None:
    intro = "<Intro>\n\nIt has a <CodeStep step={1}>state</CodeStep>.\n\n</Intro>"
    doc = parse(f"{intro}\n\n{sign}\n\n    <Note>See it.</Note>\n")
    assert seen(doc).split() == ["It", "has", "a", "state.", "##", "Usage", "See", "it."]
    assert [head.text for head in doc.headings] == ["Usage"]


@pytest.mark.parametrize(
    "sign",
    [
        "`{/* a */}` is a remark.",
        "```jsx\nimport a from 'b'\n{/* a */}\n```",
        "{{/* of Go's templates */}}",
        "<script setup>\nimport A from './A.vue'\n</script>",
        "Open {/* only",
        "import goods from 'abroad' before noon",
    ],
)
def test_a_page_that_only_tells_of_mdx_is_markdown(parse: Parse, sign: str) -> None:
    text = f"A `Map` of <Key>.\n\n{sign}\n\n    ## Code <Kept>\n"
    doc = parse(text)
    assert doc.headings == ()
    assert "<Key>" in seen(doc)
    assert "<Kept>" in seen(doc)


def test_what_stands_right_below_a_tag_of_mdx_is_markdown(parse: Parse) -> None:
    text = """\
<div id="ports">
  ## Ports
</div>
<Card
  title="Doors" {...rest}
>
### Doors

<Tip>
| port | use |
| --- | --- |
| 80 | page |
</Tip>
Behind it. <b>Kept</b>
<br/>
> Quoted.
"""
    doc = parse(text, "a/b/page.mdx")
    assert [(head.level, head.text, head.line) for head in doc.headings] == [(2, "Ports", 2), (3, "Doors", 7)]
    shown = [(block.kind, text[block.start : block.end].split("\n")[0]) for block in doc.blocks]
    assert ("table", "| port | use |") in shown
    assert ("paragraph", "Behind it. <b>Kept</b>") in shown
    assert shown[-1] == ("quote", "> Quoted.")
    assert parse(text, "a/b/page.md").headings == ()


def test_what_jekyll_highlights_is_code(parse: Parse) -> None:
    text = "Intro.\n\n{% highlight shell %}\n# install\nrun it\n\n# again\n{% endhighlight %}\n\n## Next\n"
    doc = parse(text, "a/b/page.md")
    assert [head.text for head in doc.headings] == ["Next"]
    code = [doc.text[block.start : block.end] for block in doc.blocks if block.kind == "fence"]
    assert code == ["# install\nrun it\n\n# again"]
    assert "highlight" not in seen(doc)
    unclosed = parse("{% highlight shell %}\n# Title\n\n{{< highlight sh >}}\nWords.\n", "a/b/page.md")
    assert [head.text for head in unclosed.headings] == ["Title"]


def test_words_that_a_template_tag_shows_stay(parse: Parse) -> None:
    text = (
        '{% include note.html content="Back it up." class="hidden" %}\n\n{% tab title="macOS" %}\nBrew.\n{% endtab %}\n'
    )
    assert seen(parse(text, "a/b/page.md")).split() == ["Back", "it", "up.", "macOS", "Brew."]
    assert seen(parse('{{< tab header="Linux" lang="hidden" >}}\nRun.\n{{< /tab >}}\n', "a/b/page.md")).split() == [
        "Linux",
        "Run.",
    ]


def test_scripts_and_comments_of_a_page_are_left_out(parse: Parse) -> None:
    text = (
        "<script setup>\nimport { hidden } from 'x'\n\nconst hidden = 1\n</script>\n\nShown.\n\n%% hidden %%\n\n"
        "%%\nhidden\n\nhidden too\n%%\n\nUp 50%% of it, %%never closed.\n\n```html\n<script>\nkept\n</script>\n```\n\n"
        "%% Words.\n\n<style>\nMore.\n"
    )
    shown = seen(parse(text, "a/b/page.md"))
    assert "hidden" not in shown
    for words in ("Shown.", "Up 50%% of it, %%never closed.", "kept", "%% Words.", "More."):
        assert words in shown


def test_a_page_that_shows_only_what_it_includes_is_found_by_its_front_matter(parse: Parse) -> None:
    front = "---\ntitle: Rotating tokens\n---\n"
    doc = parse(f'{front}\n<style>\nh1 {{}}\n</style>\n\n{{{{% readfile file="x.md" %}}}}\n', "a/b/page.md")
    assert [chunk.text.startswith(front) for chunk in StructureChunker().chunk(doc)] == [True]
    assert seen(doc).split() == front.split()


def test_tags_may_have_labels_and_addresses(parse: Parse) -> None:
    text = "---\ntags: [one, {label: Two words, permalink: /two}, {permalink: /three}]\n---\n# T\n"
    assert parse(text, "a/b/page.md").tags == ("one", "Two words")


def test_of_a_role_of_myst_its_words_are_text_and_where_they_lead_is_not(parse: Parse) -> None:
    page = (
        "# Pumps\n\nSee {ref}`Oil a pump <pump-oil>`, {doc}`the\n guide <../guide>` and {func}``run it <a.b>`` now.\n\n"
        "{kbd}`Ctrl <key>`, `Map <key>`, `` {ref}`oil <pump-oil>` ``, {doc}`<../a>` and {math}`a <b>`\n\n"
        "```\n{ref}`code <code>`\n```\n"
    )
    doc = parse(page, "acme/auth/page.md")
    hidden = [doc.text[span.start : span.end] for span in doc.excluded if doc.text[span.start] == "<"]
    assert hidden == ["<pump-oil>", "<../guide>", "<a.b>"]
    assert doc.summary.startswith(
        "See Oil a pump, the guide and run it now. Ctrl <key>, Map <key>, {ref}`oil <pump-oil>`,"
    )
    given = parse("---\ndescription: See {ref}`Oil a pump <pump-oil>`.\n---\n# Pumps\n\nWords.\n", "acme/auth/page.md")
    assert given.summary == "See Oil a pump."


def test_targets_breaks_and_names_of_roles_of_myst_are_left_out(parse: Parse) -> None:
    text = (
        "(hidden-target)=\n# Using {func}`run <a.run>` and `/users/{id}`\n\nSee {hidden}`the guide` or `/users/{id}` of"
        " `a`.\n\n+++\n\nNext.\n\n```\n(kept)=\n```\n"
    )
    doc = parse(text, "a/b/page.md")
    assert doc.title == "Using run and /users/{id}"
    shown = " ".join(seen(doc).split())
    assert shown.endswith("See `the guide` or `/users/{id}` of `a`. Next. ``` (kept)= ```")
    assert "hidden" not in shown


@pytest.mark.parametrize("indent", ["", "      "])
def test_a_fence_of_mdx_is_closed_at_any_indent(parse: Parse, indent: str) -> None:
    text = f"<Tabs>\n{indent}```sh\nrun\n    ```\n</Tabs>\n\n## After\n"
    doc = parse(text, "a/b/page.mdx")
    assert [block.kind for block in doc.blocks] == ["html", "fence", "html", "heading"]


def test_what_is_never_closed_in_mdx_costs_its_first_line_alone(parse: Parse) -> None:
    text = "export const a = {\nwords one\n\n<Tabs\nwords two\n\n{/* words three\n"
    shown = seen(parse(text, "a/b/page.mdx"))
    assert "export" not in shown
    assert all(f"words {number}" in shown for number in ("one", "two", "three"))


@pytest.mark.parametrize(
    "text",
    [
        "%%a\n",
        "<script>",
        "<style>\n",
        "export const a = {\n",
        "<Tabs a={\n",
        "<a (\n",
        "export const a = `\n",
        "`<!-- ",
        "{/* ` <!-- ",
        "{/* ",
        "import a\n",
    ],
)
@pytest.mark.parametrize("name", ["page.mdx", "page.md"])
@pytest.mark.no_cover
def test_hostile_repetition_takes_linear_time(parse: Parse, text: str, name: str) -> None:
    started = time.thread_time()
    parse(text * (400_000 // len(text)), f"a/b/{name}")
    assert time.thread_time() - started < 5


@pytest.mark.parametrize("fence", ["```\nunclosed", "~~~~\n~~~\nunclosed\n", "- a\n\n  ```\n  unclosed"])
def test_a_fence_ends_with_its_cell(parse: Parse, fence: str) -> None:
    cells = [f"# First\n{fence}", "# After\n\nWords."]
    book = {"cells": [{"cell_type": "markdown", "source": cell} for cell in cells]}
    doc = parse(json.dumps(book), "a/b/book.ipynb")
    assert [head.text for head in doc.headings] == ["First", "After"]
    assert [doc.text[block.start : block.end] for block in doc.blocks][-1] == "Words."
