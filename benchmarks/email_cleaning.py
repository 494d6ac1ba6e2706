"""How well quotes and signatures are told from a mail's own words, on the cases of three reply parsers.

    python benchmarks/email_cleaning.py DATA/email

`DATA/email` holds `email_reply_trimmer`, `talon` and `zapier_email_reply_parser`. Prints, for each, how many cases are
reproduced up to white space, and which aren't. With mail-parser-reply installed it is measured beside.
"""

from __future__ import annotations

import argparse
import ast
import email
import email.policy
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

from librarian.models import FOLDED
from librarian.parsing.email.quotes import ATTRIBUTION, CLOSING, FORWARDED, QUOTE, excluded_of, own_words

Reply = Callable[[str], str]


@dataclass(frozen=True)
class Case:
    """A mail and what is left of it. `kind` says what is to be taken out."""

    name: str
    text: str
    expected: str | Callable[[str], bool]
    kind: str = "all"  #: all | quotes | signature


def reply(text: str, kind: str = "all") -> str:
    """What Librarian leaves. A case about quotes alone keeps the signature, and the other way round."""
    text = text.replace("\r\n", "\n")
    reasons = {"all": FOLDED, "quotes": {QUOTE, ATTRIBUTION, FORWARDED}, "signature": FOLDED | {CLOSING}}[kind]
    return own_words(text, excluded_of(text), reasons)


def squeezed(text: str) -> str:
    return "".join(text.split())


# -- the cases ---------------------------------------------------------------------------------------------------------


def trimmer_cases(folder: Path) -> Iterator[Case]:
    for path in sorted((folder / "emails").iterdir()):
        yield Case(path.stem, path.read_text("utf-8"), (folder / "trimmed" / path.name).read_text("utf-8"))


def talon_cases(folder: Path) -> Iterator[Case]:
    """The plain-text assertions of talon's tests, read from their source: `extract_from_plain` on a body."""
    tests = ast.parse((folder / "_tests_expected" / "text_quotations_test.py").read_text("utf-8"))
    yield from _recorded(tests, "extract_from_plain", "quotes")
    for path in sorted((folder / "standard_replies").glob("*.eml")):
        message = email.message_from_bytes(path.read_bytes(), policy=email.policy.default)
        body = message.get_body(("plain",))
        told = path.with_name(path.stem + "_reply_text")
        expected = told.read_text("utf-8") if told.exists() else "Hello"
        yield Case(f"standard_replies/{path.name}", body.get_content() if body else "", expected, "quotes")


def talon_signature_cases(folder: Path) -> Iterator[Case]:
    tests = ast.parse((folder / "_tests_expected" / "signature" / "bruteforce_test.py").read_text("utf-8"))
    yield from _recorded(tests, "extract_signature", "signature")


def _recorded(tests: ast.Module, function: str, kind: str) -> Iterator[Case]:
    """Run each test with recorders in place of the library: what it passes in, and what it wants back."""
    for node in tests.body:
        if not isinstance(node, ast.FunctionDef) or function not in ast.dump(node):
            continue
        if node.decorator_list:  # a test of the library's own constants, patched
            continue
        found: list[Case] = []

        def compare(left: object, right: object, *_: object, name: str = node.name, found: list[Case] = found) -> None:
            body, expected = (left, right) if isinstance(left, SimpleNamespace) else (right, left)
            if isinstance(body, SimpleNamespace):
                wanted = expected[0] if isinstance(expected, tuple) else expected
                found.append(Case(f"{name}#{len(found) + 1}", body.text, str(wanted), kind))

        library = SimpleNamespace(**{function: lambda body: SimpleNamespace(text=body)})
        names = {"eq_": compare, "quotations": library, "bruteforce": library, "six": SimpleNamespace(text_type=str)}
        helpers = [one for one in tests.body if isinstance(one, ast.FunctionDef) and one.name.startswith("_check")]
        code = compile(ast.Module([*helpers, node], []), "case", "exec")
        exec(code, names)
        if node.name.startswith("test_") and not node.args.args and node.name not in ("test_standard_replies",):
            names[node.name]()  # type: ignore[operator]
        yield from found


