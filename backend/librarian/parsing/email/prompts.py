"""What somebody typed at a prompt: `> x <- read(file)`, `>>> import os`. It looks like a quote and is no such."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from .quoting import find, margin_of

_LONGEST = 400  #: characters of a line that anybody types
_PROMPT = re.compile(r"(?P<margin>[ \t\xa0]{0,8})(?P<prompt>>>>|>)(?!>)(?P<typed>.*)$")
_STRING = re.compile(r"(?:\b[rbfuR])?(?:\"(?:[^\"\\]|\\.)*(?:\"|\\?$)|'(?:[^'\\]|\\.)*(?:'|\\?$)|`[^`]*(?:`|$))")
_COMMENT = re.compile(r"\s*#.*$")
_CLOSED = re.compile(r"\([^()\[\]{}]*\)|\[[^()\[\]{}]*\]|\{[^()\[\]{}]*\}")
_DEEPEST = 12  #: brackets in each other
_INNER = "\x01"  #: stands for brackets with what is in them
_KEYWORD = re.compile(r"\b(if|for|while|function)\s+(?=\()")
_TOKEN = re.compile(
    rf"\s*(?:(?P<term>(?:[\w.$@{_INNER}]|:::?(?=\w))+)|"
    r"(?P<sign><<?-|->>?|%[^%\s]*%|\|>|&&|\|\||[<>=!:+*/-]?=|[-!+*/^:~|&<>,;]))"
)
#: Terms that another may follow.
_LEADS = frozenset({"const", "let", "var", *(f"{word}{_INNER}" for word in ("if", "for", "while", "function"))})
#: What tells a line of code from a word or a sum: something is called, or a name given.
_DOES = re.compile(rf"[\w.]{_INNER}|^(?:(?:const|let|var)\s+)?[\w.$@{_INNER}]+\s*(?:<<?-|:?=(?!=))|\S\s*->")
_HELP = re.compile(r"\?\??[\w.:-]+\s*$")
_PYTHON = re.compile(
    r"(?:import\s+\w|from\s+[\w.]+\s+import\s|@\w|(?:del|assert|raise|return|print|await)\s+\S|"
    r"(?:async\s+)?(?:def|class|for|while|if|with|try)\b.*:\s*$)"
)
#: What programs answer: values, marks of lines that go on, errors, tables.
_ANSWER = re.compile(
    r"\s*(?:\[+[\d,]+[\],]|\+(?:\s|$)|\.\.\.(?:\s|$)|Error\b(?: in\b|:)|"
    r"Warning(?: in\b|(?: message)?s?\b.{0,12}:)|Traceback\b|"
    r"(?:Loading|Attaching) |(?:NULL|TRUE|FALSE|None|True|False|undefined|Call:)\s*$|R version \d|'data\.frame'|"
    r"[\w.]+Error:|<[\w. ]+ at 0x|[Ii]nstalling |trying URL|-?\d[\d.e+-]*(?:\s+-?\d[\d.e+-]*)*\s*$|"
    r"[^\s>]\S*(?:(?:[ ]{2,}|\t)\S+){2,}|user\s+system\s+elapsed|\$[ ]?[\w.`]+\s*$)"
)


def with_prompts(lines: list[str]) -> list[str]:
    """The lines with `$` for the `>` of a prompt; none gets longer or shorter.

    Right below what introduces a quote nothing is taken for typed. In a mail that quotes, only what a program answers,
    and what stands in one paragraph with that.
    """
    runs = {start: (stop, _weight(lines[start:stop])) for start, stop in _runs(lines)}
    if not any(weight for _, weight in runs.values()):
        return lines
    borders = find(lines)
    introduced = {_below(lines, border.end) for border in borders}
    quotes = bool(borders) or any(weight == 0 for _, weight in runs.values())
    typed = {start: stop for start, (stop, weight) in runs.items() if weight and start not in introduced}
    own = {
        start
        for start, stop in typed.items()
        if (runs[start][1] > 1 and not quotes) or _is_answered(lines, start, stop)
    }
    for above, below in [*pairwise(typed), *pairwise(reversed(typed))]:
        first, last = sorted((above, below))
        if above in own and all(map(str.strip, lines[typed[first] : last])):
            own.add(below)
    changed = list(lines)
    for start in own:
        changed[start : typed[start]] = map(_with_prompt, lines[start : typed[start]])
    return changed


def _with_prompt(line: str) -> str:
    return _PROMPT.sub(lambda found: found["margin"] + "$" * len(found["prompt"]) + found["typed"], line)


def _runs(lines: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Lines with a quote mark right below each other."""
    start = -1
    for place, line in enumerate(lines):
        if margin_of(line):
            start = place if start < 0 else start
        elif start >= 0:
            yield start, place
            start = -1
    if start >= 0:
        yield start, len(lines)


def _below(lines: Sequence[str], place: int) -> int:
    while place < len(lines) and not lines[place].strip():
        place += 1
    return place


def _is_answered(lines: Sequence[str], start: int, stop: int) -> bool:
    """Whether what stands beside the lines was written by a program."""
    below = _below(lines, stop)
    if below < len(lines) and _ANSWER.match(lines[below][:_LONGEST]):
        return True
    return start > 0 and bool(_ANSWER.match(lines[start - 1][:_LONGEST]))


def _weight(lines: Sequence[str]) -> int:
    """2 where all the lines are code and one of them does something, 1 where they may be, 0 where they are prose."""
    weight, prompts, goes_on = 0, set(), False
    if all(not line.strip(" \t\xa0>") for line in lines):
        return 1
    for line in lines:
        found = _PROMPT.match(line) if len(line) <= _LONGEST else None
        typed = found["typed"].strip(" \t\xa0") if found else ""
        if found is None or (goes_on and typed):
            return 0  # what goes on below has another mark than `>`
        prompts.add(found["prompt"])
        if not typed or typed.startswith("#"):
            continue
        if _HELP.match(typed) or (found["prompt"] == ">>>" and _PYTHON.match(typed)):
            weight = 2
            continue
        code, goes_on = _folded(typed)
        if not _is_expression(code):
            return 0
        weight = max(weight, 2 if _DOES.search(code) else 1)
    return weight if len(prompts) == 1 else 0


def _folded(typed: str) -> tuple[str, bool]:
    """A line without comments, a number for each string, brackets folded; and whether a bracket is left open."""
    code = _KEYWORD.sub(r"\1", _COMMENT.sub("", _STRING.sub(" 0 ", typed)))
    for _ in range(_DEEPEST):
        code, count = _CLOSED.subn(_INNER, code)
        if not count:
            break
    opened = re.search(r"[(\[{]", code)
    return (code[: opened.start()] + _INNER, True) if opened else (code, False)


def _is_expression(code: str) -> bool:
    """Whether there are terms with signs between: no two words follow each other, as they do in prose."""
    place, term = 0, ""  # the term before, if any
    code = code.rstrip()
    while place < len(code):
        token = _TOKEN.match(code, place)
        if token is None:
            return False
        place = token.end()
        if token["sign"]:
            term = ""
            continue
        if term and term not in _LEADS and not token["term"].startswith(_INNER):
            return False
        term = token["term"]
        if term.endswith((".", "$", "@")) and term != "...":
            return False
    return bool(term) or code.endswith((";", "|>", "+", "<-", "%"))
