#!/usr/bin/env bash
# Builds the wheel, installs it into an empty environment and asks it a question: what `pip` and `pipx` users get.
#
#   ./scripts/try_package.sh            PYTHON=/path/to/python3 chooses the Python; needs a package index, a few minutes
set -eu
folder=$(cd "$(dirname "$0")/.." && pwd)
python=${PYTHON:-$folder/.venv/bin/python}
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT

export HOME="$place/home" PIPX_HOME="$place/pipx" PIPX_BIN_DIR="$place/bin"
unset PYTHONPATH CONFIG_FILE XDG_CACHE_HOME
mkdir -p "$HOME"
"$python" -m venv "$place/tools"
"$place/tools/bin/python" -m pip install --quiet --disable-pip-version-check pipx
mkdir "$place/source"  # building writes beside the source
(cd "$folder" && cp -r backend pyproject.toml README.md LICENSE "$place/source")
"$place/tools/bin/python" -m pip wheel --quiet --no-deps --wheel-dir "$place" "$place/source"
"$place/tools/bin/pipx" install --python "$python" "$place"/librarian-*.whl

cp -r "$folder/docs" "$place/docs"
cd "$HOME"  # no configuration lies here, so folders are named
"$place/bin/librarian" models fetch
"$place/bin/librarian" index --root "$place/docs" --index "$place/index"
"$place/bin/librarian" search "how do I connect Claude Desktop" -n 1 --root "$place/docs" --index "$place/index"

export MCP_PORT=${MCP_PORT:-3991}
"$place/bin/librarian" serve --root "$place/docs" --index "$place/index" >"$place/said" &
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
files = re.findall(r'(?:src|href)="(/static/[^"]+)"', page)
for file in files:
    assert urllib.request.urlopen(sys.argv[1] + file, timeout=10).read(), file
print(f"The page and its {len(files)} files are served.")
END
