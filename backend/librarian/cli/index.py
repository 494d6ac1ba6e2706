"""The commands that look after a library: serve, index, check, evaluate, bench, doctor, models, connect, config …"""

from __future__ import annotations

import json
import re
import sys
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from ..daemon.address import url_of
from ..daemon.client import served_at
from ..errors import SETUP, UNREADABLE, CallerError, LibrarianError, SetupError
from ..files import config_files
from ..files.paths import working_directory
from . import rendering
from .application import (
    KEEP,
    MEASURE,
    SET_UP,
    Application,
    Config,
    Index,
    Json,
    Root,
    complete_host,
    complete_model,
    complete_setting,
)
from .output import Page, write_answer, write_json
from .progress import ProgressLine
from .target import Place

if TYPE_CHECKING:
    from ..embeddings.model_files import ModelStore

models_app = Application(no_args_is_help=True, help="Fetch, list and choose embedding models.")


def add_to(app: typer.Typer) -> None:
    """Adds this module's commands to the application."""

    app.command(
        epilog="Example: librarian serve --root ~/notes --index ~/notes-index --port 3002", rich_help_panel=KEEP
    )(serve)
    app.command(
        epilog="Example (as a host starts it): librarian stdio --config /path/to/config.json", rich_help_panel=KEEP
    )(stdio)
    app.command(epilog="Example: librarian index --rebuild", rich_help_panel=KEEP)(index)
    app.command(epilog="Example: librarian check --repair", rich_help_panel=KEEP)(check)
    app.command(
        epilog="Example: librarian evaluate --queries queries.jsonl --qrels qrels.tsv", rich_help_panel=MEASURE
    )(evaluate)
    app.command(epilog="Example: librarian bench --rounds 10", rich_help_panel=MEASURE)(bench)
    app.command(epilog="Example: librarian doctor", rich_help_panel=SET_UP)(doctor)
    app.command(epilog="Example: librarian connect claude-desktop --write", rich_help_panel=SET_UP)(connect)
    app.command("config", epilog="Example: librarian config search.mode", rich_help_panel=SET_UP)(config_command)
    app.command(epilog="Example: librarian trust", rich_help_panel=SET_UP)(trust)
    app.add_typer(models_app, name="models", rich_help_panel=SET_UP)


def serve(
    host: Annotated[str | None, typer.Option(help="Address to listen on.")] = None,
    port: Annotated[int | None, typer.Option(help="Port to listen on.")] = None,
    layout: Annotated[str | None, typer.Option(help="product/component, or flat: the folder is one product.")] = None,
    as_json: Json = False,
    root: Root = None,
    index: Index = None,
    config: Config = None,
) -> None:
    """Index the documents and serve them over HTTP: MCP, REST and a page."""
    settings = Place(root, index, config).settings(mcp__host=host, mcp__port=port, docs__layout=layout)
    settings.require_library()
    for notice in settings.notices:
        sys.stderr.write(f"Note: {notice}\n")
    if settings.mcp.transport == "stdio":
        given = [name for name, value in {"--host": host, "--port": port, "--layout": layout}.items() if value]
        more = f", {' and '.join(given)} having no effect" if given else ""
        sys.stderr.write(f"Note: mcp.transport is stdio: MCP is spoken over stdin and stdout alone{more}.\n")
        stdio(root, index, config)
    settings.check_listening()
    raise typer.Exit(import_module("librarian.daemon.serve").serve(settings, out=sys.stdout, as_json=as_json))


def stdio(root: Root = None, index: Index = None, config: Config = None) -> NoReturn:
    """Connect an MCP host's stdin and stdout to the library. For hosts; see `librarian connect`."""
    options = (("--root", root), ("--index", index), ("--config", config))
    arguments = [text for option, path in options if path is not None for text in (option, str(path))]
    from ..daemon.stdio_bridge import main as bridge

    raise typer.Exit(bridge(arguments))


def index(
    rebuild: Annotated[bool, typer.Option("--rebuild", help="Read every file again.")] = False,
    prune: Annotated[
        bool,
        typer.Option(
            "--prune", help="Drop what vanished, even where much vanished at once, and vectors that nothing uses."
        ),
    ] = False,
    as_json: Json = False,
    root: Root = None,
    index: Index = None,
    config: Config = None,
) -> None:
    """Bring the index up to date, vectors included.

    Exit code 3 where files can't be read, 78 where the folder or the model can't.
    """
    with ProgressLine(quiet=as_json) as progress:
        answer = Place(root, index, config).ask("refresh", rebuild=rebuild, prune=prune, on_progress=progress.indexing)
    write_answer(answer, as_json, rendering.refresh)
    raise typer.Exit(SETUP if answer.get("reasons") else UNREADABLE if answer["failed"] else 0)


