"""The commands that look after a library: serve, index, crawl, check, evaluate, doctor, connect, config, models …"""

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
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from ..daemon.address import url_of
from ..daemon.client import served_at
from ..errors import (
    NOTHING_FOUND,
    SETUP,
    UNREADABLE,
    CallerError,
    LibrarianError,
    NotFound,
    SetupError,
    Unavailable,
    counted,
    one_of,
)
from ..files import config_files
from ..files.paths import working_directory
from ..models import Progress
from ..text.sanitizing import visible
from . import rendering
from .application import KEEP, MEASURE, SET_UP, Application, OnProgress, Target, app, note
from .output import Page, ProgressLine, write_json

if TYPE_CHECKING:
    from ..crawling.crawler import CrawlReport

USUAL_QUESTIONS = ("installation", "how do I change the configuration", "error when starting the server")
"""Asked by `bench` if no questions are given: what people look for in any documentation."""
CRAWL_STEP_S = 5.0  #: between two lines of progress where there is no terminal


def _completing(module: str, names: str) -> Callable[[str], list[str]]:
    """A completion of an argument by what `names` of a module of this package holds or returns."""

    def complete(incomplete: str) -> list[str]:
        found: Any = getattr(import_module(f"librarian.{module}"), names)
        every: Iterable[str] = found() if callable(found) else found
        return [name for name in every if name.startswith(incomplete)]

    return complete


def _indexing(line: ProgressLine, target: Target) -> OnProgress | None:
    """What to call with each progress of the daemon; None where nothing is shown."""
    from ..api.model_text import progress

    def show(now: rendering.Answer) -> None:
        if now["phase"] != "idle":
            share, text = progress(Progress(**now))
            line.show(share or 0, text, (now["phase"], int(10 * (share or 0))))

    return None if target.as_json else show


@app.command(example="librarian serve --root ~/notes --index ~/notes-index --port 3002", panel=KEEP)
def serve(
    target: Target,
    host: Annotated[str | None, typer.Option(help="The address to listen on.")] = None,
    port: Annotated[int | None, typer.Option(help="The port to listen on.")] = None,
) -> None:
    """Index the documents and serve them over HTTP: MCP, REST and a web page."""
    settings = target.settings(mcp__host=host, mcp__port=port)
    settings.require_library()
    for notice in settings.notices:
        note(notice)
    if settings.mcp.transport == "stdio":
        given = [name for name, value in {"--host": host, "--port": port}.items() if value]
        ignored = f" Ignored: {', '.join(given)}." if given else ""
        note(f"mcp.transport is stdio, so only stdin and stdout are served.{ignored}")
        stdio(target)
    settings.require_safe_bind()
    raise typer.Exit(import_module("librarian.daemon.serve").serve(settings, out=sys.stdout, as_json=target.as_json))


@app.command(
    example="librarian stdio --config /path/to/config.json",
    panel=KEEP,
    options=("plain", "root", "index", "config", "layout"),
)
def stdio(target: Target) -> NoReturn:
    """Serve one MCP client over stdin and stdout. Clients start it; `librarian connect` sets them up."""
    from ..daemon.stdio_bridge import main as bridge

    raise typer.Exit(bridge(target.options()))


@app.command(example="librarian index --rebuild", panel=KEEP)
def index(
    target: Target,
    rebuild: Annotated[bool, typer.Option("--rebuild", help="Read every file again.")] = False,
    prune: Annotated[
        bool, typer.Option("--prune", help="Also drop documents if very many vanished at once, and unused vectors.")
    ] = False,
) -> None:
    """Bring the index up to date, vectors included.

    Exit codes: 3 if some files can't be read, 78 if the folder or the model can't.
    """
    with ProgressLine(quiet=target.as_json) as progress:
        answer = target.ask("refresh", rebuild=rebuild, prune=prune, on_progress=_indexing(progress, target))
    target.write(answer, partial(rendering.refresh, folder="" if target.as_json else str(target.places().root)))
    raise typer.Exit(SETUP if answer.get("reasons") else UNREADABLE if answer["failed"] else 0)


