#!/usr/bin/env bash
# Rewrites requirements.txt: the closure of pyproject.toml's dependencies, at the versions of .venv.
#
#   ./scripts/pin.sh            PYTHON=/path/to/python takes the versions of another environment
set -eu
cd "$(dirname "$0")/.."
pins=$("${PYTHON:-.venv/bin/python}" scripts/pin.py)
printf '%s\n' "$pins" >requirements.txt
