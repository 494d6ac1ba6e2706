"""The commands that look after a library: serve, index, check, evaluate, bench, doctor, connect, config, models …"""

from __future__ import annotations

import json
import re
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, replace
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer

from ..daemon.address import url_of
from ..daemon.client import served_at
from ..errors import SETUP, UNREADABLE, CallerError, LibrarianError, SetupError
from ..files import config_files
from ..files.paths import working_directory
from . import rendering
from .application import KEEP, MEASURE, SET_UP, Application, OnProgress, Target, app
from .output import Page, ProgressLine, write_json

USUAL_QUESTIONS = (
    "installation",
    "how do I change the configuration",
    "error when starting the server",
    "connect a client",
    "authentication with a token",
    "what is the default port",
    "upgrade to a new version",
    "environment variables",
    "performance tuning",
    "which formats are supported",
)
"""Asked where no questions are given: what people look for in any documentation."""

_PLAIN = frozenset({"keyword", "semantic"})  #: modes in which no language model is asked


def _completing(module: str, names: str) -> Callable[[str], list[str]]:
    """Completes an argument with what `names` of a module of this package holds or returns."""

    def complete(incomplete: str) -> list[str]:
        found: Any = getattr(import_module(f"librarian.{module}"), names)
        every: Iterable[str] = found() if callable(found) else found
        return [name for name in every if name.startswith(incomplete)]

    return complete


def _comma_separated(words: str) -> list[str]:
    return [word.strip() for word in words.split(",") if word.strip()]


def _indexing(line: ProgressLine, target: Target) -> OnProgress | None:
    """What to call with each progress of the daemon; None where nothing is shown."""

    def show(progress: rendering.Answer) -> None:
        if progress.get("phase", "idle") != "idle":
            embedding = progress["phase"] == "embedding"
            done, total = ("chunks_embedded", "chunks_total") if embedding else ("files_done", "files_total")
            share = int(progress.get(done) or 0) / max(1, int(progress.get(total) or 0))
            line.show(share, rendering.progress_line(progress), (progress["phase"], int(10 * share)))

    return None if target.as_json else show


@app.command(example="librarian serve --root ~/notes --index ~/notes-index --port 3002", panel=KEEP)
def serve(
    target: Target,
    host: Annotated[str | None, typer.Option(help="Address to listen on.")] = None,
    port: Annotated[int | None, typer.Option(help="Port to listen on.")] = None,
) -> None:
    """Index the documents and serve them over HTTP: MCP, REST and a page."""
    settings = target.settings(mcp__host=host, mcp__port=port)
    settings.require_library()
    for notice in settings.notices:
        sys.stderr.write(f"Note: {notice}\n")
    if settings.mcp.transport == "stdio":
        given = [name for name, value in {"--host": host, "--port": port}.items() if value]
        more = f", {' and '.join(given)} having no effect" if given else ""
        sys.stderr.write(f"Note: mcp.transport is stdio: MCP is spoken over stdin and stdout alone{more}.\n")
        stdio(target)
    settings.require_safe_bind()
    raise typer.Exit(import_module("librarian.daemon.serve").serve(settings, out=sys.stdout, as_json=target.as_json))


@app.command(
    example="librarian stdio --config /path/to/config.json",
    panel=KEEP,
    options=("plain", "root", "index", "config", "layout"),
)
def stdio(target: Target) -> NoReturn:
    """Connect an MCP host's stdin and stdout to the library. For hosts; see `librarian connect`."""
    from ..daemon.stdio_bridge import main as bridge

    raise typer.Exit(bridge(target.options()))


@app.command(example="librarian index --rebuild", panel=KEEP)
def index(
    target: Target,
    rebuild: Annotated[bool, typer.Option("--rebuild", help="Read every file again.")] = False,
    prune: Annotated[
        bool,
        typer.Option(
            "--prune", help="Drop what vanished, even where much vanished at once, and vectors that nothing uses."
        ),
    ] = False,
) -> None:
    """Bring the index up to date, vectors included.

    Exit code 3 where files can't be read, 78 where the folder or the model can't.
    """
    with ProgressLine(quiet=target.as_json) as progress:
        answer = target.ask("refresh", rebuild=rebuild, prune=prune, on_progress=_indexing(progress, target))
    target.write(answer, partial(rendering.refresh, folder="" if target.as_json else str(target.places().root)))
    raise typer.Exit(SETUP if answer.get("reasons") else UNREADABLE if answer["failed"] else 0)


