"""The application that commands are added to: what all of them share is said here."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, TypeVar

import typer
from typer.core import TyperCommand, TyperGroup, TyperOption

from .options import Plain
from .page import choose_plain

F = TypeVar("F", bound=Callable[..., Any])


#: The parts of `librarian --help`.
ASK, KEEP, MEASURE, SET_UP = "Ask", "Keep the library", "Measure and tune", "Set up"


class _BareFlags:
    """Shows a flag by its name alone; typer would write `<bool>` after each."""

    def get_params(self, ctx: Any) -> list[Any]:
        params: list[Any] = super().get_params(ctx)  # type: ignore[misc]
        for each in params:
            if isinstance(each, TyperOption) and each.is_flag and each.metavar is None:
                each.metavar = ""
        return params


class _Command(_BareFlags, TyperCommand):
    pass


class _Group(_BareFlags, TyperGroup):
    pass


class Application(typer.Typer):
    """A group of commands, each of which also takes `--plain`."""

    def __init__(self, **given: Any) -> None:
        super().__init__(cls=_Group, **given)

    def command(self, *args: Any, **given: Any) -> Callable[[F], F]:
        """As typer's; the function itself needs no parameter for `--plain`."""
        register = super().command(*args, cls=_Command, **given)

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
