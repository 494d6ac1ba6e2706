"""Builds what hosts and registries install Librarian from: dist/librarian.mcpb and dist/server.json.

The bundle is small: it starts the Librarian that is installed on this machine, whose model and index all hosts share.
`server.json` is what the MCP registry wants to know of a published package. Only its publisher knows the name there, so
it is made where `--name` is given.

    python scripts/bundle.py [--out dist] [--name io.github.OWNER/librarian --package NAME --repository URL]
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tomllib
import zipfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "backend"))

from librarian.api.prompts import PROMPTS
from librarian.schemas import TOOLSETS

REPOSITORY = Path(__file__).resolve().parents[1]
SCHEMA = "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"
LAUNCHER = """\
#!/bin/sh
# Starts the installed Librarian: $1 its command, $2 the documents, $3 the folder of the index.
if [ ! -x "$1" ]; then
    echo "Librarian isn't at $1: set it up there, or correct the path in this extension's settings." >&2
    exit 78
fi
exec "$1" stdio --root "$2" --index "$3"
"""


def project() -> dict[str, Any]:
    """The project's table of pyproject.toml."""
    table: dict[str, Any] = tomllib.loads((REPOSITORY / "pyproject.toml").read_text("utf-8"))["project"]
    return table


def manifest(program: Path) -> dict[str, Any]:
    """The bundle's manifest; `program` is the `librarian` command that it proposes."""
    about = project()
    return {
        "manifest_version": "0.3",
        "name": "librarian",
        "display_name": "Librarian",
        "version": about["version"],
        "description": about["description"],
        "long_description": (
            "Searches a folder of documentation and email on this machine, by words and by meaning, and quotes file "
            "and lines. Nothing leaves the machine. It starts the Librarian that is installed here; all hosts share "
            "one process with one model and one index."
        ),
        "author": {"name": "Librarian"},
        "license": about["license"],
        "keywords": ["documentation", "email", "search", "local"],
        "server": {
            "type": "binary",
            "entry_point": "server/librarian.sh",
            "mcp_config": {
                "command": "/bin/sh",
                "args": [
                    "${__dirname}/server/librarian.sh",
                    "${user_config.program}",
                    "${user_config.documents}",
                    "${user_config.index}",
                ],
            },
        },
        "user_config": {
            "documents": {
                "type": "directory",
                "title": "Documents",
                "description": "The folder to search, laid out as product/component/files.",
                "required": True,
            },
            "index": {
                "type": "directory",
                "title": "Index",
                "description": "Where the index is kept; one for each folder of documents.",
                "required": True,
                "default": "${HOME}/.librarian",
            },
            "program": {
                "type": "file",
                "title": "Librarian's command",
                "description": "The file .venv/bin/librarian of the installed Librarian.",
                "required": True,
                "default": str(program),
            },
        },
        "tools": [{"name": tool.name, "description": tool.title} for tool in TOOLSETS["default"]],
        "prompts": [
            {
                "name": name,
                "description": prompt.__doc__,
                "arguments": list(prompt.model_fields),
                "text": f"{prompt.title}: " + ", ".join(f"${{arguments.{field}}}" for field in prompt.model_fields),
            }
            for name, prompt in PROMPTS.items()
        ],
        "prompts_generated": True,
        "compatibility": {"platforms": ["darwin", "linux"]},
    }


def registry_entry(name: str, package: str, repository: str) -> dict[str, Any]:
    """The content of server.json; `package` is the name on the Python package index.

    A server on this machine has no `remotes`: those must be public.
    """
    about = project()
    entry: dict[str, Any] = {
        "$schema": SCHEMA,
        "name": name,
        "title": "Librarian",
        "description": "Searches folders of documentation and email on your machine, with citations.",
        "version": about["version"],
        "packages": [
            {
                "registryType": "pypi",
                "identifier": package,
                "version": about["version"],
                "transport": {"type": "stdio"},
                "packageArguments": [{"type": "positional", "value": "stdio"}],
                "environmentVariables": [
                    {
                        "name": "DOCS_ROOT_PATH",
                        "description": "The folder to search, laid out as product/component/files.",
                        "isRequired": True,
                        "format": "filepath",
                    },
                    {
                        "name": "INDEX_PATH",
                        "description": "Where the index is kept.",
                        "isRequired": True,
                        "format": "filepath",
                    },
                ],
            }
        ],
    }
    if repository:
        entry["repository"] = {"url": repository, "source": "github" if "github.com" in repository else "git"}
    return entry