@app.command(example="librarian check --repair", panel=KEEP)
def check(target: Target, repair: Annotated[bool, typer.Option("--repair", help="Mend what differs.")] = False) -> None:
    """Hold catalog, keyword index, vectors and folder against each other. Exit code 78 where they differ."""
    answer = target.ask("check", repair=repair)
    target.write(answer, rendering.check)
    raise typer.Exit(0 if answer["ok"] else SETUP)


@app.command(example="librarian evaluate --queries queries.jsonl --qrels qrels.tsv", panel=MEASURE)
def evaluate(
    target: Target,
    own: Annotated[bool, typer.Option("--self", help="Ask what the library's own links and headings ask.")] = False,
    queries: Annotated[Path | None, typer.Option(help='Lines of {"_id": "1", "text": "question"}.')] = None,
    qrels: Annotated[Path | None, typer.Option(help="Lines of query<TAB>file_path<TAB>grade.")] = None,
    modes: Annotated[
        str, typer.Option(help="Separated by commas; the first is compared with.")
    ] = "keyword,semantic,hybrid",
    product: Annotated[str | None, typer.Option(help="Search only this product.")] = None,
    llm: Annotated[bool, typer.Option("--llm", help="Have the language model rewrite the questions.")] = False,
) -> None:
    """Measure how good the answers are: nDCG@10, P@10, recall@10, MRR@10 and times, by mode."""
    for option, path in (("--queries", queries), ("--qrels", qrels)):
        if not own and (path is None or not path.is_file()):
            what = f"{option} is missing." if path is None else f"{option} is {str(path)!r}, and there is no such file."
            raise CallerError(what, hint="Give both files of judged questions, or --self.")
    files = {"queries": str(queries and queries.resolve()), "qrels": str(qrels and qrels.resolve())}
    questions: dict[str, Any] = {"own": True} if own else files
    with ProgressLine(quiet=target.as_json) as progress:
        answer = target.ask(
            "evaluate",
            **questions,
            modes=_comma_separated(modes),
            product=product,
            llm=llm or None,
            on_progress=_indexing(progress, target),
        )
    target.write(answer, rendering.evaluation)


@app.command(example="librarian bench --rounds 10", panel=MEASURE)
def bench(
    target: Target,
    rounds: Annotated[int, typer.Option(min=1, help="How often each question is asked.")] = 5,
    modes: Annotated[str, typer.Option(help="Separated by commas.")] = "keyword,semantic,hybrid",
    queries: Annotated[Path | None, typer.Option(help="Questions, one a line; else some usual ones.")] = None,
    llm: Annotated[bool, typer.Option("--llm", help="Have the language model rewrite the questions.")] = False,
) -> None:
    """Measure how long searches take on this machine, in the daemon and all in all."""
    questions = _questions(queries) if queries else None
    answer = _times(target, modes=_comma_separated(modes), rounds=rounds, questions=questions, llm=llm)
    target.write(answer, rendering.evaluation)


def _times(
    target: Target, *, modes: Sequence[str], rounds: int, questions: Sequence[str] | None = None, llm: bool = False
) -> dict[str, Any]:
    """Median and 95th percentile in ms by mode, without cached answers, `inside` the daemon and `outside`."""
    from ..evaluation.evaluate import percentile

    asked = questions or USUAL_QUESTIONS
    if not modes:
        raise CallerError("--modes is empty.", hint="Name at least one, for example keyword,hybrid.")
    found: dict[str, Any] = {}
    others: Counter[str] = Counter()
    for mode in modes:
        target.ask("bench", query=asked[0], mode=mode, llm=llm)
        inside, outside = [], []
        for _ in range(rounds):
            target.ask("clear_search_cache")
            for question in asked:
                before = time.perf_counter()
                answer = target.ask("bench", query=question, mode=mode, llm=llm)
                if answer["mode"] != mode != "auto":
                    others[f"{mode}: answered in mode {answer['mode']}"] += 1
                if answer.get("cache") is None:
                    outside.append((time.perf_counter() - before) * 1000)
                    inside.append(float(answer["took_ms"]))
        found[mode] = {"searches": len(inside)} | {
            f"{place_name} {name} ms": round(percentile(times, share), 2)
            for place_name, times in (("inside", inside), ("outside", outside))
            for name, share in (("p50", 0.5), ("p95", 0.95))
        }
    listed = [f"{what} ({count} of {len(asked) * rounds} searches)" for what, count in others.items()]
    if not llm and not _PLAIN.issuperset(modes) and target.ask("get_index_status")["llm"]["enabled"]:
        listed.append("the language model was asked nothing: --llm has it rewrite the questions, as it does others")
    return {"modes": found, "notes": [f"{len(asked)} questions, {rounds} rounds each", *listed]}