def check(
    repair: Annotated[bool, typer.Option("--repair", help="Mend what differs.")] = False,
    as_json: Json = False,
    root: Root = None,
    index: Index = None,
    config: Config = None,
) -> None:
    """Hold catalog, keyword index, vectors and folder against each other. Exit code 78 where they differ."""
    answer = Place(root, index, config).ask("check", repair=repair)
    write_answer(answer, as_json, rendering.check)
    raise typer.Exit(0 if answer["ok"] else SETUP)


def evaluate(
    own: Annotated[bool, typer.Option("--self", help="Ask what the library's own links and headings ask.")] = False,
    queries: Annotated[Path | None, typer.Option(help='Lines of {"_id": "1", "text": "question"}.')] = None,
    qrels: Annotated[Path | None, typer.Option(help="Lines of query<TAB>file_path<TAB>grade.")] = None,
    modes: Annotated[
        str, typer.Option(help="Separated by commas; the first is compared with.")
    ] = "keyword,semantic,hybrid",
    product: Annotated[str | None, typer.Option(help="Search only this product.")] = None,
    llm: Annotated[bool, typer.Option("--llm", help="Have the language model rewrite the questions.")] = False,
    as_json: Json = False,
    root: Root = None,
    index: Index = None,
    config: Config = None,
) -> None:
    """Measure how good the answers are: nDCG@10, P@10, recall@10, MRR@10 and times, by mode."""
    for option, path in (("--queries", queries), ("--qrels", qrels)):
        if not own and (path is None or not path.is_file()):
            what = f"{option} is missing." if path is None else f"{option} is {str(path)!r}, and there is no such file."
            raise CallerError(what, hint="Give both files of judged questions, or --self.")
    files = {"queries": str(queries and queries.resolve()), "qrels": str(qrels and qrels.resolve())}
    asked: dict[str, Any] = {"own": True} if own else files
    with ProgressLine(quiet=as_json) as progress:
        answer = Place(root, index, config).ask(
            "evaluate",
            **asked,
            modes=[mode.strip() for mode in modes.split(",") if mode.strip()],
            product=product,
            llm=llm or None,
            on_progress=progress.indexing,
        )
    write_answer(answer, as_json, rendering.evaluation)


def bench(
    rounds: Annotated[int, typer.Option(min=1, help="How often each question is asked.")] = 5,
    modes: Annotated[str, typer.Option(help="Separated by commas.")] = "keyword,semantic,hybrid",
    queries: Annotated[Path | None, typer.Option(help="Questions, one a line; else some usual ones.")] = None,
    llm: Annotated[bool, typer.Option("--llm", help="Have the language model rewrite the questions.")] = False,
    as_json: Json = False,
    root: Root = None,
    index: Index = None,
    config: Config = None,
) -> None:
    """Measure how long searches take on this machine, in the daemon and all in all."""
    from .bench import measure, read_questions

    questions = read_questions(queries) if queries else None
    wanted = [mode.strip() for mode in modes.split(",") if mode.strip()]
    answer = measure(Place(root, index, config), modes=wanted, rounds=rounds, questions=questions, llm=llm)
    write_answer(answer, as_json, rendering.evaluation)


def doctor(
    as_json: Json = False,
    root: Root = None,
    index: Index = None,
    config: Config = None,
) -> None:
    """Look for what could keep Librarian from working. Exit code 78 where something is wrong."""
    from dataclasses import asdict

    from .doctor import Finding, examine

    place = Place(root, index, config)
    findings = list(examine(place.settings()))
    try:
        state = place.ask("health", timeout=30.0)
        listed = ", ".join([state["status"], *state.get("reasons", [])])
        findings.append(Finding("daemon", "note" if state["status"] == "degraded" else "ok", listed))
    except LibrarianError as error:
        findings.append(Finding("daemon", "wrong", error.message, error.hint))
    if as_json:
        write_json({"findings": [asdict(finding) for finding in findings]})
    else:
        page = Page()
        for finding in findings:
            style = {"ok": "green", "note": "yellow", "wrong": "bold red"}[finding.outcome]
            page.line((f"{finding.outcome:<6}", style), f"{finding.what:<10} {finding.detail}", hang=17)
            if finding.remedy and finding.outcome != "ok":
                page.line(finding.remedy, indent=17)
    raise typer.Exit(SETUP if any(finding.outcome == "wrong" for finding in findings) else 0)


