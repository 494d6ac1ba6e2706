#!/usr/bin/env bash
# Sets up what is missing, indexes the documents and serves them to browsers and MCP clients.
#
#   ./scripts/start.sh                                         this repository's docs/
#   ./scripts/start.sh --root ~/notes --index ~/notes-index    another folder; any option of `librarian serve`
set -eu
folder=$(cd "$(dirname "$0")/.." && pwd)
"$folder/scripts/setup.sh"
exec "$folder/.venv/bin/librarian" serve "$@"
