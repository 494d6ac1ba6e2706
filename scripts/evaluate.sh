#!/usr/bin/env bash
# Measures how good the answers are, on judged questions.
#
#   ./scripts/evaluate.sh        takes the options of `librarian evaluate`
set -eu
folder=$(cd "$(dirname "$0")/.." && pwd)
"$folder/scripts/setup.sh"
exec "$folder/.venv/bin/librarian" evaluate "$@"
