"""The application that commands are added to, and the options that they share: `--root`, `--json` and so on."""

from __future__ import annotations

import contextlib
import functools
import inspect
import os
import re
import sys
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

import typer
from typer.core import TyperCommand, TyperGroup, TyperOption

from .. import __version__
from ..errors import CallerError, LibrarianError
from ..files.config_files import NoLibrary
from ..files.paths import working_directory
from ..text.sanitizing import visible
from .output import Page, choose_plain, write_json
from .wording import in_own_words

if TYPE_CHECKING:
    from ..settings import Settings

OnProgress = Callable[[Mapping[str, Any]], None]
F = TypeVar("F", bound=Callable[..., Any])

#: The parts of `librarian --help`, in their order.
ASK, KEEP, MEASURE, SET_UP = ("Ask", "Keep the library", "Measure", "Set up")


def _shared(annotation: Any, help: str, metavar: str | None = None, *names: str) -> Any:
    return Annotated[annotation, typer.Option(*names, metavar=metavar, help=help, rich_help_panel="Every command")]


_LAYOUTS = "product/component: folders name the product and its component; flat: the folder is one product."
#: The options of every command, with their defaults.
_SHARED = {
    "as_json": (False, _shared(bool, "Print JSON.", None, "--json")),
    "plain": (False, _shared(bool, "Print plain lines, as in a pipe.", None, "--plain")),
    "root": (None, _shared(Path | None, "The folder of documents.", "DIR")),
    "index": (None, _shared(Path | None, "The folder of the index.", "DIR")),
    "config": (None, _shared(Path | None, "The configuration file.", "FILE")),
    "layout": (None, _shared(Literal["product/component", "flat"] | None, _LAYOUTS, "LAYOUT")),
}
#: What begins with a dash and is no option: `-word`, which excludes a word, and several words in one argument.
_QUESTION = re.compile(r"-(?!n\d+$)[^\W\d_].+|-[^\s=]+\s.+", re.DOTALL)
_MARK = "\ue000"  #: precedes such an argument until the options are parsed

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
    layout: str | None = None
    as_json: bool = False

    def settings(self, **further: object) -> Settings:
        """All settings, the command line's first. `further` are dotted keys, written with `__`."""
        from ..settings import Settings

        overrides = {"docs.root_path": self.root, "index.path": self.index, "docs.layout": self.layout}
        dotted = {key.replace("__", "."): value for key, value in further.items()}
        settings = Settings.load(self.config, overrides=overrides | dotted)
        if notice := settings.configuration.notice():
            note(notice)
        return settings

    def options(self) -> list[str]:
        """The words of a command line that name the same library from anywhere."""
        given = {"--config": self.config, "--root": self.root, "--index": self.index}
        words = {name: os.path.abspath(os.path.expanduser(path)) for name, path in given.items() if path is not None}
        words |= {"--layout": self.layout} if self.layout else {}
        return [word for option in words.items() for word in option]

    def places(self) -> Any:
        """Where the library lies (`discovery.Library`), found without loading the settings."""
        from ..daemon import discovery

        return discovery.find(config=self.config, root=self.root, index=self.index)

    def ask(
        self, operation: str, *, on_progress: OnProgress | None = None, timeout: float | None = None, **given: Any
    ) -> Any:
        """The response of the index's daemon, which is started if there is none. Loads no settings, to start fast."""
        from ..daemon import client

        found = self.places()
        for notice in found.notes:
            note(notice)
        known = found.root.is_dir() or found.index.exists()
        if self.root is not None and not known and operation != "health":  # doctor looks at the folder itself
            raise CallerError(f"--root is {str(self.root)!r}, and there is no such folder.")
        try:
            return client.call(
                found,
                operation,
                {name: value for name, value in given.items() if value is not None},
                on_progress=on_progress,
                timeout=timeout,
                on_note=note,
            )
        except CallerError as error:
            error.message, error.hint = in_own_words(error.message), in_own_words(error.hint)
            raise

    def write(self, answer: Mapping[str, Any], shown: str | Callable[[Page, Mapping[str, Any]], None]) -> None:
        """Write an answer as JSON, or as a text, or as a function of `rendering` lays it out."""
        if self.as_json:
            write_json(answer)
        elif isinstance(shown, str):
            sys.stdout.write(f"{shown}\n")
        else:
            shown(Page(), answer)


