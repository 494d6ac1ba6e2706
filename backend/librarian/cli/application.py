"""The application that commands are added to, and the options that they share: `--root`, `--json` and so on."""

from __future__ import annotations

import difflib
import functools
import inspect
import re
import sys
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer
from typer.core import TyperCommand, TyperGroup, TyperOption

from .. import __version__
from ..errors import CallerError
from ..text.sanitizing import visible
from .output import Page, choose_plain, write_json

if TYPE_CHECKING:
    from ..settings import Settings

OnProgress = Callable[[Mapping[str, Any]], None]
F = TypeVar("F", bound=Callable[..., Any])

#: The parts of `librarian --help`, in their order.
ASK, KEEP, MEASURE, SET_UP = PANELS = ("Ask", "Keep the library", "Measure", "Set up")
#: The options of every command, with their defaults.
_SHARED = {
    "as_json": (False, Annotated[bool, typer.Option("--json", help="Answer in JSON, with the fields of the tools.")]),
    "plain": (False, Annotated[bool, typer.Option("--plain", help="Plain lines, as in a pipe.")]),
    "root": (None, Annotated[Path | None, typer.Option(metavar="DIR", help="The folder of documents.")]),
    "index": (None, Annotated[Path | None, typer.Option(metavar="DIR", help="Where the index lies.")]),
    "config": (None, Annotated[Path | None, typer.Option(metavar="FILE", help="The configuration file.")]),
}
_OWN_OPTION = re.compile(r"-\w\d*")  #: `-h`, `-n`, `-n5`; other words with one dash belong to the question
_ELSEWHERE = {
    **dict.fromkeys(("--count", "--hits", "--limit", "--results", "--top", "--top-k"), "--max-results"),
    "--since": "--after",
    "--until": "--before",
}
"""What other programs call an option. With a value behind it, it can hardly be a word of the question."""
_WORD = "\ue000"  #: marks a word that begins with a dash until the options are parsed

_notes: set[str] = set()


def note(text: str) -> None:
    """Print a note on stderr, once a process."""
    if text not in _notes:
        _notes.add(text)
        sys.stderr.write(f"Note: {visible(text)}\n")


@dataclass(frozen=True, slots=True)
class Target:
    """The library that a command is about, as the command line names it, and how to answer."""

    root: Path | None = None
    index: Path | None = None
    config: Path | None = None
    as_json: bool = False

    def settings(self, **further: object) -> Settings:
        """All settings, the command line's first. `further` are dotted keys, written with `__`."""
        from ..settings import Settings

        overrides = {"docs.root_path": self.root, "index.path": self.index}
        dotted = {key.replace("__", "."): value for key, value in further.items()}
        settings = Settings.load(self.config, overrides=overrides | dotted)
        if notice := settings.configuration.notice():
            note(notice)
        return settings

    def ask(
        self, operation: str, *, on_progress: OnProgress | None = None, timeout: float | None = None, **given: Any
    ) -> Any:
        """The response of the index's daemon, which is started if there is none. Loads no settings, to start fast."""
        from ..daemon import client, discovery

        found = discovery.find(config=self.config, root=self.root, index=self.index)
        for notice in found.notes:
            note(notice)
        return client.call(
            found.index,
            operation,
            {name: value for name, value in given.items() if value is not None},
            library=client.Library.at(found, root_given=self.root is not None),
            on_progress=on_progress,
            timeout=timeout,
            on_note=note,
        )

    def write(self, answer: Mapping[str, Any], render: Callable[[Page, Mapping[str, Any]], None]) -> None:
        """Write an answer as JSON, or as `render` lays it out."""
        if self.as_json:
            write_json(answer)
        else:
            render(Page(), answer)

    def print(self, answer: Mapping[str, Any], text: str) -> None:
        """Write an answer as JSON, or a text in its place."""
        if self.as_json:
            write_json(answer)
        else:
            sys.stdout.write(f"{text}\n")


class _BareFlags:
    """Shows a flag by its name alone; typer would write `<bool>` after each."""

    def get_params(self, ctx: Any) -> list[Any]:
        params: list[Any] = super().get_params(ctx)  # type: ignore[misc]  # what this is mixed into has it
        for each in params:
            if isinstance(each, TyperOption) and each.is_flag and each.metavar is None:
                each.metavar = ""
        return params