def _questions(path: Path) -> list[str]:
    """The questions of a file, one a line. Raises `CallerError` where it can't be read or holds none."""
    try:
        questions = [line.strip() for line in path.read_text("utf-8-sig").split("\n") if line.strip()]
    except OSError as error:
        raise CallerError(f"Can't read {path}: {error.strerror}.", hint="Check --queries.") from error
    except UnicodeDecodeError as error:
        raise CallerError(f"Can't read {path}: {error}.", hint="Write it as UTF-8 text.") from error
    if not questions:
        raise CallerError(f"{path} holds no question.", hint="Write one a line, or leave --queries out.")
    return questions


@app.command(example="librarian gaps --limit 20", panel=MEASURE)
def gaps(target: Target, limit: Annotated[int, typer.Option(min=1, help="The most questions.")] = 50) -> None:
    """List questions that found nothing or little, where analytics.enabled has them kept. They stay on this machine."""
    target.write(target.ask("gaps", limit=limit), rendering.gaps)


@app.command(example="librarian doctor", panel=SET_UP)
def doctor(target: Target) -> None:
    """Look for what could keep Librarian from working. Exit code 78 where something is wrong."""
    from .doctor import Check, examine

    results = list(examine(target.settings()))
    try:
        state = target.ask("health", timeout=30.0)
        listed = ", ".join([state["status"], *state.get("reasons", [])])
        results.append(Check("daemon", "note" if state["status"] == "degraded" else "ok", listed))
    except LibrarianError as error:
        results.append(Check("daemon", "wrong", error.message, error.hint))
    if target.as_json:
        write_json({"findings": [asdict(result) for result in results]})
    else:
        page = Page()
        for result in results:
            style = {"ok": "green", "note": "yellow", "wrong": "bold red"}[result.outcome]
            page.line((f"{result.outcome:<6}", style), f"{result.what:<10} {result.detail}")
            if result.remedy and result.outcome != "ok":
                page.line(result.remedy, indent=17)
    raise typer.Exit(SETUP if any(result.outcome == "wrong" for result in results) else 0)


