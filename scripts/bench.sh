#!/usr/bin/env bash
# Measures how long searches take on this machine.
#
#   ./scripts/bench.sh        takes the options of `librarian bench`
set -eu
folder=$(cd "$(dirname "$0")/.." && pwd)
"$folder/scripts/setup.sh"
exec "$folder/.venv/bin/librarian" bench "$@"
