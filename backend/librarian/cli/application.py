"""The application that commands are added to: what all of them share is said here."""

from __future__ import annotations

import difflib
import functools
import inspect
import re
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer
from typer.core import TyperCommand, TyperGroup, TyperOption

from ..errors import CallerError
from .output import choose_plain

Root = Annotated[Path | None, typer.Option("--root", metavar="DIR", help="The folder of documents.")]
Index = Annotated[Path | None, typer.Option("--index", metavar="DIR", help="Where the index lies.")]
Config = Annotated[Path | None, typer.Option("--config", metavar="FILE", help="The configuration file.")]
Json = Annotated[bool, typer.Option("--json", help="Answer in JSON, with the same fields as the tools.")]
Plain = Annotated[bool, typer.Option("--plain", help="Plain lines, as in a pipe.")]
Mode = Annotated[
    str | None,
    typer.Option(
        "--mode",
        help="keyword, semantic, hybrid, rerank, hyde or auto.",
        autocompletion=lambda: ["keyword", "semantic", "hybrid", "rerank", "hyde", "auto"],
    ),
]


def complete_host(incomplete: str) -> list[str]:
    """Names of hosts, for the shell."""
    from .connect import HOSTS

    return [name for name in HOSTS if name.startswith(incomplete)]


def complete_setting(incomplete: str) -> list[str]:
    """Names of settings, for the shell."""
    from ..settings import SETTINGS

    return [key for key in SETTINGS if key.startswith(incomplete)]


def complete_model(incomplete: str) -> list[str]:
    """Names of known models, for the shell."""
    from ..embeddings.model_table import known

    return [name for name in known() if name.startswith(incomplete)]


F = TypeVar("F", bound=Callable[..., Any])


_CLOSENESS = 0.8  #: of an unknown option to a real one (difflib's ratio): `--emial` has 0.8
_SHORTEST_SLIP = 5  #: characters with the dashes
_FLAG = re.compile(r"--[^\W\d_]\S*|-[^\W\d_]")  #: a word that reads as an option; `-word` excludes
#: How other programs call an option; with a number it can hardly be a word of the question.
_ELSEWHERE = {
    **dict.fromkeys(("--count", "--first", "--hits", "--limit", "--num", "--number"), "--max-results"),
    **dict.fromkeys(("--results", "--size", "--top", "--top-k", "-k"), "--max-results"),
    "--since": "--after",
    "--until": "--before",
}

#: The parts of `librarian --help`.
ASK, KEEP, MEASURE, SET_UP = "Ask", "Keep the library", "Measure", "Set up"


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
        """Raises `CallerError` for an option that is all but one of the command's; notes which others are words."""
        takes_value = {
            name: not option.is_flag
            for option in self.get_params(ctx)
            if option.param_type_name == "option"
            for name in (*option.opts, *option.secondary_opts)
        }
        options: list[str] = []
        words: list[str] = []
        flags: list[str] = []
        left = list(reversed(args))
        while left:
            one = left.pop()
            name, equals, behind = one.partition("=")
            if one == "--":
                words += reversed(left)
                break
            if name in takes_value:
                options.append(one)
                if takes_value[name] and not equals:
                    if not left:
                        return super().parse_args(ctx, options)  # which says that it lacks one
                    options.append(left.pop())
            elif one[:2] in takes_value and re.fullmatch(r"-\w\d+", one):
                options.append(one)
            else:
                if not ctx.resilient_parsing:
                    _refuse_slip(name, behind if equals else left[-1] if left else "", takes_value)
                    if _FLAG.fullmatch(name):
                        flags.append(name)
                words.append(one)
        if flags:
            _note(flags, ctx.command_path)
        return super().parse_args(ctx, [*options, "--", *words] if words else options)


def _refuse_slip(name: str, value: str, options: Iterable[str]) -> None:
    """Nearly the name of an option, how it begins, or another program's name for it with a number is no word."""
    near = [_ELSEWHERE[name]] if value[:1].isdigit() and _ELSEWHERE.get(name, "") in options else []
    if not near and name.startswith("--") and len(name) >= _SHORTEST_SLIP:
        begun = [option for option in options if option.startswith(name)]
        near = begun or difflib.get_close_matches(name, list(options), 1, _CLOSENESS)
    if near:
        raise CallerError(f"No such option: {name}.", hint=f"Use {near[0]}, or put '--' before words with dashes.")


def _note(flags: Iterable[str], command: str) -> None:
    listed = ", ".join(dict.fromkeys(flags))
    sys.stderr.write(
        f"Note: {listed}: taken for a word of the question, since it is no option; {command} --help lists these. "
        "Put '--' before words with dashes.\n"
    )


#: Commands and options of earlier versions: the words that begin and the option, each with what to do instead.
_REMOVED = {
    ("migrate", ""): (
        "librarian migrate no longer exists.",
        "Set storage.catalog, then run librarian index: it reads the folder into the other storage.",
    ),
    ("index", "--worker"): (
        "librarian index --worker no longer exists.",
        "Start librarian serve on each machine: one of them indexes, all of them answer.",
    ),
    ("tune", ""): (
        "librarian tune no longer exists.",
        "There is nothing to do: the query adapter learns from the library by itself (search.query_adapter).",
    ),
    ("doctor", "--offline"): (
        "librarian doctor --offline no longer exists.",
        "Use librarian doctor: it names every host that the settings send text to.",
    ),
}


class _Group(_BareFlags, TyperGroup):
    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command that `args` name. Raises `CallerError` for one that an earlier version had."""
        for (name, option), (message, hint) in _REMOVED.items():
            if args[:1] == [name] and (not option or option in args):
                raise CallerError(message, hint=hint)
        return super().resolve_command(ctx, args)


class Application(typer.Typer):
    """A group of commands, each of which also takes `--plain`."""

    def __init__(self, **given: Any) -> None:
        super().__init__(cls=_Group, **given)

    def command(self, *args: Any, takes_query: bool = False, **given: Any) -> Callable[[F], F]:
        """Register a command, with `--plain` besides its own options. `takes_query`: words may begin with dashes."""
        register = super().command(*args, cls=_QueryCommand if takes_query else _Command, **given)

        def add(function: F) -> F:
            register(_with_plain(function))
            return function

        return add


def _with_plain(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def command(*args: Any, plain: bool, **given: Any) -> Any:
        choose_plain(plain)
        return function(*args, **given)

    signature = inspect.signature(function, eval_str=True)  # typer would look the names up in this module
    option = inspect.Parameter("plain", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=Plain)
    parameters = [*signature.parameters.values(), option]
    command.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return command