class _Command(_BareFlags, TyperCommand):
    pass


class _QueryCommand(_Command):
    """A command whose arguments are a question, in which words may begin with a dash."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Raises `CallerError` for a misspelt option; notes which other unknown options are taken for words."""
        params = [each for each in self.get_params(ctx) if each.param_type_name == "option"]
        options = [name for each in params for name in (*each.opts, *each.secondary_opts)]
        end = args.index("--") if "--" in args else len(args)
        words = {arg for arg in _unknown(args[:end], options) if not ctx.resilient_parsing}
        if flags := [word.partition("=")[0] for word in args if word in words and re.fullmatch(r"--\w\S*|-\w", word)]:
            sys.stderr.write(
                f"Note: {', '.join(dict.fromkeys(flags))}: taken for a word of the question, since it is no option; "
                f"{ctx.command_path} --help lists these. Put '--' before words with dashes.\n"
            )
        left = super().parse_args(ctx, [_WORD + arg if arg in words else arg for arg in args[:end]] + args[end:])
        question = ctx.params.get("question")
        ctx.params["question"] = [word.removeprefix(_WORD) for word in question or ()]
        return left


def _unknown(args: list[str], options: list[str]) -> Iterator[str]:
    """The words that begin with a dash and are no option. Raises `CallerError` for one that is nearly an option."""
    for arg, value in zip_longest(args, args[1:], fillvalue=""):
        name, equals, behind = arg.partition("=")
        if (
            not arg.startswith("-")
            or arg == "-"
            or name in options
            or (arg[:2] in options and _OWN_OPTION.fullmatch(arg))
        ):
            continue
        near = [_ELSEWHERE[name]] if (behind if equals else value)[:1].isdigit() and name in _ELSEWHERE else []
        if name.startswith("--") and len(name) > 4 and not near:
            begun = [option for option in options if option.startswith(name)]
            near = begun or difflib.get_close_matches(name, options, 1, 0.8)
        if near and near[0] in options:
            raise CallerError(f"No such option: {name}.", hint=f"Use {near[0]}, or put '--' before words with dashes.")
        yield arg


class _Group(_BareFlags, TyperGroup):
    def list_commands(self, ctx: Any) -> list[str]:
        """The names of all commands, by panel."""
        panels = {name: getattr(command, "rich_help_panel", None) for name, command in self.commands.items()}
        return sorted(panels, key=lambda name: PANELS.index(panels[name]) if panels[name] in PANELS else 0)


class Application(typer.Typer):
    """A group of commands. A command is a function of a `Target`, from the shared options, and its own options."""

    def __init__(self, **given: Any) -> None:
        super().__init__(cls=_Group, **given)

    def command(  # type: ignore[override]  # the decorated function has a target besides
        self,
        name: str | None = None,
        *,
        example: str,
        panel: str | None = None,
        takes_query: bool = False,
        options: Collection[str] = tuple(_SHARED),
    ) -> Callable[[F], F]:
        """Register a command. `takes_query`: its `question` may hold words that begin with a dash."""
        register = super().command(
            name, cls=_QueryCommand if takes_query else _Command, epilog=f"Example: {example}", rich_help_panel=panel
        )

        def add(function: F) -> F:
            register(_with_shared_options(function, options))
            return function

        return add


def _with_shared_options(function: Callable[..., Any], names: Collection[str]) -> Callable[..., Any]:
    @functools.wraps(function)
    def command(**given: Any) -> Any:
        shared = {name: given.pop(name) for name in names}
        choose_plain(shared.pop("plain"))
        return function(Target(**shared), **given)

    _, *parameters = inspect.signature(function, eval_str=True).parameters.values()
    for name in names:
        default, annotation = _SHARED[name]
        kind = inspect.Parameter.KEYWORD_ONLY
        parameters.append(inspect.Parameter(name, kind, default=default, annotation=annotation))
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return command


def _say_version(wanted: bool) -> None:
    if wanted:
        Page().line(f"librarian {__version__}")
        raise typer.Exit


app = Application(
    name="librarian",
    help="Finds the right passage in a folder of documentation and email.",
    epilog="Try: librarian search 'how do I connect Cursor'",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback()
def _everywhere(
    version: Annotated[
        bool, typer.Option("--version", is_eager=True, callback=_say_version, help="Say which version this is.")
    ] = False,
) -> None:
    pass