@models_app.command(epilog="Example: librarian models fetch all-MiniLM-L6-v2")
def fetch(
    name: Annotated[
        str | None, typer.Argument(help="Else the one of embeddings.model.", autocompletion=complete_model)
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="Say nothing where it is there already.")] = False,
    as_json: Json = False,
    root: Root = None,
    index: Index = None,
    config: Config = None,
) -> None:
    """Fetch a model and prepare it; nothing is done where it is there already."""
    settings = Place(root, index, config).settings()
    if name is None and (settings.embeddings.provider != "local" or not settings.embeddings.enabled):
        return
    wanted = name or settings.embeddings.model
    store = _models()
    folder = store.locate(wanted)
    if folder is None:
        sys.stderr.write(f"Fetching {wanted} ...\n")
        folder = store.ensure(wanted)
    elif quiet:
        return
    if as_json:
        write_json({"name": wanted, "folder": str(folder)})
    else:
        sys.stdout.write(f"{wanted} is in {folder}\n")


@models_app.command("list", epilog="Example: librarian models list")
def list_models(as_json: Json = False, root: Root = None, index: Index = None, config: Config = None) -> None:
    """List known and installed models; the one in use has a star."""
    from ..embeddings.model_table import known, spec_of

    used = Place(root, index, config).settings().embeddings.model
    installed = _models().installed()
    names = list(dict.fromkeys([used, *installed, *known()]))
    if as_json:
        write_json({"models": [{"name": name, "used": name == used, "installed": name in installed} for name in names]})
        return
    width = max(len(name) for name in names)
    for name in names:
        elsewhere = name in known() and spec_of(name).provider != "local"
        absent = "answers elsewhere; see embeddings.provider" if elsewhere else "not installed"
        state = "installed" if name in installed else absent
        sys.stdout.write(f"{'*' if name == used else ' '} {name:<{width}}  {state}\n")


@models_app.command(epilog="Example: librarian models use all-MiniLM-L6-v2")
def use(
    name: Annotated[str, typer.Argument(help="The model that embeds from now on.", autocompletion=complete_model)],
    as_json: Json = False,
    root: Root = None,
    index: Index = None,
    config: Config = None,
) -> None:
    """Fetch a model and name it in the configuration file. Old vectors answer until the new ones are there."""
    from ..files.config_files import write_value

    settings = Place(root, index, config).settings()
    path = settings.config_file
    if path is None:
        raise CallerError(
            "There is no configuration file to write to.", hint="Set EMBEDDING_MODEL, or add a config.json."
        )
    if "/" in name and (folder := Path(name).expanduser()).is_dir():
        name = str(folder.resolve())  # a relative one would be read from where the configuration lies
    _models().ensure(name)
    write_value(path, "embeddings", "model", name)
    if (winner := settings.again().provenance("embeddings.model")).source != str(path):
        sys.stderr.write(f"Note: {winner.source} says {winner.value!r} and beats the file; take it away.\n")
    if as_json:
        write_json({"name": name, "config": str(path)})
    else:
        sys.stdout.write(f"{path}: embeddings.model is {name}\n")


def _models() -> ModelStore:
    from ..embeddings.model_files import ModelStore

    return ModelStore()


