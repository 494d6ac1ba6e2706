#!/usr/bin/env bash
# The tests that compare with torch and sentence-transformers. They have an environment of their own, .venv-torch:
# where torch is installed the program uses it, and the other tests are about the lean installation.
set -eu
cd "$(dirname "$0")/.."
stamp=$(cat requirements.txt requirements-torch.txt | cksum)
if [ "$(cat .venv-torch/installed 2>/dev/null)" != "$stamp" ]; then
    printf 'Installing torch into .venv-torch (up to 5 GB) ...\n' >&2
    ./scripts/setup.sh
    .venv/bin/python -m venv .venv-torch
    .venv-torch/bin/python -m pip install --quiet --disable-pip-version-check -r requirements-torch.txt \
        "$(grep '^pytest==' requirements-dev.txt)" "$(grep '^hypothesis==' requirements-dev.txt)"
    printf '%s\n' "$stamp" >.venv-torch/installed
fi
exec .venv-torch/bin/python -m pytest -m torch backend/tests/models "$@"