@app.command(example="librarian crawl https://docs.example.org/ --project example", panel=KEEP)
def crawl(
    target: Target,
    url: Annotated[
        str | None, typer.Argument(help="The site's first page; pages below its folder are fetched.")
    ] = None,
    project: Annotated[str | None, typer.Option(help="The product that the pages become.")] = None,
    refresh: Annotated[bool, typer.Option("--refresh", help="Fetch what has changed since the last crawl.")] = False,
    remove: Annotated[bool, typer.Option("--remove", help="Delete the project's pages and its state.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the plan and write nothing.")] = False,
    allow_private: Annotated[bool, typer.Option("--allow-private", help="Allow addresses that aren't public.")] = False,
    rate: Annotated[float, typer.Option(min=0, help="Maximum requests per second; 0: no limit.")] = 5.0,
    max_pages: Annotated[int, typer.Option(min=1, help="Maximum pages of the project.")] = 5_000,
    timeout: Annotated[float, typer.Option(min=0.1, help="Seconds to wait for an answer.")] = 20.0,
) -> None:
    """Fetch a documentation site as Markdown files, or what has changed there.

    An interrupted crawl continues where it stopped. Exit codes: 3 if some pages can't be read, 1 if no page is kept, 78
    if the first page doesn't answer.
    """
    from ..bootstrap import summarizer_of
    from ..crawling import pages
    from ..crawling.crawler import Crawler
    from ..crawling.fetching import CrawlOptions

    settings = target.settings()
    settings.require_library()
    root, index = settings.docs.root_path, settings.index.path
    if remove:
        if not project:
            raise CallerError("--remove needs --project.", hint="Name the project to delete.")
        count = pages.remove_project(root, index, project)
        left = "; files that weren't crawled are still there" if (root / pages.project_name(project)).exists() else ""
        target.write({"project": project, "removed": count}, f"{project}: {counted(count, 'page')} removed{left}")
        return
    names = [project] if project else list(pages.projects(index)) if refresh and not url else []
    if not names and refresh:
        raise NotFound("No project has been crawled.", hint="Start with librarian crawl URL --project NAME.")
    if not names:
        raise CallerError("crawl needs --project.", hint="It names the folder, for example --project kubernetes.")
    if not url and not refresh:
        raise CallerError("crawl needs a URL.", hint="Give the site's first page, or --refresh for what is there.")
    options = CrawlOptions(
        allow_private=allow_private,
        per_second=rate,
        timeout_s=timeout,
        most_pages=max_pages,
        summarize=None if dry_run else summarizer_of(settings),
    )

    def one(project: str) -> dict[str, Any]:
        """Crawl or plan one project. One of several whose site doesn't answer doesn't stop the others."""

        def show(report: CrawlReport, queued: int) -> None:
            text = (
                f"{project}: {counted(report.done, 'page')}, {queued} to go, {report.bytes / 1e6:.1f} MB, "
                f"{counted(len(report.errors), 'error')}"
            )
            line.show(report.done / max(report.done + queued, 1), text, int(time.monotonic() / CRAWL_STEP_S))

        crawler = Crawler(url or "", project, root, index, options, on_progress=show)
        try:
            return crawler.plan() if dry_run else asdict(crawler.run())
        except Unavailable as error:
            if len(names) == 1 or dry_run:
                raise
            return asdict(crawler.unreached(str(error)))

    with ProgressLine(quiet=target.as_json) as line:
        answers = [one(name) for name in names]
    if target.as_json:
        write_json(answers[0] if project or len(answers) == 1 else {"projects": answers})
    else:
        for answer in answers:
            rendering.fields(Page(), answer)
    if not dry_run and not any(answer["pages"] for answer in answers):
        raise typer.Exit(NOTHING_FOUND)
    raise typer.Exit(UNREADABLE if any(answer.get("errors") for answer in answers) else 0)


@app.command(example="librarian check --repair", panel=KEEP)
def check(
    target: Target, repair: Annotated[bool, typer.Option("--repair", help="Repair what differs.")] = False
) -> None:
    """Compare catalog, keyword index, vectors and folder. Exit code 78 if they differ."""
    answer = target.ask("check", repair=repair)
    target.write(answer, rendering.fields)
    raise typer.Exit(0 if answer["ok"] else SETUP)