class _ShortHelp:
    """In the help, short names of values: typer would write `<str>` or `<bool>`."""

    def get_params(self, ctx: Any) -> list[Any]:
        params: list[Any] = super().get_params(ctx)  # type: ignore[misc]  # what this is mixed into has it
        for each in params:
            if not isinstance(each, TyperOption):
                each.display_type_rich = lambda ctx: None
            elif each.metavar is None:
                is_number = each.display_type(ctx).startswith(("<int", "<float"))
                each.metavar = "" if each.is_flag else "N" if is_number else "TEXT"
        return params


class _Command(_ShortHelp, TyperCommand):
    pass


class _QueryCommand(_Command):
    """A command whose arguments are a question, in which `-word` excludes a word."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse options; a word behind a single dash belongs to the question."""
        end = args.index("--") if "--" in args else len(args)
        marked = [_MARK + arg if _QUESTION.fullmatch(arg) else arg for arg in args[:end]]
        try:
            left = super().parse_args(ctx, marked + args[end:])
        except Exception as error:
            if not hasattr(error, "possibilities"):  # of typer's error for an unknown option
                raise
            hint = f"See {ctx.command_path} --help, or put '--' before the question if this is part of it."
            raise CallerError(f"{error.format_message()}.", hint=hint) from error  # type: ignore[attr-defined]
        for name, value in ctx.params.items():
            if isinstance(value, list):
                ctx.params[name] = [str(word).removeprefix(_MARK) for word in value]
            elif isinstance(value, str):
                ctx.params[name] = value.removeprefix(_MARK)
        return left


class _Group(_ShortHelp, TyperGroup):
    pass


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
        further: Mapping[str, Any] = {},
    ) -> Callable[[F], F]:
        """Register a command. `takes_query`: its `question` may hold words that begin with a dash.

        `further` are annotations of options that the function takes as keywords, those alone that are given.
        """
        register = super().command(
            name, cls=_QueryCommand if takes_query else _Command, epilog=f"Example: {example}", rich_help_panel=panel
        )

        def add(function: F) -> F:
            register(_with_options(function, options, further))
            return function

        return add


def _with_options(function: Callable[..., Any], shared: Collection[str], further: Mapping[str, Any]) -> Any:
    @functools.wraps(function)
    def command(**given: Any) -> Any:
        common = {name: given.pop(name) for name in shared}
        given = {name: value for name, value in given.items() if name not in further or value not in (None, [])}
        choose_plain(common.pop("plain"))
        target = Target(**common)
        if target.layout:
            os.environ["DOCS_LAYOUT"] = target.layout  # a daemon that is started for this command inherits it
        try:
            return function(target, **given)
        except NoLibrary as error:
            return function(replace(target, root=_confirmed(target, error)), **given)

    keyword = inspect.Parameter.KEYWORD_ONLY
    _, *own = inspect.signature(function, eval_str=True).parameters.values()
    parameters = [
        *(each for each in own if each.kind is not inspect.Parameter.VAR_KEYWORD),
        *(inspect.Parameter(name, keyword, default=None, annotation=kind) for name, kind in further.items()),
        *(inspect.Parameter(name, keyword, default=_SHARED[name][0], annotation=_SHARED[name][1]) for name in shared),
    ]
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__doc__ = re.sub(r"(?<!\n)\n(?!\n)", " ", inspect.getdoc(function) or "")  # the terminal breaks lines
    command.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return command


def _confirmed(target: Target, error: LibrarianError) -> Path:
    """The working directory, if the user agrees to index it. Raises `error` if not, or if nobody can be asked."""
    if target.as_json or not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise error
    folder = working_directory()
    question = f"No library is configured here. Index the documents in {visible(str(folder))}?"
    with contextlib.suppress(typer.Abort):  # Ctrl-C, or the end of the input
        if typer.confirm(question, err=True):
            return folder
    raise error


def _print_version(wanted: bool) -> None:
    if wanted:
        Page().line(f"librarian {__version__}")
        raise typer.Exit


app = Application(
    name="librarian",
    help="Search a folder of documentation and email.",
    epilog="Try: librarian search 'how do I connect Cursor'",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback()
def _everywhere(
    version: Annotated[
        bool, typer.Option("--version", is_eager=True, callback=_print_version, help="Print the version.")
    ] = False,
) -> None:
    pass
