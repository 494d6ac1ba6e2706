#!/usr/bin/env bash
# Holds catalog, keyword index, vectors and folder against each other; --repair mends.
#
#   ./scripts/check_index.sh        takes the options of `librarian check`
set -eu
folder=$(cd "$(dirname "$0")/.." && pwd)
"$folder/scripts/setup.sh"
exec "$folder/.venv/bin/librarian" check "$@"