@app.command(example="librarian connect claude-desktop --write", panel=SET_UP)
def connect(
    target: Target,
    host: Annotated[
        str,
        typer.Argument(
            help="claude-desktop, claude-code, cursor, vscode, codex or gemini.",
            autocompletion=_completing("cli.connect", "HOSTS"),
            show_default=False,
        ),
    ] = "",
    write: Annotated[bool, typer.Option("--write", help="Write it there, with a backup of what was there.")] = False,
    http: Annotated[bool, typer.Option("--http", help="By the address of a running server, not by a command.")] = False,
    name: Annotated[str, typer.Option(help="The entry's name, where several libraries are connected.")] = "librarian",
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
    settings = target.settings()
    url = None
    if http:
        served = served_at(settings.index.path, settings.docs.root_path, named=target.root is not None)
        url = (served or url_of(settings.mcp.host, settings.mcp.port)) + settings.mcp.endpoint
    command = connect.bridge_command(replace(target, config=settings.config_file).options())
    server = connect.Server(command, url, token=settings.security.token is not None, name=name)
    path = chosen.path(Path.home(), working_directory())
    text = connect.snippet(chosen, server)
    backup = connect.write(chosen, server, path) if write else None
    answer = {"host": host, "path": str(path), "snippet": text, "written": write}
    answer["backup"] = str(backup) if backup else None
    saved = f" (what was there: {backup})" if backup else ""
    named = "" if name == connect.NAME else f" as {name}"
    target.print(answer, f"{path} names Librarian now{named}{saved}. {chosen.after}" if write else text.rstrip("\n"))
    if not (write or target.as_json):
        sys.stderr.write(f"\nThis belongs into {path}; --write puts it there. {chosen.after}\n")


@app.command("config", example="librarian config search.mode", panel=SET_UP)
def config_command(
    target: Target,
    key: Annotated[
        str | None,
        typer.Argument(help="One setting, such as search.mode.", autocompletion=_completing("settings", "SETTINGS")),
    ] = None,
) -> None:
    """Show settings: the value in force, where it comes from, and what it means."""
    from ..settings import SETTINGS

    settings = target.settings()
    found = [settings.provenance(name) for name in ([key] if key else list(SETTINGS))]
    if target.as_json:
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


@app.command(example="librarian trust", panel=SET_UP, options=("as_json", "plain"))
def trust(
    target: Target,
    place: Annotated[
        Path | None, typer.Argument(metavar="PATH", help="A configuration file or its folder; by default this folder.")
    ] = None,
    revoke: Annotated[bool, typer.Option("--revoke", help="Trust it no longer.")] = False,
) -> None:
    """Trust the configuration file in this folder, as it is now.

    It then counts for commands and hosts that start here, and it may name any folder to write to and any address. The
    `.env` next to it is trusted with it. After a change to either you are asked again.
    """
    cwd = working_directory()
    file = config_files.config_file_in(config_files.absolute(place or Path(), cwd))
    if revoke:
        known = config_files.distrust(file)
        text = f"{file} is no longer trusted." if known else f"{file} was not trusted."
        target.print({"file": str(file), "trusted": False}, text)
        return
    known = config_files.is_trusted(file)
    config_files.trust(file)  # first: only a trusted file may name everything
    try:
        settings = _settings_of(file)
    except SetupError:
        if not known:
            config_files.distrust(file)
        raise
    if target.as_json:
        write_json({"file": str(file), "trusted": True, "settings": settings})
        return
    page = Page()
    page.line(f"{file} is trusted as it is now. It sets:")
    for key, value in settings.items():
        page.line(f"{key} = {json.dumps(value, ensure_ascii=False, default=str)}", indent=3)


def _settings_of(file: Path) -> dict[str, object]:
    """What the file and the `.env` next to it set, by dotted key. Raises `SetupError` if it is no such file."""
    from ..settings import SETTINGS, Settings

    settings = Settings.load(file, environ={})
    found = (settings.provenance(key) for key in SETTINGS)
    return {each.key: each.value for each in found if each.source.startswith(str(file.parent))}


models_app = Application(no_args_is_help=True, help="Fetch, list and choose embedding models.")
app.add_typer(models_app, name="models", rich_help_panel=SET_UP)


@models_app.command(example="librarian models fetch all-MiniLM-L6-v2")
def fetch(
    target: Target,
    name: Annotated[
        str | None,
        typer.Argument(
            help="Else the one of embeddings.model.", autocompletion=_completing("embeddings.model_table", "known")
        ),
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="Say nothing where it is there already.")] = False,
) -> None:
    """Fetch a model and prepare it; nothing is done where it is there already."""
    from ..embeddings.model_files import ModelStore

    settings = target.settings()
    if name is None and (settings.embeddings.provider != "local" or not settings.embeddings.enabled):
        return
    wanted = name or settings.embeddings.model
    store = ModelStore()
    folder = store.locate(wanted)
    if folder is None:
        sys.stderr.write(f"Fetching {wanted} ...\n")
        folder = store.ensure(wanted)
    elif quiet:
        return
    target.print({"name": wanted, "folder": str(folder)}, f"{wanted} is in {folder}")


@models_app.command("list", example="librarian models list")
def list_models(target: Target) -> None:
    """List known and installed models; the one in use has a star."""
    from ..embeddings.model_files import ModelStore
    from ..embeddings.model_table import known, spec_of

    used = target.settings().embeddings.model
    installed = ModelStore().installed()
    names = list(dict.fromkeys([used, *installed, *known()]))
    if target.as_json:
        write_json({"models": [{"name": name, "used": name == used, "installed": name in installed} for name in names]})
        return
    width = max(len(name) for name in names)
    for name in names:
        elsewhere = name in known() and spec_of(name).provider != "local"
        absent = "answers elsewhere; see embeddings.provider" if elsewhere else "not installed"
        state = "installed" if name in installed else absent
        sys.stdout.write(f"{'*' if name == used else ' '} {name:<{width}}  {state}\n")


@models_app.command(example="librarian models use all-MiniLM-L6-v2")
def use(
    target: Target,
    name: Annotated[
        str,
        typer.Argument(
            help="The model that embeds from now on.", autocompletion=_completing("embeddings.model_table", "known")
        ),
    ],
) -> None:
    """Fetch a model and name it in the configuration file. Old vectors answer until the new ones are there."""
    from ..embeddings.model_files import ModelStore
    from ..files.config_files import write_value

    settings = target.settings()
    path = settings.config_file
    if path is None:
        raise CallerError(
            "There is no configuration file to write to.", hint="Set EMBEDDING_MODEL, or add a config.json."
        )
    if "/" in name and (folder := Path(name).expanduser()).is_dir():
        name = str(folder.resolve())  # a relative one would be read from where the configuration lies
    ModelStore().ensure(name)
    write_value(path, "embeddings", "model", name)
    if (winner := settings.again().provenance("embeddings.model")).source != str(path):
        sys.stderr.write(f"Note: {winner.source} says {winner.value!r} and beats the file; take it away.\n")
    target.print({"name": name, "config": str(path)}, f"{path}: embeddings.model is {name}")