@app.command(example="librarian evaluate --queries queries.jsonl --qrels qrels.tsv", panel=MEASURE)
def evaluate(
    target: Target,
    own: Annotated[
        bool, typer.Option("--self", help="Ask questions made of the library's links and headings.")
    ] = False,
    queries: Annotated[Path | None, typer.Option(help='Lines of {"_id": "1", "text": "question"}.')] = None,
    qrels: Annotated[Path | None, typer.Option(help="Lines of query<TAB>file_path<TAB>grade.")] = None,
    modes: Annotated[
        str, typer.Option(help="Modes, separated by commas; the others are compared with the first.")
    ] = "keyword,semantic,hybrid",
    product: Annotated[str | None, typer.Option(help="Search only this product.")] = None,
    llm: Annotated[bool, typer.Option("--llm", help="Let the language model rewrite the questions.")] = False,
) -> None:
    """Measure the quality of search by mode: nDCG@10, P@10, recall@10, MRR@10 and times."""
    for option, path in (("--queries", queries), ("--qrels", qrels)):
        if not own and (path is None or not path.is_file()):
            what = f"{option} is missing." if path is None else f"{option} is {str(path)!r}, and there is no such file."
            raise CallerError(what, hint="Give both files of judged questions, or --self.")
    files = {"queries": str(queries and queries.resolve()), "qrels": str(qrels and qrels.resolve())}
    given: dict[str, Any] = {"own": True} if own else files
    with ProgressLine(quiet=target.as_json) as progress:
        show = _indexing(progress, target)
        answer = target.ask("evaluate", **given, modes=modes, product=product, llm=llm or None, on_progress=show)
    target.write(answer, rendering.evaluation)


@app.command(example="librarian bench --rounds 10", panel=MEASURE)
def bench(
    target: Target,
    rounds: Annotated[int, typer.Option(min=1, help="How often each question is asked.")] = 5,
    modes: Annotated[str, typer.Option(help="Modes, separated by commas.")] = "keyword,semantic,hybrid",
    queries: Annotated[Path | None, typer.Option(help="A file of questions, one a line; else some usual ones.")] = None,
    llm: Annotated[bool, typer.Option("--llm", help="Let the language model rewrite the questions.")] = False,
) -> None:
    """Measure how long searches take on this machine, inside the background process and in total."""
    from ..evaluation.evaluate import numbered_lines

    questions = [line.strip() for _, line in numbered_lines(queries)] if queries else USUAL_QUESTIONS
    wanted = [mode.strip() for mode in modes.split(",") if mode.strip()]
    if not wanted or not questions:
        what = f"{queries} holds no question." if wanted else "--modes is empty."
        raise CallerError(what, hint="Name at least one mode, and one question a line.")
    notes = [f"{len(questions)} questions, {rounds} rounds each"]
    found = {mode: _times(target, mode, rounds, questions, llm, notes) for mode in wanted}
    target.write({"modes": found, "notes": notes}, rendering.evaluation)


def _times(
    target: Target, mode: str, rounds: int, questions: Sequence[str], llm: bool, notes: list[str]
) -> dict[str, float]:
    """Median and 95th percentile in ms, without cached answers, `inside` the daemon and `outside`."""
    from ..evaluation.evaluate import percentile

    def ask(question: str) -> tuple[float, Any]:
        before = time.perf_counter()
        answer = target.ask("bench", query=question, mode=mode, llm=llm)
        return (time.perf_counter() - before) * 1000, answer

    ask(questions[0])  # loads what the mode needs
    asked = []
    for _ in range(rounds):
        target.ask("clear_search_cache")
        asked += [ask(question) for question in questions]
    for other, count in Counter(answer["mode"] for _, answer in asked if answer["mode"] != mode != "auto").items():
        notes.append(f"{mode}: answered in mode {other} ({count} of {len(asked)} searches)")
    uncached = [(answer["took_ms"], outside) for outside, answer in asked if answer.get("cache") is None]
    return {"searches": len(uncached)} | {
        f"{place} p{percent} ms": round(percentile([float(times[column]) for times in uncached], percent / 100), 2)
        for column, place in enumerate(("inside", "outside"))
        for percent in (50, 95)
    }


