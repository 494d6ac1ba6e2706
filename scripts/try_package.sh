#!/usr/bin/env bash
# Builds the wheel and installs it with the locked dependencies, and by name with uvx, uv and pipx. Asks each a question.
#
#   ./scripts/try_package.sh            PYTHON=/path/to/python3 chooses the Python; needs a package index, a few minutes,
#                                       and the tools that ./scripts/test.sh installs
set -eu
folder=$(cd "$(dirname "$0")/.." && pwd)
python=${PYTHON:-$folder/.venv/bin/python}
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT

export HOME="$place/home"
unset PYTHONPATH CONFIG_FILE XDG_CACHE_HOME
mkdir -p "$HOME"
for name in tools app; do "$python" -m venv "$place/$name"; done
pip() { "$place/$1/bin/python" -m pip --disable-pip-version-check "${@:2}"; }
pip tools install --quiet --require-hashes --only-binary=:all: --no-deps -r "$folder/requirements-build.txt"
mkdir "$place/source"  # building writes next to the source
(cd "$folder" && cp -r backend pyproject.toml README.md LICENSE "$place/source")
pip tools wheel --quiet --no-index --no-build-isolation --no-deps --wheel-dir "$place" "$place/source"
# With dependencies: pip stops where the wheel asks for something that isn't locked.
echo "$(ls "$place"/librarian_docs-*.whl) $(pip tools hash "$place"/librarian_docs-*.whl | tail -n 1)" >"$place/wheel.txt"
pip app install --quiet --require-hashes --only-binary=:all: -r "$folder/requirements.txt" -r "$place/wheel.txt"

cp -r "$folder/docs" "$place/docs"
cd "$HOME"  # no configuration lies here, so folders are named
"$place/app/bin/librarian" index --root "$place/docs" --index "$place/index"
"$place/app/bin/librarian" search "how do I connect Claude Desktop" -n 1 --root "$place/docs" --index "$place/index"

export MCP_PORT=${MCP_PORT:-3991}
"$place/app/bin/librarian" serve --root "$place/docs" --index "$place/index" >"$place/output" 2>&1 &
server=$!
trap 'kill "$server"; wait "$server" || true; rm -rf "$place"' EXIT
"$place/tools/bin/python" - "http://127.0.0.1:$MCP_PORT" <<'END'
import re, sys, time, urllib.request

end = time.monotonic() + 120
while True:
    try:
        page = urllib.request.urlopen(sys.argv[1] + "/", timeout=10).read().decode()
        break
    except OSError:
        if time.monotonic() > end:
            raise
        time.sleep(0.2)
files = re.findall(r'(?:src|href)="(?:\./)?(static/[^"]+)"', page)
assert files, page
for file in files:
    assert urllib.request.urlopen(f"{sys.argv[1]}/{file}", timeout=10).read(), file
print(f"The page and its {len(files)} files are served.")
END

# By name, as users install it, with the newest supported dependencies. A folder holds the wheel in place of an index.
export PATH="$HOME/.local/bin:$folder/.venv/bin:$PATH" UV_PYTHON="$python" UV_CACHE_DIR="$place/uv" PIPX_DEFAULT_PYTHON="$python"
ask() {  # ask WAY COMMAND...
    "${@:2}" search "how do I connect Claude Desktop" -n 1 --root "$place/docs" --index "$place/index" >"$place/answer"
    grep -q "librarian/guide/connecting-hosts.md" "$place/answer"
    echo "$1: answers."
}
ask uvx uvx --quiet --find-links "$place" librarian-docs
uv tool install --quiet --find-links "$place" librarian-docs
ask "uv tool install" librarian
uv tool uninstall --quiet librarian-docs
pipx install --quiet --pip-args="--find-links $place" librarian-docs
ask pipx librarian