def connect(
    host: Annotated[
        str,
        typer.Argument(
            help="claude-desktop, claude-code, cursor, vscode, codex or gemini.",
            autocompletion=complete_host,
            show_default=False,
        ),
    ] = "",
    write: Annotated[bool, typer.Option("--write", help="Write it there, with a backup of what was there.")] = False,
    http: Annotated[bool, typer.Option("--http", help="By the address of a running server, not by a command.")] = False,
    name: Annotated[str, typer.Option(help="The entry's name, where several libraries are connected.")] = "librarian",
    as_json: Json = False,
    root: Root = None,
    index: Index = None,
    config: Config = None,
) -> None:
    """Print or write what an MCP host needs to know."""
    from difflib import get_close_matches

    from . import connect

    if host not in connect.HOSTS:
        near = get_close_matches(host, connect.HOSTS, 1)
        hint = f"Nearest: {near[0]!r}." if near else f"Known: {', '.join(connect.HOSTS)}."
        raise CallerError(f"No host {host!r}." if host else "connect needs the name of a host.", hint=hint)
    if not re.fullmatch(r"[A-Za-z0-9_-]+", name):
        raise CallerError(f"--name is {name!r}.", hint="Hosts take letters, digits, - and _.")
    chosen = connect.HOSTS[host]
    settings = Place(root, index, config).settings()
    url = None
    if http:
        served = served_at(settings.index.path, settings.docs.root_path, named=root is not None)
        url = (served or url_of(settings.mcp.host, settings.mcp.port)) + settings.mcp.endpoint
    command = connect.bridge_command(settings.config_file, root, index)
    server = connect.Server(command, url, token=settings.security.token is not None, name=name)
    path = chosen.path(Path.home(), working_directory())
    text = connect.snippet(chosen, server)
    backup = connect.write(chosen, server, path) if write else None
    if as_json:
        answer = {"host": host, "path": str(path), "snippet": text, "written": write}
        write_json(answer | {"backup": str(backup) if backup else None})
    elif write:
        kept = f" (what was there: {backup})" if backup else ""
        sys.stdout.write(
            f"{path} names Librarian now{'' if name == connect.NAME else f' as {name}'}{kept}. {chosen.after}\n"
        )
    else:
        sys.stdout.write(text)
        sys.stderr.write(f"\nThis belongs into {path}; --write puts it there. {chosen.after}\n")


def config_command(
    key: Annotated[
        str | None, typer.Argument(help="One setting, such as search.mode.", autocompletion=complete_setting)
    ] = None,
    as_json: Json = False,
    root: Root = None,
    index: Index = None,
    config: Config = None,
) -> None:
    """Show settings: the value in force, where it comes from, and what it means."""
    from ..settings import SETTINGS

    settings = Place(root, index, config).settings()
    found = [settings.provenance(name) for name in ([key] if key else list(SETTINGS))]
    if as_json:
        rows = [{"key": f.key, "value": f.value, "source": f.source, "sentence": f.setting.description} for f in found]
        write_json({"settings": rows, "notices": list(settings.notices), "file": settings.config_file})
        return
    page = Page()
    for each in found:
        given = each.source != "default"
        page.line(
            (each.key, "bold"),
            f" = {json.dumps(each.value, ensure_ascii=False, default=str)}",
            (f"  ({each.source})", "cyan" if given else "dim"),
        )
        if key or page.styled:
            page.line((each.setting.description, "dim"), indent=3)
    about = [name for each in found for name in (each.key, each.setting.env) if name]
    for notice in (notice for notice in settings.notices if any(name in notice for name in about) or not key):
        page.line(("note: ", "yellow"), notice)


def trust(
    place: Annotated[
        Path | None, typer.Argument(metavar="PATH", help="A configuration file or its folder; by default this folder.")
    ] = None,
    revoke: Annotated[bool, typer.Option("--revoke", help="Trust it no longer.")] = False,
    as_json: Json = False,
) -> None:
    """Trust the configuration file in this folder, as it is now.

    It then counts for commands and hosts that start here, and it may name any folder to write to and any address. The
    `.env` next to it is trusted with it. After a change to either you are asked again.
    """
    cwd = working_directory()
    file = config_files.config_file_in(config_files.absolute(place or Path(), cwd))
    page = Page(sys.stdout)
    if revoke:
        known = config_files.distrust(file)
        if as_json:
            write_json({"file": str(file), "trusted": False})
        else:
            page.line(f"{file} is no longer trusted." if known else f"{file} was not trusted.")
        return
    known = config_files.is_trusted(file)
    config_files.trust(file)  # first: only a trusted file may name everything
    try:
        settings = _settings_of(file)
    except SetupError:
        if not known:
            config_files.distrust(file)
        raise
    if as_json:
        write_json({"file": str(file), "trusted": True, "settings": settings})
        return
    page.line(f"{file} is trusted as it is now. It sets:")
    for key, value in settings.items():
        page.line(f"{key} = {json.dumps(value, ensure_ascii=False, default=str)}", indent=3)


def _settings_of(file: Path) -> dict[str, object]:
    """What the file and the `.env` next to it set, by dotted key. Raises `SetupError` if it is no such file."""
    from ..settings import SETTINGS, Settings

    settings = Settings.load(file, environ={})
    found = (settings.provenance(key) for key in SETTINGS)
    return {each.key: each.value for each in found if each.source.startswith(str(file.parent))}
