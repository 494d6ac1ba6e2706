#!/usr/bin/env bash
# Says what the index holds and whether everything works.
#
#   ./scripts/status.sh        takes the options of `librarian status`
set -eu
folder=$(cd "$(dirname "$0")/.." && pwd)
"$folder/scripts/setup.sh"
exec "$folder/.venv/bin/librarian" status "$@"
