"""The commands that bring in documentation from elsewhere as products: add, libraries."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import CallerError, LibrarianError, NotFound, counted
from .application import KEEP, Target, app
from .index import crawl
from .output import Page, write_json

if TYPE_CHECKING:
    from ..sources.copies import Copies


@app.command(example="librarian add https://github.com/OWNER/REPO/tree/main/docs", panel=KEEP)
def add(
    target: Target,
    source: Annotated[str, typer.Argument(help="A Git repository, a web site or a folder.")],
    name: Annotated[str | None, typer.Option(help="The product that it becomes; by default its own name.")] = None,
    version: Annotated[str, typer.Option(help="A branch or tag; it becomes part of the product's name.")] = "",
    path: Annotated[str, typer.Option(help="The folder of it to take; by default docs, if there is one.")] = "",
) -> None:
    """Add the documentation of a repository, a site or a folder as a product of the library.

    A repository is fetched with git, only its newest state and only that folder. A site is crawled.
    """
    from ..crawling.pages import project_name
    from ..sources import git

    address = git.parse(source)
    if address is None and source.startswith(("http://", "https://")):
        if version or path:
            raise CallerError("--version and --path are for repositories and folders.")
        crawl(target, source, name or git.Address(source).name.split(".")[0])
        return
    ref = version or (address.ref if address is not None else "")
    place = address.repository if address is not None else str(Path(source).expanduser().resolve())
    own = address.name if address is not None else Path(place).name
    release = version.replace("/", "-")
    product = project_name(name or (release if release.startswith(own) else f"{own}-{release}" if release else own))
    folder = path.strip("/") or (address.folder if address is not None else "")
    if address is None and not Path(place, folder).is_dir():
        raise CallerError(
            f"{source!r} is no folder, repository or site.",
            hint="Repositories end with .git or are on a known host such as https://github.com/OWNER/REPO.",
        )
    report = asdict(_copies(target).add(product, place, folder, ref))
    target.write(report, lambda page, answer: _show(page, answer, end="A running server indexes the files by itself."))


@app.command(example="librarian libraries --update", panel=KEEP)
def libraries(
    target: Target,
    names: Annotated[list[str] | None, typer.Argument(help="Products; by default all that were added.")] = None,
    update: Annotated[bool, typer.Option("--update", help="Fetch what has changed.")] = False,
    remove: Annotated[
        bool, typer.Option("--remove", help="Delete the products' files, but those you changed.")
    ] = False,
) -> None:
    """List the products that were added from elsewhere, update or remove them.

    Exit code 78 if one of them can't be updated; the others are.
    """
    copies = _copies(target)
    chosen = [copies.get(name) for name in names] if names else copies.all()
    if remove:
        if not names:
            raise CallerError("--remove needs the names of products.", hint="librarian libraries lists them.")
        removed = {name: copies.remove(name) for name in names}
        lines = [f"{name}: {counted(count, 'file')} removed" for name, count in removed.items()]
        target.write({"removed": removed}, "\n".join(lines))
        return
    if not update:
        target.write({"libraries": [_listed(each) for each in chosen]}, _show_list)
        return
    if not chosen:
        raise NotFound("Nothing was added.", hint="Start with librarian add SOURCE.")
    failed: LibrarianError | None = None
    reports: list[dict[str, Any]] = []
    for each in chosen:
        try:
            reports.append(asdict(copies.update(each.product)))
        except LibrarianError as error:
            failed = error
            reports.append({"product": each.product, "error": error.message})
        if not target.as_json:
            _show(Page(), reports[-1])
    if target.as_json:
        write_json({"libraries": reports})
    if failed is not None:
        raise typer.Exit(failed.exit_code)


def _copies(target: Target) -> Copies:
    from ..sources.copies import Copies

    settings = target.settings()
    settings.require_library()
    return Copies(settings.docs.root_path, settings.index.path)


def _listed(source: Any) -> dict[str, Any]:
    fields = {name: value for name, value in asdict(source).items() if name not in ("files", "incoming")}
    return fields | {"files": len(source.files), "complete": not source.incoming}


def _show_list(page: Page, answer: Mapping[str, Any]) -> None:
    for each in answer["libraries"]:
        version = f" {each['version']}" if each["version"] else ""
        state = counted(each["files"], "file") if each["complete"] else "interrupted: run librarian libraries --update"
        folder = f"/{each['folder']}" if each["folder"] else ""
        page.line((each["product"], "bold"), f"  {each['address']}{folder}{version}  {state}, {each['updated'][:10]}")
    if not answer["libraries"]:
        sys.stderr.write("Nothing was added. Start with librarian add SOURCE.\n")


def _show(page: Page, answer: Mapping[str, Any], end: str = "") -> None:
    if "error" in answer:
        page.line((answer["product"], "bold"), f": {answer['error']}")
        return
    numbers = ", ".join(f"{answer[word]} {word}" for word in ("added", "changed", "removed", "unchanged"))
    commit = f" at {answer['commit'][:12]}" if answer["commit"] else ""
    page.line((answer["product"], "bold"), f": {numbers}, from {answer['address']}{commit}")
    for name in answer["preserved"]:
        page.line(f"changed by somebody else, kept: {name}", indent=2)
    if end:
        page.line(end, indent=2)
