#!/bin/sh
# Fetches the MCP conformance suite, the Inspector, the TypeScript clients and the bundle's validator into .node/, for the
# tests marked `node`.
#   ./scripts/node_tools.sh
# Node 24 comes from PyPI (the Inspector and the suite need 22 or newer); npm must be there to fetch the packages. All of
# them are locked with their hashes. After a change of scripts/node_tools/package.json write its lock anew:
#   npm install --prefix scripts/node_tools --package-lock-only --omit-lockfile-registry-resolved
set -eu
cd "$(dirname "$0")/.."
python=${PYTHON:-.venv/bin/python}
[ -x "$python" ] || python=python3
command -v npm > /dev/null || { echo "npm is missing: install Node.js with npm, then run this again." >&2; exit 78; }
stamp=$(cat requirements-node.txt scripts/node_tools/package-lock.json | cksum)
if [ "$(cat .node/installed 2>/dev/null)" != "$stamp" ]; then
    "$python" -m pip install --quiet --disable-pip-version-check --require-hashes --only-binary=:all: --no-deps \
        --upgrade --target .node/python -r requirements-node.txt
    cp scripts/node_tools/package.json scripts/node_tools/package-lock.json .node
    npm ci --prefix .node --no-audit --no-fund --ignore-scripts --loglevel=error
    printf '%s\n' "$stamp" > .node/installed
fi
echo "Ready: pytest -m node"
