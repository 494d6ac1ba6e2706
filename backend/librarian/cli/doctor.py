"""The checks of `librarian doctor`: what could keep Librarian from working here."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from ..daemon.address import bind
from ..errors import SetupError
from ..files.paths import working_directory
from ..settings import Settings
from .connect import HOSTS, callers, configured

Outcome = Literal["ok", "note", "wrong"]


@dataclass(frozen=True, slots=True)
class Check:
    """The result of one check; `remedy` says what to do if it isn't ok."""

    what: str
    outcome: Outcome
    detail: str
    remedy: str = ""


def examine(settings: Settings) -> Iterator[Check]:
    """Yield all checks that need no daemon."""
    yield Check("python", "ok", f"{sys.version.split()[0]} at {sys.executable}")
    file, limits = settings.configuration.path, " (not trusted: it may not name folders outside its own to write to)"
    named = f"{file}{'' if settings.configuration.trusted else limits}"
    yield Check("settings", "ok", "no configuration file: defaults" if file is None else named)
    for notice in settings.notices:
        yield Check("settings", "note", notice)
    yield _folder(settings.docs.root_path)
    yield from _shared(settings)
    yield _index(settings.index.path)
    yield _model(settings)
    yield _reranker(settings)
    sent = [f"{part}: {text} to {host}" for part, host, text in settings.destinations()]
    yield Check("text sent", "note" if sent else "ok", "; ".join(sent) or "to no other machine")
    yield _port(settings)
    yield from _hosts(settings)


def _folder(root: Path) -> Check:
    if not root.is_dir():
        return Check("documents", "wrong", f"{root} isn't there", "Correct docs.root_path, or pass --root.")
    if not os.access(root, os.R_OK | os.X_OK):
        return Check("documents", "wrong", f"{root} can't be read", "Let this user read it.")
    if not any(root.iterdir()):
        return Check("documents", "note", f"{root} is empty", "Put documents into {product}/{component}/.")
    return Check("documents", "ok", str(root))


def _shared(settings: Settings) -> Iterator[Check]:
    """Notes on `docs.shared_products` that have no folder."""
    root = settings.docs.root_path
    folder = root.resolve().parent if settings.docs.layout == "flat" else root
    for name in settings.docs.shared_products if root.is_dir() else ():
        if not (folder / name).is_dir():
            detail = f"docs.shared_products names {name}, which is no product of {root}"
            yield Check("documents", "note", detail, "Correct docs.shared_products.")


def _index(index: Path) -> Check:
    nearest = next(folder for folder in (index, *index.parents) if folder.exists())
    if not os.access(nearest, os.W_OK):
        return Check("index", "wrong", f"{nearest} can't be written", "Correct index.path, or pass --index.")
    free = shutil.disk_usage(nearest).free / 1e9
    if free < 1:
        return Check("index", "note", f"{index}, {free:.1f} GB free", "Make room: an index needs about 1 GB.")
    return Check("index", "ok", f"{index}, {free:.0f} GB free")


def _model(settings: Settings) -> Check:
    name = settings.embeddings.model
    if not settings.embeddings.enabled:
        return Check("model", "note", "embeddings are off: keyword search only", "Set embeddings.enabled to true.")
    if settings.embeddings.provider != "local":
        return Check("model", "ok", f"{name} by {settings.embeddings.provider}")
    from ..embeddings.model_files import SHIPPED, ModelStore

    models = ModelStore()
    folder = models.locate(name)
    if folder is None:
        return Check("model", "wrong", f"{name} isn't installed", f"Run librarian models fetch {name}.")
    if changed := models.changed_files(name):
        detail = f"{name} in {folder} has changed since it was installed: {', '.join(changed)}"
        again = f"Delete that folder and run librarian models fetch {name}."
        return Check("model", "wrong", detail, "Install Librarian again." if folder == SHIPPED else again)
    return Check("model", "ok", f"{name} in {folder}")


def _reranker(settings: Settings) -> Check:
    from ..embeddings.model_files import ModelStore

    name = settings.search.reranker_model
    if settings.search.reranker not in ("auto", "cross-encoder"):
        return Check("rerank", "ok", f"search.reranker is {settings.search.reranker}")
    if Path(name).expanduser().is_dir() or ModelStore().locate(name):
        return Check("rerank", "ok", f"{name} is installed")
    outcome: Outcome = "note" if settings.search.mode == "rerank" else "ok"
    detail = "no cross-encoder is installed: rerank mode ranks by 70% meaning and 30% words"
    return Check("rerank", outcome, detail, f"Run librarian models fetch {name}.")


def _port(settings: Settings) -> Check:
    host, port = settings.mcp.host, settings.mcp.port
    try:
        bind(host, port).close()
    except SetupError as error:
        remedy = "Fine if that is Librarian; else set MCP_PORT, or end that program."
        return Check("port", "note", error.message, remedy)
    return Check("port", "ok", f"{host}:{port} is free")


def _hosts(settings: Settings) -> Iterator[Check]:
    """Which clients are configured, and which have called."""
    listed = list(configured(Path.home(), working_directory()))
    for each in listed:
        outcome: Outcome = "wrong" if each.error else "ok"
        remedy = f"Run librarian connect {each.host.name} --write."
        yield Check("host", outcome, f"{each.host.title}: {each.error or each.target}", remedy)
    called = callers(settings.index.path)
    if called:
        yield Check("clients", "ok", "; ".join(called))
    elif listed:
        yield Check("clients", "note", "no MCP client has called yet", "Restart the client and ask it something.")
    else:
        hint = f"Run librarian connect CLIENT --write, with one of {', '.join(HOSTS)}."
        yield Check("clients", "note", "no MCP client is configured, and none has called yet", hint)