def mistakes(entry: dict[str, Any]) -> list[str]:
    """What the registry would refuse in a server.json; empty where nothing."""
    found = []
    if entry.get("$schema") != SCHEMA:
        found.append("$schema isn't that of the fields checked here")
    if not re.fullmatch(r"[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+", str(entry.get("name", ""))):
        found.append("name must be a reversed domain, a slash and a name, such as io.github.OWNER/librarian")
    if not 1 <= len(str(entry.get("description", ""))) <= 100:
        found.append("description must have 1 to 100 characters")
    if not re.fullmatch(r"\d+\.\d+\.\d+[\w.+-]*", str(entry.get("version", ""))):
        found.append("version must be a single version, such as 1.2.3")
    if unknown := entry.keys() - {
        *("$schema", "name", "title", "description", "version", "repository", "websiteUrl", "icons"),
        *("packages", "remotes", "_meta"),
    }:
        found.append(f"unknown fields: {', '.join(sorted(unknown))}")
    for package in entry.get("packages", []):
        if package.get("registryType") not in ("npm", "pypi", "nuget", "oci", "mcpb"):
            found.append(f"registryType {package.get('registryType')!r} is unknown")
        if package.get("registryType") == "mcpb" and not package.get("fileSha256"):
            found.append("a package of type mcpb needs fileSha256")
        if not package.get("identifier"):
            found.append("a package needs its identifier")
        if package.get("transport", {}).get("type") not in ("stdio", "streamable-http", "sse"):
            found.append("a package needs a transport: stdio, streamable-http or sse")
        for variable in package.get("environmentVariables", []):
            if not variable.get("name") or variable.get("format") not in (
                *(None, "string", "number", "boolean", "filepath"),
            ):
                found.append(f"the variable {variable.get('name')!r} isn't described rightly")
    for remote in entry.get("remotes", []):
        if remote.get("type") not in ("streamable-http", "sse") or not str(remote.get("url", "")).startswith(
            "https://"
        ):
            found.append("a remote must be public: https, streamable-http or sse")
    return found


def build(out: Path, program: Path, entry: dict[str, Any] | None = None) -> list[Path]:
    """Write the bundle, and server.json where there is an `entry`, into `out`; return their paths.

    Equal input gives equal bytes. Raises `SystemExit` for an entry that the registry would refuse.
    """
    if entry is not None and (found := mistakes(entry)):
        sys.exit("server.json would be refused: " + "; ".join(found) + ".")
    out.mkdir(parents=True, exist_ok=True)
    bundle, server = out / "librarian.mcpb", out / "server.json"
    files = {
        "manifest.json": json.dumps(manifest(program), indent=2, ensure_ascii=False) + "\n",
        "server/librarian.sh": LAUNCHER,
        "LICENSE": (REPOSITORY / "LICENSE").read_text("utf-8"),
    }
    with zipfile.ZipFile(bundle, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, text in files.items():
            about = zipfile.ZipInfo(path)
            about.external_attr = (0o100755 if path.endswith(".sh") else 0o100644) << 16
            about.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(about, text)
    if entry is None:
        return [bundle]
    server.write_text(json.dumps(entry, indent=2, ensure_ascii=False) + "\n", "utf-8")
    return [bundle, server]


def main() -> int:
    """Build, and say where it lies."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=REPOSITORY / "dist")
    parser.add_argument("--name", help="under which the registry lists it: io.github.OWNER/librarian, of your own")
    parser.add_argument("--package", default=project()["name"], help="its name on the package index, of your own")
    parser.add_argument("--repository", default="", help="address of the source")
    given = parser.parse_args()
    program = Path(sys.executable).with_name("librarian")
    entry = registry_entry(given.name, given.package, given.repository) if given.name else None
    for path in build(given.out, program, entry):
        print(path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