@app.command(example="librarian gaps --limit 20", panel=MEASURE)
def gaps(target: Target, limit: Annotated[int, typer.Option(min=1, help="Maximum number of questions.")] = 50) -> None:
    """List questions that found little or nothing. They are kept on this machine if analytics.enabled is set."""
    answer = target.ask("gaps", limit=limit)
    target.write(answer, rendering.fields)
    if not answer["enabled"]:
        note("Questions aren't kept; set analytics.enabled to true.")


@app.command(example="librarian doctor", panel=SET_UP)
def doctor(target: Target) -> None:
    """Look for problems with the installation, settings and index. Exit code 78 if something is wrong."""
    from .doctor import Check, examine

    results = list(examine(target.settings()))
    try:
        state = target.ask("health", timeout=30.0)
        listed = ", ".join(["answers" if state["status"] == "ok" else state["status"], *state.get("reasons", [])])
        results.append(Check("daemon", "note" if state["status"] == "degraded" else "ok", listed))
    except LibrarianError as error:
        results.append(Check("daemon", "wrong", error.message, error.hint))
    target.write({"findings": [asdict(result) for result in results]}, rendering.findings)
    raise typer.Exit(SETUP if any(result.outcome == "wrong" for result in results) else 0)


@app.command(example="librarian connect claude-desktop --write", panel=SET_UP)
def connect(
    target: Target,
    host: Annotated[
        str,
        typer.Argument(
            metavar="CLIENT",
            help="claude-desktop, claude-code, cursor, vscode, codex or gemini.",
            autocompletion=_completing("cli.connect", "HOSTS"),
            show_default=False,
        ),
    ] = "",
    write: Annotated[bool, typer.Option("--write", help="Write it to the client's file, and back that up.")] = False,
    http: Annotated[bool, typer.Option("--http", help="Use the address of a running server, not a command.")] = False,
    name: Annotated[str, typer.Option(help="Name of the entry, to connect several libraries.")] = "librarian",
) -> None:
    """Print or write the configuration that an MCP client needs."""
    from . import connect

    if host not in connect.HOSTS:
        what = f"No client {host!r}." if host else "connect needs the name of a client."
        raise CallerError(what, hint=one_of(tuple(connect.HOSTS), host))
    if not re.fullmatch(r"[A-Za-z0-9_-]+", name):
        raise CallerError(f"--name is {name!r}.", hint="Use letters, digits, - and _.")
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
    saved = f" (backup of the former file: {backup})" if backup else ""
    named = "" if name == connect.NAME else f" as {name}"
    target.write(answer, f"{path} names Librarian now{named}{saved}. {chosen.after}" if write else text.rstrip("\n"))
    if not (write or target.as_json):
        sys.stderr.write(f"\nAdd this to {path}, or run again with --write. {chosen.after}\n")


@app.command("config", example="librarian config search.mode", panel=SET_UP)
def config_command(
    target: Target,
    key: Annotated[
        str | None,
        typer.Argument(
            help="A setting such as search.mode, or a section such as search.",
            autocompletion=_completing("settings", "SETTINGS"),
        ),
    ] = None,
) -> None:
    """Show settings: the value in force, its source, and what it means."""
    from ..settings import SETTINGS

    settings = target.settings()
    keys = [name for name in SETTINGS if not key or name.startswith(f"{key}.")] or [str(key)]
    found = [settings.provenance(name) for name in keys]
    rows: list[dict[str, Any]] = [
        {"key": f.key, "value": f.value, "source": f.source, "sentence": f.setting.description} for f in found
    ]
    if target.as_json:
        write_json({"settings": rows, "notices": list(settings.notices), "file": settings.config_file})
        return
    page = Page()
    for row in rows:
        value = json.dumps(row["value"], ensure_ascii=False, default=str)
        page.line(
            (row["key"], "bold"),
            f" = {value}",
            (f"  ({row['source']})", "dim" if row["source"] == "default" else "cyan"),
        )
        if key or page.styled:
            page.line((row["sentence"], "dim"), indent=3)
    about = [name for each in found for name in (each.key, each.setting.env) if name]
    for notice in settings.notices:
        if not key or any(name in notice for name in about):
            page.line(("note: ", "yellow"), notice)


