"""Passages taken apart into sentences and lines.

* a sentence that was wrapped runs over line ends, also in quotes and in items of lists
* verses, settings, items, entries of a log and hard breaks stay lines of their own
* units hold everything but blanks, in order, and know their lines
"""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from librarian.models import Chunk
from librarian.parsing.metadata import cut_at_sentence
from librarian.search.snippets import Excerpts
from librarian.search.truncation import spans_of
from librarian.text.analyzer import StandardAnalyzer
from librarian.text.characters import ENDS_ALONE, ENDS_BEFORE_BLANK

ANALYZER = StandardAnalyzer()


def passage(text: str) -> Chunk:
    return Chunk(0, 0, len(text), text, (), 0, None, 1, text.count("\n") + 1, "h")


def shown(text: str) -> list[str]:
    return [text[unit.start : unit.end].strip() for unit in spans_of(passage(text))]


WRAPPED = [
    "The gateway keeps a request for as long as the worker that it was given to\nsays so. Then it is dropped.",
    "> The gateway keeps a request for as long as the worker that it was given to\n> says so. Then it is dropped.",
    "- The gateway keeps a request for as long as the worker it was given to\n  says so. Then it is dropped.",
    "1) The gateway keeps a request for as long as the worker it was given to\nsays so. Then it is dropped.",
]


@pytest.mark.parametrize("text", WRAPPED)
def test_a_sentence_that_was_wrapped_is_one(text: str) -> None:
    end = text.index("so.") + 3
    assert shown(text) == [text[:end], text[end:].strip()]
    first, second = spans_of(passage(text))
    assert (first.line, first.line_end) == (1, 2)
    assert (second.line, second.line_end) == (2, 2)


def test_a_line_of_blanks_ends_a_paragraph_as_an_empty_one_does() -> None:
    words = "The gateway keeps a request for as long as the worker that it was given to"
    assert shown(f"{words}\n \nthen it is dropped") == [words, "then it is dropped"]


def test_a_line_is_full_where_the_next_word_would_have_come_near_to_the_width() -> None:
    def is_wrapped(*lengths: int, word: int = 5) -> bool:
        """Whether lines of so many characters, each of whose first words has `word`, are one sentence."""
        lines = ["a" * word + " " + "b" * (length - word - 1) for length in lengths]
        return len(shown("\n".join(lines))) == 1

    assert is_wrapped(50, 20)
    assert not is_wrapped(49, 20)
    assert is_wrapped(78, 65, 20)
    assert not is_wrapped(78, 64, 20)
    assert is_wrapped(120, 65, 20), "a line with an address is longer than the width"
    assert not is_wrapped(120, 64, 20)


def test_a_sentence_that_ends_with_its_line_ends_there() -> None:
    lines = ["The gateway keeps each request for as long as its worker says it should.", "Then it is dropped."]
    assert shown("\n".join(lines)) == lines
    assert [(unit.line, unit.line_end) for unit in spans_of(passage("\n".join(lines)))] == [(1, 1), (2, 2)]


def test_the_number_of_an_item_belongs_to_its_first_sentence() -> None:
    assert shown("1. Open the valve. Wait.\n  12. Close it.") == ["1. Open the valve.", "Wait.", "12. Close it."]
    assert shown("It began in 1998. Then it grew.") == ["It began in 1998.", "Then it grew."]


@pytest.mark.parametrize(
    "sentences",
    [
        ["هل الخادم جاهز؟ ", "لا، إنه متوقف. ", "أعد تشغيله."],
        ["کیا سرور تیار ہے؟ ", "نہیں، وہ بند ہے۔ ", "اسے دوبارہ چلائیں۔"],
        ["सर्वर तैयार है। ", "फ़ाइल सहेजें॥ ", "फिर देखें।"],
        ["ម៉ាស៊ីនរួចរាល់។ ", "សូមរក្សាទុក។"],
        ["ဖိုင်ကိုသိမ်းပါ။", "ပြန်ဖွင့်ပါ။"],
        ["አገልጋዩ ዝግጁ ነው። ", "ፋይሉን ያስቀምጡ።"],
        ["Սերվերը պատրաստ է։ ", "Պահեք ֆայլը։"],
        ["「保存しますか。」", "と聞かれます｡", "はいを選びます。"],
        ["« Prêt ?» ", "Oui."],
        ["設定を保存する．", "次へ進む．"],
        ["Use a tool, e.g. Helm, for it. ", "Compare i.e. read vs. write."],
    ],
)
def test_sentences_end_as_their_script_ends_them(sentences: list[str]) -> None:
    assert shown("".join(sentences)) == [sentence.strip() for sentence in sentences]


APART = [
    "Tyger Tyger, burning bright,\nIn the forests of the night;\nWhat immortal hand or eye,\nCould frame thy",
    "timeout: 30\nretries: 5\nlog_level: warning",
    "The first of these lines is long enough to be one that was wrapped at that\nauthor: somebody else",
    "- an item that is so long that it could be one that was wrapped at some width\n- another one",
    "the last thing that the worker said before it was restarted by the supervisor\n2026-11-23 04:00 start",
    "This line of an address ends with two blanks, so that it stays a line in HTML  \nnot one that goes on",
    "The gateway listens on a port of its own, and it forwards each of the requests:\nport 80, port 8080",
]


@pytest.mark.parametrize("text", APART)
def test_lines_that_end_for_a_reason_stay_apart(text: str) -> None:
    assert shown(text) == [line.strip() for line in text.split("\n")]


def test_a_snippet_begins_where_its_sentence_does_and_tells_its_last_line() -> None:
    filler = "Nothing of what was asked for is said here, nor in any of the lines around. " * 6
    sentence = "A request that was given to a worker is kept by the gateway, which waits for\nits eviction."
    text = f"{filler}\n\n{sentence}\n\n{filler}"
    snippet = Excerpts(ANALYZER, ANALYZER.query("eviction")).snippet(passage(text), target=80)
    assert snippet.text.startswith("A request that was given")
    assert (snippet.line_start, snippet.line_end) == (3, 4)


words = st.sampled_from(["gateway", "a", "retries,", "port.", "-", "key:", "(worker)", "1.", "…", "。", "x" * 90])
lines = st.tuples(st.sampled_from(["", "  ", "> ", "- "]), st.lists(words, max_size=30)).map(
    lambda drawn: drawn[0] + " ".join(drawn[1])
)


@settings(max_examples=100, deadline=None)
@given(st.lists(lines, min_size=1, max_size=12).map("\n".join))
def test_units_hold_everything_in_order(text: str) -> None:
    behind, held = 0, ""
    for unit in spans_of(passage(text)):
        assert behind <= unit.start < unit.end <= len(text)
        behind = unit.end
        piece = text[unit.start : unit.end]
        held += piece
        assert unit.line == text.count("\n", 0, unit.start) + 1
        assert unit.line_end == unit.line + piece.rstrip().count("\n")
    assert "".join(held.split()) == "".join(text.split())


@pytest.mark.parametrize("end", [*ENDS_BEFORE_BLANK, *ENDS_ALONE])
def test_a_sentence_that_ends_in_any_script_is_cut_and_summed_up_there(end: str) -> None:
    first, second = "पहला वाक्य यहाँ है" + end, "यहाँ दूसरा वाक्य है" + end
    assert shown(f"{first} {second}") == [first, second]
    assert cut_at_sentence(f"{first} {second}", 30).strip() == first