def zapier_cases(folder: Path) -> Iterator[Case]:
    """What zapier's tests say of the reply that is left, as predicates."""

    def text(name: str) -> str:
        return (folder / "emails" / f"{name}.txt").read_text("utf-8")

    def has(*words: str) -> Callable[[str], bool]:
        return lambda left: all(word in left for word in words)

    def lacks(*words: str) -> Callable[[str], bool]:
        return lambda left: not any(word in left for word in words)

    def both(*tests: Callable[[str], bool]) -> Callable[[str], bool]:
        return lambda left: all(test(left) for test in tests)

    wanted: dict[str, str | Callable[[str], bool]] = {
        "email_1_1": both(has("folks"), lacks("riak-users")),
        "email_1_2": both(has("You can list the keys for the bucket", "Hi,"), lacks("riak-users@")),
        "email_1_3": both(has("Having the function"), lacks("Russell", "> Hi")),
        "email_1_4": both(has("Awesome"), lacks("Loader")),
        "email_1_5": text("email_1_5"),
        "email_1_6": both(has("I get proper rendering as well."), lacks("Was this caching")),
        "email_1_7": ":+1:",
        "email_1_8": both(has("I will reply under this one", "and under this.", "okay?"), lacks("my signature")),
        "email_2_1": "Outlook with a reply",
        "email_2_2": "Outlook with a reply directly above line",
        "email_2_3": "Outlook with a reply above headers using unusual format",
        "correct_sig": "this is an email with a correct -- signature.",
        "email_BlackBerry": "Here is another email",
        "email_bullets": both(has("how about bullets", "and another"), lacks("Joe Smith", "Give us")),
        "email_gmail": "This is a test for inbox replying to a github message.",
        "email_headers_no_delimiter": "And another reply!",
        "email_iPhone": "Here is another email",
        "email_multi_word_sent_from_my_mobile_device": "Here is another email",
        "email_one_is_not_on": both(
            has("One outstanding question"), lacks("On Oct 1, 2012, at 11:55 PM, Dave Tapley wrote:")
        ),
        "email_partial_quote_header": has(
            "On your remote host you can run:", "telnet 127.0.0.1 52698", "This should connect to TextMate"
        ),
        "email_sent_from_my_not_signature": has("Sent from my desk"),
        "email_sig_delimiter_in_middle_of_line": text("email_sig_delimiter_in_middle_of_line"),
        "greedy_on": both(has("On your remote host"), lacks("On 9 Jan 2014")),
        "pathological": both(has("back to a computer"), lacks("On Dec 8")),
    }
    for name, expected in wanted.items():
        yield Case(name, text(name), expected)


# -- measuring ---------------------------------------------------------------------------------------------------------


def passes(case: Case, left: str) -> bool:
    """Equal up to white space, or as the predicate wants."""
    if callable(case.expected):
        return case.expected(left)
    return squeezed(left) == squeezed(case.expected)


def rival() -> Reply | None:
    """mail-parser-reply with all its languages, where it is installed."""
    try:
        from mailparser_reply import EmailReplyParser
        from mailparser_reply.constants import MAIL_LANGUAGES
    except ImportError:
        return None
    languages = [name for name in MAIL_LANGUAGES if name != "default"]
    parser = EmailReplyParser(languages=languages)
    return lambda text: parser.parse_reply(text.replace("\r\n", "\n")) or ""


def measure(name: str, cases: list[Case], other: Reply | None, verbose: bool) -> float:
    """Print one line, and the cases that aren't reproduced; the share of those that are."""
    left = {case.name: reply(case.text, case.kind) for case in cases}
    failed = [case for case in cases if not passes(case, left[case.name])]
    beside = ""
    if other is not None and all(case.kind == "all" for case in cases):
        beside = f"   mail-parser-reply: {sum(passes(case, other(case.text)) for case in cases)}"
    share = 1 - len(failed) / len(cases)
    print(f"{name:28} {len(cases) - len(failed):3} of {len(cases):3}  {share:6.1%}{beside}")
    for case in failed:
        print(f"    not reproduced: {case.name}")
        if verbose:
            print("        left:    ", repr(left[case.name][-300:]))
            print("        expected:", repr(case.expected)[-300:])
    return share


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--verbose", action="store_true", help="show what was left and what was expected")
    given = parser.parse_args()
    other = rival()
    folder = given.folder
    shares = [
        measure("email_reply_trimmer", list(trimmer_cases(folder / "email_reply_trimmer")), other, given.verbose),
        measure("talon, quotes", list(talon_cases(folder / "talon")), other, given.verbose),
        measure("zapier", list(zapier_cases(folder / "zapier_email_reply_parser")), other, given.verbose),
    ]
    measure("talon, signatures", list(talon_signature_cases(folder / "talon")), other, given.verbose)
    return 0 if shares[0] >= 0.85 and min(shares[1:]) >= 0.9 else 1


if __name__ == "__main__":
    sys.exit(main())