@app.command(example="librarian trust", panel=SET_UP, options=("as_json", "plain"))
def trust(
    target: Target,
    place: Annotated[
        Path | None, typer.Argument(metavar="PATH", help="A configuration file or its folder; by default this folder.")
    ] = None,
    revoke: Annotated[bool, typer.Option("--revoke", help="Stop trusting it.")] = False,
) -> None:
    """Trust the configuration file in this folder, as it is now.

    It is then used by commands and clients that start here, and may name any folder to write to and any address. The
    `.env` next to it is trusted with it. If either changes, the trust ends.
    """
    from ..settings import SETTINGS, Settings

    file = config_files.config_file_in(config_files.absolute(place or Path(), working_directory()))
    if revoke:
        known = config_files.distrust(file)
        text = f"{file} is no longer trusted." if known else f"{file} was not trusted."
        target.write({"file": str(file), "trusted": False}, text)
        return
    known = config_files.is_trusted(file)
    config_files.trust(file)  # first: only a trusted file may name everything
    try:
        loaded = Settings.load(file, environ={})
    except SetupError:
        if not known:
            config_files.distrust(file)
        raise
    found = [loaded.provenance(key) for key in SETTINGS]
    settings = {each.key: each.value for each in found if each.source.startswith(str(file.parent))}  # or the `.env`
    lines = [f"   {key} = {json.dumps(value, ensure_ascii=False, default=str)}" for key, value in settings.items()]
    answer = {"file": str(file), "trusted": True, "settings": settings}
    target.write(answer, visible("\n".join([f"{file} is trusted as it is now. It sets:", *lines])))


models_app = Application(no_args_is_help=True, help="Fetch, list and choose embedding models.")
app.add_typer(models_app, name="models", rich_help_panel=SET_UP)
_known_models = _completing("embeddings.model_table", "known")


@models_app.command(example="librarian models fetch all-MiniLM-L6-v2")
def fetch(
    target: Target,
    name: Annotated[
        str | None, typer.Argument(help="The model; by default that of embeddings.model.", autocompletion=_known_models)
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="Print nothing if it is installed already.")] = False,
) -> None:
    """Fetch and prepare a model, unless it is installed already."""
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
    target.write({"name": wanted, "folder": str(folder)}, f"{wanted} is in {folder}")


@models_app.command("list", example="librarian models list")
def list_models(target: Target) -> None:
    """List known and installed models. A star marks the one in use."""
    from ..embeddings.model_files import ModelStore
    from ..embeddings.model_table import known, spec_of

    used = target.settings().embeddings.model
    installed = ModelStore().installed()
    names = list(dict.fromkeys([used, *installed, *known()]))
    lines = []
    for name in names:
        elsewhere = name in known() and spec_of(name).provider != "local"
        absent = "runs elsewhere; see embeddings.provider" if elsewhere else "not installed"
        state = "installed" if name in installed else absent
        lines.append(f"{'*' if name == used else ' '} {name:<{max(map(len, names))}}  {state}")
    models = [{"name": name, "used": name == used, "installed": name in installed} for name in names]
    target.write({"models": models}, "\n".join(lines))


@models_app.command(example="librarian models use all-MiniLM-L6-v2")
def use(
    target: Target, name: Annotated[str, typer.Argument(help="The model to use.", autocompletion=_known_models)]
) -> None:
    """Fetch a model and set it in the configuration file. Old vectors are used until the new ones are complete."""
    from ..embeddings.model_files import ModelStore

    settings = target.settings()
    path = settings.config_file
    if path is None:
        raise CallerError("There is no configuration file to write to.", hint="Set EMBEDDING_MODEL, or add one.")
    if "/" in name and (folder := Path(name).expanduser()).is_dir():
        name = str(folder.resolve())  # a relative one would be read from where the configuration lies
    ModelStore().ensure(name)
    config_files.write_value(path, "embeddings", "model", name)
    if (winner := settings.again().provenance("embeddings.model")).source != str(path):
        note(f"{winner.source} says {winner.value!r} and overrides the file. Remove it.")
    target.write({"name": name, "config": str(path)}, f"{path}: embeddings.model is {name}")
